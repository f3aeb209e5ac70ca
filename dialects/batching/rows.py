"""An op that is to run on many rows at once, and the rows of values.

A batched value has its rows along a leading axis of extent `size`: a tensor<3xf32> becomes a
tensor<8x3xf32>, a number an array of rank 1, an index one of i64.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import cast

from xdsl.dialects import arith, tensor
from xdsl.dialects.builtin import IndexType, i64
from xdsl.ir import Attribute, Operation, SSAValue

from gradir.dialects.array.creation import FullOp
from gradir.dialects.array.dynamic_slices import DynamicSliceOp, DynamicUpdateSliceOp
from gradir.dialects.array.movement import BroadcastToOp, PermuteDimsOp, ReshapeOp
from gradir.dialects.base.attributes import Plain, attribute
from gradir.dialects.base.shapes import (
    AnyTensor,
    element_of,
    is_scalar,
    is_static,
    is_tensor,
    shape_of,
)
from gradir.dialects.base.shapes import tensor as tensor_type
from gradir.dialects.base.value import Emitter, Value
from gradir.dialects.grad.tape import TapeType


def grown(type_: Attribute, size: int) -> Attribute | None:
    """The type of so many rows of a type; None for one that has no rows."""
    if is_tensor(type_):
        known = is_static(type_)
        return tensor_type([size, *shape_of(type_)], element_of(type_)) if known else None
    if isinstance(type_, TapeType):
        columns = [grown(column, size) for column in type_.columns]
        if None in columns:
            return None
        limit = None if type_.byte_limit is None else type_.byte_limit * size
        return TapeType.of(cast(Sequence[Attribute], columns), type_.records, limit)
    if isinstance(type_, IndexType):
        return tensor_type([size], i64)
    return tensor_type([size], type_) if is_scalar(type_) else None


def lifted(value: Value, size: int) -> Value:
    """So many equal rows of a tensor or a number."""
    type_ = grown(value.ssa.type, size)
    assert type_ is not None
    if is_tensor(value.ssa.type):
        return BroadcastToOp.on(value, type=type_)
    number = _as_element(value)
    return value.emitter.value(
        value.emitter.insert(tensor.SplatOp(number, [], cast("AnyTensor", type_))).result
    )


def _as_element(value: Value) -> SSAValue:
    if isinstance(value.ssa.type, IndexType):
        return value.emitter.insert(arith.IndexCastOp(value.ssa, i64)).result
    return value.ssa


def row(value: Value, number: SSAValue, type_: Attribute) -> SSAValue:
    """A row of a batched value, as a value of the type; `number` is an index."""
    emitter = value.emitter
    if is_tensor(type_):
        starts = _starts(number, len(value.shape), emitter)
        one = DynamicSliceOp.on(value, *starts, sizes=[1, *value.shape[1:]])
        return ReshapeOp.on(one, type=type_).ssa
    found = emitter.insert(tensor.ExtractOp(value.ssa, [number], value.element)).result
    if isinstance(type_, IndexType):
        return emitter.insert(arith.IndexCastOp(found, type_)).result
    return found


def with_row(rows: Value, number: SSAValue, value: SSAValue) -> Value:
    """A batched value with another row."""
    emitter = rows.emitter
    one = emitter.value(value)
    if not is_tensor(value.type):
        element = _as_element(one)
        type_ = tensor_type([1], element.type)
        made = emitter.insert(tensor.FromElementsOp(element, result_type=type_)).results[0]
        one = emitter.value(made)
    update = ReshapeOp.on(one, type=tensor_type([1, *rows.shape[1:]], rows.element))
    return DynamicUpdateSliceOp.on(rows, update, *_starts(number, len(rows.shape), emitter))


def _starts(number: SSAValue, rank: int, emitter: Emitter) -> list[Value]:
    """The place of a row: its number, and 0 in the other axes."""
    wide = emitter.insert(arith.IndexCastOp(number, i64)).result
    type_ = tensor_type([], i64)
    first = emitter.insert(tensor.FromElementsOp(wide, result_type=type_)).results[0]
    rest = emitter.value(emitter.insert(FullOp.fill(0, type_)).y) if rank > 1 else None
    return [emitter.value(first), *([] if rest is None else [rest] * (rank - 1))]


def no_rows(type_: Attribute, emitter: Emitter) -> Value:
    """A batched value of zeros, of which the rows are to be written."""
    return emitter.value(emitter.insert(FullOp.fill(0, type_)).y)


@dataclass
class Batched:
    """An op to run on `size` rows at once; operand k has rows if `rows[k]`."""

    op: Operation
    size: int
    operands: Sequence[Value]
    rows: Sequence[bool]

    @property
    def emitter(self) -> Emitter:
        return self.operands[0].emitter

    def lifted(self, k: int) -> Value:
        """Operand k with rows."""
        return self.operands[k] if self.rows[k] else lifted(self.operands[k], self.size)

    def all_lifted(self) -> list[Value]:
        return [self.lifted(k) for k in range(len(self.operands))]

    def rank(self, k: int) -> int:
        """The rank of operand k without its rows."""
        return len(shape_of(self.op.operands[k].type))

    def attribute(self, name: str) -> Attribute | None:
        return self.op.attributes.get(name)

    def types(self) -> list[Attribute]:
        """The types of the results with rows."""
        found = [grown(r.type, self.size) for r in self.op.results]
        assert None not in found
        return cast("list[Attribute]", found)

    def same(
        self,
        operands: Sequence[Value],
        changed: Mapping[str, Plain] | None = None,
        types: Sequence[Attribute] | None = None,
    ) -> list[Value]:
        """The same op on other operands, with some attributes changed; results have rows."""
        attributes = dict(self.op.attributes)
        attributes |= {name: attribute(value) for name, value in (changed or {}).items()}
        made = type(self.op).create(
            operands=[v.ssa for v in operands],
            result_types=self.types() if types is None else types,
            attributes=attributes,
            properties=dict(self.op.properties),
        )
        return [self.emitter.value(r) for r in self.emitter.insert(made).results]


Rule = Callable[[Batched], Sequence[Value] | None]
"""The results of an op on rows; None to run it on one row after the other."""

_RULES: dict[type[Operation], Rule] = {}


def register(rule: Rule, *classes: type[Operation]) -> None:
    """The rule of some classes of ops, and of derived ones without a rule of their own."""
    for each in classes:
        assert each not in _RULES, f"{each} has a rule of vectorization"
        _RULES[each] = rule


def rule_of(op: Operation) -> Rule | None:
    """The rule of an op; None to run it on one row after the other."""
    for each in type(op).__mro__:
        if each in _RULES:
            return _RULES[each]
    return None


def moved(value: Value, source: int, target: int) -> Value:
    """The value with one axis in another place."""
    axes = [d for d in range(len(value.shape)) if d != source]
    axes.insert(target, source)
    return value if source == target else PermuteDimsOp.on(value, axes=axes)


def joined_axes(value: Value) -> Value:
    """The rows of a batched value as rows of its first axis."""
    rows, count, *rest = value.shape
    return ReshapeOp.on(value, type=tensor_type([rows * count, *rest], value.element))
