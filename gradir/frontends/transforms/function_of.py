"""gradir.function_of: a function of a program in text as a function of arrays."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from inspect import Parameter, Signature
from typing import Any

import numpy as np
from xdsl.dialects import arith, tensor
from xdsl.dialects.builtin import IndexType, StringAttr, SymbolRefAttr, i64
from xdsl.dialects.func import CallOp, FuncOp
from xdsl.ir import Attribute, SSAValue

from gradir.api import Module
from gradir.argument_checks import require
from gradir.dialects.base.attribute_names import NAME_ATTRIBUTE
from gradir.dialects.base.shapes import element_of, is_inexact, is_open, is_tensor, shape_of
from gradir.dialects.base.shapes import tensor as tensor_type
from gradir.errors import ArgumentError, gradir_errors
from gradir.frontends.functions.promotion import converted
from gradir.frontends.tracing.source_locations import refusal
from gradir.frontends.tracing.spec import type_text
from gradir.frontends.tracing.tracer import Tracer
from gradir.frontends.tracing.tracing import Trace, current, lifted, tracing
from gradir.frontends.transforms.jit import jit
from gradir.frontends.transforms.wrapped import Wrapped
from gradir.passes.analysis.signature import argument_attributes
from gradir.runtime.arrays import dtype_of
from gradir.symbols import needed_functions


def function_of(module: Module, name: str | None = None) -> FunctionOf:
    """`@name` of a module as a function of its arguments, which jit, grad, vmap and Trainer take.

    The arguments are arrays of the parameters' types, in order or by name; floating parameters take
    other numbers too, which are converted. One result is returned as it is, several as a tuple.
    Without `name` the module must have one function. Gradients, memory limits and optimizers then
    come from Python: `gradir.grad(gradir.function_of(module, "loss"))`.

    Raises ArgumentError for a module with custom derivatives, dynamic shapes, or no such function.
    """
    require("module", module, Module, "a gradir.Module")
    require("name", name, str | None, "the name of a function")
    if name is None:
        if len(module.functions) != 1:
            known = ", ".join(f"@{each}" for each in module.functions) or "none"
            raise ArgumentError(f"name: which function? the module has {known}")
        [name] = module.functions
    return FunctionOf(module, name)


class FunctionOf(Wrapped):
    """A function of a module, called with arrays or traced arrays."""

    def __init__(self, module: Module, name: str):
        with gradir_errors():
            needed = needed_functions(module.op, name)
        _require_plain(module, needed)
        self._functions, self._target = needed, needed[-1]
        self._prefix = f"{name}_{hashlib.sha256(str(module).encode()).hexdigest()[:8]}"
        self._names = _argument_names(self._target)

        def called(*args: Any, **named: Any) -> Any:
            return self._traced(args, named)

        called.__name__ = called.__qualname__ = name
        if all(map(str.isidentifier, self._names)):
            kind = Parameter.POSITIONAL_OR_KEYWORD
            called.__signature__ = Signature([Parameter(n, kind) for n in self._names])  # pyrefly: ignore
        called.__doc__ = f"@{name}({', '.join(self._names)}) of a module."
        super().__init__(called, (function_of, (module, name)))
        self._jitted = jit(called)

    def __call__(self, *args: Any, **named: Any) -> Any:
        return self._jitted(*args, **named) if tracing() is None else self._traced(args, named)

    def __repr__(self) -> str:
        return f"<gradir function @{self.__name__} of {', '.join(self._names) or 'no arguments'}>"

    def _traced(self, args: Sequence[Any], named: dict[str, Any]) -> Any:
        trace = current("function_of")
        parameters = self._target.body.block.args
        given = self._in_order(args, named)
        operands = [
            _operand(trace, f"{self.__name__}: {name}", value, parameter.type)
            for name, value, parameter in zip(self._names, given, parameters, strict=True)
        ]
        callee = self._add_to(trace)
        call = CallOp(callee, operands, list(self._target.function_type.outputs))
        results = [Tracer(trace, _as_tensor(trace, r)) for r in trace.emit(call).results]
        return results[0] if len(results) == 1 else tuple(results)

    def _in_order(self, args: Sequence[Any], named: dict[str, Any]) -> list[Any]:
        """The arguments; TraceError where there are others than parameters."""
        rest = self._names[len(args) :]
        if len(args) > len(self._names) or set(rest) != named.keys():
            raise refusal(
                f"{self.__name__}: expected the arguments {', '.join(self._names) or 'none'}, got "
                f"{len(args)}" + "".join(f", {name}=" for name in named)
            )
        return [*args, *(named[name] for name in rest)]

    def _add_to(self, trace: Trace) -> str:
        """Add the functions to a trace, once, under names of their own; the name of this one."""
        names = {f.sym_name.data: f"{self._prefix}_{k}" for k, f in enumerate(self._functions)}
        for function in self._functions:
            name = names[function.sym_name.data]
            if name not in trace.functions:
                trace.functions[name] = _renamed(function, names)
        return names[self._target.sym_name.data]


def _argument_names(function: FuncOp) -> list[str]:
    """The names of arguments: by the attribute grad.name, or as they are printed."""
    found: list[str] = []
    pairs = zip(function.body.block.args, argument_attributes(function), strict=True)
    for k, (argument, attributes) in enumerate(pairs):
        given = attributes.get(NAME_ATTRIBUTE)
        name = given.data if isinstance(given, StringAttr) else argument.name_hint or f"arg{k}"
        found.append(name if name not in found else f"{name}_{k}")
    return found


def _require_plain(module: Module, functions: Sequence[FuncOp]) -> None:
    """ArgumentError for what a trace cannot take over."""
    others = [op.name for op in module.op.ops if not isinstance(op, FuncOp)]
    if others:
        raise ArgumentError(f"function_of: the module must have functions alone, got {others[0]}")
    target = functions[-1]
    for type_ in (*target.function_type.inputs, *target.function_type.outputs):
        if is_open(type_):
            raise ArgumentError(
                f"function_of: @{target.sym_name.data} must have static shapes, got {type_}"
            )


def _renamed(function: FuncOp, names: dict[str, str]) -> FuncOp:
    """A private copy of a function with other names of it and its callees."""
    copy = function.clone()
    copy.location = function.location
    for op in copy.walk():
        if isinstance(op, CallOp):
            op.callee = SymbolRefAttr(names[op.callee.string_value()])
        elif isinstance(op, FuncOp):
            op.sym_name = type(op.sym_name)(names[op.sym_name.data])
    return copy


def _operand(trace: Trace, what: str, value: Any, type_: Attribute) -> SSAValue:
    """An argument as a value of a parameter's type; TraceError where it does not fit."""
    is_index = isinstance(type_, IndexType)
    wanted = type_ if is_tensor(type_) else tensor_type([], i64 if is_index else type_)
    element = element_of(wanted)
    given = lifted(value, what=f"{what}: ")
    if not _may_become(given, element):
        raise refusal(f"{what}: expected {type_text(wanted)}, got {type_text(given.type)}")
    array = converted(given, element)
    if array.shape != shape_of(wanted):
        raise refusal(f"{what}: expected {type_text(wanted)}, got {type_text(array.type)}")
    ssa = trace.use(array)
    if is_tensor(type_):
        return ssa
    number = trace.emit(tensor.ExtractOp(ssa, [], element)).result
    return trace.emit(arith.IndexCastOp(number, IndexType())).result if is_index else number


def _may_become(given: Tracer, element: Attribute) -> bool:
    """Whether an argument's elements are taken as others: no fraction is cut off, no bit lost."""
    if is_inexact(element):
        return True
    have, wanted = dtype_of(element_of(given.type)), dtype_of(element)
    return np.can_cast(have, wanted) or (given.weak and have.kind in "iu" and wanted.kind in "iu")


def _as_tensor(trace: Trace, value: SSAValue) -> SSAValue:
    """A result as a tensor: a number gets rank 0."""
    if is_tensor(value.type):
        return value
    if isinstance(value.type, IndexType):
        value = trace.emit(arith.IndexCastOp(value, i64)).result
    made = tensor.FromElementsOp.create(
        operands=[value], result_types=[tensor_type([], value.type)]
    )
    return trace.emit(made).results[0]
