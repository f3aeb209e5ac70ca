"""Derivatives of functions of an order n whose slope is a sum of the functions of near orders.

With the shift E, E f_n = f_{n+1}, a slope (E^-1 + s E) c f has the k-th derivative
c^k sum_j binomial(k, j) s^j f_{n - k + 2 j}: a loop over k + 1 orders, with k as data, so that one
function of the program serves all orders. A rule of the rule would call 2**k functions.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import gradir.frontends.functions.numpy as gnp
from gradir.frontends.transforms.custom_derivatives import custom_jvp
from gradir.frontends.transforms.flow import fori_loop

OfOrder = Callable[[Any, Any], Any]


def by_orders(function: OfOrder, factor: float, sign: float, has_pole: bool = False) -> OfOrder:
    """`function(n, x)` of integers n, with the slope factor * (f_{n-1} + sign * f_{n+1}).

    `has_pole`: it is infinite at 0, where the order farthest from 0 decides.
    """

    def derivative(k: Any, order: Any, x: Any) -> Any:
        """Number k: the sum over places 0 ... of all orders, with the weights of a power."""

        def add(j: Any, state: Any) -> Any:
            total, weight = state
            term = weight * function(order - k + 2 * j, x)
            if has_pole:
                decides = gnp.where(order < 0, j == 0, j == k)
                term = gnp.where(gnp.logical_or(x != 0, decides), term, 0.0)
            return total + term, weight * (sign * (k - j) / (j + 1))

        weight = gnp.power(np.float64(factor), k)
        return fori_loop(0, k + 1, add, (x * 0, weight))[0]

    def pushed(primals: Any, tangents: Any) -> Any:
        k, order, x = primals
        return known(k, order, x), tangents[2] * known(k + 1, order, x)

    known = custom_jvp(derivative)
    known.defjvp(pushed)
    made = custom_jvp(function)
    made.defjvps(None, lambda t, _, order, x: t * known(np.int64(1), order, x))
    return made
