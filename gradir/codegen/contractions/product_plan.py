"""Shapes and choices of a matrix product: how it is tiled, packed and split.

Everything here is a pure function of the shapes, the strides and the target. No choice changes a
bit of the result: each output element is one chain acc = fma(a, b, acc) for k = 0, 1, 2, ...
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from math import prod
from typing import Literal

from gradir.codegen.text.kinds import bytes_of, constant_mask, is_float
from gradir.codegen.text.target import MachineTarget
from gradir.codegen.text.writer import LINE_BYTES
from gradir.dialects.base.once import once
from gradir.dialects.base.traced_sizes import is_surely, is_traced, of_sizes

# the right operand: read in place, transposed in registers as it is read, packed once by a phase of
# its own, or packed by each share for itself
Packing = Literal["none", "registers", "shared", "private"]


# A chain of f32: over words of two bf16, or in which subnormal sums are zeros; "" for plain fma.
Chain = Literal["", "pairs", "rounded"]


@dataclass(frozen=True)
class Operand:
    """Where the elements of one operand lie; strides are in elements, 0 repeats.

    The first one is `offset` elements after the pointer; strides may be negative. Of
    several dimensions k the innermost has the stride along k, the others have `outer_strides`.
    """

    element: str
    row_stride: int
    column_stride: int
    batch_strides: tuple[int, ...] = ()
    offset: int = 0
    outer_strides: tuple[int, ...] = ()


@dataclass(frozen=True)
class Product:
    """C[b, m, n] = sum over k of lhs[b, m, k] * rhs[b, k, n], every extent static.

    `chain` is how an element goes on where that is not `acc = fma(a, b, acc)`.
    k may stand for several dimensions: `k_outer` are the extents of all but the innermost one.
    """

    batch: tuple[int, ...]
    m: int
    n: int
    k: int
    lhs: Operand
    rhs: Operand
    accumulator: str
    k_outer: tuple[int, ...] = ()
    chain: Chain = ""

    def __post_init__(self) -> None:
        sizes = [*self.batch, self.m, self.n, self.k]
        assert all(size >= 0 for size in sizes), f"negative extent in {sizes}"
        assert self.accumulator in ("f32", "f64"), self.accumulator
        for operand in (self.lhs, self.rhs):
            assert len(operand.batch_strides) == len(self.batch), "one stride per batch dimension"
            assert len(operand.outer_strides) == len(self.k_outer), "one stride per dimension k"
            assert is_float(operand.element), operand.element
            assert bytes_of(operand.element) <= self.accumulator_bytes, operand.element

    @property
    def accumulator_bytes(self) -> int:
        return bytes_of(self.accumulator)

    def transposed(self) -> Product:
        """The same sums with rows and columns exchanged: an n x m result, bit for bit equal.

        Vectors then run along m, which is what a product with n = 1 needs.
        """
        lhs, rhs = (
            replace(side, row_stride=side.column_stride, column_stride=side.row_stride)
            for side in (self.rhs, self.lhs)
        )
        return replace(self, m=self.n, n=self.m, lhs=lhs, rhs=rhs)

    @property
    def k_inner(self) -> int:
        """The extent of the innermost dimension of k."""
        return self.k // max(1, prod(self.k_outer))

    @property
    def k_unit(self) -> int:
        """How many k one step of the outermost dimension has; blocks of k are multiples of it."""
        return self.k // self.k_outer[0] if self.k_outer and self.k else 1

    @property
    def rhs_k(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """(extents, strides) of k in the right operand; dimensions that follow on are joined."""
        inner = max(1, self.k_inner)
        extents, strides = [inner], [self.rhs.row_stride]
        outer = zip(reversed(self.k_outer), reversed(self.rhs.outer_strides), strict=True)
        for extent, stride in outer:
            if stride == extents[0] * strides[0]:
                extents[0] *= extent
            else:
                extents.insert(0, extent)
                strides.insert(0, stride)
        return tuple(extents), tuple(strides)

    @property
    def flops(self) -> int:
        return 2 * prod(self.batch) * self.m * self.n * self.k


@dataclass(frozen=True)
class Vector:
    """`lanes` consecutive columns; the first `valid` of them exist.

    Where a value says how many do, `mask_name` is the mask that the function has of them.
    """

    lanes: int
    valid: int
    mask_name: str | None = None

    @property
    def mask(self) -> str | None:
        """The lanes that exist, or None if all do; a constant where their number is."""
        if self.mask_name is not None:
            return self.mask_name
        return None if self.valid == self.lanes else constant_mask(self.lanes, self.valid)


@dataclass(frozen=True)
class ProductPhase:
    """One function of a kernel; its items can be shared among threads in any way.

    `flops` counts arithmetic, `bytes` the memory that packing reads and writes.
    """

    suffix: str
    items: int
    flops: int
    bytes: int


@dataclass(frozen=True)
class ProductPlan:
    """The choices for one contraction. The first fields choose, the properties follow from them.

    The rows of C are split into tiles of `height` rows (the last tile may repeat rows of the tile
    before, and does not store them), the columns into panels of `vectors` full vectors and one
    narrower last panel. A unit of work is one row tile in one group of `group_panels` column
    panels of one batch element; units that follow each other run together, at most `run_panels`.

    If units need memory of their own, they are dealt out as `shares`, else `shares` is 0 and each
    unit is an item.
    """

    product: Product
    target: MachineTarget
    height: int
    vectors: int
    group_panels: int
    k_block: int
    run_panels: int
    pack_lhs: bool
    pack_rhs: Packing
    shares: int

    alignment = LINE_BYTES

    @once
    def lanes(self) -> int:
        return self.target.vector_bytes // self.product.accumulator_bytes

    @property
    def width(self) -> int:
        """Columns in a full panel."""
        return self.vectors * self.lanes

    @property
    def full_panels(self) -> int:
        return self.product.n // self.width

    @once
    def tail(self) -> tuple[Vector, ...]:
        """The vectors of the last, narrower column panel; empty if there is none.

        Where a value counts the columns these are as many as of any panel, with masks.
        """
        if self.has_open_columns:
            masks = (f"%tail.{k}" for k in range(self.vectors))
            return tuple(Vector(self.lanes, self.lanes, mask) for mask in masks)
        return tuple(split_columns(self.product.n % self.width, self.lanes, self.target.masked))

    @property
    def has_open_columns(self) -> bool:
        """Whether a value counts the columns."""
        return is_traced(self.product.n)

    @property
    def tail_columns(self) -> int:
        """The columns behind the full panels."""
        return self.product.n - self.full_panels * self.width

    @property
    def tail_width(self) -> int:
        return sum(vector.lanes for vector in self.tail)

    @property
    def column_panels(self) -> int:
        return -(-self.product.n // self.width)

    @property
    def groups(self) -> int:
        return -(-self.column_panels // max(self.group_panels, 1))

    @property
    def row_panels(self) -> int:
        return -(-self.product.m // max(self.height, 1))

    @property
    def units(self) -> int:
        return prod(self.product.batch) * self.groups * self.row_panels

    @property
    def share_items(self) -> int:
        """How many of the shares there are units for; all, where that is not known."""
        return self.shares if is_traced(self.units) else min(self.shares, self.units)

    @property
    def k_blocks(self) -> int:
        if is_surely(self.product.k, self.k_block):
            return 1 if is_traced(self.k_block) else min(self.k_block, 1)
        return -(-self.product.k // max(self.k_block, 1))

    @property
    def has_blocks(self) -> bool:
        """Whether there may be several blocks of k."""
        return is_traced(self.k_blocks) or self.k_blocks > 1

    @once
    def rhs_batch(self) -> tuple[int, ...]:
        """Batch extents along which the right operand really differs; 1 where it repeats."""
        c = self.product
        pairs = zip(c.batch, c.rhs.batch_strides, strict=True)
        return tuple(extent if stride else 1 for extent, stride in pairs)

    @property
    def packed_k(self) -> int:
        """How many k are packed in one go: those with equal steps in the right operand."""
        return self.product.rhs_k[0][-1]

    @property
    def packed_rhs_elements(self) -> int:
        """Elements of the whole packed right operand of one batch element."""
        return self.product.k * (self.full_panels * self.width + self.tail_width)

    @property
    def packed_lhs_by_rows(self) -> bool:
        """Packed left rows stay contiguous along k; otherwise along m, tile after tile."""
        lhs = self.product.lhs
        return lhs.column_stride == 1 or lhs.row_stride != 1

    @property
    def packed_lhs_stride(self) -> int:
        """Elements from row to row of the packed left operand, or from k to k of a tile of it.

        Rows lie an odd number of lines plus one element apart: neighbours fall into different
        cache sets, and a tile crosses into new lines one row at a time, not in all rows at once.
        """
        if not self.packed_lhs_by_rows:
            return -(-self.height // self.lanes) * self.lanes
        line = LINE_BYTES // self.product.accumulator_bytes
        return _odd_lines(self.k_block, line) * line + 1

    @property
    def widest_panel(self) -> int:
        """Columns of the widest panel there is."""
        has_full = self.has_open_columns or self.full_panels
        return max(self.width if has_full else 0, self.tail_width)

    @property
    def slot_elements(self) -> int:
        """Elements in memory for the accumulators of one tile."""
        return self.height * self.widest_panel

    @property
    def slots_bytes(self) -> int:
        """Bytes per share for accumulators between blocks of k; with one block none are needed."""
        slots = self.run_panels * self.group_panels if self.has_blocks else 0
        return _aligned(slots * self.slot_elements * self.product.accumulator_bytes)

    @property
    def packed_lhs_bytes(self) -> int:
        """Bytes per share for the packed left rows of one run and one block of k."""
        if not self.pack_lhs:
            return 0
        rows = self.run_panels * (self.height if self.packed_lhs_by_rows else self.k_block)
        elements = rows * self.packed_lhs_stride + self.lanes
        return _aligned(elements * self.product.accumulator_bytes)

    @property
    def shared_bytes(self) -> int:
        """Bytes of the scratch that the packing phase writes and all units read."""
        if self.pack_rhs != "shared":
            return 0
        elements = prod(self.rhs_batch) * self.packed_rhs_elements
        return _aligned(elements * self.product.accumulator_bytes)

    @property
    def share_bytes(self) -> int:
        """Bytes that each share needs for itself in the compute phase."""
        total = self.slots_bytes + self.packed_lhs_bytes
        if self.pack_rhs == "private":
            elements = self.group_panels * self.k_block * self.width
            total += _aligned(elements * self.product.accumulator_bytes)
        return total

    @property
    def scratch_bytes(self) -> int:
        """All the scratch memory that the caller provides, aligned to `alignment`."""
        return self.shared_bytes + self.shares * self.share_bytes

    @property
    def pack_rows(self) -> int:
        """Rows of the right operand that one item of the packing phase packs."""
        return 4 * self.lanes

    @property
    def phases(self) -> tuple[ProductPhase, ...]:
        """The phases in their order, with a barrier between two."""
        c = self.product
        items = self.share_items if self.shares else self.units
        phases = [ProductPhase("compute", items, c.flops, 0)]
        if self.pack_rhs == "shared":
            *outer, inner = c.rhs_k[0]
            chunks = prod(self.rhs_batch) * prod(outer) * -(-inner // self.pack_rows)
            moved = self.shared_bytes + c.n * c.k * bytes_of(c.rhs.element)
            phases.insert(0, ProductPhase("pack", chunks, 0, moved))
        return tuple(phases)


def placed(vectors: Iterable[Vector]) -> Iterator[tuple[int, Vector]]:
    """Vectors that follow each other, each with the column that it begins at."""
    column = 0
    for vector in vectors:
        yield column, vector
        column += vector.lanes


@of_sizes
def _odd_lines(elements: int, line: int) -> int:
    """How many lines some elements fill, or one more: an odd number."""
    return -(-elements // line) | 1


def _aligned(size: int) -> int:
    return -(-size // LINE_BYTES) * LINE_BYTES


def split_columns(columns: int, lanes: int, masked: bool = True) -> Iterator[Vector]:
    """Full vectors, then one as narrow as a power of two allows, or without masks several."""
    for _ in range(columns // lanes):
        yield Vector(lanes, lanes)
    rest = columns % lanes
    while rest:
        narrow = 1 << (rest - 1).bit_length() if masked else 1 << (rest.bit_length() - 1)
        yield Vector(narrow, min(rest, narrow))
        rest -= min(rest, narrow)
