"""gradir-inline: replace each func.call by the callee's body."""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import CallOp, FuncOp
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass

from gradir.dialects.base.diagnostics import PassError
from gradir.dialects.base.value import Emitter
from gradir.dialects.grad.custom_vjp import CustomVjpOp
from gradir.dialects.grad.join import join
from gradir.passes.analysis.call_graph import (
    called_name,
    callee_of,
    callees_first,
    calls_in,
    functions_by_name,
    only_block,
)
from gradir.passes.analysis.edits import erase, replace_results


def inline(module: ModuleOp, function: str | None = None, every: bool = False) -> None:
    """Inline all calls in `@function` (all functions where None); PassError at recursion.

    Calls of a function with a custom vjp stay, since their derivative would be lost, unless
    `every` call is inlined.
    """
    functions = functions_by_name(module)
    kept = set[str]() if every else _with_custom_vjp(module)
    if function is not None and function not in functions:
        known = ", ".join(f"@{n}" for n in functions) or "none"
        raise PassError(f"no function @{function}; functions: {known}", module)
    if function is not None:
        inline_calls(functions, functions[function], kept)
        return
    defined = [f for f in functions.values() if not f.is_declaration]
    # callees first: a callee is flat before it is copied
    for caller in callees_first(functions, defined, kept):
        _flatten(functions, caller, kept, joined=False)


def isolate(module: ModuleOp, function: str) -> FuncOp:
    """`@function` with its calls inlined, and nothing else in the module; PassError at recursion.

    Calls of a function with a custom vjp stay. The body of a function that is called once is
    moved there, not copied.
    """
    functions = functions_by_name(module)
    alone = functions[function]
    kept = _with_custom_vjp(module)
    _flatten(functions, alone, kept, joined=False, moved=_called_once(functions, alone, kept))
    for op in list(module.ops):
        if op is not alone:
            erase(op)
    return alone


def _with_custom_vjp(module: ModuleOp) -> set[str]:
    """The names of functions whose derivative would be lost with their calls."""
    return {op.names[0] for op in module.ops if isinstance(op, CustomVjpOp)}


def _called_once(functions: dict[str, FuncOp], root: FuncOp, kept: Container[str]) -> set[FuncOp]:
    """The functions with one call in all that becomes the root's body."""
    times = {root: 1}
    for caller in reversed(callees_first(functions, [root], kept)):
        for call in calls_in(caller):
            if called_name(call) not in kept:
                callee = callee_of(functions, call)
                times[callee] = times.get(callee, 0) + times[caller]
    return {function for function, count in times.items() if count == 1}


def inline_calls(
    functions: dict[str, FuncOp], caller: FuncOp, kept: Container[str], joined: bool = False
) -> None:
    """Inline the calls in a function, but for `kept` ones; PassError at recursion.

    `joined`: as for `inline_call`.
    """
    # checks all callees before the first change
    callees_first(functions, [caller], kept)
    _flatten(functions, caller, kept, joined)


def _flatten(
    functions: dict[str, FuncOp],
    caller: FuncOp,
    kept: Container[str],
    joined: bool,
    moved: Container[FuncOp] = (),
) -> None:
    """Replace each call by a copy of the callee's body, then the calls in that copy.

    Of functions in `moved` the body itself is taken.
    """
    pending = list(calls_in(caller))
    while pending:
        call = pending.pop()
        if called_name(call) not in kept:
            callee = callee_of(functions, call)
            pending += inline_call(call, callee, joined, callee in moved)


def inline_call(
    call: CallOp, callee: FuncOp, joined: bool = False, moves: bool = False
) -> list[CallOp]:
    """Replace one call; returns the calls in the inlined code.

    `joined`: for a derivative that sums as the call does (grad.join). With `moves` the callee has
    no body any more.
    """
    block, body = call.parent, only_block(callee)
    assert block is not None
    brought: list[CallOp] = []
    handed_in = _handed_on(call.operands, call, joined)
    mapping: dict[SSAValue, SSAValue] = dict(zip(body.args, handed_in, strict=True))
    last = body.last_op
    assert last is not None
    if moves:
        for argument, value in mapping.items():
            argument.replace_all_uses_with(value)
    for op in body.ops:
        if op is last:
            break
        if moves:
            op.detach()
        copy = op if moves else _copied(op, mapping)
        block.insert_op_before(copy, call)
        if copy.regions or isinstance(copy, CallOp):
            brought += [inner for inner in copy.walk() if isinstance(inner, CallOp)]
    returned = _handed_on([mapping.get(v, v) for v in last.operands], call, joined)
    replace_results(call, returned)
    if moves:
        erase(last)
    return brought


def _copied(op: Operation, mapping: dict[SSAValue, SSAValue]) -> Operation:
    copy = op.clone(mapping)
    copy.location = op.location
    return copy


def _handed_on(values: Sequence[SSAValue], call: CallOp, joined: bool) -> Sequence[SSAValue]:
    """The values, or joins of them, last one first: cotangents come in their order."""
    if not joined:
        return values
    block = call.parent
    assert block is not None
    emitter = Emitter(block, call.location, before=call)
    return [join(v, emitter) for v in reversed(values)][::-1]


@dataclass(frozen=True)
class InlinePass(ModulePass):
    """Replace calls by the bodies of the functions they call."""

    name = "gradir-inline"

    function: str | None = None
    every: bool = False

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        inline(op, self.function, self.every)
