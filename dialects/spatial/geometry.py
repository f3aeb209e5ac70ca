"""The geometry of convolutions: stride, padding, dilation, groups and layout of any rank.

Inside, an image is (N, C, spatial...) and a weight (O, I, kernel...), whatever the layout; I is the
number of input channels of one group.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

from xdsl.ir import Attribute
from xdsl.utils.exceptions import VerifyException

from gradir.dialects.base.attributes import Attributes, integer, integers, text
from gradir.dialects.base.lazy_numpy import np
from gradir.dialects.base.shapes import DYNAMIC, compatible, shape_of

LAYOUTS = ("NCHW", "NHWC")

Shape = tuple[int, ...]


@dataclass(frozen=True)
class Window:
    """The attributes of a convolution over `dims` spatial dimensions."""

    stride: Shape
    low: Shape
    high: Shape
    dilation: Shape
    groups: int
    channels_last: bool

    @property
    def dims(self) -> int:
        return len(self.stride)

    # Between the layout and (N, C, spatial...), (O, I, kernel...).

    def image(self, shape: Sequence[int]) -> Shape:
        """(N, C, spatial...) of an image's shape."""
        n, *rest = shape
        return (n, rest[-1], *rest[:-1]) if self.channels_last else tuple(shape)

    def weight(self, shape: Sequence[int]) -> Shape:
        """(O, I, kernel...) of a weight's shape."""
        *kernel, i, o = shape
        return (o, i, *kernel) if self.channels_last else tuple(shape)

    def as_image(self, n: int, c: int, spatial: Sequence[int]) -> Shape:
        """The shape of an image in the layout."""
        return (n, *spatial, c) if self.channels_last else (n, c, *spatial)

    @property
    def channel_axis(self) -> int:
        """The axis of the channels of an image."""
        return self.dims + 1 if self.channels_last else 1

    @property
    def weight_axes(self) -> list[int]:
        """Where the axes (O, I, kernel...) of a weight lie in its layout."""
        d = self.dims
        return [d + 1, d, *range(d)] if self.channels_last else list(range(d + 2))

    @property
    def image_axes(self) -> list[int]:
        """Where the axes (N, C, spatial...) of an image lie in its layout."""
        d = self.dims
        return [0, d + 1, *range(1, d + 1)] if self.channels_last else list(range(d + 2))

    # Shapes.

    def reach(self, kernel: Sequence[int]) -> Shape:
        """The extents of the dilated kernel."""
        return tuple(d * (k - 1) + 1 for d, k in zip(self.dilation, kernel, strict=True))

    def convolved(self, image: Attribute, weight: Attribute) -> Shape:
        """The result's shape in the layout; VerifyException where the operands do not fit."""
        shapes = shape_of(image), shape_of(weight)
        rank = self.dims + 2
        if any(len(shape) != rank for shape in shapes):
            raise VerifyException(f"x and weight must have rank {rank}, got {image} and {weight}")
        n, channels, *spatial = self.image(shapes[0])
        o, i, *kernel = self.weight(shapes[1])
        if DYNAMIC not in (channels, i) and channels != i * self.groups:
            raise VerifyException(
                f"x must have {i} * {self.groups} channels (those of weight times groups), "
                f"got {channels}"
            )
        if o != DYNAMIC and o % self.groups:
            raise VerifyException(
                f"the output channels of weight must divide by groups, got {o} and {self.groups}"
            )
        if 0 in kernel:
            raise VerifyException(f"the kernel must not be empty, got {weight}")
        rows = zip(spatial, kernel, self.stride, self.low, self.high, self.dilation, strict=True)
        return self.as_image(n, o, [_convolved(*row) for row in rows])

    def transposed_size(self, image: Sequence[int], kernel: Sequence[int]) -> list[int]:
        """The smallest spatial extents that a convolution maps to the extents `image`."""
        rows = zip(image, self.stride, self.low, self.high, self.reach(kernel), strict=True)
        return [(n - 1) * s - low - high + reach for n, s, low, high, reach in rows]


def _convolved(n: int, k: int, stride: int, low: int, high: int, dilation: int) -> int:
    if DYNAMIC in (n, k):
        return DYNAMIC
    reach, padded = dilation * (k - 1) + 1, n + low + high
    if reach > padded:
        raise VerifyException(
            f"the kernel must fit into the padded input, got {reach} elements into {padded}"
        )
    return (padded - reach) // stride + 1


def window(attributes: Attributes, dims: int) -> Window:
    """The window that the attributes describe."""
    padding = integers(attributes, "padding", [0]) or []
    if len(padding) not in (1, dims, 2 * dims) or any(p < 0 for p in padding):
        counts = "1 or 2" if dims == 1 else f"1, {dims} or {2 * dims}"
        raise VerifyException(f"padding must be {counts} numbers >= 0, got {list(padding)}")
    if len(padding) == 1:
        padding *= dims
    groups = integer(attributes, "groups", 1)
    if groups < 1:
        raise VerifyException(f"groups must be >= 1, got {groups}")
    return Window(
        _sizes(attributes, "stride", dims),
        tuple(padding[:dims]),
        tuple(padding[-dims:]),
        _sizes(attributes, "dilation", dims),
        groups,
        text(attributes, "layout", "NCHW", LAYOUTS) == "NHWC",
    )


def _sizes(attributes: Attributes, name: str, dims: int) -> Shape:
    """One number for each dimension; one alone stands for all."""
    return spatial_numbers(attributes, name, dims, 1, 1)


def spatial_numbers(
    attributes: Attributes, name: str, dims: int, default: int, lowest: int
) -> Shape:
    """One number for each spatial dimension; one alone stands for all."""
    found = integers(attributes, name, [default]) or []
    if len(found) not in (1, dims) or any(v < lowest for v in found):
        wanted = "1 number" if dims == 1 else f"1 or {dims} numbers"
        raise VerifyException(f"{name} must be {wanted} >= {lowest}, got {list(found)}")
    return tuple(found if len(found) == dims else found * dims)


def require_shape(given: Attribute, wanted: Sequence[int], what: str) -> None:
    """VerifyException where a type's shape cannot be `wanted`."""
    if not compatible(shape_of(given), wanted):
        text_of = "x".join("?" if n == DYNAMIC else str(n) for n in wanted)
        raise VerifyException(f"{what} must have the shape {text_of}, got {given}")


# On NumPy arrays: one product of matrices for each element of the kernel.


class Taps:
    """A convolution's operands as NumPy views with groups apart: (N, G, C, ...), (G, O, I, ...)."""

    def __init__(self, window: Window):
        self.window = window

    def images(self, x: Any) -> Any:
        n, c, *spatial = (x.shape[a] for a in self.window.image_axes)
        groups = self.window.groups
        return x.transpose(self.window.image_axes).reshape(n, groups, c // groups, *spatial)

    def weights(self, w: Any) -> Any:
        o, i, *kernel = (w.shape[a] for a in self.window.weight_axes)
        groups = self.window.groups
        return w.transpose(self.window.weight_axes).reshape(groups, o // groups, i, *kernel)

    def padded(self, x: Any) -> Any:
        w = self.window
        return np.pad(x, [(0, 0)] * 3 + list(zip(w.low, w.high, strict=True)))

    def places(self, kernel: Sequence[int], spatial: Sequence[int]) -> Any:
        """Each element of the kernel, and the slice of its inputs in the padded image."""
        for tap in product(*map(range, kernel)):
            rows = zip(tap, self.window.dilation, self.window.stride, spatial, strict=True)
            inputs = tuple(slice(k * d, k * d + (n - 1) * s + 1, s) for k, d, s, n in rows)
            # no output: no inputs
            empty = 0 in spatial
            yield tap, tuple(slice(0, 0) for _ in spatial) if empty else inputs

    def image_result(self, y: Any) -> Any:
        """(N, G, O, ...) in the layout."""
        flat = y.reshape(y.shape[0], y.shape[1] * y.shape[2], *y.shape[3:])
        return flat.transpose(np.argsort(self.window.image_axes))

    def weight_result(self, w: Any) -> Any:
        """(G, O, I, ...) in the layout."""
        flat = w.reshape(w.shape[0] * w.shape[1], *w.shape[2:])
        return flat.transpose(np.argsort(self.window.weight_axes))
