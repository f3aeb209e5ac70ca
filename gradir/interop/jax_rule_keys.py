"""What tells a function of JAX with a derivative rule from others.

JAX makes new objects for it in each trace, a rule's own calls of its function included. What stays
is the user's function behind the rule, which JAX holds in closures and wrapped functions.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from typing import Any

MOST_NESTED = 8
"""Closures within closures that are looked into."""


class SameObject:
    """An object as a key: equal to itself, and kept so that no other gets its id."""

    __slots__ = ("held",)

    def __init__(self, held: Any):
        self.held = held

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SameObject) and other.held is self.held

    def __hash__(self) -> int:
        return id(self.held)


def rule_key(equation: Any) -> Hashable:
    """A key that is equal for equations that call one function with one rule on equal types.

    Where the user's function is not found, the key is of this equation alone.
    """
    params = equation.params
    types = tuple(str(v.aval) for v in equation.invars)
    if "call_jaxpr" not in params:
        return equation.primitive.name, _static(tuple(sorted(params.items(), key=_first))), types
    rules = [params[name] for name in ("jvp_jaxpr_fun", "fwd_jaxpr_thunk", "bwd") if name in params]
    found = [part for rule in rules for part in _functions(rule, 0, set()) if part]
    closed = params["call_jaxpr"]
    consts = tuple(map(SameObject, closed.consts))
    return equation.primitive.name, tuple(found), str(closed.jaxpr), consts, types


def _first(pair: tuple[str, Any]) -> str:
    return pair[0]


def _functions(held: Any, depth: int, seen: set[int]) -> Iterator[Hashable]:
    """The users' functions behind a wrapped one, with the static arguments that they get."""
    if id(held) in seen or depth > MOST_NESTED:
        return
    seen.add(id(held))
    if hasattr(held, "f_transformed"):
        inner = list(_functions(held.f, depth + 1, seen))
        static = [part for _, given in held.transforms for part in given]
        # JAX wraps a rule once more where it runs an equation: then the user's is further in
        yield from inner or [SameObject(held.f)]
        yield tuple(_static(part) for part in static if not _is_new(part))
        return
    if not str(getattr(held, "__module__", "")).startswith("jax."):
        return
    for cell in getattr(held, "__closure__", None) or ():
        try:
            yield from _functions(cell.cell_contents, depth + 1, seen)
        except ValueError:
            continue  # not assigned yet


def _is_new(part: Any) -> bool:
    """Whether JAX makes an object anew in each trace, which says nothing of the function."""
    return callable(part) or type(part).__name__ == "DebugInfo"


def _static(part: Any) -> Hashable:
    """A static argument as a part of a key."""
    if isinstance(part, (tuple, list)):
        return tuple(map(_static, part))
    held = getattr(part, "val", part)
    try:
        hash(held)
    except TypeError:
        return SameObject(held)
    return type(held), held
