"""Differentiates a StableHLO program, a file of which stands for any other compiler's output.

The program is a loop of Newton's steps that JAX would refuse to differentiate in reverse mode. It
is in MLIR's generic form, which needs no other package; with jaxlib the pretty form is read, too.
"""

from __future__ import annotations

import numpy as np

import gradir
from gradir.frontends.stablehlo import load

ROOT = """
func.func @main(%a: tensor<f64>) -> tensor<f64> {
  %half = "stablehlo.constant"() <{value = dense<0.5> : tensor<f64>}> : () -> tensor<f64>
  %near = "stablehlo.constant"() <{value = dense<1.0e-12> : tensor<f64>}> : () -> tensor<f64>
  %root = "stablehlo.while"(%a) ({
  ^bb0(%x: tensor<f64>):
    %square = "stablehlo.multiply"(%x, %x) : (tensor<f64>, tensor<f64>) -> tensor<f64>
    %miss = "stablehlo.subtract"(%square, %a) : (tensor<f64>, tensor<f64>) -> tensor<f64>
    %size = "stablehlo.abs"(%miss) : (tensor<f64>) -> tensor<f64>
    %far = "stablehlo.compare"(%size, %near)
      <{comparison_direction = #stablehlo<comparison_direction GT>}>
      : (tensor<f64>, tensor<f64>) -> tensor<i1>
    "stablehlo.return"(%far) : (tensor<i1>) -> ()
  }, {
  ^bb0(%x: tensor<f64>):
    %other = "stablehlo.divide"(%a, %x) : (tensor<f64>, tensor<f64>) -> tensor<f64>
    %sum = "stablehlo.add"(%x, %other) : (tensor<f64>, tensor<f64>) -> tensor<f64>
    %mean = "stablehlo.multiply"(%sum, %half) : (tensor<f64>, tensor<f64>) -> tensor<f64>
    "stablehlo.return"(%mean) : (tensor<f64>) -> ()
  }) : (tensor<f64>) -> tensor<f64>
  func.return %root : tensor<f64>
}
"""


def main() -> None:
    """The root of 2, its slope, and the slope's slope."""
    module = load(ROOT, trust_derivatives=True)
    root = gradir.function_of(module, "main")
    a = np.float64(2.0)
    slope, bend = gradir.grad(root), gradir.grad(gradir.grad(root))
    print(f"root {float(root(a)):.9f}, slope {float(slope(a)):.9f}, bend {float(bend(a)):.9f}")
    np.testing.assert_allclose(slope(a), 0.5 / np.sqrt(2.0), rtol=1e-9)


if __name__ == "__main__":
    main()
