"""array: ops that move elements without computing; all are linear."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any, ClassVar

from xdsl.dialects.builtin import FloatAttr, IntegerAttr
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import irdl_op_definition, operand_def, result_def, traits_def, var_operand_def
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from gradir.dialects import body as b
from gradir.dialects.access import Access, constant_row, dim_row
from gradir.dialects.attributes import Attributes, integer, integers, number
from gradir.dialects.interfaces import Cotangents, TensorOp
from gradir.dialects.kinds import require_number
from gradir.dialects.loopnest import Output, scalar_type
from gradir.dialects.loopnest import ReshapeOp as LoopnestReshapeOp
from gradir.dialects.nest_builder import Read, nest, view
from gradir.dialects.shapes import (
    DYNAMIC,
    broadcast_shapes,
    compatible,
    element_of,
    is_bool,
    is_float,
    is_static,
    normalize_axes,
    normalize_axis,
    shape_of,
    tensor,
)
from gradir.dialects.value import Emitter, Scalar, Value


class MovementOp(TensorOp):
    """The elements of one operand at other places."""

    x = operand_def()
    y = result_def()
    traits = traits_def(Pure())

    def access(self) -> Access:
        """Where in the operand each result element comes from."""
        raise NotImplementedError(self.name)

    def lower(self, emitter: Emitter, operands: Sequence[SSAValue]) -> Sequence[SSAValue]:
        return view(emitter, self.y.type, operands[0], self.access())

    def simplify(self, x: Value) -> Value | None:
        """A movement that keeps the shape and every place is nothing."""
        if x.type != self.y.type or not is_static(x.type):
            return None
        return x if self.access().is_identity else None


@irdl_op_definition
class ReshapeOp(MovementOp):
    """The same elements in row-major order under the result's shape.   vjp: reshape back"""

    name = "array.reshape"

    def verify_types(self) -> None:
        source, target = shape_of(self.x.type), shape_of(self.y.type)
        if element_of(self.x.type) != element_of(self.y.type):
            raise VerifyException(f"elements must agree, got {self.x.type} and {self.y.type}")
        if DYNAMIC not in (*source, *target) and prod(source) != prod(target):
            raise VerifyException(f"sizes must match, got {self.x.type} and {self.y.type}")

    def vjp(self, ct: Value, y: Value, x: Value) -> Cotangents:
        return [ReshapeOp.on(ct, type=x.type)]

    def access(self) -> Access:
        """Of a reshape that only adds or removes dimensions of extent 1."""
        source, target = shape_of(self.x.type), shape_of(self.y.type)
        places = [d for d, n in enumerate(target) if n != 1]
        rank, taken = len(target), iter(places)
        rows = [constant_row(rank, 0) if n == 1 else dim_row(rank, next(taken)) for n in source]
        return Access(rank, tuple(rows))

    def simplify(self, x: Value) -> Value | None:
        if x.type == self.y.type:
            return x
        match x.ssa.owner:
            case ReshapeOp() as inner:
                return ReshapeOp.on(x.emitter.value(inner.x), type=self.y.type)
            case _:
                return None

    def numpy(self, x: Any) -> Any:
        return x.reshape(shape_of(self.y.type))

    def lower(self, emitter: Emitter, operands: Sequence[SSAValue]) -> Sequence[SSAValue]:
        source, target = shape_of(self.x.type), shape_of(self.y.type)
        if [n for n in source if n != 1] == [n for n in target if n != 1]:
            return super().lower(emitter, operands)
        return [emitter.insert(LoopnestReshapeOp(operands[0], self.y.type)).result]


@irdl_op_definition
class PermuteDimsOp(MovementOp):
    """result[i...] with dimension d of the result being dimension axes[d] of x.

    vjp: permute_dims by the inverse permutation
    """

    name = "array.permute_dims"
    ATTRIBUTES: ClassVar[tuple[str, ...]] = ("axes",)

    @classmethod
    def infer_types(
        cls, operands: Sequence[Attribute], attributes: Attributes
    ) -> Sequence[Attribute]:
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


@irdl_op_definition
class BroadcastToOp(MovementOp):
    """x repeated to the result's shape by NumPy's rules.   vjp: sum over the repeated axes"""

    name = "array.broadcast_to"

    def verify_types(self) -> None:
        source, target = shape_of(self.x.type), shape_of(self.y.type)
        if element_of(self.x.type) != element_of(self.y.type):
            raise VerifyException(f"elements must agree, got {self.x.type} and {self.y.type}")
        if len(source) > len(target) or not compatible(broadcast_shapes(source, target), target):
            raise VerifyException(f"{self.x.type} does not broadcast to {self.y.type}")

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

    def simplify(self, x: Value) -> Value | None:
        from gradir.dialects.array.creation import FullOp

        match x.ssa.owner:
            case FullOp() as full:
                return x.emitter.value(x.emitter.insert(FullOp.fill(full.number, self.y.type)).y)
            case BroadcastToOp() as inner:
                return BroadcastToOp.on(x.emitter.value(inner.x), type=self.y.type)
            case _:
                return x if x.type == self.y.type else None

    def numpy(self, x: Any) -> Any:
        import numpy

        return numpy.broadcast_to(x, shape_of(self.y.type))


def sum_to_shape(x: Value, shape: Sequence[int]) -> Value:
    """x summed over the axes along which `shape` was broadcast to x's shape."""
    from gradir.dialects.array.reductions import SumOp, reshaped

    added = len(x.shape) - len(shape)
    axes = list(range(added))
    axes += [d + added for d, n in enumerate(shape) if n != x.shape[d + added]]
    return reshaped(SumOp.on(x, axis=axes), shape) if axes else x


class _UnitAxesOp(MovementOp):
    """Adds or removes axes of extent 1."""

    ATTRIBUTES: ClassVar[tuple[str, ...]] = ("axis",)

    def vjp(self, ct: Value, y: Value, x: Value) -> Cotangents:
        return [ReshapeOp.on(ct, type=x.type)]

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

    @classmethod
    def infer_types(
        cls, operands: Sequence[Attribute], attributes: Attributes
    ) -> Sequence[Attribute]:
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
    """Without the axes `axis`, which have extent 1.   vjp: reshape"""

    name = "array.squeeze"

    @classmethod
    def infer_types(
        cls, operands: Sequence[Attribute], attributes: Attributes
    ) -> Sequence[Attribute]:
        shape = shape_of(operands[0])
        default = [d for d, n in enumerate(shape) if n == 1]
        axes = normalize_axes(integers(attributes, "axis", default) or [], len(shape))
        for axis in axes:
            if shape[axis] not in (1, DYNAMIC):
                raise VerifyException(f"axis {axis} must have extent 1, got {operands[0]}")
        return [tensor([n for d, n in enumerate(shape) if d not in axes], element_of(operands[0]))]


@irdl_op_definition
class FlipOp(MovementOp):
    """Reversed along `axis` (all axes where absent).   vjp: flip"""

    name = "array.flip"
    ATTRIBUTES: ClassVar[tuple[str, ...]] = ("axis",)

    @classmethod
    def infer_types(
        cls, operands: Sequence[Attribute], attributes: Attributes
    ) -> Sequence[Attribute]:
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

    def numpy(self, x: Any) -> Any:
        import numpy

        return numpy.flip(x, tuple(self.axes))


@irdl_op_definition
class SliceOp(MovementOp):
    """x[start : stop : step], one entry per axis; negative bounds count from the end.

    `step` is positive, 1 where absent. vjp: the cotangent padded with zeros
    """

    name = "array.slice"
    ATTRIBUTES: ClassVar[tuple[str, ...]] = ("start", "stop", "step")

    @classmethod
    def infer_types(
        cls, operands: Sequence[Attribute], attributes: Attributes
    ) -> Sequence[Attribute]:
        shape = shape_of(operands[0])
        bounds = _slice_bounds(attributes, shape)
        return [tensor([len(range(*one)) for one in bounds], element_of(operands[0]))]

    @property
    def bounds(self) -> list[tuple[int, int, int]]:
        return _slice_bounds(self.attributes, shape_of(self.x.type))

    def vjp(self, ct: Value, y: Value, x: Value) -> Cotangents:
        for axis, (_, _, step) in enumerate(self.bounds):
            if step > 1:
                ct = _spaced(ct, axis, step)
        low = [start for start, _, _ in self.bounds]
        high = [n - s - m for n, s, m in zip(x.shape, low, ct.shape, strict=True)]
        # the last stride may reach over the end: what is cut off there is zero
        if any(h < 0 for h in high):
            stop = [m + min(h, 0) for m, h in zip(ct.shape, high, strict=True)]
            ct = SliceOp.on(ct, start=[0] * len(stop), stop=stop)
            high = [max(h, 0) for h in high]
        return [PadOp.on(ct, low=low, high=high, value=0.0) if any(low + high) else ct]

    def access(self) -> Access:
        rank = len(self.bounds)
        rows = [dim_row(rank, d, step, start) for d, (start, _, step) in enumerate(self.bounds)]
        return Access(rank, tuple(rows))

    def numpy(self, x: Any) -> Any:
        return x[tuple(slice(*one) for one in self.bounds)]


def _slice_bounds(attributes: Attributes, shape: Sequence[int]) -> list[tuple[int, int, int]]:
    rank = len(shape)
    start = integers(attributes, "start", [0] * rank) or []
    stop = integers(attributes, "stop", shape) or []
    step = integers(attributes, "step", [1] * rank) or []
    for name, values in (("start", start), ("stop", stop), ("step", step)):
        if len(values) != rank:
            raise VerifyException(f"{name} must have {rank} entries, got {len(values)}")
    if any(s < 1 for s in step):
        raise VerifyException(f"step must be positive, got {step}; reverse with array.flip")
    bounds: list[tuple[int, int, int]] = []
    for axis, (first, last, s, n) in enumerate(zip(start, stop, step, shape, strict=True)):
        low, high = (v + n if v < 0 else v for v in (first, last))
        if not 0 <= low <= high <= n:
            raise VerifyException(
                f"axis {axis}: start and stop must satisfy 0 <= start <= stop <= {n}, "
                f"got {first} and {last}"
            )
        bounds.append((low, high, s))
    return bounds


def _spaced(x: Value, axis: int, step: int) -> Value:
    """x with step - 1 zeros after each element along an axis."""
    rank = len(x.shape)
    wide = ExpandDimsOp.on(x, axis=axis + 1)
    high = [step - 1 if d == axis + 1 else 0 for d in range(rank + 1)]
    filled = PadOp.on(wide, low=[0] * (rank + 1), high=high, value=0.0)
    shape = [n * step if d == axis else n for d, n in enumerate(x.shape)]
    return ReshapeOp.on(filled, type=tensor(shape, x.element))


@irdl_op_definition
class PadOp(MovementOp):
    """x with low[d] elements of `value` before and high[d] after it along each axis d.

    vjp: the slice of ct that lies over x
    """

    name = "array.pad"
    ATTRIBUTES: ClassVar[tuple[str, ...]] = ("low", "high", "value")

    @classmethod
    def infer_types(
        cls, operands: Sequence[Attribute], attributes: Attributes
    ) -> Sequence[Attribute]:
        shape = shape_of(operands[0])
        low, high = (integers(attributes, name, None) or [] for name in ("low", "high"))
        for name, values in (("low", low), ("high", high)):
            if len(values) != len(shape) or any(v < 0 for v in values):
                raise VerifyException(
                    f"{name} must be {len(shape)} numbers >= 0, got {values}; cut with array.slice"
                )
        require_number(number(attributes, "value", 0.0), operands[0])
        sums = [lo + n + hi for lo, n, hi in zip(low, shape, high, strict=True)]
        return [tensor(sums, element_of(operands[0]))]

    @property
    def low(self) -> list[int]:
        return integers(self.attributes, "low", None) or []

    def vjp(self, ct: Value, y: Value, x: Value) -> Cotangents:
        stop = [lo + n for lo, n in zip(self.low, x.shape, strict=True)]
        return [SliceOp.on(ct, start=self.low, stop=stop)]

    def access(self) -> Access:
        rank = len(self.low)
        return Access(rank, tuple(dim_row(rank, d, 1, -lo) for d, lo in enumerate(self.low)))

    def lower(self, emitter: Emitter, operands: Sequence[SSAValue]) -> Sequence[SSAValue]:
        value = pad_value(number(self.attributes, "value", 0.0), element_of(self.y.type))
        return view(emitter, self.y.type, operands[0], self.access(), value)

    def numpy(self, x: Any) -> Any:
        import numpy

        high = integers(self.attributes, "high", None) or []
        value = number(self.attributes, "value", 0.0)
        widths = list(zip(self.low, high, strict=True))
        # numpy.pad takes no array of rank 0
        return numpy.pad(x, widths, constant_values=value) if widths else x


def pad_value(value: float, element: Attribute) -> Attribute:
    """The attribute that a padded read of a nest wants."""
    if is_float(element):
        return FloatAttr(value, element)  # pyright: ignore[reportArgumentType,reportCallIssue]
    scalar: Any = scalar_type(element)
    return IntegerAttr(-int(value != 0) if is_bool(element) else int(value), scalar)


@irdl_op_definition
class ConcatOp(TensorOp):
    """The operands one after the other along `axis`.   vjp: slices of ct"""

    name = "array.concat"
    ATTRIBUTES: ClassVar[tuple[str, ...]] = ("axis",)

    xs = var_operand_def()
    y = result_def()
    traits = traits_def(Pure())

    @classmethod
    def infer_types(
        cls, operands: Sequence[Attribute], attributes: Attributes
    ) -> Sequence[Attribute]:
        if not operands:
            raise VerifyException("at least one operand expected, got none")
        first = operands[0]
        shape = list(shape_of(first))
        axis = normalize_axis(integer(attributes, "axis", 0), len(shape))
        for other in operands[1:]:
            rest = list(shape_of(other))
            same_rank = len(rest) == len(shape)
            if not same_rank or element_of(other) != element_of(first):
                raise VerifyException(f"ranks and elements must agree, got {first} and {other}")
            if rest[:axis] + rest[axis + 1 :] != shape[:axis] + shape[axis + 1 :]:
                raise VerifyException(
                    f"shapes must agree but for axis {axis}, got {first} and {other}"
                )
        shape[axis] = sum(shape_of(o)[axis] for o in operands)
        return [tensor(shape, element_of(first))]

    @property
    def axis(self) -> int:
        return normalize_axis(integer(self.attributes, "axis", 0), len(shape_of(self.y.type)))

    def starts(self) -> list[int]:
        """Where each operand begins along the axis."""
        sizes = [shape_of(x.type)[self.axis] for x in self.xs]
        return [sum(sizes[:k]) for k in range(len(sizes))]

    def vjp(self, ct: Value, y: Value, *xs: Value) -> Cotangents:
        parts: list[Value] = []
        for x, first in zip(xs, self.starts(), strict=True):
            start = [first if d == self.axis else 0 for d in range(len(x.shape))]
            stop = [s + n for s, n in zip(start, x.shape, strict=True)]
            parts.append(SliceOp.on(ct, start=start, stop=stop))
        return parts

    def lower(self, emitter: Emitter, operands: Sequence[SSAValue]) -> Sequence[SSAValue]:
        shape, axis, starts = shape_of(self.y.type), self.axis, self.starts()
        rank = len(shape)
        zero = pad_value(0, element_of(self.y.type))
        reads: list[Read] = []
        for x, first in zip(operands, starts, strict=True):
            rows = [dim_row(rank, d, 1, -first if d == axis else 0) for d in range(rank)]
            reads.append(Read(x, Access(rank, tuple(rows)), zero))

        def pick(*xs: Scalar) -> Scalar:
            at, result = b.index(xs[0], axis), xs[0]
            for x, first in list(zip(xs, starts, strict=True))[1:]:
                result = b.select(b.greater_equal(at, b.constant(at, first)), x, result)
            return result

        output = Output(self.y.type, Access.identity(rank))
        return nest(emitter, shape, reads, [output], pick)

    def numpy(self, *xs: Any) -> Any:
        import numpy

        return numpy.concatenate(xs, axis=self.axis)


OPS: tuple[type[TensorOp], ...] = (
    ReshapeOp, PermuteDimsOp, BroadcastToOp, ExpandDimsOp, SqueezeOp, FlipOp, SliceOp, PadOp,
    ConcatOp,
)  # fmt: skip
