"""gradir-plan-memory: one arena for all buffers of a function, with offsets from live ranges.

Each `memref.alloc` becomes a view of the new first argument `%arena`. Buffers that are alive at
the same time do not overlap; the largest are placed first, each at the lowest offset where it fits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
from xdsl.context import Context
from xdsl.dialects import arith, memref
from xdsl.dialects.builtin import IndexType, IntegerAttr, ModuleOp, i8, i64
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.passes import ModulePass

from gradir.dialects.base.diagnostics import PassError
from gradir.dialects.base.shapes import byte_size, element_of, is_tensor, memref_type, shape_of
from gradir.dialects.base.traced_sizes import int_of, is_traced, of_sizes
from gradir.dialects.loopnest.buffer_ops import WindowOp
from gradir.dialects.loopnest.loopnest import ViewOp
from gradir.passes.analysis.edits import insert_before, replace_results
from gradir.passes.analysis.liveness import Liveness, interval
from gradir.passes.buffers.timeline import schedule_text, timeline_svg

_INDEX = IndexType()

# Of every offset: a cache line, and the widest vector.
ALIGNMENT = 64


@dataclass(frozen=True)
class PlannedBuffer:
    """A buffer in the arena: bytes [offset, offset + size) while ops first ... last run."""

    name: str
    size: int
    offset: int
    first: int
    last: int


MOST_BYTES = 2**63 - 1
"""Offsets into an arena are numbers of i64."""


@dataclass(frozen=True, repr=False)
class MemoryPlan:
    """Where each buffer of a function lives. `peak_bytes` is the size of the arena."""

    buffers: tuple[PlannedBuffer, ...]
    peak_bytes: int

    def svg(self, top: int = 0) -> str:
        """The plan as a picture: time to the right, the arena upward.

        `top` is the number of bytes that fill the height, for pictures that are compared.
        """
        return timeline_svg(self, top)

    def _repr_html_(self) -> str:
        return self.svg()

    def __repr__(self) -> str:
        return f"<gradir memory plan: {len(self.buffers)} buffers, {self.peak_bytes} bytes>"

    def schedule(self) -> str:
        """What is stored, recomputed and freed at which step, and the bytes alive then, as text."""
        return schedule_text(self)


def plan_memory(module: ModuleOp) -> dict[str, MemoryPlan]:
    """Needs: static allocs. Leaves: no alloc; returns the plans."""
    functions = [op for op in module.ops if isinstance(op, FuncOp) and not op.is_declaration]
    return {f.sym_name.data: _plan_function(f) for f in functions}


def _plan_function(function: FuncOp) -> MemoryPlan:
    _check_buffers(function)
    block = function.body.block
    ranges = _live_ranges(block)
    plan = assign_offsets(ranges)
    if plan.peak_bytes > MOST_BYTES:
        raise PassError(
            f"@{function.sym_name.data}: needs {plan.peak_bytes} bytes, more than can be "
            "addressed; give loops a policy (grad.loop), or a memory_limit",
            function,
        )
    arena_type = memref_type([plan.peak_bytes], i8)
    arena = block.insert_arg(arena_type, 0)
    arena.name_hint = "arena"
    offsets = {b.name: b.offset for b in plan.buffers}
    for alloc, (name, _, _, _) in zip(_allocs(block), ranges, strict=True):
        _replace_alloc(alloc, arena, offsets[name])
    function.function_type = function.function_type.from_lists([a.type for a in block.args], [])
    function.attributes["gradir.arena"] = IntegerAttr(plan.peak_bytes, i64)
    return plan


def _check_buffers(function: FuncOp) -> None:
    """PassError for a function that is planned already, or not on buffers."""
    name = function.sym_name.data
    if "gradir.arena" in function.attributes:
        raise PassError(f"@{name}: has its arena already; run gradir-plan-memory once", function)
    if function.body.first_block is not function.body.last_block:
        raise PassError(f"@{name}: native code needs one block, got several", function)
    check_on_buffers(function, "gradir-plan-memory")


def check_on_buffers(function: FuncOp, needed_by: str) -> None:
    """PassError if a tensor is left in a function."""
    for op in function.walk():
        for value in (*op.results, *(a for r in op.regions for b in r.blocks for a in b.args)):
            if is_tensor(value.type):
                raise PassError(
                    f"{op.name}: {needed_by} needs buffers, got {value.type}; "
                    "run gradir-bufferize first",
                    op,
                )
    if function.function_type.outputs.data:
        raise PassError(
            f"@{function.sym_name.data}: {needed_by} needs a function that writes its results to "
            "buffers; run gradir-bufferize first",
            function,
        )


def _allocs(block: Block) -> list[memref.AllocOp]:
    """The allocs of a block and of the regions in it, in program order."""
    return [op for op in block.walk() if isinstance(op, memref.AllocOp)]


def _replace_alloc(alloc: memref.AllocOp, arena: SSAValue, offset: int) -> None:
    # not IRDL's constructors, which take longer than all else here
    number = IntegerAttr(offset, _INDEX)
    at = arith.ConstantOp.create(result_types=[_INDEX], properties={"value": number})
    view = memref.ViewOp.create(operands=[arena, at.result], result_types=[alloc.memref.type])
    for op in (at, view):
        insert_before(op, alloc)
    replace_results(alloc, view.results)


Range = tuple[str, int, int, int]


def _live_ranges(block: Block) -> list[Range]:
    """(name, bytes, first position, last position) of each alloc, in program order.

    A buffer of a loop's body is placed once, and lives within an iteration; one from outside of
    the loop that is used in it lives through all of it. Branches may share memory.
    """
    live = Liveness(block)
    ranges: list[Range] = []
    for op in _allocs(block):
        uses = [interval(live, user, op.parent) for user in _users(op.memref)]
        hint = op.memref.name_hint or "buffer"
        first = min((low for low, _ in uses), default=live.first(op))
        last = max((high for _, high in uses), default=first)
        ranges.append((f"{len(ranges)}:{hint}", _bytes(op.memref.type), first, last))
    return ranges


def _users(buffer: SSAValue) -> list[Operation]:
    """The ops that read or write a buffer, also through reshapes and windows."""
    users: list[Operation] = []
    pending = [buffer]
    while pending:
        for use in pending.pop().uses:
            if isinstance(use.operation, ViewOp | WindowOp):
                pending.append(use.operation.result)
            else:
                users.append(use.operation)
    return users


def _bytes(type_: Attribute) -> int:
    return byte_size(element_of(type_)) * prod(shape_of(type_))


def assign_offsets(ranges: list[Range]) -> MemoryPlan:
    """Offsets for live ranges: by size, the lowest that no overlapping range occupies."""
    sizes = [size for _, size, _, _ in ranges]
    lives = [(first, last) for _, _, first, last in ranges]
    place = _place_in_slots if any(map(is_traced, sizes)) else _place
    *offsets, peak = place(sizes, lives)
    placed = [
        PlannedBuffer(name, size, offset, first, last)
        for (name, size, first, last), offset in zip(ranges, offsets, strict=True)
    ]
    return MemoryPlan(tuple(sorted(placed, key=lambda b: b.first)), peak)


def _place(sizes: Sequence[int], lives: Sequence[tuple[int, int]]) -> tuple[int, ...]:
    """The offsets of buffers with these sizes and lives, the largest placed first; and the peak."""
    offsets = [0] * len(sizes)
    # the placed ranges, sorted by offset: offset, aligned end, first and last position
    taken: np.ndarray[Any, np.dtype[Any]] = np.zeros((4, 0), _offset_type(sizes))
    for k in sorted(range(len(sizes)), key=lambda k: (-sizes[k], lives[k][0])):
        size, (first, last) = sizes[k], lives[k]
        starts, ends, *_ = taken[:, (taken[2] <= last) & (first <= taken[3])]
        # before each neighbour, and behind all: the end of those below
        gaps = np.concatenate(([0], np.maximum.accumulate(ends)))
        fits = gaps[:-1] + size <= starts
        offset = offsets[k] = int(gaps[np.argmax(fits)] if fits.any() else gaps[-1])
        if size:
            at = int(np.searchsorted(taken[0], offset))
            row = [offset, _aligned(offset + size), first, last]
            taken = np.insert(taken, at, row, axis=1)
    peak = max((o + size for o, size in zip(offsets, sizes, strict=True)), default=0)
    return (*offsets, peak)


def _place_in_slots(sizes: Sequence[int], lives: Sequence[tuple[int, int]]) -> tuple[int, ...]:
    """The offsets of buffers whose sizes are values, and the peak.

    A slot has buffers that never live at the same time, and is as large as the largest: so the
    sizes of a call do not decide which buffers share memory.
    """
    slots: list[list[int]] = []
    for k in sorted(range(len(sizes)), key=lambda k: (-int_of(sizes[k]), lives[k][0])):
        first, last = lives[k]
        alone = (s for s in slots if all(lives[o][1] < first or last < lives[o][0] for o in s))
        slot = next(alone, None)
        if slot is None:
            slot = list[int]()
            slots.append(slot)
        slot.append(k)
    offsets, end = [0] * len(sizes), 0
    for slot in slots:
        for k in slot:
            offsets[k] = end
        end += _aligned(_largest(*(sizes[k] for k in slot)))
    return (*offsets, end)


@of_sizes
def _largest(*sizes: int) -> int:
    return max(sizes)


def _offset_type(sizes: Sequence[int]) -> np.dtype[Any]:
    """The type of numbers that hold every offset: Python's where 64 bits might not do."""
    total = sum(size + ALIGNMENT for size in sizes)
    return np.dtype(np.int64 if 2 * total < MOST_BYTES else object)


def _aligned(offset: int) -> int:
    return -(-offset // ALIGNMENT) * ALIGNMENT


@dataclass(frozen=True)
class PlanMemoryPass(ModulePass):
    """Place all buffers of a function in one arena."""

    name = "gradir-plan-memory"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        plan_memory(op)
