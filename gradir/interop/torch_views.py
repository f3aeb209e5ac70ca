"""Tensors of a PyTorch program while it is read: views, and writes in place as new values.

Each tensor holds its value now. A write gives a new value to the tensor and to all that it is a
view of; other views of these are made anew where they are read next.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, NamedTuple

import numpy as np
from xdsl.dialects.builtin import LocationAttr, UnknownLoc

from gradir.frontends.imported.graph import (
    ForeignConstant,
    ForeignNode,
    ForeignType,
    ForeignValue,
    Operand,
)
from gradir.frontends.imported.torch_rules.arguments import OperandPlace
from gradir.packages import package

torch: Any = package("torch", "torch")


@dataclass
class Memory:
    """What a tensor and its views share: the number of writes, and whether it has no derivative."""

    version: int = 0
    is_plain: bool = False
    owner: str = ""
    """What a refusal calls an argument that must not be written to."""


class TensorView(NamedTuple):
    """How a tensor is made of another one: an op, its other arguments, and which result it is."""

    name: str
    arguments: tuple[tuple[str, Any], ...]
    result: int
    place: LocationAttr
    apply: Callable[[Any], Any]
    """The op on a tensor of PyTorch."""

    @property
    def is_detached(self) -> bool:
        """Whether the view has no derivative."""
        return self.name == "detach"


def view_of_shape(base: Held, shape: Sequence[int], place: LocationAttr) -> TensorView:
    """A tensor reshaped, or expanded where there are more elements."""
    is_same = prod(base.type.shape) == prod(shape)
    name, size = "reshape" if is_same else "expand", tuple(shape)

    def apply(tensor: Any) -> Any:
        return tensor.reshape(size) if is_same else tensor.expand(size)

    arguments = (("self", OperandPlace(0)), ("shape", size))
    return TensorView(name, arguments, 0, place, apply)


class Held:
    """A tensor: its value, and the tensor that it is a view of.

    `is_stopped` tells that it was computed where gradients are off.
    """

    def __init__(
        self, value: Operand, memory: Memory, parent: Held | None = None,
        view: TensorView | None = None, is_stopped: bool = False,
    ):  # fmt: skip
        self.value, self.memory, self.parent, self.view = value, memory, parent, view
        self.is_stopped, self.version = is_stopped, memory.version
        self.still: Operand | None = None
        # of a detached tensor that was written to: its derivative is its own
        self.has_history = False

    @property
    def type(self) -> ForeignType:
        """The shape and the dtype."""
        return self.value.type

    def set(self, value: Operand, is_stopped: bool) -> None:
        """The value after a write."""
        self.value, self.version, self.still = value, self.memory.version, None
        self.is_stopped = is_stopped


class NodeTape:
    """The nodes of a graph in order, and the tensors that they make and change."""

    def __init__(self) -> None:
        self.nodes: list[ForeignNode] = []
        self.has_gradients = True

    def emit(
        self, name: str, operands: Sequence[Operand], types: Sequence[ForeignType],
        arguments: Sequence[tuple[str, Any]], place: LocationAttr, used: Sequence[int] = (0,),
        **params: Any,
    ) -> list[ForeignValue]:  # fmt: skip
        """The results of a new node."""
        results = tuple(map(ForeignValue, types))
        graphs = tuple(params.pop("graphs", ()))
        made = {"arguments": tuple(arguments), "used": tuple(used), **params}
        self.nodes.append(ForeignNode(name, tuple(operands), results, made, place, graphs))
        return list(results)

    def refuse(self, name: str, why: str, place: LocationAttr) -> None:
        """A node that makes the program one that cannot be imported."""
        self.nodes.append(ForeignNode(name, (), (), {}, place, refused=why))

    def one(
        self, name: str, operands: Sequence[Operand], type_: ForeignType, place: LocationAttr,
        **arguments: Any,
    ) -> ForeignValue:  # fmt: skip
        """The result of a new node of operands, which come first, and other arguments."""
        names = ("self", "other", "third")
        given = [(names[k], OperandPlace(k)) for k in range(len(operands))]
        return self.emit(name, operands, [type_], [*given, *arguments.items()], place)[0]

    # Reading.

    def raw(self, held: Held) -> Operand:
        """The value of a tensor now."""
        parent, view = held.parent, held.view
        if held.version != held.memory.version and parent is not None and view is not None:
            base = self.raw(parent)
            [made] = self.emit(
                view.name, [base], [held.type], view.arguments, view.place, [view.result]
            )
            value: Operand = made
            if view.is_detached and held.has_history:
                value = self.one("set_data", [held.value, made], held.type, view.place)
            held.set(value, parent.is_stopped and not held.has_history)
        return held.value

    def operand(self, held: Held) -> Operand:
        """The value of a tensor as an operand: without a derivative where it was made without."""
        value = self.raw(held)
        if not held.is_stopped or not self.has_gradients or not held.type.dtype.startswith(_FLOATS):
            return value
        if held.still is None:
            held.still = self.one("detach", [value], held.type, _NO_PLACE)
        return held.still

    def hold(
        self, value: Operand, parent: Held | None = None, view: TensorView | None = None
    ) -> Held:
        """A new tensor, a view of another one if that is given."""
        memory = Memory() if parent is None else parent.memory
        is_stopped = not self.has_gradients or (parent is not None and parent.is_stopped)
        return Held(value, memory, parent, view, is_stopped)

    # Writing.

    def write(self, held: Held, new: Operand, place: LocationAttr, name: str) -> None:
        """A tensor has a new value, and all that it is a view of."""
        memory = held.memory
        if memory.owner:
            self.refuse(name, f"{memory.owner} is changed in place; clone it first", place)
        line = [held]
        while line[-1].parent is not None:
            line.append(line[-1].parent)
        olds = [self.operand(each) for each in line]
        stopped = [not self.has_gradients and (x.is_stopped or memory.is_plain) for x in line]
        memory.version += 1
        value = new
        for k, each in enumerate(line):
            # where gradients are off, the derivative of what was there stays
            keeps = not self.has_gradients and not (each.is_stopped or memory.is_plain)
            if k:
                inner = line[k - 1].view
                assert inner is not None
                value = self._put_back(inner, line[k - 1], olds[k], value)
                keeps = keeps or (inner.is_detached and not memory.is_plain)
            if keeps and each.type.dtype.startswith(_FLOATS):
                value = self.one("set_data", [olds[k], value], each.type, place)
            each.set(value, stopped[k])
            is_detached = each.view is not None and each.view.is_detached
            each.has_history = each.has_history or (is_detached and self.has_gradients)
        if self.has_gradients:
            memory.is_plain = False

    def _put_back(self, view: TensorView, part: Held, old: Operand, new: Operand) -> Operand:
        """A tensor of which a view has a new value."""
        type_, place = old.type, view.place
        arguments = dict(view.arguments)
        if view.name in ("select", "slice"):
            rest = {k: v for k, v in arguments.items() if k != "self"}
            return self.one(f"{view.name}_scatter", [old, new], type_, place, **rest)
        places = _places_of(view, type_.shape)
        if places is None or len(np.unique(places)) != places.size:
            self.refuse(view.name, "a view whose elements share memory is changed in place", place)
            return old
        count = prod(type_.shape)
        if places.size == count:
            order = _order_of(places)
            if order is not None:
                turned = new
                if order != sorted(order):
                    shape = tuple(places.shape[d] for d in order)
                    moved = ForeignType(shape, type_.dtype)
                    turned = self.one("permute", [new], moved, place, dims=tuple(order))
                return self.one("reshape", [turned], type_, place, shape=type_.shape)
        index = ForeignConstant(ForeignType(places.shape, "int64"), places)
        return self.one("put", [old, index, new], type_, place)


_FLOATS = ("float", "bfloat")
_NO_PLACE = UnknownLoc()


def _places_of(view: TensorView, shape: Sequence[int]) -> Any:
    """The place of each element of a view among those of what it is a view of."""
    try:
        with torch.no_grad():
            made = view.apply(torch.arange(prod(shape)).reshape(tuple(shape)))
    except Exception:
        return None
    found = made[view.result] if isinstance(made, (list, tuple)) else made
    return found.numpy() if found.dtype is torch.int64 else None


def _order_of(places: Any) -> list[int] | None:
    """The order of axes in which places are 0, 1, 2, ..., if there is one."""
    first = [0] * places.ndim
    steps: list[int] = []
    for axis, n in enumerate(places.shape):
        second = [*first]
        second[axis] = 1
        steps.append(int(places[tuple(second)] - places[tuple(first)]) if n > 1 else 0)
    order = sorted(range(places.ndim), key=lambda d: -steps[d] if places.shape[d] > 1 else d)
    turned = places.transpose(order)
    return order if (turned.reshape(-1) == np.arange(places.size)).all() else None
