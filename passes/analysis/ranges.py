"""Ranges of the integers in scalar code: the least and the greatest number of each value.

`Ranges` learns ops in the order in which they run; an unlearned value is any number of its type.
Arithmetic wraps, so a result that might overflow is any number. i1 is 0 or -1.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from typing import Any, TypeAlias, cast

from xdsl.dialects import arith
from xdsl.dialects.builtin import IndexType, IntegerAttr, IntegerType
from xdsl.ir import Attribute, Operation, SSAValue

from gradir.dialects.loopnest.body_ops import CheckIndexOp

Range: TypeAlias = tuple[int, int]
"""The smallest and the largest number."""

Facts: TypeAlias = Mapping[SSAValue, Range]
"""Tighter ranges of some values at a place."""


def whole_range(type_: Attribute) -> Range | None:
    """All numbers of an integer type, read as signed; None for other types."""
    if isinstance(type_, IndexType):
        return -(1 << 63), (1 << 63) - 1
    if not isinstance(type_, IntegerType):
        return None
    width = cast(IntegerType, type_).width.data
    return (-(1 << width - 1), (1 << width - 1) - 1) if width else None


class Ranges:
    """The ranges of the values of one body. `facts` hold while a region is walked."""

    def __init__(self) -> None:
        self._known: dict[SSAValue, Range] = {}

    def of(self, value: SSAValue) -> Range | None:
        """The range of an integer; None for other values."""
        found = self._known.get(value)
        return whole_range(value.type) if found is None else found

    def set(self, value: SSAValue, found: Range | None) -> None:
        """Learn the range of a value, unless it exceeds the value's type."""
        whole = whole_range(value.type)
        if found is not None and whole is not None and whole[0] <= found[0] <= found[1] <= whole[1]:
            self._known[value] = found

    def learn(self, op: Operation) -> None:
        """Learn the result of an op with a rule."""
        rule = _RULES.get(type(op))
        if rule is not None:
            operands = [self.of(v) for v in op.operands]
            if None not in operands:
                self.set(op.results[0], rule(self, op, *operands))

    @contextmanager
    def given(self, facts: Facts) -> Generator[None]:
        """A context in which facts hold."""
        before = {value: self._known.get(value) for value in facts}
        self._known.update(facts)
        yield
        for value, old in before.items():
            if old is None:
                self._known.pop(value, None)
            else:
                self._known[value] = old

    def when(self, condition: SSAValue, holds: bool) -> Facts:
        """The facts implied by a condition, or by its negation."""
        op = condition.owner
        if isinstance(op, arith.AndIOp | arith.OrIOp) and isinstance(op, arith.AndIOp) is holds:
            facts = self.when(op.lhs, holds)
            with self.given(facts):
                return {**facts, **self.when(op.rhs, holds)}
        if not isinstance(op, arith.CmpiOp):
            return {}
        left, right = self.of(op.lhs), self.of(op.rhs)
        number = op.predicate.value.data
        if left is None or right is None or not 0 <= number < len(_NEGATED):
            return {}
        predicate = number if holds else _NEGATED[number]
        found = {op.lhs: _limited(predicate, left, right)}
        found[op.rhs] = _limited(_MIRRORED[predicate], right, found[op.lhs])
        # an empty range is never reached; earlier facts stay true there
        return {value: r for value, r in found.items() if r[0] <= r[1]}


# Conditions, by arith.cmpi's numbers of predicates.

_EQ, _NE, _SLT, _SLE, _SGT, _SGE, _ULT, _ULE, _UGT, _UGE = range(10)
_NEGATED = (_NE, _EQ, _SGE, _SGT, _SLE, _SLT, _UGE, _UGT, _ULE, _ULT)
_MIRRORED = (_EQ, _NE, _SGT, _SGE, _SLT, _SLE, _UGT, _UGE, _ULT, _ULE)


def _limited(predicate: int, x: Range, y: Range) -> Range:
    """The part of `x` that can be in this relation to a number of `y`."""
    if predicate == _EQ:
        return max(x[0], y[0]), min(x[1], y[1])
    if predicate in (_SLT, _SLE):
        return x[0], min(x[1], y[1] - (predicate == _SLT))
    if predicate in (_SGT, _SGE):
        return max(x[0], y[0] + (predicate == _SGT)), x[1]
    if predicate in (_ULT, _ULE) and y[0] >= 0:
        # unsigned below a non-negative number: not negative
        return max(x[0], 0), min(x[1], y[1] - (predicate == _ULT))
    return x


# Ops.

Rule: TypeAlias = Callable[..., Range | None]


def _number(ranges: Ranges, op: arith.ConstantOp) -> Range | None:
    whole = whole_range(op.result.type)
    if whole is None or not isinstance(op.value, IntegerAttr):
        return None
    size = whole[1] - whole[0] + 1
    number = cast(IntegerAttr[Any], op.value).value.data
    wrapped = (number - whole[0]) % size + whole[0]
    return wrapped, wrapped


def _combined(combine: Callable[[int, int], int]) -> Rule:
    """A rule for functions monotone in each operand: the extremes are at the ends."""

    def rule(ranges: Ranges, op: Operation, x: Range, y: Range) -> Range:
        ends = [combine(a, b) for a in x for b in y]
        return min(ends), max(ends)

    return rule


def _unsigned_minimum(ranges: Ranges, op: Operation, x: Range, y: Range) -> Range | None:
    tops = [r[1] for r in (x, y) if r[0] >= 0]
    return (0, min(tops)) if tops else None


def _unsigned_maximum(ranges: Ranges, op: Operation, x: Range, y: Range) -> Range | None:
    return (max(x[0], y[0]), max(x[1], y[1])) if min(x[0], y[0]) >= 0 else None


def _remainder(ranges: Ranges, op: Operation, x: Range, y: Range) -> Range | None:
    """The remainder of a division by 0 is 0."""
    if isinstance(op, arith.RemUIOp) and (x[0] < 0 or y[0] < 0):
        return (0, max(y[1] - 1, 0)) if y[0] >= 0 else None
    last = max(abs(y[0]), abs(y[1]), 1) - 1
    return -last if x[0] < 0 else 0, min(last, x[1]) if x[0] >= 0 else last


def _quotient(ranges: Ranges, op: Operation, x: Range, y: Range) -> Range | None:
    """The quotient of a division by 0 is 0."""
    if x[0] < 0 or y[0] < 0:
        return None
    return x[0] // y[1] if y[0] > 0 else 0, x[1] // max(y[0], 1)


def _common_bits(ranges: Ranges, op: Operation, x: Range, y: Range) -> Range | None:
    return _unsigned_minimum(ranges, op, x, y)


def _shifted_right(ranges: Ranges, op: Operation, x: Range, y: Range) -> Range | None:
    return (0, x[1]) if x[0] >= 0 else None


def _as_signed(ranges: Ranges, op: Operation, x: Range) -> Range:
    # `set` refuses numbers outside of the type
    return x


def _as_unsigned(ranges: Ranges, op: Operation, x: Range) -> Range:
    if x[0] >= 0:
        return x
    whole = whole_range(op.operands[0].type)
    assert whole is not None
    return 0, whole[1] - whole[0]


def _selected(ranges: Ranges, op: arith.SelectOp, *operands: Range) -> Range:
    """The union of both numbers' ranges, each under the condition or its negation."""
    ends: list[Range] = []
    for value, holds in ((op.lhs, True), (op.rhs, False)):
        with ranges.given(ranges.when(op.cond, holds)):
            found = ranges.of(value)
        assert found is not None
        ends.append(found)
    return min(low for low, _ in ends), max(high for _, high in ends)


def _checked(ranges: Ranges, op: CheckIndexOp, x: Range) -> Range:
    return 0, max(op.bound.value.data - 1, 0)


_RULES: Mapping[type[Operation], Rule] = {
    arith.ConstantOp: _number,
    arith.AddiOp: _combined(lambda a, b: a + b),
    arith.SubiOp: _combined(lambda a, b: a - b),
    arith.MuliOp: _combined(lambda a, b: a * b),
    arith.MinSIOp: _combined(min),
    arith.MaxSIOp: _combined(max),
    arith.MinUIOp: _unsigned_minimum,
    arith.MaxUIOp: _unsigned_maximum,
    arith.RemSIOp: _remainder,
    arith.RemUIOp: _remainder,
    arith.DivSIOp: _quotient,
    arith.DivUIOp: _quotient,
    arith.FloorDivSIOp: _quotient,
    arith.AndIOp: _common_bits,
    arith.ShRSIOp: _shifted_right,
    arith.ShRUIOp: _shifted_right,
    arith.ExtSIOp: _as_signed,
    arith.TruncIOp: _as_signed,
    arith.IndexCastOp: _as_signed,
    arith.ExtUIOp: _as_unsigned,
    arith.SelectOp: _selected,
    CheckIndexOp: _checked,
}
