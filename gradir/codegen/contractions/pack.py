"""Packing of a product's matrices: contiguous panels in the accumulator's type.

Columns that a panel has but the matrix has not are filled with zeros.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass

from gradir.codegen.contractions.operands import Source, load_vector
from gradir.codegen.contractions.product_plan import ProductPlan, Vector, placed, split_columns
from gradir.codegen.contractions.squares import copy_transposed
from gradir.codegen.contractions.tile import SCALAR
from gradir.codegen.text.writer import FunctionWriter
from gradir.dialects.base.traced_sizes import divides, is_traced

# The index of a column panel, and its vectors.
ColumnPanel = tuple[str, tuple[Vector, ...]]


def column_panels(
    f: FunctionWriter, plan: ProductPlan, first: str, last: str, tail: str | None, hint: str = ""
) -> Iterator[AbstractContextManager[ColumnPanel]]:
    """A loop over the full panels [first, last), and where `tail` holds the narrower last one."""
    if plan.has_open_columns or plan.full_panels:
        yield _full_panels(f, plan, first, last, f"{hint}panel")
    if tail is not None:
        yield _last_panel(f, plan, tail, f"{hint}tail")


@contextmanager
def _full_panels(
    f: FunctionWriter, plan: ProductPlan, first: str, last: str, hint: str
) -> Generator[ColumnPanel]:
    with f.loop(first, last, hint=hint) as panel:
        yield panel, (Vector(plan.lanes, plan.lanes),) * plan.vectors


@contextmanager
def _last_panel(
    f: FunctionWriter, plan: ProductPlan, tail: str, hint: str
) -> Generator[ColumnPanel]:
    with f.when(tail, hint):
        yield str(plan.full_panels), plan.tail


@dataclass(frozen=True)
class Panels:
    """Column panels [first, last) of the packed right matrix, panel `first` at `pointer`.

    `origin` is the k that lies at the beginning of each panel; full panels are `panel_stride`
    elements apart. `tail` is the i1 that says whether the narrower last panel follows, or None.
    """

    pointer: str
    panel_stride: int
    origin: str
    first: str
    last: str
    tail: str | None


class RightPacker:
    """Packs rows [begin, end) of the right matrix; both are multiples of the lanes or all k."""

    def __init__(self, f: FunctionWriter, plan: ProductPlan, rhs: Source, panels: Panels):
        self.f, self.plan, self.rhs, self.panels = f, plan, rhs, panels
        self.kind = plan.product.accumulator

    def pack(self, begin: str, end: str) -> None:
        f, rhs = self.f, self.rhs
        if rhs.row_stride == 1 and rhs.column_stride != 1:
            for vectors, column, base in self._each_panel():
                self._transpose_panel(vectors, column, base, begin, end)
            return
        # whole rows at a time: the source is then read contiguously
        with f.loop(begin, end, hint="pack.k") as k:
            row, inner = rhs.at(f, k, 0), f.subtract(k, self.panels.origin)
            for vectors, column, base in self._each_panel():
                width = sum(vector.lanes for vector in vectors)
                target = f.element(self.kind, base, f.multiply(inner, width))
                self._copy_row(row, vectors, column, target)

    def _each_panel(self) -> Iterator[tuple[Sequence[Vector], str, str]]:
        """Inside each panel its vectors, its first column and where it is packed."""
        f, plan, panels = self.f, self.plan, self.panels
        for each in column_panels(f, plan, panels.first, panels.last, panels.tail, "pack."):
            with each as (panel, vectors):
                offset = f.multiply(f.subtract(panel, panels.first), panels.panel_stride)
                base = f.element(self.kind, panels.pointer, offset)
                yield vectors, f.multiply(panel, plan.width), base

    def _copy_row(self, row: Source, vectors: Sequence[Vector], column: str, target: str) -> None:
        """One row of one panel."""
        f, kind, start = self.f, self.kind, row.at(self.f, 0, column)
        if row.column_stride == 1:
            for place, vector in placed(vectors):
                value = load_vector(f, kind, start.at(f, 0, place), vector)
                f.store(kind, vector.lanes, f.element(kind, target, place), value)
            return
        is_open = vectors[0].mask_name is not None
        valid = self.plan.tail_columns if is_open else sum(vector.valid for vector in vectors)
        with f.loop("0", str(valid), hint="pack.column", at_least_once=True) as inner:
            value = load_vector(f, kind, start.at(f, 0, inner), SCALAR)
            f.store(kind, 1, f.element(kind, target, inner), value)
        if is_open:
            with f.loop(str(valid), str(self.plan.width), hint="pack.missing") as missing:
                f.store(kind, 1, f.element(kind, target, missing), "0.0")
            return
        for missing in range(valid, sum(vector.lanes for vector in vectors)):
            f.store(kind, 1, f.element(kind, target, missing), "0.0")

    def _transpose_panel(
        self, vectors: Sequence[Vector], column: str, base: str, begin: str, end: str
    ) -> None:
        """One panel of a matrix that is contiguous along k."""
        f, lanes, kind = self.f, self.plan.lanes, self.kind
        corner, width = self.rhs.at(f, 0, column), sum(vector.lanes for vector in vectors)
        whole = self.plan.packed_k // lanes * lanes
        if vectors[0].mask_name is not None:
            with f.loop(begin, end, hint="pack.k") as k:
                target = f.element(kind, base, self._offset(k, width))
                self._copy_row(corner.at(f, k, 0), vectors, "0", target)
            return

        def pack_vector(vector: Vector, first: str) -> None:
            with f.loop(begin, f.minimum(end, whole), lanes, hint="pack.k") as k:
                place = f.element(kind, base, f.add(self._offset(k, width), first))
                for inner in range(0, lanes, vector.lanes):
                    square = corner.at(f, f.add(k, inner), first)
                    target = f.element(kind, place, inner * width)
                    copy_transposed(f, kind, square, vector, target, width)

        full = sum(vector.lanes == lanes == vector.valid for vector in vectors)
        if full:
            stop = str(full * lanes)
            with f.loop("0", stop, lanes, hint="pack.vector", at_least_once=True) as first:
                pack_vector(Vector(lanes, lanes), first)
        for place, vector in list(placed(vectors))[full:]:
            pack_vector(vector, str(place))
        if is_traced(whole) or whole < self.plan.packed_k:
            # the few k that are left are copied one by one, which takes little code
            with f.loop(f.maximum(begin, whole), end, hint="pack.k") as k:
                target = f.element(kind, base, self._offset(k, width))
                self._copy_row(corner.at(f, k, 0), vectors, "0", target)

    def _offset(self, k: str, width: int) -> str:
        """Where row k of a panel lies in it."""
        return self.f.multiply(self.f.subtract(k, self.panels.origin), width)


class LeftPacker:
    """Packs the k in [begin, end) of row tiles of the left matrix, to `pointer`."""

    def __init__(self, f: FunctionWriter, plan: ProductPlan, lhs: Source, pointer: str):
        self.f, self.plan, self.lhs, self.pointer = f, plan, lhs, pointer
        self.kind, self.stride = plan.product.accumulator, plan.packed_lhs_stride

    def pack(self, tiles: tuple[str, str], begin: str, end: str) -> None:
        f, plan, (first, last) = self.f, self.plan, tiles
        if plan.packed_lhs_by_rows:
            after = f.minimum(f.multiply(last, plan.height), plan.product.m)
            self._pack_rows(first_row(f, plan, first), after, begin, end)
        else:
            self._pack_tiles(first, last, begin, end)

    def _pack_tiles(self, first: str, last: str, begin: str, end: str) -> None:
        """Tiles, each contiguous along m."""
        f, plan, kind = self.f, self.plan, self.kind
        with f.loop(first, last, hint="pack.tile") as panel:
            offset = f.multiply(f.subtract(panel, first), plan.k_block * self.stride)
            tile = f.element(kind, self.pointer, offset)
            source = self.lhs.at(f, first_row(f, plan, panel), 0)
            with f.loop(begin, end, hint="pack.k", at_least_once=True) as k:
                column = source.at(f, 0, k)
                target = f.element(kind, tile, f.multiply(f.subtract(k, begin), self.stride))
                pieces = split_columns(plan.height, plan.lanes, plan.target.masked)
                for row, piece in placed(pieces):
                    value = load_vector(f, kind, column.at(f, row, 0), piece)
                    f.store(kind, piece.lanes, f.element(kind, target, row), value)

    def _pack_rows(self, first: str, last: str, begin: str, end: str) -> None:
        """Rows, each contiguous along k."""
        f, plan, kind = self.f, self.plan, self.kind
        with f.loop(first, last, hint="pack.row") as row:
            source = self.lhs.at(f, row, 0)
            target = f.element(kind, self.pointer, f.multiply(f.subtract(row, first), self.stride))

            def copy(k: str, vector: Vector) -> None:
                value = load_vector(f, kind, source.at(f, 0, k), vector)
                place = f.element(kind, target, f.subtract(k, begin))
                f.store(kind, vector.lanes, place, value)

            if self.lhs.column_stride != 1:
                with f.loop(begin, end, hint="pack.k", at_least_once=True) as k:
                    copy(k, SCALAR)
                return
            lanes, rest = plan.lanes, plan.product.k % plan.lanes
            whole = plan.product.k - rest
            with f.loop(begin, f.minimum(end, whole), lanes, hint="pack.k") as k:
                copy(k, Vector(lanes, lanes))
            if is_traced(rest):
                with f.loop(f.maximum(begin, whole), end, hint="pack.rest") as k:
                    copy(k, SCALAR)
            elif rest:
                with f.when(f.emit(f"icmp sgt i64 {end}, {whole}"), "pack.rest"):
                    copy(str(whole), Vector(lanes, rest))


def first_row(f: FunctionWriter, plan: ProductPlan, panel: str) -> str:
    """The first row of a row tile; the last tile is moved up so that it is a whole one."""
    row = f.multiply(panel, plan.height)
    if divides(plan.height, plan.product.m):
        return row
    return f.minimum(row, plan.product.m - plan.height)
