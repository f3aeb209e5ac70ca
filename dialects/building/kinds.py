"""Kinds of tensor ops: unary, binary, comparing and linear ones."""

from __future__ import annotations

from abc import ABC
from collections.abc import Callable, Iterable, Sequence
from math import isfinite
from typing import Any, ClassVar

from xdsl.dialects.builtin import i1
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import operand_def, result_def, traits_def
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from gradir.dialects.base.attributes import Attributes, Types
from gradir.dialects.base.batch import Batch
from gradir.dialects.base.interfaces import Cotangents, TensorOp
from gradir.dialects.base.lazy_numpy import np
from gradir.dialects.base.shapes import (
    byte_size,
    common_shape,
    compatible,
    element_of,
    is_bool,
    is_complex,
    is_float,
    is_inexact,
    is_tensor,
    is_unsigned,
    shape_of,
    tensor,
)
from gradir.dialects.base.value import Emitter, Scalar, Value
from gradir.dialects.building.nests import body_on_elements, elementwise


class ElementwiseOp(TensorOp, ABC):
    """One result element from the operands' elements at the same place; shapes are equal."""

    # The equivalent function of NumPy, if there is one.
    NUMPY: ClassVar[str] = ""

    traits = traits_def(Pure())

    def vmap(self, batch: Batch) -> Sequence[Value]:
        return batch.in_front()

    def body(self, *xs: Scalar) -> Scalar:
        """The meaning on one element of each operand, in compute types (f32 for f16 and bf16)."""
        raise NotImplementedError(self.name)

    def body_on_stored(self, *xs: Scalar) -> Scalar:
        """The meaning on stored elements: the result is rounded to its element type."""
        operands = [element_of(value.type) for value in self.operands]
        return body_on_elements(self.body, operands, element_of(self.results[0].type))(*xs)

    def known_shapes(self) -> Iterable[tuple[SSAValue, Sequence[int]]]:
        return one_shape([*self.operands, *self.results])

    def lower(self, emitter: Emitter, operands: Sequence[SSAValue]) -> Sequence[SSAValue]:
        return elementwise(emitter, self.results[0].type, operands, self.body)

    def numpy(self, *arrays: Any) -> Any:
        return getattr(np, self.NUMPY)(*arrays)


def one_shape(values: Sequence[SSAValue]) -> Iterable[tuple[SSAValue, Sequence[int]]]:
    """`known_shapes` of values of one shape."""
    shape = common_shape([v.type for v in values])
    return [] if shape is None else [(v, shape) for v in values]


def require_equal_types(operands: Sequence[Attribute]) -> None:
    first = operands[0]
    for other in operands[1:]:
        same_shape = is_tensor(other) and compatible(shape_of(first), shape_of(other))
        if not same_shape or element_of(first) != element_of(other):
            raise VerifyException(
                f"operand types must be equal, got {first} and {other}; "
                "broadcast with array.broadcast_to or convert with array.astype"
            )


class UnaryOp(ElementwiseOp, ABC):
    """y = f(x), one type."""

    SAME_TYPE: ClassVar[bool] = True
    # The element types, as `require_elements` names them.
    DOMAIN: ClassVar[str] = "float"

    x = operand_def()
    y = result_def()

    @classmethod
    def infer_types(cls, operands: Types, attributes: Attributes) -> Types:
        require_elements(operands[0], cls.DOMAIN, cls.COMPLEX)
        return [operands[0]]


class BinaryOp(ElementwiseOp, ABC):
    """y = f(lhs, rhs), one type."""

    SAME_TYPE: ClassVar[bool] = True
    DOMAIN: ClassVar[str] = "number"

    lhs = operand_def()
    rhs = operand_def()
    y = result_def()

    @classmethod
    def infer_types(cls, operands: Types, attributes: Attributes) -> Types:
        require_equal_types(operands)
        require_elements(operands[0], cls.DOMAIN, cls.COMPLEX)
        return [operands[0]]


class CompareOp(ElementwiseOp, ABC):
    """y = f(lhs, rhs) as bool; inactive."""

    INACTIVE: ClassVar[bool] = True

    lhs = operand_def()
    rhs = operand_def()
    y = result_def()

    @classmethod
    def infer_types(cls, operands: Types, attributes: Attributes) -> Types:
        require_equal_types(operands)
        return [tensor(shape_of(operands[0]), i1)]


class FactOp(UnaryOp, ABC):
    """y = f(x), of another element type; inactive."""

    INACTIVE: ClassVar[bool] = True
    SAME_TYPE: ClassVar[bool] = False
    ELEMENT: ClassVar[Attribute] = i1

    @classmethod
    def infer_types(cls, operands: Types, attributes: Attributes) -> Types:
        require_elements(operands[0], cls.DOMAIN, cls.COMPLEX)
        return [tensor(shape_of(operands[0]), cls.ELEMENT)]


class SameValueOp(TensorOp, ABC):
    """y = x, with a meaning for derivatives or for passes."""

    COMPLEX: ClassVar[bool] = True
    SAME_TYPE: ClassVar[bool] = True
    TAKES_SCALARS: ClassVar[bool] = True

    x = operand_def()
    y = result_def()

    @classmethod
    def infer_types(cls, operands: Types, attributes: Attributes) -> Types:
        return [operands[0]]

    def vjp(self, ct: Value, *args: Value) -> Cotangents:
        return [ct]

    def zero_operands(self) -> Sequence[SSAValue]:
        return [self.x]

    def vmap(self, batch: Batch) -> Sequence[Value]:
        return batch.in_front()

    def numpy(self, *arrays: Any) -> Any:
        return arrays[0]

    def lower(self, emitter: Emitter, operands: Sequence[SSAValue]) -> Sequence[SSAValue]:
        return operands


class IdentityOp(SameValueOp, ABC):
    """y = x; equal ones may merge."""

    traits = traits_def(Pure())


_DOMAINS: dict[str, Callable[[Attribute], bool]] = {
    "float": is_float,
    "number": lambda element: not is_bool(element),
    "bool": is_bool,
    "integer": lambda element: not is_bool(element) and not is_float(element),
    "bits": lambda element: not is_float(element),
    "any": lambda element: True,
}
"""The domains of elements that are real, by name."""


def require_elements(type_: Attribute, domain: str, or_complex: bool = False) -> None:
    """`float`, `number` (float or integer), `bool`, `integer`, `bits` (integer, bool) or `any`.

    With `or_complex` complex numbers, too.
    """
    if not is_tensor(type_):
        raise VerifyException(f"expected a ranked tensor, got {type_}")
    element = type_.element_type
    if is_complex(element):
        fits = or_complex
    else:
        fits = _DOMAINS[domain](element)
    if not fits:
        wanted = {
            "number": "floating or integer",
            "float": "floating",
            "bool": "i1",
            "bits": "integer or i1",
            "any": "real",
        }
        raise VerifyException(f"elements must be {wanted.get(domain, domain)}, got {type_}")


def require_elements_agree(
    types: Sequence[Attribute], domain: str, or_complex: bool = False
) -> None:
    """VerifyException unless all have one element type, of the domain."""
    require_elements(types[0], domain, or_complex)
    if any(element_of(other) != element_of(types[0]) for other in types[1:]):
        raise VerifyException(f"elements must agree, got {types_text(types)}")


def types_text(types: Sequence[Attribute]) -> str:
    """Types in a message: `A, B and C`."""
    *others, last = map(str, types)
    return f"{', '.join(others)} and {last}"


def require_number(value: float, type_: Attribute) -> None:
    """VerifyException unless the type can hold `value`; floats are rounded, integers are exact."""
    element = element_of(type_)
    if is_inexact(element):
        return
    bits = 1 if is_bool(element) else 8 * byte_size(element)
    from_zero = is_bool(element) or is_unsigned(element)
    low, high = (0, 1 << bits) if from_zero else (-(1 << bits - 1), 1 << bits - 1)
    is_whole = isinstance(value, int) or (isfinite(value) and value.is_integer())
    if not (is_whole and low <= value < high):
        raise VerifyException(
            f"value must be an integer in [{low}, {high}) for {type_}, got {value}"
        )
