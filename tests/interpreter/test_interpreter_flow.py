"""Control flow and the `tensor` ops in the reference interpreter, against plain Python."""

from __future__ import annotations

import math

import numpy as np
import pytest

import gradir
from gradir.errors import ExecutionError, IndexOutOfRange

WHILE = """
func.func @f(%y0: f64) -> f64 {
  %zero = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %three = arith.constant 3 : i64
  %r:2 = scf.while (%y = %y0, %i = %zero) : (f64, i64) -> (f64, i64) {
    %more = arith.cmpi slt, %i, %three : i64
    scf.condition(%more) %y, %i : f64, i64
  } do {
  ^bb0(%y: f64, %i: i64):
    %sine = math.sin %y : f64
    %next = arith.mulf %sine, %y : f64
    %j = arith.addi %i, %one : i64
    scf.yield %next, %j : f64, i64
  }
  func.return %r#0 : f64
}
"""

ROWS = """
func.func @f(%m: tensor<4x3xf64>, %n: index, %limit: f64) -> (tensor<4x3xf64>, index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%a = %m) -> (tensor<4x3xf64>) {
    %e = tensor.extract %a[%i, %c1] : tensor<4x3xf64>
    %is_large = arith.cmpf ogt, %e, %limit : f64
    %z = scf.if %is_large -> (tensor<4x3xf64>) {
      %z1 = tensor.insert %limit into %a[%i, %c0] : tensor<4x3xf64>
      scf.yield %z1 : tensor<4x3xf64>
    } else {
      %row = tensor.extract_slice %a[%i, 0] [1, 3] [1, 1]
        : tensor<4x3xf64> to tensor<3xf64>
      %two = array.add %row, %row : tensor<3xf64>
      %z2 = tensor.insert_slice %two into %a[%i, 0] [1, 3] [1, 1]
        : tensor<3xf64> into tensor<4x3xf64>
      scf.yield %z2 : tensor<4x3xf64>
    }
    scf.yield %z : tensor<4x3xf64>
  }
  %chosen = scf.index_switch %n -> index
  case 2 {
    %four = arith.addi %n, %n : index
    scf.yield %four : index
  }
  default {
    scf.yield %c1 : index
  }
  %sum = scf.execute_region -> (index) {
    %s = arith.addi %chosen, %n : index
    scf.yield %s : index
  }
  func.return %r, %sum : tensor<4x3xf64>, index
}
"""


def test_while() -> None:
    expected = 1.5
    for _ in range(3):
        expected *= math.sin(expected)
    (result,) = gradir.interpret(gradir.parse(WHILE), "f", 1.5)
    assert result == pytest.approx(expected, rel=1e-15)


@pytest.mark.parametrize("trips", [0, 2, 4])
def test_if_in_for(trips: int) -> None:
    m = np.arange(12.0).reshape(4, 3) - 3
    expected = m.copy()
    for row in expected[:trips]:
        if row[1] > 1.5:
            row[0] = 1.5
        else:
            row *= 2
    result, chosen = gradir.interpret(gradir.parse(ROWS), "f", m, trips, 1.5)
    np.testing.assert_array_equal(result, expected)
    assert chosen == {0: 1, 2: 6, 4: 5}[trips]
    assert chosen.dtype == np.int64
    np.testing.assert_array_equal(m, np.arange(12.0).reshape(4, 3) - 3)


def test_index_out_of_range() -> None:
    with pytest.raises(IndexOutOfRange, match=r"tensor\.extract: index 4 is out of range .* 4"):
        gradir.interpret(gradir.parse(ROWS), "f", np.zeros((4, 3)), 5, 1.5)


@pytest.mark.parametrize("step", [0, -1])
def test_step_must_be_positive(step: int) -> None:
    text = """func.func @f(%n: index, %s: index) -> index {
      %r = scf.for %i = %n to %n step %s iter_args(%a = %n) -> (index) { scf.yield %i : index }
      func.return %r : index
    }"""
    with pytest.raises(ExecutionError, match=f"scf.for: step must be positive, got {step}"):
        gradir.interpret(gradir.parse(text), "f", 3, step)


def test_deep_nesting() -> None:
    """Regions are not run by Python recursion."""
    depth = 60
    opening = "%c = arith.constant true\n"
    body = "%x"
    text = f"func.func @f(%x: f64) -> f64 {{ {opening}"
    for k in range(depth):
        text += f"%v{k} = scf.if %c -> (f64) {{\n"
    text += f"%s = arith.addf {body}, {body} : f64\n scf.yield %s : f64\n"
    for k in reversed(range(depth)):
        text += "} else { scf.yield %x : f64 }\n"
        text += f"scf.yield %v{k} : f64\n" if k else "func.return %v0 : f64 }"
    (result,) = gradir.interpret(gradir.parse(text), "f", 2.0)
    assert result == 4.0
