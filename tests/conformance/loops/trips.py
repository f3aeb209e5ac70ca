"""How often a loop runs: never, as the data say, as the carry says, until something is done.

Without a trip the carried value passes, and captured values have the gradient zero, not none.
Where nobody knows the number of trips before the end, the records need memory that grows, or
snapshots that are chosen as the loop runs; that is where systems refuse reverse mode.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from conformance.loops.program import program, spread

GROUP = "trips"


@program(GROUP, np.array(0.7), np.array(1.3), np.array(3))
def no_trips(xp: Any, flow: Any, x: Any, w: Any, n: Any) -> Any:
    """A counted loop whose bounds, arguments, leave it no trip; the captured weight gets zero."""
    return xp.sin(flow.fori_loop(n, n - 2, lambda i, c: c * w, x))


@program(GROUP, np.array(0.7), np.array(1.3))
def no_trips_while(xp: Any, flow: Any, x: Any, w: Any) -> Any:
    """A while loop whose condition is false at once; its body would divide by zero."""
    return flow.while_loop(lambda c: c > 1.0, lambda c: w / (c - c), x) * x


@program(GROUP, spread(3), np.zeros((0, 3)))
def no_rows(xp: Any, flow: Any, x: Any, rows: Any) -> Any:
    """A scan over no rows: the carry passes, the ys are empty."""
    c, ys = flow.scan(lambda c, r: (c * r, xp.sum(c)), x, rows)
    return xp.sum(c * c) + xp.sum(ys)


@program(GROUP, spread(6), np.array(1), np.array(5))
def traced_bounds(xp: Any, flow: Any, x: Any, low: Any, high: Any) -> Any:
    """The bounds of a counted loop are arguments, and the inner one's is the outer counter."""

    def body(i: Any, c: Any) -> Any:
        return flow.fori_loop(low, i, lambda j, d: d * x[j] + xp.sin(x[i]), c)

    return flow.fori_loop(low, high, body, x[0])


@program(GROUP, np.array(1.1), np.array(0.3), order=3)
def until_large(xp: Any, flow: Any, x: Any, w: Any) -> Any:
    """A loop until the carried value is large."""
    return xp.log(flow.while_loop(lambda c: c < 100.0, lambda c: c * c + w, x + w))


@program(GROUP, np.array(0.5), np.array(2.2))
def count_from_the_carry(xp: Any, flow: Any, x: Any, w: Any) -> Any:
    """An iteration changes the number of trips: each adds to the limit, or takes from it."""

    def body(c: Any) -> Any:
        n, limit, s = c
        return n + 1, xp.where(s < w, limit + 1, limit - 1), s * 1.3 + xp.sin(s)

    return flow.while_loop(lambda c: c[0] < c[1], body, (0, 3, x))[2]


@program(GROUP, spread(7), np.array(0.4))
def early_exit(xp: Any, flow: Any, x: Any, w: Any) -> Any:
    """A scan that goes on to the end, but changes nothing after a flag in its carry is set."""

    def body(c: Any, r: Any) -> Any:
        done, s = c
        s = xp.where(done, s, xp.tanh(s + r) * 1.2)
        done = xp.logical_or(done, s > w)
        return (done, s), s

    (_, s), ys = flow.scan(body, (x[0] > 9.0, w * w), x)
    return s + xp.sum(ys * x)


@program(GROUP, np.array(0.01), np.array(0.37))
def long_tape(xp: Any, flow: Any, x: Any, r: Any) -> Any:
    """Many trips, known only at the end: the tape grows while the loop runs."""

    def body(c: Any) -> Any:
        t, y = c
        return t + 0.05 * (1.0 + r * r), y + 0.05 * (r * y * (1.0 - y))

    t, y = flow.while_loop(lambda c: c[0] < 4.0, body, (x, x + 0.2))
    return y * t


@program(GROUP, spread(5), np.array(0.9))
def reversed_rows(xp: Any, flow: Any, x: Any, w: Any) -> Any:
    """A reversed scan: its first row is the last, its ys keep the places of their rows."""
    c, ys = flow.scan(lambda c, r: (c * w + r, xp.sin(c) * r), 0.5, x, reverse=True)
    return c + xp.sum(ys * xp.arange(5))
