"""The body of a loop op in LLVM text, for one iteration or for a vector of them.

    emitter = BodyEmitter(FunctionWriter(), lanes=16)
    values = emitter.emit(op.body.block, ["%acc", "%x"])          # of <16 x T> each
    names = [emitter.vector(v, kind) for v, kind in ...]

Values that are the same in all lanes (`LlvmValue(name, 1)`) are computed once, as scalars, and
splat where a vector meets them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import cast

from xdsl.dialects import arith
from xdsl.ir import Block, Operation, SSAValue

from gradir.codegen.bodies.op_table import OPS, VECTOR_MATH, op_cost
from gradir.codegen.text.errors import report_error
from gradir.codegen.text.kinds import kind_of, llvm_type
from gradir.codegen.text.writer import FunctionWriter
from gradir.dialects.base.diagnostics import LocatedError
from gradir.dialects.loopnest.loopnest import (
    CheckIndexOp,
    IndexOp,
    LoadOp,
    ShapedType,
    YieldOp,
    scalar_type,
)


@dataclass(frozen=True)
class LlvmValue:
    """An LLVM value: `lanes` is 1 where all lanes have the same, else the emitter's `lanes`."""

    name: str
    lanes: int


@dataclass
class Surroundings:
    """Where a body stands, for the loopnest ops in it.

    `indices` names the scalar i64 of each iteration dimension; along `vector_dim` lane j stands
    j iterations on. `mask` is the vector of active lanes, None if all are. `error` is the pointer
    to the error record.
    """

    indices: Mapping[int, str] = field(default_factory=dict[int, str])
    vector_dim: int | None = None
    mask: str | None = None
    error: str = "%error"


def required_ops(block: Block, wanted: Iterable[int] | None = None) -> list[Operation]:
    """The ops of a body that the yielded values at these positions (None: all) depend on."""
    terminator = block.last_op
    assert isinstance(terminator, YieldOp)
    operands = terminator.operands
    positions = range(len(operands)) if wanted is None else wanted
    needed: set[SSAValue] = {operands[k] for k in positions}
    ops: list[Operation] = []
    for op in reversed(list(block.ops)):
        if any(result in needed for result in op.results):
            needed.update(op.operands)
            ops.append(op)
    return ops[::-1]


def uniform_values(block: Block, arguments: set[SSAValue], vector_dim: int) -> set[SSAValue]:
    """The values of a body that have `LlvmValue.lanes` 1 if these block arguments have."""
    uniform = set(arguments)
    for op in block.ops:
        varies = type(op) in VECTOR_MATH or (
            isinstance(op, IndexOp) and op.dim.value.data == vector_dim
        )
        if not varies and all(v in uniform for v in op.operands):
            uniform.update(op.results)
    return uniform


def body_cost(ops: Iterable[Operation]) -> float:
    """Roughly the nanoseconds that these ops take for one vector."""
    return sum(map(op_cost, ops))


class BodyEmitter:
    """Emits bodies into one function, always with the same number of lanes."""

    def __init__(
        self,
        f: FunctionWriter,
        lanes: int,
        surroundings: Surroundings | None = None,
    ):
        self.f = f
        self.lanes = lanes
        self.surroundings = surroundings or Surroundings()
        self._values: dict[SSAValue, LlvmValue] = {}
        self._splats: dict[tuple[str, str], str] = {}

    def emit(
        self,
        block: Block,
        arguments: Sequence[str | LlvmValue],
        ops: Sequence[Operation] | None = None,
        mask: str | None = None,
    ) -> list[LlvmValue | None]:
        """Emit `ops` (all by default, else as `required_ops` lists them) for these arguments.

        An argument given as a plain name has all lanes; a buffer is its pointer. Gives the yielded
        values, None where `ops` does not compute it. `mask` replaces the mask of the surroundings.
        """
        if mask is not None:
            self.surroundings.mask = mask
        self._splats = {}
        self._values = {
            argument: v if isinstance(v, LlvmValue) else LlvmValue(v, self.lanes)
            for argument, v in zip(block.args, arguments, strict=True)
        }
        for op in block.ops if ops is None else ops:
            if not isinstance(op, YieldOp):
                self._values[op.results[0]] = self._op(op)
        terminator = block.last_op
        assert isinstance(terminator, YieldOp)
        return [self._values.get(v) for v in terminator.operands]

    def apply(self, op: Operation, operands: Sequence[LlvmValue]) -> LlvmValue:
        """Emit one op on these operands, for a caller that walks the ops itself."""
        self._splats = {}
        self._values = dict(zip(op.operands, operands, strict=True))
        return self._op(op)

    def vector(self, value: LlvmValue, kind: str) -> str:
        """The name of a value in all lanes."""
        if value.lanes == self.lanes:
            return value.name
        key = (value.name, kind)
        if key not in self._splats:
            self._splats[key] = self.f.splat(kind, self.lanes, value.name)
        return self._splats[key]

    def _op(self, op: Operation) -> LlvmValue:
        if isinstance(op, IndexOp):
            return self._index(op)
        if isinstance(op, LoadOp):
            return self._load(op)
        if isinstance(op, CheckIndexOp):
            return self._check_index(op)
        function = OPS.get(type(op))
        if function is None:
            raise LocatedError(f"{op.name}: expected an op that has native code", op)
        values = [self._values[v] for v in op.operands]
        lanes = max((v.lanes for v in values), default=1)
        if type(op) in VECTOR_MATH:
            # one function for all: a scalar one would have to be compiled as well
            lanes = self.lanes
        names = [v.name for v in values] if lanes == 1 else [self._all(v) for v in op.operands]
        return LlvmValue(function(self.f, op, names, lanes), lanes)

    def _all(self, value: SSAValue) -> str:
        return self.vector(self._values[value], kind_of(value.type))

    # loopnest ops.

    def _index(self, op: IndexOp) -> LlvmValue:
        dim = op.dim.value.data
        start = self.surroundings.indices[dim]
        if dim != self.surroundings.vector_dim or self.lanes == 1:
            return LlvmValue(start, 1)
        return LlvmValue(self.f.lane_numbers(self.lanes, start), self.lanes)

    def _load(self, op: LoadOp) -> LlvmValue:
        kind = kind_of(op.results[0].type)
        pointer = self._values[op.source].name
        steps = _row_major_steps(cast(ShapedType, op.source.type).get_shape())
        first = self._first_of_consecutive(op)
        offsets: list[str] = []
        for position, (index, step) in enumerate(zip(op.indices, steps, strict=True)):
            value = self._values[index]
            if first is not None and position == len(steps) - 1:
                value = LlvmValue(first, 1)
            if value.lanes > 1:
                offsets.append(self._scaled(value.name, step, self.lanes))
            else:
                offset = self._scaled(value.name, step, 1)
                pointer = self.f.address(kind, pointer, offset)
        mask = self.surroundings.mask
        if first is not None:
            return LlvmValue(self.f.load(kind, self.lanes, pointer, mask), self.lanes)
        if not offsets:
            return LlvmValue(self.f.load(kind, 1, pointer), 1)
        total = offsets[0]
        for offset in offsets[1:]:
            total = self.f.binary("add", "i64", self.lanes, total, offset)
        typed = f"{llvm_type('i64', self.lanes)} {total}"
        return LlvmValue(self.f.gather(kind, self.lanes, pointer, typed, mask), self.lanes)

    def _first_of_consecutive(self, op: LoadOp) -> str | None:
        """The last index in the first lane, if the lanes read elements that follow each other."""
        if not op.indices or self.lanes == 1:
            return None
        *others, last = op.indices
        if any(self._values[index].lanes > 1 for index in others):
            return None
        return self._counts_lanes(last)

    def _counts_lanes(self, index: SSAValue) -> str | None:
        """Its value in the first lane, if it is the vector dimension, or that and a constant."""
        match index.owner:
            case IndexOp() as op if op.dim.value.data == self.surroundings.vector_dim:
                return self.surroundings.indices[op.dim.value.data]
            case arith.IndexCastOp() as op:
                return self._counts_lanes(op.operands[0])
            case arith.AddiOp() as op:
                for same, counting in ((op.lhs, op.rhs), (op.rhs, op.lhs)):
                    if self._values[same].lanes == 1 and (at := self._counts_lanes(counting)):
                        return self.f.binary("add", "i64", 1, self._values[same].name, at)
                return None
            case _:
                return None

    def _scaled(self, name: str, step: int, lanes: int) -> str:
        if step == 1 or name == "0":
            return name
        factor = self.f.number("i64", lanes, step)
        return self.f.binary("mul", "i64", lanes, name, factor)

    def _check_index(self, op: CheckIndexOp) -> LlvmValue:
        index = self._values[op.index]
        lanes, f = index.lanes, self.f
        bound = op.bound.value.data
        zero, size, last = (f.number("i64", lanes, v) for v in (0, bound, bound - 1))
        wrapped = index.name
        if op.from_start is None:
            negative = f.compare("slt", "i64", lanes, index.name, zero)
            from_end = f.binary("add", "i64", lanes, index.name, size)
            wrapped = f.select("i64", lanes, negative, from_end, index.name)
        wrong = f.compare("uge", "i64", lanes, wrapped, size)
        if lanes > 1 and self.surroundings.mask is not None:
            wrong = f.binary("and", "i1", lanes, wrong, self.surroundings.mask)
        self._report(op, index, wrong)
        above = f.intrinsic("smax", "i64", lanes, wrapped, zero)
        return LlvmValue(f.intrinsic("smin", "i64", lanes, above, last), lanes)

    def _report(self, op: CheckIndexOp, index: LlvmValue, wrong: str) -> None:
        """Report the first lane that is wrong, if one is."""
        f, lanes, bound = self.f, index.lanes, op.bound.value.data
        message, error = op.message.data, self.surroundings.error
        if lanes == 1:
            report_error(f, error, wrong, message, lambda: index.name, bound)
            return
        masks = llvm_type("i1", lanes)
        any_wrong = f.call("i1", f"@llvm.vector.reduce.or.v{lanes}i1", f"{masks} {wrong}")
        first = partial(self._first_lane, index.name, wrong)
        report_error(f, error, any_wrong, message, first, bound)

    def _first_lane(self, vector: str, wrong: str) -> str:
        """The value of the first lane that is wrong."""
        lanes, f = self.lanes, self.f
        bits = f.emit(f"bitcast <{lanes} x i1> {wrong} to i{lanes}")
        lane = f.call(f"i{lanes}", f"@llvm.cttz.i{lanes}", f"i{lanes} {bits}, i1 true")
        return f.emit(f"extractelement <{lanes} x i64> {vector}, i{lanes} {lane}")


def _row_major_steps(shape: Sequence[int]) -> list[int]:
    steps: list[int] = []
    size = 1
    for extent in reversed(shape):
        steps.append(size)
        size *= extent
    return steps[::-1]


def element_kind(type_: ShapedType) -> str:
    """The kind in which a body sees the elements of a tensor or buffer."""
    return kind_of(scalar_type(type_.element_type))
