"""One element type and one shape for the operands of an op.

`lattice` joins the element types, and the result gives way to one that the op takes (its DOMAIN):
integers and bools become floats for an op on floats, and weak ones, so that arrays of floats beside
the result keep their type. Bools that an op takes for numbers become integers, and the result has
NumPy's type for bools.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from math import isfinite
from typing import Any

import numpy as np
from xdsl.dialects.builtin import i1, i8, i32
from xdsl.ir import Attribute
from xdsl.utils.exceptions import VerifyException

from gradir.dialects.array.comparison import AstypeOp, NotEqualOp
from gradir.dialects.array.creation import numpy_dtype
from gradir.dialects.array.movement import BroadcastToOp
from gradir.dialects.base.extents import is_extent
from gradir.dialects.base.interfaces import TensorOp
from gradir.dialects.base.shapes import (
    NUMPY_NAMES,
    broadcast_shapes,
    is_bool,
    is_complex,
    is_float,
    is_inexact,
    same_shape,
    tensor,
)
from gradir.dialects.building.kinds import CompareOp
from gradir.frontends.functions.lattice import element_at, join, node_of
from gradir.frontends.tracing.default_types import default_element, default_of
from gradir.frontends.tracing.source_locations import refusal
from gradir.frontends.tracing.tracer import Tracer
from gradir.frontends.tracing.tracing import element, emit_one, filled, is_number, lifted


@dataclass(frozen=True)
class Common:
    """The element type of operands; whether it is weak; and a type that results get from it."""

    element: Attribute
    weak: bool = False
    result: Attribute | None = None


def result_element(operands: Sequence[Any]) -> tuple[Attribute, bool]:
    """The common element type of operands, and whether it is weak."""
    nodes = [
        node_of(element(o), o.weak) if isinstance(o, Tracer) else node_of(default_of(o), weak=True)
        for o in operands
    ]
    node = reduce(join, nodes)
    is_weak = not isinstance(node, Attribute)
    are_weak = all(o.weak for o in operands if isinstance(o, Tracer))
    return element_at(node), is_weak or are_weak


def common_element(op: type[TensorOp], operands: Sequence[Any]) -> Common:
    """The type in which an op takes operands; TraceError where NumPy's function takes no bools."""
    found, weak = result_element(operands)
    if op.DOMAIN == "bool":
        return Common(i1)
    if is_complex(found):
        _require_complex_meaning(op, found)
        return Common(found, weak)
    if op.DOMAIN == "float" and not is_float(found):
        return Common(default_element(float), True)
    if op.DOMAIN == "number" and is_bool(found):
        return _of_bools(op)
    return Common(found, weak)


def _require_complex_meaning(op: type[TensorOp], kind: Attribute) -> None:
    if not op.COMPLEX:
        raise refusal(
            f"{op.name}: elements must be real, got {NUMPY_NAMES[kind]}; take x.real, x.imag or "
            "numpy.abs(x)"
        )


def _of_bools(op: type[TensorOp]) -> Common:
    function = getattr(np, op.name.partition(".")[2], None)
    if isinstance(function, np.ufunc):
        types = (np.dtype(bool),) * function.nin + (None,) * function.nout
        try:
            result = function.resolve_dtypes(types)[-1]
        except TypeError as error:
            raise refusal(f"{op.name}: {error}") from None
        if result == np.int8:
            return Common(i8)
    return Common(i32, result=i1)


def operand(value: object) -> Any:
    """A Python number unchanged, other values as traced arrays."""
    return value if is_number(value) else lifted(value)


def fitting(number: Any, kind: Attribute) -> Any:
    """A Python number cast to a type as by NumPy: fractions are cut off, all but 0 is true.

    TraceError for a complex number as a real one.
    """
    if is_bool(kind):
        return bool(number)
    if isinstance(number, complex) and not is_complex(kind):
        raise refusal(f"{number} is no {NUMPY_NAMES[kind]} number; take its real or imaginary part")
    return number if is_inexact(kind) or not isfinite(number) else int(number)


def converted(value: Any, kind: Attribute) -> Tracer:
    """A traced array, or a Python number, with elements of a type."""
    value = lifted(value) if is_extent(value) else value
    if not isinstance(value, Tracer):
        return filled(fitting(value, kind), tensor([], kind))
    if element(value) == kind:
        return value
    if is_complex(element(value)) and not is_complex(kind):
        if is_bool(kind):
            return emit_one(NotEqualOp, value, filled(0, value.type))
        raise refusal(
            f"complex numbers become no {NUMPY_NAMES[kind]}; take x.real, x.imag or numpy.abs(x)"
        )
    return emit_one(AstypeOp, value, type=tensor(value.shape, kind))


def spread(value: Any, shape: Sequence[int], kind: Attribute) -> Tracer:
    """A traced array, or a Python number, of an element type and a shape that it broadcasts to."""
    value = lifted(value) if is_extent(value) else value
    if not isinstance(value, Tracer):
        return filled(fitting(value, kind), tensor(shape, kind))
    value = converted(value, kind)
    if same_shape(value.shape, shape):
        return value
    return emit_one(BroadcastToOp, value, type=tensor(shape, kind))


def common_shape(what: str, operands: Sequence[object]) -> tuple[int, ...]:
    """The broadcast shape of operands; TraceError where there is none."""
    shape: tuple[int, ...] = ()
    for value in operands:
        try:
            shape = broadcast_shapes(shape, value.shape if isinstance(value, Tracer) else ())
        except VerifyException as error:
            raise refusal(f"{what}: {error}") from None
    return shape


def unified(op: type[TensorOp], values: Sequence[object]) -> tuple[list[Tracer], Common]:
    """Operands of one element type, and that type."""
    operands = [operand(v) for v in values]
    common = common_element(op, operands)
    return [converted(o, common.element) for o in operands], common


def broadcast(op: type[TensorOp], values: Sequence[object]) -> tuple[list[Tracer], Common]:
    """Operands of one element type and one shape, and that type."""
    operands = [operand(v) for v in values]
    common = common_element(op, operands)
    if issubclass(op, CompareOp):
        operands = _comparable(operands, common.element)
    if _are_alike(operands, common.element):
        return operands, common
    shape = common_shape(op.name, operands)
    return [spread(o, shape, common.element) for o in operands], common


def _comparable(operands: list[Any], kind: Attribute) -> list[Any]:
    """Operands of a comparison; 0 and 1 in their order where a number is no integer of `kind`."""
    numbers = [k for k, o in enumerate(operands) if isinstance(o, int) and not is_extent(o)]
    if len(numbers) != 1 or is_inexact(kind) or is_bool(kind):
        return operands
    limits, number = np.iinfo(numpy_dtype(kind)), operands[numbers[0]]
    if limits.min <= number <= limits.max:
        return operands
    is_above = number > limits.max
    return [
        int(is_above) if k in numbers else spread(int(not is_above), o.shape, kind)
        for k, o in enumerate(operands)
    ]


def _are_alike(operands: Sequence[Any], kind: Attribute) -> bool:
    """Whether all are traced arrays of one type, with elements of `kind`."""
    first = operands[0]
    return all(
        isinstance(o, Tracer) and o.type == first.type and element(o) == kind for o in operands
    )
