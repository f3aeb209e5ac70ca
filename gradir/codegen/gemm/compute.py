"""The compute phase of a contraction kernel: loops over runs, blocks of k, panels and tiles."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from math import prod

from gradir.codegen.gemm.finish import Epilogue, Finish, TurnedFinish
from gradir.codegen.gemm.pack import Panels, first_row, pack_lhs, pack_rhs
from gradir.codegen.gemm.plan import GemmPlan, Operand, Vector
from gradir.codegen.gemm.tile import (
    KLoop,
    Source,
    Tile,
    add,
    element_pointer,
    mask_of,
    minimum,
    multiply,
    subtract,
)
from gradir.codegen.text.functions import FunctionText


@dataclass(frozen=True)
class Run:
    """Row tiles [first, last) of one group of column panels of one batch element.

    The group's panels are [group_first, full_last), and the narrower last one if `with_tail`, an
    i1, is true; it is None if there is no such panel.
    """

    batch: list[str]
    lhs: Source
    rhs: Source
    packed_rhs: str | None
    first: str
    last: str
    group_first: str
    full_last: str
    with_tail: str | None


@dataclass(frozen=True)
class DepthBlock:
    """A block of k; `is_first` and `is_last` are i1 values, None if it is the only one."""

    begin: str
    length: str
    is_first: str | None
    is_last: str | None


# start(f, lanes, batch, row, column, mask) loads a vector of sums that chains go on from
Start = Callable[[FunctionText, int, list[str], str, str, str | None], str]


def emit_compute(
    f: FunctionText,
    plan: GemmPlan,
    epilogue: Epilogue,
    turned: bool = False,
    start: Start | None = None,
) -> None:
    """An item is one unit, or one share of the units if shares have memory of their own."""
    if plan.units == 0:
        return
    kind = f"[{plan.slot_elements} x {plan.contraction.accumulator}]"
    slot = f.emit(f"alloca {kind}, align {plan.alignment}", "slot")
    finish = TurnedFinish(f, plan, epilogue) if turned else Finish(f, plan, epilogue)
    if not plan.shares:
        bounds = ("0", "1") if plan.units == 1 else ("%begin", "%end")
        _Compute(f, plan, finish, start, slot, "%scratch").units(*bounds)
        return
    items = min(plan.shares, plan.units)
    with f.items(items, "share") as share:
        offset = add(f, multiply(f, share, plan.share_bytes), plan.shared_bytes)
        private = element_pointer(f, "i8", "%scratch", offset)
        bounds = [
            f.emit(f"udiv i64 {multiply(f, index, plan.units)}, {items}")
            for index in (share, add(f, share, 1))
        ]
        _Compute(f, plan, finish, start, slot, private).units(*bounds)


class _Compute:
    """Writes the compute phase of one plan into one function."""

    def __init__(
        self,
        f: FunctionText,
        plan: GemmPlan,
        finish: Finish,
        start: Start | None,
        slot: str,
        private: str,
    ) -> None:
        self.f, self.plan, self.finish, self.start = f, plan, finish, start
        self.kind = plan.contraction.accumulator
        self.slots = slot if plan.k_blocks <= 1 else private
        self.packed_lhs = element_pointer(f, "i8", private, str(plan.slots_bytes))
        offset = plan.slots_bytes + plan.packed_lhs_bytes
        self.packed_rhs = element_pointer(f, "i8", private, str(offset))

    def units(self, begin: str, end: str) -> None:
        """Do the units [begin, end)."""
        with self.runs(begin, end) as run:
            if self.plan.contraction.k == 0:
                self.panels(run, None)
                return
            with self.blocks() as block:
                self.pack(run, block)
                self.panels(run, block)

    def tile(self, vectors: tuple[Vector, ...]) -> Tile:
        plan, target = self.plan, self.plan.target
        nested = bool(plan.contraction.k_outer)
        return Tile(self.kind, plan.height, vectors, target.fma, nested, target.vector_registers)

    @contextmanager
    def runs(self, begin: str, end: str) -> Generator[Run]:
        """Cut the units [begin, end) into runs of row tiles that share a column group."""
        f, plan = self.f, self.plan
        if plan.units == plan.row_panels and plan.units <= plan.run_panels:
            yield self._run(begin, end, "0")
            return
        entry, head, done = f.current_label, f.fresh("run.head"), f.fresh("run.done")
        body, latch = f.fresh("run"), f.fresh("run.latch")
        item, following = "%" + f.fresh("item"), "%" + f.fresh("item.next")
        f.line(f"br label %{head}")
        f.label(head)
        f.line(f"{item} = phi i64 [ {begin}, %{entry} ], [ {following}, %{latch} ]")
        inside = f.emit(f"icmp slt i64 {item}, {end}")
        f.line(f"br i1 {inside}, label %{body}, label %{done}")
        f.label(body)
        first, rest = divide(f, item, plan.row_panels)
        count = minimum(f, subtract(f, end, item), subtract(f, str(plan.row_panels), first))
        count = minimum(f, count, plan.run_panels)
        yield self._run(first, add(f, first, count), rest)
        f.line(f"br label %{latch}")
        f.label(latch)
        f.line(f"{following} = add nsw i64 {item}, {count}")
        f.line(f"br label %{head}")
        f.label(done)

    def _run(self, first: str, last: str, rest: str) -> Run:
        f, plan, c = self.f, self.plan, self.plan.contraction
        group, linear = divide(f, rest, plan.groups)
        if not c.batch:
            linear = "0"
        batch = batch_indices(f, linear, c.batch)
        group_first = multiply(f, group, plan.group_panels)
        with_tail = None
        if plan.tail:
            with_tail = "true"
            if plan.groups > 1:
                with_tail = f.emit(f"icmp eq i64 {group}, {plan.groups - 1}")
        packed = None
        if plan.pack_rhs == "shared":
            packed = packed_rhs(f, plan, self._rhs_batch(batch))
        elif plan.pack_rhs == "private":
            packed = self.packed_rhs
        return Run(
            batch=batch,
            lhs=at_batch(f, "%lhs", c.lhs, batch),
            rhs=at_batch(f, "%rhs", c.rhs, batch),
            packed_rhs=packed,
            first=first,
            last=last,
            group_first=group_first,
            full_last=minimum(f, add(f, group_first, plan.group_panels), plan.full_panels),
            with_tail=with_tail,
        )

    def _rhs_batch(self, batch: list[str]) -> str:
        """The linear index among the right operand's own batch elements."""
        linear = "0"
        for index, extent in zip(batch, self.plan.rhs_batch, strict=True):
            if extent != 1:
                linear = add(self.f, multiply(self.f, linear, extent), index)
        return linear

    @contextmanager
    def blocks(self) -> Generator[DepthBlock]:
        """The blocks of k, in order."""
        f, plan, k = self.f, self.plan, self.plan.contraction.k
        if plan.k_blocks == 1:
            yield DepthBlock("0", str(k), None, None)
            return
        with f.loop("0", str(k), plan.k_block, hint="block", at_least_once=True) as begin:
            left = subtract(f, str(k), begin)
            yield DepthBlock(
                begin=begin,
                length=minimum(f, left, plan.k_block),
                is_first=f.emit(f"icmp eq i64 {begin}, 0"),
                is_last=f.emit(f"icmp sle i64 {left}, {plan.k_block}"),
            )

    def pack(self, run: Run, block: DepthBlock) -> None:
        """Pack this thread's own panels."""
        f, plan = self.f, self.plan
        end = add(f, block.begin, block.length)
        if plan.pack_rhs == "private":
            panels = Panels(
                pointer=self.packed_rhs,
                panel_stride=plan.k_block * plan.width,
                origin=block.begin,
                first=run.group_first,
                last=run.full_last,
                tail=run.with_tail,
            )
            pack_rhs(f, plan, run.rhs, panels, block.begin, end)
        if plan.pack_lhs:
            tiles = (run.first, run.last)
            pack_lhs(f, plan, run.lhs, self.packed_lhs, tiles, block.begin, end)

    def panels(self, run: Run, block: DepthBlock | None) -> None:
        """All tiles of a run, column panel by column panel."""
        f, plan = self.f, self.plan
        if plan.full_panels:
            full = (Vector(plan.lanes, plan.lanes),) * plan.vectors
            with f.loop(run.group_first, run.full_last, hint="panel") as panel:
                self._tiles(run, block, panel, full)
        if run.with_tail is not None:
            with f.when(run.with_tail, "tail"):
                self._tiles(run, block, str(plan.full_panels), plan.tail)

    def _tiles(
        self, run: Run, block: DepthBlock | None, panel: str, vectors: tuple[Vector, ...]
    ) -> None:
        """All row tiles of one column panel of a run."""
        f = self.f
        rhs = None if block is None else self._rhs(run, block, panel, vectors)
        with f.loop(run.first, run.last, hint="tile") as index:
            self._tile(run, block, panel, index, self.tile(vectors), rhs)

    def _rhs(self, run: Run, block: DepthBlock, panel: str, vectors: tuple[Vector, ...]) -> Source:
        """The right operand from the first k of the block and the first column of the panel on."""
        f, plan = self.f, self.plan
        if run.packed_rhs is None:
            source = self._at_k(run.rhs, plan.contraction.rhs, run.rhs.row_stride, block.begin)
            return source.at(f, "0", multiply(f, panel, plan.width))
        width = sum(vector.lanes for vector in vectors)
        if plan.pack_rhs == "private":
            inner = subtract(f, panel, run.group_first)
            offset = multiply(f, inner, plan.k_block * plan.width)
        else:
            offset = multiply(f, panel, plan.contraction.k * plan.width)
            offset = add(f, offset, multiply(f, block.begin, width))
        return Source(element_pointer(f, self.kind, run.packed_rhs, offset), self.kind, width, 1)

    def _lhs(self, run: Run, block: DepthBlock, tile: str, row: str) -> Source:
        """The left operand from the first k of the block and the first row of the tile on."""
        f, plan = self.f, self.plan
        if not plan.pack_lhs:
            source = self._at_k(run.lhs, plan.contraction.lhs, run.lhs.column_stride, block.begin)
            return source.at(f, row, "0")
        stride = plan.packed_lhs_stride
        if plan.packed_lhs_by_rows:
            offset = multiply(f, subtract(f, row, first_row(f, plan, run.first)), stride)
        else:
            offset = multiply(f, subtract(f, tile, run.first), plan.k_block * stride)
        start = element_pointer(f, self.kind, self.packed_lhs, offset)
        strides = (stride, 1) if plan.packed_lhs_by_rows else (1, stride)
        return Source(start, self.kind, *strides)

    def _at_k(self, source: Source, operand: Operand, stride: int, begin: str) -> Source:
        """An operand in place from a k on at which a block begins."""
        c = self.plan.contraction
        if not c.k_outer:
            return source.moved(self.f, [begin], [stride])
        step = begin
        if begin != "0" and c.k_unit > 1:
            step = self.f.emit(f"udiv exact i64 {begin}, {c.k_unit}")
        return source.moved(self.f, [step], operand.outer_strides[:1])

    def _loops(self, lhs: Source, rhs: Source, length: str) -> list[KLoop]:
        """The loops over one block of k, the outermost first."""
        plan, c = self.plan, self.plan.contraction
        if not c.k_outer:
            return [KLoop(length, lhs.column_stride, rhs.row_stride)]
        left = [*c.lhs.outer_strides, lhs.column_stride]
        right = [*c.rhs.outer_strides, rhs.row_stride]
        extents = [*c.k_outer, c.k_inner]
        if plan.pack_rhs != "none":
            right = [rhs.row_stride * prod(extents[d + 1 :]) for d in range(len(extents))]
        first = length
        if c.k_unit > 1:
            first = (
                str(int(length) // c.k_unit)
                if length.isdigit()
                else self.f.emit(f"udiv exact i64 {length}, {c.k_unit}")
            )
        lengths = [first, *map(str, extents[1:])]
        return [KLoop(*row) for row in zip(lengths, left, right, strict=True)]

    def _tile(
        self,
        run: Run,
        block: DepthBlock | None,
        panel: str,
        index: str,
        tile: Tile,
        rhs: Source | None,
    ) -> None:
        """One register tile: continue its chains over one block, and finish them after the last."""
        f, plan = self.f, self.plan
        row = first_row(f, plan, index)
        if block is None or rhs is None:
            tile.store(f, self.slots, tile.zeros())
            self.finish.tile(run.batch, panel, index, row, tile, self.slots)
            return
        lhs = self._lhs(run, block, index, row)
        if block.is_first is None or block.is_last is None:
            initial = self._initial(run.batch, panel, row, tile)
            if plan.pack_rhs == "registers":
                chains = tile.contract_transposed(f, lhs, rhs, plan.contraction.k, initial)
            else:
                loops = self._loops(lhs, rhs, block.length)
                chains = tile.contract(f, lhs, rhs, loops, initial)
            tile.store(f, self.slots, chains)
            self.finish.tile(run.batch, panel, index, row, tile, self.slots)
            return
        slot = self._slot(run, panel, index)
        initial = self._initial(run.batch, panel, row, tile)
        initial = self._resume(tile, slot, block.is_first, initial)
        loops = self._loops(lhs, rhs, block.length)
        tile.store(f, slot, tile.contract(f, lhs, rhs, loops, initial))
        with f.when(block.is_last, "finish"):
            self.finish.tile(run.batch, panel, index, row, tile, slot)

    def _slot(self, run: Run, panel: str, index: str) -> str:
        """Where the accumulators of a tile wait for the next block of k."""
        f, plan = self.f, self.plan
        offset = multiply(f, subtract(f, panel, run.group_first), plan.run_panels)
        offset = add(f, offset, subtract(f, index, run.first))
        return element_pointer(f, self.kind, self.slots, multiply(f, offset, plan.slot_elements))

    def _initial(self, batch: list[str], panel: str, row: str, tile: Tile) -> list[str]:
        """What the chains of a tile begin with."""
        if self.start is None:
            return tile.zeros()
        f, first = self.f, multiply(self.f, panel, self.plan.width)
        return [
            self.start(f, v.lanes, batch, add(f, row, k), add(f, first, column), mask_of(v))
            for k, column, v in tile.places()
        ]

    def _resume(self, tile: Tile, slot: str, is_first: str, initial: list[str]) -> list[str]:
        """`initial` in the first block, else the result of the block before."""
        f = self.f
        resume, start, entry = f.fresh("resume"), f.fresh("start"), f.current_label
        f.line(f"br i1 {is_first}, label %{start}, label %{resume}")
        f.label(resume)
        loaded = tile.load(f, slot)
        f.line(f"br label %{start}")
        f.label(start)
        return [
            f.emit(
                f"phi {tile.type_of(vector)} [ {first}, %{entry} ], [ {value}, %{resume} ]",
                "acc",
            )
            for first, value, (_, _, vector) in zip(initial, loaded, tile.places(), strict=True)
        ]


def packed_rhs(f: FunctionText, plan: GemmPlan, batch: str) -> str:
    """The shared packed right operand of one of its own batch elements."""
    offset = multiply(f, batch, plan.packed_rhs_elements)
    return element_pointer(f, plan.contraction.accumulator, "%scratch", offset)


def divide(f: FunctionText, value: str, divisor: int) -> tuple[str, str]:
    """(remainder, quotient) of a value that is not negative."""
    if divisor == 1:
        return "0", value
    quotient = f.emit(f"udiv i64 {value}, {divisor}")
    return f.emit(f"urem i64 {value}, {divisor}"), quotient


def batch_indices(f: FunctionText, linear: str, extents: tuple[int, ...]) -> list[str]:
    """The index in each dimension of a row-major linear index."""
    found: list[str] = []
    outer = [extent for extent in extents if extent != 1]
    for extent in reversed(extents):
        if extent == 1:
            found.append("0")
        elif len(outer) == 1:
            found.append(linear)
        else:
            index, linear = divide(f, linear, extent)
            found.append(index)
            outer.pop()
    return found[::-1]


def at_batch(f: FunctionText, pointer: str, operand: Operand, batch: list[str]) -> Source:
    """The operand of one batch element."""
    offset = str(operand.offset)
    for index, stride in zip(batch, operand.batch_strides, strict=True):
        offset = add(f, offset, multiply(f, index, stride))
    start = element_pointer(f, operand.element, pointer, offset)
    return Source(start, operand.element, operand.row_stride, operand.column_stride)
