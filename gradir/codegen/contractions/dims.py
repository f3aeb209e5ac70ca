"""Which dimensions of a contraction are rows, columns and batches of the tiled kernel.

Dimensions that follow each other in every tensor run as one. Of several that only the left factor
varies along, one makes the rows of the tiles, and likewise one of the right factor's the columns;
the others are batches. No choice changes the order of a sum.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from math import prod
from typing import cast

from gradir.codegen.bodies.emitter import element_kind
from gradir.codegen.contractions.choose_tiles import (
    PAGE_BYTES,
    plan_product,
    product_cost,
    with_numbers,
)
from gradir.codegen.contractions.product_plan import Chain, Operand, Product
from gradir.codegen.costs import (
    CLOSE_COST,
    FAR_ROWS_PART,
    FAR_SCATTER_COST,
    SCATTER_COST,
    TURN_COST,
)
from gradir.codegen.text.kinds import bytes_of, kind_of
from gradir.codegen.text.target import MachineTarget
from gradir.codegen.text.writer import CLOSE_STRIDE, LINE_BYTES
from gradir.dialects.base.access import Access
from gradir.dialects.base.traced_sizes import int_of, is_traced
from gradir.dialects.loopnest.loopnest import ContractOp, IndexOp, ShapedType


@dataclass(frozen=True)
class MergedDims:
    """Dimensions that run as one, with the steps of the last of them, `dim`."""

    dim: int
    extent: int


@dataclass(frozen=True)
class Tiling:
    """A contraction for the tiled kernel.

    `is_swapped` says that the factors changed places; `batch_dims`, `row_dim` and `column_dim` are
    the dimensions that its indices run along, None where there is no such dimension. Vectors of
    results run along the columns, or if `is_turned` along the rows.
    """

    product: Product
    is_swapped: bool
    batch_dims: tuple[int, ...]
    row_dim: int | None
    column_dim: int | None
    is_turned: bool

    @property
    def vector_dim(self) -> int | None:
        return self.row_dim if self.is_turned else self.column_dim


def tiling(op: ContractOp, target: MachineTarget) -> Tiling:
    """The tiling that a plan for one thread is the fastest with."""
    found = list(_tilings(op))
    # columns that a value counts would need masks that are values
    found = [one for one in found if not is_traced(one.product.n)] or found
    if len(found) == 1 or 0 in op.extents:
        return found[0]
    return min(found, key=lambda one: _cost(op, one, target))


def _cost(op: ContractOp, one: Tiling, target: MachineTarget) -> float:
    """Estimated nanoseconds, with the cost of stores that are no whole vectors."""
    c = with_numbers(one.product)
    results = prod(c.batch) * c.m * c.n
    total = product_cost(plan_product(c, target), 1)
    apart = abs(c.lhs.row_stride) * bytes_of(c.lhs.element)
    total *= 1 + FAR_ROWS_PART * (min(apart / LINE_BYTES, 1) + min(apart / PAGE_BYTES, 1))
    if one.is_turned:
        total += TURN_COST * results
    scatter = SCATTER_COST
    if results * c.accumulator_bytes > target.l2_bytes:
        scatter = FAR_SCATTER_COST
    for steps in _output_strides(op):
        step = 0 if one.vector_dim is None else abs(int_of(steps[one.vector_dim]))
        if step > 1:
            total += (CLOSE_COST if step <= CLOSE_STRIDE else scatter) * results
    return total


def _tilings(op: ContractOp) -> Iterator[Tiling]:
    """The tilings to choose from; a plain product of matrices has one."""
    groups = _groups(op)
    left, right = (factor_strides(op, index)[0] for index in range(2))
    free = [g for g in groups if op.dim_roles[g.dim] != "k"]
    summed = [g for g in groups if op.dim_roles[g.dim] == "k"]
    rows = [g for g in free if not right[g.dim] and left[g.dim]]
    columns = [g for g in free if not left[g.dim] and right[g.dim]]
    is_plain = len(summed) <= 1 and len(rows) <= 1 and len(columns) <= 1
    for row, column in product(rows or [None], columns or [None]):
        if is_plain and column is not None and row is not None and is_traced(column.extent):
            yield _tiling(op, free, summed, row, column, True)
        elif is_plain:
            yield _tiling(op, free, summed, row, column, column is None and row is not None)
        else:
            yield _tiling(op, free, summed, row, column, False)
            yield _tiling(op, free, summed, row, column, True)


def _tiling(
    op: ContractOp,
    free: list[MergedDims],
    summed: list[MergedDims],
    row: MergedDims | None,
    column: MergedDims | None,
    is_swapped: bool,
) -> Tiling:
    batch = [g for g in free if g is not row and g is not column]
    if is_swapped:
        row, column = column, row

    def step(strides: tuple[int, ...], group: MergedDims | None) -> int:
        return 0 if group is None else strides[group.dim]

    def operand(index: int, is_left: bool) -> Operand:
        element = element_kind(cast(ShapedType, op.inputs[index].type))
        strides, offset = factor_strides(op, index)
        along_k = step(strides, summed[-1] if summed else None)
        along = (step(strides, row), along_k) if is_left else (along_k, step(strides, column))
        return Operand(
            element,
            *along,
            tuple(strides[g.dim] for g in batch),
            offset,
            tuple(strides[g.dim] for g in summed[:-1]),
        )

    is_turned = _is_turned(op, row, column)
    result = Product(
        batch=tuple(g.extent for g in batch),
        m=1 if row is None else row.extent,
        n=1 if column is None else column.extent,
        k=prod(g.extent for g in summed),
        lhs=operand(1 if is_swapped else 0, True),
        rhs=operand(0 if is_swapped else 1, False),
        accumulator=kind_of(op.accumulator_type),
        k_outer=tuple(g.extent for g in summed[:-1]),
        chain=cast(Chain, "" if op.precision is None else op.precision.data),
    )
    return Tiling(
        result,
        is_swapped,
        tuple(g.dim for g in batch),
        None if row is None else row.dim,
        None if column is None else column.dim,
        is_turned,
    )


def _is_turned(op: ContractOp, row: MergedDims | None, column: MergedDims | None) -> bool:
    """Whether results lie close along the rows and far apart along the columns."""
    if row is None or column is None:
        return False
    outputs = list(_output_strides(op))
    along_rows, along_columns = ([abs(s[g.dim]) for s in outputs] for g in (row, column))
    return max(along_rows) <= CLOSE_STRIDE < min(along_columns)


def factor_strides(op: ContractOp, index: int) -> tuple[tuple[int, ...], int]:
    """The step of a factor along each dimension, 0 where the extent is 1, and its offset."""
    access = cast(Access, op.input_accesses[index])
    steps, offset = access.strides(cast(ShapedType, op.inputs[index].type).get_shape())
    return tuple(s if n > 1 else 0 for s, n in zip(steps, op.extents, strict=True)), offset


def _groups(op: ContractOp) -> list[MergedDims]:
    """The dimensions, contiguous neighbours merged and extents of 1 dropped."""
    roles, extents = op.dim_roles, op.extents
    all_strides = list(_all_strides(op))
    has_index = any(isinstance(inner, IndexOp) for inner in op.body.walk())
    groups: list[MergedDims] = []
    for dim, extent in enumerate(extents):
        if extent == 1:
            continue
        if groups:
            last = groups[-1]
            follows = all(s[last.dim] == s[dim] * extent for s in all_strides)
            same = (roles[last.dim] == "k") == (roles[dim] == "k")
            if follows and same and (roles[dim] == "k" or not has_index):
                groups[-1] = MergedDims(dim, last.extent * extent)
                continue
        groups.append(MergedDims(dim, extent))
    return groups


def _all_strides(op: ContractOp) -> Iterator[tuple[int, ...]]:
    """The steps of every tensor of the kernel; outputs have none along summed dimensions."""
    for access, value in zip(op.input_accesses, op.inputs, strict=True):
        if access is not None:
            yield access.strides(cast(ShapedType, value.type).get_shape())[0]
    yield from _output_strides(op)


def _output_strides(op: ContractOp) -> Iterator[tuple[int, ...]]:
    for access, type_ in zip(op.output_accesses, op.output_types, strict=True):
        yield access.strides(cast(ShapedType, type_).get_shape())[0]
