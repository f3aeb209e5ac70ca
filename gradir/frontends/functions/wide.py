"""Types wide enough for sums, counts and indices, whatever the type of the elements is.

A sum of float16 ends at 65504 and counts to 2048, and int8 ends at 127. Functions that are made of
several ops compute in these types between them, and round to the type of the elements at the end.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from xdsl.dialects.builtin import f32, i64
from xdsl.ir import Attribute

from gradir.dialects.array.elementwise import MinimumOp
from gradir.dialects.base.shapes import is_float, is_inexact, ui64
from gradir.frontends.functions.lattice import promoted
from gradir.frontends.functions.op_functions import apply
from gradir.frontends.functions.promotion import converted
from gradir.frontends.tracing.tracer import Tracer
from gradir.frontends.tracing.tracing import element, lifted


def wide_element(kind: Attribute) -> Attribute:
    """float32 for a narrower floating type, else the type itself."""
    return promoted(kind, f32) if is_float(kind) else kind


def wide(x: Tracer) -> Any:
    """x with float16 and bfloat16 as float32."""
    return converted(x, wide_element(element(x)))


def as_indices(given: Any) -> Any:
    """Integers in int64, which holds every place; larger ones stay beyond every extent."""
    x = lifted(given)
    if is_inexact(element(x)):
        return x  # which the op of the indices refuses
    if element(x) == ui64:
        x = apply(MinimumOp, {"lhs": x, "rhs": int(np.iinfo(np.int64).max)})
    return converted(x, i64)
