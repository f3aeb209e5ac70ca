"""Calls that one native function makes: what it takes, that it agrees with Python's way, memory."""

from __future__ import annotations

import gc
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from runtime_harness import (
    Array,
    add_function,
    called_by_python,
    compiled,
    function,
    memref,
    sum_of,
)

import gradir
from gradir.errors import ArgumentError, ArgumentTypeError, GradirError, IndexOutOfRange
from gradir.runtime import memory, native_call
from gradir.runtime.executable import Executable

pytestmark = [
    pytest.mark.usefixtures("native_calls"),
    pytest.mark.skipif(not native_call.is_supported(), reason="calls go through Python"),
]

NEWTON = """
func.func @root(%a: f64) -> f64 {
  %half = arith.constant 0.5 : f64
  %tolerance = arith.constant 1.0e-12 : f64
  %root = scf.while (%x = %a) : (f64) -> f64 {
    %square = arith.mulf %x, %x : f64
    %error = arith.subf %square, %a : f64
    %size = math.absf %error : f64
    %go = arith.cmpf ogt, %size, %tolerance : f64
    scf.condition(%go) %x : f64
  } do {
  ^bb0(%x: f64):
    %quotient = arith.divf %a, %x : f64
    %sum = arith.addf %x, %quotient : f64
    %next = arith.mulf %half, %sum : f64
    scf.yield %next : f64
  }
  func.return %root : f64
}"""

SQUARES = """
func.func @squares(%n: f64, %a: f64) -> f64 {
  %zero = arith.constant 0.0 : f64
  %one = arith.constant 1.0 : f64
  %end, %y = scf.while (%k = %zero, %x = %a) : (f64, f64) -> (f64, f64) {
    %go = arith.cmpf olt, %k, %n : f64
    scf.condition(%go) %k, %x : f64, f64
  } do {
  ^bb0(%k: f64, %x: f64):
    %next = arith.addf %k, %one : f64
    %square = arith.mulf %x, %x : f64
    scf.yield %next, %square : f64, f64
  }
  func.return %y : f64
}"""

LOOKUP = """
func.func @f(%i: i64, %x: tensor<5xf64>) -> f64 {
  %k = arith.index_cast %i : i64 to index
  %y = tensor.extract %x[%k] : tensor<5xf64>
  func.return %y : f64
}"""


def floats(*shape: int, seed: int = 0) -> Array:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def refuse(*_: object) -> None:
    raise AssertionError("Python looked at the arguments")


def native_only(fn: Executable, monkeypatch: pytest.MonkeyPatch) -> Executable:
    """The function, which now fails where a call is not made natively."""
    monkeypatch.setattr(fn, "_checked", refuse)
    return fn


def copy_function(shape: tuple[int, ...], element: str) -> str:
    """@f(x) -> x."""
    m = memref(shape, element)
    indices = ", ".join(f"d{k}" for k in range(len(shape)))
    body = f"""
  loopnest.nest {list(shape)} (%a = %x[{indices}] : {m}) -> ([{indices}] to %r : {m}) {{
    loopnest.yield %a : {element.replace("ui", "i")}
  }}"""
    return function(f"%x: {m}, %r: {m}", 1, 1, body)


def pair_function() -> str:
    """@f(x, y) -> x + y, x + x."""
    v = memref((16,))
    body = sum_of(16, "%x", "%y", "%r") + sum_of(16, "%x", "%x", "%s")
    return function(f"%x: {v}, %y: {v}, %r: {v}, %s: {v}", 2, 2, body)


# What is native.


def test_arrays_that_can_be_read_in_place(monkeypatch: pytest.MonkeyPatch):
    fn = native_only(compiled(pair_function()), monkeypatch)
    x, y = floats(16), floats(16, seed=1)
    y.flags.writeable = False
    for _ in range(3):
        first, second = fn(x, y)
        np.testing.assert_array_equal(first, x + y)
        np.testing.assert_array_equal(second, x + x)
        assert first.flags.owndata and first.flags.carray and first.dtype is x.dtype


@pytest.mark.parametrize("shape", [(), (0,), (1,), (3, 1, 5), (2, 0, 3)])
@pytest.mark.parametrize(
    "element",
    ["f64", "f32", "f16", "bf16", "i64", "i16", "i8", "ui64", "ui32", "ui16", "ui8", "i1"],
)
def test_every_element_type_and_shape(
    shape: tuple[int, ...], element: str, monkeypatch: pytest.MonkeyPatch
):
    fn = compiled(copy_function(shape, element))
    dtype = fn.inputs[0].dtype
    x = np.arange(int(np.prod(shape))).reshape(shape).astype(dtype)
    (y,) = native_only(fn, monkeypatch)(x)
    assert type(y) is np.ndarray and y.shape == shape and y.dtype is dtype
    assert y.tobytes() == x.tobytes()


def test_out_in_all_its_forms(monkeypatch: pytest.MonkeyPatch):
    fn = native_only(compiled(pair_function()), monkeypatch)
    x, y = floats(16), floats(16, seed=1)
    mine, other = np.empty(16, np.float32), np.empty(16, np.float32)
    assert [a is b for a, b in zip(fn(x, y, out=(mine, other)), (mine, other), strict=True)]
    np.testing.assert_array_equal(mine, x + y)
    np.testing.assert_array_equal(other, x + x)
    first, second = fn(y, y, out=[None, other])
    assert second is other and first is not mine
    np.testing.assert_array_equal(first, y + y)
    single = native_only(compiled(add_function(16)), monkeypatch)
    assert single(x, y, out=mine)[0] is mine
    np.testing.assert_array_equal(mine, x + y)


def test_numbers_of_rank_0(monkeypatch: pytest.MonkeyPatch):
    root = gradir.compile(gradir.parse(NEWTON).gradient("root", mode="grad"), "root_grad")
    assert isinstance(root, Executable)
    fn = native_only(root, monkeypatch)
    for two in (2, 2.0, np.float64(2), np.array(2.0)):
        value, gradient = fn(two)
        assert value.shape == () and value == pytest.approx(2**0.5, rel=1e-12)
        assert gradient == pytest.approx(0.5 / 2**0.5, rel=1e-12)


def test_a_large_result_is_pooled(monkeypatch: pytest.MonkeyPatch):
    fn = native_only(compiled(add_function(1 << 14)), monkeypatch)
    x = floats(1 << 14)
    (y,) = fn(x, x)
    np.testing.assert_array_equal(y, x + x)
    assert not y.flags.owndata and y.ctypes.data % 4096 == 0


# The same as through Python.

NUMBERS = (
    *(0, 1, -1, 2, 127, 128, -128, -129, 255, 256, 65504, 2**15, -(2**15), 2**31 - 1, 2**31),
    *(2**53 + 1, 2**24 + 1, 2**62 + 2**38 + 1, 2**63 - 1, -(2**63), 2**63, 2**64 - 1, 2**70),
    *(True, False, 0.0, -0.0, 0.1, 1.5, -2.25, 1e-45, 1e-320, 3.4028235e38, 3.5e38, 1e300, 65520.0),
    *(float("inf"), float("-inf"), float("nan"), 16777217.0, 1j, "1", None, [1.0], object),
    *(t(1) for t in (np.bool_, np.int8, np.int16, np.int32, np.int64, np.longlong, np.uint8)),
    *(t(1.5) for t in (np.float16, np.float32, np.float64, np.longdouble, ml_dtypes.bfloat16)),
    *(np.array(1.5), np.array(1.5, np.float32), np.array([1.5]), np.array(1), np.array(1.5, ">f8")),
)  # fmt: skip


def outcome(fn: Executable, argument: object) -> object:
    try:
        (result,) = fn(argument)
    except Exception as error:
        return type(error), str(error)
    return result.dtype, result.shape, result.tobytes()


ELEMENTS = ["f64", "f32", "f16", "bf16", "i64", "i32", "i16", "i8", "ui64", "ui32", "ui8", "i1"]


@pytest.mark.parametrize("element", ELEMENTS)
def test_numbers_are_taken_as_python_takes_them(element: str):
    text = copy_function((), element)
    native, python = compiled(text), called_by_python(compiled(text))
    for number in NUMBERS:
        assert outcome(native, number) == outcome(python, number), repr(number)


def odd_arguments() -> Iterator[tuple[Any, ...]]:
    x, y = floats(16), floats(16, seed=1)
    yield x, y
    yield (x,)
    yield x, y, x
    yield ()
    yield x, y.astype(np.float64)
    yield x.reshape(4, 4), y
    yield x, floats(17)
    yield x, floats(32)[::2]
    yield x, y[::-1]
    yield x, np.zeros(65, np.uint8)[1:].view(np.float32)
    yield x, y.astype(">f4")
    yield x, y.astype(np.dtype(np.float32, metadata={"unit": "m"}))
    yield x, y.view(np.recarray)
    yield x, np.ma.MaskedArray(y)
    yield x, list(y)
    yield None, y
    yield 1.0, y
    yield np.float32(1), y


def odd_outs(x: Array) -> Iterator[Any]:
    mine: Any = np.empty(16, np.float32)
    read_only = np.empty(16, np.float32)
    read_only.flags.writeable = False
    strided: Any = np.empty((16, 2), np.float32)[:, 0]
    firsts: tuple[Any, ...] = (mine, mine[:0], np.empty(16), strided, read_only, list(mine), x)
    for first in firsts:
        yield first, None
    outs: tuple[Any, ...] = (None, mine, (mine,), [mine, None], (None, mine), (mine, mine))
    yield from (*outs, (None, None, None), (), 3, "ab")
    yield np.empty(17, np.float32)[1:], np.empty(16, np.float32)


def results_of(fn: Executable, arguments: tuple[Any, ...], out: Any) -> object:
    try:
        return [(r.dtype, r.shape, r.tobytes()) for r in fn(*arguments, out=out)]
    except GradirError as error:
        return type(error), str(error)


def test_all_other_arguments_are_as_through_python():
    text = pair_function()
    native, python = compiled(text), called_by_python(compiled(text))
    for arguments in odd_arguments():
        assert results_of(native, arguments, None) == results_of(python, arguments, None)
    x, y = floats(16), floats(16, seed=1)
    seen: list[object] = []
    for a, b in zip(odd_outs(x), odd_outs(x), strict=True):
        seen.append(results_of(native, (x, y), a))
        assert seen[-1] == results_of(python, (x, y), b)
    assert sum(isinstance(s, list) for s in seen) == 5


def test_where_it_is_not_known_python_makes_all_calls(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(native_call, "_definition", dict[str, None]().get)
    fn = compiled(pair_function())
    x, mine = floats(16), np.empty(16, np.float32)
    assert fn(x, x, out=(None, mine))[1] is mine
    monkeypatch.setattr(fn, "_checked", refuse)
    with pytest.raises(AssertionError):
        fn(x, x)


@pytest.mark.parametrize(
    ("name", "value"),
    [("PYTHONS", ()), ("HEADER_BYTES", 32), ("NUMPY_INTERFACES", ()), ("NUMPY_ARRAY_TYPE", 3)],
)
def test_versions_that_are_not_known(name: str, value: object, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(native_call, name, value)
    assert not native_call.is_supported()


# References and memory.


def test_no_reference_is_lost_or_kept():
    fn, copied = compiled(pair_function()), compiled(copy_function((), "f64"))
    lookup = gradir.compile(gradir.parse(LOOKUP), "f")
    x, y, mine = floats(16), floats(16, seed=1), np.empty(16, np.float32)
    entries, pair = [mine, None], (None, mine)
    five, number, scalar = np.arange(5.0), 123456.789, np.float64(1.5)
    calls: list[Callable[[], object]] = [
        lambda: fn(x, y),
        lambda: fn(x, y, out=entries),
        lambda: fn(x, y, out=pair),
        lambda: lookup(3, five),
        lambda: copied(number),
        lambda: copied(scalar),
        lambda: fn(x),
        lambda: fn(x, five),
        lambda: fn(x, number),
        lambda: fn(x, y, out=(mine, mine)),
        lambda: fn(x, y, out=[mine, x]),
        lambda: fn(x, y, out=mine),
        lambda: lookup(7, five),
    ]
    watched = (x, y, mine, entries, pair, five, number, scalar, x.dtype, five.dtype, None, False)

    def rounds(count: int) -> list[int]:
        for call in calls * count:
            with suppress(ArgumentError, IndexOutOfRange):
                call()
        gc.collect()
        return [sys.getrefcount(thing) for thing in watched]

    before, after = rounds(2), rounds(200)
    assert after[:8] == before[:8]
    # these are counted by everybody, but not by hundreds
    assert all(abs(b - a) < 20 for a, b in zip(before, after, strict=True))


def test_results_are_the_callers_alone():
    fn = compiled(pair_function())
    x = floats(16)
    results = fn(x, x)
    first = results[0]
    assert sys.getrefcount(results) == 2
    assert sys.getrefcount(first) == 3
    del results
    assert sys.getrefcount(first) == 2


def test_what_fails_before_the_run_passes_through(monkeypatch: pytest.MonkeyPatch):
    fn = compiled(add_function(1 << 14))
    x = floats(1 << 14)

    def fail(_: memory.MemoryPool, nbytes: int) -> memory.MemoryBlock:
        raise GradirError(f"no memory for a buffer of {nbytes} bytes: none")

    with monkeypatch.context() as patch:
        patch.setattr(memory.MemoryPool, "take", fail)
        for _ in range(3):
            with pytest.raises(GradirError, match="no memory for a buffer of 65536 bytes"):
                fn(x, x)
    np.testing.assert_array_equal(fn(x, x)[0], x + x)


def test_an_error_leaves_nothing_behind():
    fn = gradir.compile(gradir.parse(LOOKUP), "f")
    x = np.arange(5.0)
    for k in range(4):
        with pytest.raises(IndexOutOfRange, match=f"index {k + 5} is out of range"):
            fn(k + 5, x)
        assert fn(k, x)[0] == k


def test_memory_that_has_grown_large_is_given_back(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("gradir.codegen.driver.growing_memory.KEPT_BYTES", 1 << 17)
    module = gradir.parse(SQUARES).gradient("squares", wrt=[1], mode="grad")
    fn = gradir.compile(module, "squares_grad")
    (record,) = fn.program.growing

    def capacity() -> int:
        (call,) = getattr(fn, "_idle")  # noqa: B009
        return call.table[record[0] + 1]

    for trips in (3, 30000, 5, 0, 40000, 3):
        value, gradient = fn(trips, 1)
        assert value == 1 and gradient == (2.0**trips if trips < 1000 else np.inf)
        assert (capacity() > 0) == (trips < 30000)


# Other threads and calls in calls.


def test_the_gil_is_released():
    fn = gradir.compile(gradir.parse(SQUARES), "squares")
    running, seen = threading.Event(), list[bool]()

    def look(start: threading.Lock) -> None:
        start.acquire()
        seen.append(running.is_set())

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1000)  # so that nobody gets the GIL who is not given it
    try:
        while not any(seen) and len(seen) < 12:  # longer each time: all cores may be busy
            start = threading.Lock()
            start.acquire()
            other = threading.Thread(target=look, args=(start,))
            other.start()
            running.set()
            start.release()
            fn(1e6 * 2 ** len(seen), 1)
            running.clear()
            other.join()
    finally:
        sys.setswitchinterval(interval)
    assert any(seen)


def test_threads_call_one_function_at_a_time_or_together():
    fn = compiled(pair_function())
    wrong: list[int] = []

    def work(number: int) -> None:
        x, y = floats(16, seed=number), np.full(16, number, np.float32)
        for _ in range(300):
            first, second = fn(x, y)
            if not (np.array_equal(first, x + y) and np.array_equal(second, x + x)):
                wrong.append(number)

    workers = [threading.Thread(target=work, args=(k,)) for k in range(5)]
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
    finally:
        sys.setswitchinterval(interval)
    assert wrong == []


def test_a_call_within_a_call(monkeypatch: pytest.MonkeyPatch):
    """While a call makes its results Python may run, and with it another call."""
    fn = compiled(add_function(1 << 14))
    x, y = floats(1 << 14), floats(1 << 14, seed=1)
    take, inner = memory.MemoryPool.take, list[Array]()

    def take_after_a_call(pool: memory.MemoryPool, nbytes: int) -> memory.MemoryBlock:
        with monkeypatch.context() as patch:
            patch.setattr(memory.MemoryPool, "take", take)
            inner.extend(fn(y, y))
        return take(pool, nbytes)

    monkeypatch.setattr(memory.MemoryPool, "take", take_after_a_call)
    outer = [fn(x, y)[0] for _ in range(3)]
    for result in outer:
        np.testing.assert_array_equal(result, x + y)
    assert len(inner) == 3
    for result in inner:
        np.testing.assert_array_equal(result, y + y)


def test_a_host_function_that_calls_the_function_it_is_called_by():
    text = """
func.func @f(%n: tensor<i64>) -> tensor<i64> {
  %a = grad.host_call %n {callee = "next_number"} : (tensor<i64>) -> tensor<i64>
  %y = array.add %n, %a : tensor<i64>
  func.return %y : tensor<i64>
}"""

    def next_number(n: Array) -> Array:
        return fn(int(n) - 1)[0] if n > 0 else np.array(0)

    gradir.register_host_function("next_number", next_number)
    fn = gradir.compile(gradir.parse(text), "f")
    assert [int(fn(n)[0]) for n in (0, 1, 4, 10)] == [0, 1, 10, 55]


def test_what_a_host_function_raises_passes_through():
    text = """
func.func @f(%n: tensor<i64>) -> tensor<i64> {
  %a = grad.host_call %n {callee = "refuse_odd"} : (tensor<i64>) -> tensor<i64>
  func.return %a : tensor<i64>
}"""

    def refuse_odd(n: Array) -> Array:
        if n % 2:
            raise KeyboardInterrupt(f"{n} is odd")
        return n

    gradir.register_host_function("refuse_odd", refuse_odd)
    fn = gradir.compile(gradir.parse(text), "f")
    for _ in range(3):
        assert fn(4)[0] == 4
        with pytest.raises(KeyboardInterrupt, match="3 is odd"):
            fn(3)


# Functions that are called in other ways.


def test_shapes_that_change_from_call_to_call():
    text = """
func.func @f(%x: tensor<?xf32>, %k: tensor<f32>) -> tensor<?xf32> {
  %0 = array.add %x, %x : tensor<?xf32>
  func.return %0 : tensor<?xf32>
}"""
    fn = gradir.compile(gradir.parse(text), "f")
    for n in (3, 3, 5, 3, 5, 5, 0, 3):
        x = floats(n)
        np.testing.assert_array_equal(fn(x, 1.0)[0], x + x)
    with pytest.raises(ArgumentTypeError, match="got float64 of shape"):
        fn(np.zeros(3), 1.0)
    with pytest.raises(ArgumentError, match="got float32 of shape"):
        fn(floats(3, 3), 1.0)
    with pytest.raises(ArgumentTypeError, match="expected 2 arguments"):
        fn(floats(3))
    mine = np.empty(3, np.float32)
    assert fn(floats(3), 1.0, out=mine)[0] is mine


def test_tapes_among_the_results():
    module = gradir.parse(NEWTON).gradient("root", mode="split")
    forward, backward = (gradir.compile(module, f"root_{part}") for part in ("fwd", "bwd"))
    kept = [forward(a) for a in (2.0, 9.0, 2.0)]
    gradients = [backward(*results[1:], 1.0)[0] for results in kept]
    assert gradients[0] == gradients[2] == pytest.approx(0.5 / 2**0.5)
    assert gradients[1] == pytest.approx(1 / 6)
