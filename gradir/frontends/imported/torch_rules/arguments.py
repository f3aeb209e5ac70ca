"""How a rule gets the arguments of PyTorch's schema, and how their types are joined.

A node's parameter `arguments` has the arguments by name, nested as in the schema, with an
`OperandPlace` for each tensor. The first one is given by position, the others by name. `used` are
the numbers of the results that the program reads. Random ops have the number of their `draw`, and a
key behind all other operands.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any, TypeAlias, cast

import numpy as np

from gradir.dialects.array.creation import numpy_dtype
from gradir.dialects.base.shapes import is_bool, is_float
from gradir.frontends.functions.lattice import element_at, join
from gradir.frontends.functions.promotion import converted
from gradir.frontends.imported.table import Rule, RuleTable
from gradir.frontends.random.keys import fold_in
from gradir.frontends.tracing.source_locations import refusal
from gradir.frontends.tracing.spec import ELEMENTS
from gradir.frontends.tracing.tracer import Tracer
from gradir.frontends.tracing.tracing import element, is_number, lifted

Function: TypeAlias = Callable[..., Any]


@dataclass(frozen=True)
class OperandPlace:
    """An argument that is the operand of this number."""

    number: int


class AtenRules(RuleTable):
    """Rules of one kind of PyTorch's ops."""

    def __init__(self) -> None:
        super().__init__("PyTorch")

    def aten(self, *names: str, note: str = "") -> Callable[[Function], Function]:
        """A decorator: the function of an op's arguments, behind the call, is the rule of ops."""

        def added(function: Function) -> Function:
            self.rule(*names, note=note)(_of_arguments(function))
            return function

        return added

    def each(self, note: str = "", **functions: Function) -> None:
        """Ops that are a function of their arguments, without what the call says."""
        for name, function in functions.items():
            self.rule(name.rstrip("_"), note=note)(_of_arguments(_without_call(function)))

    def of_floats(self, **functions: Function) -> None:
        """Functions of the elements of one array, in the type of the result."""
        for name, function in functions.items():
            self.rule(name.rstrip("_"))(_of_arguments(_in_result_type(function)))


def _of_arguments(function: Function) -> Rule:
    def rule(call: Any, *operands: Any) -> Any:
        given = [(name, filled_in(value, operands)) for name, value in call["arguments"]]
        named = dict(given[1:])
        if "draw" in call.params:
            named["key"] = fold_in(operands[-1], call["draw"])
        made = function(call, *(value for _, value in given[:1]), **named)
        every = list(cast(Sequence[Any], made)) if isinstance(made, (tuple, list)) else [made]
        return [_required(call, every, place) for place in call["used"]]

    return rule


def _required(call: Any, results: Sequence[Any], place: int) -> Any:
    """A result that the program reads; those that no rule computes are None."""
    if results[place] is None:
        raise refusal(f"{call.op}: result {place} is not there")
    return results[place]


def filled_in(value: Any, operands: Sequence[Any]) -> Any:
    """An argument with operands in their places."""
    if isinstance(value, OperandPlace):
        return operands[value.number]
    if isinstance(value, (tuple, list)):
        return [filled_in(each, operands) for each in cast(Sequence[Any], value)]
    return value


def _without_call(function: Function) -> Function:
    def of_arguments(call: Any, *args: Any, **kwargs: Any) -> Any:
        del call
        return function(*args, **kwargs)

    return of_arguments


def _in_result_type(function: Function) -> Function:
    def of_array(call: Any, x: Any) -> Any:
        return function(converted(x, call.element))

    return of_array


# Types.


def kinds(call: Any) -> list[Any]:
    """The element types of the results."""
    return [ELEMENTS[type_.dtype] for type_ in call.results]


def _rank(operand: Any) -> int:
    """Which operands decide: arrays before arrays of rank 0, those before Python numbers."""
    if not isinstance(operand, Tracer):
        return 0
    return 2 if operand.ndim else 1


def _category(operand: Any) -> int:
    """Bools, integers, floats."""
    if not isinstance(operand, Tracer):
        return 0 if isinstance(operand, bool) else 1 if isinstance(operand, int) else 2
    return 0 if is_bool(element(operand)) else 2 if is_float(element(operand)) else 1


def common_kind(*operands: Any) -> Any:
    """The element type in which PyTorch computes with operands.

    Arrays of rank 0, and Python numbers more so, count only where they are of a higher kind (bool,
    integer, float) than all arrays of rank 1 and more.
    """
    found, category = None, -1
    for rank in (2, 1, 0):
        given = [o for o in operands if o is not None and _rank(o) == rank]
        highest = max(map(_category, given), default=-1)
        if highest > category:
            found, category = _joined_kind(given), highest
    return found


def _joined_kind(operands: Sequence[Any]) -> Any:
    nodes = [element(o) if isinstance(o, Tracer) else _kind_of_number(o) for o in operands]
    return element_at(reduce(join, nodes))


def _kind_of_number(number: Any) -> Any:
    if isinstance(number, bool):
        return ELEMENTS["bool"]
    return ELEMENTS["int64" if isinstance(number, int) else "float32"]


def alike(*operands: Any, floating: bool = False) -> list[Any]:
    """Operands converted to the type in which PyTorch computes, one of floats if that is asked."""
    kind = common_kind(*operands)
    if floating and not is_float(kind):
        kind = ELEMENTS["float32"]
    return [None if o is None else converted(o, kind) for o in operands]


def typed(call: Any, *operands: Any) -> list[Any]:
    """Operands in the type of the result; None as it is."""
    return [None if o is None else converted(wrapped(o, call.element), call.element)
            for o in operands]  # fmt: skip


def wrapped(operand: Any, kind: Any) -> Any:
    """A Python integer as one of a type, modulo its range; other operands as they are."""
    if isinstance(operand, bool) or not isinstance(operand, int) or is_float(kind) or is_bool(kind):
        return operand
    return int(np.asarray(operand).astype(numpy_dtype(kind)))


def axes_of(x: Any, dim: Any) -> tuple[int, ...]:
    """The axes that `dim` names, all for None and none; of an array of rank 0 there are none."""
    if not x.ndim:
        return ()
    if dim is None or (isinstance(dim, (tuple, list)) and not dim):
        return tuple(range(x.ndim))
    given = [dim] if isinstance(dim, int) else list(cast(Sequence[int], dim))
    return tuple(d % x.ndim for d in given)


def axis_of(x: Any, dim: int) -> int:
    """An axis counted from the first."""
    return dim % max(x.ndim, 1)


def is_whole(x: Any) -> bool:
    """Whether the elements are integers or bools."""
    return not is_float(element(x))


def number_type(kind: Any) -> Any:
    """The NumPy dtype of an element type."""
    return numpy_dtype(kind)


def as_array(value: Any, kind: Any) -> Any:
    """A number or an array as an array of an element type."""
    return converted(value if is_number(value) else lifted(value), kind)
