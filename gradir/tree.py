"""gradir.tree: nestings of arrays, as jax.tree: what all functions of gradir take and return.

Tuples, lists, dicts (by their sorted keys), RowSlices, None, which has no leaf, and objects of
classes that are registered here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import reduce as _reduce
from typing import TYPE_CHECKING, Any

from gradir.frontends.functions.missing_names import missing
from gradir.frontends.tracing.nodes import (
    register_dataclass,
    register_pytree_node,
    register_pytree_node_class,
    register_static,
)
from gradir.frontends.tracing.source_locations import named_options
from gradir.frontends.tracing.trees import Tree as Structure
from gradir.frontends.tracing.trees import flatten as _flatten
from gradir.frontends.tracing.trees import leaves_up_to

__all__ = [
    "Structure",
    "all",
    "flatten",
    "leaves",
    "map",
    "reduce",
    "register_dataclass",
    "register_pytree_node",
    "register_pytree_node_class",
    "register_static",
    "structure",
    "unflatten",
]

IsLeaf = Callable[[Any], bool] | None
_MISSING = object()


@named_options
def flatten(tree: Any, is_leaf: IsLeaf = None) -> tuple[list[Any], Structure]:
    """The leaves of a nesting in order, and its structure; `is_leaf` may stop before the arrays."""
    return _flatten(tree, is_leaf=is_leaf)


@named_options
def unflatten(structure: Structure, leaves: Iterable[Any]) -> Any:
    """The nesting of a structure with these leaves; ArgumentTypeError for too few or many."""
    return structure.unflatten(leaves)


@named_options
def leaves(tree: Any, is_leaf: IsLeaf = None) -> list[Any]:
    """The leaves of a nesting in order."""
    return flatten(tree, is_leaf)[0]


@named_options
def structure(tree: Any, is_leaf: IsLeaf = None) -> Structure:
    """How a nesting is nested; equal for equal nestings."""
    return flatten(tree, is_leaf)[1]


@named_options
def map(function: Callable[..., Any], tree: Any, *rest: Any, is_leaf: IsLeaf = None) -> Any:
    """The nesting with `function` of each leaf, and of what the others have there.

    The others are nested like the first, or deeper: then the function gets a part of them.
    """
    first, nesting = flatten(tree, is_leaf)
    others = [leaves_up_to(each, nesting) for each in rest]
    return nesting.build([function(*each) for each in zip(first, *others, strict=True)])


@named_options
def reduce(
    function: Callable[[Any, Any], Any],
    tree: Any,
    initializer: Any = _MISSING,
    is_leaf: IsLeaf = None,
) -> Any:
    """functools.reduce over the leaves."""
    start = () if initializer is _MISSING else (initializer,)
    return _reduce(function, leaves(tree, is_leaf), *start)


@named_options
def all(tree: Any, is_leaf: IsLeaf = None) -> bool:
    """Whether all leaves are true."""
    return False not in [bool(leaf) for leaf in leaves(tree, is_leaf)]


if not TYPE_CHECKING:
    __getattr__ = missing("gradir.tree", {})
