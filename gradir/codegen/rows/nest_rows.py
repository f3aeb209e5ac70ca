"""A nest on buffers as a program over rows: which buffers it reads and writes row by row.

The rows are the iterations of the leading dimensions. A buffer moves with them if each row of the
nest touches a row of the buffer, and nothing of the others. A sum over rows is an output that
leaves them out. A nest that uses rows in another way can not run block by block, nor can one with a
reduction whose order would change.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import lcm, prod
from typing import cast

from xdsl.ir import SSAValue

from gradir.codegen.nests.space import (
    Fold,
    ReductionChunk,
    choose_chunk,
    choose_folds,
    choose_vector_dim,
)
from gradir.codegen.text.kinds import is_float, kind_of
from gradir.dialects.base.access import Access
from gradir.dialects.loopnest.loopnest import IndexOp, LoadOp, NestOp, ShapedType
from gradir.passes.buffers.state import is_window, root_of


@dataclass(frozen=True)
class NestRows:
    """A nest whose first `lead` dimensions are rows.

    `moving` are the roots of buffers that it touches row by row, `still` the roots of buffers that
    it reads in other ways (one may be both), `sums` the roots of its sums over rows. A sum takes
    `chunk` rows at a time, and every `fold` of these are a sum of their own.
    """

    op: NestOp
    lead: int
    moving: frozenset[SSAValue]
    still: frozenset[SSAValue]
    sums: frozenset[SSAValue]
    chunk: int | None
    fold: int = 1

    @property
    def rows(self) -> int:
        return prod(self.op.extents[: self.lead])

    @property
    def row_iterations(self) -> int:
        return prod(self.op.extents[self.lead :])

    @property
    def written(self) -> frozenset[SSAValue]:
        return frozenset(map(root_of, self.op.outputs))


def find_row_splits(op: NestOp) -> Iterator[NestRows]:
    """The splits of a nest into leading dimensions, the rows, and others; few dimensions first."""
    known: set[int] = set()
    if any(is_window(value) for value in op.operands) or 0 in op.extents:
        return
    for lead in range(1, len(op.extents) + 1):
        found = _split_at(op, lead)
        if found is not None and found.rows > 1 and found.rows not in known:
            known.add(found.rows)
            yield found


def moves_with_rows(value: SSAValue, access: Access | None, op: NestOp, lead: int) -> bool | None:
    """Whether a buffer moves with the rows; None if it does neither that nor stay."""
    shape = cast(ShapedType, value.type).get_shape()
    rows = tuple(range(lead))
    if access is None:
        return _loads_own_rows(op, value) if lead == 1 else False
    leads = tuple(row.dim for row in access.rows[:lead])
    if access.used.isdisjoint(rows):
        return False
    if leads != rows or tuple(shape[:lead]) != op.extents[:lead]:
        return None
    return True if all(d >= lead for row in access.rows[lead:] for d in row.used) else None


def _loads_own_rows(op: NestOp, value: SSAValue) -> bool:
    """Whether all loads of a buffer that the body is handed whole are from the iteration's row."""
    arguments = (a for a, v in zip(op.body.block.args, op.inputs, strict=True) if v is value)
    loads = [use.operation for a in arguments for use in a.uses]
    extent = cast(ShapedType, value.type).get_shape()[:1]
    return tuple(extent) == op.extents[:1] and all(
        isinstance(load, LoadOp)
        and isinstance(index := load.indices[0].owner, IndexOp)
        and index.dim.value.data == 0
        for load in loads
    )


def _split_at(op: NestOp, lead: int) -> NestRows | None:
    moving: set[SSAValue] = set()
    still: set[SSAValue] = set()
    for value, access in zip(op.inputs, op.input_accesses, strict=True):
        how = moves_with_rows(value, access, op, lead)
        if how is None:
            return None
        (moving if how else still).add(root_of(value))
    outputs = zip(op.outputs, op.output_accesses, op.output_combiners, strict=True)
    sums: set[SSAValue] = set()
    chunks: set[int] = set()
    fold = 1
    for k, (value, access, combiner) in enumerate(outputs):
        if any(row.symbol is not None for row in access.rows):
            return None
        how = moves_with_rows(value, access, op, lead)
        if how and (combiner == "none" or _keeps_order(op, access, lead)):
            moving.add(root_of(value))
            continue
        found = None if how or combiner == "none" else _chunk(op, k, lead)
        if found is None:
            return None
        sums.add(root_of(value))
        chunks.add(found[0])
        fold = lcm(fold, found[1])
    written = set(map(root_of, op.outputs))
    if written & still or sums & moving or len(chunks) > 1 or _asks_for_row(op, lead):
        return None
    return NestRows(op, lead, frozenset(moving), frozenset(still), frozenset(sums),
                    next(iter(chunks), None), fold)  # fmt: skip


def _asks_for_row(op: NestOp, lead: int) -> bool:
    """Whether the body computes with the number of a row, but to load from it."""
    return any(
        not (isinstance(use.operation, LoadOp) and use.index == 1 and lead == 1)
        for inner in op.body.block.ops
        if isinstance(inner, IndexOp) and inner.dim.value.data < lead
        for use in inner.result.uses
    )


def _reduced(op: NestOp, access: Access) -> frozenset[int] | None:
    """The dimensions that an output leaves out; None if it is not a choice of dimensions."""
    kept = [d for row in access.rows for d in row.used]
    if any(row.dim is None and row.used for row in access.rows) or len(set(kept)) < len(kept):
        return None
    return frozenset(range(len(op.extents))) - frozenset(kept)


def _keeps_order(op: NestOp, access: Access, lead: int) -> bool:
    """A reduction inside of a row combines in the same order in a part of all rows."""
    reduced = _reduced(op, access)
    if reduced is None or choose_chunk(op.extents, reduced) is not None:
        return False
    vector = choose_vector_dim(op.extents, reduced)
    return vector is not None and vector >= lead


def _chunk(op: NestOp, output: int, lead: int) -> tuple[int, int] | None:
    """The rows of a chunk of a sum over rows, and of a fold; None if its order is another one."""
    access, type_ = op.output_accesses[output], op.output_types[output]
    reduced = _reduced(op, access)
    kind = kind_of(op.yielded[output].type)
    is_keyed = is_float(kind) and op.output_combiners[output] in ("maximum", "minimum")
    if reduced is None or is_keyed:
        return None
    whole = prod(op.extents[d] for d in access.used) == prod(cast(ShapedType, type_).get_shape())
    chunk = choose_chunk(op.extents, reduced)
    vector = choose_vector_dim(op.extents, reduced)
    if chunk is None or chunk.dim != 0 or vector is None or vector < lead or not whole:
        return None
    inner = op.extents[1:lead]
    rows = chunk.size * prod(inner)
    folds = [_over_rows(fold, op, lead) for fold in choose_folds(op.extents, reduced, chunk)]
    merged = (op.extents[0] * prod(inner), *op.extents[lead:])
    left = frozenset(d - lead + 1 for d in reduced if d >= lead)
    if list(sum_folds(merged, left, rows)) != folds:
        return None
    return rows, max((fold.size for fold in folds if fold.dim == 0), default=1)


def _over_rows(fold: Fold, op: NestOp, lead: int) -> Fold:
    """A fold where the leading dimensions have become one."""
    if fold.dim >= lead:
        return Fold(fold.dim - lead + 1, fold.size)
    return Fold(0, fold.size * prod(op.extents[fold.dim + 1 : lead]))


def sum_folds(bounds: Sequence[int], reduced: frozenset[int], chunk: int) -> tuple[Fold, ...]:
    """The folds of a sum over rows, dimension 0, and other dimensions, by chunks of rows."""
    count = -(-bounds[0] // chunk)
    return choose_folds(bounds, reduced | {0}, ReductionChunk(0, chunk, count))
