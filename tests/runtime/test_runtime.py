"""Calling native functions: arguments, results, errors, memory, threads."""

from __future__ import annotations

import ctypes
import gc
import subprocess
import sys
import threading
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from runtime_harness import (
    Array,
    add_function,
    called_by_python,
    chain_function,
    compiled,
    function,
    function_of,
    memref,
    sum_of,
)

from gradir.codegen.driver.program import emit_program
from gradir.codegen.text.target import host
from gradir.dialects.base.diagnostics import LocatedError
from gradir.errors import (
    ArgumentError,
    ArgumentTypeError,
    CompileError,
    ExecutionError,
    GradirError,
    IndexOutOfRange,
)
from gradir.runtime import memory, threads
from gradir.runtime.executable import Executable
from gradir.runtime.llvm import compile_object
from gradir.runtime.memory import MemoryPool, ResultBuffer

pytestmark = pytest.mark.usefixtures("native_calls")

LONG = 1 << 16


def floats(*shape: int, seed: int = 0) -> Array:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


@pytest.fixture(scope="module", params=["native", "python"])
def add16(request: pytest.FixtureRequest) -> Executable:
    """The function whose calls one native function makes, and the same through Python."""
    fn = compiled(add_function(16))
    return fn if request.param == "native" else called_by_python(fn)


@pytest.fixture(scope="module")
def add_long() -> Executable:
    return compiled(add_function(LONG), threads=2)


# Results.


def test_a_call_gives_a_tuple_of_new_arrays(add16: Executable):
    x, y = floats(16), floats(16, seed=1)
    (first,) = add16(x, y)
    (second,) = add16(y, y)
    np.testing.assert_array_equal(first, x + y)
    np.testing.assert_array_equal(second, y + y)
    assert first.dtype == np.float32 and first.flags.owndata


def mixed_function() -> str:
    """max(x @ w + b, 0), reshaped, and its sums over each row."""
    arguments = (
        "%arena: memref<262144xi8>, %x: memref<128x64xf32>, %w: memref<64x512xf32>, "
        "%b: memref<512xf32>, %y: memref<65536xf32>, %s: memref<128xf32>"
    )
    return function(
        arguments,
        3,
        2,
        """
  %c0 = arith.constant 0 : index
  %h = memref.view %arena[%c0][] : memref<262144xi8> to memref<128x512xf32>
  loopnest.contract [128, 512, 64] (%x[d0, d2] : memref<128x64xf32>,
      %w[d2, d1] : memref<64x512xf32>, %k = %b[d1] : memref<512xf32>) acc %acc : f32
      -> ([d0, d1] to %h : memref<128x512xf32>) {
    %zero = arith.constant 0.0 : f32
    %0 = arith.addf %acc, %k : f32
    %1 = arith.maximumf %0, %zero : f32
    loopnest.yield %1 : f32
  }
  %flat = loopnest.reshape %h : memref<128x512xf32> -> memref<65536xf32>
  loopnest.nest [65536] (%a = %flat[d0] : memref<65536xf32>)
      -> ([d0] to %y : memref<65536xf32>) {
    %0 = math.tanh %a : f32
    loopnest.yield %0 : f32
  }
  loopnest.nest [128, 512] (%a = %h[d0, d1] : memref<128x512xf32>)
      -> (add [d0] to %s : memref<128xf32>) {
    loopnest.yield %a : f32
  }""",
    )


def test_the_bits_do_not_depend_on_the_number_of_threads():
    x, w, b = floats(128, 64), floats(64, 512, seed=1), floats(512, seed=2)
    results = [compiled(mixed_function(), count)(x, w, b) for count in (1, 2, 3, 5)]
    hidden = np.maximum(x.astype(np.float64) @ w + b, 0)
    np.testing.assert_allclose(results[0][0], np.tanh(hidden).ravel(), rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(results[0][1], hidden.sum(1), rtol=1e-5)
    for others in results[1:]:
        for one, other in zip(results[0], others, strict=True):
            assert one.tobytes() == other.tobytes()


@pytest.mark.parametrize("count", [2, 4])
def test_threads_wait_for_what_they_read(count: int):
    fn = compiled(chain_function(LONG, 40), count)
    assert fn.program.is_parallel
    x, y = floats(LONG), np.ones(LONG, np.float32)
    expected = x.copy()
    for _ in range(40):
        expected = expected + y
    for _ in range(20):
        np.testing.assert_array_equal(fn(x, y)[0], expected)


def test_equal_kernels_are_emitted_once():
    fn = compiled(chain_function(64, 6))
    (kernel,) = fn.program.kernels
    assert kernel.calls == 6
    x, y = floats(64), np.ones(64, np.float32)
    np.testing.assert_allclose(fn(x, y)[0], x + 6, rtol=1e-6)


def test_a_kernel_with_shared_operands_is_not_that_of_distinct_ones():
    v = "memref<32xf32>"
    body = sum_of(32, "%x", "%y", "%r") + sum_of(32, "%r", "%x", "%r")
    fn = compiled(function(f"%x: {v}, %y: {v}, %r: {v}", 2, 1, body))
    assert len(fn.program.kernels) == 2
    x, y = floats(32), floats(32, seed=1)
    np.testing.assert_array_equal(fn(x, y)[0], (x + y) + x)


def test_constants_are_passed_by_pointer():
    before = (
        '"memref.global"() <{sym_name = "c", type = memref<3xf32>, sym_visibility = "private", '
        "initial_value = dense<[1.0, 2.0, 4.0]> : tensor<3xf32>}> : () -> ()"
    )
    body = "  %c = memref.get_global @c : memref<3xf32>" + sum_of(3, "%x", "%c", "%r")
    fn = compiled(function("%x: memref<3xf32>, %r: memref<3xf32>", 1, 1, body, before))
    np.testing.assert_array_equal(fn(np.ones(3, np.float32))[0], [2, 3, 5])


# Barriers.


def barriers_of(body: str) -> int:
    v = f"memref<{LONG}xf32>"
    arguments = ", ".join(f"%{name}: {v}" for name in ("x", "y", "r", "s"))
    text = function(arguments, 2, 2, body)
    return emit_program(function_of(text), host(), 2).barriers


def test_independent_phases_have_no_barrier_between_them():
    assert barriers_of(sum_of(LONG, "%x", "%y", "%r") + sum_of(LONG, "%x", "%x", "%s")) == 0


@pytest.mark.parametrize(
    "second",
    [
        pytest.param(("%r", "%y", "%s"), id="read after write"),
        pytest.param(("%x", "%y", "%r"), id="write after write"),
    ],
)
def test_dependent_phases_have_a_barrier_between_them(second: tuple[str, str, str]):
    assert barriers_of(sum_of(LONG, "%x", "%y", "%r") + sum_of(LONG, *second)) == 1


def test_write_after_read_needs_a_barrier():
    first = sum_of(LONG, "%r", "%y", "%s")
    assert barriers_of(first + sum_of(LONG, "%x", "%y", "%r")) == 1


def test_views_conflict_by_bytes():
    v, arena = f"memref<{LONG}xf32>", f"memref<{12 * LONG}xi8>"

    def barriers(offset: int) -> int:
        lines = f"""
  %c0 = arith.constant 0 : index
  %c1 = arith.constant {offset} : index
  %a0 = memref.view %arena[%c0][] : {arena} to {v}
  %a1 = memref.view %arena[%c1][] : {arena} to {v}"""
        body = lines + sum_of(LONG, "%x", "%x", "%a0") + sum_of(LONG, "%x", "%x", "%a1")
        text = function(f"%arena: {arena}, %x: {v}, %r: {v}", 1, 1, body)
        return emit_program(function_of(text), host(), 2).barriers

    assert [barriers(4 * LONG), barriers(4 * LONG - 64), barriers(0)] == [0, 1, 1]


def test_short_phases_stay_on_one_thread():
    fn = compiled(chain_function(64, 3), threads=2)
    assert not fn.program.is_parallel
    assert "gradir_parallel" not in fn.llvm_ir


# Arguments.


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((floats(16),), r"f: expected 2 arguments \(%x, %y\), got 1"),
        (
            (floats(16), np.zeros(16)),
            r"f: argument 1 \(%y\): expected float32 array of shape \(16,\), "
            r"got float64 of shape \(16,\)",
        ),
        ((floats(4, 4), floats(16)), r"f: argument 0 \(%x\): .*got float32 of shape \(4, 4\)"),
        ((floats(16).astype(">f4"), floats(16)), r"argument 0 \(%x\): .*got >f4"),
        (([0.0] * 16, floats(16)), r"argument 0 \(%x\): .*got list"),
        ((1.0, floats(16)), r"argument 0 \(%x\): .*got float"),
        ((None, floats(16)), r"argument 0 \(%x\): .*got NoneType"),
        ((np.ma.MaskedArray(floats(16)), floats(16)), r"argument 0 \(%x\): .*got a masked array"),
    ],
)
def test_arguments_that_do_not_fit_are_refused(
    add16: Executable, arguments: tuple[Any, ...], message: str
):
    with pytest.raises(ArgumentError, match=message):
        add16(*arguments)


def test_a_wrong_dtype_is_a_type_error(add16: Executable):
    with pytest.raises(TypeError):
        add16(np.zeros(16), floats(16))


def test_non_contiguous_and_misaligned_inputs_are_copied(add16: Executable):
    x, y = floats(16, 2)[:, 1], floats(16)[::-1]
    np.testing.assert_array_equal(add16(x, y)[0], x + y)
    raw = np.zeros(65, np.uint8)
    odd = raw[1:].view(np.float32)
    odd[...] = x
    assert not odd.flags.aligned
    np.testing.assert_array_equal(add16(odd, y)[0], x + y)


def test_read_only_inputs_and_subclasses_are_read_in_place(add16: Executable):
    class Mine(np.ndarray[Any, Any]):
        pass

    x = floats(16)
    x.flags.writeable = False
    np.testing.assert_array_equal(add16(x, x.view(Mine))[0], x + x)


def test_the_same_array_can_be_several_inputs(add16: Executable):
    x = floats(16)
    np.testing.assert_array_equal(add16(x, x)[0], x + x)


def scalar_function(element: str, op: str) -> str:
    m = memref((), element)
    body = f"""
  loopnest.nest [] (%a = %x[] : {m}, %b = %y[] : {m}) -> ([] to %r : {m}) {{
    %0 = arith.{op} %a, %b : {element}
    loopnest.yield %0 : {element}
  }}"""
    return function(f"%x: {m}, %y: {m}, %r: {m}", 2, 1, body)


def test_numbers_stand_for_arrays_of_rank_0():
    fn = compiled(scalar_function("f32", "addf"))
    assert fn(1.5, 2)[0] == np.float32(3.5)
    assert fn(np.float32(1.5), np.array(2, np.float32))[0].shape == ()
    with pytest.raises(ArgumentTypeError, match="expected a float32 number, got bool True"):
        fn(True, 1.0)
    with pytest.raises(ArgumentTypeError, match="got float64"):
        fn(np.float64(1.0), 1.0)


def test_integers_must_fit():
    fn = compiled(scalar_function("i8", "addi"))
    assert fn(100, 27)[0] == 127
    with pytest.raises(ArgumentError, match="128 does not fit int8"):
        fn(128, 1)
    with pytest.raises(ArgumentTypeError, match=r"expected a int8 number, got float 1\.0"):
        fn(1.0, 1)


def test_bools_are_bytes():
    fn = compiled(scalar_function("i1", "andi"))
    assert fn(True, np.True_)[0].dtype == np.bool_
    assert [bool(fn(a, b)[0]) for a, b in ((True, True), (True, False))] == [True, False]


def test_empty_arrays():
    fn = compiled(add_function(0))
    assert fn(floats(0), floats(0))[0].shape == (0,)


# out=


def test_out_is_written_and_returned(add16: Executable):
    x, mine = floats(16), np.empty(16, np.float32)
    assert add16(x, x, out=mine)[0] is mine
    np.testing.assert_array_equal(mine, x + x)
    assert add16(x, x, out=(mine,))[0] is mine
    assert add16(x, x, out=[None])[0] is not mine


@pytest.mark.parametrize(
    ("out", "message"),
    [
        (np.empty(16), r"f: out\[0\]: expected float32 array of shape \(16,\), got float64"),
        (np.empty(15, np.float32), r"out\[0\]: .*got float32 of shape \(15,\)"),
        (np.empty((16, 2), np.float32)[:, 0], r"out\[0\]: expected a C-contiguous array"),
        ([], r"out: expected 1 entries, one for each result, got 0"),
        ((None, None), r"out: expected 1 entries.*got 2"),
        ([[0.0] * 16], r"out\[0\]: expected a NumPy float32 array .* got list"),
    ],
)
def test_out_that_does_not_fit_is_refused(add16: Executable, out: Any, message: str):
    with pytest.raises(ArgumentError, match=message):
        add16(floats(16), floats(16), out=out)


def test_out_must_be_aligned(add16: Executable):
    out = np.zeros(65, np.uint8)[1:].view(np.float32)
    with pytest.raises(ArgumentError, match="expected an aligned array to write to"):
        add16(floats(16), floats(16), out=out)


def test_out_must_be_writable(add16: Executable):
    out = np.empty(16, np.float32)
    out.flags.writeable = False
    with pytest.raises(ArgumentError, match="expected a writable array"):
        add16(floats(16), floats(16), out=out)


def test_out_must_not_share_memory():
    v = memref((16,))
    body = sum_of(16, "%x", "%y", "%r") + sum_of(16, "%x", "%x", "%s")
    fn = compiled(function(f"%x: {v}, %y: {v}, %r: {v}, %s: {v}", 2, 2, body))
    x, memory_ = floats(16), np.zeros(24, np.float32)
    with pytest.raises(ArgumentError, match=r"out\[1\] shares memory with argument 1 \(%y\)"):
        fn(memory_[:16], x, out=(None, x))
    with pytest.raises(ArgumentError, match=r"out\[1\] shares memory with out\[0\]"):
        fn(x, x, out=(memory_[:16], memory_[8:]))
    (_, second) = fn(x, x, out=(memory_[:16], None))
    np.testing.assert_array_equal(memory_[:16], second)


# DLPack.


class Tensor:
    """An array of another library."""

    def __init__(self, array: Array, device: int = 1, bfloat: bool = False):
        self.array, self.device, self.bfloat = array, device, bfloat

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.device, 0

    def __dlpack__(self, **options: Any) -> Any:
        capsule = self.array.__dlpack__()
        if self.bfloat:
            pointer = ctypes.pythonapi.PyCapsule_GetPointer
            pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
            code = ctypes.c_uint8.from_address(pointer(capsule, b"dltensor") + 20)
            code.value = 4
        return capsule


def test_arrays_of_other_libraries_are_read_in_place(add16: Executable):
    x = floats(16)
    np.testing.assert_array_equal(add16(Tensor(x), Tensor(x[::-1]))[0], x + x[::-1])
    with pytest.raises(ArgumentTypeError, match="got one on DLPack device type 2"):
        add16(Tensor(x, device=2), x)
    with pytest.raises(ArgumentError, match="got float64"):
        add16(Tensor(x.astype(np.float64)), x)


def test_bfloat16_of_other_libraries():
    v = "memref<6xbf16>"
    nest = sum_of(6, "%x", "%y", "%r").replace("f32", "bf16")
    fn = compiled(function(f"%x: {v}, %y: {v}, %r: {v}", 2, 1, nest))
    x = np.arange(12, dtype=np.float32).astype(ml_dtypes.bfloat16)
    expected = (x[:6].astype(np.float32) * 2).astype(ml_dtypes.bfloat16)
    np.testing.assert_array_equal(fn(x[:6], x[:6].copy())[0], expected)
    bits = x.view(np.uint16)
    np.testing.assert_array_equal(fn(Tensor(bits[:6], bfloat=True), x[:6])[0], expected)
    strided = fn(Tensor(bits[::2], bfloat=True), x[::2])[0]
    np.testing.assert_array_equal(strided, (2 * x[::2].astype(np.float32)).astype(x.dtype))
    with pytest.raises(ArgumentTypeError, match="another element type"):
        fn(Tensor(bits[:6]), x[:6])


# Errors of running functions.


def lookup(bound: int, place: str, target: str) -> str:
    return f"""
  loopnest.nest [8] (%i = %n[d0] : memref<8xi64>, %t = %x : memref<{bound}xf32>)
      -> ([d0] to {target} : memref<8xf32>) {{
    %k = loopnest.check_index %i bound {bound} message "array.take at {place}"
    %v = loopnest.load %t[%k] : memref<{bound}xf32> -> f32
    loopnest.yield %v : f32
  }}"""


def test_an_index_out_of_range_names_op_index_and_bound():
    arguments = "%n: memref<8xi64>, %x: memref<5xf32>, %r: memref<8xf32>, %s: memref<8xf32>"
    body = lookup(5, "first", "%r") + lookup(5, "second", "%s")
    fn = compiled(function(arguments, 2, 2, body))
    x, n = floats(5), np.array([0, 1, 2, 3, 4, -1, -5, 0])
    np.testing.assert_array_equal(fn(n, x)[1], x[n])
    n[3] = 7
    with pytest.raises(
        IndexOutOfRange, match=r"array\.take at first: index 7 .* size of 5"
    ) as caught:
        fn(n, x)
    assert isinstance(caught.value, IndexError) and isinstance(caught.value, ExecutionError)
    n[3] = 0
    np.testing.assert_array_equal(fn(n, x)[0], x[n])


def test_each_kernel_has_its_own_messages():
    indices, v = "memref<8xi64>", "memref<8xf32>"
    arguments = f"%n: {indices}, %m: {indices}, %x: memref<5xf32>, %r: {v}, %s: {v}"
    body = lookup(5, "first", "%r") + lookup(5, "second", "%s").replace("%n[", "%m[")
    fn = compiled(function(arguments, 3, 2, body))
    good, bad, x = np.zeros(8, np.int64), np.full(8, -6), floats(5)
    with pytest.raises(IndexOutOfRange, match=r"array\.take at second: index -6"):
        fn(good, bad, x)
    with pytest.raises(IndexOutOfRange, match=r"array\.take at first"):
        fn(bad, bad, x)
    fn(good, good, x)


# Programs that cannot be compiled.


def test_an_unsupported_op_is_a_located_error():
    body = "  %a = memref.alloc() : memref<4xf32>"
    with pytest.raises(LocatedError, match=r"memref\.alloc: no native code"):
        compiled(function("%x: memref<4xf32>, %r: memref<4xf32>", 1, 1, body))


def test_a_view_must_lie_in_the_arena():
    body = """
  %c = arith.constant 64 : index
  %a = memref.view %arena[%c][] : memref<64xi8> to memref<4xf32>"""
    with pytest.raises(LocatedError, match="16 bytes at 64 do not fit %arena of 64 bytes"):
        compiled(function("%arena: memref<64xi8>, %r: memref<4xf32>", 0, 1, body))


def test_the_counts_of_arguments_must_agree():
    with pytest.raises(LocatedError, match="expected an arena, 5 inputs and 1 results"):
        compiled(function("%x: memref<4xf32>, %r: memref<4xf32>", 5, 1, ""))


# Memory.


def test_a_large_result_is_pooled_memory_that_returns(add_long: Executable):
    x = floats(LONG)
    (first,) = add_long(x, x)
    part, address = first[5:10], first.ctypes.data
    assert address % 64 == 0
    del first
    gc.collect()
    (second,) = add_long(x, x)
    assert second.ctypes.data != address, "a view still shows the first result"
    np.testing.assert_array_equal(part, (x + x)[5:10])
    del part, second
    gc.collect()
    addresses = {add_long(x, x)[0].ctypes.data for _ in range(5)}
    assert len(addresses) == 1


def test_a_pool_is_bounded():
    pool = MemoryPool(limit=3 << 20)
    blocks = [pool.take(1 << 20) for _ in range(5)]
    assert pool.held == 0
    for block in blocks:
        pool.give(block)
    assert pool.held == 3 << 20
    assert pool.take(1 << 20) is blocks[-1], "the block that is warm comes first"
    assert pool.take(100).size >= 100
    pool.clear()
    assert pool.held == 0


def test_pool_hands_out_larger_blocks_for_a_while():
    """Arenas of different sizes share memory; results get no more than they need."""
    pool = MemoryPool(1 << 30)
    small, large = pool.take(4 << 20), pool.take(64 << 20)
    pool.give(large)
    pool.give(small)
    assert pool.take(3 << 20) is small, "the smallest that fits"
    assert pool.take(16 << 20) is not large
    assert pool.take(16 << 20, slack=2) is not large
    assert pool.take(16 << 20, slack=4) is large
    assert pool.held == 0
    pool.give(large)
    assert pool.held == large.size
    pool.clear()
    assert pool.held == 0 and pool.take(16 << 20, slack=4) is not large


def test_large_blocks_are_aligned_for_huge_pages():
    block = MemoryPool(1 << 30).take(5 << 20)
    assert block.address % memory.HUGE_PAGE_BYTES == 0
    ctypes.memset(block.address, 1, block.size)


def test_a_block_that_cannot_be_had_is_an_error():
    with pytest.raises(GradirError, match="no memory for a buffer of"):
        MemoryPool(1 << 30).take(1 << 62)


def test_a_result_outlives_its_function():
    pool = MemoryPool(1 << 30)
    array = ResultBuffer(pool, (LONG,), np.dtype(np.float32), 4 * LONG).make()
    array[...] = 3
    owner = array.base
    del array
    gc.collect()
    assert pool.held == 0 and owner is not None
    del owner
    gc.collect()
    assert pool.held > 0


def test_calls_from_several_threads(add_long: Executable):
    fn = compiled(chain_function(LONG, 4), threads=2)
    wrong: list[int] = []

    def work(number: int) -> None:
        x, y = floats(LONG, seed=number), np.full(LONG, number, np.float32)
        expected = (((x + y) + y) + y) + y
        for _ in range(20):
            if not np.array_equal(fn(x, y)[0], expected):
                wrong.append(number)
            if not np.array_equal(add_long(x, y)[0], x + y):
                wrong.append(number)

    workers = [threading.Thread(target=work, args=(k,)) for k in range(6)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert wrong == []


# Threads and processes.


def test_the_number_of_threads(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("GRADIR_NUM_THREADS", "3")
    monkeypatch.setenv("OMP_NUM_THREADS", "5,2")
    assert (threads.thread_count(7), threads.thread_count()) == (7, 3)
    monkeypatch.delenv("GRADIR_NUM_THREADS")
    assert threads.thread_count() == 5
    monkeypatch.delenv("OMP_NUM_THREADS")
    assert threads.thread_count() >= 1
    monkeypatch.setenv("GRADIR_NUM_THREADS", "many")
    with pytest.raises(GradirError, match="GRADIR_NUM_THREADS: a positive number expected"):
        threads.thread_count()
    with pytest.raises(GradirError, match="threads: a positive number expected, got 0"):
        threads.thread_count(0)


def test_llvm_is_not_imported_before_it_is_needed():
    code = "import sys, gradir, gradir.runtime.executable; sys.exit('llvmlite' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


def test_what_llvm_refuses_is_an_error_of_gradir():
    for text in ("define void @f( {", "define i64 @f(i64 %x) {\n  ret i64 %y\n}"):
        with pytest.raises(CompileError, match="LLVM does not take the code that gradir wrote: "):
            compile_object(text, host())


def test_the_code_can_be_read(add16: Executable):
    assert "define void @gradir_entry(ptr %table)" in add16.llvm_ir
    assert "gradir_entry:" in add16.asm
    assert repr(add16).startswith("<gradir function f(%x: float32 array of shape (16,)")
