"""grad: a polynomial of known coefficients as one op, so that each derivative is one op too."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from xdsl.dialects.builtin import ArrayAttr, FloatAttr, f64
from xdsl.irdl import irdl_op_definition, operand_def, result_def
from xdsl.utils.exceptions import VerifyException

from gradir.dialects.base.attributes import Attributes, Types
from gradir.dialects.base.interfaces import Cotangents, TensorOp
from gradir.dialects.base.lazy_numpy import np
from gradir.dialects.base.value import Scalar, Value
from gradir.dialects.building.kinds import ElementwiseOp, require_elements


@irdl_op_definition
class PolynomialOp(ElementwiseOp):
    """c0 + c1 x + c2 x^2 + ... by Horner's rule, for the numbers of `coefficients`.

    There are two numbers or more. Each product and each sum is rounded.
    vjp: ct times the polynomial of the coefficients c1, 2 c2, ...
    """

    name = "grad.polynomial"
    ATTRIBUTES: ClassVar[tuple[str, ...]] = ("coefficients",)
    SAME_TYPE: ClassVar[bool] = True

    x = operand_def()
    y = result_def()

    @classmethod
    def infer_types(cls, operands: Types, attributes: Attributes) -> Types:
        _numbers(attributes)
        require_elements(operands[0], "float")
        return [operands[0]]

    def vjp(self, ct: Value, y: Value, x: Value) -> Cotangents:
        slope = [k * c for k, c in enumerate(_numbers(self.attributes))][1:]
        if len(slope) == 1:
            return [ct * slope[0]]
        return [ct * PolynomialOp.on(x, coefficients=floats(slope))]

    def body(self, x: Scalar) -> Scalar:
        return _value(x, _numbers(self.attributes))

    def numpy(self, *arrays: Any) -> Any:
        [x] = arrays
        numbers = np.array(_numbers(self.attributes)).astype(x.dtype)
        return _value(x, list(numbers))


def _value(x: Any, coefficients: Sequence[Any]) -> Any:
    total = x * coefficients[-1] + coefficients[-2]
    for c in reversed(coefficients[:-2]):
        total = total * x + c
    return total


def floats(values: Sequence[float]) -> ArrayAttr[FloatAttr]:
    """The attribute of a list of numbers."""
    return ArrayAttr([FloatAttr(float(v), f64) for v in values])


def _numbers(attributes: Attributes) -> list[float]:
    given = attributes.get("coefficients")
    entries = given.data if isinstance(given, ArrayAttr) else ()
    made = [e.value.data for e in entries if isinstance(e, FloatAttr)]
    if len(made) < 2 or len(made) != len(entries):
        raise VerifyException(f"coefficients must be two floats or more, got {given}")
    return made


GRAD_OPS: tuple[type[TensorOp], ...] = (PolynomialOp,)
