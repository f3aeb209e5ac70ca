"""Row slices: a tensor given by some of its rows, as the gradient of a table.

The cotangent of a slices value is dense: a tensor, and each slice reads its row.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

from xdsl.dialects.builtin import StringAttr, i64
from xdsl.ir import Attribute, Operation
from xdsl.irdl import (
    IRDLOperation,
    VarConstraint,
    base,
    irdl_op_definition,
    operand_def,
    opt_attr_def,
    result_def,
    traits_def,
)
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from gradir.dialects.array.assembly import ConcatOp
from gradir.dialects.array.comparison import WhereOp
from gradir.dialects.array.creation import FullOp, IotaOp
from gradir.dialects.array.cumulative import CumulativeSumOp
from gradir.dialects.array.indexing import ScatterAddOp, TakeOp
from gradir.dialects.array.movement import BroadcastToOp, reshaped
from gradir.dialects.array.reductions import narrowed
from gradir.dialects.array.slicing import SliceOp
from gradir.dialects.array.sorting import ArgsortOp
from gradir.dialects.base.interfaces import Cotangents
from gradir.dialects.base.op_rules import register_inactive, register_vjp
from gradir.dialects.base.shapes import (
    compatible,
    element_of,
    extent_sum,
    is_float,
    is_tensor,
    shape_of,
    tensor,
)
from gradir.dialects.base.slice_type import SlicesType, is_slices
from gradir.dialects.base.value import SOURCE_ATTRIBUTE, Emitter, Value


@irdl_op_definition
class SlicesOp(IRDLOperation):
    """Row slices: values[k] is a summand of row indices[k] of the whole.

    Indices are i64; one in [-rows, 0) counts from the end, one outside of [-rows, rows) is an error
    where the slices are densified. vjp: take(ct, indices) for the values
    """

    name = "grad.slices"

    indices = operand_def()
    values = operand_def()
    result = result_def(SlicesType)
    traits = traits_def(Pure())

    assembly_format = (
        "$indices `,` $values attr-dict `:` type($indices) `,` type($values) `->` type($result)"
    )

    def verify_(self) -> None:
        type_ = self.result.type
        assert is_slices(type_)
        for value, wanted in ((self.indices, type_.indices), (self.values, type_.values)):
            if not (
                is_tensor(value.type)
                and element_of(value.type) == element_of(wanted)
                and compatible(shape_of(value.type), shape_of(wanted))
            ):
                raise VerifyException(f"{self.name}: expected {wanted}, got {value.type}")
        if shape_of(type_.dense)[0] == 0 != type_.rows:
            raise VerifyException(f"{self.name}: a tensor without rows has no slices, got {type_}")


class _TensorOfSlicesOp(IRDLOperation, ABC):
    """A tensor that the type of some slices says."""

    slices = operand_def(SlicesType)
    y = result_def()
    traits = traits_def(Pure())

    assembly_format = "$slices attr-dict `:` type($slices) `->` type($y)"

    @abstractmethod
    def tensor_of(self, type_: SlicesType) -> Attribute:
        """The type of y, for slices of a type."""

    def verify_(self) -> None:
        type_ = self.slices.type
        assert is_slices(type_)
        wanted = self.tensor_of(type_)
        if self.y.type != wanted:
            raise VerifyException(f"{self.name}: expected {wanted}, got {self.y.type}")


@irdl_op_definition
class DensifyOp(_TensorOfSlicesOp):
    """The whole tensor: zeros with the slices added, in their order.

    vjp: ct
    """

    name = "grad.densify"

    def tensor_of(self, type_: SlicesType) -> Attribute:
        return type_.dense


_ANY_SLICES = VarConstraint("T", base(SlicesType))


@irdl_op_definition
class CoalesceOp(IRDLOperation):
    """Slices with each row at most once, in ascending order: the sum, or with {mode = "mean"} the
    mean, of the slices of that row.

    The count stays. Unused entries come last: they repeat the last row's index and hold zeros, so
    that densify is unchanged in the mode "sum" (the default). An entry is unused where its index
    equals the index of the entry before it.
    vjp: ct; for the mean ct divided by the number of slices of each row
    """

    name = "grad.coalesce"

    slices = operand_def(_ANY_SLICES)
    result = result_def(_ANY_SLICES)
    mode = opt_attr_def(StringAttr)
    traits = traits_def(Pure())

    assembly_format = "$slices attr-dict `:` type($slices)"

    @property
    def is_mean(self) -> bool:
        return self.mode is not None and self.mode.data == "mean"

    def verify_(self) -> None:
        if self.mode is not None and self.mode.data not in ("sum", "mean"):
            raise VerifyException(
                f'{self.name}: mode must be "sum" or "mean", got "{self.mode.data}"'
            )
        type_ = self.slices.type
        assert is_slices(type_)
        if self.is_mean and not is_float(type_.dense.element_type):
            raise VerifyException(f"{self.name}: a mean needs floating elements, got {type_}")


@irdl_op_definition
class SliceIndicesOp(_TensorOfSlicesOp):
    """The indices of slices, unchanged (i64); inactive."""

    name = "grad.slice_indices"

    def tensor_of(self, type_: SlicesType) -> Attribute:
        return type_.indices


# Building.


def slices_of(indices: Value, values: Value, dense: Attribute) -> Value:
    """Row slices of a tensor of type `dense`."""
    type_ = SlicesType.of(dense, indices.shape[0])
    op = SlicesOp.create(operands=[indices.ssa, values.ssa], result_types=[type_])
    return Value(indices.emitter.insert(op).result, indices.emitter)


def taken_rows(ct: Value, x: Value, indices: Value) -> Value:
    """The cotangent of x in take(x, indices), as slices; indices of any shape."""
    count = 1
    for extent in indices.shape:
        count *= extent
    flat = narrowed(reshaped(indices, [count]), tensor([count], i64))
    values = reshaped(ct, [count, *x.shape[1:]])
    return slices_of(from_the_start(flat, x.shape[0]), values, x.type)


def whole(dense: Value) -> Value:
    """A tensor as slices: all of its rows."""
    emitter, rows = dense.emitter, dense.shape[0]
    iota = IotaOp.of([], [tensor([rows], i64)], axis=0)
    return slices_of(emitter.value(emitter.insert(iota).results[0]), dense, dense.type)


def densified(value: Value) -> Value:
    """Slices as a tensor; a tensor as it is."""
    type_ = value.ssa.type
    if not is_slices(type_):
        return value
    op = DensifyOp.create(operands=[value.ssa], result_types=[type_.dense])
    return value.emitter.value(value.emitter.insert(op).y)


Pair = tuple[Value, Value]
"""The indices and the values of slices."""


def padded(pair: Pair, dense: Attribute, count: int) -> Pair:
    """As many slices as asked for: behind those given, zeros for the row of the last one."""
    indices, values = pair
    [given] = indices.shape
    if given == count:
        return pair
    rows, zeros = zero_rows(dense, count - given, values.emitter)
    if given == 0:
        return rows, zeros
    last = SliceOp.on(indices, start=[given - 1], stop=[given])
    rows = BroadcastToOp.on(last, type=tensor(rows.shape, i64))
    return ConcatOp.on(indices, rows, axis=0), ConcatOp.on(values, zeros, axis=0)


def zero_rows(dense: Attribute, count: int, emitter: Emitter) -> Pair:
    """Zeros for row 0 of a tensor: `count` slices."""
    type_ = SlicesType.of(dense, count)
    ops = (emitter.insert(FullOp.fill(0, t)) for t in (type_.indices, type_.values))
    indices, values = (emitter.value(op.y) for op in ops)
    return indices, values


# The ops in terms of tensor ops on indices and values.


def from_the_start(indices: Value, rows: int) -> Value:
    """Indices, counted from the start where they are in [-rows, 0); others stay as they are."""
    if indices.shape == (0,):
        return indices
    counted = WhereOp.on(indices < -rows, indices, indices + rows)
    return WhereOp.on(indices < 0, counted, indices)


def scattered(total: Value, pair: Pair, source: str) -> Value:
    """A tensor with slices added."""
    op = ScatterAddOp.of([total.ssa, pair[0].ssa, pair[1].ssa], axis=0)
    op.attributes[SOURCE_ATTRIBUTE] = StringAttr(source)
    return Value(total.emitter.insert(op).y, total.emitter)


def concatenated(pairs: Sequence[Pair]) -> Pair:
    indices, values = zip(*pairs, strict=True)
    return ConcatOp.on(*indices, axis=0), ConcatOp.on(*values, axis=0)


def coalesced(pair: Pair, rows: int, is_mean: bool) -> Pair:
    """grad.coalesce: indices sorted, then each run of equal rows summed at the run's place."""
    indices, values = from_the_start(pair[0], rows), pair[1]
    [count] = indices.shape
    if count < 2:
        return indices, values
    order = ArgsortOp.on(indices, axis=0)
    ordered, parts = TakeOp.on(indices, order, axis=0), TakeOp.on(values, order, axis=0)
    is_new = _new_runs(ordered)
    place = CumulativeSumOp.on(is_new, axis=0) - 1
    last = BroadcastToOp.on(_part(ordered, count - 1, count), type=ordered.type)
    sums = ScatterAddOp.on(values.full(0), place, parts, axis=0)
    found = last + ScatterAddOp.on(ordered.full(0), place, (ordered - last) * is_new, axis=0)
    if is_mean:
        sums = sums / _occurrences(place, values, count)
    return found, sums


def _new_runs(ordered: Value) -> Value:
    """1 where a number differs from the one before it, and at the first."""
    [count] = ordered.shape
    differs = _part(ordered, 1, count).apply("not_equal", _part(ordered, 0, count - 1))
    later = narrowed(differs, tensor([count - 1], i64))
    return ConcatOp.on(_part(ordered, 0, 1).full(1), later, axis=0)


def _part(x: Value, start: int, stop: int) -> Value:
    return SliceOp.on(x, start=[start], stop=[stop])


def _occurrences(places: Value, values: Value, extent: int) -> Value:
    """The count of each of `extent` places, at least 1; shaped as values, with that extent."""
    emitter = values.emitter
    counts, ones = (
        emitter.value(emitter.insert(FullOp.fill(n, tensor([e], values.element))).y)
        for n, e in ((0, extent), (1, places.shape[0]))
    )
    found = ScatterAddOp.on(counts, places, ones, axis=0).apply("maximum", 1)
    row = values.shape[1:]
    column = reshaped(found, [extent, *(1 for _ in row)])
    return BroadcastToOp.on(column, type=tensor([extent, *row], values.element))


def sum_type(operands: Sequence[Attribute]) -> Attribute:
    """The type of the sum of slices and tensors: slices only if all are."""
    dense = {t.dense if is_slices(t) else t for t in operands}
    if len(dense) != 1:
        shown = ", ".join(map(str, operands))
        raise VerifyException(f"operands must be of one tensor type, or its slices, got {shown}")
    counts = [t.rows for t in operands if is_slices(t)]
    if len(counts) < len(operands):
        return dense.pop()
    return SlicesType.of(dense.pop(), extent_sum(*counts))


# Derivatives.


def _slices_vjp(op: Any, cts: Cotangents, results: Any, operands: Sequence[Value]) -> Cotangents:
    [ct] = cts
    assert ct is not None
    return [None, TakeOp.on(ct, operands[0], axis=0)]


def _densify_vjp(op: Any, cts: Cotangents, results: Any, operands: Any) -> Cotangents:
    return cts


def _coalesce_vjp(
    op: CoalesceOp, cts: Cotangents, results: Any, operands: Sequence[Value]
) -> Cotangents:
    [ct] = cts
    assert ct is not None
    if not op.is_mean:
        return [ct]
    type_ = op.slices.type
    assert is_slices(type_)
    emitter = ct.emitter
    indices = SliceIndicesOp.create(operands=[operands[0].ssa], result_types=[type_.indices])
    return [ct / _occurrences(emitter.value(emitter.insert(indices).y), ct, ct.shape[0])]


register_vjp(SlicesOp, _slices_vjp)
register_vjp(DensifyOp, _densify_vjp)
register_vjp(CoalesceOp, _coalesce_vjp)
register_inactive(SliceIndicesOp)

OPS: tuple[type[Operation], ...] = (SlicesOp, DensifyOp, CoalesceOp, SliceIndicesOp)
