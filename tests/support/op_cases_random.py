"""Rows of the table: random numbers and dropout."""

from __future__ import annotations

from typing import Any

import numpy as np
from op_cases import Case
from op_references import Array
from random_references import bits, dropout, normal, uniform

KEYS = np.array(-(2**40) - 5), np.array(2**33 + 7)
"""Operands with bits in both halves."""


SHAPES = ((3, 5), (), (0,), (17,), (2, 3, 4))
BIT_SHAPES = ((1,), (63,), (8, 8), (65,))


def _drawn(op: str, shape: tuple[int, ...], **attributes: float) -> Case:
    draw: Any = uniform if op == "array.uniform" else normal

    def reference(*keys: Array, **given: Any) -> Array:
        return draw(shape, *keys, **given)

    return Case(op, KEYS, attributes, reference, results=[(shape, None)])


def _integers(shape: tuple[int, ...], dtype: str) -> Case:
    def reference(*keys: Array) -> Array:
        return bits(shape, dtype, *keys)

    return Case("array.random_bits", KEYS, {}, reference, results=[(shape, dtype)])


def _drawn_of_each(op: str) -> Case:
    """Two keys with their counters."""
    draw: Any = uniform if op == "array.uniform" else normal
    many = np.array([KEYS[0], 3]), np.array([KEYS[1], -1])

    def reference(keys: Array, counters: Array) -> Array:
        return np.stack([draw((3,), k, c) for k, c in zip(keys, counters, strict=True)])

    return Case(op, many, {}, reference, results=[((2, 3), None)])


def _masked(shape: tuple[int, ...], p: float) -> Case:
    def reference(*keys: Array, p: float) -> Array:
        return dropout(np.ones(shape), *keys, p=p)[1]

    return Case("grad.dropout_mask", KEYS, {"p": p}, reference, results=[(shape, "bool")])


def _drop(x: Array, mask: Array, p: float = 0.5) -> Array:
    return np.where(mask, x / (1 - p) if p < 1 else 0.0, 0.0)


def _bools(shape: tuple[int, ...]) -> Array:
    return np.asarray(np.random.default_rng(7).random(shape) < 0.5)


def _bits(mask: Array) -> Array:
    """Bit k of byte j is element k * M + j of M bytes."""
    flat = [int(v) for v in mask.reshape(-1)]
    size = (len(flat) + 7) // 8
    return np.array([sum(v << k for k, v in enumerate(flat[j::size])) for j in range(size)],
                    np.uint8).view(np.int8)  # fmt: skip


def _packed(shape: tuple[int, ...]) -> list[Case]:
    mask = _bools(shape)
    bits = _bits(mask)
    pack = Case("grad.pack_bits", [mask], {}, bits, results=[(bits.shape, "int8")])
    return [pack, Case("grad.unpack_bits", [bits], {}, mask, results=[(shape, "bool")])]


def _dropped(x: Array, *_: Array, p: float) -> tuple[Array, Array]:
    return np.zeros_like(x), np.zeros(x.shape, bool)


CASES: tuple[Case, ...] = (
    *(_drawn("array.uniform", shape) for shape in SHAPES),
    _drawn("array.uniform", (40,), low=-1.5, high=2.5),
    *(_drawn("array.normal", shape) for shape in SHAPES),
    *map(_drawn_of_each, ("array.uniform", "array.normal")),
    *(_integers(shape, dtype) for shape in SHAPES for dtype in ("int32", "int64")),
    *(Case("nn.dropout", [shape, *KEYS], {"p": 0.3}, dropout) for shape in SHAPES),
    Case("nn.dropout", [(3, 5), *KEYS], {}, dropout),
    Case("nn.dropout", [(3, 5), *KEYS], {"p": 0.0}, dropout),
    Case("nn.dropout", [(3, 5), *KEYS], {"p": 1.0}, _dropped),
    *(_masked(shape, p) for shape in SHAPES for p in (0.3, 0.0)),
    *(Case("grad.drop", [shape, _bools(shape)], {"p": 0.3}, _drop) for shape in SHAPES),
    Case("grad.drop", [(3, 5), _bools((3, 5))], {"p": 0.0}, _drop),
    Case("grad.drop", [(3, 5), _bools((3, 5))], {"p": 1.0}, _drop),
    *(case for shape in [*SHAPES, *BIT_SHAPES] for case in _packed(shape)),
)
