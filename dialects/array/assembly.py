"""array: putting tensors together, taking them apart, and repeating them; all are linear."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, product
from math import prod
from typing import Any, ClassVar

from xdsl.ir import SSAValue
from xdsl.irdl import (
    irdl_op_definition,
    operand_def,
    result_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from gradir.dialects.array.joining import JoinedPart, joined, pad_value
from gradir.dialects.array.movement import BroadcastToOp, ReshapeOp, reshaped
from gradir.dialects.array.reductions import SumOp
from gradir.dialects.array.slicing import ConcatOp, padded_back, part
from gradir.dialects.array.supports import moved_support, placed_support
from gradir.dialects.base.access import Access, dim_row
from gradir.dialects.base.attributes import Attributes, Types, integer, integers
from gradir.dialects.base.batch import Batch
from gradir.dialects.base.interfaces import Cotangents, TensorOp
from gradir.dialects.base.lazy_numpy import np
from gradir.dialects.base.shapes import (
    DYNAMIC,
    element_of,
    extent_product,
    is_static,
    normalize_axes,
    normalize_axis,
    shape_of,
    tensor,
)
from gradir.dialects.base.support import Mask, Supports
from gradir.dialects.base.value import Emitter, Scalar, Value
from gradir.dialects.building import body as b
from gradir.dialects.building.kinds import require_equal_types
from gradir.dialects.building.nests import Read, nest
from gradir.dialects.loopnest.loopnest import Output
from gradir.dialects.loopnest.loopnest import ReshapeOp as LoopnestReshapeOp


@irdl_op_definition
class StackOp(TensorOp):
    """The operands, of one type, along a new axis at the place `axis` (default 0) of the result.

    vjp: the slices of ct at the places of the operands
    """

    name = "array.stack"
    COMPLEX: ClassVar[bool] = True
    ATTRIBUTES: ClassVar[tuple[str, ...]] = ("axis",)

    xs = var_operand_def()
    y = result_def()
    traits = traits_def(Pure())

    @classmethod
    def infer_types(cls, operands: Types, attributes: Attributes) -> Types:
        if not operands:
            raise VerifyException("at least one operand expected, got none")
        require_equal_types(operands)
        shape = list(shape_of(operands[0]))
        axis = normalize_axis(integer(attributes, "axis", 0), len(shape) + 1)
        shape.insert(axis, len(operands))
        return [tensor(shape, element_of(operands[0]))]

    @property
    def axis(self) -> int:
        return normalize_axis(integer(self.attributes, "axis", 0), len(shape_of(self.y.type)))

    def support(self, of: Supports) -> Mask | None:
        return placed_support(self, self.xs, of)

    def vjp(self, ct: Value, y: Value, *xs: Value) -> Cotangents:
        return [reshaped(part(ct, self.axis, k, k + 1), x.shape) for k, x in enumerate(xs)]

    def vmap(self, batch: Batch) -> Sequence[Value]:
        return batch.in_front(axis=self.axis - len(shape_of(self.y.type)))

    def lower(self, emitter: Emitter, operands: Sequence[SSAValue]) -> Sequence[SSAValue]:
        rank = len(shape_of(self.y.type))
        access = Access.of_dims(rank, [d for d in range(rank) if d != self.axis])
        pieces = [JoinedPart(x, 1, access) for x in operands]
        return joined(emitter, self.y.type, self.axis, pieces)

    def numpy(self, *arrays: Any) -> Any:
        return np.stack(arrays, axis=self.axis)


@irdl_op_definition
class SplitOp(TensorOp):
    """x cut along `axis` (default 0) into parts of the extents `sizes`, which add up to x's.

    vjp: the cotangents of the parts one after the other, zeros for a part that has none
    """

    name = "array.split"
    COMPLEX: ClassVar[bool] = True
    ATTRIBUTES: ClassVar[tuple[str, ...]] = ("axis", "sizes")

    x = operand_def()
    ys = var_result_def()
    traits = traits_def(Pure())

    @classmethod
    def infer_types(cls, operands: Types, attributes: Attributes) -> Types:
        shape = shape_of(operands[0])
        axis = normalize_axis(integer(attributes, "axis", 0), len(shape))
        sizes = integers(attributes, "sizes", None)
        if not sizes or any(n < 0 for n in sizes):
            raise VerifyException(
                f"sizes must be one or more numbers >= 0, got {sizes or 'nothing'}"
            )
        if shape[axis] not in (sum(sizes), DYNAMIC):
            raise VerifyException(
                f"sizes must add up to {shape[axis]}, the extent of axis {axis}, got {sizes}"
            )
        element = element_of(operands[0])
        return [tensor([*shape[:axis], n, *shape[axis + 1 :]], element) for n in sizes]

    @property
    def axis(self) -> int:
        return normalize_axis(integer(self.attributes, "axis", 0), len(shape_of(self.x.type)))

    def bounds(self) -> list[tuple[int, int]]:
        """Where each part starts and stops along the axis."""
        stops = list(accumulate(integers(self.attributes, "sizes", None) or []))
        return list(zip([0, *stops], stops, strict=False))

    def vjp_all(
        self, cts: Cotangents, results: Sequence[Value], operands: Sequence[Value]
    ) -> Cotangents:
        [x] = operands
        axis, extent = self.axis, x.shape[self.axis]
        known = [(ct, at) for ct, (at, _) in zip(cts, self.bounds(), strict=True) if ct is not None]
        if len(known) == 1:
            ct, start = known[0]
            return [padded_back(ct, axis, start, extent)]
        pairs = zip(cts, results, strict=True)
        return [ConcatOp.on(*(y.full(0) if ct is None else ct for ct, y in pairs), axis=axis)]

    def vmap(self, batch: Batch) -> Sequence[Value]:
        return batch.in_front(axis=self.axis - batch.operand_rank(0))

    def decompose(self, *operands: Value) -> Sequence[Value]:
        [x] = operands
        return [part(x, self.axis, *bounds) for bounds in self.bounds()]

    def numpy(self, *arrays: Any) -> Any:
        stops = [stop for _, stop in self.bounds()[:-1]]
        return tuple(np.split(arrays[0], stops, axis=self.axis))


@irdl_op_definition
class RollOp(TensorOp):
    """x moved by `shift` places along `axis`; elements leave at one end and enter at the other.

    Both are one number or lists of equal length; one shift may apply to several axes. Without an
    axis the elements are rolled in row-major order. vjp: ct rolled back
    """

    name = "array.roll"
    COMPLEX: ClassVar[bool] = True
    SAME_TYPE: ClassVar[bool] = True
    ATTRIBUTES: ClassVar[tuple[str, ...]] = ("shift", "axis")

    x = operand_def()
    y = result_def()
    traits = traits_def(Pure())

    @classmethod
    def infer_types(cls, operands: Types, attributes: Attributes) -> Types:
        _shifts(attributes, shape_of(operands[0]))
        return [operands[0]]

    @property
    def shifts(self) -> dict[int, int] | int:
        """The shift in [0, extent) of each axis that moves; of all elements without an axis."""
        return _shifts(self.attributes, shape_of(self.x.type))

    def support(self, of: Supports) -> Mask | None:
        return moved_support(self, of)

    def vjp(self, ct: Value, y: Value, x: Value) -> Cotangents:
        back = [-s for s in integers(self.attributes, "shift", None) or []]
        return [RollOp.on(ct, shift=back, axis=self.attributes.get("axis"))]

    def vmap(self, batch: Batch) -> Sequence[Value]:
        """Along axes from the end; without axes, rows of all elements."""
        axis, rank = integers(self.attributes, "axis", None), batch.operand_rank(0)
        if axis is None:
            return _vmap_lines(batch, [-1])
        return batch.same_op(batch.operands, axis=[a - rank if a >= 0 else a for a in axis])

    def lower(self, emitter: Emitter, operands: Sequence[SSAValue]) -> Sequence[SSAValue]:
        match self.shifts:
            case int() as shift:
                line = tensor([prod(shape_of(self.y.type))], element_of(self.y.type))
                flat = emitter.insert(LoopnestReshapeOp(operands[0], line)).result
                [rolled] = _rolled(emitter, flat, {0: shift} if shift else {})
                return [emitter.insert(LoopnestReshapeOp(rolled, self.y.type)).result]
            case shifts:
                return _rolled(emitter, operands[0], shifts)

    def simplify(self, *operands: Value) -> Value | None:
        # along a dynamic axis no shift is known to be a whole turn
        return operands[0] if is_static(self.x.type) and not self.shifts else None

    def numpy(self, *arrays: Any) -> Any:
        match self.shifts:
            case int() as shift:
                return np.roll(arrays[0], shift)
            case shifts:
                return np.roll(arrays[0], tuple(shifts.values()), tuple(shifts))


def _shifts(attributes: Attributes, shape: Sequence[int]) -> dict[int, int] | int:
    shift = integers(attributes, "shift", None) or []
    axis = integers(attributes, "axis", None)
    if axis is None:
        if len(shift) != 1:
            raise VerifyException(
                f"shift must be one number where axis is absent, got {shift or 'nothing'}"
            )
        return shift[0] % max(extent_product(*shape), 1)
    axes = normalize_axes(axis, len(shape))
    if len(shift) == 1:
        shift *= len(axes)
    if len(shift) != len(axes):
        raise VerifyException(
            f"shift and axis must have equal lengths, got {len(shift)} and {len(axes)}"
        )
    counted = {a: s % max(shape[a], 1) for a, s in zip(axes, shift, strict=True)}
    return {a: s for a, s in counted.items() if s}


def _rolled(emitter: Emitter, x: SSAValue, shifts: dict[int, int]) -> list[SSAValue]:
    """x moved by shifts in (0, extent) along axes: two axes per nest, which reads four parts."""
    shape, rank = shape_of(x.type), len(shape_of(x.type))
    zero = pad_value(0, element_of(x.type))
    axes = list(shifts)
    for group in (axes[k : k + 2] for k in range(0, len(axes), 2)):
        corners = list(product(*((-shifts[a], shape[a] - shifts[a]) for a in group)))
        reads = [Read(x, _offset(rank, dict(zip(group, c, strict=True))), zero) for c in corners]

        def pick(*xs: Scalar, group: Sequence[int] = group) -> Scalar:
            return _pick_part(xs, [(a, shifts[a]) for a in group])

        [x] = nest(emitter, shape, reads, [Output(x.type, Access.identity(rank))], pick)
    return [x]


def _offset(rank: int, offsets: dict[int, int]) -> Access:
    return Access(rank, tuple(dim_row(rank, d, 1, offsets.get(d, 0)) for d in range(rank)))


def _pick_part(xs: Sequence[Scalar], bounds: Sequence[tuple[int, int]]) -> Scalar:
    """The part on either side of each bound; parts in order, the last axis fastest."""
    if not bounds:
        return xs[0]
    (axis, bound), half = bounds[0], len(xs) // 2
    after, before = (_pick_part(part, bounds[1:]) for part in (xs[:half], xs[half:]))
    at = b.index(xs[0], axis)
    return b.select(at < bound, before, after)


def _vmap_lines(batch: Batch, axis: int | list[int]) -> Sequence[Value]:
    """An op on all elements in row-major order, on the rows as lines."""
    [x], [type_] = batch.operands, batch.result_types()
    line = reshaped(x, [batch.size, prod(x.shape[1:])])
    types = [tensor([batch.size, prod(shape_of(type_)[1:])], x.element)]
    [lines] = batch.same_op([line], types, axis=axis)
    return [ReshapeOp.on(lines, type=type_)]


class _RepeatingOp(TensorOp):
    """x under a shape with unit axes, broadcast along those, under the result's shape."""

    x = operand_def()
    y = result_def()
    traits = traits_def(Pure())

    def steps(self) -> tuple[list[int], list[int]]:
        """The shape with the unit axes, and that shape after their broadcast."""
        raise NotImplementedError(self.name)

    def support(self, of: Supports) -> Mask | None:
        return moved_support(self, of)

    def vjp(self, ct: Value, y: Value, x: Value) -> Cotangents:
        narrow, wide = self.steps()
        axes = [d for d, (n, m) in enumerate(zip(narrow, wide, strict=True)) if n != m]
        spread = reshaped(ct, wide)
        return [reshaped(SumOp.on(spread, axis=axes) if axes else spread, x.shape)]

    def decompose(self, *operands: Value) -> Value:
        [x] = operands
        narrow, wide = self.steps()
        spread = BroadcastToOp.on(reshaped(x, narrow), type=tensor(wide, x.element))
        return reshaped(spread, shape_of(self.y.type))


@irdl_op_definition
class TileOp(_RepeatingOp):
    """repeats[d] copies of x one after the other along each axis d.

    Where the lengths differ, ones are put before `repeats` or before the shape of x.
    vjp: the copies of ct added
    """

    name = "array.tile"
    COMPLEX: ClassVar[bool] = True
    ATTRIBUTES: ClassVar[tuple[str, ...]] = ("repeats",)

    @classmethod
    def infer_types(cls, operands: Types, attributes: Attributes) -> Types:
        shape, repeats = _tiles(attributes, shape_of(operands[0]))
        extents = [extent_product(n, r) for n, r in zip(shape, repeats, strict=True)]
        return [tensor(extents, element_of(operands[0]))]

    def steps(self) -> tuple[list[int], list[int]]:
        shape, repeats = _tiles(self.attributes, shape_of(self.x.type))
        narrow = [m for n in shape for m in (1, n)]
        return narrow, [m for n, r in zip(shape, repeats, strict=True) for m in (r, n)]

    def vmap(self, batch: Batch) -> Sequence[Value]:
        """Each axis gets its number of copies; new axes are behind the rows."""
        repeats = integers(self.attributes, "repeats", None) or []
        [x], rank = batch.operands, batch.operand_rank(0)
        missing = max(len(repeats) - rank, 0)
        repeats = [1] * (rank - len(repeats)) + list(repeats)
        x = reshaped(x, [x.shape[0], *[1] * missing, *x.shape[1:]])
        return batch.same_op([x], repeats=[1, *repeats])

    def numpy(self, *arrays: Any) -> Any:
        return np.tile(arrays[0], integers(self.attributes, "repeats", None) or [])


def _tiles(attributes: Attributes, shape: Sequence[int]) -> tuple[list[int], list[int]]:
    """Extents and repeats, of one length."""
    repeats = integers(attributes, "repeats", None)
    if repeats is None or any(r < 0 for r in repeats):
        raise VerifyException(f"repeats must be numbers >= 0, got {repeats or 'nothing'}")
    rank = max(len(shape), len(repeats))
    ones = [[1] * (rank - len(s)) for s in (shape, repeats)]
    return [*ones[0], *shape], [*ones[1], *repeats]


@irdl_op_definition
class RepeatOp(_RepeatingOp):
    """Each element of x `count` times in a row along `axis`; of the flattened x without an axis.

    vjp: the sum of the cotangents of each element's copies
    """

    name = "array.repeat"
    COMPLEX: ClassVar[bool] = True
    ATTRIBUTES: ClassVar[tuple[str, ...]] = ("count", "axis")

    @classmethod
    def infer_types(cls, operands: Types, attributes: Attributes) -> Types:
        shape, axis, count = _repeated(attributes, shape_of(operands[0]))
        shape[axis] = extent_product(shape[axis], count)
        return [tensor(shape, element_of(operands[0]))]

    def steps(self) -> tuple[list[int], list[int]]:
        shape, axis, count = _repeated(self.attributes, shape_of(self.x.type))
        before, after = shape[: axis + 1], shape[axis + 1 :]
        return [*before, 1, *after], [*before, count, *after]

    def vmap(self, batch: Batch) -> Sequence[Value]:
        if "axis" not in self.attributes:
            return _vmap_lines(batch, -1)
        axis = integer(self.attributes, "axis")
        from_end = axis - batch.operand_rank(0) if axis >= 0 else axis
        return batch.same_op(batch.operands, axis=from_end)

    def numpy(self, *arrays: Any) -> Any:
        shape, axis, count = _repeated(self.attributes, arrays[0].shape)
        return np.repeat(arrays[0].reshape(shape), count, axis)


def _repeated(attributes: Attributes, shape: Sequence[int]) -> tuple[list[int], int, int]:
    """The shape of the repeated tensor, the axis, and the count."""
    count = integer(attributes, "count")
    if count < 0:
        raise VerifyException(f"count must be >= 0, got {count}")
    if "axis" not in attributes:
        return [extent_product(*shape)], 0, count
    return list(shape), normalize_axis(integer(attributes, "axis"), len(shape)), count


OPS: tuple[type[TensorOp], ...] = (StackOp, SplitOp, RollOp, TileOp, RepeatOp)
