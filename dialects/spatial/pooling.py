"""The transposes of the pooling ops (`grad.*`), and their common base with the ops of nn.

Max pooling is linear for a fixed choice of places: `grad.max_pool2d_indices` makes that choice,
`grad.max_pool2d_at` picks by it, and `grad.max_pool2d_backward` is the transpose of that.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from typing import Any, ClassVar

from xdsl.dialects.builtin import IntegerAttr, i32
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import irdl_op_definition, operand_def, result_def, traits_def
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from gradir.dialects.array.batch_axis import vmap_of_batches
from gradir.dialects.array.slicing import pad_value
from gradir.dialects.base.access import Access
from gradir.dialects.base.attributes import Attributes, Types, flag
from gradir.dialects.base.batch import Batch
from gradir.dialects.base.interfaces import Cotangents, TensorOp
from gradir.dialects.base.lazy_numpy import np
from gradir.dialects.base.shapes import compatible, element_of, shape_of, tensor
from gradir.dialects.base.value import Emitter, Scalar, Value
from gradir.dialects.building import body as b
from gradir.dialects.building.kinds import require_elements
from gradir.dialects.building.nests import Read, elementwise, nest, unchanged
from gradir.dialects.loopnest.loopnest import Output
from gradir.dialects.spatial.banded_maps import Band, banded, constant, picked, place_dims
from gradir.dialects.spatial.sliding_windows import WINDOW_ATTRIBUTES, Windows

# The place of an empty window: larger than every place.
NO_PLACE = (1 << 31) - 1


class SlidingWindowOp(TensorOp):
    """Slides windows over the last `SPATIAL` axes of a tensor."""

    SPATIAL: ClassVar[int]
    traits = traits_def(Pure())

    @classmethod
    def windows_of(cls, x: Attribute, attributes: Attributes) -> Windows:
        require_elements(x, "float")
        return Windows.of(x, attributes, cls.SPATIAL)

    @property
    def pooled_type(self) -> Attribute:
        """The type of the tensor under the windows."""
        return self.operands[0].type

    @property
    def windows(self) -> Windows:
        return self.windows_of(self.pooled_type, self.attributes)

    @property
    def settings(self) -> dict[str, Attribute]:
        return {k: v for k, v in self.attributes.items() if k in self.ATTRIBUTES}

    def require(self, name: str, found: Attribute, shape: Sequence[int], element: Attribute):
        """Check an operand's type."""
        if not compatible(shape_of(found), shape) or element_of(found) != element:
            raise VerifyException(f"{name} must be {tensor(shape, element)}, got {found}")

    def vmap(self, batch: Batch) -> Sequence[Value] | None:
        return vmap_of_batches(batch)


class PoolOp(SlidingWindowOp):
    """One element per window, of x's element type."""

    x = operand_def()
    y = result_def()

    @classmethod
    def infer_types(cls, operands: Types, attributes: Attributes) -> Types:
        shape = cls.windows_of(operands[0], attributes).result_shape
        return [tensor(shape, element_of(operands[0]))]


def covering_bands(windows: Windows) -> dict[int, Band]:
    """For each spatial axis, the band of windows over each place."""
    bands: dict[int, Band] = {}
    for k, axis in enumerate(windows.axes):
        stride, reach, dilation = windows.stride[k], windows.reach[k], windows.dilation[k]
        rows: list[dict[int, float]] = []
        for i in range(windows.low[k], windows.low[k] + windows.shape[axis]):
            first = max(0, -(-(i - reach + 1) // stride))
            last = min(windows.sizes[k] - 1, i // stride)
            found = range(first, last + 1)
            rows.append({o: 1.0 for o in found if (i - stride * o) % dilation == 0})
        bands[axis] = Band.of_rows(rows, windows.sizes[k])
    return bands


# Maximum.


class MaxWindowOp(SlidingWindowOp):
    """Attributes of max pooling."""

    ATTRIBUTES: ClassVar[tuple[str, ...]] = (*WINDOW_ATTRIBUTES, "dilation")


class MaxPoolIndicesOp(MaxWindowOp):
    """Where each window of x has y, its maximum: the first such place, or the last nan.

    A place counts in row-major order over the spatial axes, i32.
    """

    INACTIVE: ClassVar[bool] = True

    x = operand_def()
    y = operand_def()
    places = result_def()

    @classmethod
    def infer_types(cls, operands: Types, attributes: Attributes) -> Types:
        return [tensor(cls.windows_of(operands[0], attributes).result_shape, i32)]

    def verify_types(self) -> None:
        self.require("y", self.y.type, self.windows.result_shape, element_of(self.x.type))

    def lower(self, emitter: Emitter, operands: Sequence[SSAValue]) -> Sequence[SSAValue]:
        x, y = operands
        windows, element = self.windows, element_of(x.type)
        # padding is never the maximum, even of -inf
        pads = [pad_value(v, element) for v in (-inf, inf)] if windows.has_padding else [None]
        reads = [Read(y, windows.in_place), *(Read(x, windows.covered, pad) for pad in pads)]

        def code(top: Scalar, *xs: Scalar) -> Scalar:
            place = windows.place(top, windows.covered)
            hit = b.equal(xs[0], top)
            for x in xs[1:]:
                hit = b.logical_and(hit, b.equal(x, top))
            found = b.select(hit, place, b.literal(top, NO_PLACE, i32))
            return b.select(b.unordered(xs[0], xs[0]), _inverted(place), found)

        type_ = self.places.type
        found = windows.reduce(emitter, reads, type_, "minimum", code)

        def decoded(found: Scalar) -> Scalar:
            is_nan = found < b.literal(found, 0, i32)
            return b.select(is_nan, _inverted(found), found)

        return elementwise(emitter, type_, [found], decoded)

    def numpy(self, x: Any, y: Any) -> Any:
        windows = self.windows
        found = np.full(y.shape, NO_PLACE, "int32")
        last = np.full(y.shape, -1, "int32")
        parts = zip(windows.parts(x, -inf), windows.parts(windows.places(), -1), strict=True)
        for values, places in parts:
            hit = (values == y) & (places >= 0)
            found = np.where(hit & (found == NO_PLACE), places, found)
            last = np.where(np.isnan(values), places, last)
        return np.where(last >= 0, last, found)


def _inverted(x: Scalar) -> Scalar:
    """-1 - x: the opposite order, negative numbers."""
    return b.logical_xor(x, b.literal(x, -1, i32))


class MaxPoolAtOp(MaxWindowOp, PoolOp):
    """The element of x at the place of each window; 0 where the window does not cover it."""

    x = operand_def()
    places = operand_def()

    def verify_types(self) -> None:
        self.require("places", self.places.type, self.windows.result_shape, i32)

    def vjp(self, ct: Value, y: Value, x: Value, places: Value) -> Cotangents:
        _, _, backward = MAX_POOL_OPS[self.SPATIAL]
        return [backward.on(ct, places, type=x.type, **self.settings), None]

    def lower(self, emitter: Emitter, operands: Sequence[SSAValue]) -> Sequence[SSAValue]:
        x, places = operands
        windows, element = self.windows, element_of(x.type)
        pad = pad_value(0, element) if windows.has_padding else None

        def pick(place: Scalar, value: Scalar) -> Scalar:
            wide = b.to_compute(value, element)
            hit = b.equal(place, windows.place(place, windows.covered))
            return b.select(hit, wide, b.constant(wide, 0))

        reads = [Read(places, windows.in_place), Read(x, windows.covered, pad)]
        return [windows.reduce(emitter, reads, self.y.type, "add", pick)]

    def numpy(self, x: Any, places: Any) -> Any:
        windows = self.windows
        total = np.zeros(places.shape, x.dtype)
        parts = zip(windows.parts(x, 0), windows.parts(windows.places(), -1), strict=True)
        for values, at in parts:
            total = np.where(at == places, values, total)
        return np.where(places >= 0, total, 0)


class MaxPoolBackwardOp(MaxWindowOp):
    """Zeros of the result's type with ct of each window added at its place."""

    ct = operand_def()
    places = operand_def()
    y = result_def()

    @property
    def pooled_type(self) -> Attribute:
        return self.y.type

    def verify_types(self) -> None:
        shape = self.windows.result_shape
        self.require("ct", self.ct.type, shape, element_of(self.y.type))
        self.require("places", self.places.type, shape, i32)

    def vjp(self, ct: Value, y: Value, inner: Value, places: Value) -> Cotangents:
        _, at, _ = MAX_POOL_OPS[self.SPATIAL]
        return [at.on(ct, places, **self.settings), None]

    def lower(self, emitter: Emitter, operands: Sequence[SSAValue]) -> Sequence[SSAValue]:
        windows, element = self.windows, element_of(self.y.type)
        has_stride = set(windows.stride) != {1}
        dims = place_dims(len(windows.shape), len(windows.axes))
        own = Access.of_dims(windows.num_dims, dims) if has_stride else windows.in_place

        def pick(ct: Scalar, place: Scalar) -> Scalar:
            wide = b.to_compute(ct, element)
            hit = b.equal(place, windows.place(ct, own))
            return b.select(hit, wide, b.constant(wide, 0))

        if not has_stride:
            pads = (pad_value(0, element), IntegerAttr(-1, i32))
            reads = [Read(o, windows.covering, pad) for o, pad in zip(operands, pads, strict=True)]
            return [windows.reduce(emitter, reads, self.y.type, "add", pick)]
        return picked(emitter, self.y.type, operands, covering_bands(windows), pick)

    def numpy(self, ct: Any, places: Any) -> Any:
        windows = self.windows
        at = windows.parts(windows.places(), -1)
        zero = np.zeros((), ct.dtype)
        return windows.spread([np.where((p == places) & (p >= 0), ct, zero) for p in at])


@irdl_op_definition
class MaxPool1dIndicesOp(MaxPoolIndicesOp):
    """Where each window of x has y, its maximum: the first such place, or the last nan.

    y is nn.max_pool1d(x) with the same attributes. A place is i32.
    """

    name = "grad.max_pool1d_indices"
    SPATIAL: ClassVar[int] = 1


@irdl_op_definition
class MaxPool2dIndicesOp(MaxPoolIndicesOp):
    """As grad.max_pool1d_indices, of nn.max_pool2d; a place is row * width + column, i32."""

    name = "grad.max_pool2d_indices"
    SPATIAL: ClassVar[int] = 2


@irdl_op_definition
class MaxPool3dIndicesOp(MaxPoolIndicesOp):
    """As grad.max_pool1d_indices, of nn.max_pool3d; places are in row-major order, i32."""

    name = "grad.max_pool3d_indices"
    SPATIAL: ClassVar[int] = 3


@irdl_op_definition
class MaxPool1dBackwardOp(MaxPoolBackwardOp):
    """Zeros of the result's type with ct of each window added at its place, an i32 number.

    Places outside of their window are dropped. vjp: grad.max_pool1d_at(ct', places)
    """

    name = "grad.max_pool1d_backward"
    SPATIAL: ClassVar[int] = 1


@irdl_op_definition
class MaxPool2dBackwardOp(MaxPoolBackwardOp):
    """As grad.max_pool1d_backward, of nn.max_pool2d.   vjp: grad.max_pool2d_at(ct', places)"""

    name = "grad.max_pool2d_backward"
    SPATIAL: ClassVar[int] = 2


@irdl_op_definition
class MaxPool3dBackwardOp(MaxPoolBackwardOp):
    """As grad.max_pool1d_backward, of nn.max_pool3d.   vjp: grad.max_pool3d_at(ct', places)"""

    name = "grad.max_pool3d_backward"
    SPATIAL: ClassVar[int] = 3


@irdl_op_definition
class MaxPool1dAtOp(MaxPoolAtOp):
    """The element of x at the place of each window; 0 where the window does not cover it.

    vjp: grad.max_pool1d_backward(ct, places)
    """

    name = "grad.max_pool1d_at"
    SPATIAL: ClassVar[int] = 1


@irdl_op_definition
class MaxPool2dAtOp(MaxPoolAtOp):
    """As grad.max_pool1d_at, of nn.max_pool2d.   vjp: grad.max_pool2d_backward(ct, places)"""

    name = "grad.max_pool2d_at"
    SPATIAL: ClassVar[int] = 2


@irdl_op_definition
class MaxPool3dAtOp(MaxPoolAtOp):
    """As grad.max_pool1d_at, of nn.max_pool3d.   vjp: grad.max_pool3d_backward(ct, places)"""

    name = "grad.max_pool3d_at"
    SPATIAL: ClassVar[int] = 3


# For each number of spatial axes: the choice, the pick, and the pick's transpose.
MAX_POOL_OPS: dict[
    int, tuple[type[MaxPoolIndicesOp], type[MaxPoolAtOp], type[MaxPoolBackwardOp]]
] = {
    1: (MaxPool1dIndicesOp, MaxPool1dAtOp, MaxPool1dBackwardOp),
    2: (MaxPool2dIndicesOp, MaxPool2dAtOp, MaxPool2dBackwardOp),
    3: (MaxPool3dIndicesOp, MaxPool3dAtOp, MaxPool3dBackwardOp),
}


# Average.


class AverageWindowOp(SlidingWindowOp):
    """Attributes of average pooling, and the divisors of windows."""

    ATTRIBUTES: ClassVar[tuple[str, ...]] = (*WINDOW_ATTRIBUTES, "count_include_pad")

    @classmethod
    def windows_of(cls, x: Attribute, attributes: Attributes) -> Windows:
        flag(attributes, "count_include_pad", True)
        return super().windows_of(x, attributes)

    @property
    def counts(self) -> list[list[int]]:
        """For each spatial axis, the number of counted places per window."""
        windows, padded = self.windows, flag(self.attributes, "count_include_pad", True)
        result: list[list[int]] = []
        for k, axis in enumerate(windows.axes):
            extent = windows.shape[axis]
            end = extent + windows.high[k] if padded else extent
            starts = [o * windows.stride[k] - windows.low[k] for o in range(windows.sizes[k])]
            first = [s if padded else max(s, 0) for s in starts]
            result.append(
                [min(s + windows.kernel[k], end) - f for s, f in zip(starts, first, strict=True)]
            )
        return result

    def divided(self, emitter: Emitter, x: SSAValue, type_: Attribute) -> SSAValue:
        """The windows' sums divided by their numbers of counted places."""
        windows, element, rank = self.windows, element_of(x.type), len(shape_of(x.type))
        wide = b.compute_type(element)
        reads, factor = [Read(x, Access.identity(rank))], 1
        for axis, counts in zip(windows.axes, self.counts, strict=True):
            if len(set(counts)) > 1:
                table = constant(emitter, _array(counts), wide)
                reads.append(Read(table, Access.of_dims(rank, [axis])))
            else:
                factor *= counts[0] if counts else 1

        def divide(x: Scalar, *counts: Scalar) -> Scalar:
            value = b.to_compute(x, element)
            divisor = b.constant(value, factor)
            for count in counts:
                divisor = divisor * count
            return b.from_compute(value / divisor, element_of(type_))

        output = Output(type_, Access.identity(rank))
        return nest(emitter, shape_of(type_), reads, [output], divide)[0]

    def divisor(self, dtype: Any) -> Any:
        """The divisor of each window, in NumPy."""
        windows, total = self.windows, _array([1]).astype(dtype)
        for axis, counts in zip(windows.axes, self.counts, strict=True):
            line = [-1 if d == axis else 1 for d in range(len(windows.shape))]
            total = total * _array(counts).astype(dtype).reshape(line)
        return total


def _array(values: Sequence[int]) -> Any:
    return np.array(values, "float64")


class AvgPoolBackwardOp(AverageWindowOp):
    """Each place gets the sum over its windows of ct / (counted places of the window)."""

    ct = operand_def()
    y = result_def()

    @property
    def pooled_type(self) -> Attribute:
        return self.y.type

    def verify_types(self) -> None:
        self.require("ct", self.ct.type, self.windows.result_shape, element_of(self.y.type))

    def vjp(self, ct: Value, y: Value, inner: Value) -> Cotangents:
        from gradir.dialects.nn.pools import AVG_POOL_OPS

        return [AVG_POOL_OPS[self.SPATIAL].on(ct, **self.settings)]

    def lower(self, emitter: Emitter, operands: Sequence[SSAValue]) -> Sequence[SSAValue]:
        [ct] = operands
        windows, type_ = self.windows, self.y.type
        wide = b.compute_type(element_of(type_))
        share = self.divided(emitter, ct, tensor(shape_of(ct.type), wide))
        if set(windows.stride) == {1}:
            reads = [Read(share, windows.covering, pad_value(0, wide))]
            return [windows.reduce(emitter, reads, type_, "add", unchanged)]
        return banded(emitter, type_, share, covering_bands(windows))

    def numpy(self, ct: Any) -> Any:
        share = ct / self.divisor(ct.dtype)
        return self.windows.spread([share for _ in self.windows.parts(self.windows.places(), 0)])


@irdl_op_definition
class AvgPool1dBackwardOp(AvgPoolBackwardOp):
    """The transpose of nn.avg_pool1d, of the result's type.

    Each place gets the sum over its windows of ct / (counted places of the window).
    vjp: avg_pool1d(ct')
    """

    name = "grad.avg_pool1d_backward"
    SPATIAL: ClassVar[int] = 1


@irdl_op_definition
class AvgPool2dBackwardOp(AvgPoolBackwardOp):
    """The transpose of nn.avg_pool2d, of the result's type.   vjp: avg_pool2d(ct')"""

    name = "grad.avg_pool2d_backward"
    SPATIAL: ClassVar[int] = 2


@irdl_op_definition
class AvgPool3dBackwardOp(AvgPoolBackwardOp):
    """The transpose of nn.avg_pool3d, of the result's type.   vjp: avg_pool3d(ct')"""

    name = "grad.avg_pool3d_backward"
    SPATIAL: ClassVar[int] = 3


AVG_POOL_BACKWARD_OPS: dict[int, type[AvgPoolBackwardOp]] = {
    op.SPATIAL: op for op in (AvgPool1dBackwardOp, AvgPool2dBackwardOp, AvgPool3dBackwardOp)
}

OPS: tuple[type[TensorOp], ...] = (
    *(op for ops in MAX_POOL_OPS.values() for op in ops),
    *AVG_POOL_BACKWARD_OPS.values(),
)
