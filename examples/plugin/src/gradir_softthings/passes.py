"""The pass `soft-count`: it notes on each function how many ops of `soft` it has."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, i64
from xdsl.dialects.func import FuncOp
from xdsl.passes import ModulePass


@dataclass(frozen=True)
class CountPass(ModulePass):
    """Note on each function how many ops of the dialect `soft` it has."""

    name = "soft-count"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in (each for each in op.ops if isinstance(each, FuncOp)):
            count = sum(each.name.startswith("soft.") for each in function.walk())
            function.attributes["soft.count"] = IntegerAttr(count, i64)
