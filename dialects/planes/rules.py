"""The rule of each op on complex tensors: what it is on their planes, by the class of the op.

A linear op that moves or adds elements is the same op on each plane.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

from xdsl.dialects import arith, tensor
from xdsl.ir import Attribute, Operation

from gradir.dialects.array import (
    affine,
    assembly,
    comparison,
    complex_parts,
    creation,
    cumulative,
    dot_general,
    dynamic_slices,
    elementwise,
    gather_scatter,
    indexing,
    linear_systems,
    movement,
    reductions,
    scans,
    slicing,
    statistics,
    triangles,
    triangular,
)
from gradir.dialects.array.arithmetic import LogaddexpOp, PowOp
from gradir.dialects.array.assembly import StackOp
from gradir.dialects.array.contraction import MatmulOp
from gradir.dialects.array.elementwise import splat_of
from gradir.dialects.array.factor_systems import along
from gradir.dialects.array.fourier import FftOp
from gradir.dialects.array.movement import PermuteDimsOp, reshaped, transposed
from gradir.dialects.array.slicing import ConcatOp, part
from gradir.dialects.base.attributes import attribute
from gradir.dialects.base.elementwise_arith import SelectOp
from gradir.dialects.base.interfaces import TensorOp
from gradir.dialects.base.shapes import element_of, is_complex_tensor, real_element, shape_of
from gradir.dialects.base.value import Emitter, Value
from gradir.dialects.building.gate import GateOp
from gradir.dialects.building.pairs import Made, Operands, PairRule
from gradir.dialects.comm import collectives, messages
from gradir.dialects.grad import accumulation, grad, join, tape
from gradir.dialects.grad.lapack import COMPLEX, called_on_planes
from gradir.dialects.planes import arithmetic as p
from gradir.dialects.planes import functions
from gradir.dialects.planes.arithmetic import Planes, plane_type
from gradir.dialects.planes.fourier import transform
from gradir.dialects.spatial import convolution

MOST_SQUARES = 64
"""Larger integer powers are by exponential and logarithm."""


def _on_each_plane(op: Operation, e: Emitter, operands: Operands) -> Made:
    """The same op on each plane; operands that are not complex belong to both."""
    made: list[Sequence[Value]] = []
    for plane in range(2):
        given = [o[plane] if isinstance(o, tuple) else o for o in operands]
        made.append(_same(op, e, given, _attributes_of(op, plane)))
    return [(one, other) for one, other in zip(*made, strict=True)]


def _same(
    op: Operation, e: Emitter, operands: Sequence[Value], attributes: dict[str, Attribute]
) -> list[Value]:
    types = [plane_type(r.type) if is_complex_tensor(r.type) else r.type for r in op.results]
    made = type(op).create(
        operands=[o.ssa for o in operands],
        result_types=types,
        properties=dict(op.properties),
        attributes=attributes,
    )
    return [e.value(r) for r in e.insert(made).results]


def _attributes_of(op: Operation, plane: int) -> dict[str, Attribute]:
    """The attributes on a plane: numbers of `value` and `pad` are real."""
    attributes = dict(op.attributes)
    for name in ("value", "pad"):
        if plane and isinstance(op, slicing.PadOp | affine.AffineGatherOp) and name in attributes:
            attributes[name] = attribute(0.0)
    return attributes


def _of_planes(function: Callable[..., Planes]) -> PairRule:
    def rule(op: Operation, e: Emitter, operands: Operands) -> Made:
        return function(*operands)

    return rule


# Products.


def _bilinear(op: TensorOp, e: Emitter, operands: Operands) -> Made:
    """A sum of products of two operands, by four of planes."""

    def times(x: Value, y: Value) -> Value:
        made = _same(op, e, [x, y], dict(op.attributes))
        return made[0]

    return p.product_by(times, *operands)


def _convolution(op: convolution.ConvOp, e: Emitter, operands: Operands) -> Made:
    """Convolutions of planes; each plane of the bias is added once."""

    def plane(x: Value, weight: Value, bias: Sequence[Value]) -> Value:
        return _same(op, e, [x, weight, *bias], dict(op.attributes))[0]

    x, weight, *bias = operands
    (to_real, to_imag) = ([each[k] for each in bias] for k in range(2))
    real = plane(x[0], weight[0], to_real) - plane(x[1], weight[1], [])
    return real, plane(x[0], weight[1], to_imag) + plane(x[1], weight[0], [])


def _transform(op: FftOp, e: Emitter, operands: Operands) -> Made:
    return transform(operands[0], op.axis, 1 if op.inverse else -1)


def _product_of_elements(op: statistics.ProdOp, e: Emitter, operands: Operands) -> Made:
    """The product along axes, by halves."""
    planes: Planes = operands[0]
    axes, shape = op.axes, planes[0].shape
    kept = [d for d in range(len(shape)) if d not in axes]
    lines = _both(
        planes,
        lambda x: reshaped(
            PermuteDimsOp.on(x, axes=[*axes, *kept]), [op.count, *(shape[d] for d in kept)]
        ),
    )
    count = op.count
    if count == 0:
        one = e.value(op.y)
        ones = [e.value(e.insert(creation.FullOp.fill(v, plane_type(one.type))).y) for v in (1, 0)]
        return ones[0], ones[1]
    while count > 1:
        half = count // 2
        pairs = [_both(lines, lambda x, s=s, h=half: part(x, 0, s, s + h)) for s in (0, half)]
        made = p.multiply(pairs[0], pairs[1])
        if count % 2:
            rest = _both(lines, lambda x, n=count: part(x, 0, n - 1, n))
            made = (
                ConcatOp.on(made[0], rest[0], axis=0), ConcatOp.on(made[1], rest[1], axis=0)
            )  # fmt: skip
        lines, count = made, half + count % 2
    return _both(lines, lambda x: reshaped(x, shape_of(op.y.type)))


def _both(planes: Planes, change: Callable[[Value], Value]) -> Planes:
    return change(planes[0]), change(planes[1])


def _power(op: PowOp, e: Emitter, operands: Operands) -> Made:
    exponent = splat_of(op.rhs)
    if exponent is not None:
        whole = complex(exponent)
        if whole.imag == 0 and whole.real.is_integer() and abs(whole.real) <= MOST_SQUARES:
            return functions.whole_power(operands[0], int(whole.real))
    return functions.power(*operands)


def _solution(op: linear_systems.SolveOp, e: Emitter, operands: Operands) -> Made:
    """The solution of the real system of both planes, of twice the size."""
    (real, imag), right = operands
    if op.transpose:
        real, imag = transposed(real), transposed(imag)
    is_vector = len(right[0].shape) < len(real.shape)
    columns = [reshaped(b, (*b.shape, 1)) if is_vector else b for b in right]
    row, column = len(real.shape) - 2, len(real.shape) - 1
    upper, lower = (
        ConcatOp.on(one, other, axis=column) for one, other in ((real, -imag), (imag, real))
    )
    found = linear_systems.SolveOp.on(
        ConcatOp.on(upper, lower, axis=row), ConcatOp.on(*columns, axis=row)
    )
    size = real.shape[-1]
    halves = (part(found, row, k * size, (k + 1) * size) for k in range(2))
    first, second = (reshaped(half, right[0].shape) for half in halves)
    return first, second


def _triangular_solution(op: triangular.TriangularSolveOp, e: Emitter, operands: Operands) -> Made:
    """The solution of a real triangular system of twice the size, with ones on its diagonal: each
    element of the matrix, divided by the diagonal, is the square of its planes."""
    (real, imag), right = operands
    way = op.way
    if way.transpose:
        real, imag = transposed(real), transposed(imag)
    columns = [triangular.as_columns(b, real) for b in right]
    matrix, given = (real, imag), (columns[0], columns[1])
    if not way.unit:
        diagonals = [triangles.DiagonalOp.on(x) for x in matrix]
        matrix, given = (
            p.divide(x, (along(diagonals[0], x[0], -1), along(diagonals[1], x[0], -1)))
            for x in (matrix, given)
        )
    is_lower = way.lower != way.transpose
    triangle, k = (triangles.TrilOp, -1) if is_lower else (triangles.TriuOp, 1)
    rest = [triangle.on(x, k=k) for x in matrix]
    found = triangular.solved(_squares(rest[0], rest[1]), _rows(*given), is_lower, unit=True)
    shape, axis = given[0].shape, len(real.shape) - 1
    halves = reshaped(found, (*shape[:-1], 2, shape[-1]))
    first, second = (reshaped(part(halves, axis, k, k + 1), right[0].shape) for k in range(2))
    return first, second


def _squares(real: Value, imag: Value) -> Value:
    """The real matrix of the squares [[re, -im], [im, re]] in place of the elements."""
    axis = len(real.shape)
    rows = [StackOp.on(*pair, axis=axis) for pair in ((real, -imag), (imag, real))]
    *batch, m, n = real.shape
    return _rows(*(reshaped(row, (*batch, m, 2 * n)) for row in rows))


def _rows(one: Value, other: Value) -> Value:
    """The rows of two matrices in turn."""
    *batch, m, n = one.shape
    return reshaped(StackOp.on(one, other, axis=len(one.shape) - 1), (*batch, 2 * m, n))


def _factors(op: Operation, e: Emitter, operands: Operands) -> Made:
    """LAPACK's, by a host call."""
    return called_on_planes(op, operands)


# Facts and parts.


def _fact(of_plane: Callable[[Value], Value], join: Callable[[Value, Value], Value]) -> PairRule:
    def rule(op: Operation, e: Emitter, operands: Operands) -> Made:
        [(real, imag)] = operands
        return join(of_plane(real), of_plane(imag))

    return rule


def _comparison(kind: type[TensorOp], join: Callable[[Value, Value], Value]) -> PairRule:
    def rule(op: Operation, e: Emitter, operands: Operands) -> Made:
        x, y = operands
        return join(kind.on(x[0], y[0]), kind.on(x[1], y[1]))

    return rule


def _absolute(op: Operation, e: Emitter, operands: Operands) -> Made:
    return p.length(operands[0])


def _complex(op: Operation, e: Emitter, operands: Operands) -> Made:
    return operands[0], operands[1]


def _part(place: int) -> PairRule:
    def rule(op: Operation, e: Emitter, operands: Operands) -> Made:
        return cast("Value", operands[0][place])

    return rule


def _conversion(op: comparison.AstypeOp, e: Emitter, operands: Operands) -> Made:
    if isinstance(operands[0], tuple):
        return _on_each_plane(op, e, operands)
    type_ = plane_type(op.y.type)
    real = comparison.AstypeOp.on(operands[0], type=type_)
    return real, real.full(0)


# Constants.


def _filled(op: creation.FullOp, e: Emitter, operands: Operands) -> Made:
    return _fill(e, op.y.type, op.number), _fill(e, op.y.type, op.imag)


def _fill(e: Emitter, type_: Attribute, value: float) -> Value:
    return e.value(e.insert(creation.FullOp.fill(value, plane_type(type_))).y)


def _constant(op: creation.ConstantOp, e: Emitter, operands: Operands) -> Made:
    return p.constant(e, op.array, real_element(element_of(op.y.type)))


def _identity(op: triangles.EyeOp, e: Emitter, operands: Operands) -> Made:
    [real] = _same(op, e, [], dict(op.attributes))
    return real, _fill(e, op.y.type, 0.0)


# Tapes: a complex column is two.


def _flat(operands: Operands) -> list[Value]:
    found: list[Value] = []
    for each in operands:
        found += each if isinstance(each, tuple) else [each]
    return found


def _converted_tape(type_: tape.TapeType) -> tape.TapeType:
    columns: list[Attribute] = []
    for column in type_.columns:
        columns += [plane_type(column)] * 2 if is_complex_tensor(column) else [column]
    return type_.with_columns(columns)


def _new_tape(op: tape.TapeNewOp, e: Emitter, operands: Operands) -> Made:
    return e.value(tape.new_tape(_converted_tape(op.tape_type), e))


def _push(op: tape.TapePushOp, e: Emitter, operands: Operands) -> Made:
    onto, *columns = _flat(operands)
    return e.value(tape.push(onto.ssa, [c.ssa for c in columns], e))


def _pop(op: tape.TapePopOp, e: Emitter, operands: Operands) -> Made:
    rest, columns = tape.pop(operands[0].ssa, e)
    left = iter(map(e.value, columns))
    made: list[Any] = [e.value(rest)]
    for column in op.columns:
        is_pair = is_complex_tensor(column.type)
        made.append((next(left), next(left)) if is_pair else next(left))
    return made


def rule_of(op: Operation) -> PairRule | None:
    """The rule of an op on planes; None without one."""
    return _RULES.get(type(op))


_LINEAR: tuple[type[Operation], ...] = (
    elementwise.AddOp, elementwise.SubtractOp,
    comparison.WhereOp, GateOp, SelectOp, arith.SelectOp,
    movement.ReshapeOp, movement.PermuteDimsOp, movement.BroadcastToOp, movement.FlipOp,
    slicing.SliceOp, slicing.PadOp, slicing.ConcatOp,
    assembly.StackOp, assembly.RollOp,
    indexing.TakeOp, indexing.ScatterAddOp, indexing.TakeAlongAxisOp,
    gather_scatter.GatherNdOp, gather_scatter.ScatterNdAddOp, gather_scatter.IndexUpdateOp,
    dynamic_slices.DynamicSliceOp, dynamic_slices.DynamicUpdateSliceOp,
    affine.AffineGatherOp, affine.AffineScatterAddOp,
    triangles.TrilOp, triangles.TriuOp, triangles.DiagonalOp, triangles.DiagonalBackwardOp,
    reductions.SumOp, cumulative.CumulativeSumOp, scans.ShiftOp,
    collectives.AllReduceOp, collectives.ReduceOp, collectives.BroadcastOp, collectives.AllGatherOp,
    collectives.ReduceScatterOp, messages.PermuteOp, messages.SendOp, messages.RecvOp,
    grad.AccumulateOp, grad.ZeroOp, grad.BarrierOp, grad.NoGradOp, grad.NameOp,
    grad.NegateGradientOp, grad.StartCheckpointOp, grad.EndCheckpointOp,
    grad.TakeAlongAxisBackwardOp, accumulation.AccumulateSliceOp, join.JoinOp,
    tensor.EmptyOp, tensor.CastOp, tensor.ExtractSliceOp, tensor.InsertSliceOp,
)  # fmt: skip

_RULES: dict[type[Operation], PairRule] = {
    **dict.fromkeys(_LINEAR, _on_each_plane),
    **{op: _of_planes(function) for op, function in functions.UNARY.items()},
    elementwise.MultiplyOp: _of_planes(p.multiply),
    elementwise.DivideOp: _of_planes(p.divide),
    elementwise.AbsOp: _absolute,
    PowOp: _power,
    LogaddexpOp: _of_planes(functions.logaddexp),
    MatmulOp: _bilinear,
    dot_general.DotGeneralOp: _bilinear,
    **dict.fromkeys(convolution.CONV_OPS.values(), _convolution),
    **dict.fromkeys(convolution.GRAD_OPS, _bilinear),
    statistics.ProdOp: _product_of_elements,
    FftOp: _transform,
    linear_systems.SolveOp: _solution,
    triangular.TriangularSolveOp: _triangular_solution,
    **dict.fromkeys(COMPLEX, _factors),
    comparison.EqualOp: _comparison(comparison.EqualOp, p.both),
    comparison.NotEqualOp: _comparison(comparison.NotEqualOp, p.either),
    comparison.IsnanOp: _fact(comparison.IsnanOp.on, p.either),
    comparison.IsinfOp: _fact(comparison.IsinfOp.on, p.either),
    comparison.IsfiniteOp: _fact(comparison.IsfiniteOp.on, p.both),
    comparison.AstypeOp: _conversion,
    complex_parts.ComplexOp: _complex,
    complex_parts.RealOp: _part(0),
    complex_parts.ImagOp: _part(1),
    complex_parts.ConjOp: _of_planes(p.conjugate),
    creation.FullOp: _filled,
    creation.ConstantOp: _constant,
    triangles.EyeOp: _identity,
    tape.TapeNewOp: _new_tape,
    tape.TapePushOp: _push,
    tape.TapePopOp: _pop,
}
