"""Constants: exact, rounded once, and the same after they were printed and parsed."""

from __future__ import annotations

from math import inf
from typing import Any

import numpy as np
import pytest
from xdsl.dialects.builtin import bf16, f16, f32, f64, i64
from xdsl.ir import Attribute

import gradir
from gradir.dialects.array.creation import numpy_dtype
from gradir.dialects.base.rounding import rounded
from gradir.dialects.base.shapes import tensor
from gradir.errors import GradirError
from gradir.interpreter.interpreter import cast_to

FLOATS = pytest.mark.parametrize("element", [f16, bf16, f32, f64], ids=str)


def constant(text: str, type_: str) -> gradir.Module:
    return gradir.parse(
        f"func.func @f() -> {type_} {{\n"
        f"  %y = array.constant {{value = {text} : {type_}}} : {type_}\n"
        f"  func.return %y : {type_}\n}}"
    )


def values(module: gradir.Module) -> tuple[Any, Any]:
    """What the one result is, interpreted and native."""
    return gradir.interpret(module, "f")[0], gradir.compile(module, "f")()[0]


def special(element: Attribute) -> Any:
    return np.array([inf, -inf, np.nan, -0.0, 1.5]).astype(numpy_dtype(element))


def assert_same_bits(module: gradir.Module, expected: Any) -> None:
    for found in values(module):
        assert found.tobytes() == expected.tobytes()


@FLOATS
def test_special_values_print_and_parse(element: Attribute):
    expected = special(element)
    text = f'dense<"0x{expected.tobytes().hex()}">'
    module = constant(text, f"tensor<5x{element}>")
    again = gradir.parse(str(module))
    assert str(again) == str(module)
    assert_same_bits(module, expected)
    assert_same_bits(again, expected)


@FLOATS
def test_hexadecimal_is_bits(element: Attribute):
    expected = special(element)
    bits = expected.view(f"u{expected.itemsize}")
    digits = ", ".join(f"0x{b:X}" for b in bits.tolist())
    assert_same_bits(constant(f"dense<[{digits}]>", f"tensor<5x{element}>"), expected)
    for k in range(5):
        module = constant(f"dense<0x{int(bits[k]):X}>", f"tensor<3x{element}>")
        assert_same_bits(module, np.repeat(expected[k], 3))
        assert_same_bits(gradir.parse(str(module)), np.repeat(expected[k], 3))


def test_hexadecimal_integers_are_numbers():
    assert values(constant("dense<0x10>", "tensor<2xi64>"))[0].tolist() == [16, 16]


@pytest.mark.parametrize("text", ["0x100000000", "-0x7F800000"])
def test_hexadecimal_that_is_no_bits(text: str):
    for literal in (text, f"[{text}]"):
        with pytest.raises(GradirError, match=f"expected the 32 bits of f32, got {text}"):
            constant(f"dense<{literal}>", "tensor<1xf32>")


FULL = """
func.func @f() -> tensor<2x{element}> {{
  %0 = array.full {{value = {number}}} : tensor<{element}>
  %y = array.broadcast_to %0 : tensor<{element}> -> tensor<2x{element}>
  func.return %y : tensor<2x{element}>
}}"""
PAD = """
func.func @f() -> tensor<2x{element}> {{
  %0 = array.full {{value = {number}}} : tensor<1x{element}>
  %y = array.pad %0 {{low = [1], high = [0], value = {number}}}
     : tensor<1x{element}> -> tensor<2x{element}>
  func.return %y : tensor<2x{element}>
}}"""


@pytest.mark.parametrize("program", [FULL, PAD], ids=["full", "pad"])
@pytest.mark.parametrize("number", [2**53 + 1, 2**63 - 1, -(2**63), -(2**53) - 1])
def test_integers_are_exact(program: str, number: int):
    module = gradir.parse(program.format(element="i64", number=number))
    simple = module.run_passes("gradir-simplify")
    for each in (module, simple):
        assert_same_bits(each, np.full(2, number, np.int64))


def test_ignore_index_is_exact():
    """The target 2**53 is a class that does not exist, not the ignored 2**53 + 1."""
    module = gradir.parse("""
func.func @f(%x: tensor<2x3xf64>, %t: tensor<2xi64>) -> tensor<f64> {
  %y = nn.nll_loss %x, %t {ignore_index = 9007199254740993, reduction = "sum"}
     : tensor<2x3xf64>, tensor<2xi64> -> tensor<f64>
  func.return %y : tensor<f64>
}""")
    x = np.ones((2, 3))
    ignored, other = np.array([1, 2**53 + 1]), np.array([1, 2**53])
    native = gradir.compile(module, "f")
    assert gradir.interpret(module, "f", x, ignored)[0] == native(x, ignored)[0] == -1
    with pytest.raises(IndexError):
        gradir.interpret(module, "f", x, other)
    with pytest.raises(IndexError):
        native(x, other)


@pytest.mark.parametrize("program", [FULL, PAD], ids=["full", "pad"])
@pytest.mark.parametrize("number", ["1.0e39", "-1.0e39"])
@FLOATS
def test_too_large_is_infinite(program: str, number: str, element: Attribute):
    module = gradir.parse(program.format(element=element, number=number))
    largest = float(number) if element == f64 else float(number) * inf
    assert_same_bits(module, np.full(2, largest, numpy_dtype(element)))
    listed = constant(f"dense<[{number}, {number}]>", f"tensor<2x{element}>")
    assert_same_bits(listed, np.full(2, largest, numpy_dtype(element)))


@FLOATS
def test_rounded(element: Attribute):
    """Like NumPy's conversion, over all exponents, at ties, and at both ends."""
    bits = np.random.default_rng(0).integers(0, 2**64, 3000, dtype=np.uint64)
    ties = np.arange(-600, 600)
    numbers = [
        bits.view(np.float64), ties * 2.0**-10, ties * 2.0**-134, ties * 2.0**-26,
        np.array([65519, 65520, 2.0**128 * (1 - 2.0**-9), 2.0**128 * (1 - 2.0**-25), inf, -0.0]),
    ]  # fmt: skip
    given = np.concatenate(numbers)
    with np.errstate(all="ignore"):
        expected = cast_to(given, tensor(given.shape, element)).astype(np.float64)
    np.testing.assert_array_equal([rounded(x, element) for x in given.tolist()], expected)


def test_rounded_integers():
    assert rounded(2**53 + 1, i64) == 2**53 + 1
    assert rounded(10**400, f64) == inf
    assert rounded(-(10**400), f16) == -inf
