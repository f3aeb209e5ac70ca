"""Row slices of traced arrays: what the methods of `RowSlices` do while tracing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gradir.dialects.array.assembly import ConcatOp
from gradir.dialects.array.indexing import ScatterAddOp
from gradir.dialects.base.shapes import tensor
from gradir.dialects.base.value import Emitter, Value
from gradir.dialects.grad.slices import coalesced
from gradir.frontends.functions.op_functions import apply
from gradir.frontends.functions.promotion import unified
from gradir.frontends.tracing.source_locations import location, public
from gradir.frontends.tracing.tracer import Tracer
from gradir.frontends.tracing.tracing import current, element, filled, lifted
from gradir.runtime.row_slices import RowSlices


@public
def add(dense: Any, slices: RowSlices) -> Tracer:
    """An array of the shape, zeros for None, with the rows added in their order.

    The element type is the one that both promote to; TraceError where there is none.
    """
    if dense is None:
        values = lifted(slices.values)
        total = filled(0, tensor(slices.shape, element(values)))
    else:
        (total, values), _ = unified(ScatterAddOp, [dense, slices.values])
    return apply(
        ScatterAddOp, {"x": total, "indices": slices.indices, "updates": values, "axis": 0}
    )


@public
def concat(arrays: Sequence[Any]) -> Tracer:
    """The arrays after each other along the first axis, in the element type all promote to."""
    xs, _ = unified(ConcatOp, arrays)
    return apply(ConcatOp, {"xs": xs, "axis": 0})


@public
def coalesce(slices: RowSlices, mode: str) -> RowSlices:
    """What grad.coalesce says of slices."""
    trace = current("coalesce")
    emitter = Emitter(trace.blocks[-1], location())
    pair = [Value(trace.use(lifted(part)), emitter) for part in (slices.indices, slices.values)]
    found = coalesced((pair[0], pair[1]), slices.shape[0], mode == "mean")
    indices, values = (Tracer(trace, part.ssa) for part in found)
    return RowSlices(indices, values, slices.shape)


FUNCTIONS = {"add": add, "concat": concat, "coalesce": coalesce}
"""By the names that `RowSlices` calls them by."""
