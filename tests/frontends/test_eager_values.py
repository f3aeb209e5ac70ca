"""Eager functions against NumPy's, and their replays against calls that are made anew."""

from __future__ import annotations

from collections.abc import Callable
from threading import Thread
from typing import Any, ClassVar

import numpy as np
import pytest

import gradir
import gradir.numpy as gnp
from gradir.frontends.tracing.eager import eager
from gradir.frontends.tracing.replays import KEPT, LONGEST, Records, signature

SPECIAL = [0.0, -0.0, np.nan, np.inf, -np.inf, 1.0, -2.5, 0.5]
DTYPES = ["float64", "float32", "int64", "int32", "bool"]
SHAPES: list[tuple[int, ...]] = [(), (0,), (1,), (3,), (2, 3), (2, 0), (1, 3), (2, 1, 3)]
UNARY = (
    "abs sign square sqrt exp exp2 expm1 log log1p log2 log10 sin cos tan sinh cosh tanh arcsin "
    "arccos arctan arcsinh arccosh arctanh floor ceil trunc isnan isinf isfinite signbit "
    "logical_not cbrt deg2rad sinc nan_to_num real ravel atleast_1d atleast_2d squeeze transpose "
    "zeros_like ones_like copy"
).split()
BINARY = (
    "add multiply divide floor_divide remainder fmod maximum minimum fmax fmin arctan2 hypot "
    "logaddexp copysign equal not_equal less less_equal greater greater_equal logical_and "
    "logical_or logical_xor isclose divmod array_equal heaviside"
).split()
REDUCED = (
    "sum prod max min mean std var any all count_nonzero nansum nanmax nanmean ptp median argmax "
    "argmin sort cumsum cumprod flip"
).split()
ONE_AXIS = ("argmax", "argmin", "sort", "cumsum", "cumprod")


def drawn(random: np.random.Generator, shape: tuple[int, ...], dtype: str) -> Any:
    """An array of a type, with special numbers among floats, in one of several layouts."""
    if dtype == "bool":
        made = random.random(shape) < 0.5
    elif dtype.startswith("float"):
        plain, odd = random.normal(size=shape) * 2, random.choice(SPECIAL, size=shape)
        made = np.where(random.random(shape) < 0.3, odd, plain).astype(dtype)
    else:
        made = random.integers(-5, 6, size=shape).astype(dtype)
    made = np.asarray(made)
    if made.ndim and random.random() < 0.3:
        made = np.repeat(made, 2, 0)[::2]
    if random.random() < 0.1:
        made.flags.writeable = False
    return made[()] if not shape and random.random() < 0.5 else made


Case = tuple[str, tuple[str, ...], tuple[tuple[int, ...], ...], dict[str, Any], list[Any]]


def case(random: np.random.Generator) -> Case:
    """A function's name, the types and shapes of its arrays, its options and further operands."""
    kind, shape = random.integers(3), SHAPES[random.integers(len(SHAPES))]
    dtype = str(random.choice(DTYPES))
    if kind == 0:
        return str(random.choice(UNARY)), (dtype,), (shape,), {}, []
    if kind == 1:
        name = str(random.choice(BINARY))
        if random.random() < 0.4:
            numbers = [0, 1, 2, -3, True, 0.0, -0.0, 0.5, np.inf]
            return name, (dtype,), (shape,), {}, [numbers[random.integers(len(numbers))]]
        other = tuple(n if random.random() < 0.7 else 1 for n in shape[random.integers(2) :])
        return name, (dtype, dtype), (shape, other), {}, []
    name, options = str(random.choice(REDUCED)), dict[str, Any]()
    if shape and random.random() < 0.8:
        options["axis"] = int(random.integers(-len(shape), len(shape)))
    if name not in (*ONE_AXIS, "flip") and random.random() < 0.5:
        options["keepdims"] = bool(random.integers(2))
    return name, (dtype,), (shape,), options, []


def parts(made: Any) -> list[Any]:
    """The arrays of a result."""
    return [np.asarray(each) for each in (made if isinstance(made, (tuple, list)) else [made])]


def numpys(name: str, arguments: Any, options: Any) -> Any:
    """NumPy's result, None where it refuses, or computes in half precision."""
    try:
        with np.errstate(all="ignore"):
            made = getattr(np, name)(*arguments, **options)
    except (TypeError, ValueError):
        return None
    return None if any(each.dtype == np.float16 for each in parts(made)) else made


def agree(found: Any, wanted: Any, dtype: str) -> None:
    """Equal shapes and numbers, to the precision of the dtype."""
    places = 1e-4 if dtype == "float32" else 1e-11
    for one, other in zip(parts(found), parts(wanted), strict=True):
        assert one.shape == other.shape
        np.testing.assert_allclose(one.astype(float), other.astype(float), rtol=places, atol=places)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("seed", range(4))
def test_calls_fresh_and_again_are_numpys(seed: int) -> None:
    random = np.random.default_rng(seed)
    compared = 0
    for _ in range(120):
        name, dtypes, shapes, options, more = case(random)
        function = getattr(gnp, name)
        fresh = eager(function.__wrapped__, is_replayed=False)
        for _ in range(4):
            arrays = [drawn(random, s, d) for s, d in zip(shapes, dtypes, strict=True)]
            before = [np.array(a) for a in arrays]
            arguments = [*arrays, *more]
            wanted = numpys(name, arguments, options)
            try:
                found = function(*arguments, **options)
            except gradir.GradirError:
                break
            again = fresh(*arguments, **options)
            for one, other in zip(parts(found), parts(again), strict=True):
                assert (one.dtype, one.tobytes()) == (other.dtype, other.tobytes()), name
            for one, other in zip(before, arrays, strict=True):
                assert one.tobytes() == np.array(other).tobytes(), name
            made = [y for y in parts(found) if isinstance(found, (np.ndarray, tuple, list))]
            for k, one in enumerate(made):
                assert not any(np.shares_memory(one, y) for y in [*arrays, *made[:k]]), name
            if wanted is not None:
                compared += 1
                agree(found, wanted, dtypes[0])
    assert compared > 200


def record_of(function: Any, *arguments: Any) -> Any:
    """The record of calls with such arguments, if there is one."""
    cells = [cell.cell_contents for cell in function.__closure__]
    [records] = [each for each in cells if isinstance(each, Records)]
    return records.of(signature(arguments, {}, []))


def test_checks_of_elements_are_made_each_time() -> None:
    x = np.arange(5.0)
    for name, scale in (("quantile", 1), ("percentile", 100), ("nanquantile", 1)):
        function = getattr(gnp, name)
        for _ in range(3):
            np.testing.assert_allclose(function(x, np.array([0.5, 0.25]) * scale), [2, 1])
        for q in ([1.5, 0], [0, -0.1], [np.nan, 0]):
            with pytest.raises(gradir.GradirError, match=r"quantiles must be in \[0, 1\]"):
                function(x, np.array(q) * scale)
        for _ in range(3):
            assert function(x, 0.5 * scale) == 2
        assert record_of(function, x, 0.5 * scale) is not None


class Scaled:
    """A class that is called as a function, and has a state."""

    by: ClassVar[float] = 1.0

    def __new__(cls, *args: Any) -> Any:
        return args[0] * cls.by


def test_only_classes_that_name_dtypes_are_what_they_are() -> None:
    for by in (1.0, 1.0, 1.0, 2.0):
        Scaled.by = by
        np.testing.assert_array_equal(gnp.fromfunction(Scaled, (3,)), np.arange(3) * by)
    for each in (float, bool, np.float32, np.dtype("int8")):
        assert signature((each,), {}, []) is not None
    for each in (Scaled, np.sum, object(), type):
        assert signature((each,), {}, []) is None
    assert signature(([0.0] * LONGEST,), {}, []) != signature(([-0.0] * LONGEST,), {}, [])
    assert signature(([0.0] * (LONGEST + 1),), {}, []) is None


def test_large_constants_are_not_kept() -> None:
    for size, is_kept in ((8, True), (KEPT, False)):
        for _ in range(4):
            np.testing.assert_array_equal(gnp.tri(size, 8), np.tri(size, 8))
        assert (record_of(gnp.tri, size, 8) is not None) == is_kept


def test_results_are_arrays_of_their_own() -> None:
    def twice(x: Any) -> Any:
        y = gnp.sin(x)
        return y, [y, x]

    function, x = eager(twice), np.ones(3)
    for _ in range(4):
        one, (two, three) = function(x)
        one += 1
        two += 2
        three += 4
        np.testing.assert_array_equal([x[0], one[0], two[0], three[0]],
                                      [1, np.sin(1) + 1, np.sin(1) + 2, 5])  # fmt: skip


def test_threads_share_records() -> None:
    wrong: list[str] = []

    def run(seed: int) -> None:
        random = np.random.default_rng(seed)
        for _ in range(40):
            x = random.normal(size=3)
            pairs = [(gnp.exp(x), np.exp(x)), (gnp.std(x), np.std(x)), (gnp.sum(x, 0), np.sum(x))]
            wrong.extend(str(x) for one, other in pairs if not np.allclose(one, other, 1e-12))

    threads = [Thread(target=run, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


@pytest.mark.parametrize("dtype", ["int8", "int32", "int64", "uint8"])
def test_shifts_by_any_number_of_places(dtype: str) -> None:
    kind = np.iinfo(dtype)
    x = np.array([kind.min, kind.max, 0, 1, 5, kind.max - 4], dtype)
    for places in (0, 1, kind.bits - 2, kind.bits - 1, kind.bits, 100):
        n = np.full(x.shape, places, dtype)
        for name in ("left_shift", "right_shift"):
            function, wanted = getattr(gnp, name), getattr(np, name)(x, n)
            both = [function(x, n), function(x, places)]
            if places == kind.bits - 1:
                both.append(gradir.jit(function)(x, n))
            for found in both:
                assert found.dtype == wanted.dtype
                np.testing.assert_array_equal(found, wanted)


CAST: list[Callable[[Any], Any]] = [
    lambda np_: np_.full(2, 0.5, dtype="int64"),
    lambda np_: np_.full(2, -1.9, dtype="int32"),
    lambda np_: np_.full(2, 0.5, dtype=bool),
    lambda np_: np_.full_like(np.ones(2, int), 2.7),
    lambda np_: np_.arange(np.int64(3)),
    lambda np_: np_.arange(0.0, 2.0, 0.3, dtype="int32"),
    lambda np_: np_.arange(1.5, 5, 1.5, dtype=int),
    lambda np_: np_.sum(np.ones((2, 0)), dtype="int64", initial=2.0),
    lambda np_: np_.prod(np.array([2, 3]), initial=2.5),
    lambda np_: np_.min(np.array([3, 4], np.int8), initial=2.0),
    lambda np_: np_.max(np.array([False, True]), initial=0),
    lambda np_: np_.max(np.zeros((2, 0), np.float32), 1, initial=1),
    lambda np_: np_.mean(np.array([1, 4]), dtype="int32"),
    lambda np_: np_.clip(np.array([3, 200], np.uint8), -1, 100),
    lambda np_: np_.clip(np.array([3, 200], np.uint8), -5, 300),
    lambda np_: np_.clip(np.array([3, 200], np.uint8), None, 1000),
    lambda np_: np_.arange(np.float64(2.5)),
    lambda np_: np_.fmod(np.array([True, False]), 1),
    lambda np_: np_.fmod(np.array([True, False]), np.array([True, True])),
]


@pytest.mark.parametrize("number", range(len(CAST)))
def test_numbers_are_cast_as_numpys(number: int) -> None:
    found, wanted = CAST[number](gnp), CAST[number](np)
    assert found.dtype == wanted.dtype
    np.testing.assert_array_equal(found, wanted)
