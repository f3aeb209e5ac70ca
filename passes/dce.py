"""gradir-dce: remove ops whose results nobody reads, dead barriers among them."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from gradir.passes.cleanup import blocks_inside_out, remove_dead_ops


def dce(module: ModuleOp) -> None:
    """Remove dead ops from every block, innermost first."""
    for block in blocks_inside_out(module):
        remove_dead_ops(block)


@dataclass(frozen=True)
class DcePass(ModulePass):
    """Remove ops whose results nobody reads, dead barriers among them."""

    name = "gradir-dce"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        dce(op)
