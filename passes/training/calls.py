"""Functions that are made of calls of others, and have their arguments.

Calls keep what a copy of the body would lose: a derivative of its own (grad.custom_vjp), and one
derivative for all callers. Compilation inlines them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.dialects.func import CallOp, FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, BlockArgument, Operation, SSAValue
from xdsl.utils.exceptions import VerifyException

from gradir.dialects.base.attribute_names import NAME_ATTRIBUTE
from gradir.dialects.base.diagnostics import PassError, value_name
from gradir.dialects.base.shapes import element_of, is_float, is_scalar, is_tensor, shape_of
from gradir.dialects.base.value import Emitter, Value
from gradir.dialects.comm.comm_op import group_of
from gradir.passes.analysis.arguments import TIES, tie
from gradir.passes.analysis.call_graph import functions_by_name, only_block
from gradir.passes.analysis.effects import check_arguments
from gradir.passes.analysis.signature import argument_attributes
from gradir.passes.differentiate.derived import function_around
from gradir.passes.differentiate.program import ModuleFunctions
from gradir.passes.differentiate.selectors import Selector, argument_or_name

DERIVATIVE = re.compile(r"_(grad|vjp)(_\d+)?$")


class Caller:
    """A function in the making; `title` begins its errors."""

    def __init__(self, title: str):
        self.title = title
        self.block = Block()
        self.attributes: list[dict[str, Attribute]] = []
        self._named: dict[str, FuncOp] = {}

    def arguments(self, source: FuncOp, indices: Iterable[int]) -> list[SSAValue]:
        """New arguments like some of another function, with attributes but ties to results."""
        attributes = argument_attributes(source)
        made: list[SSAValue] = []
        for index in indices:
            given = source.body.block.args[index]
            ours = self.block.insert_arg(given.type, len(self.block.args), given.location)
            ours.name_hint = given.name_hint
            self._check_name(attributes[index].get(NAME_ATTRIBUTE), source, given)
            self.attributes.append({k: a for k, a in attributes[index].items() if k not in TIES})
            made.append(ours)
        return made

    def _check_name(self, name: Attribute | None, source: FuncOp, place: SSAValue) -> None:
        if not isinstance(name, StringAttr):
            return
        if (first := self._named.get(name.data)) is not None:
            raise PassError(
                f"{self.title}: names of arguments must differ, got {name.data!r} in "
                f"{symbol(first)} and in {symbol(source)}; change one grad.name",
                place,
            )
        self._named[name.data] = source

    def call(self, callee: FuncOp, operands: Sequence[SSAValue]) -> list[SSAValue]:
        """The results of a call, named like the values that the callee returns."""
        op = CallOp(callee.sym_name.data, operands, callee.function_type.outputs.data)
        op.location = callee.location
        self.block.add_op(op)
        for result, value in zip(op.results, returned(callee), strict=True):
            result.name_hint = value.name_hint
        return list(op.results)

    def converted(self, value: SSAValue, type_: Attribute, source: FuncOp) -> SSAValue:
        """A number in the element type of another; `source` gives the place."""
        if value.type == type_:
            return value
        given = Emitter(self.block, end_of(source).location).value(value)
        return Value.operator("astype")(given, type=type_).ssa

    def insert(
        self,
        module: ModuleOp,
        name: str,
        results: Sequence[SSAValue],
        source: FuncOp,
        ties: Mapping[str, Mapping[int, int]],
    ) -> FuncOp:
        """Add the function to the module, with the place of the source; PassError at its namesake.

        `ties` maps, for grad.in_out and grad.state, arguments to results.
        """
        if (found := functions_by_name(module).get(name)) is not None:
            raise PassError(
                f"{self.title}: @{name} exists already; choose another name with into=", found
            )
        op = ReturnOp(*results)
        op.location = end_of(source).location
        self.block.add_op(op)
        for name_of_tie, results_of in ties.items():
            for argument, result in results_of.items():
                self.attributes[argument] |= tie(name_of_tie, result)
        function = function_around(name, self.block, self.attributes)
        function.location = source.location
        module.body.block.add_op(function)
        return function


def symbol(function: FuncOp) -> str:
    return f"@{function.sym_name.data}"


def end_of(function: FuncOp) -> Operation:
    """The terminator of a function of one block."""
    last = function.body.block.last_op
    assert last is not None
    return last


def returned(function: FuncOp) -> Sequence[SSAValue]:
    """The values that a function of one block returns."""
    return end_of(function).operands


def callable_named(module: ModuleOp, name: str) -> FuncOp:
    """The function @name, with one block on tensors; PassError with the candidates otherwise."""
    function = ModuleFunctions(module).function(name)
    only_block(function)
    check_arguments(function)
    return function


def require_loss(title: str, function: FuncOp) -> None:
    """PassError unless the first result is a floating number."""
    results = returned(function)
    wanted = f"{title}: result 0 of {symbol(function)} is the loss and must be a floating number"
    if not results:
        raise PassError(f"{wanted}, got no result", function)
    type_ = results[0].type
    if not is_number(type_):
        way_out = "; reduce it, as by array.mean" if is_tensor(type_) and shape_of(type_) else ""
        raise PassError(f"{wanted} of rank 0, got {type_}{way_out}", results[0])


def is_number(type_: Attribute) -> bool:
    """A floating scalar, or a floating tensor of rank 0."""
    if is_tensor(type_):
        return not shape_of(type_) and is_float(element_of(type_))
    return is_scalar(type_) and is_float(type_)


def argument_name(function: FuncOp, index: int) -> str:
    """An argument in a message: `argument 1 (%w) of @f`."""
    argument = function.body.block.args[index]
    hint = "" if argument.name_hint is None else f" ({value_name(argument)})"
    return f"argument {index}{hint} of {symbol(function)}"


def selected_arguments(
    title: str, what: str, source: FuncOp, given: Sequence[Selector]
) -> list[int]:
    """The numbers of arguments that are given by index or name."""
    attributes = argument_attributes(source)
    found: list[int] = []
    for selector in given:
        value = argument_or_name(what, source, selector, attributes).value
        if not isinstance(value, BlockArgument):
            raise PassError(f"{title}: {what} must be arguments, got {selector!r}", value)
        found.append(value.index)
    return found


def check_group(title: str, source: FuncOp, group: str) -> None:
    """PassError unless it can be the name of a group of ranks."""
    try:
        group_of({"group": StringAttr(group)})
    except VerifyException as error:
        raise PassError(f"{title}: {error}", source) from None


def derivative_call(
    title: str, source: FuncOp, calls: Sequence[CallOp], name: str | None, which: str = ""
) -> CallOp:
    """The one call of a derivative's function: of @name, or of one named like gradir-gradient's."""
    wanted = [op for op in calls if _is_wanted(op.callee.string_value(), name)]
    if len(wanted) == 1:
        return wanted[0]
    names = ", ".join(f"@{op.callee.string_value()}" for op in calls) or "none"
    what = "of a function named _grad or _vjp" if name is None else f"of @{name}"
    raise PassError(
        f"{title}: {symbol(source)} must have one call {what}{which}, got {names}; name the "
        "derivative's function with call=",
        source,
    )


def _is_wanted(callee: str, name: str | None) -> bool:
    return callee == name if name is not None else DERIVATIVE.search(callee) is not None
