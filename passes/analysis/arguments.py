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

from gradir.dialects.base.attribute_names import IN_OUT
from gradir.dialects.base.diagnostics import VerifyError
from gradir.passes.analysis.signature import argument_attributes

READ_RESULTS = "gradir.read_results"
"""Of a function on buffers: which of the buffers for results are read, too."""


def in_out_attribute(result: int) -> dict[str, Attribute]:
    """The attributes of an argument that comes in the buffer of a result."""
    return {IN_OUT: IntegerAttr(result, i64)}


def in_out_results(function: FuncOp) -> Mapping[int, int]:
    """The result of each such argument, by their indices; VerifyError where that is no result."""
    found: dict[int, int] = {}
    for k, given in enumerate(argument_attributes(function)):
        if (attribute := given.get(IN_OUT)) is None:
            continue
        result = _result_of(attribute, k, function)
        if result in found.values():
            raise _wrong(f"a result must be given once, got {result} again", k, function)
        found[k] = result
    return found


def _result_of(attribute: Attribute, argument: int, function: FuncOp) -> int:
    """The result that an attribute names, which has the type of the argument."""
    if not isinstance(attribute, IntegerAttr):
        raise _wrong(f"must be the index of a result, got {attribute}", argument, function)
    result = cast(IntegerAttr[Any], attribute).value.data
    inputs, outputs = function.function_type.inputs.data, function.function_type.outputs.data
    if not 0 <= result < len(outputs):
        raise _wrong(
            f"must be one of {len(outputs)} results, got index {result}", argument, function
        )
    if outputs[result] != inputs[argument]:
        text = f"result {result} must be {inputs[argument]}, got {outputs[result]}"
        raise _wrong(text, argument, function)
    return result


def _wrong(text: str, argument: int, function: FuncOp) -> VerifyError:
    first = function.body.first_block
    place = function if first is None else first.args[argument]
    return VerifyError(f"{IN_OUT}: {text}", place)
