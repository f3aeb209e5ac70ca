"""Arguments that are tied to a result, of their type: one in its buffer, and state.

Inside of the function, an argument with the attribute {grad.in_out = 2} is like any other. For a
caller it is the initial contents of the array given in `out` for result 2; it is not passed. Of an
argument with {grad.state = 2}, result 2 is the new value.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from xdsl.dialects.builtin import IntegerAttr, i64
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute

from gradir.dialects.base.attribute_names import IN_OUT, STATE
from gradir.dialects.base.diagnostics import VerifyError
from gradir.passes.analysis.signature import argument_attributes

READ_RESULTS = "gradir.read_results"
"""On a function on buffers: the result buffers that are read, too."""


TIES = (IN_OUT, STATE)
"""The attributes whose value is the index of a result."""


def tie(name: str, result: int) -> dict[str, Attribute]:
    """The attributes of an argument that is tied to a result."""
    return {name: IntegerAttr(result, i64)}


def in_out_attribute(result: int) -> dict[str, Attribute]:
    """The attributes of an argument in the buffer of a result."""
    return tie(IN_OUT, result)


def in_out_results(function: FuncOp) -> Mapping[int, int]:
    """The result index of each argument index in the buffer of a result; VerifyError."""
    return tied_results(function, IN_OUT)


def state_results(function: FuncOp) -> Mapping[int, int]:
    """The result index of each argument index that is state; VerifyError."""
    return tied_results(function, STATE)


def tied_results(function: FuncOp, name: str) -> Mapping[int, int]:
    """The result index of each argument index; VerifyError where there is no such result."""
    found: dict[int, int] = {}
    for k, given in enumerate(argument_attributes(function)):
        if (attribute := given.get(name)) is None:
            continue
        result = _result_of(name, attribute, k, function)
        if result in found.values():
            raise _wrong(name, f"a result must be given once, got {result} again", k, function)
        found[k] = result
    return found


def _result_of(name: str, attribute: Attribute, argument: int, function: FuncOp) -> int:
    """The result index in an attribute; VerifyError unless that result has the argument's type."""
    if not isinstance(attribute, IntegerAttr):
        text = f"must be the index of a result, got {attribute}"
        raise _wrong(name, text, argument, function)
    result = cast(IntegerAttr[Any], attribute).value.data
    inputs, outputs = function.function_type.inputs.data, function.function_type.outputs.data
    if not 0 <= result < len(outputs):
        text = f"must be one of {len(outputs)} results, got index {result}"
        raise _wrong(name, text, argument, function)
    if outputs[result] != inputs[argument]:
        text = f"result {result} must be {inputs[argument]}, got {outputs[result]}"
        raise _wrong(name, text, argument, function)
    return result


def _wrong(name: str, text: str, argument: int, function: FuncOp) -> VerifyError:
    first = function.body.first_block
    place = function if first is None else first.args[argument]
    return VerifyError(f"{name}: {text}", place)
