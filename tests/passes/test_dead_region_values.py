"""Dead values across regions: tapes whose size alone is read."""

from __future__ import annotations

import numpy as np
import pytest

import gradir

SIZE_ALONE = """
func.func @g(%x: tensor<f64>, %n: index) -> (tensor<f64>, index) {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %t = grad.tape_new : {tape}
  %e = arith.constant 2.0 : f64
  %y, %u = scf.for %i = %c0 to %n step %c1 iter_args(%a = %x, %s = %t)
      -> (tensor<f64>, {tape}) {{
    %b = array.add %a, %a : tensor<f64>
    %v = grad.tape_push %s, {values} : {tape}
    scf.yield %b, %v : tensor<f64>, {tape}
  }}
  %k = grad.tape_size %u : {tape}
  %z = array.multiply %x, %x : tensor<f64>
  func.return %z, %k : tensor<f64>, index
}}
"""


@pytest.mark.parametrize(
    ("values", "columns"), [("%b", "tensor<f64>"), ("%b, %e", "tensor<f64>, f64")]
)
def test_a_tape_keeps_a_column_for_its_size(values: str, columns: str) -> None:
    """A record is pushed of existing values: they are not removed under it."""
    module = gradir.parse(SIZE_ALONE.format(tape=f"!grad.tape<{columns}>", values=values))
    derived = module.gradient("g", of=[0], mode="vjp")
    derivative = str(derived).partition("@g_vjp")[2]
    assert "!grad.tape<tensor<f64>>" in derivative
    assert "f64, f64>" not in derivative
    arguments = np.float64(3.0), 5, np.float64(1.0)
    found = gradir.compile(derived, "g_vjp")(*arguments)
    expected = gradir.interpret(derived, "g_vjp", *arguments)
    for results in (found, expected):
        assert [float(r) for r in results] == [9, 5, 6]
