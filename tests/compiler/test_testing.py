"""gradir.testing.check_grads: what it accepts, what it finds, and how it says so."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import gradir
import gradir.numpy as gnp
from gradir import GradirError, Module
from gradir.dialects.array.elementwise import SinOp, TanhOp
from gradir.dialects.base.interfaces import Cotangents
from gradir.dialects.base.value import Value
from gradir.dialects.building.points import TanhAtOp
from gradir.errors import ArgumentError, ArgumentTypeError, PassError
from gradir.testing import GradientMismatch, check_grads

X = np.linspace(-1, 1, 12).reshape(3, 4)
W = np.linspace(0.5, 2, 4)

NET = """
func.func private @layer(%x: tensor<3x4xf32>, %w: tensor<4xf32> {grad.name = "weight"})
    -> tensor<3xf32> {
  %a = array.tanh %x : tensor<3x4xf32>
  %y = array.matmul %a, %w : tensor<3x4xf32>, tensor<4xf32> -> tensor<3xf32>
  func.return %y : tensor<3xf32>
}
func.func @net(%x: tensor<3x4xf32>, %i: tensor<2xi64>, %w: tensor<4xf32>) -> tensor<f32> {
  %half = array.constant {value = dense<0.5> : tensor<3xf32>} : tensor<3xf32>
  %y = func.call @layer(%x, %w) : (tensor<3x4xf32>, tensor<4xf32>) -> tensor<3xf32>
  %z = array.multiply %y, %half : tensor<3xf32>
  %t = array.take %z, %i : tensor<3xf32>, tensor<2xi64> -> tensor<2xf32>
  %u = array.square %t : tensor<2xf32>
  %s = array.sum %u : tensor<2xf32> -> tensor<f32>
  func.return %s : tensor<f32>
}
"""
PICKED = np.array([2, 0])


@pytest.fixture(scope="module")
def net() -> Module:
    return gradir.parse(NET)


def unary(op: str) -> Module:
    return gradir.parse(
        f"func.func @f(%x: tensor<3x4xf64>) -> tensor<3x4xf64> {{\n"
        f"  %y = array.{op} %x : tensor<3x4xf64>\n  func.return %y : tensor<3x4xf64>\n}}"
    )


@dataclass
class Traced:
    module: Module
    function: str


def test_right_gradients_pass(net: Module):
    check_grads((net, "net"), [X.astype(np.float32), PICKED, W])
    check_grads(net, [X, PICKED, W.tolist()], order=3, function="net", native=False)
    check_grads(Traced(net, "layer"), [X, W], order=1)
    check_grads((net, "net"), [X, PICKED, W], order=0)


def test_computed_in_double(net: Module):
    """An f32 program meets a tolerance that f32 arithmetic could not."""
    check_grads((net, "net"), [X, PICKED, W], atol=1e-9, rtol=1e-9)


def test_first_order_found(monkeypatch: pytest.MonkeyPatch):
    def wrong(self: TanhAtOp, ct: Value, y: Value, x: Value) -> Cotangents:
        return [ct * (1 - y * x)]

    monkeypatch.setattr(TanhAtOp, "vjp", wrong)
    with pytest.raises(GradientMismatch) as caught:
        check_grads((unary("tanh"), "f"), [X])
    message = str(caught.value)
    assert isinstance(caught.value, AssertionError) and isinstance(caught.value, GradirError)
    assert message.startswith("@f: gradient of order 1 in argument 0 (%x), projected")
    assert "by central differences, got" in message and "worst at [" in message


def test_worst_element_is_named(monkeypatch: pytest.MonkeyPatch):
    def wrong(self: TanhAtOp, ct: Value, y: Value, x: Value) -> Cotangents:
        from gradir.dialects.array.elementwise import WhereOp

        right = ct * (1 - y * y)
        return [WhereOp.on(y > 0.7, ct * 7, right)]

    monkeypatch.setattr(TanhAtOp, "vjp", wrong)
    with pytest.raises(GradientMismatch, match=r"worst at \[2, 3\]: expected -?\d"):
        check_grads((unary("tanh"), "f"), [X])


def test_second_order_found(monkeypatch: pytest.MonkeyPatch):
    def first_order_only(self: SinOp, ct: Value, y: Value, x: Value) -> Cotangents:
        from gradir.dialects.array.elementwise import CosOp
        from gradir.dialects.grad.grad import NoGradOp

        return [ct * NoGradOp.on(CosOp.on(x))]

    monkeypatch.setattr(SinOp, "vjp", first_order_only)
    check_grads((unary("sin"), "f"), [X], order=1)
    with pytest.raises(GradientMismatch, match="@f_vjp: gradient of order 2 in argument 0"):
        check_grads((unary("sin"), "f"), [X])


def test_native_code_found(monkeypatch: pytest.MonkeyPatch):
    def wrong(self: TanhOp, x: np.ndarray) -> np.ndarray:
        return np.tanh(x) + np.eye(3, 4)

    monkeypatch.setattr(TanhOp, "numpy", wrong)
    with pytest.raises(GradientMismatch, match=r"native code differs .* in result 0 at \[0, 0\]"):
        check_grads((unary("tanh"), "f"), [X], order=0)


def test_not_finite():
    with pytest.raises(GradientMismatch, match="result 0 is not finite"):
        check_grads((unary("log"), "f"), [X])


def test_wrt(monkeypatch: pytest.MonkeyPatch, net: Module):
    def wrong(self: TanhOp, ct: Value, y: Value, x: Value) -> Cotangents:
        return [ct]

    monkeypatch.setattr(TanhOp, "vjp", wrong)
    check_grads((net, "net"), [X, PICKED, W], order=1, wrt=2)
    check_grads((net, "layer"), [X, W], order=1, wrt=["weight"])
    with pytest.raises(GradientMismatch, match=r"argument 0 \(%x\)"):
        check_grads((net, "net"), [X, PICKED, W], order=1, wrt=[2, 0])


def test_arguments_stay_as_they_are(net: Module):
    x = X.copy()
    check_grads((net, "net"), [x, PICKED, W])
    np.testing.assert_array_equal(x, X)


def loss(params: dict[str, Any], x: Any, steps: int = 2) -> Any:
    h = x
    for _ in range(steps):
        h = gnp.tanh(h * params["w"] + params["b"])
    return {"loss": gnp.sum(h * h), "h": h}


def own_gradient(x: Any) -> Any:
    return gnp.sin(x) * x


def test_python_functions():
    """Arguments and results may be nested, and of any floating type; numbers may be Python's."""
    params = {"w": np.linspace(0.5, 2, 4, dtype=np.float32), "b": 0.25}
    check_grads(loss, [params, X.astype(np.float32)], order=2)
    check_grads(gradir.jit(loss), (params, X), native=False)

    def summed(x: Any) -> Any:
        return gnp.sum(own_gradient(x))

    def taken(x: Any, i: Any) -> Any:
        return gnp.take(x, i, axis=0)

    check_grads(gradir.grad(summed), [X], order=1, native=False)
    check_grads(taken, [X, PICKED], native=False)
    check_grads(gradir.checkpoint(gnp.exp), [X], native=False)


def test_python_functions_that_are_wrong():
    @gradir.custom_vjp
    def wrong(x: Any) -> Any:
        return gnp.sin(x)

    def forward(x: Any) -> Any:
        return gnp.sin(x), x

    def backward(x: Any, ct: Any) -> Any:
        return (ct * x,)

    def calls(x: Any) -> Any:
        return wrong(x)

    def branches(x: Any) -> Any:
        return x if x > 0 else -x

    wrong.defvjp(forward, backward)
    with pytest.raises(GradientMismatch, match=r"argument 0 \(%x\)"):
        check_grads(calls, [X], order=1)
    with pytest.raises(ArgumentTypeError, match="function: names one of a Module, got 'f'"):
        check_grads(loss, [{}, X], function="f")
    with pytest.raises(GradirError):
        check_grads(branches, [1.0])


def test_wrt_of_a_python_function():
    """By place among the arrays, or by the name that gradir.trace gives."""
    params = {"w": np.linspace(0.5, 2, 4), "b": np.float64(0.25)}
    for wrt in ([0], [2], ["params_w", "x"], "x"):
        check_grads(loss, [params, X], order=1, wrt=wrt, native=False)


@pytest.mark.parametrize(
    ("fn", "message"),
    [
        (3, "expected a Python function, .module, 'name'. or an object with .module and "),
    ],
)
def test_refused_functions(fn: object, message: str):
    with pytest.raises(ArgumentTypeError, match=message):
        check_grads(fn, [X])


def test_refusals(net: Module):
    with pytest.raises(ArgumentTypeError, match="name the function of the module"):
        check_grads(net, [X])
    with pytest.raises(ArgumentError, match="no function @nobody; functions: @layer, @net"):
        check_grads((net, "nobody"), [X])
    with pytest.raises(ArgumentTypeError, match="args: expected 3 for @net, got 1"):
        check_grads((net, "net"), [X])
    with pytest.raises(ArgumentError, match=r"argument 2 \(%w\) of @net .* got shape \(3,\)"):
        check_grads((net, "net"), [X, PICKED, W[:3]])
    with pytest.raises(ArgumentError, match="order must be an integer >= 0, got -1"):
        check_grads((net, "net"), [X, PICKED, W], order=-1)
    with pytest.raises(PassError, match="wrt: 1 of @net must be floating"):
        check_grads((net, "net"), [X, PICKED, W], wrt=1)


def test_nothing_to_differentiate():
    module = gradir.parse(
        "func.func @f(%x: tensor<2xi64>) -> tensor<2xi64> {\n"
        "  %y = array.negative %x : tensor<2xi64>\n  func.return %y : tensor<2xi64>\n}"
    )
    args: Sequence[object] = [np.array([1, 2])]
    with pytest.raises(ArgumentError, match="@f has no floating argument"):
        check_grads((module, "f"), args)


def test_is_an_attribute_of_the_package():
    program = "import gradir; print(gradir.testing.check_grads.__name__, hasattr(gradir, 'tests'))"
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert found.stdout.split() == ["check_grads", "False"], found.stderr
