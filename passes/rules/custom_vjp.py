"""Differentiation of calls with a grad.custom_vjp: calls of @f become calls of @f_forward.

The backward code calls @f_backward. The body of @f is ignored, for activity and for refusals.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects.func import CallOp, FuncOp, ReturnOp
from xdsl.ir import Block, Region, SSAValue

from gradir.dialects.base.diagnostics import PassError
from gradir.dialects.base.interfaces import Cotangents
from gradir.dialects.grad.custom_vjp import CustomVjpOp
from gradir.dialects.grad.grad import zero
from gradir.dialects.grad.tape import is_floating
from gradir.passes.analysis.call_graph import called_name
from gradir.passes.analysis.edits import erase
from gradir.passes.cleanup.inline import inline_call
from gradir.passes.differentiate.derived import Derived
from gradir.passes.differentiate.differentiator import Differentiator
from gradir.passes.differentiate.program import ModuleFunctions
from gradir.passes.differentiate.reverse_mode import Flowing


def custom_of(program: ModuleFunctions, call: CallOp) -> CustomVjpOp | None:
    """The declaration of a call's callee; None without one."""
    return program.custom.get(called_name(call))


def require_rules(call: CallOp, declared: CustomVjpOp) -> None:
    """PassError at a call whose derivative is not in the program."""
    if not declared.has_rules:
        name = called_name(call)
        raise PassError(
            f"func.call: @{name} has a derivative of its own, which is not in this program; "
            "differentiate the traced functions, or the Module that gradir.trace returns, which "
            "trace its rules",
            call,
            [(f"the derivative of @{name} is declared here", declared)],
        )


@dataclass(frozen=True)
class SavedCustomCall:
    """The declaration, and the residuals."""

    declared: CustomVjpOp
    residuals: tuple[SSAValue, ...]


def custom_forward(outer: Differentiator, op: CallOp, declared: CustomVjpOp) -> SavedCustomCall:
    """Append a call of the forward function in place of the call."""
    require_rules(op, declared)
    name = declared.names[1]
    forward = outer.program.function(name, declared)
    types = list(forward.function_type.outputs.data)
    operands = list(map(outer.primal, op.operands))
    made = outer.forward_emitter(op).insert(CallOp(name, operands, types))
    count = len(op.results)
    for residual, named in zip(made.results, _returned(forward), strict=False):
        residual.name_hint = named.name_hint
    outer.set_primal(op.results, made.results[:count])
    return SavedCustomCall(declared, tuple(made.results[count:]))


def custom_backward(
    outer: Differentiator, op: CallOp, saved: SavedCustomCall, cts: Cotangents
) -> Flowing:
    """Append a call of the backward function, with zeros for missing cotangents."""
    name = saved.declared.names[2]
    backward, emitter = outer.program.function(name, saved.declared), outer.emitter
    seeds = [
        (ct or zero(result.type, emitter)).ssa
        for ct, result in zip(cts, op.results, strict=True)
        if is_floating(result.type)
    ]
    types = list(backward.function_type.outputs.data)
    made = emitter.insert(CallOp(name, [*saved.residuals, *seeds], types))
    operands = [o for o in op.operands if is_floating(o.type)]
    return [(o, emitter.value(r)) for o, r in zip(operands, made.results, strict=True)]


def _returned(function: FuncOp) -> Sequence[SSAValue]:
    last = None if function.is_declaration else function.body.block.last_op
    return () if last is None else last.operands


def self_calling_function(function: FuncOp) -> FuncOp:
    """`@f(args) { return @f(args) }`, with the names and attributes of @f.

    A function with a custom vjp has the derivative of this call of it.
    """
    inputs, outputs = function.function_type.inputs.data, function.function_type.outputs.data
    block = Block(arg_types=inputs)
    if not function.is_declaration:
        for ours, argument in zip(block.args, function.body.block.args, strict=True):
            ours.name_hint = argument.name_hint
            ours.location = argument.location
    call = CallOp(function.sym_name.data, list(block.args), list(outputs))
    for result, value in zip(call.results, _returned(function), strict=False):
        result.name_hint = value.name_hint
    made = FuncOp(
        function.sym_name.data, (inputs, outputs), Region(block), arg_attrs=function.arg_attrs
    )
    block.add_ops([call, ReturnOp(*call.results)])
    for op in (made, call):
        op.location = function.location
    return made


def flatten(program: ModuleFunctions, derived: Derived) -> None:
    """Inline the calls in derived code: policies need the ops."""
    for block in (derived.forward, derived.backward):
        held = ReturnOp(*derived.results, *derived.grads)
        derived.backward.add_op(held)
        pending = [op for op in block.walk() if isinstance(op, CallOp)]
        while pending:
            call = pending.pop()
            pending += inline_call(call, program.function(called_name(call), call))
        values = iter(held.operands)
        derived.results = [next(values) for _ in derived.results]
        derived.grads = [next(values) for _ in derived.grads]
        erase(held)


def tangent_function(program: ModuleFunctions, call: CallOp, declared: CustomVjpOp) -> FuncOp:
    """The jvp function of a call's callee; PassError without one."""
    require_rules(call, declared)
    if declared.jvp is None:
        name = called_name(call)
        raise PassError(
            f"func.call: @{name} has a vjp of its own and no jvp; use reverse mode, or take the "
            "jvp of its vjp",
            call,
            [(f"the vjp of @{name} is declared here", declared)],
        )
    return program.function(declared.names[3], declared)
