"""Arguments that come in, in the buffer of a result: what a gradient is added to.

An argument with the attribute {grad.in_out = 2} is, to the function, an argument like any other.
To a caller it is what the array given in `out` for result 2 holds before; it is not passed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from xdsl.dialects.builtin import IntegerAttr, i64
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute

from gradir.dialects.attribute_names import IN_OUT
from gradir.dialects.diagnostics import PassError
from gradir.passes.targets import argument_attributes

READ_RESULTS = "gradir.read_results"
"""Of a function on buffers: the results of which the buffers are read, too."""


def in_out_attribute(result: int) -> dict[str, Attribute]:
    """The attributes of an argument that comes in the buffer of a result."""
    return {IN_OUT: IntegerAttr(result, i64)}


def in_out_results(function: FuncOp) -> Mapping[int, int]:
    """The result of each such argument, by their indices; PassError where that is no result."""
    if function.arg_attrs is None:
        return {}
    found: dict[int, int] = {}
    outputs = function.function_type.outputs.data
    for k, given in enumerate(argument_attributes(function)):
        if (attribute := given.get(IN_OUT)) is None:
            continue
        argument = function.body.block.args[k]
        if not isinstance(attribute, IntegerAttr):
            raise PassError(f"{IN_OUT}: must be the index of a result, got {attribute}", argument)
        result = cast(IntegerAttr[Any], attribute).value.data
        if not 0 <= result < len(outputs):
            raise PassError(
                f"{IN_OUT}: must be one of {len(outputs)} results, got index {result}", argument
            )
        if outputs[result] != argument.type:
            raise PassError(
                f"{IN_OUT}: result {result} must be {argument.type}, got {outputs[result]}",
                argument,
            )
        if result in found.values():
            raise PassError(f"{IN_OUT}: a result must be given once, got {result} again", argument)
        found[k] = result
    return found
