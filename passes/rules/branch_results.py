"""The results of a branching op that hold the residuals of its branches.

One branch is taken, so that all branches share results: values of one type share a result as they
are. Other tensors share rows of elements as long as the largest tensor of any branch. So a tape of
these results takes about the bytes of the largest branch, not the sum of all; the largest tensors
are made in place, and only smaller ones are copied. A result without a value in a branch is
undefined there, and is not read.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from math import prod

from xdsl.dialects import tensor
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, SSAValue

from gradir.dialects.array.movement import ReshapeOp
from gradir.dialects.base.shapes import element_of, is_float, is_tensor, shape_of
from gradir.dialects.base.value import Emitter
from gradir.dialects.building.control_flow import Integers, named
from gradir.dialects.grad.grad import zero


@dataclass(frozen=True)
class BranchResultPlace:
    """The result that holds a value, and the value's first element in a shared row."""

    result: int
    offset: int | None = None


@dataclass
class BranchResults:
    """The types of the results, and for each branch the place of each of its values."""

    types: list[Attribute]
    places: list[list[BranchResultPlace]]

    @staticmethod
    def of(branches: Sequence[Sequence[Attribute]]) -> BranchResults:
        """The results for the types of the residuals of each branch."""
        numbered = [_numbered(kept) for kept in branches]
        rows = _rows(numbered)
        types: list[Attribute] = []
        numbers: dict[_Key | _Row, int] = {}
        places: list[list[BranchResultPlace]] = []
        for branch, keys in enumerate(numbered):
            places.append([])
            for key in keys:
                row, offset = rows.get((branch, key), (None, None))
                which, type_ = (key, key[0]) if row is None else (row, row.type)
                if which not in numbers:
                    numbers[which] = len(types)
                    types.append(type_)
                places[-1].append(BranchResultPlace(numbers[which], offset))
        return BranchResults(types, places)

    def filled(self, branch: int, values: Sequence[SSAValue], emitter: Emitter) -> list[SSAValue]:
        """The results of a branch with these residuals."""
        made: dict[int, SSAValue] = {}
        for value, place in zip(values, self.places[branch], strict=True):
            if place.offset is None:
                made[place.result] = value
            else:
                type_ = self.types[place.result]
                row = made.get(place.result)
                made[place.result] = _put(value, row, type_, place.offset, emitter)
        return [made.get(k) or undefined(t, emitter) for k, t in enumerate(self.types)]

    def taken(
        self, branch: int, values: Sequence[SSAValue], results: Sequence[SSAValue], emitter: Emitter
    ) -> list[SSAValue]:
        """The residuals of a branch, `values` in its forward code, out of the results."""
        found: list[SSAValue] = []
        for value, place in zip(values, self.places[branch], strict=True):
            result = named(results[place.result], value.name_hint)
            if place.offset is not None:
                result = named(_get(result, value.type, place.offset, emitter), value.name_hint)
            found.append(result)
        return found


_Key = tuple[Attribute, int]
"""A type, and a number among the values of that type in a branch."""


def _numbered(types: Sequence[Attribute]) -> list[_Key]:
    seen = Counter[Attribute]()
    keys: list[_Key] = []
    for type_ in types:
        keys.append((type_, seen[type_]))
        seen[type_] += 1
    return keys


@dataclass(eq=False)
class _Row:
    """A row of elements as long as the largest tensor in it; `ends`: the used length by branch."""

    element: Attribute
    length: int
    ends: dict[int, int] = field(default_factory=dict[int, int])

    @property
    def type(self) -> Attribute:
        return TensorType(self.element, [self.length])

    def has_room(self, branch: int, type_: Attribute) -> bool:
        used = self.ends.get(branch, 0) + prod(shape_of(type_))
        return element_of(type_) == self.element and used <= self.length


def _rows(numbered: Sequence[Sequence[_Key]]) -> dict[tuple[int, _Key], tuple[_Row, int]]:
    """The row, and the first element there, of tensors with a type in one branch only, in rows
    shared by branches.

    The largest come first: each goes into a row with room left for its branch, or begins one.
    """
    users = Counter(key for keys in numbered for key in keys)
    alone = [
        (branch, key)
        for branch, keys in enumerate(numbered)
        for key in keys
        if users[key] == 1 and is_tensor(key[0]) and prod(shape_of(key[0])) > 0
    ]
    rows: list[_Row] = []
    found: dict[tuple[int, _Key], tuple[_Row, int]] = {}
    for branch, key in sorted(alone, key=lambda each: -prod(shape_of(each[1][0]))):
        size = prod(shape_of(key[0]))
        row = next((r for r in rows if r.has_room(branch, key[0])), None)
        if row is None:
            row = _Row(element_of(key[0]), size)
            rows.append(row)
        found[branch, key] = row, row.ends.get(branch, 0)
        row.ends[branch] = row.ends.get(branch, 0) + size
    return {place: each for place, each in found.items() if len(each[0].ends) > 1}


def undefined(type_: Attribute, emitter: Emitter) -> SSAValue:
    """Any value of a type: an uninitialized tensor, or the number 0."""
    if is_tensor(type_):
        return emitter.insert(tensor.EmptyOp([], type_)).tensor
    if is_float(type_):
        return zero(type_, emitter).ssa
    return Integers(type_, emitter).constant(0)


def _put(
    value: SSAValue, row: SSAValue | None, type_: Attribute, offset: int, emitter: Emitter
) -> SSAValue:
    """The row (new for None) with the elements of a tensor from an offset on."""
    flat = _as(value, [prod(shape_of(value.type))], emitter)
    if flat.type == type_:
        return flat
    row = row or undefined(type_, emitter)
    made = tensor.InsertSliceOp.from_static_parameters(flat, row, [offset], shape_of(flat.type))
    return emitter.insert(made).result


def _get(row: SSAValue, type_: Attribute, offset: int, emitter: Emitter) -> SSAValue:
    """The elements of a tensor of a type from an offset on."""
    size = prod(shape_of(type_))
    if shape_of(row.type) != (size,):
        flat = TensorType(element_of(type_), [size])
        row = emitter.insert(tensor.ExtractSliceOp(row, [offset], [size], [1], flat)).result
    return _as(row, shape_of(type_), emitter)


def _as(value: SSAValue, shape: Sequence[int], emitter: Emitter) -> SSAValue:
    if tuple(shape_of(value.type)) == tuple(shape):
        return value
    type_ = TensorType(element_of(value.type), shape)
    return ReshapeOp.on(emitter.value(value), type=type_).ssa
