"""gradir-inline: replace each func.call by the body of the function it calls."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import CallOp, FuncOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.passes import ModulePass

from gradir.dialects.diagnostics import PassError


def inline(module: ModuleOp, function: str | None = None) -> None:
    """Inline all calls in `@function` (all functions where None); PassError at recursion."""
    functions = {op.sym_name.data: op for op in module.ops if isinstance(op, FuncOp)}
    chosen = functions.values() if function is None else [functions[function]]
    inliner = _Inliner(functions)
    for one in chosen:
        inliner.flatten(one)


class _Inliner:
    def __init__(self, functions: dict[str, FuncOp]):
        self.functions = functions
        self.flat: set[FuncOp] = set()
        self.open: list[FuncOp] = []

    def flatten(self, function: FuncOp) -> None:
        """Inline the calls in a function, after those in the functions that it calls."""
        if function in self.flat or function.is_declaration:
            return
        self.open.append(function)
        for op in [op for op in function.walk() if isinstance(op, CallOp)]:
            callee = self.functions.get(op.callee.root_reference.data)
            if callee is None:
                raise PassError(f"func.call: no function {op.callee}", op)
            if callee in self.open:
                raise PassError(f"func.call: @{callee.sym_name.data} is recursive", op)
            self.flatten(callee)
            if not callee.is_declaration:
                _inline_call(op, _only_block(callee, op))
        self.open.pop()
        self.flat.add(function)


def _only_block(callee: FuncOp, call: Operation) -> Block:
    first = callee.body.blocks.first
    assert first is not None
    if first is not callee.body.blocks.last:
        raise PassError(f"func.call: @{callee.sym_name.data} has several blocks", call)
    return first


def _inline_call(call: CallOp, body: Block) -> None:
    block = call.parent
    assert block is not None
    mapping: dict[SSAValue, SSAValue] = dict(zip(body.args, call.operands, strict=True))
    for op in body.ops:
        if op is body.last_op:
            break
        copy = op.clone(mapping)
        copy.location = op.location
        block.insert_op_before(copy, call)
    last = body.last_op
    assert last is not None
    for result, returned in zip(call.results, last.operands, strict=True):
        result.replace_all_uses_with(mapping[returned])
    call.detach()
    call.erase()


@dataclass(frozen=True)
class InlinePass(ModulePass):
    """Replace calls by the bodies of the functions they call."""

    name = "gradir-inline"

    function: str | None = None

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        inline(op, self.function)
