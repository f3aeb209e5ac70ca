"""Whole programs at every vector width that this machine has, against the interpreter."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

import gradir
from gradir.codegen.text.target import host
from gradir.compiler.compiler import compile_function

WIDTHS = [w for w in (16, 32, 64) if w <= host().vector_bytes]

PROGRAM = """
func.func @f(%x: tensor<37xELEMENT>, %i: tensor<9xi64>, %m: tensor<5x37xELEMENT>)
    -> (tensor<41xELEMENT>, tensor<9xELEMENT>, tensor<5xELEMENT>, tensor<37xELEMENT>) {
  %y = array.pad %x {low = [1], high = [3], value = 1.5} : tensor<37xELEMENT> -> tensor<41xELEMENT>
  %z = array.abs %y : tensor<41xELEMENT>
  %t = array.take %x, %i {axis = 0} : tensor<37xELEMENT>, tensor<9xi64> -> tensor<9xELEMENT>
  %s = array.max %m {axis = [1]} : tensor<5x37xELEMENT> -> tensor<5xELEMENT>
  %r = array.flip %x : tensor<37xELEMENT> -> tensor<37xELEMENT>
  func.return %z, %t, %s, %r
      : tensor<41xELEMENT>, tensor<9xELEMENT>, tensor<5xELEMENT>, tensor<37xELEMENT>
}
"""


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("element", ["f64", "f32", "f16", "bf16"])
def test_exact_ops(element: str, width: int) -> None:
    names = {"f64": "f8", "f32": "f4", "f16": "f2", "bf16": ml_dtypes.bfloat16}
    dtype = np.dtype(names[element])
    module = gradir.parse(PROGRAM.replace("ELEMENT", element))
    random = np.random.default_rng(0)
    arrays = [
        random.standard_normal(37).astype(dtype),
        np.array([0, 36, -1, 5, 5, 7, -37, 3, 2]),
        random.standard_normal((5, 37)).astype(dtype),
    ]
    native = compile_function(module.op.clone(), "f", target=host(width))(*arrays)
    for ours, theirs in zip(native, gradir.interpret(module, "f", *arrays), strict=True):
        np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("element", ["f64", "f32", "f16", "bf16"])
@pytest.mark.parametrize("op", ["floor", "ceil", "trunc", "round", "roundeven", "absf"])
def test_rounding_to_whole_numbers(element: str, width: int, op: str) -> None:
    """LLVM would do it in bf16, for which machines without AVX-512 have no conversion."""
    names = {"f64": "f8", "f32": "f4", "f16": "f2", "bf16": ml_dtypes.bfloat16}
    text = f"func.func @f(%x: T) -> T {{\n %y = math.{op} %x : T\n func.return %y : T }}"
    module = gradir.parse(text.replace("T", element))
    compiled = compile_function(module.op.clone(), "f", target=host(width))
    for x in np.array([-2.5, -0.5, -0.0, 0.75, 1.5, 2.5, np.inf, np.nan]).astype(names[element]):
        ours, theirs = compiled(x)[0], gradir.interpret(module, "f", x)[0]
        assert np.asarray(ours).tobytes() == np.asarray(theirs).astype(x.dtype).tobytes() or x != x
