"""The table of all of JAX's primitives that are there, and of those that are not."""

from __future__ import annotations

from gradir.frontends.imported.jax_rules import (
    absent,
    bits,
    control,
    elementwise,
    indexing,
    linalg,
    random,
    reductions,
    shapes,
    special,
    windows,
    written_out,
)
from gradir.frontends.imported.table import RuleTable

_PARTS = (
    elementwise, written_out, special, bits, shapes, indexing, reductions, windows, linalg, random,
    control, absent,
)  # fmt: skip
JAX = RuleTable.joined("JAX", *(part.RULES for part in _PARTS))
"""The rule of each primitive of JAX, or why there is none."""
