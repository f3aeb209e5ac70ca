"""Python functions that programs may call, by name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, cast

Spec = tuple[tuple[int, ...], str]
"""A shape and the name of a NumPy dtype."""

ShapeRule = Callable[..., Any]


@dataclass(frozen=True)
class HostFunction:
    """A registered function; `backward` is the name of the one that gives its derivative."""

    name: str
    function: Callable[..., Any]
    shape: ShapeRule | None
    backward: str | None
    pure: bool

    def expected(self, inputs: Sequence[Spec]) -> list[Spec] | None:
        """What the shape rule says of the results; None without one."""
        if self.shape is None:
            return None
        given: Any = self.shape(*inputs)
        # one result need not be in a list
        several = cast(list[Any], given) if isinstance(given, list) else [given]
        return [(tuple(shape), str(dtype)) for shape, dtype in several]


_FUNCTIONS: dict[str, HostFunction] = {}


def register_host_function(
    name: str,
    function: Callable[..., Any],
    shape: ShapeRule | None = None,
    backward: str | Callable[..., Any] | None = None,
    pure: bool = False,
) -> None:
    """Make a Python function callable from programs, as grad.host_call {callee = name}.

    `function(*arrays)` returns an array, or a tuple of them, of the types that the op declares;
    the arrays are its own. `shape(*inputs) -> outputs` checks that declaration: inputs and outputs
    are pairs of shape and dtype name, outputs one pair or a list. `backward` is the derivative, a
    function or the name of one that is registered: it takes what the op's `deps` say and returns
    the cotangents of the floating inputs. `pure`: it has no effects, and equal arguments give equal
    results, so that it may be run again or not at all. A name may be registered again.
    """
    if not isinstance(name, str) or not name:  # pyright: ignore[reportUnnecessaryIsInstance]
        raise TypeError(f"name: expected a string, got {name!r}")
    if not callable(function):
        raise TypeError(f"function: expected a function, got {type(function).__name__}")
    if callable(backward):
        derivative, backward = backward, f"{name}.backward"
        _FUNCTIONS[backward] = HostFunction(backward, derivative, None, None, pure)
    _FUNCTIONS[name] = HostFunction(name, function, shape, backward, pure)


def host_function(name: str) -> HostFunction | None:
    """The function that is registered under a name."""
    return _FUNCTIONS.get(name)


def host_function_names() -> list[str]:
    return list(_FUNCTIONS)
