"""Scalar programs to LLVM text: `emit_forall` makes the function of one `loopnest.forall`.

Control flow becomes blocks and phis. A `loopnest.lanes` is written twice, for whole vectors and
for the remaining lanes under a mask; in it a value either differs by lane and is a vector, or is a
scalar. Loads and stores whose address moves one element a lane are vector loads and stores.
"""

from __future__ import annotations

from contextlib import ExitStack
from math import prod
from typing import cast

from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import Block, Operation, SSAValue

from gradir.codegen.bodies.emitter import BodyEmitter, LlvmValue, Surroundings, element_kind
from gradir.codegen.costs import FUEL, TRIP_COST
from gradir.codegen.nests.space import vector_lanes
from gradir.codegen.programs.cost import loop_costs, program_cost
from gradir.codegen.programs.values import ProgramValues
from gradir.codegen.text.control_flow import ControlFlow
from gradir.codegen.text.kernel import Kernel, KernelPhase
from gradir.codegen.text.kinds import kind_of
from gradir.codegen.text.polls import LEAVE, Polls
from gradir.codegen.text.target import MachineTarget
from gradir.codegen.text.writer import FunctionWriter
from gradir.dialects.base.diagnostics import LocatedError
from gradir.dialects.base.traced_sizes import is_traced
from gradir.dialects.loopnest.body_ops import LanesOp, LoadOp, ShapedType, StoreOp
from gradir.dialects.loopnest.forall import ForallOp, program_ops
from gradir.passes.analysis.region_ops import is_loop


def emit_forall(op: ForallOp, name: str, target: MachineTarget) -> Kernel:
    """The function of a program on row-major contiguous buffers, called `name.0`."""
    writer = _Writer(op, target)
    symbol = f"{name}.0"
    text = writer.function(symbol)
    items = prod(op.extents)
    phases = (KernelPhase(symbol, items, items * program_cost(op)),)
    return Kernel.of(text, phases, writer.f.needs, writer.polls.leaves)


class _Writer:
    """Writes one program; `mask` is the mask of the loopnest.lanes around, if any."""

    def __init__(self, op: ForallOp, target: MachineTarget):
        self.op = op
        self.target = target
        self.f = FunctionWriter()
        self.indices: dict[int, str] = {}
        self.values = ProgramValues(self.f)
        self.names = self.values.names
        self.scalar = self.vector = self.values.scalar
        self.mask: str | None = None
        self.polls = Polls(self.f, loop_costs(op))
        self.flow = ControlFlow(
            *(self.f, self.names, self.block, self.values.type_of, self.values.passed),
            chunk_of=self.polls.chunk,
            at_back_edge=self.polls.back_edge,
        )

    def function(self, symbol: str) -> str:
        """The definition of the function."""
        arguments = self.op.body.block.args
        inputs = len(self.op.inputs)
        names = [f"%in{k}" if k < inputs else f"%out{k - inputs}" for k in range(len(arguments))]
        self.names.update(zip(arguments, names, strict=True))
        with self.f.items(prod(self.op.extents)) as item:
            self.indices = dict(enumerate(self.f.digits(item, self.op.extents)))
            self.scalar.surroundings = Surroundings(self.indices)
            self.block(self.op.body.block)
            self.spend_item()
        pointers = [f"ptr noalias {name}" for name in names]
        rest = ["ptr noalias %scratch", "ptr noalias %error", "i64 %begin", "i64 %end"]
        self.f.ret()
        if self.polls.leaves:
            rest.insert(2, "ptr %table")
            self.f.label(LEAVE)
            self.f.ret()
        parameters = ", ".join([*pointers, *rest])
        return self.f.define(symbol, parameters, self.target.attributes, linkage="")

    def spend_item(self) -> None:
        """A poll, if one is due, after an item of a program that takes long."""
        costs, block = self.polls.costs, self.op.body.block
        cost = costs.block(block)
        if costs.has_long_loop(block) or prod(self.op.extents) * cost > FUEL:
            self.polls.spend(TRIP_COST + cost)

    # Ops.

    def block(self, block: Block) -> None:
        """Write the ops of a block but the terminator."""
        for op in block.ops:
            if op is not block.last_op:
                self.one(op)

    def one(self, op: Operation) -> None:
        if isinstance(op, LanesOp):
            self.lanes_loop(op)
        elif isinstance(op, LoadOp):
            self.names[op.result] = self.load(op)
        elif isinstance(op, StoreOp):
            self.store(op)
        elif not self.flow.emit(op):
            emitter = self.vector if self.values.varies(op.results[0]) else self.scalar
            values = [
                LlvmValue(self.values.lane_value(v), self.values.lanes_of(v)) for v in op.operands
            ]
            self.names[op.results[0]] = emitter.apply(op, values).name

    # Lanes.

    def lanes_loop(self, op: LanesOp) -> None:
        """Whole vectors, then one of the lanes that are left."""
        self.values.varying = _varying(op)
        self.values.index = op.body.block.args[0]
        self.values.lanes = _lane_count(op, self.values.varying, self.target)
        low, high = self.names[op.lower], self.names[op.upper]
        main = self._whole_end(op, low, high)
        if main != low:
            with self.f.loop(low, main, self.values.lanes) as index:
                self.vectors(op, index, None)
        if main != high:
            self.rest(op, main, high)
        self.values.varying, self.values.index, self.values.lanes, self.mask = set(), None, 1, None

    def rest(self, op: LanesOp, first: str, end: str) -> None:
        """The lanes that are left, under a mask."""
        with ExitStack() as stack:
            if _constant_count(op) is None:
                some = self.f.emit(f"icmp slt i64 {first}, {end}")
                stack.enter_context(self.f.when(some, "rest"))
            left = self.f.emit(f"sub nsw i64 {end}, {first}")
            self.vectors(op, first, self.f.first_lanes(self.values.lanes, left))

    def _whole_end(self, op: LanesOp, low: str, high: str) -> str:
        """Where the last whole vector ends: `high` or `low` itself where that is known."""
        count = _constant_count(op)
        if count is not None:
            if count <= 0 or count % self.values.lanes == 0:
                return high
            return self.f.add(low, str(count - count % self.values.lanes))
        size = self.f.emit(f"sub nsw i64 {high}, {low}")
        positive = self.f.intrinsic("smax", "i64", 1, size, "0")
        whole = self.f.emit(f"and i64 {positive}, {-self.values.lanes}")
        return self.f.add(low, whole)

    def vectors(self, op: LanesOp, first: str, mask: str | None) -> None:
        """The body for the lanes that start at `first`."""
        assert self.values.index is not None
        self.names[self.values.index] = first
        self.mask = mask
        surroundings = Surroundings(self.indices, None, mask)
        self.vector = BodyEmitter(self.f, self.values.lanes, surroundings)
        self.block(op.body.block)

    # Memory.

    def load(self, op: LoadOp) -> str:
        values, lanes = self.values, self.values.lanes
        kind = element_kind(cast(ShapedType, op.source.type))
        pointer = self.names[op.source]
        steps = _steps(op.source)
        if not values.varies(op.result):
            offset = values.offset(op.indices, steps)
            return self.f.load(kind, 1, self.f.element(kind, pointer, offset))
        stride = values.stride(op.indices, steps)
        if stride is not None:
            address = self.f.element(kind, pointer, values.offset(op.indices, steps))
            return self.f.load_strided(kind, lanes, address, stride, self.mask)
        offsets = values.lane_offsets(op.indices, steps)
        return self.f.gather(kind, lanes, pointer, offsets, self.mask)

    def store(self, op: StoreOp) -> None:
        values, lanes = self.values, self.values.lanes
        kind = element_kind(cast(ShapedType, op.target.type))
        pointer, value = self.names[op.target], values.lane_value(op.value)
        steps = _steps(op.target)
        if lanes > 1 and not values.varies(op.value):
            value = self.f.splat(kind, lanes, value)
        stride = values.stride(op.indices, steps)
        if lanes > 1 and stride == 0:
            raise LocatedError(
                f"{op.name}: lanes must write to different elements, got one for all", op
            )
        if lanes > 1 and stride is None:
            offsets = values.lane_offsets(op.indices, steps)
            self.f.scatter(kind, lanes, pointer, offsets, value, self.mask)
            return
        address = self.f.element(kind, pointer, values.offset(op.indices, steps))
        self.f.store_strided(kind, lanes, address, stride or 1, value, self.mask)


def _varying(op: LanesOp) -> set[SSAValue]:
    """The values in a loopnest.lanes that differ from lane to lane."""
    varying: set[SSAValue] = {op.body.block.args[0]}
    count = 0
    while len(varying) > count:
        count = len(varying)
        for inner in program_ops(op.body.block):
            _mark_varying(inner, varying)
    return varying


def _mark_varying(op: Operation, varying: set[SSAValue]) -> None:
    """Mark results of `op`, and arguments of its loop, that differ by lane because operands do."""
    if isinstance(op, scf.ForOp):
        if any(v in varying for v in (op.lb, op.ub, op.step)):
            raise LocatedError(f"{op.name}: bounds must be the same in all lanes", op)
        ends = cast(Operation, op.body.block.last_op).operands
        rows = zip(op.iter_args, op.body.block.args[1:], ends, op.res, strict=True)
        for start, argument, end, result in rows:
            if start in varying or end in varying:
                varying.update((argument, result))
    elif isinstance(op, scf.IfOp):
        if op.cond in varying:
            raise LocatedError(f"{op.name}: the condition must be the same in all lanes", op)
        for block in (b for r in op.regions for b in r.blocks):
            ends = cast(Operation, block.last_op).operands
            varying.update(r for e, r in zip(ends, op.output, strict=True) if e in varying)
    elif is_loop(op) or isinstance(op, LanesOp):
        raise LocatedError(f"{op.name}: not possible inside loopnest.lanes", op)
    elif not varying.isdisjoint(op.operands):
        varying.update(op.results)


def _lane_count(op: LanesOp, varying: set[SSAValue], target: MachineTarget) -> int:
    """As many lanes as the widest value has that is not only a place in memory."""
    kinds: list[str] = []
    for inner in program_ops(op.body.block):
        if isinstance(inner, LoadOp | StoreOp):
            shaped = inner.source if isinstance(inner, LoadOp) else inner.target
            if any(v in varying for v in inner.indices):
                kinds.append(element_kind(cast(ShapedType, shaped.type)))
        kinds += [kind_of(r.type) for r in inner.results if r in varying and _is_data(r)]
    return vector_lanes(kinds, True, target)


def _is_data(value: SSAValue) -> bool:
    """The value is more than a place to load from or to store to."""
    if not isinstance(value.owner, _PLACE_OPS):
        return True
    for use in value.uses:
        user = use.operation
        places = user.indices if isinstance(user, LoadOp | StoreOp) else ()
        if use.index < len(user.operands) - len(places) or not places:
            return True
    return False


# What places are computed with.
_PLACE_OPS = (arith.AddiOp, arith.SubiOp, arith.ExtSIOp, arith.ExtUIOp, arith.IndexCastOp)


def _constant_count(op: LanesOp) -> int | None:
    """The number of iterations of a loopnest.lanes, where it is the same each time."""
    low, high = _constant(op.lower), _constant(op.upper)
    if low is not None and high is not None:
        return None if is_traced(high - low) else high - low
    end = op.upper.owner
    if isinstance(end, arith.AddiOp) and end.lhs is op.lower:
        count = _constant(end.rhs)
        return None if is_traced(count) else count
    return None


def _constant(value: SSAValue) -> int | None:
    op = value.owner
    if isinstance(op, arith.ConstantOp) and isinstance(op.value, IntegerAttr):
        return op.value.value.data
    return None


def _steps(buffer: SSAValue) -> list[int]:
    """How far apart neighbours are along each dimension of a row-major buffer."""
    shape = cast(ShapedType, buffer.type).get_shape()
    return [prod(shape[k + 1 :]) for k in range(len(shape))]
