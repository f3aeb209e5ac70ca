"""The values of constants."""

from __future__ import annotations

from typing import Any, cast

from xdsl.dialects import arith
from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import SSAValue


def constant_integer(value: SSAValue) -> int | None:
    """The integer of an arith.constant; None for floats and for computed values."""
    owner = value.owner
    if isinstance(owner, arith.ConstantOp) and isinstance(owner.value, IntegerAttr):
        return cast(IntegerAttr[Any], owner.value).value.data
    return None
