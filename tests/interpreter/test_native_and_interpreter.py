"""Native code and the interpreter know the same ops of arith and math, and agree at the edges."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from math import inf, nan
from typing import Any

import numpy as np
import pytest

import gradir
from gradir.codegen.bodies.op_table import OPS
from gradir.dialects.base.elementwise_arith import FORMS
from gradir.dialects.foreign.scalar_rules import ELEMENTWISE
from gradir.errors import IndexOutOfRange
from gradir.interpreter.numbers import NUMBER_OPS

BINARY = (
    *("addi", "subi", "muli", "divsi", "divui", "remsi", "remui", "floordivsi", "ceildivsi"),
    *("ceildivui", "andi", "ori", "xori", "shli", "shrsi", "shrui", "maxsi", "minsi", "maxui"),
    "minui",
)
UNARY = ("math.absi", "math.ctlz", "math.cttz", "math.ctpop")
PREDICATES = ("eq", "ne", "slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge")
WIDTHS = {"i1": 1, "i8": 8, "i16": 16, "i32": 32, "i64": 64, "index": 64}
FLOATS = ("f64", "f32", "f16", "bf16")


def test_both_know_the_same_ops() -> None:
    native = {op for op in OPS if op.name.split(".")[0] in ("arith", "math")}
    native = {op for op in native if op.name != "arith.constant"}
    assert native == NUMBER_OPS
    # on tensors too: no other op is lowered or interpreted there
    assert set(ELEMENTWISE) == NUMBER_OPS
    assert set(FORMS) <= NUMBER_OPS


def integer_lines(type_: str) -> tuple[list[str], list[str], list[str]]:
    """Lines of every integer op on %x and %y; the names of the results by their type."""
    lines: list[str] = []
    numbers: list[str] = []
    truths: list[str] = []
    for name in BINARY:
        lines.append(f"%{name} = arith.{name} %x, %y : {type_}")
        numbers.append(name)
    lines.append(f"%ipowi = math.ipowi %x, %y : {type_}")
    numbers.append("ipowi")
    for name in UNARY:
        short = name.split(".")[1]
        lines.append(f"%{short} = {name} %x : {type_}")
        numbers.append(short)
    for name in PREDICATES:
        lines.append(f"%{name} = arith.cmpi {name}, %x, %y : {type_}")
        truths.append(name)
    return lines, numbers, truths


def integer_program(kind: str, count: int) -> str:
    """All of them on tensors of a kind, made of i64 and returned as i64."""

    def shaped(element: str) -> str:
        return f"tensor<{count}x{element}>"

    lines, numbers, truths = integer_lines(shaped(kind))
    narrow = "index_cast" if kind == "index" else "trunci"
    widen = "index_cast" if kind == "index" else "extsi"
    same = kind == "i64"
    made = [
        f"%{v} = arith.ori %{v}0, %{v}0 : {shaped('i64')}"
        if same
        else f"%{v} = arith.{narrow} %{v}0 : {shaped('i64')} to {shaped(kind)}"
        for v in "xy"
    ]
    ends = [
        f"%{n}_ = arith.ori %{n}, %{n} : {shaped('i64')}"
        if same
        else f"%{n}_ = arith.{widen} %{n} : {shaped(kind)} to {shaped('i64')}"
        for n in numbers
    ]
    names = [*(f"%{n}_" for n in numbers), *(f"%{t}" for t in truths)]
    types = [shaped("i64")] * len(numbers) + [shaped("i1")] * len(truths)
    body = "\n  ".join([*made, *lines, *ends])
    return (
        f"func.func @f(%x0: {shaped('i64')}, %y0: {shaped('i64')}) -> ({', '.join(types)}) {{\n"
        f"  {body}\n  return {', '.join(names)} : {', '.join(types)}\n}}"
    )


def edges(bits: int) -> list[int]:
    low, high = -(1 << bits - 1), (1 << bits - 1) - 1
    found = {low, low + 1, -3, -2, -1, 0, 1, 2, 3, 5, bits - 1, bits, bits + 1, high - 1, high}
    return sorted(v for v in found if low <= v <= high)


@pytest.mark.parametrize("kind", WIDTHS)
def test_integers_at_the_edges(kind: str) -> None:
    """Wrapping, division by 0, the smallest number by -1, shifts by the width or more."""
    values = edges(WIDTHS[kind])
    x, y = (np.array(v, np.int64).ravel() for v in np.meshgrid(values, values))
    module = gradir.parse(integer_program(kind, x.size))
    expected = gradir.interpret(module, "f", x, y)
    found = gradir.compile(module, "f")(x, y)
    _, numbers, truths = integer_lines("")
    for name, one, other in zip([*numbers, *truths], expected, found, strict=True):
        np.testing.assert_array_equal(other, one, name)
    check_against_python(kind, x, y, expected)


def check_against_python(
    kind: str, x: np.ndarray[Any, Any], y: np.ndarray[Any, Any], results: Sequence[Any]
) -> None:
    """Some of them against the numbers of Python, so that both cannot be wrong alike."""
    bits = WIDTHS[kind]

    def wrapped(number: int) -> int:
        return (number + (1 << bits - 1)) % (1 << bits) - (1 << bits - 1)

    by_name = dict(zip(BINARY, results, strict=False))
    for k, (a, b) in enumerate(zip(x.tolist(), y.tolist(), strict=True)):
        assert by_name["addi"][k] == wrapped(a + b)
        assert by_name["subi"][k] == wrapped(a - b)
        assert by_name["muli"][k] == wrapped(a * b)
        assert by_name["floordivsi"][k] == (wrapped(a // b) if b else 0)
        assert by_name["ceildivsi"][k] == (wrapped(-(-a // b)) if b else 0)
        mask = (1 << bits) - 1
        assert by_name["remui"][k] == (wrapped((a & mask) % (b & mask)) if b else 0)
        amount = b & mask
        assert by_name["shli"][k] == (wrapped(a << amount) if amount < bits else 0)
        assert by_name["shrui"][k] == (wrapped((a & mask) >> amount) if amount < bits else 0)
        assert by_name["shrsi"][k] == a >> min(amount, bits - 1)


def conversion_program(float_: str, integer: str) -> str:
    return f"""
    func.func @f(%x: {float_}, %n0: i64) -> ({float_}, {float_}, i64, i64) {{
      %n = arith.{"index_cast" if integer == "index" else "trunci"} %n0 : i64 to {integer}
      %s = arith.sitofp %n : {integer} to {float_}
      %u = arith.uitofp %n : {integer} to {float_}
      %a = arith.fptosi %x : {float_} to {integer}
      %b = arith.fptoui %x : {float_} to {integer}
      %c = arith.extsi %a : {integer} to i64
      %d = arith.extsi %b : {integer} to i64
      return %s, %u, %c, %d : {float_}, {float_}, i64, i64
    }}"""


@pytest.mark.parametrize("float_", FLOATS)
@pytest.mark.parametrize("integer", ["i1", "i8", "i16", "i32", "i64"])
def test_conversions_at_the_edges(float_: str, integer: str) -> None:
    """nan, inf and numbers out of range saturate; i1 true is -1 with a sign and 1 without."""
    bits, text = WIDTHS[integer], conversion_program(float_, integer)
    if integer == "i64":
        text = text.replace("trunci %n0 : i64 to i64", "ori %n0, %n0 : i64")
        text = text.replace("extsi %a : i64 to i64", "ori %a, %a : i64")
        text = text.replace("extsi %b : i64 to i64", "ori %b, %b : i64")
    module = gradir.parse(text)
    run = gradir.compile(module, "f")
    specials = [nan, inf, -inf, 0.0, -0.0, 0.5, -0.5, 1.0, -1.0, 1.99, -1.99, 2.0, -2.0]
    large = [s * 2.0**k for k in (bits - 1, bits) for s in (1, -1, 0.99, -0.99, 1.01)]
    integers = [*edges(bits), 3 << 52, (1 << 24) + 1, 0x01010001, (1 << 53) + 1]
    low, high = -(1 << bits - 1), (1 << bits - 1) - 1
    integers = [n for n in integers if low <= n <= high]
    xs = [*specials, *large]
    for k in range(max(len(xs), len(integers))):
        x, n = xs[k % len(xs)], integers[k % len(integers)]
        with np.errstate(all="ignore"):
            given = np.asarray(x, _dtype(float_))
        expected = gradir.interpret(module, "f", given, n)
        np.testing.assert_array_equal(
            [np.float64(r) for r in run(given, n)],
            [np.float64(r) for r in expected],
            f"{x} {n}",
        )


def _dtype(name: str) -> Any:
    from gradir.dialects.array.creation import numpy_dtype
    from gradir.dialects.base.shapes import NUMPY_NAMES

    return {str(e): numpy_dtype(e) for e in NUMPY_NAMES}[name]


def test_true_as_a_number() -> None:
    """As MLIR means it: i1 with a sign holds 0 and -1."""
    text = """
    func.func @f(%x: i1) -> (f64, f64, i64, i64) {
      %s = arith.sitofp %x : i1 to f64
      %u = arith.uitofp %x : i1 to f64
      %a = arith.extsi %x : i1 to i64
      %b = arith.extui %x : i1 to i64
      return %s, %u, %a, %b : f64, f64, i64, i64
    }"""
    module = gradir.parse(text)
    assert gradir.interpret(module, "f", True) == (-1.0, 1.0, -1, 1)
    assert gradir.compile(module, "f")(True) == (-1.0, 1.0, -1, 1)


def test_no_rows() -> None:
    """An access to a tensor without elements fails where it runs: not in a loop of no trips."""
    module = gradir.parse("""
func.func @f(%t: tensor<0x3xf32>, %n: index) -> (f32, tensor<0x3xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %z = arith.constant 1.5 : f32
  %r, %u = scf.for %i = %c0 to %n step %c1 iter_args(%a = %z, %w = %t) -> (f32, tensor<0x3xf32>) {
    %e = tensor.extract %t[%i, %c1] : tensor<0x3xf32>
    %b = arith.addf %a, %e : f32
    %v = tensor.insert %b into %w[%i, %c1] : tensor<0x3xf32>
    scf.yield %b, %v : f32, tensor<0x3xf32>
  }
  return %r, %u : f32, tensor<0x3xf32>
}""")
    empty = np.zeros((0, 3), np.float32)
    for run in (partial(gradir.interpret, module, "f"), gradir.compile(module, "f")):
        assert run(empty, 0)[0] == 1.5
        with pytest.raises(IndexOutOfRange, match="index 0 is out of range for a size of 0"):
            run(empty, 1)
