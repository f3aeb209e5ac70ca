"""gradir-schedule: an order of the ops of a block in which few bytes are alive at a time.

Several orders are tried, and the one with the lowest peak is taken; the program's own wins a tie.
Then the readers of calls that have only been started are put off, so that the program waits late.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from heapq import heappop, heappush

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.traits import is_side_effect_free

from gradir.dialects.base.diagnostics import PassError
from gradir.dialects.base.interfaces import is_terminator
from gradir.dialects.grad.host_call import HostCallOp
from gradir.dialects.loopnest.loopnest import ForallOp, LoopOp, ViewOp
from gradir.passes.analysis.live_bytes import BlockMemory, bytes_of
from gradir.passes.cleanup.dead_code import blocks_inside_out, is_only_block


def schedule(module: ModuleOp) -> None:
    """Needs: loop nests on tensors. Reorders the ops of each function's blocks."""
    for function in module.ops:
        for block in filter(is_only_block, blocks_inside_out(function)):
            if any(isinstance(op, LoopOp) for op in block.ops):
                schedule_block(block)


def require_tensors(block: Block, name: str) -> None:
    """Raise PassError if a block has a loop nest on buffers: its order is its meaning."""
    for op in block.ops:
        if isinstance(op, LoopOp | ForallOp) and op.outputs:
            raise PassError(
                f"{op.name}: {name} needs loop nests on tensors, got buffers; run it before "
                "gradir-bufferize",
                op,
            )


def schedule_block(block: Block) -> None:
    """Reorder a block: of the orders tried, the one with the lowest peak."""
    require_tensors(block, "gradir-schedule")
    memory = BlockMemory(block)
    orders = [memory.ops, sunk_order(memory), greedy_order(memory)]
    best = min(orders, key=memory.peak)
    if any(map(is_started, best)):
        best = waiting_order(memory, best)
    if best is not memory.ops:
        reorder(block, best)


def reorder(block: Block, order: Sequence[Operation]) -> None:
    """Put the ops of a block in a new order."""
    for op in order:
        op.detach()
        block.add_op(op)


def is_started(op: Operation) -> bool:
    """A call that runs on while the program does, until a result is read."""
    return isinstance(op, HostCallOp) and op.is_started


def waiting_order(memory: BlockMemory, order: Sequence[Operation]) -> list[Operation]:
    """What depends on a started call is put off until an op that stays needs it, or to the end.

    Of calls whose results are larger than their operands, as all_gather's, two are under way: where
    a third starts, the readers of the first run.
    """
    made = _Waiting(memory)
    for op in order:
        if is_free_to_move(op) and not made.late.isdisjoint(memory.operands(op)):
            made.put_off(op)
            continue
        if op is order[-1]:
            made.run_all(list(made.waiting))
        if is_started(op):
            made.start(op)
        made.run(op)
    return made.order


class _Waiting:
    """An order in the making: ops that are put off, and the values that come late."""

    def __init__(self, memory: BlockMemory):
        self.memory = memory
        self.order: list[Operation] = []
        self.waiting: dict[Operation, None] = {}
        self.late: set[SSAValue] = set()
        self._growing: list[Operation] = []

    def put_off(self, op: Operation) -> None:
        self.waiting[op] = None
        self.late.update(op.results)

    def start(self, call: Operation) -> None:
        """A call is to be started."""
        self.late.update(call.results)
        if self.memory.result_bytes(call) > sum(map(bytes_of, call.operands)) > 0:
            self._growing.append(call)
            for before in self._growing[-3:-2]:
                readers = self.memory.readers
                self.run_all([op for r in before.results for op in readers.get(r, ())])

    def run_all(self, ops: Sequence[Operation]) -> None:
        """Append the ops that are put off."""
        for op in ops:
            if op in self.waiting:
                self.run(op)

    def run(self, op: Operation) -> None:
        """Append an op behind those put off that it needs."""
        stack = [op]
        while stack:
            needed = [v.owner for v in self.memory.operands(stack[-1])]
            missing = [o for o in needed if isinstance(o, Operation) and o in self.waiting]
            if missing:
                stack += missing[:1]
                continue
            self.waiting.pop(stack[-1], None)
            self.order.append(stack.pop())


def is_free_to_move(op: Operation) -> bool:
    """The op has no effect: its operands and uses alone order it."""
    if is_terminator(op):
        return False
    return isinstance(op, LoopOp | ViewOp) or is_side_effect_free(op)


def sunk_order(memory: BlockMemory) -> list[Operation]:
    """Each op right before its first reader, unless that keeps more bytes alive than it saves.

    The ops that stay are anchors; those that move wait before one, in program order.
    """
    place = {op: k for k, op in enumerate(memory.ops)}
    anchor: dict[Operation, int] = {}
    # the last anchor at which a value is read, by the ops seen so far
    last: dict[object, int] = {}
    for op in reversed(memory.ops):
        readers = [use.operation for r in op.results for use in r.uses]
        target = min((anchor[r] for r in map(memory.outermost, readers)), default=None)
        if target is None or not is_free_to_move(op):
            target = place[op]
        else:
            longer = [v for v in memory.read(op) if last.get(v, -1) < target]
            if memory.result_bytes(op) < sum(map(memory.size, longer)):
                target = place[op]
            elif not memory.result_bytes(op) and not isinstance(op, ViewOp) and any(longer):
                target = place[op]
        anchor[op] = target
        for value in memory.read(op):
            last[value] = max(last.get(value, -1), target)
    return sorted(memory.ops, key=lambda op: (anchor[op], place[op]))


def greedy_order(memory: BlockMemory) -> list[Operation]:
    """Of the ops that can run, always the one after which the fewest bytes are alive."""
    return _Greedy(memory).run()


class _Greedy:
    def __init__(self, memory: BlockMemory):
        self.memory = memory
        self.place = {op: k for k, op in enumerate(memory.ops)}
        self.left = {value: len(readers) for value, readers in memory.readers.items()}
        self.feeds: dict[Operation, list[Operation]] = {op: [] for op in memory.ops}
        self.waiting: dict[Operation, int] = {}
        for op, needed in _needs(memory).items():
            self.waiting[op] = len(needed)
            for other in needed:
                self.feeds[other].append(op)
        # (bytes more alive after it, place), anew whenever an op comes to free more
        self.ready: list[tuple[int, int]] = []

    def run(self) -> list[Operation]:
        done: dict[Operation, None] = {}
        for op in self.memory.ops:
            self._push(op)
        while self.ready:
            op = self.memory.ops[heappop(self.ready)[1]]
            if op not in done:
                done[op] = None
                self._finish(op, done)
        return list(done)

    def _push(self, op: Operation) -> None:
        if not self.waiting[op]:
            memory = self.memory
            freed = sum(memory.size(v) for v in memory.read(op) if self.left[v] == 1)
            heappush(self.ready, (memory.result_bytes(op) - freed, self.place[op]))

    def _finish(self, op: Operation, done: dict[Operation, None]) -> None:
        for value in self.memory.read(op):
            self.left[value] -= 1
            if self.left[value] == 1 and self.memory.size(value):
                for reader in self.memory.readers[value]:
                    if reader not in done:
                        self._push(reader)
        for reader in self.feeds[op]:
            self.waiting[reader] -= 1
            self._push(reader)


def _needs(memory: BlockMemory) -> dict[Operation, set[Operation]]:
    """The dependencies of each op: producers of its operands; for effects, those before."""
    known = set(memory.ops)
    needs: dict[Operation, set[Operation]] = {}
    effect: Operation | None = None
    for op in memory.ops:
        owners = {v.owner for v in memory.operands(op)}
        needs[op] = {o for o in owners if isinstance(o, Operation) and o in known}
        if op is memory.ops[-1]:
            needs[op] = known - {op}
        elif not is_free_to_move(op):
            needs[op] |= {effect} if effect is not None else set()
            effect = op
    return needs


@dataclass(frozen=True)
class SchedulePass(ModulePass):
    """Order loop nests so that little memory is alive at a time."""

    name = "gradir-schedule"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        schedule(op)
