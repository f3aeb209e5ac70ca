"""Shapes from operands to results, and functions for extents that a call brings."""
