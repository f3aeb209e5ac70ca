"""What native functions of custom ops are handed: the header, arrays, requests, data.

Most functions are Python callbacks behind C's interface: these tests need no C compiler.
"""

from __future__ import annotations

import ctypes
import gc
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import gradir
import gradir.numpy as gnp
from gradir.codegen.text.target import host
from gradir.errors import HostCallError
from gradir.runtime import native_blocks
from gradir.runtime.jit import LoadedCode
from gradir.runtime.llvm import compile_object
from gradir.runtime.native_blocks import ArrayRecord, CallRecord
from tests.frontends.test_custom_op import runs
from tests.support.custom_ops import first_like, own_registry
from tests.support.native_ops import (
    FLAGS,
    SOURCE,
    build,
    calls_back,
    compiler,
    kinds,
    view,
)

X, W = np.array([0.5, -1.0, 2.0]), np.array([1.5, 0.25, -0.75])
HEADER = Path(gradir.include_dir()) / "gradir_op.h"


@pytest.fixture(autouse=True)
def registry() -> Iterator[None]:
    with own_registry():
        yield


# The header.


def test_the_header_is_what_python_fills() -> None:
    # with the file that it includes
    text = HEADER.read_text() + HEADER.with_name("gradir_array.h").read_text()
    for structure in (ArrayRecord, CallRecord):
        name = {"ArrayRecord": "gradir_array", "CallRecord": "gradir_call"}[structure.__name__]
        found = re.search(rf"typedef struct {name} {{(.*?)}} {name};", text, re.DOTALL)
        assert found is not None
        bare = re.sub(r"/\*.*?\*/", "", found[1], flags=re.DOTALL)
        lines = [line.strip() for line in bare.split(";") if line.strip()]
        sizes = {"int32_t": 4, "int64_t": 8}
        fields = [re.fullmatch(r"(?:const )?(\w+) (\*?)(\w+)", line) for line in lines]
        declared = [(f[3], 8 if f[2] else sizes[f[1]]) for f in fields if f is not None]
        fields_of: Any = structure._fields_
        given = [(name, ctypes.sizeof(type_)) for name, type_ in fields_of]
        assert declared == given and len(fields) == len(declared)
    constants = dict(re.findall(r"(GRADIR_[A-Z0-9]+) = (\d+)", text))
    dtypes = {f"GRADIR_{name.upper()}": str(k) for k, name in enumerate(native_blocks.DTYPES)}
    roles = {f"GRADIR_{name.upper()}": str(k) for k, name in enumerate(native_blocks.ROLES)}
    requests = {"GRADIR_NULL": "0", "GRADIR_WRITE": "1"}
    assert constants == dtypes | roles | requests
    assert f"#define GRADIR_OP_ABI {native_blocks.ABI}\n" in text


@pytest.mark.parametrize(
    ("name", "standard"), [("cc", "-std=c11"), ("cc", "-std=c17"), ("c++", "-std=c++11")]
)
def test_the_header_compiles(name: str, standard: str, tmp_path: Path) -> None:
    made = tmp_path / "made.so"
    language = ("-xc++",) if name == "c++" else ("-xc",)
    command = [compiler(name), standard, *language, "-shared", "-fPIC", *FLAGS]
    subprocess.run([*command, f"-I{gradir.include_dir()}", SOURCE, "-o", made, "-lm"], check=True)
    op = gradir.custom_op(gradir.native(made, "wave"), first_like)
    np.testing.assert_allclose(gradir.jit(lambda x: op(x, W))(X), np.sin(X) * W)


def test_the_example_in_the_header(tmp_path: Path) -> None:
    comment = HEADER.read_text().partition("*/")[0]
    code = comment[comment.index("#include") : comment.index("A function returns")]
    source = tmp_path / "square.c"
    source.write_text(re.sub(r"(?m)^ \*", "", code))
    op = gradir.custom_op(
        gradir.native(build(source, tmp_path / "square.so"), "square"), first_like
    )
    for run in runs(gradir.trace(op, X)):
        np.testing.assert_array_equal(run(X)[0], X * X)
    with pytest.raises(HostCallError, match=r"host_call @square: x must be float64, got dtype 8$"):
        gradir.jit(lambda x: op(x))(np.ones(2, np.float32))


# What a function is handed.


def test_arrays_of_every_type() -> None:
    seen: list[Any] = []

    def run(call: Any) -> None:
        assert call.abi == native_blocks.ABI and call.role == 0 and call.data is None
        assert (call.n_inputs, call.n_outputs) == (13, 13)
        seen.append((kinds(call.inputs, 13), kinds(call.outputs, 13)))
        assert not any((call.cotangents, call.grads, call.tangents, call.out_tangents))
        for k in range(13):
            source, target = call.inputs[k], call.outputs[k]
            assert (source.request, target.request) == (0, 1)
            assert source.size == view(source).size
            view(target)[...] = view(source)

    names = "float64 float32 float16 int64 int32 int16 int8".split()
    names += "uint64 uint32 uint16 uint8 bool".split()
    arrays = [np.arange(4).reshape(2, 2).astype(name) for name in names]
    arrays = [*arrays[:4], arrays[4][0, 1], arrays[5][:0], *arrays[6:]]
    arrays.append(np.arange(3).astype(ml_dtypes.bfloat16))
    op = gradir.custom_op(calls_back(run), lambda *specs: specs)
    wanted = [f"{a.dtype}{list(a.shape)}" for a in map(np.asarray, arrays)]
    for each in (op, *runs(gradir.trace(op, *arrays))):
        seen.clear()
        for got, given in zip(each(*arrays), arrays, strict=True):
            np.testing.assert_array_equal(got, given)
        assert seen == [(wanted, wanted)]


def recording(seen: list[Any], needs: tuple[str, ...] = ("cotangents", "inputs")) -> Any:
    """Two results of x, n, w, with derivatives; notes what its functions are handed."""

    def note(call: Any, names: list[str]) -> None:
        count = {name: 3 if name in ("inputs", "grads", "tangents") else 2 for name in names}
        seen.append({name: kinds(getattr(call, name), count[name]) for name in names})

    def run(call: Any) -> None:
        note(call, ["outputs"])
        x, n, w = (view(call.inputs[k]) for k in range(3))
        for k, value in enumerate((x * n, w * x)):
            if call.outputs[k].request:
                view(call.outputs[k])[...] = value

    def back(call: Any) -> None:
        assert (call.role, call.n_inputs, call.n_outputs) == (1, 3, 2)
        note(call, ["cotangents", "inputs", "outputs", "grads"])

    def moved(call: Any) -> None:
        assert (call.role, call.n_inputs, call.n_outputs) == (2, 3, 2)
        note(call, ["tangents", "inputs", "outputs", "out_tangents"])

    jvp = calls_back(moved)
    return gradir.custom_op(
        calls_back(run), lambda x, n, w: (x, w), calls_back(back), needs=needs, jvp=jvp
    )


def test_what_nobody_reads_has_no_data() -> None:
    """It has a type, the request "null", and no memory."""
    seen: list[Any] = []
    op, n = recording(seen), np.arange(3)
    both, f, i = ["float64[3]", "-float64[3]"], "float64[3]", "int64[3]"
    for run in runs(gradir.trace(lambda x, w: op(x, n, w)[0], X, W), "main"):
        seen.clear()
        np.testing.assert_array_equal(run(X, W)[0], X * n)
        assert seen == [{"outputs": both}]
    seen.clear()
    gradir.value_and_grad(lambda x, w: gnp.sum(op(x, n, w)[1]))(X, W)
    assert seen == [
        {"outputs": both[::-1]},
        {
            "cotangents": [f, f],
            "inputs": [f, i, f],
            "outputs": [None, None],
            "grads": [f, None, f"-{f}"],
        },
    ]
    seen.clear()
    gradir.jvp(lambda x: op(x, n, W)[1], (X,), (W,))
    wanted = {"tangents": [f, None, f], "inputs": [f, i, f], "outputs": [f, f]}
    assert seen[-1] == {**wanted, "out_tangents": [f"-{f}", f]}


def test_what_is_not_needed_is_not_there() -> None:
    seen: list[Any] = []
    op, n = recording(seen, ("out_grad1", "in2", "out0")), np.arange(3)
    gradir.grad(lambda x, w: gnp.sum(gnp.stack(op(x, n, w))), argnums=(0, 1))(X, W)
    f = "float64[3]"
    assert seen[-1] == {
        "cotangents": [None, f], "inputs": [None, None, f], "outputs": [f, None],
        "grads": [f, None, f],
    }  # fmt: skip


def require_apart(call: Any, reads: list[str], writes: str) -> None:
    """That no array to write shares memory with another; `view` requires alignment."""
    *read, written = (
        [view(array) for array in getattr(call, name)[:3] if array.data]
        for name in (*reads, writes)
    )
    others = [array for group in read for array in group]
    for k, array in enumerate(written):
        assert not any(np.shares_memory(array, other) for other in others + written[:k])


def test_memory_is_aligned_and_apart() -> None:
    """In loops and their gradients, whose tapes have records of arrays of several types."""
    seen: list[int] = []

    def run(call: Any) -> None:
        require_apart(call, ["inputs"], "outputs")
        x, flag, half = (view(call.inputs[k]) for k in range(3))
        for k, value in enumerate((np.sin(x) + flag, ~flag, half + half)):
            if call.outputs[k].request:
                view(call.outputs[k])[...] = value
        seen.append(0)

    def back(call: Any) -> None:
        require_apart(call, ["cotangents", "inputs", "outputs"], "grads")
        for k, factor in ((0, np.cos(view(call.inputs[0]))), (2, np.float16(2))):
            if call.grads[k].data:
                view(call.grads[k])[...] = view(call.cotangents[k]) * factor
        seen.append(1)

    op = gradir.custom_op(calls_back(run), lambda *specs: specs, calls_back(back))

    def loss(x: Any, flag: Any, half: Any) -> Any:
        def body(state: Any) -> Any:
            x, flag, half, i = state
            x, flag, half = op(x, flag, half)
            return gnp.tanh(x), flag, half * 0.25, i + 1

        x, flag, half, _ = gradir.while_loop(lambda s: s[3] < 5, body, (x, flag, half, 0))
        return gnp.sum(x) + gnp.sum(half.astype("float64"))

    x, flag = np.linspace(0.1, 1, 5), np.arange(5) % 2 == 0
    half = np.ones(5, np.float16)
    x_ct, half_ct = gradir.grad(loss, argnums=(0, 2))(x, flag, half)
    wanted, state = np.ones(5), x
    for k in range(5):
        y = np.sin(state) + (flag if k % 2 == 0 else ~flag)
        wanted *= np.cos(state) * (1 - np.tanh(y) ** 2)
        state = np.tanh(y)
    np.testing.assert_allclose(x_ct, wanted)
    np.testing.assert_array_equal(half_ct, np.full(5, 0.5**5))
    assert len(seen) == 10


def test_no_arrays() -> None:
    seen: list[Any] = []
    op = gradir.custom_op(calls_back(lambda call: seen.append(call.n_inputs)), lambda: ())
    for run in runs(gradir.trace(lambda x: (op(), x)[1], X), "main"):
        np.testing.assert_array_equal(run(X)[0], X)
    assert seen == [0, 0]


@pytest.mark.parametrize("given", ["array", "structure", "pointer", "address", "none"])
def test_data(given: str) -> None:
    numbers = np.array([2.5, 1.5])
    kinds_of_data: dict[str, tuple[Any, int | None]] = {
        "array": (numbers, numbers.ctypes.data),
        "structure": ((made := ArrayRecord()), ctypes.addressof(made)),
        "pointer": (ctypes.pointer(made), ctypes.addressof(made)),
        "address": (numbers.ctypes.data, numbers.ctypes.data),
        "none": (None, None),
    }
    data, wanted = kinds_of_data[given]
    seen: list[Any] = []
    function = calls_back(lambda call: seen.append(call.data), data)
    op = gradir.custom_op(function, lambda: ())
    for run in (op, *runs(gradir.trace(lambda x: (op(), x)[1], X), "main")):
        run() if run is op else run(X)
    assert seen == [wanted] * 3


LLVM = """
%array = type {ptr, ptr, i64, i32, i32, i32, i32}
%call = type {i32, i32, i32, i32, ptr, ptr, ptr, ptr, ptr, ptr, ptr, ptr, i64}
define i32 @add_data(ptr %call) {
  %inputs.place = getelementptr %call, ptr %call, i64 0, i32 4
  %inputs = load ptr, ptr %inputs.place
  %from = load ptr, ptr %inputs
  %outputs.place = getelementptr %call, ptr %call, i64 0, i32 5
  %outputs = load ptr, ptr %outputs.place
  %to = load ptr, ptr %outputs
  %data.place = getelementptr %call, ptr %call, i64 0, i32 10
  %data = load ptr, ptr %data.place
  %number = load double, ptr %data
  %x = load double, ptr %from
  %y = fadd double %x, %number
  store double %y, ptr %to
  ret i32 0
}"""


def test_an_object_with_an_address() -> None:
    """As numba.cfunc makes it; here it is code of LLVM's, without Python in it."""
    code = LoadedCode([compile_object(LLVM, host()).data], ("add_data",), {})
    op = gradir.custom_op(gradir.native(code, data=np.array(2.5)), lambda x: x)
    assert op.name == "LoadedCode"
    chain = gradir.jit(lambda x: op(op(op(x))) * 2)
    del code
    gc.collect()
    assert chain(np.array(1.0)) == 2 * (1 + 3 * 2.5)
