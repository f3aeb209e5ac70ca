"""Forms of products of matrices, and the spectral functions that products and sums make."""

from __future__ import annotations

from dataclasses import replace

from xdsl.ir import Operation, SSAValue

from gradir.dialects.array import elementwise
from gradir.dialects.array.contraction import MatmulOp
from gradir.dialects.array.dot_general import DotGeneralOp
from gradir.dialects.array.movement import reshaped, transposed
from gradir.dialects.array.reductions import SumOp
from gradir.dialects.base.precision import precision_of
from gradir.dialects.base.shapes import is_complex_tensor, shape_of
from gradir.dialects.spectral.forms import Form, FormReader, Found, axis_of, is_like
from gradir.dialects.spectral.numbers import of_two_legs, weighted
from gradir.dialects.spectral.sums import (
    are_invariant,
    closed,
    closed_diagonal,
    trace,
    trace_of_values,
)


def matmul_form(reader: FormReader, op: Operation) -> Found:
    if precision_of(op.attributes) is not None:
        return None
    rank = next(f for f in map(reader.form, op.operands) if f is not None).factors.rank
    if rank and any(len(shape_of(o.type)) != rank + 2 for o in op.operands):
        return None
    return _multiplied(reader, op.operands[0], op.operands[1])


def dot_general_form(reader: FormReader, op: Operation) -> Found:
    """As the product of matrices, where it is one: one axis is summed, leading axes are paired."""
    assert isinstance(op, DotGeneralOp)
    if precision_of(op.attributes) is not None:
        return None
    paired = _paired(reader, op)
    if paired is not None:
        return paired
    ends: list[tuple[SSAValue, bool]] = []
    for axes, x, wants_last in zip(op.sides, op.operands, (True, False), strict=True):
        rank, batch = len(shape_of(x.type)), len(axes.batch)
        if axes.batch != list(range(batch)) or len(axes.contract) != 1 or rank - batch > 2:
            return None
        is_last = axes.contract[0] == rank - 1
        ends.append((x, is_last != (wants_last or rank - batch == 1)))
    (x, turned), (y, other_turned) = ends
    return _multiplied(reader, x, y, turned, other_turned)


def _paired(reader: FormReader, op: DotGeneralOp) -> Form | None:
    """Products of two forms for each vector; summed over the free axes of both, if over any."""
    one, other = map(reader.form, op.operands)
    if one is None or other is None or not is_like(one, other) or "d" in one.layout + other.layout:
        return None
    for form, axes, x in zip((one, other), op.sides, op.operands, strict=True):
        if axes.batch != [*range(form.factors.rank), axis_of(form, x)]:
            return None
    ranks = [len(shape_of(x.type)) - one.factors.rank - 1 for x in op.operands]
    sums = len(op.sides[0].contract)
    if len(one.legs) + len(other.legs) == 1 and not sums and sum(ranks) == 1:
        made = weighted(reader, one, other, elementwise.MultiplyOp)
        return None if made is None else replace(made, layout="r")
    if ranks == [sums, sums] and one.legs and other.legs:
        layout = "c" if sums else "u"
        made = of_two_legs(replace(one, layout=layout), replace(other, layout=layout), reader)
        return _summed(reader, made) if sums and made is not None else made
    return None


def _multiplied(
    reader: FormReader, x: SSAValue, y: SSAValue, turned: bool = False, other_turned: bool = False
) -> Found:
    """x y, each transposed first where it is turned."""
    one, other = _turned(reader.form(x), turned), _turned(reader.form(y), other_turned)
    if one is not None and other is not None:
        are_lines = _is_line(one, x) and _is_line(other, y)
        return _joined(reader, one, other, is_complex_tensor(x.type)) if are_lines else None
    form, rest, is_turned = (other, x, turned) if one is None else (one, y, other_turned)
    assert form is not None
    if len(form.legs) != 1 or form.layout not in "cr":
        return None
    # the product is over the free axis: x c or r y
    if form.layout != ("c" if one is None else "r"):
        return None
    matrix = reader.value(rest)
    rank = form.factors.rank
    is_vector = len(matrix.shape) == rank + 1
    if len(matrix.shape) not in (rank + 1, rank + 2) or matrix.shape[:rank] != tuple(
        shape_of(form.factors.values.type)[:-1]
    ):
        return None
    if is_vector:
        matrix = reshaped(matrix, [*matrix.shape[:-1], 1, matrix.shape[-1]])
    elif (one is not None) != is_turned:
        matrix = transposed(matrix)
    [(side, left)] = form.legs
    inner = matrix if left is None else MatmulOp.on(matrix, reader.value(left))
    layout = "u" if is_vector else form.layout
    return replace(form, layout=layout, legs=((side, inner.ssa),), steps=None)


def _is_line(form: Form, ssa: SSAValue) -> bool:
    """Whether numbers are not repeated along other axes."""
    return form.layout != "w" or len(shape_of(ssa.type)) == form.factors.rank + 1


def _turned(form: Form | None, turned: bool) -> Form | None:
    if form is None or not turned or form.layout not in "cr":
        return form
    return replace(form, layout="r" if form.layout == "c" else "c")


def _joined(reader: FormReader, one: Form, other: Form, is_complex: bool) -> Found:
    """The product of two forms over the vectors; of a form and a diagonal of numbers."""
    if not is_like(one, other):
        return None
    multiply = elementwise.MultiplyOp
    if other.layout == "d" and one.layout == "c":
        return weighted(reader, one, replace(other, layout="w"), multiply)
    if one.layout == "d" and other.layout == "r":
        return weighted(reader, replace(one, layout="w"), other, multiply)
    if one.layout == other.layout == "w":
        made = weighted(reader, one, other, multiply) if one.axis == other.axis == -1 else None
        return None if made is None or is_complex else trace_of_values(reader, made)
    if one.layout in ("c", "u") and other.layout in ("r", "u"):
        return _product_of_legs(reader, one, other)
    return None


def _product_of_legs(reader: FormReader, one: Form, other: Form) -> Found:
    if len(one.legs) != 1 or len(other.legs) != 1:
        return None
    made = of_two_legs(replace(one, layout="c"), replace(other, layout="c"), reader)
    if made is None or not are_invariant(made):
        return None
    whole = closed(reader, made)
    shape = list(whole.shape)
    if other.layout == "u":
        shape = shape[:-1]
    if one.layout == "u":
        shape.pop(one.factors.rank)
    return reshaped(whole, shape)


def sum_form(reader: FormReader, op: Operation) -> Found:
    form = reader.form(op.operands[0])
    assert form is not None and isinstance(op, SumOp)
    shape = shape_of(op.operands[0].type)
    place, axes = axis_of(form, op.operands[0]), set(op.axes)
    if not axes or min(axes) < form.factors.rank:
        return None
    is_line = form.layout == "w" and len(shape) == form.factors.rank + 1
    if is_line and axes == {place} and not is_complex_tensor(op.operands[0].type):
        total = trace_of_values(reader, form)
        return reshaped(total, shape_of(op.results[0].type))
    if len(form.legs) != 2 or not are_invariant(form):
        return None
    result = shape_of(op.results[0].type)
    if form.layout != "u" and axes != {place}:
        form = _summed(reader, form)
        if place not in axes:
            return form if len(result) == len(shape) - 1 else None
    if form.layout == "u":
        return reshaped(trace(reader, form), result)
    return reshaped(closed_diagonal(reader, form), result)


def _summed(reader: FormReader, form: Form) -> Form:
    """Products of two legs, summed over their free axis."""
    [(side, left), (other, right)] = form.legs
    between = right
    if left is not None:
        turned = transposed(reader.value(left))
        between = (turned if right is None else MatmulOp.on(turned, reader.value(right))).ssa
    return replace(form, layout="u", legs=((side, between), (other, None)), steps=None)
