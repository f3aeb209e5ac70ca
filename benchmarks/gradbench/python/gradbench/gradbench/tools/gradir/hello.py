"""The square of a number, and its derivative."""

from __future__ import annotations

from typing import Any

import numpy as np
from gradbench import wrap

import gradir


def _square(x: Any) -> Any:
    return x * x


square = wrap.function(pre=np.float64, post=float)(gradir.jit(_square))
double = wrap.function(pre=np.float64, post=float)(gradir.jit(gradir.grad(_square)))
