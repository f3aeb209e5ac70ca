"""Classes whose objects are nestings of arrays: how they come apart, and are made again.

`gradir.tree` registers them. Static data is a part of the nesting, and so chooses the program.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any, NamedTuple, TypeVar, cast

import numpy as np

from gradir.errors import ArgumentTypeError
from gradir.frontends.tracing.source_locations import named_options

ClassT = TypeVar("ClassT", bound=type)


class Node(NamedTuple):
    """How objects of a class come apart and are made; `fields` are what selects the children."""

    flatten: Callable[[Any], tuple[Sequence[Any], Hashable]]
    unflatten: Callable[[Any, Sequence[Any]], Any]
    fields: tuple[str, ...] = ()


NODES: dict[type, Node] = {}
"""By class, for objects of exactly this class."""


@named_options
def register_pytree_node(
    nodetype: type,
    flatten_func: Callable[[Any], tuple[Iterable[Any], Hashable]],
    unflatten_func: Callable[[Any, Sequence[Any]], Any],
) -> None:
    """Objects of a class are nestings of arrays from now on.

    `flatten_func(object)` returns its children, arrays or nestings of them, and its static data,
    which must be hashable: equal data is the same program. `unflatten_func(data, children)` makes
    an object; the children may be any objects, such as None or traced arrays.
    """
    _add(nodetype, Node(cast(Any, flatten_func), unflatten_func))


@named_options
def register_pytree_node_class(cls: ClassT) -> ClassT:
    """register_pytree_node as a decorator, of a class with the method `tree_flatten()` and the
    classmethod `tree_unflatten(data, children)`."""
    made: Any = cls
    register_pytree_node(cls, made.tree_flatten, made.tree_unflatten)
    return cls


@named_options
def register_dataclass(
    cls: ClassT,
    data_fields: Sequence[str] | None = None,
    meta_fields: Sequence[str] | None = None,
) -> ClassT:
    """Objects of a dataclass are nestings of what its data fields hold; also a decorator.

    `meta_fields` are static: hashable, and part of the program. By default these are the fields
    with `metadata={"static": True}`, and all others are data. Objects are made without __init__.
    """
    made: Any = cls
    if not dataclasses.is_dataclass(made):
        raise ArgumentTypeError(f"register_dataclass: expected a dataclass, got {made.__name__}")
    known = {f.name: f for f in dataclasses.fields(made)}
    meta = [n for n, f in known.items() if f.metadata.get("static")]
    meta = meta if meta_fields is None else [*meta_fields]
    data = [n for n in known if n not in meta] if data_fields is None else [*data_fields]
    if sorted([*meta, *data]) != sorted(known):
        raise ArgumentTypeError(
            f"register_dataclass: data_fields and meta_fields must name each of "
            f"{', '.join(known)} once, got {data} and {meta}"
        )

    def flatten(value: Any) -> tuple[Sequence[Any], Hashable]:
        children = [getattr(value, name) for name in data]
        return children, tuple(getattr(value, name) for name in meta)

    def unflatten(static: tuple[Any, ...], children: Sequence[Any]) -> Any:
        item: Any = cast(Any, object).__new__(cls)
        for name, child in (*zip(data, children, strict=True), *zip(meta, static, strict=True)):
            object.__setattr__(item, name, child)
        return item

    _add(cls, Node(flatten, unflatten, tuple(data)))
    return cls


@named_options
def register_static(cls: ClassT) -> ClassT:
    """Objects of a class are static data, without arrays, and hashable. A decorator too."""

    def flatten(value: Any) -> tuple[tuple[()], Hashable]:
        return (), value

    def unflatten(data: Any, children: Sequence[Any]) -> Any:
        del children
        return data

    _add(cls, Node(flatten, unflatten))
    return cls


def _add(cls: object, node: Node) -> None:
    if not isinstance(cls, type):
        raise ArgumentTypeError(f"expected a class, got {cls!r}")
    if cls in NODES or cls.__module__ in ("builtins", "numpy"):
        what = "is registered already" if cls in NODES else "has a meaning of its own"
        raise ArgumentTypeError(f"{cls.__name__} {what}")
    NODES[cls] = node


def parts(value: object) -> tuple[Sequence[Any], tuple[Any, Hashable]]:
    """The children of an object of a registered class, and its static data with its key."""
    name = type(value).__name__
    try:
        children, data = NODES[type(value)].flatten(value)
    except (TypeError, ValueError) as error:
        raise ArgumentTypeError(f"{name}: its flatten_func failed: {error}") from error
    try:
        hash(data)
    except TypeError:
        raise ArgumentTypeError(
            f"{name}: its static data must be hashable, got {type(data).__name__}; arrays are data"
        ) from None
    return list(children), (data, static_key(data))


def static_key(value: Any) -> Hashable:
    """What tells a value from equal ones: its type, and the bits of a float, in tuples too."""
    kind = cast(Hashable, type(value))
    if isinstance(value, tuple):
        return kind, *map(static_key, cast(tuple[Any, ...], value))
    if isinstance(value, float | complex | np.generic):
        return kind, np.asarray(cast(Any, value)).tobytes()
    return kind, None


def kind_of(value: object) -> str:
    """The class of an object that is no array, with a way out for a user's class, in messages."""
    cls = type(value)
    if cls.__module__.partition(".")[0] in ("builtins", "numpy", "gradir"):
        return cls.__name__
    how = "register_dataclass" if dataclasses.is_dataclass(cls) else "register_pytree_node"
    return f"{cls.__name__} (gradir.tree.{how} makes its objects nestings of arrays)"
