"""jax.tree."""

from gradir.tree import all, flatten, leaves, map, reduce, structure, unflatten

__all__ = ["all", "flatten", "leaves", "map", "reduce", "structure", "unflatten"]
