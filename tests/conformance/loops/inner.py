"""Derivatives inside of the program: of loops, in loops, and through both.

A gradient that a body takes is a program with tapes of its own, which the gradient of the loop
around it differentiates again. So the first order here is the second one elsewhere.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from conformance.loops.program import program, spread

GROUP = "inner"


@program(GROUP, spread(2), np.array(0.2), has_inner=True)
def descent(xp: Any, flow: Any, x: Any, rate: Any) -> Any:
    """Gradient descent in a loop, differentiated by its start and its rate."""

    def loss(v: Any) -> Any:
        return xp.sum(xp.sin(v) * v) + v[0] * v[1] ** 2

    return loss(flow.fori_loop(0, 4, lambda i, v: v - rate * flow.grad(loss)(v), x))


@program(GROUP, np.array(0.8), np.array(1.3), has_inner=True)
def slope_of_a_loop_in_a_loop(xp: Any, flow: Any, x: Any, w: Any) -> Any:
    """Each trip takes the gradient of a while loop that captures what the trip has made."""

    def body(i: Any, c: Any) -> Any:
        run: Any = lambda t: flow.while_loop(lambda d: d < 3.0, lambda d: d * d + c, t)  # noqa: E731
        return xp.sin(flow.grad(run)(w)) + 0.5 * c

    return flow.fori_loop(0, 3, body, x)


@program(GROUP, np.array(1.5), has_inner=True)
def newton_by_gradient(xp: Any, flow: Any, a: Any) -> Any:
    """Newton's method with the slope from grad, until it converges."""

    def f(y: Any) -> Any:
        return y * xp.exp(y) - a

    body: Any = lambda y: y - f(y) / flow.grad(f)(y)  # noqa: E731
    return flow.while_loop(lambda y: xp.abs(f(y)) > 1e-8, body, a)


@program(GROUP, np.array(0.7), np.array(0.9), has_inner=True)
def curvature_in_a_scan(xp: Any, flow: Any, x: Any, w: Any) -> Any:
    """A second derivative of a counted loop is taken in each trip of a scan."""

    def run(t: Any) -> Any:
        return flow.fori_loop(0, 3, lambda i, c: xp.sin(c * w) + t * t, t)

    def body(c: Any, _: Any) -> Any:
        bent = flow.grad(flow.grad(run))(c)
        return c * 0.7 + 0.1 * bent, bent

    c, ys = flow.scan(body, x, None, length=3)
    return c + xp.sum(ys)
