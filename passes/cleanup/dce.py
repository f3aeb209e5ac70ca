"""gradir-dce: remove ops without readers, dead barriers, and dead values of loops."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from gradir.passes.analysis.call_graph import functions_by_name
from gradir.passes.cleanup.dead_code import blocks_inside_out, remove_dead_ops
from gradir.passes.cleanup.dead_region_values import prune_flow


def dce(module: ModuleOp) -> None:
    """Remove dead ops from every block, then dead slots of regions and the ops behind them."""
    for block in blocks_inside_out(module):
        remove_dead_ops(block)
    for function in functions_by_name(module).values():
        block = function.body.first_block
        if block is not None and block is function.body.last_block:
            prune_flow([block])


@dataclass(frozen=True)
class DcePass(ModulePass):
    """Remove ops without readers, dead barriers among them."""

    name = "gradir-dce"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        dce(op)
