"""Scalar programs to LLVM text: `emit_forall` makes the function of one `loopnest.forall`.

Control flow becomes blocks and phis. A `loopnest.lanes` is written twice, for whole vectors and
for what is left under a mask; in it a value either varies from lane to lane and is a vector, or is
a scalar. Loads and stores whose address moves one element a lane are vector loads and stores.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from math import prod
from typing import cast

from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import Block, Operation, SSAValue

from gradir.codegen.bodies.emitter import BodyEmitter, LlvmValue, Surroundings, element_kind
from gradir.codegen.nests.space import vector_lanes
from gradir.codegen.programs.cost import program_cost, program_costs
from gradir.codegen.text.control_flow import ControlFlow
from gradir.codegen.text.functions import FunctionText
from gradir.codegen.text.instructions import Needs, kind_of, llvm_type
from gradir.codegen.text.kernel import Kernel, KernelPhase
from gradir.codegen.text.memory import memory_kind
from gradir.codegen.text.polls import LEAVE, SHORT, TRIP_COST, Polls
from gradir.codegen.text.target import MachineTarget
from gradir.dialects.base.diagnostics import LocatedError
from gradir.dialects.loopnest.body_ops import LanesOp, LoadOp, ShapedType, StoreOp
from gradir.dialects.loopnest.forall import ForallOp, program_ops


def emit_forall(op: ForallOp, name: str, target: MachineTarget) -> Kernel:
    """The function of a program on row-major contiguous buffers, called `name.0`."""
    needs = Needs()
    writer = _Writer(op, target, needs)
    symbol = f"{name}.0"
    text = writer.function(f"@{symbol}")
    items = prod(op.extents)
    return Kernel(
        text,
        (KernelPhase(symbol, items, items * program_cost(op)),),
        frozenset(needs.functions),
        frozenset(needs.declarations),
        tuple(needs.messages),
        writer.polls.leaves,
    )


class _Writer:
    """Writes one program; `lanes` and `mask` are those of the loopnest.lanes around, if any."""

    def __init__(self, op: ForallOp, target: MachineTarget, needs: Needs):
        self.op = op
        self.target = target
        self.f = FunctionText()
        self.names: dict[SSAValue, str] = {}
        self.indices: dict[int, str] = {}
        self.needs = needs
        self.scalar = BodyEmitter(self.f, 1, needs)
        self.memory = self.scalar.memory
        self.vector = self.scalar
        self.lanes = 1
        self.mask: str | None = None
        self.index: SSAValue | None = None
        self.varying: set[SSAValue] = set()
        self.polls = Polls(self.f, program_costs(op))
        self.flow = ControlFlow(
            *(self.f, self.names, self.block, self.type_of, self.passed),
            chunk_of=self.polls.chunk,
            at_back_edge=self.polls.back_edge,
        )

    def function(self, symbol: str) -> str:
        """The definition of the function."""
        arguments = self.op.body.block.args
        inputs = len(self.op.inputs)
        names = [f"%in{k}" if k < inputs else f"%out{k - inputs}" for k in range(len(arguments))]
        self.names.update(zip(arguments, names, strict=True))
        with self.f.loop("%begin", "%end", hint="item") as item:
            self.indices = dict(enumerate(self._decode(item)))
            self.scalar.surroundings = Surroundings(self.indices)
            self.block(self.op.body.block)
            self.spend_item()
        pointers = [f"ptr noalias {name}" for name in names]
        rest = ["ptr noalias %scratch", "ptr noalias %error", "i64 %begin", "i64 %end"]
        ways_out: list[str] = []
        if self.polls.leaves:
            rest.insert(2, "ptr %table")
            ways_out = [f"{LEAVE}:", "  ret void"]
        head = f"define void {symbol}({', '.join([*pointers, *rest])}) {self.target.attributes} {{"
        body = ["entry:", *self.polls.prologue, self.f.text(), "  ret void", *ways_out]
        return "\n".join([head, *body, "}", ""])

    def spend_item(self) -> None:
        """A poll, if one is due, after an item of a program that takes long."""
        costs, block = self.polls.costs, self.op.body.block
        cost = costs.block(block)
        if costs.has_long_loop(block) or prod(self.op.extents) * cost > SHORT:
            self.polls.spend(TRIP_COST + cost)

    def _decode(self, item: str) -> list[str]:
        """The outer indices of an item, the last changing fastest."""
        indices: list[str] = []
        extents = self.op.extents
        for position, extent in reversed(list(enumerate(extents))):
            if extent == 1 or prod(extents[:position]) == 1:
                indices.append("0" if extent == 1 else item)
                continue
            indices.append(self.f.emit(f"urem i64 {item}, {extent}"))
            item = self.f.emit(f"udiv i64 {item}, {extent}")
        return indices[::-1]

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
            emitter = self.vector if self.varies(op.results[0]) else self.scalar
            values = [LlvmValue(self.lane_value(v), self.lanes_of(v)) for v in op.operands]
            self.names[op.results[0]] = emitter.apply(op, values).name

    def varies(self, value: SSAValue) -> bool:
        return value in self.varying

    def lanes_of(self, value: SSAValue) -> int:
        return self.lanes if self.varies(value) else 1

    def type_of(self, value: SSAValue) -> str:
        return llvm_type(kind_of(value.type), self.lanes_of(value))

    def lane_value(self, value: SSAValue) -> str:
        """The name of a value; the index of a loopnest.lanes, whose name is the first lane's."""
        if value is self.index:
            return self.memory.lane_numbers(self.lanes, self.names[value])
        return self.names[value]

    def passed(self, value: SSAValue, target: SSAValue) -> str:
        """A value as a vector if the argument or result that it becomes is one."""
        name = self.lane_value(value)
        if self.varies(target) and not self.varies(value):
            return self.memory.splat(kind_of(value.type), self.lanes, name)
        return name

    # Lanes.

    def lanes_loop(self, op: LanesOp) -> None:
        """Whole vectors, then one of the lanes that are left."""
        self.varying = _varying(op)
        self.index = op.body.block.args[0]
        self.lanes = _lane_count(op, self.varying, self.target)
        low, high = self.names[op.lower], self.names[op.upper]
        main = self._whole_end(op, low, high)
        if main != low:
            with self.f.loop(low, main, self.lanes) as index:
                self.vectors(op, index, None)
        if main != high:
            self.rest(op, main, high)
        self.varying, self.index, self.lanes, self.mask = set(), None, 1, None

    def rest(self, op: LanesOp, first: str, end: str) -> None:
        """The lanes that are left, under a mask."""
        with ExitStack() as stack:
            if _constant_count(op) is None:
                some = self.f.emit(f"icmp slt i64 {first}, {end}")
                stack.enter_context(self.f.when(some, "rest"))
            left = self.f.emit(f"sub nsw i64 {end}, {first}")
            self.vectors(op, first, self.memory.first_lanes(self.lanes, left))

    def _whole_end(self, op: LanesOp, low: str, high: str) -> str:
        """Where the last whole vector ends: `high` or `low` itself where that is known."""
        count = _constant_count(op)
        if count is not None:
            if count <= 0 or count % self.lanes == 0:
                return high
            return self.add(low, str(count - count % self.lanes))
        size = self.f.emit(f"sub nsw i64 {high}, {low}")
        positive = self.memory.intrinsic("smax", "i64", 1, size, "0")
        whole = self.f.emit(f"and i64 {positive}, {-self.lanes}")
        return self.add(low, whole)

    def vectors(self, op: LanesOp, first: str, mask: str | None) -> None:
        """The body for the lanes that start at `first`."""
        assert self.index is not None
        self.names[self.index] = first
        self.mask = mask
        self.vector = BodyEmitter(
            self.f, self.lanes, self.needs, Surroundings(self.indices, None, mask)
        )
        self.block(op.body.block)

    # Memory.

    def load(self, op: LoadOp) -> str:
        kind = element_kind(cast(ShapedType, op.source.type))
        pointer = self.names[op.source]
        steps = _steps(op.source)
        if not self.varies(op.result):
            offset = self.offset(op.indices, steps)
            return self.memory.load(kind, 1, self.address(kind, pointer, offset))
        stride = self.stride(op.indices, steps)
        if stride is not None:
            address = self.address(kind, pointer, self.offset(op.indices, steps))
            return self.memory.load_strided(kind, self.lanes, address, stride, self.mask)
        offsets = self.lane_offsets(op.indices, steps)
        return self.memory.gather(kind, self.lanes, pointer, offsets, self.mask)

    def store(self, op: StoreOp) -> None:
        kind = element_kind(cast(ShapedType, op.target.type))
        pointer, value = self.names[op.target], self.lane_value(op.value)
        steps = _steps(op.target)
        if self.lanes > 1 and not self.varies(op.value):
            value = self.memory.splat(kind, self.lanes, value)
        stride = self.stride(op.indices, steps)
        if self.lanes > 1 and stride == 0:
            raise LocatedError(
                f"{op.name}: lanes must write to different elements, got one for all", op
            )
        if self.lanes > 1 and stride is None:
            offsets = self.lane_offsets(op.indices, steps)
            self.memory.scatter(kind, self.lanes, pointer, offsets, value, self.mask)
            return
        address = self.address(kind, pointer, self.offset(op.indices, steps))
        self.memory.store_strided(kind, self.lanes, address, stride or 1, value, self.mask)

    def address(self, kind: str, pointer: str, offset: str) -> str:
        if offset == "0":
            return pointer
        type_ = llvm_type(memory_kind(kind))
        return self.f.emit(f"getelementptr inbounds {type_}, ptr {pointer}, i64 {offset}", "p")

    def offset(self, indices: Sequence[SSAValue], steps: Sequence[int]) -> str:
        """The place of an element, or of the first lane's, in its buffer."""
        total = "0"
        for index, step in zip(indices, steps, strict=True):
            total = self.add(total, self.multiply(self.first_lane(index), step))
        return total

    def add(self, left: str, right: str) -> str:
        if left == "0" or right == "0":
            return right if left == "0" else left
        if _is_number(left) and _is_number(right):
            return str(int(left) + int(right))
        return self.f.emit(f"add nsw i64 {left}, {right}")

    def multiply(self, left: str, step: int) -> str:
        if step == 1 or left == "0":
            return left
        return (
            str(int(left) * step)
            if _is_number(left)
            else self.f.emit(f"mul nsw i64 {left}, {step}")
        )

    def first_lane(self, value: SSAValue) -> str:
        """The scalar that a value is in the first lane, for one that moves by a constant."""
        if value is self.index or not self.varies(value):
            return self.names[value]
        op = value.owner
        assert isinstance(op, Operation)
        operands = [LlvmValue(self.first_lane(v), 1) for v in op.operands]
        return self.scalar.apply(op, operands).name

    def stride(self, indices: Sequence[SSAValue], steps: Sequence[int]) -> int | None:
        """How many elements lie between one lane and the next; None if that is not a constant."""
        moves = [self.moves(index) for index in indices]
        if None in moves:
            return None
        return sum(m * s for m, s in zip(cast(list[int], moves), steps, strict=True))

    def moves(self, index: SSAValue) -> int | None:
        """By how much an index grows from lane to lane."""
        if not self.varies(index):
            return 0
        if index is self.index:
            return 1
        op = index.owner
        if not isinstance(op, arith.AddiOp | arith.SubiOp):
            return None
        left, right = self.moves(op.lhs), self.moves(op.rhs)
        if left is None or right is None:
            return None
        return left + right if isinstance(op, arith.AddiOp) else left - right

    def lane_offsets(self, indices: Sequence[SSAValue], steps: Sequence[int]) -> str:
        """The places of all lanes' elements, a vector with its type."""
        total = self.memory.splat("i64", self.lanes, "0")
        for index, step in zip(indices, steps, strict=True):
            if self.varies(index):
                place = self.lane_value(index)
            else:
                place = self.memory.splat("i64", self.lanes, self.names[index])
            if step != 1:
                factor = self.memory.number("i64", self.lanes, step)
                place = self.memory.binary("mul", "i64", self.lanes, place, factor)
            total = self.memory.binary("add", "i64", self.lanes, total, place)
        return f"{llvm_type('i64', self.lanes)} {total}"


def _varying(op: LanesOp) -> set[SSAValue]:
    """The values in a loopnest.lanes that differ from lane to lane."""
    varying: set[SSAValue] = {op.body.block.args[0]}
    count = 0
    while len(varying) > count:
        count = len(varying)
        for inner in program_ops(op.body.block):
            _spread(inner, varying)
    return varying


def _spread(op: Operation, varying: set[SSAValue]) -> None:
    """Add what of `op` varies, given what is known to."""
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
    elif isinstance(op, scf.WhileOp | LanesOp):
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
        return high - low
    end = op.upper.owner
    if isinstance(end, arith.AddiOp) and end.lhs is op.lower:
        return _constant(end.rhs)
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


def _is_number(text: str) -> bool:
    return text.lstrip("-").isdigit()
