"""The dtypes of arithmetic between arrays, leaves of trees, and numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
from xdsl.dialects.builtin import f32

from gradir.frontends.functions import numpy as gnp
from gradir.frontends.functions.lattice import promoted
from gradir.frontends.functions.promotion import converted
from gradir.frontends.tracing.source_locations import refusal
from gradir.frontends.tracing.spec import type_text
from gradir.frontends.tracing.tracer import Tracer
from gradir.frontends.tracing.tracing import element, is_number, lifted


def number(count: Any) -> Any:
    """A count as a number that gives way to the dtypes that it meets, as Python's do."""
    made = gnp.astype(count, "float64")
    return Tracer(made.made_in, made.ssa, weak=True)


def like(value: Any, leaf: Tracer) -> Any:
    """A number, or an array of rank 0, that does not change the dtype of the leaf it meets."""
    if is_number(value):
        return value
    scalar = lifted(value)
    if scalar.shape:
        raise refusal(f"a factor of updates must have rank 0, got {type_text(scalar.type)}")
    return converted(scalar, element(leaf))


def divided(x: Tracer, divisor: Tracer) -> Tracer:
    """x by a divisor of rank 0 in float64: times its reciprocal, as one product an element is much
    cheaper than one quotient. In float16 the reciprocal may be inf where the quotient is not."""
    return x / like(divisor, x) if x.dtype.name == "float16" else x * like(1.0 / divisor, x)


def stored(value: Tracer, before: Tracer) -> Tracer:
    """A new entry of a state in the dtype of the one before: states keep their types."""
    return converted(value, element(before))


def widened(x: Tracer, other: Tracer) -> Any:
    """x in the dtype that both promote to, before any of its digits are lost."""
    both = promoted(element(x), element(other))
    return converted(x, both)


def single_or_double(x: Tracer) -> Any:
    """x in float32 at least: sums of squares leave the range of float16."""
    return converted(x, promoted(element(x), f32))


def require_epsilon(what: str, eps: Any, leaf: Tracer) -> None:
    """TraceError where eps is 0 in the dtype of the arithmetic: 0 / 0 would follow."""
    if is_number(eps) and eps > 0 and float(np.asarray(eps).astype(leaf.dtype)) == 0:
        raise refusal(
            f"{what}: eps = {eps} is 0 in {leaf.dtype.name}; "
            "pass state_dtype='float32', or a larger eps"
        )
