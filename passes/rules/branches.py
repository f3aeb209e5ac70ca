"""Differentiation of branches, the ops that run one of their regions, and of scf.execute_region.

    %y = scf.if %c { ... }      becomes       %y, %residual = scf.if %c { ... }
                                and           %x_ct = scf.if %c { ... } else { ... }

The residuals of each branch are results of the forward op, which the branches share
(branch_results.py). The cotangent so far of a captured value, zero at first, is a result of the
backward op: a branch adds to it, or hands it on. The row slices of a table are results too, as two
tensors of the larger count of the branches. An execute_region is dissolved: its ops join those
around it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from xdsl.dialects import scf
from xdsl.ir import Block, Operation, Region, SSAValue

from gradir.dialects.base.interfaces import Cotangents
from gradir.dialects.base.slice_type import SlicesType, is_slices
from gradir.dialects.base.value import Emitter, Value
from gradir.dialects.grad.slices import Pair, densified, padded, zero_rows
from gradir.passes.analysis.region_flow import region_flow, yielded
from gradir.passes.analysis.region_ops import with_regions
from gradir.passes.analysis.regions import values_read_inside
from gradir.passes.cleanup.simplify import simplify_block
from gradir.passes.differentiate.contributions import summed, zero_of
from gradir.passes.differentiate.crossing import Crossing, add_seeds, crossed
from gradir.passes.differentiate.differentiator import Differentiator
from gradir.passes.differentiate.residuals import Residuals
from gradir.passes.differentiate.reverse_mode import Flowing
from gradir.passes.differentiate.row_slices import repacked, unpacked
from gradir.passes.differentiate.tapes import TapeThread
from gradir.passes.rules.branch_results import BranchResults


@dataclass
class Branch:
    """One region: its code, with arguments for the cotangents of the active results, their masks
    and its tapes.

    The backward code yields the cotangents of `captured`, the row slices of `tables`, two values
    for each, the masks that cross the border with the cotangents of `captured`, and its tapes.
    """

    inner: Differentiator
    captured: dict[SSAValue, Crossing]
    tables: list[SSAValue]
    residuals: Residuals

    def sums(self) -> dict[SSAValue, Value]:
        found = dict(zip(self.captured, self._yielded(), strict=False))
        masks = [value.ssa for value in self._yielded()[len(found) + 2 * len(self.tables) :]]
        for value, crossing in self.captured.items():
            own, masks = masks[: len(crossing.places)], masks[len(crossing.places) :]
            crossing.receive([found[value].ssa], own)
        return found

    def rows(self) -> dict[SSAValue, Pair]:
        parts = self._yielded()[len(self.captured) :]
        return {t: (parts[2 * k], parts[2 * k + 1]) for k, t in enumerate(self.tables)}

    def tapes(self) -> list[SSAValue]:
        count = len(self.inner.tapes)
        return [value.ssa for value in self._yielded()[-count:]] if count else []

    def _yielded(self) -> list[Value]:
        """What the backward code yields, for code in front of the yield."""
        block = self.inner.backward
        emitter = Emitter(block, self.inner.location, before=block.last_op)
        return [emitter.value(value) for value in yielded(block)]


@dataclass
class SavedBranches:
    branches: list[Branch]
    active: list[int]
    entry: Crossing
    threads: list[tuple[TapeThread, Branch]]


class BranchRule:
    """The structural rule of branches."""

    def forward(self, outer: Differentiator, op: Operation) -> SavedBranches:
        flow = region_flow(op)
        assert flow is not None
        active = [k for k, r in enumerate(op.results) if outer.activity.is_active(r)]
        entry = crossed(outer, op, "results", [op.results[k] for k in active])
        branches = [_differentiate(outer, op, block, active, entry) for block in flow.blocks]
        results = BranchResults.of([[v.type for v in b.residuals.kept] for b in branches])
        threads = [(outer.open_tape(t.type), b) for b in branches for t in b.inner.tapes]
        for k, branch in enumerate(branches):
            _finish_forward(outer, branch, partial(results.filled, k), threads)
        made = with_regions(
            op,
            [outer.primal(o) for o in op.operands],
            [*(r.type for r in op.results), *results.types, *(t.type for t, _ in threads)],
            [Region(b.inner.forward) for b in branches],
        )
        outer.forward_emitter(op).insert(made)
        first, second = len(op.results), len(op.results) + len(results.types)
        outer.set_primal(op.results, made.results[:first])
        for k, branch in enumerate(branches):
            _restore(branch, partial(results.taken, k), made.results[first:second])
        for (thread, _), result in zip(threads, made.results[second:], strict=True):
            result.name_hint = "tape"
            thread.forward = result
        return SavedBranches(branches, active, entry, threads)

    def backward(
        self, outer: Differentiator, op: Operation, saved: SavedBranches, cts: Cotangents
    ) -> Flowing:
        sums = outer.contributions
        seeds = [(cts[k] or sums.zero_of(op.results[k])).ssa for k in saved.active]
        seeds += saved.entry.hand_over(seeds, outer.emitter)
        captured = {c: crossing for b in saved.branches for c, crossing in b.captured.items()}
        tapes = [t.in_backward() for t, _ in saved.threads]
        so_far = {c: _sum_so_far(outer, c) for c in captured}
        counts = _slice_counts(saved.branches)
        if not so_far and not counts and not tapes:
            return []
        for branch in saved.branches:
            _finish_backward(branch, captured, so_far, counts, seeds, saved.threads, tapes)
        made = outer.emitter.insert(
            with_regions(
                op,
                [outer.primal(o) for o in op.operands],
                [v.type for v in yielded(saved.branches[0].inner.backward)],
                [Region(b.inner.backward) for b in saved.branches],
            )
        )
        first = len(made.results) - len(tapes)
        for (thread, _), result in zip(saved.threads, made.results[first:], strict=True):
            result.name_hint = "tape"
            thread.backward = result
        types = [type_ for crossing in captured.values() for type_ in crossing.types]
        types += [SlicesType.of(table.type, count) for table, count in counts.items()]
        end = len(captured) + 2 * len(counts)
        flowing = list(repacked(types, map(outer.emitter.value, made.results[:end])))
        masks = list(made.results[end:first])
        for crossing, ct in zip(captured.values(), flowing, strict=False):
            own, masks = masks[: len(crossing.places)], masks[len(crossing.places) :]
            crossing.receive([ct.ssa], own)
        return list(zip([*captured, *counts], flowing, strict=True))


def _slice_counts(branches: Sequence[Branch]) -> dict[SSAValue, int]:
    """The number of row slices of each table: the largest of the branches'."""
    found: dict[SSAValue, int] = {}
    for branch in branches:
        for table, (indices, _) in branch.rows().items():
            found[table] = max(found.get(table, 0), *indices.shape)
    return found


def _sum_so_far(outer: Differentiator, captured: SSAValue) -> Value | None:
    """The cotangent so far of a captured value; None if there is none, which saves an addition."""
    ct = outer.contributions.cotangent(captured)
    return None if ct is None else densified(ct)


class ExecuteRegionRule:
    """The structural rule of scf.execute_region: its block runs once, in place."""

    def forward(self, outer: Differentiator, op: scf.ExecuteRegionOp) -> None:
        outer.dissolve(op, op.region.block, yielded(op.region.block))

    def backward(
        self, outer: Differentiator, op: Operation, saved: object, cts: Cotangents
    ) -> Flowing:
        raise AssertionError("the ops of a dissolved region are differentiated one by one")


def _differentiate(
    outer: Differentiator, op: Operation, block: Block, active: Sequence[int], entry: Crossing
) -> Branch:
    inner = outer.region(block, op)
    inner.walk_forward()
    seeds = add_seeds(inner.backward, 0, [op.results[k] for k in active], entry)
    for seed, k in zip(seeds, active, strict=False):
        inner.contributions.add(yielded(block)[k], inner.emitter.value(seed))
    inner.walk_back()
    flowing = inner.contributions.flowing_out()
    tables = [value for value, ct in flowing.items() if is_slices(ct.ssa.type)]
    captured = _crossings(outer, op, [value for value in flowing if value not in tables])
    masks = [
        mask
        for value, crossing in captured.items()
        for mask in crossing.hand_over([flowing[value].ssa], inner.emitter)
    ]
    cts = [*(flowing[value] for value in captured), *unpacked(flowing[table] for table in tables)]
    tapes = (t.in_backward() for t in inner.tapes)
    inner.emitter.insert(scf.YieldOp(*(ct.ssa for ct in cts), *masks, *tapes))
    simplify_block(inner.backward)
    return Branch(inner, captured, tables, Residuals(inner.forward, inner.backward, {}))


def _crossings(
    outer: Differentiator, op: Operation, captured: Sequence[SSAValue]
) -> dict[SSAValue, Crossing]:
    """The borders that the cotangents of captured values cross, one for each in all branches."""
    read = dict.fromkeys([*map(outer.shared.origin, values_read_inside(op)), *captured])
    number = {value: k for k, value in enumerate(read)}
    return {v: crossed(outer, op, f"captured {number[v]}", [v]) for v in captured}


# Forward.


def _finish_forward(
    outer: Differentiator,
    branch: Branch,
    filled: Callable[[Sequence[SSAValue], Emitter], Sequence[SSAValue]],
    threads: Sequence[tuple[TapeThread, Branch]],
) -> None:
    """Connect the tapes from outside, and yield results, residuals and tapes."""
    inner = branch.inner
    emitter = Emitter(inner.forward, inner.location)
    own = [t.forward for t, owner in threads if owner is branch]
    for argument, tape in zip(list(inner.forward.args), own, strict=True):
        argument.replace_all_uses_with(tape)
    ends = iter(inner.tapes)
    tapes = [next(ends).forward if owner is branch else t.forward for t, owner in threads]
    for argument in reversed(inner.forward.args):
        inner.forward.erase_arg(argument)
    results = [outer.primal(y) for y in yielded(inner.block)]
    kept = filled(branch.residuals.kept, emitter)
    emitter.insert(scf.YieldOp(*results, *kept, *tapes))


def _restore(
    branch: Branch,
    taken: Callable[[Sequence[SSAValue], Sequence[SSAValue], Emitter], Sequence[SSAValue]],
    results: Sequence[SSAValue],
) -> None:
    """Let the backward code read the residuals from the results of the forward op."""
    backward = branch.inner.backward
    prologue = Emitter(backward, branch.inner.location, before=backward.first_op)
    stored = taken(branch.residuals.kept, results, prologue)
    branch.residuals.restore(stored, prologue)


# Backward.


def _finish_backward(
    branch: Branch,
    captured: dict[SSAValue, Crossing],
    so_far: dict[SSAValue, Value | None],
    counts: dict[SSAValue, int],
    seeds: Sequence[SSAValue],
    threads: Sequence[tuple[TapeThread, Branch]],
    tapes: Sequence[SSAValue],
) -> None:
    """Connect cotangents and tapes from outside, and yield all sums and tapes."""
    block = branch.inner.backward
    last = block.last_op
    assert last is not None
    emitter = Emitter(block, branch.inner.location, before=last)
    flowing, rows, ends = branch.sums(), branch.rows(), iter(branch.tapes())
    sums: list[Value] = []
    masks: list[SSAValue] = []
    for value, before in so_far.items():
        parts = [] if before is None else [emitter.value(before.ssa)]
        parts += [flowing[value]] if value in flowing else []
        borders = captured[value].gates.borders
        sums.append(summed(value, parts) if parts else zero_of(value, borders, emitter))
        masks += captured[value].hand_over([sums[-1].ssa], emitter)
    for table, count in counts.items():
        pair = rows.get(table) or zero_rows(table.type, 0, emitter)
        sums += padded(pair, table.type, count)
    after = [
        next(ends) if owner is branch else t for t, (_, owner) in zip(tapes, threads, strict=True)
    ]
    last.operands = [*(total.ssa for total in sums), *masks, *after]
    branch.residuals.restore_again()
    # only now: masks of the sums may be made of the arguments
    own = [t for t, (_, owner) in zip(tapes, threads, strict=True) if owner is branch]
    for argument, value in zip(list(block.args), [*seeds, *own], strict=True):
        argument.replace_all_uses_with(value)
    for argument in reversed(block.args):
        block.erase_arg(argument)
