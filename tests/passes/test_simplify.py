"""Simplification: fewer ops, and not a bit of a result changes."""

from __future__ import annotations

import numpy as np
import pytest
from xdsl.dialects.builtin import f32
from xdsl.ir import Block

import gradir
from gradir.dialects.base.interfaces import TensorOp
from gradir.dialects.base.shapes import tensor
from gradir.dialects.base.value import Emitter
from gradir.dialects.grad.grad import AccumulateOp, accumulated, zero

# The body of a function of %x, a tensor<2x3x4xf32>, what it returns, and the ops that are left.
PROGRAMS: dict[str, tuple[str, str, list[str]]] = {
    "negative of negative": (
        "%a = array.negative %x : tensor<2x3x4xf32>\n%y = array.negative %a : tensor<2x3x4xf32>",
        "2x3x4",
        [],
    ),
    "times and over one": (
        "%one = array.full {value = 1.0} : tensor<2x3x4xf32>\n"
        "%a = array.multiply %one, %x : tensor<2x3x4xf32>\n"
        "%b = array.multiply %a, %one : tensor<2x3x4xf32>\n"
        "%y = array.divide %b, %one : tensor<2x3x4xf32>",
        "2x3x4",
        [],
    ),
    "permutations": (
        "%a = array.permute_dims %x {axes = [1, 2, 0]} : tensor<2x3x4xf32> -> tensor<3x4x2xf32>\n"
        "%y = array.permute_dims %a {axes = [2, 1, 0]} : tensor<3x4x2xf32> -> tensor<2x4x3xf32>",
        "2x4x3",
        ["array.permute_dims"],
    ),
    "permutations back": (
        "%a = array.permute_dims %x {axes = [1, 2, 0]} : tensor<2x3x4xf32> -> tensor<3x4x2xf32>\n"
        "%y = array.permute_dims %a {axes = [2, 0, 1]} : tensor<3x4x2xf32> -> tensor<2x3x4xf32>",
        "2x3x4",
        [],
    ),
    "reshapes": (
        "%a = array.reshape %x : tensor<2x3x4xf32> -> tensor<24xf32>\n"
        "%b = array.reshape %a : tensor<24xf32> -> tensor<6x4xf32>\n"
        "%y = array.reshape %b : tensor<6x4xf32> -> tensor<4x6xf32>",
        "4x6",
        ["array.reshape"],
    ),
    "broadcasts": (
        "%a = array.broadcast_to %x : tensor<2x3x4xf32> -> tensor<5x2x3x4xf32>\n"
        "%y = array.broadcast_to %a : tensor<5x2x3x4xf32> -> tensor<2x5x2x3x4xf32>",
        "2x5x2x3x4",
        ["array.broadcast_to"],
    ),
    "broadcast of full": (
        "%a = array.full {value = -0.5} : tensor<4xf32>\n"
        "%y = array.broadcast_to %a : tensor<4xf32> -> tensor<3x4xf32>",
        "3x4",
        ["array.full"],
    ),
    "nothing moved": (
        "%a = array.slice %x {stop = [2, 3, 4]} : tensor<2x3x4xf32> -> tensor<2x3x4xf32>\n"
        "%b = array.pad %a {low = [0, 0, 0], high = [0, 0, 0]}"
        " : tensor<2x3x4xf32> -> tensor<2x3x4xf32>\n"
        "%c = array.sum %b {axis = []} : tensor<2x3x4xf32> -> tensor<2x3x4xf32>\n"
        "%d = array.astype %c : tensor<2x3x4xf32> -> tensor<2x3x4xf32>\n"
        "%y = array.broadcast_to %d : tensor<2x3x4xf32> -> tensor<2x3x4xf32>",
        "2x3x4",
        [],
    ),
    "zeros in sums": (
        "%zero = grad.zero : tensor<2x3x4xf32>\n"
        "%a = grad.accumulate %zero, %x, %zero, %x : tensor<2x3x4xf32>\n"
        "%y = grad.accumulate %zero, %a : tensor<2x3x4xf32>",
        "2x3x4",
        ["grad.zero", "grad.accumulate", "grad.accumulate"],
    ),
    "sums of zeros alone": (
        "%zero = grad.zero : tensor<2x3x4xf32>\n"
        "%a = grad.accumulate %zero, %zero, %zero : tensor<2x3x4xf32>\n"
        "%y = grad.accumulate %a : tensor<2x3x4xf32>",
        "2x3x4",
        ["grad.zero"],
    ),
    "what must stay": (
        "%zero = array.full {value = 0.0} : tensor<2x3x4xf32>\n"
        "%a = array.flip %x {axis = [1]} : tensor<2x3x4xf32> -> tensor<2x3x4xf32>\n"
        "%y = array.add %a, %zero : tensor<2x3x4xf32>",
        "2x3x4",
        ["array.full", "array.flip", "array.add"],
    ),
}


@pytest.mark.parametrize(("body", "shape", "left"), PROGRAMS.values(), ids=list(PROGRAMS))
def test_simplify(body: str, shape: str, left: list[str]):
    module = gradir.parse(
        f"func.func @f(%x: tensor<2x3x4xf32>) -> tensor<{shape}xf32> {{\n"
        f"{body}\nfunc.return %y : tensor<{shape}xf32>\n}}"
    )
    simple = module.run_passes("gradir-simplify")
    x = np.linspace(-2, 2, 24, dtype=np.float32).reshape(2, 3, 4)
    x[0, 0, :2] = np.nan, -0.0
    assert [op.name for op in simple.op.walk() if isinstance(op, TensorOp)] == left
    [before] = gradir.interpret(module, "f", x)
    [after] = gradir.interpret(simple, "f", x)
    [native] = gradir.compile(module, "f")(x)
    assert after.tobytes() == before.tobytes()
    assert native.tobytes() == before.tobytes()


def test_symbolic_zeros_are_no_contributions():
    """The gradient pass leaves them out where it makes a sum, not a pass over written programs."""
    block = Block(arg_types=[tensor([4], f32)] * 2)
    emitter = Emitter(block)
    x, y = map(emitter.value, block.args)
    nothing, other = zero(x.type, emitter), zero(x.type, emitter)
    total = accumulated([x, nothing, y, other]).ssa.owner
    assert isinstance(total, AccumulateOp)
    assert list(total.operands) == [x.ssa, y.ssa]
    assert accumulated([nothing, y]).ssa is y.ssa
    assert accumulated([nothing, other]).ssa is nothing.ssa


@pytest.mark.parametrize("order", ["%x, %zero", "%zero, %x"])
def test_a_written_zero_is_added(order: str):
    """Interpreted and native: -0.0 + 0.0 is 0.0."""
    module = gradir.parse(
        "func.func @f(%x: tensor<3xf32>) -> tensor<3xf32> {\n"
        "  %zero = grad.zero : tensor<3xf32>\n"
        f"  %y = grad.accumulate {order} : tensor<3xf32>\n"
        "  func.return %y : tensor<3xf32>\n}"
    )
    x = np.array([-0.0, 0.0, -1.0], np.float32)
    for [found] in (gradir.interpret(module, "f", x), gradir.compile(module, "f")(x)):
        assert found.tobytes() == np.array([0.0, 0.0, -1.0], np.float32).tobytes()
