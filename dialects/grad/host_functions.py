"""The Python functions of host calls, by name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, cast

Spec = tuple[tuple[int, ...], str]
"""A shape and the name of a NumPy dtype."""

ShapeRule = Callable[..., Any]


@dataclass(frozen=True)
class HostFunction:
    """A registered function; `backward` is the name of its backward function."""

    name: str
    function: Callable[..., Any]
    shape: ShapeRule | None
    backward: str | None
    pure: bool

    def expected(self, inputs: Sequence[Spec]) -> list[Spec] | None:
        """The results' shapes and dtypes by the shape rule; None without one."""
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
    """See `gradir.register_host_function`; a backward function gets a name of its own."""
    if callable(backward):
        derivative, backward = backward, f"{name}.backward"
        _FUNCTIONS[backward] = HostFunction(backward, derivative, None, None, pure)
    _FUNCTIONS[name] = HostFunction(name, function, shape, backward, pure)


def host_function(name: str) -> HostFunction | None:
    """The function registered under a name."""
    return _FUNCTIONS.get(name)


def host_function_names() -> list[str]:
    return list(_FUNCTIONS)
