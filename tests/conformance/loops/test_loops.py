"""The programs in gradir: native code and interpreter, forward and reverse mode, loop policies.

Compiling is what takes time: each program once, second derivatives of some; the interpreter has the
rest, and takes in turns what all programs need not have.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from conformance.loops.all_programs import GROUPS, PROGRAMS
from conformance.loops.derivatives import Derivatives, error_of
from conformance.loops.gradir_flow import GradirFlow
from conformance.loops.plain import DOUBLE, STENCIL, STEP, Double, in_double
from conformance.loops.program import Program
from conformance.loops.random_programs import random_program
from conformance.loops.references import FILE, directions, load

import gradir
import gradir.numpy as gnp

REFERENCES = load()
NAMES = list(PROGRAMS)
POLICIES = [("every=2", "online=2"), ("binomial=2", "every=3"), ("binomial=3", "online=1")]
SECOND_NATIVELY = [
    "recurrent_weights", "while_in_while", "rotated", "traced_bounds", "rows_in_place", "newton",
    "stage_around_while", "rows_of_while", "slope_of_a_loop_in_a_loop",
]  # fmt: skip
THIRD = [name for name, p in PROGRAMS.items() if p.order > 2]

each = pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS.keys())


def derivatives(program: Program, policies: Sequence[str] = ()) -> Derivatives:
    return Derivatives(program, gnp, GradirFlow(*policies), gradir)


def interpreted(function: Callable[..., Any], arguments: Sequence[Any]) -> tuple[Any, ...]:
    """The results of a traced function, flat."""
    module = gradir.trace(function, *arguments)
    return gradir.interpret(module, module.functions[-1], *arguments)


def check(program: Program, found: Sequence[Any], wanted: Sequence[Any], order: int = 1) -> None:
    """Each order of derivatives may lose a digit."""
    assert error_of(found, wanted) <= program.tolerance * 10.0 ** (order - 1)


@each
def test_references(program: Program) -> None:
    """The plain program in float64, and its slope along a direction by differences."""
    wanted, (line,) = REFERENCES[program.name], directions(program, 1)
    value, slope = value_and_slope(program)
    assert value == pytest.approx(wanted["value"], rel=1e-6 if program.has_inner else 1e-9)
    assert slope == pytest.approx(projected(wanted["gradients"][0], line), rel=1e-4, abs=1e-7)


def value_and_slope(program: Program) -> tuple[float, float]:
    """Of the plain program in float64, along the first direction."""
    start = [in_double(a) for a in program.arguments]
    (line,) = directions(program, 1)

    def moved(step: float) -> float:
        given = list(start)
        for k, part in zip(program.active, line, strict=True):
            given[k] = given[k] + step * part
        return float(program.function(Double(), DOUBLE, *given))

    return moved(0.0), sum(w * moved(k * STEP) for k, w in STENCIL) / STEP


def projected(gradient: Sequence[Any], line: Sequence[Any]) -> float:
    return sum(float(np.sum(g * d)) for g, d in zip(gradient, line, strict=True))


@each
def test_native_code(program: Program) -> None:
    """gradir.jit of the value and the gradient."""
    made = derivatives(program)
    value, gradient = gradir.jit(made.with_value)(*made.point)
    wanted = REFERENCES[program.name]
    check(program, [value], [wanted["value"]])
    check(program, gradient, wanted["gradients"][0])


@each
def test_interpreter_and_policies(program: Program) -> None:
    """The interpreter's gradient, with equal bits under a policy of snapshots.

    Derivatives of derivatives sum the cotangents of repeated iterations in another order.
    """
    made = derivatives(program)
    value, *gradient = interpreted(made.with_value, made.point)
    check(program, gradient, REFERENCES[program.name]["gradients"][0])
    policy = POLICIES[NAMES.index(program.name) % len(POLICIES)]
    found = interpreted(derivatives(program, policy).with_value, made.point)
    if program.has_inner:
        check(program, found[1:], gradient)
    else:
        for one, other in zip(found, [value, *gradient], strict=True):
            np.testing.assert_array_equal(one, other)


@each
def test_forward_mode(program: Program) -> None:
    """Forward mode, and the second order in one of two ways, by the interpreter."""
    made, wanted = derivatives(program), REFERENCES[program.name]["gradients"]
    slope = projected(wanted[0], directions(program, 1)[0])
    check(program, interpreted(made.pushed, made.point), [np.array(slope)])
    is_forward_over_reverse = NAMES.index(program.name) % 2 == 0
    second = made.pushed_gradient if is_forward_over_reverse else made.order(2)
    check(program, interpreted(second, made.point), wanted[1], 2)


@pytest.mark.parametrize("name", NAMES[::3])
def test_rows(name: str) -> None:
    """vmap of the gradient, by the interpreter, of two equal rows."""
    program = PROGRAMS[name]
    made = derivatives(program)
    rows = [np.stack([a, a]) for a in made.point]
    found = interpreted(gradir.vmap(made.gradient), rows)
    for k in range(2):
        check(program, [f[k] for f in found], REFERENCES[program.name]["gradients"][0])


@pytest.mark.parametrize("name", SECOND_NATIVELY)
def test_second_order_natively(name: str) -> None:
    """Reverse over reverse."""
    program = PROGRAMS[name]
    made = derivatives(program)
    wanted = REFERENCES[name]["gradients"][1]
    check(program, gradir.jit(made.order(2))(*made.point), wanted, 2)


@pytest.mark.parametrize("name", THIRD)
def test_third_order(name: str) -> None:
    """The third order by the interpreter."""
    made = derivatives(PROGRAMS[name])
    found = interpreted(made.order(3), made.point)
    check(PROGRAMS[name], found, REFERENCES[name]["gradients"][2], 3)


@pytest.mark.parametrize("seed", [1, 3, 6])
def test_random_programs(seed: int) -> None:
    """The slope by differences, equal bits under a policy, and the second order in both ways."""
    program = random_program(seed, has_inner=False)
    made, (line,) = derivatives(program), directions(program, 1)
    found = interpreted(made.with_value, made.point)
    value, slope = value_and_slope(program)
    assert float(found[0]) == pytest.approx(value, rel=1e-12)
    assert projected(found[1:], line) == pytest.approx(slope, rel=1e-6, abs=1e-7)
    other = interpreted(derivatives(program, POLICIES[0]).with_value, made.point)
    assert all(map(np.array_equal, found, other))
    forward = interpreted(made.pushed_gradient, made.point)
    reverse = interpreted(made.order(2), made.point)
    assert error_of(forward, [np.asarray(r) for r in reverse]) < 1e-12


def test_each_program_has_a_reference() -> None:
    """And says in a sentence what it tests."""
    assert list(REFERENCES) == list(PROGRAMS), f"{FILE} is stale: see references.py"
    assert len(PROGRAMS) >= 60
    assert all(p.says and p.group in GROUPS for p in PROGRAMS.values())
