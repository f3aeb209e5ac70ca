"""gradir-outline-checkpoints: marked stages become grad.checkpoint regions.

    %a = grad.start_checkpoint %x             %y = grad.checkpoint -> (tensor<4xf32>) {
    %b = array.sin %a                           %b = array.sin %x
    %c = array.tanh %b                 =>       %c = array.tanh %b
    %y = grad.end_checkpoint %c                 grad.yield %c
                                              }

A stage holds all values computed from the result of a start, up to its ends; nested stages become
nested regions. Other ops that the stage reads stay outside.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.passes import ModulePass

from gradir.dialects.grad.checkpoint import CheckpointOp, CheckpointYieldOp
from gradir.dialects.grad.grad import EndCheckpointOp, StartCheckpointOp
from gradir.passes.analysis.regions import values_read
from gradir.passes.cleanup.dead_code import blocks_inside_out
from gradir.passes.recompute.stages import MarkedStage, Stages, around, crossing, find, leak

Marker = StartCheckpointOp | EndCheckpointOp


def outline_checkpoints(root: ModuleOp | FuncOp) -> None:
    """Turn the marked stages of every block into regions. PassError for markers that do not nest.

    Leaves no marker. A block without markers is not touched.
    """
    for block in list(blocks_inside_out(root)):
        if any(isinstance(op, Marker) for op in block.ops):
            _Outliner(block).run()


def has_markers(function: FuncOp) -> bool:
    return any(isinstance(op, Marker) for op in function.walk())


Node = Operation | MarkedStage
"""A node of the order at one level: an op outside of inner stages, or an inner stage."""


class _Outliner:
    """Rebuilds one block, level by level."""

    def __init__(self, block: Block):
        self.block = block
        self.stages = Stages(block)
        # The ops of each stage (None: the block) and of its inner stages, in program order.
        self.members: dict[MarkedStage | None, list[Operation]] = {None: list(block.ops)}
        for op in block.ops:
            stage = self.stages.home(op)
            while stage is not None:
                self.members.setdefault(stage, []).append(op)
                stage = around(stage)
        self.homes = {op: self.stages.home(op) for op in block.ops}

    def run(self) -> None:
        orders: dict[MarkedStage | None, list[Node]] = {None: self._order(None)}
        pending = [node for node in orders[None] if isinstance(node, MarkedStage)]
        for stage in pending:
            orders[stage] = self._order(stage)
            pending += [node for node in orders[stage] if isinstance(node, MarkedStage)]
        for op in self.members[None]:
            op.detach()
        # inner stages first: their region op belongs to the stage around them
        made: dict[MarkedStage, CheckpointOp] = {}
        for stage in reversed(pending):
            made[stage] = self._region(stage, orders[stage], made)
        self._fill(self.block, orders[None], made)
        for op in self.members[None]:
            if isinstance(op, Marker):
                op.erase()

    # The order of one level.

    def _order(self, level: MarkedStage | None) -> list[Node]:
        """Nodes in program order, but after the nodes that they read; a stage is at its last op."""
        nodes = [self._node(op, level) for op in self.members.get(level, [])]
        last = {node: place for place, node in enumerate(nodes)}
        ordered: dict[Node, None] = {}
        for place, node in enumerate(nodes):
            if last[node] == place:
                self._visit(node, level, ordered)
        return list(ordered)

    def _visit(self, root: Node, level: MarkedStage | None, ordered: dict[Node, None]) -> None:
        """Add a node behind the nodes that it reads; an explicit stack: stages may be long."""
        if root in ordered:
            return
        opened: dict[Node, None] = {root: None}
        stack = [(root, self._needed(root, level))]
        while stack:
            node, needed = stack[-1]
            following = next((n for n in needed if n not in ordered), None)
            if following is None:
                stack.pop()
                del opened[node]
                ordered[node] = None
            elif following in opened:
                path = list(opened)
                raise self._cycle(path[path.index(following) :], level)
            else:
                opened[following] = None
                stack.append((following, self._needed(following, level)))

    def _needed(self, node: Node, level: MarkedStage | None) -> Iterator[Node]:
        """The nodes of the level that a node reads."""
        ops = self.members[node] if isinstance(node, MarkedStage) else [node]
        for op in ops:
            for value in values_read(op):
                owner = value.owner
                if not isinstance(owner, Operation) or owner not in self.homes:
                    continue
                if not self._is_inside(owner, level):
                    continue
                other = self._node(owner, level)
                if other is not node:
                    yield other

    def _is_inside(self, op: Operation, level: MarkedStage | None) -> bool:
        stage = self.homes[op]
        while stage is not level:
            if stage is None:
                return False
            stage = around(stage)
        return True

    def _node(self, op: Operation, level: MarkedStage | None) -> Node:
        """The op, or the stage directly inside of `level` that contains it."""
        stage = self.homes[op]
        node: Node = op
        while stage is not level:
            assert stage is not None
            node, stage = stage, around(stage)
        return node

    def _cycle(self, path: list[Node], level: MarkedStage | None) -> Exception:
        """The error for a cycle of nodes: each reads the next."""
        stages = [node for node in path if isinstance(node, MarkedStage)]
        if len(stages) > 1:
            return crossing(stages)
        [stage] = stages
        following = path[(path.index(stage) + 1) % len(path)]
        for op in self.members[stage]:
            read = values_read(op)
            if any(self._node_of(v, level) is following for v in read):
                inside = [v for v in read if self._node_of(v, level) is stage]
                return leak(op, (inside or read)[0], stage)
        raise AssertionError("a cycle without a use")

    def _node_of(self, value: SSAValue, level: MarkedStage | None) -> Node | None:
        owner = value.owner
        if not isinstance(owner, Operation) or owner not in self.homes:
            return None
        return self._node(owner, level) if self._is_inside(owner, level) else None

    # Building.

    def _region(
        self, stage: MarkedStage, order: list[Node], made: dict[MarkedStage, CheckpointOp]
    ) -> CheckpointOp:
        """The region op of a stage; its results take the place of the ends."""
        block = Block()
        self._fill(block, order, made)
        ends: dict[SSAValue, list[EndCheckpointOp]] = {}
        for end in stage.ends:
            ends.setdefault(end.x, []).append(end)
        block.add_op(CheckpointYieldOp(*ends))
        op = CheckpointOp([value.type for value in ends], block)
        op.location = find(stage).starts[0].location
        for result, markers in zip(op.results, ends.values(), strict=True):
            result.name_hint = markers[0].y.name_hint or markers[0].x.name_hint
            for marker in markers:
                marker.y.replace_all_uses_with(result)
        return op

    def _fill(self, block: Block, order: list[Node], made: dict[MarkedStage, CheckpointOp]) -> None:
        for node in order:
            if isinstance(node, StartCheckpointOp):
                node.y.replace_all_uses_with(node.x)
            elif isinstance(node, EndCheckpointOp):
                # of a stage without ops, which has no node
                node.y.replace_all_uses_with(node.x)
            else:
                block.add_op(made[node] if isinstance(node, MarkedStage) else node)


@dataclass(frozen=True)
class OutlineCheckpointsPass(ModulePass):
    """Turn the code between checkpoint markers into grad.checkpoint regions."""

    name = "gradir-outline-checkpoints"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        outline_checkpoints(op)
