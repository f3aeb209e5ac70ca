"""The end of a register tile: its accumulators go from memory through the epilogue, as vectors.

They run along the columns, as in the tile, or along the rows, for results that are contiguous so.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager

from gradir.codegen.gemm.plan import GemmPlan, Vector, split_columns
from gradir.codegen.gemm.tile import (
    Tile,
    add,
    element_pointer,
    load_vector,
    mask_of,
    multiply,
    store_vector,
    subtract,
    transpose,
)
from gradir.codegen.text.functions import FunctionText

# epilogue(f, accumulator, lanes, batch, row, column, mask) writes the stores of one vector:
# `lanes` consecutive columns of one row from `column` on (or, turned, rows of one column from `row`
# on), of which a constant mask says the valid
Epilogue = Callable[[FunctionText, str, int, list[str], str, str, str | None], None]


class Finish:
    """Hands accumulators to the epilogue, one row at a time."""

    def __init__(self, f: FunctionText, plan: GemmPlan, epilogue: Epilogue) -> None:
        self.f, self.plan, self.epilogue = f, plan, epilogue
        self.kind = plan.contraction.accumulator

    def tile(
        self, batch: list[str], panel: str, index: str, row: str, tile: Tile, slot: str
    ) -> None:
        """The tile `index` of a column panel, which begins at `row`, in the memory at `slot`."""
        f, plan = self.f, self.plan
        first = multiply(f, panel, plan.width)
        # rows that the last tile repeats were finished by the tile before
        repeated = subtract(f, multiply(f, index, plan.height), row)
        with f.loop(repeated, str(tile.height), hint="row", at_least_once=True) as inner:
            base = element_pointer(f, self.kind, slot, multiply(f, inner, tile.width))
            place = add(f, row, inner)
            column = 0
            for vector in tile.vectors:
                value = self.load(element_pointer(f, self.kind, base, str(column)), vector.lanes)
                self.epilogue(
                    f, value, vector.lanes, batch, place, add(f, first, column), mask_of(vector)
                )
                column += vector.lanes

    def load(self, pointer: str, lanes: int) -> str:
        return load_vector(self.f, self.kind, self.kind, pointer, Vector(lanes, lanes))


class TurnedFinish(Finish):
    """Transposes a tile in memory, and hands it to the epilogue one column at a time."""

    def __init__(self, f: FunctionText, plan: GemmPlan, epilogue: Epilogue) -> None:
        super().__init__(f, plan, epilogue)
        # rows of the transposed tile, whole vectors each
        self.stride = -(-plan.height // plan.lanes) * plan.lanes
        size = self.stride * max(plan.width if plan.full_panels else 0, plan.tail_width)
        kind = f"[{size} x {self.kind}]"
        self.turned = f.emit(f"alloca {kind}, align {plan.alignment}", "turned")

    def tile(
        self, batch: list[str], panel: str, index: str, row: str, tile: Tile, slot: str
    ) -> None:
        f, plan = self.f, self.plan
        self._turn(tile, slot)
        first = multiply(f, panel, plan.width)
        columns = sum(vector.valid for vector in tile.vectors)
        for start, condition in self._starts(index):
            with (
                self._when(condition),
                f.loop("0", str(columns), hint="column", at_least_once=True) as column,
            ):
                base = element_pointer(f, self.kind, self.turned, multiply(f, column, self.stride))
                place = start
                for piece in split_columns(tile.height - start, plan.lanes, plan.target.masked):
                    value = self.load(element_pointer(f, self.kind, base, str(place)), piece.lanes)
                    self.epilogue(
                        f, value, piece.lanes, batch, add(f, row, place), add(f, first, column),
                        mask_of(piece),
                    )  # fmt: skip
                    place += piece.lanes

    def _starts(self, index: str) -> list[tuple[int, str | None]]:
        """From which row of the tile on to finish, and when: the last tile repeats some."""
        f, plan = self.f, self.plan
        rest = plan.contraction.m % plan.height
        if not rest:
            return [(0, None)]
        last = plan.row_panels - 1
        is_last = f.emit(f"icmp eq i64 {index}, {last}")
        is_other = f.emit(f"icmp ne i64 {index}, {last}")
        return [(0, is_other), (plan.height - rest, is_last)]

    @contextmanager
    def _when(self, condition: str | None) -> Generator[None]:
        if condition is None:
            yield
        else:
            with self.f.when(condition, "finish"):
                yield

    def _turn(self, tile: Tile, slot: str) -> None:
        """The tile with rows and columns exchanged, square by square."""
        f, first = self.f, 0
        for vector in tile.vectors:
            for top in range(0, tile.height, vector.lanes):
                rows: list[str] = []
                for row in range(top, top + vector.lanes):
                    if row < tile.height:
                        place = element_pointer(f, self.kind, slot, str(row * tile.width + first))
                        rows.append(self.load(place, vector.lanes))
                    else:
                        rows.append("zeroinitializer")
                for column, value in enumerate(transpose(f, self.kind, rows)[: vector.valid]):
                    offset = (first + column) * self.stride + top
                    place = element_pointer(f, self.kind, self.turned, str(offset))
                    store_vector(f, self.kind, value, place, vector.lanes)
            first += vector.lanes
