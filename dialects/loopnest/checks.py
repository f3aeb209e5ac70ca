"""Checks of loopnest ops on which later stages rely: iteration counts and types."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import TYPE_CHECKING, cast

from xdsl.dialects.builtin import AnyFloat, Float32Type, FloatAttr, IntegerAttr, i64
from xdsl.ir import Attribute, Operation, TypedAttribute
from xdsl.utils.exceptions import VerifyException

from gradir.dialects.base.access import Access
from gradir.dialects.base.precision import PRECISION, require_precision
from gradir.dialects.base.shapes import as_integer_type, element_of, is_float, is_scalar
from gradir.dialects.loopnest.body_ops import scalar_type

if TYPE_CHECKING:
    from gradir.dialects.loopnest.loopnest import ContractOp, LoopOp

FLOAT_COMBINERS = ("none", "add", "multiply", "maximum", "minimum")
COMBINERS = (*FLOAT_COMBINERS, "and", "or")
MOST_ITERATIONS = 1 << 62
"""The bound of an op's iterations and subscripts: their numbers fit 64 bits."""


def require_count(op: Operation, extents: Sequence[int]) -> None:
    """VerifyException for MOST_ITERATIONS iterations or more."""
    if prod(max(n, 1) for n in extents) >= MOST_ITERATIONS:
        raise VerifyException(
            f"{op.name}: bounds must come to less than 2**62 iterations, got {list(extents)}"
        )


def require_subscripts(op: Operation, access: Access, extents: Sequence[int]) -> None:
    """VerifyException for a subscript that reaches 2**62 somewhere, which code could wrap."""
    for row in access.rows:
        ends = [c * max(n - 1, 1) for c, n in zip(row.coefficients, extents, strict=False)]
        if abs(row.constant) + sum(map(abs, ends)) >= MOST_ITERATIONS:
            raise VerifyException(
                f"{op.name}: subscripts must stay below 2**62, got {row.constant} and "
                f"{list(row.coefficients)} times the dimensions of {list(extents)}"
            )


def require_pad(op: Operation, pad: Attribute | None, type_: Attribute) -> None:
    """VerifyException for a pad that is no element of the tensor."""
    if pad is None:
        return
    element = scalar_type(element_of(type_))
    is_literal = isinstance(pad, FloatAttr | IntegerAttr)
    if not is_literal or cast(TypedAttribute, pad).get_type() != element:
        raise VerifyException(f"{op.name}: pad must be a number of type {element}, got {pad}")


def require_combiner(op: Operation, combiner: str, type_: Attribute) -> None:
    """VerifyException for an unknown combiner, or one that the elements of the output lack."""
    known = COMBINERS if not is_float(element_of(type_)) else FLOAT_COMBINERS
    if combiner not in known:
        reason = "unknown combiner" if combiner not in COMBINERS else f"{type_} has no combiner"
        raise VerifyException(f"{op.name}: {reason} {combiner}; known: {', '.join(known[1:])}")


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
    """VerifyException for a yielded value of another type than its output's elements that is not
    wider (such ones are combined in it, and rounded once), or an index not i64."""
    count = len(op.output_types)
    for value, type_ in zip(op.yielded, op.output_types, strict=False):
        element = scalar_type(element_of(type_))
        is_fit = value.type == element or _is_wider(value.type, element)
        if not (is_scalar(value.type) and is_fit):
            raise VerifyException(
                f"{op.name}: the body must yield {element}, or a wider number, for {type_}, got "
                f"{value.type}; widen it by an arith cast"
            )
    for value in op.yielded[count:]:
        if value.type != i64:
            raise VerifyException(
                f"{op.name}: the body must yield indices of i64, got {value.type}"
            )


def _is_wider(yielded: Attribute, element: Attribute) -> bool:
    if isinstance(yielded, AnyFloat) and isinstance(element, AnyFloat):
        return yielded.bitwidth > element.bitwidth
    ours, theirs = as_integer_type(yielded), as_integer_type(element)
    return ours is not None and theirs is not None and ours.width.data > theirs.width.data


def verify_precision(op: ContractOp) -> None:
    """VerifyException for a precision that is not known, or not for these types."""
    if op.precision is None:
        return
    factors = [v.type for v in op.inputs[:2]]
    try:
        require_precision({PRECISION: op.precision}, factors)
    except VerifyException as error:
        raise VerifyException(f"{op.name}: {error}") from None
    if not isinstance(op.accumulator_type, Float32Type):
        raise VerifyException(
            f"{op.name}: with a precision the accumulator must be f32, got {op.accumulator_type}"
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
