"""Which passes compute a nest, and what scratch they need: from the op alone, before any text.

- Outputs that reduce the same dimensions share a pass. A reduction that has to be split writes
  partial results to scratch, and a second pass combines them in order.
- Scattered outputs, and reductions whose access is not a choice of dimensions, have a pass each
  that combines into memory; where the accumulator is wider than the output, into scratch.
- Outputs without a combiner are written by the last pass that computes the body: further passes
  compute it again, and an output may share the buffer of an input that is read at the same place.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from math import prod
from typing import cast

from xdsl.ir import Block, Operation, SSAValue

from gradir.codegen.bodies.emitter import (
    BodyEmitter,
    LlvmValue,
    Surroundings,
    body_cost,
    element_kind,
    required_ops,
    uniform_values,
)
from gradir.codegen.bodies.op_table import VECTOR_MATH
from gradir.codegen.costs import MATH_INSTRUCTIONS
from gradir.codegen.nests.space import (
    Guard,
    Linear,
    LinearRead,
    LinearWrite,
    Pass,
    ReductionChunk,
    choose_chunk,
    choose_folds,
    chunk_folds,
    interleave,
    narrow_lanes,
    normalize,
    vector_lanes,
)
from gradir.codegen.text.kinds import (
    attribute_literal,
    bytes_of,
    combiner_of,
    identity,
    is_float,
    kind_of,
    literal,
)
from gradir.codegen.text.target import MachineTarget
from gradir.codegen.text.writer import FunctionWriter
from gradir.dialects.base.access import Access
from gradir.dialects.base.shapes import is_unsigned
from gradir.dialects.loopnest.loopnest import IndexOp, NestOp, ShapedType

SCRATCH_ALIGNMENT = 64


@dataclass(frozen=True)
class BlockBody:
    """The ops of a nest's body that the outputs of one pass need."""

    block: Block
    ops: tuple[Operation, ...]

    @property
    def cost(self) -> float:
        return body_cost(self.ops)

    @property
    def size(self) -> int:
        return sum(MATH_INSTRUCTIONS if type(op) in VECTOR_MATH else 1 for op in self.ops)

    @property
    def index_dims(self) -> frozenset[int]:
        return frozenset(op.dim.value.data for op in self.ops if isinstance(op, IndexOp))

    def emit(
        self,
        f: FunctionWriter,
        lanes: int,
        surroundings: Surroundings,
        arguments: Sequence[LlvmValue],
    ) -> list[LlvmValue | None]:
        emitter = BodyEmitter(f, lanes, surroundings)
        return emitter.emit(self.block, arguments, self.ops)


@dataclass(frozen=True)
class CopyBody:
    """Gives the read element, or a literal."""

    literal: str | None = None
    cost: float = 0.0
    size: int = 0
    index_dims: frozenset[int] = frozenset()

    def emit(
        self,
        f: FunctionWriter,
        lanes: int,
        surroundings: Surroundings,
        arguments: Sequence[LlvmValue],
    ) -> list[LlvmValue | None]:
        return list(arguments) if self.literal is None else [LlvmValue(self.literal, 1)]


@dataclass
class NestPlan:
    """The passes in order, normalized, and the bytes of scratch they share."""

    passes: list[Pass] = field(default_factory=list[Pass])
    scratch_bytes: int = 0

    def allocate(self, elements: int, kind: str) -> str:
        """The pointer of a new part of scratch; its name gives the offset."""
        offset = self.scratch_bytes
        size = elements * bytes_of(kind)
        self.scratch_bytes += -(-size // SCRATCH_ALIGNMENT) * SCRATCH_ALIGNMENT
        return f"%scratch.{offset}"


def plan_nest(op: NestOp, target: MachineTarget) -> NestPlan:
    """The passes of a nest at buffer level or tensor level."""
    return NestPlanner(op, target).plan()


class NestPlanner:
    """Plans one nest."""

    def __init__(self, op: NestOp, target: MachineTarget):
        self.op = op
        self.target = target
        self.bounds = op.extents
        self.shapes = [cast(ShapedType, t).get_shape() for t in op.output_types]
        self.result = NestPlan()

    def plan(self) -> NestPlan:
        writes = self._writes()
        if 0 in self.bounds:
            self._no_iterations(writes)
            return self.result
        plain: list[LinearWrite] = []
        groups: dict[frozenset[int], list[LinearWrite]] = {}
        for w in writes:
            if w.combiner == "none" and not w.symbols:
                plain.append(w)
            elif (reduced := self.reduced_by(w)) is None:
                self._scatter(w)
            else:
                groups.setdefault(reduced, []).append(w)
        for w in (w for group in groups.values() for w in group):
            if not w.starts and not self._is_whole(w):
                self._fill(w, prod(self.shapes[w.position]))
        # a pass that follows rows is the better place for whole outputs, so it comes last
        last = len(self.bounds) - 1
        ordered = sorted(groups.items(), key=lambda item: last in item[0])
        for number, (reduced, group) in enumerate(ordered):
            self.reduce(reduced, group, plain if number == len(ordered) - 1 else [])
        if plain and not groups:
            self.add(self.make_pass(plain))
        return self.result

    def add(self, one: Pass) -> None:
        if 0 not in one.bounds:
            one = narrow_lanes(normalize(one))
            self.result.passes.append(interleave(one, self.target))

    # Outputs.

    def _writes(self) -> list[LinearWrite]:
        op = self.op
        writes: list[LinearWrite] = []
        position = len(op.output_types)
        # on tensors there are no buffers yet
        names = _first_numbers(op.outputs) or range(position)
        rows = zip(op.output_types, op.output_accesses, op.output_combiners, strict=True)
        for k, (type_, access, combiner) in enumerate(rows):
            steps, offset = access.strides(self.shapes[k])
            element = cast(ShapedType, type_).element_type
            symbols = self._symbols(access, self.shapes[k], position)
            position += len(symbols)
            writes.append(
                LinearWrite(
                    pointer=f"%out{names[k]}",
                    kind=element_kind(cast(ShapedType, type_)),
                    value_kind=kind_of(op.yielded[k].type),
                    offset=Linear(steps, offset),
                    combiner=combiner_of(combiner, element),
                    position=k,
                    starts=k in op.starting_outputs,
                    symbols=symbols,
                    in_memory=bool(symbols),
                    unsigned=is_unsigned(element),
                )
            )
        return writes

    def _symbols(
        self, access: Access, shape: Sequence[int], position: int
    ) -> tuple[tuple[int, int], ...]:
        """Where each scattered index is among the yielded values, and the step it counts."""
        found = [(r.symbol, k) for k, r in enumerate(access.rows) if r.symbol is not None]
        return tuple((position + n, prod(shape[k + 1 :])) for n, (_, k) in enumerate(sorted(found)))

    def reduced_by(self, write: LinearWrite) -> frozenset[int] | None:
        """The dimensions that an output leaves out; None if it has to combine in memory."""
        if write.symbols:
            return None
        access = self.op.output_accesses[write.position]
        kept = [d for row in access.rows for d in row.used]
        if any(len(row.used) > 1 for row in access.rows) or len(set(kept)) < len(kept):
            return None
        return frozenset(d for d, n in enumerate(self.bounds) if n > 1) - frozenset(kept)

    def _is_whole(self, write: LinearWrite) -> bool:
        """Whether a reduced output has a sum for each element."""
        kept = self.op.output_accesses[write.position].used
        return prod(self.bounds[d] for d in kept) == prod(self.shapes[write.position])

    # Passes over the body.

    def _body(self, writes: Sequence[LinearWrite]) -> BlockBody:
        wanted = [w.position for w in writes] + [p for w in writes for p, _ in w.symbols]
        return BlockBody(self.op.body.block, tuple(required_ops(self.op.body.block, wanted)))

    def make_pass(self, writes: Sequence[LinearWrite]) -> Pass:
        body = self._body(writes)
        used: set[SSAValue] = {v for op in body.ops for v in op.operands}
        used |= {self.op.yielded[w.position] for w in writes}
        used |= {self.op.yielded[p] for w in writes for p, _ in w.symbols}
        arguments = self.op.body.block.args
        reads = tuple(self._read(k) if a in used else None for k, a in enumerate(arguments))
        one = Pass(self.bounds, reads, tuple(writes), body)
        return replace(one, lanes=self._lanes(one))

    def _read(self, k: int) -> LinearRead:
        type_ = cast(ShapedType, self.op.inputs[k].type)
        shape, access = type_.get_shape(), self.op.input_accesses[k]
        kind = element_kind(type_)
        if access is None:
            return LinearRead(f"%in{k}", kind, None)
        steps, offset = access.strides(shape)
        pad = self.op.input_pads[k]
        guards: list[Guard] = []
        for row, extent in zip(access.rows, shape, strict=True):
            low, high = row.interval(self.bounds)
            if pad is not None and not (0 <= low and high < extent):
                guards.append(Guard(Linear(row.coefficients, row.constant), extent))
        other = "0" if pad is None else attribute_literal(pad, kind)
        empty = 0 in shape
        return LinearRead(f"%in{k}", kind, Linear(steps, offset), tuple(guards), other, empty)

    def _uniform(self, one: Pass) -> set[SSAValue]:
        """The values of the body that do not change along the last dimension."""
        wide = [d for d, n in enumerate(self.bounds) if n > 1]
        last = wide[-1] if wide else -1
        along = frozenset(wide[-1:])
        same = {
            cast(SSAValue, a)
            for a, r in zip(self.op.body.block.args, one.reads, strict=True)
            if r is None or not r.uses(along)
        }
        return uniform_values(self.op.body.block, same, last)

    def _lanes(self, one: Pass) -> int:
        body = cast(BlockBody, one.body)
        uniform = self._uniform(one)
        values = [r for op in body.ops for r in op.results if r not in uniform]
        kinds = [kind_of(v.type) for v in values] + [w.value_kind for w in one.writes]
        kinds += [w.kind for w in one.writes]
        for argument, read in zip(self.op.body.block.args, one.reads, strict=True):
            if read is not None and (read.offset is None or argument not in uniform):
                kinds.append(read.kind)
        floats = any(is_float(k) for k in kinds)
        return vector_lanes(
            kinds, floats and bool(body.ops or one.writes[0].combiner != "none"), self.target
        )

    def reduce(
        self, reduced: frozenset[int], writes: Sequence[LinearWrite], plain: Sequence[LinearWrite]
    ) -> None:
        chunk = choose_chunk(self.bounds, reduced)
        folds = choose_folds(self.bounds, reduced, chunk)
        if chunk is None:
            self.add(replace(self.make_pass([*writes, *plain]), reduced=reduced, folds=folds))
            return
        combines: list[Pass] = []
        partial: list[LinearWrite] = []
        for w in writes:
            first, second = self._partial(w, reduced, chunk)
            partial.append(first)
            combines.append(second)
        one = self.make_pass([*partial, *plain])
        self.add(replace(one, reduced=reduced, chunk=chunk, folds=folds))
        for second in combines:
            self.add(second)

    def _partial(
        self, write: LinearWrite, reduced: frozenset[int], chunk: ReductionChunk
    ) -> tuple[LinearWrite, Pass]:
        """The output of partial results, and the pass that combines them."""
        kind = write.value_kind
        kept = [d for d in range(len(self.bounds)) if d not in reduced]
        extents = [self.bounds[d] for d in kept]
        outputs = prod(extents)
        pointer = self.result.allocate(chunk.count * outputs, kind)
        steps = {d: prod(extents[k + 1 :]) for k, d in enumerate(kept)}
        linear = Linear(tuple(steps.get(d, 0) for d in range(len(self.bounds))))
        first = replace(
            write, pointer=pointer, kind=kind, offset=linear, starts=False, chunk_step=outputs
        )
        source = Linear((outputs, *(steps[d] for d in kept)))
        goal = Linear((0, *(write.offset.coefficients[d] for d in kept)), write.offset.constant)
        second = Pass(
            bounds=(chunk.count, *extents),
            reads=(LinearRead(pointer, kind, source),),
            writes=(replace(write, offset=goal, position=0),),
            body=CopyBody(),
            reduced=frozenset([0]),
            folds=chunk_folds(chunk.count),
            across_lanes=False,
            lanes=vector_lanes([kind], True, self.target),
        )
        return first, second

    # Combining in memory.

    def _scatter(self, write: LinearWrite) -> None:
        size = prod(self.shapes[write.position])
        write = replace(write, in_memory=True)
        if write.combiner == "none" or write.kind == write.value_kind:
            if not write.starts and write.combiner != "none":
                self._fill(write, size)
            self._scatter_into(write)
            return
        pointer = self.result.allocate(size, write.value_kind)
        wide = replace(write, pointer=pointer, kind=write.value_kind)
        if write.starts:
            start = LinearWrite(
                pointer, wide.kind, write.kind, Linear((1,)), "none", 0, unsigned=write.unsigned
            )
            self._convert(write.pointer, start, size)
        else:
            self._fill(wide, size)
        self._scatter_into(wide)
        end = LinearWrite(write.pointer, write.kind, wide.kind, Linear((1,)), "none", 0)
        self._convert(pointer, end, size)

    def _scatter_into(self, write: LinearWrite) -> None:
        one = self.make_pass([write])
        parallel = self._parallel_dims(write)
        serial = frozenset(range(len(self.bounds))) - parallel
        uniform = self._uniform(one)
        varies = any(self.op.yielded[p] not in uniform for p, _ in write.symbols)
        self.add(replace(one, reduced=serial, across_lanes=False, scalar=varies))

    def _parallel_dims(self, write: LinearWrite) -> frozenset[int]:
        """Dimensions whose iterations write to different elements: alone in a row, in one only."""
        rows = self.op.output_accesses[write.position].rows
        used = [d for row in rows for d in row.used]
        single = [row.used[0] for row in rows if len(row.used) == 1]
        return frozenset(d for d in single if used.count(d) == 1)

    def _fill(self, write: LinearWrite, size: int) -> None:
        """Set all of a buffer to the first value of the combiner."""
        # an empty sum is 0.0, though -0.0 is what leaves every number unchanged
        add = write.combiner == "add"
        start = literal(write.kind, 0) if add else identity(write.combiner, write.kind)
        goal = LinearWrite(write.pointer, write.kind, write.kind, Linear((1,)), "none", 0)
        lanes = vector_lanes([write.kind], False, self.target)
        self.add(Pass((size,), (), (goal,), CopyBody(start), lanes=lanes))

    def _convert(self, source: str, write: LinearWrite, size: int) -> None:
        """Copy a buffer into one of another element kind."""
        self.add(
            Pass(
                bounds=(size,),
                reads=(LinearRead(source, write.value_kind, Linear((1,))),),
                writes=(write,),
                body=CopyBody(),
                lanes=vector_lanes([write.value_kind, write.kind], True, self.target),
            )
        )

    def _no_iterations(self, writes: Sequence[LinearWrite]) -> None:
        """Reductions of nothing: the combiner's identity, or what the output starts from."""
        for w in writes:
            if w.combiner == "none" or w.starts:
                continue
            self._fill(w, prod(self.shapes[w.position]))


def _first_numbers(buffers: Sequence[SSAValue]) -> list[int]:
    """Of each buffer, which may be named more than once, its first number."""
    first: dict[SSAValue, int] = {}
    return [first.setdefault(each, k) for k, each in enumerate(buffers)]
