"""Checks of loopnest ops on which later stages rely: iteration counts and types."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import TYPE_CHECKING, cast

from xdsl.dialects.builtin import FloatAttr, IntegerAttr, i64
from xdsl.ir import Attribute, Operation, TypedAttribute
from xdsl.utils.exceptions import VerifyException

from gradir.dialects.base.shapes import as_integer_type, element_of, is_float, is_scalar
from gradir.dialects.loopnest.body_ops import scalar_type

if TYPE_CHECKING:
    from gradir.dialects.loopnest.loopnest import ContractOp, LoopOp

MOST_ITERATIONS = 1 << 62
"""The bound of an op's iterations: their numbers fit 64 bits."""


def require_count(op: Operation, extents: Sequence[int]) -> None:
    """VerifyException for MOST_ITERATIONS iterations or more."""
    if prod(max(n, 1) for n in extents) >= MOST_ITERATIONS:
        raise VerifyException(
            f"{op.name}: bounds must come to less than 2**62 iterations, got {list(extents)}"
        )


def require_pad(op: Operation, pad: Attribute | None, type_: Attribute) -> None:
    """VerifyException for a pad that is no element of the tensor."""
    if pad is None:
        return
    element = scalar_type(element_of(type_))
    is_literal = isinstance(pad, FloatAttr | IntegerAttr)
    if not is_literal or cast(TypedAttribute, pad).get_type() != element:
        raise VerifyException(f"{op.name}: pad must be a number of type {element}, got {pad}")


def verify_starts(op: LoopOp) -> None:
    """VerifyException where a start has another type than its output, or no output."""
    starts, types = op.starting_outputs, op.output_types
    if len(set(starts)) < len(starts) or not all(0 <= k < len(types) for k in starts):
        raise VerifyException(
            f"{op.name}: outputs with a start must be some of {len(types)}, got {starts}"
        )
    if op.outputs and not op.inits:
        # on buffers an output starts from the contents of its buffer
        return
    expected = [types[k] for k in starts]
    if [v.type for v in op.inits] != expected:
        wanted, got = (", ".join(map(str, ts)) for ts in (expected, op.inits.types))
        raise VerifyException(f"{op.name}: outputs must start from ({wanted}), got ({got})")


def verify_yielded(op: LoopOp) -> None:
    """VerifyException for a yielded value of another kind than its output, or an index not i64."""
    count = len(op.output_types)
    for value, type_ in zip(op.yielded, op.output_types, strict=False):
        element = scalar_type(element_of(type_))
        if not is_scalar(value.type) or is_float(value.type) != is_float(element):
            raise VerifyException(
                f"{op.name}: the body must yield a number for {type_}, got {value.type}"
            )
    for value in op.yielded[count:]:
        if value.type != i64:
            raise VerifyException(
                f"{op.name}: the body must yield indices of i64, got {value.type}"
            )


def verify_factors(op: ContractOp) -> None:
    """VerifyException where factors and accumulator are not all floats, or all integers."""
    factors = [scalar_type(element_of(v.type)) for v in op.inputs[:2]]
    types = [*factors, op.accumulator_type]
    if not all(map(is_scalar, types)) or len({is_float(t) for t in types}) > 1:
        raise VerifyException(
            f"{op.name}: factors and accumulator must be all floats or all integers, "
            f"got {', '.join(map(str, types))}"
        )
    widths = [t.width.data for t in map(as_integer_type, types) if t is not None]
    if widths and widths[-1] < max(widths):
        raise VerifyException(
            f"{op.name}: the accumulator must hold the factors, got {types[-1]} for "
            f"{types[0]} and {types[1]}"
        )
