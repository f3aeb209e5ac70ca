"""Values in the blocks of control flow: numbers of its ops, types that agree, ends of blocks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from xdsl.dialects import arith, scf, tensor
from xdsl.dialects.builtin import IndexType, IntegerAttr, i1, i64
from xdsl.ir import Block, SSAValue

from gradir.dialects.base.extents import is_extent
from gradir.dialects.base.shapes import is_bool, is_float
from gradir.dialects.base.shapes import tensor as tensor_type
from gradir.dialects.grad.extent import ExtentOp
from gradir.frontends.functions.lattice import kind_of
from gradir.frontends.functions.promotion import converted
from gradir.frontends.tracing.source_locations import refusal
from gradir.frontends.tracing.spec import type_text
from gradir.frontends.tracing.tracer import Tracer
from gradir.frontends.tracing.tracing import Trace, element, filled, is_number, lifted

index = IndexType()


def require_functions(what: str, *functions: object) -> None:
    for function in functions:
        if not callable(function):
            raise refusal(f"{what}: expected a Python function, got {function!r}")


def agreed(trace: Trace, block: Block, value: Tracer, other: Tracer) -> Tracer:
    """A weak value with the element type of the other, converted at the end of its block."""
    if not gives_way(value, other):
        return value
    with trace.region(block):
        return converted(value, element(other))


def gives_way(value: Tracer, other: Tracer) -> bool:
    """Whether the value is weak and converts to the other's type: of no higher kind, no loss."""
    kinds = kind_of(element(value)), kind_of(element(other))
    is_other = element(value) != element(other)
    return (
        value.weak
        and is_other
        and (kinds[0] < kinds[1] or (kinds[0] == kinds[1] and not other.weak))
    )


def require_type(found: Tracer, wanted: Tracer, what: str, k: int) -> None:
    if found.type != wanted.type:
        raise refusal(
            f"{what}, got {type_text(found.type)} and {type_text(wanted.type)} for array {k}; "
            "convert with .astype"
        )


def close(trace: Trace, block: Block, values: Sequence[Tracer]) -> None:
    with trace.region(block):
        trace.emit(scf.YieldOp(*(trace.use(v) for v in values)))


def truth(trace: Trace, value: Any, what: str) -> SSAValue:
    """A bool as a scalar."""
    found = lifted(value, what=f"{what}: ")
    if found.shape or not is_bool(element(found)):
        raise refusal(f"{what} must be a bool of rank 0, got {type_text(found.type)}")
    return trace.emit(tensor.ExtractOp(trace.use(found), [], i1)).result


def zero() -> Tracer:
    return filled(0, tensor_type([], i64))


def constant_index(trace: Trace, value: int) -> SSAValue:
    """An integer, or an extent, as an index."""
    if is_extent(value):
        return trace.emit(ExtentOp(value, index)).result
    return trace.emit(arith.ConstantOp(IntegerAttr(value, index))).result


def index_of(trace: Trace, value: Any, what: str) -> SSAValue:
    """An integer as an index."""
    if is_extent(value) or (is_number(value) and isinstance(value, int)):
        return constant_index(trace, value)
    found = lifted(value, what=f"{what}: ")
    kind = element(found)
    if found.shape or is_bool(kind) or is_float(kind):
        raise refusal(f"{what} must be integers of rank 0, got {type_text(found.type)}")
    wide = converted(found, i64)
    number = trace.emit(tensor.ExtractOp(trace.use(wide), [], i64)).result
    return trace.emit(arith.IndexCastOp(number, index)).result
