"""Maps with inputs that run across the output: square tiles, transposed in registers.

The vector dimension is contiguous in the output, another dimension (`across`) in some inputs. For
each tile of both, those inputs are read along `across`, transposed, and kept on the stack; then the
body runs along the vector dimension as in any map. Both sides move whole cache lines.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from gradir.codegen.bodies.emitter import LlvmValue
from gradir.codegen.nests.space import Linear, LinearRead, Pass
from gradir.codegen.nests.writer import PassWriter
from gradir.codegen.text.kinds import constant_mask, memory_kind
from gradir.dialects.base.traced_sizes import is_traced

# Elements of a tile's rows that an item goes through.
ITEM_ELEMENTS = 16384
WIDEST_TILE = 16


@dataclass(frozen=True)
class Transposition:
    """`across` is the dimension that the reads numbered `staged` are contiguous in."""

    across: int
    staged: tuple[int, ...]


def find_transposition(one: Pass) -> Transposition | None:
    """The inputs of a map that are better read along another dimension, if there are any."""
    v = one.vector_dim
    if not one.is_map or one.lanes < 4 or not _is_wide(one.bounds[v]):
        return None
    across: int | None = None
    staged: list[int] = []
    for k, read in enumerate(one.reads):
        if read is None or read.offset is None or read.guards or read.empty:
            continue
        steps = read.offset.coefficients
        if abs(steps[v]) <= 1:
            continue
        if across is None:
            across = next(
                (d for d, c in enumerate(steps) if c == 1 and _is_wide(one.bounds[d])), None
            )
        if across is not None and steps[across] == 1:
            staged.append(k)
    return None if across is None else Transposition(across, tuple(staged))


def _is_wide(extent: int) -> bool:
    """Whether a dimension may be worth a tile; one that is a value counts as long."""
    return is_traced(extent) or extent >= 4


def tile_lanes(one: Pass) -> Pass:
    """The pass with vectors that a tile is not too large for."""
    return replace(one, lanes=min(one.lanes, WIDEST_TILE))


def write_transposed_map(writer: PassWriter, transposition: Transposition) -> None:
    """All iterations of a map; an item is a few tiles beside each other."""
    one, lanes = writer.one, writer.lanes
    others = [d for d in range(len(one.bounds)) if d not in (transposition.across, one.vector_dim)]
    columns = -(-ITEM_ELEMENTS // lanes // lanes) * lanes
    blocks = [(transposition.across, lanes)]
    if is_traced(writer.loops.extent) or columns < writer.loops.extent:
        blocks.append((one.vector_dim, columns))
    with writer.items.blocks(others, blocks):
        _Tiles(writer, transposition).write()


class _Tiles:
    def __init__(self, writer: PassWriter, transposition: Transposition):
        self.writer = writer
        self.across = transposition.across
        self.lanes = writer.lanes
        with writer.f.early():
            self.stages = {k: self._new_stage(self._read(k).kind) for k in transposition.staged}

    def _new_stage(self, kind: str) -> str:
        """Memory for a tile of an input."""
        return self.writer.f.new_slots(memory_kind(kind), self.lanes, self.lanes, "stage")

    def _read(self, k: int) -> LinearRead:
        read = self.writer.one.reads[k]
        assert read is not None
        return read

    def write(self) -> None:
        """The tiles of one block of `across`, along the vector dimension."""
        writer, v = self.writer, self.writer.one.vector_dim
        span, extent = writer.loops.spans[v], writer.loops.extent
        main = extent // self.lanes * self.lanes
        if is_traced(main) or main:
            with writer.loops.groups(span, main, self.lanes) as index, writer.loops.at(v, index):
                self._tile(self.lanes)
        if main < extent:
            with writer.loops.ending(span), writer.loops.at(v, str(main)):
                self._tile(extent - main)

    def _tile(self, columns: int) -> None:
        """`columns` iterations of the vector dimension times a block of `across`."""
        writer, lanes, f = self.writer, self.lanes, self.writer.f
        span = writer.loops.spans[self.across]
        mask = constant_mask(lanes, columns) if columns < lanes else None
        height = writer.f.binary("sub nsw", "i64", 1, span.high, span.low)
        partial = writer.one.bounds[self.across] % lanes != 0
        rows_mask = writer.f.first_lanes(lanes, height) if partial else None
        with writer.loops.at(self.across, span.low):
            for k in self.stages:
                self._stage(k, columns, rows_mask)
        with f.loop(span.low, span.high, at_least_once=True) as index:
            row = writer.f.binary("sub nsw", "i64", 1, index, span.low)
            with (
                writer.loops.at(self.across, index),
                writer.arguments.given(self._staged_values(row)),
            ):
                writer.store_plain(writer.body(0, mask), 0, mask)

    def _staged_values(self, row: str) -> dict[int, LlvmValue]:
        values: dict[int, LlvmValue] = {}
        for k, stage in self.stages.items():
            kind, f = self._read(k).kind, self.writer.f
            loaded = f.load_slot(memory_kind(kind), self.lanes, stage, row)
            values[k] = LlvmValue(f.from_memory(kind, self.lanes, loaded), self.lanes)
        return values

    def _stage(self, k: int, columns: int, mask: str | None) -> None:
        """Read one vector along `across` for each column, and store the transposed tile."""
        writer, f = self.writer, self.writer.f
        read, stage = self._read(k), self.stages[k]
        offset = read.offset
        assert isinstance(offset, Linear)
        kind = memory_kind(read.kind)
        step = offset.coefficients[writer.one.vector_dim]
        base = writer.loops.address(read.pointer, kind, offset, 0)
        columns_read = [
            writer.f.load(kind, self.lanes, writer.f.address(kind, base, c * step), mask)
            for c in range(columns)
        ]
        columns_read += ["poison"] * (self.lanes - columns)
        for row, vector in enumerate(self._transposed(kind, columns_read)):
            f.store_slot(kind, self.lanes, stage, vector, row)

    def _transposed(self, kind: str, vectors: list[str]) -> list[str]:
        """Lane i of vector j becomes lane j of vector i, by interleaving halves again and again."""
        lanes, half = self.lanes, self.lanes // 2
        orders = [
            [x for k in range(half) for x in (start + k, start + k + lanes)] for start in (0, half)
        ]
        for _ in range(lanes.bit_length() - 1):
            vectors = [
                self.writer.f.shuffle(kind, lanes, vectors[k], order, vectors[k + half])
                for k in range(half)
                for order in orders
            ]
        return vectors
