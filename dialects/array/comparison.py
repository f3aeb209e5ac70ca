"""array: comparisons, logic, selection by a condition, conversion of elements."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from typing import Any, ClassVar

from xdsl.dialects.builtin import i1
from xdsl.ir import SSAValue
from xdsl.irdl import irdl_op_definition, operand_def, result_def
from xdsl.utils.exceptions import VerifyException

from gradir.dialects.base.attributes import Attributes, Types
from gradir.dialects.base.interfaces import Cotangents, TensorOp
from gradir.dialects.base.shapes import (
    compatible,
    element_of,
    is_complex,
    is_complex_tensor,
    is_float,
    is_inexact,
    shape_of,
    tensor,
)
from gradir.dialects.base.support import NOWHERE, Mask, Supports, both, either, negated
from gradir.dialects.base.value import Scalar, Value
from gradir.dialects.building import body as b
from gradir.dialects.building.kinds import (
    BinaryOp,
    CompareOp,
    ElementwiseOp,
    FactOp,
    UnaryOp,
    require_elements,
    require_equal_types,
)

# Comparisons.


@irdl_op_definition
class EqualOp(CompareOp):
    """lhs == rhs; false of nan."""

    name = "array.equal"
    COMPLEX: ClassVar[bool] = True
    NUMPY: ClassVar[str] = "equal"

    def body(self, x: Scalar, y: Scalar) -> Scalar:
        return b.equal(x, y)


@irdl_op_definition
class NotEqualOp(CompareOp):
    """lhs != rhs; true of nan."""

    name = "array.not_equal"
    COMPLEX: ClassVar[bool] = True
    NUMPY: ClassVar[str] = "not_equal"

    def body(self, x: Scalar, y: Scalar) -> Scalar:
        return b.not_equal(x, y)


class _OrderOp(CompareOp):
    """An order; bools have none."""

    DOMAIN: ClassVar[str] = "number"

    def verify_types(self) -> None:
        require_elements(self.lhs.type, self.DOMAIN)


@irdl_op_definition
class LessOp(_OrderOp):
    """lhs < rhs; false of nan."""

    name = "array.less"
    NUMPY: ClassVar[str] = "less"

    def body(self, x: Scalar, y: Scalar) -> Scalar:
        return x < y


@irdl_op_definition
class LessEqualOp(_OrderOp):
    """lhs <= rhs; false of nan."""

    name = "array.less_equal"
    NUMPY: ClassVar[str] = "less_equal"

    def body(self, x: Scalar, y: Scalar) -> Scalar:
        return x <= y


@irdl_op_definition
class GreaterOp(_OrderOp):
    """lhs > rhs; false of nan."""

    name = "array.greater"
    NUMPY: ClassVar[str] = "greater"

    def body(self, x: Scalar, y: Scalar) -> Scalar:
        return x > y


@irdl_op_definition
class GreaterEqualOp(_OrderOp):
    """lhs >= rhs; false of nan."""

    name = "array.greater_equal"
    NUMPY: ClassVar[str] = "greater_equal"

    def body(self, x: Scalar, y: Scalar) -> Scalar:
        return x >= y


# Logic.


class _LogicOp(BinaryOp):
    """On bools."""

    INACTIVE: ClassVar[bool] = True
    DOMAIN: ClassVar[str] = "bool"


@irdl_op_definition
class LogicalAndOp(_LogicOp):
    """Both are true (i1)."""

    name = "array.logical_and"
    NUMPY: ClassVar[str] = "logical_and"

    def body(self, x: Scalar, y: Scalar) -> Scalar:
        return b.logical_and(x, y)


@irdl_op_definition
class LogicalOrOp(_LogicOp):
    """One is true, or both (i1)."""

    name = "array.logical_or"
    NUMPY: ClassVar[str] = "logical_or"

    def body(self, x: Scalar, y: Scalar) -> Scalar:
        return b.logical_or(x, y)


@irdl_op_definition
class LogicalXorOp(_LogicOp):
    """One is true, not both (i1)."""

    name = "array.logical_xor"
    NUMPY: ClassVar[str] = "logical_xor"

    def body(self, x: Scalar, y: Scalar) -> Scalar:
        return b.logical_xor(x, y)


@irdl_op_definition
class LogicalNotOp(UnaryOp):
    """Is false (i1)."""

    name = "array.logical_not"
    NUMPY: ClassVar[str] = "logical_not"
    DOMAIN: ClassVar[str] = "bool"
    INACTIVE: ClassVar[bool] = True

    def body(self, x: Scalar) -> Scalar:
        return b.logical_not(x)


# Kinds of numbers.


class _ClassifyOp(FactOp):
    """A fact about each number as bool; integers are finite."""

    DOMAIN: ClassVar[str] = "number"


@irdl_op_definition
class IsnanOp(_ClassifyOp):
    """Is not a number."""

    name = "array.isnan"
    COMPLEX: ClassVar[bool] = True
    NUMPY: ClassVar[str] = "isnan"

    def body(self, x: Scalar) -> Scalar:
        return b.unordered(x, x)


@irdl_op_definition
class IsinfOp(_ClassifyOp):
    """Is inf or -inf."""

    name = "array.isinf"
    COMPLEX: ClassVar[bool] = True
    NUMPY: ClassVar[str] = "isinf"

    def body(self, x: Scalar) -> Scalar:
        if not is_float(x.type):
            return b.literal(x, 0, i1)
        return b.absolute(x).equal(inf)


@irdl_op_definition
class IsfiniteOp(_ClassifyOp):
    """Is neither infinite nor nan."""

    name = "array.isfinite"
    COMPLEX: ClassVar[bool] = True
    NUMPY: ClassVar[str] = "isfinite"

    def body(self, x: Scalar) -> Scalar:
        if not is_float(x.type):
            return b.literal(x, 1, i1)
        return b.absolute(x) < inf


# Selection, conversion.


@irdl_op_definition
class WhereOp(ElementwiseOp):
    """x where cond (i1) is true, else y.   vjp: ct where cond, ct where not"""

    name = "array.where"
    COMPLEX: ClassVar[bool] = True
    NUMPY: ClassVar[str] = "where"

    cond = operand_def()
    x = operand_def()
    y = operand_def()
    result = result_def()

    @classmethod
    def infer_types(cls, operands: Types, attributes: Attributes) -> Types:
        cond, x, y = operands
        require_elements(cond, "bool")
        require_equal_types([x, y])
        require_equal_types([cond, tensor(shape_of(x), i1)])
        return [x]

    def vjp(self, ct: Value, result: Value, cond: Value, x: Value, y: Value) -> Cotangents:
        zero = ct.full(0)
        return [None, WhereOp.on(cond, ct, zero), WhereOp.on(cond, zero, ct)]

    def zero_operands(self) -> Sequence[SSAValue]:
        return [self.x, self.y]

    def selected_operand(self, of: Supports) -> int | None:
        return next((k for k, o in ((1, self.y), (2, self.x)) if of.of(o) is NOWHERE), None)

    def support(self, of: Supports) -> Mask | None:
        return chosen_support(Mask.of(self.cond), of.of(self.x), of.of(self.y))

    def simplify(self, cond: Value, x: Value, y: Value) -> Value | None:
        from gradir.dialects.array.gather_scatter import IndexUpdateOp

        update = x.ssa.owner
        if isinstance(update, IndexUpdateOp) and update.x is y.ssa and x.ssa.has_one_use():
            return update.where(cond)
        return self._without_equal_choice(cond, x, y)

    def _without_equal_choice(self, cond: Value, x: Value, y: Value) -> Value | None:
        """The choice without an operand's own choice by the same condition."""
        inner, other = x.ssa.owner, y.ssa.owner
        if isinstance(inner, WhereOp) and inner.cond is cond.ssa:
            return cond.choose(x.emitter.value(inner.x), y)
        if isinstance(other, WhereOp) and other.cond is cond.ssa:
            return cond.choose(x, x.emitter.value(other.y))
        return None

    def body(self, cond: Scalar, x: Scalar, y: Scalar) -> Scalar:
        return b.select(cond, x, y)


def chosen_support(cond: Mask, x: Mask | None, y: Mask | None) -> Mask | None:
    """The support of x where a condition is true, else y."""
    if y is NOWHERE:
        return both(cond, x)
    if x is NOWHERE:
        return both(negated(cond), y)
    if x is None and y is None:
        return None
    return either(both(cond, x), both(negated(cond), y))


@irdl_op_definition
class AstypeOp(ElementwiseOp):
    """x converted to the result's element type, rounded once.

    Floats become integers toward 0, saturate where out of range, and nan is 0; integers wrap;
    numbers other than 0 are true. Real numbers become complex; of complex ones take a part.
    vjp: astype(ct) between floats; zero from or to an integer; real(ct) from a float to a complex
    number
    """

    name = "array.astype"
    COMPLEX: ClassVar[bool] = True

    x = operand_def()
    y = result_def()

    def verify_types(self) -> None:
        if not compatible(shape_of(self.x.type), shape_of(self.y.type)):
            raise VerifyException(
                f"shapes must be equal, got {self.x.type} and {self.y.type}; "
                "broadcast with array.broadcast_to"
            )

        if is_complex_tensor(self.x.type) and not is_complex_tensor(self.y.type):
            raise VerifyException(
                f"complex numbers become no {self.y.type}; take array.real, array.imag or array.abs"
            )

    def vjp(self, ct: Value, y: Value, x: Value) -> Cotangents:
        if is_float(x.element) and is_complex(y.element):
            from gradir.dialects.array.complex_parts import RealOp

            part = RealOp.on(ct)
            return [part if part.type == x.type else AstypeOp.on(part, type=x.type)]
        return [AstypeOp.on(ct, type=x.type) if is_inexact(x.element) else None]

    def zero_operands(self) -> Sequence[SSAValue]:
        return [self.x]

    def body(self, x: Scalar) -> Scalar:
        # at once: by way of the compute type it would round twice
        return b.cast(x, element_of(self.y.type))

    def numpy(self, x: Any) -> Any:
        return x  # the interpreter casts to the result type

    def simplify(self, x: Value) -> Value | None:
        return x if x.type == self.y.type else None


OPS: tuple[type[TensorOp], ...] = (
    EqualOp,
    NotEqualOp,
    LessOp,
    LessEqualOp,
    GreaterOp,
    GreaterEqualOp,
    LogicalAndOp,
    LogicalOrOp,
    LogicalXorOp,
    LogicalNotOp,
    IsnanOp,
    IsinfOp,
    IsfiniteOp,
    WhereOp,
    AstypeOp,
)
