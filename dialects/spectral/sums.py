"""Spectral functions as ops, from the forms of which they are sums over the vectors."""

from __future__ import annotations

from collections.abc import Callable

from xdsl.ir import Operation, SSAValue

from gradir.dialects.array.complex_parts import (
    adjoint,
    conjugated,
    real_part,
    times_real,
)
from gradir.dialects.array.contraction import MatmulOp
from gradir.dialects.array.elementwise import splat_of
from gradir.dialects.array.factorizations import EighOp, SvdOp
from gradir.dialects.array.linear_systems import spread
from gradir.dialects.array.movement import BroadcastToOp, reshaped, transposed
from gradir.dialects.array.reductions import SumOp
from gradir.dialects.array.series import (
    Series,
    derivatives,
    quotient,
    root_of_variable,
    series_of,
)
from gradir.dialects.array.slicing import SliceOp
from gradir.dialects.array.spectral import SpectralOp, SpectralTraceOp
from gradir.dialects.array.triangular import identity_like
from gradir.dialects.array.used_columns import picked, put_back
from gradir.dialects.base.shapes import is_complex_tensor, tensor
from gradir.dialects.base.value import Value
from gradir.dialects.building.gate import GateOp, gated
from gradir.dialects.grad.grad import NoGradOp
from gradir.dialects.spectral.forms import Form, FormReader

COEFFICIENTS = 6
"""How many derivatives of f the op is given, with f: those of order 2 are exact to the digits of
nearly equal values, those of order 3 at equal values."""


def closed(reader: FormReader, form: Form) -> Value:
    """The sum over the vectors: left f right^T."""
    middle = _function_of_matrix(reader, form)
    (_, left), (_, right) = form.legs
    made = middle if left is None else MatmulOp.on(reader.value(left), middle)
    made = made if right is None else MatmulOp.on(made, transposed(reader.value(right)))
    return real_part(made) if form.is_real else made


def closed_diagonal(reader: FormReader, form: Form) -> Value:
    """The diagonal of left f right^T."""
    middle = _function_of_matrix(reader, form)
    (_, left), (_, right) = form.legs
    made = middle if left is None else MatmulOp.on(reader.value(left), middle)
    other = identity_like(made) if right is None else reader.value(right)
    total = SumOp.on(made * other, axis=[-1])
    return real_part(total) if form.is_real else total


def trace(reader: FormReader, form: Form) -> Value:
    """The sum of the elements of the matrix between both legs times f."""
    middle = _function_of_matrix(reader, form)
    (_, between), _ = form.legs
    inner = identity_like(middle) if between is None else reader.value(between)
    total = SumOp.on(inner * middle, axis=[-2, -1])
    return real_part(total) if form.is_real else total


def trace_of_values(reader: FormReader, form: Form) -> Value:
    """The sum of numbers of values."""
    return _scaled(reader, form, _numbers(reader, form, SpectralTraceOp, ""))


def _scaled(reader: FormReader, form: Form, x: Value) -> Value:
    """x times the scale, one number for each of its matrices."""
    if form.scale is None:
        return x
    scale = reader.value(form.scale)
    line = BroadcastToOp.on(
        reshaped(scale, [*scale.shape, *[1] * (len(x.shape) - len(scale.shape))]),
        type=tensor(x.shape, scale.element),
    )
    return x * line if line.type == x.type else times_real(x, line)


def _function_of_matrix(reader: FormReader, form: Form) -> Value:
    sides = form.legs[0][0] + form.legs[1][0]
    made = _numbers(reader, form, SpectralOp, sides.lower())
    if sides[0].isupper():
        made = conjugated(made)
    return _scaled(reader, form, made)


def are_invariant(form: Form) -> bool:
    """Whether the phases of vectors have no part in a product of two legs."""
    is_complex = is_complex_tensor(form.factors.op.a.type)
    (first, _), (second, _) = form.legs
    return not is_complex or first.isupper() != second.isupper()


def _numbers(
    reader: FormReader, form: Form, kind: type[SpectralOp | SpectralTraceOp], sides: str
) -> Value:
    if isinstance(form.factors.op, EighOp):
        return _of_eigenvalues(reader, form, kind)
    return _of_singular_values(reader, form, kind, sides)


def _of_eigenvalues(
    reader: FormReader, form: Form, kind: type[SpectralOp | SpectralTraceOp]
) -> Value:
    op = form.factors.op
    assert isinstance(op, EighOp)
    a, w, v = (reader.value(x) for x in (op.a, op.w, op.v))
    for step, moved in form.moved:
        number = reader.value(moved)
        column = reshaped(number, [*number.shape, 1])
        line = BroadcastToOp.on(column, type=w.type)
        if step == "add":
            a, w = a + times_real(identity_like(a), spread(number, a)), w + line
        else:
            a, w = times_real(a, spread(number, a)), w * line
    w = NoGradOp.on(w)

    def start(run: tuple[int, int]) -> Series:
        cut = _cut(w, run)
        return [cut, cut.full(1.0), *[None] * (COEFFICIENTS - 2)]

    return _emitted(form, kind, a, w, v, _series(reader, form, start))


def _cut(x: Value, run: tuple[int, int]) -> Value:
    return x if run == (0, x.shape[-1]) else picked(x, [run])


def _emitted(
    form: Form,
    kind: type[SpectralOp | SpectralTraceOp],
    a: Value,
    w: Value,
    v: Value,
    series: Series,
) -> Value:
    """The op, of factors and numbers without derivative: its own is one of the matrix alone."""
    runs = None if form.run == (0, w.shape[-1]) else [form.run]
    jets = [put_back(x, runs, w.shape[-1]) for x in derivatives(series)]
    run = None if runs is None else list(form.run)
    return kind.on(a, w, NoGradOp.on(v), *jets, run=run)


def _of_singular_values(
    reader: FormReader, form: Form, kind: type[SpectralOp | SpectralTraceOp], sides: str
) -> Value:
    """By the eigenvalues x = s^2 of a^T a, or a a^T of a wide matrix: u is a v / s."""
    op = form.factors.op
    assert isinstance(op, SvdOp)
    a, u, s, vh = (reader.value(x) for x in (op.a, op.u, op.s, op.vh))
    s = NoGradOp.on(s)
    is_tall = a.shape[-2] >= a.shape[-1]
    near, vectors = (a, adjoint(vh)) if is_tall else (adjoint(a), u)

    def start(run: tuple[int, int]) -> Series:
        return root_of_variable(_cut(s, run), COEFFICIENTS)

    series, root = _series(reader, form, start), start(form.run)
    own = "v" if is_tall else "u"
    for _ in range(len(sides) - sides.count(own)):
        series = quotient(series, root)
    made = _emitted(form, kind, MatmulOp.on(adjoint(near), near), s * s, vectors, series)
    if sides and sides[0] != own:
        made = MatmulOp.on(near, made)
    return made if not sides or sides[1] == own else MatmulOp.on(made, adjoint(near))


def _series(reader: FormReader, form: Form, start: Callable[[tuple[int, int]], Series]) -> Series:
    """The series of the numbers of a form, from those of the values in a run."""
    if form.vector is None:
        one = _first(start(form.run)).full(1.0)
        return [one, *[None] * (COEFFICIENTS - 1)]
    known: dict[SSAValue, Series] = {}

    def of(ssa: SSAValue) -> Series:
        if ssa not in known:
            known[ssa] = made(ssa)
        return known[ssa]

    def made(ssa: SSAValue) -> Series:
        found, owner = reader.form(ssa), ssa.owner
        if found is not None and found.steps == () and found.moved == form.moved:
            return start(found.run)
        if splat_of(ssa) is not None:
            return [reader.value(ssa), *[None] * (COEFFICIENTS - 1)]
        assert isinstance(owner, Operation)
        if isinstance(owner, SliceOp):
            run = owner.bounds[-1][:2]
            return [None if x is None else _cut(x, run) for x in of(owner.x)]
        if isinstance(owner, GateOp):
            keep, rest = reader.value(owner.keep), reader.value(owner.rest)
            return [None if x is None else gated(x, keep, rest) for x in of(owner.x)]
        value = NoGradOp.on(reader.value(ssa))
        return series_of(owner, value, [of(o) for o in owner.operands])

    return of(form.vector)


def _first(series: Series) -> Value:
    assert series[0] is not None
    return series[0]
