"""gradir-shard-state: make a derivative take and return shards.

The call decides which: its operands that are parts, and its results that are read in parts. Other
readers of such a result, as a norm of all gradients, have it gathered.
"""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import CallOp, FuncOp
from xdsl.ir import Block, BlockArgument, Operation, OpResult, SSAValue

from gradir.dialects.base.value import Emitter
from gradir.passes.analysis.call_graph import calls_in, functions_by_name
from gradir.passes.analysis.edits import erase
from gradir.passes.analysis.regions import values_read
from gradir.passes.analysis.signature import argument_attributes
from gradir.passes.differentiate.derived import function_around
from gradir.passes.training.parts import Parts, read_in_parts

SHARDED = "sharded_"
"""What the name of a derivative's function in parts begins with."""


def sharded_gradient(module: ModuleOp, step: FuncOp, callee: str, parts: Parts) -> None:
    """Add a copy of the function that the step calls, where parts are to cross the call."""
    source = functions_by_name(module)[callee]
    call = next(c for c in calls_in(step) if c.callee.string_value() == callee)
    types = source.function_type.inputs.data
    taken = [k for k, o in enumerate(call.operands) if o.type != types[k]]
    given = {k: read for k, r in enumerate(call.results) if (read := read_in_parts(r))}
    if not taken and not given:
        return
    copy = source.clone()
    block = copy.body.detach_block(0)
    last = block.last_op
    assert last is not None
    before = _ops_before(block, [v for k, v in enumerate(last.operands) if k not in given])
    for k in taken:
        _take(block, block.args[k], before, parts)
    for k in given:
        value = last.operands[k]
        behind = value.op.next_op if isinstance(value, OpResult) else block.first_op
        emitter = Emitter(block, last.location, before=behind)
        part = parts.part(emitter.value(value))
        part.named(value.name_hint)
        last.operands[k] = part.ssa
    made = function_around(f"{SHARDED}{callee}", block, argument_attributes(source))
    made.location = source.location
    module.body.block.insert_op_after(made, source)
    _call(call, made, given, parts)


def _ops_before(block: Block, values: list[SSAValue]) -> set[Operation]:
    """The ops that other results than gradients depend on: the forward code."""
    found: set[Operation] = set()
    pending = [v.op for v in values if isinstance(v, OpResult)]
    while pending:
        op = pending.pop()
        if op not in found:
            found.add(op)
            pending += [v.op for v in values_read(op) if isinstance(v, OpResult)]
    return {op for op in found if op.parent is block}


def _take(block: Block, argument: BlockArgument, before: set[Operation], parts: Parts) -> None:
    """An argument that is a part, gathered before its first use in the forward code and again
    before that in the backward code."""
    whole, order = argument.type, {op: k for k, op in enumerate(block.ops)}
    part = block.insert_arg(parts.type(whole), argument.index, argument.location)
    part.name_hint = argument.name_hint
    for is_forward in (True, False):
        uses = [u for u in argument.uses if (_outer(u.operation, block) in before) is is_forward]
        if not uses:
            continue
        first = min((_outer(use.operation, block) for use in uses), key=order.__getitem__)
        gathered = parts.whole(Emitter(block, first.location, before=first).value(part), whole)
        gathered.named(argument.name_hint)
        for use in uses:
            use.operation.operands[use.index] = gathered.ssa
    block.erase_arg(argument)


def _outer(op: Operation, block: Block) -> Operation:
    """The op of a block that an op is, or stands in."""
    found = block.find_ancestor_op_in_block(op)
    assert found is not None
    return found


def _call(call: CallOp, callee: FuncOp, given: dict[int, list[Operation]], parts: Parts) -> None:
    """Call the copy in place of the whole function."""
    outputs = callee.function_type.outputs.data
    made = CallOp(callee.sym_name.data, call.operands, outputs)
    made.location = call.location
    block = call.parent
    assert block is not None
    block.insert_op_before(made, call)
    for k, (before, after) in enumerate(zip(call.results, made.results, strict=True)):
        after.name_hint = before.name_hint
        if k in given:
            given[k][-1].results[0].replace_all_uses_with(after)
            for op in reversed(given[k]):
                erase(op)
            if before.first_use is not None:
                emitter = Emitter(block, call.location, before=call)
                after = parts.whole(emitter.value(after), before.type).ssa
        before.replace_all_uses_with(after)
    erase(call)
