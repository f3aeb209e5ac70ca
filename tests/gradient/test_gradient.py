"""Gradients through the library interface: forms, targets, requests, residuals, and size."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytest
from random_programs import random_program

import gradir
from gradir import GradirError, Module
from gradir.runtime.arrays import dtype_of
from gradir.symbols import function_named

Array = np.ndarray[Any, np.dtype[Any]]

NETWORK = """
func.func @f(%x: tensor<4x3xf64>, %w: tensor<5x3xf64> {grad.name = "w"}, %b: tensor<5xf64>,
             %t: tensor<4xi64>) -> (tensor<f64>, tensor<4x5xf64>) {
  %linear = nn.linear %x, %w, %b
      : tensor<4x3xf64>, tensor<5x3xf64>, tensor<5xf64> -> tensor<4x5xf64>
  %h = grad.name %linear {name = "h"} : tensor<4x5xf64>
  %y = array.tanh %h : tensor<4x5xf64>
  %loss = nn.cross_entropy %y, %t : tensor<4x5xf64>, tensor<4xi64> -> tensor<f64>
  func.return %loss, %y : tensor<f64>, tensor<4x5xf64>
}
"""


def network_inputs(seed: int = 0) -> list[Array]:
    generator = np.random.default_rng(seed)
    shapes = [(4, 3), (5, 3), (5,)]
    return [*(generator.normal(size=s) for s in shapes), generator.integers(0, 5, 4)]


def arguments(module: Module, function: str, seed: int = 0) -> list[Array]:
    """Random arrays for the parameters of a function."""
    generator = np.random.default_rng(seed)
    types: list[Any] = list(function_named(module.op, function).function_type.inputs)
    shapes = [(t.get_shape(), dtype_of(t.element_type)) for t in types]
    return [np.asarray(generator.uniform(-2, 2, shape), dtype) for shape, dtype in shapes]


def uniform(generator: np.random.Generator, arrays: Sequence[Array]) -> list[Array]:
    """Random arrays of the shapes of others."""
    return [np.asarray(generator.uniform(-1, 1, a.shape), np.float64) for a in arrays]


def ops_of(module: Module, function: str) -> Counter[str]:
    """How often each op is in a function."""
    return Counter(op.name for op in function_named(module.op, function).body.block.ops)


def returned(module: Module, function: str) -> list[str | None]:
    """The names of the values that a function returns."""
    last = function_named(module.op, function).body.block.last_op
    assert last is not None
    return [v.name_hint for v in last.operands]


def derivative(
    module: Module, inputs: Sequence[Array], cotangents: Sequence[Array], place: int
) -> Array:
    """Central differences of the projection on the cotangents in one argument of @f."""

    def projection(value: Array) -> float:
        moved = [value if k == place else x for k, x in enumerate(inputs)]
        results = gradir.interpret(module, "f", *moved)
        return sum(float(np.sum(c * r)) for c, r in zip(cotangents, results, strict=True))

    found = np.zeros_like(inputs[place])
    step = 1e-6
    for index in np.ndindex(found.shape):
        change = np.zeros_like(found)
        change[index] = step
        values = [projection(inputs[place] + sign * change) for sign in (1, -1)]
        found[index] = (values[0] - values[1]) / (2 * step)
    return found


# Forms.


def test_forms_agree() -> None:
    """split, vjp and grad compute the same bits, and those are the derivative."""
    module, inputs = gradir.parse(NETWORK), network_inputs()
    cotangents = [np.array(1.0), np.zeros((4, 5))]
    joint = gradir.interpret(module.gradient("f", mode="vjp"), "f_vjp", *inputs, *cotangents)
    split = module.gradient("f")
    results = gradir.interpret(split, "f_fwd", *inputs)
    halves = gradir.interpret(split, "f_bwd", *results[2:], *cotangents)
    seeded = gradir.interpret(module.gradient("f", mode="grad"), "f_grad", *inputs)
    primals = gradir.interpret(module, "f", *inputs)
    for form in (joint, results[:2] + halves, seeded):
        for one, other in zip(form, primals + joint[2:], strict=True):
            np.testing.assert_array_equal(one, other)
    for place in range(3):
        expected = derivative(module, inputs, cotangents, place)
        np.testing.assert_allclose(joint[2 + place], expected, rtol=1e-6, atol=1e-9)


def test_the_module_is_not_changed() -> None:
    """gradient returns a new module, in which the function is as it was."""
    module = gradir.parse(NETWORK)
    before = str(module)
    derived = module.gradient("f", mode="vjp")
    assert str(module) == before
    assert derived.functions == ("f", "f_vjp")
    assert str(function_named(derived.op, "f")) == str(function_named(module.op, "f"))


def test_text_parses_back() -> None:
    """What is derived prints as a program that means the same."""
    derived = gradir.parse(NETWORK).gradient("f").gradient("f", mode="grad")
    again = gradir.parse(str(derived))
    assert str(again) == str(derived)
    inputs = network_inputs()
    for one, other in zip(
        gradir.interpret(derived, "f_grad", *inputs),
        gradir.interpret(again, "f_grad", *inputs),
        strict=True,
    ):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("seed", range(40))
def test_random_programs(seed: int) -> None:
    """The gradient along a random direction is the central difference, in both orders of forms."""
    choice = random.Random(seed)
    text = random_program(choice.choice, 10, 2, "f64", smooth=True)
    module = gradir.parse(text)
    inputs = arguments(module, "f", seed)
    results = gradir.interpret(module, "f", *inputs)
    generator = np.random.default_rng(seed)
    cotangents, directions = uniform(generator, results), uniform(generator, inputs)
    joint = gradir.interpret(module.gradient("f", mode="vjp"), "f_vjp", *inputs, *cotangents)
    split = module.gradient("f")
    residuals = gradir.interpret(split, "f_fwd", *inputs)[len(results) :]
    grads = gradir.interpret(split, "f_bwd", *residuals, *cotangents)
    for one, other in zip(joint[len(results) :], grads, strict=True):
        np.testing.assert_array_equal(one, other)

    def projection(step: float) -> float:
        moved = [x + step * d for x, d in zip(inputs, directions, strict=True)]
        pairs = zip(cotangents, gradir.interpret(module, "f", *moved), strict=True)
        return sum(float(np.sum(c * r)) for c, r in pairs)

    step = 1e-6
    expected = (projection(step) - projection(-step)) / (2 * step)
    found = sum(float(np.sum(g * d)) for g, d in zip(grads, directions, strict=True))
    scale = 1 + max(float(np.max(np.abs(r), initial=0)) for r in results)
    if np.isfinite(scale) and scale < 1e4:
        assert found == pytest.approx(expected, rel=1e-5, abs=1e-6 * scale)


def test_second_order() -> None:
    """The gradient of a gradient: for sum(x ** 3), 6 * x * v."""
    module = gradir.parse("""
func.func @f(%x: tensor<2xf64>) -> tensor<f64> {
  %square = array.multiply %x, %x : tensor<2xf64>
  %cube = array.multiply %square, %x : tensor<2xf64>
  %sum = array.sum %cube : tensor<2xf64> -> tensor<f64>
  func.return %sum : tensor<f64>
}""")
    twice = module.gradient("f", mode="grad").gradient("f_grad", of=1, mode="vjp")
    x, v = np.array([1.0, 2.0]), np.array([1.0, -1.0])
    _, gradient, product = gradir.interpret(twice, "f_grad_vjp", x, v)
    np.testing.assert_allclose(gradient, 3 * x * x)
    np.testing.assert_allclose(product, 6 * x * v)
    third = twice.gradient("f_grad_vjp", of=2, wrt=0, mode="grad")
    np.testing.assert_allclose(gradir.interpret(third, "f_grad_vjp_grad", x, v)[-1], 6 * v)


# Targets and requests.


def test_order_of_wrt() -> None:
    """Gradients come in the order asked for; arguments by index or by name."""
    module, inputs = gradir.parse(NETWORK), network_inputs()
    grads = gradir.interpret(module.gradient("f", mode="grad"), "f_grad", *inputs)[2:]
    chosen = module.gradient("f", [2, "w"], "grad")
    assert returned(chosen, "f_grad") == ["loss", "y", "b_ct", "w_ct"]
    for one, other in zip(
        gradir.interpret(chosen, "f_grad", *inputs)[2:], [grads[2], grads[1]], strict=True
    ):
        np.testing.assert_array_equal(one, other)


def test_seeds_on_intermediates_add() -> None:
    """A seed on an intermediate adds to what flows from below."""
    module, inputs = gradir.parse(NETWORK), network_inputs()
    seed, whole = np.full((4, 5), 0.5), np.array(2.0)
    both = module.gradient("f", "w", "vjp", [0, "h"])
    [_, _, together] = gradir.interpret(both, "f_vjp", *inputs, whole, seed)
    parts = [
        gradir.interpret(module.gradient("f", "w", "vjp", of), "f_vjp", *inputs, ct)[2]
        for of, ct in ((0, whole), ("h", seed))
    ]
    np.testing.assert_allclose(together, parts[0] + parts[1], rtol=1e-12)


def test_a_target_given_twice_counts_twice() -> None:
    """Repeated entries of `of` have a cotangent each, and these add."""
    module, inputs = gradir.parse(NETWORK), network_inputs()
    twice = module.gradient("f", 0, "vjp", [0, 0])
    once = module.gradient("f", 0, "vjp", 0)
    two, three = np.array(2.0), np.array(3.0)
    [*_, sum_] = gradir.interpret(twice, "f_vjp", *inputs, two, three)
    [*_, whole] = gradir.interpret(once, "f_vjp", *inputs, np.array(5.0))
    np.testing.assert_allclose(sum_, whole, rtol=1e-12)


def test_intermediates_as_wrt() -> None:
    """The gradient of an intermediate is taken where it is named; of a target itself, its seed."""
    module, inputs = gradir.parse(NETWORK), network_inputs()
    derived = module.gradient("f", ["h", "w"], "grad")
    _, y, to_h, to_w = gradir.interpret(derived, "f_grad", *inputs)
    logits = np.exp(y) / np.exp(y).sum(1, keepdims=True)
    logits[np.arange(4), inputs[3]] -= 1
    expected = logits / 4 * (1 - y * y)
    np.testing.assert_allclose(to_h, expected, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(to_w, expected.T @ inputs[0], rtol=1e-9, atol=1e-12)
    itself = module.gradient("f", "h", "vjp", "h")
    seed = np.arange(20.0).reshape(4, 5)
    np.testing.assert_array_equal(gradir.interpret(itself, "f_vjp", *inputs, seed)[2], seed)


def test_null_requests_are_pruned() -> None:
    """A gradient that nobody wants is no result, and nothing is computed for it."""
    module = gradir.parse(NETWORK)
    full = module.gradient("f", mode="vjp")
    pruned = module.gradient("f", mode="vjp", req={0: "null", "w": "null", 2: "write"})
    assert ops_of(full, "f_vjp")["array.matmul"] == 2
    assert ops_of(pruned, "f_vjp")["array.matmul"] == 0
    assert returned(pruned, "f_vjp") == ["loss", "y", "b_ct"]
    inputs = [*network_inputs(), np.array(1.0), np.ones((4, 5))]
    np.testing.assert_array_equal(
        gradir.interpret(pruned, "f_vjp", *inputs)[2], gradir.interpret(full, "f_vjp", *inputs)[4]
    )


def test_what_does_not_contribute_gets_zeros() -> None:
    """An argument that no result depends on, and results that depend on no argument."""
    module = gradir.parse("""
func.func @f(%x: tensor<2xf64>, %y: tensor<2xf64>) -> (tensor<2xf64>, tensor<2xf64>) {
  %c = array.full {value = 3.0} : tensor<2xf64>
  %z = array.exp %x : tensor<2xf64>
  func.return %z, %c : tensor<2xf64>, tensor<2xf64>
}""")
    ones = np.ones(2)
    results = gradir.interpret(module.gradient("f", mode="vjp"), "f_vjp", ones, ones, ones, ones)
    np.testing.assert_array_equal(results[3], np.zeros(2))
    only = module.gradient("f", mode="vjp", of=1)
    for gradient in gradir.interpret(only, "f_vjp", ones, ones, ones)[2:]:
        np.testing.assert_array_equal(gradient, np.zeros(2))


REFUSED: Mapping[str, tuple[dict[str, Any], str]] = {
    "mode": ({"mode": "back"}, "mode must be split, vjp, grad or jvp, got 'back'"),
    "policy": (
        {"policy": "keep"},
        "policy must be one of keep_all, keep_none, keep_matmuls, keep_named, auto, got 'keep'",
    ),
    "policy and limit": (
        {"policy": "auto", "memory_limit": 3},
        "policy or memory_limit may be given, got auto and 3",
    ),
    "limit": ({"memory_limit": 3}, "memory_limit of 3 bytes is infeasible: minimum is "),
    "req": ({"req": {"w": "put"}}, "req must be write, null, add or slices, got 'put' for 'w'"),
    "null": ({"wrt": [0], "req": {"w": "null"}}, "null was asked for what is not in wrt: w"),
    "high": ({"wrt": 4}, "wrt: @f has 4 arguments, got index 4"),
    "low": ({"wrt": [-1]}, "wrt: @f has 4 arguments, got index -1"),
    "integer": ({"wrt": [0, 3]}, "wrt: 3 of @f must be floating, got tensor<4xi64>"),
    "twice": ({"wrt": [1, "w"]}, "wrt: each value must be given once, got 1 and 'w'"),
    "name": ({"wrt": "v"}, "wrt: no value of @f is named 'v'; names: w, h"),
    "kind": ({"wrt": [1.5]}, "wrt: expected an index or a name, got 1.5"),
    "of": ({"of": 2}, "of: @f has 2 results, got index 2"),
    "of name": ({"of": ["q"]}, "of: no value of @f is named 'q'; names: w, h"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refusals(case: str) -> None:
    """Wrong requests are errors that point into the source."""
    options, message = REFUSED[case]
    with pytest.raises(GradirError) as caught:
        gradir.parse(NETWORK, "net.mlir").gradient("f", **options)
    assert message in str(caught.value)
    assert str(caught.value).startswith("net.mlir:2:1: error: ")


def test_an_unknown_function_is_an_error() -> None:
    """The message names the functions that there are."""
    with pytest.raises(GradirError, match="no function @g; functions: @f"):
        gradir.parse(NETWORK).gradient("g")


# Residuals.


def unary(op: str) -> str:
    return f"  %y = {op} %x : tensor<3x3xf64>"


RESIDUALS: Mapping[str, tuple[str, list[str]]] = {
    "tanh": (unary("array.tanh"), ["y_point"]),
    "exp": (unary("array.exp"), ["y"]),
    "sqrt": (unary("array.sqrt"), ["y"]),
    "sigmoid": (unary("nn.sigmoid"), ["y_point"]),
    "relu": (unary("nn.relu"), ["y"]),
    "softmax": (unary("nn.softmax"), ["y"]),
    "log": (unary("array.log"), ["x"]),
    "sin": (unary("array.sin"), ["x"]),
    "negative": (unary("array.negative"), []),
    "add": ("  %y = array.add %x, %w : tensor<3x3xf64>", []),
    "subtract": ("  %y = array.subtract %x, %w : tensor<3x3xf64>", []),
    "multiply": ("  %y = array.multiply %x, %w : tensor<3x3xf64>", ["x", "w"]),
    "square": ("  %y = array.multiply %x, %x : tensor<3x3xf64>", ["x"]),
    "divide": ("  %y = array.divide %x, %w : tensor<3x3xf64>", ["w", "y"]),
    "matmul": (
        "  %y = array.matmul %x, %w : tensor<3x3xf64>, tensor<3x3xf64> -> tensor<3x3xf64>",
        ["x", "w"],
    ),
    "transpose": (
        "  %y = array.permute_dims %x {axes = [1, 0]} : tensor<3x3xf64> -> tensor<3x3xf64>",
        [],
    ),
}


@pytest.mark.parametrize("name", RESIDUALS)
def test_residuals(name: str) -> None:
    """The forward function returns what the backward function reads, and nothing else."""
    line, expected = RESIDUALS[name]
    module = gradir.parse(f"""
func.func @f(%x: tensor<3x3xf64>, %w: tensor<3x3xf64>) -> tensor<3x3xf64> {{
{line}
  func.return %y : tensor<3x3xf64>
}}""").gradient("f")
    assert returned(module, "f_fwd")[1:] == expected
    parameters = [a.name_hint for a in function_named(module.op, "f_bwd").body.block.args]
    assert parameters == [*expected, "y_ct"]


def test_residuals_follow_wrt() -> None:
    """Asking for less keeps less."""
    module = gradir.parse(NETWORK)
    assert returned(module.gradient("f", 2, of=1), "f_fwd")[2:] == ["y"]
    assert returned(module.gradient("f", 0, of=1), "f_fwd")[2:] == ["w", "y"]


# Size.


def chain(length: int) -> str:
    lines = ["func.func @f(%v0: tensor<4xf64>) -> tensor<4xf64> {"]
    for k in range(length):
        op = "array.sin" if k % 2 else "array.tanh"
        lines.append(f"  %v{k + 1} = {op} %v{k} : tensor<4xf64>")
    return "\n".join([*lines, f"  func.return %v{length} : tensor<4xf64>", "}"])


def test_long_programs() -> None:
    """10,000 ops: no recursion, and code of a size in proportion to the program's."""
    sizes: dict[int, int] = {}
    for length in (1000, 10000):
        module = gradir.parse(chain(length)).run_passes("gradir-simplify,gradir-dce")
        derived = module.gradient("f", mode="vjp")
        sizes[length] = sum(ops_of(derived, "f_vjp").values())
        assert str(derived).count("\n") > sizes[length]
    assert sizes[10000] - sizes[1000] == 3.5 * 9000


def test_wide_sums_are_one_op() -> None:
    """A value that is used n times has one sum of n cotangents."""
    uses = 500
    lines = ["func.func @f(%x: tensor<f64>) -> tensor<f64> {", "  %s0 = array.sin %x : tensor<f64>"]
    for k in range(uses):
        lines.append(f"  %s{k + 1} = array.add %s{k}, %x : tensor<f64>")
    text = "\n".join([*lines, f"  func.return %s{uses} : tensor<f64>", "}"])
    module = gradir.parse(text).gradient("f", mode="grad")
    assert ops_of(module, "f_grad")["grad.accumulate"] == 1
    value, gradient = gradir.interpret(module, "f_grad", np.array(0.5))
    assert value == pytest.approx(np.sin(0.5) + uses * 0.5)
    assert gradient == pytest.approx(np.cos(0.5) + uses)


def test_callees_are_differentiated_once() -> None:
    """A function called many times has one pair of halves for each pattern of active arguments."""
    calls = 50
    lines = [
        "func.func @g(%a: tensor<f64>, %b: tensor<f64>) -> tensor<f64> {",
        "  %y = array.multiply %a, %b : tensor<f64>",
        "  func.return %y : tensor<f64>",
        "}",
        "func.func @f(%v0: tensor<f64>, %c: tensor<f64> {grad.inactive}) -> tensor<f64> {",
    ]
    for k in range(calls):
        other = "%c" if k % 2 else "%v0"
        lines.append(
            f"  %v{k + 1} = func.call @g(%v{k}, {other})"
            " : (tensor<f64>, tensor<f64>) -> tensor<f64>"
        )
    text = "\n".join([*lines, f"  func.return %v{calls} : tensor<f64>", "}"])
    module = gradir.parse(text).gradient("f", mode="grad")
    assert len(module.functions) == 2 + 2 * 2 + 1
    _, gradient = gradir.interpret(module, "f_grad", np.array(1.01), np.array(1.02))
    power = calls // 2 + 1
    assert gradient == pytest.approx(power * 1.01 ** (power - 1) * 1.02 ** (calls // 2))
