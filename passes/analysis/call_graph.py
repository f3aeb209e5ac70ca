"""The call graph: functions in an order of callees before callers."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import CallOp, FuncOp
from xdsl.ir import Block, Operation

from gradir.dialects.base.diagnostics import PassError


def functions_by_name(module: ModuleOp) -> dict[str, FuncOp]:
    """The top-level functions of a module by name, in order."""
    return {op.sym_name.data: op for op in module.ops if isinstance(op, FuncOp)}


def calls_in(root: Operation) -> Iterator[CallOp]:
    """The calls in a function or another op, also those in regions of its ops."""
    return (op for op in root.walk() if isinstance(op, CallOp))


def called_name(call: CallOp) -> str:
    return call.callee.root_reference.data


def callees_first(
    functions: dict[str, FuncOp], roots: Iterable[FuncOp], left: Container[str] = ()
) -> list[FuncOp]:
    """The roots and all their callees, callees before callers; calls that are `left` are ignored.

    PassError at a call of a function that is missing, has no body, has several blocks, or is
    recursive. No Python recursion, so that chains of calls may be long.
    """
    done: dict[FuncOp, None] = {}
    opened: set[FuncOp] = set()
    for root in roots:
        stack = [(root, calls_in(root))] if root not in done else []
        opened.update(function for function, _ in stack)
        while stack:
            function, calls = stack[-1]
            call = next(calls, None)
            if call is None:
                stack.pop()
                opened.discard(function)
                done[function] = None
                continue
            if called_name(call) in left:
                continue
            callee = callee_of(functions, call)
            if callee in opened:
                raise PassError(f"func.call: @{called_name(call)} is recursive", call)
            if callee not in done:
                opened.add(callee)
                stack.append((callee, calls_in(callee)))
    return list(done)


def callee_of(functions: dict[str, FuncOp], call: CallOp) -> FuncOp:
    """The callee of a call; PassError at the call unless it has one block."""
    name = called_name(call)
    callee = functions.get(name)
    if callee is None:
        raise PassError(f"func.call: no function @{name}", call)
    if callee.is_declaration:
        raise PassError(f"func.call: @{name} has no body", call)
    if callee.body.blocks.first is not callee.body.blocks.last:
        raise PassError(
            f"func.call: @{name} has several blocks; write branches and loops with scf", call
        )
    return callee


def only_block(function: FuncOp) -> Block:
    """The one block of a function; PassError at the function if it has none or several."""
    name = function.sym_name.data
    if function.is_declaration:
        raise PassError(f"@{name} has no body", function)
    first = function.body.blocks.first
    assert first is not None
    if first is not function.body.blocks.last:
        raise PassError(f"@{name} has several blocks; write branches and loops with scf", function)
    return first
