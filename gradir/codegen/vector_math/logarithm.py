"""log, log2, log10, log1p, asinh, acosh, atanh: x = 2**e (1 + f), then e ln2 + log(1 + f).

float: a minimax polynomial in f in [-1/3, 1/3], our own fits (Remez exchange in 60 digits).
double: the algorithm and the coefficients of FreeBSD's e_log.c and e_log2.c (Sun Microsystems).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from gradir.codegen.text.lanes import (
    EXPONENT_BIAS,
    INFINITY,
    MANTISSA_BITS,
    NAN,
    SMALLEST_NORMAL,
    LaneValue,
    Operand,
    float_bits,
    fma,
    polynomial,
)
from gradir.codegen.vector_math.exponential import LN2_HIGH, LN2_LOW

# The smallest 1 + f: the largest is twice that.
LOWEST_SIGNIFICAND = {32: 2 / 3, 64: 0.7071067811865476}

# (log(1 + f) - f) / f**2; error 2**-27 of log(1 + f).
LOG32 = (
    *(-0.5, 0.33333224, -0.24999906, 0.20010003, -0.16675557),
    *(0.14011784, -0.12252519, 0.13957722, -0.12596062),
)
# (log(1 + f) - f) / (f**2 log(base)); error 2**-27 of the logarithm.
LOG2_32 = (
    *(-0.7213475, 0.48089653, -0.360673, 0.28869438, -0.24056558),
    *(0.20199211, -0.17685679, 0.2020461, -0.18149456),
)
LOG10_32 = (
    *(-0.21714725, 0.14476427, -0.1085727, 0.086905986, -0.0724364),
    *(0.060801186, -0.05303586, 0.06084173, -0.0553876),
)
# FreeBSD e_log.c, Lg1 to Lg7: in z = s**2, s = f / (2 + f); error 2**-58.
LOG64 = (
    *(6.666666666666735130e-01, 3.999999999940941908e-01, 2.857142874366239149e-01),
    *(2.222219843214978396e-01, 1.818357216161805012e-01, 1.531383769920937332e-01),
    1.479819860511658591e-01,
)


@dataclass(frozen=True)
class Base:
    """A base b: log_b(e) and log_b(2), each in two parts, and the polynomial for float."""

    polynomial32: tuple[float, ...]
    log_e: dict[int, tuple[float, float]]
    log_two: dict[int, tuple[float, float]]


BASE_2 = Base(
    LOG2_32,
    {
        32: (1.4426950216293335, 1.925963033500011e-08),
        64: (1.4426950408889634, 2.0355273740931033e-17),
    },
    {32: (1.0, 0.0), 64: (1.0, 0.0)},
)
BASE_10 = Base(
    LOG10_32,
    {
        32: (0.4342944920063019, -1.0103049952192578e-08),
        64: (0.4342944819032518, 1.098319650216765e-17),
    },
    {
        32: (0.3010300099849701, -1.432098883924482e-08),
        64: (0.3010299956639812, -2.8037281277851704e-18),
    },
)
# From here on asinh(x) = acosh(x) = log1p(x) + ln2 to the last bit.
ASYMPTOTIC = {32: 2.0**27, 64: 2.0**54}


def log(x: LaneValue) -> LaneValue:
    e, f = split(x)
    return with_special_cases(natural_log(e, f), x)


def log2(x: LaneValue) -> LaneValue:
    return log_to_base(x, BASE_2)


def log10(x: LaneValue) -> LaneValue:
    return log_to_base(x, BASE_10)


def log1p(x: LaneValue) -> LaneValue:
    return log1p_times_two_to(0.0, x).with_sign_of(x)


def asinh(x: LaneValue) -> LaneValue:
    """log1p(a + a**2 / (1 + sqrt(1 + a**2))) for a = |x|, with the sign of x."""
    a = abs(x)
    large = a > ASYMPTOTIC[x.bits]
    square = a * a
    inner = a + square / ((square + 1.0).sqrt() + 1.0)
    return log1p_times_two_to(large.select(1.0, 0.0), large.select(a, inner)).with_sign_of(x)


def acosh(x: LaneValue) -> LaneValue:
    """log1p(t + sqrt(t**2 + 2t)) for t = x - 1."""
    large = x > ASYMPTOTIC[x.bits]
    t = x - 1.0
    inner = (x < 1.0).select(NAN, t + fma(t, t, t + t).sqrt())
    return log1p_times_two_to(large.select(1.0, 0.0), large.select(x, inner))


def atanh(x: LaneValue) -> LaneValue:
    """log1p(2a / (1 - a)) / 2 for a = |x|, with the sign of x."""
    a = abs(x)
    return (log1p_times_two_to(0.0, (a + a) / (1.0 - a)) * 0.5).with_sign_of(x)


def split(x: LaneValue) -> tuple[LaneValue, LaneValue]:
    """The e and f of a positive finite x = 2**e (1 + f)."""
    mantissa = MANTISSA_BITS[x.bits]
    subnormal = x < SMALLEST_NORMAL[x.bits]
    biased, f = split_normal(subnormal.select(x * 2.0**mantissa, x))
    offset = split_offset(x.bits)
    return biased - subnormal.select(offset + mantissa, offset), f


def split_offset(bits: int) -> float:
    """The number that `split_normal` adds to e."""
    return 2.0 ** MANTISSA_BITS[bits] + EXPONENT_BIAS[bits]


def split_normal(x: LaneValue) -> tuple[LaneValue, LaneValue]:
    """e + split_offset, and f, of a positive normal x = 2**e (1 + f)."""
    lowest = float_bits(LOWEST_SIGNIFICAND[x.bits], x.bits)
    shifted = x.as_int() + (float_bits(1.0, x.bits) - lowest)
    significand = ((shifted & ((1 << MANTISSA_BITS[x.bits]) - 1)) + lowest).as_float()
    return exponent_field(shifted), significand - 1.0


def exponent_field(pattern: LaneValue) -> LaneValue:
    """The bits above the mantissa as a float, plus 2**mantissa_bits."""
    mantissa = MANTISSA_BITS[pattern.bits]
    magic = float_bits(2.0**mantissa, pattern.bits)
    return ((pattern >> mantissa) | magic).as_float()


def natural_log(e: LaneValue, f: LaneValue) -> LaneValue:
    """e ln2 + log(1 + f)."""
    if f.bits == 32:
        return fma(e, LN2_HIGH[32], fma(f * f, polynomial(f, LOG32), f))
    half_square, tail = log_tail(f)
    low = fma(e, LN2_LOW[64], tail)
    return fma(e, LN2_HIGH[64], f - (half_square - low))


def log_tail(f: LaneValue) -> tuple[LaneValue, LaneValue]:
    """f**2 / 2, and log(1 + f) - f + f**2 / 2, in double."""
    half_square = f * f * 0.5
    s = f / (f + 2.0)
    z = s * s
    return half_square, s * fma(z, polynomial(z, LOG64), half_square)


def log_to_base(x: LaneValue, base: Base) -> LaneValue:
    e, f = split(x)
    high, low = base.log_e[x.bits]
    two_high, two_low = base.log_two[x.bits]
    if x.bits == 32:
        rest = fma(f * f, polynomial(f, base.polynomial32), f * low)
        if two_low:
            rest = fma(e, two_low, rest)
        significand_part = fma(f, high, rest)
        return with_special_cases(fma(e, two_high, significand_part), x)
    half_square, tail = log_tail(f)
    main = f - half_square
    correction = ((f - main) - half_square) + tail
    product = main * high
    rest = fma(correction, high, fma(main, low, fma(main, high, -product)))
    # The exponent's part dominates the significand's unless it is zero, so this sum is exact.
    exponent_part = e * two_high
    total = exponent_part + product
    rest = ((exponent_part - total) + product) + rest
    if two_low:
        rest = rest + fma(e, two_low, fma(e, two_high, -exponent_part))
    return with_special_cases(total + rest, x)


def log1p_times_two_to(extra: Operand, x: LaneValue) -> LaneValue:
    """log1p(x) + extra * ln2.

    With 1 + x = 2**e (1 + f), f = 2**-e x + (2**-e - 1) keeps the bits of x that 1 + x drops.
    """
    bits = x.bits
    mantissa, bias = MANTISSA_BITS[bits], EXPONENT_BIAS[bits]
    lowest = float_bits(LOWEST_SIGNIFICAND[bits], bits)
    shifted = (x + 1.0).as_int() + (float_bits(1.0, bits) - lowest)
    e = exponent_field(shifted) - split_offset(bits)
    if isinstance(extra, LaneValue):
        e = e + extra
    # 2**(2 - e) is a normal number for every e, a quarter of it is at least exact.
    field = shifted & (((1 << (bits - 1 - mantissa)) - 1) << mantissa)
    power = (x.function.int_constant((2 * bias + 2) << mantissa) - field).as_float() * 0.25
    y = natural_log(e, fma(x, power, power - 1.0))
    return with_special_cases(y, x, pole=-1.0)


def with_special_cases(y: LaneValue, x: LaneValue, pole: float = 0.0) -> LaneValue:
    """y, but -inf at the pole, nan below it, inf at inf, nan at nan."""
    # one selection behind y, the others beside it
    special = x.equals(pole).select(-INFINITY, (x < pole).select(NAN, x))
    return ((x > pole) & (x < INFINITY)).select(y, special)


FUNCTIONS: dict[str, Callable[[LaneValue], LaneValue]] = {
    "log": log,
    "log2": log2,
    "log10": log10,
    "log1p": log1p,
    "asinh": asinh,
    "acosh": acosh,
    "atanh": atanh,
}
