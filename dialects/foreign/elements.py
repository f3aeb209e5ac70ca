"""Ops of arith and math on tensors: each is the op on numbers, element by element.

So both share a meaning, a derivative and native code: rules are written on `Elements`, and the
lowering is a loop nest with the op on numbers as its body.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import isnan
from typing import cast

from xdsl.dialects import arith, tensor
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, Signedness, TensorType
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.traits import ConstantLike
from xdsl.utils.exceptions import VerifyException

from gradir.dialects.base.access import Access
from gradir.dialects.base.attributes import splat_number
from gradir.dialects.base.elementwise_arith import FORMS
from gradir.dialects.base.interfaces import has_trait
from gradir.dialects.base.op_rules import is_elementwise
from gradir.dialects.base.shapes import (
    as_integer_type,
    byte_size,
    common_shape,
    element_of,
    extents_text,
    is_scalar,
    is_tensor,
    shape_of,
)
from gradir.dialects.base.value import Emitter, Scalar
from gradir.dialects.building import body as b
from gradir.dialects.building.nests import Body, Read, nest
from gradir.dialects.loopnest.loopnest import Output, scalar_type

_NUMBERS: dict[type[Operation], type[Operation]] = {form: op for op, form in FORMS.items()}


def numbers_class(op: Operation) -> type[Operation]:
    """The class on numbers of an op of arith or math, on numbers or tensors."""
    return _NUMBERS.get(type(op), type(op))


def is_on_tensors(op: Operation) -> bool:
    """Whether `op` is an elementwise op of arith or math on tensors."""
    return is_elementwise(op) and any(is_tensor(r.type) for r in op.results)


def element_type(type_: Attribute) -> Attribute:
    return element_of(type_) if is_tensor(type_) else type_


def verify_elements(op: Operation) -> None:
    """VerifyException for operand types on which an op of arith or math has no meaning."""
    if not is_elementwise(op):
        return
    values = [*op.operands, *op.results]
    if numbers_class(op) is arith.SelectOp:
        # of anything; and it may hang on one number for all elements
        _verify_shapes(op, values[1:] if op.operands and not is_tensor(values[0].type) else values)
        return
    _verify_shapes(op, values)
    for value in values:
        integer = as_integer_type(element_type(value.type))
        if integer is not None and integer.signedness.data != Signedness.SIGNLESS:
            raise VerifyException(f"{op.name}: integers must be signless, got {value.type}")
    if isinstance(op, arith.BitcastOp):
        types = [element_type(v.type) for v in values]
        if all(map(is_scalar, types)) and len({byte_size(t) for t in types}) > 1:
            raise VerifyException(
                f"{op.name}: types must have one width, got {values[0].type} and {values[1].type}"
            )


def _verify_shapes(op: Operation, values: Sequence[SSAValue]) -> None:
    """All are tensors of one shape, or none is a tensor."""
    tensors = [v.type for v in values if is_tensor(v.type)]
    if not tensors:
        return
    for value in values:
        if not is_tensor(value.type):
            raise VerifyException(f"{op.name}: tensors must not meet numbers, got {value.type}")
    if common_shape(tensors) is None:
        got = " and ".join(dict.fromkeys(extents_text(shape_of(t)) for t in tensors))
        raise VerifyException(f"{op.name}: operands and results must have one shape, got {got}")


def lower_elements(emitter: Emitter, op: Operation) -> SSAValue:
    """The op as a loop nest."""
    type_ = op.results[0].type
    rank = len(shape_of(type_))
    reads = [
        Read(o, Access.identity(rank))
        if is_tensor(o.type)
        else Read(as_tensor(emitter, o), Access(rank, ()))
        for o in op.operands
    ]
    output = Output(type_, Access.identity(rank))
    return nest(emitter, shape_of(type_), reads, [output], _body(op))[0]


def _body(op: Operation) -> Body:
    def body(near: Scalar, *xs: Scalar) -> Scalar:
        made = numbers_class(op).create(
            operands=[x.ssa for x in (near, *xs)],
            result_types=[scalar_type(element_type(r.type)) for r in op.results],
            properties=op.properties,
        )
        return near.emit(made)

    return body


def as_tensor(e: Emitter, number: SSAValue) -> SSAValue:
    """A number as a tensor of rank 0."""
    type_ = TensorType(number.type, [])
    return e.insert(tensor.FromElementsOp(number, result_type=type_)).results[0]


# Constants.


def dense_of(op: Operation) -> DenseIntOrFPElementsAttr | None:
    """The value of a constant tensor of array or arith; None for other ops."""
    if not has_trait(op, ConstantLike) or not is_tensor(op.results[0].type):
        return None
    value = {**op.attributes, **op.properties}.get("value")
    is_dense = isinstance(value, DenseIntOrFPElementsAttr)
    return cast(DenseIntOrFPElementsAttr, value) if is_dense else None


def lower_constant(emitter: Emitter, op: Operation) -> SSAValue | None:
    """A constant of one repeated number as a loop nest; others stay, as constant buffers: so do
    nans, which have bits of their own."""
    dense, type_ = dense_of(op), op.results[0].type
    number = None if dense is None else splat_number(dense)
    if number is None or isnan(number):
        return None
    rank, element = len(shape_of(type_)), scalar_type(element_of(type_))

    def fill(near: Scalar) -> Scalar:
        return b.literal(near, number, element)

    return nest(emitter, shape_of(type_), [], [Output(type_, Access.identity(rank))], fill)[0]


__all__ = [
    "as_tensor",
    "dense_of",
    "element_type",
    "is_elementwise",
    "is_on_tensors",
    "lower_constant",
    "lower_elements",
    "numbers_class",
    "verify_elements",
]
