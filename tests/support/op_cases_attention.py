"""The table's rows for attention, embedding and recurrent cells, with their references."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import sqrt

import numpy as np
from op_cases import Case, integers
from op_references import Array

from gradir.dialects.base.attributes import Plain

# Attention, one query after the other.


def _weights(q: Array, k: Array, mask: Array | None, causal: bool, scale: float) -> Array:
    result = np.zeros((*q.shape[:-1], k.shape[-2]))
    wide = None if mask is None else np.broadcast_to(mask, result.shape)
    for place in np.ndindex(*result.shape[:-1]):
        scores = np.array([scale * np.dot(q[place], row) for row in k[place[:-1]]])
        if wide is not None:
            line = wide[place]
            scores = np.where(line, scores, -np.inf) if line.dtype == bool else scores + line
        if causal:
            scores[place[-1] + 1 :] = -np.inf
        powers = np.exp(scores)
        total = np.sum(powers)
        result[place] = powers / total if total else 0
    return result


def attention(
    q: Array, k: Array, v: Array, mask: Array | None = None, causal: bool = False,
    scale: float | None = None,
) -> Array:  # fmt: skip
    scale = 1 / sqrt(q.shape[-1]) if scale is None else scale
    return _weights(q, k, mask, causal, scale) @ v


def attention_backward(
    ct: Array, y: Array, q: Array, k: Array, v: Array, mask: Array | None = None,
    causal: bool = False, scale: float | None = None,
) -> tuple[Array, ...]:  # fmt: skip
    """By the Jacobian of softmax, row after row, with y instead of p v."""
    scale = 1 / sqrt(q.shape[-1]) if scale is None else scale
    p = _weights(q, k, mask, causal, scale)
    d = np.zeros(p.shape)
    for place in np.ndindex(*p.shape[:-1]):
        to_p = v[place[:-1]] @ ct[place]
        d[place] = p[place] * (to_p - np.dot(ct[place], y[place]))
    columns = np.swapaxes(d, -1, -2)
    results = [scale * d @ k, scale * columns @ q, np.swapaxes(p, -1, -2) @ ct]
    if mask is not None and mask.dtype != bool:
        added = d.ndim - mask.ndim
        total = np.sum(d, tuple(range(added)))
        axes = tuple(a for a, n in enumerate(mask.shape) if n == 1)
        results.append(np.sum(total, axes, keepdims=True))
    return tuple(results)


def _mask(*shape: int) -> Array:
    """Some of everything; in its first row nothing."""
    mask = np.random.default_rng(1).uniform(size=shape) > 0.4
    mask[..., :1, :] = False
    return mask


_Shapes = tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]

_ATTENTION: tuple[tuple[_Shapes, Array | tuple[int, ...] | None, dict[str, Plain]], ...] = (
    (((2, 3, 4), (2, 5, 4), (2, 5, 3)), None, {}),
    (((3, 2), (3, 2), (3, 2)), None, {"causal": True, "scale": 0.7}),
    (((2, 1, 4, 2), (2, 1, 3, 2), (2, 1, 3, 1)), _mask(4, 3), {}),
    (((2, 4, 1), (2, 6, 1), (2, 6, 2)), (4, 6), {"causal": True}),
    (((1, 2, 3, 2), (1, 2, 4, 2), (1, 2, 4, 2)), (2, 1, 4), {"scale": 0.5}),
    (((5, 3), (2, 3), (2, 2)), _mask(5, 1), {"causal": True}),
    (((2, 2), (17, 2), (17, 1)), (1,), {}),
    (((1, 1), (1, 1), (1, 1)), (), {}),
    (((2, 0, 3), (2, 4, 3), (2, 4, 3)), None, {}),
    (((2, 2, 3), (2, 0, 3), (2, 0, 2)), (2, 0), {"causal": True}),
    (((0, 2, 3), (0, 2, 3), (0, 2, 3)), None, {}),
)


def _attention() -> Iterator[Case]:
    for shapes, mask, attributes in _ATTENTION:
        operands = [*shapes, *([] if mask is None else [mask])]
        y = (*shapes[0][:-1], shapes[2][-1])
        yield Case("nn.attention", operands, attributes, attention)
        yield Case("grad.attention_backward", [y, y, *operands], attributes, attention_backward)


def accumulate_slice(x: Array, updates: Array, start: Sequence[int] | None = None) -> Array:
    result = x.copy()
    for place in np.ndindex(*updates.shape):
        result[tuple(np.add(place, start or 0))] += updates[place]
    return result


# Embedding.


def embedding(table: Array, ids: Array, padding_idx: int | None = None) -> Array:
    return np.array([table[i] for i in ids.ravel()]).reshape(*ids.shape, table.shape[1])


# Recurrent cells, as PyTorch's documentation has them.


def _sigmoid(x: Array) -> Array:
    return 1 / (1 + np.exp(-x))


def _parts(x: Array, weight: Array, bias: Array, gates: int) -> list[Array]:
    size = weight.shape[0] // gates
    rows = [slice(k * size, (k + 1) * size) for k in range(gates)]
    return [np.tensordot(x, weight[row], (-1, 1)) + bias[row] for row in rows]


def lstm_cell(
    x: Array, h: Array, c: Array, w_ih: Array, w_hh: Array, b_ih: Array, b_hh: Array
) -> tuple[Array, Array]:
    pairs = zip(_parts(x, w_ih, b_ih, 4), _parts(h, w_hh, b_hh, 4), strict=True)
    i, f, g, o = (left + right for left, right in pairs)
    next_c = _sigmoid(f) * c + _sigmoid(i) * np.tanh(g)
    return _sigmoid(o) * np.tanh(next_c), next_c


def gru_cell(x: Array, h: Array, w_ih: Array, w_hh: Array, b_ih: Array, b_hh: Array) -> Array:
    (i_r, i_z, i_n), (h_r, h_z, h_n) = _parts(x, w_ih, b_ih, 3), _parts(h, w_hh, b_hh, 3)
    r, z = _sigmoid(i_r + h_r), _sigmoid(i_z + h_z)
    return (1 - z) * np.tanh(i_n + r * h_n) + z * h


def _cell(op: str, batch: tuple[int, ...], inputs: int, size: int) -> Case:
    gates, states, reference = (4, 2, lstm_cell) if "lstm" in op else (3, 1, gru_cell)
    rows = gates * size
    operands = [(*batch, inputs), *[(*batch, size)] * states]
    operands += [(rows, inputs), (rows, size), (rows,), (rows,)]
    return Case(op, operands, reference=reference)


CASES: list[Case] = [
    *_attention(),
    Case("grad.accumulate_slice", [(3, 4), (2, 3)], {"start": [1, 0]}, accumulate_slice),
    Case("grad.accumulate_slice", [(3, 4), (3, 4)], {}, accumulate_slice),
    Case("grad.accumulate_slice", [(17,), (5,)], {"start": 3}, accumulate_slice),
    Case("grad.accumulate_slice", [(3, 2), (0, 2)], {"start": [3, 0]}, accumulate_slice),
    Case("grad.accumulate_slice", [(), ()], {"start": []}, accumulate_slice),
    Case("nn.embedding", [(4, 3), integers([1, 3], [-1, 0])], {}, embedding),
    Case("nn.embedding", [(17, 1), integers(2, dtype=np.int8)], {}, embedding),
    Case("nn.embedding", [(3, 0), integers([0, 1])], {}, embedding),
    Case("nn.embedding", [(0, 2), np.zeros((2, 0), np.int32)], {}, embedding),
    *(_cell(op, *row) for op in ("nn.lstm_cell", "nn.gru_cell")
      for row in (((2,), 3, 2), ((), 2, 3), ((2, 1), 1, 1), ((0,), 2, 2))),
]  # fmt: skip
