"""What a body captures: weights, results of other loops, values of the loops around it.

The cotangent of a captured value is a sum over all iterations, and over all loops that capture it.
A part of it is easily lost where an inner loop captures the value, where one branch of a body does,
or where the value is an initial value and an input too.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from conformance.loops.program import program, spread

GROUP = "captured"


@program(GROUP, spread(4, 3), spread(3, 3, seed=1), spread(3, seed=2), order=3)
def recurrent_weights(xp: Any, flow: Any, x: Any, w: Any, b: Any) -> Any:
    """A recurrent layer whose weights are captured by the body."""

    def cell(h: Any, row: Any) -> Any:
        h = xp.tanh(w @ h + row + b)
        return h, h[0] * h[2]

    h, ys = flow.scan(cell, xp.zeros(3), x)
    return xp.sum(h * h) + xp.sum(ys)


@program(GROUP, spread(3), spread(2, 3, seed=1))
def captured_by_the_inner(xp: Any, flow: Any, x: Any, w: Any) -> Any:
    """The inner loop captures what the outer trip has made, and what the outer loop captures."""

    def outer(i: Any, c: Any) -> Any:
        made = xp.sin(c * w[0]) + x
        return flow.fori_loop(0, 3, lambda j, d: d * made + w[1] * c, c)

    return xp.sum(flow.fori_loop(0, 2, outer, x))


@program(GROUP, np.array(0.7), np.array(5.0))
def limit_in_the_condition(xp: Any, flow: Any, x: Any, limit: Any) -> Any:
    """The condition captures a weight that the body captures too; only the body has a slope."""
    y = flow.while_loop(lambda c: c < limit, lambda c: c * 1.5 + 0.1 * limit, x)
    return y * limit


@program(GROUP, spread(4), spread(4, seed=3))
def accumulator_outside(xp: Any, flow: Any, x: Any, w: Any) -> Any:
    """The second loop captures the whole accumulator of the first one and reads it by rows."""

    def fill(i: Any, a: Any) -> Any:
        return flow.add(a, i, xp.sin(x[i]) * xp.sum(a) + w[i])

    total = flow.fori_loop(0, 4, fill, xp.ones(4))
    return flow.fori_loop(0, 4, lambda i, s: s * 0.5 + total[3 - i] * total[i], 0.0)


@program(GROUP, spread(3, 3), spread(3, seed=1))
def carried_and_captured(xp: Any, flow: Any, w: Any, x: Any) -> Any:
    """One array is the initial value, a captured value and an input by rows at once."""
    start = w @ w

    def body(c: Any, row: Any) -> Any:
        return c * 0.5 + w @ c + row, c @ row

    c, ys = flow.scan(body, start, w)
    return xp.sum(c * start) + xp.sum(ys @ x) + x @ start @ x


@program(GROUP, np.array(0.6), np.array(1.3))
def captured_under_a_branch(xp: Any, flow: Any, x: Any, w: Any) -> Any:
    """Only a branch that some iterations take captures the weight."""

    def body(i: Any, c: Any) -> Any:
        return flow.cond(i % 2 == 0, lambda d: d * w + xp.sin(d), lambda d: d * d, c)

    return flow.fori_loop(0, 5, body, x)


@program(GROUP, np.array(0.6), np.array(-0.4))
def captured_in_vain(xp: Any, flow: Any, x: Any, w: Any) -> Any:
    """A captured value that only a dead carry reads; and one that is multiplied by zero."""

    def body(i: Any, c: Any) -> Any:
        return xp.sin(c[0]) + w * 0.0, c[1] + w

    return flow.fori_loop(0, 3, body, (x, x))[0] * 2.0


@program(GROUP, spread(3), np.array(0.8), order=3)
def called_twice(xp: Any, flow: Any, x: Any, w: Any) -> Any:
    """A compiled function with a loop is called twice, the second time on its own result."""

    @flow.jit
    def run(y: Any, v: Any) -> Any:
        return flow.fori_loop(0, 3, lambda i, c: xp.sin(c * v) + y[i] * w_inner(v), y)

    def w_inner(v: Any) -> Any:
        return v * v

    once = run(x, w)
    return xp.sum(run(once * x, w + once[0]))
