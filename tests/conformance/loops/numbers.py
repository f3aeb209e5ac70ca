"""Types and numbers: float types that mix, generators in the carry, branches that would be nan.

Cotangents have the types of their values, so they are converted where values were; integers that
draw random numbers repeat the same ones when a trip runs again. A chaotic map multiplies errors
with each trip: its derivative is right within an error that the reference knows.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from conformance.loops.program import program, spread

GROUP = "numbers"


@program(GROUP, spread(4).astype(np.float32), np.array(0.7), tolerance=2e-6)
def single_in_double(xp: Any, flow: Any, x: Any, w: Any) -> Any:
    """A float32 value is carried beside a float64 one, and each becomes part of the other."""

    def body(c: Any, r: Any) -> Any:
        a, b = c
        a = xp.sin(a) * r + flow.cast(b, "float32")
        return (a, b * w + flow.cast(a, "float64")), a * r

    (a, b), ys = flow.scan(body, (x[0], w), x)
    return b * b + flow.cast(a + xp.sum(ys), "float64")


@program(GROUP, spread(4), np.array(1.1), tolerance=5e-2)
def half_in_single(xp: Any, flow: Any, x: Any, w: Any) -> Any:
    """bfloat16 arithmetic with a float64 sum beside it."""
    small = flow.cast(x, "bfloat16")

    def body(i: Any, c: Any) -> Any:
        h, s = c
        h = h * small[i] + flow.cast(w, "bfloat16")
        return h, s + flow.cast(h, "float64") * w

    return flow.fori_loop(0, 4, body, (small[0], w * 0.0))[1]


@program(GROUP, spread(3), np.array(12345))
def generator_in_the_carry(xp: Any, flow: Any, x: Any, seed: Any) -> Any:
    """A linear congruential generator in the carry draws numbers, and decides on the branch."""

    def body(i: Any, c: Any) -> Any:
        state, s = c
        state = (state * 1103515245 + 12345) % 2147483648
        u = flow.cast(state, "float64") / 2147483648.0
        s = flow.cond(u < 0.5, lambda t: t * x[0] + u, lambda t: xp.sin(t) * x[1] - u * x[2], s)
        return state, s

    return flow.fori_loop(0, 9, body, (seed, x[0]))[1]


@program(GROUP, np.array(0.6), np.array(200, np.int32), np.array(3, np.int8))
def integer_types(xp: Any, flow: Any, x: Any, n: Any, step: Any) -> Any:
    """An int32 and an int8 are carried, count, and become floats."""

    def body(c: Any) -> Any:
        wide, narrow, s = c
        wide = wide - 50
        return wide, narrow * narrow % 7, s * 0.9 + flow.cast(narrow, "float64") * xp.sin(s)

    wide, _, s = flow.while_loop(lambda c: c[0] > 0, body, (n, step, x))
    return s * s + flow.cast(wide, "float64") * s


@program(GROUP, np.array([0.4, -0.3, 0.0, 0.8]), np.array(1.3))
def branch_not_taken(xp: Any, flow: Any, x: Any, w: Any) -> Any:
    """The branch that is not taken would be a logarithm of zero, or a root of a negative number."""

    def body(s: Any, r: Any) -> Any:
        y = flow.cond(r > 0.1, lambda a: xp.log(a) + xp.sqrt(a) * w, lambda a: a * w, r)
        return s * 0.5 + y, y

    s, ys = flow.scan(body, w, x)
    return s * s + xp.sum(ys)


@program(GROUP, np.array(3.69), np.array(0.3), tolerance=1e-6)
def chaos(xp: Any, flow: Any, r: Any, x: Any) -> Any:
    """The logistic map, whose slope grows with each of twenty trips."""
    return flow.fori_loop(0, 20, lambda i, y: r * y * (1.0 - y), x)
