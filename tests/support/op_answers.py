"""What ops give where a convention decides: at kinks, at ties, of infinities, of nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import inf, nan
from typing import Any

import numpy as np
from op_cases import Case, bools, integers
from op_references import Array

from gradir.dialects.base.attributes import Plain


@dataclass(frozen=True)
class Answer:
    """What an op gives, and its gradients for cotangents of ones, where a rule decides that."""

    what: str
    op: str
    operands: Sequence[Array]
    value: Any
    # One for each floating operand; None is not looked at.
    grads: Sequence[Any]
    attributes: Mapping[str, Plain] = field(default_factory=dict[str, Plain])
    results: Sequence[tuple[tuple[int, ...], str | None]] | None = None

    def __str__(self) -> str:
        return f"{self.op}-{self.what}".replace(" ", "-")

    def case(self) -> Case:
        return Case(self.op, self.operands, self.attributes, results=self.results)


def _of(*values: float) -> Array:
    return np.array(values, np.float64)


def _rows(*values: Sequence[float]) -> Array:
    return np.array(values, np.float64)


_EMPTY_ROWS = _rows([-inf, -inf], [-inf, 0])
_LARGE = _rows([1e4, 1e4], [-1e4, 1e4])

ANSWERS: tuple[Answer, ...] = (
    Answer("at 0", "array.abs", [_of(-2, 0, 3)], [2, 0, 3], [[-1, 0, 1]]),
    Answer("at 0", "nn.relu", [_of(-2, 0, 3)], [0, 0, 3], [[0, 0, 1]]),
    Answer("what passes", "grad.gate", [_of(1, 2, 3), bools(1, 0, 0), _of(0, 0, nan)],
           [1, 0, nan], [[1, 0, nan], [0, 0, 0]]),
    Answer("of nan", "nn.relu", [_of(nan, -inf, inf)], [nan, 0, inf], [[nan, 0, 1]]),
    Answer("of nan", "array.maximum", [_of(nan, 1, nan), _of(1, nan, nan)], [nan, nan, nan],
           [[nan, 0, nan], [0, nan, nan]]),
    Answer("of nan", "array.max", [_of(1, nan, 3)], nan, [[0, nan, 0]]),
    Answer("at 0 and inf", "array.atan2", [_of(0, -0.0, 0, inf, 1), _of(0, 0, -0.0, 1, -inf)],
           [0, -0.0, np.pi, np.pi / 2, np.pi], [[0, 0, 0, 0, 0], [0, 0, 0, 0, 0]]),
    Answer("base 0 and inf", "array.pow", [_of(0, 0, 0, 0, inf), _of(-1, 0, 2, nan, -1)],
           [inf, 1, 0, nan, 0], [[-inf, 0, 0, nan, 0], [-inf, 0, 0, nan, 0]]),
    Answer("below 0", "array.log", [_of(-1, nan)], [nan, nan], [[nan, nan]]),
    Answer("at 0", "array.sqrt", [_of(0, 4)], [0, 2], [[inf, 0.25]]),
    Answer("at 0", "array.log", [_of(0, 4)], [-inf, np.log(4)], [[inf, 0.25]]),
    Answer("steps", "array.sign", [_of(-2, 0, 3)], [-1, 0, 1], [[0, 0, 0]]),
    Answer("steps", "array.floor", [_of(-1.5, 2, 2.5)], [-2, 2, 2], [[0, 0, 0]]),
    Answer("ties", "array.maximum", [_of(1, 2, 3), _of(1, 3, 2)], [1, 3, 3],
           [[0.5, 0, 1], [0.5, 1, 0]]),
    Answer("ties", "array.minimum", [_of(1, 2, 3), _of(1, 3, 2)], [1, 2, 2],
           [[0.5, 1, 0], [0.5, 0, 1]]),
    Answer("ties", "array.max", [_rows([3, 1, 3], [1, 2, 0])], [3, 2], [[[0.5, 0, 0.5], [0, 1, 0]]],
           {"axis": 1}),
    Answer("ties", "array.min", [_rows([3, 1, 3], [2, 2, 2])], [1, 2], [[[0, 1, 0], [1 / 3] * 3]],
           {"axis": 1}),
    Answer("all -inf", "array.logsumexp", [_EMPTY_ROWS], [-inf, 0], [[[0, 0], [0, 1]]],
           {"axis": 1}),
    Answer("large", "array.logsumexp", [_LARGE], [1e4 + np.log(2), 1e4], [[[0.5, 0.5], [0, 1]]],
           {"axis": 1}),
    Answer("with inf", "array.logsumexp", [_of(inf, 1)], inf, [None]),
    Answer("large", "nn.softmax", [_LARGE], [[0.5, 0.5], [0, 1]], [[[0, 0], [0, 0]]]),
    Answer("all -inf", "nn.softmax", [_EMPTY_ROWS], [[nan, nan], [0, 1]], [None]),
    Answer("large", "nn.log_softmax", [_LARGE], [[-np.log(2)] * 2, [-2e4, 0]], [[[0, 0], [1, -1]]]),
    Answer("large", "nn.sigmoid", [_of(-1000, 0, 1000)], [0, 0.5, 1], [[0, 0.25, 0]]),
    Answer("no branch leaks", "array.where", [bools(1, 0), _of(1, inf), _of(nan, 2)], [1, 2],
           [[1, 0], [0, 1]]),
    Answer("all ignored", "nn.nll_loss", [_rows([1, 2]), integers([-100])], nan, [[[0, 0]]]),
    Answer("all ignored", "nn.cross_entropy", [_rows([1, 2]), integers([-100])], nan, [[[0, 0]]]),
    Answer("empty", "array.mean", [np.zeros((0,))], nan, [np.zeros((0,))]),
    Answer("empty", "array.logsumexp", [np.zeros((2, 0))], [-inf, -inf], [np.zeros((2, 0))],
           {"axis": 1}),
    Answer("stops", "grad.no_grad", [_of(1, 2)], [1, 2], [[0, 0]]),
    Answer("of a slope", "grad.add_slope", [_of(1, 2), _of(0, 3), _of(5, -inf)], [1, 2],
           [[1, 1], [5, -inf], [0, 0]]),
    Answer("changes the sign", "grad.negate_gradient", [_of(1, 2)], [1, 2], [[-1, -1]]),
    Answer("through f32", "array.astype", [_of(1.5, 2)], [1.5, 2], [[1, 1]],
           results=[((2,), "float32")]),
    Answer("repeated indices add", "array.take", [_of(5, 6), integers(1, 1, -1, 0)], [6, 6, 6, 5],
           [[1, 3]]),
    Answer("the last of equal indices", "array.index_update",
           [_of(5, 6, 7), integers(1, 0, -2), _of(1, 2, 3)], [2, 3, 7], [[0, 0, 1], [0, 1, 1]]),
    Answer("clamped", "array.dynamic_update_slice",
           [_of(5, 6, 7), _of(1, 2), np.array(9)], [5, 1, 2], [[1, 0, 0], [1, 1]]),
    Answer("clamped", "array.dynamic_slice",
           [_of(5, 6, 7), np.array(-1)], [5, 6], [[1, 1, 0]], {"sizes": 2}),
    Answer("nothing leaks", "array.tril", [_rows([1, nan], [inf, 2])], [[1, 0], [inf, 2]],
           [[[1, 0], [1, 1]]]),
    Answer("ties go to the first", "nn.max_pool1d", [_rows([1, 1, 2, 2, 3, 0])], [[1, 2, 3]],
           [[[1, 0, 1, 0, 1, 0]]], {"kernel": 2}),
    Answer("overlapping ties", "nn.max_pool1d", [_rows([2, 2, 2, 1])], [[2, 2]], [[[1, 1, 0, 0]]],
           {"kernel": 3, "stride": 1}),
    Answer("nan wins", "nn.max_pool1d", [_rows([inf, nan, 3, nan, nan, 1])], [[nan, nan, nan]],
           [[[0, 1, 0, 1, 1, 0]]], {"kernel": 2}),
    Answer("all -inf beside padding", "nn.max_pool1d", [_rows([-inf, -inf, -inf])],
           [[-inf, -inf]], [[[1, 1, 0]]], {"kernel": 2, "padding": 1}),
    Answer("infinite neighbours", "nn.avg_pool1d", [_rows([inf, 1, 3, -inf])], [[inf, 2, -inf]],
           [[[0.5, 1, 1, 0.5]]], {"kernel": 2, "stride": 1}),
    Answer("infinite neighbours", "nn.resize2d", [_rows([inf, 1, 3])[None]], [[[inf, 1, 3]]],
           [[[[1, 1, 1]]]], {"size": [1, 3], "mode": "bilinear"}),
    Answer("padding gets no gradient", "nn.embedding",
           [_rows([5], [6], [7]), integers(1, -1, 2, -2)],
           [[6], [7], [7], [6]], [[[0], [2], [0]]], {"padding_idx": -1}),
    Answer("padding counts from either end", "nn.embedding",
           [_rows([5], [6], [7]), integers(1, -1, 2, -2)], [[6], [7], [7], [6]],
           [[[0], [0], [2]]], {"padding_idx": 1}),
    Answer("all masked", "nn.attention",
           [_rows([1, 2], [3, 4]), _rows([1, 0], [0, 1]), _rows([1], [3]), bools(0, 0)],
           [[0], [0]], [np.zeros((2, 2)), np.zeros((2, 2)), np.zeros((2, 1))]),
    Answer("all masked by -inf", "nn.attention",
           [_rows([1, 2]), _rows([1, 0], [0, 1]), _rows([1], [3]), _of(-inf, -inf)],
           [[0]], [np.zeros((1, 2)), np.zeros((2, 2)), np.zeros((2, 1)), [0, 0]]),
    Answer("large", "nn.attention", [_rows([1e4, 0]), _rows([1, 0], [-1, 0]), _rows([1], [3])],
           [[1]], [[[0, 0]], np.zeros((2, 2)), [[1], [0]]]),
)  # fmt: skip
