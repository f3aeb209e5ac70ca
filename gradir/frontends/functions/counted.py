"""Numbers that are extents: what a traced number made of extents is, as a polynomial of names.

`n + 1.0` of an extent n is a traced number, since it is no integer; but a shape may depend on it.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import ceil
from typing import Any

from xdsl.dialects.builtin import FloatAttr, IntegerAttr
from xdsl.ir import Operation

from gradir.dialects.array.comparison import AstypeOp
from gradir.dialects.array.creation import FullOp
from gradir.dialects.array.elementwise import AddOp, MultiplyOp, NegativeOp, SubtractOp
from gradir.dialects.base.extents import Size, is_extent
from gradir.dialects.base.shapes import element_of, is_float, shape_of
from gradir.dialects.grad.extent import ExtentOp
from gradir.frontends.tracing.tracer import Tracer
from gradir.frontends.tracing.tracing import is_number

# Sums and products of such fractions are exact in floats, as they are here.
_FINEST = 1 << 10


@dataclass(frozen=True)
class Counted:
    """An extent and a number that is added to it."""

    whole: Size
    rest: Fraction

    def __add__(self, other: Counted) -> Counted:
        return Counted(self.whole + other.whole, self.rest + other.rest)

    def __neg__(self) -> Counted:
        return Counted(-self.whole, -self.rest)

    def __sub__(self, other: Counted) -> Counted:
        return self + -other

    def times(self, other: Counted) -> Counted | None:
        """The product; None where a name has a factor that is no integer."""
        if is_extent(self.whole) or is_extent(other.whole):
            if not (self.rest.denominator == other.rest.denominator == 1):
                return None
            return Counted((self.whole + int(self.rest)) * (other.whole + int(other.rest)), _NONE)
        return Counted(0, (self.whole + self.rest) * (other.whole + other.rest))


_NONE = Fraction(0)


def counted(value: Any) -> Counted | None:
    """A number, an extent, or a traced number of extents and numbers; None for others."""
    found = None
    if is_extent(value):
        found = Counted(value, _NONE)
    elif is_number(value):
        found = _fraction(value)
    elif isinstance(value, Tracer) and value.weak and not shape_of(value.type):
        found = _number_of_op(getattr(value.ssa, "owner", None))
    return found if found is None or found.rest.denominator <= _FINEST else None


def _fraction(number: float) -> Counted | None:
    try:
        return Counted(0, Fraction(number))
    except (ValueError, OverflowError):
        return None  # nan, inf


def _number_of_op(op: Any) -> Counted | None:
    """The number that an op gives."""
    match op:
        case ExtentOp():
            return Counted(op.size, _NONE)
        case FullOp():
            match op.attributes.get("value"):
                case FloatAttr() as value:
                    return _fraction(value.value.data)
                case IntegerAttr() as value:
                    return _fraction(value.value.data)
                case _:
                    return None
        case AstypeOp() if is_float(element_of(op.results[0].type)):
            return _number_of_op(op.operands[0].owner)
        case NegativeOp() | AddOp() | SubtractOp() | MultiplyOp():
            parts = [_number_of_op(operand.owner) for operand in op.operands]
            return _combined(op, [part for part in parts if part is not None])
        case _:
            return None


def _combined(op: Operation, parts: list[Counted]) -> Counted | None:
    if len(parts) < len(op.operands):
        return None
    if isinstance(op, NegativeOp):
        return -parts[0]
    if isinstance(op, MultiplyOp):
        return parts[0].times(parts[1])
    return parts[0] + parts[1] if isinstance(op, AddOp) else parts[0] - parts[1]


def steps_between(first: Counted, last: Counted, step: Counted) -> Size | None:
    """How many numbers there are from the first before the last; None for a step of a name."""
    if is_extent(step.whole):
        return None
    size = step.whole + step.rest
    apart = last - first if size > 0 else first - last
    over, under = abs(size).numerator, size.denominator
    found: Any = (apart.whole * under + ceil(apart.rest * under) + over - 1) // over
    return found if found >= 0 else 0
