"""What a loop carries: values that swap, end or never begin, integers, flags, nothing.

A carried value that changes its place, becomes a constant or is never read has to have the
cotangent of its place, none, or zero. Integers and flags decide, count and index, and have no
cotangent; a loop that carries nothing else still runs in the backward code's place.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from conformance.loops.program import program, spread

GROUP = "carried"


@program(GROUP, np.array(0.7), np.array(-1.2))
def swapped(xp: Any, flow: Any, x: Any, y: Any) -> Any:
    """Two carried values change places, an odd number of times."""
    a, b = flow.fori_loop(0, 5, lambda i, c: (c[1], c[0]), (xp.sin(x), y * y))
    return a * a + 3.0 * b


@program(GROUP, spread(3), np.array(0.6), order=3)
def rotated(xp: Any, flow: Any, x: Any, w: Any) -> Any:
    """Three carried values rotate, and one changes on its way."""

    def body(c: Any) -> Any:
        a, b, d, n = c
        return b, d * w, xp.sin(a) + b * d, n + 1

    a, b, d, _ = flow.while_loop(lambda c: c[3] < 7, body, (x[0], x[1], x[2], 0))
    return a + 2.0 * b + 3.0 * d


@program(GROUP, np.array(0.7), np.array(0.4))
def unused_carries(xp: Any, flow: Any, x: Any, y: Any) -> Any:
    """One value is carried and never read, one is read only by itself, one never changes."""

    def body(i: Any, c: Any) -> Any:
        a, _, own, still = c
        return a * still + 0.1, a * 3.0, xp.exp(own), still

    return flow.fori_loop(0, 4, body, (x, y, y, y))[0]


@program(GROUP, np.array(0.7), np.array(1.4))
def carry_is_overwritten(xp: Any, flow: Any, x: Any, y: Any) -> Any:
    """In one iteration the carried value becomes a constant: nothing before it has a slope."""

    def body(i: Any, c: Any) -> Any:
        return flow.cond(i == 2, lambda d: d * 0.0 + 0.5, lambda d: xp.sin(d) * y, c)

    return flow.fori_loop(0, 5, body, x)


@program(GROUP, spread(4, 2), spread(2, seed=1))
def several_leaves(xp: Any, flow: Any, x: Any, b: Any) -> Any:
    """Carried values and rows are nested dicts and tuples."""

    def body(c: Any, row: Any) -> Any:
        h = xp.tanh(c["h"][0] + row["x"] * c["gain"])
        carry = {"h": (h, c["h"][0]), "gain": c["gain"] * 0.9 + h[0] * 0.1}
        return carry, (h[1], {"last": c["h"][1] * row["n"]})

    rows = {"x": x, "n": x[:, 0] * x[:, 1]}
    c, (first, rest) = flow.scan(body, {"h": (b, b * b), "gain": 1.0}, rows)
    return xp.sum(c["h"][0] * c["h"][1]) + c["gain"] + xp.sum(first) + xp.sum(rest["last"])


@program(GROUP, spread(6), np.array(7))
def integers_carried(xp: Any, flow: Any, x: Any, start: Any) -> Any:
    """Collatz's integers are carried beside a float; they count, index and decide."""

    def body(c: Any) -> Any:
        n, steps, s = c
        n_next = xp.where(n % 2 == 0, n // 2, 3 * n + 1)
        return n_next, steps + 1, s * x[n % 6] + xp.cos(x[steps % 6])

    _, steps, s = flow.while_loop(lambda c: c[0] > 1, body, (start, start * 0, x[0]))
    return s * flow.cast(steps, "float64")


@program(GROUP, spread(5), np.array([3, 0, 4, 1, 2]))
def no_active_carry(xp: Any, flow: Any, x: Any, p: Any) -> Any:
    """The loop carries integers alone; its result is a place in an array that has a slope."""
    place = flow.fori_loop(0, 3, lambda i, k: p[k], p[0])
    count = flow.while_loop(lambda n: n * n < 10, lambda n: n + 1, place * 0)
    return x[place] ** 3 * x[count]


@program(GROUP, np.array(0.8), np.zeros((0, 3)))
def no_elements(xp: Any, flow: Any, x: Any, e: Any) -> Any:
    """Arrays without elements are carried and captured; scalars have rank 0."""

    def body(i: Any, c: Any) -> Any:
        s, none = c
        return xp.sin(s) + xp.sum(none * e), none * s + xp.sum(e)

    s, none = flow.fori_loop(0, 3, body, (x, e))
    return s * x + xp.sum(none)


@program(GROUP, np.array(0.3), np.array([0, 1, 1, 2, 0, 1]))
def state_machine(xp: Any, flow: Any, x: Any, tokens: Any) -> Any:
    """An integer state and the next token say how the float goes on, and the next state."""

    def body(c: Any, token: Any) -> Any:
        state, v = c
        v = flow.cond(
            state == 0,
            lambda u: xp.sin(u) + 1.0,
            lambda u: flow.cond(state == 1, lambda t: t * t, lambda t: 1.0 / (1.0 + t), u),
            v,
        )
        return ((state + token) % 3, v), v * flow.cast(token, "float64")

    (_, v), ys = flow.scan(body, (tokens[0], x), tokens)
    return v + xp.sum(ys)


@program(GROUP, spread(3), order=3)
def flags_carried(xp: Any, flow: Any, x: Any) -> Any:
    """A flag in the carry ends the loop from inside, as `break` does."""

    def body(c: Any) -> Any:
        go, n, s = c
        s = s * 1.4 + xp.sum(x * x) * xp.sin(s)
        return xp.logical_and(go, s < 3.0), n + 1, s

    return flow.while_loop(lambda c: c[0], body, (x[0] < 9.0, 0, xp.exp(x[1])))[2]
