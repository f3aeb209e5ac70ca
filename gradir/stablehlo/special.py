"""Functions of floats that StableHLO lacks, by ones that it has, on tensors of f32 or f64."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from math import e, log, log10

from xdsl.dialects.builtin import Float64Type, IntegerType, f64

from gradir.codegen.vector_math.error_function import (
    ERF,
    ERF32_TAIL,
    ERF32_TAIL_LIMIT,
    ERF64_TAIL,
    ERF64_TAIL_LIMIT,
    ERFC,
    ERFC_LIMIT,
    INVERSE_ROOT_2_PI,
    SQRT_HALF,
)
from gradir.dialects.base.shapes import byte_size
from gradir.dialects.loopnest.special import POINT_END
from gradir.stablehlo.values import Hlo, bitcast, convert, select, unsigned

LN_2 = log(2.0)

# Below the square root of the largest number, so that squares are finite.
_LARGE = {32: 1e18, 64: 1e150}


def _bits(x: Hlo) -> int:
    return 64 if isinstance(x.element, Float64Type) else 32


def absolute(x: Hlo) -> Hlo:
    return x.emit("abs")


def exponential(x: Hlo) -> Hlo:
    return x.emit("exponential")


def logarithm(x: Hlo) -> Hlo:
    return x.emit("log")


def log_plus_one(x: Hlo) -> Hlo:
    return x.emit("log_plus_one")


def square_root(x: Hlo) -> Hlo:
    return x.emit("sqrt")


def _at_most(x: Hlo, limit: float) -> Hlo:
    return x.emit("minimum", x.full(limit))


def with_sign_of(x: Hlo, y: Hlo) -> Hlo:
    """|x| with the sign bit of y."""
    bits = 8 * byte_size(x.element)
    integer = unsigned(IntegerType(bits))
    size, sign = (bitcast(v, integer) for v in (x, y))
    most = 1 << (bits - 1)
    made = size.emit("and", size.full(most - 1)).emit("or", sign.emit("and", sign.full(most)))
    return bitcast(made, x.element)


def polynomial(x: Hlo, coefficients: Sequence[float]) -> Hlo:
    """The sum of coefficients[k] * x**k, by Horner's rule."""
    *others, last = coefficients
    return reduce(lambda total, c: total * x + c, reversed(others), x.full(last))


def _erf_below_one(x: Hlo) -> Hlo:
    return x + x * polynomial(x * x, ERF[_bits(x)])


def erf(x: Hlo) -> Hlo:
    """erf in the pieces of gradir.codegen.vector_math.error_function."""
    a = absolute(x)
    if _bits(x) == 32:
        root = polynomial(_at_most(a, ERF32_TAIL_LIMIT) - 1.0, ERF32_TAIL)
        square = root * root
        tail = 1.0 / (square * square)
    else:
        tail = exponential(-polynomial(_at_most(a, ERF64_TAIL_LIMIT) - 1.0, ERF64_TAIL))
    size = select(a < 1.0, _erf_below_one(x), 1.0 - tail)
    return with_sign_of(size, x)


def erfc(x: Hlo) -> Hlo:
    """1 - erf(x), small where x is large."""
    size = _at_most(absolute(x), ERFC_LIMIT[_bits(x)])
    t = (size - 4.0) / (size + 4.0)
    tail = exponential(-(size * size)) * (polynomial(t, ERFC[_bits(x)]) / (size * 2.0 + 1.0))
    tail = select(x < 0.0, 2.0 - tail, tail)
    return select(size < 0.5, 1.0 - _erf_below_one(x), tail)


def normal_cdf(x: Hlo) -> Hlo:
    """(1 + erf(x / sqrt(2))) / 2, its lower tail exact."""
    return erfc(x * -SQRT_HALF) * 0.5


def normal_density(x: Hlo) -> Hlo:
    return exponential(x * x * -0.5) * INVERSE_ROOT_2_PI


def sigmoid(x: Hlo) -> Hlo:
    return x.emit("logistic")


def sigmoid_point(x: Hlo) -> Hlo:
    """The bits of loopnest.sigmoid_point."""
    power = exponential(-absolute(x))
    near = power > 1 / 3
    rest = -(-absolute(x)).emit("exponential_minus_one")
    return _point(near, select(near, rest, power) / (power + 1.0), x)


def tanh_point(x: Hlo) -> Hlo:
    """The bits of loopnest.tanh_point."""
    end = POINT_END[_bits(x)]
    half = (_at_most(absolute(x), end) * 2.0).emit("exponential_minus_one") * 0.5
    near = half < 1.0
    part = select(near, half, x.full(1.0)) / (half + 1.0)
    return _point(near, select(absolute(x) > end, x.full(0.0), part), x)


def _point(near: Hlo, part: Hlo, x: Hlo) -> Hlo:
    """A part, with a flag where it is not near, and the sign of x."""
    bits = 8 * byte_size(x.element)
    pattern = bitcast(part, unsigned(IntegerType(bits)))
    flagged = bitcast(pattern.emit("or", pattern.full(1 << (bits - 2))), x.element)
    return with_sign_of(select(near, part, flagged), x)


def _flagged_part(point: Hlo) -> tuple[Hlo, Hlo]:
    """Whether the part of a point is flagged, and then the part; elsewhere any number."""
    bits = 8 * byte_size(point.element)
    pattern = bitcast(point, unsigned(IntegerType(bits)))
    part = bitcast(pattern.emit("and", pattern.full((1 << (bits - 2)) - 1)), point.element)
    return absolute(point) > 1.0, part


def tanh_at(point: Hlo) -> Hlo:
    far, rest = _flagged_part(point)
    return select(far, with_sign_of(1.0 - rest, point), point)


def half_tanh_at(point: Hlo) -> Hlo:
    far, share = _flagged_part(point)
    return select(far, with_sign_of(1.0 - share * 2.0, point), point)


def tanh_slope_at(point: Hlo) -> Hlo:
    far, rest = _flagged_part(point)
    return select(far, rest * (2.0 - rest), 1.0 - point * point)


def sigmoid_at(point: Hlo) -> Hlo:
    far, share = _flagged_part(point)
    low = select(far, share, (1.0 - absolute(point)) * 0.5)
    return select(point < 0.0, low, 1.0 - low)


def sigmoid_slope_at(point: Hlo) -> Hlo:
    far, share = _flagged_part(point)
    return select(far, share * (1.0 - share), (1.0 - point * point) * 0.25)


def tanh_slope(x: Hlo) -> Hlo:
    return tanh_slope_at(tanh_point(x))


def sigmoid_slope(x: Hlo) -> Hlo:
    return sigmoid_slope_at(sigmoid_point(x))


def asin(x: Hlo) -> Hlo:
    return x.emit("atan2", square_root((1.0 - x) * (1.0 + x)))


def acos(x: Hlo) -> Hlo:
    return square_root(1.0 - x).emit("atan2", square_root(1.0 + x)) * 2.0


def atan(x: Hlo) -> Hlo:
    return x.emit("atan2", x.full(1.0))


def sinh(x: Hlo) -> Hlo:
    """By expm1 where |x| < 1, else the half of exp(|x|), which overflows late."""
    a = absolute(x)
    low = a.emit("exponential_minus_one")
    near = (low + low / (low + 1.0)) * 0.5
    far = exponential(a - LN_2) - exponential(-a - LN_2)
    return with_sign_of(select(a < 1.0, near, far), x)


def cosh(x: Hlo) -> Hlo:
    a = absolute(x)
    return exponential(a - LN_2) + exponential(-a - LN_2)


def asinh(x: Hlo) -> Hlo:
    a = absolute(x)
    square = a * a
    near = log_plus_one(a + square / (square_root(square + 1.0) + 1.0))
    far = logarithm(a) + LN_2
    return with_sign_of(select(a < _LARGE[_bits(x)], near, far), x)


def acosh(x: Hlo) -> Hlo:
    above = x - 1.0
    near = log_plus_one(above + square_root(above * (x + 1.0)))
    return select(x > _LARGE[_bits(x)], logarithm(x) + LN_2, near)


def atanh(x: Hlo) -> Hlo:
    return (log_plus_one(x) - log_plus_one(-x)) * 0.5


def exp2(x: Hlo) -> Hlo:
    return x.full(2.0).emit("power", x)


def log2(x: Hlo) -> Hlo:
    return logarithm(x) / LN_2


def log_10(x: Hlo) -> Hlo:
    return logarithm(x) * log10(e)


def truncated(x: Hlo) -> Hlo:
    return select(x < 0.0, x.emit("ceil"), x.emit("floor"))


def cube_root(x: Hlo) -> Hlo:
    """By stablehlo.cbrt in f64, rounded once."""
    return convert(convert(x, f64).emit("cbrt"), x.element)


UNARY: dict[str, Callable[[Hlo], Hlo]] = {
    "math.erf": erf,
    "loopnest.erfc": erfc,
    "loopnest.normal_cdf": normal_cdf,
    "loopnest.normal_density": normal_density,
    "loopnest.sigmoid": sigmoid,
    "loopnest.sigmoid_slope": sigmoid_slope,
    "loopnest.sigmoid_point": sigmoid_point,
    "loopnest.sigmoid_at": sigmoid_at,
    "loopnest.sigmoid_slope_at": sigmoid_slope_at,
    "loopnest.half_tanh_at": half_tanh_at,
    "loopnest.tanh_slope": tanh_slope,
    "loopnest.tanh_point": tanh_point,
    "loopnest.tanh_at": tanh_at,
    "loopnest.tanh_slope_at": tanh_slope_at,
    "math.asin": asin,
    "math.acos": acos,
    "math.atan": atan,
    "math.sinh": sinh,
    "math.cosh": cosh,
    "math.asinh": asinh,
    "math.acosh": acosh,
    "math.atanh": atanh,
    "math.exp2": exp2,
    "math.log2": log2,
    "math.log10": log_10,
    "math.trunc": truncated,
    "math.cbrt": cube_root,
}
"""Functions of one float by the name of the op."""
