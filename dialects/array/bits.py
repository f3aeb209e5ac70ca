"""array: the bits of integers: logic, shifts, counts."""

from __future__ import annotations

from typing import Any, ClassVar

from xdsl.dialects import arith, math
from xdsl.ir import Attribute
from xdsl.irdl import irdl_op_definition, operand_def, result_def
from xdsl.utils.exceptions import VerifyException

from gradir.dialects.array.creation import numpy_dtype
from gradir.dialects.base.interfaces import TensorOp
from gradir.dialects.base.shapes import byte_size, compatible, element_of, shape_of, ui8
from gradir.dialects.base.value import Scalar, Unsigned, Value
from gradir.dialects.building import body as b
from gradir.dialects.building.kinds import BinaryOp, ElementwiseOp, FactOp


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


@irdl_op_definition
class BitcastOp(ElementwiseOp):
    """The bits of x as elements of the result's type, which is as wide: 32 or 64 bits. Inactive."""

    name = "array.bitcast"
    INACTIVE: ClassVar[bool] = True

    x = operand_def()
    y = result_def()

    def verify_types(self) -> None:
        of, to = element_of(self.x.type), element_of(self.y.type)
        if byte_size(of) != byte_size(to) or byte_size(of) not in (4, 8):
            raise VerifyException(
                f"elements must be of 32 bits, or of 64 bits, got {self.x.type} and {self.y.type}"
            )
        if not compatible(shape_of(self.x.type), shape_of(self.y.type)):
            raise VerifyException(f"shapes must be equal, got {self.x.type} and {self.y.type}")

    def body(self, x: Scalar) -> Scalar:
        return b.bitcast(x, element_of(self.y.type))

    def numpy(self, x: Any) -> Any:
        return x.view(numpy_dtype(element_of(self.y.type)))

    def simplify(self, x: Value) -> Value | None:
        return x if x.type == self.y.type else None


OPS: tuple[type[TensorOp], ...] = (
    BitwiseAndOp,
    BitwiseOrOp,
    BitwiseXorOp,
    BitwiseLeftShiftOp,
    BitwiseRightShiftOp,
    BitwiseCountOp,
    BitcastOp,
)
