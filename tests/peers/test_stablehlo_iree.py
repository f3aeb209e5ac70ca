"""StableHLO on IREE's CPU: the gradients of the examples and of loops, beside native code.

It needs the extra `iree`; `make test-peers` leaves it out where that is not installed.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

compiler: Any = pytest.importorskip("iree.compiler")
runtime: Any = pytest.importorskip("iree.runtime")

import gradir  # noqa: E402
from gradir.dialects.base.shapes import NUMPY_NAMES, element_of, shape_of  # noqa: E402
from gradir.passes.analysis.call_graph import functions_by_name  # noqa: E402

ROOT = Path(__file__).resolve().parents[2]


def run_on_iree(text: str, arrays: Sequence[Any]) -> list[Any]:
    code = compiler.compile_str(
        text,
        input_type="stablehlo",
        target_backends=["llvm-cpu"],
        extra_args=[
            "--iree-llvmcpu-target-cpu=host",
            "--iree-input-demote-f64-to-f32=false",
            "--iree-llvmcpu-link-embedded=false",  # tanh and sin of f64 are the system's
        ],
    )
    program = runtime.load_vm_flatbuffer(code, driver="local-sync")
    made = program.main(*arrays)
    return [np.asarray(each.to_host()) for each in (made if isinstance(made, tuple) else [made])]


def compare(module: gradir.Module, name: str) -> None:
    types = functions_by_name(module.op)[name].function_type.inputs
    arrays: list[Any] = []
    for number, type_ in enumerate(types):
        generator = np.random.default_rng(number)
        dtype = NUMPY_NAMES[element_of(type_)]
        if "float" in dtype:
            arrays.append((0.3 * generator.normal(size=shape_of(type_))).astype(dtype))
        else:
            arrays.append(generator.integers(0, 3, shape_of(type_)).astype(dtype))
    wanted = gradir.compile(module, name)(*arrays)
    for one, other in zip(run_on_iree(module.to_stablehlo(name), arrays), wanted, strict=True):
        expected = np.asarray(other)
        bound = 1e-10 if expected.dtype == np.float64 else 1e-5
        most = max(1.0, float(np.max(np.abs(expected), initial=0)))
        np.testing.assert_allclose(one, expected, bound, bound * most)


@pytest.mark.parametrize("name", ["digits_mlp", "lenet", "transformer_block"])
def test_examples(name: str) -> None:
    module = gradir.parse(ROOT / "examples" / f"{name}.mlir").gradient("main", mode="grad")
    compare(module, "main_grad")


# The steps of a sine, as many as it takes, with snapshots.
HALVED = """
func.func @f(%x: tensor<2xf32>) -> tensor<f32> {
  %two = array.full {value = 2.0} : tensor<2xf32>
  %limit = arith.constant 5.0 : f32
  %y = scf.while (%a = %x) : (tensor<2xf32>) -> tensor<2xf32> {
    %square = array.multiply %a, %a : tensor<2xf32>
    %all = array.sum %square : tensor<2xf32> -> tensor<f32>
    %number = tensor.extract %all[] : tensor<f32>
    %more = arith.cmpf olt, %number, %limit : f32
    scf.condition(%more) %a : tensor<2xf32>
  } do {
  ^bb0(%a: tensor<2xf32>):
    %s = array.sin %a : tensor<2xf32>
    %b = array.multiply %s, %two : tensor<2xf32>
    scf.yield %b : tensor<2xf32>
  } attributes {grad.loop = #grad.loop<online = 2>}
  %sum = array.sum %y : tensor<2xf32> -> tensor<f32>
  func.return %sum : tensor<f32>
}
"""

STEPS = """
func.func @f(%x: tensor<3xf32>) -> tensor<f32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c5 = arith.constant 5 : index
  %y = scf.for %i = %c0 to %c5 step %c1 iter_args(%y = %x) -> (tensor<3xf32>) {
    %s = array.sin %y : tensor<3xf32>
    scf.yield %s : tensor<3xf32>
  }
  %sum = array.sum %y : tensor<3xf32> -> tensor<f32>
  func.return %sum : tensor<f32>
}
"""


@pytest.mark.parametrize("text", [HALVED, STEPS], ids=["while", "for"])
def test_loops(text: str) -> None:
    compare(gradir.parse(text).gradient("f", mode="grad"), "f_grad")
