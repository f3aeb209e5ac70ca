"""Forms of ops that take complex numbers apart, or put them together."""

from __future__ import annotations

from dataclasses import replace

from xdsl.ir import Operation

from gradir.dialects.array.complex_parts import conjugated
from gradir.dialects.base.shapes import element_of, is_complex_tensor, real_element
from gradir.dialects.spectral.forms import Form, FormReader, Found


def astype_form(reader: FormReader, op: Operation) -> Found:
    """Real numbers as complex ones of their precision."""
    form = reader.form(op.operands[0])
    assert form is not None
    source, target = (element_of(x.type) for x in (op.operands[0], op.results[0]))
    is_plain = form.layout == "w" and form.scale is None and real_element(target) == source
    return replace(form, steps=None) if is_plain and target != source else None


def conjugate_form(reader: FormReader, op: Operation) -> Found:
    """The conjugate."""
    form = reader.form(op.operands[0])
    return None if form is None else conjugate_of(reader, form)


def conjugate_of(reader: FormReader, form: Form) -> Form:
    legs = tuple(
        (side.swapcase(), None if leg is None else conjugated(reader.value(leg)).ssa)
        for side, leg in form.legs
    )
    scale = None if form.scale is None else conjugated(reader.value(form.scale)).ssa
    return replace(form, legs=legs, scale=scale)


def real_form(reader: FormReader, op: Operation) -> Found:
    """The real part of products of two legs: sums of it are real parts of sums."""
    form = reader.form(op.operands[0])
    return replace(form, is_real=True) if form is not None and len(form.legs) == 2 else None


def absolute_form(reader: FormReader, op: Operation) -> Found:
    """Absolute values of one leg, whose squares are products with the conjugate."""
    form = reader.form(op.operands[0])
    if form is None or len(form.legs) != 1 or form.layout not in ("u", "c", "r"):
        return None
    if not is_complex_tensor(op.operands[0].type) or form.scale is not None:
        return None
    return replace(form, layout=f"a{form.layout}")
