"""The call graph: functions in an order of callees before callers."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator
from typing import TypeAlias

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import CallOp, FuncOp
from xdsl.ir import Block, Operation

from gradir.dialects.base.diagnostics import PassError
from gradir.dialects.grad.derivative import DerivativeOp

Use: TypeAlias = "CallOp | DerivativeOp"


def functions_by_name(module: ModuleOp) -> dict[str, FuncOp]:
    """The top-level functions of a module by name, in order."""
    return {op.sym_name.data: op for op in module.ops if isinstance(op, FuncOp)}


def calls_in(root: Operation) -> Iterator[CallOp]:
    """The calls in a function or another op, also those in regions of its ops."""
    return (op for op in root.walk() if isinstance(op, CallOp))


def called_name(call: Use) -> str:
    return call.callee.root_reference.data


def uses_in(root: Operation) -> Iterator[Use]:
    """The calls in a function, and the derivatives that are made later."""
    return (op for op in root.walk() if isinstance(op, CallOp | DerivativeOp))


def callees_first(
    functions: dict[str, FuncOp],
    roots: Iterable[FuncOp],
    left: Container[str] = (),
    follow: Callable[[Operation], Iterator[Use]] = calls_in,
) -> list[FuncOp]:
    """The roots and all their callees, callees before callers; calls that are `left` are ignored.

    `follow` gives the calls in a function.

    PassError at a call of a function that is missing, has no body, has several blocks, or is
    recursive. No Python recursion, so that chains of calls may be long.
    """
    done: dict[FuncOp, None] = {}
    opened: set[FuncOp] = set()
    for root in roots:
        stack = [(root, follow(root))] if root not in done else []
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
                stack.append((callee, follow(callee)))
    return list(done)


def callee_of(functions: dict[str, FuncOp], call: Use) -> FuncOp:
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
