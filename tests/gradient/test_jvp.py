"""Forward mode over the op table: against central differences, and as the transpose of the vjp."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from op_cases import CASES, Case
from op_programs import function, is_active, module_of
from op_references import Array
from scalar_cases import CASES as SCALAR_CASES
from scalar_cases import ScalarCase
from xdsl.dialects.builtin import f64

import gradir
from gradir import Module
from gradir.errors import GradirError
from gradir.passes.cleanup.decompose import is_taken_apart
from gradir.symbols import function_named
from gradir.validation.differences import difference

ACTIVE = [case for case in CASES if is_active(case)]


def check_jvp(module: Module, arguments: Sequence[Array], wrt: Sequence[int], smooth: bool) -> None:
    """The jvp of @f, against the vjp, and against differences where the function is smooth."""
    generator = np.random.default_rng(0)
    primal = gradir.interpret(module, "f", *arguments)
    floating = [k for k, r in enumerate(primal) if r.dtype in (np.float64, np.complex128)]
    if not all(np.isfinite(primal[k]).all() for k in floating):
        return  # the mean of nothing
    tangents = [numbers_like(arguments[k], generator) for k in wrt]
    cts = [numbers_like(primal[k], generator) for k in floating]
    forward = module.gradient("f", wrt, mode="jvp")
    found = gradir.interpret(forward, "f_jvp", *arguments, *tangents)
    # NumPy's formula for an op that is taken apart rounds differently than its parts
    tolerance = 1e-13 if any(map(is_taken_apart, module.op.walk())) else 0
    for one, other in zip(found, primal, strict=False):
        np.testing.assert_allclose(one, other, rtol=tolerance)
    pushed = found[len(primal) :]
    assert [p.shape for p in pushed] == [primal[k].shape for k in floating]
    total = inner(pushed, cts)
    reverse = module.gradient("f", wrt, mode="vjp")
    grads = gradir.interpret(reverse, "f_vjp", *arguments, *cts)[len(primal) :]
    np.testing.assert_allclose(inner(grads, tangents), total, rtol=1e-10, atol=1e-12)
    if smooth:
        np.testing.assert_allclose(
            total,
            sum(
                moved(module, arguments, k, tangent, cts, floating)
                for k, tangent in zip(wrt, tangents, strict=True)
            ),
            rtol=1e-7,
            atol=1e-8,
        )


def numbers_like(array: Array, generator: np.random.Generator) -> Array:
    """Random numbers of an array's shape, complex ones for a complex array."""
    parts = generator.uniform(-1, 1, (2, *array.shape))
    is_complex = array.dtype == np.complex128
    return np.asarray(parts[0] + 1j * parts[1] if is_complex else parts[0])


def inner(xs: Sequence[Array], ys: Sequence[Array]) -> float:
    """A change of the loss: of complex numbers the real part, without conjugation."""
    return sum(float(np.real(np.sum(x * y))) for x, y in zip(xs, ys, strict=True))


def moved(
    module: Module, arguments: Sequence[Array], index: int, direction: Array, cts: Sequence[Array],
    floating: Sequence[int],
) -> float:  # fmt: skip
    def projected(*at: Array) -> float:
        results = gradir.interpret(module, "f", *at)
        return inner([results[k] for k in floating], cts)

    return difference(projected, arguments, index, direction)


@pytest.mark.parametrize("case", ACTIVE, ids=str)
def test_jvp(case: Case) -> None:
    arguments = case.arrays(f64)
    module = Module(module_of(function(case, arguments, f64)))
    check_jvp(module, arguments, case.wrt, case.is_derivative)


SIMPLE = "gradir-decompose,gradir-simplify,cse,gradir-dce"
FIRST = list({case.op: case for case in reversed(ACTIVE)}.values())


@pytest.mark.parametrize("case", FIRST, ids=str)
def test_forward_mode_costs_no_more_than_reverse_mode(case: Case) -> None:
    """About as many simple ops: nothing is left of the rule that was transposed."""
    arguments = case.arrays(f64)
    module = Module(module_of(function(case, arguments, f64)))
    counts: dict[str, int] = {}
    for mode in ("jvp", "vjp"):
        derived = module.gradient("f", case.wrt, mode=mode).run_passes(SIMPLE)
        body = function_named(derived.op, f"f_{mode}").body.block
        counts[mode] = sum(1 for _ in body.ops)
    assert counts["jvp"] <= 1.3 * counts["vjp"] + 3


@pytest.mark.parametrize("case", SCALAR_CASES, ids=str)
def test_jvp_of_scalar_code(case: ScalarCase) -> None:
    module = gradir.parse(case.text("f64"))
    for arguments in case.arguments(np.float64):
        check_jvp(module, arguments, range(len(arguments)), smooth=True)


MIXED = """
func.func @f(%x: tensor<3x4xf64>, %w: tensor<4x4xf64>, %s: f64) -> (tensor<3x4xf64>, f64) {
  %h = array.matmul %x, %w : tensor<3x4xf64>, tensor<4x4xf64> -> tensor<3x4xf64>
  %n = grad.name %h {name = "h"} : tensor<3x4xf64>
  %t = array.tanh %n : tensor<3x4xf64>
  %p = nn.softmax %t : tensor<3x4xf64>
  %m = array.sum %p {axis = [0, 1]} : tensor<3x4xf64> -> tensor<f64>
  %q = array.square %t : tensor<3x4xf64>
  %u = array.mean %q : tensor<3x4xf64> -> tensor<f64>
  %e = tensor.extract %u[] : tensor<f64>
  %g = math.exp %s : f64
  %z = arith.mulf %e, %g : f64
  func.return %p, %z : tensor<3x4xf64>, f64
}
"""


def mixed_arguments() -> list[Array]:
    generator = np.random.default_rng(1)
    return [generator.normal(size=s) for s in ((3, 4), (4, 4), ())]


def test_jvp_of_a_function() -> None:
    check_jvp(gradir.parse(MIXED), mixed_arguments(), [0, 1, 2], smooth=True)


def test_targets_by_index_and_by_name() -> None:
    """A tangent of an intermediate adds to what flows there; `of` may ask for intermediates."""
    module = gradir.parse(MIXED)
    x, w, s = mixed_arguments()
    tangents: list[Array] = [np.ones((3, 4)), np.array(2.0), np.full((3, 4), 0.5)]
    text = module.gradient("f", wrt=[0, 2, "h"], of=["h", 1, "h"], mode="jvp")
    *_, first, pushed, second = gradir.interpret(text, "f_jvp", x, w, s, *tangents)
    np.testing.assert_array_equal(first, second)
    np.testing.assert_allclose(first, np.ones((3, 4)) @ w + 0.5)
    whole = module.gradient("f", wrt=[0, 2, "h"], of=[1], mode="vjp")
    grads = gradir.interpret(whole, "f_vjp", x, w, s, 1.0)[2:]
    np.testing.assert_allclose(pushed, inner(grads, tangents))


def test_what_does_not_contribute_has_tangent_zero() -> None:
    module = gradir.parse("""
        func.func @f(%x: tensor<2xf32>, %y: tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>) {
          %a = array.exp %x : tensor<2xf32>
          %b = grad.no_grad %y : tensor<2xf32>
          func.return %a, %b : tensor<2xf32>, tensor<2xf32>
        }""").gradient("f", mode="jvp")
    ones = np.ones(2, np.float32)
    *_, zeros = gradir.interpret(module, "f_jvp", 0 * ones, ones, ones, ones)
    np.testing.assert_array_equal(zeros, 0 * ones)


def test_hessian_vector_products() -> None:
    """jvp of grad and grad of jvp are one number, and the second difference."""
    module = gradir.parse("""
        func.func @f(%x: tensor<4xf64>) -> tensor<f64> {
          %s = array.sin %x : tensor<4xf64>
          %c = array.multiply %s, %x : tensor<4xf64>
          %l = array.logsumexp %c : tensor<4xf64> -> tensor<f64>
          func.return %l : tensor<f64>
        }""")
    generator = np.random.default_rng(3)
    x, v = generator.normal(size=(2, 4))
    forward_over_reverse = module.gradient("f", mode="grad").gradient(
        "f_grad", wrt=[0], of=[1], mode="jvp"
    )
    *_, product = gradir.interpret(forward_over_reverse, "f_grad_jvp", x, v)
    reverse_over_forward = module.gradient("f", mode="jvp").gradient(
        "f_jvp", wrt=[0], of=[1], mode="grad"
    )
    *_, other = gradir.interpret(reverse_over_forward, "f_jvp_grad", x, v)
    np.testing.assert_allclose(product, other, rtol=1e-12)
    step = 1e-5
    grads: list[Any] = [
        gradir.interpret(forward_over_reverse, "f_grad", x + d * step * v)[1] for d in (1, -1)
    ]
    np.testing.assert_allclose(product, (grads[0] - grads[1]) / (2 * step), rtol=1e-8)


def test_forward_over_forward() -> None:
    module = gradir.parse("""
        func.func @f(%x: f64) -> f64 {
          %s = math.sin %x : f64
          %y = arith.mulf %s, %x : f64
          func.return %y : f64
        }""").gradient("f", mode="jvp")
    module = module.gradient("f_jvp", wrt=[0], of=[1], mode="jvp")
    x = 0.7
    *_, second = gradir.interpret(module, "f_jvp_jvp", x, 1.0, 1.0)
    np.testing.assert_allclose(second, 2 * np.cos(x) - x * np.sin(x))


CALLS = """
func.func @square(%x: tensor<2xf64>, %y: tensor<2xf64>) -> (tensor<2xf64>, tensor<2xf64>) {
  %0 = array.multiply %x, %x : tensor<2xf64>
  %1 = array.multiply %0, %y : tensor<2xf64>
  func.return %0, %1 : tensor<2xf64>, tensor<2xf64>
}
func.func @f(%x: tensor<2xf64>) -> tensor<2xf64> {
  %c = array.full {value = 3.0} : tensor<2xf64>
  %a, %b = func.call @square(%x, %c) : (tensor<2xf64>, tensor<2xf64>) -> (tensor<2xf64>, tensor<2xf64>)
  %d, %e = func.call @square(%b, %a) : (tensor<2xf64>, tensor<2xf64>) -> (tensor<2xf64>, tensor<2xf64>)
  func.return %e : tensor<2xf64>
}
"""  # noqa: E501


def test_calls() -> None:
    """One jvp of a callee for each activity pattern."""
    check_jvp(gradir.parse(CALLS), [np.array([0.5, -1.5])], [0], smooth=True)
    functions = gradir.parse(CALLS).gradient("f", mode="jvp").functions
    assert set(functions) == {
        "square", "f", "f_jvp", "square_jvp_wrt_0_of_0_1", "square_jvp_wrt_0_1_of_1",
    }  # fmt: skip


LOOPS = {
    "for": """
        func.func @f(%x: f64, %y: f64) -> (f64, f64) {
          %0 = arith.constant 0 : index
          %1 = arith.constant 1 : index
          %5 = arith.constant 5 : index
          %a, %b = scf.for %i = %0 to %5 step %1 iter_args(%p = %x, %q = %y) -> (f64, f64) {
            %s = math.sin %q : f64
            %t = arith.mulf %p, %s : f64
            %u = arith.addf %t, %x : f64
            scf.yield %u, %q : f64, f64
          }
          func.return %a, %b : f64, f64
        }""",
    "while": """
        func.func @f(%x: f64, %y: f64) -> f64 {
          %limit = arith.constant 20.0 : f64
          %c0 = arith.constant 0 : i64
          %c1 = arith.constant 1 : i64
          %r, %n = scf.while (%p = %x, %k = %c0) : (f64, i64) -> (f64, i64) {
            %c = arith.cmpf olt, %p, %limit : f64
            %q = arith.mulf %p, %y : f64
            scf.condition(%c) %q, %k : f64, i64
          } do {
          ^bb0(%q: f64, %k: i64):
            %e = arith.mulf %q, %q : f64
            %m = arith.addi %k, %c1 : i64
            scf.yield %e, %m : f64, i64
          }
          func.return %r : f64
        }""",
    "if": """
        func.func @f(%x: f64, %y: f64) -> f64 {
          %zero = arith.constant 0.0 : f64
          %c = arith.cmpf ogt, %x, %zero : f64
          %r, %s = scf.if %c -> (f64, f64) {
            %e = math.exp %x : f64
            scf.yield %e, %y : f64, f64
          } else {
            %e = arith.mulf %x, %y : f64
            scf.yield %zero, %e : f64, f64
          }
          %z = arith.addf %r, %s : f64
          %w = scf.execute_region -> (f64) {
            %m = arith.mulf %z, %x : f64
            scf.yield %m : f64
          }
          func.return %w : f64
        }""",
    "switch": """
        func.func @f(%x: f64, %y: f64) -> f64 {
          %i = arith.constant 1 : index
          %r = scf.index_switch %i -> f64
          case 0 {
            scf.yield %x : f64
          }
          case 1 {
            %m = arith.mulf %x, %y : f64
            scf.yield %m : f64
          }
          default {
            scf.yield %y : f64
          }
          func.return %r : f64
        }""",
}


@pytest.mark.parametrize("name", LOOPS)
@pytest.mark.parametrize("x", [0.7, -0.4])
def test_control_flow(name: str, x: float) -> None:
    """Tangents are carried along: nothing is put on a tape."""
    if name == "while":
        x = abs(x) + 1.5
    module = gradir.parse(LOOPS[name])
    check_jvp(module, [np.array(x), np.array(1.3)], [0, 1], smooth=True)
    assert "grad.tape" not in str(module.gradient("f", mode="jvp"))


@pytest.mark.parametrize("name", LOOPS)
def test_forward_over_reverse_of_control_flow(name: str) -> None:
    """The gradient of a loop uses tapes; these have tangents too."""
    module = gradir.parse(LOOPS[name])
    results = len(gradir.interpret(module, "f", 1.7, 1.3))
    once = module.gradient("f", mode="grad")
    twice = once.gradient("f_grad", of=[results], mode="jvp")
    *_, pushed = gradir.interpret(twice, "f_grad_jvp", 1.7, 1.3, 0.3, -0.2)
    step = 1e-6
    ends = [
        gradir.interpret(once, "f_grad", 1.7 + 0.3 * d * step, 1.3 - 0.2 * d * step)[results]
        for d in (1, -1)
    ]
    np.testing.assert_allclose(pushed, (ends[0] - ends[1]) / (2 * step), rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("marked", [True, False])
def test_checkpoint_stages(marked: bool) -> None:
    """Nothing is kept for later, so that a stage is code like any other."""
    body = """
          {0}%a = array.sin {2} : tensor<4xf64>
          %b = array.tanh %a : tensor<4xf64>
          {1}"""
    stage = (
        body.format("%s = grad.start_checkpoint %x : tensor<4xf64>\n",
                    "%y = grad.end_checkpoint %b : tensor<4xf64>", "%s")
        if marked
        else "%y = grad.checkpoint -> (tensor<4xf64>) {"
        + body.format("", "grad.yield %b : tensor<4xf64>\n}", "%x")
    )  # fmt: skip
    module = gradir.parse(f"""
        func.func @f(%x: tensor<4xf64>) -> tensor<4xf64> {{
          {stage}
          func.return %y : tensor<4xf64>
        }}""")
    check_jvp(module, [np.linspace(-1, 1, 4)], [0], smooth=True)
    assert "grad.barrier" not in str(module.gradient("f", mode="jvp"))


def test_a_memory_limit_is_refused() -> None:
    with pytest.raises(GradirError, match="memory_limit needs a mode that keeps values for later"):
        gradir.parse(MIXED).gradient("f", mode="jvp", memory_limit=1 << 20)


def test_native_code() -> None:
    module = gradir.parse("""
        func.func @f(%x: tensor<3x4xf64>, %w: tensor<4x4xf64>) -> tensor<3x4xf64> {
          %h = array.matmul %x, %w : tensor<3x4xf64>, tensor<4x4xf64> -> tensor<3x4xf64>
          %t = array.tanh %h : tensor<3x4xf64>
          %p = nn.softmax %t : tensor<3x4xf64>
          func.return %p : tensor<3x4xf64>
        }""").gradient("f", mode="jvp")
    arguments = mixed_arguments()[:2]
    tangents = [np.cos(a) for a in arguments]
    expected = gradir.interpret(module, "f_jvp", *arguments, *tangents)
    found = gradir.compile(module, "f_jvp")(*arguments, *tangents)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12)
