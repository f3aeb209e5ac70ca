"""gradir.numpy: the floats beside a float: nextafter.

The bits of floats of one sign are integers in the order of their sizes, so that the next float is
the next integer. Integers alone are compared: where subnormal numbers are read as 0, as on the
threads of JAX, floats would not tell them apart.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gradir.dialects.base.shapes import byte_size
from gradir.dialects.grad.grad import NoGradOp
from gradir.frontends.functions.arguments import floating
from gradir.frontends.functions.array_ops import op
from gradir.frontends.functions.float_bits import bits_of, of_bits
from gradir.frontends.functions.promotion import common_shape, converted, result_element, spread
from gradir.frontends.functions.sugar import where
from gradir.frontends.tracing.tracer import Tracer
from gradir.frontends.tracing.tracing import element, emit_one


def neighbor(x: Any, y: Any) -> Any:
    """The next float behind x towards y, of one type and shape; without a derivative."""
    sign = 1 << 8 * byte_size(element(x)) - 1
    from_bits, to_bits = bits_of(x), bits_of(y)
    kind = element(from_bits)
    most, one = converted(sign - 1, kind), converted(1, kind)
    size, to_size = op.bitwise_and(from_bits, most), op.bitwise_and(to_bits, most)
    is_across = op.greater(op.bitwise_xor(from_bits, to_bits), most)
    is_shrinking = op.logical_or(is_across, op.greater(size, to_size))
    moved = from_bits + where(is_shrinking, converted(2 * sign - 1, kind), one)
    # from 0 to the least float of the sign of y, or to y where it is 0 too
    of_zero = op.bitwise_or(op.bitwise_and(to_bits, converted(sign, kind)),
                            op.minimum(to_size, one))  # fmt: skip
    moved = where(op.equal(size, 0), of_zero, moved)
    moved = where(op.equal(from_bits, to_bits), to_bits, moved)
    is_nan = op.logical_or(op.isnan(x), op.isnan(y))
    return where(is_nan, x + y, of_bits(moved, x.dtype.name))


def nextafter(x1: Any, x2: Any) -> Tracer:
    """The next float behind x1 towards x2.   vjp: ct of x1; of x2 where both are equal"""
    first, second = floating(x1), floating(x2)
    kind = result_element([first, second])[0]
    shape = common_shape("nextafter", [first, second])
    x, y = spread(first, shape, kind), spread(second, shape, kind)
    made = emit_one(NoGradOp, neighbor(x, y))
    # a difference of sizes, since sums of floats below 0 would lose the sign of -0
    sign: Any = where(op.less(x, 0), converted(-1, kind), converted(1, kind))
    size: Any = x * sign
    moved = (size + emit_one(NoGradOp, made * sign - size)) * sign
    return where(op.equal(x, y), y, where(op.isinf(x), made, moved))


FUNCTIONS: tuple[Callable[..., Any], ...] = (nextafter,)
