"""Calls that a policy or a memory limit sees through: gradients have the bits of real calls."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gradir

# operands repeated and not read, results handed through and returned twice, numbers, a loop
CALLS = """
func.func @inner(%p: T, %q: T) -> (T, T) {
  %a = array.sin %p : T
  %b = array.multiply %a, %q : T
  %c = array.multiply %b, %p : T
  func.return %c, %c : T, T
}
func.func @g(%x: T, %y: T, %unread: T, %s: f64) -> (T, T, f64) {
  %u, %v = func.call @inner(%x, %x) : (T, T) -> (T, T)
  %w = array.multiply %u, %y : T
  %e = array.exp %x : T
  %z = array.add %w, %e : T
  %s2 = arith.mulf %s, %s : f64
  %s3 = arith.mulf %s2, %s : f64
  func.return %z, %x, %s3 : T, T, f64
}
func.func @f(%x: T, %s: f64) -> tensor<f64> {
  %k = array.cos %x : T
  %u, %v, %s1 = func.call @g(%x, %x, %k, %s) : (T, T, T, f64) -> (T, T, f64)
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %r, %q = scf.for %i = %c0 to %c3 step %c1 iter_args(%a = %u, %b = %s1) -> (T, f64) {
    %m, %n, %s4 = func.call @g(%a, %x, %v, %b) : (T, T, T, f64) -> (T, T, f64)
    %o = array.tanh %m : T
    %o2 = array.multiply %o, %n : T
    scf.yield %o2, %s4 : T, f64
  }
  %h = tensor.splat %q : T
  %d = array.multiply %r, %h : T
  %l1 = array.multiply %d, %x : T
  %l2 = array.multiply %l1, %k : T
  %l = array.sum %l2 : T -> tensor<f64>
  func.return %l : tensor<f64>
}
""".replace("T", "tensor<40xf64>")


@pytest.mark.parametrize(
    "options",
    [
        *({"policy": name} for name in ("keep_none", "keep_matmuls", "auto")),
        {"memory_limit": 1_000_000},
        {"memory_limit": 5_000},
    ],
    ids=str,
)
def test_bits_of_calls(options: dict[str, Any]) -> None:
    module = gradir.parse(CALLS)
    calls, flat = module.gradient("f", mode="grad"), module.gradient("f", mode="grad", **options)
    assert "func.call @g_bwd" in str(calls) and "grad.join" not in str(flat)
    x = np.random.default_rng(0).normal(size=40)
    for given in (x, -0.0 * x, np.full(40, np.inf)):
        wanted, found = (gradir.interpret(m, "f_grad", given, 0.9) for m in (calls, flat))
        assert [np.asarray(v).tobytes() for v in found] == [np.asarray(v).tobytes() for v in wanted]


def test_second_order() -> None:
    """The second derivation under a limit has the bits of one without."""
    first = gradir.parse(CALLS).gradient("f", mode="grad")
    x = np.random.default_rng(0).normal(size=40)
    second = [
        first.gradient("f_grad", mode="grad", of=[1], memory_limit=limit)
        for limit in (None, 1_000_000)
    ]
    wanted, found = (gradir.interpret(m, "f_grad_grad", x, 0.9) for m in second)
    assert [np.asarray(v).tobytes() for v in found] == [np.asarray(v).tobytes() for v in wanted]
