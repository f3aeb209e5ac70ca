"""Rows of the table: random numbers and dropout."""

from __future__ import annotations

from typing import Any

import numpy as np
from op_cases import Case
from op_references import Array
from random_references import dropout, normal, uniform

KEYS = np.array(-(2**40) - 5), np.array(2**33 + 7)
"""Operands with bits in both halves."""


SHAPES = ((3, 5), (), (0,), (17,), (2, 3, 4))


def _drawn(op: str, shape: tuple[int, ...], **attributes: float) -> Case:
    draw: Any = uniform if op == "array.uniform" else normal

    def reference(*keys: Array, **given: Any) -> Array:
        return draw(shape, *keys, **given)

    return Case(op, KEYS, attributes, reference, results=[(shape, None)])


def _dropped(x: Array, *_: Array, p: float) -> tuple[Array, Array]:
    return np.zeros_like(x), np.zeros(x.shape, bool)


CASES: tuple[Case, ...] = (
    *(_drawn("array.uniform", shape) for shape in SHAPES),
    _drawn("array.uniform", (40,), low=-1.5, high=2.5),
    *(_drawn("array.normal", shape) for shape in SHAPES),
    *(Case("nn.dropout", [shape, *KEYS], {"p": 0.3}, dropout) for shape in SHAPES),
    Case("nn.dropout", [(3, 5), *KEYS], {}, dropout),
    Case("nn.dropout", [(3, 5), *KEYS], {"p": 0.0}, dropout),
    Case("nn.dropout", [(3, 5), *KEYS], {"p": 1.0}, _dropped),
)
