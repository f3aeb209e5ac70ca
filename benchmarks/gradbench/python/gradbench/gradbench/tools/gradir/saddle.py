"""The saddle of x1**2 + y1**2 - x2**2 - y2**2, as the least of the largest values, by descents.

The names of functions say the modes of the outer and the inner derivative.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import descent
import numpy as np
from gradbench import wrap

import gradir
import gradir.numpy as gnp


def _value(p: Any, q: Any) -> Any:
    return gnp.sum(p * p) - gnp.sum(q * q)


def _saddle(outer: str, inner: str, start: Any) -> Any:
    by_outer, by_inner = descent.MODES[outer], descent.MODES[inner]

    def largest(p: Any) -> Any:
        return _value(p, descent.argmax(by_inner, lambda q: _value(p, q), start))

    least = descent.argmin(by_outer, largest, start)
    return gnp.concatenate([least, descent.argmax(by_outer, lambda q: _value(least, q), start)])


def _compiled(outer: str, inner: str) -> Any:
    call = gradir.jit(partial(_saddle, outer, inner))
    runs = wrap.multiple_runs(
        pre=lambda given: np.array(given["start"], float), post=np.ndarray.tolist
    )
    return runs(call)


ff, fr, rf, rr = (_compiled(outer, inner) for outer in "fr" for inner in "fr")
