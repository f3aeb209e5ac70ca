"""Trains the weights of a program in linalg, as torch-mlir and other compilers write it.

The weights are constants of the text; `lift_constants` makes arguments of them. No other package
is needed.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import gradir
import gradir.numpy as gnp

LAYER = """
func.func @layer(%x: tensor<8x3xf32>) -> tensor<8x1xf32> {
  %zero = arith.constant 0.0 : f32
  %w = arith.constant dense<[[0.1], [0.2], [0.3]]> : tensor<3x1xf32>
  %e = tensor.empty() : tensor<8x1xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<8x1xf32>) -> tensor<8x1xf32>
  %h = linalg.matmul ins(%x, %w : tensor<8x3xf32>, tensor<3x1xf32>)
    outs(%z : tensor<8x1xf32>) -> tensor<8x1xf32>
  %y = linalg.generic {
      indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>],
      iterator_types = ["parallel", "parallel"]}
      ins(%h : tensor<8x1xf32>) outs(%e : tensor<8x1xf32>) {
  ^bb0(%in: f32, %out: f32):
    %t = math.tanh %in : f32
    linalg.yield %t : f32
  } -> tensor<8x1xf32>
  func.return %y : tensor<8x1xf32>
}
"""


def main() -> None:
    """Find the weights that made the data."""
    module, weights = gradir.parse(LAYER).lift_constants("layer")
    layer = gradir.function_of(module, "layer")
    x = np.random.default_rng(0).normal(size=(8, 3)).astype(np.float32)
    wanted = np.array([[0.5], [-1.0], [0.25]], np.float32)
    y = np.tanh(x @ wanted)

    def loss(weights: Any, x: Any, y: Any) -> Any:
        return gnp.mean((layer(x, **weights) - y) ** 2)

    trainer = gradir.Trainer(loss, gradir.optim.adam(0.1), weights)
    losses = trainer.fit([(x, y)], 300).epochs["loss"]
    print(f"loss {losses[0]:.5f} at first, {losses[-1]:.1e} at last")
    print("found:", " ".join(f"{w:.3f}" for w in np.asarray(trainer.params["w"]).ravel()))


if __name__ == "__main__":
    main()
