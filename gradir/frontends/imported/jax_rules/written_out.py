"""JAX's products, and the function of jax.nn that jaxprs write out as one: gelu, in both forms.

The op of the function keeps its argument alone for a derivative, where its parts keep theirs.
"""

from __future__ import annotations

from math import sqrt
from typing import Any

import numpy as np
from xdsl.ir import Operation, SSAValue

from gradir.dialects.array.elementwise import (
    AddOp,
    MultiplyOp,
    NegativeOp,
    SquareOp,
    TanhOp,
    splat_of,
)
from gradir.dialects.array.transcendental import ErfcOp
from gradir.dialects.nn.activations import TANH_CUBIC, TANH_SCALE, GeluOp
from gradir.frontends.functions.array_ops import op
from gradir.frontends.imported.table import RuleTable
from gradir.frontends.tracing.tracer import Tracer
from gradir.frontends.tracing.tracing import emit_one

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
