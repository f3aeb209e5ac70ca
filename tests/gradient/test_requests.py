"""req="add": gradients that are added to what the caller's array holds, in place."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest

import gradir
from gradir.errors import ArgumentError, ArgumentTypeError, PassError

RANDOM = np.random.default_rng(0)

# Gradients by a nest, by a contraction, by a reduction, by rows, of an unread argument; a scalar.
MATMUL = "tensor<64x64xf32>, tensor<64x64xf32> -> tensor<64x64xf32>"
PROGRAMS = {
    "nest": "%y = array.multiply %w, %x : tensor<64x64xf32>",
    "contraction": f"%y = array.matmul %w, %x : {MATMUL}",
    "several": f"""%a = array.matmul %w, %x : {MATMUL}
  %b = array.matmul %x, %w : {MATMUL}
  %c = array.sin %w : tensor<64x64xf32>
  %d = array.multiply %a, %b : tensor<64x64xf32>
  %y = array.multiply %c, %d : tensor<64x64xf32>""",
    "rows": """%i = array.constant {value = dense<3> : tensor<64xi64>} : tensor<64xi64>
  %y = array.take %w, %i {axis = 0} : tensor<64x64xf32>, tensor<64xi64> -> tensor<64x64xf32>""",
    "nothing": "%y = array.exp %x : tensor<64x64xf32>",
    "itself": '%y = grad.name %w {name = "y"} : tensor<64x64xf32>',
}


def module_of(body: str) -> gradir.Module:
    return gradir.parse(f"""
func.func @f(%w: tensor<64x64xf32> {{grad.name = "w"}}, %x: tensor<64x64xf32>)
    -> tensor<64x64xf32> {{
  {body}
  func.return %y : tensor<64x64xf32>
}}""")


def arrays(count: int) -> list[Any]:
    return [RANDOM.standard_normal((64, 64)).astype(np.float32) for _ in range(count)]


@pytest.mark.parametrize("program", PROGRAMS)
def test_the_sum_has_the_bits_of_old_plus_gradient(program: str) -> None:
    module, (w, x, ct, old) = module_of(PROGRAMS[program]), arrays(4)
    plain = gradir.compile(module.gradient("f", wrt=["w", 1], mode="vjp"), "f_vjp")
    adding = module.gradient("f", wrt=["w", 1], mode="vjp", req={"w": "add"})
    y, grad, other = plain(w, x, ct)
    for run in (gradir.compile(adding, "f_vjp"), partial(gradir.interpret, adding, "f_vjp")):
        buffer = old.copy()
        results = run(w, x, ct, out=[None, buffer, None])
        assert results[1] is buffer
        if isinstance(run, partial):
            np.testing.assert_allclose(buffer, old + grad, rtol=1e-4, atol=1e-4)
            continue
        np.testing.assert_array_equal(buffer, old + grad)
        np.testing.assert_array_equal(results[0], y)
        np.testing.assert_array_equal(results[2], other)


def test_no_copy_is_made() -> None:
    """Elementwise, the sum is one nest in the caller's memory: no arena."""
    module = module_of(PROGRAMS["nest"]).gradient("f", wrt="w", mode="vjp", req={"w": "add"})
    fn = gradir.compile(module, "f_vjp")
    assert fn.plan.peak_bytes == 0
    assert sum(kernel.calls for kernel in fn.program.kernels) <= 2


@pytest.mark.parametrize("rows", [1, 64, 3000])
def test_a_contraction_adds_where_it_ends(rows: int) -> None:
    """The sum is the last step of the contraction: no memory and no pass over it more."""
    module = gradir.parse(f"""
func.func @f(%w: tensor<40x50xf32>, %x: tensor<{rows}x40xf32>) -> tensor<{rows}x50xf32> {{
  %y = array.matmul %x, %w : tensor<{rows}x40xf32>, tensor<40x50xf32> -> tensor<{rows}x50xf32>
  func.return %y : tensor<{rows}x50xf32>
}}""")
    made = {
        request: gradir.compile(module.gradient("f", 0, "vjp", req={0: request}), "f_vjp")
        for request in ("write", "add")
    }
    calls = {r: sum(kernel.calls for kernel in fn.program.kernels) for r, fn in made.items()}
    assert calls["add"] == calls["write"]
    assert made["add"].plan.peak_bytes == made["write"].plan.peak_bytes
    shapes = ((40, 50), (rows, 40), (rows, 50), (40, 50))
    w, x, ct, old = (RANDOM.standard_normal(shape).astype(np.float32) for shape in shapes)
    _, grad = made["write"](w, x, ct)
    _, total = made["add"](w, x, ct, out=[None, old.copy()])
    np.testing.assert_array_equal(total, old + grad)


def test_split_grad_and_second_order() -> None:
    """The backward half takes the buffer; a gradient that adds is differentiated like any other."""
    module, (w, x, ct, old) = module_of(PROGRAMS["several"]), arrays(4)
    split = module.gradient("f", wrt="w", req={"w": "add"})
    _, *residuals = gradir.compile(split, "f_fwd")(w, x)
    buffer = old.copy()
    gradir.compile(split, "f_bwd")(*residuals, ct, out=[buffer])
    _, grad = gradir.compile(module.gradient("f", wrt="w", mode="vjp"), "f_vjp")(w, x, ct)
    np.testing.assert_array_equal(buffer, old + grad)
    adding = module.gradient("f", wrt="w", mode="vjp", req={"w": "add"})
    twice = adding.gradient("f_vjp", wrt=0, of=1, mode="vjp")
    plain = module.gradient("f", wrt="w", mode="vjp").gradient("f_vjp", wrt=0, of=1, mode="vjp")
    buffer, v = old.copy(), arrays(1)[0]
    *_, product = gradir.compile(twice, "f_vjp_vjp")(w, x, ct, v, out=[None, buffer, None])
    *_, expected = gradir.compile(plain, "f_vjp_vjp")(w, x, ct, v)
    np.testing.assert_array_equal(product, expected)
    np.testing.assert_array_equal(buffer, old + grad)


def test_with_slices_beside_it() -> None:
    """Results, one of them two buffers."""
    module = gradir.parse("""
func.func @f(%t: tensor<6xf64>, %w: tensor<2xf64>, %i: tensor<2xi64>) -> tensor<2xf64> {
  %a = array.take %t, %i {axis = 0} : tensor<6xf64>, tensor<2xi64> -> tensor<2xf64>
  %y = array.multiply %a, %w : tensor<2xf64>
  func.return %y : tensor<2xf64>
}""").gradient("f", mode="vjp", req={0: "slices", 1: "add"})
    t, w, i, ct = np.arange(6.0), np.array([2.0, 3.0]), np.array([1, 4]), np.ones(2)
    runs: list[Any] = [gradir.compile(module, "f_vjp"), partial(gradir.interpret, module, "f_vjp")]
    for run in runs:
        buffer = np.array([10.0, 20.0])
        _, slices, _ = run(t, w, i, ct, out=[None, None, buffer])
        np.testing.assert_array_equal(buffer, [11, 24])
        np.testing.assert_array_equal(slices.densify(), [0, 2, 0, 0, 3, 0])


def test_a_scalar() -> None:
    module = gradir.parse("""
func.func @f(%x: f64) -> f64 {
  %y = arith.mulf %x, %x : f64
  func.return %y : f64
}""").gradient("f", mode="grad", req={0: "add"})
    for run in (gradir.compile(module, "f_grad"), partial(gradir.interpret, module, "f_grad")):
        buffer = np.array(1.0)
        run(3.0, out=[None, buffer])
        assert buffer == 7.0


def test_the_place_of_a_missing_buffer() -> None:
    """Counted in results; row slices are one."""
    module = gradir.parse("""
func.func @f(%t: tensor<6xf64>, %w: tensor<2xf64>, %i: tensor<2xi64>) -> tensor<2xf64> {
  %a = array.take %t, %i {axis = 0} : tensor<6xf64>, tensor<2xi64> -> tensor<2xf64>
  %y = array.multiply %a, %w : tensor<2xf64>
  func.return %y : tensor<2xf64>
}""").gradient("f", mode="vjp", req={0: "slices", 1: "add"})
    fn = gradir.compile(module, "f_vjp")
    with pytest.raises(ArgumentError, match=r"out\[2\]: expected the array"):
        fn(np.arange(6.0), np.ones(2), np.array([1, 4]), np.ones(2))


@pytest.mark.parametrize("out", [None, (None, None)])
def test_the_buffer_must_be_given(out: Any) -> None:
    module, (w, x, ct) = module_of(PROGRAMS["nest"]), arrays(3)
    adding = module.gradient("f", wrt="w", mode="vjp", req={"w": "add"})
    for run in (gradir.compile(adding, "f_vjp"), partial(gradir.interpret, adding, "f_vjp")):
        with pytest.raises(ArgumentError, match=r"f_vjp: out\[1\]: expected the array that the"):
            run(w, x, ct, out=out)


def test_null_write_and_add_together() -> None:
    """Of a @ b: the buffer of `write` is not read, not even where it holds nan."""
    type_ = "tensor<2x2xf64>"
    module = gradir.parse(f"""
func.func @f(%a: {type_}, %b: {type_}, %c: {type_}) -> {type_} {{
  %d = array.matmul %a, %b : {type_}, {type_} -> {type_}
  %y = array.multiply %d, %c : {type_}
  func.return %y : {type_}
}}""").gradient("f", mode="vjp", req={0: "add", 1: "write", 2: "null"})
    a, b = np.array([[1.0, 2], [3, 4]]), np.array([[0.5, -1], [2, 0.25]])
    ones = np.ones((2, 2))
    for run in (gradir.compile(module, "f_vjp"), partial(gradir.interpret, module, "f_vjp")):
        added, written = np.full((2, 2), 100.0), np.full((2, 2), np.nan)
        assert len(run(a, b, ones, ones, out=[None, added, written])) == 3
        np.testing.assert_allclose(added, [[99.5, 102.25], [99.5, 102.25]])
        np.testing.assert_allclose(written, [[4, 4], [6, 6]])


def test_a_tangent_is_not_added() -> None:
    with pytest.raises(PassError, match="req: add needs a gradient, got mode=jvp"):
        module_of(PROGRAMS["nest"]).gradient("f", mode="jvp", req={"w": "add"})


def test_memory_limits_know_the_buffer() -> None:
    module, (w, x, ct, old) = module_of(PROGRAMS["several"]), arrays(4)
    adding = module.gradient("f", wrt="w", mode="vjp", req={"w": "add"}, policy="keep_none")
    _, grad = gradir.compile(module.gradient("f", wrt="w", mode="vjp"), "f_vjp")(w, x, ct)
    buffer = old.copy()
    gradir.compile(adding, "f_vjp")(w, x, ct, out=[None, buffer])
    np.testing.assert_array_equal(buffer, old + grad)


@pytest.mark.parametrize("count", ["%three", "%n"])
def test_with_a_tape_beside_it(count: str) -> None:
    """A tape is one result and one argument, though several buffers stand for it."""
    module = gradir.parse(f"""
func.func @f(%x: f64, %n: index) -> f64 {{
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %three = arith.constant 3 : index
  %y = scf.for %i = %zero to {count} step %one iter_args(%a = %x) -> (f64) {{
    %b = math.sin %a : f64
    %c = arith.mulf %a, %b : f64
    scf.yield %c : f64
  }}
  func.return %y : f64
}}""").gradient("f", req={0: "add"})
    forward, backward = (gradir.compile(module, f"f_{half}") for half in ("fwd", "bwd"))
    y, buffer = np.zeros(()), np.full((), 2.0)
    count_of_results = len(forward(1.5, 3))
    assert forward(1.5, 3, out=[y, *[None] * (count_of_results - 1)])[0] is y
    _, *residuals = forward(1.5, 3)
    backward(*residuals, 1.0, out=[buffer])
    np.testing.assert_allclose(buffer - 2, 1.3632862, rtol=1e-6)
    _, *others = gradir.interpret(module, "f_fwd", 1.5, 3)
    (expected,) = gradir.interpret(module, "f_bwd", *others, 1.0, out=[np.full((), 2.0)])
    np.testing.assert_allclose(buffer, expected)
    with pytest.raises(ArgumentError, match=r"out: expected \d entries, one for each result"):
        forward(1.5, 3, out=[None] * (count_of_results + 1))
    with pytest.raises(ArgumentTypeError, match="expected None for a tape, got ndarray"):
        forward(1.5, 3, out=[None] * (count_of_results - 1) + [y])
    with pytest.raises(ArgumentError, match=rf"argument {len(residuals)} \(%y_ct\)"):
        backward(*residuals, np.ones(2), out=[buffer])
