"""Derivatives of functions of an order n whose slope is a sum of the functions of near orders.

The k-th derivative is then a sum over up to 2 k + 1 orders, which are computed at once, as rows of
one array: one function for each k, where a rule of the rule would call 2**k.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

import gradir.frontends.functions.numpy as gnp
from gradir.frontends.transforms.custom_derivatives import custom_jvp

Weights = Mapping[int, float]
"""A sum: by how much the order is more, and the weight of that function."""


def by_orders(function: Callable[[Any, Any], Any], slope: Weights) -> Callable[[Any, Any], Any]:
    """`function(n, x)`, with the slope sum of w * function(n + s, x) for all s: w of `slope`."""

    def derivative(k: int, order: Any, x: Any) -> Any:
        """Number k."""
        if not k:
            return function(order, x)
        weights = _power(slope, k)
        shape = (len(weights), *[1] * x.ndim)
        orders = gnp.expand_dims(order, 0) + np.reshape(list(weights), shape)
        rows = function(orders, gnp.broadcast_to(x, orders.shape))
        return gnp.sum(rows * np.reshape(list(weights.values()), shape), axis=0)

    def pushed(k: int, primals: Any, tangents: Any) -> Any:
        return known(k, *primals), tangents[1] * known(k + 1, *primals)

    derivative.__name__ = function.__name__
    known = custom_jvp(derivative, nondiff_argnums=0)
    known.defjvp(pushed)

    def made(order: Any, x: Any) -> Any:
        return known(0, order, x)

    made.__name__, made.__doc__ = function.__name__, function.__doc__
    return made


def _power(slope: Weights, k: int) -> dict[int, float]:
    """The weights of the k-th derivative."""
    made = {0: 1.0}
    for _ in range(k):
        following: dict[int, float] = {}
        for shift, weight in made.items():
            for more, factor in slope.items():
                following[shift + more] = following.get(shift + more, 0.0) + weight * factor
        made = {shift: weight for shift, weight in sorted(following.items()) if weight}
    return made
