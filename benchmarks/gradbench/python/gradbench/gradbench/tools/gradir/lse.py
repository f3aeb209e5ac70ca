"""log(sum(exp(x))), without overflow."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from gradbench import wrap

import gradir
import gradir.numpy as gnp


def _logsumexp(x: Any) -> Any:
    top = gnp.max(x)
    return gnp.log(gnp.sum(gnp.exp(x - top))) + top


_runs = partial(wrap.multiple_runs, pre=lambda given: np.array(given["x"], float))
primal = _runs(post=float)(gradir.jit(_logsumexp))
gradient = _runs(post=np.ndarray.tolist)(gradir.jit(gradir.grad(_logsumexp)))
