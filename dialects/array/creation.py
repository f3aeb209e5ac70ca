"""array: tensors made from attributes alone."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from math import prod
from typing import Any, ClassVar, Self, cast

from xdsl.dialects.builtin import BytesAttr, DenseIntOrFPElementsAttr, f64, i1
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import irdl_op_definition, result_def, traits_def
from xdsl.traits import ConstantLike, Pure
from xdsl.utils.exceptions import VerifyException

from gradir.dialects.base.access import Access
from gradir.dialects.base.attributes import attribute, integer, number, splat_number
from gradir.dialects.base.interfaces import TensorOp
from gradir.dialects.base.lazy_numpy import np
from gradir.dialects.base.rounding import rounded
from gradir.dialects.base.shapes import (
    NUMPY_NAMES,
    element_of,
    is_complex,
    is_float,
    normalize_axis,
    shape_of,
    tensor,
)
from gradir.dialects.base.support import NOWHERE, Mask, Supports
from gradir.dialects.base.value import Emitter, Scalar, Value
from gradir.dialects.building import body as b
from gradir.dialects.building.kinds import require_elements, require_number
from gradir.dialects.building.nests import nest
from gradir.dialects.loopnest.loopnest import Output, scalar_type


class CreationOp(TensorOp):
    """A tensor of the result type, made without operands."""

    INACTIVE: ClassVar[bool] = True
    y = result_def()
    traits = traits_def(Pure())


@irdl_op_definition
class FullOp(CreationOp):
    """Every element is `value`, rounded to the element type.

    Of ui64 a number from 2**63 on has its type: `value = 9223372036854775808 : ui64`. `imag` is the
    imaginary part of a complex number, 0 where absent.
    """

    name = "array.full"
    COMPLEX: ClassVar[bool] = True
    ATTRIBUTES: ClassVar[tuple[str, ...]] = ("value", "imag")
    traits = traits_def(Pure())

    @classmethod
    def fill(cls, value: complex, type_: Attribute) -> Self:
        element = element_of(type_)
        if is_complex(element):
            one = complex(value)
            parts = {"value": attribute(one.real)}
            if str(one.imag) != "0.0":
                parts["imag"] = attribute(one.imag)
            return cls.create(result_types=[type_], attributes=parts)
        assert not isinstance(value, complex), f"{value} as {element}"
        exact = rounded(value, f64 if is_float(element) else element)
        return cls.create(result_types=[type_], attributes={"value": attribute(exact)})

    def with_type(self, emitter: Emitter, type_: Attribute) -> Value:
        """A tensor of another type, with the same elements."""
        made = FullOp.create(result_types=[type_], attributes=self.attributes)
        return emitter.value(emitter.insert(made).y)

    @property
    def number(self) -> float:
        """The number, of complex ones the real part."""
        return number(self.attributes, "value")

    @property
    def imag(self) -> float:
        """The imaginary part."""
        return number(self.attributes, "imag", 0.0)

    @property
    def whole(self) -> complex:
        """The number, complex where the elements are."""
        is_real = not is_complex(element_of(self.y.type))
        return self.number if is_real else complex(self.number, self.imag)

    def verify_types(self) -> None:
        require_number(self.number, self.y.type)
        if "imag" in self.attributes and not is_complex(element_of(self.y.type)):
            raise VerifyException(f"imag must be absent for real elements, got {self.y.type}")
        _ = self.imag

    def support(self, of: Supports) -> Mask | None:
        return NOWHERE if self.whole == 0 else None

    def numpy(self, *arrays: Any) -> Any:
        element, shape = element_of(self.y.type), shape_of(self.y.type)
        if is_complex(element):
            return np.full(shape, self.whole, numpy_dtype(element))
        return np.full(shape, rounded(self.number, element), numpy_dtype(element))

    def lower(self, emitter: Emitter, operands: Sequence[SSAValue]) -> Sequence[SSAValue]:
        shape, element = shape_of(self.y.type), scalar_type(element_of(self.y.type))
        output = Output(self.y.type, Access.identity(len(shape)))

        def fill(at: Scalar) -> Scalar:
            return b.literal(at, self.number, element)

        return nest(emitter, shape, [], [output], fill)


def full(near: Value, number: complex, type_: Attribute) -> Value:
    """A tensor filled with a number, emitted beside `near`."""
    op = near.emitter.insert(FullOp.fill(number, type_))
    return Value(op.y, near.emitter)


Value.OPERATORS["full"] = full


@irdl_op_definition
class ConstantOp(TensorOp):
    """The tensor written in `value`, e.g. `dense<[1.0, 2.0]> : tensor<2xf32>`."""

    name = "array.constant"
    COMPLEX: ClassVar[bool] = True
    INACTIVE: ClassVar[bool] = True
    ATTRIBUTES: ClassVar[tuple[str, ...]] = ("value",)
    y = result_def()
    traits = traits_def(Pure(), ConstantLike())  # pyrefly: ignore[direct-abstract-base-instantiation]

    @classmethod
    def of_array(cls, array: Any, element: Attribute) -> Self:
        """The constant of a NumPy array, whose elements are converted to these."""
        type_: Any = tensor(array.shape, element)
        if element == i1:
            dense = DenseIntOrFPElementsAttr.from_list(type_, array.astype(int).ravel().tolist())
        else:
            data = np.ascontiguousarray(array, numpy_dtype(element)).tobytes()
            dense = DenseIntOrFPElementsAttr(type_, BytesAttr(data))
        return cls.create(result_types=[type_], attributes={"value": dense})

    @property
    def dense(self) -> DenseIntOrFPElementsAttr:
        return cast(DenseIntOrFPElementsAttr, self.attributes["value"])

    def verify_types(self) -> None:
        value = self.attributes.get("value")
        if not isinstance(value, DenseIntOrFPElementsAttr):
            raise VerifyException(
                f"value must be dense<...> : tensor<...>, got {value or 'nothing'}"
            )
        if cast(Any, value).type != self.y.type:
            raise VerifyException(
                "the value's type must be the result's, "
                f"got {cast(Any, value).type} and {self.y.type}"
            )

    @property
    def array(self) -> Any:
        """The value as a NumPy array."""
        element, shape = element_of(self.y.type), shape_of(self.y.type)
        if NUMPY_NAMES[element] == "bfloat16":
            values = np.array([float(cast(float, v)) for v in self.dense.get_values()])
            return values.reshape(shape).astype(numpy_dtype(element))
        if NUMPY_NAMES[element] == "bool":
            data: Any = np.frombuffer(self.dense.data.data, np.int8) != 0
        else:
            data = np.frombuffer(self.dense.data.data, numpy_dtype(element))
        is_whole = data.size == prod(shape)
        return np.array(data.reshape(shape) if is_whole else np.broadcast_to(data, shape))

    @property
    def splat(self) -> float | None:
        """The common value of all elements; None where they differ, and of complex numbers."""
        return None if is_complex(element_of(self.y.type)) else splat_number(self.dense)

    def support(self, of: Supports) -> Mask | None:
        return NOWHERE if self.splat == 0 else None

    def numpy(self, *arrays: Any) -> Any:
        return self.array


@irdl_op_definition
class IotaOp(CreationOp):
    """0, 1, ... along `axis`, repeated along all others."""

    name = "array.iota"
    ATTRIBUTES: ClassVar[tuple[str, ...]] = ("axis",)

    @property
    def axis(self) -> int:
        return normalize_axis(integer(self.attributes, "axis"), len(shape_of(self.y.type)))

    def verify_types(self) -> None:
        require_elements(self.y.type, "number")
        _ = self.axis

    def numpy(self, *arrays: Any) -> Any:
        shape, axis = shape_of(self.y.type), self.axis
        line = [n if d == axis else 1 for d, n in enumerate(shape)]
        return np.broadcast_to(np.arange(shape[axis]).reshape(line), shape)

    def lower(self, emitter: Emitter, operands: Sequence[SSAValue]) -> Sequence[SSAValue]:
        shape, element = shape_of(self.y.type), element_of(self.y.type)

        def count(at: Scalar) -> Scalar:
            return b.from_compute(b.cast(b.index(at, self.axis), b.compute_type(element)), element)

        return nest(emitter, shape, [], [Output(self.y.type, Access.identity(len(shape)))], count)


@cache
def numpy_dtype(element: Attribute) -> Any:
    """The NumPy dtype of an element type; ml_dtypes has bfloat16."""
    name = NUMPY_NAMES[element]
    if name == "bfloat16":
        import ml_dtypes

        return np.dtype(ml_dtypes.bfloat16)
    return np.dtype(name)


OPS: tuple[type[TensorOp], ...] = (FullOp, ConstantOp, IotaOp)
