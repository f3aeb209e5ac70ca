"""The operands of an op that is to run on many rows at once: an op's `vmap` gives its results.

A value with rows has them along a leading axis of extent `size`: a tensor<3xf32> becomes a
tensor<8x3xf32>, a number an array of rank 1, an index one of i64.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

from xdsl.dialects import arith, tensor
from xdsl.dialects.builtin import IndexType, i64
from xdsl.ir import Attribute, Operation, SSAValue

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
from gradir.dialects.base.value import Value


def type_with_rows(type_: Attribute, size: int) -> Attribute | None:
    """The type of `size` rows of a tensor or a number; None for a type that has no rows."""
    if is_tensor(type_):
        known = is_static(type_)
        return tensor_type([size, *shape_of(type_)], element_of(type_)) if known else None
    if isinstance(type_, IndexType):
        return tensor_type([size], i64)
    return tensor_type([size], type_) if is_scalar(type_) else None


def repeat_rows(value: Value, size: int) -> Value:
    """`size` equal rows of a tensor or a number."""
    type_ = type_with_rows(value.ssa.type, size)
    assert type_ is not None
    if is_tensor(value.ssa.type):
        return value.operator("broadcast_to")(value, type=type_)
    splat = tensor.SplatOp(number_as_element(value), [], cast("AnyTensor", type_))
    return value.emitter.value(value.emitter.insert(splat).result)


def number_as_element(value: Value) -> SSAValue:
    """A number in the type that rows of it have: i64 for an index."""
    if isinstance(value.ssa.type, IndexType):
        return value.emitter.insert(arith.IndexCastOp(value.ssa, i64)).result
    return value.ssa


@dataclass(frozen=True)
class Batch:
    """The operands of `op`, to run on `size` rows at once; operand k has rows if `has_rows[k]`."""

    op: Operation
    size: int
    operands: Sequence[Value]
    has_rows: Sequence[bool]

    def with_rows(self, k: int) -> Value:
        """Operand k, repeated for each row if it has none."""
        return self.operands[k] if self.has_rows[k] else repeat_rows(self.operands[k], self.size)

    def all_with_rows(self) -> list[Value]:
        return [self.with_rows(k) for k in range(len(self.operands))]

    def operand_rank(self, k: int) -> int:
        """The rank of operand k without its rows."""
        return len(shape_of(self.op.operands[k].type))

    def result_types(self) -> list[Attribute]:
        """The types of the results with rows."""
        types = [type_with_rows(r.type, self.size) for r in self.op.results]
        assert None not in types
        return cast("list[Attribute]", types)

    def same_op(
        self,
        operands: Sequence[Value],
        types: Sequence[Attribute] | None = None,
        /,
        **changed: Plain,
    ) -> list[Value]:
        """The op on other operands, with some attributes changed; its results have rows."""
        attributes = dict(self.op.attributes)
        attributes |= {name: attribute(value) for name, value in changed.items()}
        op = type(self.op).create(
            operands=[v.ssa for v in operands],
            result_types=self.result_types() if types is None else types,
            attributes=attributes,
            properties=dict(self.op.properties),
        )
        emitter = self.operands[0].emitter
        return [emitter.value(r) for r in emitter.insert(op).results]

    def in_front(self, **changed: Plain) -> list[Value]:
        """The op where all operands have rows: it treats leading axes one by one.

        `changed` are attributes in other words, such as axes that count from the end.
        """
        return self.same_op(self.all_with_rows(), None, **changed)
