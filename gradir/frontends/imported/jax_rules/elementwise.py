"""JAX's primitives on elements: arithmetic, functions, comparisons, choices, conversions."""

from __future__ import annotations

from typing import Any

import numpy as np

import gradir.frontends.functions.numpy as gnp
from gradir.dialects.base.shapes import is_bool, is_float, is_inexact
from gradir.dialects.building.slopes import SquareComplementOp
from gradir.dialects.nn.activations import SigmoidOp
from gradir.frontends.functions.array_ops import op
from gradir.frontends.functions.neighbors import neighbor
from gradir.frontends.functions.op_functions import apply
from gradir.frontends.functions.promotion import converted
from gradir.frontends.imported.table import RuleTable
from gradir.frontends.tracing.source_locations import refusal
from gradir.frontends.tracing.tracing import element
from gradir.frontends.transforms.markers import no_grad

RULES = RuleTable("JAX")

RULES.plain(
    exp=op.exp, exp2=op.exp2, expm1=op.expm1, log=op.log, log1p=op.log1p, sqrt=op.sqrt,
    rsqrt=op.rsqrt, cbrt=op.cbrt, sin=op.sin, cos=op.cos, tan=op.tan, asin=op.asin, acos=op.acos,
    atan=op.atan, sinh=op.sinh, cosh=op.cosh, tanh=op.tanh, asinh=op.asinh, acosh=op.acosh,
    atanh=op.atanh, floor=op.floor, ceil=op.ceil, square=op.square,
    add=op.add, max=op.maximum, min=op.minimum, atan2=op.atan2,
    add_any=op.add, eq=op.equal, ne=op.not_equal, lt=op.less, le=op.less_equal, gt=op.greater,
    ge=op.greater_equal, is_finite=op.isfinite, stop_gradient=no_grad,
)  # fmt: skip
RULES.exact |= {
    "eq", "ne", "lt", "le", "gt", "ge", "is_finite", "stop_gradient", "copy", "copy_p", "neg",
    "add", "sub", "mul", "and", "or", "not", "nextafter", "select_n", "convert_element_type",
}  # fmt: skip


@RULES.rule("copy", "copy_p", "optimization_barrier", "device_put", "pvary", "reshard",
            "sharding_constraint", "layout_constraint", "mesh_cast")  # fmt: skip
def _same(call: Any, *operands: Any) -> Any:
    return list(operands)


@RULES.rule("name")
def _named(call: Any, x: Any) -> Any:
    return x


@RULES.rule("neg")
def _negated(call: Any, x: Any) -> Any:
    return op.subtract(0, x) if x.dtype.kind == "u" else op.negative(x)


@RULES.rule("abs")
def _size(call: Any, x: Any) -> Any:
    if not is_float(element(x)):
        return op.abs(x)
    # the slope at 0 is 1, as in JAX; the sum makes 0 of -0
    return gnp.where(op.less(x, 0), op.negative(x), op.add(x, 0))


@RULES.rule("sign")
def _sign(call: Any, x: Any) -> Any:
    if is_float(element(x)):
        return gnp.where(op.isnan(x), x, op.sign(x))
    return converted(op.greater(x, 0), element(x)) - converted(op.less(x, 0), element(x))


@RULES.rule("logistic")
def _logistic(call: Any, x: Any) -> Any:
    return apply(SigmoidOp, {"x": x})


@RULES.rule("round")
def _rounded(call: Any, x: Any) -> Any:
    if int(call["rounding_method"]) == 1:
        return op.round(x)
    # away from zero; x + 0.5 would be rounded itself
    whole: Any = op.trunc(x)
    return whole + gnp.where(op.abs(x - whole) >= 0.5, op.sign(x), 0).astype(x.dtype)


@RULES.rule("one_minus_square", note="(1 - x) * (1 + x); from JAX 0.11 on")
def _one_minus_square(call: Any, x: Any) -> Any:
    if not is_inexact(element(x)):
        return (1 - x) * (1 + x)
    return apply(SquareComplementOp, {"x": x})


@RULES.rule("integer_pow")
def _integer_pow(call: Any, x: Any) -> Any:
    power, made, square = abs(call["y"]), None, x
    while power:
        if power & 1:
            made = square if made is None else made * square
        power >>= 1
        square = op.square(square) if power else square
    if made is None:
        return gnp.ones_like(x)
    return op.reciprocal(made) if call["y"] < 0 else made


@RULES.rule("pow")
def _pow(call: Any, x: Any, y: Any) -> Any:
    if element(x) == element(y):
        return op.pow(x, y)
    return op.pow(x, converted(no_grad(y), element(x)))


def integer_quotient(x: Any, y: Any) -> Any:
    """x / y toward zero, and -1 over zero, as XLA has it."""
    safe = gnp.where(op.equal(y, 0), 1, y)
    down: Any = op.floor_divide(x, safe)
    rest: Any = x - down * safe
    is_cut = op.logical_and(op.not_equal(rest, 0), op.not_equal(op.less(x, 0), op.less(safe, 0)))
    made = gnp.where(is_cut, down + 1, down)
    none = np.iinfo(x.dtype).max if x.dtype.kind == "u" else -1
    return gnp.where(op.equal(y, 0), none, made)


@RULES.rule("rem")
def _remainder(call: Any, x: Any, y: Any) -> Any:
    if is_float(element(x)):
        return gnp.fmod(x, y)
    safe = gnp.where(op.equal(y, 0), 1, y)
    rest: Any = op.remainder(x, safe)
    if x.dtype.kind == "i":
        is_other = op.logical_and(op.not_equal(rest, 0), op.not_equal(op.less(rest, 0),
                                                                     op.less(x, 0)))  # fmt: skip
        rest = gnp.where(is_other, rest - safe, rest)
    return gnp.where(op.equal(y, 0), x, rest)


@RULES.rule("nextafter")
def _next_after(call: Any, x: Any, y: Any) -> Any:
    return no_grad(neighbor(x, y))


@RULES.rule("select_n")
def _selected(call: Any, which: Any, *cases: Any) -> Any:
    if len(cases) == 1:
        return cases[0]
    if is_bool(element(which)):
        return gnp.where(_of_rank(which, cases[0]), cases[1], cases[0])
    which, made = _of_rank(which, cases[0]), cases[-1]
    for k in range(len(cases) - 2, -1, -1):
        made = gnp.where(op.less_equal(which, k), cases[k], made)
    return made


def _of_rank(which: Any, case: Any) -> Any:
    """A choice that may be one for all elements."""
    return which if which.ndim == case.ndim else gnp.broadcast_to(which, case.shape)


@RULES.rule("clamp")
def _clamped(call: Any, low: Any, x: Any, high: Any) -> Any:
    """min(max(x, low), high); at the ends the derivative is 0, and bounds have theirs outside."""
    low, high = (gnp.broadcast_to(b, x.shape) for b in (low, high))
    if not is_float(element(x)):
        return op.minimum(op.maximum(x, low), high)
    ends = op.minimum(op.maximum(no_grad(x), no_grad(low)), no_grad(high))
    is_low = op.logical_and(op.less(x, low), op.less(low, high))
    made = gnp.where(is_low, low, gnp.where(op.greater(x, high), high, ends))
    return gnp.where(op.logical_and(op.greater(x, low), op.less(x, high)), x, made)


@RULES.rule("convert_element_type")
def _converted(call: Any, x: Any) -> Any:
    if is_bool(call.element) and not is_bool(element(x)):
        return op.not_equal(x, 0)
    return converted(x, call.element)


_NARROW = {(8, 7): "bfloat16", (5, 10): "float16", (8, 23): "float32", (11, 52): "float64"}


@RULES.rule("reduce_precision", note="to the bits of bfloat16, float16, float32 and float64")
def _reduced(call: Any, x: Any) -> Any:
    bits = call["exponent_bits"], call["mantissa_bits"]
    if bits not in _NARROW:
        raise refusal(f"reduce_precision: there is no type of {bits[0]} exponent bits and "
                      f"{bits[1]} bits of a fraction")  # fmt: skip
    return gnp.astype(gnp.astype(x, _NARROW[bits]), x.dtype)


@RULES.rule("real", "conj")
def _real(call: Any, x: Any) -> Any:
    return x
