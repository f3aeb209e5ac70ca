"""The table of all of JAX's primitives that are there, and of those that are not."""

from __future__ import annotations

from gradir.frontends.imported.jax_rules import bits, control, elementwise, random, reductions, shapes
from gradir.frontends.imported.table import RuleTable

JAX = RuleTable.joined(
    "JAX", elementwise.RULES, shapes.RULES, reductions.RULES, control.RULES, random.RULES, bits.RULES,
)  # fmt: skip
