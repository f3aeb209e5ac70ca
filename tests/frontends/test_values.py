"""Python code that asks for values while a derivative of arrays is traced."""

from __future__ import annotations

import functools
import math
import random
import types
import typing
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import value_programs

import gradir
import gradir.numpy as gnp
from gradir import comm
from gradir.errors import GradirError, TraceError

Array = np.ndarray[Any, Any]
X, Y = np.array([1.0, -2.0, 3.0]), np.array([0.0, 2.0, 3.0])


def branch(x: Any) -> Any:
    if np.sum(x) > 0:
        return np.sum(x**3)
    return -3 * np.sum(x)


def newton(a: Any) -> Any:
    x = a
    while abs(x * x - a) > 1e-12:
        x = 0.5 * (x + a / x)
    return x


def masks(x: Any, y: Any = Y) -> Any:
    x = x.copy()
    x[y > 1] = x[y > 1] ** 2 * np.array([1.0, 2.0])
    x[x > 100] = 7.0
    (places,) = np.nonzero(x < 0)
    return (
        np.sum(x)
        + np.sum(x[np.abs(x) > 1.5]) ** 2
        + np.sum(np.where(x > 2)[0]) * x[0]
        + sum(places)
    )


def integers(x: Any, y: Any = Y) -> Any:
    count, order = int(np.sum(y)), np.argsort(x)
    total = x[0] * count
    for k in range(np.argmax(x)):
        total = total + k * x[order[k]] ** 2
    return (
        total + np.sum(x[: np.argmax(x)]) + np.sum(np.repeat(x, y.astype(int)) * np.arange(y.sum()))
    )


def of_data(x: Any, y: Any) -> Any:
    """What NumPy has and gradir.numpy has not, of arrays that nothing is differentiated by."""
    values, counts = np.unique(y, return_counts=True)
    scale = float(y.mean()) + y.item(1) + np.asarray(y)[2] + abs(np.fft.fft(y)).max()
    return (
        np.sum(x**2) * scale + values @ x + np.linalg.eigvals(np.diag(y)).sum() * x[0] + counts[0]
    )


def central(f: Callable[..., Any], x: Array, *rest: Any, step: float = 1e-6) -> Array:
    units = np.eye(x.size).reshape(x.size, *x.shape) * step
    found = [(f(x + d, *rest) - f(x - d, *rest)) / (2 * step) for d in units]
    return np.array(found).reshape(x.shape + np.shape(found[0]))


FUNCTIONS = (branch, lambda x: branch(-x), masks, integers, lambda x: of_data(x, Y))


@pytest.mark.parametrize("f", FUNCTIONS)
def test_derivatives_are_those_of_the_path(f: Callable[..., Any]) -> None:
    wanted = central(f, X)
    np.testing.assert_allclose(gradir.grad(f)(X), wanted, 1e-6, 1e-6)
    np.testing.assert_allclose(gradir.jvp(f, (X,), (Y,))[1], Y @ wanted, 1e-6, 1e-6)
    value, back = gradir.vjp(f, X)
    np.testing.assert_allclose(value, f(X), 1e-12)
    np.testing.assert_allclose(back(2.0)[0], 2 * wanted, 1e-6, 1e-6)


@pytest.mark.parametrize("f", FUNCTIONS)
def test_second_order(f: Callable[..., Any]) -> None:
    wanted = central(lambda x: central(f, x, step=1e-4), X, step=1e-4)
    np.testing.assert_allclose(gradir.hessian(f)(X), wanted, 1e-4, 1e-4)
    np.testing.assert_allclose(gradir.jacrev(gradir.grad(f))(X), wanted, 1e-4, 1e-4)
    np.testing.assert_allclose(gradir.hvp(f, (X,), (Y,)), wanted @ Y, 1e-4, 1e-4)


def test_loops_run_as_long_as_values_say() -> None:
    assert gradir.grad(newton)(2.0) == pytest.approx(0.5 / np.sqrt(2), 1e-9)
    assert gradir.grad(gradir.grad(newton))(2.0) == pytest.approx(-0.25 / 2**1.5, 1e-6)
    slope = gradir.grad(newton)
    for a in (0.1, 2.0, 2.0001, 100.0):
        assert slope(a) == pytest.approx(0.5 / np.sqrt(a), 1e-6)


def test_each_call_takes_its_own_path() -> None:
    slope, kinds = gradir.grad(branch), list[Any]()
    for sign in (1, -1, 1, -1, 1):
        kinds.append(slope(sign * np.ones(3)).tolist())
    assert kinds == [[3.0] * 3, [-3.0] * 3] * 2 + [[3.0] * 3]


def test_a_path_is_traced_once() -> None:
    traces = list[int]()

    def f(x: Any, y: Any) -> Any:
        traces.append(len(traces))
        inner = gradir.grad(lambda z: z**3 if z > y[0] and y[1] > 0 else z)(np.sum(x))
        return inner * float(y[1]) + np.sum(x[x > 1] ** 2)

    slope = gradir.grad(f)
    for x, y, wanted in [
        ([1.0, 2.0], [0.0, 1.0], [18.0, 22.0]),
        ([1.0, 3.0], [1.0, 1.0], [24.0, 30.0]),
        ([2.0, 2.0], [1.0, 1.0], [28.0, 28.0]),
        ([1.0, 2.0], [9.0, 1.0], [0.0, 4.0]),
        ([1.0, 2.0], [0.0, 2.0], [36.0, 40.0]),
        ([1.0, 2.0], [0.0, 1.0], [18.0, 22.0]),
        ([0.0, 3.0], [8.0, 1.0], [0.0, 6.0]),
    ]:
        assert slope(np.array(x), np.array(y)).tolist() == wanted
    assert len(traces) == 4


def test_a_path_is_anew_where_the_function_reads_other_objects() -> None:
    limit = 0.0

    def f(x: Any) -> Any:
        return x * x if x > limit else -x

    for _ in range(4):
        assert gradir.grad(f)(3.0) == 6.0
    limit = 5.0
    assert gradir.grad(f)(3.0) == -1.0


def test_values_of_a_trace_that_has_ended_are_not_known() -> None:
    kept = list[Any]()

    def f(x: Any) -> Any:
        kept.append(np.sin(x))
        return kept[-1] if x > 0 else x

    gradir.grad(f)(1.0)
    with pytest.raises(TraceError, match="a traced array has no value yet"):
        bool(kept[0])
    with pytest.raises(TraceError, match=r"another trace|no value yet"):
        gradir.grad(lambda x: x if kept[0] > 0 else -x)(1.0)


def test_errors_on_a_path_have_their_place() -> None:
    table = gnp.arange(3.0)

    def f(x: Any, k: Any) -> Any:
        return x * x if gnp.take(table, k) > 0.5 else x

    slope = gradir.grad(f)
    assert slope(2.0, 1) == 4.0
    assert slope(3.0, 2) == 6.0
    with pytest.raises(gradir.GradirError, match=r"test_values.py:\d+:\d+: array.take"):
        slope(2.0, 7)


def test_values_of_captured_and_outer_arrays() -> None:
    def outer(x: Any) -> Any:
        def inner(y: Any) -> Any:
            return y**3 * x if x > 1 and y > x else y

        return gradir.grad(inner)(2 * x) + (x if x > 0 else 0)

    assert gradir.grad(outer)(2.0) == pytest.approx(36 * 4 + 1)  # 3 (2x)**2 x + x
    assert gradir.grad(outer)(0.5) == 1.0


def test_values_in_stages_and_after_loops() -> None:
    def f(x: Any) -> Any:
        y = gradir.fori_loop(0, 3, lambda k, y: y * x, x)
        z = gradir.checkpoint(lambda y: gnp.sin(y) if y > 10 else gnp.cos(y))(y)
        return z * 2 if z > 0 else z

    assert gradir.grad(f)(2.0) == pytest.approx(np.cos(16) * 32, 1e-9)
    assert gradir.grad(f)(1.0) == pytest.approx(-np.sin(1) * 8, 1e-9)


def test_text_of_values(capsys: pytest.CaptureFixture[str]) -> None:
    def f(x: Any) -> Any:
        y = np.sum(x * x)
        print(y, f"{y:.2f}", f"{x}")
        return y

    for _ in range(2):
        gradir.grad(f)(np.ones(2))
    assert capsys.readouterr().out == "2.0 2.00 [1. 1.]\n" * 2
    with pytest.raises(TraceError, match=r"format: a traced array has no value yet; print it with"):
        gradir.jit(lambda x: x * len(f"{x:.2f}"))(1.0)


def test_numpys_arrays_at_traced_places() -> None:
    table = np.array([2.0, 3.0, 5.0])
    assert gradir.grad(lambda x: x * table[np.argmax(gnp.stack([x, 2.0, 1.0]))])(7.0) == 2.0
    assert gradir.grad(lambda x: np.sum(x[X > 0] * table[x > 2]))(X).tolist() == [5.0, 0.0, 5.0]


def test_lists_are_repeated_by_integers() -> None:
    def f(x: Any, n: Any) -> Any:
        return sum([x[0]] * n + [x[1]] * (np.argmax(x) + 1)) * len((x,) * n) + np.sum([1, 2] * x)

    x = np.array([2.0, 3.0])
    value, slope = gradir.value_and_grad(f)(x, 3)
    assert value == f(x, 3)
    np.testing.assert_array_equal(slope, [9 + 1, 6 + 2])


def test_lengths_by_values() -> None:
    def f(x: Any) -> Any:
        return np.bincount(np.argmax(x, 1), minlength=4) @ x[0] + np.bincount([1, 0], x[1, :2])[1]

    x = np.random.default_rng(0).normal(size=(3, 4))
    value, slope = gradir.value_and_grad(f)(x)
    assert value == pytest.approx(f(x))
    v = np.cos(np.arange(12.0)).reshape(3, 4)
    wanted = (f(x + 1e-6 * v) - f(x - 1e-6 * v)) / 2e-6
    assert np.sum(slope * v) == pytest.approx(wanted)


def test_integers_and_flags_of_arguments() -> None:
    def f(x: Any, n: Any, flag: Any) -> Any:
        for _ in range(n):
            x = x * x
        return x if flag else -x

    assert gradir.grad(f)(2.0, 3, True) == 8 * 2.0**7
    assert gradir.grad(f)(2.0, 1, False) == -4.0


MOVES = "this array depends on what is differentiated, and values outside of the program have no"


@pytest.mark.parametrize(
    "f",
    [
        lambda x: float(x[0]) * x[0],
        lambda x: math.sqrt(x[0]) * x[1],
        lambda x: x[0] * np.roots(x)[0],
        lambda x: np.sum(np.unique(x)),
        lambda x: gradir.grad(lambda y: y * float(x[0]))(x[0]),
        lambda x: float(gradir.grad(lambda y: y * y)(x[0])) * x[0],
    ],
)
def test_values_with_a_derivative_stay_in_the_program(f: Callable[..., Any]) -> None:
    with pytest.raises(GradirError, match=f"{MOVES}|cannot hold|roots: zeros among|array.unique"):
        gradir.grad(f)(X)


def test_lists_of_elements_become_arrays() -> None:
    """A copy of the function has an array of numpy's name that takes traced numbers."""
    slope = gradir.grad(lambda x: np.sum(np.array(x.tolist(), float) * np.arange(1.0, 4.0)))
    np.testing.assert_array_equal(slope(X), [1.0, 2.0, 3.0])


def test_values_without_a_derivative() -> None:
    def f(x: Any, y: Any) -> Any:
        return x * float(gradir.no_grad(x)) + x * float(y) + int(x) * x + x * float(y > 1)

    assert gradir.grad(f)(2.5, 3.0) == 2.5 + 3 + 2 + 1
    both = gradir.grad(f, argnums=(0, 1))
    with pytest.raises(TraceError, match=f"float: {MOVES}"):
        both(2.5, 3.0)


@pytest.mark.parametrize(
    "call",
    [
        lambda: gradir.jit(branch)(X),
        lambda: gradir.jit(gradir.grad(branch))(X),
        lambda: gradir.trace(gradir.grad(branch), X),
        lambda: gradir.grad(lambda x: gnp.sum(gradir.vmap(lambda r: r if r > 0 else 0 * r)(x)))(X),
        lambda: gradir.grad(lambda x: gradir.scan(lambda c, r: (c if c > 0 else r, r), x[0], x)[0])(
            X
        ),
        lambda: gradir.jit(lambda x: x[x > 0])(X),
        lambda: gradir.jit(lambda x: x if gnp.sum(gnp.ones(x.size)) > 2 else -x, shapes=("n",))(X),
        lambda: gradir.jit(lambda x: x if gnp.arange(3.0)[0] < x.size * 0.5 else -x, shapes=("n",))(
            X
        ),
    ],
)
def test_no_values(call: Callable[[], Any]) -> None:
    with pytest.raises(
        GradirError, match=r"a traced array has no value yet|must not depend on values"
    ):
        call()


def test_what_runs_once_is_not_run_for_a_value() -> None:
    calls = list[float]()

    def host(x: Any) -> Any:
        calls.append(float(x))
        return x

    once = gradir.custom_op(host, lambda x: x, lambda x, y, ct: ct)
    with pytest.raises(
        TraceError, match=r"grad.host_call: a value is asked for that needs this op"
    ):
        gradir.grad(lambda x: x if once(x) > 0 else -x)(1.0)
    with pytest.raises(
        TraceError, match=r"comm.all_reduce: a value is asked for that needs this op"
    ):
        gradir.grad(lambda x: x if comm.psum(x) > 0 else -x)(1.0)
    assert not calls


def test_masks_of_constants_are_known_to_jit() -> None:
    f = gradir.jit(lambda x: x[gnp.arange(3) > 0] if gnp.arange(3)[1] == 1 else x)
    assert f(X).tolist() == [-2.0, 3.0]


def test_functions_of_values_outside_of_traces() -> None:
    assert gnp.unique([3, 1, 3]).tolist() == [1, 3]
    assert gnp.nonzero(X > 0)[0].tolist() == gnp.where(X > 0)[0].tolist() == [0, 2]
    assert gnp.arange(np.int64(3)).tolist() == [0, 1, 2]
    assert gnp.arange(np.float32(2)).dtype == np.float32
    assert gnp.arange(np.int32(1), 3).dtype == np.int32


@pytest.mark.parametrize("seed", range(4))
def test_random_programs(seed: int) -> None:
    value_programs.check(seed)


def test_functions_that_ask_for_values_outside_of_traces() -> None:
    for k in range(4):  # a replay would give the numbers of another call
        x = np.array([1.0, 2.0, 3.0]) - k
        assert gnp.asarray(x)[gnp.asarray(x) > 0].tolist() == x[x > 0].tolist()
        assert gnp.compress(gnp.greater(x, 0), x).tolist() == x[x > 0].tolist()
        assert gnp.nonzero(x)[0].tolist() == np.nonzero(x)[0].tolist()
        assert gnp.unique(np.abs(x)).tolist() == np.unique(np.abs(x)).tolist()


def test_numpys_own_objects_under_gradirs_names(tmp_path: Any) -> None:
    with gnp.errstate(divide="ignore"), gnp.printoptions(precision=2):
        assert gnp.array_str(X / 3) == "[ 0.33 -0.67  1.  ]"
    gnp.save(tmp_path / "x.npy", X)
    assert gnp.load(tmp_path / "x.npy").tolist() == X.tolist()
    assert list(gnp.ndindex(1, 2)) == [(0, 0), (0, 1)]
    seen = list[bool]()

    def f(x: Any) -> Any:
        y = gnp.zeros_like(x)
        gnp.copyto(y, x)
        seen.append(isinstance(x, gnp.ndarray) and not isinstance(2.0, gnp.ndarray))
        return gnp.sum(y * y)

    assert gradir.grad(f)(X).tolist() == (2 * X).tolist()
    assert seen == [True] and isinstance(gnp.ndarray(2), np.ndarray)


class Holder:
    shared = np.random.default_rng(4)
    __slots__ = ("own",)

    def __init__(self) -> None:
        self.own = np.random.default_rng(5)


GENERATOR, LEGACY, HOLDER = np.random.default_rng(0), np.random.RandomState(0), Holder()
DEEPER = types.SimpleNamespace(deeper=[np.random.default_rng(1)])
TABLE, PYTHONS = {"rng": np.random.default_rng(2)}, random.Random(0)
DRAWS: dict[str, Callable[[], Any]] = {
    "global": lambda: np.random.rand(),
    "generator": lambda: (GENERATOR.normal(size=3) * np.sin(np.ones(3))).sum(),
    "state": lambda: np.float64(LEGACY.randn()),
    "python": lambda: np.float64(random.random()),
    "attribute": lambda: DEEPER.deeper[0].normal(),
    "callee": functools.partial(lambda rng: np.sum(rng.normal(size=2)), GENERATOR),
    "table": lambda: np.abs(TABLE["rng"].normal()),
    "class": lambda: np.abs(HOLDER.shared.normal()),
    "slot": lambda: np.abs(HOLDER.own.normal()),
    "of Python": lambda: PYTHONS.random(),
    "made": lambda: np.random.default_rng().normal(),
    "the system's": lambda: random.SystemRandom().random(),
}


NUMBERS = list[int]
ALIAS = typing.List[int]  # noqa: UP006 - typing's own objects have no slots, and say None


def test_types_that_a_function_reads_hold_no_generators() -> None:
    slope = gradir.grad(lambda x: x * x if ALIAS is not NUMBERS else x)
    assert slope(3.0) == 6.0


@pytest.mark.parametrize("kind", DRAWS)
def test_random_numbers_of_numpy_are_drawn_in_each_call(kind: str) -> None:
    draw = DRAWS[kind]
    slope = gradir.grad(gradir.checkpoint(lambda x: np.sum(x * draw())))
    assert len({float(slope(1.0)) for _ in range(3)}) == 3
    both = gradir.value_and_grad(lambda x: np.sin(x) * draw() if x > 0 else x)
    assert len({float(both(1.0)[1]) for _ in range(3)}) == 3
    fixed = gradir.jit(slope)
    assert len({float(fixed(1.0)) for _ in range(3)}) == 1


def test_copies_of_arrays_from_around_are_assigned_to() -> None:
    def eliminated(a: Any, b: Any) -> Any:
        """A solution with pivots, as textbooks write it."""
        a, b, n = a.copy(), b.copy(), len(b)
        for k in range(n):
            p = k + np.argmax(np.abs(a[k:, k]))
            if p != k:
                a[[k, p]], b[[k, p]] = a[[p, k]], b[[p, k]]
            for i in range(k + 1, n):
                factor = a[i, k] / a[k, k]
                a[i, k:] -= factor * a[k, k:]
                b[i] -= factor * b[k]
        x = np.zeros_like(b)
        for i in range(n - 1, -1, -1):
            x[i] = (b[i] - np.dot(a[i, i + 1 :], x[i + 1 :])) / a[i, i]
        return x

    a, b = np.array([[0.1, 2.0, 1.0], [3.0, 1.0, -1.0], [1.0, 0.5, 2.0]]), np.array([1.0, 2.0, 0.5])
    np.testing.assert_allclose(gradir.jacobian(eliminated, 1)(a, b), np.linalg.inv(a), 1e-10)
    found = gradir.grad(lambda a, b: np.sum(eliminated(a, b)))(a, b)
    inverse = np.linalg.inv(a)
    np.testing.assert_allclose(found, -np.outer(inverse.sum(0), inverse @ b), 1e-8)

    def inner(x: Any) -> Any:
        def f(y: Any) -> Any:
            z = x.copy()
            z[0] = y
            return np.sum(z * x)

        return gradir.grad(f)(x[1]) + np.sum(x)

    assert gradir.grad(inner)(X).tolist() == [2.0, 1.0, 1.0]


def test_pythons_roundings() -> None:
    def f(x: Any) -> Any:
        return x * math.floor(x) + x * math.ceil(x) * math.trunc(x) + round(x) * x + round(x, 1) * x

    assert gradir.grad(f)(2.46) == pytest.approx(2 + 3 * 2 + 2 + 2.5)
    assert gradir.jit(lambda x: round(x, 1) + round(x))(2.46) == pytest.approx(4.5)
    with pytest.raises(TraceError, match=r"math.floor: a traced array has no value yet"):
        gradir.jit(lambda x: x * math.floor(x))(2.5)


def test_integers_of_any_size_as_arguments() -> None:
    slope = gradir.grad(lambda x, n: x**2 if n > 2 else x)
    with pytest.raises(gradir.GradirError):
        slope(1.5, 2**70)
    assert slope(1.5, 3) == 3.0
    with pytest.raises(gradir.GradirError):
        slope(1.5, 2**70)
