"""gradir.function_of: functions of programs in text under the transforms of Python."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import gradir
import gradir.numpy as gnp
from gradir import optim
from gradir.errors import ArgumentError, ArgumentTypeError, GradirError, TraceError

POWER = """
func.func @power(%x: f64, %n: index) -> f64 {
  %zero = arith.constant 0 : index
  %step = arith.constant 1 : index
  %one = arith.constant 1.0 : f64
  %y = scf.for %i = %zero to %n step %step iter_args(%p = %one) -> (f64) {
    %q = func.call @times(%p, %x) : (f64, f64) -> f64
    scf.yield %q : f64
  }
  func.return %y : f64
}
func.func private @times(%a: f64, %b: f64) -> f64 {
  %q = arith.mulf %a, %b : f64
  func.return %q : f64
}
"""

NET = """
func.func @net(%x: tensor<4x3xf32>) -> (tensor<4x2xf32>, tensor<f32>) {
  %w = arith.constant dense<[[0.5, 0.25], [0.5, -0.25], [1.0, 0.75]]> : tensor<3x2xf32>
  %h = array.matmul %x, %w : tensor<4x3xf32>, tensor<3x2xf32> -> tensor<4x2xf32>
  %start = grad.start_checkpoint %h : tensor<4x2xf32>
  %y = array.tanh %start : tensor<4x2xf32>
  %end = grad.end_checkpoint %y : tensor<4x2xf32>
  %s = array.sum %end : tensor<4x2xf32> -> tensor<f32>
  func.return %end, %s : tensor<4x2xf32>, tensor<f32>
}
"""


def test_transforms() -> None:
    power = gradir.function_of(gradir.parse(POWER), "power")
    assert power(2.0, 5) == 32 and power(x=2.0, n=3) == 8
    assert gradir.grad(power)(2.0, 5) == 80
    assert gradir.grad(gradir.grad(power))(2.0, 5) == 160
    assert gradir.jit(lambda a: power(a, 3) + power(a, n=2))(2.0) == 12
    rows = gradir.vmap(lambda x: power(x, 4))(np.arange(3.0))
    np.testing.assert_array_equal(rows, [0, 1, 16])
    value, tangent = gradir.jvp(lambda x: power(x, 3), (2.0,), (1.0,))
    assert (value, tangent) == (8, 12)
    assert pickle.loads(pickle.dumps(power))(2.0, 5) == 32
    assert repr(power) == "<gradir function @power of x, n>"


def test_functions_of_equal_names() -> None:
    """Two modules may have functions of one name, which a trace has both."""
    other = POWER.replace("arith.mulf", "arith.addf")
    product, total = (gradir.function_of(gradir.parse(t), "power") for t in (POWER, other))
    assert gradir.jit(lambda x: product(x, 3) + 100 * total(x, 3))(2.0) == 8 + 700


def test_training_and_limits() -> None:
    module, weights = gradir.parse(NET).lift_constants("net")
    net = gradir.function_of(module)
    x = np.random.default_rng(0).normal(size=(4, 3)).astype(np.float32)
    y, total = net(x, **weights)
    np.testing.assert_allclose(y, np.tanh(x @ weights["w"]), rtol=1e-5)
    np.testing.assert_allclose(total, y.sum(), rtol=1e-5)

    def loss(weights: dict[str, object], x: object) -> object:
        return gnp.mean((net(x, **weights)[0] - 0.5) ** 2)

    free = gradir.grad(loss)(weights, x)["w"]
    bounded = gradir.grad(loss, memory_limit=2000)(weights, x)["w"]
    np.testing.assert_array_equal(free, bounded)
    trainer = gradir.Trainer(loss, optim.adam(0.05), weights)
    losses = trainer.fit([x] * 10, 10).epochs["loss"]
    assert losses[-1] < 0.8 * losses[0]


def test_wrong_calls() -> None:
    module = gradir.parse(NET)
    net = gradir.function_of(module)
    with pytest.raises(TraceError, match=r"net: x: expected float32\[4, 3\], got float32\[2, 3\]"):
        net(np.ones((2, 3), np.float32))
    with pytest.raises(TraceError, match="net is called with 0 arguments: missing a required"):
        net()
    with pytest.raises(TraceError, match=r"net is called with .* unknown argument y; known: x"):
        net(np.ones((4, 3), np.float32), y=1)
    with pytest.raises(ArgumentTypeError, match="x: expected an array"):
        net("text")


def test_wrong_calls_in_a_trace() -> None:
    power = gradir.function_of(gradir.parse(POWER), "power")
    with pytest.raises(TraceError, match="power: expected the arguments x, n, got 1, q="):
        gradir.jit(lambda x: power(x, q=1))(2.0)
    with pytest.raises(TraceError, match=r"power: x: expected float64\[\], got float64\[2\]"):
        gradir.jit(lambda x: power(x, 1))(np.ones(2))


@pytest.mark.parametrize("number", [2.7, np.array(2.7), np.float32(2)])
def test_no_fraction_is_cut_off(number: object) -> None:
    power = gradir.function_of(gradir.parse(POWER), "power")
    with pytest.raises(TraceError, match=r"power: n: expected int64\[\], got float(32|64)\[\]"):
        power(2.0, number)
    assert power(2, np.int32(3)) == 8 and power(np.float32(2), True) == 2


def test_modules_that_are_refused() -> None:
    with pytest.raises(ArgumentError, match="which function\\? the module has @power, @times"):
        gradir.function_of(gradir.parse(POWER))
    with pytest.raises(GradirError, match="nothing"):
        gradir.function_of(gradir.parse(POWER), "nothing")
    text = "func.func @f(%x: tensor<?xf64>) -> tensor<?xf64> {\n  func.return %x : tensor<?xf64>\n}"
    with pytest.raises(ArgumentError, match=r"@f must have static shapes, got tensor<\?xf64>"):
        gradir.function_of(gradir.parse(text))
    named = text.replace("?xf64", '?xf64, "n"')
    with pytest.raises(ArgumentError, match="@f must have static shapes"):
        gradir.function_of(gradir.parse(named))
    with pytest.raises(ArgumentError, match=r"module: expected a gradir\.Module"):
        gradir.function_of(POWER, "power")  # pyrefly: ignore


LINEAR = """
func.func @f(%x: tensor<3xf64>, %w: tensor<3x2xf64>) -> tensor<2xf64> {
  %zero = arith.constant 0.0 : f64
  %e = tensor.empty() : tensor<2xf64>
  %z = linalg.fill ins(%zero : f64) outs(%e : tensor<2xf64>) -> tensor<2xf64>
  %y = linalg.vecmat ins(%x, %w : tensor<3xf64>, tensor<3x2xf64>)
      outs(%z : tensor<2xf64>) -> tensor<2xf64>
  func.return %y : tensor<2xf64>
}
"""


def test_linalg_on_rows() -> None:
    """Rows of a product are one product, not a loop."""
    f = gradir.function_of(gradir.parse(LINEAR))
    random = np.random.default_rng(0)
    x, w = random.normal(size=(5, 3)), random.normal(size=(3, 2))
    on_rows = gradir.jit(gradir.vmap(lambda x: f(x, w)))
    np.testing.assert_allclose(on_rows(x), x @ w, rtol=1e-12)
    names = {op.name for op in on_rows.lower(x).module.op.walk()}
    assert "scf.for" not in names


SLICES = """
func.func @f(%x: tensor<4x3xf64>, %y: tensor<2x2xf64>, %k: index) -> tensor<4x3xf64> {
  %s = tensor.extract_slice %x[%k, 0] [2, 2] [1, 2] : tensor<4x3xf64> to tensor<2x2xf64>
  %p = arith.mulf %s, %y : tensor<2x2xf64>
  %r = tensor.insert_slice %p into %x[1, 1] [2, 2] [2, 1]
      : tensor<2x2xf64> into tensor<4x3xf64>
  func.return %r : tensor<4x3xf64>
}
"""


@pytest.mark.parametrize("of_rows", [(0, None), (0, 0), (None, 0)])
@pytest.mark.parametrize("place_has_rows", [False, True])
def test_slices_on_rows(of_rows: tuple[int | None, ...], place_has_rows: bool) -> None:
    f = gradir.function_of(gradir.parse(SLICES))
    random = np.random.default_rng(0)
    x, y = (
        random.normal(size=(5, *shape) if axis == 0 else shape)
        for axis, shape in zip(of_rows, [(4, 3), (2, 2)], strict=True)
    )
    k = np.array([0, 1, 2, 1, 0]) if place_has_rows else np.array(1)
    axes = (*of_rows, 0 if place_has_rows else None)
    on_rows = gradir.jit(gradir.vmap(f, axes))

    def row(array: np.ndarray, axis: int | None, n: int) -> np.ndarray:
        return array if axis is None else array[n]

    expected = [
        f(*(row(a, axis, n) for a, axis in zip((x, y, k), axes, strict=True))) for n in range(5)
    ]
    np.testing.assert_array_equal(on_rows(x, y, k), expected)
    if not place_has_rows:
        names = {op.name for op in on_rows.lower(x, y, k).module.op.walk()}
        assert "scf.for" not in names
