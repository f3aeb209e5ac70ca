"""Smaller programs of the same meaning: simplify, hoist, inline, decompose, remove dead code."""
