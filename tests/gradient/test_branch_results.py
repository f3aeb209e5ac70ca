"""What branches keep for their backward code: results that they share, where each leaves what it
does not use undefined.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np
import pytest
from xdsl.dialects import tensor
from xdsl.dialects.builtin import IntegerType, TensorType, f32, f64, i1
from xdsl.ir import Attribute

import gradir
from gradir.dialects.base.shapes import is_tensor, shape_of
from gradir.dialects.grad.grad import ZeroOp
from gradir.dialects.grad.tape import TapeNewOp
from gradir.passes.rules.branch_results import BranchResultPlace, BranchResults
from gradir.testing import check_grads


def of(element: Attribute, *shape: int) -> Attribute:
    return TensorType(element, shape)


LAYOUTS: dict[str, tuple[list[list[Attribute]], list[str]]] = {
    "equal types": ([[of(f64, 4), f64], [f64, of(f64, 4)]], ["tensor<4xf64>", "f64"]),
    "one branch keeps nothing": ([[of(f64, 4)], []], ["tensor<4xf64>"]),
    "another shape": ([[of(f64, 4, 3)], [of(f64, 2, 5)]], ["tensor<12xf64>"]),
    "the same shape, another shape": (
        [[of(f64, 4), of(f64, 2, 3)], [of(f64, 4), of(f64, 5)]],
        ["tensor<4xf64>", "tensor<6xf64>"],
    ),
    "many in one": (
        [[of(f64, 3), of(f64, 2), of(f64, 1)], [of(f64, 10)], [of(f64, 4, 2)]],
        ["tensor<10xf64>"],
    ),
    "no room": ([[of(f64, 6), of(f64, 5)], [of(f64, 10)]], ["tensor<10xf64>", "tensor<5xf64>"]),
    "other elements": ([[of(f64, 6)], [of(f32, 6)]], ["tensor<6xf64>", "tensor<6xf32>"]),
    "more of a type": ([[of(f64, 2)] * 3, [of(f64, 2), of(f64, 4)]],
                       ["tensor<2xf64>", "tensor<4xf64>"]),
    "nothing in it": ([[of(f64, 0)], [of(f64, 3)]], ["tensor<0xf64>", "tensor<3xf64>"]),
    "rank 0": ([[of(i1)], [of(i1, 3)]], ["tensor<3xi1>"]),
}  # fmt: skip


@pytest.mark.parametrize("name", LAYOUTS)
def test_layouts(name: str) -> None:
    """The types of the results; no two values of a branch are in one place."""
    branches, expected = LAYOUTS[name]
    results = BranchResults.of(branches)
    assert [str(t) for t in results.types] == expected
    for kept, places in zip(branches, results.places, strict=True):
        taken: set[tuple[int, int]] = set()
        for type_, place in zip(kept, places, strict=True):
            elements = elements_of(type_, place, results.types)
            assert not elements & taken
            taken |= elements


def elements_of(
    type_: Attribute, place: BranchResultPlace, types: Sequence[Attribute]
) -> set[tuple[int, int]]:
    """The elements of results that a value takes, which are there."""
    result = types[place.result]
    if place.offset is None:
        assert result == type_
        return {(place.result, -1)}
    assert is_tensor(result) and place.offset + prod(shape_of(type_)) <= prod(shape_of(result))
    return {(place.result, place.offset + k) for k in range(prod(shape_of(type_)))}


# Branches that keep 4 x 4, 3 x 2 and 3 elements, and nothing; ATTRIBUTES is a policy, or nothing.
SWITCH = """
func.func @f(%x: tensor<4x4x!s>, %k: index, %n: index) -> tensor<!s> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %s = scf.for %i = %c0 to %n step %c1 iter_args(%a = %x) -> (tensor<4x4x!s>) {
    %j = arith.addi %i, %k : index
    %case = arith.remui %j, %c4 : index
    %b = scf.index_switch %case -> tensor<4x4x!s>
    case 0 {
      %e = array.sin %a : tensor<4x4x!s>
      %c = array.cos %e : tensor<4x4x!s>
      %t = array.multiply %e, %c : tensor<4x4x!s>
      scf.yield %t : tensor<4x4x!s>
    }
    case 1 {
      %h = array.slice %a {start = [0, 1], stop = [3, 3], step = [1, 1]}
          : tensor<4x4x!s> -> tensor<3x2x!s>
      %e = array.exp %h : tensor<3x2x!s>
      %r = array.sum %e {axis = 1} : tensor<3x2x!s> -> tensor<3x!s>
      %u = array.sin %r : tensor<3x!s>
      %o = array.sum %u : tensor<3x!s> -> tensor<!s>
      %p = array.reshape %o : tensor<!s> -> tensor<1x1x!s>
      %q = array.broadcast_to %p : tensor<1x1x!s> -> tensor<4x4x!s>
      %y = array.multiply %q, %a : tensor<4x4x!s>
      scf.yield %y : tensor<4x4x!s>
    }
    case 2 {
      %m = array.negative %a : tensor<4x4x!s>
      scf.yield %m : tensor<4x4x!s>
    }
    default {
      %o = array.sum %a : tensor<4x4x!s> -> tensor<!s>
      %u = array.tanh %o : tensor<!s>
      %v = array.sin %u : tensor<!s>
      %p = array.reshape %v : tensor<!s> -> tensor<1x1x!s>
      %q = array.broadcast_to %p : tensor<1x1x!s> -> tensor<4x4x!s>
      %y = array.add %q, %a : tensor<4x4x!s>
      scf.yield %y : tensor<4x4x!s>
    }
    scf.yield %b : tensor<4x4x!s>
  }
  %y = array.sum %s : tensor<4x4x!s> -> tensor<!s>
  func.return %y : tensor<!s>
}"""

X = np.linspace(-0.6, 0.4, 16).reshape(4, 4)


def test_the_tape_has_room_for_the_largest_branch() -> None:
    """%a, which all read, two tensors of case 0, and a number that two cases keep; and nothing is
    filled with zeros in the forward code."""
    module = gradir.parse(SWITCH.replace("!s", "f64")).gradient("f", mode="vjp")
    (tape,) = (op for op in module.op.walk() if isinstance(op, TapeNewOp))
    sizes = [prod(shape_of(t)) for t in tape.tape_type.columns if is_tensor(t)]
    assert sum(sizes) == 3 * 16 + 1
    assert any(isinstance(op, tensor.EmptyOp) for op in module.op.walk())
    forward = str(module).split("@f_vjp")[1].split("grad.tape_pop")[0]
    assert ZeroOp.name not in forward


@pytest.mark.parametrize("element", ["f64", "f32", "f16"])
def test_bits_of_each_branch(element: str) -> None:
    """Native code, which leaves memory as it is, against the interpreter, where undefined memory
    is nan."""
    module = gradir.parse(SWITCH.replace("!s", element)).gradient("f", mode="grad")
    native = gradir.compile(module, "f_grad")
    x = X.astype({"f64": np.float64, "f32": np.float32, "f16": np.float16}[element])
    for first in range(4):
        for trips in (0, 1, 6):
            arguments = (x, np.int64(first), np.int64(trips))
            ours, theirs = native(*arguments), gradir.interpret(module, "f_grad", *arguments)
            for one, other in zip(ours, theirs, strict=True):
                assert np.isfinite(other).all()
                tolerance = {"f64": 1e-12, "f32": 1e-5, "f16": 2e-2}[element]
                np.testing.assert_allclose(one, other, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("first", range(4))
def test_derivatives_of_each_branch(first: int) -> None:
    """Of two orders, against central differences."""
    module = gradir.parse(SWITCH.replace("!s", "f64"))
    check_grads((module, "f"), (X, np.int64(first), np.int64(2)), order=2)


def test_what_is_undefined_shows() -> None:
    """In the interpreter, an element of tensor.empty that somebody reads is nan, no index of
    anything, or true."""
    for element, expected in (("f32", np.nan), ("i64", 2**63 - 1), ("i1", True)):
        text = f"""
func.func @f() -> tensor<2x{element}> {{
  %e = tensor.empty() : tensor<2x{element}>
  func.return %e : tensor<2x{element}>
}}"""
        (found,) = gradir.interpret(gradir.parse(text), "f")
        np.testing.assert_array_equal(found, np.full(2, expected))


def test_bytes_of_elements_are_their_own() -> None:
    """Rows are of one element type: nothing is read as another type."""
    kept: list[list[Any]] = [[of(f64, 4)], [of(f32, 8)], [of(IntegerType(64), 4)]]
    assert BranchResults.of(kept).types == [each[0] for each in kept]
