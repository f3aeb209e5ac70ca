"""Cases of the ops that make and take complex numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
from op_cases import Case
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr

from gradir.dialects.base.shapes import c64, c128, tensor

RANDOM = np.random.default_rng(33)


def numbers(*shape: int) -> np.ndarray:
    """Complex numbers off the axes."""
    parts = RANDOM.uniform(0.2, 1.5, (2, *shape)) * RANDOM.choice([-1, 1], (2, *shape))
    return np.asarray(parts[0] + 1j * parts[1])


def _transform(x: np.ndarray, axis: int = -1, inverse: bool = False) -> np.ndarray:
    """The sum over all elements, by its definition."""
    n = x.shape[axis]
    turns = np.multiply.outer(np.arange(n), np.arange(n)) * (2j * np.pi / n)
    matrix = np.exp(turns if inverse else -turns)
    return np.moveaxis(np.tensordot(matrix, x, (1, axis)), 0, axis)


CONSTANT: Any = tensor([2], c128)
NARROW: Any = tensor([2], c64)
CASES = [
    Case(
        "array.constant",
        [],
        {"value": DenseIntOrFPElementsAttr.from_list(CONSTANT, [(1.0, -2.0), (0.5, 0.0)])},
        np.array([1 - 2j, 0.5]),
        results=[((2,), "complex128")],
    ),
    Case(
        "array.constant",
        [],
        {"value": DenseIntOrFPElementsAttr.from_list(NARROW, [(1.0, -2.0), (0.5, 0.0)])},
        np.array([1 - 2j, 0.5]),
        results=[((2,), "complex64")],
    ),
    Case(
        "array.full",
        [],
        {"value": 1.5, "imag": -2.0},
        np.array([1.5 - 2j] * 2),
        results=[((2,), "complex128")],
    ),
    *(
        Case("array.complex", [shape, shape], reference=lambda x, y: x + 1j * y)
        for shape in ((3, 4), (), (0,))
    ),
    *(
        Case(f"array.{name}", [numbers(*shape)], reference=function)
        for name, function in (("real", np.real), ("imag", np.imag), ("conj", np.conj))
        for shape in ((3, 4), (), (0,))
    ),
    *(Case("array.abs", [numbers(*shape)], reference=np.abs) for shape in ((5,), (), (0,))),
    Case("array.abs", [numbers(2, 3)], reference=np.abs),
    Case("array.astype", [(3,)], reference=lambda x: x + 0j, results=[((3,), "complex128")]),
    *(
        Case("array.fft", [numbers(*shape)], attributes, _transform)
        for shape in ((1,), (2,), (12,), (3, 5), (2, 37), (0, 4), (2, 34, 2))
        for attributes in ({"inverse": False}, {"inverse": True})
    ),
    Case("array.fft", [numbers(6, 2)], {"axis": 0}, _transform),
    Case("array.fft", [numbers(2, 8, 3)], {"axis": 1, "inverse": True}, _transform),
]
