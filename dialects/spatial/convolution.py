"""Convolutions over 1, 2 and 3 spatial dimensions, and their transposes.

A convolution is bilinear, and so are its transposes in x and in the weight: the three are each
other's derivatives, which closes them under differentiation.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar

from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import irdl_op_definition, operand_def, opt_operand_def, result_def, traits_def
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from gradir.dialects.array.batch_axis import vmap_of_batch
from gradir.dialects.array.lines import entries_reached
from gradir.dialects.array.reductions import SumOp
from gradir.dialects.base.attributes import Attributes, Types
from gradir.dialects.base.batch import Batch
from gradir.dialects.base.interfaces import Cotangents, TensorOp
from gradir.dialects.base.lazy_numpy import np
from gradir.dialects.base.precision import PRECISION, precision_of, require_precision
from gradir.dialects.base.shapes import (
    DYNAMIC,
    compatible,
    element_of,
    shape_of,
    tensor,
)
from gradir.dialects.base.value import Emitter, Value
from gradir.dialects.building.kinds import require_elements_agree
from gradir.dialects.spatial.geometry import (
    Taps,
    Window,
    require_shape,
    window,
)
from gradir.dialects.spatial.nests import convolve, convolve_weight_backward
from gradir.dialects.spatial.transpose import convolve_input_backward

SETTINGS = ("stride", "padding", "dilation", "groups", "layout", PRECISION)


class ConvolutionOp(TensorOp, ABC):
    """The base of convolutions and their transposes."""

    ATTRIBUTES: ClassVar[tuple[str, ...]] = SETTINGS
    COMPLEX: ClassVar[bool] = True
    SUMS_PRODUCTS: ClassVar[bool] = True
    # The number of spatial dimensions.
    DIMS: ClassVar[int]

    traits = traits_def(Pure())

    @property
    def window(self) -> Window:
        return window(self.attributes, self.DIMS)

    @property
    def precision(self) -> str | None:
        return precision_of(self.attributes)

    @property
    def settings(self) -> dict[str, Attribute]:
        """The attributes shared with the derivatives."""
        return {name: v for name, v in self.attributes.items() if name in SETTINGS}

    def convolution(self, x: Value, weight: Value) -> Value:
        return CONV_OPS[self.DIMS].on(x, weight, **self.settings)

    def input_backward(self, ct: Value, weight: Value, type_: Attribute) -> Value:
        return _INPUT_BACKWARD[self.DIMS].on(ct, weight, type=type_, **self.settings)

    def weight_backward(self, ct: Value, x: Value, type_: Attribute) -> Value:
        return _WEIGHT_BACKWARD[self.DIMS].on(ct, x, type=type_, **self.settings)

    def bias_backward(self, ct: Value) -> Value:
        """The sum of ct over all axes but the channels."""
        channels = self.window.channel_axis
        return SumOp.on(ct, axis=[d for d in range(self.DIMS + 2) if d != channels])


def require_bias(bias: Sequence[Attribute], channels: int) -> None:
    for one in bias:
        if not compatible(shape_of(one), [channels]):
            wanted = "?" if channels == DYNAMIC else channels
            raise VerifyException(f"bias must have the shape {wanted}, got {one}")


class ConvLayerOp(ConvolutionOp, ABC):
    """A layer: x, weight, bias? to y. The bias has an element for each channel of y."""

    x = operand_def()
    weight = operand_def()
    bias = opt_operand_def()
    y = result_def()

    @classmethod
    @abstractmethod
    def result_shape(
        cls, form: Window, x: Attribute, weight: Attribute, attributes: Attributes
    ) -> Sequence[int]:
        """VerifyException where the operands do not fit."""

    @classmethod
    def infer_types(cls, operands: Types, attributes: Attributes) -> Types:
        require_elements_agree(operands, "float", cls.COMPLEX)
        require_precision(attributes, operands[:2])
        x, weight, *bias = operands
        form = window(attributes, cls.DIMS)
        shape = cls.result_shape(form, x, weight, attributes)
        require_bias(bias, shape[form.channel_axis])
        return [tensor(shape, element_of(x))]


class ConvOp(ConvLayerOp, ABC):
    """The convolution."""

    @classmethod
    def result_shape(
        cls, form: Window, x: Attribute, weight: Attribute, attributes: Attributes
    ) -> Sequence[int]:
        return form.convolved(x, weight)

    def vjp(self, ct: Value, y: Value, x: Value, weight: Value, *bias: Value) -> Cotangents:
        to_x = self.input_backward(ct, weight, x.type)
        to_weight = self.weight_backward(ct, x, weight.type)
        return [to_x, to_weight, *(self.bias_backward(ct) for _ in bias)]

    def reached(self, place: int, masks: Sequence[Value | None]) -> Value | None:
        """The images that masks name; the weight takes part in all."""
        shape = shape_of(self.operands[place].type)
        return None if place else entries_reached(masks, 1, shape)

    def vmap(self, batch: Batch) -> Sequence[Value] | None:
        return vmap_of_batch(batch)

    def lower(self, emitter: Emitter, operands: Sequence[SSAValue]) -> Sequence[SSAValue]:
        return convolve(emitter, self.window, operands, self.y.type, self.precision)

    def numpy(self, x: Any, weight: Any, bias: Any = None) -> Any:
        form = self.window
        taps = Taps(form)
        image, kernel = taps.padded(taps.images(x)), taps.weights(weight)
        n, _, *places = form.image(shape_of(self.y.type))
        y = np.zeros((n, *kernel.shape[:2], *places), x.dtype)
        for tap, inputs in taps.places(kernel.shape[3:], places):
            y += np.einsum("ngi...,goi->ngo...", image[(..., *inputs)], kernel[(..., *tap)])
        if bias is not None:
            y += bias.reshape(*kernel.shape[:2], *[1] * self.DIMS)
        return taps.image_result(y)


class InputBackwardOp(ConvolutionOp, ABC):
    """The transpose of the convolution in x: ct, weight to a cotangent of x."""

    ct = operand_def()
    weight = operand_def()
    y = result_def()

    def verify_types(self) -> None:
        types = [self.ct.type, self.weight.type, self.y.type]
        require_elements_agree(types, "float", self.COMPLEX)
        require_precision(self.attributes, [self.ct.type])
        require_shape(self.ct.type, self.window.convolved(self.y.type, self.weight.type), "ct")

    def vjp(self, ct: Value, y: Value, x: Value, weight: Value) -> Cotangents:
        return [self.convolution(ct, weight), self.weight_backward(x, ct, weight.type)]

    def reached(self, place: int, masks: Sequence[Value | None]) -> Value | None:
        """The images that masks name; the weight takes part in all."""
        shape = shape_of(self.operands[place].type)
        return None if place else entries_reached(masks, 1, shape)

    def vmap(self, batch: Batch) -> Sequence[Value] | None:
        return vmap_of_batch(batch)

    def lower(self, emitter: Emitter, operands: Sequence[SSAValue]) -> Sequence[SSAValue]:
        ct, weight = operands
        factors = ct, weight
        return convolve_input_backward(emitter, self.window, factors, self.y.type, self.precision)

    def numpy(self, ct: Any, weight: Any) -> Any:
        return transposed_on_arrays(self.window, ct, weight, shape_of(self.y.type))


def transposed_on_arrays(form: Window, ct: Any, weight: Any, shape: Sequence[int]) -> Any:
    """The transpose in x."""
    taps = Taps(form)
    results, kernel = taps.images(ct), taps.weights(weight)
    n, _, *places = form.image(shape)
    padded = [lo + p + hi for lo, p, hi in zip(form.low, places, form.high, strict=True)]
    image = np.zeros((n, form.groups, kernel.shape[2], *padded), ct.dtype)
    for tap, inputs in taps.places(kernel.shape[3:], results.shape[3:]):
        image[(..., *inputs)] += np.einsum("ngo...,goi->ngi...", results, kernel[(..., *tap)])
    inner = tuple(slice(lo, lo + p) for lo, p in zip(form.low, places, strict=True))
    return taps.image_result(image[(..., *inner)])


class WeightBackwardOp(ConvolutionOp, ABC):
    """The transpose of the convolution in the weight: ct, x to a cotangent of the weight."""

    ct = operand_def()
    x = operand_def()
    y = result_def()

    def verify_types(self) -> None:
        require_elements_agree([self.ct.type, self.x.type, self.y.type], "float", self.COMPLEX)
        require_precision(self.attributes, [self.ct.type])
        require_shape(self.ct.type, self.window.convolved(self.x.type, self.y.type), "ct")

    def vjp(self, ct: Value, y: Value, to_result: Value, x: Value) -> Cotangents:
        return [self.convolution(x, ct), self.input_backward(to_result, ct, x.type)]

    def lower(self, emitter: Emitter, operands: Sequence[SSAValue]) -> Sequence[SSAValue]:
        ct, x = operands
        factors = ct, x
        return convolve_weight_backward(emitter, self.window, factors, self.y.type, self.precision)

    def numpy(self, ct: Any, x: Any) -> Any:
        form = self.window
        taps = Taps(form)
        results, image = taps.images(ct), taps.padded(taps.images(x))
        o, i, *kernel = form.weight(shape_of(self.y.type))
        weight = np.zeros((form.groups, o // form.groups, i, *kernel), x.dtype)
        n, groups, channels, *places = results.shape
        flat = results.reshape(n, groups, channels, -1 if results.size else 0)
        for tap, inputs in taps.places(kernel, places):
            read = image[(..., *inputs)].reshape(n, groups, i, flat.shape[3])
            weight[(..., *tap)] = np.einsum("ngop,ngip->goi", flat, read)
        return taps.weight_result(weight)


@irdl_op_definition
class Conv1dOp(ConvOp):
    """Convolution (cross-correlation) along one axis, as `nn.conv2d` along two.

    x [N, C, W], weight [O, C / groups, K], bias [O]; in the layout NHWC x [N, W, C], weight
    [K, C / groups, O]. `padding` is [w] or [left, right].
    vjp: grad.conv1d_input_backward, grad.conv1d_weight_backward, sum of ct over N and W
    """

    name = "nn.conv1d"
    DIMS: ClassVar[int] = 1


@irdl_op_definition
class Conv2dOp(ConvOp):
    """Convolution (cross-correlation) of images, with PyTorch's meaning.

    x [N, C, H, W], weight [O, C / groups, KH, KW], bias [O], result [N, O, H', W'] with
    H' = (H + top + bottom - dilation * (KH - 1) - 1) // stride + 1; in `layout = "NHWC"` x
    [N, H, W, C], weight [KH, KW, C / groups, O]. `stride`, `dilation` (1) and `padding` (0) are one
    number, or [h, w]; padding also [top, left, bottom, right], and is zeros. `groups` (1) splits
    the channels; group g of the result sees group g of x. f16 and bf16 are summed in f32;
    `precision` is as for array.matmul.
    y[n, o, p, q] = bias[o] + sum over i, k, l of x[n, i, u, v] * weight[o, i, k, l] with
        u = stride * p + dilation * k - top, v = stride * q + dilation * l - left
    vjp: grad.conv2d_input_backward, grad.conv2d_weight_backward, sum of ct over N, H, W
    """

    name = "nn.conv2d"
    DIMS: ClassVar[int] = 2


@irdl_op_definition
class Conv3dOp(ConvOp):
    """Convolution (cross-correlation) of volumes, as `nn.conv2d` of images.

    x [N, C, D, H, W], weight [O, C / groups, KD, KH, KW], bias [O]; in the layout NHWC x
    [N, D, H, W, C], weight [KD, KH, KW, C / groups, O]. `padding` is [d, h, w] or the three before
    and the three after.
    vjp: grad.conv3d_input_backward, grad.conv3d_weight_backward, sum of ct over N, D, H, W
    """

    name = "nn.conv3d"
    DIMS: ClassVar[int] = 3


@irdl_op_definition
class Conv1dInputBackwardOp(InputBackwardOp):
    """The transpose of nn.conv1d in x: the cotangent of an x of the result's type.

    vjp: nn.conv1d of ct, grad.conv1d_weight_backward
    """

    name = "grad.conv1d_input_backward"
    DIMS: ClassVar[int] = 1


@irdl_op_definition
class Conv2dInputBackwardOp(InputBackwardOp):
    """The transpose of nn.conv2d in x: the cotangent of an x of the result's type.

    x_ct[n, i, u, v] = sum of ct[n, o, p, q] * weight[o, i, k, l] over o and all p, q, k, l with
        u = stride * p + dilation * k - top, v = stride * q + dilation * l - left
    vjp: nn.conv2d of ct, grad.conv2d_weight_backward
    """

    name = "grad.conv2d_input_backward"
    DIMS: ClassVar[int] = 2


@irdl_op_definition
class Conv3dInputBackwardOp(InputBackwardOp):
    """The transpose of nn.conv3d in x: the cotangent of an x of the result's type.

    vjp: nn.conv3d of ct, grad.conv3d_weight_backward
    """

    name = "grad.conv3d_input_backward"
    DIMS: ClassVar[int] = 3


@irdl_op_definition
class Conv1dWeightBackwardOp(WeightBackwardOp):
    """The transpose of nn.conv1d in the weight: the cotangent of one of the result's type.

    vjp: nn.conv1d of x, grad.conv1d_input_backward
    """

    name = "grad.conv1d_weight_backward"
    DIMS: ClassVar[int] = 1


@irdl_op_definition
class Conv2dWeightBackwardOp(WeightBackwardOp):
    """The transpose of nn.conv2d in the weight: the cotangent of one of the result's type.

    weight_ct[o, i, k, l] = sum over n, p, q of
        ct[n, o, p, q] * x[n, i, stride * p + dilation * k - top, stride * q + dilation * l - left]
    vjp: nn.conv2d of x, grad.conv2d_input_backward
    """

    name = "grad.conv2d_weight_backward"
    DIMS: ClassVar[int] = 2


@irdl_op_definition
class Conv3dWeightBackwardOp(WeightBackwardOp):
    """The transpose of nn.conv3d in the weight: the cotangent of one of the result's type.

    vjp: nn.conv3d of x, grad.conv3d_input_backward
    """

    name = "grad.conv3d_weight_backward"
    DIMS: ClassVar[int] = 3


CONV_OPS: dict[int, type[ConvOp]] = {1: Conv1dOp, 2: Conv2dOp, 3: Conv3dOp}
"""By the number of spatial axes."""
_INPUT_BACKWARD: dict[int, type[InputBackwardOp]] = {
    1: Conv1dInputBackwardOp,
    2: Conv2dInputBackwardOp,
    3: Conv3dInputBackwardOp,
}
_WEIGHT_BACKWARD: dict[int, type[WeightBackwardOp]] = {
    1: Conv1dWeightBackwardOp,
    2: Conv2dWeightBackwardOp,
    3: Conv3dWeightBackwardOp,
}


NN_OPS: tuple[type[TensorOp], ...] = tuple(CONV_OPS.values())
GRAD_OPS: tuple[type[TensorOp], ...] = (
    *_INPUT_BACKWARD.values(),
    *_WEIGHT_BACKWARD.values(),
)
