"""Functions written for NumPy and SciPy that make arrays by numpy.zeros and assign to them."""

from __future__ import annotations

import traceback
from importlib.util import find_spec
from threading import Thread
from typing import Any

import numpy as np
import pytest
from numpy_simulations import SIMULATIONS, STATEMENTS, heat, views
from trace_harness import run

import gradir
from gradir.frontends.tracing.late_arrays import LateArray

needs_scipy = pytest.mark.skipif(find_spec("scipy") is None, reason="scipy is not installed")
Array = np.ndarray[Any, Any]


def slopes(f: Any, x: Any, step: float = 1e-6) -> Any:
    """Central differences."""
    found = np.zeros(np.shape(x))
    for place in np.ndindex(found.shape):
        d = np.zeros(found.shape)
        d[place] = step
        found[place] = (f(x + d) - f(x - d)) / (2 * step)
    return found


def gradient(f: Any, x: Any) -> Any:
    """The value and the gradient, by the interpreter."""
    module = gradir.trace(f, x)
    [name] = [n for n in module.functions if n in (getattr(f, "__name__", ""), "Ball", "main")]
    return gradir.interpret(module.gradient(name, wrt=[0], mode="grad"), f"{name}_grad", x)


@pytest.mark.parametrize(("f", "x"), SIMULATIONS, ids=lambda v: getattr(v, "__name__", ""))
def test_simulations(f: Any, x: Any) -> None:
    value, found = gradient(f, x)
    np.testing.assert_allclose(value, f(x), rtol=1e-12)
    np.testing.assert_allclose(found, slopes(f, x), rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("f", STATEMENTS, ids=lambda f: getattr(f, "__name__", "object"))
def test_statements(f: Any) -> None:
    value, found = gradient(f, 0.8)
    np.testing.assert_allclose(value, f(0.8), rtol=1e-12)
    np.testing.assert_allclose(found, slopes(f, 0.8), rtol=1e-6)


def test_transforms() -> None:
    """Native code, values, rows, both modes, and a second order."""
    x = 0.7
    np.testing.assert_allclose(gradir.grad(heat)(x), slopes(heat, x), rtol=1e-6)
    np.testing.assert_allclose(gradir.jit(heat)(x), heat(x), rtol=1e-12)
    np.testing.assert_allclose(gradir.vmap(heat)(np.array([x, 1.0])), [heat(x), heat(1.0)])
    np.testing.assert_allclose(gradir.jacfwd(heat)(x), slopes(heat, x), rtol=1e-6)
    gradir.testing.check_grads(heat, (x,), order=2)
    gradir.testing.check_grads(views, (x,), order=2)


def sized(x: Any) -> Any:
    out = np.zeros(x.shape[0])
    out[0] = x[0]
    out[1:] = x[1:] - x[:-1]
    return out @ out


def test_extents_by_name() -> None:
    x = np.arange(4.0) ** 2
    assert gradir.jit(sized, shapes=("n",))(x) == sized(x)


def test_checkpoints_loops_and_rules() -> None:
    x = np.arange(3.0)
    for f in (
        gradir.checkpoint(sized),
        lambda x: gradir.cond(x[0] < 1, sized, lambda x: x[0], x),
        lambda x: gradir.map(sized, x[None])[0],
    ):
        np.testing.assert_allclose(gradir.grad(f)(x), slopes(sized, x), rtol=1e-6, atol=1e-8)


class Recorder:
    """Sees which kind of arrays a function makes."""

    def __init__(self) -> None:
        self.seen: list[Any] = []

    def look(self, x: Any) -> Any:
        self.seen.append(x)
        return x


def test_known_numbers_stay_numbers() -> None:
    """Arrays that hold no traced values are computed by NumPy: the program has none of it."""

    def f(x: Any) -> Any:
        table = np.zeros(50)
        for k in range(50):
            table[k] = np.sin(k)
        order = np.argsort(table)
        out = np.zeros(2)
        out[0] = x
        return out.sum() * table[order[3]] if table[0] == 0 else x

    assert str(gradir.trace(f, 1.0)).count("\n") < 20
    np.testing.assert_allclose(gradir.grad(f)(1.0), np.sort(np.sin(np.arange(50)))[3])


def test_a_function_that_is_traced_is_not_copied() -> None:
    """Nothing changes for functions that NumPy's own arrays are enough for."""
    recorder = Recorder()

    def f(x: Any) -> Any:
        recorder.look(np.zeros(3))
        return x * 2

    gradir.trace(f, 1.0)
    assert [type(x) for x in recorder.seen] == [np.ndarray]


def test_arrays_that_outlive_the_trace() -> None:
    kept: list[Any] = []

    def f(x: Any) -> Any:
        known, mixed = np.ones(2), np.zeros(2)
        mixed[0] = x
        kept.append(known)
        return mixed.sum()

    gradir.trace(f, 1.0)
    [known] = kept
    assert isinstance(known, LateArray)
    known[1] = 3
    assert str(known) == "[1. 3.]"
    assert type(known * 2) is np.ndarray
    assert float(gradir.jit(lambda x: (x * known).sum())(2.0)) == 8


def test_code_that_asks_for_numpys_class() -> None:
    def f(x: Any) -> Any:
        a = np.zeros(3)
        assert isinstance(a, np.ndarray)
        a[0] = x
        assert not isinstance(a, np.ndarray)  # as all traced arrays
        return a.sum()

    assert gradir.grad(f)(2.0) == 1


def test_other_threads_see_numpy() -> None:
    """No module is changed while a function is traced."""
    seen: list[type] = []

    def f(x: Any) -> Any:
        out = np.zeros(2)
        out[0] = x
        other = Thread(target=lambda: seen.append(type(heat.__globals__["np"].zeros(2))))
        other.start()
        other.join()
        return out.sum()

    gradir.trace(f, 1.0)
    assert seen == [np.ndarray]


TABLE, COUNT = np.arange(3.0), 0


def writes_outside(x: Any) -> Any:
    TABLE[0] = x
    return TABLE.sum()


def writes_in_body(x: Any) -> Any:
    total = np.zeros(3)

    def body(i: Any, c: Any) -> Any:
        total[0] = c
        return c * x

    return gradir.fori_loop(0, 3, body, x)


def counts_in_body(x: Any) -> Any:
    total = np.zeros(3)
    total[1] = x

    def body(i: Any, c: Any) -> Any:
        total[0] += 1.0
        return c * x

    return gradir.fori_loop(0, 3, body, x)


def reads_known_in_body(x: Any) -> Any:
    total, other = np.zeros(3), np.zeros(2)
    other[0] = x

    def body(i: Any, c: Any) -> Any:
        total[0] += 1.0
        return c * x

    return gradir.fori_loop(0, 3, body, x)


def views_of_copies(x: Any) -> Any:
    a = np.zeros(6)
    windows = np.lib.stride_tricks.sliding_window_view(a, 2)
    a[0] = x
    return windows.sum()


def uses_diagonal(x: Any) -> Any:
    a = np.ones((3, 3))
    d = np.diag(a)
    a[1, 1] = x
    return d.sum()


REFUSED: list[tuple[Any, str]] = [
    (writes_outside, "this array of NumPy's is one from outside of the traced function"),
    (writes_in_body, "the array is one from outside of this function, which is traced on its own"),
    (counts_in_body, "the array is one from outside of this function, which is traced on its own"),
    (reads_known_in_body, "the array is one from outside of this function, which is traced on"),
    (views_of_copies, "this view was made of an array before traced values were assigned to that"),
    (uses_diagonal, "this view was made of an array before traced values were assigned to that"),
    (lambda x: float(x), "float: a traced array has no value yet"),
]


@pytest.mark.parametrize(("f", "message"), REFUSED, ids=[f.__name__ for f, _ in REFUSED])
def test_refusals(f: Any, message: str) -> None:
    with pytest.raises(gradir.TraceError) as caught:
        gradir.trace(f, 0.5)
    assert message in str(caught.value)
    assert f"{__file__}:" in str(caught.value)
    assert TABLE.tolist() == [0, 1, 2]


class Slotted:
    __slots__ = ("n",)

    def run(self, x: Any) -> Any:
        out = np.zeros(3)
        out[0] = x
        return out.sum()


SLOTTED = Slotted()


def counting(x: Any) -> Any:
    global COUNT
    COUNT += 1
    out = np.zeros(3)
    out[0] = x
    return out.sum()


@pytest.mark.parametrize(
    ("f", "note"),
    [
        (
            lambda x: SLOTTED.run(x),
            "numpy in methods of Slotted, which is more than its attributes",
        ),
        (counting, "numpy in counting, which assigns to the global COUNT, is NumPy's own: write"),
    ],
)
def test_what_is_not_copied_is_named(f: Any, note: str) -> None:
    with pytest.raises(gradir.TraceError) as caught:
        gradir.trace(f, 0.5)
    assert note in "".join(traceback.format_exception(caught.value))


@needs_scipy
def test_functions_of_scipy() -> None:
    from scipy import linalg, signal, special, stats
    from scipy.linalg import cho_factor, cho_solve

    b = np.array([1.0, 2.0, 3.0])
    kernel = np.array([0.25, 0.5, 0.25])

    def process(x: Any) -> Any:
        k = np.exp(-(np.subtract.outer(b, b) ** 2)) + x * np.eye(3)
        c = cho_factor(k, lower=True, check_finite=False)
        half = linalg.solve_triangular(linalg.cholesky(k, lower=True), b, lower=True)
        return b @ cho_solve(c, b) + half @ half + np.log(np.diag(c[0])).sum()

    def spread(x: Any) -> Any:
        s = np.zeros(6)
        s[2:4] = x
        wide = signal.convolve(s, kernel, mode="same", method="direct")
        return stats.norm.logpdf(wide).sum() + special.logsumexp(wide) + special.expit(x)

    for f in (process, spread):
        np.testing.assert_allclose(run(f, 0.8), f(0.8), rtol=1e-12)
        np.testing.assert_allclose(gradir.grad(f)(0.8), slopes(f, 0.8), rtol=1e-6)
