"""Elementary functions of complex numbers on planes, with NumPy's branch cuts.

Roots and inverse functions by W. Kahan, "Branch cuts for complex elementary functions" (1987):
signs of zeros tell the sides of cuts. At infinities and nans the values are those of C99, Annex G.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import inf, log, pi

from xdsl.dialects.builtin import f64
from xdsl.ir import Operation

from gradir.dialects.array import elementwise as e
from gradir.dialects.array import transcendental as t
from gradir.dialects.array.arithmetic import Atan2Op
from gradir.dialects.array.comparison import WhereOp
from gradir.dialects.array.elementwise import (
    AbsOp,
    CosOp,
    Expm1Op,
    ExpOp,
    Log1pOp,
    LogOp,
    MaximumOp,
    MinimumOp,
    SinOp,
    SqrtOp,
)
from gradir.dialects.array.transcendental import AsinhOp, CoshOp, SinhOp, TanOp
from gradir.dialects.base.value import Value
from gradir.dialects.building import slopes
from gradir.dialects.nn import activations
from gradir.dialects.planes import arithmetic as p
from gradir.dialects.planes.arithmetic import OnPlanes, Planes


def exp(z: Planes) -> Planes:
    """e ** z: exp(x) * (cos y, sin y), also where exp(x) alone overflows."""
    x, y = z
    is_large = x > (700.0 if x.element == f64 else 85.0)
    scale = ExpOp.on(WhereOp.on(is_large, x * 0.5, x))
    parts = [_rescaled(scale * of.on(y), scale, is_large) for of in (CosOp, SinOp)]
    odd = p.is_not(p.is_finite(y))
    # of an infinite x and a y that is not finite: 0 or inf, whatever the angle
    sizes = [WhereOp.on(x.equal(-inf), x.full(0), WhereOp.on(x.equal(inf), x, v)) for v in parts]
    real = WhereOp.on(odd, sizes[0], parts[0])
    imag = WhereOp.on(p.both(odd, x.equal(-inf)), x.full(0), parts[1])
    return real, WhereOp.on(y.equal(0), y, imag)


def _rescaled(part: Value, scale: Value, is_large: Value) -> Value:
    return WhereOp.on(is_large, part * scale, part)


def expm1(z: Planes) -> Planes:
    """e ** z - 1, exact near 0: expm1(x) * cos y - 2 * sin(y / 2) ** 2."""
    x, y = z
    half = SinOp.on(y * 0.5)
    real = Expm1Op.on(x) * CosOp.on(y) - 2 * (half * half)
    whole = exp(z)
    is_plain = p.both(p.is_finite(x), p.is_finite(y))
    return WhereOp.on(is_plain, real, whole[0] - 1), whole[1]


def log_(z: Planes) -> Planes:
    """log |z| + i * angle(z)."""
    x, y = z
    return _log_of_length(z), Atan2Op.on(y, x)


def _log_of_length(z: Planes) -> Value:
    """log |z| without overflow, and exact where |z| is near 1."""
    a, b = AbsOp.on(z[0]), AbsOp.on(z[1])
    top, low = MaximumOp.on(a, b), MinimumOp.on(a, b)
    is_plain = p.both(top > 0, top < inf)
    ratio = low / WhereOp.on(is_plain, top, top.full(1))
    far = LogOp.on(top) + 0.5 * Log1pOp.on(ratio * ratio)
    near = 0.5 * Log1pOp.on((top - 1) * (top + 1) + low * low)
    found = WhereOp.on(p.both(top > 0.5, top < 2.0), near, far)
    found = WhereOp.on(is_plain, found, LogOp.on(top))
    return WhereOp.on(p.either(a.equal(inf), b.equal(inf)), top.full(inf), found)


def log1p(z: Planes) -> Planes:
    """log(1 + z), exact near 0."""
    x, y = z
    is_small = p.both(AbsOp.on(x) < 0.5, AbsOp.on(y) < 0.5)
    near = 0.5 * Log1pOp.on(x * (x + 2) + y * y)
    far = _log_of_length((x + 1, y))
    return WhereOp.on(is_small, near, far), Atan2Op.on(y, x + 1)


def sqrt_(z: Planes) -> Planes:
    """The root whose real part is not negative."""
    x, y = z
    scale, back = _scales(z)
    a, b = x * scale, y * scale
    size = AbsOp.on(a)
    root = SqrtOp.on((size + p.length((a, b))) * 0.5)
    is_zero = p.both(x.equal(0), y.equal(0))
    other = AbsOp.on(b) / (2 * WhereOp.on(is_zero, root.full(1), root))
    is_right = a >= 0
    real = WhereOp.on(is_right, root, other) * back
    imag = p.signed_like(WhereOp.on(is_right, other, root) * back, y)
    found = p.choose(is_zero, (x.full(0), y), (real, imag))
    # infinities and nans: inf on the imaginary axis wins, then inf on the real one
    at_left = WhereOp.on(p.is_nan(y), y, y.full(0)), p.signed_like(y.full(inf), y)
    at_right = x, WhereOp.on(p.is_nan(y), y, p.signed_like(y.full(0), y))
    found = p.choose(x.equal(-inf), at_left, found)
    found = p.choose(x.equal(inf), at_right, found)
    return p.choose(p.is_infinite(y), (AbsOp.on(y), y), found)


def _scales(z: Planes) -> tuple[Value, Value]:
    """A power of 4 that keeps squares of the parts in range, and the root of its inverse."""
    top = MaximumOp.on(AbsOp.on(z[0]), AbsOp.on(z[1]))
    low, step = (2.0**-1000, 2.0**54) if top.element == f64 else (2.0**-100, 2.0**26)
    high = 2.0**1020 if top.element == f64 else 2.0**124
    is_large, is_small = top > high, top < low
    scale = WhereOp.on(is_large, top.full(0.25), WhereOp.on(is_small, top.full(step), top.full(1)))
    back = WhereOp.on(
        is_large, top.full(2), WhereOp.on(is_small, top.full(step**-0.5), top.full(1))
    )
    return scale, back


def rsqrt(z: Planes) -> Planes:
    """1 / sqrt(z)."""
    return p.divide(p.full(z[0], 1), sqrt_(z))


def square(z: Planes) -> Planes:
    return p.multiply(z, z)


# Trigonometric and hyperbolic functions.


def sinh(z: Planes) -> Planes:
    x, y = z
    real, imag = SinhOp.on(x) * CosOp.on(y), CoshOp.on(x) * SinOp.on(y)
    # with no angle, 0 and inf keep their sign
    stays = p.both(p.either(x.equal(0), p.is_infinite(x)), p.is_not(p.is_finite(y)))
    return WhereOp.on(stays, x, real), WhereOp.on(y.equal(0), y, imag)


def cosh(z: Planes) -> Planes:
    x, y = z
    real, imag = CoshOp.on(x) * CosOp.on(y), SinhOp.on(x) * SinOp.on(y)
    real = WhereOp.on(p.both(p.is_infinite(x), p.is_not(p.is_finite(y))), AbsOp.on(x), real)
    edge = p.both(p.either(x.equal(0), y.equal(0)), p.is_nan(imag))
    at_edge = p.signed_like(x.full(0), p.signed_like(x.full(1), x) * p.signed_like(y.full(1), y))
    return real, WhereOp.on(edge, at_edge, imag)


def tanh(z: Planes) -> Planes:
    """By W. Kahan; of a large x the sign of x, and an imaginary part that underflows."""
    x, y = z
    is_large = AbsOp.on(x) > (22.0 if x.element == f64 else 11.0)
    inner = WhereOp.on(is_large, x.full(1), x)
    tangent = TanOp.on(y)
    slope = 1 + tangent * tangent
    sine = SinhOp.on(inner)
    length = SqrtOp.on(1 + sine * sine)
    below = 1 + slope * sine * sine
    real, imag = slope * length * sine / below, tangent / below
    turn = WhereOp.on(p.is_finite(y), SinOp.on(y) * CosOp.on(y), p.signed_like(y.full(0), y))
    decay = 4 * turn * ExpOp.on(-2 * AbsOp.on(x))
    decay = WhereOp.on(p.both(p.is_finite(x), p.is_not(p.is_finite(y))), y - y, decay)
    far = p.signed_like(x.full(1), x), decay
    near = WhereOp.on(x.equal(0), x, real), WhereOp.on(y.equal(0), y, imag)
    found = p.choose(is_large, far, near)
    # with no angle, 0 and inf alone have a real part
    has_none = p.both(p.is_not(p.is_finite(y)), p.both(p.is_finite(x), x.not_equal(0)))
    return WhereOp.on(has_none, y - y, found[0]), found[1]


def sin(z: Planes) -> Planes:
    """-i * sinh(i * z)."""
    return p.over_i(sinh(p.times_i(z)))


def cos(z: Planes) -> Planes:
    """cosh(i * z)."""
    return cosh(p.times_i(z))


def tan(z: Planes) -> Planes:
    """-i * tanh(i * z)."""
    return p.over_i(tanh(p.times_i(z)))


# Their inverses.


def _roots_beside_one(z: Planes) -> tuple[Planes, Planes]:
    """sqrt(1 - z) and sqrt(1 + z)."""
    x, y = z
    return sqrt_((1 - x, -y)), sqrt_((1 + x, y))


def asin(z: Planes) -> Planes:
    """The cuts are the real numbers outside of [-1, 1]."""
    less, more = _roots_beside_one(z)
    real = Atan2Op.on(z[0], p.multiply(less, more)[0])
    real = WhereOp.on(_is_lost(z), z[0], real)
    imag = AsinhOp.on(p.multiply(p.conjugate(less), more)[1])
    at_infinity = Atan2Op.on(z[0], AbsOp.on(z[1])), p.signed_like(z[1].full(inf), z[1])
    return p.choose(_is_infinite(z), at_infinity, (real, imag))


def _is_infinite(z: Planes) -> Value:
    return p.either(p.is_infinite(z[0]), p.is_infinite(z[1]))


def _is_lost(z: Planes) -> Value:
    """Whether the real part is 0 and the imaginary one nan."""
    return p.both(z[0].equal(0), p.is_nan(z[1]))


def acos(z: Planes) -> Planes:
    """The cuts are the real numbers outside of [-1, 1]."""
    less, more = _roots_beside_one(z)
    real = 2 * Atan2Op.on(less[0], more[0])
    real = WhereOp.on(_is_lost(z), real.full(pi / 2), real)
    imag = AsinhOp.on(p.multiply(p.conjugate(more), less)[1])
    at_infinity = Atan2Op.on(AbsOp.on(z[1]), z[0]), -p.signed_like(z[1].full(inf), z[1])
    return p.choose(_is_infinite(z), at_infinity, (real, imag))


def acosh(z: Planes) -> Planes:
    """The cut are the real numbers below 1."""
    x, y = z
    less, more = sqrt_((x - 1, y)), sqrt_((x + 1, y))
    real = AsinhOp.on(p.multiply(p.conjugate(less), more)[0])
    imag = 2 * Atan2Op.on(less[1], more[0])
    imag = WhereOp.on(_is_lost(z), imag.full(pi / 2), imag)
    return p.choose(_is_infinite(z), (x.full(inf), Atan2Op.on(y, x)), (real, imag))


def asinh(z: Planes) -> Planes:
    """asin(i * z) / i."""
    return p.over_i(asin(p.times_i(z)))


def atanh(z: Planes) -> Planes:
    """The cuts are the real numbers outside of [-1, 1]."""
    sign = p.signed_like(z[0].full(1), z[0])
    x, y = z[0] * sign, -(z[1] * sign)
    gap, square_y = 1 - x, y * y
    real = 0.25 * Log1pOp.on(4 * x / (gap * gap + square_y))
    real = WhereOp.on(_is_lost((x, y)), x, real)
    imag = 0.5 * Atan2Op.on(2 * y, gap * (1 + x) - square_y)
    # squares of large numbers would overflow
    edge = 1e150 if x.element == f64 else 1e18
    large = p.either(AbsOp.on(x) > edge, AbsOp.on(y) > edge)
    far = p.reciprocal((WhereOp.on(large, x, x.full(1)), y))[0]
    far = WhereOp.on(_is_infinite((x, y)), far.full(0), far)
    turn = WhereOp.on(p.is_nan(y), y, p.signed_like(y.full(pi / 2), y))
    turn = WhereOp.on(p.both(p.is_nan(x), p.is_finite(y)), x, turn)
    real, imag = p.choose(large, (far, turn), (real, imag))
    return real * sign, -(imag * sign)


def atan(z: Planes) -> Planes:
    """atanh(i * z) / i."""
    return p.over_i(atanh(p.times_i(z)))


# The logistic function and what is made of it.


def _small_exp(z: Planes) -> tuple[Value, Planes]:
    """Whether the real part is negative; exp(z) there, else exp(-z)."""
    is_left = z[0] < 0
    return is_left, exp(p.choose(is_left, z, p.negative(z)))


def logistic(z: Planes) -> Planes:
    """1 / (1 + exp(-z)), without overflow."""
    is_left, small = _small_exp(z)
    one = p.full(z[0], 1)
    return p.divide(p.choose(is_left, small, one), p.add(one, small))


def logistic_slope(z: Planes) -> Planes:
    """logistic(z) * logistic(-z)."""
    _, small = _small_exp(z)
    one = p.full(z[0], 1)
    share = p.divide(one, p.add(one, small))
    return p.multiply(p.multiply(small, share), share)


def silu(z: Planes) -> Planes:
    """z * logistic(z)."""
    return p.multiply(z, logistic(z))


def logaddexp(z: Planes, w: Planes) -> Planes:
    """log(exp(z) + exp(w)), with the imaginary part of the one whose real part is larger."""
    is_first = z[0] >= w[0]
    top, low = p.choose(is_first, z, w), p.choose(is_first, w, z)
    is_stuck = p.both(p.is_infinite(top[0]), top[0].equal(low[0]))
    gap = p.choose(is_stuck, p.full(z[0], 0), p.subtract(low, top))
    return p.add(top, log1p(exp(gap)))


# Powers and logarithms to other bases.


def power(z: Planes, w: Planes) -> Planes:
    """exp(w * log(z)); 1 where w is 0, and of z = 0 NumPy's 0 for real w > 0, nan for others."""
    at_zero = p.both(z[0].equal(0), z[1].equal(0))
    safe = p.choose(at_zero, p.full(z[0], 1), z)
    found = exp(p.multiply(w, log_(safe)))
    vanishes = p.both(w[0] > 0, w[1].equal(0))
    of_zero = p.choose(vanishes, p.full(z[0], 0), p.nan_like(z[0]))
    found = p.choose(at_zero, of_zero, found)
    is_one = p.both(w[0].equal(0), w[1].equal(0))
    return p.choose(is_one, p.full(z[0], 1), found)


def whole_power(z: Planes, exponent: int) -> Planes:
    """z to an integer power, by squares."""
    found: Planes | None = None
    left, square_of = abs(exponent), z
    while left:
        if left & 1:
            found = square_of if found is None else p.multiply(found, square_of)
        left >>= 1
        if left:
            square_of = p.multiply(square_of, square_of)
    made = p.full(z[0], 1) if found is None else found
    return p.divide(p.full(z[0], 1), made) if exponent < 0 else made


def _in_base(base: float) -> OnPlanes:
    def logarithm(z: Planes) -> Planes:
        return p.scaled(log_(z), 1 / log(base))

    return logarithm


def exp2(z: Planes) -> Planes:
    """2 ** z."""
    return exp(p.scaled(z, log(2)))


def atan_slope(z: Planes) -> Planes:
    """1 / (1 + z * z)."""
    below = p.add(square(z), p.full(z[0], 1))
    return p.divide(p.full(z[0], 1), below)


def square_complement(z: Planes) -> Planes:
    """(1 - z) * (1 + z)."""
    x, y = z
    return p.multiply((1 - x, -y), (x + 1, y))


UNARY: Mapping[type[Operation], OnPlanes] = {
    e.NegativeOp: p.negative,
    e.ExpOp: exp,
    e.Expm1Op: expm1,
    e.LogOp: log_,
    e.Log1pOp: log1p,
    e.SqrtOp: sqrt_,
    e.RsqrtOp: rsqrt,
    e.SquareOp: square,
    e.ReciprocalOp: p.reciprocal,
    e.SinOp: sin,
    e.CosOp: cos,
    e.TanhOp: tanh,
    t.Exp2Op: exp2,
    t.Log2Op: _in_base(2),
    t.Log10Op: _in_base(10),
    t.TanOp: tan,
    t.AsinOp: asin,
    t.AcosOp: acos,
    t.AtanOp: atan,
    t.SinhOp: sinh,
    t.CoshOp: cosh,
    t.AsinhOp: asinh,
    t.AcoshOp: acosh,
    t.AtanhOp: atanh,
    activations.SigmoidOp: logistic,
    activations.SiluOp: silu,
    slopes.SoftplusSlopeOp: logistic,
    slopes.SigmoidSlopeOp: logistic_slope,
    slopes.AtanSlopeOp: atan_slope,
    slopes.SquareComplementOp: square_complement,
}
"""The functions of one complex tensor, by the class of their op."""
