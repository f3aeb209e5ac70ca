"""asin, acos, atan, atan2. The polynomials are our own minimax fits (Remez exchange)."""

from __future__ import annotations

from collections.abc import Callable

from gradir.codegen.text.lanes import LaneValue, fma, polynomial
from gradir.codegen.vector_math.trigonometric import HALF_PI, PI

# (atan(t) - t) / t**3 in t**2 for |t| <= 1: error 2**-25 and 2**-54 of atan.
ATAN = {
    32: (
        *(-0.33333215, 0.19994888, -0.14218467, 0.10690718),
        *(-0.07597948, 0.043689363, -0.016631423, 0.0029804825),
    ),
    64: (
        *(-0.3333333333333282, 0.1999999999984986, -0.14285714274942674, 0.11111110752577359),
        *(-0.09090902175021244, 0.07692221003399394, -0.06665909668796524, 0.05877529335328691),
        *(-0.05239982693517613, 0.04675888560147205, -0.04096504083720134, 0.034127388348342266),
        *(-0.025897535963449042, 0.01704209469862553, -0.009227956932550779),
        *(0.00387725145040515, -0.0011711954000765688, 0.0002244784748285179),
        -2.0395498391792314e-05,
    ),
}
# (asin(s) - s) / s**3 in s**2 for |s| <= 1/2: error 2**-27 and 2**-55 of asin.
ASIN = {
    32: (0.16666731, 0.07496004, 0.045392916, 0.024524838, 0.04162598),
    64: (
        *(0.16666666666666174, 0.07500000000198052, 0.04464285692343519, 0.0303819557409967),
        *(0.02237183051379644, 0.017358713935431067, 0.013894230585277651),
        *(0.012114366885586304, 0.00675003675405762, 0.018955609426925146),
        *(-0.015372898175044681, 0.0313569068471877),
    ),
}


def atan(x: LaneValue) -> LaneValue:
    """atan(a), or pi/2 - atan(1 / a) above 1, for a = |x|, with the sign of x."""
    a = abs(x)
    above = a > 1.0
    angle = short_atan(above.select(1.0 / a, a))
    high, low, _ = HALF_PI[x.bits]
    return above.select((high - angle) + low, angle).with_sign_of(x)


def atan2(y: LaneValue, x: LaneValue) -> LaneValue:
    """The angle of the point (x, y): atan of the smaller over the larger, then reflections."""
    a, b = abs(x), abs(y)
    steep = b > a
    larger, smaller = steep.select(b, a), steep.select(a, b)
    # 0 / 0 and inf / inf: the angle of a zero or infinite vector takes |x| = |y| = inf as the
    # diagonal and (+-0, +-0) as the axis.
    quotient = smaller / larger
    quotient = smaller.equals(larger).select(1.0, quotient)
    quotient = smaller.equals(0.0).select(0.0, quotient)
    angle = short_atan(quotient)
    half_high, half_low, _ = HALF_PI[x.bits]
    angle = steep.select((half_high - angle) + half_low, angle)
    high, low, _ = PI[x.bits]
    angle = (x.as_int() < 0).select((high - angle) + low, angle)
    unordered = ~(x.equals(x) & y.equals(y))
    return unordered.select(x + y, angle.with_sign_of(y))


def asin(x: LaneValue) -> LaneValue:
    """asin(a), or pi/2 - 2 asin(sqrt((1 - a) / 2)) above 1/2, for a = |x|, with the sign of x."""
    above, s, correction = half_angle(x)
    high, low, _ = HALF_PI[x.bits]
    folded = (high - (s + s)) - (fma(correction, 2.0, -low))
    return above.select(folded, s + correction).with_sign_of(x)


def acos(x: LaneValue) -> LaneValue:
    """2 asin(sqrt((1 - a) / 2)) for a = |x| above 1/2, reflected for x < 0; else pi/2 - asin(x)."""
    above, s, correction = half_angle(x)
    twice = (s + correction) * 2.0
    high, low, _ = PI[x.bits]
    outer = (x < 0.0).select((high - twice) + low, twice)
    half_high, half_low, _ = HALF_PI[x.bits]
    inner = half_high - (x + (correction.with_sign_of(x) - half_low))
    return above.select(outer, inner)


def half_angle(x: LaneValue) -> tuple[LaneValue, LaneValue, LaneValue]:
    """|x| > 1/2, then s and asin(s) - s, where s = |x|, or sqrt((1 - |x|) / 2) above 1/2."""
    a = abs(x)
    above = a > 0.5
    z = above.select(fma(a, -0.5, 0.5), a * a)
    s = above.select(z.sqrt(), a)
    return above, s, s * z * polynomial(z, ASIN[x.bits])


def short_atan(t: LaneValue) -> LaneValue:
    """atan(t) for 0 <= t <= 1."""
    z = t * t
    return fma(t * z, polynomial(z, ATAN[t.bits]), t)


UNARY: dict[str, Callable[[LaneValue], LaneValue]] = {"asin": asin, "acos": acos, "atan": atan}
BINARY: dict[str, Callable[[LaneValue, LaneValue], LaneValue]] = {"atan2": atan2}
