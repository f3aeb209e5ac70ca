"""array: gather and scatter by run-time indices, all checked.

An index in [-n, 0) counts from the end; one outside of [-n, n) is an error at run time that names
the op, the index and the bound.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from math import prod
from typing import Any, ClassVar

from xdsl.dialects.builtin import i64
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import irdl_op_definition, operand_def, result_def, traits_def
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from gradir.dialects.array.movement import PermuteDimsOp, moved_axis, reshaped
from gradir.dialects.array.supports import moved_support, row_added_support, scattered_support
from gradir.dialects.base.access import Access, Row, dim_row
from gradir.dialects.base.attributes import Attributes, Types, integer
from gradir.dialects.base.batch import Batch
from gradir.dialects.base.diagnostics import location_text
from gradir.dialects.base.interfaces import Cotangents, TensorOp
from gradir.dialects.base.lazy_numpy import np
from gradir.dialects.base.shapes import (
    DYNAMIC,
    agree_but_for,
    compatible,
    element_count,
    element_of,
    is_static,
    normalize_axis,
    shape_of,
    tensor,
    ui64,
)
from gradir.dialects.base.support import Mask, Supports
from gradir.dialects.base.value import Emitter, Scalar, Value
from gradir.dialects.building import body as b
from gradir.dialects.building.kinds import require_elements
from gradir.dialects.building.nests import Read, add_at, nest
from gradir.dialects.loopnest.loopnest import Output

_LARGEST = (1 << 63) - 1


class IndexingOp(TensorOp):
    """Reads or writes along `axis` at integer indices."""

    CHECKS_INDICES: ClassVar[bool] = True
    # The number of the operand of indices.
    INDICES: ClassVar[int] = 1
    # The number of the operand of updates, of ops that add them to others.
    ADDED: ClassVar[int | None] = None
    ATTRIBUTES: ClassVar[tuple[str, ...]] = ("axis",)
    traits = traits_def(Pure())

    @property
    def axis(self) -> int:
        rank = len(shape_of(self.operands[0].type))
        return normalize_axis(integer(self.attributes, "axis", 0), rank)

    @property
    def message(self) -> str:
        """The beginning of an index error: location and op."""
        return f"{location_text(self)}{self.source_name}"

    def adds_to_each_line(self, axes: Collection[int]) -> bool:
        """Whether an update is added to each line along axes of the result, whatever the indices
        are that are not constants; no extent of the result is 0 or dynamic."""
        return self.axis in axes and prod(shape_of(self.operands[self.INDICES].type)) > 0

    def checked(self, at: Scalar, bound: int, from_start: bool = False) -> Scalar:
        """An element of the indices as an index in [0, bound); negative ones count from the end
        unless `from_start`."""
        if bound == 0:
            return b.index(at, 0)  # never run: an empty axis has no index
        wide = signed_place(at, element_of(self.operands[self.INDICES].type))
        return b.check_index(wide, bound, self.message, from_start)


def signed_place(at: Scalar, element: Attribute) -> Scalar:
    """A loaded integer as i64; unsigned ones of 2**63 or more are 2**63 - 1, out of range too."""
    read = b.to_compute(at, element)
    if element == ui64:
        read = b.minimum(read, b.constant(read, _LARGEST))
    return b.cast(read, i64)


def signed_places(indices: Any) -> Any:
    """`signed_place` of the elements of a NumPy array."""
    return (np.minimum(indices, _LARGEST) if indices.dtype == "uint64" else indices).astype("int64")


def wrapped(indices: Any, bound: int, from_start: bool = False) -> Any:
    """NumPy indices as ones in [0, bound); IndexError at the first out of range."""
    wide: Any = signed_places(indices)
    outside = wide[(wide < (0 if from_start else -bound)) | (wide >= bound)]
    if outside.size:
        raise IndexError(f"index {outside[0]} is out of range for a size of {bound}")
    return wide + bound * (wide < 0)


def check_not_empty(extent: int, indices: Attribute) -> None:
    """VerifyException for indices into an empty axis."""
    if extent == 0 and not {0, DYNAMIC}.intersection(shape_of(indices)):
        raise VerifyException("the indexed axis is empty, so that no index is valid")


@irdl_op_definition
class TakeOp(IndexingOp):
    """Elements of x along `axis` (0 where absent) at `indices`, of any rank.

    The result's shape is x's with the axis replaced by the shape of the indices.
    vjp: scatter_add of ct into zeros; repeated indices add
    """

    name = "array.take"
    COMPLEX: ClassVar[bool] = True
    READS_PART: ClassVar[bool] = True

    x = operand_def()
    indices = operand_def()
    y = result_def()

    @classmethod
    def infer_types(cls, operands: Types, attributes: Attributes) -> Types:
        x, indices = operands
        return [taken_type(x, indices, attributes)]

    def vjp(self, ct: Value, y: Value, x: Value, indices: Value) -> Cotangents:
        return [ScatterAddOp.on(x.full(0), indices, ct, axis=self.axis), None]

    def support(self, of: Supports) -> Mask | None:
        return moved_support(self, of)

    def row_slices(self, ct: Value, y: Value, *operands: Value) -> Value | None:
        from gradir.dialects.grad.slices import taken_rows

        x, indices = operands
        return taken_rows(ct, x, indices) if self.axis == 0 else None

    @property
    def slice_count(self) -> int | None:
        return element_count(self.indices.type) if self.axis == 0 else None

    def vmap(self, batch: Batch) -> Sequence[Value]:
        """Rows of the table are one more axis; rows of indices one more of these; both a batch."""
        x, indices = batch.operands
        if not batch.has_rows[1]:
            return batch.same_op(batch.operands, axis=self.axis + 1)
        if not batch.has_rows[0]:
            return [moved_axis(TakeOp.on(x, indices, axis=self.axis), self.axis, 0)]
        return [_take_in_batches(moved_axis(x, self.axis + 1, 1), indices, self.axis)]

    def lower(self, emitter: Emitter, operands: Sequence[SSAValue]) -> Sequence[SSAValue]:
        x, indices = operands
        shape, axis, rank = shape_of(self.y.type), self.axis, len(shape_of(self.y.type))
        places = range(axis, axis + len(shape_of(indices.type)))
        reads = [Read(x, None), Read(indices, Access.of_dims(rank, places))]
        bound = shape_of(x.type)[axis]

        def pick(table: Scalar, at: Scalar) -> Scalar:
            row = self.checked(at, bound)
            others = [b.index(at, d) for d in range(rank) if d not in places]
            return b.load(table, [*others[:axis], row, *others[axis:]])

        return nest(emitter, shape, reads, [Output(self.y.type, Access.identity(rank))], pick)

    def numpy(self, x: Any, indices: Any) -> Any:
        return np.take(x, wrapped(indices, x.shape[self.axis]), axis=self.axis)


def taken_type(x: Attribute, indices: Attribute, attributes: Attributes) -> Attribute:
    """The type of take(x, indices)."""
    require_elements(indices, "integer")
    shape = shape_of(x)
    axis = normalize_axis(integer(attributes, "axis", 0), len(shape))
    check_not_empty(shape[axis], indices)
    return tensor([*shape[:axis], *shape_of(indices), *shape[axis + 1 :]], element_of(x))


def _take_in_batches(x: Value, indices: Value, axis: int) -> Value:
    """Take along the axis behind the rows, which x and the indices share, in each row."""
    from gradir.dialects.array.gather_scatter import GatherNdOp

    found = GatherNdOp.on(x, reshaped(indices, [*indices.shape, 1]), batch_dims=1)
    depth = len(indices.shape) - 1
    order = [0, *range(depth + 1, depth + 1 + axis), *range(1, depth + 1)]
    order += range(depth + 1 + axis, len(found.shape))
    return PermuteDimsOp.on(found, axes=order)


def vmap_of_updates(batch: Batch, axis: int) -> Sequence[Value] | None:
    """Updates of operand 0 along an axis at indices, operand 1, that all rows share."""
    if batch.has_rows[1]:
        return None
    operands = [batch.with_rows(0), batch.operands[1], batch.with_rows(2)]
    return batch.same_op(operands, axis=axis + 1)


@irdl_op_definition
class ScatterAddOp(IndexingOp):
    """x with `updates` added along `axis` at `indices`: the transpose of take.

    Repeated indices add, in row-major order of the updates, f16 and bf16 in f32.
    vjp: ct for x, take(ct, indices) for the updates
    """

    name = "array.scatter_add"
    COMPLEX: ClassVar[bool] = True
    ADDED: ClassVar[int | None] = 2
    WRITES_INTO: ClassVar[int | None] = 0

    x = operand_def()
    indices = operand_def()
    updates = operand_def()
    y = result_def()

    @classmethod
    def infer_types(cls, operands: Types, attributes: Attributes) -> Types:
        x, indices, updates = operands
        require_elements(x, "number", cls.COMPLEX)
        taken = taken_type(x, indices, attributes)
        if not compatible(shape_of(taken), shape_of(updates)) or element_of(taken) != element_of(
            updates
        ):
            raise VerifyException(f"updates must be {taken}, got {updates}")
        return [x]

    def vjp(self, ct: Value, y: Value, x: Value, indices: Value, updates: Value) -> Cotangents:
        return [ct, None, TakeOp.on(ct, indices, axis=self.axis)]

    def support(self, of: Supports) -> Mask | None:
        if not shape_of(self.indices.type) and is_static(self.x.type):
            return row_added_support(self, self.axis, of)
        return scattered_support(self, self.updates, of)

    def vmap(self, batch: Batch) -> Sequence[Value] | None:
        return vmap_of_updates(batch, self.axis)

    def added_to(self, base: Value, x: Value, indices: Value, updates: Value) -> Value:
        return ScatterAddOp.on(base, indices, updates, axis=self.axis)

    def lower(self, emitter: Emitter, operands: Sequence[SSAValue]) -> Sequence[SSAValue]:
        x, indices, updates = operands
        axis, shape = self.axis, shape_of(updates.type)
        rank = len(shape)
        places = range(axis, axis + len(shape_of(indices.type)))
        rows = [dim_row(rank, d) for d in range(rank) if d not in places]
        rows.insert(axis, Row((0,) * rank, 0, symbol=0))
        reads = [
            Read(indices, Access.of_dims(rank, places)),
            Read(updates, Access.identity(rank)),
        ]
        bound = shape_of(x.type)[axis]

        def add(at: Scalar, update: Scalar) -> Sequence[Scalar]:
            return [update, self.checked(at, bound)]

        return add_at(emitter, x, Access(rank, tuple(rows)), shape, reads, add)

    def numpy(self, x: Any, indices: Any, updates: Any) -> Any:
        result = np.array(x)
        places = wrapped(indices, x.shape[self.axis])
        at: Any = (slice(None),) * self.axis + (places,)
        np.add.at(result, at, updates)
        return result


@irdl_op_definition
class TakeAlongAxisOp(IndexingOp):
    """y[.., i, ..] = x[.., indices[.., i, ..], ..] along `axis`; ranks are equal.

    The other extents of the indices are x's. vjp: grad.take_along_axis_backward
    """

    name = "array.take_along_axis"
    COMPLEX: ClassVar[bool] = True

    x = operand_def()
    indices = operand_def()
    y = result_def()

    @classmethod
    def infer_types(cls, operands: Types, attributes: Attributes) -> Types:
        x, indices = operands
        require_elements(indices, "integer")
        shape, wanted = shape_of(x), list(shape_of(indices))
        axis = normalize_axis(integer(attributes, "axis", 0), len(shape))
        if not agree_but_for(axis, wanted, shape):
            raise VerifyException(
                f"shapes must agree but for axis {axis}, got {x} and indices {indices}"
            )
        check_not_empty(shape[axis], indices)
        return [tensor(wanted, element_of(x))]

    def vjp(self, ct: Value, y: Value, x: Value, indices: Value) -> Cotangents:
        from gradir.dialects.grad.grad import TakeAlongAxisBackwardOp

        return [TakeAlongAxisBackwardOp.on(ct, indices, type=x.type, axis=self.axis), None]

    def support(self, of: Supports) -> Mask | None:
        return moved_support(self, of)

    def vmap(self, batch: Batch) -> Sequence[Value]:
        return batch.in_front(axis=self.axis - batch.operand_rank(0))

    def lower(self, emitter: Emitter, operands: Sequence[SSAValue]) -> Sequence[SSAValue]:
        x, indices = operands
        shape, axis, rank = shape_of(self.y.type), self.axis, len(shape_of(self.y.type))
        reads = [Read(x, None), Read(indices, Access.identity(rank))]
        bound = shape_of(x.type)[axis]

        def pick(table: Scalar, at: Scalar) -> Scalar:
            checked = self.checked(at, bound)
            places = [checked if d == axis else b.index(at, d) for d in range(rank)]
            return b.load(table, places)

        return nest(emitter, shape, reads, [Output(self.y.type, Access.identity(rank))], pick)

    def numpy(self, x: Any, indices: Any) -> Any:
        places = wrapped(indices, x.shape[self.axis])
        return np.take_along_axis(x, places, axis=self.axis)


OPS: tuple[type[TensorOp], ...] = (TakeOp, ScatterAddOp, TakeAlongAxisOp)
