"""Liveness: the values read after an op, in structured control flow."""

from __future__ import annotations

from itertools import pairwise

from xdsl.ir import Block, Operation, Region, SSAValue, Use

from gradir.dialects.grad.checkpoint import CheckpointOp
from gradir.passes.analysis.region_ops import is_branch, is_loop, is_region_op
from gradir.passes.analysis.regions import defining_block


class Liveness:
    """The positions of all ops of a block and of its regions, at the time of the analysis."""

    def __init__(self, block: Block):
        self._first: dict[Operation, int] = {}
        # the position of the last op inside of each op with regions
        self._last: dict[Operation, int] = {}
        self._done: set[Use] = set()
        pending: list[Operation | tuple[Operation]] = list(reversed(list(block.ops)))
        while pending:
            op = pending.pop()
            if isinstance(op, tuple):
                self._last[op[0]] = len(self._first) - 1
                continue
            self._first[op] = len(self._first)
            if is_control_flow(op):
                pending.append((op,))
                for inner in reversed([o for r in op.regions for b in r.blocks for o in b.ops]):
                    pending.append(inner)

    @property
    def ops(self) -> tuple[Operation, ...]:
        """The ops in the order of their positions."""
        return tuple(self._first)

    def forget(self, use: Use) -> None:
        """Ignore a use."""
        self._done.add(use)

    def first(self, op: Operation) -> int:
        """The position of an op; those in its regions come after it."""
        return self._first[op]

    def last(self, op: Operation) -> int:
        """The position of the last op inside of an op, or its own."""
        return self._last.get(op, self._first[op])

    def dies(self, value: SSAValue, op: Operation, inside: bool = True) -> bool:
        """Whether nothing reads `value` after `op`; without `inside`, nor in the regions of `op`.

        A read inside of a loop, of a value from outside of it, counts as a read by all of the loop.
        """
        users = {
            use.operation
            for use in value.uses
            if use.operation in self._first and use not in self._done
        }
        if not users:
            return True
        path = _path(op, value)
        if path is None:
            # defined in a region without `op`: no longer visible
            return True
        loops = [o for o in path[1:] if is_loop(o)]
        if loops:
            start = self._first[loops[-1]]
            return all(self._first[user] < start for user in users)
        end = self.last(op) if inside else self._first[op]
        return all(self._first[user] <= end or _excludes(path, user) for user in users)


def interval(live: Liveness, user: Operation, home: Block | None) -> tuple[int, int]:
    """The positions for which a use needs a value of the block `home`: all of a loop around the
    use."""
    found = (live.first(user), live.last(user))
    place: Operation | None = user
    while place is not None and place.parent is not home:
        place = place.parent_op()
        if is_loop(place):
            found = (live.first(place), live.last(place))
    return found


def is_control_flow(op: Operation) -> bool:
    """Whether native code has an op with regions as such: all but stages, which are inlined."""
    return is_region_op(op) and not isinstance(op, CheckpointOp)


def all_operands(op: Operation) -> list[SSAValue]:
    """The operands of an op and, for control flow and stages, of the ops in its regions."""
    if not is_region_op(op):
        return list(op.operands)
    return [operand for inner in op.walk() for operand in inner.operands]


def flow_blocks(block: Block) -> list[Block]:
    """A block and the blocks of control flow in it, inner ones first."""
    found, pending = list[Block](), [block]
    while pending:
        here = pending.pop()
        found.append(here)
        for op in here.ops:
            if is_control_flow(op):
                pending += [inner for region in op.regions for inner in region.blocks]
    return found[::-1]


def _path(op: Operation, value: SSAValue) -> list[Operation] | None:
    """`op` and the ops around it, up to the block that defines `value`."""
    home = defining_block(value)
    path = [op]
    while path[-1].parent is not home:
        parent = path[-1].parent_op()
        if parent is None:
            return None
        path.append(parent)
    return path


def _excludes(path: list[Operation], user: Operation) -> bool:
    """Whether `user` is in another branch than the first op of the path."""
    regions: dict[Operation, Region | None] = {
        op: inner.parent_region() for inner, op in pairwise(path)
    }
    place: Operation | None = user
    while place is not None:
        parent = place.parent_op()
        if parent in regions:
            return is_branch(parent) and regions[parent] is not place.parent_region()
        place = parent
    return False
