"""The structural rule of scf.while: a taped loop, or one with repeated iterations."""

from __future__ import annotations

from xdsl.dialects import scf

from gradir.dialects.base.diagnostics import PassError
from gradir.dialects.base.interfaces import Cotangents
from gradir.dialects.grad.loop_policy import loop_policy
from gradir.passes.differentiate.derived import DifferentiatedLoop
from gradir.passes.differentiate.differentiator import Differentiator
from gradir.passes.differentiate.reverse_mode import Flowing
from gradir.passes.rules.loops.state import LoopState
from gradir.passes.rules.loops.taped_while import (
    SavedWhile,
    backward_taped_while,
    forward_taped_while,
)
from gradir.passes.rules.loops.while_loop import WhileLoop
from gradir.passes.rules.loops.while_replay import (
    ReplayedWhile,
    backward_replayed_while,
    forward_replayed_while,
)


class WhileRule:
    """The structural rule of scf.while."""

    def forward(self, outer: Differentiator, op: scf.WhileOp) -> SavedWhile | ReplayedWhile:
        _check_policy(op)
        loop = WhileLoop.of(outer, op)
        state = LoopState.of(op, loop.passed)
        types = state.types if loop.passed else None
        outer.shared.loops[op] = DifferentiatedLoop(op, loop_policy(op), types)
        if loop_policy(op).kind.data != "store_all":
            return forward_replayed_while(outer, loop, state)
        return forward_taped_while(outer, loop)

    def backward(
        self,
        outer: Differentiator,
        op: scf.WhileOp,
        saved: SavedWhile | ReplayedWhile,
        cts: Cotangents,
    ) -> Flowing:
        if isinstance(saved, ReplayedWhile):
            return backward_replayed_while(outer, saved, cts)
        return backward_taped_while(outer, saved, cts)


def _check_policy(op: scf.WhileOp) -> None:
    if loop_policy(op).kind.data == "binomial":
        raise PassError(
            "scf.while: binomial needs the number of iterations before the first, which only "
            "scf.for has; use online",
            op,
        )
