"""Rows of tables of ops: an op, its operands, and what it must give of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any
from zlib import crc32

import numpy as np
from xdsl.ir import Attribute

from gradir.argument_checks import known_fields
from gradir.dialects.array.creation import numpy_dtype
from gradir.dialects.base.attributes import Plain
from gradir.dialects.base.interfaces import TensorOp
from gradir.dialects.base.shapes import NUMPY_NAMES, complex_element, is_complex, tensor
from gradir.plugins import op_class_of

Array = np.ndarray[Any, Any]
Reference = Callable[..., Any]
Operand = tuple[int, ...] | Array

ELEMENTS: dict[str, Attribute] = {name: element for element, name in NUMPY_NAMES.items()}
"""The element types by NumPy's names."""

# Samples keep this distance from the points where a function is not smooth.
MARGIN = 0.05


@known_fields
@dataclass(frozen=True)
class OpCase:
    """An op on operands: one row of a table that `gradir.testing.check_op` holds an op against.

    `op` is its name. An operand is a shape, which stands for random floats in the `domain`, or an
    array: integers, bools, or floats and complex numbers that matter. Whatever is not given is
    inferred, or not needed by the op.
    """

    op: str
    operands: Sequence[Operand] = ()
    attributes: Mapping[str, Plain] = field(default_factory=dict[str, Plain])
    # `reference(*arrays, **attributes)` in float64, or what it gives; None: the op's own `numpy`.
    reference: Reference | Array | None = None
    domain: tuple[float, float] = (-2, 2)
    # Where the function is not smooth: samples stay away.
    kinks: Sequence[float] = ()
    # Result shapes, each with the element type's NumPy name (None: the floats' own type).
    results: Sequence[tuple[tuple[int, ...], str | None]] | None = None
    # False: the gradient is not the derivative.
    is_derivative: bool = True

    @property
    def op_class(self) -> type[TensorOp]:
        return op_class_of(self.op)

    @property
    def wrt(self) -> list[int]:
        """The operands that a gradient is taken of; markers of stages stand alone."""
        if self.op in ("grad.start_checkpoint", "grad.end_checkpoint"):
            return []
        return [
            k
            for k, operand in enumerate(self.operands)
            if k not in self.op_class.NOT_DIFFERENTIABLE
            and (isinstance(operand, tuple) or operand.dtype.kind in "fc")
        ]

    def __str__(self) -> str:
        shapes = ["x".join(map(str, np.shape(o) if isinstance(o, np.ndarray) else o)) or "0d"
                  for o in self.operands]  # fmt: skip
        given = [f"{k}={v}" for k, v in self.attributes.items() if not isinstance(v, Attribute)]
        return "-".join([self.op, *shapes, *given]).replace(" ", "")

    def arrays(self, element: Attribute) -> list[Array]:
        """The operands, floats as `element`, complex numbers as made of it; the same each time.

        For a complex element the floats are complex numbers too, with the numbers of all elements
        in another order as imaginary parts.
        """
        generator = np.random.default_rng(crc32(str(self).encode()))
        values = iter(self._samples(generator))
        made: list[Array] = []
        for operand in self.operands:
            if isinstance(operand, tuple):
                count = prod(operand)
                numbers = np.array([next(values) for _ in range(count)]).reshape(operand)
                made.append(_as_elements(numbers, element))
            else:
                made.append(_as_elements(operand, element))
        return made

    def _samples(self, generator: np.random.Generator) -> Array:
        """Distinct numbers, as far from each other as the domain lets them be."""
        count = sum(prod(o) for o in self.operands if isinstance(o, tuple))
        low, high = self.domain
        width = (high - low) / max(count, 1)
        numbers = low + width * (np.arange(count) + generator.uniform(0.3, 0.7, count))
        for kink in self.kinks:
            off = numbers - kink
            away = np.copysign(MARGIN + np.abs(off), off)
            numbers = np.where(np.abs(off) < MARGIN, kink + away, numbers)
        return generator.permutation(numbers)

    def result_types(self, element: Attribute) -> list[Attribute] | None:
        if self.results is None:
            return None
        return [tensor(shape, ELEMENTS[name] if name else element) for shape, name in self.results]


def _as_elements(numbers: Array, element: Attribute) -> Array:
    """Floats, or complex numbers, as elements of a type; others as they are."""
    if numbers.dtype.kind == "c":
        return numbers.astype(numpy_dtype(complex_element(element)))
    if numbers.dtype.kind != "f":
        return numbers
    if is_complex(element):
        made = np.empty(numbers.shape, numpy_dtype(element))
        made.real = numbers
        made.imag = np.roll(numbers[::-1] if numbers.ndim else -numbers, 1)
        return made
    return numbers.astype(numpy_dtype(element))
