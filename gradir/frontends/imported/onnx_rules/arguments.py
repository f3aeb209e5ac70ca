"""How a rule gets the inputs and attributes of ONNX's operators.

A node's parameter `inputs` has the place of each input among its operands, None for one that is
left out; `attributes` are its attributes by name; `outputs` tells of each output whether it is
named; `opset` is the version of the operator set. The function of a rule takes the inputs by
position, and the attributes by name. Each rule says from which version on it holds.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from math import prod
from typing import Any, TypeAlias, cast

import numpy as np

import gradir.frontends.functions.numpy as gnp
from gradir.dialects.base.shapes import is_float
from gradir.frontends.functions.array_ops import op
from gradir.frontends.functions.promotion import converted
from gradir.frontends.imported.errors import ImportedProgramError
from gradir.frontends.imported.table import Rule, RuleTable
from gradir.frontends.tracing.source_locations import refusal
from gradir.frontends.tracing.spec import ELEMENTS
from gradir.frontends.tracing.tracing import element, lifted
from gradir.frontends.tracing.values import value_of

MOST_ELEMENTS = 1 << 24
"""The most elements of a table that a rule makes of extents, which a small file may name."""

Function: TypeAlias = Callable[..., Any]
INT64 = ELEMENTS["int64"]


class OnnxRules(RuleTable):
    """Rules of one kind of ONNX's operators.

    `static` are inputs whose values must be known; `state` are inputs that training does not move
    by a gradient, such as running statistics.
    """

    def __init__(self) -> None:
        super().__init__("ONNX")
        self.static: dict[str, tuple[int, ...]] = {}
        self.state: dict[str, tuple[int, ...]] = {}

    def onnx(
        self, *names: str, note: str = "", static: Sequence[int] = (), state: Sequence[int] = ()
    ) -> Callable[[Function], Function]:
        """A decorator: the function of inputs and attributes, behind the call, is the rule."""

        def added(function: Function) -> Function:
            self.rule(*names, note=note)(_of_inputs(function, frozenset(static)))
            self.static.update((name, tuple(static)) for name in names if static)
            self.state.update((name, tuple(state)) for name in names if state)
            return function

        return added

    def each(self, **functions: Function) -> None:
        """Operators that are a function of their inputs alone."""
        for name, function in functions.items():
            self.onnx(name)(_without_call(function))


def _without_call(function: Function) -> Function:
    def of_inputs(call: Any, *inputs: Any) -> Any:
        del call
        return function(*inputs)

    return of_inputs


def _of_inputs(function: Function, static: frozenset[int]) -> Rule:
    parameters = inspect.signature(function).parameters.values()
    takes_all = any(p.kind is p.VAR_KEYWORD for p in parameters)
    names = {p.name for p in parameters}

    def rule(call: Any, *operands: Any) -> Any:
        inputs = [None if place is None else operands[place] for place in call["inputs"]]
        given = [
            known(call, x, number) if number in static else x for number, x in enumerate(inputs)
        ]
        attributes = call["attributes"]
        if not takes_all and (unknown := attributes.keys() - names):
            what = f"{call.op}: there is no attribute {sorted(unknown)[0]!r} here"
            raise refusal(what, ImportedProgramError)
        made = function(call, *given, **attributes)
        every = list(cast(Sequence[Any], made)) if isinstance(made, (tuple, list)) else [made]
        return [_required(call, every, k) for k, named in enumerate(call["outputs"]) if named]

    return rule


def _required(call: Any, results: Sequence[Any], place: int) -> Any:
    if place >= len(results) or results[place] is None:
        raise refusal(f"{call.op}: output {place} is not there")
    return results[place]


def known(call: Any, x: Any, number: int) -> np.ndarray[Any, Any] | None:
    """The value of an input that shapes depend on; refused where the program does not fix it."""
    if x is None:
        return None
    value = value_of(lifted(x), MOST_ELEMENTS)
    if value is None:
        what = call["names"][number]
        raise refusal(
            f"{call.op}: its input {what!r} must be known, since shapes depend on it; give "
            "onnx.load(bind={name: array}) the values of the model's inputs that it is made of",
            ImportedProgramError,
        )
    return np.asarray(value)


def numbers(value: Any) -> list[int]:
    """An array of integers as a list."""
    return [int(v) for v in np.asarray(value).reshape(-1)]


def counted(count: int, dtype: Any = np.int64) -> np.ndarray[Any, Any]:
    """The numbers from 0 on, of a limited count."""
    require_small("numbers", count)
    return np.arange(count, dtype=dtype)


def require_small(what: str, *extents: int) -> None:
    """ImportedProgramError for a table of more than MOST_ELEMENTS elements."""
    if (count := prod(extents)) > MOST_ELEMENTS:
        raise refusal(
            f"at most {MOST_ELEMENTS:,} {what} are made while a model is read, got {count:,}",
            ImportedProgramError,
        )


def axis_of(x: Any, axis: int) -> int:
    """An axis counted from the first."""
    if not -x.ndim <= axis < max(x.ndim, 1):
        raise refusal(f"axis {axis} is out of bounds for an array of rank {x.ndim}")
    return axis % max(x.ndim, 1)


def axes_of(x: Any, axes: Any) -> tuple[int, ...]:
    """Axes counted from the first, all for None."""
    return tuple(range(x.ndim)) if axes is None else tuple(axis_of(x, a) for a in numbers(axes))


def is_real(x: Any) -> bool:
    """Whether the elements are floats."""
    return is_float(element(x))


def in_float32(function: Function, *arrays: Any) -> Any:
    """A function of arrays computed in float32 at least; the result has their type."""
    kind = element(arrays[0])
    if kind not in (ELEMENTS["float16"], ELEMENTS["bfloat16"]):
        return function(*arrays)
    return converted(function(*(converted(a, ELEMENTS["float32"]) for a in arrays)), kind)


def places_of(index: Any, count: int) -> Any:
    """Places counted from the first, as int64: negative ones count from the end."""
    wide = converted(index, INT64)
    return gnp.where(op.less(wide, 0), op.add(wide, count), wide)
