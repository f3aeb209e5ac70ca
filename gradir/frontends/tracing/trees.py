"""Nested tuples, lists and dicts of arrays, and their flat lists of leaves.

The order of leaves: items of tuples and lists from first to last, values of a dict by its sorted
keys, the indices and the values of RowSlices. None has no leaf. All other objects are leaves.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import islice
from typing import Any, NamedTuple, cast

import numpy as np

from gradir.errors import ArgumentTypeError
from gradir.runtime.row_slices import RowSlices


class Tree(NamedTuple):
    """The nesting of leaves: `kind` is the container, None for a leaf.

    `keys` are a dict's, sorted; of RowSlices they are the shape. Trees are hashable; equal
    nestings are equal.
    """

    kind: type | None
    keys: tuple[Any, ...] = ()
    children: tuple[Tree, ...] = ()

    @property
    def leaf_count(self) -> int:
        """The number of leaves."""
        return 1 if self.kind is None else sum(child.leaf_count for child in self.children)

    def places(self, child: int) -> range:
        """The places of a child's leaves among all; a negative child counts from the end."""
        at = child % len(self.children)
        start = sum(each.leaf_count for each in self.children[:at])
        return range(start, start + self.children[at].leaf_count)

    def build(self, leaves: Sequence[Any]) -> Any:
        """The nested value with these leaves."""
        rest = iter(leaves)
        made = self._built(rest)
        assert next(rest, None) is None
        return made

    def _built(self, leaves: Iterator[Any]) -> Any:
        kind, keys, trees = self
        if kind is None:
            return next(leaves)
        if trees.count(LEAF) == len(trees):
            children = list(islice(leaves, len(trees)))
        else:
            children = [child._built(leaves) for child in trees]
        if kind is dict:
            return dict(zip(keys, children, strict=True))
        if kind is list:
            return children
        if kind is tuple:
            return tuple(children)
        return None if kind is type(None) else maker(self)(*children)

    def names(self, name: str) -> list[str]:
        """A name per leaf: `params`, `params_w`, `params0`."""
        if self.kind is None:
            return [name]
        keys = ("indices", "values") if self.kind is RowSlices else self.keys
        fields: Sequence[Any] = getattr(self.kind, "_fields", keys)
        labels: Sequence[Any] = fields or range(len(self.children))
        return [
            found
            for label, child in zip(labels, self.children, strict=True)
            for found in child.names(_joined(name, label))
        ]

    def paths(self, name: str) -> list[str]:
        """An expression for each leaf: `params`, `params['w']`, `params[0]`, `state.mu`."""
        if self.kind is None:
            return [name]
        children = self.labelled().items()
        return [path for label, child in children for path in child.paths(name + label)]

    def labelled(self) -> dict[str, Tree]:
        """The children by what selects them: `['w']`, `[0]`, `.mu`."""
        fields: Sequence[str] = getattr(self.kind, "_fields", ())
        keys: Sequence[Any] = self.keys or range(len(self.children))
        labels = [f".{field}" for field in fields] or [f"[{key!r}]" for key in keys]
        return dict(zip(labels, self.children, strict=True))


def _joined(name: str, label: object) -> str:
    return f"{name}{label}" if isinstance(label, int) else f"{name}_{label}"


def maker(tree: Tree) -> Callable[..., Any]:
    """What makes the value of its children, for a class that Python does not build in."""
    kind = cast(Callable[..., Any], tree.kind)
    if kind is RowSlices:
        return partial(RowSlices, shape=tree.keys)
    return kind if hasattr(kind, "_fields") else lambda *children: kind(list(children))


LEAF = Tree(None)
ARRAY = frozenset([np.ndarray])


def flatten(value: object, atom: type[RowSlices] | None = None) -> tuple[list[Any], Tree]:
    """The leaves of a nested value in order, and their nesting. RowSlices as `atom` are leaves."""
    leaves: list[Any] = []
    return leaves, _flatten(value, leaves, atom)


def first_difference(
    one: Tree, other: Tree, path: str = ""
) -> tuple[str, Tree | None, Tree | None] | None:
    """Where two nestings differ first, and what each has there, None for nothing; None if equal."""
    if one == other:
        return None
    if one.kind == other.kind:
        ones, others = one.labelled(), other.labelled()
        for label in dict.fromkeys([*ones, *others]):
            child, its = ones.get(label), others.get(label)
            if child is None or its is None:
                return path + label, child, its
            found = first_difference(child, its, path + label)
            if found is not None:
                return found
    return path, one, other


def grown(prefix: Tree, tree: Tree) -> Tree:
    """The nesting with what the tree has in place of each leaf."""
    if prefix.kind is None:
        return tree
    its = tree.labelled()
    children = [grown(child, its.get(label, child)) for label, child in prefix.labelled().items()]
    return Tree(prefix.kind, prefix.keys, tuple(children))


def spread_leaves(leaves: Iterator[Any], prefix: Tree, tree: Tree) -> list[Any]:
    """For each leaf of a tree, the one that is there in a nesting that grows to it."""
    if prefix.kind is None:
        return [next(leaves)] * tree.leaf_count
    pairs = zip(prefix.children, tree.children, strict=True)
    return [leaf for child, its in pairs for leaf in spread_leaves(leaves, child, its)]


def leaves_like(value: object, tree: Tree) -> list[Any] | None:
    """The leaves of a value with the nesting of the tree; None for another nesting.

    None in place of a leaf, or of a nested part, counts as each leaf there.
    """
    leaves, found = flatten(value)
    return _placed(iter(leaves), found, tree)


def _placed(leaves: Iterator[Any], found: Tree, tree: Tree) -> list[Any] | None:
    if found == tree:
        return [next(leaves) for _ in range(tree.leaf_count)]
    if found.kind is type(None):
        return [None] * tree.leaf_count
    if (found.kind, found.keys) != (tree.kind, tree.keys):
        return None
    if len(found.children) != len(tree.children):
        return None
    made: list[Any] = []
    for child, wanted in zip(found.children, tree.children, strict=True):
        part = _placed(leaves, child, wanted)
        if part is None:
            return None
        made += part
    return made


def _flatten(value: object, leaves: list[Any], atom: type[RowSlices] | None) -> Tree:
    if value is None:
        return Tree(type(None))
    if isinstance(value, dict):
        found = cast(dict[Any, Any], value)
        keys = _sorted(found)
        return Tree(dict, keys, _children([found[key] for key in keys], leaves, atom))
    if isinstance(value, tuple | list):
        items = cast(Sequence[Any], value)
        return Tree(type(items), (), _children(items, leaves, atom))
    if isinstance(value, RowSlices) and atom is not RowSlices:
        parts = _children((value.indices, value.values), leaves, atom)
        return Tree(RowSlices, tuple(value.shape), parts)
    leaves.append(value)
    return LEAF


def _children(
    items: Sequence[Any], leaves: list[Any], atom: type[RowSlices] | None
) -> tuple[Tree, ...]:
    if ARRAY.issuperset(map(type, items)):  # most are, and so none is looked at in Python
        leaves += items
        return (LEAF,) * len(items)
    return tuple([_flatten(item, leaves, atom) for item in items])


def _sorted(value: dict[Any, Any]) -> tuple[Any, ...]:
    try:
        return tuple(sorted(value))
    except TypeError:
        keys = ", ".join(map(repr, value))
        raise ArgumentTypeError(f"keys of a dict must have an order, got {keys}") from None


def map_tree(function: Callable[[Any], Any], value: object) -> Any:
    """The nested value with `function` of each leaf."""
    leaves, tree = flatten(value)
    return tree.build([function(leaf) for leaf in leaves])
