"""PyTorch's recurrent layers: each layer is a loop over the steps of a sequence."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import gradir.frontends.functions.numpy as gnp
from gradir.frontends.functions import nn
from gradir.frontends.functions.array_ops import op
from gradir.frontends.functions.promotion import spread
from gradir.frontends.imported.torch_rules.arguments import AtenRules
from gradir.frontends.random.keys import fold_in
from gradir.frontends.tracing.source_locations import refusal
from gradir.frontends.tracing.tracing import element
from gradir.frontends.transforms.flow import scan

RULES = AtenRules()

Cell = Callable[..., list[Any]]
"""A step: the next states of x, the states, and the four weights and biases of a layer; an LSTM's
projection comes after these."""


def _lstm(x: Any, states: Sequence[Any], weights: Sequence[Any]) -> list[Any]:
    if len(weights) == 4:
        return list(nn.lstm_cell(x, *states, *weights))
    w_ih, w_hh, b_ih, b_hh, projection = weights
    gates: Any = op.add(nn.linear(x, w_ih, b_ih), nn.linear(states[0], w_hh, b_hh))
    i, f, g, o = gnp.split(gates, 4, axis=-1)
    c = nn.sigmoid(f) * states[1] + nn.sigmoid(i) * op.tanh(g)
    return [nn.linear(nn.sigmoid(o) * op.tanh(c), projection), c]


def _gru(x: Any, states: Sequence[Any], weights: Sequence[Any]) -> list[Any]:
    return [nn.gru_cell(x, *states, *weights)]


def _plain(function: Callable[..., Any]) -> Cell:
    def cell(x: Any, states: Sequence[Any], weights: Sequence[Any]) -> list[Any]:
        w_ih, w_hh, b_ih, b_hh = weights
        return [function(op.add(nn.linear(x, w_ih, b_ih), nn.linear(states[0], w_hh, b_hh)))]

    return cell


_CELLS: dict[str, Cell] = {
    "lstm": _lstm, "gru": _gru, "rnn_tanh": _plain(op.tanh), "rnn_relu": _plain(nn.relu),
}  # fmt: skip


@RULES.aten("lstm", "gru", "rnn_tanh", "rnn_relu",
            note="of padded sequences; dropout by gradir's random numbers, of a key")  # fmt: skip
def _layers(
    call: Any, input: Any, hx: Any = None, params: Sequence[Any] = (), has_biases: bool = True,
    num_layers: int = 1, dropout: float = 0.0, train: bool = False, bidirectional: bool = False,
    batch_first: bool = False, key: Any = None, batch_sizes: Any = None, data: Any = None,
) -> Any:  # fmt: skip
    if batch_sizes is not None:
        raise refusal(f"{call.op}: packed sequences are not there; pad them")
    states = [hx] if not isinstance(hx, (list, tuple)) else list(hx)
    x = gnp.swapaxes(input, 0, 1) if batch_first and input.ndim == 3 else input
    sides, last = 2 if bidirectional else 1, list[list[Any]]()
    parts = _parts(list(params), has_biases, x, states)
    for layer in range(num_layers):
        if layer and key is not None:
            x = nn.dropout(x, fold_in(key, layer), 0, p=dropout)
        outputs: list[Any] = []
        for side in range(sides):
            number = layer * sides + side
            start = [state[number] for state in states]
            final, rows = _run(_CELLS[call.op], x, start, parts[number], side == 1)
            outputs.append(rows)
            last.append(final)
        x = outputs[0] if sides == 1 else op.concat(outputs, axis=x.ndim - 1)
    made = gnp.swapaxes(x, 0, 1) if batch_first and input.ndim == 3 else x
    return [made, *(op.stack([f[k] for f in last], axis=0) for k in range(len(states)))]


def _parts(params: list[Any], has_biases: bool, x: Any, states: Sequence[Any]) -> list[list[Any]]:
    """The weights and biases of each layer and side, zeros for those that are not there."""
    is_projected = len(states) == 2 and states[0].shape[-1] != states[1].shape[-1]
    count = (4 if has_biases else 2) + is_projected
    made = [params[k : k + count] for k in range(0, len(params), count)]
    if has_biases:
        return made
    return [[*p[:2], *[spread(0, (p[0].shape[0],), element(x))] * 2, *p[2:]] for p in made]


def _run(
    cell: Cell, x: Any, start: list[Any], weights: Sequence[Any], is_reversed: bool
) -> tuple[list[Any], Any]:
    """The states after the last step, and the first state after each."""

    def step(states: list[Any], row: Any) -> tuple[list[Any], Any]:
        after = cell(row, states, weights)
        return after, after[0]

    return scan(step, start, x, x.shape[0], is_reversed)


@RULES.aten("lstm_cell", "gru_cell", "rnn_tanh_cell", "rnn_relu_cell")
def _cell(
    call: Any, input: Any, hx: Any, w_ih: Any, w_hh: Any, b_ih: Any = None, b_hh: Any = None
) -> Any:
    states = list(hx) if isinstance(hx, (list, tuple)) else [hx]
    zeros = spread(0, (w_ih.shape[0],), element(input))
    biases = [zeros if b is None else b for b in (b_ih, b_hh)]
    return _CELLS[call.op.removesuffix("_cell")](input, states, [w_ih, w_hh, *biases])
