"""The table of structural rules: which op classes change their forward code when differentiated."""

from __future__ import annotations

from xdsl.dialects import scf
from xdsl.dialects.func import CallOp
from xdsl.ir import Operation

from gradir.dialects.grad.checkpoint import CheckpointOp
from gradir.passes.cleanup.call_boundaries import JoinOp, JoinRule
from gradir.passes.differentiate.rule import StructuralRule
from gradir.passes.rules.branches import BranchRule, ExecuteRegionRule
from gradir.passes.rules.calls import CallRule
from gradir.passes.rules.checkpoints import CheckpointRule
from gradir.passes.rules.loops.for_rule import ForRule
from gradir.passes.rules.loops.while_rule import WhileRule

RULES: dict[type[Operation], StructuralRule] = {
    CallOp: CallRule(),
    scf.IfOp: BranchRule(),
    scf.IndexSwitchOp: BranchRule(),
    scf.ExecuteRegionOp: ExecuteRegionRule(),
    scf.ForOp: ForRule(),
    scf.WhileOp: WhileRule(),
    CheckpointOp: CheckpointRule(),
    JoinOp: JoinRule(),
}
