"""Native functions of custom ops: failures, debug mode, threads, lifetimes.

Most functions are Python callbacks behind C's interface: these tests need no C compiler.
"""

from __future__ import annotations

import copy
import ctypes
import gc
import pickle
import re
import threading
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gradir
import gradir.numpy as gnp
from gradir.errors import ArgumentTypeError, HostCallError, NativeFunctionError
from gradir.runtime import native_blocks
from gradir.runtime.native_blocks import CallRecord
from tests.frontends.test_custom_op import runs
from tests.support.custom_ops import first_like, own_registry
from tests.support.native_ops import (
    CALLBACK,
    calls_back,
    library,
    of,
    view,
    wave,
)

X, W = np.array([0.5, -1.0, 2.0]), np.array([1.5, 0.25, -0.75])


@pytest.fixture(autouse=True)
def registry() -> Iterator[None]:
    with own_registry():
        yield


# Failures.


def failing(message: bytes, code: int) -> Any:
    """A function that fails for negative numbers."""
    message += b"\0"

    def run(call: Any) -> int:
        x = view(call.inputs[0])
        view(call.outputs[0])[...] = x
        if not (x < 0).any():
            return 0
        ctypes.memmove(call.message, message, min(len(message), call.message_size))
        return code

    return calls_back(run)


@pytest.mark.parametrize("debug", [False, True])
@pytest.mark.parametrize(
    ("message", "code", "text"),
    [
        (b"x is negative", 1, "x is negative"),
        (b"", -7, "the function returned -7"),
        ("schlüssig\n".encode(), 1 << 30, "schlüssig\n"),
        (b"a\xff", 1, "a�"),
        (b"m" * 5000, 1, "m" * native_blocks.MESSAGE_BYTES),
    ],
    ids=["plain", "none", "utf8", "invalid", "long"],
)
def test_messages(message: bytes, code: int, text: str, debug: bool) -> None:
    op = gradir.custom_op(failing(message, code), first_like, name="sure", debug=debug)
    for run in (op, *runs(gradir.trace(op, X))):
        for _ in range(2):
            np.testing.assert_array_equal(np.ravel(run(abs(X))), abs(X))
            with pytest.raises(HostCallError) as caught:
                run(X)
            place, _, found = str(caught.value).partition(" @sure: ")
            assert found == text
            assert re.fullmatch(r".*:\d+:\d+: (grad\.host_call|custom_op)", place)


def test_a_failure_ends_loops_and_parallel_programs() -> None:
    calls: list[int] = []

    def run(call: Any) -> int:
        calls.append(1)
        view(call.outputs[0])[...] = view(call.inputs[0]) + 1
        return int(len(calls) == 5)

    op = gradir.custom_op(calls_back(run), first_like)
    x = np.zeros(1 << 17)

    def loop(x: Any) -> Any:
        return gradir.fori_loop(0, 10, lambda _, y: op(gnp.tanh(y)) * 0.5, x)

    compiled = gradir.compile(gradir.trace(loop, x), "loop", 2)
    with pytest.raises(HostCallError, match="the function returned 1"):
        compiled(x)
    assert len(calls) == 5
    (found,) = compiled(x)
    assert len(calls) == 15 and (found == found[0]).all() and found[0] > 0


def test_failures_in_a_derivative() -> None:
    back = calls_back(lambda call: 3)
    op = gradir.custom_op(failing(b"", 1), first_like, back, name="half")
    with pytest.raises(HostCallError, match=r"@half\.backward: the function returned 3"):
        gradir.grad(lambda x: gnp.sum(op(x)))(abs(X))


def test_bad_native_functions(tmp_path: Path) -> None:
    text = tmp_path / "text.so"
    text.write_text("no library")
    process = ctypes.CDLL(None)

    class Nothing:
        address = 0

    class Wrong:
        address = "12"

    native: Any = gradir.native
    null = CALLBACK()
    checks: list[tuple[Callable[[], Any], type[Exception], str]] = [
        (lambda: native(tmp_path / "no.so", "f"), NativeFunctionError, "no.so cannot be loaded: "),
        (lambda: native(str(text), "f"), NativeFunctionError, "text.so cannot be loaded: "),
        (lambda: native("a\0b", "f"), NativeFunctionError, "cannot be loaded"),
        (lambda: native(process, "no_such"), NativeFunctionError, "'no_such' is not in None: "),
        (lambda: native(null), NativeFunctionError, "expected the address of a function, got 0"),
        (lambda: native(Nothing()), NativeFunctionError, "address of a function, got 0"),
        (lambda: native(Wrong()), ArgumentTypeError, "expected a ctypes function pointer, an obj"),
        (lambda: native(len), ArgumentTypeError, "expected a ctypes function pointer, an obj"),
        (lambda: native(123456), ArgumentTypeError, "expected a ctypes function pointer, an obj"),
        (lambda: native(process), ArgumentTypeError, "symbol: expected the name of a function of"),
        (lambda: native("m.so"), ArgumentTypeError, "symbol: expected the name of a function of"),
        (lambda: native(process, 3), ArgumentTypeError, "symbol: expected the name of a function"),
        (lambda: native(3, "f"), ArgumentTypeError, "library: expected a path or a ctypes.CDLL"),
        (
            lambda: native(ctypes.pythonapi, "Py_DecRef"),
            NativeFunctionError,
            "runs without the GIL, got one of ctypes.PyDLL",
        ),
        (
            lambda: native(ctypes.PYFUNCTYPE(ctypes.c_int32, ctypes.c_void_p)(lambda call: 0)),
            NativeFunctionError,
            "PYFUNCTYPE",
        ),
        (lambda: native(process, "abs", data="text"), ArgumentTypeError, "data: expected a NumPy"),
        (lambda: native(process, "abs", data=True), ArgumentTypeError, "data: expected a NumPy"),
        (lambda: gradir.custom_op(process.abs, first_like), ArgumentTypeError, "or a gradir.nat"),
    ]
    for run, kind, message in checks:
        with pytest.raises(kind, match=re.escape(message)):
            run()
    assert issubclass(NativeFunctionError, gradir.GradirError)


# Debug mode, and calls outside of compiled code.


def writing(run: Callable[[Any], None], debug: bool, **options: Any) -> Any:
    return gradir.custom_op(calls_back(run), first_like, debug=debug, name="writes", **options)


def test_mistakes_are_found_in_debug_mode() -> None:
    def forgets(call: Any) -> None:
        view(call.outputs[0])[1:] = 1

    def mutates(call: Any) -> None:
        view(call.outputs[0])[...] = 1
        view(call.inputs[0])[0] = 3

    def beyond(place: str, offset: int) -> Callable[[Any], None]:
        def run(call: Any) -> None:
            view(call.outputs[0])[...] = 1
            ctypes.c_double.from_address(getattr(call, place)[0].data + offset).value = 1

        return run

    wrong: list[tuple[Callable[[Any], None], str]] = [
        (forgets, r"outputs[0] is not written, in 1 of 3 elements; its request is"),
        (mutates, "must not write into inputs[0]"),
        (beyond("outputs", 24), "must not write beyond outputs[0]"),
        (beyond("outputs", -8), "must not write beyond outputs[0]"),
        (beyond("inputs", 24), "must not write beyond inputs[0]"),
    ]
    for function, message in wrong:
        op = writing(function, True)
        for run in (op, *runs(gradir.trace(op, X), "writes")):
            with pytest.raises(HostCallError, match=f"@writes: {re.escape(message)}"):
                run(X)
    np.testing.assert_array_equal(X, [0.5, -1.0, 2.0])


def test_compiled_code_does_not_touch_what_is_to_be_written() -> None:
    seen: list[Any] = []

    def run(call: Any) -> None:
        seen.append(view(call.outputs[0]).copy())
        view(call.outputs[0])[...] = 1

    module = gradir.trace(writing(run, False), X)
    out = np.full(3, 7.0)
    gradir.compile(module, "writes")(X, out=out)
    np.testing.assert_array_equal(seen.pop(), [7, 7, 7])
    gradir.compile(gradir.trace(writing(run, True), X), "writes")(X, out=out)
    assert np.isnan(seen.pop()).all()


# Threads and lifetimes.


def test_without_the_gil() -> None:
    check = ctypes.pythonapi.PyGILState_Check
    op = gradir.custom_op(of("has_gil", check), first_like)
    with pytest.raises(ArgumentTypeError):
        of("has_gil", len)
    assert gradir.jit(lambda x: op(x) + 1)(np.array(5.0)) == 1
    assert op(np.array(5.0)) == 0


def test_two_calls_run_at_once() -> None:
    count = np.zeros(1, np.int64)
    op = gradir.custom_op(of("meet", count), first_like)
    module = gradir.trace(op, X[0])
    run = gradir.compile(module, module.functions[0], 1)
    results: list[Any] = []
    others = [threading.Thread(target=lambda: results.append(run(X[0])[0])) for _ in range(2)]
    for thread in others:
        thread.start()
    for thread in others:
        thread.join()
    assert results == [X[0], X[0]] and count[0] == 2


def test_many_threads() -> None:
    op, positive = wave(pure=True), gradir.custom_op(of("positive"), first_like)
    f = gradir.jit(lambda x, w: positive(op(op(x, w), w)))
    x, wrong = np.linspace(0.1, 1, 50), np.full(50, -0.5)
    f(x, x)
    bad: list[Any] = []

    def work(number: int) -> None:
        w = x + number / 10
        wanted = np.sin(np.sin(x) * w) * w
        lowest = f"element 0 is {np.sin(np.sin(-0.5) * w[0]) * w[0]:g}"
        for _ in range(200):
            try:
                if not np.allclose(f(x, w), wanted, rtol=1e-14):
                    bad.append(number)
                f(wrong, w)
                bad.append(number)
            except HostCallError as error:
                if lowest not in str(error):
                    bad.append(error)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not bad


def test_code_keeps_what_it_calls() -> None:
    class Data(ctypes.Structure):
        _fields_ = [("number", ctypes.c_double)]

    def run(call: Any) -> None:
        number = ctypes.c_double.from_address(call.data).value
        view(call.outputs[0])[...] = view(call.inputs[0]) * number

    data = Data(3.0)
    pointer = CALLBACK(lambda address: run(CallRecord.from_address(address)) or 0)
    seen = weakref.ref(data), weakref.ref(pointer)
    with own_registry():
        op = gradir.custom_op(gradir.native(pointer, data=data), first_like)
        compiled = gradir.compile(gradir.trace(op, X), op.name)
    del op, data, pointer
    gc.collect()
    assert all(each() is not None for each in seen)
    np.testing.assert_array_equal(compiled(X)[0], X * 3)
    del compiled
    gc.collect()
    assert not any(each() is not None for each in seen)


def test_a_name_in_text_may_come_to_mean_another_function() -> None:
    def scaled(factor: float) -> Any:
        def run(call: Any) -> None:
            view(call.outputs[0])[...] = view(call.inputs[0]) * factor

        return gradir.custom_op(calls_back(run), first_like, name="scaled")

    module = gradir.parse(str(gradir.trace(scaled(2.0), X)))
    first = gradir.compile(module, "scaled")
    scaled(3.0)
    np.testing.assert_array_equal(first(X)[0], 2 * X)
    np.testing.assert_array_equal(gradir.compile(module, "scaled")(X)[0], 3 * X)
    gradir.custom_op(lambda i, o, r: np.copyto(o[0], 4 * i[0]), first_like, name="scaled")
    np.testing.assert_array_equal(first(X)[0], 2 * X)
    np.testing.assert_array_equal(gradir.compile(module, "scaled")(X)[0], 4 * X)


def test_copies_and_pickles() -> None:
    op = gradir.custom_op(of("wave"), first_like, of("wave_back"), name="pickled")
    assert copy.deepcopy(op) is op
    assert pickle.loads(pickle.dumps(op)) is op
    data, wanted = pickle.dumps(op), op(X, W)
    with own_registry():
        gradir.custom_op(of("slopes"), first_like, name="pickled")
        other = pickle.loads(data)
        assert other is not op
        np.testing.assert_array_equal(other(X, W), wanted)
    for bare in (of("wave", np.zeros(3)), gradir.native(ctypes.CDLL(str(library())), "wave")):
        with pytest.raises(ArgumentTypeError, match=r"gradir\.native of 'wave' does not pickle"):
            pickle.dumps(bare)


def test_calls_in_calls() -> None:
    """A native function may call gradir, also the program that it is called by."""
    depth: list[Any] = [0]

    def run(call: Any) -> None:
        x = view(call.inputs[0]).copy()
        view(call.outputs[0])[...] = compiled[0](x - 1)[0] + x if x > 0 else 0
        depth[0] += 1

    op = gradir.custom_op(calls_back(run), first_like)
    compiled = [gradir.compile(gradir.trace(op, np.array(3.0)), op.name)]
    assert compiled[0](np.array(10.0))[0] == 55 and depth[0] == 11
    compiled.clear()


def test_text_cannot_hand_other_types_to_a_derivative() -> None:
    """A function in C believes that the arrays of its op fit each other."""

    def infer(x: gradir.Spec, w: gradir.Spec) -> gradir.Spec:
        if x != w:
            raise ValueError("x and w differ")
        return x

    given: dict[str, Any] = {"needs": ("cotangents", "inputs")}
    gradir.custom_op(of("wave"), infer, of("wave_back"), name="wave", **given)
    text = """func.func @f(%ct: CT, %x: X, %w: W) -> (GX, GW) {
      %gx, %gw = grad.host_call %ct, %x, %w {
        callee = "wave.backward", of = (E, f64) -> f64} : (CT, X, W) -> (GX, GW)
      return %gx, %gw : GX, GW
    }"""
    fitting = {name: "tensor<3xf64>" for name in ("CT", "X", "W", "GX", "GW")}
    wide = "tensor<300xf64>"
    for changed, message in (
        (dict[str, str](), ""),
        (
            {"GX": wide},
            r"grads\[0\], float64\[300\], must have the type of inputs\[0\]",
        ),
        (
            {"X": wide, "GX": wide, "W": wide, "GW": wide},
            r"cotangents\[0\], float64\[3\], must have the type that infer ",
        ),
        ({"CT": wide}, r"cotangents\[0\], float64\[300\], must have the type that infer gives"),
        ({"W": wide}, r"grads\[1\], float64\[3\], must have the type of inputs\[1\]"),
        ({"W": wide, "GW": wide}, "infer: ValueError: x and w differ"),
        ({"E": "i64"}, r"operands, results and `of` must be those of a backward function"),
    ):
        types = {"E": "f64"} | fitting | changed
        names = re.compile(r"\b(CT|X|W|GX|GW|E)\b")
        module = gradir.parse(names.sub(lambda found, t=types: t[found[0]], text))
        arrays = [np.ones(300 if types[n] == wide else 3) for n in ("CT", "X", "W")]
        for run in (gradir.compile, lambda m, f, a=arrays: gradir.interpret(m, f, *a)):
            if message:
                with pytest.raises(gradir.GradirError, match=message):
                    run(module, "f")
            else:
                run(module, "f")
