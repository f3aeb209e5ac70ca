"""What tells a function of JAX with a derivative rule from others.

JAX makes new objects for it in each trace, a rule's own calls of its function included. What stays
is the user's function behind the rule, which JAX holds in closures and wrapped functions.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from functools import partial
from types import FunctionType, MethodType
from typing import Any

MOST_NESTED = 12
"""Objects within objects that are looked into."""
MOST_WRAPPED = 200
"""Functions of JAX around functions that are looked into."""


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
    consts = tuple(map(SameObject, _constants(closed)))
    return equation.primitive.name, tuple(found), str(closed.jaxpr), consts, types


def _constants(program: Any) -> Iterator[Any]:
    """The arrays that a jaxpr and those inside of it have captured; its text does not show them."""
    yield from getattr(program, "consts", ())
    for equation in getattr(program, "jaxpr", program).eqns:
        for value in equation.params.values():
            for each in value if isinstance(value, (tuple, list)) else [value]:
                if hasattr(each, "eqns"):
                    yield from _constants(each)


def _first(pair: tuple[str, Any]) -> str:
    return pair[0]


def _functions(held: Any, depth: int, seen: set[int]) -> Iterator[Hashable]:
    """The users' functions behind a wrapped one, with the static arguments that they get."""
    if id(held) in seen or depth > MOST_WRAPPED:
        return
    seen.add(id(held))
    if hasattr(held, "f_transformed"):
        inner = list(_functions(held.f, depth + 1, seen))
        if inner:
            # JAX wraps a rule once more where it runs an equation: the user's is further in
            yield from inner
            return
        yield _static(held.f)
        static = [part for _, given in held.transforms for part in given]
        yield tuple(_static(part) for part in static if not _is_new(part))
        return
    if not str(getattr(held, "__module__", "")).startswith("jax."):
        return
    for cell in getattr(held, "__closure__", None) or ():
        yield from _functions(_content(cell), depth + 1, seen)


def _is_new(part: Any) -> bool:
    """Whether JAX adds or makes an object in each trace, which says nothing of the function."""
    is_empty = isinstance(part, (tuple, list)) and not part
    return callable(part) or is_empty or type(part).__name__ == "DebugInfo"


def _static(part: Any, depth: int = 0) -> Hashable:
    """A static argument, or a function, as a part of a key: by what it holds, arrays by identity.

    Functions that are made anew are equal where their code and what it reads from around is.
    """
    inner = partial(_static, depth=depth + 1)
    if depth > MOST_NESTED:
        return SameObject(part)
    if isinstance(part, (tuple, list)):
        return type(part), tuple(map(inner, part))
    if isinstance(part, dict):
        return tuple((str(key), inner(value)) for key, value in part.items())
    if type(part).__name__ in ("Hashable", "Unhashable", "HashableFunction"):
        held = getattr(part, "val", None)  # which may be an array
        return inner(vars_of(part) if held is None else held)
    if hasattr(part, "eqns"):
        return str(part), tuple(map(SameObject, _constants(part)))
    if isinstance(part, FunctionType) and "<locals>" not in part.__qualname__:
        return SameObject(part)
    if isinstance(part, FunctionType):
        cells = [inner(_content(cell)) for cell in part.__closure__ or ()]
        around = SameObject(part.__globals__)
        given = inner(part.__defaults__ or ()), inner(part.__kwdefaults__ or {})
        return part.__code__, around, tuple(cells), given
    if isinstance(part, MethodType):
        return inner(part.__func__), inner(part.__self__)
    if isinstance(part, partial):
        return inner(part.func), inner(part.args), inner(part.keywords)
    return _of_object(part, inner)


def _of_object(part: Any, inner: Callable[[Any], Hashable]) -> Hashable:
    if hasattr(part, "shape") and hasattr(part, "__array__"):
        return SameObject(part)
    if isinstance(part, (float, complex)):
        return type(part), repr(part)  # zeros of two signs are equal, nans are not
    # others than of Python and JAX by what they hold: their == may not compare all of it
    is_known = type(part).__module__.startswith(("jax.", "jaxlib.", "builtins", "numpy", "enum"))
    if not is_known and not isinstance(part, type) and vars_of(part):
        return type(part), inner(vars_of(part))
    try:
        hash(part)
    except TypeError:
        return SameObject(part)
    return type(part), part


def vars_of(part: Any) -> dict[str, Any]:
    """The attributes of an object of Python."""
    slots = [name for kind in type(part).__mro__ for name in _slots_of(kind)]
    held = {name: getattr(part, name) for name in slots if hasattr(part, name)}
    return {**held, **getattr(part, "__dict__", {})}


def _slots_of(kind: type) -> Sequence[str]:
    found = getattr(kind, "__slots__", ())
    names = [found] if isinstance(found, str) else found
    return [name for name in names if name not in ("__weakref__", "__dict__")]


def _content(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:
        return None  # not assigned yet
