"""One pass over an iteration space: its reads, writes and reductions, by linear addresses.

A pass is the work of one function of a kernel. Its addresses are linear in the dimensions, so
dimensions can be dropped, reordered and merged (`normalize`) without looking at the body.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from math import gcd, prod
from typing import Protocol

from gradir.codegen.bodies.emitter import LlvmValue, Surroundings
from gradir.codegen.costs import INTERLEAVED_SIZE
from gradir.codegen.text.kinds import FLOAT_BITS, bits_of, is_float
from gradir.codegen.text.target import MachineTarget
from gradir.codegen.text.writer import FunctionWriter
from gradir.dialects.base.sum_order import (
    ACCUMULATED_VECTORS,
    CHAIN_STEPS,
    CHUNK_ELEMENTS,
    CHUNK_ROWS,
    CHUNK_STEPS,
    ENOUGH_COLUMNS,
    ENOUGH_ITEMS,
    FOLD_LANES,
    LANE_MULTIPLE,
    LARGEST_WINDOW,
    LEAF_STEPS,
    LEAST_CHUNKS,
    LEAST_READ,
    LEAST_STEPS,
    LEAST_VECTORS,
    MOST_CHUNKS,
    WINDOW_COLUMNS,
    WINDOW_ROW,
)
from gradir.dialects.base.traced_sizes import divides, is_traced, of_sizes


@dataclass(frozen=True)
class Linear:
    """`sum(coefficients[d] * d) + constant` over the dimensions of a pass."""

    coefficients: tuple[int, ...]
    constant: int = 0

    def interval(self, bounds: Sequence[int]) -> tuple[int, int]:
        """Smallest and largest value over a space that is not empty."""
        ends = [c * (n - 1) for c, n in zip(self.coefficients, bounds, strict=True)]
        low = self.constant + sum(e for e in ends if e < 0)
        return low, self.constant + sum(e for e in ends if e > 0)

    def uses(self, dims: frozenset[int]) -> bool:
        return any(self.coefficients[d] for d in dims)


@dataclass(frozen=True)
class Guard:
    """The subscript `row` is in the tensor if it is in [0, extent)."""

    row: Linear
    extent: int


@dataclass(frozen=True)
class LinearRead:
    """One argument of the body: elements at `offset`, or the whole buffer where that is None.

    Where a guard does not hold the value is the literal `other`; `empty` buffers are never read.
    """

    pointer: str
    kind: str
    offset: Linear | None
    guards: tuple[Guard, ...] = ()
    other: str = "0"
    empty: bool = False

    @property
    def linears(self) -> list[Linear]:
        return [g.row for g in self.guards] + ([self.offset] if self.offset is not None else [])

    def uses(self, dims: frozenset[int]) -> bool:
        return any(linear.uses(dims) for linear in self.linears)


@dataclass(frozen=True)
class LinearWrite:
    """One output: value number `position` of the body, of `value_kind`, into `pointer`.

    `starts`: the buffer's contents are combined first. `symbols` are (position, step) of scattered
    indices: the value is combined into memory. `chunk_step` is the step from chunk to chunk where
    the output is an array of partial results. `resumes`: a reduction goes on from the accumulators
    that it left in `pointer`, and leaves them there. `unsigned`: its integers are, of any kind.
    """

    pointer: str
    kind: str
    value_kind: str
    offset: Linear
    combiner: str
    position: int
    starts: bool = False
    symbols: tuple[tuple[int, int], ...] = ()
    in_memory: bool = False
    chunk_step: int = 0
    resumes: bool = False
    unsigned: bool = False


@dataclass(frozen=True)
class ReductionChunk:
    """Dimension `dim` is cut in `count` pieces of `size`; each piece is a work item."""

    dim: int
    size: int
    count: int


@dataclass(frozen=True)
class Fold:
    """The sum of `size` iterations of a dimension is added to the sum of all, then begins anew.

    So the error of a sum of n numbers grows with the levels of folds, not with n. The bits of
    results depend on it.
    """

    dim: int
    size: int


class PassBody(Protocol):
    """The computation on the reads: the block of an op, or a plain copy."""

    @property
    def cost(self) -> float:
        """Nanoseconds for one vector."""
        ...

    @property
    def size(self) -> int:
        """Roughly the number of vector instructions."""
        ...

    @property
    def index_dims(self) -> frozenset[int]:
        """The dimensions (of the op) whose current index the body asks for."""
        ...

    def emit(
        self,
        f: FunctionWriter,
        lanes: int,
        surroundings: Surroundings,
        arguments: Sequence[LlvmValue],
    ) -> list[LlvmValue | None]: ...


@dataclass(frozen=True)
class Pass:
    """`reduced` dimensions are combined in order into each output that is not plain."""

    bounds: tuple[int, ...]
    reads: tuple[LinearRead | None, ...]
    writes: tuple[LinearWrite, ...]
    body: PassBody
    reduced: frozenset[int] = frozenset()
    chunk: ReductionChunk | None = None
    # The outermost first; folds of one dimension have smaller and smaller sizes.
    folds: tuple[Fold, ...] = ()
    # Whether the lanes of a vector may be partial results of the last dimension.
    across_lanes: bool = True
    # Whether iterations can not be done in vectors at all.
    scalar: bool = False
    lanes: int = 1
    # How many machine vectors the lanes come to.
    interleaved: int = 1
    # The dimension of this pass for each dimension of the op that the body asks the index of.
    index_of: dict[int, int | None] = field(default_factory=dict[int, int | None])

    @property
    def linears(self) -> list[Linear]:
        found = [linear for r in self.reads if r is not None for linear in r.linears]
        return found + [w.offset for w in self.writes]

    @property
    def size(self) -> int:
        return prod(self.bounds)

    @property
    def pieces(self) -> int:
        """How many items the reduced dimensions are dealt out to."""
        return 1 if self.chunk is None else self.chunk.count

    @property
    def vector_dim(self) -> int:
        return len(self.bounds) - 1

    @property
    def is_map(self) -> bool:
        """Nothing is combined."""
        return all(w.combiner == "none" and not w.in_memory for w in self.writes)

    @property
    def reduces_lanes(self) -> bool:
        return self.vector_dim in self.reduced


def accumulator_lanes(kind: str, target: MachineTarget) -> int:
    """How many partial results a reduction along the last dimension keeps, in whole vectors."""
    return ACCUMULATED_VECTORS * target.vector_bytes // max(4, bits_of(kind) // 8)


def choose_vector_dim(bounds: Sequence[int], reduced: frozenset[int]) -> int | None:
    """The dimension that the lanes of a reduction's vectors run along; None if all extents are 1.

    It is the last one, but where that belongs to a small window (of a pooling, say) the last one
    that is kept. The order of combination depends on it, so bounds and reduced dims alone set it.
    """
    wide = [d for d, n in enumerate(bounds) if n > 1]
    if not wide:
        return None
    kept = [d for d in wide if d not in reduced]
    window = prod(bounds[d] for d in wide if d > max(kept, default=-1))
    columns = [d for d in kept if bounds[d] >= WINDOW_COLUMNS]
    is_window = bounds[wide[-1]] <= WINDOW_ROW and window <= LARGEST_WINDOW
    if wide[-1] in reduced and is_window and columns:
        return columns[-1]
    return wide[-1]


def choose_chunk(bounds: Sequence[int], reduced: frozenset[int]) -> ReductionChunk | None:
    """The chunks of a reduction with too few parallel iterations for threads to share.

    Bounds and reduced dimensions alone set them, so that bits do not depend on threads.
    """
    wide = [d for d, n in enumerate(bounds) if n > 1]
    candidates = [d for d in wide if d in reduced]
    if not candidates or 0 in bounds:
        return None
    total, last = prod(bounds), choose_vector_dim(bounds, reduced)
    assert last is not None
    parallel = prod(bounds[d] for d in wide if d not in reduced and d != last)
    kept_columns = last not in reduced
    if parallel >= ENOUGH_ITEMS or (kept_columns and bounds[last] >= ENOUGH_COLUMNS):
        return None
    if total < LEAST_CHUNKS * CHUNK_ELEMENTS:
        return None
    inner = [d for d in candidates if d != last]
    dim = next((d for d in inner if bounds[d] >= ENOUGH_ITEMS), None)
    if dim is None:
        dim = max(candidates, key=lambda d: bounds[d])
    extent = bounds[dim]
    least = LANE_MULTIPLE * LEAST_VECTORS if dim == last else 1
    if kept_columns:
        others = prod(bounds[d] for d in candidates if d != dim)
        least = max(1, LEAST_READ // others)
    most = max(MOST_CHUNKS, prod(bounds[d] for d in inner) // CHUNK_ROWS)
    count = min(most, extent // least, total // CHUNK_ELEMENTS)
    if count < 2:
        return None
    size = -(-extent // count)
    if dim == last:
        size = -(-size // LANE_MULTIPLE) * LANE_MULTIPLE
    else:
        size = _friendly_size(extent, size)
    return ReductionChunk(dim, size, -(-extent // size))


@of_sizes
def _friendly_size(extent: int, size: int) -> int:
    """The size nearby that has the largest divisor in common with the extent.

    Blocks of rows of many sizes then hold whole chunks, or chunks whole blocks.
    """
    nearby = range(max(1, size * 3 // 4), min(extent - 1, size * 5 // 4) + 1)
    return max(nearby, key=lambda s: (gcd(extent, s), -abs(s - size)), default=size)


def choose_folds(
    bounds: Sequence[int], reduced: frozenset[int], chunk: ReductionChunk | None
) -> tuple[Fold, ...]:
    """The folds of a reduction, by its bounds, its reduced dimensions and its chunks alone."""
    last = choose_vector_dim(bounds, reduced)
    inner = [d for d in sorted(reduced) if bounds[d] > 1 and d != last]
    along = last in reduced
    found: list[Fold] = []
    steps, most = 1, LEAF_STEPS if along else CHAIN_STEPS
    for d in ([last] if last is not None and along else []) + inner[::-1]:
        size = FOLD_LANES if d == last else 1
        extent = bounds[d] if chunk is None or chunk.dim != d else chunk.size
        common = 1 if d == last else _divisor(bounds[d], extent)
        count = -(-extent // size)
        while steps * count > most:
            together = _folded_together(count, common // size, steps, most)
            size *= together
            found.append(Fold(d, size))
            count, steps, most = -(-count // together), 1, CHAIN_STEPS
        steps *= count
    return tuple(found[::-1])


_divisor = of_sizes(gcd)


@of_sizes
def _folded_together(count: int, common: int, steps: int, most: int) -> int:
    """How many of `count` iterations, of `steps` steps each, are one fold: `most` steps at most.

    The least number that leaves one chain of the rest and divides `common`, so that small blocks
    of rows hold whole folds; folds are at least `LEAST_STEPS` apart. Else as many as may be.
    """
    least = max(-(-LEAST_STEPS // steps), -(-count // CHAIN_STEPS))
    largest = max(1, most // steps)
    return next((n for n in range(least, largest + 1) if common and common % n == 0), largest)


def chunk_folds(chunks: int) -> tuple[Fold, ...]:
    """The folds of the results of chunks, which are dimension 0."""
    return (Fold(0, CHUNK_STEPS),) if chunks > CHUNK_STEPS else ()


def vector_lanes(kinds: Sequence[str], computes: bool, target: MachineTarget) -> int:
    """Lanes of the vectors of a pass whose values have these kinds.

    The widest float counts (f16 and bf16 as f32 where the body computes), else the widest kind.
    """
    floats = [FLOAT_BITS[k] for k in kinds if is_float(k)]
    widest = max(floats or [bits_of(k) for k in kinds], default=32)
    if computes and floats:
        widest = max(widest, 32)
    return 8 * target.vector_bytes // max(8, widest)


def normalize(one: Pass) -> Pass:
    """The same pass with few dimensions: extents of 1 dropped, contiguous neighbours merged.

    Dimensions of a map are first sorted by the steps of its first output. The order in which a
    reduction combines does not change.
    """
    folded = {fold.dim for fold in one.folds}
    order = [d for d, n in enumerate(one.bounds) if n > 1 or d in folded]
    if one.is_map:
        steps = one.writes[0].offset.coefficients
        order.sort(key=lambda d: -abs(steps[d]))
    elif one.across_lanes:
        last = choose_vector_dim(one.bounds, one.reduced)
        order.sort(key=lambda d: d == last)
    groups: list[list[int]] = []
    for d in order:
        if groups and _may_merge(one, groups[-1][-1], d, last=d == order[-1]):
            groups[-1].append(d)
        else:
            groups.append([d])
    serial = not groups or (not one.across_lanes and groups[-1][-1] in one.reduced)
    needs_column = one.scalar or serial
    return _regroup(one, groups, needs_column)


def _may_merge(one: Pass, left: int, right: int, last: bool) -> bool:
    """Every access is contiguous from `left` to `right`, and both have the same role."""
    if one.body.index_dims & {left, right} or (left in one.reduced) != (right in one.reduced):
        return False
    cut = {fold.dim for fold in one.folds} | ({one.chunk.dim} if one.chunk else set())
    if right in cut:
        return False
    extent = one.bounds[right]
    if last and right in one.reduced and one.across_lanes and not divides(LANE_MULTIPLE, extent):
        return False
    return all(
        linear.coefficients[left] == linear.coefficients[right] * extent for linear in one.linears
    )


def _regroup(one: Pass, groups: list[list[int]], needs_column: bool) -> Pass:
    """Make one dimension of each group; `needs_column` appends one of extent 1."""
    extra = (0,) if needs_column else ()

    def regrouped(linear: Linear) -> Linear:
        inner = tuple(linear.coefficients[g[-1]] for g in groups)
        return Linear(inner + extra, linear.constant)

    def read(r: LinearRead | None) -> LinearRead | None:
        if r is None or r.offset is None:
            return r
        guards = tuple(Guard(regrouped(g.row), g.extent) for g in r.guards)
        return replace(r, offset=regrouped(r.offset), guards=guards)

    place = {d: k for k, g in enumerate(groups) for d in g}

    def scale(dim: int) -> int:
        return prod(one.bounds[d] for d in groups[place[dim]] if d != dim)

    chunk = one.chunk
    if chunk is not None:
        chunk = ReductionChunk(place[chunk.dim], chunk.size * scale(chunk.dim), chunk.count)
    return replace(
        one,
        bounds=tuple(prod(one.bounds[d] for d in g) for g in groups) + (1,) * needs_column,
        reads=tuple(read(r) for r in one.reads),
        writes=tuple(replace(w, offset=regrouped(w.offset)) for w in one.writes),
        reduced=frozenset(place[d] for d in one.reduced if d in place),
        chunk=chunk,
        folds=tuple(Fold(place[f.dim], f.size * scale(f.dim)) for f in one.folds),
        index_of={d: place.get(d) for d in one.body.index_dims},
    )


def narrow_lanes(one: Pass) -> Pass:
    """No more lanes than the vector dimension has elements, rounded up to a power of two."""
    extent = one.bounds[one.vector_dim]
    if is_traced(extent):
        return one
    return replace(one, lanes=min(one.lanes, 1 << (extent - 1).bit_length()))


def interleave(one: Pass, target: MachineTarget) -> Pass:
    """Vectors of several machine vectors for a large body.

    The processor then always has a few independent chains of instructions to choose from; chains
    of the next iterations are too far away. Order and bits of reductions do not depend on it.
    """
    v = one.vector_dim
    steps = [r.offset.coefficients[v] if r.offset else 2 for r in one.reads if r]
    steps += [w.offset.coefficients[v] for w in one.writes]
    in_memory = any(w.in_memory for w in one.writes)
    if one.scalar or one.lanes == 1 or in_memory or not {0, 1}.issuperset(steps):
        return one
    kinds = [w.value_kind for w in one.writes if w.combiner != "none"]
    # of short rows the last vector, which may be all but empty, would be too much of the work
    most = min([one.bounds[v] // 8, *(accumulator_lanes(k, target) for k in kinds)])
    for vectors in (4,) if is_traced(one.bounds[v]) else (4, 2):
        if one.body.size >= INTERLEAVED_SIZE and one.lanes * vectors <= most:
            return replace(one, lanes=one.lanes * vectors, interleaved=vectors)
    return one
