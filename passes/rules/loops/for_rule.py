"""The structural rule of scf.for: a taped loop, or one with repeated iterations."""

from __future__ import annotations

from xdsl.dialects import scf

from gradir.dialects.base.interfaces import Cotangents
from gradir.dialects.grad.loop_policy import loop_policy
from gradir.passes.differentiate.derived import DifferentiatedLoop
from gradir.passes.differentiate.differentiator import Differentiator
from gradir.passes.differentiate.reverse_mode import Flowing
from gradir.passes.rules.loops.body import seeds
from gradir.passes.rules.loops.carried import Carried
from gradir.passes.rules.loops.for_loop import Bounds, ForLoop
from gradir.passes.rules.loops.for_replay import Replayed, backward_replayed, forward_replayed
from gradir.passes.rules.loops.state import LoopState
from gradir.passes.rules.loops.taped_loop import (
    SavedFor,
    carried_border,
    reversed_loop,
    taped_loop,
)


class ForRule:
    """The structural rule of scf.for."""

    def forward(self, outer: Differentiator, op: scf.ForOp) -> SavedFor | Replayed | None:
        loop = ForLoop.of(outer, op)
        state = LoopState.of(op, loop.changing)
        types = state.types if loop.changing else None
        outer.shared.loops[op] = DifferentiatedLoop(op, loop_policy(op), types)
        if loop_policy(op).kind.data != "store_all":
            return forward_replayed(outer, loop, state)
        initial = [outer.primal(v) for v in loop.changing.starts]
        results, saved = taped_loop(outer, loop, Bounds.of(outer, op), initial)
        outer.set_primal(loop.changing.results, results)
        return saved

    def backward(
        self,
        outer: Differentiator,
        op: scf.ForOp,
        saved: SavedFor | Replayed | None,
        cts: Cotangents,
    ) -> Flowing:
        # a loop without changing values has no results of its own, hence no cotangents
        assert saved is not None
        if not isinstance(saved, SavedFor):
            return backward_replayed(outer, saved, cts)
        emitter = outer.emitter
        crossing = carried_border(outer, op)(saved.active.results)
        given = seeds(saved.active.results, op, cts, crossing, emitter)
        start = Carried(given, {each: each.start(outer) for each in saved.body.sums})
        end = reversed_loop(saved, Bounds.of(outer, op), start, emitter)
        return end.contributions(saved.active.starts, crossing, emitter)
