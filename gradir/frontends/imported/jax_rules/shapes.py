"""JAX's primitives that move elements: shapes, slices, joins, pads, and numbers in a row."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from xdsl.dialects.builtin import i64

import gradir.frontends.functions.numpy as gnp
from gradir.dialects.array.creation import IotaOp
from gradir.dialects.base.shapes import is_bool, tensor, ui8
from gradir.frontends.functions.array_ops import op
from gradir.frontends.functions.promotion import converted, spread
from gradir.frontends.imported.table import RuleTable
from gradir.frontends.tracing.tracing import element, emit_one
from gradir.frontends.tracing.values import constant_value_of

RULES = RuleTable("JAX")


@RULES.rule("broadcast_in_dim")
def _broadcast(call: Any, x: Any, *dynamic: Any) -> Any:
    shape, places = call.type.shape, tuple(call["broadcast_dimensions"])
    if tuple(shape) == tuple(x.shape):
        return x
    inner = [1] * len(shape)
    for axis, place in enumerate(places):
        inner[place] = x.shape[axis]
    return gnp.broadcast_to(gnp.reshape(x, inner), shape)


@RULES.rule("reshape")
def _reshaped(call: Any, x: Any, *dynamic: Any) -> Any:
    order = call.params.get("dimensions")
    return gnp.reshape(x if order is None else gnp.transpose(x, order), call.type.shape)


@RULES.rule("squeeze", "expand_dims")
def _squeezed(call: Any, x: Any) -> Any:
    return gnp.reshape(x, call.type.shape)


@RULES.rule("transpose")
def _transposed(call: Any, x: Any) -> Any:
    return gnp.permute_dims(x, list(call["permutation"]))


@RULES.rule("rev")
def _reversed(call: Any, x: Any) -> Any:
    axes = list(call["dimensions"])
    return op.flip(x, axis=axes) if axes else x


@RULES.rule("slice")
def _sliced(call: Any, x: Any) -> Any:
    strides = call["strides"] or [1] * x.ndim
    bounds = zip(call["start_indices"], call["limit_indices"], strides, strict=True)
    return x[tuple(slice(*bound) for bound in bounds)]


@RULES.rule("split")
def _parts(call: Any, x: Any) -> Any:
    axis, start, made = call["axis"], 0, cast(list[Any], [])
    for size in call["sizes"]:
        key = [slice(None)] * x.ndim
        key[axis] = slice(start, start + size)
        made.append(x[tuple(key)])
        start += size
    return made


@RULES.rule("concatenate")
def _joined(call: Any, *xs: Any) -> Any:
    return xs[0] if len(xs) == 1 else op.concat(list(xs), axis=call["dimension"])


@RULES.rule("tile")
def _tiled(call: Any, x: Any) -> Any:
    return gnp.tile(x, tuple(call["reps"]))


@RULES.rule("stack")
def _stacked(call: Any, *xs: Any) -> Any:
    return op.stack(list(xs), axis=call["axis"])


@RULES.rule("unstack")
def _unstacked(call: Any, x: Any) -> Any:
    return list(gnp.unstack(x, axis=call["axis"]))


@RULES.rule("pad")
def _pad(call: Any, x: Any, value: Any) -> Any:
    return padded(x, value, call["padding_config"])


def padded(x: Any, value: Any, config: Sequence[tuple[int, int, int]]) -> Any:
    """x with a value before, behind and between elements along each axis; negative ones cut off."""
    if any(between for _, _, between in config):
        x = _spaced(x, value, [between for _, _, between in config])
    cut = tuple(
        slice(min(max(-low, 0), n), max(n + min(high, 0), min(max(-low, 0), n)))
        for (low, high, _), n in zip(config, x.shape, strict=True)
    )
    if any(low < 0 or high < 0 for low, high, _ in config):
        x = x[cut]
    low, high = ([max(widths[k], 0) for widths in config] for k in (0, 1))
    if not any((*low, *high)):
        return x
    number = constant_value_of(value)
    if number is not None and not is_bool(element(x)):
        return op.pad(x, low=low, high=high, value=number.item())
    for axis in range(x.ndim):
        x = _beside(x, value, axis, low[axis], high[axis])
    return x


def _beside(x: Any, value: Any, axis: int, low: int, high: int) -> Any:
    """x between two blocks of a value along an axis."""
    shapes = [[*x.shape[:axis], count, *x.shape[axis + 1 :]] for count in (low, high)]
    before, behind = ([gnp.broadcast_to(value, shape)] if shape[axis] else [] for shape in shapes)
    parts = [*before, x, *behind]
    return op.concat(parts, axis=axis) if len(parts) > 1 else x


def _spaced(x: Any, value: Any, between: Sequence[int]) -> Any:
    """x with a value between its elements."""
    for axis, count in enumerate(between):
        n = x.shape[axis]
        if not count or n < 2:
            continue
        wide = gnp.expand_dims(x, axis + 1)
        wide = _beside(wide, value, axis + 1, 0, count)
        shape = [*x.shape[:axis], n * (count + 1), *x.shape[axis + 1 :]]
        key = [slice(None)] * x.ndim
        key[axis] = slice(0, n * (count + 1) - count)
        x = gnp.reshape(wide, shape)[tuple(key)]
    return x


@RULES.rule("iota")
def _iota(call: Any, *dynamic: Any) -> Any:
    shape, kind = call.type.shape, call.element
    if is_bool(kind):
        made = emit_one(IotaOp, type=tensor(shape, ui8), axis=call["dimension"])
        return op.not_equal(made, 0)
    return emit_one(IotaOp, type=tensor(shape, kind), axis=call["dimension"])


@RULES.rule("dynamic_slice")
def _dynamic_slice(call: Any, x: Any, *starts: Any) -> Any:
    if not x.ndim:
        return x
    return op.dynamic_slice(x, places(starts), sizes=list(call["slice_sizes"]))


@RULES.rule("dynamic_update_slice")
def _dynamic_update_slice(call: Any, x: Any, update: Any, *starts: Any) -> Any:
    if not x.ndim:
        return update
    if not update.size:
        return x
    return op.dynamic_update_slice(x, update, places(starts))


def places(starts: Sequence[Any]) -> list[Any]:
    """Integers as places of an axis."""
    return [converted(start, i64) for start in starts]


@RULES.rule("full", "empty", "empty2")
def _empty(call: Any, *given: Any) -> Any:
    return spread(given[0] if given else 0, call.type.shape, call.element)
