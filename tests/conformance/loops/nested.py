"""Loops in loops, loops in branches, branches in loops, and loops that feed one another.

What an inner loop keeps for its backward code is kept once for each trip of the outer one: records
of records, of lengths that the data decide. A reversed scan of another scan's results takes them in
the order that the backward code of the first one takes them again.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from conformance.loops.program import program, spread

GROUP = "nested"


@program(GROUP, spread(4, 2), spread(2, 2, seed=1))
def chained_scans(xp: Any, flow: Any, x: Any, w: Any) -> Any:
    """The ys of a scan are the xs of a reversed one, whose ys a third one sums."""

    def forward(c: Any, row: Any) -> Any:
        c = xp.tanh(w @ c + row)
        return c, c * row

    def weigh(c: Any, rows: Any) -> Any:
        h, y = rows
        c = 0.5 * c + xp.sin(h) @ w
        return c, xp.sum(c * y)

    first, ys = flow.scan(forward, x[0], x)
    second, zs = flow.scan(weigh, first, (ys, x), reverse=True)
    last, _ = flow.scan(lambda c, z: (c * 0.9 + z * z, z), xp.sum(second), zs)
    return last


@program(GROUP, spread(3, 4), spread(4, seed=1))
def scan_in_scan(xp: Any, flow: Any, x: Any, v: Any) -> Any:
    """The inner scan runs over the outer scan's row; its carry starts from the outer one."""

    def outer(c: Any, row: Any) -> Any:
        def inner(d: Any, pair: Any) -> Any:
            d = d * pair[0] + xp.cos(pair[1] * c)
            return d, d * c

        d, ys = flow.scan(inner, c, (row, v))
        return d, xp.sum(ys)

    c, ys = flow.scan(outer, 0.3, x)
    return c + xp.sum(ys * ys)


@program(GROUP, np.array(1.2), np.array(0.9), order=3)
def while_in_while(xp: Any, flow: Any, x: Any, w: Any) -> Any:
    """The inner loop's trips depend on the outer loop's carried value."""

    def inner(c: Any) -> Any:
        return flow.while_loop(lambda d: d < c * 2.0, lambda d: d * 1.5 + w * c, c)

    return flow.while_loop(lambda c: c < 40.0, lambda c: inner(c) + xp.sin(c), x) / 40.0


@program(GROUP, spread(2, 3), np.array(1.1))
def scan_in_while(xp: Any, flow: Any, x: Any, w: Any) -> Any:
    """A scan in a loop of unknown length: its records are on a tape of tapes."""

    def body(c: Any) -> Any:
        h, ys = flow.scan(lambda h, r: (xp.sin(h * w + r), h), c, x)
        return c + 1.0 + h * xp.sum(ys) * 0.1

    return xp.sum(flow.while_loop(lambda c: xp.sum(c) < 8.0, body, x[0]))


@program(GROUP, spread(2, low=0.2, high=0.8), np.array(0.7))
def three_deep(xp: Any, flow: Any, x: Any, w: Any) -> Any:
    """A while loop in a scan in a counted loop; each one uses the carries around it."""

    def outer(i: Any, a: Any) -> Any:
        def middle(b: Any, r: Any) -> Any:
            c = flow.while_loop(lambda c: c < 2.0 + i, lambda c: c * (1.3 + r * w) + a * 0.1, b + r)
            return c * 0.3, c * a

        b, ys = flow.scan(middle, a, x)
        return 0.5 * b + 0.1 * xp.sum(ys)

    return flow.fori_loop(0, 3, outer, w)


@program(GROUP, np.array(0.4), np.array(1.7))
def branches_in_while(xp: Any, flow: Any, x: Any, w: Any) -> Any:
    """A branch in a branch in a while loop; which ones are taken depends on the carried value."""

    def small(c: Any) -> Any:
        return flow.cond(c < 0.8, lambda d: d + w * d, lambda d: d * d + 0.9, c)

    def body(c: Any) -> Any:
        return flow.cond(c < 2.0, small, lambda d: d + xp.log(d) * w, c)

    return flow.while_loop(lambda c: c < 6.0, body, x)


@program(GROUP, spread(3), np.array([1, 0, 1]), np.array(0.8))
def loops_in_branches(xp: Any, flow: Any, x: Any, taken: Any, w: Any) -> Any:
    """Each branch has a loop of its own kind; their tapes share one place."""

    def long(c: Any) -> Any:
        return flow.while_loop(lambda d: d < 3.0, lambda d: d * d * w + 1.0, c)

    def short(c: Any) -> Any:
        return flow.fori_loop(0, 2, lambda i, d: xp.sin(d) * x[i] + w, c)

    return flow.fori_loop(0, 3, lambda i, c: flow.cond(taken[i] > 0, long, short, c), x[0])


@program(GROUP, spread(5), np.array(0.5))
def pyramid(xp: Any, flow: Any, x: Any, w: Any) -> Any:
    """A counted inner loop from the outer loop's counter on: the trips are a triangle."""

    def outer(i: Any, c: Any) -> Any:
        return flow.while_loop(
            lambda s: s[0] < 5, lambda s: (s[0] + 1, s[1] * w + x[s[0]] * x[i]), (i, c)
        )[1]

    return flow.fori_loop(0, 5, outer, w)
