"""Selections around loops and branches, and in other iterations, gate the code inside.

The reference is the same program with its loops unrolled in Python: its code is straight.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from typing import Any

import numpy as np
import pytest

import gradir
import gradir.nn
import gradir.numpy as gnp

Step = Callable[[Any, Any], Any]
Loop = Callable[[int, Step, Any], Any]
Program = Callable[[Loop, Any], Any]

# 0 has an infinite slope in sqrt and log, -1 an undefined one.
EDGES = np.array([0.0, 0.5, 4.0, -1.0])
POSITIVE = np.array([0.0, 0.5, 4.0])


def unrolled(count: int, step: Step, start: Any) -> Any:
    for number in range(count):
        start = step(np.int64(number), start)
    return start


def counted(policy: str, count: int, step: Step, start: Any) -> Any:
    return gradir.fori_loop(0, count, step, start, policy=policy)


def repeated(policy: str, count: int, step: Step, start: Any) -> Any:
    """The loop as a while_loop."""
    return gradir.while_loop(
        lambda s: s[0] < count, lambda s: (s[0] + 1, step(*s)), (0, start), policy=policy
    )[1]


LOOPS: dict[str, Loop] = {
    **{f"for, {p}": partial(counted, p) for p in ("store_all", "every=2", "binomial=2")},
    **{f"while, {p}": partial(repeated, p) for p in ("store_all", "every=2", "online=2")},
}


def positive(x: Any, value: Any, other: float = 0.0) -> Any:
    return gnp.where(x > 0.1, value, other)


def roots(loop: Loop, x: Any) -> Any:
    return loop(2, lambda _, c: gnp.sqrt(c), x)


def of_two(loop: Loop, x: Any) -> Any:
    y = roots(loop, x)
    return positive(x, loop(2, lambda _, c: gnp.log(c + 1.0), y))


def matrices(loop: Loop, x: Any) -> Any:
    weights = np.array([[1.0, 2], [3, 1]])
    rows = gnp.stack([x, x + 3.0], axis=1)
    return positive(x[:, None], loop(2, lambda _, c: gnp.sqrt(c) @ weights, rows))


def clipped(loop: Loop, x: Any) -> Any:
    """A relu of a clip of infinity: the gate of the relu has no zeros where it is not closed."""
    return gradir.nn.relu(gnp.clip(loop(2, lambda _, c: gnp.expm1(1000.0 * c), x), -1.0, 2.0))


PROGRAMS: dict[str, tuple[Program, Any]] = {
    "a relu of a clip": (clipped, EDGES),
    "around": (lambda loop, x: positive(x, roots(loop, x)), EDGES),
    "around two loops": (of_two, EDGES),
    "around a loop in a loop": (
        lambda loop, x: positive(x, loop(2, lambda _, c: roots(loop, c) * x, x)),
        EDGES,
    ),
    "slice around": (lambda loop, x: roots(loop, x)[1:], POSITIVE),
    "numbers": (
        lambda loop, x: gnp.stack([positive(x[k], roots(loop, x[k])) for k in range(3)]),
        POSITIVE,
    ),
    "matrices": (matrices, POSITIVE),
    "other iteration": (
        lambda loop, x: loop(
            3, lambda i, c: gnp.where(i == 1, positive(c, c, 5.0), gnp.sqrt(c)), x
        ),
        EDGES,
    ),
    "other value": (
        lambda loop, x: loop(
            3, lambda _, s: (positive(s[1], s[0], 1.0), gnp.sqrt(s[0] * s[1])), (x, x * x)
        )[0],
        EDGES,
    ),
    "moved": (
        lambda loop, x: loop(2, lambda _, c: positive(x, gnp.roll(gnp.sqrt(c), 3)), x),
        POSITIVE,
    ),
    "maximum": (
        lambda loop, x: loop(2, lambda _, c: gnp.maximum(gnp.log(c * c), -3.0) + 0 * x, x),
        POSITIVE,
    ),
    "in front": (
        lambda loop, x: loop(2, lambda _, c: positive(x, c), gnp.sqrt(x)),
        EDGES,
    ),
    "read in the loop": (
        lambda loop, x: (
            lambda y: loop(2, lambda _, c: c + positive(x, y), x)
        )(gnp.sqrt(x)),
        EDGES,
    ),
    "read under a selection": (
        lambda loop, x: (
            lambda y: positive(x, loop(2, lambda _, c: gnp.log(c) * y + 3, x))
        )(gnp.sqrt(x)),
        EDGES,
    ),
    "elements": (
        lambda loop, x: (
            lambda y: loop(3, lambda i, s: s + positive(x[i], y[i]), 0.0)
        )(gnp.log(x)),
        POSITIVE,
    ),
    "elements from the end": (
        lambda loop, x: (
            lambda y: loop(3, lambda i, s: s + positive(x[i - 3], y[i - 3]), 0.0)
        )(gnp.log(x)),
        POSITIVE,
    ),
    "stage in a loop": (
        lambda loop, x: positive(
            x, loop(2, lambda _, c: gradir.checkpoint(lambda u: gnp.sqrt(u) * (u + 2.0))(c), x)
        ),
        EDGES,
    ),
    "loop in a stage": (
        lambda loop, x: positive(x, gradir.checkpoint(partial(roots, loop))(gnp.sqrt(x))),
        EDGES,
    ),
    "branch in a loop": (
        lambda loop, x: positive(
            x, loop(2, lambda i, c: gradir.cond(i == 0, gnp.sqrt, lambda u: u * x, c), x)
        ),
        EDGES,
    ),
    "loop in a branch": (
        lambda loop, x: gradir.cond(
            gnp.sum(x) > -9, lambda u: positive(u, roots(loop, u)), lambda u: u, x
        ),
        EDGES,
    ),
}  # fmt: skip

BRANCHES: dict[str, Callable[[Any], Any]] = {
    "around": lambda x: positive(x, gradir.cond(gnp.sum(x) > -9, gnp.log, lambda u: u, x)),
    "inside": lambda x: (
        lambda y: gradir.cond(gnp.sum(x) > -9, lambda: positive(x, y), lambda: 2 * y)
    )(gnp.log(x)),
}  # fmt: skip


def total(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """A number that has other weights for all results."""

    def loss(x: Any) -> Any:
        y = gnp.ravel(function(x))
        return gnp.sum(y * gnp.arange(1.0, 1.0 + y.size))

    return loss


def gradient(name: str, loop: Loop) -> Any:
    program, x = PROGRAMS[name]
    return gradir.grad(total(partial(program, loop)))(x)


@cache
def straight_gradient(name: str) -> Any:
    return gradient(name, unrolled)


@pytest.mark.parametrize("name", PROGRAMS)
def test_loops_have_the_gradients_of_straight_code(name: str) -> None:
    expected = straight_gradient(name)
    assert np.isfinite(expected).all()
    for kind, loop in LOOPS.items():
        found = gradient(name, loop)
        np.testing.assert_allclose(found, expected, rtol=1e-13, atol=0, err_msg=kind)


@pytest.mark.parametrize("name", PROGRAMS)
def test_interpreter(name: str) -> None:
    program, x = PROGRAMS[name]
    expected = straight_gradient(name)
    for kind, loop in LOOPS.items():
        module = gradir.trace(total(partial(program, loop)), x)
        derived = module.gradient("loss", mode="grad")
        found = gradir.interpret(derived, "loss_grad", x)[1]
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=0, err_msg=kind)


@pytest.mark.parametrize("name", ["around", "other iteration", "read in the loop", "other value"])
def test_rows(name: str) -> None:
    """Under vmap each row has its own gradient."""
    program, x = PROGRAMS[name]
    expected = straight_gradient(name)
    rows = np.stack([x, x + 1.0])
    for kind, loop in LOOPS.items():
        found = gradir.vmap(gradir.grad(total(partial(program, loop))))(rows)[0]
        np.testing.assert_allclose(found, expected, rtol=1e-13, atol=0, err_msg=kind)


@pytest.mark.parametrize("name", PROGRAMS)
def test_forward_mode(name: str) -> None:
    """Tangents of loops equal straight code's, behind a selection too."""
    program, x = PROGRAMS[name]

    def tangents(loop: Loop, start: Callable[[Any], Any]) -> Any:
        loss = total(lambda x: program(loop, start(x)))
        return [gradir.jvp(loss, (x,), (unit,))[1] for unit in np.eye(x.size)]

    for start in (lambda x: x, lambda x: positive(x, x)):
        expected = tangents(unrolled, start)
        for kind in ("for, store_all", "while, store_all"):
            found = tangents(LOOPS[kind], start)
            np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-14, err_msg=kind)


@pytest.mark.parametrize(
    "name", ["around", "other iteration", "read under a selection", "matrices"]
)
def test_hessians(name: str) -> None:
    program, x = PROGRAMS[name]
    expected = gradir.hessian(total(partial(program, unrolled)))(x)
    assert np.isfinite(expected).all()
    for kind in ("for, store_all", "for, every=2", "while, store_all"):
        found = gradir.hessian(total(partial(program, LOOPS[kind])))(x)
        np.testing.assert_allclose(found, expected, rtol=1e-11, atol=1e-12, err_msg=kind)


# Reverse mode on reverse mode: what a loop keeps for its backward loop has cotangents too.


def root(x: Any) -> Any:
    return gnp.where(x > 0, gnp.sqrt(x), 0.0)


def cut(loop: Loop, x: Any) -> Any:
    return loop(2, lambda _, c: root(c) * (x + 2.0) + gnp.where(c != 0, 1 / c, 0.0), x)


def norms(loop: Loop, x: Any) -> Any:
    return loop(2, lambda _, c: c * gnp.maximum(gnp.sqrt(gnp.sum(c * c)), 1e-3), x)


def in_branches(loop: Loop, x: Any) -> Any:
    return loop(3, lambda i, c: gradir.cond(i == 1, root, lambda u: u * x + root(x), c), x)


def captured(loop: Loop, x: Any) -> Any:
    weights = root(x) + x
    return loop(2, lambda _, c: gnp.where(x > 0, c * gnp.log(weights), x), x)


def nested(loop: Loop, x: Any) -> Any:
    inner = LOOPS["for, store_all"] if loop is not unrolled else unrolled
    return loop(2, lambda _, c: inner(2, lambda _, d: root(d) * x + d, c) * 2.0, x)


SECOND: dict[str, tuple[Program, Any]] = {
    "cut": (cut, EDGES),
    "norms": (norms, np.zeros(3)),
    "in branches": (in_branches, EDGES),
    "captured": (captured, EDGES),
    "nested": (nested, EDGES),
    "number": (lambda loop, x: loop(2, lambda _, c: root(c) * x + c, x), np.array(0.0)),
    "no number": (cut, np.zeros(0)),
    "no iteration": (lambda loop, x: loop(0, lambda _, c: 1 / c, root(x) * x), EDGES),
    **{name: PROGRAMS[name] for name in ("around", "other iteration", "read in the loop")},
}


def curvature(name: str, loop: Loop) -> Callable[[Any], Any]:
    """The product of the Hessian with some numbers, in reverse mode on reverse mode."""
    program, x = SECOND[name]
    numbers = np.linspace(0.3, 1.7, x.size).reshape(x.shape)
    slope = gradir.grad(total(partial(program, loop)))
    return gradir.grad(lambda x: gnp.sum(slope(x) * numbers))


@pytest.mark.parametrize("name", SECOND)
def test_reverse_on_reverse(name: str) -> None:
    x = SECOND[name][1]
    expected = curvature(name, unrolled)(x)
    assert np.isfinite(expected).all()
    for kind in LOOPS if name in ("cut", "around") else ("for, store_all", "while, every=2"):
        found = curvature(name, LOOPS[kind])(x)
        np.testing.assert_allclose(found, expected, rtol=1e-11, atol=1e-13, err_msg=kind)


def test_rows_reverse_on_reverse() -> None:
    rows = np.stack([EDGES, EDGES + 1.0])
    expected = gradir.vmap(curvature("cut", unrolled))(rows)
    for kind in ("for, store_all", "while, store_all"):
        found = gradir.vmap(curvature("cut", LOOPS[kind]))(rows)
        np.testing.assert_allclose(found, expected, rtol=1e-11, atol=1e-13, err_msg=kind)


def test_scans_reverse_on_reverse() -> None:
    """Inputs and results in rows."""

    def step(c: Any, u: Any) -> Any:
        return root(c) * u + gnp.where(u > 0, gnp.log(u), 0.0), root(u) * c

    def loss(scan: Callable[..., Any], x: Any) -> Any:
        last, rows = scan(step, x, gnp.stack([x, x * 0.5, x + 1.0]))
        return gnp.sum(last) + gnp.sum(rows * rows)

    def unrolled(step: Step, start: Any, rows: Any) -> Any:
        found = []
        for row in rows:
            start, made = step(start, row)
            found.append(made)
        return start, gnp.stack(found)

    expected, found = (
        gradir.grad(lambda x, scan=scan: gnp.sum(gradir.grad(partial(loss, scan))(x)))(EDGES)
        for scan in (unrolled, gradir.scan)
    )
    assert np.isfinite(expected).all()
    np.testing.assert_allclose(found, expected, rtol=1e-11, atol=1e-13)


def test_taken_infinities_stay_at_second_order() -> None:
    def slopes(loop: Loop) -> Any:
        loss = total(lambda x: loop(1, lambda _, c: gnp.where(c > -1, gnp.sqrt(c), 0.0), x))
        return gradir.grad(lambda x: gnp.sum(gradir.grad(loss)(x)))(np.array([0.0, 1.0, -4.0]))

    for kind in ("for, store_all", "while, store_all"):
        np.testing.assert_array_equal(slopes(LOOPS[kind]), [-np.inf, -0.5, 0.0])


def random_step(random: np.random.Generator, x: Any) -> Step:
    """An iteration of some ops, whose slopes may be infinite, and selections."""
    names = list(random.choice(["root", "log", "where", "turn", "max", "times", "roll"], 3))
    bounds, turn = random.uniform(-1, 3, 3), random.integers(3)

    def step(i: Any, c: Any) -> Any:
        for name, bound in zip(names, bounds, strict=True):
            c = {
                "root": lambda c: gnp.sqrt(c),
                "log": lambda c: gnp.log(c + 1.0),
                "where": lambda c, bound=bound: gnp.where(x > bound, c, bound),
                "turn": lambda c, bound=bound: gnp.where(i == turn, gnp.where(c > 0, c, 2.0), c),
                "max": lambda c, bound=bound: gnp.maximum(c, bound),
                "times": lambda c: c * x,
                "roll": lambda c: gnp.roll(c, 1),
            }[name](c)
        return c

    return step


@pytest.mark.parametrize("seed", range(8))
def test_random_loops(seed: int) -> None:
    """What is nan in straight code is nan in a loop, and nothing else."""

    def program(loop: Loop, x: Any) -> Any:
        random = np.random.default_rng(seed)
        inner, outer = (random_step(random, x) for _ in range(2))
        first = loop(2, lambda i, c: loop(2, inner, outer(i, c)), x)
        return gnp.where(x > 0.1, loop(3, outer, first), 0.0)

    expected = gradir.grad(total(partial(program, unrolled)))(EDGES)
    for kind in ("for, store_all", "for, binomial=2", "while, store_all", "while, every=2"):
        found = gradir.grad(total(partial(program, LOOPS[kind])))(EDGES)
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-14, err_msg=kind)


@pytest.mark.parametrize("name", BRANCHES)
def test_branches(name: str) -> None:
    loss = total(BRANCHES[name])
    gradir.testing.check_grads(loss, [EDGES], order=1)


@pytest.mark.parametrize("policy", ["store_all", "every=2", "binomial=2"])
def test_rows_of_a_scan(policy: str) -> None:
    """The cotangent of a stacked input has the support of the iteration of each row, and each row
    of the results gates what made it."""

    def inputs(x: Any) -> Any:
        def step(c: Any, u: Any) -> Any:
            return c + positive(u, u), None

        return gradir.scan(step, 0.0, gnp.sqrt(x), policy=policy)[0]

    def results(x: Any) -> Any:
        def step(c: Any, _: Any) -> Any:
            return gnp.sqrt(c), gnp.log(c)

        return positive(x, gradir.scan(step, x, None, length=2, policy=policy)[1][1])

    for function in (inputs, results):
        gradir.testing.check_grads(total(function), [POSITIVE], order=1)


def test_taken_infinities_stay() -> None:
    loss = total(
        lambda x: gnp.where(x > -1, gradir.fori_loop(0, 2, lambda _, c: gnp.sqrt(c), x), 0)
    )
    np.testing.assert_array_equal(gradir.grad(loss)(np.array([0.0, 1.0])), [np.inf, 0.5])


def test_ordinary_loops_carry_no_bools() -> None:
    """Loops without a selection, and those whose slopes are finite, keep their code."""

    def newton(x: Any) -> Any:
        return gradir.fori_loop(0, 5, lambda _, c: c - (c * c - x) / (2 * c), x)

    def network(x: Any) -> Any:
        weights = np.eye(4)
        return gradir.fori_loop(0, 5, lambda _, c: gradir.nn.relu(gnp.tanh(c) @ weights + c), x)

    for function in (newton, network):
        module = gradir.trace(total(function), gradir.Spec((4,)))
        once = module.gradient("loss", mode="grad")
        assert "_support" not in str(once)
        again = str(once.gradient("loss_grad", mode="vjp", of=[1]))
        tapes = [line for line in again.splitlines() if line.lstrip().startswith("%tape_ct")]
        assert tapes
        assert all("i1" not in line for line in tapes)
