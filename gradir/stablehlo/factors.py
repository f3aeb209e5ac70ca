"""Factors of matrices in StableHLO: Cholesky, triangular solves, and LU as a loop over columns."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import IntegerAttr, i1, i64

from gradir.dialects.array.linear_systems import LuFactorOp
from gradir.dialects.array.triangular import CholeskyOp, TriangularSolveOp
from gradir.dialects.base.shapes import shape_of, tensor
from gradir.stablehlo import values as v
from gradir.stablehlo.dialect import TransposeAttr
from gradir.stablehlo.nests import NoForm
from gradir.stablehlo.regions import count_loop, reduce_axes
from gradir.stablehlo.tensors import Rule
from gradir.stablehlo.values import Hlo, HloEmitter


def _cholesky(op: CholeskyOp, xs: Sequence[Hlo], emitter: HloEmitter) -> Sequence[Hlo]:
    a, rank = xs[0], len(xs[0].shape)
    flipped = v.transpose(a, [*range(rank - 2), rank - 1, rank - 2])
    factor = ((a + flipped) * 0.5).emit("cholesky", lower=IntegerAttr(1, i1))
    rows, columns = (v.iota(emitter, a.shape, d) for d in (rank - 2, rank - 1))
    return [v.select(rows >= columns, factor, factor.full(0.0))]


def _triangular_solve(
    op: TriangularSolveOp, xs: Sequence[Hlo], emitter: HloEmitter
) -> Sequence[Hlo]:
    a, right = xs
    columns = right if len(right.shape) == len(a.shape) else v.reshape(right, [*right.shape, 1])
    way = op.way
    solution = a.emit(
        "triangular_solve",
        columns,
        type=columns.type,
        left_side=IntegerAttr(1, i1),
        lower=IntegerAttr(int(way.lower), i1),
        unit_diagonal=IntegerAttr(int(way.unit), i1),
        transpose_a=TransposeAttr.of("TRANSPOSE" if way.transpose else "NO_TRANSPOSE"),
    )
    return [v.reshape(solution, shape_of(op.x.type))]


def _lu_factor(op: LuFactorOp, xs: Sequence[Hlo], emitter: HloEmitter) -> Sequence[Hlo]:
    """Gauss's elimination with partial pivoting, a column in each step of a loop."""
    if op.defer:
        raise NoForm("an order of columns, which {defer} asks for, has no form in StableHLO")
    [a] = xs
    *batch, size, _ = a.shape
    order = v.iota(emitter, [*batch, size], len(batch))
    sign = v.full(emitter, 1.0, tensor(batch, a.element))
    if not size:
        return [a, order, order, sign]

    def step(inside: HloEmitter, values: list[Hlo]) -> Sequence[Hlo]:
        k, lu, rows, sign = values
        at = _pivot_row(lu, k)
        is_k, is_at = _is_row(lu, k), _is_row(lu, at)
        lu = _exchanged(lu, is_k, is_at, len(batch))
        numbers = _exchanged(v.reshape(rows, [*rows.shape, 1]), is_k, is_at, len(batch))
        same = at.equal(v.broadcast(k, at.shape, []))
        sign = v.select(same, sign, -sign)
        return [_eliminated(lu, k), v.reshape(numbers, rows.shape), sign]

    lu, rows, sign = count_loop(emitter, size, [a, order, sign], step)
    return [lu, rows, order, sign]


def _column(lu: Hlo, k: Hlo) -> Hlo:
    """Column k of matrices, as matrices of one column."""
    zero = v.number_of(lu.at, 0, i64)
    starts = [zero] * (len(lu.shape) - 1)
    return v.dynamic_slice(lu, [*starts, k], [*lu.shape[:-1], 1])


def _row(lu: Hlo, k: Hlo) -> Hlo:
    zero = v.number_of(lu.at, 0, i64)
    starts = [zero] * (len(lu.shape) - 2)
    return v.dynamic_slice(lu, [*starts, k, zero], [*lu.shape[:-2], 1, lu.shape[-1]])


def _pivot_row(lu: Hlo, k: Hlo) -> Hlo:
    """The first row from k on with the largest number in column k, of each matrix."""
    column = _column(lu, k)
    shape, axis = column.shape, len(column.shape) - 2
    places = v.iota(lu.at, shape, axis)
    size = column.emit("abs")
    size = v.select(places >= v.broadcast(k, shape, []), size, size.full(-1.0))
    most = reduce_axes(size, [axis, axis + 1], "maximum")
    is_most = size.equal(v.broadcast(most, shape, list(range(axis))))
    # of nans none is equal: any row will do
    found = v.select(is_most, places, places.full(shape[axis] - 1))
    return reduce_axes(found, [axis, axis + 1], "minimum")


def _is_row(lu: Hlo, at: Hlo) -> Hlo:
    """Where a row has the number `at`, one for each matrix or one for all; of one column."""
    shape = [*lu.shape[:-1], 1]
    places = v.iota(lu.at, shape, len(shape) - 2)
    axes = list(range(len(at.shape)))
    return places.equal(v.broadcast(at, shape, axes))


def _exchanged(x: Hlo, one: Hlo, other: Hlo, axis: int) -> Hlo:
    """Matrices with two rows exchanged, which masks of one column name."""
    axes = list(range(len(x.shape)))
    masks = [_wide(mask, x) for mask in (one, other)]
    rows = [reduce_axes(v.select(mask, x, x.full(0)), [axis], "add") for mask in masks]
    kept = [d for d in axes if d != axis]
    first, second = (v.broadcast(row, x.shape, kept) for row in rows)
    return v.select(masks[0], second, v.select(masks[1], first, x))


def _wide(mask: Hlo, like: Hlo) -> Hlo:
    flat = v.reshape(mask, mask.shape[:-1])
    return v.broadcast(flat, like.shape, list(range(len(flat.shape))))


def _eliminated(lu: Hlo, k: Hlo) -> Hlo:
    """Column k divided by its pivot below it, and its multiples taken off the columns behind."""
    rank = len(lu.shape)
    rows, columns = (v.iota(lu.at, lu.shape, d) for d in (rank - 2, rank - 1))
    here = v.broadcast(k, lu.shape, [])
    below, behind = rows > here, columns > here
    column, row = _column(lu, k), _row(lu, k)
    pivot = v.broadcast(v.reshape(_column(row, k), lu.shape[:-2]), column.shape, _leading(lu))
    factor = v.select(pivot.equal(0.0), column, column / pivot)
    wide = v.broadcast(v.reshape(factor, lu.shape[:-1]), lu.shape, list(range(rank - 1)))
    line = v.broadcast(
        v.reshape(row, [*lu.shape[:-2], lu.shape[-1]]), lu.shape, [*_leading(lu), rank - 1]
    )
    is_column = columns.equal(here).emit("and", below)
    lu_new = v.select(below.emit("and", behind), lu - wide * line, lu)
    return v.select(is_column, wide, lu_new)


def _leading(lu: Hlo) -> list[int]:
    return list(range(len(lu.shape) - 2))


RULES: dict[str, Rule] = {
    "array.cholesky": _cholesky,
    "array.triangular_solve": _triangular_solve,
    "grad.lu_factor": _lu_factor,
}
