"""How ops run on many rows at once: the rules of vectorization."""

from gradir.dialects.batching import arrays, communication, layers
from gradir.dialects.batching.rows import (
    Batched,
    grown,
    lifted,
    no_rows,
    row,
    rule_of,
    with_row,
)

__all__ = [
    "Batched", "arrays", "communication", "grown", "layers", "lifted", "no_rows", "row", "rule_of",
    "with_row",
]  # fmt: skip
