"""Residuals, kept or recomputed: checkpoint stages, policies, memory limits."""
