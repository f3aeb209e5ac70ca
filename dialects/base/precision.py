"""The precision of products of f32: "bf16" rounds their factors, and adds in f32 by one chain.

Each factor is rounded to bf16, to nearest even, and subnormal numbers to zeros of their sign. From
+0 on, each element is `acc = fma(lhs, rhs, acc)` over k = 0, 1, ..., the last of several dimensions
k fastest, rounded to nearest even in f32. A sum that would be subnormal, rounded as if exponents
had no end, is a zero of its sign. Nothing else has a part in the order: no tile, no thread, no
layout, no length of the sum. Which nan a nan is stands open.

That is what VDPBF16PS of AVX-512 does for a pair of factors, the upper halves first.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import Float32Type
from xdsl.ir import Attribute
from xdsl.utils.exceptions import VerifyException

from gradir.dialects.base.attributes import Attributes, text
from gradir.dialects.base.shapes import element_of

PRECISION = "precision"
PRECISIONS = ("bf16",)

# The least size of a sum that is not made zero: what rounds to the smallest normal number of f32.
LEAST_SUM = 2.0**-126 - 2.0**-151
LEAST_NORMAL = 2.0**-126


def precision_of(attributes: Attributes) -> str | None:
    """The precision that attributes of an op ask for; None for that of its types."""
    if PRECISION not in attributes:
        return None
    return text(attributes, PRECISION, among=PRECISIONS)


def precision_in(attributes: Attributes) -> dict[str, Attribute]:
    """The attribute as it is, for products that an op with these attributes makes."""
    return {name: value for name, value in attributes.items() if name == PRECISION}


def require_precision(attributes: Attributes, factors: Sequence[Attribute]) -> None:
    """VerifyException where the attributes ask for a precision that these factors do not have."""
    precision = precision_of(attributes)
    if precision is None:
        return
    for type_ in factors:
        if not isinstance(element_of(type_), Float32Type):
            raise VerifyException(
                f'precision = "{precision}" is for factors of f32, got {type_}; convert them to '
                "f32, or leave precision out"
            )
