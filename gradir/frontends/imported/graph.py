"""A program of another system as data: nodes in order, with the type and the place of each.

A system's importer makes graphs, and `replay.py` runs them on traced arrays. Nothing here imports a
system.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias

from xdsl.dialects.builtin import LocationAttr


class ForeignType(NamedTuple):
    """The shape of an array, and its dtype by the system's name, which gradir may not have."""

    shape: tuple[int, ...]
    dtype: str

    def __str__(self) -> str:
        return f"{self.dtype}{list(self.shape)}"

    @property
    def is_known(self) -> bool:
        """Whether the system says it."""
        return bool(self.dtype)


UNKNOWN = ForeignType((), "")
"""The type of a value where the system does not say it."""


@dataclass(eq=False, frozen=True)
class ForeignValue:
    """A value of a graph: an argument, or a result of a node."""

    type: ForeignType


@dataclass(eq=False, frozen=True)
class ForeignConstant:
    """An array that is known: a literal, or what a program has captured."""

    type: ForeignType
    array: Any


Operand: TypeAlias = ForeignValue | ForeignConstant
MakeGraph: TypeAlias = "Callable[[], ForeignGraph]"


@dataclass(eq=False, frozen=True)
class ForeignNode:
    """An op with its operands and results.

    `params` are what the system says of the op, with a graph for each program in it; `graphs` lists
    these. `effect` names what the op does beside its results, "" for nothing. A `kept` node's
    results are saved where the program around it is recomputed. `label` is the program's name for
    the op, if it gives one.
    """

    op: str
    operands: tuple[Operand, ...]
    results: tuple[ForeignValue, ...]
    params: Mapping[str, Any]
    place: LocationAttr
    graphs: tuple[ForeignGraph, ...] = ()
    effect: str = ""
    variable: str | None = None
    kept: bool = False
    refused: str = ""
    label: str = ""


@dataclass(eq=False, frozen=True)
class ForeignGraph:
    """Nodes in an order in which they can run. `name` is a name for a function made of it."""

    name: str
    inputs: tuple[ForeignValue, ...]
    nodes: tuple[ForeignNode, ...]
    outputs: tuple[Operand, ...]
    place: LocationAttr

    def input_types(self) -> tuple[ForeignType, ...]:
        """The types of the arguments."""
        return tuple(value.type for value in self.inputs)


@dataclass(eq=False, frozen=True)
class DerivativeRule:
    """The derivative that a foreign function brings, as graphs that are made when asked for.

    `key` is equal for equal functions with equal rules, so that a rule that calls its own function
    ends. `active` are the operands that have a derivative. `jvp` takes the operands and the
    tangents of these, and gives the results and the tangents of the floating ones. Or `forward`
    gives the results and residuals, and `backward` takes the residuals and the cotangents of
    floating results, and gives the cotangents of the active operands.
    """

    key: Any
    active: tuple[int, ...]
    jvp: MakeGraph | None = None
    forward: MakeGraph | None = None
    backward: MakeGraph | None = None


@dataclass
class Refusals:
    """The reasons why a graph cannot be replayed, each with the places where it holds."""

    reasons: dict[tuple[str, str], list[LocationAttr]] = field(default_factory=dict)

    def add(self, what: str, why: str, place: LocationAttr) -> None:
        """Note that `what` cannot be replayed."""
        self.reasons.setdefault((what, why), []).append(place)


def live_nodes(nodes: Sequence[ForeignNode], outputs: Sequence[Operand]) -> list[ForeignNode]:
    """The nodes that the outputs need, and those with an effect."""
    needed = {id(value) for value in outputs}
    found: list[ForeignNode] = []
    for node in reversed(nodes):
        if (
            node.effect
            or node.refused
            or not node.results
            or any(id(r) in needed for r in node.results)
        ):
            needed.update(map(id, node.operands))
            found.append(node)
    return found[::-1]
