"""The names of the policies: the kept residuals of a forward computation."""

from __future__ import annotations

POLICIES: dict[str, str] = {
    "keep_all": "every value that the backward code reads",
    "keep_none": "inputs only; all else is recomputed",
    "keep_matmuls": "results of contractions (matmul, linear, convolutions)",
    "keep_named": "values named by grad.name",
    "auto": "all but values that are nearly free to recompute, where that lowers the peak",
}
"""The kept values of each policy."""
