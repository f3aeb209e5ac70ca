"""Checkpoint stages in loops and around them: what they hold is computed again.

The stage's body runs again in the backward loop, with what the loop carried then, inner loops and
branches too. Stages in stages run again twice.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from conformance.loops.program import program, spread

GROUP = "stages"


@program(GROUP, spread(4, 3), spread(3, 3, seed=1), order=3)
def stage_in_scan(xp: Any, flow: Any, x: Any, w: Any) -> Any:
    """The body of a scan is a stage that captures a weight."""

    @flow.checkpoint
    def cell(h: Any, row: Any) -> Any:
        return xp.tanh(w @ xp.sin(h) + row)

    def body(h: Any, row: Any) -> Any:
        h = cell(h, row)
        return h, h * row

    h, ys = flow.scan(body, x[0], x)
    return xp.sum(h) * xp.sum(ys)


@program(GROUP, np.array(0.9), np.array(1.2))
def stage_around_while(xp: Any, flow: Any, x: Any, w: Any) -> Any:
    """A stage holds a loop of unknown length, in a counted loop."""

    @flow.checkpoint
    def run(c: Any) -> Any:
        return flow.while_loop(lambda d: d < 9.0, lambda d: d * d * w + 0.5, c)

    return flow.fori_loop(0, 3, lambda i, c: xp.log(run(c)) + x * i, x)


@program(GROUP, spread(3), np.array(0.7))
def stages_in_stages(xp: Any, flow: Any, x: Any, w: Any) -> Any:
    """A stage in a loop in a stage, whose inner loop is recomputed twice."""

    inner = flow.checkpoint(lambda c, r: xp.exp(-c * c * w) + r)

    @flow.checkpoint
    def outer(c: Any) -> Any:
        return flow.scan(lambda d, r: (inner(d, r), d), c, x)[0]

    return flow.fori_loop(0, 2, lambda i, c: outer(c) * xp.sin(c), w)


@program(GROUP, np.array(0.4), np.array(1.5))
def stage_in_a_branch(xp: Any, flow: Any, x: Any, w: Any) -> Any:
    """A stage in a branch in a while loop; the other branch has none."""
    heavy = flow.checkpoint(lambda c: xp.sin(0.1 * c) * xp.exp(0.3 * c) + w * c)

    def body(c: Any) -> Any:
        return c[0] + 1, flow.cond(c[0] % 2 == 0, heavy, lambda d: d * w, c[1])

    return flow.while_loop(lambda c: c[1] < 9.0, body, (0, x))[1]
