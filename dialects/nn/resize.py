"""nn: images of other sizes, with PyTorch's semantics."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from xdsl.irdl import irdl_op_definition, operand_def, result_def, traits_def
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from gradir.dialects.array.batch_axis import vmap_of_batch
from gradir.dialects.array.movement import PermuteDimsOp, inverse, reshaped
from gradir.dialects.base.attributes import Attributes, Types, integer, text
from gradir.dialects.base.batch import Batch
from gradir.dialects.base.interfaces import Cotangents, TensorOp
from gradir.dialects.base.shapes import DYNAMIC, element_of, extent_product, shape_of, tensor
from gradir.dialects.base.value import Value
from gradir.dialects.spatial.resampling import (
    MODES,
    ResampleForwardOp,
    ResampleOp,
    Resize2dBackwardOp,
    WeightRows,
    resize_rows,
)


@irdl_op_definition
class Resize2dOp(ResampleForwardOp):
    """x [N, C, H, W], or [N, H, W, C] in `layout = "NHWC"`, with the spatial extents `size`.

    x may lack N. `mode = "nearest"` takes the element at floor(i * H / size), "bilinear" mixes two
    neighbours along each axis at (i + 0.5) * H / size - 0.5: PyTorch's `interpolate` with
    `align_corners = False`. vjp: grad.resize2d_backward(ct)
    """

    name = "nn.resize2d"
    ATTRIBUTES: ClassVar[tuple[str, ...]] = ("mode", *ResampleOp.ATTRIBUTES)

    @classmethod
    def infer_types(cls, operands: Types, attributes: Attributes) -> Types:
        text(attributes, "mode", "nearest", MODES)
        return super().infer_types(operands, attributes)

    def rows(self, extent: int, size: int) -> WeightRows:
        return resize_rows(text(self.attributes, "mode", "nearest", MODES), extent, size)

    def vjp(self, ct: Value, y: Value, x: Value) -> Cotangents:
        return [Resize2dBackwardOp.on(ct, type=x.type, **self.attributes)]


@irdl_op_definition
class PixelShuffleOp(TensorOp):
    """x [..., C * r * r, H, W] as [..., C, H * r, W * r], r = `factor`.

    y[..., c, h * r + i, w * r + j] = x[..., (c * r + i) * r + j, h, w].
    vjp: the same elements of ct moved back
    """

    name = "nn.pixel_shuffle"
    COMPLEX: ClassVar[bool] = True
    ATTRIBUTES: ClassVar[tuple[str, ...]] = ("factor",)

    x = operand_def()
    y = result_def()
    traits = traits_def(Pure())

    @classmethod
    def infer_types(cls, operands: Types, attributes: Attributes) -> Types:
        shape, r = shape_of(operands[0]), integer(attributes, "factor")
        if r < 1:
            raise VerifyException(f"factor must be >= 1, got {r}")
        if len(shape) < 3:
            raise VerifyException(f"x must have channels and two spatial axes, got {operands[0]}")
        *batch, channels, height, width = shape
        if channels != DYNAMIC:
            if channels % (r * r):
                raise VerifyException(
                    f"channels must be a multiple of factor * factor = {r * r}, got {operands[0]}"
                )
            channels //= r * r
        result = [*batch, channels, extent_product(height, r), extent_product(width, r)]
        return [tensor(result, element_of(operands[0]))]

    @property
    def factor(self) -> int:
        return integer(self.attributes, "factor")

    @property
    def _split(self) -> list[int]:
        """[..., C, r, r, H, W]"""
        r, (*batch, channels, height, width) = self.factor, shape_of(self.x.type)
        return [*batch, channels // (r * r), r, r, height, width]

    @property
    def _axes(self) -> list[int]:
        """The order [..., C, H, r, W, r] of the axes of `_split`."""
        first = len(shape_of(self.x.type)) - 2
        return [*range(first), first + 2, first, first + 3, first + 1]

    def vmap(self, batch: Batch) -> Sequence[Value] | None:
        return vmap_of_batch(batch)

    def decompose(self, x: Value) -> Value:
        moved = PermuteDimsOp.on(reshaped(x, self._split), axes=self._axes)
        return reshaped(moved, shape_of(self.y.type))

    def vjp(self, ct: Value, y: Value, x: Value) -> Cotangents:
        split, axes = self._split, self._axes
        moved = reshaped(ct, [split[a] for a in axes])
        return [reshaped(PermuteDimsOp.on(moved, axes=inverse(axes)), x.shape)]

    def numpy(self, x: Any) -> Any:
        return x.reshape(self._split).transpose(self._axes).reshape(shape_of(self.y.type))


OPS: tuple[type[TensorOp], ...] = (Resize2dOp, PixelShuffleOp)
