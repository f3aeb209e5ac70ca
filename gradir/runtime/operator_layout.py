"""The functions of custom ops, and how the arrays of a call become their arguments."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from xdsl.dialects.builtin import FunctionType

from gradir.dialects.base.shapes import is_float
from gradir.dialects.grad.host_functions import NEEDS, Spec, dependencies, differentiable

Places = tuple[int | None, ...]
"""The operand, or the result, that is each entry of a tuple of arrays; None for none."""


TIMEOUT = 600.0
"""The seconds that programs wait for an async call, where nothing else is said: not for ever."""


@dataclass(frozen=True)
class NativeOperator:
    """A function of a custom op, and what it was declared to need.

    In Python: forward(inputs, outputs, req); backward(cotangents, inputs, outputs, grads, req);
    jvp(tangents, inputs, outputs, out_tangents, req). Or a NativeFunction. An async one of Python's
    may return a Future, and writes until that is done; `timeout` is the seconds that a program
    waits for it.
    """

    function: Any
    role: Literal["forward", "backward", "jvp"] = "forward"
    needs: tuple[str, ...] = NEEDS
    state: int = 0
    debug: bool = False
    is_async: bool = False
    timeout: float | None = TIMEOUT
    infer: Callable[..., list[Spec]] | None = None  # of the op that it is a derivative of


@dataclass(frozen=True)
class OperatorLayout:
    """The arguments of an operator's function: the tuples that it reads, and the one it writes.

    Each has a name, and an entry for each array of its kind.
    """

    read: tuple[tuple[str, Places], ...]
    written: tuple[str, Places]

    @property
    def operands(self) -> dict[int, str]:
        """The names of the operands: "inputs[0]"."""
        return {
            place: f"{group}[{k}]"
            for group, places in self.read
            for k, place in enumerate(places)
            if place is not None
        }

    @property
    def results(self) -> dict[int, str]:
        """The names of the results: "grads[0]"."""
        group, places = self.written
        return {place: f"{group}[{k}]" for k, place in enumerate(places) if place is not None}

    def requests(self, unread: frozenset[int]) -> tuple[str, ...]:
        """What is to happen with each array of the written tuple."""
        return tuple("null" if p is None or p in unread else "write" for p in self.written[1])


def layout_of(
    operator: NativeOperator, operands: int, results: int, of: FunctionType | None
) -> OperatorLayout | None:
    """The layout of a call; None where its operands and results do not fit the operator."""
    if (operator.role == "forward") is not (of is None):
        return None
    if of is None:
        read = (("inputs", tuple(range(operands))),)
        return OperatorLayout(read, ("outputs", tuple(range(results))))
    inputs, outputs = len(of.inputs), len(of.outputs)
    active, seeded = (
        differentiable([is_float(t) for t in types], operator.state)
        for types in (of.inputs.data, of.outputs.data)
    )
    if operator.role == "backward":
        kinds = dependencies(operator.needs, inputs, outputs, seeded)
        first = "cotangents", "out_grad", outputs
        written = "grads", _numbered(active, inputs)
    else:
        kinds = [("in_grad", k) for k in active] + dependencies(NEEDS, inputs, outputs, [])
        first, written = (
            ("tangents", "in_grad", inputs),
            ("out_tangents", _numbered(seeded, outputs)),
        )
    groups = (first, ("inputs", "in", inputs), ("outputs", "out", outputs))
    read = tuple((name, _places(kinds, kind, count)) for name, kind, count in groups)
    count = sum(place is not None for place in written[1])
    return OperatorLayout(read, written) if (operands, results) == (len(kinds), count) else None


def _numbered(active: Sequence[int], count: int) -> Places:
    return tuple(active.index(k) if k in active else None for k in range(count))


def _places(kinds: Sequence[tuple[str, int]], kind: str, count: int) -> Places:
    """The operands of a kind."""
    return tuple(kinds.index((kind, k)) if (kind, k) in kinds else None for k in range(count))
