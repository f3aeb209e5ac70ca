"""The attributes of a function at buffer level: its inputs, results, tapes and constants."""

from __future__ import annotations

from typing import Any, cast

from xdsl.dialects import func, memref
from xdsl.dialects.builtin import ArrayAttr, DenseIntOrFPElementsAttr, IntegerAttr, ModuleOp
from xdsl.ir import Attribute, Operation

from gradir.codegen.driver.report import BufferType, Parameter
from gradir.dialects.base.diagnostics import LocatedError
from gradir.dialects.base.traced_sizes import SizeGraph, TracedSize
from gradir.dialects.grad.tape import TapeType


def count_of(function: func.FuncOp, name: str) -> int:
    """How many arguments are "inputs", or "results"."""
    attribute = function.attributes.get(f"gradir.{name}")
    if not isinstance(attribute, IntegerAttr):
        raise LocatedError(f"func.func: needs the integer attribute gradir.{name}", function)
    return cast(IntegerAttr[Any], attribute).value.data


def tapes_of(function: func.FuncOp, name: str) -> tuple[TapeType | None, ...]:
    """Which "inputs" or "results" of the program are tapes; nothing where none is."""
    attribute = function.attributes.get(f"gradir.{name}_tapes")
    if not isinstance(attribute, ArrayAttr):
        return ()
    entries = cast(ArrayAttr[Attribute], attribute)
    return tuple(entry if isinstance(entry, TapeType) else None for entry in entries)


def global_data(function: func.FuncOp, name: str, op: Operation) -> bytes:
    """The bytes of the constant that an op refers to."""
    module = function.parent_op()
    for other in module.body.block.ops if isinstance(module, ModuleOp) else ():
        if isinstance(other, memref.GlobalOp) and other.sym_name.data == name:
            value = other.initial_value
            if isinstance(value, DenseIntOrFPElementsAttr):
                return value.data.data
    raise LocatedError(f"memref.get_global: no constant @{name} with an initial value", op)


def graph_of(function: func.FuncOp) -> SizeGraph | None:
    """The sizes that are values, where a shape of an argument has some."""
    for argument in function.body.block.args:
        for extent in cast(BufferType, argument.type).get_shape():
            if type(extent) is TracedSize:
                return extent.graph
    return None


def parameters_of(
    function: func.FuncOp,
) -> tuple[Parameter | None, tuple[Parameter, ...], tuple[Parameter, ...]]:
    """The arena, if the first argument is one, the inputs and the results."""
    parameters = [
        Parameter(a.name_hint or f"arg{a.index}", cast(BufferType, a.type))
        for a in function.body.block.args
    ]
    inputs, results = (count_of(function, name) for name in ("inputs", "results"))
    arenas = len(parameters) - inputs - results
    if arenas not in (0, 1):
        raise LocatedError(
            f"func.func: expected an arena, {inputs} inputs and {results} results as "
            f"gradir.inputs and gradir.results say, got {len(parameters)} arguments",
            function,
        )
    first = arenas + inputs
    arena = parameters[0] if arenas else None
    return arena, tuple(parameters[arenas:first]), tuple(parameters[first:])
