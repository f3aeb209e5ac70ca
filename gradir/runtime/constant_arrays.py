"""Constants of programs as NumPy arrays: trained weights that other tools have put into a text."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr

from gradir.dialects.base.attributes import numbers_of
from gradir.dialects.base.shapes import element_of, shape_of
from gradir.runtime.arrays import dtype_of

Array = np.ndarray[Any, Any]


def arrays_of(constants: Mapping[str, DenseIntOrFPElementsAttr]) -> dict[str, Array]:
    """A new array for each constant."""
    return {name: _array_of(value) for name, value in constants.items()}


def _array_of(value: DenseIntOrFPElementsAttr) -> Array:
    type_: Any = value.type
    shape, dtype = shape_of(type_), dtype_of(element_of(type_))
    if value.is_splat():
        return np.full(shape, numbers_of(value)[0], dtype)
    return np.array(numbers_of(value), dtype).reshape(shape)
