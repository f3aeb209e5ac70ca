"""Tapes that grow in loops whose phases several threads share."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

import gradir
from gradir.errors import ExecutionError

Array = np.ndarray[Any, np.dtype[Any]]

# far more than one thread alone would do
SHAPE = (300, 40)
FOR = """
func.func @f(%x: T, %n: index) -> tensor<f64> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%a = %x) -> (T) {
    %s = array.sin %a : T
    %q = array.multiply %s, %x : T
    scf.yield %q : T
  } {grad.loop = #grad.loop<store_all>}
  %y = array.sum %r : T -> tensor<f64>
  func.return %y : tensor<f64>
}
"""
WHILE = """
func.func @f(%x: T, %n: index) -> tensor<f64> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %i, %r = scf.while (%k = %c0, %a = %x) : (index, T) -> (index, T) {
    %go = arith.cmpi slt, %k, %n : index
    scf.condition(%go) %k, %a : index, T
  } do {
  ^bb0(%k: index, %a: T):
    %s = array.sin %a : T
    %q = array.multiply %s, %x : T
    %j = arith.addi %k, %c1 : index
    scf.yield %j, %q : index, T
  } attributes {grad.loop = #grad.loop<store_all>}
  %y = array.sum %r : T -> tensor<f64>
  func.return %y : tensor<f64>
}
"""


def gradient(text: str, limit: int | None = None) -> gradir.Module:
    text = text.replace("T", "tensor<300x40xf64>")
    return gradir.parse(text).gradient("f", mode="grad", of=[0], memory_limit=limit)


@pytest.mark.parametrize("text", [FOR, WHILE], ids=["for", "while"])
def test_bits(text: str) -> None:
    module = gradient(text)
    x = np.random.default_rng(0).normal(size=SHAPE)
    results = [gradir.compile(module, "f_grad", threads=k)(x, 7) for k in (1, 2, 3)]
    for ours, wanted in zip(results[0], gradir.interpret(module, "f_grad", x, 7), strict=True):
        np.testing.assert_allclose(ours, wanted, rtol=1e-10, atol=1e-300)
    for other in results[1:]:
        for one, two in zip(results[0], other, strict=True):
            assert np.asarray(one).tobytes() == np.asarray(two).tobytes()


@pytest.mark.parametrize("threads", [1, 2, 3])
@pytest.mark.parametrize(("text", "trips"), [(FOR, 2**62), (WHILE, 2**62)], ids=["for", "while"])
def test_no_room(text: str, trips: int, threads: int) -> None:
    """All threads leave the loop, which would hardly end, no record is read that has no room, and
    the next call runs."""
    fn = gradir.compile(gradient(text, 3_000_000), "f_grad", threads=threads)
    x = np.random.default_rng(0).normal(size=SHAPE)
    for _ in range(30):
        with pytest.raises(ExecutionError, match=r"the tape's limit is \d+ bytes, needed \d+"):
            fn(x, trips)
    assert np.isfinite(fn(x, 3)[0])


def test_no_room_from_the_start() -> None:
    """Where it is known in front of a loop that its tape will find no room, no trip runs; the last
    one that fits does, also behind another loop on a tape of its own."""
    seen: list[float] = []

    def note(x: Array) -> Array:
        seen.append(float(x))
        return x

    def backward(ct: Array, x: Array, y: Array) -> Array:
        del x, y
        return ct

    gradir.register_host_function("note", note, backward=backward)
    text = FOR.replace("array.sum %r : T -> tensor<f64>", "grad.barrier %r : T")
    for old, new in (
        ("%s = array.sin %a : T", '%s = grad.host_call %a {callee = "note"} : (T) -> T'),
        ("%q = array.multiply %s, %x : T", "%q = array.sin %s : T"),
    ):
        text = text.replace(old, new)
    module = gradir.parse(text.replace("T", "tensor<f64>")).gradient(
        "f", mode="grad", of=[0], memory_limit=1000
    )
    runs: list[Callable[..., Any]] = [
        gradir.compile(module, "f_grad", threads=1),
        partial(gradir.interpret, module, "f_grad"),
    ]
    for run in runs:
        with pytest.raises(ExecutionError) as caught:
            run(np.array(0.5), 1000)
        found = re.search(r"the tape's limit is (\d+) bytes, needed (\d+)$", str(caught.value))
        assert found and not seen
        size = int(found[2]) // 1000
        fitting = int(found[1]) // size
        run(np.array(0.5), fitting)
        assert len(seen) == fitting
        seen.clear()
        with pytest.raises(ExecutionError, match=f"needed {size * (fitting + 1)}$"):
            run(np.array(0.5), fitting + 1)
        assert not seen
        with pytest.raises(ExecutionError, match="needed "):
            run(np.array(0.5), 2**63 - 1)


def test_no_trips_and_no_room() -> None:
    """A limit of no bytes holds no records, which is enough, and the memory stays the call's."""
    tape = "!grad.tape<f64, limit = 0>"
    text = f"""func.func @f(%x: f64, %n: index) -> index {{
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %t = grad.tape_new : {tape}
      %u = scf.for %i = %c0 to %n step %c1 iter_args(%s = %t) -> ({tape}) {{
        %v = grad.tape_push %s, %x : {tape}
        scf.yield %v : {tape}
      }}
      %k = grad.tape_size %u : {tape}
      func.return %k : index
    }}"""
    function = gradir.compile(gradir.parse(text), "f")
    for _ in range(3):
        assert function(1.0, 0) == (0,)
        with pytest.raises(ExecutionError, match="the tape's limit is 0 bytes, needed 8"):
            function(1.0, 1)
