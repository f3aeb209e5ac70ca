"""gradir-group-rows: nests on buffers that work row by row run block by block of rows.

A softmax reads its rows three times. As three nests over the whole tensor it moves each row through
memory each time; as one `loopnest.rows` it keeps a block of rows in a core's cache, threads meet
once, and a buffer that only these nests touch is as large as a block for each thread. A group is
nests that follow each other, but for small ones; its block is chosen from the bytes of a row.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from math import gcd, lcm, prod

from xdsl.dialects import arith, memref
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, SSAValue

from gradir.codegen.rows.build_rows import build_rows, is_local
from gradir.codegen.rows.nest_rows import NestRows, find_row_splits
from gradir.codegen.text.target import MachineTarget
from gradir.dialects.base.shapes import byte_size, element_of, shape_of
from gradir.dialects.base.sum_order import CHUNK_ELEMENTS
from gradir.dialects.base.traced_sizes import is_traced
from gradir.dialects.loopnest.forall import ForallOp
from gradir.dialects.loopnest.loopnest import LoopOp, NestOp, ViewOp
from gradir.passes.buffers.state import root_of
from gradir.passes.cleanup.dead_code import blocks_inside_out

# The bytes that a block touches: twice the cache next to the core at most, and enough that calls
# of functions do not count.
BLOCK_BYTES, LEAST_BLOCK_BYTES = 64 << 10, 4 << 10
# The bytes of buffers that nests share from which on a group is worth it.
LEAST_SHARED_BYTES = 32 << 10
# Blocks of each thread, at least: then an uneven share is a quarter of its work at most.
BLOCKS_PER_THREAD = 4
MOST_NESTS = 32
# Rows of a block are a multiple of this number where blocks do not divide all rows.
LANES = 16
# An op this many times smaller than a group's largest nest may stand between its nests.
SMALL = 16

_TRANSPARENT = (memref.AllocOp, memref.GetGlobalOp, arith.ConstantOp, ViewOp)


def group_rows(module: ModuleOp, target: MachineTarget, threads: int) -> None:
    """Needs: buffers, not yet planned. Leaves: `loopnest.rows` where nests share rows."""
    for function in module.ops:
        for block in blocks_inside_out(function):
            nests = [op for op in block.ops if isinstance(op, NestOp) and op.outputs]
            if len(nests) > 1 and not any(is_traced(n) for op in nests for n in op.extents):
                _Scan(block, target, threads).run()


@dataclass
class RowGroup:
    """Nests that may run block by block, and their splits, by the number of rows.

    `behind` are the ops between them that have to run after some of them, `ahead` those between
    these that need not: they run before.
    """

    splits: dict[int, list[NestRows]]
    behind: list[Operation] = field(default_factory=list[Operation])
    ahead: list[Operation] = field(default_factory=list[Operation])

    @property
    def ops(self) -> list[NestOp]:
        return [one.op for one in next(iter(self.splits.values()))]

    def splits_with(self, op: NestOp) -> dict[int, list[NestRows]]:
        """The splits with one more nest; none if it does not fit."""
        if len(self.ops) == MOST_NESTS or any(_conflict(op, other) for other in self.behind):
            return {}
        return {
            one.rows: [*self.splits[one.rows], one]
            for one in find_row_splits(op)
            if one.rows in self.splits and _fits(self.splits[one.rows], one)
        }


def _fits(members: list[NestRows], one: NestRows) -> bool:
    """The nest touches rows of the others, and what one of them writes by rows alone."""
    if not any(m.moving & one.moving for m in members):
        return False
    chunks = {m.chunk for m in (*members, one) if m.chunk is not None}
    if len(chunks) > 1:
        return False
    for m in members:
        for a, b in ((m, one), (one, m)):
            if a.written & b.still or a.sums & (b.moving | b.still | b.sums):
                return False
    return True


class _Scan:
    """Walks a block, and builds each group when nothing more may join it."""

    def __init__(self, block: Block, target: MachineTarget, threads: int):
        self.block, self.target, self.threads = block, target, threads
        self.group: RowGroup | None = None

    def run(self) -> None:
        for op in list(self.block.ops):
            if not isinstance(op, _TRANSPARENT):
                self._next(op)
        self._finish()

    def _next(self, op: Operation) -> None:
        group = self.group
        if group is not None and isinstance(op, NestOp) and (splits := group.splits_with(op)):
            group.splits = splits
        elif group is None or not self._may_stand_between(op, group):
            self._finish()
            self._start(op)
        elif any(_conflict(op, other) for other in (*group.ops, *group.behind)):
            group.behind.append(op)
        elif group.behind:
            group.ahead.append(op)

    def _start(self, op: Operation) -> None:
        if isinstance(op, NestOp):
            splits = {one.rows: [one] for one in find_row_splits(op)}
            self.group = RowGroup(splits) if splits else None

    def _may_stand_between(self, op: Operation, group: RowGroup) -> bool:
        """The op is a small nest: hardly any byte lives longer for it."""
        if not isinstance(op, LoopOp | ForallOp):
            return False
        most = max(prod(one.extents) for one in group.ops)
        return SMALL * max(prod(op.extents), *map(_elements, op.outputs)) <= most

    def _finish(self) -> None:
        group, self.group = self.group, None
        if group is None or len(group.ops) < 2:
            return
        rows = max(group.splits)
        members = group.splits[rows]
        size = _block_rows(members, rows, self.target, self.threads)
        if size is not None and _shared_bytes(members) >= LEAST_SHARED_BYTES:
            build_rows(members, rows, size, group.behind, group.ahead)


def _elements(value: SSAValue) -> int:
    return prod(shape_of(value.type))


def bytes_of(value: SSAValue) -> int:
    return _elements(value) * byte_size(element_of(value.type))


def _roots(members: Iterable[NestRows]) -> Iterator[SSAValue]:
    """The buffers that move, once for each nest."""
    for one in members:
        yield from one.moving


def _shared_bytes(members: list[NestRows]) -> int:
    """The bytes of buffers that several nests touch row by row."""
    counts: dict[SSAValue, int] = {}
    for root in _roots(members):
        counts[root] = counts.get(root, 0) + 1
    return sum(bytes_of(root) for root, count in counts.items() if count > 1)


def _block_rows(
    members: list[NestRows], rows: int, target: MachineTarget, threads: int
) -> int | None:
    """The rows of a block: as many as the cache holds well, but blocks for all threads."""
    row = sum(bytes_of(root) // rows for root in dict.fromkeys(_roots(members)))
    longest = max(one.row_iterations for one in members)
    chunk = next((one.chunk for one in members if one.chunk is not None), rows)
    if row > target.l2_bytes // 2 or (chunk < rows and rows // chunk < threads):
        return None
    fold = lcm(*(one.fold for one in members))
    # a reduction inside of a row is one piece, as it is over all rows
    most = min(
        max(BLOCK_BYTES // row, fold),
        (4 * CHUNK_ELEMENTS - 1) // longest,
        max(rows // (BLOCKS_PER_THREAD * threads), 1),
        rows - 1,
    )
    whole = gcd(rows, chunk)
    size = max((s for s in range(fold, most + 1, fold) if whole % s == 0), default=0)
    if size <= most // 2 and most > LANES and _may_repeat(members):
        size = most // LANES * LANES
    return size if size and size * row >= LEAST_BLOCK_BYTES else None


def _may_repeat(members: list[NestRows]) -> bool:
    """Rows computed again are the same: nests read what others left only after all that write it.

    A block of its own is written first, as nothing is in it.
    """
    ops = [one.op for one in members]
    for root in {root for one in members for root in one.written}:
        writers = [k for k, one in enumerate(members) if root in one.written]
        readers = [k for k, op in enumerate(ops) if root in map(root_of, op.inputs)]
        is_first = min(readers, default=len(ops)) > writers[-1]
        if any(root in one.sums for one in members) or not (is_first or is_local(root, ops)):
            return False
    return True


def _conflict(one: Operation, other: Operation) -> bool:
    """Whether one of two ops writes a buffer that the other touches."""
    ours, theirs = _touched(one), _touched(other)
    return bool(ours[1] & (theirs[0] | theirs[1]) or theirs[1] & ours[0])


def _touched(op: Operation) -> tuple[set[SSAValue], set[SSAValue]]:
    """The roots of the buffers that a nest or a program reads, and that it writes."""
    assert isinstance(op, LoopOp | ForallOp)
    written = set(map(root_of, op.outputs))
    return {*map(root_of, op.inputs)} | written, written
