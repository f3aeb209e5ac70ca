"""Several arguments as floats of one type and shape."""

from __future__ import annotations

from typing import Any

from gradir.dialects.array.elementwise import AddOp
from gradir.frontends.functions.arguments import floating
from gradir.frontends.functions.promotion import broadcast


def floats(*values: Any) -> list[Any]:
    """The values, broadcast, in their common floating type."""
    made, common = broadcast(AddOp, [floating(v) for v in values])
    for each in made:
        each.weak = common.weak
    return list(made)
