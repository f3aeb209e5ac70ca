"""Rules of vectorization of array ops: the rows are one more axis in front."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any, cast

from xdsl.dialects import tensor
from xdsl.dialects.builtin import i64

from gradir.dialects.array import (
    assembly,
    contraction,
    dot_general,
    dynamic_slices,
    einsum,
    gather_scatter,
    indexing,
    movement,
    random,
    reductions,
    scans,
    searching,
    slicing,
    sorting,
    statistics,
    triangles,
    triangular,
)
from gradir.dialects.array.creation import FullOp
from gradir.dialects.array.movement import ReshapeOp
from gradir.dialects.base.attributes import Plain, integer, integers, text
from gradir.dialects.base.shapes import element_of, is_tensor, shape_of
from gradir.dialects.base.shapes import tensor as tensor_type
from gradir.dialects.base.value import Value
from gradir.dialects.batching.rows import Batched, moved, register
from gradir.dialects.building.kinds import ElementwiseOp


def in_front(one: Batched) -> Sequence[Value]:
    """An op that treats leading axes one by one, or has no axes: all operands get rows."""
    return one.same(one.all_lifted())


def along_axis(one: Batched) -> Sequence[Value]:
    """An op along an axis of its operands, which counts from the end."""
    axis = cast(Any, one.op).axis
    return one.same(one.all_lifted(), {"axis": axis - one.rank(0)})


def along_new_axis(one: Batched) -> Sequence[Value]:
    """An op along an axis of its result, which counts from the end."""
    rank = len(shape_of(one.op.results[0].type))
    return one.same(one.all_lifted(), {"axis": cast(Any, one.op).axis - rank})


def along_axes(one: Batched) -> Sequence[Value]:
    """An op along several axes of its last operand, which count from the end."""
    rank = one.rank(len(one.operands) - 1)
    axes = [axis - rank for axis in cast(Any, one.op).axes]
    return one.same(one.all_lifted(), {"axis": axes})


def reshaped(one: Batched) -> Sequence[Value]:
    """An op that changes the shape alone."""
    return [ReshapeOp.on(one.operands[0], type=one.types()[0])]


def broadcast(one: Batched) -> Sequence[Value]:
    """Axes of extent 1 between the rows and the shape let it broadcast to the right."""
    [x], [type_] = one.operands, one.types()
    missing = len(shape_of(type_)) - len(x.shape)
    wide = [x.shape[0], *[1] * missing, *x.shape[1:]]
    return one.same([_under(x, wide)])


def permuted(one: Batched) -> Sequence[Value]:
    axes = cast(movement.PermuteDimsOp, one.op).axes
    return one.same(one.operands, {"axes": [0, *(a + 1 for a in axes)]})


def sliced(one: Batched) -> Sequence[Value]:
    rows = zip(*cast(slicing.SliceOp, one.op).bounds, strict=True)
    start, stop, step = ([*row] for row in rows) if one.rank(0) else ((), (), ())
    bounds = {"start": [0, *start], "stop": [one.size, *stop], "step": [1, *step]}
    return one.same(one.operands, bounds)


def padded(one: Batched) -> Sequence[Value]:
    low, high = (integers(one.op.attributes, name, None) or [] for name in ("low", "high"))
    return one.same(one.operands, {"low": [0, *low], "high": [0, *high]})


def tiled(one: Batched) -> Sequence[Value]:
    """Each axis gets its number of copies; new axes are behind the rows."""
    repeats = integers(one.op.attributes, "repeats", None) or []
    [x], rank = one.operands, one.rank(0)
    missing = max(len(repeats) - rank, 0)
    repeats = [1] * (rank - len(repeats)) + list(repeats)
    x = _under(x, [x.shape[0], *[1] * missing, *x.shape[1:]])
    return one.same([x], {"repeats": [1, *repeats]})


def rolled(one: Batched) -> Sequence[Value]:
    """Along axes from the end; without axes, rows of all elements."""
    axis = integers(one.op.attributes, "axis", None)
    if axis is not None:
        return one.same(one.operands, {"axis": [a - one.rank(0) if a >= 0 else a for a in axis]})
    return _as_lines(one, "axis", [-1])


def repeated(one: Batched) -> Sequence[Value]:
    if one.attribute("axis") is None:
        return _as_lines(one, "axis", -1)
    axis = integer(one.op.attributes, "axis")
    return one.same(one.operands, {"axis": axis - one.rank(0) if axis >= 0 else axis})


def _as_lines(one: Batched, name: str, axis: int | list[int]) -> Sequence[Value]:
    """An op on all elements in row-major order, on the rows as lines."""
    [x], [type_] = one.operands, one.types()
    line = _under(x, [one.size, _count(x.shape[1:])])
    made = [one.size, _count(shape_of(type_)[1:])]
    [found] = one.same([line], {name: axis}, [tensor_type(made, x.element)])
    return [ReshapeOp.on(found, type=type_)]


def placed(one: Batched) -> Sequence[Value]:
    """The place of an extremum along one axis, or among all elements."""
    axes = cast(statistics.ArgmaxOp, one.op).axes
    if len(axes) == 1 or one.attribute("axis") is not None:
        return one.same(one.operands, {"axis": axes[0] - one.rank(0)})
    [x], [type_] = one.operands, one.types()
    line = _under(x, [one.size, _count(x.shape[1:])])
    places = tensor_type([one.size], element_of(type_))
    [found] = one.same([line], {"axis": -1, "keepdims": False}, [places])
    return [ReshapeOp.on(found, type=type_)]


# Products.


def multiplied(one: Batched) -> Sequence[Value]:
    """A product of matrices; a vector with rows is a stack of matrices of one line."""
    lhs, rhs = one.operands
    left, right = (list(shape_of(o.type)) for o in one.op.operands)
    parts = [[1, *left] if len(left) == 1 else left, [*right, 1] if len(right) == 1 else right]
    rank = max(map(len, parts))
    wide: list[Value] = []
    for x, part, has_rows in zip((lhs, rhs), parts, one.rows, strict=True):
        shape = [one.size, *[1] * (rank - len(part)), *part] if has_rows else part
        wide.append(_under(x, shape))
    found = contraction.MatmulOp.on(*wide)
    return [ReshapeOp.on(found, type=one.types()[0])]


def dotted(one: Batched) -> Sequence[Value]:
    """The rows run together; rows of one factor alone are one of its free axes."""
    sides = cast(dot_general.DotGeneralOp, one.op).sides
    changed: dict[str, Plain] = {}
    both = all(one.rows)
    for side, axes, has_rows in zip(("lhs", "rhs"), sides, one.rows, strict=True):
        first = [0] if both else []
        changed[f"{side}_batch"] = [*first, *(d + has_rows for d in axes.batch)]
        changed[f"{side}_contract"] = [d + has_rows for d in axes.contract]
    found = dot_general.DotGeneralOp.on(*one.operands, type=None, **changed)
    if both:
        return [found]
    batch, free = len(sides[0].batch), len(sides[0].free)
    return [moved(found, batch if one.rows[0] else batch + free, 0)]


def summed(one: Batched) -> Sequence[Value]:
    """An einsum with one more letter, for the rows."""
    equation = text(one.op.attributes, "equation").replace(" ", "")
    terms, arrow, result = equation.partition("->")
    if not arrow:  # the letters that are there once, in their order
        rest = terms.replace("...", "").replace(",", "")
        once = sorted(c for c in rest if rest.count(c) == 1)
        result = ("..." if "..." in terms else "") + "".join(once)
    letter = next(c for c in _LETTERS if c not in equation)
    wide = [letter * has + t for t, has in zip(terms.split(","), one.rows, strict=True)]
    return one.same(one.operands, {"equation": f"{','.join(wide)}->{letter}{result}"})


_LETTERS = "zyxwvutsrqponmlkjihgfedcbaZYXWVUTSRQPONMLKJIHGFEDCBA"


def outer(one: Batched) -> Sequence[Value]:
    """A product of a column and a line for each row."""
    lhs, rhs = one.all_lifted()
    return [contraction.MatmulOp.on(_under(lhs, [*lhs.shape, 1]), _under(rhs, [one.size, 1, -1]))]


# Indices.


def taken(one: Batched) -> Sequence[Value]:
    """Rows of the table are one more axis; rows of indices one more of these; both a batch."""
    x, indices = one.operands
    axis = cast(indexing.TakeOp, one.op).axis
    if not one.rows[1]:
        return one.same(one.operands, {"axis": axis + 1})
    if not one.rows[0]:
        found = indexing.TakeOp.on(x, indices, axis=axis)
        return [moved(found, axis, 0)]
    table = moved(x, axis + 1, 1)
    tuples = _under(indices, [*indices.shape, 1])
    found = gather_scatter.GatherNdOp.on(table, tuples, batch_dims=1)
    depth = len(indices.shape) - 1
    order = [0, *range(depth + 1, depth + 1 + axis), *range(1, depth + 1)]
    order += range(depth + 1 + axis, len(found.shape))
    return [movement.PermuteDimsOp.on(found, axes=order)]


def searched(one: Batched) -> Sequence[Value]:
    """Rows of places alone are one more axis of these; lines with rows have others in front."""
    return one.same(one.all_lifted() if one.rows[0] or one.rank(0) > 1 else one.operands)


def in_batches(one: Batched) -> Sequence[Value]:
    """Ops on tuples of indices have axes of batches in front."""
    return one.same(one.all_lifted(), {"batch_dims": cast(Any, one.op).batch + 1})


def written(one: Batched) -> Sequence[Value] | None:
    """Updates along an axis at indices that all rows share."""
    if one.rows[1]:
        return None
    axis = cast(indexing.ScatterAddOp, one.op).axis
    operands = [one.lifted(0), one.operands[1], one.lifted(2)]
    return one.same(operands, {"axis": axis + 1})


def cut(one: Batched) -> Sequence[Value] | None:
    """A slice at a place that all rows share."""
    if any(one.rows[1:]):
        return None
    x, *starts = one.operands
    sizes = shape_of(one.op.results[0].type)
    return one.same([x, _zero(x), *starts], {"sizes": [one.size, *sizes]})


def pasted(one: Batched) -> Sequence[Value] | None:
    if any(one.rows[2:]):
        return None
    x, update = one.lifted(0), one.lifted(1)
    return one.same([x, update, _zero(x), *one.operands[2:]])


def _zero(near: Value) -> Value:
    return near.emitter.value(near.emitter.insert(FullOp.fill(0, tensor_type([], i64))).y)


def _under(x: Value, shape: Sequence[int]) -> Value:
    """x under another shape, of which one extent may be -1."""
    known = _count([n for n in shape if n >= 0])
    rest = _count(x.shape) // known if known else 0
    type_ = tensor_type([rest if n < 0 else n for n in shape], x.element)
    return x if x.type == type_ else ReshapeOp.on(x, type=type_)


def _count(shape: Sequence[int]) -> int:
    return prod(shape)


# Numbers.


def as_it_is(one: Batched) -> Sequence[Value] | None:
    """A tensor of rank 0 and its number have the same rows."""
    is_one = not any(
        shape_of(v.type) for v in (*one.op.operands, *one.op.results) if is_tensor(v.type)
    )
    return [one.operands[0]] if is_one and len(one.operands) == 1 else None


def splat(one: Batched) -> Sequence[Value]:
    [x], [type_] = one.operands, one.types()
    shape = shape_of(type_)
    return [movement.BroadcastToOp.on(_under(x, [one.size, *[1] * (len(shape) - 1)]), type=type_)]


register(
    in_front,
    ElementwiseOp,
    triangular.MatrixOp,
    *(triangles.TrilOp, triangles.TriuOp, triangles.DiagonalOp, triangles.TraceOp),
    triangles.DiagonalBackwardOp,
    random.RandomOp,
)
register(along_axes, reductions.ReductionOp, movement.FlipOp)
register(placed, statistics.ArgmaxOp, statistics.ArgminOp)
register(
    along_axis,
    *(scans.ScanOp, scans.ShiftOp, sorting.SortOp, sorting.ArgsortOp, sorting.TopKOp),
    *(slicing.ConcatOp, assembly.SplitOp, indexing.TakeAlongAxisOp),
)
register(along_new_axis, assembly.StackOp, gather_scatter.OneHotOp)
register(reshaped, movement.ReshapeOp, movement.ExpandDimsOp, movement.SqueezeOp)
register(broadcast, movement.BroadcastToOp)
register(permuted, movement.PermuteDimsOp)
register(sliced, slicing.SliceOp)
register(padded, slicing.PadOp)
register(tiled, assembly.TileOp)
register(rolled, assembly.RollOp)
register(repeated, assembly.RepeatOp)
register(multiplied, contraction.MatmulOp)
register(dotted, dot_general.DotGeneralOp)
register(summed, einsum.EinsumOp)
register(outer, dot_general.OuterOp)
register(taken, indexing.TakeOp)
register(searched, searching.SearchsortedOp)
register(in_batches, gather_scatter.GatherNdOp, gather_scatter.ScatterNdAddOp)
register(written, indexing.ScatterAddOp, gather_scatter.IndexUpdateOp)
register(cut, dynamic_slices.DynamicSliceOp)
register(pasted, dynamic_slices.DynamicUpdateSliceOp)
register(as_it_is, tensor.ExtractOp, tensor.FromElementsOp)
register(splat, tensor.SplatOp)
