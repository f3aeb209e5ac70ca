"""array: reductions beyond sums and extrema: products, deviations, norms, truth, places."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf, prod, sqrt
from typing import Any, ClassVar

from xdsl.dialects.builtin import StringAttr, f64, i1, i64
from xdsl.ir import Attribute
from xdsl.irdl import irdl_op_definition
from xdsl.utils.exceptions import VerifyException

from gradir.dialects.array.comparison import (
    AstypeOp,
    IsnanOp,
    LogicalAndOp,
    LogicalOrOp,
    WhereOp,
)
from gradir.dialects.array.creation import IotaOp
from gradir.dialects.array.elementwise import AbsOp, SignOp, SqrtOp
from gradir.dialects.array.movement import BroadcastToOp, FlipOp, ReshapeOp, reshaped
from gradir.dialects.array.reductions import (
    MaxOp,
    MeanOp,
    MinOp,
    ReductionOp,
    SumOp,
    narrowed,
    widened,
)
from gradir.dialects.array.slicing import PadOp, SliceOp
from gradir.dialects.base.attributes import Attributes, Types, attribute, flag, integers, number
from gradir.dialects.base.batch import Batch
from gradir.dialects.base.interfaces import Cotangents, TensorOp
from gradir.dialects.base.lazy_numpy import np
from gradir.dialects.base.shapes import element_of, is_float, shape_of, tensor
from gradir.dialects.base.traced_sizes import is_traced
from gradir.dialects.base.value import Scalar, Value
from gradir.dialects.building import body as b
from gradir.dialects.building.gate import by_convention, gated, zero_or_nan


class _StatisticOp(ReductionOp):
    """A reduction composed of other reductions over the same lines."""

    @property
    def keepdims(self) -> bool:
        return flag(self.attributes, "keepdims", False)

    @property
    def lines(self) -> dict[str, Attribute]:
        """The attributes of a sum over the same elements."""
        return {"axis": attribute(self.axes), "keepdims": attribute(self.keepdims)}


# Products.


@irdl_op_definition
class ProdOp(_StatisticOp):
    """Product; 1 of no elements. f16 and bf16 are multiplied in f32; integers wrap.

    vjp: ct * (the product of all others), without division, so right where elements are 0
    """

    name = "array.prod"
    COMPLEX: ClassVar[bool] = True
    NUMPY: ClassVar[str] = "prod"
    COMBINER: ClassVar[str] = "multiply"

    def vjp(self, ct: Value, y: Value, x: Value) -> Cotangents:
        if 0 in x.shape:
            return [x.full(0)]
        others = self.along_lines(products_of_others, widened(x))
        return [narrowed(self.spread(widened(ct), x) * others, x.type)]

    def simplify(self, x: Value) -> Value | None:
        return x if not self.axes and self.y.type == x.type else None


def products_of_others(x: Value) -> Value:
    """For each element of x (outer, n, inner), the product of the others along the middle axis.

    An element gets its partner times the product of all other pairs: a tree of depth log2(n).
    """
    outer, count, inner = x.shape
    if count == 1:
        return x.full(1)
    half = (count + 1) // 2
    even = x if count == 2 * half else PadOp.on(x, low=[0, 0, 0], high=[0, 1, 0], value=1.0)
    pairs = reshaped(even, [outer, 2, half, inner])
    others = FlipOp.on(pairs, axis=1)
    if half > 1:
        rest = products_of_others(ProdOp.on(pairs, axis=1))
        rest = reshaped(rest, [outer, 1, half, inner])
        others = others * BroadcastToOp.on(rest, type=pairs.type)
    line = reshaped(others, [outer, 2 * half, inner])
    return line if count == 2 * half else SliceOp.on(line, stop=[outer, count, inner])


# Deviations.


class _DeviationOp(_StatisticOp):
    """A function of squared distances to the mean, divided by `count - correction`."""

    ATTRIBUTES: ClassVar[tuple[str, ...]] = ("axis", "keepdims", "correction")
    DOMAIN: ClassVar[str] = "float"

    def verify_types(self) -> None:
        number(self.attributes, "correction", 0.0)

    @property
    def divisor(self) -> float:
        return self.divisor_of(self.count)

    def divisor_of(self, count: int) -> float:
        correction = number(self.attributes, "correction", 0.0)
        if is_traced(count) and float(correction).is_integer():
            correction = int(correction)
        return max(count - correction, 0.0)

    def centered(self, x: Value) -> Value:
        return x - self.spread(MeanOp.on(x, **self.lines), x)

    def variance(self, x: Any, axes: tuple[int, ...], keepdims: bool) -> Any:
        count = prod([x.shape[d] for d in axes])
        divisor = self.divisor_of(count)
        with np.errstate(invalid="ignore", divide="ignore"):
            mean = np.add.reduce(x, axis=axes, keepdims=True) / x.dtype.type(count)
            total = np.add.reduce((x - mean) ** 2, axis=axes, keepdims=keepdims)
            return total / x.dtype.type(divisor)


@irdl_op_definition
class VarOp(_DeviationOp):
    """Sum of squared distances to the mean, divided by n - `correction` (0 where absent).

    nan of no elements, and of one with correction 1.   vjp: ct * 2 / (n - correction) * (x - mean)
    """

    name = "array.var"

    def vjp(self, ct: Value, y: Value, x: Value) -> Cotangents:
        wide = widened(x)
        share = 2 * widened(ct) / self.divisor
        return [narrowed(self.spread(share, x) * self.centered(wide), x.type)]

    def decompose(self, x: Value) -> Value:
        apart = self.centered(widened(x))
        total = SumOp.on(apart * apart, **self.lines)
        return narrowed(total / self.divisor, self.y.type)

    def reduced(self, x: Any, axes: tuple[int, ...], keepdims: bool) -> Any:
        return self.variance(x, axes, keepdims)


@irdl_op_definition
class StdOp(_DeviationOp):
    """Square root of array.var, without overflow; 0 of equal elements.

    vjp: ct / ((n - correction) * y) * (x - mean), 0 where y is 0 (the second derivative is nan
    there)
    """

    name = "array.std"

    def vjp(self, ct: Value, y: Value, x: Value) -> Cotangents:
        unit = self.centered(widened(x))
        if self.count != 1:  # of one element it is 0 everywhere
            length = self.spread(widened(y), x)
            unit = by_convention(unit / length, length.not_equal(0), length.full(0))
        return [narrowed(self.spread(widened(ct) / self.divisor, x) * unit, x.type)]

    def decompose(self, x: Value) -> Value:
        # squares of the distances would over- and underflow
        length = NormOp.on(self.centered(widened(x)), **self.lines)
        return narrowed(length / sqrt(self.divisor), self.y.type)

    def centered(self, x: Value) -> Value:
        """x less the mean, exactly 0 of equal elements: the mean is taken of differences from the
        first element."""
        from gradir.dialects.grad.grad import NoGradOp

        stop = [min(n, 1) if d in self.axes else n for d, n in enumerate(x.shape)]
        first = NoGradOp.on(SliceOp.on(x, stop=stop))
        return super().centered(x - BroadcastToOp.on(first, type=x.type))

    def reduced(self, x: Any, axes: tuple[int, ...], keepdims: bool) -> Any:
        count = prod([x.shape[d] for d in axes])
        first = x[tuple(slice(0, 1) if d in axes else slice(None) for d in range(x.ndim))]
        with np.errstate(invalid="ignore", divide="ignore"):
            apart = x - first
            total = np.add.reduce(apart, axis=axes, keepdims=True)
            apart = apart - total / x.dtype.type(count)
            length = norm2(apart, axes, keepdims)
            return (length / np.sqrt(self.divisor_of(count))).astype(x.dtype)


# Norms.


@irdl_op_definition
class NormOp(_StatisticOp):
    """Vector norm `ord` 1 (sum of |x|), 2 (the default; without overflow) or inf (largest |x|).

    `ord = "inf"` writes infinity. 0 of no elements.
    vjp: ct * sign(x); ct * x / y, 0 where y is 0 (the second derivative is nan there);
    ct * sign(x) at the largest, split at ties
    """

    name = "array.norm"
    ATTRIBUTES: ClassVar[tuple[str, ...]] = ("axis", "keepdims", "ord")
    DOMAIN: ClassVar[str] = "float"

    def verify_types(self) -> None:
        if self.order not in (1, 2, inf):
            raise VerifyException(f"ord must be 1, 2 or inf, got {self.attributes['ord']}")

    @property
    def order(self) -> float:
        match self.attributes.get("ord"):
            case StringAttr(data="inf"):
                return inf
            case _:
                return number(self.attributes, "ord", 2.0)

    def vjp(self, ct: Value, y: Value, x: Value) -> Cotangents:
        if self.count == 0:
            return [None]
        if self.order == 1:
            return [self.spread(ct, x) * SignOp.on(x)]
        wide = widened(ct)
        if self.order == 2:
            length = self.spread(widened(y), x)
            unit = by_convention(widened(x) / length, length.not_equal(0), length.full(0))
            return [narrowed(self.spread(wide, x) * unit, x.type)]
        tied = AbsOp.on(x).equal(self.spread(y, x))
        ones = AstypeOp.on(tied, type=tensor(x.shape, wide.element))
        share = narrowed(wide / SumOp.on(ones, **self.lines), ct.type)
        return [gated(self.spread(share, x) * SignOp.on(x), tied, zero_or_nan(x))]

    def decompose(self, x: Value) -> Value:
        if self.order == 1:
            return narrowed(SumOp.on(AbsOp.on(widened(x)), **self.lines), self.y.type)
        if self.count == 0:
            return x.emitter.value(self.y).full(0)
        if self.order == inf:
            return MaxOp.on(AbsOp.on(x), **self.lines)
        if x.element == f64:
            return self._scaled_root(x)
        # f64 holds the squares of all other element types
        wide = AstypeOp.on(x, type=tensor(x.shape, f64))
        return narrowed(SqrtOp.on(SumOp.on(wide * wide, **self.lines)), self.y.type)

    def _scaled_root(self, x: Value) -> Value:
        top = MaxOp.on(AbsOp.on(x), **self.lines)
        scale = WhereOp.on(LogicalAndOp.on(top > 0, top < inf), top, top.full(1))
        ratio = x / self.spread(scale, x)
        return scale * SqrtOp.on(SumOp.on(ratio * ratio, **self.lines))

    def reduced(self, x: Any, axes: tuple[int, ...], keepdims: bool) -> Any:
        lines: Any = {"axis": axes, "keepdims": keepdims}
        if self.order == 1:
            return np.sum(np.abs(x), **lines)
        if self.order == inf:
            return np.max(np.abs(x), initial=0, **lines)
        return norm2(x, axes, keepdims)


def norm2(x: Any, axes: tuple[int, ...], keepdims: bool) -> Any:
    """The Euclidean norm of a NumPy array along axes, without overflow, in float64."""
    wide = x.astype(np.float64)
    top = np.max(np.abs(wide), initial=0, axis=axes, keepdims=True)
    scale = np.where((top > 0) & (top < inf), top, 1.0)
    total = np.sum((wide / scale) ** 2, axis=axes, keepdims=keepdims)
    return np.sqrt(total) * np.reshape(scale, total.shape)


# Truth.


class _TruthOp(ReductionOp):
    """A bool per line; numbers other than 0 are true, nan too."""

    INACTIVE: ClassVar[bool] = True
    DOMAIN: ClassVar[str] = "any"

    @classmethod
    def infer_types(cls, operands: Types, attributes: Attributes) -> Types:
        [type_] = super().infer_types(operands, attributes)
        return [tensor(shape_of(type_), i1)]

    def entry(self, x: Scalar) -> Scalar:
        return b.cast(super().entry(x), i1)

    def reduced(self, x: Any, axes: tuple[int, ...], keepdims: bool) -> Any:
        return super().reduced(x != 0, axes, keepdims)


@irdl_op_definition
class AnyOp(_TruthOp):
    """One element is not 0 (i1); false of no elements."""

    name = "array.any"
    NUMPY: ClassVar[str] = "any"
    COMBINER: ClassVar[str] = "or"


@irdl_op_definition
class AllOp(_TruthOp):
    """No element is 0 (i1); true of no elements."""

    name = "array.all"
    NUMPY: ClassVar[str] = "all"
    COMBINER: ClassVar[str] = "and"


# Places.


class _PlaceOp(_StatisticOp):
    """The index (i64) of an extremum along one axis, or in row-major order where it is absent."""

    INACTIVE: ClassVar[bool] = True

    @classmethod
    def infer_types(cls, operands: Types, attributes: Attributes) -> Types:
        axes = integers(attributes, "axis", None)
        if axes is not None and len(axes) != 1:
            raise VerifyException(f"axis must be one axis, or absent for all, got {axes}")
        [type_] = super().infer_types(operands, attributes)
        return [tensor(shape_of(type_), i64)]

    def verify_types(self) -> None:
        if 0 in (shape_of(self.x.type)[d] for d in self.axes):
            raise VerifyException(f"there must be elements to reduce, got {self.x.type}")

    def extremum(self, x: Value, axis: int) -> Value:
        """The extremum along an axis, which is kept."""
        raise NotImplementedError(self.name)

    def vmap(self, batch: Batch) -> Sequence[Value]:
        """The place along one axis, or among all elements of a row as a line."""
        axes = self.axes
        if len(axes) == 1 or "axis" in self.attributes:
            return batch.same_op(batch.operands, axis=axes[0] - batch.operand_rank(0))
        [x], [type_] = batch.operands, batch.result_types()
        line = reshaped(x, [batch.size, prod(x.shape[1:])])
        places = tensor([batch.size], element_of(type_))
        [found] = batch.same_op([line], [places], axis=-1, keepdims=False)
        return [ReshapeOp.on(found, type=type_)]

    def decompose(self, x: Value) -> Value:
        is_along = "axis" in self.attributes
        line, axis = (x, self.axes[0]) if is_along else (reshaped(x, [self.count]), 0)
        top = BroadcastToOp.on(self.extremum(line, axis), type=line.type)
        found = line.equal(top)
        if is_float(line.element):
            # nan equals no number, and is the extremum where there is one
            found = LogicalOrOp.on(found, IsnanOp.on(line))
        iota = IotaOp.of([], [tensor(line.shape, i64)], axis=axis)
        places = x.emitter.value(x.emitter.insert(iota).y)
        first = MinOp.on(WhereOp.on(found, places, places.full(self.count)), axis=axis)
        return reshaped(first, shape_of(self.y.type))

    def reduced(self, x: Any, axes: tuple[int, ...], keepdims: bool) -> Any:
        axis = axes[0] if "axis" in self.attributes else None
        return getattr(np, self.NUMPY)(x, axis=axis, keepdims=keepdims)


@irdl_op_definition
class ArgmaxOp(_PlaceOp):
    """Index of the largest element, the first of equal ones; of the first nan if there is one."""

    name = "array.argmax"
    NUMPY: ClassVar[str] = "argmax"

    def extremum(self, x: Value, axis: int) -> Value:
        return MaxOp.on(x, axis=axis, keepdims=True)


@irdl_op_definition
class ArgminOp(_PlaceOp):
    """Index of the smallest element, the first of equal ones; of the first nan if there is one."""

    name = "array.argmin"
    NUMPY: ClassVar[str] = "argmin"

    def extremum(self, x: Value, axis: int) -> Value:
        return MinOp.on(x, axis=axis, keepdims=True)


OPS: tuple[type[TensorOp], ...] = (
    ProdOp,
    VarOp,
    StdOp,
    NormOp,
    AnyOp,
    AllOp,
    ArgmaxOp,
    ArgminOp,
)
