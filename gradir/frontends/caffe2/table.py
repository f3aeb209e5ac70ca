"""The table of operator types: one entry for each, which says all that is known of it.

An entry is a Python function on traced arrays, `fn(*inputs, **arguments) -> value or tuple`, beside
facts: how many operands, which values its gradient reads, which gradients it only hands on.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Container, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeAlias

from gradir.errors import ArgumentTypeError
from gradir.frontends.caffe2.errors import OperatorError
from gradir.frontends.caffe2.operator import Operator, Scope

Count: TypeAlias = "int | tuple[int, int | None]"
Known: TypeAlias = Container[str]
Slots: TypeAlias = "Sequence[int] | Callable[[Operator], Sequence[int]]"

# What functions may ask for beside inputs and arguments.
CONTEXT = {"outputs", "number", "op", "run", "is_replay"}

# Arguments of Caffe2's operators that say how to compute, not the result.
WITHOUT_EFFECT = {
    "engine", "order", "cudnn_exhaustive_search", "exhaustive_search", "ws_nbytes_limit",
    "shared_buffer", "allow_broadcast_fastpath", "use_cudnn", "init_params",
}  # fmt: skip


@dataclass(frozen=True)
class OperatorType:
    """What is known of a type of operators.

    `compute` gets the inputs, the arguments by keyword, and by keyword too what it asks for of
    `outputs`, how many results are wanted; `number`, the operator's place in the net; `op`; `run`,
    which runs a nested net; `is_replay`, whether this is computed again for a derivative.
    `arguments` are those that it takes beside its keyword parameters. `scope` finds what nested
    nets read and change.
    `reads` are the values that its gradient reads, and `shapes` the ones whose shape it reads:
    `in0`, `out1`, `ins` (all inputs). `differentiable`: the inputs with a gradient, all where None.
    `forwards`: the ones that get the first output's gradient as theirs. `broadcasts`: these may
    have another shape. `slices`: its gradient is a GradientSlice, its input and its second one.
    `keeps_slices`: a GradientSlice is handed on as it is. `is_typed`: the arguments say the type of
    its result.
    """

    name: str
    inputs: tuple[int, int | None]
    outputs: tuple[int, int | None]
    compute: Callable[..., Any]
    reads: tuple[str, ...] = ("ins",)
    shapes: Slots | tuple[str, ...] = ()
    differentiable: Slots | None = None
    forwards: Slots = ()
    broadcasts: Callable[[Operator], bool] = lambda op: False
    slices: Callable[[Operator], bool] = lambda op: False
    keeps_slices: bool = False
    scope: Callable[[Operator, Known], Scope] | None = None
    is_typed: bool = False
    arguments: tuple[str, ...] = ()
    builtin: bool = True
    parameters: dict[str, inspect.Parameter] = field(default_factory=dict[str, Any], compare=False)

    @cached_property
    def by_position(self) -> tuple[str | None, ...]:
        """The parameters by position of a function that was registered, in order.

        An argument may name one that no input fills, but for those by position alone, None here.
        """
        by_name = inspect.Parameter.POSITIONAL_OR_KEYWORD
        found = () if self.builtin else _by_position(self.parameters.values())
        return tuple(p.name if p.kind is by_name else None for p in found)

    @cached_property
    def known(self) -> frozenset[str] | None:
        """The arguments that it takes; None where it takes all."""
        found = self.parameters.values()
        if not self.arguments and any(p.kind is p.VAR_KEYWORD for p in found):
            return None
        by_keyword = [p.name for p in found if p.kind is inspect.Parameter.KEYWORD_ONLY]
        names = {*by_keyword, *filter(None, self.by_position)}
        return frozenset(names - CONTEXT).union(self.arguments)

    @property
    def has_seed(self) -> bool:
        """Whether it draws random numbers by a seed."""
        return self.builtin and self.known is not None and "seed" in self.known

    def differentiable_slots(self, op: Operator) -> Sequence[int]:
        """The inputs of an operator that have a gradient."""
        found = self.differentiable
        return range(len(op.operands)) if found is None else _slots(found, op)

    def forwarded_slots(self, op: Operator) -> Sequence[int]:
        """The inputs of an operator that get its first output's gradient as theirs."""
        return _slots(self.forwards, op)

    def takes(self, parameter: str) -> bool:
        """Whether the function has a parameter."""
        return parameter in self.parameters


def _slots(slots: Slots, op: Operator) -> Sequence[int]:
    return slots(op) if callable(slots) else slots


TYPES: dict[str, OperatorType] = {}
"""The types that there are, by name."""


def operator_type(
    name: str, inputs: Count | None = None, outputs: Count = 1, **facts: Any
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Decorate the function of an operator type, which gets an entry in the table."""
    if not isinstance(name, str) or not name:
        raise ArgumentTypeError(f"type: expected the name of an operator type, got {name!r}")

    def entered(function: Callable[..., Any]) -> Callable[..., Any]:
        if not callable(function):
            raise ArgumentTypeError(f"{name}: expected a Python function, got {function!r}")
        parameters = dict(inspect.signature(function).parameters)
        arity = _arity(parameters.values()) if inputs is None else _range(inputs)
        TYPES[name] = OperatorType(
            name, arity, _range(outputs), function, parameters=parameters, **facts
        )
        return function

    return entered


def register(
    type: str, inputs: int | tuple[int, int | None] | None = None, outputs: int = 1
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Make a function an operator type: `fn(*xs, **args) -> value or tuple`.

    It gets and gives values of gradir.numpy; the arguments of an operator are keyword arguments.
    `inputs` is how many it takes, or the least and the greatest number (None: any), by default what
    its signature says; `outputs` likewise. Its gradient follows from its ops, or from a
    gradir.custom_vjp in it. A type may be registered again.
    """
    return operator_type(type, inputs, outputs, builtin=False)


def _range(count: Count) -> tuple[int, int | None]:
    return (count, count) if isinstance(count, int) else count


def _arity(parameters: Iterable[inspect.Parameter]) -> tuple[int, int | None]:
    """How many arguments by position a function takes."""
    found = list(parameters)
    by_position = _by_position(found)
    least = sum(p.default is p.empty for p in by_position)
    is_open = any(p.kind is p.VAR_POSITIONAL for p in found)
    return least, None if is_open else len(by_position)


def _by_position(parameters: Iterable[inspect.Parameter]) -> list[inspect.Parameter]:
    return [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]


def entry(op: Operator) -> OperatorType:
    """The table's entry for an operator; OperatorError for a type that there is not."""
    found = TYPES.get(op.type)
    if found is None:
        raise OperatorError(
            f"{op.type}: no such operator type; gradir.frontends.caffe2.register makes one"
        )
    return found


def check(op: Operator) -> None:
    """OperatorError unless the type is known and the operands and arguments fit it."""
    found = entry(op)
    for what, given, allowed in (
        ("input", op.inputs, found.inputs),
        ("output", op.outputs, found.outputs),
    ):
        least, most = allowed
        if len(given) < least or (most is not None and len(given) > most):
            raise OperatorError(
                f"{op.type}: expected {_count(what, least, most)}, got {len(given)}"
            )
    repeated = {name for name in op.outputs if op.outputs.count(name) > 1}
    if repeated:
        raise OperatorError(f"{op.type}: output {min(repeated)} is given twice")
    _check_arguments(op, found)


def _count(what: str, least: int, most: int | None) -> str:
    if least == most:
        return f"{least} {what}{'' if least == 1 else 's'}"
    return f"{least} or more {what}s" if most is None else f"{least} to {most} {what}s"


def _check_arguments(op: Operator, found: OperatorType) -> None:
    if not op.args:
        return
    twice = [name for name in found.by_position[: len(op.inputs)] if name in op.args]
    if twice:
        raise OperatorError(f"{op.type}: {twice[0]} is one of its inputs, and an argument too")
    if found.known is None:
        return
    unknown = [key for key in op.args if key not in found.known and key not in WITHOUT_EFFECT]
    if unknown:
        listed = ", ".join(sorted(found.known)) or "none"
        raise OperatorError(f"{op.type}: unknown argument {unknown[0]}; arguments: {listed}")
