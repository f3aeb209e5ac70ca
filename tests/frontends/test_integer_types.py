"""Integers of all widths in gradir.numpy: NumPy's values and types, at the ends of the ranges,
natively, interpreted and at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from integer_ends import TYPES, ends, pairs

import gradir
import gradir.numpy as gnp
from gradir.errors import IndexOutOfRange, TraceError, VerifyError

Array = np.ndarray[Any, Any]


def of_two(xp: Any, x: Any, y: Any) -> list[Any]:
    """Functions of pairs, whose results NumPy defines."""
    return [
        *(x + y, x - y, x * y, x // y, x % y, x / y, x < y, x >= y, x == y),
        *(x & y, x | y, x ^ y, x << y, x >> y),
        *(xp.maximum(x, y), xp.fmin(x, y), xp.fmod(x, y), xp.gcd(x, y), xp.lcm(x % 50, y % 50)),
        *(xp.power(x, 3), xp.where(x > y, x, y), x @ y, xp.outer(x[:3], y[:3])),
        *(xp.searchsorted(xp.sort(x), y), xp.isin(x, y[:3]), xp.divmod(x, y)[0]),
    ]


def of_one(xp: Any, x: Any) -> list[Any]:
    """Functions of all ends of a type."""
    table = xp.reshape(x[: x.size // 2 * 2], (2, -1))
    return [
        *(-x, ~x, xp.abs(x), xp.sign(x), xp.square(x), xp.bitwise_count(x), xp.clip(x, 2, 100)),
        *(xp.sum(x), xp.prod(x[:5]), xp.cumsum(x), xp.cumprod(x), xp.max(x), xp.min(x), xp.ptp(x)),
        *(xp.max(table, axis=0), xp.min(table, axis=1), xp.sum(table, axis=0), xp.mean(x)),
        *(xp.argmax(x), xp.argmin(x), xp.sort(x), xp.argsort(x, kind="stable"), xp.diff(x)),
        *(xp.any(x), xp.all(x), xp.take(x, x % 5), x[x % 7], xp.roll(x, 2), xp.tril(table)),
        *(xp.pad(x, 1, mode="maximum"), xp.convolve(x[:9], x[:3]), xp.trace(table)),
        *(x.astype(name) for name in (*TYPES, "bool", "float64", "float32")),
    ]


@pytest.mark.parametrize("name", ["int16", "uint16", "uint32", "uint64"])
def test_values_and_types_are_numpys(name: str):
    def f(x: Any, y: Any, z: Any) -> list[Any]:
        return [*of_two(gnp, x, y), *of_one(gnp, z)]

    x, y = pairs(name)
    z = np.roll(np.array(ends(name), name), 3)
    module = gradir.trace(f, x, y, z)
    with np.errstate(all="ignore"):
        wanted = [*of_two(np, x, y), *of_one(np, z)]
        found = f(x, y, z), gradir.interpret(module, "f", x, y, z)
    found = *found, gradir.compile(module, "f")(x, y, z)
    for k, (want, *ours) in enumerate(zip(wanted, *found, strict=True)):
        for one in map(np.asarray, ours):
            assert one.dtype == np.asarray(want).dtype, k
            np.testing.assert_allclose(one, want, rtol=1e-14 if one.dtype.kind == "f" else 0)


@pytest.mark.parametrize("name", ["uint16", "uint32", "uint64"])
def test_long_reductions_and_sorts(name: str):
    """More elements than a vector has, and rows that are sorted by digits."""
    limits = np.iinfo(name)
    x = np.random.default_rng(0).integers(0, limits.max, (3, 170), name, endpoint=True)

    def f(xp: Any, x: Any) -> list[Any]:
        lines = [g(x, axis=a) for g in (xp.max, xp.min, xp.sum, xp.argmax) for a in (0, 1, None)]
        return [*lines, xp.sort(x, axis=1), xp.argsort(x, axis=1, kind="stable")]

    for found, wanted in zip(gradir.jit(lambda x: f(gnp, x))(x), f(np, x), strict=True):
        assert found.dtype == wanted.dtype
        np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("name", ["uint16", "uint64"])
def test_loops_branches_and_rows(name: str):
    x = np.array(ends(name), name)
    one = x.dtype.type(1)

    def f(x: Any) -> Any:
        counted = gradir.fori_loop(0, 3, lambda k, s: gnp.maximum(s * 3 - one, x), x)
        small = gradir.while_loop(lambda s: gnp.max(s) > 7, lambda s: s // 3, x)
        chosen = gradir.cond(x[-1] > x[0], lambda: x - one, lambda: x)
        rows = gradir.vmap(lambda a, b: gnp.where(a > b, a // (b | one), b))(x, x[::-1])
        return counted, small, chosen, rows, x.at[1].max(9), x.at[-1].min(3)

    def rows_of(x: Array) -> Array:
        y = x[::-1]
        return np.where(x > y, x // (y | one), y)

    counted, small = x, x
    for _ in range(3):
        counted = np.maximum(counted * 3 - one, x)
    while small.max() > 7:
        small = small // 3
    first, last = x.copy(), x.copy()
    first[1], last[-1] = max(first[1], 9), 3
    for found, wanted in zip(
        gradir.jit(f)(x), (counted, small, x - one, rows_of(x), first, last), strict=True
    ):
        assert found.dtype == x.dtype
        np.testing.assert_array_equal(found, wanted)


OUT_OF_RANGE = [np.nan, np.inf, -np.inf, -0.5, -1.0, 1e3, 1e5, 1e10, 1e20, 255.9, 2.0**63, 2.0**64]


@pytest.mark.parametrize("source", ["float64", "float32", "float16"])
def test_floats_saturate(source: str):
    """To the nearest integer of the type; NumPy leaves that to the machine."""
    with np.errstate(over="ignore"):
        x = np.array(OUT_OF_RANGE, source)

    def f(x: Any) -> list[Any]:
        return [gnp.astype(x, name) for name in TYPES]

    module = gradir.trace(f, x)
    for run in (gradir.compile(module, "f"), lambda x: gradir.interpret(module, "f", x), f):
        for name, found in zip(TYPES, run(x), strict=True):
            low, high = int(np.iinfo(name).min), int(np.iinfo(name).max)
            ints = [
                0 if v != v else low if v <= low else high if v >= high else int(v)
                for v in x.tolist()
            ]
            assert found.dtype == name and found.tolist() == ints


def test_numbers_from_two_to_the_63():
    """No i64 holds them: constants, bounds, lists; and an index, which is out of range."""
    top = 2**64 - 1
    x = np.array([0, 2**63, top], np.uint64)

    def f(x: Any) -> list[Any]:
        made = [gnp.asarray([top, 3], dtype="uint64"), gnp.full(2, 2**63, "uint64"), x == top]
        return [*made, gnp.clip(x, 5, top - 1), gnp.maximum(x, top - 3), x ^ top]

    wanted = [[top, 3], [2**63] * 2, [False, False, True], [5, 2**63, top - 1]]
    wanted += [[top - 3, top - 3, top], [top, 2**63 - 1, 0]]
    module = gradir.parse(str(gradir.trace(f, x)))
    assert [y.tolist() for y in gradir.compile(module, "f")(x)] == wanted
    assert [y.tolist() for y in gradir.interpret(module, "f", x)] == wanted
    for take in (gradir.jit(lambda x: x[x]), lambda x: gnp.take(x, x)):
        with pytest.raises(IndexOutOfRange, match="index 9223372036854775807 is out of range"):
            take(x)


REFUSED: list[tuple[Callable[..., Any], str]] = [
    (lambda x: x + 2**64, "18446744073709551616 is no element of uint64"),
    (lambda x: x - (-1), r"array.full: value must be an integer in \[0, 18446744073709551616\)"),
    (lambda x: gnp.asarray([300], "uint8"), "asarray: Python integer 300 out of bounds for uint8"),
    (lambda x: x & np.ones(2, int), "array.bitwise_and: elements must be integer or i1, got"),
    (lambda x: x << 1.5, "array.bitwise_left_shift: elements must be integer, got"),
]


@pytest.mark.parametrize(("function", "message"), REFUSED)
def test_refusals(function: Callable[..., Any], message: str):
    with pytest.raises((TraceError, VerifyError), match=message):
        gradir.trace(function, np.ones(2, np.uint64))


def test_names_of_types():
    for (
        name
    ) in "byte ubyte short ushort intc uintc int_ uint intp uintp longlong ulonglong".split():
        assert getattr(gnp, name) == np.dtype(name)
        assert gnp.zeros(1, getattr(gnp, name)).dtype == gnp.iinfo(name).dtype == np.dtype(name)
    assert gnp.issubdtype(np.uint16, gnp.unsignedinteger)


def test_remainders_of_the_smallest_integers_by_floats() -> None:
    for x, y in (
        (np.array([-128], np.int8), np.array([1000.0], np.float32)),
        (np.array([-(2**31)], np.int32), np.array([1e10])),
        (np.array([True]), np.array([0.3], np.float32)),
    ):
        for found in (gnp.fmod(x, y), gradir.jit(gnp.fmod)(x, y)):
            assert found.dtype == np.fmod(x, y).dtype and found == np.fmod(x, y)


@pytest.mark.parametrize("jitted", [False, True])
def test_bits_as_other_elements(jitted: bool) -> None:
    x = np.array([0.0, -0.0, 1.5, -2.0, np.inf, np.nan, 1e-30])
    for size, kinds in ((32, ("int32", "uint32")), (64, ("int64", "uint64"))):
        given = x.astype(f"float{size}")
        for to in kinds:

            def there(x: Any, to: str = to) -> Any:
                return gnp.bitcast(x, to)

            bits = (gradir.jit(there) if jitted else there)(given)
            np.testing.assert_array_equal(bits, given.view(to))
            back = gnp.bitcast(bits, given.dtype)
            np.testing.assert_array_equal(back, given)
    with pytest.raises(gradir.GradirError, match="elements must be of 32 bits, or of 64 bits"):
        gnp.bitcast(x, "int32")
