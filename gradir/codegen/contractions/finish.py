"""The end of a register tile: its accumulators go from memory through the epilogue, as vectors.

They run along the columns, as in the tile, or along the rows, for results that are contiguous so.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from gradir.codegen.contractions.product_plan import ProductPlan, Vector, placed, split_columns
from gradir.codegen.contractions.squares import transpose
from gradir.codegen.contractions.tile import Tile
from gradir.codegen.text.writer import FunctionWriter
from gradir.dialects.base.traced_sizes import is_traced


@dataclass(frozen=True)
class ResultPlace:
    """Where a vector of sums lies in the result: consecutive columns of one row from `column` on,
    or if results are turned consecutive rows of one column from `row` on."""

    batch: list[str]
    row: str
    column: str
    vector: Vector


# epilogue(f, sums, place) writes the stores of one vector; start(f, place) loads one, which chains
# go on from
Epilogue = Callable[[FunctionWriter, str, ResultPlace], None]
Start = Callable[[FunctionWriter, ResultPlace], str]


class Finish:
    """Hands accumulators to the epilogue, one row at a time."""

    def __init__(self, f: FunctionWriter, plan: ProductPlan, epilogue: Epilogue) -> None:
        self.f, self.plan, self.epilogue = f, plan, epilogue
        self.kind = plan.product.accumulator

    def tile(
        self, batch: list[str], panel: str, index: str, row: str, tile: Tile, slot: str
    ) -> None:
        """The tile `index` of a column panel, which begins at `row`, in the memory at `slot`."""
        f, plan = self.f, self.plan
        first = f.multiply(panel, plan.width)
        # rows that the last tile repeats were finished by the tile before
        repeated = f.subtract(f.multiply(index, plan.height), row)
        with f.loop(repeated, str(tile.height), hint="row", at_least_once=True) as inner:
            base = f.element(self.kind, slot, f.multiply(inner, tile.width))
            place = f.add(row, inner)
            for column, vector in placed(tile.vectors):
                value = f.load(self.kind, vector.lanes, f.element(self.kind, base, column))
                self.epilogue(f, value, ResultPlace(batch, place, f.add(first, column), vector))


class TurnedFinish(Finish):
    """Transposes a tile in memory, and hands it to the epilogue one column at a time."""

    def __init__(self, f: FunctionWriter, plan: ProductPlan, epilogue: Epilogue) -> None:
        super().__init__(f, plan, epilogue)
        # rows of the transposed tile, whole vectors each
        self.stride = -(-plan.height // plan.lanes) * plan.lanes
        size = self.stride * plan.widest_panel
        self.turned = f.allocate(self.kind, size, plan.alignment, "turned")

    def tile(
        self, batch: list[str], panel: str, index: str, row: str, tile: Tile, slot: str
    ) -> None:
        f, plan = self.f, self.plan
        self._turn(tile, slot)
        first = f.multiply(panel, plan.width)
        is_tail = tile.vectors[0].mask_name is not None
        valid = sum(vector.valid for vector in tile.vectors)
        columns = str(plan.tail_columns if is_tail else valid)
        if is_traced(plan.product.m):
            repeated = f.subtract(f.multiply(index, plan.height), row)
            some = f.emit(f"icmp sgt i64 {repeated}, 0")
            with f.when(some, "last"):
                self._single_rows(batch, first, row, repeated, columns)
            starts = [(0, f.emit(f"icmp eq i64 {repeated}, 0"))]
        else:
            starts = self._starts(index)
        for start, condition in starts:
            with (
                f.when(condition, "finish"),
                f.loop("0", columns, hint="column", at_least_once=True) as column,
            ):
                base = f.element(self.kind, self.turned, f.multiply(column, self.stride))
                pieces = split_columns(tile.height - start, plan.lanes, plan.target.masked)
                for place, piece in placed(pieces):
                    at = f.element(self.kind, base, start + place)
                    value = f.load(self.kind, piece.lanes, at)
                    below = f.add(row, start + place)
                    self.epilogue(f, value, ResultPlace(batch, below, f.add(first, column), piece))

    def _single_rows(
        self, batch: list[str], first: str, row: str, repeated: str, columns: str
    ) -> None:
        """The rows of a tile from `repeated` on, element by element."""
        f = self.f
        with (
            f.loop("0", columns, hint="column", at_least_once=True) as column,
            f.loop(repeated, str(self.plan.height), hint="row") as inner,
        ):
            base = f.element(self.kind, self.turned, f.multiply(column, self.stride))
            value = f.load(self.kind, 1, f.element(self.kind, base, inner))
            place = f.add(row, inner), f.add(first, column)
            self.epilogue(f, value, ResultPlace(batch, *place, Vector(1, 1)))

    def _starts(self, index: str) -> list[tuple[int, str | None]]:
        """From which row of the tile on to finish, and when: the last tile repeats some."""
        f, plan = self.f, self.plan
        rest = plan.product.m % plan.height
        if not rest:
            return [(0, None)]
        last = plan.row_panels - 1
        is_last = f.emit(f"icmp eq i64 {index}, {last}")
        is_other = f.emit(f"icmp ne i64 {index}, {last}")
        return [(0, is_other), (plan.height - rest, is_last)]

    def _turn(self, tile: Tile, slot: str) -> None:
        """The tile with rows and columns exchanged, square by square."""
        f, kind = self.f, self.kind
        for first, vector in placed(tile.vectors):
            for top in range(0, tile.height, vector.lanes):
                rows = ["zeroinitializer"] * vector.lanes
                for row in range(top, min(top + vector.lanes, tile.height)):
                    place = f.element(kind, slot, row * tile.width + first)
                    rows[row - top] = f.load(kind, vector.lanes, place)
                for column, value in enumerate(transpose(f, kind, rows)[: vector.valid]):
                    offset = (first + column) * self.stride + top
                    f.store(kind, vector.lanes, f.element(kind, self.turned, offset), value)
