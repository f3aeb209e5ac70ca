"""Values of functions where their formula does not hold, with derivatives of every order.

A guard `where(is_inside, formula, number)` gives the right number and the slope 0. These give the
right slope too: nan outside of a domain, infinite at an end where the function is vertical.

Guards name the places that they exclude, so that nan is none of them and goes through the formula.
"""

from __future__ import annotations

from functools import reduce
from math import nan
from operator import mul
from typing import Any

from gradir.dialects.grad.grad import AddSlopeOp, NoGradOp
from gradir.frontends.functions.array_ops import op
from gradir.frontends.functions.sugar import where
from gradir.frontends.tracing.tracer import Tracer
from gradir.frontends.tracing.tracing import emit_one


def undefined(made: Any, is_outside: Any, *arguments: Any) -> Tracer:
    """`made`, but nan outside, and so are all derivatives by the arguments there."""
    # all derivatives of a quotient of nan are nan
    outside = nan / where(is_outside, reduce(mul, arguments), 1.0)
    return where(is_outside, outside, made)


def vertical(made: Any, is_end: Any, value: Any, sign: Any, distance: Any) -> Tracer:
    """`made`, but `value`, infinite or not, at an end, where all derivatives are infinite.

    Their signs are the same as for value + sign * sqrt(distance), a distance that is 0 there.
    """
    return where(is_end, value + sign * op.sqrt(where(is_end, distance, 1.0)), made)


def constant(x: Any) -> Tracer:
    """x without a derivative."""
    return emit_one(NoGradOp, x)


def sloped(made: Any, x: Any, slope: Any) -> Tracer:
    """`made`, whose derivative by x is larger by `slope`; all three of one type and shape."""
    return emit_one(AddSlopeOp, made, x, slope)


def with_slopes(made: Any, *slopes: tuple[Any, Any]) -> Tracer:
    """`made`, with the derivative `slope` by x for each pair (x, slope) and none else.

    For slopes by formulas that do not cancel where the derivative of made's formula does.
    """
    made = constant(made)
    for x, slope in slopes:
        made = sloped(made, x, slope)
    return made


def with_digits(made: Any, is_better: Any, exact: Any) -> Any:
    """`made`, but for its rounding: where `is_better`, the value is `exact`, whose formula is not
    differentiated."""
    return made + constant(where(is_better, exact - made, 0.0))


def sign_of(x: Any) -> Any:
    """-1 below 0, else 1, without a derivative: x * sign_of(x) is |x| without its kink, to fold
    even and odd functions."""
    return where(op.less(x, 0), -1.0, 1.0).astype(x.dtype)
