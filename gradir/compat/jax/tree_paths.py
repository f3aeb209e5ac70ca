"""jax.tree_util's paths: the keys from a nesting to each of its leaves."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar, cast

from gradir.frontends.tracing.nodes import NODES, register_pytree_node
from gradir.frontends.tracing.source_locations import named_options
from gradir.frontends.tracing.trees import leaves_up_to
from gradir.tree import Structure, flatten, structure

ClassT = TypeVar("ClassT", bound=type)
IsLeaf = Callable[[Any], bool] | None


@dataclass(frozen=True)
class DictKey:
    """The key of a dict."""

    key: Hashable

    def __str__(self) -> str:
        return f"[{self.key!r}]"


@dataclass(frozen=True)
class SequenceKey:
    """The place in a list or a tuple."""

    idx: int

    def __str__(self) -> str:
        return f"[{self.idx}]"


@dataclass(frozen=True)
class GetAttrKey:
    """The name of an attribute."""

    name: str

    def __str__(self) -> str:
        return f".{self.name}"


@dataclass(frozen=True)
class FlattenedIndexKey:
    """The place among the children of an object whose class has no names for them."""

    key: int

    def __str__(self) -> str:
        return f"[<flat index {self.key}>]"


KeyPath = tuple[Any, ...]
_WITH_KEYS: set[type] = set()
"""Classes whose static data has the keys of their children behind it."""


@named_options
def keystr(keys: KeyPath, *, simple: bool = False, separator: str = "") -> str:
    """A path as text: `['w'][0].b`, or if `simple` its names, `w/0/b` with the separator `/`."""
    return separator.join(_name(key) if simple else str(key) for key in keys)


def _name(key: Any) -> str:
    match key:
        case DictKey(key=name) | SequenceKey(idx=name) | GetAttrKey(name=name):
            return str(name)
        case FlattenedIndexKey(key=place):
            return str(place)
        case _:
            return str(key)


@named_options
def tree_flatten_with_path(
    tree: Any, is_leaf: IsLeaf = None
) -> tuple[list[tuple[KeyPath, Any]], Structure]:
    """The leaves of a nesting with their paths, and its structure."""
    leaves, nesting = flatten(tree, is_leaf)
    return list(zip(_paths(nesting, ()), leaves, strict=True)), nesting


@named_options
def tree_leaves_with_path(tree: Any, is_leaf: IsLeaf = None) -> list[tuple[KeyPath, Any]]:
    """The leaves of a nesting with their paths."""
    return tree_flatten_with_path(tree, is_leaf)[0]


@named_options
def tree_map_with_path(f: Callable[..., Any], tree: Any, *rest: Any, is_leaf: IsLeaf = None) -> Any:
    """The nesting with `f(path, leaf, ...)` of each leaf, and of what the others have there."""
    leaves, nesting = tree_flatten_with_path(tree, is_leaf)
    others = [leaves_up_to(each, nesting) for each in rest]
    return nesting.build(
        [f(path, leaf, *more) for (path, leaf), *more in zip(leaves, *others, strict=True)]
    )


def _paths(nesting: Structure, path: KeyPath) -> Iterator[KeyPath]:
    if nesting.kind is None:
        yield path
        return
    for key, child in zip(_keys(nesting), nesting.children, strict=True):
        yield from _paths(child, (*path, key))


def _keys(nesting: Structure) -> Sequence[Any]:
    """The keys of the children."""
    kind, count = nesting.kind, len(nesting.children)
    if kind in _WITH_KEYS:
        return nesting.keys[0][1]
    if kind is dict:
        return [DictKey(key) for key in nesting.keys]
    labels = list(nesting.labelled())
    if labels and labels[0].startswith("."):
        return [GetAttrKey(label[1:]) for label in labels]
    return [(FlattenedIndexKey if kind in NODES else SequenceKey)(k) for k in range(count)]


@named_options
def register_pytree_with_keys(
    nodetype: type,
    flatten_with_keys: Callable[[Any], tuple[Iterable[tuple[Any, Any]], Hashable]],
    unflatten_func: Callable[[Any, Any], Any],
    flatten_func: Callable[[Any], Any] | None = None,
) -> None:
    """Objects of a class are nestings; `flatten_with_keys` gives (key, child) pairs, and data."""
    del flatten_func  # it would give the same children

    def apart(value: Any) -> tuple[list[Any], Hashable]:
        pairs, data = flatten_with_keys(value)
        children = list(pairs)
        return [child for _, child in children], (data, tuple(key for key, _ in children))

    def made(data: Any, children: Any) -> Any:
        return unflatten_func(data[0], tuple(children))

    register_pytree_node(nodetype, apart, made)
    _WITH_KEYS.add(nodetype)


@named_options
def register_pytree_with_keys_class(cls: ClassT) -> ClassT:
    """register_pytree_with_keys of a class with tree_flatten_with_keys and tree_unflatten."""
    made = cast(Any, cls)
    register_pytree_with_keys(cls, made.tree_flatten_with_keys, made.tree_unflatten)
    return cls


# Structures.


@named_options
def tree_transpose(
    outer_treedef: Structure, inner_treedef: Structure | None, pytree_to_transpose: Any
) -> Any:
    """A nesting of nestings with the inner one outside."""
    parts = leaves_up_to(pytree_to_transpose, outer_treedef)
    inner = structure(parts[0]) if inner_treedef is None else inner_treedef
    rows = [leaves_up_to(part, inner) for part in parts]
    return inner.build([outer_treedef.build(column) for column in zip(*rows, strict=True)])


@named_options
def all_leaves(iterable: Iterable[Any], is_leaf: IsLeaf = None) -> bool:
    """Whether no element is a nesting."""
    return all(structure(each, is_leaf).kind is None for each in iterable)


def treedef_is_leaf(treedef: Structure) -> bool:
    """Whether a structure is a leaf."""
    return treedef.kind is None


def treedef_children(treedef: Structure) -> list[Structure]:
    """The structures of the children."""
    return list(treedef.children)


def treedef_tuple(treedefs: Iterable[Structure]) -> Structure:
    """The structure of a tuple of nestings."""
    return Structure(tuple, (), tuple(treedefs))


__all__ = [
    "DictKey",
    "FlattenedIndexKey",
    "GetAttrKey",
    "KeyPath",
    "SequenceKey",
    "all_leaves",
    "keystr",
    "register_pytree_with_keys",
    "register_pytree_with_keys_class",
    "tree_flatten_with_path",
    "tree_leaves_with_path",
    "tree_map_with_path",
    "tree_transpose",
    "treedef_children",
    "treedef_is_leaf",
    "treedef_tuple",
]
