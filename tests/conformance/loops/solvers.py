"""Methods that run until they have converged, and steppers of differential equations.

Their trips depend on the data, their conditions on residuals; steps are taken or refused. The
derivative goes through the trips that were made: for Newton's method nearly the root's, for
bisection none but its last correction's.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from conformance.loops.program import program, spread

GROUP = "solvers"


@program(GROUP, np.array(2.3), np.array(1.0), order=3)
def newton(xp: Any, flow: Any, a: Any, start: Any) -> Any:
    """Newton's method for y**3 + y = a, until the residual is small."""

    def body(y: Any) -> Any:
        return y - (y * y * y + y - a) / (3.0 * y * y + 1.0)

    return flow.while_loop(lambda y: xp.abs(y * y * y + y - a) > 1e-9, body, start)


@program(GROUP, spread(3), spread(3, 3, seed=2, low=-0.3, high=0.3))
def fixed_point(xp: Any, flow: Any, x: Any, w: Any) -> Any:
    """y = tanh(W y + x) by iteration, until two iterates are near each other."""

    def body(c: Any) -> Any:
        return xp.tanh(w @ c[0] + x), c[0]

    far: Any = lambda c: xp.sum(xp.abs(c[0] - c[1])) > 1e-6  # noqa: E731
    y = flow.while_loop(far, body, (x, x + 1.0))[0]
    return xp.sum(y * y)


@program(GROUP, np.array(0.8), np.array(1.1))
def bisection(xp: Any, flow: Any, a: Any, top: Any) -> Any:
    """Bisection: the iterates are constants, bounds aside; one Newton step has the slope."""

    def body(c: Any) -> Any:
        low, high = c
        middle = 0.5 * (low + high)
        is_above = xp.sin(middle) + middle > a
        return xp.where(is_above, low, middle), xp.where(is_above, middle, high)

    low, _ = flow.while_loop(lambda c: c[1] - c[0] > 1e-3, body, (top * 0.0, top))
    return low - (xp.sin(low) + low - a) / (xp.cos(low) + 1.0)


@program(GROUP, spread(2), np.array(1.4))
def runge_kutta(xp: Any, flow: Any, y: Any, k: Any) -> Any:
    """Classical Runge-Kutta for Van der Pol's oscillator, by scan; the path is a result too."""

    def slope(u: Any) -> Any:
        return xp.stack([u[1], k * (1.0 - u[0] * u[0]) * u[1] - u[0]])

    def step(u: Any, _: Any) -> Any:
        a = slope(u)
        b = slope(u + 0.05 * a)
        c = slope(u + 0.05 * b)
        d = slope(u + 0.1 * c)
        return u + 0.1 / 6.0 * (a + 2.0 * b + 2.0 * c + d), u[0]

    u, path = flow.scan(step, y, None, length=6)
    return u[0] * u[1] + xp.sum(path * path)


@program(GROUP, np.array(0.6), np.array(2.1))
def adaptive_steps(xp: Any, flow: Any, y: Any, k: Any) -> Any:
    """Steps of an adaptive method are taken or refused; the step's length is carried."""

    def body(c: Any) -> Any:
        t, u, h = c
        full = u + h * xp.sin(k * u + t)
        half = u + 0.5 * h * xp.sin(k * u + t)
        twice = half + 0.5 * h * xp.sin(k * half + t + 0.5 * h)
        error = xp.abs(full - twice)
        good = error < 2e-2
        return xp.where(good, t + h, t), xp.where(good, twice, u), xp.where(good, 1.2 * h, 0.5 * h)

    return flow.while_loop(lambda c: c[0] < 1.5, body, (0.0, y, 0.6))[1]


@program(GROUP, spread(3), np.array(0.7))
def leapfrog(xp: Any, flow: Any, q: Any, k: Any) -> Any:
    """A symplectic integrator with a force by differences of neighbours, in a counted loop."""

    def force(q: Any) -> Any:
        after = xp.concatenate([q[1:], q[:1]])
        before = xp.concatenate([q[2:], q[:2]])
        return k * (after + before - 2.0 * q) - q**3

    def step(i: Any, c: Any) -> Any:
        q, p = c
        p = p + 0.1 * force(q)
        q = q + 0.2 * p
        return q, p + 0.1 * force(q)

    q, p = flow.fori_loop(0, 8, step, (q, q * 0.0))
    return xp.sum(p * p) - k * xp.sum(q * q)


@program(GROUP, spread(3), spread(3, 3, seed=1, low=-0.4, high=0.4), tolerance=1e-9)
def conjugate_gradients(xp: Any, flow: Any, b: Any, m: Any) -> Any:
    """Conjugate gradients for a symmetric matrix, to a tolerance: three trips."""

    def times(v: Any) -> Any:
        return m @ (v @ m) + 2.0 * v

    def body(c: Any) -> Any:
        x, r, p, rr = c
        ap = times(p)
        alpha = rr / (p @ ap)
        x, r_new = x + alpha * p, r - alpha * ap
        rr_new = r_new @ r_new
        return x, r_new, r_new + (rr_new / rr) * p, rr_new

    x = flow.while_loop(lambda c: c[3] > 1e-3, body, (b * 0.0, b, b, b @ b))[0]
    return xp.sum(x * x * b)


@program(GROUP, spread(3, 3), spread(3, seed=4))
def power_iteration(xp: Any, flow: Any, m: Any, v: Any) -> Any:
    """The largest eigenvalue by normalized products, a known number of them."""

    def body(i: Any, u: Any) -> Any:
        u = m @ (u @ m) + u
        return u / xp.sqrt(u @ u)

    u = flow.fori_loop(0, 5, body, v)
    return (u @ m) @ (u @ m)


@program(GROUP, spread(2, seed=3), np.array(0.9))
def line_search(xp: Any, flow: Any, x: Any, w: Any) -> Any:
    """Descent with a step that an inner loop halves until it descends."""

    def loss(v: Any) -> Any:
        return v[0] * v[0] * w + (v[1] - v[0] * v[0]) ** 2 * 3.0

    def slope(v: Any) -> Any:
        d = v[1] - v[0] * v[0]
        return xp.stack([2.0 * v[0] * w - 12.0 * d * v[0], 6.0 * d])

    def body(i: Any, v: Any) -> Any:
        g = slope(v)
        worse: Any = lambda t: loss(v - t * g) > loss(v) - 0.3 * t * (g @ g)  # noqa: E731
        t = flow.while_loop(worse, lambda t: t * 0.5, 1.0)
        return v - t * g

    return loss(flow.fori_loop(0, 3, body, x)) * w
