"""The table of structural rules: which op classes change their forward code when differentiated."""

from __future__ import annotations

from xdsl.dialects import scf
from xdsl.dialects.func import CallOp
from xdsl.ir import Operation

from gradir.dialects.checkpoint import CheckpointOp
from gradir.passes.branch_rules import BranchRule, ExecuteRegionRule
from gradir.passes.calls import CallRule
from gradir.passes.checkpoint_rule import CheckpointRule
from gradir.passes.joins import JoinOp, JoinRule
from gradir.passes.loop_rules import ForRule
from gradir.passes.structural import StructuralRule
from gradir.passes.while_rule import WhileRule

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
