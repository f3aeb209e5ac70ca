"""Derivatives of the ops of `arith` and `math` on f64, f32, f16 and bf16, numbers or tensors.

A rule is written on numbers with operators, which append arith and math ops, so that derivatives
of any order stay such code. On tensors the same rule appends the same ops on tensors (`Elements`).
The conventions are the array ops' too: ties of maximumf and minimumf split in halves, absf'(0) = 0,
powf has no nan at base 0. Integers are inactive, and so are the steps (ceil, floor, round,
roundeven, trunc).

Bitcast between floats has no rule: it is refused where it is active.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import inf, log, nan, pi, sqrt

from xdsl.dialects import arith, math
from xdsl.dialects.builtin import Float64Type
from xdsl.ir import Operation, SSAValue

from gradir.dialects.array.comparison import chosen_support
from gradir.dialects.array.elementwise import is_known_finite, splat_of
from gradir.dialects.base.elementwise_arith import FORMS, made
from gradir.dialects.base.interfaces import Cotangents
from gradir.dialects.base.op_rules import (
    VjpRule,
    register_apart,
    register_elementwise,
    register_inactive,
    register_selected_operand,
    register_simplification,
    register_support,
    register_vjp,
    register_zero_operands,
)
from gradir.dialects.base.shapes import is_tensor
from gradir.dialects.base.support import NOWHERE, Mask, Supports
from gradir.dialects.base.value import Elements, Scalar, Value
from gradir.dialects.building import body as b
from gradir.dialects.building.gate import by_convention, gated, inside, unless_nan
from gradir.dialects.building.points import (
    HalfTanhAtOp,
    SigmoidSlopeAtOp,
    TanhAtOp,
    TanhPointOp,
    TanhSlopeAtOp,
    through_point,
)
from gradir.dialects.building.slopes import (
    AtanSlopeOp,
    GaussianOp,
    NormalDensityOp,
    SquareComplementOp,
    slope,
)
from gradir.dialects.loopnest import special

# One operand: (ct, y, x) -> the cotangent of x.
Unary = Callable[[Scalar, Scalar, Scalar], Value]
# Two operands: (ct, y, x, other) -> both cotangents.
Binary = Callable[[Scalar, Scalar, Scalar, Scalar], Cotangents]


def _sign(x: Scalar) -> Scalar:
    """-1, 0 or 1, inactive; of nan it is 1 or -1."""
    zero, one = b.constant(x, 0), b.constant(x, 1)
    return b.select(b.equal(x, zero), zero, b.copysign(one, x))


def _asinh(ct: Scalar, y: Scalar, x: Scalar) -> Value:
    return ct / b.hypot(x, b.constant(x, 1))


def _acosh(ct: Scalar, y: Scalar, x: Scalar) -> Value:
    one = b.constant(x, 1)
    return ct / (b.sqrt(x - one) * b.sqrt(x + one))


def _atanh(ct: Scalar, y: Scalar, x: Scalar) -> Value:
    apart = slope(SquareComplementOp, x)
    return inside(ct / apart, apart >= 0)


def _inverse_of_circle(x: Scalar) -> Scalar:
    """1 / sqrt(1 - x * x)."""
    return b.rsqrt(_like(x, slope(SquareComplementOp, x)))


UNARY: dict[type[Operation], Unary] = {
    arith.NegfOp: lambda ct, y, x: -ct,
    arith.ExtFOp: lambda ct, y, x: b.cast(ct, x.type),
    arith.TruncFOp: lambda ct, y, x: b.cast(ct, x.type),
    math.AbsFOp: lambda ct, y, x: unless_nan(ct * _sign(x), x),
    math.ExpOp: lambda ct, y, x: ct * y,
    math.Exp2Op: lambda ct, y, x: ct * (log(2) * y),
    math.ExpM1Op: lambda ct, y, x: ct * b.exp(x),
    math.LogOp: lambda ct, y, x: inside(ct / x, x >= 0),
    math.Log1pOp: lambda ct, y, x: inside(ct / (1 + x), x >= -1),
    math.Log2Op: lambda ct, y, x: inside(ct * (1 / log(2)) / x, x >= 0),
    math.Log10Op: lambda ct, y, x: inside(ct * (1 / log(10)) / x, x >= 0),
    math.SqrtOp: lambda ct, y, x: ct / (2 * y),
    math.RsqrtOp: lambda ct, y, x: ct * (-y / (2 * x)),
    math.CbrtOp: lambda ct, y, x: ct / (3 * (y * y)),
    math.SinOp: lambda ct, y, x: ct * b.cos(x),
    math.CosOp: lambda ct, y, x: -ct * b.sin(x),
    math.TanOp: lambda ct, y, x: ct * (1 + y * y),
    math.SinhOp: lambda ct, y, x: ct * b.cosh(x),
    math.CoshOp: lambda ct, y, x: ct * b.sinh(x),
    math.TanhOp: lambda ct, y, x: ct * (1 - y * y),
    math.AsinOp: lambda ct, y, x: ct * _inverse_of_circle(x),
    math.AcosOp: lambda ct, y, x: -ct * _inverse_of_circle(x),
    math.AtanOp: lambda ct, y, x: ct * slope(AtanSlopeOp, x),
    math.AsinhOp: _asinh,
    math.AcoshOp: _acosh,
    math.AtanhOp: _atanh,
    special.ErfcOp: lambda ct, y, x: -(ct * (2 / sqrt(pi) * slope(GaussianOp, x))),
    special.NormalCdfOp: lambda ct, y, x: ct * slope(NormalDensityOp, x),
    special.NormalDensityOp: lambda ct, y, x: ct * -(x * y),
    special.SigmoidOp: lambda ct, y, x: ct * (y * (1 - y)),
    special.SigmoidSlopeOp: lambda ct, y, x: ct * -(b.tanh(x * 0.5) * y),
    special.TanhSlopeOp: lambda ct, y, x: ct * (-2 * b.tanh(x) * y),
    special.TanhPointOp: lambda ct, y, x: ct,
    special.TanhAtOp: lambda ct, y, x: ct * slope(TanhSlopeAtOp, x),
    special.TanhSlopeAtOp: lambda ct, y, x: ct * (-2 * slope(TanhAtOp, x) * y),
    special.SigmoidPointOp: lambda ct, y, x: ct,
    special.SigmoidAtOp: lambda ct, y, x: ct * slope(SigmoidSlopeAtOp, x),
    special.SigmoidSlopeAtOp: lambda ct, y, x: ct * -(slope(HalfTanhAtOp, x) * y),
    special.HalfTanhAtOp: lambda ct, y, x: ct * (2 * slope(SigmoidSlopeAtOp, x)),
    math.ErfOp: lambda ct, y, x: ct * (2 / sqrt(pi) * slope(GaussianOp, x)),
}


def _divide(ct: Scalar, y: Scalar, x: Scalar, other: Scalar) -> Cotangents:
    scaled = ct / other
    return [scaled, -scaled * y]


def _share(ct: Scalar, x: Scalar, other: Scalar) -> Value:
    """The cotangent of the winning operand: all of ct, half at ties."""
    half, one = b.constant(ct, 0.5), b.constant(ct, 1)
    return ct * b.select(b.equal(x, other), half, one)


def _extremum(prefers: Callable[[Scalar, Scalar], Scalar]) -> Binary:
    """Ties split in halves: the sum of both cotangents stays ct."""

    def rule(ct: Scalar, y: Scalar, x: Scalar, other: Scalar) -> Cotangents:
        share = _share(ct, x, other)
        zero = b.constant(x, 0)

        def rest(one: Scalar) -> Scalar:
            return b.select(b.equal(one, one), zero, one)

        return [
            gated(share, prefers(x, other), rest(x)),
            gated(share, prefers(other, x), rest(other)),
        ]

    return rule


def _extremum_of_numbers(prefers: Callable[[Scalar, Scalar], Scalar]) -> Binary:
    """The extremum that ignores nan: of a nan and a number, the number."""

    def rule(ct: Scalar, y: Scalar, x: Scalar, other: Scalar) -> Cotangents:
        share, zero = _share(ct, x, other), b.constant(y, 0)
        rest = b.select(b.equal(y, y), zero, y)

        def flowing(one: Scalar, rival: Scalar) -> Value:
            wins = b.logical_or(prefers(one, rival), b.unordered(rival, rival))
            return gated(share, b.logical_and(wins, b.equal(y, y)), rest)

        return [flowing(x, other), flowing(other, x)]

    return rule


def _like(near: Scalar, x: Value) -> Scalar:
    return type(near)(x.ssa, x.emitter)


def _atan2(ct: Scalar, y: Scalar, x: Scalar, other: Scalar) -> Cotangents:
    length = b.hypot(x, other)
    zero, infinite = b.constant(length, 0), b.constant(length, inf)
    regular = b.logical_and(length > zero, length < infinite)
    scaled = ct / b.select(regular, length, b.constant(length, 1))
    rest = b.select(b.unordered(x, other), b.constant(length, nan), zero)
    cosine, sine = (by_convention(one / length, regular, rest) for one in (other, x))
    return [scaled * _like(ct, cosine), -scaled * _like(ct, sine)]


def _power(ct: Scalar, y: Scalar, x: Scalar, other: Scalar) -> Cotangents:
    """As array.pow has it: 0 where a factor 0 meets an infinite power or logarithm."""
    element = ct.type
    wide, value, base, exponent = (b.to_compute(v, element) for v in (ct, y, x, other))
    zero, one = b.constant(base, 0), b.constant(base, 1)
    smallest = 2.0**-1022 if isinstance(element, Float64Type) else 2.0**-126
    tiny = b.absolute(base) < smallest
    vanishes = b.logical_and(b.equal(exponent, zero), tiny)
    lower = b.select(vanishes, one, exponent - one)
    to_base = wide * (exponent * b.power(base, lower))
    at_zero = b.logical_and(b.equal(base, zero), exponent >= zero)
    at_infinity = b.logical_and(base.equal(inf), exponent < zero)
    vanishing = b.logical_or(at_zero, at_infinity)
    logarithm = b.log(b.select(vanishing, one, base))
    to_exponent = b.select(vanishing, zero, wide * (value * logarithm))
    return [b.from_compute(to_base, element), b.from_compute(to_exponent, element)]


def _integer_power(ct: Scalar, y: Scalar, x: Scalar, other: Scalar) -> Cotangents:
    """ct * n * x ** (n - 1), 0 where n is 0."""
    zero, one = b.constant(other, 0), b.constant(other, 1)
    lower = b.select(b.equal(other, zero), one, other - one)
    power = x.emit(math.FPowIOp(x.ssa, lower.ssa))
    return [ct * (b.cast(other, x.type) * power), None]


def _copysign(ct: Scalar, y: Scalar, x: Scalar, other: Scalar) -> Cotangents:
    flowing = ct * (_sign(x) * b.copysign(b.constant(other, 1), other))
    return [unless_nan(flowing, x), None]


BINARY: dict[type[Operation], Binary] = {
    arith.AddfOp: lambda ct, y, x, other: [ct, ct],
    arith.SubfOp: lambda ct, y, x, other: [ct, -ct],
    arith.MulfOp: lambda ct, y, x, other: [ct * other, ct * x],
    arith.DivfOp: _divide,
    arith.MaximumfOp: _extremum(b.greater_equal),
    arith.MinimumfOp: _extremum(b.less_equal),
    arith.MaxnumfOp: _extremum_of_numbers(b.greater_equal),
    arith.MinnumfOp: _extremum_of_numbers(b.less_equal),
    math.Atan2Op: _atan2,
    math.PowFOp: _power,
    math.FPowIOp: _integer_power,
    math.CopySignOp: _copysign,
    special.RemainderOp: lambda ct, y, x, other: [ct, -(ct * b.round_even((x - y) / other))],
}


def _fma(ct: Scalar, y: Scalar, x: Scalar, factor: Scalar, term: Scalar) -> Cotangents:
    return [ct * factor, ct * x, ct]


def _select(
    op: arith.SelectOp, cts: Cotangents, results: Sequence[Value], operands: Sequence[Value]
) -> Cotangents:
    (ct,) = cts
    assert ct is not None
    condition, zero = operands[0].ssa, ct.full(0)

    def chosen(x: SSAValue, y: SSAValue) -> Value:
        op = ct.emitter.insert(made(arith.SelectOp, [condition, x, y], x.type))
        return ct.emitter.value(op.results[0])

    return [None, chosen(ct.ssa, zero.ssa), chosen(zero.ssa, ct.ssa)]


WITH_TWO_RESULTS = (arith.AddUIExtendedOp, arith.MulUIExtendedOp, arith.MulSIExtendedOp)

INACTIVE: tuple[type[Operation], ...] = (
    *WITH_TWO_RESULTS,
    arith.ConstantOp, arith.CmpfOp, arith.CmpiOp, arith.SIToFPOp, arith.UIToFPOp, arith.FPToSIOp,
    arith.FPToUIOp, arith.ExtSIOp, arith.ExtUIOp, arith.TruncIOp, arith.IndexCastOp, arith.AddiOp,
    arith.SubiOp, arith.MuliOp,
    arith.DivSIOp, arith.DivUIOp, arith.FloorDivSIOp, arith.CeilDivSIOp, arith.CeilDivUIOp,
    arith.RemSIOp, arith.RemUIOp, arith.AndIOp, arith.OrIOp, arith.XOrIOp, arith.ShLIOp,
    arith.ShRSIOp, arith.ShRUIOp, arith.MaxSIOp, arith.MaxUIOp, arith.MinSIOp, arith.MinUIOp,
    math.AbsIOp, math.CountLeadingZerosOp, math.CountTrailingZerosOp, math.CtPopOp, math.IPowIOp,
    math.CeilOp, math.FloorOp, math.RoundOp, math.RoundEvenOp, math.TruncOp,
)  # fmt: skip


# Simplifications that change no bit, for derivatives of derivatives.


def _is_one(x: Value) -> bool:
    return splat_of(x.ssa) == 1


def _simplify_product(op: arith.MulfOp, x: Value, y: Value) -> Value | None:
    if _is_one(x):
        return y
    return x if _is_one(y) else None


def _simplify_quotient(op: arith.DivfOp, x: Value, y: Value) -> Value | None:
    return x if _is_one(y) else None


def _simplify_negative(op: arith.NegfOp, x: Value) -> Value | None:
    owner = x.ssa.owner
    return x.emitter.value(owner.operands[0]) if isinstance(owner, arith.NegfOp) else None


def _rule(function: Callable[..., Value | Cotangents]) -> VjpRule:
    """A function of (ct, y, operands...) as a rule."""

    def rule(
        op: Operation, cts: Cotangents, results: Sequence[Value], operands: Sequence[Value]
    ) -> Cotangents:
        (ct,) = cts
        assert ct is not None
        made = function(*map(_by_element, (ct, results[0], *operands)))
        flowing = [made] if isinstance(made, Value) else made
        return [None if f is None else ct.emitter.value(f.ssa) for f in flowing]

    return rule


def _by_element(x: Value) -> Scalar:
    return x if isinstance(x, Scalar) else Elements(x.ssa, x.emitter)


ELEMENTWISE: tuple[type[Operation], ...] = tuple(
    op
    for dialect in (arith.Arith, math.Math)
    for op in dialect.operations
    if op is not arith.ConstantOp and op not in WITH_TWO_RESULTS
)


def _support_of_select(op: arith.SelectOp, number: int, of: Supports) -> Mask | None:
    condition, x, y = op.operands
    if is_tensor(x.type) and not is_tensor(condition.type):
        return None
    return chosen_support(Mask.of(condition), of.of(x), of.of(y))


def _selected_operand(op: arith.SelectOp, of: Supports) -> int | None:
    return next((k for k in (1, 2) if of.of(op.operands[3 - k]) is NOWHERE), None)


def _support_of_constant(op: arith.ConstantOp, number: int, of: Supports) -> Mask | None:
    return NOWHERE if splat_of(op.result) == 0 else None


def _all_operands(op: Operation) -> Sequence[SSAValue]:
    return op.operands


def _beside_finite_factor(op: Operation) -> Sequence[SSAValue] | None:
    x, y = op.operands
    return [one for one, factor in ((x, y), (y, x)) if is_known_finite(factor)] or None


def _tanh_apart(op: math.TanhOp) -> Callable[[Value], Value] | None:
    around = op.parent_op()
    if around is None or not around.name.startswith(("func.", "scf.", "grad.")):
        return None  # bodies of linalg ops and of nests hold arith and math ops alone
    return through_point(op.operand, op.result, TanhPointOp, TanhAtOp)


register_apart(math.TanhOp, _tanh_apart)
for _op, _function in {**UNARY, **BINARY, math.FmaOp: _fma}.items():
    register_vjp(_op, _rule(_function))
for _op in (arith.SelectOp, FORMS[arith.SelectOp]):
    register_vjp(_op, _select)
    register_support(_op, _support_of_select)
    register_selected_operand(_op, _selected_operand)
for _op in (arith.AddfOp, arith.SubfOp, arith.NegfOp, arith.ExtFOp, arith.TruncFOp):
    register_zero_operands(_op, _all_operands)
register_zero_operands(arith.MulfOp, _beside_finite_factor)
register_support(arith.ConstantOp, _support_of_constant)
for _op in INACTIVE:
    register_inactive(_op)
    if _op in FORMS:
        register_inactive(FORMS[_op])
for _op in (*ELEMENTWISE, *FORMS.values()):
    register_elementwise(_op)
register_simplification(arith.MulfOp, _simplify_product)
register_simplification(arith.DivfOp, _simplify_quotient)
register_simplification(arith.NegfOp, _simplify_negative)
