"""The functions of host calls, by name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, cast

Spec = tuple[tuple[int, ...], str]
"""A shape and the name of a NumPy dtype."""

ShapeRule = Callable[..., Any]

GROUPS = {"out_grad": "cotangents", "in": "inputs", "out": "outputs"}
"""The name in Python of each kind of array that a backward function may read."""

NEEDS = tuple(GROUPS.values())


@dataclass(frozen=True)
class HostFunction:
    """A registered function; `backward` and `jvp` are names of its derivatives' functions.

    `function` is called with arrays and returns arrays, or is an operator, which the runtime calls.
    `needs` are the arrays that the backward function reads, by group or by name ("in0"). The last
    `state` arguments are state, whose new values are the last results. A derivative that
    `takes_kinds` is told the element types of the call that it belongs to.
    """

    name: str
    function: Any
    shape: ShapeRule | None = None
    backward: str | None = None
    pure: bool = False
    jvp: str | None = None
    needs: tuple[str, ...] = NEEDS
    state: int = 0
    takes_kinds: bool = False

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
        register(HostFunction(backward, derivative, pure=pure))
    register(HostFunction(name, function, shape, backward, pure))


def register(function: HostFunction) -> None:
    """Make a function callable under its name."""
    _FUNCTIONS[function.name] = function


def host_function(name: str) -> HostFunction | None:
    """The function registered under a name."""
    return _FUNCTIONS.get(name)


def host_function_names() -> list[str]:
    return list(_FUNCTIONS)


def differentiable(are_floating: Sequence[bool], state: int) -> list[int]:
    """The places of the values with cotangents: the floating ones that are no state."""
    return [k for k, floating in enumerate(are_floating[: len(are_floating) - state]) if floating]


def dependencies(
    needs: Sequence[str], inputs: int, outputs: int, seeded: Sequence[int]
) -> list[tuple[str, int]]:
    """The operands of a backward function, kind and number: cotangents, then inputs, then outputs.

    `seeded` are the outputs with cotangents.
    """
    every = [("out_grad", k) for k in seeded]
    every += [("in", k) for k in range(inputs)] + [("out", k) for k in range(outputs)]
    return [(kind, k) for kind, k in every if GROUPS[kind] in needs or f"{kind}{k}" in needs]
