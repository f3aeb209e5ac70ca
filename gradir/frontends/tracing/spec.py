"""The types of traced arguments: shapes, dtypes, and their element types."""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from operator import index
from typing import Any, cast

import numpy as np
from xdsl.ir import Attribute
from xdsl.utils.exceptions import VerifyException

from gradir.argument_checks import known_arguments
from gradir.dialects.array.creation import numpy_dtype
from gradir.dialects.base.extent_values import read_extent
from gradir.dialects.base.extents import Extent, is_extent
from gradir.dialects.base.shapes import NUMPY_NAMES, AnyTensor, element_of, shape_of, tensor
from gradir.errors import ArgumentError, ArgumentTypeError
from gradir.frontends.tracing.default_types import default_element

ELEMENTS: dict[str, Attribute] = {name: element for element, name in NUMPY_NAMES.items()}
"""The element type of each dtype, by the dtype's name."""


COMPLEX_NAMES = ("complex64", "complex128")
"""The dtypes that programs of other systems must not have, nor arrays handed to them."""


@dataclass(frozen=True)
class Spec:
    """The shape and the dtype of an array, as an argument of gradir.trace.

    A text in the shape is an extent with a name, or an expression of such: `("n", 3)`, `"2*n + 1"`;
    the shape may be one text, `"n, 3"`. Equal names are equal extents, of any size.
    `dtype` is a NumPy dtype, or converts to one: `"float32"`, `np.float32`, `"bfloat16"`.
    """

    shape: tuple[int, ...]
    dtype: np.dtype[Any]

    @known_arguments
    def __init__(self, shape: Sequence[int | str | Extent] | int | str, dtype: Any = "float64"):
        object.__setattr__(self, "shape", as_shape(named_extents(shape)))
        object.__setattr__(self, "dtype", numpy_dtype(element_named(dtype)))

    @property
    def type(self) -> AnyTensor:
        """The tensor type."""
        return tensor(self.shape, ELEMENTS[self.dtype.name])

    def __str__(self) -> str:
        return type_text(self.type)


def named_extents(shape: Any) -> Any:
    """A shape with extents for the texts in it; ArgumentError for other texts."""
    if isinstance(shape, str):
        if shape in ELEMENTS:
            raise ArgumentTypeError(f"shape: expected extents, got a dtype: Spec((), {shape!r})")
        shape = [part for part in shape.strip("() ").split(",") if part.strip()]
        shape = [int(part) if part.strip().isdecimal() else part for part in shape]
    if not isinstance(shape, (list, tuple)):
        return shape
    try:
        return [read_extent(n) if isinstance(n, str) else n for n in cast(Sequence[Any], shape)]
    except VerifyException as error:
        raise ArgumentError(f"shape: {error}") from None


def as_shape(shape: Any) -> tuple[int, ...]:
    """A shape from one or several integers or extents; ArgumentError for others."""
    try:
        extents = cast(Any, shape) if isinstance(shape, (Sequence, np.ndarray)) else [shape]
        found = tuple(n if is_extent(n) else index(n) for n in extents)
    except TypeError:
        raise ArgumentTypeError(f"shape: expected integers, got {shape!r}") from None
    if any(n < 0 for n in found):
        raise ArgumentError(f"shape: extents must not be negative, got {list(found)}")
    return found


_NAME = re.compile(r"[<>=|]?[A-Za-z_?]+[0-9]{0,3}")
"""The text that NumPy reads as a dtype; of other text, "M8[s/0]", its reader may crash."""


def element_named(dtype: Any) -> Attribute:
    """The element type of a dtype, its name, or a Python type; ArgumentTypeError for others."""
    if isinstance(dtype, type) and dtype in (bool, int, float, complex):
        return default_element(dtype)
    name: str = str(dtype).rpartition(".")[2]  # dtypes of other libraries: torch.float32
    if not isinstance(dtype, str) or _NAME.fullmatch(dtype):
        with suppress(TypeError):
            name = np.dtype(cast(Any, dtype)).name
    if name not in ELEMENTS:
        *others, last = ELEMENTS
        hint = "; a shape is one argument, (3, 4)" if isinstance(dtype, int) else ""
        raise ArgumentTypeError(f"dtype: expected {', '.join(others)} or {last}, got {dtype}{hint}")
    return ELEMENTS[name]


def spec_of(value: object) -> tuple[AnyTensor, bool] | None:
    """The type of a traced argument, and whether it is weak, like a Python number.

    None for objects other than arrays, numbers, and those with a shape and a dtype.
    """
    if isinstance(value, Spec):
        return value.type, False
    if isinstance(value, bool | int | float | complex) and not isinstance(value, np.generic):
        return tensor([], default_element(type(value))), True
    shape, dtype = getattr(value, "shape", None), getattr(value, "dtype", None)
    if shape is None or dtype is None:
        return None
    # a traced array may be weak
    return Spec(shape, dtype).type, getattr(value, "weak", False) is True


def type_text(type_: Attribute) -> str:
    """A type in a message: `float32[3, 4]`."""
    return f"{NUMPY_NAMES[element_of(type_)]}{list(shape_of(type_))}"
