"""Smaller programs of the same meaning: simplify, hoist, inline, decompose, drop what is dead."""
