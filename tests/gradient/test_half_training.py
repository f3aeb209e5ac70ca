"""Training in f16 and bf16 with f32 master weights, the loss scaled by the user's program.

The loss is normalized by a large constant, as for a batch out of a large set: unscaled, all
gradients are below the smallest number of f16.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from op_references import Array

import gradir
from gradir.dialects.array.creation import numpy_dtype
from gradir.dialects.base.shapes import NUMPY_NAMES

ELEMENTS = {str(element): element for element in NUMPY_NAMES}
NORMALIZER = 2.0**-24
STEPS = 400

PROGRAM = """
func.func @predict(%w1: tensor<2x16xf32>, %b1: tensor<16xf32>, %w2: tensor<16x1xf32>, %x: tensor<64x2xT>) -> tensor<64x1xT> {
  %v1 = array.astype %w1 : tensor<2x16xf32> -> tensor<2x16xT>
  %c1 = array.astype %b1 : tensor<16xf32> -> tensor<16xT>
  %v2 = array.astype %w2 : tensor<16x1xf32> -> tensor<16x1xT>
  %0 = array.matmul %x, %v1 : tensor<64x2xT>, tensor<2x16xT> -> tensor<64x16xT>
  %1 = array.broadcast_to %c1 : tensor<16xT> -> tensor<64x16xT>
  %2 = array.add %0, %1 : tensor<64x16xT>
  %h = array.tanh %2 : tensor<64x16xT>
  %y = array.matmul %h, %v2 : tensor<64x16xT>, tensor<16x1xT> -> tensor<64x1xT>
  func.return %y : tensor<64x1xT>
}
func.func @loss(%w1: tensor<2x16xf32>, %b1: tensor<16xf32>, %w2: tensor<16x1xf32>,
                %x: tensor<64x2xT> {grad.inactive}, %t: tensor<64x1xT> {grad.inactive},
                %scale: tensor<T> {grad.inactive}) -> tensor<T> {
  %y = func.call @predict(%w1, %b1, %w2, %x) : (tensor<2x16xf32>, tensor<16xf32>, tensor<16x1xf32>, tensor<64x2xT>) -> tensor<64x1xT>
  %e = array.subtract %y, %t : tensor<64x1xT>
  %s = array.square %e : tensor<64x1xT>
  %sum = array.sum %s : tensor<64x1xT> -> tensor<T>
  %normalizer = array.full {value = 5.9604644775390625e-8 : f64} : tensor<T>
  %mean = array.multiply %sum, %normalizer : tensor<T>
  %scaled = array.multiply %mean, %scale : tensor<T>
  func.return %scaled : tensor<T>
}"""  # noqa: E501


def data() -> tuple[Array, Array]:
    generator = np.random.default_rng(0)
    x: Array = generator.uniform(-1, 1, (64, 2))
    return x, 0.2 * np.sin(2 * x[:, :1]) * np.cos(x[:, 1:])


def train(name: str, scale: float) -> tuple[float, float, float]:
    """The loss before and after, and the largest gradient of the first step."""
    module = gradir.parse(PROGRAM.replace("T>", f"{name}>"))
    step = gradir.compile(module.gradient("loss", mode="grad"), "loss_grad")
    predict = gradir.compile(module, "predict")
    dtype = numpy_dtype(ELEMENTS[name])
    x, t = (v.astype(dtype) for v in data())
    generator = np.random.default_rng(1)
    weights: list[Array] = [
        generator.normal(0, size, shape).astype(np.float32)
        for size, shape in ((0.3, (2, 16)), (0.3, (16,)), (0.05, (16, 1)))
    ]

    def error() -> float:
        (y,) = predict(*weights, x)
        return float(np.mean((y.astype(np.float64) - t.astype(np.float64)) ** 2))

    before, largest = error(), 0.0
    for k in range(STEPS):
        _, *grads = step(*weights, x, t, np.array(scale, dtype))
        unscaled: list[Any] = [g / np.float32(scale * NORMALIZER) for g in grads]
        largest = max(float(np.max(np.abs(g))) for g in unscaled) if k == 0 else largest
        weights = [w - np.float32(0.01) * g for w, g in zip(weights, unscaled, strict=True)]
    return before, error(), largest


@pytest.fixture(scope="module")
def reached() -> float:
    """The loss that f32 falls to, without a scale."""
    before, after, _ = train("f32", 1.0)
    assert after < before / 8
    return after


@pytest.mark.parametrize(("name", "scale"), [("f16", 2.0**15), ("bf16", 1.0), ("bf16", 2.0**15)])
def test_reaches_what_f32_reaches(name: str, scale: float, reached: float) -> None:
    before, after, largest = train(name, scale)
    assert largest > 0
    assert after < before / 8
    assert abs(after - reached) < 0.02 * reached


def test_without_a_scale_f16_does_not_learn() -> None:
    before, after, largest = train("f16", 1.0)
    assert largest == 0 and before == after


@pytest.mark.parametrize("element", ["f16", "bf16"])
@pytest.mark.parametrize(
    "op",
    [
        "array.take %x, %i {axis = 0} : tensor<2x3xT>, tensor<4000xi64>",
        "array.gather_nd %x, %i : tensor<2x3xT>, tensor<4000x1xi64>",
        "array.take_along_axis %x, %i {axis = 0} : tensor<2x3xT>, tensor<4000x3xi64>",
        "nn.embedding %x, %i : tensor<2x3xT>, tensor<4000xi64>",
    ],
    ids=lambda op: op.split()[0],
)
def test_gradients_of_rows_read_often_are_summed_in_f32(op: str, element: str):
    """A sum of ones in f16 stays at 2048, one in bf16 at 256."""
    indices = op.rpartition(" ")[2]
    text = f"""
func.func @f(%x: tensor<2x3xT>, %i: {indices}) -> tensor<4000x3xT> {{
  %y = {op} -> tensor<4000x3xT>
  func.return %y : tensor<4000x3xT>
}}"""
    module = gradir.parse(text.replace("xT>", f"x{element}>")).gradient("f", mode="vjp")
    dtype = numpy_dtype(ELEMENTS[element])
    shape = [int(n) for n in indices.removeprefix("tensor<").split("x")[:-1]]
    x, i = np.zeros((2, 3), dtype), np.ones(shape, np.int64)
    ct = np.ones((4000, 3), dtype)
    expected = np.array([[0] * 3, [4000] * 3]).astype(dtype)
    native = gradir.compile(module, "f_vjp")(x, i, ct)[1]
    interpreted = gradir.interpret(module, "f_vjp", x, i, ct)[1]
    assert native.tobytes() == interpreted.tobytes() == expected.tobytes()
