"""Loops and branches under vmap, where each row decides for itself.

A batched loop runs until the last row is done, and rows that are done must wait, forward and
backward: their bodies may be infinite or nan by then. A batched branch runs both of its sides, of
which one may be nan in each row; that nan must not come back through the choice.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from conformance.loops.program import program, spread

GROUP = "batches"


@program(GROUP, np.array([0.7, 5.0, 1.9, 0.2]), np.array(1.1), order=3)
def rows_of_while(xp: Any, flow: Any, x: Any, w: Any) -> Any:
    """Rows of a while loop end at different times, one of them at once."""

    def one(a: Any) -> Any:
        return flow.while_loop(lambda c: c < 4.0, lambda c: c * c * w + 0.8, a)

    return xp.sum(flow.vmap(one)(x) ** 2)


@program(GROUP, np.array([0.7, -0.4, 1.9, -1.2]), np.array(1.1))
def rows_of_cond(xp: Any, flow: Any, x: Any, w: Any) -> Any:
    """Rows take different branches; each branch is infinite or nan for the rows of the other."""

    def one(a: Any) -> Any:
        return flow.cond(a > 0.0, lambda c: xp.log(c) * w, lambda c: xp.sqrt(-c) + c * w, a)

    return xp.sum(flow.vmap(one)(x) ** 2)


@program(GROUP, spread(3, 5), np.array([0, 2, 5]))
def rows_of_bounds(xp: Any, flow: Any, x: Any, n: Any) -> Any:
    """Rows of a counted loop have bounds of their own."""

    def one(a: Any, stop: Any) -> Any:
        return flow.fori_loop(0, stop, lambda i, c: xp.sin(c * a[i]) + a[0], a[1])

    return xp.sum(flow.vmap(one)(x, n) * n)


@program(GROUP, spread(3, 4), spread(4, 2, seed=1))
def shared_weights(xp: Any, flow: Any, x: Any, w: Any) -> Any:
    """Rows of a scan share what it captures, and what it scans over."""

    def one(a: Any) -> Any:
        c, ys = flow.scan(lambda c, r: (xp.tanh(c * r[0] + a[1]), c * r[1]), a[0], w)
        return c * xp.sum(ys)

    return xp.sum(flow.vmap(one)(x) * x[:, 2])


@program(GROUP, np.array([1.1, 1.7]), np.array([2.1, 0.9]))
def rows_of_while_in_while(xp: Any, flow: Any, x: Any, w: Any) -> Any:
    """Both loops have trips of their own in each row; rows that are done wait for the others."""

    def one(a: Any, v: Any) -> Any:
        inner: Any = lambda c: flow.while_loop(  # noqa: E731
            lambda d: d < c + v, lambda d: d * 1.5 + 0.2 * v, c
        )
        return flow.while_loop(lambda c: c < 12.0, lambda c: inner(c) * a + 1.0, v)

    return xp.sum(flow.vmap(one)(x, w))


@program(GROUP, np.array([0.9, 0.3, 0.6]))
def finished_rows_are_nan(xp: Any, flow: Any, x: Any) -> Any:
    """Beyond a row's own last trip its body would be the logarithm of a negative number."""

    def one(a: Any) -> Any:
        return flow.while_loop(lambda c: c > 0.35, lambda c: xp.sqrt(c - 0.3) * xp.log(1.3 + c), a)

    return xp.sum(flow.vmap(one)(x) * x)


@program(GROUP, np.array([0.7, 2.0, 1.3]), np.array(1.2), has_inner=True)
def rows_of_gradients(xp: Any, flow: Any, x: Any, w: Any) -> Any:
    """vmap of the gradient of a while loop."""

    def one(a: Any) -> Any:
        return flow.while_loop(lambda c: c < 5.0, lambda c: c * c + w, a)

    return xp.sum(flow.vmap(flow.grad(one))(x) * x)


@program(GROUP, spread(3, 4), np.array([[1, 0, 3], [2, 2, 0], [3, 1, 1]]))
def rows_of_places(xp: Any, flow: Any, x: Any, p: Any) -> Any:
    """Each row writes and reads its array at places of its own."""

    def one(a: Any, q: Any) -> Any:
        body: Any = lambda i, b: flow.set(b, q[i], xp.sin(b[q[i]]) + b[(q[i] + 1) % 4] * a[i])  # noqa: E731
        return xp.sum(flow.fori_loop(0, 3, body, a) ** 2)

    return xp.sum(flow.vmap(one)(x, p))
