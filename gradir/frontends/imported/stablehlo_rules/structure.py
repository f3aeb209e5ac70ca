"""StableHLO's ops that move elements: shapes, slices, joins, gathers and scatters."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import gradir.frontends.functions.numpy as gnp
from gradir.frontends.imported.stablehlo_rules.attributes import (
    fields,
    flag,
    integer,
    integers,
    shared,
)
from gradir.frontends.imported.stablehlo_rules.combiners import combiner_of
from gradir.frontends.imported.table import RuleTable
from gradir.frontends.tracing.source_locations import refusal

RULES = RuleTable("StableHLO")


def _listed(*names: str, **others: str) -> Any:
    """Parameters that are attributes: of the same name, or of another one."""
    keys = {name: name for name in names} | others
    return lambda call: {key: integers(call, name) for key, name in keys.items()}


RULES.rule("stablehlo.broadcast_in_dim")(
    shared("broadcast_in_dim", _listed("broadcast_dimensions"))
)
RULES.rule("stablehlo.reshape")(shared("reshape"))
RULES.rule("stablehlo.transpose")(shared("transpose", _listed("permutation")))
RULES.rule("stablehlo.reverse")(shared("rev", _listed("dimensions")))
RULES.rule("stablehlo.slice")(shared("slice", _listed("start_indices", "limit_indices", "strides")))
RULES.rule("stablehlo.dynamic_slice")(shared("dynamic_slice", _listed("slice_sizes")))
RULES.rule("stablehlo.dynamic_update_slice")(shared("dynamic_update_slice"))
RULES.rule("stablehlo.concatenate")(
    shared("concatenate", lambda call: {"dimension": integer(call, "dimension")})
)
RULES.rule("stablehlo.iota")(
    shared("iota", lambda call: {"dimension": integer(call, "iota_dimension")})
)


@RULES.rule("stablehlo.pad")
def _padded(call: Any, x: Any, value: Any) -> Any:
    names = ("edge_padding_low", "edge_padding_high", "interior_padding")
    rows = zip(*(integers(call, name) for name in names), strict=True)
    return shared("pad", lambda call: {"padding_config": list(rows)})(call, x, value)


_GATHER = (
    "offset_dims", "collapsed_slice_dims", "operand_batching_dims", "start_indices_batching_dims",
    "start_index_map", "index_vector_dim",
)  # fmt: skip
_SCATTER = (
    "update_window_dims", "inserted_window_dims", "input_batching_dims",
    "scatter_indices_batching_dims", "scatter_dims_to_operand_dims", "index_vector_dim",
)  # fmt: skip


def _vectors_last(indices: Any, axis: Any) -> Any:
    """Indices with their vectors along the last axis, from the axis of an attribute."""
    place = axis if isinstance(axis, int) else 0
    return indices[..., None] if place == indices.ndim else gnp.moveaxis(indices, place, -1)


@RULES.rule("stablehlo.gather")
def _gathered(call: Any, x: Any, indices: Any) -> Any:
    numbers = fields(call, "dimension_numbers", _GATHER)
    params: Mapping[str, Any] = {
        "dimension_numbers": numbers, "slice_sizes": integers(call, "slice_sizes"), "mode": "clip",
    }  # fmt: skip
    last = _vectors_last(indices, numbers.index_vector_dim)
    return shared("gather", lambda call: params)(call, x, last)


@RULES.rule("stablehlo.scatter", note="of one array; updates by a sum, product, extreme or alone")
def _scattered(call: Any, *operands: Any) -> Any:
    if len(operands) != 3:
        raise refusal(f"{call.op}: one array expected, got {len(operands) // 2}")
    x, indices, updates = operands
    numbers = fields(call, "scatter_dimension_numbers", _SCATTER)
    numbers.operand_batching_dims = numbers.input_batching_dims
    kind = combiner_of(call, call.graphs[0])
    theirs = {"set": "scatter", "add": "scatter_add", "multiply": "scatter_mul",
              "minimum": "scatter_min", "maximum": "scatter_max"}.get(kind)  # fmt: skip
    if theirs is None:
        raise refusal(f"{call.op}: updates by {kind} are not there")
    params = {"dimension_numbers": numbers, "mode": "drop",
              "unique_indices": flag(call, "unique_indices")}  # fmt: skip
    call.graphs = ()
    last = _vectors_last(indices, numbers.index_vector_dim)
    return shared(theirs, lambda call: params)(call, x, last, updates)
