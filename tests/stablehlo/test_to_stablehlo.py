"""Module.to_stablehlo: names, tapes as tensors, refusals; the numbers are held in tests/peers."""

from __future__ import annotations

import re

import numpy as np
import pytest

import gradir
from gradir.errors import ArgumentTypeError, PassError

STEPS = """
func.func @steps(%x: tensor<3xf64>) -> tensor<f64> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c5 = arith.constant 5 : index
  %y = scf.for %i = %c0 to %c5 step %c1 iter_args(%y = %x) -> (tensor<3xf64>) {
    %s = array.sin %y : tensor<3xf64>
    scf.yield %s : tensor<3xf64>
  }
  %sum = array.sum %y : tensor<3xf64> -> tensor<f64>
  func.return %sum : tensor<f64>
}
"""


def names(text: str) -> set[str]:
    """The ops of a StableHLO text."""
    return set(re.findall(r'"stablehlo\.(\w+)"', text))


def test_the_module_stays_and_the_text_is_stable() -> None:
    module = gradir.parse(STEPS).gradient("steps", mode="grad")
    before = str(module)
    text = module.to_stablehlo("steps_grad")
    assert str(module) == before
    assert text == module.to_stablehlo("steps_grad")
    assert "func.func public @main(" in text and "@steps" not in text


def test_all_functions_keep_their_names() -> None:
    text = gradir.parse(STEPS).gradient("steps", mode="grad").to_stablehlo()
    assert re.findall(r"@(\w+)\(", text) == ["steps", "steps_grad"]


def test_the_text_is_read_back() -> None:
    text = gradir.parse(STEPS).gradient("steps", mode="grad").to_stablehlo()
    module = gradir.parse(text)
    assert str(module).strip() == text.strip()
    with pytest.raises(gradir.GradirError, match=r"stablehlo\."):
        gradir.compile(module, "steps")(np.zeros(3))


def test_tapes_are_tensors_of_their_capacity() -> None:
    module = gradir.parse(STEPS).gradient("steps", mode="split")
    forward = module.to_stablehlo("steps_fwd")
    backward = module.to_stablehlo("steps_bwd")
    assert "-> (tensor<f64>, tensor<5x3xf64>, tensor<i64>)" in forward
    assert re.search(r"@main\(%\w+: tensor<5x3xf64>, %\w+: tensor<i64>, ", backward)
    assert "dynamic_update_slice" in names(forward) and "dynamic_slice" in names(backward)


def test_online_snapshots_have_a_fixed_size() -> None:
    program = """
func.func @halved(%x: tensor<2xf64>) -> tensor<f64> {
  %half = array.full {value = 0.5} : tensor<2xf64>
  %one = arith.constant 1.0 : f64
  %y = scf.while (%a = %x) : (tensor<2xf64>) -> tensor<2xf64> {
    %most = array.max %a : tensor<2xf64> -> tensor<f64>
    %number = tensor.extract %most[] : tensor<f64>
    %more = arith.cmpf ogt, %number, %one : f64
    scf.condition(%more) %a : tensor<2xf64>
  } do {
  ^bb0(%a: tensor<2xf64>):
    %s = array.sin %a : tensor<2xf64>
    %b = array.multiply %s, %half : tensor<2xf64>
    scf.yield %b : tensor<2xf64>
  }POLICY
  %sum = array.sum %y : tensor<2xf64> -> tensor<f64>
  func.return %sum : tensor<f64>
}"""
    grows = gradir.parse(program.replace("POLICY", "")).gradient("halved", mode="grad")
    with pytest.raises(PassError, match=r"scf.while: a tape that grows.*#grad.loop<online = 8>"):
        grows.to_stablehlo("halved_grad")
    policy = " attributes {grad.loop = #grad.loop<online = 2>}"
    fixed = gradir.parse(program.replace("POLICY", policy)).gradient("halved", mode="grad")
    assert {"while", "dynamic_update_slice"} <= names(fixed.to_stablehlo("halved_grad"))


def test_a_function_of_python_and_its_gradient() -> None:
    def loss(w: gradir.Array, x: gradir.Array) -> gradir.Array:
        return gradir.numpy.sum(gradir.nn.softmax(x @ w, axis=-1) ** 2)

    module = gradir.trace(loss, np.zeros((3, 2), "f4"), np.zeros((4, 3), "f4"))
    text = module.gradient(module.functions[0], wrt=[0], mode="grad").to_stablehlo()
    assert {"dot_general", "exponential", "reduce"} <= names(text)


def test_deep_nesting_is_refused() -> None:
    inner = "%y = arith.addf %x, %x : f64"
    for _ in range(80):
        inner = f"""%y = scf.if %c -> (f64) {{
  {inner}
  scf.yield %y : f64
}} else {{
  scf.yield %x : f64
}}"""
    program = f"func.func @f(%c: i1, %x: f64) -> f64 {{\n{inner}\nfunc.return %y : f64\n}}"
    with pytest.raises(PassError, match="regions may be nested 64 deep, not deeper"):
        gradir.parse(program).to_stablehlo("f")


def test_ops_without_a_form_are_all_named() -> None:
    program = """func.func @f(%a: tensor<2x2xf64>) -> tensor<2x2xf64> {
  %w, %v = array.eigh %a : tensor<2x2xf64> -> (tensor<2xf64>, tensor<2x2xf64>)
  %q, %r = array.qr %v : tensor<2x2xf64> -> (tensor<2x2xf64>, tensor<2x2xf64>)
  func.return %r : tensor<2x2xf64>
}"""
    with pytest.raises(PassError) as caught:
        gradir.parse(program).to_stablehlo("f")
    assert re.findall(
        r"<string>:(\d):\d+: \w+: (array.\w+): LAPACK computes it", str(caught.value)
    ) == [
        ("2", "array.eigh"),
        ("3", "array.qr"),
    ]


COMPLEX = """
func.func @f(%x: tensor<3xf64>, %y: tensor<3xf64>) -> tensor<3xf64> {
  %z = array.complex %x, %y : tensor<3xf64>, tensor<3xf64> -> tensor<3xcomplex<f64>>
  %w = array.multiply %z, %z : tensor<3xcomplex<f64>>
  %i = array.imag %w : tensor<3xcomplex<f64>> -> tensor<3xf64>
  func.return %i : tensor<3xf64>
}
"""


def test_complex_numbers_are_planes_inside_and_refused_at_the_ends() -> None:
    assert "complex" not in gradir.parse(COMPLEX).to_stablehlo("f")
    ends = COMPLEX.replace("-> tensor<3xf64> {", "-> tensor<3xcomplex<f64>> {")
    ends = ends.replace("return %i : tensor<3xf64>", "return %w : tensor<3xcomplex<f64>>")
    with pytest.raises(PassError, match="@f: arguments and results must be real, got tensor<3xco"):
        gradir.parse(ends).to_stablehlo("f")


def test_wrong_functions_are_refused() -> None:
    module = gradir.parse(STEPS)
    with pytest.raises(PassError, match="no function @step with a body; functions: @steps"):
        module.to_stablehlo("step")
    with pytest.raises(ArgumentTypeError, match="function: expected the name of a function"):
        module.to_stablehlo(3)  # pyrefly: ignore[bad-argument-type]
