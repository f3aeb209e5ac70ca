"""JAX's products, quotients and differences, and the functions of jax.nn that jaxprs write out so:
gelu in both forms, softmax and log_softmax.

The op of the function keeps its argument or its result alone for a derivative, where its parts keep
theirs, and knows where a cotangent is 0 by a mask.
"""

from __future__ import annotations

from math import inf, sqrt
from typing import Any

import numpy as np
from xdsl.ir import Operation, SSAValue

from gradir.dialects.array.elementwise import (
    AddOp,
    ExpOp,
    LogOp,
    MaximumOp,
    MultiplyOp,
    NegativeOp,
    SquareOp,
    SubtractOp,
    TanhOp,
    splat_of,
)
from gradir.dialects.array.movement import BroadcastToOp, ReshapeOp
from gradir.dialects.array.reductions import MaxOp, ReductionOp, SumOp
from gradir.dialects.array.transcendental import ErfcOp
from gradir.dialects.base.shapes import is_float, shape_of
from gradir.dialects.grad.grad import NoGradOp
from gradir.dialects.grad.saturation import SoftOp
from gradir.dialects.nn.activations import (
    TANH_CUBIC,
    TANH_SCALE,
    GeluOp,
    LogSoftmaxOp,
    SoftmaxOp,
)
from gradir.frontends.functions.array_ops import op
from gradir.frontends.imported.jax_rules.elementwise import integer_quotient
from gradir.frontends.imported.table import RuleTable
from gradir.frontends.tracing.tracer import Tracer
from gradir.frontends.tracing.tracing import element, emit_one

RULES = RuleTable("JAX")


@RULES.rule("mul")
def _product(call: Any, x: Any, y: Any) -> Any:
    made = op.multiply(x, y)
    if str(made.dtype) not in ("float32", "float64"):
        return made
    for form, argument in (("none", _gelu_argument), ("tanh", _tanh_argument)):
        found = argument(made.ssa, np.dtype(made.dtype))
        if found is not None:
            return emit_one(GeluOp, Tracer(made.made_in, found), approximate=form)
    return made


@RULES.rule("div")
def _quotient(call: Any, x: Any, y: Any) -> Any:
    if not is_float(element(x)):
        return integer_quotient(x, y)
    made = op.divide(x, y)
    if str(made.dtype) not in ("float32", "float64"):
        return made
    found = _softmax_argument(made.ssa)
    return made if found is None else _emitted(SoftmaxOp, made, *found)


@RULES.rule("sub")
def _difference(call: Any, x: Any, y: Any) -> Any:
    made = op.subtract(x, y)
    if str(made.dtype) not in ("float32", "float64"):
        return made
    found = _log_softmax_argument(made.ssa)
    return made if found is None else _emitted(LogSoftmaxOp, made, *found)


def _emitted(kind: type[SoftOp], made: Tracer, x: SSAValue, axis: int) -> Tracer:
    return emit_one(kind, Tracer(made.made_in, x), axis=axis)


def _softmax_argument(quotient: SSAValue) -> tuple[SSAValue, int] | None:
    """The x and the axis of exp(x - max(x)) / sum(exp(x - max(x)))."""
    assert isinstance(quotient.owner, Operation)
    powers, total = quotient.owner.operands
    if not isinstance(powers.owner, ExpOp):
        return None
    found = _below_top(powers.owner.operands[0])
    return found if found and _is_reduced(total, SumOp, powers, found[1]) else None


def _log_softmax_argument(difference: SSAValue) -> tuple[SSAValue, int] | None:
    """The x and the axis of (x - max(x)) - log(sum(exp(x - max(x))))."""
    assert isinstance(difference.owner, Operation)
    low, logarithm = difference.owner.operands
    found, log = _below_top(low), _repeated(logarithm)
    if found is None or not isinstance(log.owner, LogOp):
        return None
    total = log.owner.operands[0]
    powers = _reduced(total, SumOp, found[1])
    is_ours = powers is not None and _is_made_of(powers, ExpOp, low)
    return found if is_ours else None


def _below_top(low: SSAValue) -> tuple[SSAValue, int] | None:
    """The x and the axis of x - stop_gradient(max(x)), a difference of equal shapes."""
    if not isinstance(low.owner, SubtractOp):
        return None
    x, top = low.owner.operands
    top = _repeated(top)
    if not isinstance(top.owner, NoGradOp):
        return None
    top = top.owner.operands[0]
    for axis in range(len(shape_of(x.type))):
        if _is_reduced(top, MaxOp, x, axis):
            return x, axis
    return None


def _repeated(value: SSAValue) -> SSAValue:
    """What a broadcast repeats."""
    return value.owner.operands[0] if isinstance(value.owner, BroadcastToOp) else value


def _is_reduced(value: SSAValue, kind: type[ReductionOp], x: SSAValue, axis: int) -> bool:
    return _reduced(_repeated(value), kind, axis) is x


def _reduced(value: SSAValue, kind: type[ReductionOp], axis: int) -> SSAValue | None:
    """The operand of a reduction along one axis, which the value has as an axis of one element."""
    kept = value
    if isinstance(value.owner, ReshapeOp):
        value = value.owner.operands[0]
    for low, other in _pairs(value, MaximumOp):
        if splat_of(low) == -inf:  # where JAX begins a maximum
            value = other
            break
    made = value.owner
    if not isinstance(made, kind) or made.axes != [axis]:
        return None
    shape = [1 if k == axis else n for k, n in enumerate(shape_of(made.x.type))]
    return made.x if [*shape_of(kept.type)] == shape else None


def _gelu_argument(product: SSAValue, dtype: np.dtype[Any]) -> SSAValue | None:
    """The x of (x / 2) * erfc(-x * sqrt(1/2))."""
    for half, tail in _pairs(product, MultiplyOp):
        if isinstance(scaled := tail.owner, ErfcOp):
            x = _scaled(half, 0.5, dtype)
            inner = _scaled(scaled.x, sqrt(0.5), dtype)
            if x is not None and inner is not None and _is_made_of(inner, NegativeOp, x):
                return x
    return None


def _tanh_argument(product: SSAValue, dtype: np.dtype[Any]) -> SSAValue | None:
    """The x of x * ((1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x**3))) / 2)."""
    for x, factor in _pairs(product, MultiplyOp):
        if (whole := _scaled(factor, 0.5, dtype)) is None:
            continue
        for one, curve in _pairs(whole, AddOp):
            if splat_of(one) == 1 and isinstance(curve.owner, TanhOp):
                inner = _scaled(curve.owner.x, TANH_SCALE, dtype)
                if inner is not None and _is_cubic(inner, x, dtype):
                    return x
    return None


def _is_cubic(value: SSAValue, x: SSAValue, dtype: np.dtype[Any]) -> bool:
    """Whether a value is x + 0.044715 * x**3."""
    for first, second in _pairs(value, AddOp):
        cube = _scaled(second, TANH_CUBIC, dtype)
        if first is x and cube is not None:
            factors = _pairs(cube, MultiplyOp)
            if any(a is x and _is_made_of(b, SquareOp, x) for a, b in factors):
                return True
    return False


def _pairs(value: SSAValue, kind: type[Operation]) -> list[tuple[SSAValue, SSAValue]]:
    """The operands of an op of a kind that makes the value, in both orders."""
    made = value.owner
    if not isinstance(made, kind):
        return []
    first, second = made.operands
    return [(first, second), (second, first)]


def _scaled(value: SSAValue, factor: float, dtype: np.dtype[Any]) -> SSAValue | None:
    """The operand that is multiplied by a number, rounded to the dtype; None without one."""
    for known, other in _pairs(value, MultiplyOp):
        number = splat_of(known)
        # a number in float32 may have been computed there
        if number is not None and np.isclose(number, factor, 2 * float(np.finfo(dtype).eps), 0):
            return other
    return None


def _is_made_of(value: SSAValue, kind: type[Operation], x: SSAValue) -> bool:
    return isinstance(value.owner, kind) and value.owner.operands[0] is x
