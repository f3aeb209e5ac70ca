"""Loops of scalar code, a block of iterations at a time.

What the iterations of a block compute independently of each other and takes long (`loop_split`) is
computed for all of them as vectors, one lane an iteration, and waits on the stack for the
iterations, which then run one after the other. While they wait for each other the processor
already works on the vectors of the next block. Lanes have the bits of scalars; so a block changes
none, and the last one may be short: lanes beyond it are neither loaded nor read.

An offset is checked where it was, in its iteration. But a block reads ahead of that. So where not
all of its offsets are inside, it is a block of one iteration.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from xdsl.dialects import memref, scf
from xdsl.ir import Operation, SSAValue

from gradir.codegen.bodies.op_table import OPS
from gradir.codegen.driver.loop_split import Split, split
from gradir.codegen.driver.scalars import ScalarCode
from gradir.codegen.driver.threads import Use
from gradir.codegen.text.kinds import bytes_of, kind_of
from gradir.codegen.text.target import MachineTarget
from gradir.dialects.base.shapes import element_of, shape_of
from gradir.dialects.loopnest.buffer_ops import (
    CheckOffsetOp,
    RecordsAtOp,
    RecordsOp,
    ReserveOp,
    WindowOp,
)
from gradir.dialects.loopnest.host_invoke import HostInvokeOp
from gradir.dialects.loopnest.loopnest import KernelOp, ReshapeOp


class LoopBlocks:
    """Finds the ops that loops can compute ahead: iterations leave those in `ahead` out."""

    def __init__(self, scalars: ScalarCode, target: MachineTarget):
        self.scalars, self.target = scalars, target
        self.ahead: set[Operation] = set()
        # places on the stack for a vector each, that no loop around uses
        self._free: list[str] = []

    def of(self, loop: scf.ForOp) -> LoopBlock | None:
        """How to write the blocks of a loop, None if it has nothing to compute ahead."""
        found = self._split(loop)
        if found is None:
            return None
        kinds = [kind_of(v.type) for op in found.ahead for v in (*op.results, *op.operands)]
        lanes = self.target.vector_bytes // max(4, *map(bytes_of, kinds))
        self.ahead |= found.ahead
        slots = {value: self._take() for value in found.handed}
        return LoopBlock(self.scalars, loop, found, lanes, slots, self._free.extend)

    def _take(self) -> str:
        if self._free:
            return self._free.pop()
        size = self.target.vector_bytes
        with self.scalars.f.early():
            return self.scalars.f.allocate("i8", size, size, "ahead")

    def _split(self, loop: scf.ForOp) -> Split | None:
        writes = set[Use]()
        for op in loop.walk():
            if isinstance(op, KernelOp | HostInvokeOp):
                return None
            if isinstance(op, memref.StoreOp):
                writes.update(self.scalars.place_of(op.memref).use(writes=True))
            elif isinstance(op, ReserveOp):
                writes.update(self.scalars.place_of(op.records).use(writes=True))

        def is_constant(load: memref.LoadOp) -> bool:
            place = self.scalars.place_of(load.memref)
            reads = place.use(writes=False)
            return not place.is_private and not any(r.conflicts(w) for r in reads for w in writes)

        return split(loop, is_constant)


@dataclass
class LoopBlock:
    """Writes the vectors computed ahead for a block of at most `lanes` iterations of a loop."""

    scalars: ScalarCode
    loop: scf.ForOp
    split: Split
    lanes: int
    slots: dict[SSAValue, str]
    give_back: Callable[[list[str]], None]
    # names in the first iteration, of values with steps and of buffers; and names of vectors
    firsts: dict[SSAValue, str] = field(default_factory=dict[SSAValue, str])
    vectors: dict[SSAValue, str] = field(default_factory=dict[SSAValue, str])
    # the offsets that are checked, in the first iteration
    checked: list[tuple[CheckOffsetOp, str]] = field(
        default_factory=list[tuple[CheckOffsetOp, str]]
    )

    def begin(self) -> str:
        """At the start of a block: compute ahead; gives the number of its iterations."""
        ops = (*self.split.first, *self.split.together)
        loads = [op for op in ops if isinstance(op, memref.LoadOp)]
        place_of = self.scalars.place_of
        self.scalars.work.on_all_threads(
            [u for op in loads for u in place_of(op.memref).use(False)]
        )
        for op in self.split.first:
            self._emit_first(op)
        count = self._count()
        self.mask = self.scalars.f.first_lanes(self.lanes, count)
        for op in self.split.together:
            self.vectors[op.results[0]] = self._emit_together(op)
        for value, slot in self.slots.items():
            kind = kind_of(value.type)
            self.scalars.f.store(kind, self.lanes, slot, self.vectors[value])
        return count

    def resume(self, lane: str) -> None:
        """At the start of iteration `lane` of a block: load its values from the stack."""
        f = self.scalars.f
        for value, slot in self.slots.items():
            kind = kind_of(value.type)
            self.scalars.names[value] = f.load(kind, 1, f.address(kind, slot, lane))

    def end(self) -> None:
        """After the loop."""
        self.give_back(list(self.slots.values()))

    # The first iteration.

    def _first(self, value: SSAValue) -> str:
        """A value in the first iteration of the block; a buffer's pointer."""
        name = self.firsts.get(value) or self.scalars.names.get(value)
        return self.scalars.place_of(value).pointer if name is None else name

    def _emit_first(self, op: Operation) -> None:
        f, result = self.scalars.f, op.results[0]
        match op:
            case CheckOffsetOp():
                self.firsts[result] = self._clamp(op)
            case WindowOp():
                self.firsts[result] = self._window(op)
            case ReshapeOp():
                self.firsts[result] = self._first(op.operands[0])
            case memref.LoadOp():
                self.firsts[result] = f.load(kind_of(op.res.type), 1, self._address(op))
            case _:
                names = [self._first(operand) for operand in op.operands]
                self.firsts[result] = OPS[type(op)](f, op, names, 1)

    def _clamp(self, op: CheckOffsetOp) -> str:
        index, f = self._first(op.index), self.scalars.f
        self.checked.append((op, index))
        above = f.intrinsic("smax", "i64", 1, index, "0")
        return f.intrinsic("smin", "i64", 1, above, str(max(op.bound.value.data - 1, 0)))

    def _window(self, op: WindowOp) -> str:
        pointer, kind = self._first(op.source), kind_of(element_of(op.source.type))
        if isinstance(op.source.owner, RecordsOp | RecordsAtOp):
            pointer = self.scalars.f.load("ptr", 1, pointer)
        return self.scalars.f.address(kind, pointer, self._first(op.offset))

    def _address(self, op: memref.LoadOp) -> str:
        """Where the first iteration loads from."""
        kind, f = kind_of(op.res.type), self.scalars.f
        pointer, step = self._first(op.memref), 1
        for index, extent in zip(
            reversed(op.indices), reversed(shape_of(op.memref.type)), strict=True
        ):
            offset = f.binary("mul", "i64", 1, self._first(index), str(step))
            pointer = f.address(kind, pointer, offset)
            step *= extent
        return pointer

    def _count(self) -> str:
        """How many iterations the block has: all that are left, or one if an offset is outside."""
        f = self.scalars.f
        index, upper = (self._first(v) for v in (self.loop.body.block.args[0], self.loop.ub))
        step = self.split.steps[self.loop.body.block.args[0]]
        before = f.binary("sub", "i64", 1, f.binary("sub", "i64", 1, upper, index), "1")
        if step > 1:
            before = f.binary("udiv", "i64", 1, before, str(step))
        last = f.intrinsic("umin", "i64", 1, before, str(self.lanes - 1))
        count = f.binary("add", "i64", 1, last, "1")
        for op, offset in self.checked:
            bound = op.bound.value.data
            way = f.binary("mul", "i64", 1, last, str(self.split.steps[op.result]))
            end = f.binary("add", "i64", 1, offset, way)
            both = [f.emit(f"icmp ult i64 {o}, {bound}") for o in (offset, end)]
            inside = f.binary("and", "i1", 1, *both)
            count = f.select("i64", 1, inside, count, "1")
        return count

    # All iterations.

    def _vector(self, value: SSAValue) -> str:
        if value in self.vectors:
            return self.vectors[value]
        kind, f = kind_of(value.type), self.scalars.f
        first, step = self._first(value), self.split.steps.get(value, 0)
        if step:
            return f.lane_numbers(self.lanes, first, step, kind)
        return f.splat(kind, self.lanes, first)

    def _emit_together(self, op: Operation) -> str:
        f = self.scalars.f
        if not isinstance(op, memref.LoadOp):
            names = [self._vector(operand) for operand in op.operands]
            return OPS[type(op)](f, op, names, self.lanes)
        kind = kind_of(op.res.type)
        stride = self.split.strides[op] // bytes_of(kind)
        return f.load_strided(kind, self.lanes, self._address(op), stride, self.mask)
