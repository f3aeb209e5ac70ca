"""Operators of a net: type, names of blobs, arguments; and names of the two parts of a gradient."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol, TypeAlias, cast

import numpy as np
from xdsl.dialects.builtin import LocationAttr

from gradir.errors import ArgumentTypeError
from gradir.frontends.caffe2.errors import OperatorError

Scalar: TypeAlias = "int | float | str | NetBlock"
Argument: TypeAlias = "Scalar | tuple[Scalar, ...]"
Names: TypeAlias = str | Sequence[str]

VERSIONED = re.compile(r"(.+)@(0|[1-9][0-9]{0,8})", re.DOTALL)
"""How a gradient operator names a version of a blob that was overwritten: `name@0`."""


class NetBlock:
    """Operators in order: a net, as the argument of an operator."""

    @property
    def ops(self) -> tuple[Operator, ...]:
        raise NotImplementedError

    @property
    def external_inputs(self) -> tuple[str, ...]:
        """The blobs that it takes from around it."""
        raise NotImplementedError


class NetLike(Protocol):
    """What is asked of a net."""

    @property
    def name(self) -> str: ...
    @property
    def ops(self) -> tuple[Operator, ...]: ...
    @property
    def external_inputs(self) -> tuple[str, ...]: ...
    @property
    def external_outputs(self) -> tuple[str, ...]: ...
    @property
    def default_fetch(self) -> tuple[str | GradientSlice, ...]: ...
    @property
    def loose(self) -> Sequence[tuple[tuple[str, int], str | GradientSlice]]: ...


class GradientSlice(NamedTuple):
    """A gradient of some rows: the blob of their numbers, and the blob of their values."""

    indices: str
    values: str


class Link(NamedTuple):
    """What a gradient operator is the gradient of.

    `op` is a place in the net; `outputs` are those results of it whose gradients are read, the
    last inputs of the gradient operator; `inputs` are the operands whose gradients it gives, and
    may be fewer than its outputs for a Sum. `loose`: a gradient that is read may have the shape of
    a sum that the result was broadcast into.
    """

    op: int
    outputs: tuple[int, ...]
    inputs: tuple[int, ...]
    loose: bool = False


class Scope(NamedTuple):
    """The blobs around an operator with nested nets that these read and change.

    `private`: of Do, for each name in its net the blob that it stands for. `nets` are the nested
    nets, whose own nested nets have scopes too.
    """

    operands: tuple[str, ...]
    results: tuple[str, ...]
    private: Mapping[str, str] = {}
    nets: Mapping[str, NetBlock] = {}


@dataclass(frozen=True)
class Operator:
    """One operator of a net. `args` are numbers, strings, nets, and tuples of one kind of these.

    `device` is text that is copied, and has no effect. OperatorError and ArgumentTypeError for
    other objects than names and arguments.
    """

    type: str
    inputs: tuple[str, ...] = ()
    outputs: tuple[str, ...] = ()
    args: dict[str, Argument] = field(default_factory=dict[str, Argument], hash=False)
    device: str | None = None
    name: str = ""
    is_gradient_op: bool = False
    link: Link | None = field(default=None, compare=False, repr=False)
    scope: Scope | None = field(default=None, compare=False, repr=False)
    place: LocationAttr | None = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        for what in ("type", "name"):
            _require_text(what, getattr(self, what))
        if self.device is not None:
            _require_text("device", self.device)
        for what in ("inputs", "outputs"):
            object.__setattr__(self, what, names(f"{self.type}: {what}", getattr(self, what)))
        made = {_key(self.type, k): argument(self.type, k, v) for k, v in self.args.items()}
        object.__setattr__(self, "args", made)

    @property
    def operands(self) -> tuple[str, ...]:
        """The blobs that it reads, also in its nested nets."""
        return self.inputs if self.scope is None else self.scope.operands

    @property
    def results(self) -> tuple[str, ...]:
        """The blobs that it writes, also in its nested nets."""
        return self.outputs if self.scope is None else self.scope.results

    def nets(self) -> dict[str, NetBlock]:
        """The nested nets, by the names of the arguments."""
        return {key: value for key, value in self.args.items() if isinstance(value, NetBlock)}


def names(what: str, given: object) -> tuple[str, ...]:
    """One name or several as a tuple; ArgumentTypeError for anything else."""
    several = [given] if isinstance(given, str) else given
    if not isinstance(several, (list, tuple)):
        raise ArgumentTypeError(f"{what}: expected a name or a list of names, got {given!r}")
    for each in cast(Sequence[object], several):
        if not isinstance(each, str):
            raise ArgumentTypeError(f"{what}: expected names of blobs, got {each!r}")
        if not each:
            raise OperatorError(f"{what}: a blob's name must not be empty")
    return tuple(cast(Sequence[str], several))


def _require_text(what: str, value: object) -> None:
    if not isinstance(value, str):
        raise ArgumentTypeError(f"operator: {what} must be a string, got {value!r}")


def _key(type_: str, key: object) -> str:
    if not isinstance(key, str):
        raise ArgumentTypeError(f"{type_}: names of arguments must be strings, got {key!r}")
    return key


def argument(type_: str, key: str, value: Any) -> Argument:
    """The value of an argument as Python's numbers, strings and tuples of these."""
    if isinstance(value, np.ndarray):
        value = cast(Any, value).ravel().tolist()
    if isinstance(value, (list, tuple, range)):
        found = tuple(_scalar(type_, key, each) for each in cast(Iterable[Any], value))
        kinds = {type(each) for each in found}
        if kinds == {int, float}:
            return tuple(float(cast(float, each)) for each in found)
        if len(kinds) > 1:
            raise OperatorError(f"{type_}: {key}: the items must be of one kind, got {value!r}")
        return found
    return _scalar(type_, key, value)


def _scalar(type_: str, key: str, value: Any) -> Scalar:
    if isinstance(value, np.generic):
        value = cast(Any, value).item()
    if isinstance(value, bytes):
        return value.decode("utf-8", "surrogateescape")
    if isinstance(value, bool | int):
        if not -(2**63) <= value < 2**63:
            raise OperatorError(f"{type_}: {key}: integers must fit in 64 bits")
        return int(value)
    if isinstance(value, float | str | NetBlock):
        return value
    raise ArgumentTypeError(
        f"{type_}: {key}: expected a number, a string, a Net or a list of these, got "
        f"{type(value).__name__}"
    )
