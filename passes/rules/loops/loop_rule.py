"""The structural rules of loops: each is differentiated with tapes, or with snapshots from which
iterations are repeated, by its policy."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from xdsl.ir import Operation

from gradir.dialects.base.diagnostics import PassError
from gradir.dialects.base.interfaces import Cotangents
from gradir.dialects.grad.loop_policy import loop_policy
from gradir.passes.analysis.region_ops import is_counted
from gradir.passes.differentiate.derived import DifferentiatedLoop
from gradir.passes.differentiate.differentiator import Differentiator
from gradir.passes.differentiate.reverse_mode import Flowing
from gradir.passes.rules.loops.for_loop import ForLoop
from gradir.passes.rules.loops.for_replay import backward_replayed, forward_replayed
from gradir.passes.rules.loops.taped_loop import backward_taped, forward_taped
from gradir.passes.rules.loops.taped_while import backward_taped_while, forward_taped_while
from gradir.passes.rules.loops.while_loop import WhileLoop
from gradir.passes.rules.loops.while_replay import (
    backward_replayed_while,
    forward_replayed_while,
)


@dataclass(frozen=True)
class LoopDerivation:
    """A way to differentiate loops: `forward` appends a loop and returns what `backward` needs to
    append the loop that reverses it."""

    forward: Callable[[Differentiator, Any], Any]
    backward: Callable[[Differentiator, Any, Cotangents], Flowing]


@dataclass(frozen=True)
class LoopRule:
    """The structural rule of one kind of loops; `loop_of` finds the slots that change."""

    loop_of: Callable[[Differentiator, Any], ForLoop | WhileLoop]
    taped: LoopDerivation
    replayed: LoopDerivation

    def forward(self, outer: Differentiator, op: Operation) -> Any:
        _check_policy(op)
        loop = self.loop_of(outer, op)
        types = loop.state.types if loop.in_body else None
        outer.shared.loops[op] = DifferentiatedLoop(op, loop_policy(op), types)
        return self._way(op).forward(outer, loop)

    def backward(
        self, outer: Differentiator, op: Operation, saved: Any, cts: Cotangents
    ) -> Flowing:
        # a loop without changing values has no results of its own, hence no cotangents
        assert saved is not None
        return self._way(op).backward(outer, saved, cts)

    def _way(self, op: Operation) -> LoopDerivation:
        return self.taped if loop_policy(op).kind.data == "store_all" else self.replayed


def for_rule() -> LoopRule:
    """The rule of scf.for."""
    return LoopRule(
        ForLoop.of,
        taped=LoopDerivation(forward_taped, backward_taped),
        replayed=LoopDerivation(forward_replayed, backward_replayed),
    )


def while_rule() -> LoopRule:
    """The rule of scf.while."""
    return LoopRule(
        WhileLoop.of,
        taped=LoopDerivation(forward_taped_while, backward_taped_while),
        replayed=LoopDerivation(forward_replayed_while, backward_replayed_while),
    )


def _check_policy(op: Operation) -> None:
    if loop_policy(op).kind.data == "binomial" and not is_counted(op):
        raise PassError(
            f"{op.name}: binomial needs the number of iterations before the first, which only "
            "scf.for has; use online",
            op,
        )
