"""The loss of a recurrent network of layers whose weights are diagonal, over a text in bits."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from gradbench import wrap

import gradir
import gradir.nn as nn
import gradir.numpy as gnp


def _loss(main: Any, extra: Any, state: Any, sequence: Any) -> Any:
    def step(state: Any, pair: Any) -> Any:
        given, wanted = pair
        x, after = given * extra[0], list[Any]()
        for k in range(0, len(main), 2):
            x, cell = _cell(main[k], main[k + 1], *state[k : k + 2], x)
            after += [x, cell]
        guess = x * extra[1] + extra[2]
        # the 2 in the sum is the benchmark's
        normed = guess - gnp.log(gnp.sum(gnp.exp(guess)) + 2)
        return after, gnp.sum(wanted * normed)

    _, losses = gradir.scan(step, list(state), (sequence[:-1], sequence[1:]))
    return -gnp.sum(losses) / sequence[1:].size


def _cell(weight: Any, bias: Any, hidden: Any, cell: Any, x: Any) -> Any:
    gates = gnp.concatenate([x, hidden, x, hidden]) * weight + bias
    forget, ingate, outgate, change = gnp.split(gates, 4)
    cell = cell * nn.sigmoid(forget) + nn.sigmoid(ingate) * gnp.tanh(change)
    return nn.sigmoid(outgate) * gnp.tanh(cell), cell


_objective = gradir.jit(_loss)
_jacobian = gradir.jit(gradir.grad(_loss, argnums=(0, 1)))
NAMES = ("main_params", "extra_params", "state", "sequence")
_runs = partial(
    wrap.multiple_runs, pre=lambda given: [np.array(given[name], float) for name in NAMES]
)


@_runs(post=float)
def objective(given: Any) -> Any:
    return _objective(*given)


@_runs(post=lambda found: np.concatenate([part.ravel() for part in found]).tolist())
def jacobian(given: Any) -> Any:
    return _jacobian(*given)
