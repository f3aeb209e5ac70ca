"""Ops of array, grad and tensor that have a form of their own in StableHLO, by name.

A rule takes the op, its operands and an emitter, and returns the op's results. Elementwise ops come
through their bodies, and others through their loop nests (`convert.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any, cast

from xdsl.dialects.builtin import DYNAMIC_INDEX, IntegerAttr, i1, i64

from gradir.dialects.array.assembly import StackOp
from gradir.dialects.array.contraction import MatmulOp
from gradir.dialects.array.creation import ConstantOp, FullOp, IotaOp
from gradir.dialects.array.dot_general import DotGeneralOp
from gradir.dialects.array.indexing import TakeOp
from gradir.dialects.array.slicing import ConcatOp
from gradir.dialects.base.attributes import integers_of
from gradir.dialects.base.constants import constant_integer
from gradir.dialects.base.shapes import broadcast_shapes, element_of, shape_of, ui64
from gradir.dialects.building.body import compute_type
from gradir.stablehlo import values as v
from gradir.stablehlo.dialect import GatherAttr
from gradir.stablehlo.nests import Factor, NoForm, clamp_index, sum_of_products
from gradir.stablehlo.numbers import dense_constant
from gradir.stablehlo.regions import scatter_elements
from gradir.stablehlo.values import Hlo, HloEmitter

Rule = Callable[[Any, Sequence[Hlo], HloEmitter], Sequence[Hlo]]


def _result_type(op: Any, number: int = 0) -> Any:
    return v.hlo_type(op.results[number].type)


# Constants and copies.


def _full(op: FullOp, xs: Sequence[Hlo], emitter: HloEmitter) -> Sequence[Hlo]:
    return [v.full(emitter, op.number, _result_type(op))]


def _zero(op: Any, xs: Sequence[Hlo], emitter: HloEmitter) -> Sequence[Hlo]:
    return [v.full(emitter, 0, _result_type(op))]


def _constant(op: ConstantOp, xs: Sequence[Hlo], emitter: HloEmitter) -> Sequence[Hlo]:
    splat = op.splat
    if splat is not None and prod(shape_of(op.y.type)) > 1 and splat == splat:
        return [v.full(emitter, splat, _result_type(op))]
    return [dense_constant(emitter, op.dense)]


def _iota(op: IotaOp, xs: Sequence[Hlo], emitter: HloEmitter) -> Sequence[Hlo]:
    type_ = _result_type(op)
    return [v.iota(emitter, shape_of(type_), op.axis, element_of(type_))]


def _same(op: Any, xs: Sequence[Hlo], emitter: HloEmitter) -> Sequence[Hlo]:
    return xs[:1]


def _barrier(op: Any, xs: Sequence[Hlo], emitter: HloEmitter) -> Sequence[Hlo]:
    return [xs[0].emit("optimization_barrier")]


def _reshape(op: Any, xs: Sequence[Hlo], emitter: HloEmitter) -> Sequence[Hlo]:
    return [v.reshape(xs[0], shape_of(op.results[0].type))]


# Joins and places.


def _concat(op: ConcatOp, xs: Sequence[Hlo], emitter: HloEmitter) -> Sequence[Hlo]:
    return [v.concatenate(xs, op.axis)]


def _stack(op: StackOp, xs: Sequence[Hlo], emitter: HloEmitter) -> Sequence[Hlo]:
    axis = op.axis
    wide = [v.reshape(x, [*x.shape[:axis], 1, *x.shape[axis:]]) for x in xs]
    return [v.concatenate(wide, axis)]


def signed_place(x: Hlo) -> Hlo:
    """An integer as i64; unsigned ones beyond its range are its last."""
    if x.element == ui64:
        x = x.emit("minimum", x.full((1 << 63) - 1))
    return v.convert(x, i64)


def _dynamic_slice(op: Any, xs: Sequence[Hlo], emitter: HloEmitter) -> Sequence[Hlo]:
    x, *starts = xs
    return [v.dynamic_slice(x, [signed_place(s) for s in starts], shape_of(op.y.type))]


def _dynamic_update_slice(op: Any, xs: Sequence[Hlo], emitter: HloEmitter) -> Sequence[Hlo]:
    x, update, *starts = xs
    return [v.dynamic_update_slice(x, update, [signed_place(s) for s in starts])]


def _take(op: TakeOp, xs: Sequence[Hlo], emitter: HloEmitter) -> Sequence[Hlo]:
    x, indices = xs
    axis, bound = op.axis, x.shape[op.axis]
    if not bound:
        return [v.full(emitter, 0, _result_type(op))]
    places = signed_place(indices)
    places = v.select(places < 0, places + bound, places)
    places = clamp_index(places, bound - 1)
    rank = len(places.shape)
    offset = [d for d in range(axis)] + [axis + rank + k for k in range(len(x.shape) - axis - 1)]
    dims = (
        f"offset_dims = {offset}, collapsed_slice_dims = {[axis]}, start_index_map = {[axis]}, "
        f"index_vector_dim = {rank}"
    )
    sizes = [1 if d == axis else n for d, n in enumerate(x.shape)]
    return [
        x.emit(
            "gather",
            places,
            type=_result_type(op),
            dimension_numbers=GatherAttr.of(dims),
            slice_sizes=v.numbers(sizes),
            indices_are_sorted=IntegerAttr(0, i1),
        )
    ]


# Products.


def _wide_product(
    op: Any, left: Factor, right: Factor, bounds: Sequence[int], free: int
) -> Sequence[Hlo]:
    """A sum of products in the type that native code sums in, rounded once."""
    element = v.hlo_element(element_of(op.results[0].type))
    wide = compute_type(element)
    wide = element if v.signless(element) != element else v.hlo_element(wide)
    factors = [(v.convert(x, wide), dims) for x, dims in (left, right)]
    total = sum_of_products(factors[0], factors[1], bounds, free)
    return [v.reshape(v.convert(total, element), shape_of(op.results[0].type))]


def _dot_general(op: DotGeneralOp, xs: Sequence[Hlo], emitter: HloEmitter) -> Sequence[Hlo]:
    left, right = op.sides
    batch, first = len(left.batch), len(left.batch) + len(left.free)
    free = first + len(right.free)
    of_left = dict(zip(left.batch + left.free, range(first), strict=True))
    of_right = dict(zip(right.batch, range(batch), strict=True))
    of_right |= dict(zip(right.free, range(first, free), strict=True))
    summed = range(free, free + len(left.contract))
    of_left |= dict(zip(left.contract, summed, strict=True))
    of_right |= dict(zip(right.contract, summed, strict=True))
    bounds = [xs[0].shape[d] for d in left.batch + left.free]
    bounds += [xs[1].shape[d] for d in right.free] + [xs[0].shape[d] for d in left.contract]
    pairs = zip(xs, (of_left, of_right), strict=True)
    factors = [(x, [dims[d] for d in range(len(dims))]) for x, dims in pairs]
    return _wide_product(op, factors[0], factors[1], bounds, free)


def _matmul(op: MatmulOp, xs: Sequence[Hlo], emitter: HloEmitter) -> Sequence[Hlo]:
    lhs, rhs = xs
    left = [1, *lhs.shape] if len(lhs.shape) == 1 else [*lhs.shape]
    right = [*rhs.shape, 1] if len(rhs.shape) == 1 else [*rhs.shape]
    batch = broadcast_shapes(left[:-2], right[:-2])
    rank = len(batch)
    bounds = [*batch, left[-2], right[-1], left[-1]]
    factors = [
        _batched(v.reshape(lhs, left), [rank, rank + 2], rank),
        _batched(v.reshape(rhs, right), [rank + 2, rank + 1], rank),
    ]
    return _wide_product(op, factors[0], factors[1], bounds, rank + 2)


def _batched(x: Hlo, last: Sequence[int], rank: int) -> Factor:
    """A stack of matrices without leading axes of extent 1, and the dimensions of its axes."""
    leading = x.shape[:-2]
    dims = [rank - len(leading) + d for d, n in enumerate(leading) if n != 1]
    shape = [n for n in leading if n != 1]
    return v.reshape(x, [*shape, *x.shape[-2:]]), [*dims, *last]


# The dialect tensor.


def _extract(op: Any, xs: Sequence[Hlo], emitter: HloEmitter) -> Sequence[Hlo]:
    x, *places = xs
    if not places:
        return [x]
    return [v.reshape(v.dynamic_slice(x, places, [1] * len(places)), [])]


def _insert(op: Any, xs: Sequence[Hlo], emitter: HloEmitter) -> Sequence[Hlo]:
    value, x, *places = xs
    if not places:
        return [value]
    return [v.dynamic_update_slice(x, v.reshape(value, [1] * len(places)), places)]


def _from_elements(op: Any, xs: Sequence[Hlo], emitter: HloEmitter) -> Sequence[Hlo]:
    type_ = _result_type(op)
    if not xs:
        return [v.full(emitter, 0, type_)]
    row = v.concatenate([v.reshape(x, [1]) for x in xs], 0)
    return [v.reshape(row, shape_of(type_))]


def _splat(op: Any, xs: Sequence[Hlo], emitter: HloEmitter) -> Sequence[Hlo]:
    return [v.broadcast(xs[0], shape_of(op.result.type), [])]


def _dim(op: Any, xs: Sequence[Hlo], emitter: HloEmitter) -> Sequence[Hlo]:
    axis = constant_integer(op.index)
    if axis is None:
        raise NoForm("the axis must be a constant")
    return [v.number_of(emitter, xs[0].shape[axis], i64)]


def _slice_places(op: Any, dynamic: Sequence[Hlo], emitter: HloEmitter) -> list[Hlo | int]:
    """The offset of each axis."""
    given = iter(dynamic)
    offsets = integers_of(op.static_offsets)
    return [next(given) if n == DYNAMIC_INDEX else n for n in offsets]


def _static_numbers(op: Any) -> tuple[list[int], list[int]]:
    """The sizes and strides of a slice; NoForm where they are given at run time."""
    if op.sizes or op.strides:
        raise NoForm("sizes and strides must be numbers")
    return integers_of(op.static_sizes), integers_of(op.static_strides)


def _extract_slice(op: Any, xs: Sequence[Hlo], emitter: HloEmitter) -> Sequence[Hlo]:
    x, *dynamic = xs
    sizes, strides = _static_numbers(op)
    offsets = _slice_places(op, dynamic, emitter)
    reach = [(n - 1) * s + 1 if n else 0 for n, s in zip(sizes, strides, strict=True)]
    if dynamic:
        starts = [v.number_of(emitter, o, i64) if isinstance(o, int) else o for o in offsets]
        part = v.dynamic_slice(x, starts, reach)
        part = v.cut(part, [0] * len(reach), reach, strides)
    else:
        first = cast("list[int]", offsets)
        part = v.cut(x, first, [o + n for o, n in zip(first, reach, strict=True)], strides)
    return [v.reshape(part, shape_of(op.result.type))]


def _insert_slice(op: Any, xs: Sequence[Hlo], emitter: HloEmitter) -> Sequence[Hlo]:
    source, x, *dynamic = xs
    sizes, strides = _static_numbers(op)
    offsets = _slice_places(op, dynamic, emitter)
    starts = [v.number_of(emitter, o, i64) if isinstance(o, int) else o for o in offsets]
    part = v.reshape(source, sizes)
    if not sizes:
        return [part]
    if all(s == 1 for s in strides):
        return [v.dynamic_update_slice(x, part, starts)]
    places = [
        v.iota(emitter, sizes, d) * s + v.broadcast(start, sizes, [])
        for d, (s, start) in enumerate(zip(strides, starts, strict=True))
    ]
    return [scatter_elements(x, places, part, "none")]


RULES: dict[str, Rule] = {
    "array.full": _full,
    "array.constant": _constant,
    "array.iota": _iota,
    "array.reshape": _reshape,
    "array.concat": _concat,
    "array.stack": _stack,
    "array.take": _take,
    "array.dynamic_slice": _dynamic_slice,
    "array.dynamic_update_slice": _dynamic_update_slice,
    "array.dot_general": _dot_general,
    "array.matmul": _matmul,
    "grad.zero": _zero,
    "grad.name": _same,
    "grad.negate_gradient": _same,
    "grad.start_checkpoint": _same,
    "grad.end_checkpoint": _same,
    "grad.join": _same,
    "grad.barrier": _barrier,
    "tensor.extract": _extract,
    "tensor.insert": _insert,
    "tensor.from_elements": _from_elements,
    "tensor.splat": _splat,
    "tensor.empty": _zero,
    "tensor.dim": _dim,
    "tensor.cast": _same,
    "tensor.extract_slice": _extract_slice,
    "tensor.insert_slice": _insert_slice,
}
