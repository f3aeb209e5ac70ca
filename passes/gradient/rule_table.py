"""The table of structural rules: the op classes that are not differentiated by a vjp alone.

All other ops, and in a mode those with None, are differentiated by the `vjp` of their class:
`OrdinaryRule` in passes/differentiate/reverse_mode.py, `push_ordinary` in forward_mode.py there.
Batches (passes/batch) need no column: they read an op's slots (passes/analysis/region_ops.py).
"""

from __future__ import annotations

from xdsl.dialects import scf
from xdsl.dialects.func import CallOp

from gradir.dialects.grad.checkpoint import CheckpointOp
from gradir.dialects.grad.grad import BarrierOp
from gradir.dialects.grad.host_call import HostCallOp
from gradir.dialects.grad.join import JoinOp
from gradir.dialects.grad.tape import TapePopOp, TapePushOp
from gradir.passes.differentiate.structural_rule import Rules
from gradir.passes.differentiate.structural_rule import StructuralRule as Rule
from gradir.passes.recompute.costs import Costs
from gradir.passes.rules.branches import BranchRule, ExecuteRegionRule
from gradir.passes.rules.calls import CallRule
from gradir.passes.rules.checkpoints import CheckpointRule
from gradir.passes.rules.joins import BarrierRule, JoinRule
from gradir.passes.rules.loops.loop_rule import FOR, WHILE
from gradir.passes.rules.tangents import (
    push_branches,
    push_call,
    push_host_call,
    push_join,
    push_loop,
    push_stage,
)
from gradir.passes.rules.tapes import TapeRule


def structural_rules(costs: Costs) -> Rules:
    """The rules of structural op classes; `costs` are for the policies of stages."""
    # fmt: off
    return {
        # op                      reverse mode           forward mode
        CallOp:              Rule(CallRule(),            push_call),
        scf.IfOp:            Rule(BranchRule(),          push_branches),
        scf.IndexSwitchOp:   Rule(BranchRule(),          push_branches),
        scf.ExecuteRegionOp: Rule(ExecuteRegionRule(),   push_branches),
        scf.ForOp:           Rule(FOR,                   push_loop),
        scf.WhileOp:         Rule(WHILE,                 push_loop),
        CheckpointOp:        Rule(CheckpointRule(costs), push_stage),
        JoinOp:              Rule(JoinRule(),            push_join),
        BarrierOp:           Rule(BarrierRule(),         None),
        TapePushOp:          Rule(TapeRule(),            None),
        TapePopOp:           Rule(TapeRule(),            None),
        HostCallOp:          Rule(None,                  push_host_call),
    }
    # fmt: on
