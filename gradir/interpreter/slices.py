"""Row slices in the interpreter: ops on them by their NumPy meaning, on `RowSlices`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import takewhile
from typing import Any

import numpy as np
from xdsl.ir import Operation

from gradir.dialects.array.indexing import wrapped
from gradir.dialects.base.diagnostics import location_text
from gradir.dialects.base.shapes import DYNAMIC, shape_of
from gradir.dialects.base.slice_type import SlicesType, is_slices
from gradir.dialects.grad.grad import AccumulateOp
from gradir.dialects.grad.slices import CoalesceOp, DensifyOp, SliceIndicesOp, SlicesOp
from gradir.errors import ArgumentError, ArgumentTypeError, IndexOutOfRange
from gradir.runtime.arrays import ArraySpec, as_input, dtype_of, widened
from gradir.runtime.row_slices import RowSlices, added, concatenate_slices

Array = np.ndarray[Any, np.dtype[Any]]


def _slices(op: SlicesOp, operands: Sequence[Any]) -> Any:
    indices, values = operands
    type_ = op.result.type
    assert is_slices(type_)
    return RowSlices(indices, values, shape_of(type_.dense))


def _densify(op: DensifyOp, operands: Sequence[Any]) -> Any:
    return _added(op, None, operands[0])


def _accumulate(op: AccumulateOp, operands: Sequence[Any]) -> Any:
    slices = list(takewhile(lambda x: isinstance(x, RowSlices), operands))
    if len(slices) == len(operands):
        return concatenate_slices(slices)
    total, *others = operands[len(slices) :]
    for each in [*([concatenate_slices(slices)] if slices else []), *others]:
        if isinstance(each, RowSlices):
            total = _added(op, total, each)
        else:
            total = op.numpy(widened(total), widened(each)).astype(total.dtype)
    return total


def _added(op: Operation, total: Array | None, slices: RowSlices) -> Array:
    """Slices added to an array, or to zeros."""
    try:
        places = wrapped(slices.indices, slices.shape[0])
    except IndexError as error:
        raise IndexOutOfRange(f"{location_text(op)}{op.name}: {error}") from None
    return added(total, RowSlices(places, slices.values, slices.shape))


def _coalesce(op: CoalesceOp, operands: Sequence[Any]) -> Any:
    return operands[0].coalesce("mean" if op.is_mean else "sum")


def _indices(op: SliceIndicesOp, operands: Sequence[Any]) -> Any:
    del op
    return operands[0].indices


SLICES_OPS: dict[type[Operation], Callable[[Any, Sequence[Any]], Any]] = {
    SlicesOp: _slices,
    DensifyOp: _densify,
    CoalesceOp: _coalesce,
    SliceIndicesOp: _indices,
    AccumulateOp: _accumulate,
}


def slices_value(op: Operation, operands: Sequence[Any]) -> Any:
    """The result of an op on row slices, or of one that makes them; None for other ops."""
    function = SLICES_OPS.get(type(op))
    if function is None:
        return None
    if isinstance(op, AccumulateOp) and not any(isinstance(x, RowSlices) for x in operands):
        return None
    return function(op, operands)


def as_slices(value: object, type_: SlicesType, label: str, place: str) -> RowSlices:
    """An argument as row slices; ArgumentError unless its arrays have exactly the types."""
    if not isinstance(value, RowSlices):
        raise ArgumentTypeError(f"{place}: expected RowSlices, got {type(value).__name__}")
    shape = shape_of(type_.dense)
    if value.shape != shape:
        raise ArgumentError(f"{place}: expected slices of {list(shape)}, got {list(value.shape)}")
    parts: list[Array] = []
    for part, wanted in ((value.indices, type_.indices), (value.values, type_.values)):
        extents = shape_of(wanted)
        if extents[0] == DYNAMIC:
            extents = (len(value.indices), *extents[1:])
        spec = ArraySpec(label, extents, dtype_of(wanted.element_type))
        parts.append(as_input(part, spec, place))
    return RowSlices(parts[0], parts[1], shape)
