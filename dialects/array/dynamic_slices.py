"""array: slices at run-time places; both ops are linear.

A start is an integer of rank 0. It is clamped to [0, extent - size], so that the slice lies inside;
a negative start is 0 and does not count from the end.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from xdsl.dialects.builtin import i64
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import irdl_op_definition, operand_def, result_def, traits_def, var_operand_def
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from gradir.dialects.array.creation import FullOp
from gradir.dialects.array.indexing import signed_place
from gradir.dialects.array.supports import moved_support, placed_support
from gradir.dialects.base.access import Access, Row, dim_row
from gradir.dialects.base.attributes import Attributes, Types, integers
from gradir.dialects.base.batch import Batch
from gradir.dialects.base.interfaces import Cotangents, TensorOp
from gradir.dialects.base.lazy_numpy import np
from gradir.dialects.base.shapes import DYNAMIC, element_of, shape_of, tensor
from gradir.dialects.base.support import Mask, Supports
from gradir.dialects.base.value import Emitter, Scalar, Value
from gradir.dialects.building import body as b
from gradir.dialects.building.kinds import require_elements
from gradir.dialects.building.nests import Read, nest
from gradir.dialects.loopnest.loopnest import Output


def _require_starts(x: Attribute, starts: Sequence[Attribute]) -> None:
    rank = len(shape_of(x))
    if len(starts) != rank:
        raise VerifyException(
            f"expected a start for each of the {rank} axes of {x}, got {len(starts)}"
        )
    for start in starts:
        require_elements(start, "integer")
        if shape_of(start):
            raise VerifyException(f"starts must have rank 0, got {start}")


def _require_inside(sizes: Sequence[int], x: Attribute, what: str) -> None:
    for axis, (m, n) in enumerate(zip(sizes, shape_of(x), strict=True)):
        if DYNAMIC not in (m, n) and not 0 <= m <= n:
            raise VerifyException(f"{what} must be in [0, {n}] at axis {axis} of {x}, got {m}")


def _places(
    starts: Sequence[Scalar],
    elements: Sequence[Attribute],
    sizes: Sequence[int],
    extents: Sequence[int],
) -> list[Scalar]:
    """The place in the large tensor of an iteration over the slice."""
    places: list[Scalar] = []
    kinds = zip(starts, elements, sizes, extents, strict=True)
    for d, (start, element, m, n) in enumerate(kinds):
        at = b.index(start, d)
        if m != n:
            wide = signed_place(start, element)
            last = b.constant(wide, n - m)
            at = b.minimum(b.maximum(wide, b.constant(wide, 0)), last) + at
        places.append(at)
    return places


def _clamped(starts: Sequence[Any], sizes: Sequence[int], extents: Sequence[int]) -> Any:
    """The slice as an index of a NumPy array."""
    rows = zip(starts, sizes, extents, strict=True)
    first = [min(max(int(s), 0), n - m) for s, m, n in rows]
    return tuple(slice(s, s + m) for s, m in zip(first, sizes, strict=True))


def _first_row(near: Value) -> Value:
    """0, the start of all rows."""
    return near.emitter.value(near.emitter.insert(FullOp.fill(0, tensor([], i64))).y)


@irdl_op_definition
class DynamicSliceOp(TensorOp):
    """The part of x with extents `sizes` that begins at `starts`, one per axis, clamped.

    vjp: dynamic_update_slice of ct into zeros
    """

    name = "array.dynamic_slice"
    COMPLEX: ClassVar[bool] = True
    READS_PART: ClassVar[bool] = True
    ATTRIBUTES: ClassVar[tuple[str, ...]] = ("sizes",)

    x = operand_def()
    starts = var_operand_def()
    y = result_def()
    traits = traits_def(Pure())

    @classmethod
    def infer_types(cls, operands: Types, attributes: Attributes) -> Types:
        x, *starts = operands
        _require_starts(x, starts)
        sizes = integers(attributes, "sizes", None)
        if sizes is None or len(sizes) != len(starts):
            count = "nothing" if sizes is None else len(sizes)
            raise VerifyException(f"sizes must have {len(starts)} entries, got {count}")
        _require_inside(sizes, x, "sizes")
        return [tensor(sizes, element_of(x))]

    def vjp(self, ct: Value, y: Value, *operands: Value) -> Cotangents:
        x, *starts = operands
        return [DynamicUpdateSliceOp.on(x.full(0), ct, *starts), *[None] * len(starts)]

    def support(self, of: Supports) -> Mask | None:
        return moved_support(self, of)

    def vmap(self, batch: Batch) -> Sequence[Value] | None:
        """A slice at a place that all rows share."""
        if any(batch.has_rows[1:]):
            return None
        x, *starts = batch.operands
        sizes = [batch.size, *shape_of(self.y.type)]
        return batch.same_op([x, _first_row(x), *starts], sizes=sizes)

    def lower(self, emitter: Emitter, operands: Sequence[SSAValue]) -> Sequence[SSAValue]:
        x, *starts = operands
        shape = shape_of(self.y.type)
        elements, extents = [element_of(s.type) for s in starts], shape_of(x.type)

        def fetch(table: Scalar, *starts: Scalar) -> Scalar:
            return b.load(table, _places(starts, elements, shape, extents))

        reads = [Read(x, None), *(Read(s, Access(len(shape), ())) for s in starts)]
        output = Output(self.y.type, Access.identity(len(shape)))
        return nest(emitter, shape, reads, [output], fetch)

    def numpy(self, *arrays: Any) -> Any:
        x, *starts = arrays
        return x[_clamped(starts, shape_of(self.y.type), x.shape)]


@irdl_op_definition
class DynamicUpdateSliceOp(TensorOp):
    """x with the part that begins at `starts`, one per axis, clamped, replaced by `update`.

    Native code writes the update alone, into the buffer of x, if x is a temporary at its last use
    (so a loop that writes a row per step writes only rows); otherwise x is copied first. Axes that
    the update does not fill are written one index after the other.
    vjp: ct with zeros in that part, for x; dynamic_slice of ct, for the update
    """

    name = "array.dynamic_update_slice"
    COMPLEX: ClassVar[bool] = True
    WRITES_INTO: ClassVar[int | None] = 0

    x = operand_def()
    update = operand_def()
    starts = var_operand_def()
    y = result_def()
    traits = traits_def(Pure())

    @classmethod
    def infer_types(cls, operands: Types, attributes: Attributes) -> Types:
        x, update, *starts = operands
        same_rank = len(shape_of(update)) == len(shape_of(x))
        if not same_rank or element_of(update) != element_of(x):
            raise VerifyException(
                f"update must have the rank and elements of x, got {x} and {update}"
            )
        _require_inside(shape_of(update), x, "extents of update")
        _require_starts(x, starts)
        return [x]

    def vjp(self, ct: Value, y: Value, *operands: Value) -> Cotangents:
        _, update, *starts = operands
        outside = DynamicUpdateSliceOp.on(ct, update.full(0), *starts)
        inside = DynamicSliceOp.on(ct, *starts, sizes=update.shape)
        return [outside, inside, *[None] * len(starts)]

    def support(self, of: Supports) -> Mask | None:
        return placed_support(self, [self.x, self.update], of)

    def vmap(self, batch: Batch) -> Sequence[Value] | None:
        if any(batch.has_rows[2:]):
            return None
        x, update = batch.with_rows(0), batch.with_rows(1)
        return batch.same_op([x, update, _first_row(x), *batch.operands[2:]])

    def added_to(self, base: Value, x: Value, update: Value, *starts: Value) -> Value:
        old = DynamicSliceOp.on(base, *starts, sizes=update.shape)
        return DynamicUpdateSliceOp.on(base, old + update, *starts)

    def lower(self, emitter: Emitter, operands: Sequence[SSAValue]) -> Sequence[SSAValue]:
        x, update, *starts = operands
        sizes, extents = shape_of(update.type), shape_of(x.type)
        rank, elements = len(sizes), [element_of(s.type) for s in starts]
        moved = [d for d in range(rank) if sizes[d] != extents[d]]
        if not moved or 0 in sizes:
            return [x if moved else update]
        rows = [
            Row((0,) * rank, 0, symbol=moved.index(d)) if d in moved else dim_row(rank, d)
            for d in range(rank)
        ]

        def place(value: Scalar, *starts: Scalar) -> Sequence[Scalar]:
            places = _places(starts, elements, sizes, extents)
            return [value, *(places[d] for d in moved)]

        reads = [
            Read(update, Access.identity(rank)),
            *(Read(s, Access(rank, ())) for s in starts),
        ]
        output = Output(self.y.type, Access(rank, tuple(rows)), "none", x)
        return nest(emitter, sizes, reads, [output], place)

    def numpy(self, *arrays: Any) -> Any:
        x, update, *starts = arrays
        result = np.array(x)
        result[_clamped(starts, update.shape, x.shape)] = update
        return result


OPS: tuple[type[TensorOp], ...] = (DynamicSliceOp, DynamicUpdateSliceOp)
