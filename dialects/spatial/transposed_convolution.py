"""Transposes of convolutions in x as layers of their own, over 1, 2 and 3 spatial dimensions."""

from __future__ import annotations

from abc import ABC
from collections.abc import Sequence
from typing import Any, ClassVar

from xdsl.ir import Attribute
from xdsl.irdl import irdl_op_definition
from xdsl.utils.exceptions import VerifyException

from gradir.dialects.array.batch_axis import vmap_of_batch
from gradir.dialects.array.movement import BroadcastToOp, reshaped
from gradir.dialects.array.reductions import narrowed, widened
from gradir.dialects.base.attributes import Attributes
from gradir.dialects.base.batch import Batch
from gradir.dialects.base.interfaces import Cotangents, TensorOp
from gradir.dialects.base.shapes import DYNAMIC, extents_text, shape_of, tensor
from gradir.dialects.base.value import Value
from gradir.dialects.spatial.convolution import (
    SETTINGS,
    ConvLayerOp,
    transposed_on_arrays,
)
from gradir.dialects.spatial.geometry import Window, spatial_numbers


class ConvTransposeOp(ConvLayerOp, ABC):
    """The transpose of a convolution."""

    ATTRIBUTES: ClassVar[tuple[str, ...]] = (*SETTINGS, "output_padding")

    @classmethod
    def result_shape(
        cls, form: Window, x: Attribute, weight: Attribute, attributes: Attributes
    ) -> Sequence[int]:
        return _transposed(form, x, weight, _output_padding(form, attributes))

    def vjp(self, ct: Value, y: Value, x: Value, weight: Value, *bias: Value) -> Cotangents:
        to_weight = self.weight_backward(x, ct, weight.type)
        return [self.convolution(ct, weight), to_weight, *(self.bias_backward(ct) for _ in bias)]

    def vmap(self, batch: Batch) -> Sequence[Value] | None:
        return vmap_of_batch(batch)

    def decompose(self, x: Value, weight: Value, *bias: Value) -> Value:
        if not bias:
            return self.input_backward(x, weight, self.y.type)
        # in f32 for f16 and bf16: rounded once
        wide_type = tensor(shape_of(self.y.type), widened(bias[0]).element)
        image = self.input_backward(widened(x), widened(weight), wide_type)
        line = [1] * (self.DIMS + 2)
        line[self.window.channel_axis] = bias[0].shape[0]
        repeated = BroadcastToOp.on(reshaped(widened(bias[0]), line), type=wide_type)
        return narrowed(image + repeated, self.y.type)

    def numpy(self, x: Any, weight: Any, bias: Any = None) -> Any:
        form = self.window
        y = transposed_on_arrays(form, x, weight, shape_of(self.y.type))
        if bias is None:
            return y
        line = [1] * (self.DIMS + 2)
        line[form.channel_axis] = bias.size
        return y + bias.reshape(line)


def _output_padding(form: Window, attributes: Attributes) -> tuple[int, ...]:
    """One number for each dimension, less than the stride."""
    found = spatial_numbers(attributes, "output_padding", form.dims, 0, 0)
    if any(p >= s for p, s in zip(found, form.stride, strict=True)):
        raise VerifyException(
            f"output_padding must be less than the stride, got {list(found)} and "
            f"{list(form.stride)}"
        )
    return found


def _transposed(
    form: Window, x: Attribute, weight: Attribute, added: Sequence[int]
) -> tuple[int, ...]:
    """The result's shape; VerifyException where the operands do not fit."""
    rank = form.dims + 2
    if len(shape_of(x)) != rank or len(shape_of(weight)) != rank:
        raise VerifyException(f"x and weight must have rank {rank}, got {x} and {weight}")
    n, channels, *spatial = form.image(shape_of(x))
    o, i, *kernel = form.weight(shape_of(weight))
    if DYNAMIC not in (channels, o) and channels != o:
        raise VerifyException(f"x must have {o} channels (those of weight), got {channels}")
    if o != DYNAMIC and o % form.groups:
        raise VerifyException(f"the channels of x must divide by groups, got {o} and {form.groups}")
    if 0 in kernel:
        raise VerifyException(f"the kernel must not be empty, got {weight}")
    smallest = form.transposed_size(spatial, kernel)
    unknown = [n == DYNAMIC or k == DYNAMIC for n, k in zip(spatial, kernel, strict=True)]
    sizes = [
        DYNAMIC if is_unknown else size + more
        for is_unknown, size, more in zip(unknown, smallest, added, strict=True)
    ]
    if 0 in spatial:
        raise VerifyException(f"x must have spatial extents >= 1, got {x}")
    if any(size < 0 for size in sizes if size != DYNAMIC):
        raise VerifyException(
            f"padding must leave extents >= 0 of the result, got {extents_text(sizes)}"
        )
    return form.as_image(n, DYNAMIC if i == DYNAMIC else i * form.groups, sizes)


@irdl_op_definition
class ConvTranspose1dOp(ConvTransposeOp):
    """The transpose of a convolution along one axis, as `nn.conv_transpose2d` along two.

    x [N, C, W], weight [C, O / groups, K], bias [O]; in the layout NHWC x [N, W, C], weight
    [K, O / groups, C].
    vjp: nn.conv1d of ct, grad.conv1d_weight_backward of x and ct, sum of ct over N and W
    """

    name = "nn.conv_transpose1d"
    DIMS: ClassVar[int] = 1


@irdl_op_definition
class ConvTranspose2dOp(ConvTransposeOp):
    """The transpose of a convolution as a layer of its own, with PyTorch's meaning.

    x [N, C, H, W], weight [C, O / groups, KH, KW], bias [O], result [N, O, H', W'] with
    H' = (H - 1) * stride - top - bottom + dilation * (KH - 1) + output_padding + 1; in
    `layout = "NHWC"` x [N, H, W, C], weight [KH, KW, O / groups, C]. `output_padding` (0) is less
    than the stride; nn.conv2d has the other attributes.
    vjp: nn.conv2d of ct, grad.conv2d_weight_backward of x and ct, sum of ct over N, H, W
    """

    name = "nn.conv_transpose2d"
    DIMS: ClassVar[int] = 2


@irdl_op_definition
class ConvTranspose3dOp(ConvTransposeOp):
    """The transpose of a convolution of volumes, as `nn.conv_transpose2d` of images.

    x [N, C, D, H, W], weight [C, O / groups, KD, KH, KW], bias [O]; in the layout NHWC x
    [N, D, H, W, C], weight [KD, KH, KW, O / groups, C].
    vjp: nn.conv3d of ct, grad.conv3d_weight_backward of x and ct, sum of ct over N, D, H, W
    """

    name = "nn.conv_transpose3d"
    DIMS: ClassVar[int] = 3


OPS: tuple[type[TensorOp], ...] = (ConvTranspose1dOp, ConvTranspose2dOp, ConvTranspose3dOp)
