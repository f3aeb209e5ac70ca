"""One element type and one shape for the operands of an op, by the rules of the Array API.

Arrays of one kind promote to the larger type: integers with integers, floats with floats. Kinds do
not mix: integers and floats are converted by `astype`. Python numbers are weak: they take the type
of the other operand, which must be of their kind or a higher one (bool, integer, float).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from xdsl.dialects.builtin import bf16, f16, f32, f64, i1, i8, i32, i64
from xdsl.ir import Attribute
from xdsl.utils.exceptions import VerifyException

from gradir.dialects.array.comparison import AstypeOp
from gradir.dialects.array.movement import BroadcastToOp
from gradir.dialects.base.shapes import (
    NUMPY_NAMES,
    broadcast_shapes,
    is_bool,
    is_float,
    tensor,
    ui8,
)
from gradir.frontends.tracing.source_locations import refusal
from gradir.frontends.tracing.spec import DEFAULTS
from gradir.frontends.tracing.tracer import Tracer
from gradir.frontends.tracing.tracing import element, emit_one, filled, is_number, lifted

# Types of one kind in the order of promotion; and the common type of unordered ones.
_ORDER: tuple[tuple[Attribute, ...], ...] = ((i1,), (i8, i32, i64), (ui8, i32, i64))
_FLOATS: tuple[tuple[Attribute, ...], ...] = ((f16, f32, f64), (bf16, f32, f64))
_KINDS = (bool, int, float)


def kind_of(type_: Attribute) -> int:
    """0 for bool, 1 for integers, 2 for floats."""
    return 0 if is_bool(type_) else 2 if is_float(type_) else 1


def promoted(first: Attribute, second: Attribute) -> Attribute | None:
    """The common element type without loss; None where there is none."""
    if first == second:
        return first
    for line in (*_ORDER, *_FLOATS):
        if first in line and second in line:
            return max(first, second, key=line.index)
    return f32 if {first, second} == {f16, bf16} else None


def result_element(what: str, operands: Sequence[object]) -> tuple[Attribute, bool]:
    """The promoted element type of operands, and whether it is weak; TraceError if none."""
    arrays = [o for o in operands if isinstance(o, Tracer) and not o.weak]
    kinds = [_weak_kind(o) for o in operands if not (isinstance(o, Tracer) and not o.weak)]
    weakest = max(kinds, default=0)
    if not arrays:
        return DEFAULTS[_KINDS[weakest]], True
    found = element(arrays[0])
    for array in arrays[1:]:
        other = promoted(found, element(array))
        if other is None:
            names = f"{NUMPY_NAMES[found]} and {NUMPY_NAMES[element(array)]}"
            raise refusal(f"{what}: element types must promote, got {names}; convert with .astype")
        found = other
    if weakest > kind_of(found):
        raise refusal(
            f"{what}: a Python {_KINDS[weakest].__name__} needs an array of its kind, "
            f"got {NUMPY_NAMES[found]}; convert with .astype"
        )
    return found, False


def _weak_kind(operand: object) -> int:
    if isinstance(operand, Tracer):
        return kind_of(element(operand))
    return _KINDS.index(type(cast(Any, operand)))


def operand(value: object) -> Any:
    """A Python number unchanged, other values as traced arrays."""
    return value if is_number(value) else lifted(value)


def converted(value: Any, kind: Attribute) -> Tracer:
    """A traced array, or a Python number, with elements of a type."""
    if not isinstance(value, Tracer):
        return filled(value, tensor([], kind))
    if element(value) == kind:
        return value
    return emit_one(AstypeOp, value, type=tensor(value.shape, kind))


def spread(value: Any, shape: Sequence[int], kind: Attribute) -> Tracer:
    """A traced array, or a Python number, of an element type and a shape that it broadcasts to."""
    if not isinstance(value, Tracer):
        return filled(value, tensor(shape, kind))
    value = converted(value, kind)
    if value.shape == tuple(shape):
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


def unified(what: str, values: Sequence[object]) -> tuple[list[Tracer], bool]:
    """Operands of one element type; and whether it is weak."""
    operands = [operand(v) for v in values]
    kind, weak = result_element(what, operands)
    return [converted(o, kind) for o in operands], weak


def broadcast(what: str, values: Sequence[object]) -> tuple[list[Tracer], bool]:
    """Operands of one element type and one shape; and whether the type is weak."""
    operands = [operand(v) for v in values]
    kind, weak = result_element(what, operands)
    shape = common_shape(what, operands)
    return [spread(o, shape, kind) for o in operands], weak
