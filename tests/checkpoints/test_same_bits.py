"""Gradients have the same bits with and without stages and loop policies: in half precision, where
each sum is rounded, and down to the signs of zeros.
"""

from __future__ import annotations

from functools import reduce
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from stage_programs import KINDS, Block, Maker, Writer

import gradir

Array = np.ndarray[Any, Any]
DTYPES = {"f64": np.float64, "bf16": ml_dtypes.bfloat16, "f16": np.float16}
EVERY, SLOTS = "grad.loop = #grad.loop<every = 2>", "grad.loop = #grad.loop<{} = 2>"

# What a loop carries and never reads, and a captured value that it adds nothing to.
UNREAD = """
    func.func @f(%x: tensor<2xf64>, %y: tensor<2x2xf64>) -> tensor<2xf64> {
      %p = array.prod %y {axis = 0} : tensor<2x2xf64> -> tensor<2xf64>
      %zero = arith.constant 0 : index
      %one = arith.constant 1 : index
      %r:2 = scf.for %i = %zero to %one step %one iter_args(%a = %p, %b = %y)
          -> (tensor<2xf64>, tensor<2x2xf64>) {
        scf.yield %x, %b : tensor<2xf64>, tensor<2x2xf64>
      } {LOOP}
      func.return %r#0 : tensor<2xf64>
    }"""

# A condition region that computes with what it starts from, which it also captures.
CONDITION = """
    func.func @f(%x: tensor<2xf64>, %y: tensor<2x2xf64>) -> tensor<2x2xf64> {
      %zero = arith.constant 0 : index
      %one = arith.constant 1 : index
      %r:2 = scf.while (%a = %y, %i = %zero)
          : (tensor<2x2xf64>, index) -> (tensor<2x2xf64>, index) {
        %b = array.multiply %a, %y : tensor<2x2xf64>
        %c = array.subtract %a, %b : tensor<2x2xf64>
        %go = arith.cmpi slt, %i, %one : index
        scf.condition(%go) %c, %i : tensor<2x2xf64>, index
      } do {
      ^bb0(%d: tensor<2x2xf64>, %j: index):
        %k = arith.addi %j, %one : index
        scf.yield %d, %k : tensor<2x2xf64>, index
      } attributes {LOOP}
      func.return %r#0 : tensor<2x2xf64>
    }"""

# A loop whose first region never gives a cotangent to what it carries.
SILENT = """
    func.func @f(%x: tensor<2xf64>, %y: tensor<2x2xf64>) -> tensor<2x2xf64> {
      %zero = arith.constant 0 : index
      %one = arith.constant 1 : index
      %n = array.negative %y : tensor<2x2xf64>
      %r:2 = scf.while (%a = %n, %i = %zero)
          : (tensor<2x2xf64>, index) -> (tensor<2x2xf64>, index) {
        %b = array.floor_divide %a, %y : tensor<2x2xf64>
        %c = array.multiply %b, %y : tensor<2x2xf64>
        %go = arith.cmpi slt, %i, %one : index
        scf.condition(%go) %c, %i : tensor<2x2xf64>, index
      } do {
      ^bb0(%d: tensor<2x2xf64>, %j: index):
        %k = arith.addi %j, %one : index
        %e = array.negative %d : tensor<2x2xf64>
        scf.yield %e, %k : tensor<2x2xf64>, index
      } attributes {LOOP}
      func.return %r#0 : tensor<2x2xf64>
    }"""

# A stage with the last reader of a value, of one element, and a reader of all of it before.
ELEMENT = """
    func.func @f(%x: tensor<2xf64>, %y: tensor<2x2xf64>) -> f64 {
      %zero = arith.constant 0 : index
      %s = array.sin %x : tensor<2xf64>
      %p = array.prod %s : tensor<2xf64> -> tensor<f64>
      %e, %u = STAGE -> (f64, tensor<f64>) {
        %t = array.sum %x : tensor<2xf64> -> tensor<f64>
        %v = tensor.extract %x[%zero] : tensor<2xf64>
        END %v, %t : f64, tensor<f64>
      }
      %q = tensor.extract %p[] : tensor<f64>
      %w = tensor.extract %u[] : tensor<f64>
      %0 = arith.mulf %q, %e : f64
      %1 = arith.mulf %0, %w : f64
      func.return %1 : f64
    }"""


# A stage in a loop in a loop that hands on %x, which starts the outer loop, and adds nothing to it.
HANDED_ON = """
    func.func @f(%x: tensor<2xf64>, %y: tensor<2x2xf64>) -> tensor<2xf64> {
      %zero = arith.constant 0 : index
      %one = arith.constant 1 : index
      %p, %q = scf.for %i = %zero to %zero step %one iter_args(%a = %x, %b = %x)
          -> (tensor<2xf64>, tensor<2xf64>) {
        %j, %c, %d = scf.while (%k = %zero) : (index) -> (index, tensor<2xf64>, tensor<2xf64>) {
          %e, %g = STAGE -> (tensor<2xf64>, tensor<2xf64>) {
            %r = array.prod %y {axis = 0} : tensor<2x2xf64> -> tensor<2xf64>
            END %x, %r : tensor<2xf64>, tensor<2xf64>
          }
          %go = arith.cmpi slt, %k, %one : index
          scf.condition(%go) %k, %e, %g : index, tensor<2xf64>, tensor<2xf64>
        } do {
        ^bb0(%l: index, %m: tensor<2xf64>, %n: tensor<2xf64>):
          %s = arith.addi %l, %one : index
          scf.yield %s : index
        }
        scf.yield %d, %d : tensor<2xf64>, tensor<2xf64>
      }
      %t = array.exp %x : tensor<2xf64>
      %0 = array.multiply %p, %t : tensor<2xf64>
      %1 = array.sin %q : tensor<2xf64>
      %2 = array.add %0, %1 : tensor<2xf64>
      func.return %2 : tensor<2xf64>
    }"""


def assert_same_bits(one: Any, other: Any) -> None:
    for x, y in zip(one, other, strict=True):
        x, y = np.asarray(x).astype(np.float64), np.asarray(y).astype(np.float64)
        np.testing.assert_array_equal(x, y)
        np.testing.assert_array_equal(np.signbit(x), np.signbit(y))


def gradients(text: str, dtype: str, seed: int = 0) -> Any:
    generator = np.random.default_rng(seed)
    made = gradir.parse(text.replace("f64", dtype)).gradient("f", mode="grad")
    given = [generator.uniform(-1, 1, s).astype(DTYPES[dtype]) for s in ((2,), (2, 2))]
    return gradir.interpret(made, "f_grad", *given)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("text", [UNREAD, CONDITION, SILENT], ids=["unread", "condition", "silent"])
def test_policies_of_loops(text: str, dtype: str) -> None:
    slots = SLOTS.format("binomial" if "scf.for" in text else "online")
    for seed in range(3):
        expected = gradients(text.replace("LOOP", ""), dtype, seed)
        for policy in (EVERY, slots):
            assert_same_bits(expected, gradients(text.replace("LOOP", policy), dtype, seed))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("text", [ELEMENT, HANDED_ON], ids=["element", "handed_on"])
def test_parts_of_a_sum_in_a_stage(text: str, dtype: str) -> None:
    for seed in range(4):
        plain = text.replace("STAGE", "scf.execute_region").replace("END", "scf.yield")
        stage = text.replace("STAGE", "grad.checkpoint").replace("END", "grad.yield")
        assert_same_bits(gradients(plain, dtype, seed), gradients(stage, dtype, seed))


def everything(seed: int) -> Block:
    """A random program that returns all that it computes, so that no cotangent is zero."""
    kinds = (KINDS, ("stage", "while"), ("stage", "for", "while"), ("stage", "call", "if"))
    nodes, visible = Maker(seed, kinds[seed % 4], steps=seed % 3 == 0).nodes(["x", "y"], 2, least=3)
    return Block(["x", "y"], nodes, visible)


@pytest.mark.parametrize("seed", [*range(16), 58, 65])
def test_random_programs(seed: int) -> None:
    """Loops that hand on what stages in them hand through, and all else."""
    generator, program = np.random.default_rng(seed), everything(seed)
    dtype = ("bf16", "f64", "f16")[seed % 3]
    x, y, *cts = (
        generator.uniform(-1, 1, 2).astype(DTYPES[dtype]) for _ in [0, 1, *program.returned]
    )
    given = [x, y, np.bool_(seed % 2), np.int64(seed % 4), *cts]
    found: list[Any] = []
    for marked, loops in (
        (False, ""),
        (True, ""),
        (True, EVERY),
        (False, SLOTS.format("binomial")),
    ):
        text = Writer(marked, f" {{{loops}}}" if loops else "").text(program)
        made = gradir.parse(text.replace("f64", dtype)).gradient("f", mode="vjp")
        found.append(gradir.interpret(made, "f_vjp", *given))
    for each in found[1:]:
        assert_same_bits(found[0], each)


@pytest.mark.parametrize("dtype", ["bf16", "f16"])
def test_sums_of_halves_round_after_each_addition(dtype: str) -> None:
    names = ", ".join(f"%{n}: tensor<3xf64>" for n in "abcd")
    text = f"""
        func.func @f({names}) -> (tensor<3xf64>, tensor<3xf64>) {{
          %all = grad.accumulate %a, %b, %c, %d : tensor<3xf64>
          %0 = grad.accumulate %a, %b : tensor<3xf64>
          %1 = grad.accumulate %0, %c : tensor<3xf64>
          %parts = grad.accumulate %1, %d : tensor<3xf64>
          func.return %all, %parts : tensor<3xf64>, tensor<3xf64>
        }}"""
    module = gradir.parse(text.replace("f64", dtype))
    generator = np.random.default_rng(0)
    given = [generator.uniform(-1, 1, 3).astype(DTYPES[dtype]) for _ in range(4)]
    expected: Any = reduce(np.add, given)
    native = gradir.compile(module, "f", threads=1)(*given)
    for found in (*gradir.interpret(module, "f", *given), *native):
        assert_same_bits([found], [expected])
