"""array: the bits of integers: logic, shifts, counts."""

from __future__ import annotations

from typing import ClassVar

from xdsl.dialects import arith, math
from xdsl.ir import Attribute
from xdsl.irdl import irdl_op_definition

from gradir.dialects.base.interfaces import TensorOp
from gradir.dialects.base.shapes import ui8
from gradir.dialects.base.value import Scalar, Unsigned
from gradir.dialects.building import body as b
from gradir.dialects.building.kinds import BinaryOp, FactOp


class _BitwiseOp(BinaryOp):
    """On the bits of integers, or on bools."""

    INACTIVE: ClassVar[bool] = True
    DOMAIN: ClassVar[str] = "bits"


@irdl_op_definition
class BitwiseAndOp(_BitwiseOp):
    """The bits set in both."""

    name = "array.bitwise_and"
    NUMPY: ClassVar[str] = "bitwise_and"

    def body(self, x: Scalar, y: Scalar) -> Scalar:
        return b.logical_and(x, y)


@irdl_op_definition
class BitwiseOrOp(_BitwiseOp):
    """The bits set in one or both."""

    name = "array.bitwise_or"
    NUMPY: ClassVar[str] = "bitwise_or"

    def body(self, x: Scalar, y: Scalar) -> Scalar:
        return b.logical_or(x, y)


@irdl_op_definition
class BitwiseXorOp(_BitwiseOp):
    """The bits set in one, not in both."""

    name = "array.bitwise_xor"
    NUMPY: ClassVar[str] = "bitwise_xor"

    def body(self, x: Scalar, y: Scalar) -> Scalar:
        return b.logical_xor(x, y)


class _ShiftOp(BinaryOp):
    """The bits of integers moved; a count that is negative or the width or more moves all out."""

    INACTIVE: ClassVar[bool] = True
    DOMAIN: ClassVar[str] = "integer"


@irdl_op_definition
class BitwiseLeftShiftOp(_ShiftOp):
    """The bits of lhs moved rhs places up; 0 where rhs is negative, or the width or more."""

    name = "array.bitwise_left_shift"
    NUMPY: ClassVar[str] = "left_shift"

    def body(self, x: Scalar, y: Scalar) -> Scalar:
        return x.emit(arith.ShLIOp(x.ssa, y.ssa))


@irdl_op_definition
class BitwiseRightShiftOp(_ShiftOp):
    """The bits of lhs moved rhs places down, the sign kept: lhs divided by 2 ** rhs, rounded down.

    0, or -1 of negative numbers, where rhs is negative, or the width or more.
    """

    name = "array.bitwise_right_shift"
    NUMPY: ClassVar[str] = "right_shift"

    def body(self, x: Scalar, y: Scalar) -> Scalar:
        op = arith.ShRUIOp if isinstance(x, Unsigned) else arith.ShRSIOp
        return x.emit(op(x.ssa, y.ssa))


@irdl_op_definition
class BitwiseCountOp(FactOp):
    """The number of ones in the binary digits of |x|, as ui8; inactive."""

    name = "array.bitwise_count"
    NUMPY: ClassVar[str] = "bitwise_count"
    DOMAIN: ClassVar[str] = "integer"
    ELEMENT: ClassVar[Attribute] = ui8

    def body(self, x: Scalar) -> Scalar:
        size = b.absolute(x)
        return b.cast(size.emit(math.CtPopOp(size.ssa)), ui8)


OPS: tuple[type[TensorOp], ...] = (
    BitwiseAndOp,
    BitwiseOrOp,
    BitwiseXorOp,
    BitwiseLeftShiftOp,
    BitwiseRightShiftOp,
    BitwiseCountOp,
)
