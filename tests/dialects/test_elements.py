"""Ops of arith and math on tensors, as producers of standard MLIR write them, in whole programs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gradir
from gradir.errors import GradirError
from gradir.testing import check_grads

FLOWING = """
func.func @g(%x: tensor<4xf64>) -> tensor<4xf64> {
  %c = arith.constant dense<[0.5, 1.5, -0.0, 2.0]> : tensor<4xf64>
  %z = arith.mulf %x, %c : tensor<4xf64>
  %y = math.sin %z : tensor<4xf64>
  func.return %y : tensor<4xf64>
}
func.func @f(%x: tensor<4xf64>) -> tensor<4xf64> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %half = arith.constant dense<0.5> : tensor<4xf64>
  %r = scf.for %i = %c0 to %c3 step %c1 iter_args(%a = %x) -> (tensor<4xf64>) {
    %k = arith.constant dense<1.25> : tensor<4xf64>
    %s = grad.start_checkpoint %a : tensor<4xf64>
    %b = func.call @g(%s) : (tensor<4xf64>) -> tensor<4xf64>
    %e = math.fma %b, %k, %half : tensor<4xf64>
    %n = grad.end_checkpoint %e : tensor<4xf64>
    %t = arith.cmpf ogt, %n, %half : tensor<4xf64>
    %u = arith.select %t, %n, %a : tensor<4xi1>, tensor<4xf64>
    scf.yield %u : tensor<4xf64>
  }
  func.return %r : tensor<4xf64>
}"""


def both(text: str, *arguments: Any) -> list[Any]:
    """The results of @f in the interpreter, which native code has to equal bit for bit."""
    module = gradir.parse(text)
    expected = gradir.interpret(module, "f", *arguments)
    for one, other in zip(expected, gradir.compile(module, "f")(*arguments), strict=True):
        assert one.tobytes() == other.tobytes()
    return list(expected)


def test_in_loops_calls_and_stages() -> None:
    module = gradir.parse(FLOWING)
    check_grads((module, "f"), [np.array([0.3, -0.4, 1.1, 2.0])])
    once = module.gradient("f", mode="jvp")
    x, v = np.array([0.3, -0.4, 1.1, 2.0]), np.array([1.0, -0.5, 0.25, 2.0])
    found = gradir.compile(once, "f_jvp")(x, v)
    vjp = gradir.compile(module.gradient("f", mode="vjp"), "f_vjp")(x, np.ones(4))
    np.testing.assert_allclose(found[1].sum(), vjp[1] @ v, rtol=1e-12)


def test_constants_of_all_elements() -> None:
    """Of one number and of several, down to the sign of 0; of rank 0 and of no element."""
    results = both("""
        func.func @f(%p: i1) -> (i64, i1, tensor<2xbf16>, f16, i16, tensor<2xf64>, tensor<0xf32>,
                                 tensor<2xi1>) {
          %i = arith.constant dense<[5, 6, 7]> : tensor<3xindex>
          %b = arith.constant dense<[true, false, true]> : tensor<3xi1>
          %h = arith.constant dense<[1.5, -0.0]> : tensor<2xbf16>
          %f = arith.constant dense<2.5> : tensor<f16>
          %s = arith.constant dense<-7> : tensor<3xi16>
          %z = arith.constant dense<[0.0, -0.0]> : tensor<2xf64>
          %e = arith.constant dense<[]> : tensor<0xf32>
          %t = arith.constant dense<true> : tensor<2xi1>
          %c1 = arith.constant 1 : index
          %ii = tensor.extract %i[%c1] : tensor<3xindex>
          %r = arith.index_cast %ii : index to i64
          %bb = tensor.extract %b[%c1] : tensor<3xi1>
          %ff = tensor.extract %f[] : tensor<f16>
          %ss = tensor.extract %s[%c1] : tensor<3xi16>
          func.return %r, %bb, %h, %ff, %ss, %z, %e, %t : i64, i1, tensor<2xbf16>, f16, i16,
            tensor<2xf64>, tensor<0xf32>, tensor<2xi1>
        }""", True)  # fmt: skip
    assert [r.tolist() for r in results] == [
        6, False, [1.5, 0.0], 2.5, -7, [0.0, -0.0], [], [True, True]
    ]  # fmt: skip
    assert np.signbit(results[5]).tolist() == [False, True]


@pytest.mark.parametrize("shape", ["", "0x", "1x", "3x"])
def test_small_shapes(shape: str) -> None:
    """Repeated operands, and a choice by one number for all elements."""
    text = """
        func.func @f(%x: tensor<SHAPEf64>, %p: i1) -> tensor<SHAPEf64> {
          %k = arith.constant dense<2.0> : tensor<SHAPEf64>
          %y = math.powf %x, %x : tensor<SHAPEf64>
          %z = arith.mulf %y, %k : tensor<SHAPEf64>
          %r = arith.select %p, %z, %x : tensor<SHAPEf64>
          func.return %r : tensor<SHAPEf64>
        }""".replace("SHAPE", shape)
    x = np.full([int(n) for n in shape.split("x") if n], 1.3)
    for p in (True, False):
        check_grads((gradir.parse(text), "f"), [x, p])


def test_extents_that_are_open() -> None:
    module = gradir.parse("""
        func.func @f(%x: tensor<?xf64>, %n: tensor<?xi32>) -> tensor<?xf64> {
          %a = math.absf %x : tensor<?xf64>
          %b = math.powf %a, %x : tensor<?xf64>
          %c = math.fpowi %b, %n : tensor<?xf64>, tensor<?xi32>
          func.return %c : tensor<?xf64>
        }""").gradient("f", mode="vjp")
    x, n = np.array([0.3, -0.4, 1.1, 2.0]), np.array([1, 2, 3, 0], np.int32)
    y, ct = gradir.compile(module, "f_vjp")(x, n, np.ones(4))
    np.testing.assert_allclose(y, (np.abs(x) ** x) ** n)
    np.testing.assert_allclose(ct, y * n * (np.log(np.abs(x)) + 1))


@pytest.mark.parametrize("policy", ["keep_all", "keep_none", "keep_matmuls", "auto"])
def test_policies_keep_what_they_keep_of_array_ops(policy: str) -> None:
    """As many values are kept as in the same program of array ops."""
    arith = """
      %a = arith.negf %h : T
      %e = math.exp %a : T
      %d = arith.addf %e, %e : T
      %y = arith.divf %d, %h : T"""
    array = """
      %a = array.negative %h : T
      %e = array.exp %a : T
      %d = array.add %e, %e : T
      %y = array.divide %d, %h : T"""
    kept: list[int] = []
    for ops in (arith, array):
        text = f"""
            func.func @f(%x: T, %w: T) -> T {{
              %h = array.matmul %x, %w : T, T -> T
              {ops}
              func.return %y : T
            }}""".replace("T", "tensor<4x4xf32>")
        module = gradir.parse(text).gradient("f", mode="split", policy=policy)
        forward = next(op for op in module.op.walk() if "f_fwd" in str(op.properties))
        kept.append(str(forward).split("->")[1].split("{")[0].count("tensor"))
    assert kept[0] == kept[1]


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (
            '"scf.parallel"(%c0, %c0, %c0) ({ ^bb0(%i: index): "scf.reduce"() : () -> () })'
            " {operandSegmentSizes = array<i32: 1, 1, 1, 0>} : (index, index, index) -> ()",
            "scf.parallel: neither native code nor the interpreter knows this op",
        ),
        (
            "%v = vector.broadcast %x : f64 to vector<2xf64>",
            "vector.broadcast: neither native code nor the interpreter knows this op",
        ),
        (
            "%v = arith.constant dense<1.0> : vector<2xf64>",
            "arith.constant: values must be numbers or tensors, got vector<2xf64>",
        ),
        (
            "%v = arith.constant 3 : i4",
            "arith.constant: integers must have 1, 8, 16, 32 or 64 bits, got i4",
        ),
    ],
)
def test_what_neither_knows_is_refused_by_both(body: str, message: str) -> None:
    """Also where nobody reads it."""
    module = gradir.parse(f"""
        func.func @f(%x: f64) -> f64 {{
          %c0 = arith.constant 0 : index
          {body}
          func.return %x : f64
        }}""")
    for run in (
        lambda: gradir.interpret(module, "f", 1.0),
        lambda: gradir.compile(module, "f"),
    ):
        with pytest.raises(GradirError) as caught:
            run()
        assert str(caught.value).startswith(f"<string>:4:11: error: {message}")


def test_views_and_casts_run_alike() -> None:
    both("""
        func.func @f(%x: tensor<2x2xf64>) -> tensor<4xf64> {
          %a = loopnest.reshape %x : tensor<2x2xf64> -> tensor<4xf64>
          %b = tensor.cast %a : tensor<4xf64> to tensor<?xf64>
          %c = arith.negf %b : tensor<?xf64>
          %d = tensor.cast %c : tensor<?xf64> to tensor<4xf64>
          func.return %d : tensor<4xf64>
        }""", np.arange(4.0).reshape(2, 2))  # fmt: skip
