"""Programs with dynamic extents (`?`): specialization, runs, derivatives that wait for shapes."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from op_cases import CASES, ELEMENTS, Case
from xdsl.dialects.builtin import ModuleOp, f32
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, Region, SSAValue

import gradir
from gradir.compiler.dynamic import SpecializingExecutable
from gradir.compiler.specialize_pass import specialize
from gradir.dialects.base.interfaces import TensorOp
from gradir.dialects.base.shapes import DYNAMIC, element_of, shape_of, tensor
from gradir.errors import ArgumentError, ArgumentTypeError, PassError

Array = np.ndarray[Any, np.dtype[Any]]

MLP = """
func.func @loss(%x: tensor<?x3xf64> {grad.inactive}, %t: tensor<?xi64>, %w1: tensor<5x3xf64>,
                %b1: tensor<5xf64>, %w2: tensor<4x5xf64>) -> tensor<f64> {
  %h = nn.linear %x, %w1, %b1 : tensor<?x3xf64>, tensor<5x3xf64>, tensor<5xf64> -> tensor<?x5xf64>
  %a = array.tanh %h : tensor<?x5xf64>
  %n = nn.layer_norm %a : tensor<?x5xf64> -> tensor<?x5xf64>
  %o = nn.linear %n, %w2 : tensor<?x5xf64>, tensor<4x5xf64> -> tensor<?x4xf64>
  %l = nn.cross_entropy %o, %t : tensor<?x4xf64>, tensor<?xi64> -> tensor<f64>
  %s = array.square %o : tensor<?x4xf64>
  %m = array.mean %s : tensor<?x4xf64> -> tensor<f64>
  %y = array.add %l, %m : tensor<f64>
  func.return %y : tensor<f64>
}
"""


def batch(count: int, seed: int = 0) -> list[Array]:
    generator = np.random.default_rng(seed)
    return [generator.normal(size=(count, 3)), generator.integers(0, 4, count)]


def weights() -> list[Array]:
    generator = np.random.default_rng(7)
    return [generator.normal(size=shape) for shape in ((5, 3), (5,), (4, 5))]


def like(arrays: Sequence[Array]) -> list[Array]:
    """Random arrays of the same shapes."""
    generator: Any = np.random.default_rng(9)
    return [np.array(generator.standard_normal(a.shape)) for a in arrays]


def difference(function: Any, arrays: Sequence[Array], along: Sequence[Array]) -> Any:
    """The central difference of the first result."""
    step = 1e-5
    high, low = (
        function(*[a + sign * step * d for a, d in zip(arrays, along, strict=True)])[0]
        for sign in (1, -1)
    )
    return (high - low) / (2 * step)


def test_a_network_is_trained_with_two_batch_sizes():
    """Step for step the numbers equal those with static shapes."""
    open_step = gradir.compile(gradir.parse(MLP).gradient("loss", mode="grad"), "loss_grad")
    assert isinstance(open_step, SpecializingExecutable)
    static = {
        n: gradir.compile(
            gradir.parse(MLP.replace("?", str(n))).gradient("loss", mode="grad"), "loss_grad"
        )
        for n in (8, 3)
    }
    ours, theirs, losses = weights(), weights(), list[float]()
    for step in range(12):
        n = (8, 8, 3)[step % 3]
        data = batch(n, step)
        for parameters, run in ((ours, open_step), (theirs, static[n])):
            loss, *gradients = run(*data, *parameters)
            for parameter, gradient in zip(parameters, gradients, strict=True):
                parameter -= 0.1 * gradient
            losses.append(float(loss))
    for a, b in zip(ours, theirs, strict=True):
        np.testing.assert_array_equal(a, b)
    assert np.mean(losses[-8:]) < np.mean(losses[:8])
    assert "2 specializations" in repr(open_step)


@pytest.mark.parametrize("count", [1, 4, 6])
def test_every_mode_against_differences(count: int):
    module = gradir.parse(MLP)
    data, parameters = batch(count), weights()
    along = like(parameters)

    def value(*given: Array) -> Any:
        return gradir.interpret(module, "loss", *data, *given)

    expected = difference(value, parameters, along)
    for mode, more in (("grad", ()), ("vjp", (np.float64(1),))):
        made = module.gradient("loss", mode=mode)
        for run in (gradir.compile(made, f"loss_{mode}"), interpreted(made, f"loss_{mode}")):
            _, *gradients = run(*data, *parameters, *more)
            found = sum(np.sum(g * d) for g, d in zip(gradients, along, strict=True))
            np.testing.assert_allclose(found, expected, rtol=1e-7)
    made = module.gradient("loss", mode="jvp")
    _, tangent = gradir.compile(made, "loss_jvp")(*data, *parameters, *along)
    np.testing.assert_allclose(tangent, expected, rtol=1e-7)


def interpreted(module: gradir.Module, name: str) -> Any:
    def run(*arrays: Any) -> tuple[Any, ...]:
        return gradir.interpret(module, name, *arrays)

    return run


@pytest.mark.parametrize("count", [2, 5])
def test_second_order(count: int):
    """Reverse over reverse and forward over reverse, against differences of the gradient."""
    first = gradir.parse(MLP).gradient("loss", mode="grad", wrt=2)
    data, (w, *rest) = batch(count), weights()
    [along] = like([w])
    gradient = gradir.compile(first, "loss_grad")

    def of_w(given: Array) -> Any:
        return gradient(*data, given, *rest)[1:]

    expected = difference(of_w, [w], [along])
    twice = first.gradient("loss_grad", mode="vjp", wrt=2, of=1)
    found = gradir.compile(twice, "loss_grad_vjp")(*data, w, *rest, along)[-1]
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-9)
    forward = first.gradient("loss_grad", mode="jvp", wrt=2, of=1)
    found = gradir.compile(forward, "loss_grad_jvp")(*data, w, *rest, along)[-1]
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-9)


UNUSED = """
func.func @f(%x: tensor<?xf64>, %w: tensor<2xf64>) -> (tensor<2xf64>, tensor<?xf64>) {
  %y = array.square %w : tensor<2xf64>
  func.return %y, %x : tensor<2xf64>, tensor<?xf64>
}
"""


def test_what_does_not_contribute_has_zeros_of_its_shape():
    module = gradir.parse(UNUSED)
    x, w = np.arange(3.0), np.arange(2.0)
    _, _, to_x, to_w = gradir.compile(module.gradient("f", mode="grad"), "f_grad")(x, w)
    assert to_x.tolist() == [0, 0, 0] and to_w.tolist() == [0, 2]
    made = module.gradient("f", mode="vjp", wrt=0, of=1)
    assert gradir.compile(made, "f_vjp")(x, w, x)[2].tolist() == [0, 1, 2]


ROWS = """
func.func @rows(%x: tensor<?x3xf64>, %s: tensor<3xf64>) -> tensor<3xf64> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = tensor.dim %x, %c0 : tensor<?x3xf64>
  %y, %all = scf.for %i = %c0 to %n step %c1
      iter_args(%acc = %s, %o = %x) -> (tensor<3xf64>, tensor<?x3xf64>) {
    %r = tensor.extract_slice %o[%i, 0] [1, 3] [1, 1] : tensor<?x3xf64> to tensor<3xf64>
    %q = array.multiply %r, %acc : tensor<3xf64>
    %a = array.sin %q : tensor<3xf64>
    %b = array.add %a, %acc : tensor<3xf64>
    %t = array.tanh %o : tensor<?x3xf64>
    scf.yield %b, %t : tensor<3xf64>, tensor<?x3xf64>
  }
  func.return %y : tensor<3xf64>
}
"""


@pytest.mark.parametrize("count", [1, 4])
def test_a_loop_over_rows(count: int):
    module = gradir.parse(ROWS)
    generator = np.random.default_rng(3)
    arrays = [generator.normal(size=(count, 3)), generator.normal(size=3)]
    along = like(arrays)
    ct = generator.normal(size=3)
    run = gradir.compile(module, "rows")
    np.testing.assert_allclose(run(*arrays)[0], gradir.interpret(module, "rows", *arrays)[0])
    made = module.gradient("rows", mode="vjp")
    _, *gradients = gradir.compile(made, "rows_vjp")(*arrays, ct)
    found = sum(np.sum(g * d) for g, d in zip(gradients, along, strict=True))
    np.testing.assert_allclose(found, np.sum(ct * difference(run, arrays, along)), rtol=1e-7)


def test_an_empty_tensor_of_which_a_row_is_read_is_refused():
    """As it is where the program says the 0: the loop would not run, but no slice fits."""
    run = gradir.compile(gradir.parse(ROWS), "rows")
    with pytest.raises(gradir.GradirError, match="a slice must stay inside a size of 0"):
        run(np.zeros((0, 3)), np.ones(3))


CUSTOM = """
func.func @net(%x: tensor<?xf64>) -> tensor<f64> {
  %y = func.call @f(%x) : (tensor<?xf64>) -> tensor<?xf64>
  %z = array.sum %y : tensor<?xf64> -> tensor<f64>
  func.return %z : tensor<f64>
}
func.func @f(%x: tensor<?xf64>) -> tensor<?xf64> {
  func.return %x : tensor<?xf64>
}
func.func @forward(%x: tensor<?xf64>) -> (tensor<?xf64>, tensor<?xf64>) {
  func.return %x, %x : tensor<?xf64>, tensor<?xf64>
}
func.func @backward(%x: tensor<?xf64>, %ct: tensor<?xf64>) -> tensor<?xf64> {
  %y = array.multiply %x, %ct : tensor<?xf64>
  func.return %y : tensor<?xf64>
}
grad.custom_vjp @f, @forward, @backward
"""


def test_a_derivative_written_by_hand_is_that_of_every_specialization():
    """The gradient is not the body's, which would be ones."""
    module = gradir.parse(CUSTOM)
    for name in ("net", "f"):
        mode = "grad" if name == "net" else "vjp"
        made = module.gradient(name, mode=mode)
        run = gradir.compile(made, f"{name}_{mode}")
        for count in (2, 3):
            x = np.arange(1.0, count + 1)
            more = [np.full(count, 2.0)] if mode == "vjp" else []
            expected = 2 * x if mode == "vjp" else x
            np.testing.assert_array_equal(run(x, *more)[1], expected)
            found = gradir.interpret(made, f"{name}_{mode}", x, *more)[1]
            np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(gradir.compile(module, "f")(x)[0], x)


INSIDE = """
func.func @f(%x: tensor<4xf64>) -> tensor<f64> {
  %y = tensor.cast %x : tensor<4xf64> to tensor<?xf64>
  %z = array.square %y : tensor<?xf64>
  %m = array.mean %z : tensor<?xf64> -> tensor<f64>
  func.return %m : tensor<f64>
}
"""


def test_open_extents_inside_a_static_function():
    module, x = gradir.parse(INSIDE), np.arange(4.0)
    run = gradir.compile(module, "f")
    assert not isinstance(run, SpecializingExecutable)
    assert run(x)[0] == 3.5 == gradir.interpret(module, "f", x)[0]
    made = module.gradient("f", mode="grad")
    np.testing.assert_array_equal(gradir.compile(made, "f_grad")(x)[1], x / 2)


SUM = """
func.func @f(%x: tensor<?x2xf32>, %y: tensor<?x2xf32>) -> (tensor<?x2xf32>, tensor<f32>) {
  %s = array.add %x, %y : tensor<?x2xf32>
  %m = array.mean %s : tensor<?x2xf32> -> tensor<f32>
  func.return %s, %m : tensor<?x2xf32>, tensor<f32>
}
"""


def ones(*shape: int) -> Array:
    return np.ones(shape, np.float32)


def test_one_executable_for_each_tuple_of_shapes():
    run = gradir.compile(gradir.parse(SUM), "f", threads=1)
    assert isinstance(run, SpecializingExecutable)
    assert (run.name, run.threads) == ("f", 1)
    for read in ("plan", "llvm_ir", "asm", "compile_times"):
        with pytest.raises(ArgumentError, match="f: nothing is compiled before the first call"):
            getattr(run, read)
    two = run.specialized(ones(2, 2), ones(2, 2))
    three = run.specialized(ones(3, 2), ones(3, 2))
    assert two is run.specialized(ones(2, 2), ones(2, 2)) is not three
    assert run.last is three and run.llvm_ir == three.llvm_ir and run.plan is three.plan
    out = np.empty((2, 2), np.float32)
    results = run(ones(2, 2), ones(2, 2), out=[out, None])
    assert results[0] is out and out.tolist() == [[2, 2], [2, 2]] and results[1] == 2
    assert repr(run) == (
        "<gradir function f(%x: tensor<?x2xf32>, %y: tensor<?x2xf32>) -> (tensor<?x2xf32>, "
        "tensor<f32>), 1 threads, 2 specializations>"
    )


def test_threads_share_what_is_compiled():
    run = gradir.compile(gradir.parse(SUM), "f")
    assert isinstance(run, SpecializingExecutable)
    counts = [1 + k % 3 for k in range(24)]

    def call(count: int) -> int:
        results = run(ones(count, 2), ones(count, 2))
        assert results[0].shape == (count, 2) and results[1] == 2
        return id(run.specialized(ones(count, 2), ones(count, 2)))

    with ThreadPoolExecutor(6) as pool:
        made = list(pool.map(call, counts))
    assert len(set(made)) == 3 and "3 specializations" in repr(run)


@pytest.mark.parametrize("way", ["compile", "interpret"])
def test_arguments_are_checked(way: str):
    module = gradir.parse(SUM)
    run: Any = gradir.compile(module, "f") if way == "compile" else interpreted(module, "f")
    with pytest.raises(ArgumentTypeError, match=r"f: expected 2 arguments \(%x, %y\), got 1"):
        run(ones(2, 2))
    place = r"f: argument 1 \(%y\): expected float32 array of shape \(\?, 2\), got "
    for bad, kind, got in (
        (ones(2, 3), ArgumentError, r"float32 of shape \(2, 3\)"),
        (ones(2), ArgumentError, r"float32 of shape \(2,\)"),
        (ones(2, 2).astype("d"), ArgumentTypeError, r"float64 of shape \(2, 2\)"),
        ([[1.0, 2.0]], ArgumentTypeError, "list"),
    ):
        with pytest.raises(kind, match=place + got):
            run(ones(2, 2), bad)
    # extents that each fit, but not each other: refused at the op
    with pytest.raises(PassError, match=r"array\.add: operand types must be equal") as caught:
        run(ones(2, 2), ones(3, 2))
    assert caught.value.diagnostic is not None and caught.value.diagnostic.line == 3


def test_options_of_a_derivative_are_kept():
    """A memory limit is met, or refused, when the shapes are known; pruned gradients stay so."""
    module = gradir.parse(MLP)
    data, parameters = batch(64), weights()
    made = module.gradient("loss", mode="grad", memory_limit=1)
    with pytest.raises(PassError, match="infeasible: minimum is"):
        gradir.compile(made, "loss_grad")(*data, *parameters)
    made = module.gradient("loss", mode="grad", policy="keep_none", req={2: "null", 3: "write"})
    results = gradir.compile(made, "loss_grad")(*data, *parameters)
    assert [r.shape for r in results] == [(), (5,), (4, 5)]
    whole = module.gradient("loss", mode="grad")
    all_of_them = gradir.compile(whole, "loss_grad")(*data, *parameters)
    for a, b in zip(results[1:], all_of_them[2:], strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("request_", ["add", "slices"])
def test_requests_that_need_shapes(request_: str):
    with pytest.raises(PassError, match=f"req: {request_} needs static shapes"):
        gradir.parse(MLP).gradient("loss", mode="grad", req={2: request_})


def test_a_derivative_prints_and_parses():
    made = gradir.parse(MLP).gradient("loss", mode="vjp", wrt=[2, 4], policy="keep_none")
    assert "grad.derivative @loss(" in str(made)
    again = gradir.parse(str(made))
    assert str(again) == str(made)
    arrays = [*batch(3), *weights(), np.float64(1)]
    found = gradir.compile(made, "loss_vjp")(*arrays)
    expected = gradir.interpret(again, "loss_vjp", *arrays)
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12)


def _on_static_types(case: Case) -> TensorOp:
    types = [tensor(a.shape, ELEMENTS[a.dtype.name]) for a in case.arrays(f32)]
    return case.op_class.of(Block(arg_types=types).args, case.result_types(f32), **case.attributes)


def _opened(values: Sequence[SSAValue]) -> list[Attribute]:
    return [tensor([DYNAMIC] * len(shape_of(v.type)), element_of(v.type)) for v in values]


def _specialized_types(static: TensorOp) -> list[Attribute]:
    """The result types of an op on open types, after specialization for the static ones."""
    block = Block(arg_types=_opened(static.operands))
    op = type(static).create(
        operands=list(block.args),
        result_types=_opened(static.results),
        attributes=static.attributes,
        properties=static.properties,
    )
    block.add_ops([op, ReturnOp(*op.results)])
    signature = [a.type for a in block.args], [r.type for r in op.results]
    module = ModuleOp([FuncOp("f", signature, Region(block))])
    made = specialize(module, "f", [shape_of(o.type) for o in static.operands])
    return list(made.function_type.outputs)


def _infers(static: TensorOp) -> bool:
    """The operands say all of the result's type."""
    return static.infer_types([o.type for o in static.operands], static.attributes) is not None


# They need an extent, or the axis, to be written (test_dynamic_ops.py).
NOT_OPEN = {"array.squeeze", "array.gather_nd", "array.scatter_nd_add"}


@pytest.mark.parametrize("op", sorted({c.op for c in CASES if c.operands} - NOT_OPEN))
def test_specialized_types_are_those_of_static_operands(op: str):
    for case in CASES:
        if case.op == op:
            static = _on_static_types(case)
            if static.operands and _infers(static):
                assert _specialized_types(static) == [r.type for r in static.results]
