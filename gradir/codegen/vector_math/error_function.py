"""erf, erfc, and the normal distribution function.

erf is a polynomial below 1, and above 1 - q(|x|)**-4 in float, 1 - exp(-q(|x|)) in double.
erfc is exp(-x**2) p(t) / (1 + 2|x|) with t = (|x| - 4) / (|x| + 4), after N. Juffa (2013) and
M. Shepherd and J. Laframboise, Math. Comp. 36 (1981). The coefficients are our own fits.
"""

from __future__ import annotations

from collections.abc import Callable

from gradir.codegen.text.lanes import LaneValue, fma, polynomial
from gradir.codegen.vector_math.exponential import Scale, exp_normal, exponential_parts

# erf(x) / x - 1 in x**2 for |x| <= 1: error 2**-26 and 2**-56 of erf.
ERF = {
    32: (
        *(0.12837915, -0.37612587, 0.11283286, -0.026843784),
        *(0.0051719053, -0.0007880634, 7.459738e-05),
    ),
    64: (
        *(0.12837916709551256, -0.37612638903183593, 0.11283791670950175, -0.026866170644414197),
        *(0.0052239776195820995, -0.0008548326724678052, 0.00012055322914597986),
        *(-1.4925418783178908e-05, 1.6458424866986537e-06, -1.632518182551375e-07),
        *(1.450279082141943e-08, -1.0805223664140315e-09, 5.053669676814476e-11),
    ),
}
# erfc(x)**(-1/4) in x - 1 for 1 <= x <= 3.9: error 2**-27 of erf.
ERF32_TAIL_LIMIT = 3.95
ERF32_TAIL = (
    *(1.5878825, 1.0475943, 0.6801937, 0.3140863, 0.12323558),
    *(0.058787644, -0.0060829255, 0.024400055, -0.009086022, 0.0027534496),
)
# -log(erfc(x)) in x - 1 for 1 <= x <= 6: error 2**-56 of erf.
ERF64_TAIL_LIMIT = 6.0
ERF64_TAIL = (
    *(1.8496055099332482, 2.638967514234776, 0.8431072563595173, 0.0415610980228978),
    *(-0.010033825166890003, 0.0019779012514903205, -0.00023731718155354785),
    *(-2.6292213665978006e-05, 2.7186134708088346e-05, -9.645127875361941e-06),
    *(2.0945898323453775e-06, -1.6666566423290345e-07, -8.641321087631513e-08),
    *(4.888252098977973e-08, -1.4681197762675814e-08, 3.081266860894256e-09),
    *(-4.718366453658877e-10, 5.2019330381188084e-11, -3.923429572324788e-12),
    *(1.8138058714372458e-13, -3.87605790277963e-15),
)
# (1 + 2x) exp(x**2) erfc(x) in (x - 4) / (x + 4) for x >= 0: error 2**-25 and 2**-54.
ERFC = {
    32: (
        *(1.2329952, -0.13962106, 0.015376709, 0.06809295, -0.10098442, 0.09382888),
        *(-0.06665206, 0.036380325, -0.015913451, 0.0070332503, 0.00089239184),
    ),
    64: (
        *(1.2329951186255526, -0.13962111684056294, 0.015379652102605614),
        *(0.06809705425474075, -0.10103906603555082, 0.09373283499685325),
        *(-0.06633036582812518, 0.03716751555748894, -0.01619773388374661),
        *(0.005031969843933396, -0.0007577744067640726, -0.00019925624273862933),
        *(0.0001506261597342033, -2.4399728406968993e-05, -1.1233510684034652e-05),
        *(5.708359562224198e-06, 3.1239608096669555e-07, -8.196522965049511e-07),
        *(5.653997894403735e-08, 1.0162125859868989e-07, -8.559135141756793e-09),
        -8.569885742265008e-09,
    ),
}
# exp(x**2 / 2) (1 - cdf(x)) / t in t = 1 / (1 + x / 2) for x >= 0: error 2**-25, and 1/2 at 0.
NORMAL_TAIL32 = (
    *(0.1994805932044983, 0.19917619228363037, 0.1534675806760788, 0.022115064784884453),
    *(0.05641831457614899, -0.41407808661460876, 0.36191388964653015, 0.08158910274505615),
    *(-0.3070434331893921, 0.18572476506233215, -0.03876398876309395),
)
ERFC_LIMIT = {32: 10.1, 64: 27.3}  # erfc is zero from here on
NORMAL_LIMIT = {32: 14.4, 64: 38.6}  # the normal distribution and its density are zero beyond
INVERSE_ROOT_2_PI = 0.3989422804014327
SQRT_HALF = 0.7071067811865476
SQRT_HALF_REST = -4.833646656726457e-17  # sqrt(1/2) - SQRT_HALF


def erf(x: LaneValue) -> LaneValue:
    a = abs(x)
    complement = tail32(a) if x.bits == 32 else tail64(a)
    return (a < 1.0).select(erf_below_one(a), 1.0 - complement).with_sign_of(x)


def erf_below_one(x: LaneValue) -> LaneValue:
    """erf(x) for |x| <= 1."""
    return fma(x, polynomial(x * x, ERF[x.bits]), x)


def tail32(a: LaneValue) -> LaneValue:
    """erfc(a) for a >= 1, with the absolute accuracy that erf needs."""
    root = polynomial(a.at_most(ERF32_TAIL_LIMIT) - 1.0, ERF32_TAIL)
    square = root * root
    return 1.0 / (square * square)


def tail64(a: LaneValue) -> LaneValue:
    """As tail32."""
    return exp_normal(-polynomial(a.at_most(ERF64_TAIL_LIMIT) - 1.0, ERF64_TAIL))


def erfc(x: LaneValue) -> LaneValue:
    magnitude = abs(x).at_most(ERFC_LIMIT[x.bits])
    # t and the quotient below are corrected by the remainders of their divisions.
    reciprocal = 1.0 / (magnitude + 4.0)
    t = (magnitude - 4.0) * reciprocal
    t = fma(fma(-t, magnitude, fma(t + 1.0, -4.0, magnitude)), reciprocal, t)
    factor = polynomial(t, ERFC[x.bits])
    reciprocal = 1.0 / fma(magnitude, 2.0, 1.0)
    quotient = factor * reciprocal
    rest = fma(quotient * -2.0, magnitude, factor) - quotient
    square = magnitude * magnitude
    square_error = fma(magnitude, magnitude, -square)
    # exp(-square - square_error), to first order in the error
    quotient = fma(rest, reciprocal, -square_error * quotient) + quotient
    p, shifted, scale = exponential_parts(-square)
    result = scale.times(p * quotient, shifted)
    result = (x < 0.0).select(2.0 - result, result)
    return (magnitude < 0.5).select(1.0 - erf_below_one(x), result)


def normal_cdf(x: LaneValue) -> LaneValue:
    """erfc(-x / sqrt(2)) / 2, the square of x before its scaling, so that no tail is inexact."""
    magnitude = abs(x).at_most(NORMAL_LIMIT[x.bits])
    tail = normal_tail32(magnitude) if x.bits == 32 else normal_tail64(magnitude)
    return (x < 0.0).select(tail, 1.0 - tail)


def normal_tail32(x: LaneValue) -> LaneValue:
    """1 - cdf(x) for x >= 0."""
    half = x * 0.5
    below = half + 1.0
    t = 1.0 / below
    # what t is too small by, of itself; the tail is about t**1.2
    rest = fma(-t, below, 1.0) - t * (half - (below - 1.0))
    p, shifted, scale, square_error = bell_parts(x)
    quotient = polynomial(t, NORMAL_TAIL32) * t
    quotient = fma(fma(rest, 1.2, -square_error), quotient, quotient)
    return scale.times(p * quotient, shifted)


def normal_tail64(x: LaneValue) -> LaneValue:
    """As normal_tail32."""
    scaled = x * SQRT_HALF
    # one division gives both reciprocals; its remainders correct t and the quotient
    near, steep = scaled + 4.0, fma(scaled, 2.0, 1.0)
    reciprocal = 1.0 / (near * steep)
    of_near, of_steep = steep * reciprocal, near * reciprocal
    t = (scaled - 4.0) * of_near
    t = fma(fma(-t, near, scaled - 4.0), of_near, t)
    factor = polynomial(t, ERFC[x.bits])
    quotient = factor * of_steep
    # to first order, of 1 / (1 + 2s) for the error of s, and of the exponential
    scaled_error = fma(x, SQRT_HALF_REST, fma(x, SQRT_HALF, -scaled))
    p, shifted, scale, square_error = bell_parts(x)
    slack = fma(scaled_error * -2.0, of_steep, -square_error)
    quotient = fma(fma(-quotient, steep, factor), of_steep, quotient * slack) + quotient
    tail = scale.times(p * (quotient * 0.5), shifted)
    return (scaled < 0.5).select(0.5 - erf_below_one(scaled) * 0.5, tail)


def normal_density(x: LaneValue) -> LaneValue:
    """exp(-x**2 / 2) / sqrt(2 pi), whose exponential LLVM shares with `normal_cdf`."""
    p, shifted, scale, square_error = bell_parts(abs(x).at_most(NORMAL_LIMIT[x.bits]))
    p = p * INVERSE_ROOT_2_PI
    return scale.times(fma(-square_error, p, p), shifted)


def bell_parts(x: LaneValue) -> tuple[LaneValue, LaneValue, Scale, LaneValue]:
    """exp(-square) in the parts of `exponential_parts`, and what x**2 / 2 is above the square."""
    half = x * 0.5
    square = x * half
    return *exponential_parts(-square), fma(x, half, -square)


FUNCTIONS: dict[str, Callable[[LaneValue], LaneValue]] = {
    "erf": erf,
    "erfc": erfc,
    "normal_cdf": normal_cdf,
    "normal_density": normal_density,
}
