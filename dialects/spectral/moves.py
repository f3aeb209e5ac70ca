"""Forms of ops that move elements: shapes, transposes, slices, diagonals."""

from __future__ import annotations

from dataclasses import replace

from xdsl.ir import Operation

from gradir.dialects.array.movement import PermuteDimsOp
from gradir.dialects.array.slicing import SliceOp
from gradir.dialects.array.triangles import DiagonalBackwardOp
from gradir.dialects.array.used_columns import picked
from gradir.dialects.base.shapes import is_open, shape_of
from gradir.dialects.spectral.forms import FormReader, Found, axis_of


def reshape_form(reader: FormReader, op: Operation) -> Found:
    form = reader.form(op.operands[0])
    assert form is not None
    source, target = shape_of(op.operands[0].type), shape_of(op.results[0].type)
    rank = form.factors.rank
    if source[:rank] != target[:rank] or form.run[1] - form.run[0] == 1:
        return None
    if form.layout == "w":
        if [n for n in source[rank:] if n != 1] != [n for n in target[rank:] if n != 1]:
            return None
        place = form.axis % len(source)
        if any(n != 1 for d, n in enumerate(source) if d >= rank and d != place):
            return None
        axis = next(d for d in range(rank, len(target)) if target[d] != 1)
        return replace(form, axis=axis - len(target), steps=form.steps if axis == rank else None)
    if len(form.legs) != 1:
        return None
    m, after = form.run[1] - form.run[0], list(target[rank:])
    [(_, left)] = form.legs
    if form.layout == "u" and after in ([1, m], [m, 1]):
        return replace(form, layout="c" if after == [1, m] else "r")
    if form.layout != "u" and after == [m] and left is not None and shape_of(left.type)[-2] == 1:
        return replace(form, layout="u")
    return None


def broadcast_form(reader: FormReader, op: Operation) -> Found:
    form = reader.form(op.operands[0])
    assert form is not None
    source, target = shape_of(op.operands[0].type), shape_of(op.results[0].type)
    rank = form.factors.rank
    if form.layout != "w" or (rank and len(source) != len(target)):
        return None
    is_kept = source[:rank] == target[:rank] and source[form.axis] == target[form.axis]
    return form if is_kept else None


def permute_form(reader: FormReader, op: Operation) -> Found:
    form = reader.form(op.operands[0])
    assert form is not None and isinstance(op, PermuteDimsOp)
    rank, axes = form.factors.rank, op.axes
    if axes[:rank] != list(range(rank)):
        return None
    if form.layout == "w":
        place = axes.index(form.axis % len(axes))
        return replace(form, axis=place - len(axes))
    if axes == sorted(axes):
        return form
    if form.layout in "cr" and axes[rank:] == [rank + 1, rank]:
        return replace(form, layout="r" if form.layout == "c" else "c")
    return None


def slice_form(reader: FormReader, op: Operation) -> Found:
    form = reader.form(op.operands[0])
    assert form is not None and isinstance(op, SliceOp)
    if is_open(op.operands[0].type):
        return None  # where a slice ends may not be known
    place = axis_of(form, op.operands[0])
    shape = shape_of(op.operands[0].type)
    for d, (bounds, n) in enumerate(zip(op.bounds, shape, strict=True)):
        if d != place and bounds != (0, n, 1):
            return None
    start, stop, step = op.bounds[place]
    if step != 1:
        return None
    vector = form.vector
    if vector is not None:
        whole = form.layout == "w" and len(shape) == form.factors.rank + 1
        cut = picked(reader.value(vector), [(start, stop)])
        vector = op.results[0] if whole and form.scale is None else cut.ssa
    run = (form.run[0] + start, form.run[0] + stop)
    return replace(form, run=run, vector=vector)


def diagonal_form(reader: FormReader, op: Operation) -> Found:
    form = reader.form(op.operands[0])
    assert form is not None and isinstance(op, DiagonalBackwardOp)
    n = form.run[1] - form.run[0]
    is_plain = form.layout == "w" and form.axis == -1 and not op.offset
    if not is_plain or shape_of(op.y.type)[-2:] != (n, n):
        return None
    return replace(form, layout="d", steps=None)
