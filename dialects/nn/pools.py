"""nn: pooling over windows of one, two or three spatial axes, with PyTorch's semantics."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf, prod
from typing import Any, ClassVar

from xdsl.ir import SSAValue
from xdsl.irdl import irdl_op_definition

from gradir.dialects.array.slicing import pad_value
from gradir.dialects.base import extrema
from gradir.dialects.base.interfaces import Cotangents, TensorOp
from gradir.dialects.base.lazy_numpy import np
from gradir.dialects.base.shapes import element_of, shape_of, tensor
from gradir.dialects.base.value import Emitter, Scalar, Value
from gradir.dialects.building import body as b
from gradir.dialects.building.nests import Read, elementwise
from gradir.dialects.spatial.pooling import (
    AVG_POOL_BACKWARD_OPS,
    MAX_POOL_OPS,
    AverageWindowOp,
    MaxWindowOp,
    PoolOp,
)
from gradir.dialects.spatial.resampling import (
    AdaptiveAvgPool2dBackwardOp,
    ResampleForwardOp,
    WeightRows,
    adaptive_rows,
)
from gradir.dialects.spatial.sliding_windows import Windows, spatial_axes


class MaxPoolOp(MaxWindowOp, PoolOp):
    """The largest element of each window."""

    def vjp(self, ct: Value, y: Value, x: Value) -> Cotangents:
        indices, _, backward = MAX_POOL_OPS[self.SPATIAL]
        places = indices.on(x, y, **self.settings)
        return [backward.on(ct, places, type=x.type, **self.settings)]

    def lower(self, emitter: Emitter, operands: Sequence[SSAValue]) -> Sequence[SSAValue]:
        windows, element = self.windows, element_of(self.x.type)
        pad = pad_value(-inf, element) if windows.has_padding else None

        def widen(x: Scalar) -> Scalar:
            return b.to_compute(x, element)

        reads = [Read(operands[0], windows.covered, pad)]
        return [windows.reduce(emitter, reads, self.y.type, "maximum", widen)]

    def numpy(self, x: Any) -> Any:
        total = np.full(self.windows.result_shape, -inf, x.dtype)
        for part in self.windows.parts(x, -inf):
            total = extrema.maximum(total, part)
        return total


class AvgPoolOp(AverageWindowOp, PoolOp):
    """The mean of each window."""

    def vjp(self, ct: Value, y: Value, x: Value) -> Cotangents:
        return [AVG_POOL_BACKWARD_OPS[self.SPATIAL].on(ct, type=x.type, **self.settings)]

    def lower(self, emitter: Emitter, operands: Sequence[SSAValue]) -> Sequence[SSAValue]:
        windows, element = self.windows, element_of(self.x.type)
        wide = b.compute_type(element)
        pad = pad_value(0, element) if windows.has_padding else None

        def widen(x: Scalar) -> Scalar:
            return b.to_compute(x, element)

        reads = [Read(operands[0], windows.covered, pad)]
        type_ = tensor(windows.result_shape, wide)
        total = windows.reduce(emitter, reads, type_, "add", widen)
        return [self.divided(emitter, total, self.y.type)]

    def numpy(self, x: Any) -> Any:
        return sum(self.windows.parts(x, 0)) / self.divisor(x.dtype)


@irdl_op_definition
class MaxPool1dOp(MaxPoolOp):
    """The largest element of each window of x [N, C, L]; nan where one is nan.

    `kernel`, `stride` (the kernel's where absent), `padding` (one number, or [low, high]),
    `dilation`, `ceil_mode = false`, `layout`; x may lack N. Windows start at stride * o - padding;
    padding counts as -inf, and is at most half of the dilated kernel's extent. The number of
    windows is rounded down, or up with `ceil_mode`, but none starts behind x.
    vjp: ct to the first largest element of its window (to the last nan)
    """

    name = "nn.max_pool1d"
    SPATIAL: ClassVar[int] = 1


@irdl_op_definition
class MaxPool2dOp(MaxPoolOp):
    """The largest element of each window of x [N, C, H, W], or [N, H, W, C] in `layout = "NHWC"`.

    As nn.max_pool1d; a list has one entry per axis, and one number stands for all; `padding` is
    [h, w] or [top, left, bottom, right].
    vjp: ct to the first largest element of its window in row-major order (to the last nan)
    """

    name = "nn.max_pool2d"
    SPATIAL: ClassVar[int] = 2


@irdl_op_definition
class MaxPool3dOp(MaxPoolOp):
    """The largest element of each window of x [N, C, D, H, W], as nn.max_pool2d.

    `padding` has three numbers, or three for the front and three for the back.
    vjp: ct to the first largest element of its window in row-major order (to the last nan)
    """

    name = "nn.max_pool3d"
    SPATIAL: ClassVar[int] = 3


@irdl_op_definition
class AvgPool1dOp(AvgPoolOp):
    """The mean of each window of x [N, C, L]; attributes as of nn.max_pool1d, without dilation.

    With `count_include_pad = true`, the default, a window is divided by the number of its places in
    the padded x; else by that in x. vjp: grad.avg_pool1d_backward(ct)
    """

    name = "nn.avg_pool1d"
    SPATIAL: ClassVar[int] = 1


@irdl_op_definition
class AvgPool2dOp(AvgPoolOp):
    """The mean of each window of x [N, C, H, W], or [N, H, W, C] in `layout = "NHWC"`.

    Attributes as of nn.avg_pool1d and nn.max_pool2d. vjp: grad.avg_pool2d_backward(ct)
    """

    name = "nn.avg_pool2d"
    SPATIAL: ClassVar[int] = 2


@irdl_op_definition
class AvgPool3dOp(AvgPoolOp):
    """The mean of each window of x [N, C, D, H, W], or of "NHWC" with the channels last.

    Attributes as of nn.avg_pool1d and nn.max_pool3d. vjp: grad.avg_pool3d_backward(ct)
    """

    name = "nn.avg_pool3d"
    SPATIAL: ClassVar[int] = 3


MAX_POOL_LAYER_OPS: dict[int, type[MaxPoolOp]] = {
    op.SPATIAL: op for op in (MaxPool1dOp, MaxPool2dOp, MaxPool3dOp)
}
"""By the number of spatial axes, as AVG_POOL_OPS; MAX_POOL_OPS are what their derivative needs."""
AVG_POOL_OPS: dict[int, type[AvgPoolOp]] = {
    op.SPATIAL: op for op in (AvgPool1dOp, AvgPool2dOp, AvgPool3dOp)
}


@irdl_op_definition
class AdaptiveAvgPool2dOp(ResampleForwardOp):
    """The means of `size` windows that together cover x [N, C, H, W].

    Window i of m along an axis of n covers [floor(i * n / m), ceil((i + 1) * n / m)). x may lack
    N, and is [N, H, W, C] in `layout = "NHWC"`. vjp: grad.adaptive_avg_pool2d_backward(ct)
    """

    name = "nn.adaptive_avg_pool2d"

    def rows(self, extent: int, size: int) -> WeightRows:
        return adaptive_rows(extent, size)

    def vjp(self, ct: Value, y: Value, x: Value) -> Cotangents:
        return [AdaptiveAvgPool2dBackwardOp.on(ct, type=x.type, **self.attributes)]

    def lower(self, emitter: Emitter, operands: Sequence[SSAValue]) -> Sequence[SSAValue]:
        shape, result = shape_of(self.x.type), shape_of(self.y.type)
        axes = spatial_axes(self.attributes, len(shape), 2)
        if any(shape[a] % result[a] for a in axes):
            return super().lower(emitter, operands)
        # windows that do not overlap are read in a row
        kernel, none = tuple(shape[a] // result[a] for a in axes), (0,) * len(axes)
        windows = Windows(shape, axes, kernel, kernel, none, none, (1,) * len(axes), False)
        element, count = element_of(self.x.type), prod(kernel)

        def widen(x: Scalar) -> Scalar:
            return b.to_compute(x, element)

        def mean(total: Scalar) -> Scalar:
            return total / count

        sums = tensor(result, b.compute_type(element))
        reads = [Read(operands[0], windows.covered)]
        total = windows.reduce(emitter, reads, sums, "add", widen)
        return elementwise(emitter, self.y.type, [total], mean)


OPS: tuple[type[TensorOp], ...] = (
    MaxPool1dOp, MaxPool2dOp, MaxPool3dOp, AvgPool1dOp, AvgPool2dOp, AvgPool3dOp,
    AdaptiveAvgPool2dOp,
)  # fmt: skip
