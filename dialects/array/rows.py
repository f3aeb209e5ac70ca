"""Rows of a batched value (`base/batch.py`), read and written one at a time."""

from __future__ import annotations

from xdsl.dialects import arith, tensor
from xdsl.dialects.builtin import IndexType, i64
from xdsl.ir import Attribute, SSAValue

from gradir.dialects.array.creation import FullOp
from gradir.dialects.array.dynamic_slices import DynamicSliceOp, DynamicUpdateSliceOp
from gradir.dialects.array.movement import ReshapeOp
from gradir.dialects.base.batch import number_as_element
from gradir.dialects.base.shapes import is_tensor
from gradir.dialects.base.shapes import tensor as tensor_type
from gradir.dialects.base.value import Emitter, Value


def read_row(value: Value, number: SSAValue, type_: Attribute) -> SSAValue:
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


def write_row(rows: Value, number: SSAValue, value: SSAValue) -> Value:
    """A batched value with another row."""
    emitter = rows.emitter
    one = emitter.value(value)
    if not is_tensor(value.type):
        element = number_as_element(one)
        elements = tensor.FromElementsOp(element, result_type=tensor_type([1], element.type))
        one = emitter.value(emitter.insert(elements).results[0])
    update = ReshapeOp.on(one, type=tensor_type([1, *rows.shape[1:]], rows.element))
    return DynamicUpdateSliceOp.on(rows, update, *_starts(number, len(rows.shape), emitter))


def _starts(number: SSAValue, rank: int, emitter: Emitter) -> list[Value]:
    """The place of a row: its number, and 0 in the other axes."""
    wide = emitter.insert(arith.IndexCastOp(number, i64)).result
    type_ = tensor_type([], i64)
    first = emitter.insert(tensor.FromElementsOp(wide, result_type=type_)).results[0]
    rest = emitter.value(emitter.insert(FullOp.fill(0, type_)).y) if rank > 1 else None
    return [emitter.value(first), *([] if rest is None else [rest] * (rank - 1))]


def empty_rows(type_: Attribute, emitter: Emitter) -> Value:
    """A batched value of zeros, whose rows are to be written."""
    return emitter.value(emitter.insert(FullOp.fill(0, type_)).y)
