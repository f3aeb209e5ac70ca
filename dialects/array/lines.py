"""array: which elements of an operand take part in results that bools name, for lines of elements.

A line goes along some axes: each of its results depends on all its elements.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Sequence

from gradir.dialects.array.known_bools import known_lines
from gradir.dialects.array.movement import BroadcastToOp, PermuteDimsOp, reshaped
from gradir.dialects.array.statistics import AnyOp
from gradir.dialects.base.shapes import tensor
from gradir.dialects.base.value import Value


def any_along(bools: Value, axes: Collection[int]) -> Value:
    """Whether one is true along axes, which stay with extent 1."""
    if not axes:
        return bools
    shape = [1 if d in axes else n for d, n in enumerate(bools.shape)]
    if (known := known_lines(bools, axes)) is not None:
        return known
    # repeated bools are reduced once
    match bools.ssa.owner:
        case BroadcastToOp() as op:
            source = bools.emitter.value(op.x)
            added = len(shape) - len(source.shape)
            own = [d - added for d in axes if d >= added and source.shape[d - added] != 1]
            return BroadcastToOp.on(any_along(source, own), type=tensor(shape, bools.element))
        case PermuteDimsOp() as op:
            line = any_along(bools.emitter.value(op.x), [op.axes[d] for d in axes])
            return PermuteDimsOp.on(line, axes=op.axes)
        case _:
            return AnyOp.on(bools, axis=list(axes), keepdims=True)


def lines_reached(bools: Value, axes: Collection[int], shape: Sequence[int]) -> Value:
    """The lines along axes in which a bool is true, for an operand of a shape."""
    line = any_along(bools, axes)
    return BroadcastToOp.on(line, type=tensor(shape, bools.element))


def factor_reached(
    bools: Value, labels: Sequence[Hashable], own: Sequence[Hashable], shape: Sequence[int]
) -> Value:
    """Which elements of a factor take part in elements of a product that bools name.

    `labels` name the axes of the product, `own` the axes of the factor, which has the shape. An
    axis of extent 1 broadcasts.
    """
    at: list[int] = []
    kept = [1] * len(shape)
    for k, label in enumerate(own):
        d = labels.index(label) if label in labels else None
        if d is not None and d not in at and shape[k] == bools.shape[d]:
            at.append(d)
            kept[k] = shape[k]
    line = any_along(bools, [d for d in range(len(labels)) if d not in at])
    line = reshaped(line, [n for d, n in enumerate(line.shape) if d in at])
    order = [sorted(at).index(d) for d in at]
    if order != sorted(order):
        line = PermuteDimsOp.on(line, axes=order)
    return BroadcastToOp.on(reshaped(line, kept), type=tensor(shape, bools.element))


def entries_reached(masks: Sequence[Value | None], batch: int, shape: Sequence[int]) -> Value:
    """The entries of a batch, of `batch` leading axes, in which a bool of a mask is true.

    The operand, of a shape, has the leading axes too.
    """
    total: Value | None = None
    for mask in masks:
        if mask is not None:
            line = any_along(mask, range(batch, len(mask.shape)))
            line = reshaped(line, line.shape[:batch])
            total = line if total is None else total.apply("logical_or", line)
    assert total is not None
    column = reshaped(total, (*total.shape, *[1] * (len(shape) - batch)))
    return BroadcastToOp.on(column, type=tensor(shape, total.element))
