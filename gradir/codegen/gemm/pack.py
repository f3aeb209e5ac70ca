"""Packing of contraction operands: contiguous panels in the accumulator's type.

Columns that a panel has but the operand has not are filled with zeros.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from gradir.codegen.gemm.plan import ELEMENT_BYTES, GemmPlan, Vector, split_columns
from gradir.codegen.gemm.tile import (
    Source,
    add,
    element_pointer,
    load_scalar,
    load_transposed,
    load_vector,
    maximum,
    minimum,
    multiply,
    store_vector,
    subtract,
)
from gradir.codegen.text.functions import FunctionText


@dataclass(frozen=True)
class Panels:
    """Column panels [first, last) of the packed right operand, panel `first` at `pointer`.

    `origin` is the k that lies at the beginning of each panel; full panels are `panel_stride`
    elements apart. `tail` is the i1 that says whether the narrower last panel follows, or None.
    """

    pointer: str
    panel_stride: int
    origin: str
    first: str
    last: str
    tail: str | None


def pack_rhs(
    f: FunctionText, plan: GemmPlan, rhs: Source, panels: Panels, begin: str, end: str
) -> None:
    """Pack rows [begin, end) of the right operand; both are multiples of the lanes or all k."""
    if rhs.row_stride == 1 and rhs.column_stride != 1:

        def write(vectors: Sequence[Vector], column: str, base: str) -> None:
            _transpose_panel(f, plan, rhs, vectors, column, base, panels.origin, begin, end)

        _each_panel(f, plan, panels, write)
        return
    # whole rows at a time: the source is then read contiguously
    with f.loop(begin, end, hint="pack.k") as k:
        row = element_pointer(f, rhs.element, rhs.pointer, multiply(f, k, rhs.row_stride))
        inner = subtract(f, k, panels.origin)

        def write_row(vectors: Sequence[Vector], column: str, base: str) -> None:
            width = sum(vector.lanes for vector in vectors)
            target = element_pointer(
                f, plan.contraction.accumulator, base, multiply(f, inner, width)
            )
            _copy_row(
                f, plan, Source(row, rhs.element, 0, rhs.column_stride), vectors, column, target
            )

        _each_panel(f, plan, panels, write_row)


def _each_panel(
    f: FunctionText,
    plan: GemmPlan,
    panels: Panels,
    write: Callable[[Sequence[Vector], str, str], None],
) -> None:
    """Call write(vectors, first column, pointer) for the full panels and for the last one."""
    kind = plan.contraction.accumulator
    if plan.full_panels:
        full = [Vector(plan.lanes, plan.lanes)] * plan.vectors
        with f.loop(panels.first, panels.last, hint="pack.panel") as panel:
            offset = multiply(f, subtract(f, panel, panels.first), panels.panel_stride)
            base = element_pointer(f, kind, panels.pointer, offset)
            write(full, multiply(f, panel, plan.width), base)
    if panels.tail is not None:
        with f.when(panels.tail, "pack.tail"):
            index = str(plan.full_panels)
            offset = multiply(f, subtract(f, index, panels.first), panels.panel_stride)
            base = element_pointer(f, kind, panels.pointer, offset)
            write(plan.tail, str(plan.full_panels * plan.width), base)


def _copy_row(
    f: FunctionText,
    plan: GemmPlan,
    row: Source,
    vectors: Sequence[Vector],
    column: str,
    target: str,
) -> None:
    """One row of one panel."""
    kind = plan.contraction.accumulator
    start = element_pointer(f, row.element, row.pointer, multiply(f, column, row.column_stride))
    if row.column_stride == 1:
        offset = 0
        for vector in vectors:
            source = element_pointer(f, row.element, start, str(offset))
            value = load_vector(f, row.element, kind, source, vector)
            store_vector(
                f, kind, value, element_pointer(f, kind, target, str(offset)), vector.lanes
            )
            offset += vector.lanes
        return
    valid = sum(vector.valid for vector in vectors)
    with f.loop("0", str(valid), hint="pack.column", at_least_once=True) as inner:
        source = element_pointer(f, row.element, start, multiply(f, inner, row.column_stride))
        value = load_scalar(f, row.element, kind, source)
        store_scalar(f, kind, value, element_pointer(f, kind, target, inner))
    for missing in range(valid, sum(vector.lanes for vector in vectors)):
        store_scalar(f, kind, "0.0", element_pointer(f, kind, target, str(missing)))


def _transpose_panel(
    f: FunctionText,
    plan: GemmPlan,
    rhs: Source,
    vectors: Sequence[Vector],
    column: str,
    base: str,
    origin: str,
    begin: str,
    end: str,
) -> None:
    """One panel of an operand that is contiguous along k."""
    kind, width = plan.contraction.accumulator, sum(vector.lanes for vector in vectors)
    start = element_pointer(f, rhs.element, rhs.pointer, multiply(f, column, rhs.column_stride))
    corner = Source(start, rhs.element, 1, rhs.column_stride)
    whole = plan.packed_k // plan.lanes * plan.lanes

    def pack_vector(vector: Vector, first: str) -> None:
        with f.loop(begin, minimum(f, end, whole), plan.lanes, hint="pack.k") as k:
            offset = multiply(f, subtract(f, k, origin), width)
            place = element_pointer(f, kind, base, add(f, offset, first))
            for inner in range(0, plan.lanes, vector.lanes):
                square = corner.at(f, add(f, k, inner), first)
                for row, value in enumerate(load_transposed(f, kind, square, vector)):
                    target = element_pointer(f, kind, place, str((inner + row) * width))
                    store_vector(f, kind, value, target, vector.lanes)

    full = sum(vector.lanes == plan.lanes == vector.valid for vector in vectors)
    if full:
        stop = str(full * plan.lanes)
        with f.loop("0", stop, plan.lanes, hint="pack.vector", at_least_once=True) as first:
            pack_vector(Vector(plan.lanes, plan.lanes), first)
    first = full * plan.lanes
    for vector in vectors[full:]:
        pack_vector(vector, str(first))
        first += vector.lanes
    if whole < plan.packed_k:
        # the few k that are left are copied one by one, which takes little code
        with f.loop(maximum(f, begin, whole), end, hint="pack.k") as k:
            inner = element_pointer(f, kind, base, multiply(f, subtract(f, k, origin), width))
            row = Source(corner.at(f, k, "0").pointer, rhs.element, 0, rhs.column_stride)
            _copy_row(f, plan, row, vectors, "0", inner)


def first_row(f: FunctionText, plan: GemmPlan, panel: str) -> str:
    """The first row of a row tile; the last tile is moved up so that it is a whole one."""
    row = multiply(f, panel, plan.height)
    if plan.contraction.m % plan.height == 0:
        return row
    return minimum(f, row, plan.contraction.m - plan.height)


def pack_lhs(
    f: FunctionText,
    plan: GemmPlan,
    lhs: Source,
    pointer: str,
    panels: tuple[str, str],
    begin: str,
    end: str,
) -> None:
    """Pack the k in [begin, end) of the row tiles [panels)."""
    first, last = panels
    if plan.packed_lhs_by_rows:
        after = minimum(f, multiply(f, last, plan.height), plan.contraction.m)
        _pack_lhs_rows(f, plan, lhs, pointer, (first_row(f, plan, first), after), begin, end)
        return
    kind, stride = plan.contraction.accumulator, plan.packed_lhs_stride
    with f.loop(first, last, hint="pack.tile") as panel:
        offset = multiply(f, subtract(f, panel, first), plan.k_block * stride)
        tile = element_pointer(f, kind, pointer, offset)
        start = element_pointer(f, lhs.element, lhs.pointer, first_row(f, plan, panel))
        with f.loop(begin, end, hint="pack.k", at_least_once=True) as k:
            source = element_pointer(f, lhs.element, start, multiply(f, k, lhs.column_stride))
            offset = multiply(f, subtract(f, k, begin), stride)
            target = element_pointer(f, kind, tile, offset)
            row = 0
            for piece in split_columns(plan.height, plan.lanes, plan.target.masked):
                place = element_pointer(f, lhs.element, source, str(row))
                value = load_vector(f, lhs.element, kind, place, piece)
                place = element_pointer(f, kind, target, str(row))
                store_vector(f, kind, value, place, piece.lanes)
                row += piece.lanes


def _pack_lhs_rows(
    f: FunctionText,
    plan: GemmPlan,
    lhs: Source,
    pointer: str,
    rows: tuple[str, str],
    begin: str,
    end: str,
) -> None:
    """Rows, each contiguous along k."""
    kind = plan.contraction.accumulator
    first, last = rows
    with f.loop(first, last, hint="pack.row") as row:
        source = element_pointer(f, lhs.element, lhs.pointer, multiply(f, row, lhs.row_stride))
        offset = multiply(f, subtract(f, row, first), plan.packed_lhs_stride)
        target = element_pointer(f, kind, pointer, offset)

        def copy(k: str, count: int) -> None:
            place = element_pointer(f, lhs.element, source, k)
            value = load_vector(f, lhs.element, kind, place, Vector(plan.lanes, count))
            inner = element_pointer(f, kind, target, subtract(f, k, begin))
            store_vector(f, kind, value, inner, plan.lanes)

        if lhs.column_stride == 1:
            rest = plan.contraction.k % plan.lanes
            whole = plan.contraction.k - rest
            with f.loop(begin, minimum(f, end, whole), plan.lanes, hint="pack.k") as k:
                copy(k, plan.lanes)
            if rest:
                with f.when(f.emit(f"icmp sgt i64 {end}, {whole}"), "pack.rest"):
                    copy(str(whole), rest)
        else:
            with f.loop(begin, end, hint="pack.k", at_least_once=True) as k:
                place = element_pointer(f, lhs.element, source, multiply(f, k, lhs.column_stride))
                value = load_scalar(f, lhs.element, kind, place)
                inner = element_pointer(f, kind, target, subtract(f, k, begin))
                store_scalar(f, kind, value, inner)


def store_scalar(f: FunctionText, kind: str, value: str, pointer: str) -> None:
    f.line(f"store {kind} {value}, ptr {pointer}, align {ELEMENT_BYTES[kind]}")
