"""Bessel functions J and Y of integer order.

Up to |x| = 25, or the order if it is larger, Miller's backward recurrence by ratios of neighbours,
and Neumann's series of Y; beyond, Hankel's asymptotic series and the forward recurrence (DLMF
10.74(iv), 10.8, 10.17, 10.6.1; Abramowitz & Stegun 9.1.87-89). Derivatives: DLMF 10.6.1.
"""

from __future__ import annotations

from math import pi, sqrt
from typing import Any

import numpy as np

import gradir.frontends.functions.numpy as gnp
from gradir.frontends.functions.bessel import polynomial
from gradir.frontends.scipy.calls import of_order, ordered
from gradir.frontends.scipy.shifted_orders import by_orders
from gradir.frontends.transforms.flow import fori_loop

_LIMIT = 25.0
_EULER = 0.5772156649015329
_TINY = 1e-300


def _first_row(order: Any) -> Any:
    """An even number of a row that is nothing beside those up to max(order, 25)."""
    most = gnp.maximum(gnp.max(order).astype("float64"), _LIMIT)
    return 2 * gnp.ceil((most + 12 * gnp.cbrt(most) + 20) / 2).astype("int64")


def _miller(order: Any, x: Any) -> tuple[Any, Any, Any, Any]:
    """J_order, J0, and of Neumann's series for Y0 and Y1 the sums over J0; 0 <= x <= the limit.

    r_k = J_k / J_{k-1} = x / (2 k - x r_{k+1}), and 1 = J0 + 2 J2 + 2 J4 + ...
    """
    top, zero = _first_row(order), x * 0

    def ratio(k: Any, above: Any) -> Any:
        divisor = 2 * k.astype("float64") - x * above
        return x / gnp.where(divisor == 0, _TINY, divisor)

    def pair(step: Any, state: Any) -> Any:
        above, product, squares, first, second = state
        k = top - 2 * step
        m = (k // 2).astype("float64")
        sign = gnp.where(k % 4 == 0, 1.0, -1.0)
        even = ratio(k, above)
        odd = ratio(k - 1, even)
        both = even * odd
        product = product * gnp.where(order >= k, even, 1.0) * gnp.where(order >= k - 1, odd, 1.0)
        squares = both * (1 + squares)
        first = both * (sign / m + first)
        second = both * (sign * (2 * m + 1) / (m * (m + 1)) * above + second)
        return odd, product, squares, first, second

    start = zero, zero + 1, zero, zero, zero
    _, product, squares, first, second = fori_loop(0, top // 2, pair, start)
    j0 = 1 / (1 + 2 * squares)
    return product * j0, j0, first * j0, second * j0


def _hankel(x: Any) -> tuple[Any, Any, Any, Any]:
    """J0, J1, Y0, Y1 of x >= 25 (DLMF 10.17.3-4)."""
    made: list[Any] = []
    sine, cosine = gnp.sin(x), gnp.cos(x)
    turned = (cosine + sine) / sqrt(2), (sine - cosine) / sqrt(2)
    scale, square = gnp.sqrt(2 / (pi * x)), 1 / (x * x)
    for n in (0, 1):
        a = [1.0]
        for k in range(1, 30):
            a.append(a[-1] * (4 * n * n - (2 * k - 1) ** 2) / (8 * k))
        p = polynomial(square, [c * (-1) ** k for k, c in enumerate(a[0::2])])
        q = polynomial(square, [c * (-1) ** k for k, c in enumerate(a[1::2])]) / x
        c, s = turned if n == 0 else (turned[1], -turned[0])
        made.append((scale * (p * c - q * s), scale * (p * s + q * c)))
    return made[0][0], made[1][0], made[0][1], made[1][1]


def _forward(order: Any, x: Any, first: Any, second: Any) -> Any:
    """The value of an order >= 0 from the values of orders 0 and 1 by the recurrence upwards."""

    def step(k: Any, pair: Any) -> Any:
        low, high = pair
        following = 2 * k.astype("float64") / x * high - low
        following = gnp.where(gnp.isinf(high), high, following)
        return gnp.where(k < order, high, low), gnp.where(k < order, following, high)

    _, last = fori_loop(1, gnp.max(order), step, (first, second))
    return gnp.where(order == 0, first, last)


def _parity(order: Any) -> Any:
    return gnp.where(order % 2 == 0, 1.0, -1.0)


def _bessel_j(order: Any, x: Any) -> Any:
    """J of integer orders, of float64 arrays of one shape."""
    n, size = gnp.abs(order), gnp.abs(x)
    is_near = size <= gnp.maximum(n.astype("float64"), _LIMIT)
    near, *_ = _miller(n, gnp.where(is_near, size, 1.0))
    is_far = gnp.logical_and(gnp.logical_not(is_near), gnp.isfinite(size))
    place = gnp.where(is_far, size, gnp.maximum(n.astype("float64"), _LIMIT) + 1)
    j0, j1, _, _ = _hankel(place)
    made = gnp.where(is_near, near, gnp.where(is_far, _forward(n, place, j0, j1), 0.0))
    flipped = gnp.logical_xor(order < 0, x < 0)
    made = gnp.where(flipped, _parity(order) * made, made)
    return gnp.where(gnp.isnan(x), x, made)


def _bessel_y(order: Any, x: Any) -> Any:
    """Y of integer orders, of float64 arrays of one shape; nan below 0."""
    n = gnp.abs(order)
    is_near, zeros = x <= _LIMIT, order * 0
    is_inside = gnp.logical_and(is_near, x > 0)
    near = gnp.where(is_inside, x, 1.0)
    _, j0, first, second = _miller(zeros, near)
    j1, *_ = _miller(zeros + 1, near)
    logarithm = gnp.log(near / 2) + _EULER
    low = 2 / pi * (logarithm * j0 - 2 * first)
    high = 2 / pi * ((logarithm - 1) * j1 - second - j0 / near)
    is_far = gnp.logical_and(x > _LIMIT, x < np.inf)
    far = gnp.where(is_far, x, _LIMIT + 1)
    _, _, y0, y1 = _hankel(far)
    place = gnp.where(is_near, near, far)
    made = _forward(n, place, gnp.where(is_near, low, y0), gnp.where(is_near, high, y1))
    made = gnp.where(x == 0, -np.inf, gnp.where(x == np.inf, 0.0, made))
    made = gnp.where(order < 0, _parity(order) * made, made)
    return gnp.where(gnp.logical_or(x < 0, gnp.isnan(x)), np.nan, made)


bessel_j = by_orders(_bessel_j, 0.5, -1.0)
bessel_y = by_orders(_bessel_y, 0.5, -1.0, has_pole=True)

_J = "The Bessel function of the first kind and integer order."
_Y = "The Bessel function of the second kind and integer order; -inf at 0, nan below."
_KIND = "The Bessel function of the {} kind and order {}."
_OF = {"j": (bessel_j, "first"), "y": (bessel_y, "second")}

COMPILED = {
    "jn": ordered("jn", bessel_j, _J),
    "jv": ordered("jv", bessel_j, _J),
    "yn": ordered("yn", bessel_y, _Y),
    **{
        f"{letter}{n}": of_order(f"{letter}{n}", function, n, _KIND.format(kind, n))
        for letter, (function, kind) in _OF.items()
        for n in (0, 1)
    },
}
