"""array: cutting, padding and joining tensors; all are linear."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, cast

from xdsl.ir import SSAValue
from xdsl.irdl import irdl_op_definition, result_def, traits_def, var_operand_def
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from gradir.dialects.array.joining import JoinedPart, joined, pad_value
from gradir.dialects.array.movement import ExpandDimsOp, MovementOp, ReshapeOp
from gradir.dialects.array.supports import padded_support, placed_support
from gradir.dialects.base.access import Access, dim_row
from gradir.dialects.base.attributes import Attributes, Types, integer, integers, number, text
from gradir.dialects.base.batch import Batch
from gradir.dialects.base.extents import is_extent
from gradir.dialects.base.interfaces import Cotangents, TensorOp
from gradir.dialects.base.lazy_numpy import np
from gradir.dialects.base.rounding import rounded
from gradir.dialects.base.shapes import (
    DYNAMIC,
    compatible,
    element_of,
    extent_sum,
    is_static,
    normalize_axis,
    shape_of,
    tensor,
)
from gradir.dialects.base.support import Box, Mask, Supports
from gradir.dialects.base.value import Emitter, Value
from gradir.dialects.building.kinds import require_number
from gradir.dialects.building.nests import view


@irdl_op_definition
class SliceOp(MovementOp):
    """x[start : stop : step], one entry per axis; negative bounds count from the end.

    `step` is positive, 1 where absent. vjp: the cotangent padded with zeros
    """

    name = "array.slice"
    COMPLEX: ClassVar[bool] = True
    ATTRIBUTES: ClassVar[tuple[str, ...]] = ("start", "stop", "step")

    @classmethod
    def infer_types(cls, operands: Types, attributes: Attributes) -> Types:
        shape = shape_of(operands[0])
        bounds = _slice_bounds(attributes, shape)
        return [tensor([_slice_extent(*one) for one in bounds], element_of(operands[0]))]

    @property
    def bounds(self) -> list[tuple[int, int, int]]:
        return _slice_bounds(self.attributes, shape_of(self.x.type))

    def vjp(self, ct: Value, y: Value, x: Value) -> Cotangents:
        for axis, (_, _, step) in enumerate(self.bounds):
            if step > 1:
                ct = _spaced(ct, axis, step)
        low = [start for start, _, _ in self.bounds]
        high = [n - s - m for n, s, m in zip(x.shape, low, ct.shape, strict=True)]
        # the last stride may reach over the end: the cut part is zero
        if any(h < 0 for h in high):
            stop = [m + min(h, 0) for m, h in zip(ct.shape, high, strict=True)]
            ct = SliceOp.on(ct, start=[0] * len(stop), stop=stop)
            high = [max(h, 0) for h in high]
        return [PadOp.on(ct, low=low, high=high, value=0.0) if any(low + high) else ct]

    def access(self) -> Access:
        rank = len(self.bounds)
        rows = [dim_row(rank, d, step, start) for d, (start, _, step) in enumerate(self.bounds)]
        return Access(rank, tuple(rows))

    def vmap(self, batch: Batch) -> Sequence[Value]:
        rows = zip(*self.bounds, strict=True)
        start, stop, step = ([*row] for row in rows) if batch.operand_rank(0) else ((), (), ())
        whole = {"start": [0, *start], "stop": [batch.size, *stop], "step": [1, *step]}
        return batch.same_op(batch.operands, None, **whole)

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
        if n == DYNAMIC:
            bounds.append((first, last, s))
            if last != DYNAMIC and (first < 0) == (last < 0) and first > last:
                raise VerifyException(
                    f"axis {axis}: start must not be after stop, got {first} and {last}"
                )
            continue
        low, high = (v + n if v < 0 else v for v in (first, last))
        if not 0 <= low <= high <= n:
            raise VerifyException(
                f"axis {axis}: start and stop must satisfy 0 <= start <= stop <= {n}, "
                f"got {first} and {last}"
            )
        bounds.append((low, high, s))
    return bounds


def _slice_extent(low: int, high: int, step: int) -> int:
    """The number of selected elements; dynamic where bounds count from different ends."""
    if is_extent(low) or is_extent(high):
        return (high - low + step - 1) // step
    is_known = high != DYNAMIC and (low < 0) == (high < 0)
    return max(0, -((low - high) // step)) if is_known else DYNAMIC


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
    """x with low[d] elements before it and high[d] after it along each axis d.

    They are `value` (default 0), or by `mode`: edge repeats the first and the last element;
    reflect mirrors x at them without repeating them, and needs widths below the extent.
    vjp: the slice of ct over x; a repeated element gets the sum of its copies
    """

    name = "array.pad"
    COMPLEX: ClassVar[bool] = True
    ATTRIBUTES: ClassVar[tuple[str, ...]] = ("low", "high", "value", "mode")

    @classmethod
    def infer_types(cls, operands: Types, attributes: Attributes) -> Types:
        from gradir.dialects.array.borders import MODES, require_border

        shape = shape_of(operands[0])
        low, high = (integers(attributes, name, None) or [] for name in ("low", "high"))
        for name, values in (("low", low), ("high", high)):
            if len(values) != len(shape):
                raise VerifyException(f"{name} must have {len(shape)} entries, got {len(values)}")
            if any(v < 0 for v in values):
                raise VerifyException(f"{name} must be >= 0, got {values}; cut with array.slice")
        mode = text(attributes, "mode", "constant", MODES)
        if mode != "constant" and "value" in attributes:
            raise VerifyException(f"value must be absent in mode {mode}, got {attributes['value']}")
        for axis, widths in enumerate(zip(low, high, strict=True)):
            require_border(mode, operands[0], axis, max(widths))
        require_number(number(attributes, "value", 0.0), operands[0])
        sums = [extent_sum(*widths) for widths in zip(low, shape, high, strict=True)]
        return [tensor(sums, element_of(operands[0]))]

    @property
    def low(self) -> list[int]:
        return integers(self.attributes, "low", None) or []

    @property
    def mode(self) -> str:
        return text(self.attributes, "mode", "constant")

    def vjp(self, ct: Value, y: Value, x: Value) -> Cotangents:
        from gradir.dialects.array.borders import border_folded

        if self.mode == "constant":
            stop = [lo + n for lo, n in zip(self.low, x.shape, strict=True)]
            return [SliceOp.on(ct, start=self.low, stop=stop)]
        for axis, (lo, n, m) in enumerate(zip(self.low, x.shape, y.shape, strict=True)):
            if n != m:
                ct = border_folded(ct, self.mode, axis, lo, n)
        return [ct]

    def access(self) -> Access:
        """The access to x; outside of bounds in the padding."""
        rank = len(self.low)
        return Access(rank, tuple(dim_row(rank, d, 1, -lo) for d, lo in enumerate(self.low)))

    def support(self, of: Supports) -> Mask | None:
        if self.mode != "constant" or number(self.attributes, "value", 0.0):
            return super().support(of)
        return padded_support(self, of, self.boxes())

    def boxes(self) -> tuple[Box, ...]:
        """The place of x."""
        if not is_static(self.x.type):
            return ()
        shapes = zip(self.low, shape_of(self.x.type), shape_of(self.y.type), strict=True)
        return (tuple((lo, lo + n, m) for lo, n, m in shapes),)

    def vmap(self, batch: Batch) -> Sequence[Value]:
        low, high = (integers(self.attributes, name, None) or [] for name in ("low", "high"))
        return batch.same_op(batch.operands, low=[0, *low], high=[0, *high])

    def lower(self, emitter: Emitter, operands: Sequence[SSAValue]) -> Sequence[SSAValue]:
        from gradir.dialects.array.borders import border_nests

        if self.mode != "constant" and self.low:
            return border_nests(emitter, operands[0], self.y.type, self.mode, self.low)
        value = pad_value(number(self.attributes, "value", 0.0), element_of(self.y.type))
        return view(emitter, self.y.type, operands[0], self.access(), value)

    def numpy(self, x: Any) -> Any:
        high = integers(self.attributes, "high", None) or []
        widths = list(zip(self.low, high, strict=True))
        if not widths:
            return x  # numpy.pad takes no array of rank 0
        if self.mode != "constant":
            return np.pad(x, widths, cast(Any, self.mode))
        value = rounded(number(self.attributes, "value", 0.0), element_of(self.y.type))
        return np.pad(x, widths, constant_values=value)


def part(x: Value, axis: int, start: int, stop: int) -> Value:
    """x[start:stop] along an axis; x itself for all of it."""
    shape = x.shape
    if (start, stop) == (0, shape[axis]):
        return x
    first = [start if d == axis else 0 for d in range(len(shape))]
    last = [stop if d == axis else n for d, n in enumerate(shape)]
    return SliceOp.on(x, start=first, stop=last)


def padded_back(ct: Value, axis: int, start: int, extent: int) -> Value:
    """The transpose of `part`: ct from `start` on along an axis of that extent, else zeros."""
    rank, length = len(ct.shape), ct.shape[axis]
    if length == extent:
        return ct
    low = [start if d == axis else 0 for d in range(rank)]
    high = [extent - start - length if d == axis else 0 for d in range(rank)]
    return PadOp.on(ct, low=low, high=high, value=0.0)


@irdl_op_definition
class ConcatOp(TensorOp):
    """The operands one after the other along `axis`.   vjp: slices of ct"""

    name = "array.concat"
    COMPLEX: ClassVar[bool] = True
    ATTRIBUTES: ClassVar[tuple[str, ...]] = ("axis",)

    xs = var_operand_def()
    y = result_def()
    traits = traits_def(Pure())

    @classmethod
    def infer_types(cls, operands: Types, attributes: Attributes) -> Types:
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
            rest[axis] = shape[axis]
            if not compatible(rest, shape):
                raise VerifyException(
                    f"shapes must agree but for axis {axis}, got {first} and {other}"
                )
        shape[axis] = extent_sum(*(shape_of(o)[axis] for o in operands))
        return [tensor(shape, element_of(first))]

    @property
    def axis(self) -> int:
        return normalize_axis(integer(self.attributes, "axis", 0), len(shape_of(self.y.type)))

    def starts(self) -> list[int]:
        """The first place of each operand along the axis."""
        sizes = [shape_of(x.type)[self.axis] for x in self.xs]
        return [sum(sizes[:k]) for k in range(len(sizes))]

    def vjp(self, ct: Value, y: Value, *xs: Value) -> Cotangents:
        parts: list[Value] = []
        for x, first in zip(xs, self.starts(), strict=True):
            start = [first if d == self.axis else 0 for d in range(len(x.shape))]
            stop = [s + n for s, n in zip(start, x.shape, strict=True)]
            parts.append(SliceOp.on(ct, start=start, stop=stop))
        return parts

    def support(self, of: Supports) -> Mask | None:
        return placed_support(self, self.xs, of)

    def vmap(self, batch: Batch) -> Sequence[Value]:
        return batch.in_front(axis=self.axis - batch.operand_rank(0))

    def lower(self, emitter: Emitter, operands: Sequence[SSAValue]) -> Sequence[SSAValue]:
        identity = Access.identity(len(shape_of(self.y.type)))
        pieces = [JoinedPart(x, shape_of(x.type)[self.axis], identity) for x in operands]
        return joined(emitter, self.y.type, self.axis, pieces)

    def numpy(self, *xs: Any) -> Any:
        return np.concatenate(xs, axis=self.axis)


OPS: tuple[type[TensorOp], ...] = (SliceOp, PadOp, ConcatOp)
