"""jax.tree."""

from typing import TYPE_CHECKING

from gradir.compat.jax import absent
from gradir.tree import all, flatten, leaves, map, reduce, structure, unflatten

__all__ = ["all", "flatten", "leaves", "map", "reduce", "structure", "unflatten"]

if not TYPE_CHECKING:
    __getattr__ = absent.missing("gradir.compat.jax.tree", absent.TREES, lambda: __all__)
