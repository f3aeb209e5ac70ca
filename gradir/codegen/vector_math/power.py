"""pow and rsqrt.

pow(x, y) = 2**(y log2|x|), where the exponent's absolute error is the result's relative error. So
float computes it in double, and double as unevaluated sums of two numbers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from gradir.codegen.text.lanes import INFINITY, NAN, LaneValue, Operand, fma, polynomial
from gradir.codegen.vector_math.exponential import (
    EXP2_RANGE,
    EXP2_TAIL,
    Scale,
    biased_magic,
    clamp,
    power_of_two,
)
from gradir.codegen.vector_math.logarithm import split, split_normal, split_offset

# log2((1 + s) / (1 - s)) / s in s**2 for |s| <= 0.1716: error 2**-37; our own minimax fit.
LOG2_RATIO = (
    *(2.885390081790107, 0.9617966733627561, 0.5770835806718811),
    *(0.4116729403253338, 0.3407268470100893),
)
# 2 / ln2 and 1/3, in two parts.
TWO_OVER_LN2 = (2.8853900817779268, 4.0710547481862066e-17)
THIRD = (0.3333333333333333, 1.850371707708594e-17)
# (atanh(s) / s - 1 - s**2 / 3) / s**4 in s**2 for |s| <= 0.1716: error 2**-65 of atanh; likewise.
ATANH_TAIL = (
    *(0.20000000000000198, 0.1428571428542254, 0.11111111202503858, 0.09090896617348783),
    *(0.07693195838336733, 0.06632262357616928, 0.065655125925403),
)


class Pair(NamedTuple):
    """high + low, unevaluated, where |low| is at most about a unit in the last place of high."""

    high: LaneValue
    low: LaneValue


def rsqrt(x: LaneValue) -> LaneValue:
    """1 / sqrt(x), both operations correctly rounded."""
    return 1.0 / x.sqrt()


def power(x: LaneValue, y: LaneValue) -> LaneValue:
    magnitude = abs(x)
    result = power_single(magnitude, y) if x.bits == 32 else power_double(magnitude, y)
    result = magnitude.equals(1.0).select(1.0, result)
    return with_special_cases(result, x, y)


def power_single(x: LaneValue, y: LaneValue) -> LaneValue:
    """x**y in float for x >= 0, computed in double, which has room for every intermediate."""
    x, y = x.to_double(), y.to_double()
    biased, f = split_normal(x)
    s = f / (f + 2.0)
    logarithm = fma(s, polynomial(s * s, LOG2_RATIO), biased - split_offset(64))
    exponent = clamp(log2_at_ends(logarithm, x) * y, {64: EXP2_RANGE[32]})
    shifted = exponent + biased_magic(64)
    r = exponent - (shifted - biased_magic(64))
    p = fma(r, polynomial(r, EXP2_TAIL[32]), 1.0)
    return (p * power_of_two(shifted)).to_single()


def power_double(x: LaneValue, y: LaneValue) -> LaneValue:
    """x**y in double for x >= 0."""
    logarithm = log2_pair(x)
    exponent = logarithm.high * y
    error = fma(logarithm.low, y, fma(logarithm.high, y, -exponent))
    # Where the exponent is out of range or infinite, its error may be nan.
    low, high = EXP2_RANGE[64]
    in_range = (exponent > low) & (exponent < high)
    return exp2_pair(clamp(exponent, EXP2_RANGE), in_range.select(error, 0.0))


def log2_at_ends(logarithm: LaneValue, x: LaneValue) -> LaneValue:
    """`logarithm`, but -inf at 0, inf at inf, nan at nan."""
    logarithm = (x < INFINITY).select(logarithm, x)
    return x.equals(0.0).select(-INFINITY, logarithm)


def with_special_cases(result: LaneValue, x: LaneValue, y: LaneValue) -> LaneValue:
    """The sign for negative x, and the cases of C99, given |x|**y."""
    half = y * 0.5
    is_integer = y.round_even().equals(y)
    is_odd = is_integer & ~half.round_even().equals(half)
    result = (is_odd & (x.as_int() < 0)).select(-result, result)
    undefined = (x < 0.0) & (x > -INFINITY) & ~is_integer
    result = undefined.select(NAN, result)
    result = y.equals(y).select(result, y)
    result = x.equals(x).select(result, x)
    return x.equals(1.0).select(1.0, y.equals(0.0).select(1.0, result))


def log2_pair(x: LaneValue) -> Pair:
    """log2(x) for x >= 0, with about 12 bits more than one double holds."""
    e, f = split(x)
    s = quotient(f, f + 2.0)
    square = s.high * s.high
    z = Pair(square, fma(s.high, s.high, -square) + s.high * s.low * 2.0)
    # t = z (1/3 + z tail(z)), then log2(1 + f) = s (1 + t) 2/ln2
    third, third_low = THIRD
    w = fast_sum(third, z.high * polynomial(z.high, ATANH_TAIL))
    t = product(z, Pair(w.high, w.low + third_low))
    one_plus_t = fast_sum(1.0, t.high)
    one_plus_t = Pair(one_plus_t.high, one_plus_t.low + t.low)
    high, low = (x.function.float_constant(part) for part in TWO_OVER_LN2)
    significand_part = product(product(s, one_plus_t), Pair(high, low))
    total = fast_sum(e, significand_part.high)
    return Pair(log2_at_ends(total.high, x), total.low + significand_part.low)


def exp2_pair(high: LaneValue, low: LaneValue) -> LaneValue:
    """2**(high + low)."""
    scale = Scale.of(high)
    shifted = high + scale.shifter
    r = (high - (shifted - scale.shifter)) + low
    p = fma(r, polynomial(r, EXP2_TAIL[high.bits]), 1.0)
    return scale.times(p, shifted)


def fast_sum(a: Operand, b: LaneValue) -> Pair:
    """a + b exactly, for a = 0 or |a| >= |b|."""
    high = b + a
    return Pair(high, (a - high) + b)


def product(a: Pair, b: Pair) -> Pair:
    high = a.high * b.high
    return Pair(high, fma(a.high, b.low, fma(a.low, b.high, fma(a.high, b.high, -high))))


def quotient(f: LaneValue, denominator: LaneValue) -> Pair:
    """f / (2 + f), where denominator = 2 + f rounded."""
    reciprocal = 1.0 / denominator
    high = f * reciprocal
    denominator_low = f - (denominator - 2.0)
    rest = fma(high, -denominator_low, fma(-high, denominator, f))
    return Pair(high, rest * reciprocal)


UNARY: dict[str, Callable[[LaneValue], LaneValue]] = {"rsqrt": rsqrt}
BINARY: dict[str, Callable[[LaneValue, LaneValue], LaneValue]] = {"pow": power}
