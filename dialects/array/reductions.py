"""array: reductions over `axis` (all axes where it is absent), with `keepdims = false`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import inf, prod
from typing import Any, ClassVar

from xdsl.dialects.builtin import f32
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import irdl_op_definition, operand_def, result_def, traits_def
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from gradir.dialects.array.comparison import AstypeOp, WhereOp
from gradir.dialects.array.elementwise import AbsOp, ExpOp, LogOp
from gradir.dialects.array.movement import BroadcastToOp, PermuteDimsOp, reshaped
from gradir.dialects.base import extrema
from gradir.dialects.base.access import Access, constant_row, dim_row
from gradir.dialects.base.attributes import Attributes, Types, flag, integers
from gradir.dialects.base.batch import Batch
from gradir.dialects.base.interfaces import Cotangents, TensorOp
from gradir.dialects.base.lazy_numpy import np
from gradir.dialects.base.shapes import (
    byte_size,
    element_of,
    is_float,
    normalize_axes,
    shape_of,
    tensor,
)
from gradir.dialects.base.support import NOWHERE, Mask, Supports
from gradir.dialects.base.value import Emitter, Scalar, Value
from gradir.dialects.building import body as b
from gradir.dialects.building.gate import gated, zero_or_nan
from gradir.dialects.building.kinds import require_elements
from gradir.dialects.building.nests import Read, nest
from gradir.dialects.loopnest.loopnest import Output


class ReductionOp(TensorOp):
    """One result element for each line of elements along the reduced axes."""

    ATTRIBUTES: ClassVar[tuple[str, ...]] = ("axis", "keepdims")
    DOMAIN: ClassVar[str] = "number"
    NUMPY: ClassVar[str] = ""
    COMBINER: ClassVar[str] = ""

    x = operand_def()
    y = result_def()
    traits = traits_def(Pure())

    @classmethod
    def infer_types(cls, operands: Types, attributes: Attributes) -> Types:
        require_elements(operands[0], cls.DOMAIN, cls.COMPLEX)
        shape = shape_of(operands[0])
        axes = reduced_axes(attributes, len(shape))
        kept = [1 if d in axes else n for d, n in enumerate(shape)]
        if not flag(attributes, "keepdims", False):
            kept = [n for d, n in enumerate(shape) if d not in axes]
        return [tensor(kept, element_of(operands[0]))]

    @property
    def axes(self) -> list[int]:
        return reduced_axes(self.attributes, len(shape_of(self.x.type)))

    @property
    def count(self) -> int:
        """How many elements make one result element."""
        shape = shape_of(self.x.type)
        return prod(shape[d] for d in self.axes)

    def spread(self, y: Value, x: Value) -> Value:
        """A value of the result's shape repeated over the operand's."""
        axes = self.axes
        shape = [1 if d in axes else n for d, n in enumerate(x.shape)]
        line = reshaped(y, shape)
        return BroadcastToOp.on(line, type=tensor(x.shape, y.element))

    def along_lines(self, function: Callable[..., Value], *xs: Value) -> Value:
        """A function of arrays (outer, n, inner) that keeps the shape, along the middle axis.

        The reduced axes of the operands are that one; they need not be neighbours.
        """
        axes, shape = self.axes, xs[0].shape
        kept = [d for d in range(len(shape)) if d not in axes]
        order = [*kept, *axes]
        if not axes or axes == list(range(axes[0], axes[-1] + 1)):
            order = list(range(len(shape)))
        is_moved = order != list(range(len(shape)))
        moved = [PermuteDimsOp.on(x, axes=order) if is_moved else x for x in xs]
        inner = 1 if is_moved or not axes else prod(shape[axes[-1] + 1 :])
        outer = prod(shape) // (self.count * inner)
        made = function(*(reshaped(x, [outer, self.count, inner]) for x in moved))
        made = reshaped(made, moved[0].shape)
        back = [order.index(d) for d in range(len(shape))]
        return PermuteDimsOp.on(made, axes=back) if is_moved else made

    def reached(self, place: int, masks: Sequence[Value | None]) -> Value | None:
        [mask] = masks
        return None if mask is None else self.spread(mask, mask.emitter.value(self.x))

    def vmap(self, batch: Batch) -> Sequence[Value]:
        rank = batch.operand_rank(len(batch.operands) - 1)
        return batch.in_front(axis=[axis - rank for axis in self.axes])

    def numpy(self, x: Any) -> Any:
        return self.meaning()(x)

    def meaning(self) -> Callable[..., Any]:
        axes, keepdims = tuple(self.axes), flag(self.attributes, "keepdims", False)

        def reduced(x: Any) -> Any:
            return self.reduced(x, axes, keepdims)

        return reduced

    def reduced(self, x: Any, axes: tuple[int, ...], keepdims: bool) -> Any:
        """The value on a NumPy array, along axes."""
        return getattr(np, self.NUMPY)(x, axis=axes, keepdims=keepdims) if axes else x

    def lower(self, emitter: Emitter, operands: Sequence[SSAValue]) -> Sequence[SSAValue]:
        shape, axes, rank = shape_of(self.x.type), self.axes, len(shape_of(self.x.type))
        keep = flag(self.attributes, "keepdims", False)
        rows = [
            constant_row(rank, 0) if d in axes else dim_row(rank, d)
            for d in range(rank)
            if keep or d not in axes
        ]
        output = Output(self.y.type, Access(rank, tuple(rows)), self.COMBINER)
        read = Read(operands[0], Access.identity(rank))

        return nest(emitter, shape, [read], [output], self.entry)

    def entry(self, x: Scalar) -> Scalar:
        """An element as the combiner takes it."""
        return b.to_compute(x, element_of(self.x.type))


def reduced_axes(attributes: Attributes, rank: int) -> list[int]:
    """Sorted; all where `axis` is absent."""
    return sorted(normalize_axes(integers(attributes, "axis", range(rank)) or [], rank))


def widened(x: Value) -> Value:
    """f16 and bf16 as f32, for computing a compound op in one precision; others as they are."""
    if is_float(x.element) and byte_size(x.element) == 2:
        return AstypeOp.on(x, type=tensor(x.shape, f32))
    return x


def narrowed(x: Value, type_: Attribute) -> Value:
    """x converted to a type, where it is of another."""
    return x if x.type == type_ else AstypeOp.on(x, type=type_)


@irdl_op_definition
class SumOp(ReductionOp):
    """Sum; 0 of no elements, -0 where all are -0. f16 and bf16 are summed in f32.

    vjp: ct, repeated
    """

    name = "array.sum"
    COMPLEX: ClassVar[bool] = True
    COMBINER: ClassVar[str] = "add"

    def vjp(self, ct: Value, y: Value, x: Value) -> Cotangents:
        return [self.spread(ct, x)]

    def support(self, of: Supports) -> Mask | None:
        from gradir.dialects.array.lines import any_along
        from gradir.dialects.array.movement import reshaped

        mask, shape = of.of(self.x), shape_of(self.y.type)
        if mask is None or mask is NOWHERE:
            return mask
        return mask.then(lambda bools: reshaped(any_along(bools, self.axes), shape))

    def simplify(self, x: Value) -> Value | None:
        return x if not self.axes and self.y.type == x.type else None

    def reduced(self, x: Any, axes: tuple[int, ...], keepdims: bool) -> Any:
        return extrema.total(x, axes, keepdims)


@irdl_op_definition
class MeanOp(ReductionOp):
    """Sum divided by the number of elements; nan of none.   vjp: ct / count, repeated"""

    name = "array.mean"
    COMPLEX: ClassVar[bool] = True
    DOMAIN: ClassVar[str] = "float"

    def vjp(self, ct: Value, y: Value, x: Value) -> Cotangents:
        # f16 has no room for a large count
        return [self.spread(narrowed(widened(ct) / self.count, ct.type), x)]

    def decompose(self, x: Value) -> Value:
        total = SumOp.on(widened(x), **self.attributes)
        return narrowed(total / self.count, self.y.type)

    def reduced(self, x: Any, axes: tuple[int, ...], keepdims: bool) -> Any:
        total = extrema.total(x, axes, keepdims)
        count = total.dtype.type(prod([x.shape[d] for d in axes]))
        if count:
            return total / count
        with np.errstate(invalid="ignore", divide="ignore"):
            return total / count


class _ExtremumReductionOp(ReductionOp):
    """Ties split evenly: the cotangents of all that are equal to the result sum to ct."""

    def verify_types(self) -> None:
        if self.count == 0:
            raise VerifyException(f"there must be elements to reduce, got {self.x.type}")

    def vjp(self, ct: Value, y: Value, x: Value) -> Cotangents:
        tied = x.equal(self.spread(y, x))
        wide = widened(ct)
        ones = AstypeOp.on(tied, type=tensor(x.shape, wide.element))
        share = narrowed(wide / SumOp.on(ones, **self.attributes), ct.type)
        return [gated(self.spread(share, x), tied, zero_or_nan(x))]


@irdl_op_definition
class MaxOp(_ExtremumReductionOp):
    """Largest element, 0 above -0; nan where one is nan.

    vjp: ct to the largest, split evenly at ties; nan to nan
    """

    name = "array.max"
    COMBINER: ClassVar[str] = "maximum"

    def reduced(self, x: Any, axes: tuple[int, ...], keepdims: bool) -> Any:
        return extrema.largest(x, axes, keepdims)


@irdl_op_definition
class MinOp(_ExtremumReductionOp):
    """Smallest element, -0 below 0; nan where one is nan.

    vjp: ct to the smallest, split evenly at ties; nan to nan
    """

    name = "array.min"
    COMBINER: ClassVar[str] = "minimum"

    def reduced(self, x: Any, axes: tuple[int, ...], keepdims: bool) -> Any:
        return extrema.smallest(x, axes, keepdims)


@irdl_op_definition
class LogsumexpOp(ReductionOp):
    """log(sum(exp(x))) without overflow; -inf of all -inf, and of no elements.

    A value near 0 has the last place of 1: log(1 + t) of a small t is not log1p(t).
    vjp: grad.logsumexp_backward(ct, x), ct times softmax, not exp(x - y), which loses the digits
    of a large y
    """

    name = "array.logsumexp"
    DOMAIN: ClassVar[str] = "float"

    def vjp(self, ct: Value, y: Value, x: Value) -> Cotangents:
        from gradir.dialects.grad.saturation import LogsumexpBackwardOp

        if self.count == 0:
            return [x.full(0)]
        return [LogsumexpBackwardOp.on(ct, x, **self.attributes)]

    def decompose(self, x: Value) -> Value:
        wide = widened(x)
        if self.count == 0:
            return wide.emitter.value(self.y).full(-inf)
        shift, _, total = shifted_powers(self, wide)
        return narrowed(LogOp.on(total) + shift, self.y.type)

    def reduced(self, x: Any, axes: tuple[int, ...], keepdims: bool) -> Any:
        if self.count == 0:
            return np.full(shape_of(self.y.type), -np.inf)
        top = np.max(x, axis=axes, keepdims=True)
        shift = np.where(np.isfinite(top), top, 0).astype(x.dtype)
        total = np.log(np.sum(np.exp(x - shift), axis=axes, keepdims=True)) + shift
        return total if keepdims else np.squeeze(total, axis=axes)


def shifted_powers(op: ReductionOp, x: Value) -> tuple[Value, Value, Value]:
    """The maximum of each line, exp(x - maximum), and the sum of that."""
    top = MaxOp.on(x, axis=op.axes, keepdims=flag(op.attributes, "keepdims", False))
    # an infinite maximum must not be subtracted: inf - inf is nan
    shift = WhereOp.on(AbsOp.on(top) < inf, top, top.full(0))
    powers = ExpOp.on(x - op.spread(shift, x))
    return shift, powers, SumOp.on(powers, **op.attributes)


OPS: tuple[type[TensorOp], ...] = (SumOp, MeanOp, MaxOp, MinOp, LogsumexpOp)
