"""Places in arrays that the body computes: reads, writes, sums, rows that are written in place.

A row that is written over has no slope from then on, and the one that is read before it has: the
backward code has to have the old row, although the forward code may have written in place. A place
that is read twice has the sum of two cotangents; one that is never read has zero.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from conformance.loops.program import program, spread

GROUP = "places"


@program(GROUP, spread(6), np.array([2, 4, 4, 0, 5]))
def read_at(xp: Any, flow: Any, x: Any, p: Any) -> Any:
    """Elements are read at places from an array, one of them twice, one never."""
    return flow.fori_loop(0, 5, lambda i, s: xp.sin(s) * x[p[i]] + x[p[i]] ** 2, 0.4)


@program(GROUP, spread(4, 3), np.array([1, 3, 1, 0]), order=3)
def rows_in_place(xp: Any, flow: Any, x: Any, p: Any) -> Any:
    """Rows are replaced by functions of other rows; the same row is written twice, and read."""

    def body(i: Any, a: Any) -> Any:
        return flow.set(a, p[i], xp.sin(a[p[i]]) * a[(p[i] + 1) % 4] + x[i])

    a = flow.fori_loop(0, 4, body, x)
    return xp.sum(a * a * x)


@program(GROUP, spread(5), np.array([0, 2, 2, 1, 0]))
def sums_in_place(xp: Any, flow: Any, x: Any, bins: Any) -> Any:
    """A histogram of weights, each read again before the next is added."""

    def body(i: Any, h: Any) -> Any:
        return flow.add(h, bins[i], x[i] * xp.cos(h[bins[i]]) + h[0] * 0.1)

    h = flow.fori_loop(0, 5, body, xp.ones(3))
    return h[0] * h[1] + h[2] ** 2


@program(GROUP, spread(7, low=0.1), np.array(0.7))
def dynamic_programming(xp: Any, flow: Any, x: Any, w: Any) -> Any:
    """A table is filled from its own earlier elements, as for an alignment."""

    def body(i: Any, t: Any) -> Any:
        soft = xp.log(xp.exp(t[i - 1] * w) + xp.exp(t[i - 2] + x[i]))
        return flow.set(t, i, soft)

    t = flow.fori_loop(2, 7, body, x)
    return t[6] * t[4]


@program(GROUP, spread(4), np.array(0.3))
def gauss_seidel(xp: Any, flow: Any, x: Any, w: Any) -> Any:
    """Sweeps in place: an element is made from its left neighbour's new value and right old one."""

    def element(i: Any, a: Any) -> Any:
        return flow.set(a, i, 0.4 * a[i - 1] + w * a[i + 1] + 0.1 * a[i] * a[i])

    return xp.sum(flow.fori_loop(0, 3, lambda k, a: flow.fori_loop(1, 3, element, a), x) ** 2)


@program(GROUP, np.array([0.7, -0.3, 0.9, 0.2, -0.8]))
def sorting_network(xp: Any, flow: Any, x: Any) -> Any:
    """Odd-even transposition: neighbours change places by minimum and maximum."""

    def exchange(k: Any, a: Any) -> Any:
        low, high = xp.minimum(a[k], a[k + 1]), xp.maximum(a[k], a[k + 1])
        return flow.set(flow.set(a, k, low), k + 1, high)

    def stage(s: Any, a: Any) -> Any:
        first = s % 2
        return flow.fori_loop(0, 2, lambda j, b: exchange(first + 2 * j, b), a)

    a = flow.fori_loop(0, 5, stage, x)
    return xp.sum(a**3 * xp.arange(5))


@program(GROUP, np.array([0.4, -0.6, 0.8, -0.1]))
def selection_sort(xp: Any, flow: Any, x: Any) -> Any:
    """The place of the least of the rest is found by a loop, and two elements change places."""

    def least(a: Any, i: Any) -> Any:
        body: Any = lambda j, k: xp.where(a[j] < a[k], j, k)  # noqa: E731
        return flow.fori_loop(i, 4, body, i)

    def step(i: Any, a: Any) -> Any:
        k = least(a, i)
        return flow.set(flow.set(a, i, a[k]), k, a[i])

    a = flow.fori_loop(0, 4, step, x)
    return a[0] + 2.0 * a[1] * a[1] + 3.0 * xp.exp(a[2]) + 4.0 * a[3]


@program(GROUP, spread(5), np.array([2, 3, 4, 0, 1]))
def chased_pointers(xp: Any, flow: Any, x: Any, successor: Any) -> Any:
    """A walk over a list until it is where it began; what it meets it writes over."""

    def body(c: Any) -> Any:
        place, _, a, s = c
        s = xp.sin(s) + a[place] * a[successor[place]]
        return successor[place], place * 0, flow.set(a, place, s), s

    zero = successor[3]
    begun = (successor[zero], zero, x, x[0])
    _, _, a, s = flow.while_loop(lambda c: c[0] != c[1], body, begun)
    return s + xp.sum(a * x)
