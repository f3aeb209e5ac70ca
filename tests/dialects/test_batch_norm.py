"""nn.batch_norm, whose results are not all differentiable: the derivative of y, and the state's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gradir
from gradir.testing import check_grads

Array = np.ndarray[Any, np.dtype[Any]]

SOURCE = """
func.func @f(%x: tensor<3x2x4xf64>, %s: tensor<2xf64>, %b: tensor<2xf64>, %m: tensor<2xf64>,
    %v: tensor<2xf64>) -> tensor<3x2x4xf64> {
  %y:5 = nn.batch_norm %x, %s, %b, %m, %v {training = TRAINING, eps = 0.01} : tensor<3x2x4xf64>,
    tensor<2xf64>, tensor<2xf64>, tensor<2xf64>, tensor<2xf64>
    -> (tensor<3x2x4xf64>, tensor<2xf64>, tensor<2xf64>, tensor<2xf64>, tensor<2xf64>)
  func.return RESULT
}
"""


def module_of(training: bool, result: int = 0) -> gradir.Module:
    text = SOURCE.replace("TRAINING", str(training).lower())
    if result:
        text = text.replace("-> tensor<3x2x4xf64> {", "-> tensor<2xf64> {")
    type_ = "tensor<2xf64>" if result else "tensor<3x2x4xf64>"
    return gradir.parse(text.replace("RESULT", f"%y#{result} : {type_}"))


def arrays() -> list[Array]:
    generator = np.random.default_rng(0)
    shapes = ((3, 2, 4), (2,), (2,), (2,), (2,))
    return [generator.uniform(0.5, 2, shape) for shape in shapes]


@pytest.mark.parametrize("training", [False, True])
def test_derivative_of_y(training: bool) -> None:
    check_grads((module_of(training), "f"), arrays(), order=2, wrt=[0, 1, 2])


@pytest.mark.parametrize("training", [False, True])
def test_no_gradient_into_the_state(training: bool) -> None:
    module = module_of(training).gradient("f", wrt=[3, 4], mode="vjp")
    _, *grads = gradir.interpret(module, "f_vjp", *arrays(), np.ones((3, 2, 4)))
    np.testing.assert_array_equal(grads, np.zeros((2, 2)))


@pytest.mark.parametrize("result", [1, 2, 3, 4])
def test_no_gradient_from_the_state(result: int) -> None:
    module = module_of(True, result).gradient("f", mode="vjp")
    _, *grads = gradir.interpret(module, "f_vjp", *arrays(), np.ones(2))
    assert all(not np.any(g) for g in grads)
