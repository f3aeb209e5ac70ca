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
GATHER = """func.func @f(%x: tensor<2x3xf64>, %t: tensor<2xi64>, %w: tensor<3xf64>) -> tensor<f64> {
  %y = array.gather_nd %x, %t : tensor<2x3xf64>, tensor<2xi64> -> tensor<f64>
  func.return %y : tensor<f64>
}"""
SCATTER = """
func.func @f(%x: tensor<2x3xf64>, %t: tensor<2xi64>, %w: tensor<3xf64>) -> tensor<2x3xf64> {
  %u = array.full {value = 1.0} : tensor<f64>
  %y = array.scatter_nd_add %x, %t, %u : tensor<2x3xf64>, tensor<2xi64>, tensor<f64>
     -> tensor<2x3xf64>
  func.return %y : tensor<2x3xf64>
}"""
UPDATE = """
func.func @f(%x: tensor<2x3xf64>, %t: tensor<2xi64>, %w: tensor<3xf64>) -> tensor<3xf64> {
  %u = array.full {value = 1.0} : tensor<2xf64>
  %y = array.index_update %w, %t, %u : tensor<3xf64>, tensor<2xi64>, tensor<2xf64> -> tensor<3xf64>
  func.return %y : tensor<3xf64>
}"""
ONE_HOT = """
func.func @f(%x: tensor<2x3xf64>, %t: tensor<2xi64>, %w: tensor<3xf64>) -> tensor<2x3xf64> {
  %y = array.one_hot %t {depth = 3} : tensor<2xi64> -> tensor<2x3xf64>
  func.return %y : tensor<2x3xf64>
}"""
PROGRAMS = {
    "array.gather_nd": GATHER,
    "array.scatter_nd_add": SCATTER,
    "array.index_update": UPDATE,
    "array.one_hot": ONE_HOT,
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


@pytest.mark.parametrize("run", [gradir.interpret, run_native])
def test_no_class_counts_from_the_end(run: Any):
    """Also where only the derivative looks at the targets, and among many."""
    text = LOSS.format(op="nn.cross_entropy").replace("<2x3x", "<200x3x").replace("<2x", "<200x")
    module = gradir.parse(text).gradient("f", wrt=[0], mode="split")
    backward = module.run_passes("gradir-decompose")
    targets = np.arange(200) % 3
    arrays = [np.ones((200, 3)), targets, np.ones(3)]
    _, *residuals = run(module, "f_fwd", *arrays)
    given = [r if r.dtype.kind == "f" else targets for r in residuals]
    targets[150] = -1
    message = r"(cross_entropy|nll_loss_backward): index -1 is out of range for a size of 3"
    for each, function, inputs in (
        (module, "f_fwd", arrays),
        (module, "f_bwd", [*given, np.float64(1)]),
        (backward, "f_bwd", [*given, np.float64(1)]),
    ):
        with pytest.raises(IndexOutOfRange, match=message):
            run(each, function, *inputs)


LARGE = {
    "array.gather_nd": """func.func @f(%t: tensor<900x400x1xi64>) -> tensor<900x400xf32> {
  %x = array.full {value = 1.0} : tensor<900x3xf32>
  %y = array.gather_nd %x, %t {batch_dims = 1} : tensor<900x3xf32>, tensor<900x400x1xi64>
     -> tensor<900x400xf32>
  func.return %y : tensor<900x400xf32>
}""",
    "array.scatter_nd_add": """func.func @f(%t: tensor<900x400x1xi64>) -> tensor<900x3xf32> {
  %x = array.full {value = 1.0} : tensor<900x3xf32>
  %u = array.full {value = 1.0} : tensor<900x400xf32>
  %y = array.scatter_nd_add %x, %t, %u {batch_dims = 1} : tensor<900x3xf32>,
     tensor<900x400x1xi64>, tensor<900x400xf32> -> tensor<900x3xf32>
  func.return %y : tensor<900x3xf32>
}""",
    "array.one_hot": """func.func @f(%t: tensor<900x400x1xi64>) -> tensor<900x400x1x3xf32> {
  %y = array.one_hot %t {depth = 3} : tensor<900x400x1xi64> -> tensor<900x400x1x3xf32>
  func.return %y : tensor<900x400x1x3xf32>
}""",
}


@pytest.mark.parametrize("op", LARGE)
def test_in_parallel_loops(op: str):
    """One wrong index among many, at which several threads look."""
    call = gradir.compile(gradir.parse(LARGE[op]), "f", threads=2)
    indices = np.zeros((900, 400, 1), np.int64)
    call(indices)
    indices[899, 7] = -4
    with pytest.raises(IndexOutOfRange, match=f"{op}: index -4 is out of range for a size of 3"):
        call(indices)


def test_the_source_survives_text():
    """A decomposed program says the same after it was printed and parsed."""
    module = gradir.parse(PROGRAMS["nn.cross_entropy"]).run_passes("gradir-decompose")
    again = gradir.parse(str(module))
    arrays = np.ones((2, 3)), np.array([0, 7]), np.ones(3)
    with pytest.raises(IndexOutOfRange, match=r"nn\.cross_entropy: index 7 is"):
        gradir.interpret(again, "f", *arrays)
