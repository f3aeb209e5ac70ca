"""jax.tree."""

from typing import TYPE_CHECKING

from gradir.compat.jax import absent
from gradir.compat.jax.tree_paths import tree_flatten_with_path as flatten_with_path
from gradir.compat.jax.tree_paths import tree_leaves_with_path as leaves_with_path
from gradir.compat.jax.tree_paths import tree_map_with_path as map_with_path
from gradir.compat.jax.tree_paths import tree_transpose as transpose
from gradir.tree import all, flatten, leaves, map, reduce, structure, unflatten

__all__ = [
    "all",
    "flatten",
    "flatten_with_path",
    "leaves",
    "leaves_with_path",
    "map",
    "map_with_path",
    "reduce",
    "structure",
    "transpose",
    "unflatten",
]


if not TYPE_CHECKING:
    __getattr__ = absent.missing("gradir.compat.jax.tree", absent.TREES, lambda: __all__)
