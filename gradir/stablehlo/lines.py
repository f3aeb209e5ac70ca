"""Sorts and scans in StableHLO: ops that work along lines, by name."""

from __future__ import annotations

from collections.abc import Sequence
from math import nan
from typing import Any

from xdsl.dialects.builtin import i64

from gradir.dialects.base.attributes import integer
from gradir.dialects.base.shapes import is_float, tensor
from gradir.dialects.building.body import compute_type
from gradir.stablehlo import values as v
from gradir.stablehlo.numbers import is_nan
from gradir.stablehlo.regions import combine, count_loop, neutral_number, sort
from gradir.stablehlo.tensors import Rule
from gradir.stablehlo.values import Hlo, HloEmitter

# Sorts.


def _goes_before(x: Hlo, y: Hlo, descending: bool, by_sign: bool) -> Hlo:
    """Whether x stands before y; nan is the largest, and `by_sign` -0 is less than 0."""
    direction = "GT" if descending else "LT"
    if not is_float(x.element):
        return v.compare(x, direction, y)
    pair = [_canonical(each, by_sign) for each in (x, y)]
    return v.compare(pair[0], direction, pair[1], "TOTALORDER")


def _canonical(x: Hlo, by_sign: bool) -> Hlo:
    """One nan for all, and unless `by_sign` 0 for -0."""
    made = x if by_sign else v.select(v.compare(x, "EQ", x.full(0)), x.full(0), x)
    return v.select(is_nan(x), x.full(nan), made)


def _sorted(op: Any, x: Hlo, emitter: HloEmitter, by_sign: bool) -> list[Hlo]:
    """The elements along the op's axis in order, and their indices."""
    places = v.iota(emitter, x.shape, op.axis)

    def before(pairs: list[Hlo]) -> Hlo:
        return _goes_before(pairs[0], pairs[1], op.descending, by_sign)

    return sort([x, places], op.axis, before)


def _sort(op: Any, xs: Sequence[Hlo], emitter: HloEmitter) -> Sequence[Hlo]:
    def before(pairs: list[Hlo]) -> Hlo:
        return _goes_before(pairs[0], pairs[1], op.descending, True)

    return sort(xs, op.axis, before)


def _argsort(op: Any, xs: Sequence[Hlo], emitter: HloEmitter) -> Sequence[Hlo]:
    return _sorted(op, xs[0], emitter, False)[1:]


def _top_k(op: Any, xs: Sequence[Hlo], emitter: HloEmitter) -> Sequence[Hlo]:
    k = integer(op.attributes, "k")
    return [v.part(line, op.axis, 0, k) for line in _sorted(op, xs[0], emitter, False)]


# Scans.


def _cumulative(combiner: str) -> Rule:
    """A scan in about log2(n) steps: step k combines each element with the one 2**k before it."""

    def rule(op: Any, xs: Sequence[Hlo], emitter: HloEmitter) -> Sequence[Hlo]:
        element, axis = xs[0].element, op.axis
        x = v.convert(xs[0], compute_type(element)) if is_float(element) else xs[0]
        count = x.shape[axis]
        x = v.reverse(x, [axis]) if op.reverse else x
        if op.exclusive:
            x = _shifted(x, axis, 1, combiner)
        step = 1
        while step < count:
            x = combine(combiner, _shifted(x, axis, step, combiner), x)
            step *= 2
        return [v.convert(v.reverse(x, [axis]) if op.reverse else x, element)]

    return rule


def _shifted(x: Hlo, axis: int, by: int, combiner: str) -> Hlo:
    """x moved to higher indices; the neutral number moves in."""
    neutral = v.number_of(x.at, neutral_number(combiner, x.element), x.element)
    edge = [by if d == axis else 0 for d in range(len(x.shape))]
    return v.pad(x, neutral, edge, [-n for n in edge])


def _linear_recurrence(op: Any, xs: Sequence[Hlo], emitter: HloEmitter) -> Sequence[Hlo]:
    """A loop over the elements: the totals of all lines, and the results so far."""
    a, u = xs
    if 0 in u.shape:
        return [u]
    axis, count, element = op.axis, u.shape[op.axis], u.element
    if op.lagged:
        a = _moved_factors(a, axis, op.reverse)
    wide = compute_type(element)
    line = [1 if d == axis else n for d, n in enumerate(u.shape)]
    total = v.full(emitter, 0, tensor(line, wide))

    def step(inside: HloEmitter, values: list[Hlo]) -> Sequence[Hlo]:
        at, total, results = values
        place = inside.hlo((count - 1 - at).ssa) if op.reverse else at
        zero = v.number_of(inside, 0, i64)
        starts = [place if d == axis else zero for d in range(len(line))]
        parts = [inside.hlo(v.dynamic_slice(inside.hlo(x.ssa), starts, line).ssa) for x in (a, u)]
        factor, added = (v.convert(x, wide) for x in parts)
        is_first = v.broadcast(at.equal(0), line, [])
        total = v.select(is_first, added, added + factor * total)
        return [total, v.dynamic_update_slice(results, v.convert(total, element), starts)]

    return count_loop(emitter, count, [total, u], step)[1:]


def _moved_factors(a: Hlo, axis: int, reverse: bool) -> Hlo:
    """The factor of the element before, in the direction of the recurrence."""
    edge = [1 if d == axis else 0 for d in range(len(a.shape))]
    back = [-n for n in edge]
    zero = v.number_of(a.at, 0, a.element)
    return v.pad(a, zero, back, edge) if reverse else v.pad(a, zero, edge, back)


RULES: dict[str, Rule] = {
    "array.sort": _sort,
    "array.argsort": _argsort,
    "array.top_k": _top_k,
    "array.cumulative_sum": _cumulative("add"),
    "array.cumulative_prod": _cumulative("multiply"),
    "grad.linear_recurrence": _linear_recurrence,
}
