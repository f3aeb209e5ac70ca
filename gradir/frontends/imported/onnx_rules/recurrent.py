"""ONNX's recurrent layers: each direction is a loop over the steps of a sequence."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

import gradir.frontends.functions.numpy as gnp
from gradir.frontends.functions import nn
from gradir.frontends.functions.array_ops import op
from gradir.frontends.functions.promotion import spread
from gradir.frontends.imported.onnx_rules.arguments import Function, OnnxRules, counted
from gradir.frontends.tracing.source_locations import refusal
from gradir.frontends.tracing.tracing import constant, element, lifted
from gradir.frontends.transforms.flow import scan

RULES = OnnxRules()


def _number(given: float | None, default: float) -> float:
    return default if given is None else given


_ACTIVATIONS: dict[str, Callable[..., Any]] = {
    "sigmoid": lambda x, a, b: nn.sigmoid(x), "tanh": lambda x, a, b: op.tanh(x),
    "relu": lambda x, a, b: nn.relu(x),
    "affine": lambda x, a, b: x * _number(a, 1.0) + _number(b, 0.0),
    "leakyrelu": lambda x, a, b: nn.leaky_relu(x, slope=_number(a, 0.01)),
    "thresholdedrelu": lambda x, a, b: nn.threshold(x, _number(a, 1.0), 0.0),
    "scaledtanh": lambda x, a, b: _number(a, 1.0) * op.tanh(x * _number(b, 1.0)),
    "hardsigmoid": lambda x, a, b: op.clip(
        x * _number(a, 0.2) + _number(b, 0.5), min=0.0, max=1.0),
    "elu": lambda x, a, b: nn.elu(x, alpha=_number(a, 1.0)),
    "softsign": lambda x, a, b: nn.softsign(x), "softplus": lambda x, a, b: nn.softplus(x),
}  # fmt: skip
_GATES = {"RNN": 1, "GRU": 3, "LSTM": 4}
_DEFAULTS = {"RNN": ("Tanh",), "GRU": ("Sigmoid", "Tanh"), "LSTM": ("Sigmoid", "Tanh", "Tanh")}

Step = Callable[[Any, Sequence[Any]], list[Any]]
"""The next states, of a row of x and the states."""


@RULES.onnx("RNN", "GRU", "LSTM")
def _recurrent(
    call: Any, x: Any, w: Any, r: Any, b: Any = None, lengths: Any = None, h: Any = None,
    c: Any = None, peepholes: Any = None, *, hidden_size: int | None = None,
    direction: str = "forward", layout: int = 0, activations: Any = None,
    activation_alpha: Any = None, activation_beta: Any = None, clip: float | None = None,
    input_forget: int = 0, linear_before_reset: int = 0,
) -> Any:  # fmt: skip
    kind, size = call.op, r.shape[2]
    sides = 2 if direction == "bidirectional" else 1
    rows = gnp.swapaxes(x, 0, 1) if layout else x
    names = list(activations or _DEFAULTS[kind] * sides)
    functions = _functions(names, activation_alpha, activation_beta, clip)
    count = 2 if kind == "LSTM" else 1
    each = len(functions) // sides
    outputs, last = list[Any](), list[list[Any]]()
    for side in range(sides):
        start = [_start(state, side, rows, size, layout) for state in (h, c)[:count]]
        biases = spread(0, (2 * _GATES[kind] * size,), element(x)) if b is None else b[side]
        weights = w[side], r[side], *(gnp.split(biases, 2))
        used = functions[side * each : (side + 1) * each]
        step = _step(kind, weights, used, None if peepholes is None else peepholes[side],
                     bool(input_forget), bool(linear_before_reset))  # fmt: skip
        is_reversed = direction == "reverse" or side == 1
        final, made = _run(step, rows, start, lengths, is_reversed)
        outputs.append(made)
        last.append(final)
    y = op.stack(outputs, axis=1)
    ends = [op.stack([f[k] for f in last], axis=0) for k in range(count)]
    if layout:
        y = gnp.permute_dims(y, (2, 0, 1, 3))
        ends = [gnp.swapaxes(e, 0, 1) for e in ends]
    return [y, *ends]


def _start(state: Any, side: int, rows: Any, size: int, layout: int) -> Any:
    if state is None:
        return spread(0, (rows.shape[1], size), element(rows))
    return state[:, side] if layout else state[side]


def _functions(names: Sequence[str], alphas: Any, betas: Any, clip: float | None) -> list[Function]:
    """The activations in order; those that have numbers take the next ones."""
    rest = [list(alphas or ()), list(betas or ())]
    takes = {"affine": 2, "leakyrelu": 1, "thresholdedrelu": 1, "scaledtanh": 2, "hardsigmoid": 2,
             "elu": 1}  # fmt: skip
    found: list[Function] = []
    for name in names:
        key = name.lower()
        if key not in _ACTIVATIONS:
            raise refusal(f"there is no activation {name!r}")
        a, b = (r.pop(0) if takes.get(key, 0) > k and r else None for k, r in enumerate(rest))
        function = partial(_clipped, _ACTIVATIONS[key], a, b, clip)
        found.append(function)
    return found


def _clipped(function: Function, a: Any, b: Any, clip: float | None, x: Any) -> Any:
    return function(x if clip is None else op.clip(x, min=-clip, max=clip), a, b)


def _step(
    kind: str, weights: Sequence[Any], functions: Sequence[Function], peepholes: Any,
    is_coupled: bool, is_linear_first: bool,
) -> Step:  # fmt: skip
    w, r, wb, rb = weights

    def rnn(x: Any, states: Sequence[Any]) -> list[Any]:
        return [functions[0](nn.linear(x, w, wb) + nn.linear(states[0], r, rb))]

    def gru(x: Any, states: Sequence[Any]) -> list[Any]:
        [h] = states
        xz, xr, xh = gnp.split(nn.linear(x, w, wb), 3, axis=-1)
        hz, hr, hh = gnp.split(nn.linear(h, r, rb), 3, axis=-1)
        z, reset = functions[0](xz + hz), functions[0](xr + hr)
        if is_linear_first:
            new = functions[1](xh + reset * hh)
        else:
            size = h.shape[-1]
            new = functions[1](xh + nn.linear(reset * h, r[2 * size :], rb[2 * size :]))
        return [(1 - z) * new + z * h]

    def lstm(x: Any, states: Sequence[Any]) -> list[Any]:
        h, c = states
        i, o, f, g = gnp.split(nn.linear(x, w, wb) + nn.linear(h, r, rb), 4, axis=-1)
        p = [None] * 3 if peepholes is None else gnp.split(peepholes, 3)
        i = functions[0](i if p[0] is None else i + p[0] * c)
        f = 1 - i if is_coupled else functions[0](f if p[2] is None else f + p[2] * c)
        new = f * c + i * functions[1](g)
        o = functions[0](o if p[1] is None else o + p[1] * new)
        return [o * functions[2](new), new]

    return {"RNN": rnn, "GRU": gru, "LSTM": lstm}[kind]


def _run(
    step: Step, rows: Any, start: list[Any], lengths: Any, is_reversed: bool
) -> tuple[list[Any], Any]:
    """The states after the last step of each sequence, and the first state after each step."""

    def body(states: list[Any], given: Any) -> tuple[list[Any], Any]:
        number, x = given
        after = step(x, states)
        if lengths is None:
            return after, after[0]
        is_inside = gnp.reshape(op.less(number, lengths), (-1, 1))
        kept = [gnp.where(is_inside, new, old) for new, old in zip(after, states, strict=True)]
        return kept, gnp.where(is_inside, after[0], 0)

    numbers = lifted(constant(_counted(rows.shape[0], lengths)))
    return scan(body, start, (numbers, rows), rows.shape[0], is_reversed)


def _counted(count: int, lengths: Any) -> Any:
    return counted(count, np.int32 if lengths is None else lengths.dtype)
