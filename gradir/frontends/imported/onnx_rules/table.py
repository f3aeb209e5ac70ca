"""The table of all of ONNX's operators that are there, and of those that are not."""

from __future__ import annotations

from gradir.frontends.imported.onnx_rules import (
    absent,
    control,
    elementwise,
    indexing,
    layers,
    norms,
    products,
    quantized,
    recurrent,
    reductions,
    resize,
    shapes,
)
from gradir.frontends.imported.table import RuleTable

_PARTS = (
    elementwise, shapes, reductions, indexing, products, layers, resize, norms, recurrent, control,
    quantized, absent,
)  # fmt: skip
ONNX = RuleTable.joined("ONNX", *(part.RULES for part in _PARTS))
"""The rule of each operator of ONNX, or why there is none."""
STATIC = {name: places for part in _PARTS for name, places in part.RULES.static.items()}
"""The inputs of operators whose values must be known."""
STATE = {name: places for part in _PARTS for name, places in part.RULES.state.items()}
"""The inputs of operators that are running statistics."""
