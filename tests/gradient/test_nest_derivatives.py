"""loopnest.nest as an op of programs: the interpreter, native code, derivatives of each order."""

from __future__ import annotations

import random
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from nest_programs import RandomNest, nest_text, tensor

import gradir
from gradir.errors import GradirError
from gradir.testing import check_grads

FLOATS = {"f32": np.float32, "f16": np.float16, "bf16": ml_dtypes.bfloat16}


def normal(*shapes: tuple[int, ...]) -> list[Any]:
    numbers = np.random.default_rng(1)
    return [numbers.standard_normal(s) for s in shapes]


def check(text: str, arguments: list[Any], native: bool = False) -> None:
    """First and second order against central differences, and forward against reverse mode."""
    module = gradir.parse(text)
    check_grads((module, "f"), arguments, order=2, native=native)
    values = gradir.interpret(module, "f", *arguments)
    tangents, cts = normal(*(a.shape for a in arguments)), normal(*(v.shape for v in values))
    forward, reverse = (module.gradient("f", mode=mode) for mode in ("jvp", "vjp"))
    moved = gradir.interpret(forward, "f_jvp", *arguments, *tangents)[len(values) :]
    grads = gradir.interpret(reverse, "f_vjp", *arguments, *cts)[len(values) :]
    found, expected = (
        sum(float((x * y).sum()) for x, y in zip(xs, ys, strict=True))
        for xs, ys in ((moved, cts), (grads, tangents))
    )
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("seed", range(60))
def test_random_nests(seed: int) -> None:
    made = RandomNest(random.Random(seed))
    text = made.text()
    check(text, made.arguments(seed), native=seed % 6 == 0)


# A row: shapes of the arguments, results, the nest.
PLACES = {
    "elementwise": (
        [(3, 2)],
        [(3, 2)],
        """[3, 2] (%0 = %a0[d0, d1] : tensor<3x2xf64>) -> ([d0, d1] : tensor<3x2xf64>) {
    %1 = math.tanh %0 : f64
    %2 = math.exp %1 : f64
    %3 = arith.divf %2, %0 : f64
    loopnest.yield %3 : f64 }""",
    ),
    "stencil": (
        [(5,)],
        [(5,)],
        """[5] (%0 = %a0[d0 - 1] pad 0.5 : f64 : tensor<5xf64>, %1 = %a0[d0] : tensor<5xf64>,
      %2 = %a0[d0 + 2] pad 0.0 : f64 : tensor<5xf64>) -> ([d0] : tensor<5xf64>) {
    %3 = arith.mulf %0, %1 : f64
    %4 = math.sin %2 : f64
    %5 = arith.mulf %3, %4 : f64
    loopnest.yield %5 : f64 }""",
    ),
    "a pad at which the body has no number": (
        [(3,)],
        [(3,)],
        """[3] (%0 = %a0[d0 - 1] pad 1.0 : f64 : tensor<3xf64>) -> ([d0] : tensor<3xf64>) {
    %c = arith.constant 1.0 : f64
    %1 = arith.subf %0, %c : f64
    %2 = math.absf %1 : f64
    %3 = math.sqrt %2 : f64
    loopnest.yield %3 : f64 }""",
    ),
    "matrix times vector": (
        [(3, 4), (4,)],
        [(3,)],
        """[3, 4] (%0 = %a0[d0, d1] : tensor<3x4xf64>, %1 = %a1[d1] : tensor<4xf64>)
      -> (add [d0] : tensor<3xf64>) {
    %2 = arith.mulf %0, %1 : f64
    loopnest.yield %2 : f64 }""",
    ),
    "convolution with steps": (
        [(9,), (3,)],
        [(4,)],
        """[4, 3] (%0 = %a0[d0 * 2 + d1] : tensor<9xf64>, %1 = %a1[2 - d1] : tensor<3xf64>)
      -> (add [d0] : tensor<4xf64>) {
    %2 = arith.mulf %0, %1 : f64
    %3 = arith.mulf %2, %0 : f64
    loopnest.yield %3 : f64 }""",
    ),
    "several outputs": (
        [(2, 3)],
        [(3, 2), ()],
        """[2, 3] (%0 = %a0[d0, d1] : tensor<2x3xf64>)
      -> ([d1, d0] : tensor<3x2xf64>, add [] : tensor<f64>) {
    %1 = math.cos %0 : f64
    %2 = arith.mulf %1, %1 : f64
    loopnest.yield %1, %2 : f64, f64 }""",
    ),
    "a sum that leaves elements out": (
        [(3,)],
        [(7,)],
        """[3] (%0 = %a0[d0] : tensor<3xf64>) -> (add [d0 * 2] : tensor<7xf64>) {
    %1 = arith.mulf %0, %0 : f64
    loopnest.yield %1 : f64 }""",
    ),
    "written over what it starts from": (
        [(2,), (5,)],
        [(5,)],
        """[2] (%0 = %a0[d0] : tensor<2xf64>) -> ([d0 + 1] init %a1 : tensor<5xf64>) {
    %1 = math.exp %0 : f64
    loopnest.yield %1 : f64 }""",
    ),
    "indices": (
        [(3, 3)],
        [(3,)],
        """[3, 3] (%0 = %a0[d1, d0] : tensor<3x3xf64>) -> (add [d0] : tensor<3xf64>) {
    %i = loopnest.index 0
    %j = loopnest.index 1
    %k = arith.cmpi slt, %i, %j : i64
    %n = arith.sitofp %j : i64 to f64
    %1 = arith.mulf %0, %n : f64
    %2 = math.sin %0 : f64
    %3 = arith.select %k, %1, %2 : f64
    loopnest.yield %3 : f64 }""",
    ),
    "special functions": (
        [(3,), (3,)],
        [(3,)],
        """[3] (%0 = %a0[d0] : tensor<3xf64>, %1 = %a1[d0] : tensor<3xf64>)
      -> ([d0] : tensor<3xf64>) {
    %2 = loopnest.erfc %0 : f64
    %3 = loopnest.remainder %2, %1 : f64
    loopnest.yield %3 : f64 }""",
    ),
    "rank 0": (
        [()],
        [()],
        """[] (%0 = %a0[] : tensor<f64>, %1 = %a0[] : tensor<f64>) -> ([] : tensor<f64>) {
    %2 = math.sin %0 : f64
    %3 = arith.mulf %2, %1 : f64
    loopnest.yield %3 : f64 }""",
    ),
    "no iterations": (
        [(0, 2), (2,)],
        [(2,)],
        """[0, 2] (%0 = %a0[d0, d1] : tensor<0x2xf64>) -> (add [d1] init %a1 : tensor<2xf64>) {
    loopnest.yield %0 : f64 }""",
    ),
}


@pytest.mark.parametrize("name", PLACES)
def test_places(name: str) -> None:
    shapes, results, nest = PLACES[name]
    text = nest_text([*map(tensor, shapes)], [*map(tensor, results)], nest)
    check(text, [a + 3 for a in normal(*shapes)], native=True)


def grads_of(text: str, *arguments: Any) -> list[Any]:
    """The gradients of the sum of @f's result."""
    module = gradir.parse(text).gradient("f", mode="vjp")
    (value,) = gradir.interpret(gradir.parse(text), "f", *arguments)
    return list(gradir.interpret(module, "f_vjp", *arguments, np.ones_like(value))[1:])


def test_ties_are_split() -> None:
    text = nest_text(
        ["tensor<3xf64>"] * 2,
        ["tensor<3xf64>"],
        """[3] (%0 = %a0[d0] : tensor<3xf64>, %1 = %a1[d0] : tensor<3xf64>)
      -> ([d0] : tensor<3xf64>) {
    %2 = arith.maximumf %0, %1 : f64
    loopnest.yield %2 : f64 }""",
    )
    x, y = grads_of(text, np.array([1.0, 2, 3]), np.array([1.0, 3, 2]))
    np.testing.assert_array_equal([x, y], [[0.5, 0, 1], [0.5, 1, 0]])


def test_what_is_read_outside_has_no_derivative() -> None:
    """The derivative of the body at the pad is nan there, and is dropped."""
    text = nest_text(
        ["tensor<2xf64>"],
        ["tensor<2xf64>"],
        """[2] (%0 = %a0[d0 - 1] pad 0.0 : f64 : tensor<2xf64>) -> ([d0] : tensor<2xf64>) {
    %1 = math.sqrt %0 : f64
    %2 = arith.mulf %1, %1 : f64
    loopnest.yield %2 : f64 }""",
    )
    (x,) = grads_of(text, np.array([4.0, 9]))
    np.testing.assert_allclose(x, [1, 0])


def test_integers_and_tables_of_integers() -> None:
    text = nest_text(
        ["tensor<3xf64>", "tensor<3xi64>", "tensor<4xui8>"],
        ["tensor<3xf64>"],
        """[3] (%0 = %a0[d0] : tensor<3xf64>, %1 = %a1[d0] : tensor<3xi64>, %all = %a2
      : tensor<4xui8>) -> ([d0] : tensor<3xf64>) {
    %k = loopnest.check_index %1 bound 4 message "k"
    %n = loopnest.load %all[%k] : tensor<4xui8> -> i8
    %f = arith.uitofp %n : i8 to f64
    %2 = arith.mulf %0, %f : f64
    loopnest.yield %2 : f64 }""",
    )
    x = np.arange(3.0)
    arguments = x, np.array([3, -1, 0]), np.array([2, 3, 4, 250], np.uint8)
    (found,) = grads_of(text, *arguments)
    np.testing.assert_array_equal(found, [250, 250, 2])
    with pytest.raises(gradir.errors.IndexOutOfRange, match="k: index 4 is out of range for a"):
        gradir.interpret(gradir.parse(text), "f", x, np.array([0, 4, 0]), arguments[2])


@pytest.mark.parametrize("element", FLOATS)
def test_narrow_floats(element: str) -> None:
    """Near the numbers of f64, by native code as by the interpreter; sums are made in f32."""

    def text(element: str) -> str:
        return nest_text(
            [tensor(s, element) for s in ((64, 8), (8,))],
            [tensor((64,), element)],
            f"""[64, 8] (%0 = %a0[d0, d1] : {tensor((64, 8), element)},
      %1 = %a1[d1] : {tensor((8,), element)}, %2 = %a1[d1 - 1] pad 0.0 : {element}
      : {tensor((8,), element)}) -> (add [d0] : {tensor((64,), element)}) {{
    %3 = arith.mulf %0, %1 : {element}
    %4 = math.sin %2 : {element}
    %5 = arith.mulf %3, %4 : {element}
    loopnest.yield %5 : {element} }}""",
        )

    eps = {"f32": 1e-6, "f16": 1e-3, "bf16": 8e-3}[element]
    module, exact = (gradir.parse(text(e)).gradient("f", mode="vjp") for e in (element, "f64"))
    given = [a.astype(FLOATS[element]) for a in normal((64, 8), (8,), (64,))]
    expected = gradir.interpret(exact, "f_vjp", *(a.astype(np.float64) for a in given))
    compiled = gradir.compile(module, "f_vjp")(*given)
    for results in (compiled, gradir.interpret(module, "f_vjp", *given)):
        for found, wanted in zip(results, expected, strict=True):
            assert found.dtype == FLOATS[element]
            error = np.abs(found.astype(np.float64) - wanted)
            assert error.max() < 8 * eps * max(1, np.abs(wanted).max())


# Inside of programs.

STEP = """loopnest.nest [4] (%l = {x}[d0 - 1] pad 0.0 : f64 : tensor<4xf64>,
      %m = {x}[d0] : tensor<4xf64>) -> ([d0] : tensor<4xf64>) {{
    %0 = math.sin %l : f64
    %1 = arith.mulf %0, %m : f64
    %2 = arith.addf %1, %m : f64
    loopnest.yield %2 : f64
  }}"""

PROGRAMS = {
    "for": f"""
func.func @f(%x: tensor<4xf64>) -> tensor<4xf64> {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %y = scf.for %i = %c0 to %c3 step %c1 iter_args(%z = %x) -> (tensor<4xf64>) {{
    %w = {STEP.format(x="%z")}
    scf.yield %w : tensor<4xf64>
  }}
  func.return %y : tensor<4xf64>
}}""",
    "if": f"""
func.func @f(%x: tensor<4xf64>) -> tensor<4xf64> {{
  %c0 = arith.constant 0 : index
  %e = tensor.extract %x[%c0] : tensor<4xf64>
  %zero = arith.constant 100.0 : f64
  %less = arith.cmpf olt, %e, %zero : f64
  %y = scf.if %less -> (tensor<4xf64>) {{
    %w = {STEP.format(x="%x")}
    scf.yield %w : tensor<4xf64>
  }} else {{
    scf.yield %x : tensor<4xf64>
  }}
  func.return %y : tensor<4xf64>
}}""",
    "call": f"""
func.func @g(%x: tensor<4xf64>) -> tensor<4xf64> {{
  %y = {STEP.format(x="%x")}
  func.return %y : tensor<4xf64>
}}
func.func @f(%x: tensor<4xf64>) -> tensor<4xf64> {{
  %y = func.call @g(%x) : (tensor<4xf64>) -> tensor<4xf64>
  %z = func.call @g(%y) : (tensor<4xf64>) -> tensor<4xf64>
  func.return %z : tensor<4xf64>
}}""",
    "stage": f"""
func.func @f(%x: tensor<4xf64>) -> tensor<4xf64> {{
  %s = grad.start_checkpoint %x : tensor<4xf64>
  %y = {STEP.format(x="%s")}
  %z = {STEP.format(x="%y")}
  %e = grad.end_checkpoint %z : tensor<4xf64>
  func.return %e : tensor<4xf64>
}}""",
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs(name: str) -> None:
    check(PROGRAMS[name], normal((4,)), native=True)


@pytest.mark.parametrize("policy", ["keep_none", "auto", "keep_matmuls"])
def test_policies(policy: str) -> None:
    """The same bits whatever is recomputed."""
    module, arguments = gradir.parse(PROGRAMS["call"]), normal((4,), (4,))
    kept = module.gradient("f", mode="vjp", policy="keep_all")
    found = module.gradient("f", mode="vjp", policy=policy)
    expected = gradir.compile(kept, "f_vjp")(*arguments)
    for x, y in zip(gradir.compile(found, "f_vjp")(*arguments), expected, strict=True):
        np.testing.assert_array_equal(x, y)


def test_unused_results_cost_nothing() -> None:
    """No nest is made for arguments outside of wrt."""
    text = nest_text(
        ["tensor<4xf64>"] * 2,
        ["tensor<4xf64>", "tensor<4xf64>"],
        """[4] (%0 = %a0[d0] : tensor<4xf64>, %1 = %a1[d0] : tensor<4xf64>)
      -> ([d0] : tensor<4xf64>, maximum [d0] : tensor<4xf64>) {
    %2 = arith.mulf %0, %1 : f64
    loopnest.yield %2, %1 : f64, f64 }""",
    )
    module = gradir.parse(text).gradient("f", mode="vjp", wrt=[0], of=[0])
    assert str(module).split("@f_vjp")[1].count("loopnest.nest") == 2
    with pytest.raises(GradirError, match="no derivative of output 1"):
        gradir.parse(text).gradient("f", mode="vjp")


def test_native_sums_start_where_nothing_is_added() -> None:
    """Elements that a sum leaves out are 0, whatever was in memory."""
    shapes, _, nest = PLACES["a sum that leaves elements out"]
    run = gradir.compile(gradir.parse(nest_text([tensor(shapes[0])], [tensor((7,))], nest)), "f")
    out = np.full(7, np.nan)
    run(np.array([1.0, 2, 3]), out=(out,))
    np.testing.assert_array_equal(out, [1, 0, 4, 0, 9, 0, 0])
