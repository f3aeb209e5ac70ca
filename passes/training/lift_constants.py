"""gradir-lift-constants: the constant tensors of a function as its further arguments.

Programs that other tools export have trained weights in them as constants. As arguments they can be
differentiated and trained. Their values are returned, for the caller to pass.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import arith
from xdsl.dialects.builtin import (
    DenseIntOrFPElementsAttr,
    FunctionType,
    ModuleOp,
    StringAttr,
)
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute
from xdsl.passes import ModulePass

from gradir.dialects.base.attribute_names import NAME_ATTRIBUTE
from gradir.dialects.base.diagnostics import PassError
from gradir.dialects.base.shapes import element_count, element_of, is_float, is_tensor
from gradir.passes.analysis.call_graph import called_name, calls_in
from gradir.passes.analysis.edits import replace_results
from gradir.passes.analysis.signature import argument_attributes, set_argument_attributes
from gradir.passes.training.calls import callable_named

TITLE = "gradir-lift-constants"


def lift_constants(
    module: ModuleOp, function: str, elements: int = 2
) -> dict[str, DenseIntOrFPElementsAttr]:
    """Turn constants of floating tensors with so many elements into arguments of `@function`.

    Their values by the arguments' names, in order. Located PassError where the function is called
    in the module: a call would lack them.
    """
    target = callable_named(module, function)
    for call in calls_in(module):
        if called_name(call) == function:
            raise PassError(f"{TITLE}: @{function} is called here, without the constants", call)
    block = target.body.block
    found: dict[str, DenseIntOrFPElementsAttr] = {}
    given = argument_attributes(target)
    taken = {a.name_hint for a in block.args} | {_name_in(each) for each in given}
    for op in list(target.walk()):
        value = op.value if isinstance(op, arith.ConstantOp) else None
        if not isinstance(op, arith.ConstantOp) or not _is_wanted(value, elements):
            continue
        assert isinstance(value, DenseIntOrFPElementsAttr)
        name = _free_name(op.result.name_hint or "constant", taken)
        argument = block.insert_arg(op.result.type, len(block.args), op.location)
        argument.name_hint = name
        found[name] = value
        replace_results(op, [argument])
    if found:
        _add_to_signature(target, found)
    return found


def _name_in(attributes: Mapping[str, Attribute]) -> str | None:
    found = attributes.get(NAME_ATTRIBUTE)
    return found.data if isinstance(found, StringAttr) else None


def _is_wanted(value: object, elements: int) -> bool:
    if not isinstance(value, DenseIntOrFPElementsAttr) or not is_tensor(value.type):
        return False
    count = element_count(value.type)
    return is_float(element_of(value.type)) and count is not None and count >= elements


def _free_name(name: str, taken: set[str | None]) -> str:
    number, free = 0, name
    while free in taken:
        number += 1
        free = f"{name}_{number}"
    taken.add(free)
    return free


def _add_to_signature(function: FuncOp, names: Iterable[str]) -> None:
    """The arguments' types, and names that selectors find; names of values have no numbers."""
    attributes = argument_attributes(function)
    types = [a.type for a in function.body.block.args]
    function.function_type = FunctionType.from_lists(types, list(function.function_type.outputs))
    named = [{NAME_ATTRIBUTE: StringAttr(name)} for name in names]
    set_argument_attributes(function, [*attributes, *named])


@dataclass(frozen=True)
class LiftConstantsPass(ModulePass):
    """Turn constant tensors of a function into arguments."""

    name = TITLE

    function: str
    elements: int = 2

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        lift_constants(op, self.function, self.elements)
