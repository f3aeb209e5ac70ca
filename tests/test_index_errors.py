"""An index error names the op that was written, wherever the program runs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gradir
from gradir.errors import IndexOutOfRange

LOSS = """func.func @f(%x: tensor<2x3xf64>, %t: tensor<2xi64>, %w: tensor<3xf64>) -> tensor<f64> {{
  %y = {op} %x, %t, %w : tensor<2x3xf64>, tensor<2xi64>, tensor<3xf64> -> tensor<f64>
  func.return %y : tensor<f64>
}}"""
TAKE = """func.func @f(%x: tensor<2x3xf64>, %t: tensor<2xi64>, %w: tensor<3xf64>) -> tensor<2xf64> {
  %y = array.take %w, %t : tensor<3xf64>, tensor<2xi64> -> tensor<2xf64>
  func.return %y : tensor<2xf64>
}"""
BACKWARD = """
func.func @f(%x: tensor<2x3xf64>, %t: tensor<2xi64>, %w: tensor<3xf64>) -> tensor<2x3xf64> {
  %c = array.full {value = 1.0} : tensor<f64>
  %y = grad.nll_loss_backward %c, %t, %w : tensor<f64>, tensor<2xi64>, tensor<3xf64>
     -> tensor<2x3xf64>
  func.return %y : tensor<2x3xf64>
}"""
PROGRAMS = {
    "nn.cross_entropy": LOSS.format(op="nn.cross_entropy"),
    "nn.nll_loss": LOSS.format(op="nn.nll_loss"),
    "array.take": TAKE,
    "grad.nll_loss_backward": BACKWARD,
}


def run_native(module: gradir.Module, function: str, *arrays: Any) -> Any:
    return gradir.compile(module, function)(*arrays)


@pytest.mark.parametrize("run", [gradir.interpret, run_native])
@pytest.mark.parametrize("op", PROGRAMS)
def test_the_op_that_was_written(op: str, run: Any):
    program = PROGRAMS[op]
    line = next(k for k, text in enumerate(program.split("\n"), 1) if op in text)
    wanted = f"<string>:{line}:3: {op}: index 7 is out of range for a size of 3"
    module = gradir.parse(program)
    arrays = np.ones((2, 3)), np.array([0, 7]), np.ones(3)
    for each in (module, module.run_passes("gradir-decompose")):
        with pytest.raises(IndexOutOfRange) as caught:
            run(each, "f", *arrays)
        assert str(caught.value) == wanted


def test_the_source_survives_text():
    """A decomposed program says the same after it was printed and parsed."""
    module = gradir.parse(PROGRAMS["nn.cross_entropy"]).run_passes("gradir-decompose")
    again = gradir.parse(str(module))
    arrays = np.ones((2, 3)), np.array([0, 7]), np.ones(3)
    with pytest.raises(IndexOutOfRange, match=r"nn\.cross_entropy: index 7 is"):
        gradir.interpret(again, "f", *arrays)
