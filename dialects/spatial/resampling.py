"""Separable linear maps between images of different sizes, and their transposes (`grad.*`).

Along one axis the map is a matrix with few entries per row: `resize_rows`, `adaptive_rows`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar

from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import irdl_op_definition, operand_def, result_def, traits_def
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from gradir.dialects.array.batch_axis import vmap_of_batches
from gradir.dialects.base.attributes import Attributes, Types, integers, text
from gradir.dialects.base.batch import Batch
from gradir.dialects.base.interfaces import Cotangents, TensorOp
from gradir.dialects.base.lazy_numpy import np
from gradir.dialects.base.shapes import compatible, element_of, shape_of, tensor
from gradir.dialects.base.value import Emitter, Value
from gradir.dialects.building.kinds import require_elements
from gradir.dialects.spatial.banded_maps import Band, apply_numpy, banded, transposed_rows
from gradir.dialects.spatial.sliding_windows import spatial_axes

MODES = ("nearest", "bilinear")
WeightRows = list[dict[int, float]]


class ResampleOp(TensorOp, ABC):
    """A map along the two spatial axes of x [N, C, H, W], or without N, to the extents `size`."""

    ATTRIBUTES: ClassVar[tuple[str, ...]] = ("size", "layout")
    traits = traits_def(Pure())

    @abstractmethod
    def rows(self, extent: int, size: int) -> WeightRows:
        """The entries of the matrix from an axis of `extent` to one of `size`."""

    @classmethod
    def resampled(cls, x: Attribute, attributes: Attributes) -> Attribute:
        """The type of the forward map's result."""
        require_elements(x, "float")
        shape = list(shape_of(x))
        if len(shape) not in (3, 4):
            raise VerifyException(
                f"x must have two spatial axes, a channel axis and at most one batch axis, got {x}"
            )
        size = _size(attributes)
        for axis, extent in zip(spatial_axes(attributes, len(shape), 2), size, strict=True):
            if shape[axis] == 0:
                raise VerifyException(f"the spatial axes must not be empty, got {x}")
            shape[axis] = extent
        return tensor(shape, element_of(x))

    def image_bands(self, images: Attribute, transposed: bool) -> dict[int, Band]:
        """The matrices along the spatial axes of the forward map's operand, or their transposes."""
        shape, bands = shape_of(images), dict[int, Band]()
        axes = spatial_axes(self.attributes, len(shape), 2)
        for axis, size in zip(axes, _size(self.attributes), strict=True):
            rows = self.rows(shape[axis], size)
            if transposed:
                bands[axis] = Band.of_rows(transposed_rows(rows, shape[axis]), size)
            else:
                bands[axis] = Band.of_rows(rows, shape[axis])
        return bands

    def bands(self) -> dict[int, Band]:
        """The op's band along each axis."""
        raise NotImplementedError

    def vmap(self, batch: Batch) -> Sequence[Value] | None:
        """An image without a batch is one of a batch of rows."""
        if batch.operand_rank(0) == 4:
            return vmap_of_batches(batch)
        return batch.in_front() if "layout" not in self.attributes else None

    def lower(self, emitter: Emitter, operands: Sequence[SSAValue]) -> Sequence[SSAValue]:
        return banded(emitter, self.results[0].type, operands[0], self.bands())

    def numpy(self, x: Any) -> Any:
        return apply_numpy(x, self.bands())


def _size(attributes: Attributes) -> list[int]:
    values = integers(attributes, "size", None)
    if values is None:
        raise VerifyException("size must be 2 integers, got nothing")
    values = values * 2 if len(values) == 1 else values
    if len(values) != 2 or any(v < 1 for v in values):
        raise VerifyException(f"size must be 2 integers >= 1, got {values}")
    return values


class ResampleForwardOp(ResampleOp):
    """From x to the extents `size`."""

    x = operand_def()
    y = result_def()

    @classmethod
    def infer_types(cls, operands: Types, attributes: Attributes) -> Types:
        return [cls.resampled(operands[0], attributes)]

    def bands(self) -> dict[int, Band]:
        return self.image_bands(self.x.type, transposed=False)


class ResampleBackwardOp(ResampleOp):
    """The transpose, to the type of the result."""

    ct = operand_def()
    y = result_def()

    def verify_types(self) -> None:
        wanted = self.resampled(self.y.type, self.attributes)
        found = self.ct.type
        if not compatible(shape_of(found), shape_of(wanted)) or element_of(found) != element_of(
            wanted
        ):
            raise VerifyException(f"ct must be {wanted}, got {found}")

    def bands(self) -> dict[int, Band]:
        return self.image_bands(self.y.type, transposed=True)


def adaptive_rows(extent: int, size: int) -> WeightRows:
    """Row i is the mean over [floor(i * extent / size), ceil((i + 1) * extent / size))."""
    ranges = [range(i * extent // size, -(-(i + 1) * extent // size)) for i in range(size)]
    return [{place: 1 / len(one) for place in one} for one in ranges]


def resize_rows(mode: str, extent: int, size: int) -> WeightRows:
    """The rows of PyTorch's `interpolate`, with `align_corners = False`."""
    if mode == "nearest":
        # PyTorch's scale is a float32, which decides between two neighbours
        scale = np.float32(extent) / np.float32(size)
        places = [int(np.float32(i) * scale) for i in range(size)]
        return [{min(place, extent - 1): 1.0} for place in places]
    rows: WeightRows = []
    for i in range(size):
        at = max((i + 0.5) * extent / size - 0.5, 0.0)
        place = min(int(at), extent - 1)
        part = at - place
        rows.append({place: 1.0 - part, place + 1: part} if place + 1 < extent else {place: 1.0})
    return rows


@irdl_op_definition
class Resize2dBackwardOp(ResampleBackwardOp):
    """The transpose of nn.resize2d, of the result's type.   vjp: resize2d(ct')"""

    name = "grad.resize2d_backward"
    ATTRIBUTES: ClassVar[tuple[str, ...]] = ("mode", *ResampleOp.ATTRIBUTES)

    def verify_types(self) -> None:
        super().verify_types()
        text(self.attributes, "mode", "nearest", MODES)

    def rows(self, extent: int, size: int) -> WeightRows:
        return resize_rows(text(self.attributes, "mode", "nearest", MODES), extent, size)

    def vjp(self, ct: Value, y: Value, inner: Value) -> Cotangents:
        from gradir.dialects.nn.resize import Resize2dOp

        return [Resize2dOp.on(ct, **self.attributes)]


@irdl_op_definition
class AdaptiveAvgPool2dBackwardOp(ResampleBackwardOp):
    """The transpose of nn.adaptive_avg_pool2d, of the result's type.

    vjp: adaptive_avg_pool2d(ct')
    """

    name = "grad.adaptive_avg_pool2d_backward"

    def rows(self, extent: int, size: int) -> WeightRows:
        return adaptive_rows(extent, size)

    def vjp(self, ct: Value, y: Value, inner: Value) -> Cotangents:
        from gradir.dialects.nn.pools import AdaptiveAvgPool2dOp

        return [AdaptiveAvgPool2dOp.on(ct, **self.attributes)]


OPS: tuple[type[TensorOp], ...] = (Resize2dBackwardOp, AdaptiveAvgPool2dBackwardOp)
