"""Forms of elementwise ops: functions of values, their products with vectors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import cast

from xdsl.ir import Operation, SSAValue

from gradir.dialects.array import elementwise
from gradir.dialects.array.contraction import MatmulOp
from gradir.dialects.array.elementwise import splat_of
from gradir.dialects.array.factorizations import EighOp
from gradir.dialects.array.movement import transposed
from gradir.dialects.array.series import has_series
from gradir.dialects.base.shapes import is_complex_tensor, shape_of
from gradir.dialects.base.value import Value
from gradir.dialects.building.gate import GateOp, gated
from gradir.dialects.building.kinds import CompareOp
from gradir.dialects.spectral.complex_parts import conjugate_of
from gradir.dialects.spectral.forms import (
    Form,
    FormReader,
    Found,
    Step,
    axis_of,
    filled,
    is_like,
    spread_number,
)


def elementwise_form(reader: FormReader, op: Operation) -> Found:
    """The form of an elementwise op: a function of values, or a product."""
    if len(op.results) != 1 or not has_series(op):
        return None
    forms = [reader.form(o) for o in op.operands]
    if any(f is not None and f.layout.startswith("a") for f in forms):
        return _square_of_length(reader, op)
    if all(f is None or (f.layout == "w" and not f.legs) for f in forms):
        made = _function(reader, op, forms)
        if made is not None:
            return made
    match op:
        case elementwise.MultiplyOp():
            return _product(reader, *op.operands)
        case elementwise.SquareOp():
            return _product(reader, op.operands[0], op.operands[0])
        case elementwise.DivideOp():
            return _quotient(reader, op)
        case elementwise.NegativeOp():
            [form] = forms
            return _scaled(reader, form, filled(reader.value(op.operands[0]), -1.0))
        case _:
            return None


def _square_of_length(reader: FormReader, op: Operation) -> Found:
    """The square of absolute values: the product with the conjugate."""
    x, y = op.operands[0], op.operands[-1]
    is_square = isinstance(op, elementwise.SquareOp | elementwise.MultiplyOp) and x == y
    form = reader.form(x)
    if form is None or not is_square:
        return None
    own = replace(form, layout=form.layout[1:])
    made = of_two_legs(own, conjugate_of(reader, own), reader)
    return None if made is None else replace(made, is_real=True)


def _function(reader: FormReader, op: Operation, forms: Sequence[Form | None]) -> Found:
    """Numbers of values by a further function."""
    if is_complex_tensor(op.results[0].type):
        return None
    known = [f for f in forms if f is not None]
    first = known[0]
    if any(f.scale is not None or f.axis != first.axis for f in known):
        return None
    if any(not is_like(f, first) or f.moved != first.moved for f in known):
        return None
    others = [o for o, f in zip(op.operands, forms, strict=True) if f is None]
    if any(splat_of(o) is None for o in others):
        return _stepped(reader, op, forms)
    steps = _steps(reader, op, forms) if first.steps is not None else None
    if _is_line(first, op):
        return replace(first, vector=op.results[0], steps=steps)
    return replace(first, vector=_on_lines(reader, op, forms), steps=steps)


def _is_line(form: Form, op: Operation) -> bool:
    """Whether the result has the numbers alone, not repeated along other axes."""
    return len(shape_of(op.results[0].type)) == form.factors.rank + 1


def _on_lines(reader: FormReader, op: Operation, forms: Sequence[Form | None]) -> SSAValue:
    """The same op on the numbers alone."""
    given = [f.vector for f in forms if f is not None and f.vector is not None]
    line = reader.value(given[0])
    operands: list[SSAValue] = []
    for x, form in zip(op.operands, forms, strict=True):
        splat = splat_of(x)
        known = None if form is None else form.vector
        if known is None:
            assert splat is not None
            known = line.full(splat).ssa
        operands.append(known)
    made = type(op).create(
        operands=operands, result_types=[line.type], attributes=dict(op.attributes)
    )
    return reader.emitter.insert(made).results[0]


def _steps(
    reader: FormReader, op: Operation, forms: Sequence[Form | None]
) -> tuple[Step, ...] | None:
    """The steps of an op with one number for each matrix on values that come by steps."""
    place = 0 if forms[0] is not None else 1
    form = forms[place]
    if form is None or form.steps is None:
        return None
    if len(op.operands) == 1:
        number: Value | None = filled(reader.value(op.operands[0]), -1.0)
    elif forms[1 - place] is not None:
        return None
    else:
        number = reader.number_of(op.operands[1 - place], form.factors.rank)
    if number is None:
        return None
    added = _step(op, place, spread_number(reader, number, form))
    return None if added is None else (*form.steps, *((kind, x.ssa) for kind, x in added))


def _step(op: Operation, place: int, number: Value) -> list[tuple[str, Value]] | None:
    """What an op with a number does to the values at an operand's place."""
    match op, place:
        case elementwise.NegativeOp() | elementwise.MultiplyOp(), _:
            return [("multiply", number)]
        case elementwise.AddOp(), _:
            return [("add", number)]
        case elementwise.SubtractOp(), 0:
            return [("add", -number)]
        case elementwise.SubtractOp(), _:
            return [("multiply", number.full(-1.0)), ("add", number)]
        case elementwise.DivideOp(), 0:
            return [("multiply", number.full(1.0) / number)]
        case _:
            return None


def _stepped(reader: FormReader, op: Operation, forms: Sequence[Form | None]) -> Found:
    """Values of the matrix moved by steps with numbers that are not constant, of `array.eigh`."""
    known = [f for f in forms if f is not None]
    first = known[0]
    if len(known) > 1 or not isinstance(first.factors.op, EighOp) or not _is_line(first, op):
        return None
    steps = _steps(reader, op, forms)
    if steps is None:
        return None
    return replace(first, vector=op.results[0], steps=(), moved=(*first.moved, *steps))


def _product(reader: FormReader, x: SSAValue, y: SSAValue) -> Found:
    one, other = reader.form(x), reader.form(y)
    if any(f is not None and f.layout == "d" for f in (one, other)):
        return None
    if one is None or other is None:
        form, rest = (other, x) if one is None else (one, y)
        assert form is not None
        return _scaled(reader, form, reader.number_of(rest, form.factors.rank))
    if not is_like(one, other) or axis_of(one, x) != axis_of(other, y):
        return None
    if one.legs and other.legs:
        return of_two_legs(one, other, reader)
    return weighted(reader, one, other, elementwise.MultiplyOp)


def weighted(
    reader: FormReader, one: Form, other: Form, kind: type[elementwise.MultiplyOp]
) -> Form | None:
    """A form times, or over, the numbers of another."""
    vector = _combined(reader, one, other, kind)
    if vector is None:
        return None
    shaped = one if one.legs or not other.legs else other
    if not one.legs and not other.legs and one.axis != other.axis:
        return None
    moved = one.moved if one.vector is not None else other.moved
    if _are_mixed(one, other):
        return None
    scale = _scales(reader, one, other, kind)
    return replace(shaped, vector=vector, moved=moved, scale=scale, steps=None)


def _are_mixed(one: Form, other: Form) -> bool:
    """Whether one scale is real and the other complex."""
    scales = [f.scale.type for f in (one, other) if f.scale is not None]
    return len(scales) == 2 and scales[0] != scales[1]


def _scales(
    reader: FormReader, one: Form, other: Form, kind: type[elementwise.MultiplyOp]
) -> SSAValue | None:
    """The scale of one times, or over, that of the other."""
    if other.scale is None:
        return one.scale
    y = reader.value(other.scale)
    if one.scale is not None:
        return kind.on(reader.value(one.scale), y).ssa
    return y.ssa if kind is elementwise.MultiplyOp else (y.full(1.0) / y).ssa


def _combined(
    reader: FormReader, one: Form, other: Form, kind: type[elementwise.MultiplyOp]
) -> SSAValue | None:
    if one.vector is None:
        if kind is elementwise.MultiplyOp:
            return other.vector
        if other.vector is None:
            return None
        y = reader.value(other.vector)
        return (y.full(1.0) / y).ssa
    if other.vector is None:
        return one.vector
    if one.moved != other.moved:
        return None
    return kind.on(reader.value(one.vector), reader.value(other.vector)).ssa


def _scaled(reader: FormReader, form: Form | None, number: Value | None) -> Found:
    """A form times one number for each matrix."""
    if form is None or number is None:
        return None
    number = spread_number(reader, number, form)
    if form.scale is not None and form.scale.type != number.type:
        return None
    scale = number if form.scale is None else reader.value(form.scale) * number
    return replace(form, scale=scale.ssa, steps=None)


def gate_form(reader: FormReader, op: Operation) -> Found:
    """Numbers where a comparison of values with constants holds, 0 or nan elsewhere."""
    assert isinstance(op, GateOp)
    form, rest, compared = reader.form(op.x), splat_of(op.rest), op.keep.owner
    if form is None or form.layout != "w" or form.vector is None or not isinstance(
        compared, CompareOp
    ):  # fmt: skip
        return None
    is_known = rest is not None and (rest == 0 or rest != rest)
    if not is_known or shape_of(op.y.type) != shape_of(form.vector.type):
        return None
    for x in compared.operands:
        other = reader.form(x)
        if other is None and splat_of(x) is not None:
            continue
        if other is None or not is_like(form, other) or (other.moved, other.scale) != (
            form.moved, None,
        ):  # fmt: skip
            return None
    vector = op.y
    if form.scale is not None:
        vector = gated(*map(reader.value, (form.vector, op.keep, op.rest))).ssa
    return replace(form, vector=vector, steps=None)


def _quotient(reader: FormReader, op: Operation) -> Found:
    x, y = op.operands
    one, other = reader.form(x), reader.form(y)
    if one is None:
        return _reciprocal(reader, x, other)
    if one.layout == "d":
        return None
    if other is None:
        number = reader.number_of(y, one.factors.rank)
        return None if number is None else _scaled(reader, one, number.full(1.0) / number)
    if (
        other.legs
        or other.layout == "d"
        or not is_like(one, other)
        or axis_of(one, x) != axis_of(other, y)
    ):
        return None
    return weighted(reader, one, other, cast("type[elementwise.MultiplyOp]", elementwise.DivideOp))


def _reciprocal(reader: FormReader, x: SSAValue, form: Form | None) -> Found:
    """One number for each matrix over numbers of values."""
    if form is None or form.layout != "w" or form.legs or form.vector is None:
        return None
    number = reader.number_of(x, form.factors.rank)
    if number is None:
        return None
    if form.scale is not None:
        number = number / reader.value(form.scale)
    y = reader.value(form.vector)
    inverse = replace(form, vector=(y.full(1.0) / y).ssa, scale=None, steps=None)
    return _scaled(reader, inverse, number)


def of_two_legs(one: Form, other: Form, reader: FormReader) -> Form | None:
    """The products of elements of two forms of one leg."""
    if len(one.legs) != 1 or len(other.legs) != 1 or one.layout != other.layout:
        return None
    if _are_mixed(one, other):
        return None
    made = one
    if one.vector is not None or other.vector is not None:
        found = weighted(reader, one, other, elementwise.MultiplyOp)
        if found is None:
            return None
        made = found
    scale = _scales(reader, one, other, elementwise.MultiplyOp)
    [(side, left)], [(other_side, right)] = one.legs, other.legs
    if one.layout == "u":
        assert left is not None and right is not None
        between = MatmulOp.on(transposed(reader.value(left)), reader.value(right))
        legs = ((side, between.ssa), (other_side, None))
    else:
        legs = (*one.legs, *other.legs)
    return replace(made, legs=legs, scale=scale, steps=None)
