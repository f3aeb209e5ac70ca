"""Choosing the tile, the blocks and the packing of a product from a small cost model.

Only ratios of costs matter here, so one model serves all targets.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache
from math import gcd, prod

from gradir.codegen import costs
from gradir.codegen.contractions.product_plan import (
    Operand,
    Packing,
    Product,
    ProductPlan,
    split_columns,
)
from gradir.codegen.text.kinds import bytes_of
from gradir.codegen.text.target import MachineTarget
from gradir.codegen.text.writer import LINE_BYTES
from gradir.dialects.base.traced_sizes import UnsizedError, int_of, is_surely, is_traced, plain

SHAPES_TO_COMPARE = 4
# Of a product whose rows are counted by a value: the least rows that have a plan of their own, and
# more rows than any tile has.
ROW_CLASSES, MOST_HEIGHT = (512, 32, 16, 8, 4, 2), 31
DIRECT_ROWS = 96  # with fewer rows reading a right operand in place is always cheaper
STREAM_ROWS = 512  # from this many on it pays to pack one that the L2 cache cannot hold
LATENCY_CYCLES = round(costs.LATENCY_COST / costs.CYCLE)
RUN_ROWS = 128  # so many rows of the left operand at least share the panels that a run reads
STREAMS = 16  # columns read side by side that caches and their prefetchers can follow
# Where a tile reads a line or a few of rows far apart, a block of rows is swept from end to end, so
# that prefetchers follow and translations of pages stay. More rows halve the speed, or worse.
SWEPT_LEFT, SWEPT_RIGHT = 64, 128
SWEPT_PAGES, PAGE_BYTES = 32, 4096  # half of the translations that a core keeps at hand
SWEPT_STRIDE = 256  # bytes from row to row of the left operand from which on this pays
L1_WAYS, L1_WAY_BYTES, L2_WAYS = 8, 4096, 16


def plan_product(product: Product, target: MachineTarget, threads: int = 1) -> ProductPlan:
    """Choose everything; `threads` is how many threads will probably share the work.

    The plan does not depend on where operands begin in their buffers.
    """
    offsets = product.lhs.offset, product.rhs.offset
    if all(is_surely(offset, 0) for offset in offsets):
        return _plan_from_zero(product, target, threads)
    found = _plan_from_zero(_with_offsets(product, 0, 0), target, threads)
    return replace(found, product=_with_offsets(found.product, *offsets))


def _with_offsets(c: Product, lhs: int, rhs: int) -> Product:
    """The product of operands that begin elsewhere in their buffers."""
    return replace(c, lhs=replace(c.lhs, offset=lhs), rhs=replace(c.rhs, offset=rhs))


@lru_cache(maxsize=1024)
def _plan_from_zero(product: Product, target: MachineTarget, threads: int) -> ProductPlan:
    """The plan of a product whose operands begin where their buffers do."""
    c = _normalized(product)
    if has_sizes(c):
        return _sized_plan(c, target, threads)
    if not (prod(c.batch) and c.m and c.n and c.k):
        return _trivial(c, target)
    few_rows = c.m <= target.vector_registers // 2 and not c.k_outer
    if few_rows and c.rhs.row_stride == 1 != c.rhs.column_stride:
        return _transposing(c, target, threads)
    shapes = sorted(_shapes(c, target))[:SHAPES_TO_COMPARE]
    candidates = [
        candidate
        for _, height, vectors in shapes
        for candidate in _variants(c, target, height, vectors, threads)
    ]
    return min(candidates, key=lambda candidate: product_cost(candidate, threads))


def has_sizes(c: Product) -> bool:
    """Whether an extent of a product is a value of the program."""
    return any(map(is_traced, (*c.batch, c.m, c.n, c.k, *c.k_outer)))


def _sized_plan(c: Product, target: MachineTarget, threads: int) -> ProductPlan:
    """The plan of a product some of whose extents are values: chosen by the numbers of this call.

    It is right for all numbers of rows that a tile has, and of k; guards keep it to numbers for
    which another plan would hardly be better.
    """
    if any(map(is_traced, c.k_outer)):
        raise UnsizedError("a product that sums over several dimensions, one of them named")
    if not (prod(c.batch) and c.m and c.n and c.k):
        return _trivial(c, target)
    rows = _in_class(c.m)
    numbers = replace(with_numbers(c), m=rows, n=_in_class(c.n))
    shapes = sorted(_shapes(numbers, target))[:SHAPES_TO_COMPARE]
    candidates = [
        candidate
        for _, height, vectors in shapes
        for candidate in _variants(numbers, target, height, vectors, threads)
    ]
    best = min(candidates, key=lambda candidate: product_cost(candidate, threads))
    k_block = best.k_block
    if is_traced(c.k):
        is_whole = best.height >= rows or _k_block(c, target, best.width) is c.k
        k_block = c.k if is_whole and k_block == numbers.k else k_block
    made = replace(best, product=c, k_block=k_block)
    has_own_memory = is_traced(made.share_bytes) or made.share_bytes
    return replace(made, shares=threads) if has_own_memory and not made.shares else made


def _in_class(extent: int) -> int:
    """The number of rows or columns that a plan is chosen for."""
    if not is_traced(extent):
        return extent
    least = next((rows for rows in ROW_CLASSES if extent >= rows), 1)
    return int_of(extent) if least > MOST_HEIGHT else least


def with_numbers(c: Product) -> Product:
    """A product with the numbers of this call."""

    def numbers(operand: Operand) -> Operand:
        return replace(
            operand,
            row_stride=int_of(operand.row_stride),
            column_stride=int_of(operand.column_stride),
            batch_strides=plain(operand.batch_strides),
            offset=int_of(operand.offset),
            outer_strides=plain(operand.outer_strides),
        )

    lhs, rhs = numbers(c.lhs), numbers(c.rhs)
    m, n, k = map(int_of, (c.m, c.n, c.k))
    return replace(c, batch=plain(c.batch), m=m, n=n, k=k, lhs=lhs, rhs=rhs)


def _normalized(c: Product) -> Product:
    """Strides along extents of 1 say nothing; choose the ones that are easy to read."""

    def easy(operand: Operand, rows: int, columns: int) -> Operand:
        row, column = operand.row_stride, operand.column_stride
        if columns == 1:
            column = 1
        elif rows == 1:
            row = columns if column == 1 else 1
        batch = tuple(
            s if e > 1 else 0 for s, e in zip(operand.batch_strides, c.batch, strict=True)
        )
        return replace(operand, row_stride=row, column_stride=column, batch_strides=batch)

    return replace(c, lhs=easy(c.lhs, c.m, c.k), rhs=easy(c.rhs, c.k, c.n))


def _trivial(c: Product, target: MachineTarget) -> ProductPlan:
    """Nothing to compute: at most the epilogue of zeros."""
    height = max(1, min(c.m, 4))
    return ProductPlan(c, target, height, 1, max(c.n, 1), c.k, max(c.m, 1), False, "none", 0)


def _transposing(c: Product, target: MachineTarget, threads: int) -> ProductPlan:
    """One row tile: each block of the right operand is needed once, so it is not stored."""
    lanes = target.vector_bytes // c.accumulator_bytes
    # enough chains to hide their latency, but few columns, as each is a stream in memory
    vectors = max(1, min(STREAMS // lanes, -(-LATENCY_CYCLES // c.m), -(-c.n // lanes)))
    panels = -(-c.n // (vectors * lanes))
    group = panels if threads == 1 else -(-panels // (4 * threads))
    distance = gcd(c.lhs.row_stride * bytes_of(c.lhs.element), L1_WAY_BYTES)
    pack_lhs = c.lhs.element != c.accumulator or c.m * distance >= L1_WAYS // 2 * L1_WAY_BYTES
    pack_lhs = pack_lhs and group > 4
    shares = threads if pack_lhs else 0
    return ProductPlan(c, target, c.m, vectors, group, c.k, 1, pack_lhs, "registers", shares)


def _shapes(c: Product, target: MachineTarget) -> Iterator[tuple[float, int, int]]:
    """(cost, height, vectors) of the tile shapes that fit the registers."""
    lanes = target.vector_bytes // c.accumulator_bytes
    columns = -(-c.n // lanes)
    for vectors in range(1, min(columns, target.vector_registers // 2) + 1):
        tail = len(list(split_columns(c.n % (vectors * lanes), lanes, target.masked)))
        limit = _highest(c, target, max(vectors, tail))
        heights = {-(-c.m // -(-c.m // height)) for height in range(1, min(limit, c.m) + 1)}
        for height in heights:
            full = c.n // (vectors * lanes) * _tile_cost(c, height, vectors)
            cost = -(-c.m // height) * (full + (_tile_cost(c, height, tail) if tail else 0))
            yield cost * (1 + costs.CODE_PART * height * vectors), height, vectors


def _highest(c: Product, target: MachineTarget, vectors: int) -> int:
    """The most rows whose accumulators fit, next to the vectors and one broadcast scalar."""
    registers = target.vector_registers
    if vectors == 1:
        embedded = target.embedded_broadcast and c.lhs.element == c.accumulator
        return registers - (2 if embedded else 3)
    return (registers - vectors - 1) // vectors


def _tile_cost(c: Product, height: int, vectors: int, blocks: int = 1) -> float:
    overhead = costs.TILE_COST + costs.ACCUMULATOR_COST * height * vectors
    return c.k * _step_cost(height, vectors) + blocks * overhead


def _step_cost(height: int, vectors: int) -> float:
    """One k of one tile; a row crosses into a new line once in many k."""
    loads, lines = height + vectors, height / 16 + vectors
    busy = max(costs.START_COST * max(height * vectors, loads), costs.LATENCY_COST)
    return busy + costs.OVERLAPPED_LOAD_COST * loads + costs.LINE_COST * lines


def _variants(
    c: Product, target: MachineTarget, height: int, vectors: int, threads: int
) -> Iterator[ProductPlan]:
    """Plans with this tile: numbers of column groups, ways of packing."""
    lanes = target.vector_bytes // c.accumulator_bytes
    width = vectors * lanes
    k_block = c.k if height >= c.m else _k_block(c, target, width)
    rows = max(1, target.l2_bytes // 2 // (k_block * c.accumulator_bytes))
    run_panels = max(1, min(-(-c.m // height), rows // height))
    panels = -(-c.n // width)
    base = ProductPlan(c, target, height, vectors, panels, k_block, run_panels, False, "none", 0)
    base = replace(base, pack_lhs=_pack_lhs(base))
    for packing in _packings(base):
        packed = _swept(replace(base, pack_rhs=packing))
        # groups of about as many panels, since threads have equally many units
        least = -(-panels // _most_panels(packed))
        counts = {1, 2, 3, 4, threads, 2 * threads, 4 * threads, panels}
        for group_panels in dict.fromkeys(-(-panels // max(count, least)) for count in counts):
            candidate = replace(packed, group_panels=group_panels)
            yield replace(candidate, shares=threads) if candidate.share_bytes else candidate


def _most_panels(p: ProductPlan) -> int:
    """The most column panels of a group, so that what a share keeps stays in the L2 cache."""
    size, l2 = p.product.accumulator_bytes, p.target.l2_bytes
    most = p.column_panels
    if p.k_blocks > 1:
        most = min(most, l2 // 2 // (p.run_panels * p.slot_elements * size))
    if p.pack_rhs == "private":
        most = min(most, l2 // 4 // (p.k_block * p.width * size))
    return max(1, most)


def _swept(p: ProductPlan) -> ProductPlan:
    """The plan in smaller blocks of k where tiles read only a part of rows that are far apart."""
    c = p.product
    most = _swept_rows(p)
    if c.k_outer or p.row_panels == 1 or c.k <= 2 * most:
        return p
    blocks = -(-c.k // most)
    k_block = -(-c.k // (blocks * p.lanes)) * p.lanes
    slots = p.target.l2_bytes // 8 // (p.slot_elements * c.accumulator_bytes)
    runs = max(1, round(p.row_panels / max(slots, 1)))
    return replace(p, k_block=k_block, run_panels=-(-p.row_panels // runs))


def _swept_rows(p: ProductPlan) -> int:
    """How many k to read at a time; all, where rows are near or their tiles are packed."""
    c = p.product
    left, right = (
        abs(stride) * bytes_of(operand.element)
        for operand, stride in ((c.lhs, c.lhs.column_stride), (c.rhs, c.rhs.row_stride))
    )
    if c.lhs.row_stride == 1 and not p.pack_lhs and left >= SWEPT_STRIDE:
        return max(SWEPT_LEFT // 2, min(SWEPT_LEFT, SWEPT_PAGES * PAGE_BYTES // left))
    if p.pack_rhs == "none" and p.column_panels > 1 and right * c.k > p.target.l2_bytes // 2:
        return SWEPT_RIGHT
    return c.k


def _k_block(c: Product, target: MachineTarget, width: int) -> int:
    """How many k to do at a time, so that a panel and the rows of a run stay in the L2 cache."""
    lanes = target.vector_bytes // c.accumulator_bytes
    size = c.accumulator_bytes
    limit = max(4 * lanes, target.l2_bytes // 4 // (width * size))
    if c.k * c.n * size > target.l2_bytes:
        # each run reads the right operand anew
        limit = max(4 * lanes, min(limit, target.l2_bytes // 2 // (min(c.m, RUN_ROWS) * size)))
    if c.k <= limit + limit // 4:
        return c.k
    if is_traced(c.k):
        return int_of(c.k)
    if c.k_outer:
        blocks = -(-c.k_outer[0] // max(1, limit // c.k_unit))
        return -(-c.k_outer[0] // blocks) * c.k_unit
    blocks = -(-c.k // limit)
    return -(-c.k // (blocks * lanes)) * lanes


def _collides(count: int, stride: int, element: str, target: MachineTarget) -> bool:
    """Whether `count` lines at this distance throw each other out of the L2 cache."""
    distance = gcd(stride * bytes_of(element), target.l2_bytes // L2_WAYS)
    return count * distance > target.l2_bytes


def _pack_lhs(p: ProductPlan) -> bool:
    """Whether the left operand is worth packing: it is read once per column panel."""
    c = p.product
    if c.k_outer:
        return False  # read in place, dimension by dimension
    if c.lhs.element != c.accumulator:
        return p.column_panels > 1
    if c.lhs.column_stride == 1:
        return False  # rows are streams, which caches fetch ahead
    awkward = _collides(p.k_block, c.lhs.column_stride, c.lhs.element, p.target)
    return awkward and p.column_panels > 4


def _packings(p: ProductPlan) -> list[Packing]:
    """The sensible ways to treat the right operand: it is read once per row tile."""
    c = p.product
    packed: list[Packing] = ["shared"]
    if p.row_panels <= p.run_panels and not c.k_outer:
        packed.append("private")
    if c.rhs.column_stride != 1:
        return packed
    if c.rhs.element != c.accumulator:
        return packed if p.row_panels > 1 else ["none"]
    if c.m >= DIRECT_ROWS and _scatters(p):
        return [*packed, "none"]
    large = c.k * c.n * bytes_of(c.rhs.element) >= p.target.l2_bytes
    awkward = _collides(p.k_block, c.rhs.row_stride, c.rhs.element, p.target)
    wanted = c.m >= (DIRECT_ROWS if awkward else STREAM_ROWS)
    return packed if large and wanted else ["none"]


def _scatters(p: ProductPlan) -> bool:
    """Whether a narrow panel of the right operand lies in few sets of the L1 cache, which
    would hold the whole panel if it was packed."""
    c = p.product
    distance = gcd(c.rhs.row_stride * bytes_of(c.rhs.element), L1_WAY_BYTES)
    cache, panel = L1_WAYS * L1_WAY_BYTES, p.width * c.accumulator_bytes
    return panel < 2 * LINE_BYTES and p.k_block * panel <= cache < p.k_block * distance


def product_cost(p: ProductPlan, threads: int) -> float:
    """Estimated nanoseconds until the last thread is done, to compare plans of one product."""
    c = p.product
    tail = _tile_cost(c, p.height, len(p.tail), p.k_blocks) if p.tail else 0.0
    row = p.full_panels * _tile_cost(c, p.height, p.vectors, p.k_blocks) + tail
    tiles = prod(c.batch) * p.row_panels * row
    tiles *= 1 + costs.CODE_PART * p.height * p.vectors + costs.GROUP_PART * (p.groups - 1)
    if p.pack_rhs == "none" and c.rhs.column_stride == 1 and _scatters(p):
        tiles *= 1 + costs.SCATTERED_PART
    busy = _busiest_part(p, threads)
    moved = costs.COPY_COST if c.rhs.column_stride == 1 else costs.TRANSPOSE_COST
    pack = moved * p.packed_rhs_elements / p.lanes
    if p.pack_rhs == "shared":
        barrier = costs.PACKED_BARRIER_COST if threads > 1 else 0.0
        return tiles * busy + prod(p.rhs_batch) * pack / threads + barrier
    if p.pack_rhs == "private":
        groups = -(-prod(c.batch) * p.groups // threads)
        return tiles * busy + groups * pack / p.groups
    return tiles * busy


def _busiest_part(p: ProductPlan, threads: int) -> float:
    """The part of all tiles that the thread with most of them computes.

    Shares have equally many units, and those of the last group of panels are smaller.
    """
    tiles = p.row_panels * p.column_panels
    batches, units = divmod(-(-p.units // threads), p.groups * p.row_panels)
    most = batches * tiles + min(units * p.group_panels, tiles)
    return most / (prod(p.product.batch) * tiles)
