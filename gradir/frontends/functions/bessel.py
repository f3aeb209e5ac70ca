"""Modified Bessel functions of the first kind, of order 0 and 1.

Up to 7 their power series, whose terms are all positive; beyond, a polynomial of 1 / x times
exp(x) / sqrt(x). Both are differentiated term by term, so derivatives have any order.
"""

from __future__ import annotations

from collections.abc import Callable
from math import factorial
from typing import Any

from gradir.dialects.array.polynomial import PolynomialOp, floats
from gradir.frontends.functions.arguments import floating
from gradir.frontends.functions.array_ops import op
from gradir.frontends.functions.op_functions import apply
from gradir.frontends.functions.sugar import (
    where,
)
from gradir.frontends.tracing.tracer import Tracer

_SERIES = [[1 / (factorial(k) * factorial(k + n)) for k in range(26)] for n in (0, 1)]
_LIMIT = 7.0
# sqrt(x) exp(-x) I_n(x) in powers of 14 / x - 1, by Chebyshev's polynomials in 80 digits: as many
# terms as second derivatives need.
_TAILS: list[list[float]] = [
    [0.402659401343193, 0.0038859097673630432, 0.00018440180782043337, 1.7998299802331245e-05,
     2.948040673111871e-06, 7.682040631813103e-07, 3.146847304081447e-07, 1.659895623092134e-07,
     5.3063465586031454e-08, -5.892821408718848e-08, -1.0152827631484182e-07,
     -2.5489300909725258e-08, 7.207399789204767e-08, 4.3775925484253765e-08,
     -5.5763391571041333e-08, -3.795607713094347e-08, 5.4332060618563914e-08,
     2.0685973212511688e-08, -5.811765751031481e-08, 5.772347526651083e-09,
     5.801871683077089e-08, -3.6933660250452623e-08, -4.875251463722792e-08,
     6.264924390068853e-08, 3.182241164103096e-08, -7.187594547284119e-08,
     -1.4375567035956969e-08, 6.144984257936377e-08, 3.087568065684393e-09,
     -3.9491910980351815e-08, 9.241623683875477e-10, 1.861040356214431e-08,
     -9.75053508206626e-10, -6.081013963866847e-09, 3.1922497790177874e-10,
     1.2314715940759365e-09, -4.0653607349500577e-11, -1.1639784809044888e-10],
    [0.3880011434546959, -0.011215038711611598, -0.0002950744554398161, -2.412924526611776e-05,
     -3.615774708828989e-06, -8.903983727957203e-07, -3.510730086856834e-07,
     -1.8235373391229798e-07, -6.051627249996346e-08, 5.9242949404083556e-08,
     1.0715358884692722e-07, 2.9860878660967456e-08, -7.377518437755586e-08,
     -4.781485470644704e-08, 5.6243900572803184e-08, 4.123930004096967e-08,
     -5.494133144607826e-08, -2.3318564700769093e-08, 5.9405346962589794e-08,
     -3.924501965906175e-09, -6.008644787899132e-08, 3.6150777208410077e-08,
     5.131867963787382e-08, -6.303818975388351e-08, -3.434269503867039e-08, 7.31258549855704e-08,
     1.6328836907323013e-08, -6.292510672853086e-08, -4.258402140957373e-09,
     4.0624140594801457e-08, -4.0085113866467415e-10, -1.9211116539285777e-08,
     8.110958686108701e-10, 6.295236438508458e-09, -2.871452699753133e-10,
     -1.2779254955068996e-09, 3.770773632312436e-11, 1.210396136766159e-10],
]  # fmt: skip


def growing(made: Any, power: Any) -> Tracer:
    """`made`, which grows as a power of e, but that power where it is above all numbers.

    There the terms of the derivatives of `made` may be infinite with both signs.
    """
    return where(op.isinf(power), power, made)


def polynomial(x: Any, coefficients: list[float]) -> Any:
    """c0 + c1 x + ..., by Horner's rule: one op, so that derivatives do not multiply its terms."""
    if len(coefficients) > 2:
        return apply(PolynomialOp, {"x": x, "coefficients": floats(coefficients)})
    total: Any = coefficients[-1]
    for c in reversed(coefficients[:-1]):
        total = total * x + c
    return total


def _scaled(value: Any, n: int, is_small: Any) -> tuple[Any, Any]:
    """I_n of |x|: the series, and the tail times exp(-x); each where the other is not."""
    near, far = where(is_small, value, 1.0), where(is_small, 2 * _LIMIT, value)
    square = near * near / 4
    series = polynomial(square, _SERIES[n]) * (near / 2 if n else 1)
    return series, polynomial(2 * _LIMIT / far - 1, _TAILS[n]) / op.sqrt(far)


def _bessel(name: str, n: int, scaled: bool) -> Callable[..., Any]:
    def bessel(x: Any) -> Tracer:
        given: Any = floating(x)
        is_small = op.less(op.abs(given), _LIMIT)
        # an even function of x, or an odd one, without the kink of |x| at 0
        sign = where(op.less(given, 0), -1.0, 1.0).astype(given.dtype)
        value = given * sign
        near, far = _scaled(value, n, is_small)
        if scaled:
            near = near * op.exp(-where(is_small, value, 0.0))
        else:
            power = op.exp(where(is_small, 0.0, value))
            far = growing(far * power, power)
        made = where(is_small, near, far)
        return made * sign if n else made

    bessel.__name__ = name
    bessel.__doc__ = f"The modified Bessel function of the first kind and order {n}" + (
        ", times exp(-|x|)." if scaled else "."
    )
    return bessel


i0, i0e = _bessel("i0", 0, False), _bessel("i0e", 0, True)
i1, i1e = _bessel("i1", 1, False), _bessel("i1e", 1, True)

FUNCTIONS: tuple[Callable[..., Any], ...] = (i0,)
"""NumPy's; gradir.scipy.special has the others too."""
