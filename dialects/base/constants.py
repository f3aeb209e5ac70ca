"""The numbers of constants, where a pass asks for them."""

from __future__ import annotations

from typing import Any, cast

from xdsl.dialects import arith
from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import SSAValue


def constant_integer(value: SSAValue) -> int | None:
    """The number that an arith.constant gives; None for floats and for what is computed."""
    owner = value.owner
    if isinstance(owner, arith.ConstantOp) and isinstance(owner.value, IntegerAttr):
        return cast(IntegerAttr[Any], owner.value).value.data
    return None
