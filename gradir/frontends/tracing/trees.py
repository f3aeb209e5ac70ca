"""Nested tuples, lists and dicts of arrays, and their flat lists of leaves.

The order of leaves: items of tuples and lists from first to last, values of a dict by its sorted
keys, the indices and the values of RowSlices, the children of classes that are registered as nodes
(nodes.py). None has no leaf. All other objects are leaves.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import islice
from typing import Any, NamedTuple, cast

import numpy as np

from gradir.errors import ArgumentTypeError
from gradir.frontends.tracing.nodes import NODES, parts
from gradir.runtime.row_slices import RowSlices


def _count_leaves(trees: tuple[Tree, ...]) -> int:
    """The leaves of several trees, most of which are leaves themselves."""
    plain = trees.count(LEAF)
    if plain == len(trees):
        return plain
    return sum(tree.leaf_count for tree in trees)


class Tree(NamedTuple):
    """The nesting of leaves: `kind` is the container, None for a leaf.

    `keys` are a dict's, sorted; of RowSlices they are the shape, of a node's class its static
    data. Trees are hashable; equal nestings are equal.
    """

    kind: type | None
    keys: tuple[Any, ...] = ()
    children: tuple[Tree, ...] = ()

    def __repr__(self) -> str:
        return f"Structure({self.text()})"

    def text(self) -> str:
        """The nesting as Python writes it, with * for a leaf: `{'w': *, 'b': (*, None)}`."""
        kind, items = self.kind, [child.text() for child in self.children]
        if kind is None:
            return "*"
        if kind is dict:
            pairs = zip(self.keys, items, strict=True)
            return f"{{{', '.join(f'{key!r}: {item}' for key, item in pairs)}}}"
        if kind is list:
            return f"[{', '.join(items)}]"
        if kind is tuple:
            return f"({', '.join(items)}{',' if len(items) == 1 else ''})"
        if kind is type(None):
            return "None"
        if self._attributes:
            items = [f"{n}={item}" for n, item in zip(self._attributes, items, strict=True)]
        data = self.keys[:1] if kind in NODES else self.keys
        return f"{kind.__name__}({', '.join([*items, *(f'data={d!r}' for d in data if d)])})"

    @property
    def num_leaves(self) -> int:
        """The number of leaves, by JAX's name."""
        return self.leaf_count

    def unflatten(self, leaves: Iterable[Any]) -> Any:
        """The nested value with these leaves; ArgumentTypeError for too few or many."""
        given = list(leaves)
        if len(given) != self.leaf_count:
            raise ArgumentTypeError(
                f"unflatten: expected {self.leaf_count} leaves, got {len(given)}"
            )
        return self.build(given)

    @property
    def leaf_count(self) -> int:
        """The number of leaves."""
        if self.kind is None:
            return 1
        return _count_leaves(self.children)

    def places(self, child: int) -> range:
        """The places of a child's leaves among all; a negative child counts from the end."""
        at = child % len(self.children)
        start = _count_leaves(self.children[:at])
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
        labels: Sequence[Any] = self._attributes or self._selectors
        return [
            found
            for label, child in zip(labels, self.children, strict=True)
            for found in child.names(_labelled_name(name, label))
        ]

    def paths(self, name: str) -> list[str]:
        """An expression for each leaf: `params`, `params['w']`, `params[0]`, `state.mu`."""
        if self.kind is None:
            return [name]
        children = self.labelled().items()
        return [path for label, child in children for path in child.paths(name + label)]

    def labelled(self) -> dict[str, Tree]:
        """The children by what selects them: `['w']`, `[0]`, `.mu`."""
        labels = [f".{field}" for field in self._attributes]
        labels = labels or [f"[{key!r}]" for key in self._selectors]
        return dict(zip(labels, self.children, strict=True))

    @property
    def _attributes(self) -> Sequence[str]:
        """The attributes that have the children; none of other containers."""
        if self.kind is RowSlices:
            return "indices", "values"
        if self.kind in NODES:
            return NODES[self.kind].fields
        return getattr(self.kind, "_fields", ())

    @property
    def _selectors(self) -> Sequence[Any]:
        """The keys or positions of the children."""
        return self.keys if self.kind is dict else range(len(self.children))


def _labelled_name(name: str, label: object) -> str:
    return f"{name}{label}" if isinstance(label, int) else f"{name}_{label}"


def maker(tree: Tree) -> Callable[..., Any]:
    """What makes the value of its children, for a class that Python does not build in."""
    if tree.kind in NODES:
        unflatten, data = NODES[tree.kind].unflatten, tree.keys[0]
        return lambda *children: unflatten(data, children)
    kind = cast(Callable[..., Any], tree.kind)
    if kind is RowSlices:
        return partial(RowSlices, shape=tree.keys)
    return kind if hasattr(kind, "_fields") else lambda *children: kind(list(children))


LEAF = Tree(None)
NO_NAMES = Tree(dict)
"""The nesting of no arguments by name."""
ARRAY = frozenset([np.ndarray])


def flatten(
    value: object,
    atom: type[RowSlices] | None = None,
    is_leaf: Callable[[Any], bool] | None = None,
) -> tuple[list[Any], Tree]:
    """The leaves of a nested value in order, and their nesting.

    RowSlices as `atom` are leaves, and so is what `is_leaf` says is one.
    """
    leaves: list[Any] = []
    return leaves, _flatten(value, leaves, atom, is_leaf)


def leaves_up_to(value: object, tree: Tree) -> list[Any]:
    """What a value has at the leaves of a tree, which its nesting begins with: parts of it.

    ArgumentTypeError for another nesting.
    """
    if tree.kind is None:
        return [value]
    kind, keys, children = _node(value, None) or (None, (), ())
    if (kind, keys, len(children)) != (tree.kind, tree.keys, len(tree.children)):
        raise ArgumentTypeError(
            f"expected {described(tree)}, got {described(flatten(value)[1])}: trees must be nested "
            "alike"
        )
    pairs = zip(children, tree.children, strict=True)
    return [leaf for child, its in pairs for leaf in leaves_up_to(child, its)]


def described(tree: Tree | None) -> str:
    """A nesting in a message: `a dict of 2`."""
    if tree is None:
        return "nothing"
    if tree.kind is None:
        return "an array"
    return "None" if tree.kind is type(None) else f"a {tree.kind.__name__} of {len(tree.children)}"


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


def _flatten(
    value: object,
    leaves: list[Any],
    atom: type[RowSlices] | None,
    is_leaf: Callable[[Any], bool] | None,
) -> Tree:
    node = None if is_leaf is not None and is_leaf(value) else _node(value, atom)
    if node is None:
        leaves.append(value)
        return LEAF
    kind, keys, items = node
    if is_leaf is None and ARRAY.issuperset(map(type, items)):
        leaves += items  # most are arrays, and so none is looked at in Python
        return Tree(kind, keys, (LEAF,) * len(items))
    return Tree(kind, keys, tuple([_flatten(item, leaves, atom, is_leaf) for item in items]))


def _node(
    value: object, atom: type[RowSlices] | None
) -> tuple[type, tuple[Any, ...], Sequence[Any]] | None:
    """The kind, the keys and the children of a nested value; None for a leaf."""
    kind = type(value)
    if value is None:
        return kind, (), ()
    if kind in NODES:
        children, data = parts(value)
        return kind, data, children
    if isinstance(value, dict):
        found = cast(dict[Any, Any], value)
        keys = _sorted(found)
        return dict, keys, [found[key] for key in keys]
    if isinstance(value, (tuple, list)):
        return kind, (), cast(Sequence[Any], value)
    if isinstance(value, RowSlices) and atom is not RowSlices:
        return RowSlices, tuple(value.shape), (value.indices, value.values)
    return None


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
