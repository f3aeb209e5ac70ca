"""grad: tanh and sigmoid with derivatives that keep their digits where the values are rounded to 1.

tanh(x) is differentiated as tanh_at(tanh_point(x)). The point is one number that holds tanh(x) and
1 - |tanh(x)| to the last digit (`loopnest/special.py` has its bits): a derivative keeps it in place
of the value. It stands for x, and its tangents are those of x. Halves and complex numbers have no
points. The ops are on tensors or numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from xdsl.dialects import scf
from xdsl.dialects.builtin import f32, f64
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.irdl import irdl_op_definition
from xdsl.traits import IsTerminator
from xdsl.utils.exceptions import VerifyException

from gradir.dialects.base.attributes import Attributes, Types
from gradir.dialects.base.interfaces import Cotangents, TensorOp
from gradir.dialects.base.lazy_numpy import np
from gradir.dialects.base.shapes import element_of, is_scalar, is_tensor, shape_of
from gradir.dialects.base.value import Scalar, Value
from gradir.dialects.building import body as b
from gradir.dialects.building.kinds import SameValueOp
from gradir.dialects.building.slopes import SlopeOp, slope
from gradir.dialects.loopnest.special import POINT_END


def has_points(type_: Any) -> bool:
    """Whether elements of this type have points: f32 and f64."""
    return (type_ if is_scalar(type_) else element_of(type_)) in (f32, f64)


def _is_kept_anyway(value: SSAValue, x: SSAValue) -> bool:
    """Whether derivatives keep a function's value at x itself: a contraction reads it, an iteration
    of a loop hands it on to the next one, or the caller gets it, unless it is a number or x is the
    caller's. To read it off a point again would be a pass over memory, or one more array.

    The same with a checkpoint stage around it and without, so that bits are the same.
    """
    pending, seen = [value], {value}
    while pending:
        for use in pending.pop().uses:
            if _keeps(use.operation, x):
                return True
            same = [r for r in _results_of(use.operation, use.index) if r not in seen]
            seen.update(same)
            pending += same
    return False


def _keeps(op: Operation, x: SSAValue) -> bool:
    """Whether derivatives keep an operand of an op itself, a function's value at x."""
    if not op.has_trait(IsTerminator):
        return isinstance(op, TensorOp) and op.SUMS_PRODUCTS
    around = op.parent_op()
    if isinstance(around, FuncOp):
        return is_tensor(x.type) and bool(shape_of(x.type)) and not isinstance(x.owner, Block)
    return isinstance(around, scf.ForOp | scf.WhileOp)


def _results_of(op: Operation, place: int) -> Sequence[SSAValue]:
    """The results that are the operand of an op at a place: of a view, a stage or a branch."""
    if not op.has_trait(IsTerminator):
        is_same = isinstance(op, SameValueOp) or (isinstance(op, TensorOp) and op.IS_VIEW)
        return op.results if is_same else ()
    around = op.parent_op()
    is_function = around is None or isinstance(around, FuncOp)
    return () if is_function else around.results[place : place + 1]


def through_point(
    x: SSAValue, y: SSAValue, point_kind: type[PointOp], value_kind: type[PointOp]
) -> Callable[[Value], Value] | None:
    """y, a function's value at x, by way of a point; None where there is none, or where derivatives
    keep y itself."""
    if not has_points(y.type) or _is_kept_anyway(y, x):
        return None

    def apart(x: Value) -> Value:
        point = slope(point_kind, x)
        point.ssa.name_hint = f"{y.name_hint}_point" if y.name_hint else None
        return slope(value_kind, point)

    return apart


class PointOp(SlopeOp):
    """y = f(x), on f32 or f64."""

    TAKES_HALF: ClassVar[bool] = False

    @classmethod
    def infer_types(cls, operands: Types, attributes: Attributes) -> Types:
        made = super().infer_types(operands, attributes)
        if not has_points(operands[0]):
            raise VerifyException(f"the elements must be f32 or f64, got {operands[0]}")
        return made


class ReadPointOp(PointOp):
    """A value of a function, from a point: derivatives keep the point, and read it again."""

    IS_READ_OFF: ClassVar[bool] = True


@irdl_op_definition
class TanhPointOp(PointOp):
    """The point of tanh at x.   vjp: ct, since the point stands for x"""

    name = "grad.tanh_point"

    def vjp(self, ct: Value, y: Value, x: Value) -> Cotangents:
        return [ct]

    def body(self, x: Scalar) -> Scalar:
        return b.tanh_point(x)

    def numpy(self, x: Any) -> Any:
        return tanh_point(x)


@irdl_op_definition
class TanhAtOp(ReadPointOp):
    """tanh(x) from grad.tanh_point.   vjp: ct * tanh'(x)"""

    name = "grad.tanh_at"

    def vjp(self, ct: Value, y: Value, x: Value) -> Cotangents:
        return [ct * slope(TanhSlopeAtOp, x)]

    def body(self, x: Scalar) -> Scalar:
        return b.tanh_at(x)

    def numpy(self, x: Any) -> Any:
        return tanh_at(x)


@irdl_op_definition
class TanhSlopeAtOp(ReadPointOp):
    """tanh'(x) from grad.tanh_point.   vjp: ct * -2 * tanh(x) * y"""

    name = "grad.tanh_slope_at"

    def vjp(self, ct: Value, y: Value, x: Value) -> Cotangents:
        return [ct * (-2 * slope(TanhAtOp, x) * y)]

    def body(self, x: Scalar) -> Scalar:
        return b.tanh_slope_at(x)

    def numpy(self, x: Any) -> Any:
        return tanh_slope_at(x)


@irdl_op_definition
class SigmoidPointOp(PointOp):
    """The point of sigmoid at x.   vjp: ct, since the point stands for x"""

    name = "grad.sigmoid_point"

    def vjp(self, ct: Value, y: Value, x: Value) -> Cotangents:
        return [ct]

    def body(self, x: Scalar) -> Scalar:
        return b.sigmoid_point(x)

    def numpy(self, x: Any) -> Any:
        return sigmoid_point(x)


@irdl_op_definition
class SigmoidAtOp(ReadPointOp):
    """sigmoid(x) from grad.sigmoid_point.   vjp: ct * sigmoid'(x)"""

    name = "grad.sigmoid_at"

    def vjp(self, ct: Value, y: Value, x: Value) -> Cotangents:
        return [ct * slope(SigmoidSlopeAtOp, x)]

    def body(self, x: Scalar) -> Scalar:
        return b.sigmoid_at(x)

    def numpy(self, x: Any) -> Any:
        return sigmoid_at(x)


@irdl_op_definition
class SigmoidSlopeAtOp(ReadPointOp):
    """sigmoid'(x) from grad.sigmoid_point.   vjp: ct * -tanh(x / 2) * y"""

    name = "grad.sigmoid_slope_at"

    def vjp(self, ct: Value, y: Value, x: Value) -> Cotangents:
        return [ct * -(slope(HalfTanhAtOp, x) * y)]

    def body(self, x: Scalar) -> Scalar:
        return b.sigmoid_slope_at(x)

    def numpy(self, x: Any) -> Any:
        return sigmoid_slope_at(x)


@irdl_op_definition
class HalfTanhAtOp(ReadPointOp):
    """tanh(x / 2) from grad.sigmoid_point.   vjp: ct * 2 * sigmoid'(x)"""

    name = "grad.half_tanh_at"

    def vjp(self, ct: Value, y: Value, x: Value) -> Cotangents:
        return [ct * (2 * slope(SigmoidSlopeAtOp, x))]

    def body(self, x: Scalar) -> Scalar:
        return b.half_tanh_at(x)

    def numpy(self, x: Any) -> Any:
        return half_tanh_at(x)


# On arrays of f32 and f64, with the formulas of `gradir/codegen/vector_math/exponential.py`.


def tanh(x: Any) -> Any:
    return tanh_at(tanh_point(x))


def sigmoid(x: Any) -> Any:
    return sigmoid_at(sigmoid_point(x))


def tanh_slope(x: Any) -> Any:
    return tanh_slope_at(tanh_point(x))


def sigmoid_slope(x: Any) -> Any:
    return sigmoid_slope_at(sigmoid_point(x))


def tanh_point(x: Any) -> Any:
    x = np.asarray(x)
    end = x.dtype.type(POINT_END[8 * x.dtype.itemsize])
    size = np.abs(x)
    half = np.expm1(2 * np.minimum(size, end)) / 2
    is_near = half < 1
    part = np.where(is_near, half, 1) / (half + 1)
    rest = _flagged(np.where(size > end, 0, part).astype(x.dtype))
    return np.copysign(np.where(is_near, part, rest), x)


def sigmoid_point(x: Any) -> Any:
    x = np.asarray(x)
    size = np.abs(x)
    power = np.exp(-size)
    is_near = power > x.dtype.type(1 / 3)
    part = np.where(is_near, -np.expm1(-size), power) / (power + 1)
    return np.copysign(np.where(is_near, part, _flagged(part)), x)


def tanh_at(point: Any) -> Any:
    is_far, rest = _flagged_part(point)
    return np.where(is_far, np.copysign(1 - rest, point), point)


def half_tanh_at(point: Any) -> Any:
    is_far, share = _flagged_part(point)
    return np.where(is_far, np.copysign(1 - 2 * share, point), point)


def tanh_slope_at(point: Any) -> Any:
    is_far, rest = _flagged_part(point)
    return np.where(is_far, rest * (2 - rest), 1 - _near(point) ** 2)


def sigmoid_at(point: Any) -> Any:
    is_far, share = _flagged_part(point)
    low = np.where(is_far, share, (1 - np.abs(_near(point))) / 2)
    return np.where(point < 0, low, 1 - low)


def sigmoid_slope_at(point: Any) -> Any:
    is_far, share = _flagged_part(point)
    return np.where(is_far, share * (1 - share), (1 - _near(point) ** 2) / 4)


def _flagged(part: Any) -> Any:
    """Parts with the highest bit of the exponent."""
    bits = 8 * part.dtype.itemsize
    integer = np.dtype(f"u{part.dtype.itemsize}")
    return (part.view(integer) | integer.type(1 << (bits - 2))).view(part.dtype)


def _flagged_part(point: Any) -> tuple[Any, Any]:
    """Where the part of a point is flagged, and the part there; 0 elsewhere."""
    point = np.asarray(point)
    integer = np.dtype(f"u{point.dtype.itemsize}")
    mask = integer.type((1 << (8 * point.dtype.itemsize - 2)) - 1)
    is_far = np.abs(point) > 1
    part = (np.ascontiguousarray(point).view(integer) & mask).view(point.dtype)
    return is_far, np.where(is_far, part.reshape(point.shape), point.dtype.type(0))


def _near(point: Any) -> Any:
    """Points without a flag, and nan; 0 elsewhere."""
    return np.where(np.abs(point) > 1, np.asarray(point).dtype.type(0), point)


OPS: tuple[type[TensorOp], ...] = (
    TanhPointOp, TanhAtOp, TanhSlopeAtOp, SigmoidPointOp, SigmoidAtOp, SigmoidSlopeAtOp,
    HalfTanhAtOp,
)  # fmt: skip
