"""Level 4: elementwise functions with selections at special points: 0, ends of domains, infinity,
nan. Their derivatives must be, element by element, the derivatives of what the selections took.

The reference is the function without selections: one for each way that they decide.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import Any

import numpy as np

import gradir
import gradir.nn as nn
import gradir.numpy as gnp
import gradir.scipy as scipy
from fuzz.outcome import Broken, Outcome
from fuzz.trial import Array, interpreted, native
from fuzz.verdict import refusals_allowed

POINTS = (
    0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 2.0, -2.0, 3.7, -3.7, 1e-8, -1e-8, 1e-300, 1e300, -1e300,
    30.0, -30.0, 800.0, -800.0, np.inf, -np.inf, np.nan,
)  # fmt: skip
PAIRS = 60
UNARY = """
gnp.sqrt({0})
gnp.log({0})
1.0 / {0}
gnp.exp({0})
gnp.expm1({0})
gnp.log1p({0})
gnp.asin({0})
gnp.acos({0})
gnp.acosh({0})
gnp.atanh({0})
gnp.cbrt({0})
gnp.abs({0})
gnp.sin({0})
gnp.tanh({0})
gnp.square({0})
{0} ** 1.5
{0} ** -1.0
2.0 * {0}
{0} - 1.0
{0} * 0.0
gnp.clip({0}, 0.0, 2.0)
nn.relu({0})
nn.softplus({0})
nn.silu({0})
nn.elu({0})
scipy.special.gammaln({0})
scipy.special.erfinv({0})
scipy.special.ndtri({0})
scipy.special.entr({0})
scipy.special.erfcx({0})
"""
BINARY = """
{0} + {1}
{0} - {1}
{0} * {1}
{0} / {1}
gnp.maximum({0}, {1})
gnp.minimum({0}, {1})
gnp.pow({0}, {1})
gnp.atan2({0}, {1})
gnp.hypot({0}, {1})
gnp.logaddexp({0}, {1})
scipy.special.xlogy({0}, {1})
"""
SELECTIONS = """
{0} > 0.0
{0} >= 1.0
gnp.abs({0}) < 1.0
{0} < {1}
gnp.isfinite({0})
{0} != 0.0
"""
FORMS = tuple(tuple(text.strip().splitlines()) for text in (UNARY, BINARY))
CONDITIONS = tuple(SELECTIONS.strip().splitlines())
FIRST, SECOND = ("gradients", "tangents"), ("reverse on reverse", "forward on reverse")
LOOPS = 12
"""Steps outside of loops, where three are in one."""
STEEP = 1e6
"""Slopes from here on may be beside a pole, where rounding decides."""
NATIVE = 3
"""Every how many cases one goes through native code."""


@dataclass(frozen=True)
class Step:
    """A value of others by their numbers; with a condition, of the last two the one it takes.

    0 and 1 are the arguments, 2 the first step. With `trips` it runs that often in a loop, each
    time in place of its first operand.
    """

    text: str
    operands: tuple[int, ...]
    selects: bool = False
    trips: int = 0


@dataclass(frozen=True)
class PointsCase:
    """The steps of a function, the last of them its result, and the seed of its points."""

    steps: tuple[Step, ...]
    seed: int


def make(seed: int) -> PointsCase:
    """The case of a seed."""
    choose = Random(seed)
    steps: list[Step] = []
    for _ in range(choose.randint(2, 7)):
        steps.append(_random_step(choose, len(steps) + 2))
    steps.append(_random_selection(choose, len(steps) + 2))
    if choose.random() < 0.5:
        steps.append(_random_step(choose, len(steps) + 2))
    return PointsCase(tuple(steps), seed)


def _random_step(choose: Random, count: int) -> Step:
    if choose.random() < 0.2:
        return _random_selection(choose, count)
    form = choose.choice(FORMS[choose.random() < 0.4])
    trips = choose.choice([0] * LOOPS + [1, 2, 3])
    return Step(form, (_operand(choose, count), _operand(choose, count)), trips=trips)


def _random_selection(choose: Random, count: int) -> Step:
    operands = tuple(_operand(choose, count) for _ in range(4))
    return Step(choose.choice(CONDITIONS), operands, selects=True)


def _operand(choose: Random, count: int) -> int:
    """Mostly one of the last values."""
    return max(count - 1 - int(choose.expovariate(0.7)), choose.randint(0, 1))


Pick = Callable[[Any, Any, Any], Any]
NAMES = {"gnp": gnp, "nn": nn, "scipy": scipy}


def value_of(steps: Sequence[Step], pick: Pick, x: Any, y: Any) -> Any:
    """The function's value; `pick(condition, one, other)` selects."""
    values = [x, y]
    for step in steps:
        given = [values[k] for k in step.operands]
        if step.trips:
            made = _repeated(step, given, unrolled=isinstance(pick, Decided))
        else:
            made = _evaluated(step.text, given)
        values.append(pick(made, given[-2], given[-1]) if step.selects else made)
    return values[-1]


def _evaluated(text: str, given: Sequence[Any]) -> Any:
    names = [f"v{k}" for k in range(len(given))]
    return eval(text.format(*names), NAMES | dict(zip(names, given, strict=True)))


def _repeated(step: Step, given: Sequence[Any], unrolled: bool) -> Any:
    start, *others = given
    if unrolled:
        for _ in range(step.trips):
            start = _evaluated(step.text, [start, *others])
        return start
    body = lambda _, carried: _evaluated(step.text, [carried, *others])  # noqa: E731
    return gradir.fori_loop(0, step.trips, body, start)


def derivatives(pick: Pick, steps: Sequence[Step]) -> Callable[[Any, Any], Any]:
    """The function of x and y that has all derivatives of both orders and modes, behind them the
    value, and what `pick` has recorded of decisions."""

    def value(x: Any, y: Any) -> Any:
        return value_of(steps, pick, x, y)

    first = gradir.grad(lambda x, y: gnp.sum(value(x, y)), argnums=(0, 1))

    def weighted(x: Any, y: Any) -> Any:
        to_x, to_y = first(x, y)
        return gnp.sum(to_x) + 0.5 * gnp.sum(to_y)

    def f(x: Any, y: Any) -> Any:
        along = gnp.ones_like(x), 0.5 * gnp.ones_like(x)
        at, along_value = gradir.jvp(value, (x, y), along)
        gradients, along_gradients = gradir.jvp(first, (x, y), along)
        seconds = gradir.grad(weighted, argnums=(0, 1))(x, y)
        made = (*gradients, along_value, *seconds, *along_gradients, at)
        selections = Selections()
        value_of(steps, selections, x, y)
        return (*made, *selections.seen) if pick is gnp.where else made

    return f


class Selections:
    """`where`, with its conditions on record."""

    def __init__(self) -> None:
        self.seen: list[Any] = []

    def __call__(self, condition: Any, one: Any, other: Any) -> Any:
        self.seen.append(condition)
        return gnp.where(condition, one, other)


class Decided:
    """Takes one side of each selection, by a list of decisions."""

    def __init__(self, decided: Sequence[bool]):
        self.decided = decided
        self.steps = 0

    def __call__(self, condition: Any, one: Any, other: Any) -> Any:
        takes = self.decided[self.steps % len(self.decided)]
        self.steps += 1
        return one if takes else other


PARTS = ("x", "y", "x", "x", "y", "x", "y")
ORDERS = (FIRST[0], FIRST[0], FIRST[1], SECOND[0], SECOND[0], SECOND[1], SECOND[1])


def points_of(seed: int) -> tuple[Array, Array]:
    """Pairs of special points."""
    generator = np.random.default_rng(seed)
    x, y = generator.choice(np.array(POINTS), (2, PAIRS))
    return x, y


def check(case: PointsCase) -> Outcome:
    """Fine, or an exception."""
    at = points_of(case.seed)
    has_loops = any(step.trips for step in case.steps)
    # after a loop whose values are nan: a limit that docs/gradients.md states
    may_be_nan = SECOND[:1] if has_loops else ()
    with refusals_allowed("derivatives at special points"):
        module = gradir.trace(derivatives(gnp.where, case.steps), *at)
        found = interpreted(module, "f", at)
        decisions = np.stack(found[len(ORDERS) + 1 :], axis=-1)
        for way in np.unique(decisions, axis=0):
            plain = gradir.trace(derivatives(Decided(way), case.steps), *at)
            rows = (decisions == way).all(axis=-1)
            promise = "a derivative is not that of what was selected"
            wanted = interpreted(plain, "f", at)
            if has_loops:  # which multiply zeros that straight code knows, by infinity too
                rows &= np.isfinite(wanted[: len(ORDERS)]).all(axis=0)
            _compare(promise, found, wanted, rows, at, may_be_nan)
        if case.seed % NATIVE == 0:
            made = native(module, "f", at)
            # rounding decides otherwise at an edge, of a domain too
            rows = (np.stack(made[len(ORDERS) + 1 :], axis=-1) == decisions).all(axis=-1)
            rows &= (np.abs(found[: len(ORDERS)]) < STEEP).all(axis=0)
            _compare("native code has other derivatives", made, found, rows, at)
    return Outcome("fine", done=("points",))


def _compare(
    promise: str,
    found: Sequence[Array],
    wanted: Sequence[Array],
    rows: Array,
    at: Sequence[Array],
    may_be_nan: Sequence[str] = (),
) -> None:
    has_no_value = np.isnan(found[len(ORDERS)])
    for order, part, one, other in zip(ORDERS, PARTS, found, wanted, strict=False):
        # beside a nan operand the derivative by another one is nan or 0
        unclear = has_no_value & _is_nan_or_zero(one) & _is_nan_or_zero(other)
        wrong = rows & ~unclear & ~_are_close(one, other, at)
        if order in may_be_nan:
            wrong &= ~np.isnan(one)
        for k in np.flatnonzero(wrong):
            where = f"x = {at[0][k]}, y = {at[1][k]}: {one[k]}, not {other[k]}"
            raise Broken(f"{promise}, {order}", f"by {part} at {where}")


def _is_nan_or_zero(a: Array) -> Array:
    return np.isnan(a) | (a == 0)


def _are_close(one: Array, other: Array, at: Sequence[Array]) -> Array:
    """Whether derivatives agree. Far from 1 finite numbers are often rounding alone."""
    ordinary = np.all([(np.abs(a) >= 0.1) & (np.abs(a) < 10) for a in at], axis=0)
    with np.errstate(invalid="ignore"):
        near = np.abs(one - other) <= 1e-6 * np.maximum(
            np.maximum(np.abs(one), np.abs(other)), 1e-3
        )
    both = np.isfinite(one) & np.isfinite(other)
    same = (one == other) | (np.isnan(one) & np.isnan(other))
    return np.where(both, near | ~ordinary, same)


def smaller(case: PointsCase) -> Iterator[PointsCase]:
    """Cases with a step less, whose first operand stands for it."""
    for k in range(len(case.steps)):
        number = k + 2
        stands = case.steps[k].operands[-1 if case.steps[k].selects else 0]
        rest = [
            replace(s, operands=tuple(_moved(o, number, stands) for o in s.operands))
            for s in case.steps[k + 1 :]
        ]
        steps = (*case.steps[:k], *rest)
        if any(step.selects for step in steps):
            yield replace(case, steps=steps)


def _moved(operand: int, removed: int, stands: int) -> int:
    return stands if operand == removed else operand - (operand > removed)


def write(case: PointsCase) -> str:
    """The text that a file of it holds: the function, and the case as data."""
    lines = [f"// {_line(k + 2, step)}" for k, step in enumerate(case.steps)]
    data = [[s.text, s.operands, s.selects, s.trips] for s in case.steps]
    return "\n".join([*lines, json.dumps([case.seed, data])]) + "\n"


def _line(number: int, step: Step) -> str:
    names = ["x" if k == 0 else "y" if k == 1 else f"v{k}" for k in step.operands]
    made = step.text.format(*names)
    made = f"gnp.where({made}, {names[-2]}, {names[-1]})" if step.selects else made
    made = f"the loop of {step.trips} times {made}" if step.trips else made
    return f"v{number} = {made}"


def read(text: str) -> PointsCase:
    """The case of a file."""
    seed, data = json.loads(text.strip().splitlines()[-1])
    return PointsCase(tuple(Step(t, tuple(o), s, n) for t, o, s, n in data), seed)
