"""Loops: stencils, scans, factorizations, and the functions of GradBench that are loops."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import harness
import numpy as np

from rows.row import GRADIR, Asked, Figure, Measured, Row, Run, Setting
from rows.timing import compile_times, first_call, hot_parts, timed

LEAVES, SCANNED, DET = 60, 614, 9
STEPS, LARGE, SMALL = 1000, 10_000, 1000
ODE_SIZE, ODE_STEPS, POINTS, UNKNOWNS = 8, 1000, 1 << 16, 8

Function = Callable[..., Any]


def as_is(result: Any) -> Any:
    """gradir's results need no waiting."""
    return result


def libraries() -> dict[str, tuple[Any, Any, Any, Any]]:
    """By name: arrays, `fori_loop`, the library, and what waits for a result."""
    made: dict[str, tuple[Any, Any, Any, Any]] = {}
    gradir = harness.library("gradir")
    made[GRADIR] = (harness.library("gradir.numpy"), gradir.fori_loop, gradir, as_is)
    try:
        jax = harness.library("jax")
        jax.config.update("jax_enable_x64", True)
        made["JAX"] = (jax.numpy, jax.lax.fori_loop, jax, jax.block_until_ready)
    except ModuleNotFoundError:
        pass
    return made


def called(name: str, function: Function, inputs: Any, gradient: bool = False) -> harness.Call:
    """A library's jitted function of `(arrays, fori_loop, *inputs)`, or its value and gradient."""
    np_, loop, library, ready = libraries()[name]

    def of_inputs(*inputs: Any) -> Any:
        return function(np_, loop, *inputs)

    compiled = library.jit(library.value_and_grad(of_inputs) if gradient else of_inputs)
    return lambda: ready(compiled(*inputs))


def contenders(function: Function, inputs: Any, gradient: bool = False) -> list[harness.Contender]:
    return [
        harness.Contender(n, lambda n=n: called(n, function, inputs, gradient), requires)
        for n, requires in ((GRADIR, "gradir"), ("JAX", "jax"))
    ]


def explained(function: Function, inputs: Any, gradient: bool = False) -> str:
    np_, loop, gradir, _ = libraries()[GRADIR]

    def of_inputs(*inputs: Any) -> Any:
        return function(np_, loop, *inputs)

    compiled = gradir.jit(gradir.value_and_grad(of_inputs) if gradient else of_inputs)
    return hot_parts(compiled.profile(*inputs))


# Stencils.


def rolled(np_: Any, loop: Any, x: Any) -> Any:
    def step(_: Any, y: Any) -> Any:
        return y + 0.5 * np_.roll(y, 1)

    return loop(0, STEPS, step, x)


def joined(np_: Any, loop: Any, x: Any) -> Any:
    """The same by slices."""

    def step(_: Any, y: Any) -> Any:
        return y + 0.5 * np_.concatenate([y[-1:], y[:-1]])

    return loop(0, STEPS, step, x)


def stencil_row(function: Function, size: int) -> Callable[[Run], Measured]:
    """Nanoseconds an element and step."""

    def measure(run: Run) -> Measured:
        x = np.linspace(0, 1, size)
        found = timed(run, contenders(function, [x]), "us")
        scale = 1e3 / (STEPS * size)
        figures = [Figure(f.who, f.what, f.value and f.value * scale, "ns", f.note) for f in found]
        return Measured(figures, lambda: explained(function, [x]))

    return measure


# Many carried values, and loops in loops.


def scanned(np_: Any, loop: Any, *leaves: Any) -> Any:
    """Each of the numbers moves a little towards the sine of the next one."""

    def step(_: Any, xs: Any) -> Any:
        after = (*xs[1:], xs[0])
        return tuple(x + 1e-2 * (np_.sin(y) - x) for x, y in zip(xs, after, strict=True))

    return sum(loop(0, SCANNED, step, leaves))


def determinant(np_: Any, loop: Any, a: Any) -> Any:
    """By elimination without pivots, row by row."""
    n = DET

    def column(k: Any, state: Any) -> Any:
        a, product = state
        pivot, row = a[k, k], a[k]

        def below(i: Any, a: Any) -> Any:
            changed = np_.where(i > k, a[i] - row * (a[i, k] / pivot), a[i])
            return a.at[i].set(changed)

        return loop(0, n, below, a), product * pivot

    return loop(0, n, column, (a, a[0, 0] * 0 + 1))[1]


def small(np_: Any, loop: Any, x: Any) -> Any:
    del loop
    return np_.sum(np_.exp(x))


def first_call_row(function: Function, make_inputs: Function) -> Callable[[Run], Measured]:
    """The first call of value and gradient."""

    def measure(run: Run) -> Measured:
        del run
        called(GRADIR, small, [np.ones(3)], True)()
        inputs = make_inputs()
        figures = [first_call(c) for c in contenders(function, inputs, True)]
        np_, loop, gradir, _ = libraries()[GRADIR]

        def other(*inputs: Any) -> Any:
            return function(np_, loop, *inputs) * 2

        again = gradir.jit(gradir.value_and_grad(other))
        return Measured(figures, lambda: compile_times(again, inputs))

    return measure


# GradBench's, the function alone.


def ode(np_: Any, loop: Any, x: Any) -> Any:
    """Steps of Runge and Kutta, each equation fed by the one before."""
    h = 1 / ODE_STEPS

    def slope(y: Any) -> Any:
        before = np_.concatenate([np_.ones_like(y[:1]), y[:-1]])
        return x * before

    def step(_: Any, y: Any) -> Any:
        k1 = slope(y)
        k2 = slope(y + h / 2 * k1)
        k3 = slope(y + h / 2 * k2)
        return y + h / 6 * (k1 + 2 * k2 + 2 * k3 + slope(y + h * k3))

    return loop(0, ODE_STEPS, step, x * 0)


def llsq(np_: Any, loop: Any, x: Any) -> Any:
    """Half the squares of a polynomial's distance from signs, at many points."""
    del loop
    t = np_.linspace(-1, 1, POINTS)
    fitted = x[0] * np_.ones_like(t)
    power = t
    for k in range(1, UNKNOWNS):
        fitted, power = fitted + x[k] * power, power * t
    return 0.5 * np_.sum((np_.sign(t) - fitted) ** 2)


def primal_row(function: Function, make_inputs: Function) -> Callable[[Run], Measured]:
    def measure(run: Run) -> Measured:
        inputs = make_inputs()
        figures = timed(run, contenders(function, inputs), "us")
        return Measured(figures, lambda: explained(function, inputs))

    return measure


def matrix() -> list[Any]:
    return [np.random.default_rng(0).normal(size=(DET, DET)) + 4 * np.eye(DET)]


_STENCIL = [Setting(), Setting(threads=1)]

ROWS = (
    Row(
        "fori_loop of y + 0.5 * roll(y), 10,000 f64: an element and step",
        stencil_row(rolled, LARGE),
        [Asked("time", 0.4)],
        _STENCIL,
    ),
    Row(
        "the same by a concat of slices, 1,000 f64: an element and step",
        stencil_row(joined, SMALL),
        [Asked("time", 0.4)],
        _STENCIL,
        quick=[Setting()],
    ),
    Row(
        "loop of 60 leaves, 614 steps, gradient: first call",
        first_call_row(scanned, lambda: list(np.random.default_rng(0).uniform(-1, 1, LEAVES))),
        [Asked("first call", 0.8)],
    ),
    Row(
        "determinant of 9 x 9 in nested loops, gradient: first call",
        first_call_row(determinant, matrix),
        [Asked("first call", 1.5)],
    ),
    Row("GradBench ode, 8 equations, 1,000 steps, primal", primal_row(ode, lambda: [ode_start()])),
    Row(
        "GradBench llsq, 65,536 points, 8 unknowns, primal",
        primal_row(llsq, lambda: [np.linspace(-1, 1, UNKNOWNS)]),
    ),
    Row("GradBench det, 9 x 9, primal by elimination", primal_row(determinant, matrix)),
)


def ode_start() -> Any:
    return np.linspace(0.1, 1, ODE_SIZE)
