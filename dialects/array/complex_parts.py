"""array: complex numbers from their parts, their parts, and their conjugates.

A cotangent of a complex number z = x + iy is the complex number c with
`d loss = real(c * dz)`: the transpose without conjugation, as in JAX.
"""

from __future__ import annotations

from abc import ABC
from collections.abc import Sequence
from typing import Any, ClassVar

from xdsl.ir import SSAValue
from xdsl.irdl import irdl_op_definition, operand_def, result_def
from xdsl.utils.exceptions import VerifyException

from gradir.dialects.array.movement import transposed
from gradir.dialects.base.attributes import Attributes, Types
from gradir.dialects.base.interfaces import Cotangents, TensorOp
from gradir.dialects.base.lazy_numpy import np
from gradir.dialects.base.shapes import (
    complex_element,
    element_of,
    is_complex_tensor,
    real_element,
    shape_of,
    tensor,
)
from gradir.dialects.base.value import Value
from gradir.dialects.building.kinds import ElementwiseOp, require_elements, require_equal_types


class _PartsOp(ElementwiseOp, ABC):
    """An elementwise op that is linear over the real numbers."""

    COMPLEX: ClassVar[bool] = True

    def zero_operands(self) -> Sequence[SSAValue]:
        return self.operands


class _OfComplexOp(_PartsOp, ABC):
    """y = f(z) of complex z."""

    x = operand_def()
    y = result_def()

    @classmethod
    def infer_types(cls, operands: Types, attributes: Attributes) -> Types:
        if not is_complex_tensor(operands[0]):
            raise VerifyException(f"elements must be complex, got {operands[0]}")
        return [tensor(shape_of(operands[0]), real_element(element_of(operands[0])))]


@irdl_op_definition
class ComplexOp(_PartsOp):
    """real + i * imag, of two tensors of f32 or f64.   vjp: real(ct), -imag(ct)"""

    name = "array.complex"
    TAKES_HALF: ClassVar[bool] = False

    real = operand_def()
    imag = operand_def()
    y = result_def()

    @classmethod
    def infer_types(cls, operands: Types, attributes: Attributes) -> Types:
        require_elements(operands[0], "float")
        require_equal_types(operands)
        element = element_of(operands[0])
        if real_element(complex_element(element)) != element:
            raise VerifyException(
                f"elements must be f32 or f64, got {operands[0]}; convert with array.astype"
            )
        return [tensor(shape_of(operands[0]), complex_element(element))]

    def vjp(self, ct: Value, y: Value, *parts: Value) -> Cotangents:
        return [RealOp.on(ct), -ImagOp.on(ct)]

    def numpy(self, real: Any, imag: Any) -> Any:
        made = np.empty(np.shape(real), np.result_type(real.dtype, np.complex64))
        made.real, made.imag = real, imag
        return made

    def simplify(self, real: Value, imag: Value) -> Value | None:
        first, second = real.ssa.owner, imag.ssa.owner
        if isinstance(first, RealOp) and isinstance(second, ImagOp) and first.x is second.x:
            return real.emitter.value(first.x)
        return None


@irdl_op_definition
class RealOp(_OfComplexOp):
    """The real part.   vjp: ct + 0i"""

    name = "array.real"

    def vjp(self, ct: Value, y: Value, x: Value) -> Cotangents:
        return [ComplexOp.on(ct, ct.full(0))]

    def numpy(self, x: Any) -> Any:
        return x.real

    def simplify(self, x: Value) -> Value | None:
        owner = x.ssa.owner
        return x.emitter.value(owner.real) if isinstance(owner, ComplexOp) else None


@irdl_op_definition
class ImagOp(_OfComplexOp):
    """The imaginary part.   vjp: -i * ct"""

    name = "array.imag"

    def vjp(self, ct: Value, y: Value, x: Value) -> Cotangents:
        return [ComplexOp.on(ct.full(0), -ct)]

    def numpy(self, x: Any) -> Any:
        return x.imag

    def simplify(self, x: Value) -> Value | None:
        owner = x.ssa.owner
        return x.emitter.value(owner.imag) if isinstance(owner, ComplexOp) else None


@irdl_op_definition
class ConjOp(_OfComplexOp):
    """real - i * imag.   vjp: conj(ct)"""

    name = "array.conj"
    SAME_TYPE: ClassVar[bool] = True

    @classmethod
    def infer_types(cls, operands: Types, attributes: Attributes) -> Types:
        super().infer_types(operands, attributes)
        return [operands[0]]

    def vjp(self, ct: Value, y: Value, x: Value) -> Cotangents:
        return [ConjOp.on(ct)]

    def numpy(self, x: Any) -> Any:
        return np.conjugate(x)

    def simplify(self, x: Value) -> Value | None:
        owner = x.ssa.owner
        return x.emitter.value(owner.x) if isinstance(owner, ConjOp) else None


def conjugated(x: Value) -> Value:
    """The conjugate of complex numbers; real ones as they are."""
    return ConjOp.on(x) if is_complex_tensor(x.type) else x


def adjoint(x: Value) -> Value:
    """The conjugate transposes of matrices."""
    return conjugated(transposed(x))


def times_real(x: Value, numbers: Value) -> Value:
    """x times real numbers of its shape."""
    if not is_complex_tensor(x.type):
        return x * numbers
    return ComplexOp.on(RealOp.on(x) * numbers, ImagOp.on(x) * numbers)


def real_part(x: Value) -> Value:
    """The real part of complex numbers; real ones as they are."""
    return RealOp.on(x) if is_complex_tensor(x.type) else x


OPS: tuple[type[TensorOp], ...] = (ComplexOp, RealOp, ImagOp, ConjOp)
