"""The table of all of StableHLO's ops that are there, and of those that are not."""

from __future__ import annotations

from gradir.frontends.imported.stablehlo_rules import (
    absent,
    control,
    elementwise,
    reductions,
    structure,
)
from gradir.frontends.imported.table import RuleTable

STABLEHLO = RuleTable.joined(
    "StableHLO",
    *(part.RULES for part in (elementwise, structure, reductions, control, absent)),
)
"""The rule of each op of StableHLO, or why there is none."""
