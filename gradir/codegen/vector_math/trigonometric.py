"""sin, cos, tan: x = n pi + r (tan: n pi/2 + r), a polynomial in r, a sign from n.

Moderate x: Cody and Waite's reduction, three fma with pi in three parts. The first is exact, as its
result is below 2 and both terms are multiples of its last place. Larger x take a branch.

In a loop whose next argument depends on this result the longest chain of operations is the time.
So sin and cos keep the third part of pi, the sign and signed zeros off it, and sum polynomials as
trees; that costs one unit in the last place, of below 3.
"""

from __future__ import annotations

from collections.abc import Callable

from gradir.codegen.text.lanes import (
    INFINITY,
    NAN,
    ROUNDING_MAGIC,
    LaneValue,
    estrin,
    fma,
    polynomial,
)
from gradir.codegen.vector_math import huge_reduction

PI = {
    32: (3.1415927410125732, -8.742277657347586e-08, -3.4302490200117637e-15),
    64: (3.141592653589793, 1.2246467991473532e-16, -2.9947698097183397e-33),
}
# The same rounded towards zero, so that no part is negative: -0.0 - 0 * part is -0.0 then.
PI_BELOW = {
    32: (3.141592502593994, 1.5099578831723193e-07, 1.078060505991553e-14),
    64: (3.141592653589793, 1.224646799147353e-16, 2.1657133478438278e-32),
}
HALF_PI = {bits: tuple(part / 2 for part in parts) for bits, parts in PI.items()}
ONE_OVER_PI = 0.3183098861837907
# Up to here three parts of pi are enough.
MODERATE = {32: 2.0**17, 64: 2.0**30}

# (sin(r) - r) / r**3 in r**2 for |r| <= 1.58: error 2**-27 and 2**-61 of sin; our own minimax fits.
SIN = {
    32: (-0.1666666, 0.0083330665, -0.00019809441, 2.6051405e-06),
    64: (
        *(-0.16666666666666666, 0.008333333333333203, -0.0001984126984121051),
        *(2.755731921115119e-06, -2.505210686071392e-08, 1.6058938594470433e-10),
        *(-7.642952275379798e-13, 2.720674106524862e-15),
    ),
}
# Below the squares of all r but those whose sine is r itself.
TINY = {32: 2.0**-100, 64: 2.0**-1000}
# The same for |r| <= pi/4: Cephes sinf.c; FreeBSD k_sin.c, S1 to S6.
SHORT_SIN = {
    32: (-1.6666654611e-1, 8.3321608736e-3, -1.9515295891e-4),
    64: (
        *(-1.66666666666666324348e-01, 8.33333333332248946124e-03, -1.98412698298579493134e-04),
        *(2.75573137070700676789e-06, -2.50507602534068634195e-08, 1.58969099521155010221e-10),
    ),
}
# (cos(r) - 1 + r**2 / 2) / r**4 for |r| <= pi/4: Cephes sinf.c; FreeBSD k_cos.c, C1 to C6.
SHORT_COS = {
    32: (4.166664568298827e-2, -1.388731625493765e-3, 2.443315711809948e-5),
    64: (
        *(4.16666666666666019037e-02, -1.38888888888741095749e-03, 2.48015872894767294178e-05),
        *(-2.75573143513906633035e-07, 2.08757232129817482790e-09, -1.13596475577881948265e-11),
    ),
}


def sin(x: LaneValue) -> LaneValue:
    magic = ROUNDING_MAGIC[x.bits]
    shifted = fma(x, ONE_OVER_PI, magic)
    reduced = reduce_moderate(x, shifted - magic, shifted)
    return signed_sin(*beyond_moderate(x, reduced, turns=0))


def cos(x: LaneValue) -> LaneValue:
    """-sin(r), the other sign for odd k, where |x| = (k + 1/2) pi + r."""
    x = abs(x)
    magic = ROUNDING_MAGIC[x.bits]
    # One more than k, so that its last bit says when to change the sign of sin(r).
    shifted = fma(x, ONE_OVER_PI, 0.5) + magic
    reduced = reduce_moderate(x, (shifted - magic) - 0.5, shifted)
    return signed_sin(*beyond_moderate(x, reduced, turns=1))


def tan(x: LaneValue) -> LaneValue:
    shifted, n = nearest_integer(x * (2 * ONE_OVER_PI))
    r, r_low = subtract_quarter_turns(x, n)
    huge = ~(abs(x) < MODERATE[x.bits])
    r, r_low, n = x.function.where_any(
        huge, (r, r_low, shifted), lambda: huge_tan_arguments(x, huge, (r, r_low, shifted))
    )
    z = r * r
    sine = fma(r * z, polynomial(z, SHORT_SIN[x.bits]), r_low) + r
    cosine_tail = fma(z, polynomial(z, SHORT_COS[x.bits]), -0.5)
    cosine = fma(z, cosine_tail, -r * r_low) + 1.0
    odd = (n & 1).equals(1)
    quotient = odd.select(-cosine, sine) / odd.select(sine, cosine)
    return x.equals(0.0).select(x, quotient)


def nearest_integer(quotient: LaneValue) -> tuple[LaneValue, LaneValue]:
    """A word whose last bits are n, and n, the nearest integer."""
    magic = ROUNDING_MAGIC[quotient.bits]
    shifted = quotient + magic
    return shifted.as_int(), shifted - magic


def reduce_moderate(
    x: LaneValue, n: LaneValue, shifted: LaneValue
) -> tuple[LaneValue, LaneValue, LaneValue]:
    """x - n pi to nearly full precision and in full, and the last bit of `shifted` as a sign."""
    first, second, third = PI_BELOW[x.bits]
    near = fma(n, -second, fma(n, -first, x))
    return near, fma(n, -third, near), shifted.as_int() << (x.bits - 1)


def subtract_quarter_turns(x: LaneValue, n: LaneValue) -> tuple[LaneValue, LaneValue]:
    """x - n pi/2, and what its rounding dropped."""
    first, second, third = HALF_PI[x.bits]
    rest = fma(n, -first, x)
    product = n * second
    r = rest - product
    r_low = ((rest - r) - product) + fma(n, -second, product)
    return r, fma(n, -third, r_low)


def signed_sin(near: LaneValue, r: LaneValue, flip: LaneValue) -> LaneValue:
    """sin(r) for |r| <= pi/2, the sign changed where `flip` has the sign bit.

    `near` is r, known earlier, with an error that the small terms do not feel.
    """
    signed = (r.as_int() ^ flip).as_float()
    square = near * near
    fourth = square * square
    # As if r**2 were negative at r = 0: then no term takes the sign off a zero.
    cube = signed * fma(near, near, -TINY[r.bits])
    large, small = SIN[r.bits][:4], SIN[r.bits][4:]
    sine = fma(cube, estrin(square, large), signed)
    if not small:
        return sine
    return sine + (cube * (fourth * fourth)) * estrin(square, small)


def beyond_moderate(
    x: LaneValue, reduced: tuple[LaneValue, LaneValue, LaneValue], turns: int
) -> tuple[LaneValue, LaneValue, LaneValue]:
    """The operands of `signed_sin` for sin(x + turns * pi/2), right for huge x too."""
    huge = ~(abs(x) < MODERATE[x.bits])

    def rare() -> tuple[LaneValue, LaneValue, LaneValue]:
        quarter, q = reduce_huge(x)
        q = q + turns
        # sin(quarter + pi/2) = sin(pi/2 - |quarter|)
        folded = HALF_PI[x.bits][0] - abs(quarter)
        angle = (q & 1).equals(1).select(folded, quarter)
        sign = (q >> 1) << (x.bits - 1)
        near, r, flip = reduced
        return huge.select(angle, near), huge.select(angle, r), huge.select(sign, flip)

    near, r, flip = x.function.where_any(huge, reduced, rare)
    return near, r, flip


def huge_tan_arguments(
    x: LaneValue, huge: LaneValue, usual: tuple[LaneValue, LaneValue, LaneValue]
) -> tuple[LaneValue, LaneValue, LaneValue]:
    r, r_low, n = usual
    quarter, q = reduce_huge(x)
    return huge.select(quarter, r), huge.select(0.0, r_low), huge.select(q, n)


def reduce_huge(x: LaneValue) -> tuple[LaneValue, LaneValue]:
    """r and q with x = q pi/2 + r, |r| <= pi/4; r is nan where x is not finite."""
    function = x.function
    function.calls_huge_reduction = True
    callee = huge_reduction.symbol(x.bits, function.lanes)
    text, pair_type = function.text, f"{{ {x.type}, {function.type_of(function.int_kind)} }}"
    pair = text.call(pair_type, callee, f"{x.type} {x.name}")
    r = function.value(x.kind, text.emit(f"extractvalue {pair_type} {pair}, 0"))
    q = function.value(function.int_kind, text.emit(f"extractvalue {pair_type} {pair}, 1"))
    return (abs(x) < INFINITY).select(r, NAN), q


FUNCTIONS: dict[str, Callable[[LaneValue], LaneValue]] = {"sin": sin, "cos": cos, "tan": tan}
