"""The table of all of PyTorch's ops that are there, and of those that are not."""

from __future__ import annotations

from gradir.frontends.imported.table import RuleTable
from gradir.frontends.imported.torch_rules import (
    absent,
    activations,
    control,
    creation,
    elementwise,
    indexing,
    layers,
    linalg,
    losses,
    norms,
    products,
    recurrent,
    reductions,
    shapes,
)

_PARTS = (
    elementwise, activations, creation, shapes, reductions, indexing, products, linalg, layers,
    norms, losses, recurrent, control, absent,
)  # fmt: skip
TORCH = RuleTable.joined("PyTorch", *(part.RULES for part in _PARTS))
"""The rule of each op of PyTorch, or why there is none."""
