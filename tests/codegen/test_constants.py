"""Constants of one repeated number are no bytes in a program; all bits of others are kept."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

import gradir
from gradir.runtime.executable import Executable


def returned(value: str, type_: str) -> tuple[Any, int]:
    """A constant as the result of a compiled function, and how many bytes the program has."""
    constant = f"%c = array.constant {{value = dense<{value}> : {type_}}} : {type_}"
    module = gradir.parse(f"func.func @f() -> {type_} {{ {constant} func.return %c : {type_} }}")
    assert str(gradir.parse(str(module))) == str(module)
    made = gradir.compile(module, "f", threads=1)
    assert isinstance(made, Executable)
    return made()[0], sum(len(c.data) for c in made.program.constants)


@pytest.mark.parametrize(
    ("value", "element", "dtype"),
    [
        ("-2.5", "f64", np.float64),
        ("-0.0", "f32", np.float32),
        ("0x7F800000", "f32", np.float32),
        ("1.5", "bf16", ml_dtypes.bfloat16),
        ("9223372036854775807", "i64", np.int64),
        ("-3", "i8", np.int8),
        ("true", "i1", np.bool_),
    ],
)
def test_one_number_is_code(value: str, element: str, dtype: Any) -> None:
    found, size = returned(value, f"tensor<3x50x{element}>")
    number = {"true": True, "0x7F800000": np.inf}.get(value)
    number = number if number is not None else (float(value) if "." in value else int(value))
    assert found.tobytes() == np.full((3, 50), number, dtype).tobytes()
    assert size == 0


@pytest.mark.parametrize(
    ("bits", "shape"),
    [
        ("0100A07F0100A07F", "2"),  # signalling nans: a number would lose the kind
        ("0000000000000080", "2"),  # 0.0 and -0.0 are equal, and two
    ],
)
def test_other_bits_are_kept(bits: str, shape: str) -> None:
    found, size = returned(f'"0x{bits}"', f"tensor<{shape}xf32>")
    assert found.tobytes() == bytes.fromhex(bits)
    assert size == len(bits) // 2


def test_no_element() -> None:
    assert returned("1.0", "tensor<0x3xf32>")[0].shape == (0, 3)
