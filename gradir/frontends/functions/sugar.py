"""gradir.numpy: functions beyond the op of their name.

They compute the op's attributes (a shape, an axis, a type) or combine a few ops.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from xdsl.dialects.builtin import i1

from gradir.dialects.array.arithmetic import ClipOp, PowOp
from gradir.dialects.array.bits import BitwiseCountOp, BitwiseXorOp
from gradir.dialects.array.comparison import LogicalNotOp, WhereOp
from gradir.dialects.array.dot_general import DotGeneralOp
from gradir.dialects.array.einsum import EinsumOp
from gradir.dialects.array.elementwise import MaximumOp, MinimumOp, SquareOp
from gradir.dialects.array.indexing import TakeAlongAxisOp, TakeOp
from gradir.dialects.base.shapes import byte_size, is_bool, is_inexact, is_unsigned, ui8
from gradir.frontends.functions.axes import integers, is_one
from gradir.frontends.functions.op_functions import apply
from gradir.frontends.functions.promotion import (
    common_shape,
    converted,
    operand,
    result_element,
    spread,
)
from gradir.frontends.functions.views import reshape
from gradir.frontends.tracing.memory import as_array
from gradir.frontends.tracing.source_locations import public, refusal
from gradir.frontends.tracing.tracer import Tracer
from gradir.frontends.tracing.tracing import element, emit_one, is_number, lifted

# Elementwise.


@public
def positive(x: Any) -> Tracer:
    """A copy of x."""
    value = lifted(x)
    return Tracer(value.made_in, value.ssa, value.weak)


@public
def pow(lhs: Any, rhs: Any) -> Tracer:
    """lhs ** rhs; nan for lhs < 0 and fractional rhs. The Python number 2 as rhs is a square."""
    lhs = operand(lhs)
    if is_number(rhs) and rhs == 2 and isinstance(lhs, Tracer) and not is_bool(element(lhs)):
        if result_element([lhs, rhs])[0] == element(lhs):
            return apply(SquareOp, {"x": lhs})
    is_real = is_number(rhs) and not isinstance(rhs, complex)
    if is_real and rhs < 0 and not is_inexact(result_element([lifted(lhs), rhs])[0]):
        raise refusal("pow: integers to negative integer powers are not allowed; use a float")
    return apply(PowOp, {"lhs": lhs, "rhs": rhs})


@public
def bitwise_invert(x: Any) -> Tracer:
    """The bits of integers inverted; not x of bools."""
    value = lifted(x)
    if is_bool(element(value)):
        return apply(LogicalNotOp, {"x": value})
    if is_inexact(element(value)):
        raise refusal(f"bitwise_invert: elements must be integer or bool, got {value!r}")
    kind = element(value)
    ones = (1 << 8 * byte_size(kind)) - 1 if is_unsigned(kind) else -1
    return apply(BitwiseXorOp, {"lhs": value, "rhs": ones})


@public
def bitwise_count(x: Any) -> Tracer:
    """The number of ones in the binary digits of |x|, as uint8; 1 for True. Inactive."""
    value = lifted(x)
    given = converted(value, ui8) if is_bool(element(value)) else value
    return apply(BitwiseCountOp, {"x": given})


@public
def where(condition: Any, x: Any, y: Any) -> Tracer:
    """x where the condition (bool) holds, else y; all three broadcast.   vjp: ct, 0 elsewhere"""
    cond = converted(operand(condition), i1)
    choices = [operand(x), operand(y)]
    kind, weak = result_element(choices)
    shape = common_shape("where", [cond, *choices])
    values = [spread(v, shape, kind) for v in choices]
    made = emit_one(WhereOp, spread(cond, shape, i1), *values)
    made.weak = weak
    return as_array(made)


def _within(x: Tracer, low: Any, high: Any) -> tuple[Any, Any]:
    """Bounds without those that no integer of the type of x is beyond."""
    if x.dtype.kind not in "iu":
        return low, high
    limits = np.iinfo(x.dtype)
    is_low, is_high = low is not None and low < limits.min, high is not None and high > limits.max
    return None if is_low else low, None if is_high else high


@public
def clip(
    a: Any, a_min: Any = None, a_max: Any = None, out: None = None, *, min: Any = None,
    max: Any = None,
) -> Tracer:  # fmt: skip
    """minimum(maximum(a, a_min), a_max); a bound may be None, a number or an array.

    `min` and `max` are other names of the bounds. vjp: ct where min < a < max, halves at the ends
    """
    low, high = a_min if min is None else min, a_max if max is None else max
    bounds = [b for b in (low, high) if b is not None]
    value = lifted(a)
    if all(is_number(b) for b in bounds):
        value = converted(value, result_element([value, *bounds])[0])
        low, high = _within(value, low, high)
        if bounds and low is None and high is None:
            return positive(value)
        return apply(ClipOp, {"x": value, "min": low, "max": high})
    for op, bound in ((MaximumOp, low), (MinimumOp, high)):
        if bound is not None:
            value = apply(op, {"lhs": value, "rhs": bound})
    return value


# Elements by index, and contractions by name.


@public
def take(x: Any, indices: Any, axis: int | None = None) -> Tracer:
    """Elements of x along `axis` (optional for rank 1) at integer indices.

    The axis is replaced by the shape of the indices. vjp: ct added at the indices
    """
    value = lifted(x)
    if axis is None and value.ndim != 1:
        raise refusal(f"take: axis must be given for an array of rank {value.ndim}")
    return apply(TakeOp, {"x": value, "indices": indices, "axis": axis or 0})


@public
def take_along_axis(arr: Any, indices: Any, axis: int | None = -1) -> Tracer:
    """Elements along `axis` at indices of the array's rank, flattened where the axis is None.

    vjp: ct added at the indices
    """
    x = reshape(arr, -1) if axis is None else arr
    axis = 0 if axis is None else axis
    return apply(TakeAlongAxisOp, {"x": x, "indices": indices, "axis": axis})


@public
def einsum(equation: str, *xs: Any, precision: str | None = None) -> Tracer:
    """The sum of products by an equation such as "ij,jk->ik".   vjp: einsums of ct"""
    return apply(EinsumOp, {"xs": xs, "equation": equation, "precision": precision})


@public
def tensordot(
    lhs: Any,
    rhs: Any,
    axes: int | Sequence[int | Sequence[int]] = 2,
    precision: str | None = None,
) -> Tracer:
    """Products summed over axes of both: the last and first `axes`, or one or several for each."""
    left, right = lifted(lhs), lifted(rhs)
    lefts, rights = _pairs(axes, left, right)
    summed = {"lhs_contract": lefts, "rhs_contract": rights, "precision": precision}
    unpaired = {"lhs_batch": (), "rhs_batch": ()}
    return apply(DotGeneralOp, {"lhs": left, "rhs": right, **unpaired, **summed})


def _pairs(axes: Any, left: Tracer, right: Tracer) -> tuple[list[int], list[int]]:
    """The summed axes of both operands of `tensordot`."""
    try:
        if is_one(axes):
            [count] = integers(axes)
            if 0 <= count <= min(left.ndim, right.ndim):
                return list(range(left.ndim - count, left.ndim)), list(range(count))
        else:
            of_left, of_right = axes
            return integers(of_left), integers(of_right)
    except (TypeError, ValueError):
        pass
    raise refusal(
        f"tensordot: axes must be a number of axes that both arrays have, or axes of the first "
        f"and of the second, got {axes!r} for {left!r} and {right!r}"
    )


FUNCTIONS: tuple[Callable[..., Any], ...] = (
    positive,
    pow,
    bitwise_invert,
    bitwise_count,
    where,
    clip,
    take,
    take_along_axis,
    einsum,
    tensordot,
)
