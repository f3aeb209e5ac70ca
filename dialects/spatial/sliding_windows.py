"""Sliding windows over the spatial axes of a tensor: geometry and nests.

A nest over windows has one dimension per axis of the pooled tensor and one per axis of the
kernel. The innermost one is an axis of the tensor, so that a vector holds neighbours; where
windows lie far apart it is an axis of the kernel.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod
from typing import Any

from xdsl.dialects.builtin import i32
from xdsl.ir import Attribute, SSAValue
from xdsl.utils.exceptions import VerifyException

from gradir.dialects.base.access import Access, Row, dim_row
from gradir.dialects.base.attributes import Attributes, flag, integers, text
from gradir.dialects.base.lazy_numpy import np
from gradir.dialects.base.once import once
from gradir.dialects.base.shapes import DYNAMIC, shape_of
from gradir.dialects.base.value import Emitter, Scalar
from gradir.dialects.building import body as b
from gradir.dialects.building.nests import Body, Read, nest
from gradir.dialects.loopnest.loopnest import Output

LAYOUTS = ("NCHW", "NHWC")
# From this stride and kernel extent on, neighbouring windows share too few cache lines for vectors.
FAR = 5
WINDOW_ATTRIBUTES = ("kernel", "stride", "padding", "ceil_mode", "layout")


@dataclass(frozen=True)
class Windows:
    """Window o along spatial axis a covers the places stride * o - low + dilation * k of it."""

    shape: tuple[int, ...]
    axes: tuple[int, ...]
    kernel: tuple[int, ...]
    stride: tuple[int, ...]
    low: tuple[int, ...]
    high: tuple[int, ...]
    dilation: tuple[int, ...]
    ceil_mode: bool

    @staticmethod
    def of(x: Attribute, attributes: Attributes, spatial: int) -> Windows:
        """The windows that attributes describe; VerifyException where there are none."""
        shape = shape_of(x)
        if len(shape) not in (spatial + 1, spatial + 2):
            raise VerifyException(
                f"x must have {spatial} spatial axes, a channel axis and at most one batch axis, "
                f"got {x}"
            )
        kernel = _entries(attributes, "kernel", spatial, None, least=1)
        low, high = _paddings(attributes, spatial)
        windows = Windows(
            shape,
            spatial_axes(attributes, len(shape), spatial),
            kernel,
            _entries(attributes, "stride", spatial, kernel, least=1),
            low,
            high,
            _entries(attributes, "dilation", spatial, (1,) * spatial, least=1),
            flag(attributes, "ceil_mode", False),
        )
        windows.check(x)
        return windows

    def check(self, x: Attribute) -> None:
        """VerifyException for an axis without a window, or for a window in the padding alone."""
        rows = zip(self.axes, self.reach, self.low, self.high, self.sizes, strict=True)
        for axis, reach, low, high, size in rows:
            extent = self.shape[axis]
            if 2 * max(low, high) > reach:
                raise VerifyException(
                    f"padding must be at most half of the kernel's reach {reach}, "
                    f"got {max(low, high)}"
                )
            if extent == 0 or (extent != DYNAMIC and size < 1):
                raise VerifyException(
                    f"the kernel must fit into the padded axis {axis} of {x}, got a reach of "
                    f"{reach} for {extent + low + high}"
                )
        if prod(max(self.shape[a], 0) for a in self.axes) >= 1 << 31:
            raise VerifyException(f"there must be less than 2**31 places a channel, got {x}")

    @once
    def reach(self) -> tuple[int, ...]:
        """The extent of the dilated kernel along each axis."""
        return tuple((k - 1) * d + 1 for k, d in zip(self.kernel, self.dilation, strict=True))

    @once
    def sizes(self) -> tuple[int, ...]:
        """The number of windows along each spatial axis."""
        return tuple(map(self._size, range(len(self.axes))))

    def _size(self, k: int) -> int:
        extent, stride = self.shape[self.axes[k]], self.stride[k]
        if extent == DYNAMIC:
            return DYNAMIC
        room = extent + self.low[k] + self.high[k] - self.reach[k]
        if not self.ceil_mode:
            return room // stride + 1
        size = -(-room // stride) + 1
        # no window begins in the padding at the end
        return size - int((size - 1) * stride >= extent + self.low[k])

    @once
    def result_shape(self) -> tuple[int, ...]:
        shape = list(self.shape)
        for axis, size in zip(self.axes, self.sizes, strict=True):
            shape[axis] = size
        return tuple(shape)

    @property
    def has_padding(self) -> bool:
        """Whether some window reaches out of the tensor."""
        last = [
            (n - 1) * s - low + reach - 1
            for n, s, low, reach in zip(self.sizes, self.stride, self.low, self.reach, strict=True)
        ]
        ends = [self.shape[a] for a in self.axes]
        return any(self.low) or any(p >= n for p, n in zip(last, ends, strict=True))

    # Nests.

    @property
    def _places_before_kernel(self) -> int:
        """The number of the tensor's dimensions before the kernel's dimensions in a nest."""
        rank = len(self.shape)
        far = self.stride[-1] >= FAR and self.kernel[-1] >= FAR
        return rank if far and self.axes[-1] == rank - 1 else rank - 1

    @once
    def tensor_dims(self) -> tuple[int, ...]:
        """The nest dimension of each axis of the tensor."""
        before = self._places_before_kernel
        return tuple(d if d < before else d + len(self.axes) for d in range(len(self.shape)))

    @once
    def kernel_dims(self) -> tuple[int, ...]:
        """The nest dimension of each axis of the kernel."""
        before = self._places_before_kernel
        return tuple(range(before, before + len(self.axes)))

    def bounds(self, shape: Sequence[int]) -> list[int]:
        """The bounds of a nest over a tensor of `shape` and over the kernel."""
        before = self._places_before_kernel
        return [*shape[:before], *self.kernel, *shape[before:]]

    @property
    def num_dims(self) -> int:
        return len(self.shape) + len(self.axes)

    @property
    def in_place(self) -> Access:
        """The access to an element for each tensor axis, the same for the whole kernel."""
        return Access.of_dims(self.num_dims, self.tensor_dims)

    @property
    def covered(self) -> Access:
        """The places of the pooled tensor, where the tensor dimensions count windows."""
        return self._moved(self.stride, self.dilation, [-low for low in self.low])

    @property
    def covering(self) -> Access:
        """The windows of stride 1 over a place, where the tensor dimensions count places."""
        return self._moved([1] * len(self.axes), [-d for d in self.dilation], self.low)

    def _moved(self, outer: Sequence[int], inner: Sequence[int], start: Sequence[int]) -> Access:
        """`outer * tensor dimension + inner * kernel dimension + start` along each spatial axis."""
        rows = [dim_row(self.num_dims, d) for d in self.tensor_dims]
        for k, axis in enumerate(self.axes):
            coefficients = [0] * self.num_dims
            coefficients[self.tensor_dims[axis]] = outer[k]
            coefficients[self.kernel_dims[k]] = inner[k]
            rows[axis] = Row(tuple(coefficients), start[k])
        return Access(self.num_dims, tuple(rows))

    def reduce(
        self, emitter: Emitter, reads: Sequence[Read], type_: Attribute, combiner: str, body: Body
    ) -> SSAValue:
        """A nest with one element per window, or per place, from all entries of the kernel."""
        bounds = self.bounds(shape_of(type_))
        return nest(emitter, bounds, reads, [Output(type_, self.in_place, combiner)], body)[0]

    def place(self, near: Scalar, access: Access) -> Scalar:
        """The row-major number, over the spatial axes, of the place that a nest reads."""
        total, size = b.literal(near, 0, i32), 1
        for axis in reversed(self.axes):
            row = access.rows[axis]
            at = b.literal(near, row.constant, i32)
            for d in row.used:
                step = b.literal(near, row.coefficients[d], i32)
                at = at + b.cast(b.index(near, d), i32) * step
            total = total + at * b.literal(near, size, i32)
            size *= self.shape[axis]
        return total

    # On NumPy arrays.

    def parts(self, x: Any, other: float) -> Iterator[Any]:
        """For each entry of the kernel, the windows' elements there; `other` in the padding."""
        widths = [(0, 0)] * x.ndim
        for k, axis in enumerate(self.axes):
            end = (self.sizes[k] - 1) * self.stride[k] - self.low[k] + self.reach[k]
            widths[axis] = (self.low[k], max(0, end - x.shape[axis]))
        padded = np.pad(x, widths, constant_values=other)
        for entry in product(*map(range, self.kernel)):
            yield padded[self._strided(entry)]

    def _strided(self, entry: Sequence[int]) -> tuple[slice, ...]:
        """The slice of the padded tensor under one entry of the kernel."""
        cut = [slice(None)] * len(self.shape)
        for k, axis in enumerate(self.axes):
            first = entry[k] * self.dilation[k]
            last = first + (self.sizes[k] - 1) * self.stride[k] + 1
            cut[axis] = slice(first, max(last, first), self.stride[k])
        return tuple(cut)

    def spread(self, parts: Sequence[Any]) -> Any:
        """The transpose of `parts`: adds the windows' elements at each entry to their places."""
        ends = {
            axis: max(n + low, (m - 1) * s + reach)
            for axis, n, low, m, s, reach in zip(
                self.axes, (self.shape[a] for a in self.axes), self.low, self.sizes, self.stride,
                self.reach, strict=True,
            )
        }  # fmt: skip
        total = np.zeros([ends.get(d, n) for d, n in enumerate(self.shape)], parts[0].dtype)
        for entry, part in zip(product(*map(range, self.kernel)), parts, strict=True):
            total[self._strided(entry)] += part
        cut = [slice(None)] * len(self.shape)
        for axis, low in zip(self.axes, self.low, strict=True):
            cut[axis] = slice(low, low + self.shape[axis])
        return total[tuple(cut)]

    def places(self) -> Any:
        """The row-major place of each element of the pooled tensor, in NumPy."""
        extents = [self.shape[a] for a in self.axes]
        line = [self.shape[d] if d in self.axes else 1 for d in range(len(self.shape))]
        counts = np.arange(prod(extents), dtype="int32").reshape(line)
        return np.broadcast_to(counts, self.shape)


def spatial_axes(attributes: Attributes, rank: int, spatial: int) -> tuple[int, ...]:
    """The spatial axes: the last ones in the layout NCHW, those before the channels in NHWC."""
    last = rank if text(attributes, "layout", "NCHW", LAYOUTS) == "NCHW" else rank - 1
    return tuple(range(last - spatial, last))


def _entries(
    attributes: Attributes, name: str, count: int, default: Sequence[int] | None, least: int
) -> tuple[int, ...]:
    """One number for each spatial axis; a single one stands for all."""
    values = integers(attributes, name, default)
    if values is None:
        raise VerifyException(f"{name} must be {count} integers, got nothing")
    values = values * count if len(values) == 1 else values
    if len(values) != count or any(v < least for v in values):
        raise VerifyException(f"{name} must be {count} integers >= {least}, got {values}")
    return tuple(values)


def _paddings(attributes: Attributes, count: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Before and after each spatial axis: `[h, w]`, or `[top, left, bottom, right]`."""
    values = integers(attributes, "padding", [0]) or []
    values = values * count if len(values) == 1 else values
    if len(values) not in (count, 2 * count) or any(v < 0 for v in values):
        raise VerifyException(f"padding must be {count} or {2 * count} integers >= 0, got {values}")
    return tuple(values[:count]), tuple(values[-count:])
