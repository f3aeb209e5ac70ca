"""gradir.numpy: the floats beside a float, by arithmetic alone: nextafter.

By S. M. Rump, P. Zimmermann, S. Boldo, G. Melquiond, "Computing predecessor and successor in
rounding to nearest", BIT 49 (2009), algorithm 1: x + (phi |x| + eta) rounds to the next float, for
phi = u (1 + 2 u), u half the distance of 1 to the next float, and eta the least float above 0. It
holds outside of the two smallest binades of normal numbers: numbers below these are exactly eta
apart, and small numbers are scaled up.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import ml_dtypes

from gradir.dialects.grad.grad import NoGradOp
from gradir.frontends.functions.arguments import floating
from gradir.frontends.functions.array_ops import op
from gradir.frontends.functions.promotion import (
    common_shape,
    converted,
    result_element,
    spread,
)
from gradir.frontends.functions.sugar import where
from gradir.frontends.tracing.tracer import Tracer
from gradir.frontends.tracing.tracing import emit_one


def _fixed(x: Any) -> Any:
    return emit_one(NoGradOp, x)


class _Steps:
    """The constants of a floating type."""

    def __init__(self, dtype: Any):
        limits = cast(Any, ml_dtypes.finfo)(dtype)
        unit = float(limits.eps) / 2
        self.eta, self.normal = float(limits.smallest_subnormal), float(limits.smallest_normal)
        self.share, self.scale = unit * (1 + 2 * unit), 4 / unit
        self.largest = float(limits.max)

    def above(self, x: Any) -> Any:
        """The next float above x > 0."""
        wide = x * self.scale
        small = (wide + _fixed(self.share * wide)) / self.scale
        made = x + _fixed(self.share * x + self.eta)
        made = where(op.less(x, 4 * self.normal), small, made)
        return where(op.less(x, 2 * self.normal), x + self.eta, made)

    def below(self, x: Any) -> Any:
        """The next float below x > 0."""
        wide = x * self.scale
        small = (wide - _fixed(self.share * wide)) / self.scale
        made = x - _fixed(self.share * x + self.eta)
        made = where(op.less_equal(x, 4 * self.normal), small, made)
        made = where(op.less_equal(x, 2 * self.normal), x - self.eta, made)
        return where(op.isinf(x), self.largest, made)


def nextafter(x1: Any, x2: Any) -> Tracer:
    """The next float behind x1 towards x2.   vjp: ct of x1; of x2 where both are equal"""
    first, second = floating(x1), floating(x2)
    kind = result_element([first, second])[0]
    shape = common_shape("nextafter", [first, second])
    x, y = spread(first, shape, kind), spread(second, shape, kind)
    steps, is_up = _Steps(x.dtype), op.less(x, y)
    sign: Any = where(op.less(x, 0), converted(-1, kind), converted(1, kind))
    size: Any = x * sign
    moved = where(op.equal(is_up, op.greater(sign, 0)), steps.above(size), steps.below(size)) * sign
    moved = where(op.equal(x, 0), where(is_up, x + steps.eta, x - steps.eta), moved)
    moved = where(op.equal(x, y), y, moved)
    return where(op.logical_or(op.isnan(x), op.isnan(y)), x + y, moved)


FUNCTIONS: tuple[Callable[..., Any], ...] = (nextafter,)
