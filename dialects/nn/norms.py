"""nn: normalization by statistics of the operand itself, with PyTorch's semantics.

Operands are (x, scale?, bias?). In the generic form `operandSegmentSizes` marks the given ones; the
custom form has it only for a bias without a scale. f16 and bf16 are computed in f32.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import inf, prod
from typing import Any, ClassVar, Self

from xdsl.dialects.builtin import DenseArrayBase, bf16, f16, f32, f64, i32
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    result_def,
    traits_def,
)
from xdsl.printer import Printer
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from gradir.dialects.array.batch_axis import vmap_of_batch
from gradir.dialects.array.elementwise import RsqrtOp
from gradir.dialects.array.lines import lines_reached
from gradir.dialects.array.movement import BroadcastToOp, reshaped, sum_to_shape
from gradir.dialects.array.reductions import SumOp, narrowed, widened
from gradir.dialects.base.attributes import (
    Attributes,
    Types,
    integer,
    integers,
    number,
    print_attributes,
    text,
)
from gradir.dialects.base.batch import Batch
from gradir.dialects.base.interfaces import Cotangents, TensorOp
from gradir.dialects.base.lazy_numpy import np
from gradir.dialects.base.shapes import (
    DYNAMIC,
    compatible,
    element_of,
    normalize_axes,
    shape_of,
    tensor,
)
from gradir.dialects.base.value import Value
from gradir.dialects.building.kinds import require_elements

SEGMENTS = AttrSizedOperandSegments.attribute_name
OPERANDS = "operands must be x, scale, bias, the last two optional"
LAYOUTS = ("NCHW", "NHWC")
# The default eps by compute type.
EPSILONS: dict[Attribute, float] = {f64: 2**-52, f32: 2**-23, f16: 2**-23, bf16: 2**-23}


@dataclass(frozen=True)
class Geometry:
    """The groups of elements with common statistics, and the broadcast of parameters."""

    # The shape of x in which `axes` are the axes of the statistics.
    view: tuple[int, ...]
    axes: tuple[int, ...]
    # The shape of scale and bias, and its reshape that broadcasts to x's shape.
    parameter: tuple[int, ...]
    line: tuple[int, ...]

    @property
    def count(self) -> int:
        return prod(self.view[a] for a in self.axes)


class Normalizer:
    """Means over the axes of a geometry, and the normalization by them."""

    def __init__(self, geometry: Geometry, eps: float, is_centered: bool = True):
        self.geometry = geometry
        self.eps = eps
        self.is_centered = is_centered

    def mean(self, x: Value) -> Value:
        """The mean along the axes, which are kept with extent 1."""
        return SumOp.on(x, axis=self.geometry.axes, keepdims=True) / self.geometry.count

    def spread(self, line: Value, x: Value) -> Value:
        return BroadcastToOp.on(line, type=x.type)

    def normalized(self, x: Value) -> tuple[Value, Value]:
        """x (of the view's shape) normalized, and the factor 1 / sqrt(variance + eps)."""
        if self.is_centered:
            x = x - self.spread(self.mean(x), x)
        inverse = self.spread(RsqrtOp.on(self.mean(x * x) + self.eps), x)
        return x * inverse, inverse

    def vjp(self, ct: Value, normal: Value, inverse: Value) -> Value:
        """The cotangent of x from the cotangent of the normalized x."""
        rest = ct - normal * self.spread(self.mean(ct * normal), ct)
        if self.is_centered:
            rest = rest - self.spread(self.mean(ct), ct)
        return inverse * rest


def segments(attributes: Attributes, count: int) -> list[int]:
    """The numbers of operands for x, scale and bias: 0 or 1 each."""
    given = integers(attributes, SEGMENTS, [int(k < count) for k in range(3)]) or []
    if len(given) != 3 or given[0] != 1 or sum(given) != count or max(given) > 1:
        raise VerifyException(f"{OPERANDS}, got {count}")
    return given


class NormalizationOp(TensorOp):
    """scale * (x - mean) / sqrt(variance + eps) + bias; scale is 1 and bias 0 where absent."""

    ATTRIBUTES: ClassVar[tuple[str, ...]] = ("eps", SEGMENTS)
    # The mean is subtracted.
    CENTERED: ClassVar[bool] = True

    irdl_options = (AttrSizedOperandSegments(),)

    x = operand_def()
    scale = opt_operand_def()
    bias = opt_operand_def()
    y = result_def()
    traits = traits_def(Pure())

    @classmethod
    def geometry_of(cls, x: Attribute, attributes: Attributes) -> Geometry:
        """The geometry for an x of some type; VerifyException where there is none."""
        raise NotImplementedError(cls.name)

    @classmethod
    def infer_types(cls, operands: Types, attributes: Attributes) -> Types:
        if not operands:
            raise VerifyException(f"{OPERANDS}, got 0")
        x, *parameters = operands
        require_elements(x, "float")
        _, *present = segments(attributes, len(operands))
        eps = number(attributes, "eps", EPSILONS[element_of(x)])
        if not 0 <= eps < inf:
            raise VerifyException(f"eps must be finite and not negative, got {eps}")
        geometry = cls.geometry_of(x, attributes)
        wanted = tensor(geometry.parameter, element_of(x))
        names = [name for name, n in zip(("scale", "bias"), present, strict=True) if n]
        for name, parameter in zip(names, parameters, strict=True):
            fits = compatible(shape_of(parameter), geometry.parameter)
            if not fits or element_of(parameter) != element_of(x):
                raise VerifyException(f"{name} must be {wanted}, got {parameter}")
        return [x]

    @classmethod
    def create(
        cls,
        *,
        operands: Sequence[SSAValue] = (),
        attributes: Mapping[str, Attribute] | None = None,
        **rest: Any,
    ) -> Self:
        """The op; without segment sizes, the number of operands tells which are given."""
        given = dict(attributes or {})
        if SEGMENTS not in given:
            sizes = [int(k < len(operands)) for k in range(2)]
            sizes.append(len(operands) - sum(sizes))
            given[SEGMENTS] = DenseArrayBase.from_list(i32, sizes)
        return super().create(operands=operands, attributes=given, **rest)

    @property
    def geometry(self) -> Geometry:
        return self.geometry_of(self.x.type, self.attributes)

    @property
    def eps(self) -> float:
        return number(self.attributes, "eps", 1e-5)

    @property
    def normalizer(self) -> Normalizer:
        return Normalizer(self.geometry, self.eps, self.CENTERED)

    def parameters(self, values: Sequence[Any]) -> tuple[Any, Any]:
        """Scale and bias of the operands after x, None for one that is absent."""
        left = iter(values)
        scale = next(left) if self.scale is not None else None
        return scale, next(left, None)

    def spread(self, parameter: Value, x: Value) -> Value:
        """A parameter repeated over x's shape, in x's precision."""
        return BroadcastToOp.on(reshaped(widened(parameter), self.geometry.line), type=x.type)

    def vjp(self, ct: Value, y: Value, x: Value, *others: Value) -> Cotangents:
        geometry, wide_ct = self.geometry, widened(ct)
        normal, inverse = self.normalizer.normalized(reshaped(widened(x), geometry.view))
        scale, bias = self.parameters(others)
        inner = wide_ct if scale is None else wide_ct * self.spread(scale, wide_ct)
        to_x = self.normalizer.vjp(reshaped(inner, geometry.view), normal, inverse)
        cotangents = [narrowed(reshaped(to_x, x.shape), x.type)]
        if scale is not None:
            product = wide_ct * reshaped(normal, x.shape)
            cotangents.append(self._total(product, scale))
        if bias is not None:
            cotangents.append(self._total(wide_ct, bias))
        return cotangents

    def _total(self, x: Value, parameter: Value) -> Value:
        """x summed over all elements that a parameter's element belongs to."""
        total = reshaped(sum_to_shape(x, self.geometry.line), parameter.shape)
        return narrowed(total, parameter.type)

    def decompose(self, x: Value, *others: Value) -> Value:
        view = reshaped(widened(x), self.geometry.view)
        value = reshaped(self.normalizer.normalized(view)[0], x.shape)
        scale, bias = self.parameters(others)
        if scale is not None:
            value = value * self.spread(scale, value)
        if bias is not None:
            value = value + self.spread(bias, value)
        return narrowed(value, x.type)

    def numpy(self, x: Any, *others: Any) -> Any:
        geometry = self.geometry
        value = x.reshape(geometry.view)
        with np.errstate(invalid="ignore", divide="ignore"):
            if self.CENTERED:
                value = value - _numpy_mean(value, geometry)
            deviation = np.sqrt(_numpy_mean(value * value, geometry) + self.eps)
            value = (value / deviation).reshape(x.shape)
        scale, bias = self.parameters(others)
        value = value if scale is None else value * scale.reshape(geometry.line)
        return value if bias is None else value + bias.reshape(geometry.line)

    def print(self, printer: Printer) -> None:
        shown = dict(self.attributes)
        if self.bias is None or self.scale is not None:
            del shown[SEGMENTS]
        printer.print_string(" ")
        printer.print_list(self.operands, printer.print_ssa_value)
        if shown:
            print_attributes(printer, shown)
        printer.print_string(" : ")
        printer.print_list([o.type for o in self.operands], printer.print_attribute)
        printer.print_string(" -> ")
        printer.print_attribute(self.y.type)


def _numpy_mean(x: Any, geometry: Geometry) -> Any:
    total = np.sum(x, axis=geometry.axes, keepdims=True)
    return total / np.asarray(geometry.count, x.dtype)


class _AxesNormOp(NormalizationOp):
    """Over `axes`, [-1] where absent; scale and bias have the extents of these axes."""

    ATTRIBUTES: ClassVar[tuple[str, ...]] = ("axes", *NormalizationOp.ATTRIBUTES)
    SUMS_PRODUCTS: ClassVar[bool] = True

    def reached(self, place: int, masks: Sequence[Value | None]) -> Value | None:
        """The lines of x; a scale or a bias takes part in all."""
        [mask] = masks
        return (
            None if mask is None or place else lines_reached(mask, self.geometry.axes, mask.shape)
        )

    @classmethod
    def geometry_of(cls, x: Attribute, attributes: Attributes) -> Geometry:
        shape = shape_of(x)
        given = integers(attributes, "axes", [-1]) or []
        axes = tuple(sorted(normalize_axes(given, len(shape), "axes")))
        line = tuple(n if d in axes else 1 for d, n in enumerate(shape))
        return Geometry(shape, axes, tuple(shape[a] for a in axes), line)

    def vmap(self, batch: Batch) -> Sequence[Value] | None:
        """A norm of x with rows, with weights that all rows share."""
        if any(batch.has_rows[1:]):
            return None
        axes, rank = integers(self.attributes, "axes", [-1]) or [], batch.operand_rank(0)
        return batch.same_op(batch.operands, axes=[a if a < 0 else a - rank for a in axes])


@irdl_op_definition
class LayerNormOp(_AxesNormOp):
    """scale * (x - mean) / sqrt(variance + eps) + bias over `axes = [-1]`; `eps = 1e-5`.

    The variance is the biased one; scale and bias have the extents of `axes`, in order.
    vjp: r * (g - mean(g) - n * mean(g * n)), sum of ct * n, sum of ct;
    g = ct * scale, n the normalized x, r = 1 / sqrt(variance + eps)
    """

    name = "nn.layer_norm"


@irdl_op_definition
class RmsNormOp(_AxesNormOp):
    """scale * x / sqrt(mean(x * x) + eps) + bias over `axes = [-1]`.

    eps, where absent, is the distance from 1 to the next number: 2**-52 of f64, else f32's 2**-23.
    vjp: r * (g - n * mean(g * n)), sum of ct * n, sum of ct; as in nn.layer_norm
    """

    name = "nn.rms_norm"
    CENTERED: ClassVar[bool] = False

    @property
    def eps(self) -> float:
        return number(self.attributes, "eps", EPSILONS[element_of(self.x.type)])


def channel_axis(attributes: Attributes, rank: int) -> int:
    """1 in the layout NCHW, the last in NHWC; for any number of spatial axes."""
    return 1 if text(attributes, "layout", "NCHW", LAYOUTS) == "NCHW" else rank - 1


def channel_line(shape: Sequence[int], axis: int) -> tuple[int, ...]:
    """The shape in which one number per channel broadcasts to `shape`."""
    return tuple(n if d == axis else 1 for d, n in enumerate(shape))


@irdl_op_definition
class GroupNormOp(NormalizationOp):
    """layer_norm of each example over its spatial axes and over channels in `groups` groups.

    x [N, C, d...] in `layout = "NCHW"`, [N, d..., C] in "NHWC"; scale and bias [C]; `eps = 1e-5`.
    vjp: as of nn.layer_norm
    """

    name = "nn.group_norm"
    ATTRIBUTES: ClassVar[tuple[str, ...]] = ("groups", "layout", *NormalizationOp.ATTRIBUTES)

    @classmethod
    def geometry_of(cls, x: Attribute, attributes: Attributes) -> Geometry:
        shape = shape_of(x)
        if len(shape) < 2:
            raise VerifyException(f"x must have a batch and a channel axis, got {x}")
        axis, groups = channel_axis(attributes, len(shape)), integer(attributes, "groups")
        channels = shape[axis]
        if groups < 1 or (channels != DYNAMIC and channels % groups):
            raise VerifyException(f"groups must divide the channels of {x}, got {groups}")
        each = channels if channels == DYNAMIC else channels // groups
        view = (*shape[:axis], groups, each, *shape[axis + 1 :])
        axes = tuple(d for d in range(1, len(view)) if d != axis)
        return Geometry(view, axes, (channels,), channel_line(shape, axis))

    def vmap(self, batch: Batch) -> Sequence[Value] | None:
        return vmap_of_batch(batch)


@irdl_op_definition
class InstanceNormOp(NormalizationOp):
    """layer_norm of each channel of each example over its spatial axes.

    x [N, C, d...] in `layout = "NCHW"`, [N, d..., C] in "NHWC"; scale and bias [C]; `eps = 1e-5`.
    vjp: as of nn.layer_norm
    """

    name = "nn.instance_norm"
    ATTRIBUTES: ClassVar[tuple[str, ...]] = ("layout", *NormalizationOp.ATTRIBUTES)

    @classmethod
    def geometry_of(cls, x: Attribute, attributes: Attributes) -> Geometry:
        shape = shape_of(x)
        if len(shape) < 3:
            raise VerifyException(f"x must have a batch, a channel and spatial axes, got {x}")
        axis = channel_axis(attributes, len(shape))
        axes = tuple(d for d in range(1, len(shape)) if d != axis)
        return Geometry(shape, axes, (shape[axis],), channel_line(shape, axis))

    def vmap(self, batch: Batch) -> Sequence[Value] | None:
        return vmap_of_batch(batch)


OPS: tuple[type[TensorOp], ...] = (LayerNormOp, RmsNormOp, GroupNormOp, InstanceNormOp)
