"""array: the supports of ops that move elements: the same op on the bools of their operands."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xdsl.dialects import arith
from xdsl.dialects.builtin import BoolAttr, f32, i1
from xdsl.ir import Attribute, SSAValue

from gradir.dialects.array.comparison import AstypeOp
from gradir.dialects.array.creation import FullOp
from gradir.dialects.base.interfaces import TensorOp
from gradir.dialects.base.shapes import is_tensor, shape_of, tensor
from gradir.dialects.base.support import NOWHERE, Box, Mask, Supports, either, made_of
from gradir.dialects.base.value import Emitter, Value


def moved_support(op: TensorOp, of: Supports) -> Mask | None:
    """The support of an op whose elements are elements of its first operand."""
    x = op.operands[0]
    mask = of.of(x)
    if mask is None or mask is NOWHERE:
        return mask
    return mask.then(lambda bools: _with_elements(op, i1, {x: bools}, bools.emitter))


def padded_support(op: TensorOp, of: Supports, boxes: tuple[Box, ...] = ()) -> Mask | None:
    """The support of an op that puts its one operand beside zeros; `boxes` is its place."""
    [x] = op.operands
    mask = of.of(x)
    return NOWHERE if mask is NOWHERE else _on_bools(op, {x: mask}, () if mask else boxes)


def placed_support(op: TensorOp, parts: Sequence[SSAValue], of: Supports) -> Mask | None:
    """The support of an op whose elements are elements of several operands."""
    masks = {x: of.of(x) for x in parts}
    found = set(masks.values())
    return found.pop() if len(found) == 1 and found <= {None, NOWHERE} else _on_bools(op, masks)


def scattered_support(op: TensorOp, updates: SSAValue, of: Supports) -> Mask | None:
    """The support of an op that adds updates to its first operand, or to zeros."""
    mask, into = of.of(updates), op.operands[0]

    def counts(emitter: Emitter) -> Value:
        bools = bools_of(mask, updates.type, emitter)
        numbers = AstypeOp.on(bools, type=tensor(bools.shape, f32))
        zeros = emitter.value(emitter.insert(FullOp.fill(0, tensor(shape_of(into.type), f32))).y)
        return _with_elements(op, f32, {into: zeros} | {updates: numbers}, emitter) > 0

    found = mask if mask is NOWHERE else made_of([mask] if mask else [], counts)
    return found if into is updates else either(of.of(into), found)


def row_added_support(op: TensorOp, axis: int, of: Supports) -> Mask | None:
    """The support of an op that adds one row to its first operand: that row alone is written."""
    into, index, row = op.operands
    before, added = of.of(into), of.of(row)
    if before is None or before is NOWHERE or added is NOWHERE:
        return scattered_support(op, row, of)

    def where(emitter: Emitter) -> Value:
        from gradir.dialects.array.dynamic_slices import DynamicSliceOp, DynamicUpdateSliceOp
        from gradir.dialects.array.movement import ReshapeOp

        base, place = before.on(emitter), emitter.value(index)
        shape = shape_of(into.type)
        sizes = [1 if d == axis else n for d, n in enumerate(shape)]
        place = (place < 0).choose(place + shape[axis], place)
        starts = [place if d == axis else place.full(0) for d in range(len(shape))]
        new = ReshapeOp.on(bools_of(added, row.type, emitter), type=tensor(sizes, i1))
        old = DynamicSliceOp.on(base, *starts, sizes=sizes)
        return DynamicUpdateSliceOp.on(base, old.apply("logical_or", new), *starts)

    return made_of([before] if added is None else [before, added], where)


def _on_bools(
    op: TensorOp, masks: Mapping[SSAValue, Mask | None], boxes: tuple[Box, ...] = ()
) -> Mask | None:
    def where(emitter: Emitter) -> Value:
        bools = {x: bools_of(mask, x.type, emitter) for x, mask in masks.items()}
        return _with_elements(op, i1, bools, emitter)

    return made_of([mask for mask in masks.values() if mask is not None], where, boxes)


def bools_of(mask: Mask | None, type_: Attribute, emitter: Emitter) -> Value:
    """The bools of a support, of none and all places too, for a value of a type."""
    if mask is not None and mask is not NOWHERE:
        return mask.on(emitter)
    if not is_tensor(type_):
        number = arith.ConstantOp(BoolAttr.from_bool(mask is None))
        return emitter.value(emitter.insert(number).result)
    full = FullOp.fill(mask is None, tensor(shape_of(type_), i1))
    return emitter.value(emitter.insert(full).y)


def _with_elements(
    op: TensorOp, element: Attribute, given: Mapping[SSAValue, Value], emitter: Emitter
) -> Value:
    """The op on other operands, which have another element type."""
    made = type(op).create(
        operands=[given[o].ssa if o in given else o for o in op.operands],
        result_types=[tensor(shape_of(op.results[0].type), element)],
        attributes=op.attributes,
    )
    return emitter.value(emitter.insert(made).results[0])
