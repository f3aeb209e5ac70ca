"""The table of structural rules: those of op classes whose forward code changes."""

from __future__ import annotations

from xdsl.dialects import scf
from xdsl.dialects.func import CallOp

from gradir.dialects.grad.checkpoint import CheckpointOp
from gradir.dialects.grad.grad import BarrierOp
from gradir.dialects.grad.join import JoinOp
from gradir.dialects.grad.tape import TapePopOp, TapePushOp
from gradir.passes.differentiate.rule import Rules
from gradir.passes.recompute.costs import Costs
from gradir.passes.rules.branches import BranchRule, ExecuteRegionRule
from gradir.passes.rules.calls import CallRule
from gradir.passes.rules.checkpoints import CheckpointRule
from gradir.passes.rules.joins import BarrierRule, JoinRule
from gradir.passes.rules.loops.for_rule import ForRule
from gradir.passes.rules.loops.while_rule import WhileRule
from gradir.passes.rules.tapes import TapeRule


def structural_rules(costs: Costs) -> Rules:
    """The rules of structural op classes; `costs` are for the policies of stages."""
    return {
        CallOp: CallRule(),
        scf.IfOp: BranchRule(),
        scf.IndexSwitchOp: BranchRule(),
        scf.ExecuteRegionOp: ExecuteRegionRule(),
        scf.ForOp: ForRule(),
        scf.WhileOp: WhileRule(),
        CheckpointOp: CheckpointRule(costs),
        JoinOp: JoinRule(),
        BarrierOp: BarrierRule(),
        TapePushOp: TapeRule(),
        TapePopOp: TapeRule(),
    }
