"""A matrix product as LLVM text: C = epilogue(sum over k of A[b, m, k] * B[b, k, n]).

    p = plan_product(product, target, threads)   # tiles, packing, phases, scratch bytes
    text = emit_product(p, "dense", epilogue)    # @dense.compute and before it perhaps @dense.pack

Each phase is one function that does the work items [%begin, %end). Items of one phase are
independent of each other; a barrier stands between phases.

Every output element is one chain acc = fma(a, b, acc) for k = 0, 1, 2, ... from 0, so its bits
depend on neither the vectors, the tiles nor the number of threads. (On a target without fma the
product is rounded before it is added.) The text is good code as it stands: it needs no optimizer
pass, and is compiled in half the time without.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from math import prod

from gradir.codegen.contractions.finish import Epilogue, Finish, ResultPlace, Start, TurnedFinish
from gradir.codegen.contractions.operands import Source, at_batch
from gradir.codegen.contractions.pack import (
    LeftPacker,
    Panels,
    RightPacker,
    column_panels,
    first_row,
)
from gradir.codegen.contractions.product_plan import Operand, ProductPlan, Vector
from gradir.codegen.contractions.tile import KLoop, Tile
from gradir.codegen.text.functions import Needs, is_number
from gradir.codegen.text.kinds import llvm_type
from gradir.codegen.text.writer import FunctionWriter
from gradir.dialects.base.traced_sizes import is_traced

PARAMETERS = (
    "ptr noalias readonly %lhs, ptr noalias readonly %rhs, ptr noalias %scratch, "
    "ptr noalias %out, i64 %begin, i64 %end"
)


class ProductLoops:
    """The loops of a product, in one function: `write` is the schedule, the rest its steps.

    `slot` is memory for the sums of one tile, `private` memory of this share of the work.
    """

    def __init__(
        self,
        f: FunctionWriter,
        plan: ProductPlan,
        finish: Finish,
        start: Start | None,
        slot: str,
        private: str,
    ) -> None:
        self.f, self.plan, self.finish, self.start = f, plan, finish, start
        self.kind = plan.product.accumulator
        self.slots = private if plan.has_blocks else slot
        self.packed_lhs = f.element("i8", private, plan.slots_bytes)
        self.packed_rhs = f.element("i8", private, plan.slots_bytes + plan.packed_lhs_bytes)

    def write(self, begin: str, end: str) -> None:
        """The units [begin, end): row tiles in column panels, a block of k at a time."""
        f, plan = self.f, self.plan
        with self.runs(begin, end) as run, self.blocks() as block:
            self.pack_rhs(run, block)
            self.pack_lhs(run, block)
            for columns in column_panels(f, plan, *run.panels, run.with_tail):
                with columns as (panel, vectors):
                    tile, rhs = self.tile(vectors), self.rhs(run, block, panel, vectors)
                    with f.loop(run.first, run.last, hint="tile") as index:
                        row = first_row(f, plan, index)
                        lhs = self.lhs(run, block, index, row)
                        slot = self.slot(run, panel, index)
                        chains = self.begin(run, block, panel, row, tile, slot)
                        tile.store(f, slot, self.contract(tile, lhs, rhs, block, chains))
                        with f.when(block.is_last, "finish"):
                            self.finish.tile(run.batch, panel, index, row, tile, slot)

    # Loops.

    @contextmanager
    def runs(self, begin: str, end: str) -> Generator[Run]:
        """Cut the units [begin, end) into runs of row tiles that share a column group."""
        f, plan = self.f, self.plan
        if not is_traced(plan.units) and plan.units == plan.row_panels <= plan.run_panels:
            yield self._run(begin, end, "0")
            return
        count = "0"
        with f.loop(begin, end, lambda: count, hint="run") as item:
            first, rest = f.divide(item, plan.row_panels)
            count = f.minimum(f.subtract(end, item), f.subtract(str(plan.row_panels), first))
            count = f.minimum(count, plan.run_panels)
            yield self._run(first, f.add(first, count), rest)

    def _run(self, first: str, last: str, rest: str) -> Run:
        f, plan, c = self.f, self.plan, self.plan.product
        group, linear = f.divide(rest, plan.groups)
        batch = f.digits(linear, c.batch)
        group_first = f.multiply(group, plan.group_panels)
        with_tail = has_tail(f, plan)
        if with_tail is not None and (is_traced(plan.groups) or plan.groups > 1):
            is_last = f.emit(f"icmp eq i64 {group}, {plan.groups - 1}")
            is_sure = with_tail == "true"
            with_tail = is_last if is_sure else f.binary("and", "i1", 1, with_tail, is_last)
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
            panels=(
                group_first,
                f.minimum(f.add(group_first, plan.group_panels), plan.full_panels),
            ),
            with_tail=with_tail,
        )

    def _rhs_batch(self, batch: list[str]) -> str:
        """The linear index among the right matrix's own batch elements."""
        linear = "0"
        for index, extent in zip(batch, self.plan.rhs_batch, strict=True):
            if is_traced(extent) or extent != 1:
                linear = self.f.add(self.f.multiply(linear, extent), index)
        return linear

    @contextmanager
    def blocks(self) -> Generator[DepthBlock]:
        """The blocks of k, in order."""
        f, plan, k = self.f, self.plan, self.plan.product.k
        if not plan.has_blocks:
            yield DepthBlock("0", str(k), None, None)
            return
        with f.loop("0", str(k), plan.k_block, hint="block", at_least_once=True) as begin:
            left = f.subtract(str(k), begin)
            yield DepthBlock(
                begin=begin,
                length=f.minimum(left, plan.k_block),
                is_first=f.emit(f"icmp eq i64 {begin}, 0"),
                is_last=f.emit(f"icmp sle i64 {left}, {plan.k_block}"),
            )

    # Packing, for this share alone.

    def pack_rhs(self, run: Run, block: DepthBlock) -> None:
        f, plan = self.f, self.plan
        if plan.pack_rhs != "private":
            return
        first, last = run.panels
        panels = Panels(
            pointer=self.packed_rhs,
            panel_stride=plan.k_block * plan.width,
            origin=block.begin,
            first=first,
            last=last,
            tail=run.with_tail,
        )
        end = f.add(block.begin, block.length)
        RightPacker(f, plan, run.rhs, panels).pack(block.begin, end)

    def pack_lhs(self, run: Run, block: DepthBlock) -> None:
        f, plan = self.f, self.plan
        if plan.pack_lhs:
            packer = LeftPacker(f, plan, run.lhs, self.packed_lhs)
            end = f.add(block.begin, block.length)
            packer.pack((run.first, run.last), block.begin, end)

    # One tile.

    def tile(self, vectors: tuple[Vector, ...]) -> Tile:
        plan, target = self.plan, self.plan.target
        nested = bool(plan.product.k_outer)
        registers, chain = target.vector_registers, plan.product.chain
        flushes = chain == "rounded" and not target.flushes
        return Tile(self.kind, plan.height, vectors, target.fma, nested, registers, chain, flushes)

    def rhs(self, run: Run, block: DepthBlock, panel: str, vectors: tuple[Vector, ...]) -> Source:
        """The right matrix from the first k of the block and the first column of the panel on."""
        f, plan = self.f, self.plan
        if run.packed_rhs is None:
            source = self._at_k(run.rhs, plan.product.rhs, run.rhs.row_stride, block.begin)
            return source.at(f, 0, f.multiply(panel, plan.width))
        width = sum(vector.lanes for vector in vectors)
        if plan.pack_rhs == "private":
            inner = f.subtract(panel, run.panels[0])
            offset = f.multiply(inner, plan.k_block * plan.width)
        else:
            offset = f.multiply(panel, plan.product.k * plan.width)
            offset = f.add(offset, f.multiply(block.begin, width))
        return Source(f.element(self.kind, run.packed_rhs, offset), self.kind, width, 1)

    def lhs(self, run: Run, block: DepthBlock, tile: str, row: str) -> Source:
        """The left matrix from the first k of the block and the first row of the tile on."""
        f, plan = self.f, self.plan
        if not plan.pack_lhs:
            source = self._at_k(run.lhs, plan.product.lhs, run.lhs.column_stride, block.begin)
            return source.at(f, row, 0)
        stride = plan.packed_lhs_stride
        if plan.packed_lhs_by_rows:
            offset = f.multiply(f.subtract(row, first_row(f, plan, run.first)), stride)
        else:
            offset = f.multiply(f.subtract(tile, run.first), plan.k_block * stride)
        start = f.element(self.kind, self.packed_lhs, offset)
        strides = (stride, 1) if plan.packed_lhs_by_rows else (1, stride)
        return Source(start, self.kind, *strides)

    def _at_k(self, source: Source, operand: Operand, stride: int, begin: str) -> Source:
        """A matrix in place from a k on at which a block begins."""
        if not self.plan.product.k_outer:
            return source.moved(self.f, [begin], [stride])
        return source.moved(self.f, [self._k_units(begin)], operand.outer_strides[:1])

    def _k_units(self, k: str) -> str:
        """`k`, a number of elements, in steps of the outermost dimension k."""
        unit = self.plan.product.k_unit
        if unit == 1:
            return k
        return str(int(k) // unit) if is_number(k) else self.f.emit(f"udiv exact i64 {k}, {unit}")

    def slot(self, run: Run, panel: str, index: str) -> str:
        """Where the sums of a tile go, and wait for the next block of k if there are several."""
        f, plan = self.f, self.plan
        if not plan.has_blocks:
            return self.slots
        offset = f.multiply(f.subtract(panel, run.panels[0]), plan.run_panels)
        offset = f.add(offset, f.subtract(index, run.first))
        return f.element(self.kind, self.slots, f.multiply(offset, plan.slot_elements))

    def begin(
        self, run: Run, block: DepthBlock, panel: str, row: str, tile: Tile, slot: str
    ) -> list[str]:
        """The first values of the chains of a tile, or the values after the block before."""
        f, initial = self.f, tile.zeros()
        if self.start is not None:
            first = f.multiply(panel, self.plan.width)
            initial = [
                self.start(f, ResultPlace(run.batch, f.add(row, k), f.add(first, column), vector))
                for k, column, vector in tile.places()
            ]
        if block.is_first is None:
            return initial
        resume, start, entry = f.fresh("resume"), f.fresh("start"), f.current_label
        f.branch(block.is_first, start, resume)
        f.label(resume)
        loaded = tile.load(f, slot)
        f.jump(start)
        f.label(start)
        return [
            f.phi(llvm_type(self.kind, vector.lanes), [(first, entry), (value, resume)], "acc")
            for first, value, (_, _, vector) in zip(initial, loaded, tile.places(), strict=True)
        ]

    def contract(
        self, tile: Tile, lhs: Source, rhs: Source, block: DepthBlock, chains: list[str]
    ) -> list[str]:
        """The chains after one more block of k."""
        f, plan = self.f, self.plan
        if not is_traced(plan.product.k) and plan.product.k == 0:
            return chains
        if plan.pack_rhs == "registers":
            return tile.contract_transposed(f, lhs, rhs, plan.product.k, chains)
        return tile.contract(f, lhs, rhs, self._k_loops(lhs, rhs, block.length), chains)

    def _k_loops(self, lhs: Source, rhs: Source, length: str) -> list[KLoop]:
        """The loops over one block of k, the outermost first."""
        plan, c = self.plan, self.plan.product
        if not c.k_outer:
            return [KLoop(length, lhs.column_stride, rhs.row_stride)]
        left = [*c.lhs.outer_strides, lhs.column_stride]
        right = [*c.rhs.outer_strides, rhs.row_stride]
        extents = [*c.k_outer, c.k_inner]
        if plan.pack_rhs != "none":
            right = [rhs.row_stride * prod(extents[d + 1 :]) for d in range(len(extents))]
        lengths = [self._k_units(length), *map(str, extents[1:])]
        return [KLoop(*row) for row in zip(lengths, left, right, strict=True)]


@dataclass(frozen=True)
class Run:
    """Row tiles [first, last) of one group of column panels of one batch element.

    `panels` are the first of the group's full panels and the end of them. The narrower last one
    follows if `with_tail`, an i1, is true; it is None if there is no such panel.
    """

    batch: list[str]
    lhs: Source
    rhs: Source
    packed_rhs: str | None
    first: str
    last: str
    panels: tuple[str, str]
    with_tail: str | None


@dataclass(frozen=True)
class DepthBlock:
    """A block of k; `is_first` and `is_last` are i1 values, None if it is the only one."""

    begin: str
    length: str
    is_first: str | None
    is_last: str | None


# The functions.


def emit_product(
    plan: ProductPlan,
    name: str,
    epilogue: Epilogue,
    parameters: str = PARAMETERS,
    turned: bool = False,
    start: Start | None = None,
    needs: Needs | None = None,
) -> str:
    """The text of all phases, `void @name.suffix(parameters)`.

    The epilogue is handed vectors of consecutive columns, or if `turned` of consecutive rows.
    Chains begin with 0, or with the sums that `start` loads.

    `parameters` declares %lhs, %rhs, %scratch (`scratch_bytes` aligned to `alignment`, or anything
    if that is 0), %begin, %end and what the epilogue reads and writes.
    """
    functions: list[str] = []
    for phase in plan.phases:
        f = FunctionWriter(needs)
        if phase.suffix == "pack":
            _write_pack(f, plan)
        else:
            _write_compute(f, plan, epilogue, turned, start)
        f.ret()
        symbol = f"{name}.{phase.suffix}"
        functions.append(f.define(symbol, parameters, plan.target.attributes, linkage=""))
    return "\n".join(functions)


def _write_compute(
    f: FunctionWriter, plan: ProductPlan, epilogue: Epilogue, turned: bool, start: Start | None
) -> None:
    """An item is one unit, or one share of the units if shares have memory of their own."""
    if not is_traced(plan.units) and plan.units == 0:
        return
    _write_masks(f, plan)
    slot = f.allocate(plan.product.accumulator, plan.slot_elements, plan.alignment)
    finish = TurnedFinish(f, plan, epilogue) if turned else Finish(f, plan, epilogue)
    if not plan.shares:
        is_one = not is_traced(plan.units) and plan.units == 1
        bounds = ("0", "1") if is_one else ("%begin", "%end")
        ProductLoops(f, plan, finish, start, slot, "%scratch").write(*bounds)
        return
    shares = plan.share_items
    with f.items(shares, "share") as share:
        offset = f.add(f.multiply(share, plan.share_bytes), plan.shared_bytes)
        private = f.element("i8", "%scratch", offset)
        bounds = f.share_of(plan.units, share, shares)
        ProductLoops(f, plan, finish, start, slot, private).write(*bounds)


def _write_pack(f: FunctionWriter, plan: ProductPlan) -> None:
    """An item is a few rows of the right matrix of one batch element."""
    _write_masks(f, plan)
    c = plan.product
    extents, strides = c.rhs_k
    with f.loop("%begin", "%end", hint="item") as item:
        chunk, rest = f.divide(item, -(-plan.packed_k // plan.pack_rows))
        outer, batch = f.divide(rest, prod(extents[:-1]))
        rhs = at_batch(f, "%rhs", c.rhs, f.digits(batch, plan.rhs_batch))
        rhs = rhs.moved(f, f.digits(outer, extents[:-1]), strides[:-1])
        begin = f.multiply(chunk, plan.pack_rows)
        end = f.minimum(f.add(begin, plan.pack_rows), plan.packed_k)
        panels = Panels(
            pointer=packed_rhs(f, plan, batch),
            panel_stride=c.k * plan.width,
            # the first k of these is row `outer * packed_k` of a panel
            origin=f.multiply(outer, -plan.packed_k),
            first="0",
            last=str(plan.full_panels),
            tail=has_tail(f, plan),
        )
        RightPacker(f, plan, rhs, panels).pack(begin, end)


def has_tail(f: FunctionWriter, plan: ProductPlan) -> str | None:
    """The i1 that a narrower panel follows the full ones; None where there surely is none."""
    if plan.has_open_columns:
        return f.emit(f"icmp sgt i64 {plan.tail_columns}, 0")
    return "true" if plan.tail else None


def _write_masks(f: FunctionWriter, plan: ProductPlan) -> None:
    """The masks of the last panel, where a value counts its columns."""
    if not plan.has_open_columns:
        return
    with f.early():
        for number, vector in enumerate(plan.tail):
            left = f.subtract(str(plan.tail_columns), number * plan.lanes)
            mask = f.first_lanes(plan.lanes, f.maximum(left, "0"))
            f.line(f"{vector.mask_name} = and {llvm_type('i1', plan.lanes)} {mask}, {mask}")


def packed_rhs(f: FunctionWriter, plan: ProductPlan, batch: str) -> str:
    """The shared packed right matrix of one of its own batch elements."""
    offset = f.multiply(batch, plan.packed_rhs_elements)
    return f.element(plan.product.accumulator, "%scratch", offset)
