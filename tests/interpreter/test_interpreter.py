"""The reference interpreter: conversions, scalars, arguments, errors."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

import gradir
from gradir.errors import (
    ArgumentError,
    ArgumentTypeError,
    ExecutionError,
    GradirError,
    IndexOutOfRange,
)

SCALARS = """
func.func @f(%x: f32, %n: i64) -> (f32, i64, i1, f64) {
  %half = arith.constant 0.5 : f32
  %y = arith.mulf %x, %half : f32
  %e = math.exp %y : f32
  %c = arith.cmpf ogt, %e, %x : f32
  %z = arith.select %c, %e, %x : f32
  %k = arith.fptosi %x : f32 to i64
  %m = arith.addi %k, %n : i64
  %w = arith.extf %z : f32 to f64
  func.return %z, %m, %c, %w : f32, i64, i1, f64
}
"""


def convert(values: Any, source: str, target: str) -> Any:
    count = len(values)
    module = gradir.parse(
        f"func.func @f(%x: tensor<{count}x{source}>) -> tensor<{count}x{target}> {{\n"
        f"  %y = array.astype %x : tensor<{count}x{source}> -> tensor<{count}x{target}>\n"
        f"  func.return %y : tensor<{count}x{target}>\n}}"
    )
    return gradir.interpret(module, "f", values)[0]


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        ("i8", [0, 127, -128, 127, -128, -1, 2]),
        ("ui8", [0, 255, 0, 255, 0, 0, 2]),
        ("i64", [0, 2**63 - 1, -(2**63), 300, -300, -1, 2]),
        ("i1", [1, 1, 1, 1, 1, 1, 1]),
    ],
)
def test_floats_to_integers_saturate(target: str, expected: list[int]):
    values = np.array([np.nan, np.inf, -1e30, 300.0, -300.0, -1.9, 2.9])
    assert convert(values, "f64", target).tolist() == expected


def test_integers_wrap():
    assert convert(np.array([300, -1]), "i64", "i8").tolist() == [44, -1]
    assert convert(np.array([300, -1]), "i64", "ui8").tolist() == [44, 255]


def test_rounded_once():
    # just above the middle of two bf16 numbers, where f32 lies on it
    values = np.array([1 + 2**-8 + 2**-40, -1 - 2**-8 - 2**-40, 1 + 2**-8, np.inf])
    found = convert(values, "f64", "bf16")
    assert found.dtype == ml_dtypes.bfloat16
    assert found.astype(np.float64).tolist() == [1 + 2**-7, -1 - 2**-7, 1, np.inf]
    assert convert(np.array([2**40 + 2**32 + 1]), "i64", "bf16").astype(float) == 2**40 + 2**33


def test_scalars():
    z, m, c, w = gradir.interpret(gradir.parse(SCALARS), "f", 2.0, 5)
    assert (z.dtype, m.dtype, c.dtype, w.dtype) == (np.float32, np.int64, np.bool_, np.float64)
    assert z == np.exp(np.float32(1)) and m == 7 and c and w == z


def test_arguments_are_checked():
    module = gradir.parse(SCALARS)
    with pytest.raises(ArgumentTypeError, match="f: expected 2 arguments, got 1"):
        gradir.interpret(module, "f", 2.0)
    with pytest.raises(ArgumentTypeError, match=r"f: argument 1 \(%n\): expected a int64 number"):
        gradir.interpret(module, "f", 2.0, 1.5)
    with pytest.raises(ArgumentError, match="no function @g; functions: @f"):
        gradir.interpret(module, "g")


def test_unknown_op_is_located():
    module = gradir.parse(
        "func.func @f(%x: i64) -> i64 {\n"
        "  %y, %c = arith.addui_extended %x, %x : i64, i1\n  func.return %y : i64\n}"
    )
    wanted = r"<string>:2:3: .*arith.addui_extended: neither native code nor"
    with pytest.raises(GradirError, match=wanted):
        gradir.interpret(module, "f", 3)


def test_index_error_names_place_and_op():
    module = gradir.parse(
        "func.func @f(%x: tensor<3xf32>, %i: tensor<1xi64>) -> tensor<1xf32> {\n"
        "  %y = array.take %x, %i : tensor<3xf32>, tensor<1xi64> -> tensor<1xf32>\n"
        "  func.return %y : tensor<1xf32>\n}"
    )
    with pytest.raises(IndexOutOfRange) as caught:
        gradir.interpret(module, "f", np.zeros(3, np.float32), np.array([7]))
    expected = "<string>:2:3: array.take: index 7 is out of range for a size of 3"
    assert str(caught.value) == expected and isinstance(caught.value, IndexError)


def test_results_are_new_arrays():
    """Neither the caller's array nor a view that shows one element many times."""
    module = gradir.parse("""
func.func @f(%x: tensor<3xf32>) -> (tensor<3xf32>, tensor<3xf32>, tensor<2x3xf32>, tensor<f32>) {
  %b = array.broadcast_to %x : tensor<3xf32> -> tensor<2x3xf32>
  %s = array.sum %x : tensor<3xf32> -> tensor<f32>
  func.return %x, %x, %b, %s : tensor<3xf32>, tensor<3xf32>, tensor<2x3xf32>, tensor<f32>
}""")
    x = np.arange(3, dtype=np.float32)
    results = gradir.interpret(module, "f", x)
    for result in results:
        assert type(result) is np.ndarray
        assert result.flags.c_contiguous and result.flags.writeable and result.flags.owndata
        result += 1
    assert x.tolist() == [0, 1, 2]
    assert results[0].tolist() == results[1].tolist() == results[2][1].tolist() == [1, 2, 3]


@pytest.mark.parametrize(
    ("text", "op"),
    [
        ("%y = array.full {value = 1} : tensor<4611686018427387903xi8>", "3:3: array.full"),
        ("%y = array.iota {axis = 0} : tensor<4611686018427387903xi8>", "3:3: array.iota"),
        (
            "%b = array.broadcast_to %x : tensor<i8> -> tensor<4611686018427387903xi8>\n"
            "%y = array.negative %b : tensor<4611686018427387903xi8>",
            "3:3: array.broadcast_to",
        ),
        (
            "%y = array.broadcast_to %x : tensor<i8> -> tensor<4611686018427387903xi8>",
            "3:3: array.broadcast_to",
        ),
    ],
)
def test_no_memory(text: str, op: str):
    module = gradir.parse(
        "\nfunc.func @f(%x: tensor<i8>) -> tensor<4611686018427387903xi8> {\n"
        f"  {text}\n  func.return %y : tensor<4611686018427387903xi8>\n}}"
    )
    with pytest.raises(ExecutionError, match=f"^<string>:{op}: no memory for its result: "):
        gradir.interpret(module, "f", 1)
    with pytest.raises(GradirError, match="no memory for a buffer"):
        gradir.compile(module, "f")(1)


@pytest.mark.parametrize("element", ["si32", "i7", "si8", "complex<f16>", "f80"])
def test_signatures_of_elements_without_meaning(element: str):
    module = gradir.parse(
        f"func.func @f(%x: tensor<2x{element}>) -> tensor<2x{element}> {{\n"
        f"  func.return %x : tensor<2x{element}>\n}}"
    )
    message = r"^<string>:1:14: error: %x: elements must be .*, got tensor<2x" + element
    with pytest.raises(GradirError, match=message):
        gradir.compile(module, "f")
    with pytest.raises(GradirError, match=message):
        gradir.interpret(module, "f", np.ones(2))
