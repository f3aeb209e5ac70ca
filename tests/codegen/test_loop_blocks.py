"""Loops that compute ahead for a block of iterations: the bits of loops that do not, and when."""

from __future__ import annotations

import ctypes
import mmap
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from xdsl.dialects import scf

import gradir
from gradir.codegen.driver.loop_blocks import LoopBlocks
from gradir.codegen.text.target import host
from gradir.compiler.compiler import compile_function
from gradir.errors import IndexOutOfRange

# `y` and the sum of the sines of what an index reads, in one loop over `TRIPS` iterations.
SUM = """
func.func @f(%x: tensor<40xf64>, %y0: f64) -> f64 {
  %first = arith.constant FIRST : index
  %last = arith.constant LAST : index
  %step = arith.constant STEP : index
  %y = scf.for %i = %first to %last step %step iter_args(%y1 = %y0) -> (f64) {
    INDEX
    %a = tensor.extract %x[%k] : tensor<40xf64>
    %s = math.sin %a : f64
    %p = arith.mulf %s, %y1 : f64
    %y2 = arith.addf %p, %a : f64
    scf.yield %y2 : f64
  }
  func.return %y : f64
}
"""
SAME = "%zero = arith.constant 0 : index\n    %k = arith.addi %i, %zero : index"
# From the end, and every third.
BACKWARD = "%end = arith.constant 39 : index\n    %k = arith.subi %end, %i : index"
THIRDS = "%three = arith.constant 3 : index\n    %k = arith.muli %three, %i : index"


def sum_text(last: int, first: int = 0, step: int = 1, index: str = SAME) -> str:
    text = SUM.replace("INDEX", index).replace("FIRST", str(first))
    return text.replace("LAST", str(last)).replace("STEP", str(step))


def run(text: str, *arguments: Any, bytes_: int | None = None, function: str = "f") -> Any:
    """Compiled as it is, and whether anything was computed ahead; the arguments stay."""
    module = gradir.parse(text)
    if function != "f":
        module = module.gradient("f", mode=function.rpartition("_")[2])
    compiled = compile_function(module.op.clone(), function, target=host(bytes_))
    results = compiled(*arguments)
    return compiled, results


def nothing_ahead(blocks: LoopBlocks, loop: scf.ForOp) -> None:
    """In place of `LoopBlocks.of`."""
    del blocks, loop


def run_both(monkeypatch: pytest.MonkeyPatch, text: str, *arguments: Any, **options: Any) -> Any:
    """The bits of a loop that computes nothing ahead; gives the LLVM text of the one that does."""
    compiled, ours = run(text, *arguments, **options)
    with monkeypatch.context() as patch:
        patch.setattr(LoopBlocks, "of", nothing_ahead)
        plain, theirs = run(text, *arguments, **options)
    assert "%ahead" not in plain.llvm_ir
    for a, b in zip(ours, theirs, strict=True):
        a, b = np.asarray(a), np.asarray(b)
        assert a.tobytes() == b.tobytes() or np.array_equal(a, b, equal_nan=True)
    return compiled.llvm_ir


def values(count: int = 40) -> np.ndarray[Any, Any]:
    return np.random.default_rng(count).normal(size=count)


@pytest.mark.parametrize("trips", [-1, 0, 1, 2, 7, 8, 9, 16, 39])
def test_any_number_of_trips(monkeypatch: pytest.MonkeyPatch, trips: int) -> None:
    """One that is known only when the loop runs."""
    text = sum_text(0).replace("%last = arith.constant 0 : index", "")
    text = text.replace("%y0: f64)", "%y0: f64, %last: index)")
    assert "%ahead" in run_both(monkeypatch, text, values(), 0.5, trips)
    wanted = gradir.interpret(gradir.parse(text), "f", values(), 0.5, trips)
    np.testing.assert_allclose(run(text, values(), 0.5, trips)[1][0], wanted[0], rtol=1e-13)


@pytest.mark.parametrize(
    ("first", "last", "step", "index"),
    [
        *((3, 40, 1, SAME), (0, 40, 7, SAME), (2, 38, 3, BACKWARD), (0, 40, 1, BACKWARD)),
        *((0, 13, 1, THIRDS), (1, 13, 5, THIRDS)),
    ],
)
def test_steps(
    monkeypatch: pytest.MonkeyPatch, first: int, last: int, step: int, index: str
) -> None:
    text = sum_text(last, first, step, index)
    assert "%ahead" in run_both(monkeypatch, text, values(), 0.5)
    wanted = gradir.interpret(gradir.parse(text), "f", values(), 0.5)
    np.testing.assert_allclose(run(text, values(), 0.5)[1][0], wanted[0], rtol=1e-13)


@pytest.mark.parametrize("bytes_", [w for w in (16, 32, 64) if w <= host().vector_bytes])
@pytest.mark.parametrize("element", ["f64", "f32", "f16", "bf16"])
def test_elements_and_widths(monkeypatch: pytest.MonkeyPatch, element: str, bytes_: int) -> None:
    names = {"f64": "f8", "f32": "f4", "f16": "f2", "bf16": ml_dtypes.bfloat16}
    dtype = np.dtype(names[element])
    arguments = values().astype(dtype), dtype.type(0.5)
    text = sum_text(37).replace("f64", element)
    assert "%ahead" in run_both(monkeypatch, text, *arguments, bytes_=bytes_)


def test_special_values(monkeypatch: pytest.MonkeyPatch) -> None:
    x = values()
    x[3:9] = np.nan, np.inf, 1e300, -0.0, -1e20, 5e-324
    body = "%q = arith.divf %a, %z : f64\n    %s = math.sin %q : f64"
    text = sum_text(40).replace("%s = math.sin %a : f64", body)
    text = text.replace("%y = scf", "%z = tensor.extract %x[%first] : tensor<40xf64>\n  %y = scf")
    for divisor in (0.0, -1.0):
        x[0] = divisor
        assert "%ahead" in run_both(monkeypatch, text, x, 0.0)


def between_pages_without_access(at_end: bool) -> np.ndarray[Any, Any]:
    """40 numbers; the memory right after them or right before them cannot be read."""
    libc, size = ctypes.CDLL(None, use_errno=True), mmap.PAGESIZE
    memory = mmap.mmap(-1, 3 * size)
    start = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    for page in (0, 2):
        assert libc.mprotect(ctypes.c_void_p(start + page * size), ctypes.c_size_t(size), 0) == 0
    offset = 2 * size - 40 * 8 if at_end else size
    array = np.frombuffer(memory, dtype=np.float64, count=40, offset=offset)
    array[:] = values()
    return array


@pytest.mark.skipif(not hasattr(mmap, "MAP_ANONYMOUS"), reason="needs mprotect")
@pytest.mark.parametrize(("index", "wrong"), [(SAME, 40), (BACKWARD, -1), (THIRDS, 42)])
def test_an_index_is_wrong_in_its_iteration(index: str, wrong: int) -> None:
    """No block reads beyond the tensor, and the error comes from the first wrong iteration."""
    x = between_pages_without_access(at_end=index is not BACKWARD)
    with pytest.raises(IndexOutOfRange, match=rf"index {wrong} .*40"):
        run(sum_text(60, index=index), x, 0.5)
    # nor does the last block, which is short
    last = 14 if index is THIRDS else 40
    assert np.isfinite(run(sum_text(last, index=index), x, 0.5)[1][0])


def test_what_the_loop_writes_is_not_read_ahead(monkeypatch: pytest.MonkeyPatch) -> None:
    text = """
func.func @f(%x: tensor<40xf64>, %w: tensor<40xf64>) -> tensor<40xf64> {
  %first = arith.constant 1 : index
  %last = arith.constant 40 : index
  %one = arith.constant 1 : index
  %y = scf.for %i = %first to %last step %one iter_args(%y1 = %x) -> (tensor<40xf64>) {
    %before = arith.subi %i, %one : index
    %a = tensor.extract %y1[%before] : tensor<40xf64>
    %b = math.sin %a : f64
    %c = tensor.extract %w[%i] : tensor<40xf64>
    %d = WEIGHT %c : f64
    %e = arith.addf %b, %d : f64
    %y2 = tensor.insert %e into %y1[%i] : tensor<40xf64>
    scf.yield %y2 : tensor<40xf64>
  }
  func.return %y : tensor<40xf64>
}
"""
    plain = text.replace("WEIGHT", "arith.negf")
    assert "%ahead" not in run_both(monkeypatch, plain, values(), values())
    # what it does not write is
    ahead = text.replace("WEIGHT", "math.exp")
    assert "%ahead" in run_both(monkeypatch, ahead, values(), values())
    for each in (plain, ahead):
        wanted = gradir.interpret(gradir.parse(each), "f", values(), values())
        np.testing.assert_allclose(run(each, values(), values())[1][0], wanted[0], rtol=1e-13)


CHAIN = """
func.func @f(%y0: f64, %w: f64) -> f64 {
  %first = arith.constant 0 : index
  %steps = arith.constant TRIPS : index
  %one = arith.constant 1 : index
  %y = scf.for %i = %first to %steps step %one iter_args(%y1 = %y0) -> (f64) {
    %s = math.sin %y1 : f64
    %y2 = arith.mulf %w, %s : f64
    scf.yield %y2 : f64
  } {grad.loop = #grad.loop<POLICY>}
  func.return %y : f64
}
"""


@pytest.mark.parametrize("trips", [0, 1, 8, 13])
def test_backward_loops(monkeypatch: pytest.MonkeyPatch, trips: int) -> None:
    """Cosines of popped values, at both orders and with each policy the same bits."""
    text = CHAIN.replace("TRIPS", str(trips))
    stored = text.replace("POLICY", "store_all")
    written = run_both(monkeypatch, stored, 1.5, 1.25, function="f_grad")
    # loops of no or one trip are none
    assert ("%ahead" in written) == (trips > 1)
    assert (f"gradir.cos.v{host().vector_bytes // 8}f64" in written) == (trips > 1)
    for policy in ("every = 5", "binomial = 2"):
        _, kept = run(stored, 1.5, 1.25, function="f_grad")
        _, replayed = run(text.replace("POLICY", policy), 1.5, 1.25, function="f_grad")
        assert [np.float64(v).tobytes() for v in kept] == [
            np.float64(v).tobytes() for v in replayed
        ]


def test_the_loop_itself_is_a_chain(monkeypatch: pytest.MonkeyPatch) -> None:
    text = CHAIN.replace("TRIPS", "9").replace("POLICY", "store_all")
    assert "%ahead" not in run_both(monkeypatch, text, 1.5, 1.25)


def test_records_that_grow(monkeypatch: pytest.MonkeyPatch) -> None:
    """The tape of an scf.while: its backward loop reads records with several columns."""
    text = """
func.func @f(%y0: f64, %bound: f64) -> f64 {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %n, %y = scf.while (%i = %zero, %y1 = %y0) : (index, f64) -> (index, f64) {
    %go = arith.cmpf ogt, %y1, %bound : f64
    scf.condition(%go) %i, %y1 : index, f64
  } do {
  ^bb0(%i: index, %y1: f64):
    %s = math.sin %y1 : f64
    %e = math.exp %s : f64
    %f = arith.divf %e, %y1 : f64
    %k = arith.constant 0.1 : f64
    %g = arith.mulf %f, %k : f64
    %y2 = arith.subf %y1, %g : f64
    %i2 = arith.addi %i, %one : index
    scf.yield %i2, %y2 : index, f64
  }
  func.return %y : f64
}
"""
    for bound in (9.0, 8.9, 2.0):
        assert "%ahead" in run_both(monkeypatch, text, 9.0, bound, function="f_grad")
    module = gradir.parse(text).gradient("f", mode="grad", wrt=[0])
    ours = gradir.compile(module, "f_grad")(9.0, 2.0)
    wanted = gradir.interpret(module, "f_grad", 9.0, 2.0)
    np.testing.assert_allclose([float(v) for v in ours], [float(v) for v in wanted], rtol=1e-10)


def test_nested_loops_and_branches(monkeypatch: pytest.MonkeyPatch) -> None:
    """Both loops compute ahead; they hand on a float, a truth value, and one read in a branch."""
    text = """
func.func @f(%x: tensor<40xf64>, %y0: f64) -> f64 {
  %first = arith.constant 0 : index
  %last = arith.constant 19 : index
  %one = arith.constant 1 : index
  %y = scf.for %i = %first to %last step %one iter_args(%y1 = %y0) -> (f64) {
    %a = tensor.extract %x[%i] : tensor<40xf64>
    %s = math.cos %a : f64
    %positive = arith.cmpf ogt, %s, %a : f64
    %z = scf.for %j = %first to %last step %one iter_args(%z1 = %y1) -> (f64) {
      %ij = arith.addi %i, %j : index
      %b = tensor.extract %x[%ij] : tensor<40xf64>
      %e = math.exp %b : f64
      %z2 = scf.if %positive -> (f64) {
        %p = arith.mulf %z1, %s : f64
        %q = arith.addf %p, %e : f64
        scf.yield %q : f64
      } else {
        %q = arith.subf %z1, %e : f64
        scf.yield %q : f64
      }
      scf.yield %z2 : f64
    }
    scf.yield %z : f64
  }
  func.return %y : f64
}
"""
    written = run_both(monkeypatch, text, values(), 0.5)
    lanes = host().vector_bytes // 8
    assert f"gradir.cos.v{lanes}f64" in written and f"gradir.exp.v{lanes}f64" in written
    wanted = gradir.interpret(gradir.parse(text), "f", values(), 0.5)
    np.testing.assert_allclose(run(text, values(), 0.5)[1][0], wanted[0], rtol=1e-12)
    run_both(monkeypatch, text, values(), 0.5, function="f_grad")


def test_functions_of_the_counter(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is loaded; the counter is negative at first, and the sines of bits are compared."""
    text = """
func.func @f(%y0: f64) -> (f64, i64) {
  %first = arith.constant -5 : index
  %last = arith.constant 30 : index
  %two = arith.constant 2 : index
  %zero = arith.constant 0 : i64
  %y, %n = scf.for %i = %first to %last step %two iter_args(%y1 = %y0, %n1 = %zero) -> (f64, i64) {
    %k = arith.index_cast %i : index to i64
    %short = arith.index_cast %i : index to i32
    %f = arith.sitofp %k : i64 to f64
    %g = arith.sitofp %short : i32 to f64
    %h = arith.addf %f, %g : f64
    %s = math.sin %h : f64
    %low = arith.cmpf olt, %s, %f : f64
    %c = arith.fptosi %s : f64 to i64
    %d = arith.select %low, %k, %c : i64
    %n2 = arith.addi %n1, %d : i64
    %y2 = arith.mulf %y1, %s : f64
    scf.yield %y2, %n2 : f64, i64
  }
  func.return %y, %n : f64, i64
}
"""
    assert "%ahead" in run_both(monkeypatch, text, 0.5)
    wanted = gradir.interpret(gradir.parse(text), "f", 0.5)
    ours = run(text, 0.5)[1]
    np.testing.assert_allclose(float(ours[0]), float(wanted[0]), rtol=1e-12)
    assert int(ours[1]) == int(wanted[1])


def test_all_threads_run_a_loop_that_only_reads() -> None:
    text = """
func.func @f(%x: tensor<100000xf64>, %y0: f64) -> (f64, tensor<100000xf64>) {
  %first = arith.constant 0 : index
  %last = arith.constant 99 : index
  %one = arith.constant 1 : index
  %e = array.exp %x : tensor<100000xf64>
  %y = scf.for %i = %first to %last step %one iter_args(%y1 = %y0) -> (f64) {
    %a = tensor.extract %e[%i] : tensor<100000xf64>
    %s = math.sin %a : f64
    %y2 = arith.mulf %y1, %s : f64
    scf.yield %y2 : f64
  }
  %full = array.full {value = 1.0} : tensor<100000xf64>
  %inserted = tensor.insert %y into %full[%first] : tensor<100000xf64>
  %z = array.multiply %e, %inserted : tensor<100000xf64>
  func.return %y, %z : f64, tensor<100000xf64>
}
"""
    module = gradir.parse(text)
    one, two = (gradir.compile(module, "f", threads=count) for count in (1, 2))
    assert "%ahead" in two.llvm_ir
    for ours, theirs in zip(two(values(100000), 0.5), one(values(100000), 0.5), strict=True):
        np.testing.assert_array_equal(ours, theirs)
