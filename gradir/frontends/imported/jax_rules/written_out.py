"""JAX's products, quotients and differences, and the functions of jax.nn that jaxprs write out so:
gelu in both forms, softmax and log_softmax.

The op of the function keeps its argument or its result alone for a derivative, where its parts keep
theirs, and knows where a cotangent is 0 by a mask.
"""

from __future__ import annotations

from collections.abc import Callable
from math import inf, sqrt
from typing import Any, TypeAlias, cast

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
    for form, argument in (("none", _gelu_argument), ("tanh", _tanh_argument)):
        if _may_be_written_out(made) and (found := argument(made.ssa, np.dtype(made.dtype))):
            return emit_one(GeluOp, Tracer(made.made_in, found), approximate=form)
    return made


@RULES.rule("div")
def _quotient(call: Any, x: Any, y: Any) -> Any:
    if not is_float(element(x)):
        return integer_quotient(x, y)
    return _or_soft(SoftmaxOp, _softmax_argument, op.divide(x, y))


@RULES.rule("sub")
def _difference(call: Any, x: Any, y: Any) -> Any:
    return _or_soft(LogSoftmaxOp, _log_softmax_argument, op.subtract(x, y))


def _may_be_written_out(made: Tracer) -> bool:
    """JAX computes parts in half precision, which ops of ours do not."""
    return str(made.dtype) in ("float32", "float64")


Line: TypeAlias = tuple[SSAValue, int]
"""A value and one of its axes."""


def _or_soft(
    kind: type[SoftOp], argument: Callable[[Operation], Line | None], made: Tracer
) -> Tracer:
    """The op of the line that the argument finds, or what was made."""
    found = argument(cast(Operation, made.ssa.owner)) if _may_be_written_out(made) else None
    return made if found is None else emit_one(kind, Tracer(made.made_in, found[0]), axis=found[1])


def _softmax_argument(quotient: Operation) -> Line | None:
    """The line of exp(x - max(x)) / sum(exp(x - max(x)))."""
    powers, total = quotient.operands
    if not isinstance(powers.owner, ExpOp):
        return None
    found = _below_top(powers.owner.operands[0])
    is_ours = found is not None and _reduced(_repeated(total), SumOp) == (powers, found[1])
    return found if is_ours else None


def _log_softmax_argument(difference: Operation) -> Line | None:
    """The line of (x - max(x)) - log(sum(exp(x - max(x))))."""
    low, logarithm = difference.operands
    found, log = _below_top(low), _repeated(logarithm).owner
    powers = _reduced(log.operands[0], SumOp) if isinstance(log, LogOp) else None
    if found is None or powers is None or powers[1] != found[1]:
        return None
    return found if _is_made_of(powers[0], ExpOp, low) else None


def _below_top(low: SSAValue) -> Line | None:
    """The line of x - stop_gradient(max(x)), a difference of equal shapes."""
    if not isinstance(low.owner, SubtractOp):
        return None
    x, top = low.owner.operands
    stopped = _repeated(top).owner
    found = _reduced(stopped.operands[0], MaxOp) if isinstance(stopped, NoGradOp) else None
    return found if found is not None and found[0] is x else None


def _repeated(value: SSAValue) -> SSAValue:
    """What a broadcast repeats."""
    return value.owner.operands[0] if isinstance(value.owner, BroadcastToOp) else value


def _reduced(kept: SSAValue, kind: type[ReductionOp]) -> Line | None:
    """The line that a reduction reduces, whose axis the value has with one element."""
    value = kept.owner.operands[0] if isinstance(kept.owner, ReshapeOp) else kept
    for low, other in _pairs(value, MaximumOp):
        if splat_of(low) == -inf:  # where JAX begins a maximum
            value = other
            break
    made = value.owner
    if not isinstance(made, kind) or len(made.axes) != 1:
        return None
    shape, [axis] = [*shape_of(made.x.type)], made.axes
    shape[axis] = 1
    return (made.x, axis) if [*shape_of(kept.type)] == shape else None


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
