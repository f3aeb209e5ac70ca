"""jax.tree_util."""

from functools import partial as Partial
from typing import TYPE_CHECKING

from gradir.compat.jax import absent, tree_paths
from gradir.compat.jax.tree_paths import *  # noqa: F403 - all of them are names of tree_util
from gradir.tree import (
    Structure,
    register_dataclass,
    register_pytree_node,
    register_pytree_node_class,
    register_static,
)
from gradir.tree import all as tree_all
from gradir.tree import flatten as tree_flatten
from gradir.tree import leaves as tree_leaves
from gradir.tree import map as tree_map
from gradir.tree import reduce as tree_reduce
from gradir.tree import structure as tree_structure
from gradir.tree import unflatten as tree_unflatten

PyTreeDef = Structure

__all__ = [
    *tree_paths.__all__,
    "Partial",
    "PyTreeDef",
    "register_dataclass",
    "register_pytree_node",
    "register_pytree_node_class",
    "register_static",
    "tree_all",
    "tree_flatten",
    "tree_leaves",
    "tree_map",
    "tree_reduce",
    "tree_structure",
    "tree_unflatten",
]

if not TYPE_CHECKING:
    __getattr__ = absent.missing("gradir.compat.jax.tree_util", absent.TREES, lambda: __all__)
