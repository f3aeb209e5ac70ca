"""The table of structural rules: the op classes that are not differentiated by a vjp alone.

All other ops, and in a mode those with None, are differentiated by the `vjp` of their class:
`OrdinaryRule` in passes/differentiate/reverse_mode.py, `push_ordinary` in forward_mode.py there.
Batches (passes/batch) need no column: they read an op's slots (passes/analysis/region_ops.py).
"""

from __future__ import annotations

from typing import Any

from xdsl.dialects import scf
from xdsl.dialects.func import CallOp

from gradir.dialects.base.lazy_function import lazy_function
from gradir.dialects.grad.checkpoint import CheckpointOp
from gradir.dialects.grad.grad import BarrierOp
from gradir.dialects.grad.host_call import HostCallOp
from gradir.dialects.grad.join import JoinOp
from gradir.dialects.grad.tape import TapePopOp, TapePushOp
from gradir.passes.differentiate.structural_rule import LazyRule, Rules
from gradir.passes.differentiate.structural_rule import StructuralRule as Rule
from gradir.passes.recompute.costs import Costs

_RULES = "gradir.passes.rules"


def structural_rules(costs: Costs) -> Rules:
    """The rules of structural op classes; `costs` are for the policies of stages."""
    calls, tapes = _rule("calls:CallRule"), _rule("tapes:TapeRule")
    branches, regions = _rule("branches:BranchRule"), _rule("branches:ExecuteRegionRule")
    for_loops, while_loops = _rule("loops.loop_rule:for_rule"), _rule("loops.loop_rule:while_rule")
    stages = _rule("checkpoints:CheckpointRule", costs)
    joins, barriers = _rule("joins:JoinRule"), _rule("joins:BarrierRule")
    # fmt: off
    return {
        # op                      reverse mode  forward mode
        CallOp:              Rule(calls,        _push("push_call")),
        scf.IfOp:            Rule(branches,     _push("push_branches")),
        scf.IndexSwitchOp:   Rule(branches,     _push("push_branches")),
        scf.ExecuteRegionOp: Rule(regions,      _push("push_branches")),
        scf.ForOp:           Rule(for_loops,    _push("push_loop")),
        scf.WhileOp:         Rule(while_loops,  _push("push_loop")),
        CheckpointOp:        Rule(stages,       _push("push_stage")),
        JoinOp:              Rule(joins,        _push("push_join")),
        BarrierOp:           Rule(barriers,     None),
        TapePushOp:          Rule(tapes,        None),
        TapePopOp:           Rule(tapes,        None),
        HostCallOp:          Rule(None,         _push("push_host_call")),
    }
    # fmt: on


def _rule(place: str, *arguments: Any) -> LazyRule:
    """The rule that `module:function` makes, a module of passes/rules."""
    module, _, name = place.partition(":")
    return LazyRule(lazy_function(f"{_RULES}.{module}", name), *arguments)


def _push(name: str) -> Any:
    """A forward rule of passes/rules/tangents.py."""
    return lazy_function(f"{_RULES}.tangents", name)
