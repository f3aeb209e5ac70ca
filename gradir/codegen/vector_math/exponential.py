"""exp, exp2, expm1, tanh, sigmoid and their slopes, sinh, cosh.

x is n ln2 + r; a polynomial in r is scaled by 2**n.

The polynomials are our own minimax fits (Remez exchange in 60 digits, coefficients then rounded
one after the other); the errors stated are relative to the function.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from gradir.codegen.text.lanes import (
    EXPONENT_BIAS,
    MANTISSA_BITS,
    ROUNDING_MAGIC,
    LaneValue,
    fma,
    polynomial,
)
from gradir.dialects.loopnest.special import POINT_END

LOG2_E = 1.4426950408889634
# ln2 in two parts; subtracting n * LN2_HIGH from x in an fma is exact, since the two are close.
LN2_HIGH = {32: 0.693147182464599609375, 64: 0.6931471805599453}
LN2_LOW = {32: -1.9046542121259336e-09, 64: 2.3190468138462996e-17}

# (e**r - 1 - r) / r**2 on |r| <= ln2 / 2, for an error of 2**-28 and 2**-57 in e**r.
EXP_TAIL = {
    32: (0.49999994, 0.16666518, 0.041668255, 0.008368961, 0.0013821865),
    64: (
        *(0.500000000000001, 0.16666666666666427, 0.04166666666653435, 0.008333333333488126),
        *(0.0013888888942732063, 0.00019841269516196388, 2.480149387379352e-05),
        *(2.755758023375919e-06, 2.763001574965049e-07, 2.5001474226722598e-08),
    ),
}
# The same for an error of 2**-26 and 2**-61 in e**r - 1.
EXPM1_TAIL = {
    32: (0.49999997, 0.16666542, 0.04166753, 0.008366693, 0.0013862157),
    64: (
        *(0.5, 0.16666666666666677, 0.0416666666666666, 0.008333333333321443),
        *(0.0013888888888928337, 0.00019841269886570426, 2.4801587227621047e-05),
        *(2.7557243776384498e-06, 2.755736178023577e-07, 2.5109185938735996e-08),
        2.0886684693563116e-09,
    ),
}
# (2**r - 1) / r on |r| <= 1/2, for an error of 2**-27 and 2**-57 in 2**r.
EXP2_TAIL = {
    32: (0.69314724, 0.24022654, 0.055502817, 0.009617708, 0.0013413479, 0.00015560156),
    64: (
        *(0.6931471805599453, 0.24022650695910133, 0.05550410866482226, 0.009618129107593498),
        *(0.0013333558146380658, 0.00015403530457765014, 1.5252733805508417e-05),
        *(1.3215435001110848e-06, 1.0178086773686069e-07, 7.073826046303359e-09),
        4.449955477921139e-10,
    ),
}
# Where the result is surely zero (for expm1: -1), and where it is surely infinite.
EXP_RANGE = {32: (-104.0, 89.0), 64: (-746.0, 710.0)}
EXP2_RANGE = {32: (-151.0, 129.0), 64: (-1076.0, 1025.0)}
EXPM1_RANGE = {32: (-18.0, 89.0), 64: (-40.0, 710.0)}
SINH_LIMIT = {32: 89.6, 64: 710.6}  # sinh and cosh are infinite from here on
HALFWAY = 64  # 2**n is applied as 2**(n -+ HALFWAY) * 2**+-HALFWAY, both normal numbers


def exp(x: LaneValue) -> LaneValue:
    low, high = EXP_RANGE[x.bits]
    p, shifted, scale = exponential_parts(x.at_most(high))
    return scale.times(p, shifted, zero=x < low)


def exp2(x: LaneValue) -> LaneValue:
    low, high = EXP2_RANGE[x.bits]
    bounded, scale = x.at_most(high), Scale.of(x)
    shifted = bounded + scale.shifter
    r = bounded - (shifted - scale.shifter)
    p = fma(r, polynomial(r, EXP2_TAIL[x.bits]), 1.0)
    return scale.times(p, shifted, zero=x < low)


def expm1(x: LaneValue) -> LaneValue:
    n, p, half_power = reduced_expm1(clamp(x, EXPM1_RANGE), exponent=-1)
    # 2**n p + (2**n - 1), at half its size because 2**n may overflow before the result does.
    half = fma(half_power, p, half_power - 0.5)
    # Halving would cost a subnormal result its last bit.
    return n.equals(0.0).select(p, half + half).with_sign_of(x)


def tanh(x: LaneValue) -> LaneValue:
    """q of tanh_parts, or 1 less the rest; with the sign of x."""
    near, part = tanh_parts(abs(x))
    return near.select(part, 1.0 - part).with_sign_of(x)


def tanh_point(x: LaneValue) -> LaneValue:
    """The part of tanh_parts as loopnest.tanh_point has it."""
    near, part = tanh_parts(abs(x))
    return near.select(part, flagged(ended(part, x))).with_sign_of(x)


def tanh_slope(x: LaneValue) -> LaneValue:
    near, part = tanh_parts(abs(x))
    return near.select(tanh_slope_near(part), tanh_slope_far(ended(part, x)))


def ended(rest: LaneValue, x: LaneValue) -> LaneValue:
    """The rest of tanh_parts, which stays what it is at POINT_END; 0 from there on."""
    return (abs(x) > POINT_END[x.bits]).select(0.0, rest)


def tanh_parts(x: LaneValue) -> tuple[LaneValue, LaneValue]:
    """For x >= 0 whether q = tanh(x) is below 1/2; then q, elsewhere the rest, 1 - tanh(x).

    They are h / (h + 1) and 1 / (h + 1) for h = expm1(2x) / 2.
    """
    bounded = x.at_most(POINT_END[x.bits])
    _, p, half_power = reduced_expm1(bounded + bounded, exponent=-1)
    half = fma(half_power, p, half_power - 0.5)
    near = half < 1.0
    return near, near.select(half, 1.0) / (half + 1.0)


def sigmoid(x: LaneValue) -> LaneValue:
    return sigmoid_from(*sigmoid_parts(abs(x)), x)


def sigmoid_point(x: LaneValue) -> LaneValue:
    """The part of sigmoid_parts as loopnest.sigmoid_point has it."""
    near, part = sigmoid_parts(abs(x))
    return near.select(part, flagged(part)).with_sign_of(x)


def sigmoid_slope(x: LaneValue) -> LaneValue:
    near, part = sigmoid_parts(abs(x))
    return near.select(sigmoid_slope_near(part), sigmoid_slope_far(part))


def sigmoid_parts(x: LaneValue) -> tuple[LaneValue, LaneValue]:
    """For x >= 0 whether q = tanh(x / 2) is below 1/2; then q, elsewhere s = 1 / (1 + exp(x)).

    With t = exp(-x) they are (1 - t) / (1 + t), whose 1 - t is made as in exp(-x) - 1, and
    t / (1 + t), which is exact where it is subnormal too.
    """
    constant = x.function.float_constant
    scale = Scale(constant(biased_magic(x.bits, HALFWAY)), constant(2.0**-HALFWAY))
    if x.function.scales:
        scale = Scale(constant(ROUNDING_MAGIC[x.bits]), None)
    bounded = x.at_most(-EXP_RANGE[x.bits][0])
    shifted = fma(bounded, -LOG2_E, scale.shifter)
    r = subtract_ln2(-bounded, shifted - scale.shifter)
    p = fma(r * r, polynomial(r, EXPM1_TAIL[x.bits]), r)
    power = scale.times(constant(1.0), shifted)
    t = fma(power, p, power)
    near = t > 1 / 3
    return near, near.select(fma(-power, p, 1.0 - power), t) / (t + 1.0)


def sigmoid_from(near: LaneValue, part: LaneValue, sign: LaneValue) -> LaneValue:
    """The sigmoid of -|x|, (1 - q) / 2 or s, or 1 less it, by the sign of x."""
    low = near.select(fma(part, -0.5, 0.5), part)
    return (sign < 0.0).select(low, 1.0 - low)


def flagged(part: LaneValue) -> LaneValue:
    """A number in [0, 1/2] with the highest bit of the exponent."""
    return (part.as_int() | 1 << (part.bits - 2)).as_float()


def flagged_part(point: LaneValue) -> tuple[LaneValue, LaneValue]:
    """Whether the part of a point is flagged, and then the part; elsewhere any number."""
    part = (point.as_int() & (1 << (point.bits - 2)) - 1).as_float()
    return abs(point) > 1.0, part


def tanh_at(point: LaneValue) -> LaneValue:
    far, rest = flagged_part(point)
    return far.select((1.0 - rest).with_sign_of(point), point)


def half_tanh_at(point: LaneValue) -> LaneValue:
    far, share = flagged_part(point)
    return far.select(fma(share, -2.0, 1.0).with_sign_of(point), point)


def tanh_slope_at(point: LaneValue) -> LaneValue:
    far, rest = flagged_part(point)
    return far.select(tanh_slope_far(rest), tanh_slope_near(point))


def tanh_slope_far(rest: LaneValue) -> LaneValue:
    return rest * (2.0 - rest)


def tanh_slope_near(q: LaneValue) -> LaneValue:
    return fma(-q, q, 1.0)


def sigmoid_at(point: LaneValue) -> LaneValue:
    far, share = flagged_part(point)
    return sigmoid_from(~far, far.select(share, abs(point)), point)


def sigmoid_slope_at(point: LaneValue) -> LaneValue:
    far, share = flagged_part(point)
    return far.select(sigmoid_slope_far(share), sigmoid_slope_near(point))


def sigmoid_slope_far(s: LaneValue) -> LaneValue:
    return s * (1.0 - s)


def sigmoid_slope_near(q: LaneValue) -> LaneValue:
    return fma(-q, q, 1.0) * 0.25


def sinh(x: LaneValue) -> LaneValue:
    """(e + e / (e + 1)) / 2 for e = expm1(|x|), with the sign of x."""
    magnitude = abs(x)
    # A quarter of e, so that e may overflow.
    _, p, power = reduced_expm1(magnitude.at_most(SINH_LIMIT[x.bits]), exponent=-2)
    quarter = fma(power, p, power - 0.25)
    half_result = quarter + quarter / fma(quarter, 4.0, 1.0)
    tiny = 2.0 ** -(MANTISSA_BITS[x.bits] // 2 + 1)
    return (magnitude < tiny).select(magnitude, half_result + half_result).with_sign_of(x)


def cosh(x: LaneValue) -> LaneValue:
    """(e + 1 / e) / 2 for e = exp(|x|)."""
    _, p, power = reduced_expm1(abs(x).at_most(SINH_LIMIT[x.bits]), exponent=-2)
    quarter = fma(power, p, power)
    half_result = quarter + 0.0625 / quarter
    return half_result + half_result


def clamp(x: LaneValue, bounds: dict[int, tuple[float, float]]) -> LaneValue:
    low, high = bounds[x.bits]
    return x.at_most(high).at_least(low)


@dataclass(frozen=True)
class Scale:
    """How results of any size are multiplied by 2**n: n comes out of a sum with `shifter`.

    Without `rescale` the target has an instruction. With it the product with 2**(n -+ HALFWAY) is a
    normal number, so that the last product alone can overflow or underflow: it is rounded once.
    """

    shifter: LaneValue
    rescale: LaneValue | None

    @staticmethod
    def of(x: LaneValue) -> Scale:
        """For an n of the sign of x."""
        if x.function.scales:
            return Scale(x.function.float_constant(ROUNDING_MAGIC[x.bits]), None)
        negative = x < 0.0
        shifter = negative.select(biased_magic(x.bits, HALFWAY), biased_magic(x.bits, -HALFWAY))
        return Scale(shifter, negative.select(2.0**-HALFWAY, 2.0**HALFWAY))

    def times(self, p: LaneValue, shifted: LaneValue, zero: LaneValue | None = None) -> LaneValue:
        """p * 2**n, and 0 where the mask `zero` holds, whatever p and n are there.

        Most results that underflow are under such a mask, before the product that would: of x86 a
        processor takes a hundred cycles and more for a product that is subnormal or vanishes.
        """
        if self.rescale is None:
            product = p.scaled(shifted - self.shifter)
            return product if zero is None else zero.select(0.0, product)
        product = p * power_of_two(shifted)
        return (product if zero is None else zero.select(0.0, product)) * self.rescale


def exponential_parts(x: LaneValue) -> tuple[LaneValue, LaneValue, Scale]:
    """exp(x) as p, n + shifter, and how p is multiplied by 2**n; x at most EXP_RANGE's end."""
    scale = Scale.of(x)
    shifted = fma(x, LOG2_E, scale.shifter)
    r = subtract_ln2(x, shifted - scale.shifter)
    return polynomial(r, (1.0, 1.0, *EXP_TAIL[x.bits])), shifted, scale


def exp_normal(x: LaneValue) -> LaneValue:
    """exp(x) where it is a normal number; nothing is checked."""
    shifter = biased_magic(x.bits)
    shifted = fma(x, LOG2_E, shifter)
    r = subtract_ln2(x, shifted - shifter)
    p = polynomial(r, (1.0, 1.0, *EXP_TAIL[x.bits]))
    return p * power_of_two(shifted)


def reduced_expm1(x: LaneValue, exponent: int = 0) -> tuple[LaneValue, LaneValue, LaneValue]:
    """n, e**(x - n ln2) - 1 and 2**(n + exponent), where n = round(x / ln2)."""
    shifter = biased_magic(x.bits, exponent)
    shifted = fma(x, LOG2_E, shifter)
    n = shifted - shifter
    r = subtract_ln2(x, n)
    p = fma(r * r, polynomial(r, EXPM1_TAIL[x.bits]), r)
    return n, p, power_of_two(shifted)


def subtract_ln2(x: LaneValue, n: LaneValue) -> LaneValue:
    """x - n ln2."""
    return fma(n, -LN2_LOW[x.bits], fma(n, -LN2_HIGH[x.bits], x))


def biased_magic(bits: int, exponent: int = 0) -> float:
    """The rounding constant plus an exponent field: `power_of_two` then needs one shift."""
    return ROUNDING_MAGIC[bits] + EXPONENT_BIAS[bits] + exponent


def power_of_two(shifted: LaneValue) -> LaneValue:
    """2**n from n + biased_magic, whose low bits are the exponent field of 2**n."""
    return (shifted.as_int() << MANTISSA_BITS[shifted.bits]).as_float()


FUNCTIONS: dict[str, Callable[[LaneValue], LaneValue]] = {
    "exp": exp,
    "exp2": exp2,
    "expm1": expm1,
    "tanh": tanh,
    "tanh_point": tanh_point,
    "sigmoid": sigmoid,
    "sigmoid_point": sigmoid_point,
    "tanh_slope": tanh_slope,
    "sigmoid_slope": sigmoid_slope,
    "tanh_at": tanh_at,
    "half_tanh_at": half_tanh_at,
    "tanh_slope_at": tanh_slope_at,
    "sigmoid_at": sigmoid_at,
    "sigmoid_slope_at": sigmoid_slope_at,
    "sinh": sinh,
    "cosh": cosh,
}
