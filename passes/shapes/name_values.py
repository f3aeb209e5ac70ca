"""The values of symbols: types and attributes with named extents get the numbers of a call.

The shapes of a function's arguments give the values of the symbols that their types name, and these
hold in all functions that it uses.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

from xdsl.dialects.builtin import (
    ArrayAttr,
    FunctionType,
    IntegerAttr,
    StringAttr,
    i64,
)
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Block, Operation, SSAValue

from gradir.dialects.base.attribute_names import REQUIRES
from gradir.dialects.base.attributes import ExtentAttr
from gradir.dialects.base.diagnostics import PassError, value_name
from gradir.dialects.base.extent_values import (
    Named,
    holds,
    read_condition,
    value_of,
    values_of_shapes,
)
from gradir.dialects.base.extents import Condition, Extent, ExtentError, Size
from gradir.dialects.base.shapes import AnyTensor, element_of, has_names, shape_of
from gradir.dialects.base.shapes import tensor as tensor_type
from gradir.dialects.grad.extent import ExtentOp
from gradir.passes.analysis.edits import replace_op

Values = Mapping[str, int]


def has_symbols(function: FuncOp) -> bool:
    """Whether types or ops of a function name extents."""
    seen: set[Attribute] = set()
    for op in function.walk():
        if isinstance(op, ExtentOp):
            return True
        for value in _defined_values(op):
            if value.type not in seen:
                if has_names(value.type):
                    return True
                seen.add(value.type)
    return False


def argument_values(function: FuncOp, shapes: Sequence[Sequence[int] | None]) -> dict[str, int]:
    """The values of the symbols of a function's arguments, which have these shapes.

    ExtentError for a shape that differs from what its type, or another shape, says.
    """
    named: list[Named] = []
    for argument, shape in zip(function.body.block.args, shapes, strict=False):
        if shape is not None and has_names(argument.type):
            wanted = cast("Sequence[Size]", shape_of(argument.type))
            named.append((f"argument {argument.name_hint or argument.index}", wanted, shape))
    return values_of_shapes(named)


def check_conditions(functions: Sequence[FuncOp], values: Values) -> None:
    """PassError where the symbols have values for which the functions were not made."""
    for function in functions:
        for condition in conditions_of(function):
            missing = condition.left.symbols - set(values)
            if missing:
                raise PassError(
                    f"@{function.sym_name.data}: no argument says what {min(missing)} is", function
                )
            if not holds(condition, values):
                given = ", ".join(f"{n} = {values[n]}" for n in sorted(condition.left.symbols))
                raise PassError(
                    f"@{function.sym_name.data} is a program for {condition}, got {given}; "
                    "trace it for that shape",
                    function,
                )


def conditions_of(function: FuncOp) -> list[Condition]:
    """What must hold of the symbols in a function."""
    given = function.attributes.get(REQUIRES)
    if not isinstance(given, ArrayAttr):
        return []
    texts = [cast(StringAttr, entry).data for entry in cast("ArrayAttr[Attribute]", given)]
    return [read_condition(text) for text in texts]


def give_values(function: FuncOp, values: Values) -> None:
    """Numbers for all symbols of a function, in place; PassError, located, where one has none."""
    given = _Given(values)
    ops = list(function.walk())
    for value in (v for op in ops for v in _defined_values(op)):
        if has_names(value.type):
            type_ = given.type(cast(AnyTensor, value.type), value)
            value._type = type_
    for op in ops:
        for attributes in (op.properties, op.attributes):
            for name, attribute in attributes.items():
                attributes[name] = given.attribute(attribute, op)
        if isinstance(op, ExtentOp):
            _replace(op, given.number(op.size, op))
    function.attributes.pop(REQUIRES, None)


class _Given:
    """Types and attributes for the values of symbols."""

    def __init__(self, values: Values):
        self.values = values

    def number(self, size: Size, place: Operation | SSAValue) -> int:
        """The number of an extent."""
        missing = size.symbols - set(self.values) if isinstance(size, Extent) else ()
        if missing:
            raise PassError(f"no argument says what {min(missing)} is, got {size}", place)
        return value_of(size, self.values)

    def type(self, type_: AnyTensor, value: SSAValue | Operation) -> AnyTensor:
        shape: list[int] = []
        for size in cast("Sequence[Size]", shape_of(type_)):
            shape.append(self.number(size, value))
            if shape[-1] < 0:
                known = ", ".join(f"{n} = {k}" for n, k in self.values.items())
                what = value_name(value) if isinstance(value, SSAValue) else "a type"
                raise PassError(f"{what}: an extent must be >= 0, got {size} for {known}", value)
        return tensor_type(shape, element_of(type_))

    def attribute(self, attribute: Attribute, op: Operation) -> Attribute:
        match attribute:
            case ExtentAttr():
                return IntegerAttr(self.number(attribute.size, op), i64)
            case ArrayAttr():
                entries = attribute.data
                if any(isinstance(entry, ExtentAttr) for entry in entries):
                    return ArrayAttr(self.attribute(entry, op) for entry in entries)
            case FunctionType():
                kinds = (attribute.inputs, attribute.outputs)
                return FunctionType.from_lists(*([self._kind(t, op) for t in k] for k in kinds))
            case _:
                pass
        return attribute

    def _kind(self, type_: Attribute, op: Operation) -> Attribute:
        return self.type(cast(AnyTensor, type_), op) if has_names(type_) else type_


def _defined_values(op: Operation) -> list[SSAValue]:
    blocks: list[Block] = [block for region in op.regions for block in region.blocks]
    return [*op.results, *(argument for block in blocks for argument in block.args)]


def _replace(op: ExtentOp, number: int) -> None:
    """A constant in place of the op."""
    replace_op(op, op.constant(number))


def located_values(function: FuncOp, shapes: Sequence[Sequence[int] | None]) -> dict[str, int]:
    """`argument_values`, with a PassError at the function."""
    try:
        return argument_values(function, shapes)
    except ExtentError as error:
        raise PassError(f"@{function.sym_name.data}: {error}", function) from None
