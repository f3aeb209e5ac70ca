"""grad.custom_vjp: derivatives written by hand, in all modes and orders, in loops, natively."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gradir
from gradir.errors import PassError
from gradir.testing import check_grads

Array = np.ndarray[Any, np.dtype[Any]]

# The cube of x, whose derivative says that it is 7 x**2 * ct, which no rule would.
ODD_CUBE = """
grad.custom_vjp @cube, @cube_forward, @cube_backward
func.func @cube(%x: tensor<3xf64>) -> tensor<3xf64> {
  %square = array.multiply %x, %x : tensor<3xf64>
  %y = array.multiply %square, %x : tensor<3xf64>
  func.return %y : tensor<3xf64>
}
func.func @cube_forward(%x: tensor<3xf64>) -> (tensor<3xf64>, tensor<3xf64>) {
  %y = func.call @cube(%x) : (tensor<3xf64>) -> tensor<3xf64>
  %square = array.multiply %x, %x : tensor<3xf64>
  func.return %y, %square : tensor<3xf64>, tensor<3xf64>
}
func.func @cube_backward(%square: tensor<3xf64>, %ct: tensor<3xf64>) -> tensor<3xf64> {
  %seven = array.full {value = 7.0} : tensor<3xf64>
  %slope = array.multiply %seven, %square : tensor<3xf64>
  %x_ct = array.multiply %slope, %ct : tensor<3xf64>
  func.return %x_ct : tensor<3xf64>
}
func.func @f(%x: tensor<3xf64>) -> tensor<f64> {
  %y = func.call @cube(%x) : (tensor<3xf64>) -> tensor<3xf64>
  %z = array.sum %y : tensor<3xf64> -> tensor<f64>
  func.return %z : tensor<f64>
}
func.func @loop(%x: tensor<3xf64>, %n: index) -> tensor<3xf64> {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %scale = array.full {value = 0.5} : tensor<3xf64>
  %y = scf.for %i = %zero to %n step %one iter_args(%a = %x) -> (tensor<3xf64>) {
    %b = func.call @cube(%a) : (tensor<3xf64>) -> tensor<3xf64>
    %c = array.multiply %b, %scale : tensor<3xf64>
    scf.yield %c : tensor<3xf64>
  }
  func.return %y : tensor<3xf64>
}
func.func @stage(%x: tensor<3xf64>) -> tensor<3xf64> {
  %a = grad.start_checkpoint %x : tensor<3xf64>
  %b = func.call @cube(%a) : (tensor<3xf64>) -> tensor<3xf64>
  %c = array.sin %b : tensor<3xf64>
  %y = grad.end_checkpoint %c : tensor<3xf64>
  func.return %y : tensor<3xf64>
}
"""
X = np.array([0.5, -1.0, 1.5])


def both(module: gradir.Module, name: str, *arguments: Any) -> tuple[Array, ...]:
    """What the interpreter says, which native code agrees with."""
    expected = gradir.interpret(module, name, *arguments)
    for one, other in zip(gradir.compile(module, name)(*arguments), expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12)
    return expected


@pytest.mark.parametrize("policy", ["keep_all", "keep_none", "auto"])
@pytest.mark.parametrize("function", ["f", "cube"])
def test_the_rule_is_the_one_given(function: str, policy: str) -> None:
    """Of a caller and of the function itself, whatever is recomputed."""
    module = gradir.parse(ODD_CUBE).gradient(function, mode="grad", policy=policy)
    results = both(module, f"{function}_grad", X)
    np.testing.assert_allclose(results[0], np.sum(X**3) if function == "f" else X**3)
    np.testing.assert_allclose(results[1], 7 * X**2)


def test_split_mode_keeps_the_residuals() -> None:
    module = gradir.parse(ODD_CUBE).gradient("f")
    _, *residuals = gradir.interpret(module, "f_fwd", X)
    [x_ct] = gradir.interpret(module, "f_bwd", *residuals, np.array(2.0))
    np.testing.assert_allclose(x_ct, 14 * X**2)


def test_second_order_is_that_of_the_backward_function() -> None:
    module = gradir.parse(ODD_CUBE).gradient("f", mode="grad")
    v = np.array([1.0, 2.0, -1.0])
    twice = module.gradient("f_grad", of=1, mode="vjp")
    np.testing.assert_allclose(both(twice, "f_grad_vjp", X, v)[-1], 14 * X * v)
    forward = module.gradient("f_grad", of=1, mode="jvp")
    np.testing.assert_allclose(both(forward, "f_grad_jvp", X, v)[-1], 14 * X * v)


def test_in_a_loop() -> None:
    """Residuals of calls go on the tape: of y -> y**3 / 2, the slope is 7 y**2 / 2 each time."""
    module = gradir.parse(ODD_CUBE).gradient("loop", mode="vjp")
    ct = np.array([1.0, -2.0, 0.5])
    expected, y = ct, X
    for _ in range(3):
        expected, y = expected * 3.5 * y**2, y**3 / 2
    result, x_ct = both(module, "loop_vjp", X, 3, ct)
    np.testing.assert_allclose(result, y)
    np.testing.assert_allclose(x_ct, expected)


def test_in_a_stage() -> None:
    module = gradir.parse(ODD_CUBE).gradient("stage", mode="vjp")
    _, x_ct = both(module, "stage_vjp", X, np.ones(3))
    np.testing.assert_allclose(x_ct, np.cos(X**3) * 7 * X**2)


def test_a_true_derivative_passes_the_check() -> None:
    """Both orders, where the given rule is the derivative."""
    check_grads(gradir.parse(ODD_CUBE.replace("7.0", "3.0")), [X], function="f")


def test_inlining_keeps_the_derivative() -> None:
    """Calls stay where inlining them would bring another derivative, unless all must go."""
    module = gradir.parse(ODD_CUBE)
    kept = module.run_passes("gradir-inline{function=f}").gradient("f", mode="grad")
    np.testing.assert_allclose(gradir.interpret(kept, "f_grad", X)[1], 7 * X**2)
    flat = module.run_passes("gradir-inline{function=f every=true}").gradient("f", mode="grad")
    np.testing.assert_allclose(gradir.interpret(flat, "f_grad", X)[1], 3 * X**2)


def test_forward_mode_is_refused() -> None:
    with pytest.raises(PassError, match="@cube has a vjp of its own and no jvp"):
        gradir.parse(ODD_CUBE).gradient("cube", mode="jvp")


def test_values_inside_are_not_asked_for() -> None:
    with pytest.raises(PassError, match="no value of @cube is named 'square'"):
        text = ODD_CUBE.replace("array.multiply %x, %x", 'grad.name %x {name = "square"}', 1)
        gradir.parse(text).gradient("cube", of="square")


def test_a_declared_jvp_is_specialized_with_its_function() -> None:
    text = """
grad.custom_vjp @f, @f_forward, @f_backward jvp @f_jvp
func.func @f(%x: tensor<?xf64>, %n: tensor<?xi64>) -> tensor<?xf64> {
  %y = array.ceil %x : tensor<?xf64>
  func.return %y : tensor<?xf64>
}
func.func @f_forward(%x: tensor<?xf64>, %n: tensor<?xi64>) -> tensor<?xf64> {
  %y = array.floor %x : tensor<?xf64>
  func.return %y : tensor<?xf64>
}
func.func @f_backward(%y_ct: tensor<?xf64>) -> tensor<?xf64> {
  func.return %y_ct : tensor<?xf64>
}
func.func @f_jvp(%x: tensor<?xf64>, %n: tensor<?xi64>, %t: tensor<?xf64>)
    -> (tensor<?xf64>, tensor<?xf64>) {
  %y = array.round %x : tensor<?xf64>
  %y_tangent = array.multiply %t, %x : tensor<?xf64>
  func.return %y, %y_tangent : tensor<?xf64>, tensor<?xf64>
}
func.func @g(%x: tensor<?xf64>, %n: tensor<?xi64>) -> tensor<?xf64> {
  %y = func.call @f(%x, %n) : (tensor<?xf64>, tensor<?xi64>) -> tensor<?xf64>
  %z = array.negative %y : tensor<?xf64>
  func.return %z : tensor<?xf64>
}
"""
    module = gradir.parse(text).gradient("g", mode="jvp")
    for size in (3, 2):
        x, n = X[:size], np.arange(size)
        value, tangent = gradir.compile(module, "g_jvp")(x, n, x)
        np.testing.assert_array_equal(value, -np.round(x))
        np.testing.assert_array_equal(tangent, -x * x)
