"""gradir-fuse: fewer, larger loop nests: views are read through, and nests over one space merge.

Fused code computes the same bits: a value that is handed on inside a nest has the rounding it
would have had in memory, and the order of reductions is set by the iteration space alone.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import cast

from xdsl.context import Context
from xdsl.dialects import arith, math
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.passes import ModulePass

from gradir.dialects.base.access import Access, Row
from gradir.dialects.building.nests import Read, argument_type, fused_location
from gradir.dialects.loopnest.loopnest import ContractOp, LoopOp, Output, YieldOp
from gradir.dialects.loopnest.special import PAST_POINTS, SpecialOp
from gradir.passes.analysis.edits import erase, insert_before, replace_results
from gradir.passes.analysis.live_bytes import BlockMemory
from gradir.passes.analysis.liveness import flow_blocks
from gradir.passes.cleanup.dead_code import is_only_block, remove_dead_ops
from gradir.passes.fusion.groups import FusionGroup, Grouping
from gradir.passes.fusion.products import turn_products
from gradir.passes.fusion.schedule import reorder, require_tensors, sunk_order
from gradir.passes.fusion.views import Input, inline_views, inputs_of


def fuse(module: ModuleOp) -> None:
    """Fuse the loop nests of every function, but not in regions with several blocks."""
    for function in module.walk():
        if isinstance(function, FuncOp) and not function.is_declaration:
            for outer in function.body.blocks:
                # inner ones first: they read through views from outside, which may then be dead
                for block in filter(is_only_block, flow_blocks(outer)):
                    fuse_block(block)


def fuse_block(block: Block) -> None:
    """Fuse the loop nests of one block, and sort its ops by their dependencies."""
    require_tensors(block, "gradir-fuse")
    inline_views(block)
    remove_dead_ops(block)
    turn_products(block)
    # so that values with late readers are made late, and fuse with these
    reorder(block, sunk_order(BlockMemory(block)))
    groups = Grouping(block).groups
    for group in groups:
        for op in group.ops:
            op.detach()
            block.add_op(op)
        if len(group.ops) > 1:
            _merge(block, group)
    for op in block.ops:
        if isinstance(op, LoopOp):
            _merge_equal_inputs(op)
            _merge_equal_ops(op.body.block)


def _merge(block: Block, group: FusionGroup) -> None:
    """Replace the ops of a group, which stand together, by one."""
    ops = [cast(LoopOp, op) for op in group.ops]
    merged = _Merged(ops)
    op = merged.build()
    block.insert_op_after(op, group.ops[-1])
    for old, new in zip(merged.kept, op.results, strict=True):
        old.replace_all_uses_with(new)
    for dead in reversed(ops):
        erase(dead)


class _Merged:
    """The body of a group, put together in program order."""

    def __init__(self, ops: Sequence[LoopOp]):
        self.ops = ops
        self.first = ops[0]
        self.members: set[Operation] = set(ops)
        self.inside = {r for op in ops for r in op.results}
        self.block = Block()
        # The factors of a contraction, which the body does not see, and the inputs that it sees.
        self.factors: list[Input] = []
        self.inputs: dict[Input, SSAValue] = {}
        self.forwarded: dict[SSAValue, SSAValue] = {}
        self.kept: list[SSAValue] = []
        self.outputs: list[Output] = []
        self.yields: list[SSAValue] = []

    def build(self) -> LoopOp:
        if isinstance(self.first, ContractOp):
            accumulator = self.block.insert_arg(self.first.accumulator_type, 0)
            self.first.body.block.args[0].replace_all_uses_with(accumulator)
            self.factors = inputs_of(self.first)[: self.first.HIDDEN_INPUTS]
        for op in self.ops:
            self._take_body(op)
        for op in self.ops:
            self._take_outputs(op)
        self.block.add_op(YieldOp(*self.yields))
        inputs = [*self.factors, *self.inputs]
        op = type(self.first)(
            self.first.extents, [i.value for i in inputs], [i.access for i in inputs],
            self.outputs, self.block, [i.pad for i in inputs], roles=self.first.roles,
            precision=self.first.precision,
        )  # fmt: skip
        op.location = fused_location(self.ops)
        return op

    def _take_body(self, op: LoopOp) -> None:
        """Move the ops of a body; the merged body's arguments replace its own."""
        body = op.body.block
        hidden = op.HIDDEN_INPUTS
        arguments = list(body.args)[1 if hidden else 0 :]
        for argument, one in zip(arguments, inputs_of(op)[hidden:], strict=True):
            argument.replace_all_uses_with(self._argument(one, op))
        last = body.last_op
        for inner in list(body.ops):
            if inner is not last:
                inner.detach()
                self.block.add_op(inner)
        for result, value in zip(op.results, op.yielded, strict=True):
            self.forwarded[result] = value

    def _argument(self, one: Input, op: LoopOp) -> SSAValue:
        if one.value in self.inside:
            return self.forwarded[one.value]
        one = Input(one.value, self._over_our_space(one.access, op), one.pad)
        found = self.inputs.get(one)
        if found is None:
            type_ = argument_type(Read(one.value, one.access, one.pad))
            found = self.block.insert_arg(type_, len(self.block.args))
            self.inputs[one] = found
        return found

    def _over_our_space(self, access: Access | None, op: LoopOp) -> Access | None:
        """A nest's access over a contraction's dimensions; it uses no summed one."""
        missing = len(self.first.extents) - len(op.extents)
        if access is None or not missing:
            return access
        zeros = (0,) * missing
        rows = (Row(r.coefficients + zeros, r.constant, r.symbol) for r in access.rows)
        return Access(access.num_dims + missing, tuple(rows))

    def _take_outputs(self, op: LoopOp) -> None:
        """Keep the results that are read outside of the group."""
        for result, output, value in zip(op.results, op.output_list, op.yielded, strict=True):
            if all(use.operation in self.members for use in result.uses):
                continue
            access = self._over_our_space(output.access, op)
            assert access is not None
            self.kept.append(result)
            self.outputs.append(Output(output.type, access, output.combiner))
            self.yields.append(value)


def _merge_equal_inputs(op: LoopOp) -> None:
    """Read once what the body of an op is handed several times in one way."""
    inputs, hidden = inputs_of(op), op.HIDDEN_INPUTS
    first: dict[Input, int] = {}
    block = op.body.block
    arguments = list(block.args)[1 if hidden else 0 :]
    kept = list(range(hidden))
    for k, argument in enumerate(arguments, hidden):
        twin = first.setdefault(inputs[k], k)
        if twin == k:
            kept.append(k)
        else:
            argument.replace_all_uses_with(arguments[twin - hidden])
            block.erase_arg(argument)
    if len(kept) < len(inputs):
        ours = [inputs[k] for k in kept]
        op.set_inputs([i.value for i in ours], [i.access for i in ours], [i.pad for i in ours])


def _merge_equal_ops(body: Block) -> None:
    """Merge equal ops of a scalar body (no regions, no effects) and drop dead ones."""
    seen: dict[Hashable, Operation] = {}
    for op in list(body.ops):
        if not op.results:
            continue
        _read_past_sign(op)
        op = _read_past_point(op)
        key = (
            type(op), tuple(op.operands), tuple(op.properties.items()),
            tuple(op.attributes.items()), tuple(r.type for r in op.results),
        )  # fmt: skip
        twin = seen.setdefault(key, op)
        if twin is not op:
            replace_results(op, twin.results)
    remove_dead_ops(body)


def _read_past_sign(op: Operation) -> None:
    """Let |-x| be |x|: a function and its mirror image then share their exponentials."""
    if isinstance(op, math.AbsFOp) and isinstance(negation := op.operand.owner, arith.NegfOp):
        op.operands[0] = negation.operand


def _read_past_point(op: Operation) -> Operation:
    """Let a value that is read off a point of x be a function of x, with the same bits."""
    if not (isinstance(op, SpecialOp) and isinstance(point := op.x.owner, SpecialOp)):
        return op
    if (function := PAST_POINTS.get((type(op), type(point)))) is None:
        return op
    insert_before(made := function(point.x), op)
    replace_results(op, made.results)
    return made


@dataclass(frozen=True)
class FusePass(ModulePass):
    """Merge loop nests: elementwise chains, reductions, and contraction epilogues."""

    name = "gradir-fuse"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        fuse(op)
