"""Structural rules: calls, branches, checkpoint stages, custom vjps, loops."""
