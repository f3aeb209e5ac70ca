"""The table of structural rules: which op classes change their forward code when differentiated."""

from __future__ import annotations

from xdsl.dialects.func import CallOp
from xdsl.ir import Operation

from gradir.passes.calls import CallRule
from gradir.passes.structural import StructuralRule

RULES: dict[type[Operation], StructuralRule] = {CallOp: CallRule()}
