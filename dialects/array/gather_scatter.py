"""array: gather and scatter at index tuples.

Indices are checked as in array.take: one in [-n, 0) counts from the end, one outside of [-n, n) is
an error at run time.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from math import prod
from typing import Any, ClassVar, cast

from xdsl.dialects.builtin import i1, i64
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import irdl_op_definition, operand_def, result_def
from xdsl.utils.exceptions import VerifyException

from gradir.dialects.array.comparison import WhereOp
from gradir.dialects.array.creation import FullOp, IotaOp
from gradir.dialects.array.indexing import IndexingOp, TakeOp, taken_type, vmap_of_updates, wrapped
from gradir.dialects.array.movement import BroadcastToOp, reshaped
from gradir.dialects.array.supports import moved_support, placed_support, scattered_support
from gradir.dialects.base.access import Access, Row, constant_row, dim_row
from gradir.dialects.base.attributes import Attributes, Types, attribute, integer
from gradir.dialects.base.batch import Batch
from gradir.dialects.base.interfaces import Cotangents, TensorOp
from gradir.dialects.base.lazy_numpy import np
from gradir.dialects.base.shapes import (
    DYNAMIC,
    compatible,
    element_count,
    element_of,
    normalize_axis,
    shape_of,
    tensor,
)
from gradir.dialects.base.support import Mask, Supports
from gradir.dialects.base.value import Emitter, Scalar, Value
from gradir.dialects.building import body as b
from gradir.dialects.building.kinds import require_elements
from gradir.dialects.building.nests import Read, add_at, nest
from gradir.dialects.loopnest.loopnest import Output, scalar_type


class _TuplesOp(IndexingOp):
    """The last axis of the indices, operand 1, holds one index per leading axis of x.

    These axes follow the first `batch_dims` ones, which x and the indices share.
    """

    ATTRIBUTES: ClassVar[tuple[str, ...]] = ("batch_dims",)

    @property
    def batch(self) -> int:
        return integer(self.attributes, "batch_dims", 0)

    @property
    def depth(self) -> int:
        """The number of indexed axes."""
        return shape_of(self.operands[1].type)[-1]

    def index_reads(self, indices: SSAValue, rank: int) -> list[Read]:
        """Reads of an index tuple, in a nest of `rank` loops whose first ones are its axes."""
        places = [dim_row(rank, d) for d in range(len(shape_of(indices.type)) - 1)]
        return [
            Read(indices, Access(rank, (*places, constant_row(rank, k)))) for k in range(self.depth)
        ]

    def checked_tuple(self, parts: Sequence[Scalar]) -> list[Scalar]:
        extents = shape_of(self.operands[0].type)[self.batch :]
        return [self.checked(at, n) for at, n in zip(parts, extents, strict=False)]

    def numpy_index(self, x: Any, indices: Any) -> Any:
        """The places as an index of the NumPy array x."""
        places = indices.shape[:-1]
        grid: list[Any] = list(cast(Any, np.indices(places)))[: self.batch]
        extents = x.shape[self.batch : self.batch + self.depth]
        return (*grid, *(wrapped(indices[..., k], n) for k, n in enumerate(extents)))

    def vmap(self, batch: Batch) -> Sequence[Value]:
        return batch.in_front(batch_dims=self.batch + 1)


def _gathered_type(x: Attribute, indices: Attribute, attributes: Attributes) -> Attribute:
    require_elements(indices, "integer")
    shape, places = shape_of(x), shape_of(indices)
    batch = integer(attributes, "batch_dims", 0)
    if not places:
        raise VerifyException(f"indices must have rank >= 1, got {indices}")
    *outer, depth = places
    if not 0 <= batch <= min(len(shape), len(outer)):
        raise VerifyException(
            f"batch_dims must be in [0, {min(len(shape), len(outer))}], got {batch}"
        )
    if not compatible(shape[:batch], outer[:batch]):
        raise VerifyException(f"the first {batch} extents must agree, got {x} and {indices}")
    if depth == DYNAMIC:
        raise VerifyException(
            f"the last extent of the indices must be static, as it says how many axes are "
            f"indexed, got {indices}"
        )
    if not 1 <= depth <= len(shape) - batch:
        raise VerifyException(
            f"the last extent of the indices must be in [1, {len(shape) - batch}], the axes of "
            f"{x} that can be indexed, got {depth}"
        )
    if 0 in shape[batch : batch + depth] and 0 not in outer and DYNAMIC not in outer:
        raise VerifyException("an indexed axis is empty, so that no index is valid")
    return tensor([*outer, *shape[batch + depth :]], element_of(x))


@irdl_op_definition
class GatherNdOp(_TuplesOp):
    """y[b.., o.., r..] = x[b.., indices[b.., o.., 0], indices[b.., o.., 1], .., r..].

    b are `batch_dims` (default 0) axes, o any number of axes; the last axis of the indices holds an
    index per indexed axis of x, r are the others. As TensorFlow's and ONNX's GatherND.
    vjp: scatter_nd_add of ct into zeros; repeated indices add
    """

    name = "array.gather_nd"
    COMPLEX: ClassVar[bool] = True

    x = operand_def()
    indices = operand_def()
    y = result_def()

    @classmethod
    def infer_types(cls, operands: Types, attributes: Attributes) -> Types:
        x, indices = operands
        return [_gathered_type(x, indices, attributes)]

    def vjp(self, ct: Value, y: Value, x: Value, indices: Value) -> Cotangents:
        return [
            ScatterNdAddOp.on(x.full(0), indices, ct, batch_dims=self.attributes.get("batch_dims")),
            None,
        ]

    def support(self, of: Supports) -> Mask | None:
        return moved_support(self, of)

    def row_slices(self, ct: Value, y: Value, *operands: Value) -> Value | None:
        from gradir.dialects.grad.slices import taken_rows

        x, indices = operands
        return None if self.slice_count is None else taken_rows(ct, x, indices)

    @property
    def slice_count(self) -> int | None:
        """Of tuples of one index."""
        is_of_rows = self.batch == 0 and shape_of(self.indices.type)[-1] == 1
        return element_count(self.indices.type) if is_of_rows else None

    def lower(self, emitter: Emitter, operands: Sequence[SSAValue]) -> Sequence[SSAValue]:
        x, indices = operands
        shape = shape_of(self.y.type)
        rank, first = len(shape), len(shape_of(indices.type)) - 1

        def pick(table: Scalar, *parts: Scalar) -> Scalar:
            places = [b.index(table, d) for d in range(self.batch)]
            places += self.checked_tuple(parts)
            return b.load(table, [*places, *(b.index(table, d) for d in range(first, rank))])

        reads = [Read(x, None), *self.index_reads(indices, rank)]
        return nest(emitter, shape, reads, [Output(self.y.type, Access.identity(rank))], pick)

    def numpy(self, x: Any, indices: Any) -> Any:
        return x[self.numpy_index(x, indices)]


@irdl_op_definition
class ScatterNdAddOp(_TuplesOp):
    """x with `updates` added at the places of gather_nd(x, indices): its transpose.

    Repeated indices add, in row-major order of the updates, f16 and bf16 in f32. `batch_dims` as in
    gather_nd.
    vjp: ct for x, gather_nd(ct, indices) for the updates
    """

    name = "array.scatter_nd_add"
    COMPLEX: ClassVar[bool] = True
    ADDED: ClassVar[int | None] = 2

    x = operand_def()
    indices = operand_def()
    updates = operand_def()
    y = result_def()

    @classmethod
    def infer_types(cls, operands: Types, attributes: Attributes) -> Types:
        x, indices, updates = operands
        require_elements(x, "number", cls.COMPLEX)
        _require_updates(_gathered_type(x, indices, attributes), updates)
        return [x]

    def adds_to_each_line(self, axes: Collection[int]) -> bool:
        """The constant parts of the indices, such as a row's number, tell which lines they are."""
        shape, places = shape_of(self.x.type), shape_of(self.indices.type)[:-1]
        indexed = range(self.batch + self.depth)
        kept = [d for d in indexed if d not in axes and shape[d] != 1]
        if all(d < self.batch for d in kept):
            return prod(places) > 0
        numbers = [self._places_along(d, places) for d in kept]
        if any(each is None for each in numbers):
            return False
        extents = [shape[d] for d in kept]
        reached = np.zeros(extents, bool)
        reached[tuple(map(wrapped, numbers, extents))] = True
        return bool(reached.all())

    def _places_along(self, axis: int, places: Sequence[int]) -> Any:
        """Where each update goes along a batch or indexed axis; None where that is not constant."""
        from gradir.dialects.array.known_bools import constant_of

        if axis < self.batch:
            return np.indices(places)[axis]
        part = _index_part(self.indices, axis - self.batch)
        return None if part is None else constant_of(part)

    def vjp(self, ct: Value, y: Value, x: Value, indices: Value, updates: Value) -> Cotangents:
        return [ct, None, GatherNdOp.on(ct, indices, batch_dims=self.attributes.get("batch_dims"))]

    def support(self, of: Supports) -> Mask | None:
        return scattered_support(self, self.updates, of)

    def lower(self, emitter: Emitter, operands: Sequence[SSAValue]) -> Sequence[SSAValue]:
        x, indices, updates = operands
        shape = shape_of(updates.type)
        rank, first = len(shape), len(shape_of(indices.type)) - 1
        rows = [dim_row(rank, d) for d in range(self.batch)]
        rows += [Row((0,) * rank, 0, symbol=k) for k in range(self.depth)]
        rows += [dim_row(rank, d) for d in range(first, rank)]

        def add(update: Scalar, *parts: Scalar) -> Sequence[Scalar]:
            return [update, *self.checked_tuple(parts)]

        reads = [Read(updates, Access.identity(rank)), *self.index_reads(indices, rank)]
        return add_at(emitter, x, Access(rank, tuple(rows)), shape, reads, add)

    def numpy(self, x: Any, indices: Any, updates: Any) -> Any:
        result = np.array(x)
        np.add.at(result, self.numpy_index(x, indices), updates)
        return result


def _index_part(indices: SSAValue, k: int) -> SSAValue | None:
    """The indices of one axis, where they are stacked with others along the last axis."""
    from gradir.dialects.array.assembly import StackOp

    op, last = indices.owner, len(shape_of(indices.type)) - 1
    return op.operands[k] if isinstance(op, StackOp) and op.axis == last else None


def _require_updates(wanted: Attribute, updates: Attribute) -> None:
    fits = compatible(shape_of(wanted), shape_of(updates))
    if not fits or element_of(wanted) != element_of(updates):
        raise VerifyException(f"updates must be {wanted}, got {updates}")


@irdl_op_definition
class IndexUpdateOp(IndexingOp):
    """x with the elements along `axis` (0 where absent) at `indices` replaced by `updates`.

    The updates have the type of take(x, indices). Of updates of the same index the last one in
    row-major order is kept; the others get zero gradients.
    vjp: ct with zeros at the indices, for x; take(ct, indices) for the kept updates
    """

    name = "array.index_update"
    COMPLEX: ClassVar[bool] = True

    x = operand_def()
    indices = operand_def()
    updates = operand_def()
    y = result_def()

    @classmethod
    def infer_types(cls, operands: Types, attributes: Attributes) -> Types:
        x, indices, updates = operands
        _require_updates(taken_type(x, indices, attributes), updates)
        return [x]

    def vjp(self, ct: Value, y: Value, x: Value, indices: Value, updates: Value) -> Cotangents:
        rest = IndexUpdateOp.on(ct, indices, updates.full(0), axis=self.axis)
        taken = TakeOp.on(ct, indices, axis=self.axis)
        if prod(indices.shape) > 1:
            taken = WhereOp.on(self._kept(indices, x, updates), taken, taken.full(0))
        return [rest, None, taken]

    def support(self, of: Supports) -> Mask | None:
        return placed_support(self, [self.x, self.updates], of)

    def where(self, cond: Value) -> Value | None:
        """where(cond, y, x) without two versions of x, where cond is one value; else None."""
        given, made = cond.emitter, cond.ssa.owner
        # an index out of range is an error of this op
        emitter = Emitter(given.block, self.location, given.before, self.source_name)
        x, indices, updates = map(emitter.value, self.operands)
        if not isinstance(made, BroadcastToOp) or shape_of(made.x.type):
            return None
        if prod(updates.shape) > prod(x.shape):
            return None
        chosen = BroadcastToOp.on(emitter.value(made.x), type=tensor(updates.shape, i1))
        rows = WhereOp.on(chosen, updates, TakeOp.on(x, indices, axis=self.axis))
        return IndexUpdateOp.on(x, indices, rows, axis=self.axis)

    def _kept(self, indices: Value, x: Value, updates: Value) -> Value:
        """Whether each element of the updates is the last one of its index."""
        axis, emitter = self.axis, indices.emitter
        counts = IotaOp.create(
            result_types=[tensor([prod(indices.shape)], i64)], attributes={"axis": attribute(0)}
        )
        number = reshaped(emitter.value(emitter.insert(counts).y), indices.shape)
        table = FullOp.fill(0, tensor([x.shape[axis]], i64))
        last = IndexUpdateOp.on(emitter.value(emitter.insert(table).y), indices, number)
        kept = TakeOp.on(last, indices).equal(number)
        after = len(x.shape) - axis - 1
        spread = reshaped(kept, [*[1] * axis, *indices.shape, *[1] * after])
        return BroadcastToOp.on(spread, type=tensor(updates.shape, kept.element))

    def vmap(self, batch: Batch) -> Sequence[Value] | None:
        return vmap_of_updates(batch, self.axis)

    def lower(self, emitter: Emitter, operands: Sequence[SSAValue]) -> Sequence[SSAValue]:
        x, indices, updates = operands
        axis, shape = self.axis, shape_of(updates.type)
        rank = len(shape)
        places = range(axis, axis + len(shape_of(indices.type)))
        rows = [dim_row(rank, d) for d in range(rank) if d not in places]
        rows.insert(axis, Row((0,) * rank, 0, symbol=0))
        bound = shape_of(x.type)[axis]

        def write(at: Scalar, update: Scalar) -> Sequence[Scalar]:
            return [update, self.checked(at, bound)]

        reads = [Read(indices, Access.of_dims(rank, places)), Read(updates, Access.identity(rank))]
        output = Output(self.y.type, Access(rank, tuple(rows)), "none", x)
        return nest(emitter, shape, reads, [output], write)

    def numpy(self, x: Any, indices: Any, updates: Any) -> Any:
        result = np.array(x)
        places = wrapped(indices, x.shape[self.axis])
        before: Any = (slice(None),) * self.axis
        for place in np.ndindex(*places.shape):
            result[(*before, places[place])] = updates[(*before, *place)]
        return result


@irdl_op_definition
class OneHotOp(IndexingOp):
    """1 where the place along `axis` (default -1) of extent `depth` equals the index, else 0.

    The result has the shape of the indices with the new axis at its place `axis`; its element type
    is written. An index in [-depth, 0) counts from the end.
    """

    name = "array.one_hot"
    INACTIVE: ClassVar[bool] = True
    INDICES: ClassVar[int] = 0
    ATTRIBUTES: ClassVar[tuple[str, ...]] = ("depth", "axis")

    indices = operand_def()
    y = result_def()

    @property
    def axis(self) -> int:
        rank = len(shape_of(self.indices.type)) + 1
        return normalize_axis(integer(self.attributes, "axis", -1), rank)

    @property
    def depth(self) -> int:
        return integer(self.attributes, "depth")

    def known_shapes(self) -> Iterable[tuple[SSAValue, Sequence[int]]]:
        line = list(shape_of(self.indices.type))
        line.insert(self.axis, self.depth)
        rest = list(shape_of(self.y.type))
        del rest[self.axis]
        return [(self.y, line), (self.indices, rest)]

    def verify_types(self) -> None:
        require_elements(self.indices.type, "integer")
        shape = list(shape_of(self.indices.type))
        is_empty = 0 in shape or DYNAMIC in shape
        if self.depth < 1 and not (self.depth == 0 and is_empty):
            raise VerifyException(f"depth must be positive, got {self.depth}")
        shape.insert(self.axis, self.depth)
        if not compatible(shape, shape_of(self.y.type)):
            wanted = tensor(shape, element_of(self.y.type))
            raise VerifyException(f"result type must be {wanted}, got {self.y.type}")

    def vmap(self, batch: Batch) -> Sequence[Value]:
        return batch.in_front(axis=self.axis - len(shape_of(self.y.type)))

    def lower(self, emitter: Emitter, operands: Sequence[SSAValue]) -> Sequence[SSAValue]:
        shape, element = shape_of(self.y.type), scalar_type(element_of(self.y.type))
        rank, axis = len(shape), self.axis
        read = Read(operands[0], Access.of_dims(rank, [d for d in range(rank) if d != axis]))

        def mark(at: Scalar) -> Scalar:
            hit = b.equal(self.checked(at, self.depth), b.index(at, axis))
            return b.select(hit, b.literal(at, 1, element), b.literal(at, 0, element))

        return nest(emitter, shape, [read], [Output(self.y.type, Access.identity(rank))], mark)

    def numpy(self, *arrays: Any) -> Any:
        places: Any = np.expand_dims(wrapped(arrays[0], self.depth), self.axis)
        line = [-1 if d == self.axis else 1 for d in range(len(shape_of(self.y.type)))]
        return places == np.arange(self.depth).reshape(line)


OPS: tuple[type[TensorOp], ...] = (GatherNdOp, ScatterNdAddOp, IndexUpdateOp, OneHotOp)
