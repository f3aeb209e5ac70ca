"""The attributes of a function's arguments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute


def argument_attributes(function: FuncOp) -> list[dict[str, Attribute]]:
    """The attributes of each argument, by name; a copy."""
    if function.arg_attrs is None:
        return [{} for _ in function.function_type.inputs.data]
    entries: ArrayAttr[DictionaryAttr] = function.arg_attrs
    return [dict(entry.data) for entry in entries]


def set_argument_attributes(
    function: FuncOp, attributes: Sequence[Mapping[str, Attribute]]
) -> None:
    """Give each argument the attributes, by name."""
    function.arg_attrs = ArrayAttr([DictionaryAttr(dict(given)) for given in attributes])
