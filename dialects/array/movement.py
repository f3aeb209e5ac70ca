"""array: ops that move elements; all are linear."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import prod
from typing import Any, ClassVar

from xdsl.ir import SSAValue
from xdsl.irdl import irdl_op_definition, operand_def, result_def, traits_def
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from gradir.dialects.array.supports import moved_support
from gradir.dialects.base.access import Access, constant_row, dim_row
from gradir.dialects.base.attributes import Attributes, Types, integers
from gradir.dialects.base.batch import Batch
from gradir.dialects.base.interfaces import Cotangents, TensorOp
from gradir.dialects.base.lazy_numpy import np
from gradir.dialects.base.shapes import (
    DYNAMIC,
    broadcast_shapes,
    compatible,
    element_of,
    extent_product,
    is_static,
    normalize_axes,
    shape_of,
    tensor,
)
from gradir.dialects.base.support import Mask, Supports
from gradir.dialects.base.value import Emitter, Value
from gradir.dialects.building.nests import view
from gradir.dialects.loopnest.loopnest import ReshapeOp as LoopnestReshapeOp


class MovementOp(TensorOp):
    """The base of ops that move the elements of one operand."""

    x = operand_def()
    y = result_def()
    traits = traits_def(Pure())

    def access(self) -> Access:
        """The place in the operand of each result element."""
        raise NotImplementedError(self.name)

    def support(self, of: Supports) -> Mask | None:
        return moved_support(self, of)

    def lower(self, emitter: Emitter, operands: Sequence[SSAValue]) -> Sequence[SSAValue]:
        return view(emitter, self.y.type, operands[0], self.access())

    def simplify(self, x: Value) -> Value | None:
        """x itself for a movement that keeps the shape and every place."""
        if x.type != self.y.type or not is_static(x.type):
            return None
        return x if self.access().is_identity else None


@irdl_op_definition
class ReshapeOp(MovementOp):
    """The same elements in row-major order under the result's shape.   vjp: reshape back"""

    name = "array.reshape"
    COMPLEX: ClassVar[bool] = True
    IS_VIEW: ClassVar[bool] = True

    def verify_types(self) -> None:
        source, target = shape_of(self.x.type), shape_of(self.y.type)
        if element_of(self.x.type) != element_of(self.y.type):
            raise VerifyException(f"elements must agree, got {self.x.type} and {self.y.type}")
        if DYNAMIC not in (*source, *target) and prod(source) != prod(target):
            raise VerifyException(f"sizes must match, got {self.x.type} and {self.y.type}")

    def known_shapes(self) -> Iterable[tuple[SSAValue, Sequence[int]]]:
        """A single unknown extent, from the number of elements."""
        for of, other in ((self.y, self.x), (self.x, self.y)):
            shape, count = shape_of(of.type), extent_product(*shape_of(other.type))
            known = prod(n for n in shape if n != DYNAMIC)
            if shape.count(DYNAMIC) == 1 and count != DYNAMIC and known:
                yield of, [count // known if n == DYNAMIC else n for n in shape]

    def vjp(self, ct: Value, y: Value, x: Value) -> Cotangents:
        return [ReshapeOp.on(ct, type=x.type)]

    def access(self) -> Access:
        """The access of a reshape that only adds or removes dimensions of extent 1."""
        source, target = shape_of(self.x.type), shape_of(self.y.type)
        places = [d for d, n in enumerate(target) if n != 1]
        rank, taken = len(target), iter(places)
        rows = [constant_row(rank, 0) if n == 1 else dim_row(rank, next(taken)) for n in source]
        return Access(rank, tuple(rows))

    def vmap(self, batch: Batch) -> Sequence[Value]:
        return [ReshapeOp.on(batch.operands[0], type=batch.result_types()[0])]

    def simplify(self, x: Value) -> Value | None:
        from gradir.dialects.array.creation import FullOp

        if x.type == self.y.type:
            return x
        match x.ssa.owner:
            case ReshapeOp() as inner:
                return ReshapeOp.on(x.emitter.value(inner.x), type=self.y.type)
            case FullOp() as full:
                return full.with_type(x.emitter, self.y.type)
            case _:
                return None

    def numpy(self, x: Any) -> Any:
        return x.reshape(shape_of(self.y.type))

    def lower(self, emitter: Emitter, operands: Sequence[SSAValue]) -> Sequence[SSAValue]:
        source, target = shape_of(self.x.type), shape_of(self.y.type)
        if [n for n in source if n != 1] == [n for n in target if n != 1]:
            return super().lower(emitter, operands)
        return [emitter.insert(LoopnestReshapeOp(operands[0], self.y.type)).result]


def reshaped(x: Value, shape: Sequence[int]) -> Value:
    """x under another shape; x itself where it is the same."""
    if tuple(shape) == x.shape:
        return x
    return ReshapeOp.on(x, type=tensor(shape, x.element))


@irdl_op_definition
class PermuteDimsOp(MovementOp):
    """result[i...] with dimension d of the result being dimension axes[d] of x.

    vjp: permute_dims by the inverse permutation
    """

    name = "array.permute_dims"
    COMPLEX: ClassVar[bool] = True
    IS_VIEW: ClassVar[bool] = True
    ATTRIBUTES: ClassVar[tuple[str, ...]] = ("axes",)

    @classmethod
    def infer_types(cls, operands: Types, attributes: Attributes) -> Types:
        shape = shape_of(operands[0])
        axes = normalize_axes(integers(attributes, "axes", None) or [], len(shape), "axes")
        if len(axes) != len(shape):
            raise VerifyException(f"axes must name all {len(shape)} axes, got {axes}")
        return [tensor([shape[a] for a in axes], element_of(operands[0]))]

    @property
    def axes(self) -> list[int]:
        axes = integers(self.attributes, "axes", None) or []
        return normalize_axes(axes, len(shape_of(self.x.type)), "axes")

    def vjp(self, ct: Value, y: Value, x: Value) -> Cotangents:
        return [PermuteDimsOp.on(ct, axes=inverse(self.axes))]

    def access(self) -> Access:
        return Access.of_dims(len(self.axes), inverse(self.axes))

    def vmap(self, batch: Batch) -> Sequence[Value]:
        return batch.same_op(batch.operands, axes=[0, *(a + 1 for a in self.axes)])

    def simplify(self, x: Value) -> Value | None:
        match x.ssa.owner:
            case PermuteDimsOp() as inner:
                axes = [inner.axes[a] for a in self.axes]
                return PermuteDimsOp.on(x.emitter.value(inner.x), axes=axes)
            case _:
                return x if self.axes == sorted(self.axes) else None

    def numpy(self, x: Any) -> Any:
        return x.transpose(self.axes)


def inverse(axes: Sequence[int]) -> list[int]:
    """The permutation that undoes `axes`."""
    return [axes.index(d) for d in range(len(axes))]


def transposed(x: Value) -> Value:
    """x with its last two axes exchanged."""
    rank = len(x.shape)
    return PermuteDimsOp.on(x, axes=[*range(rank - 2), rank - 1, rank - 2])


def moved_axis(x: Value, source: int, target: int) -> Value:
    """x with one axis in another place."""
    axes = [d for d in range(len(x.shape)) if d != source]
    axes.insert(target, source)
    return x if source == target else PermuteDimsOp.on(x, axes=axes)


@irdl_op_definition
class BroadcastToOp(MovementOp):
    """x repeated to the result's shape by NumPy's rules.   vjp: sum over the repeated axes"""

    name = "array.broadcast_to"
    COMPLEX: ClassVar[bool] = True
    IS_VIEW: ClassVar[bool] = True

    def verify_types(self) -> None:
        source, target = shape_of(self.x.type), shape_of(self.y.type)
        if element_of(self.x.type) != element_of(self.y.type):
            raise VerifyException(f"elements must agree, got {self.x.type} and {self.y.type}")
        if len(source) > len(target) or not compatible(broadcast_shapes(source, target), target):
            raise VerifyException(f"{self.x.type} does not broadcast to {self.y.type}")

    def known_shapes(self) -> Iterable[tuple[SSAValue, Sequence[int]]]:
        source, target = shape_of(self.x.type), shape_of(self.y.type)
        added = (1,) * (len(target) - len(source))
        repeated = [DYNAMIC if n == 1 else n for n in (*added, *source)]
        # only 1 is broadcast to 1
        single = [1 if n == 1 else DYNAMIC for n in target[len(added) :]]
        return [(self.y, repeated), (self.x, single)]

    def vjp(self, ct: Value, y: Value, x: Value) -> Cotangents:
        return [sum_to_shape(ct, x.shape)]

    def access(self) -> Access:
        source, target = shape_of(self.x.type), shape_of(self.y.type)
        rank, added = len(target), len(target) - len(source)
        rows = [
            dim_row(rank, d + added) if n == target[d + added] else constant_row(rank, 0)
            for d, n in enumerate(source)
        ]
        return Access(rank, tuple(rows))

    def vmap(self, batch: Batch) -> Sequence[Value]:
        """Axes of extent 1 between the rows and the shape let it broadcast to the right."""
        [x], [type_] = batch.operands, batch.result_types()
        missing = len(shape_of(type_)) - len(x.shape)
        return batch.same_op([reshaped(x, [x.shape[0], *[1] * missing, *x.shape[1:]])])

    def simplify(self, x: Value) -> Value | None:
        from gradir.dialects.array.creation import FullOp

        match x.ssa.owner:
            case FullOp() as full:
                return full.with_type(x.emitter, self.y.type)
            case BroadcastToOp() as inner:
                return BroadcastToOp.on(x.emitter.value(inner.x), type=self.y.type)
            case _:
                return x if x.type == self.y.type else None

    def numpy(self, x: Any) -> Any:
        return np.broadcast_to(x, shape_of(self.y.type))


def sum_to_shape(x: Value, shape: Sequence[int]) -> Value:
    """x summed to `shape`: the transpose of a broadcast from `shape`."""
    from gradir.dialects.array.reductions import SumOp

    added = len(x.shape) - len(shape)
    axes = list(range(added))
    axes += [d + added for d, n in enumerate(shape) if n != x.shape[d + added]]
    return reshaped(SumOp.on(x, axis=axes), shape) if axes else x


class _UnitAxesOp(MovementOp):
    """Adds or removes axes of extent 1."""

    IS_VIEW: ClassVar[bool] = True
    ATTRIBUTES: ClassVar[tuple[str, ...]] = ("axis",)

    def vjp(self, ct: Value, y: Value, x: Value) -> Cotangents:
        return [ReshapeOp.on(ct, type=x.type)]

    def vmap(self, batch: Batch) -> Sequence[Value]:
        return [ReshapeOp.on(batch.operands[0], type=batch.result_types()[0])]

    def decompose(self, x: Value) -> Value:
        return ReshapeOp.on(x, type=self.y.type)

    def numpy(self, x: Any) -> Any:
        return x.reshape(shape_of(self.y.type))

    def simplify(self, x: Value) -> Value | None:
        return x if x.type == self.y.type else None


@irdl_op_definition
class ExpandDimsOp(_UnitAxesOp):
    """New axes of extent 1 at the places `axis` of the result.   vjp: reshape"""

    name = "array.expand_dims"
    COMPLEX: ClassVar[bool] = True

    @classmethod
    def infer_types(cls, operands: Types, attributes: Attributes) -> Types:
        shape = shape_of(operands[0])
        axis = integers(attributes, "axis", None) or []
        rank = len(shape) + len(axis)
        places = normalize_axes(axis, rank)
        rest = iter(shape)
        return [
            tensor([1 if d in places else next(rest) for d in range(rank)], element_of(operands[0]))
        ]


@irdl_op_definition
class SqueezeOp(_UnitAxesOp):
    """x without the axes `axis`, of extent 1.   vjp: reshape"""

    name = "array.squeeze"
    COMPLEX: ClassVar[bool] = True

    @classmethod
    def infer_types(cls, operands: Types, attributes: Attributes) -> Types:
        shape = shape_of(operands[0])
        if "axis" not in attributes and DYNAMIC in shape:
            raise VerifyException(
                f"axis must be given where an extent is not known, got {operands[0]}"
            )
        default = [d for d, n in enumerate(shape) if n == 1]
        axes = normalize_axes(integers(attributes, "axis", default) or [], len(shape))
        for axis in axes:
            if shape[axis] not in (1, DYNAMIC):
                raise VerifyException(f"axis {axis} must have extent 1, got {operands[0]}")
        return [tensor([n for d, n in enumerate(shape) if d not in axes], element_of(operands[0]))]


@irdl_op_definition
class FlipOp(MovementOp):
    """x reversed along `axis` (all axes where absent).   vjp: flip"""

    name = "array.flip"
    COMPLEX: ClassVar[bool] = True
    ATTRIBUTES: ClassVar[tuple[str, ...]] = ("axis",)

    @classmethod
    def infer_types(cls, operands: Types, attributes: Attributes) -> Types:
        rank = len(shape_of(operands[0]))
        normalize_axes(integers(attributes, "axis", range(rank)) or [], rank)
        return [operands[0]]

    @property
    def axes(self) -> list[int]:
        rank = len(shape_of(self.x.type))
        return normalize_axes(integers(self.attributes, "axis", range(rank)) or [], rank)

    def vjp(self, ct: Value, y: Value, x: Value) -> Cotangents:
        return [FlipOp.on(ct, axis=self.axes)]

    def access(self) -> Access:
        shape, axes = shape_of(self.x.type), self.axes
        rank = len(shape)
        rows = [
            dim_row(rank, d, -1, n - 1) if d in axes else dim_row(rank, d)
            for d, n in enumerate(shape)
        ]
        return Access(rank, tuple(rows))

    def vmap(self, batch: Batch) -> Sequence[Value]:
        rank = batch.operand_rank(0)
        return batch.same_op(batch.operands, axis=[axis - rank for axis in self.axes])

    def numpy(self, x: Any) -> Any:
        return np.flip(x, tuple(self.axes))


OPS: tuple[type[TensorOp], ...] = (
    ReshapeOp, PermuteDimsOp, BroadcastToOp, ExpandDimsOp, SqueezeOp, FlipOp,
)  # fmt: skip

Value.OPERATORS["broadcast_to"] = BroadcastToOp.on
