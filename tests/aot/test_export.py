"""What cannot leave the process is refused at its op, and files are there whole or not at all."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from aot_harness import RUNNABLE, exported, random_arrays

import gradir
import gradir.numpy as gnp
from gradir.aot import files
from gradir.aot.loader import LibraryError, load_library
from gradir.errors import (
    ArgumentError,
    ArgumentTypeError,
    CompileError,
    FileError,
    PassError,
    TraceError,
)
from gradir.tools.gradir_compile import main as gradir_compile
from gradir.tools.gradir_run import main as gradir_run
from tests.support import native_ops

ADD = """func.func @f(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
  %z = array.add %x, %y : tensor<4xf32>
  func.return %z : tensor<4xf32>
}"""


def export(given: Any, folder: Path, *arguments: Any, **options: Any) -> Any:
    options.setdefault("targets", RUNNABLE[0])
    return gradir.export_library(given, folder / "libf.so", *arguments, **options)


def test_the_files(tmp_path: Path) -> None:
    made = export(gradir.parse(ADD), tmp_path, functions={"f": "add_4"})
    assert sorted(tmp_path.iterdir()) == sorted([made.library, made.header, made.description])
    assert (made.library.name, made.functions) == ("libf.so", ("add_4",))
    assert " * in[1]  y: float32[4]\n * out[0]  z: float32[4]" in made.header.read_text()
    [said] = json.loads(made.description.read_text())["functions"]
    assert said["in"] == [{"name": n, "dtype": "float32", "shape": [4]} for n in "xy"]
    assert said["levels"][0]["name"] == RUNNABLE[0]
    assert said["workspace_bytes"] == load_library(made.library).add_4.workspace_bytes


# Programs.


def test_calls_of_python_are_refused_at_the_op(tmp_path: Path) -> None:
    def forward(inputs: Any, outputs: Any, req: Any) -> None:
        outputs[0][:] = 2 * inputs[0]

    double = gradir.custom_op(forward, lambda x: x)

    def f(x: Any) -> Any:
        return double(x)

    with pytest.raises(CompileError, match=r"py:\d+:\d+: error: .* @forward: a library cannot c"):
        export(gradir.jit(f), tmp_path, np.ones(3))
    gradir.register_host_function("aot_double", lambda x: 2 * x)
    text = (
        "func.func @f(%x: tensor<2xf64>) -> tensor<2xf64> {\n"
        '  %0 = grad.host_call %x {callee = "aot_double"} : (tensor<2xf64>) -> tensor<2xf64>\n'
        "  func.return %0 : tensor<2xf64>\n}"
    )
    place = r"some.mlir:2:3: error: grad.host_call @aot_double: a library cannot call Python; wri"
    with pytest.raises(CompileError, match=place):
        export(gradir.parse(text, "some.mlir"), tmp_path)
    assert [*tmp_path.iterdir()] == []


def test_dynamic_extents_are_refused_at_the_argument(tmp_path: Path) -> None:
    text = "func.func @f(%x: tensor<?xf32>) -> tensor<?xf32> {\n  func.return %x : tensor<?xf32>\n}"
    with pytest.raises(PassError, match=r"some.mlir:1:\d+: error: @f: a library needs static shap"):
        export(gradir.parse(text, "some.mlir"), tmp_path)


def test_names_of_extents_get_their_sizes_from_arguments(tmp_path: Path) -> None:
    f = gradir.jit(lambda x: x * gnp.sum(x), shapes=("n",))
    made = export(f, tmp_path, np.ones(5), functions="f")
    x = np.arange(5.0)
    assert load_library(made.library).f(x)[0].tolist() == f(x).tolist()


def test_tapes_are_no_arrays(tmp_path: Path) -> None:
    text = """
    func.func @f(%x: tensor<f64>, %n: index) -> tensor<f64> {
      %zero = arith.constant 0 : index
      %one = arith.constant 1 : index
      %y = scf.for %i = %zero to %n step %one iter_args(%c = %x) -> (tensor<f64>) {
        %s = array.sin %c : tensor<f64>
        scf.yield %s : tensor<f64>
      }
      func.return %y : tensor<f64>
    }"""
    module = gradir.parse(text).gradient("f")
    with pytest.raises(CompileError, match=r"@f_fwd: arguments and results of a library must be"):
        export(module, tmp_path, functions="f_fwd")


def test_values_that_python_asks_for(tmp_path: Path) -> None:
    def f(x: Any) -> Any:
        return x * x if x > 0 else -x

    gradient = gradir.grad(f)
    assert gradient(2.0) == 4
    with pytest.raises(TraceError, match="asks for values of its arguments while it is traced"):
        export(gradient, tmp_path, 2.0)


def test_operators_of_another_library(tmp_path: Path) -> None:
    """The loader finds the library with the operator beside this one."""
    source = tmp_path / "operator.c"
    source.write_text("""
        #include "gradir_op.h"
        int32_t aot_square(const gradir_call *call) {
            const gradir_array *x = &call->inputs[0], *y = &call->outputs[0];
            for (int64_t k = 0; k < x->size; k++) {
                if (GRADIR_DATA(double, *x)[k] < 0)
                    return gradir_fail(call, "%d is negative", (int)GRADIR_DATA(double, *x)[k]);
                double v = GRADIR_DATA(double, *x)[k];
                GRADIR_DATA(double, *y)[k] = v * v;
            }
            return x->rank == 2 && x->shape[1] == 3 ? 0 : 7;
        }""")
    built = native_ops.build(source, tmp_path / "liboperator.so")
    square = gradir.custom_op(gradir.native(built, "aot_square"), lambda x: x)
    made = export(gradir.jit(lambda x: square(x) + 1), tmp_path, np.ones((2, 3)), functions="f")
    f = load_library(made.library).f
    x = np.arange(6.0).reshape(2, 3)
    assert f(x)[0].tolist() == (x * x + 1).tolist()
    with pytest.raises(
        LibraryError, match=r"test_export.py:\d+:\d+: .*: -3 is negative \(1\)"
    ) as e:
        f(x - 3)
    assert e.value.code == 14
    kept = gradir.custom_op(gradir.native(built, "aot_square", data=x), lambda x: x)
    with pytest.raises(CompileError, match="finds a native operator by its symbol, got an addr"):
        export(gradir.jit(lambda x: kept(x)), tmp_path, np.ones((2, 3)), functions="f")


# Options.


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"functions": "g"}, "no function @g; functions: @f"),
        ({"functions": {"f": "for"}}, "a name that C can have, got 'for'; say another one: --func"),
        ({"functions": {"f": "int32_t"}}, "a name that C can have, got 'int32_t'"),
        ({"functions": {"f": "Gradir_f"}}, "a name that C can have, got 'Gradir_f'"),
        ({"functions": {"f": "a-b"}}, "a name that C can have, got 'a-b'"),
        ({"functions": {"f": "memcpy"}}, "'memcpy' is a function of the C library, which programs"),
        ({"functions": []}, "expected one name at least"),
        ({"targets": "host"}, "target: expected levels out of x86-64, .*, got 'host'"),
        ({"targets": ["x86-64", "x86-64"]}, "expected each level once"),
        ({"targets": ["x86-64", "aarch64"]}, "one kind of processor, got x86-64, aarch64"),
        ({"targets": "x86_64-apple-darwin"}, "a Mach-O file needs an external linker"),
        ({"targets": "x86_64-w64-mingw32"}, "a PE file needs an external linker"),
        ({"threads": 0}, "threads: a number from 1 to 1024 expected, got 0"),
        ({"kind": "dll"}, "kind: one of shared, object, static expected, got 'dll'"),
    ],
)
def test_wrong_options(options: dict[str, Any], text: str, tmp_path: Path) -> None:
    with pytest.raises(ArgumentError, match=text):
        export(gradir.parse(ADD), tmp_path, **options)
    assert [*tmp_path.iterdir()] == []


def test_wrong_arguments(tmp_path: Path) -> None:
    with pytest.raises(ArgumentTypeError, match=r"expected a gradir.Module or a Python function"):
        export(3, tmp_path)
    with pytest.raises(ArgumentTypeError, match="arguments are for Python functions"):
        export(gradir.parse(ADD), tmp_path, np.ones(4))
    with pytest.raises(ArgumentError, match=r"expected the name of a library, such as f.so"):
        gradir.export_library(gradir.parse(ADD), tmp_path / "f.h")
    two = gradir.parse(ADD + ADD.replace("@f", "@f_info"))
    with pytest.raises(ArgumentError, match="the symbols of 'f_info' are another function's, too"):
        export(two, tmp_path, functions=["f", "f_info"])
    with pytest.raises(ArgumentError, match="the symbols of 'G' are another function's, too"):
        export(two, tmp_path, functions={"f": "g", "f_info": "G"})
    with pytest.raises(ArgumentError, match="say which of the module's to export: @f, @f_info"):
        export(two, tmp_path)


# Files.


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(FileError, match=r"cannot write '.*libf.so': No such file or directory"):
        export(gradir.parse(ADD), tmp_path / "none")


def test_nothing_is_written_half(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A disk that is full after the library: the files before are as they were."""
    export(gradir.parse(ADD), tmp_path)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    write = files._write_beside

    def full(path: Path, data: bytes) -> str:
        if path.suffix == ".json":
            raise FileError("cannot write: No space left on device")
        return write(path, data)

    monkeypatch.setattr(files, "_write_beside", full)
    with pytest.raises(FileError, match="No space left"):
        export(gradir.parse(ADD.replace("array.add", "array.multiply")), tmp_path)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_linkers_that_fail(tmp_path: Path) -> None:
    with pytest.raises(CompileError, match="linker: no-such-linker cannot be run: No such file"):
        export(gradir.parse(ADD), tmp_path, linker="no-such-linker")
    with pytest.raises(CompileError, match="linker: false failed: exit code 1"):
        export(gradir.parse(ADD), tmp_path, linker="false")
    assert [*tmp_path.iterdir()] == []


# Command lines.


def test_gradir_compile(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source, made = tmp_path / "f.mlir", tmp_path / "libf.so"
    source.write_text(ADD)
    given = [str(source), "-p", "gradir-gradient{function=f mode=vjp}", "--function", "f_vjp=g"]
    assert gradir_compile([*given, "-o", str(made), "--target", RUNNABLE[0]]) == 0
    assert load_library(made).functions == ("g",)
    assert gradir_run([str(made), "--random-inputs", "0"]) == 0
    printed = capsys.readouterr().out
    assert gradir_run([*given[:3], "--function", "f_vjp", "--random-inputs", "0"]) == 0
    assert capsys.readouterr().out == printed
    for kind, name in (("-c", "f.o"), ("--static", "libf.a")):
        assert gradir_compile([*given, kind, "-o", str(tmp_path / name)]) == 0
        assert (tmp_path / name).read_bytes()[:4] in (b"\x7fELF", b"!<ar")


def test_errors_of_gradir_compile(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source, made = tmp_path / "f.mlir", str(tmp_path / "libf.so")
    source.write_text(ADD.replace("%x, %y", "%x, %w"))
    assert gradir_compile([str(source), "-o", made]) == 1
    assert f"{source}:2:" in capsys.readouterr().err
    source.write_text(ADD)
    assert gradir_compile([str(source), "--function", "f", "--function", "f", "-o", made]) == 1
    assert "gradir-compile: error: --function: f is named twice" in capsys.readouterr().err
    assert gradir_compile([str(source), "-o", made, "--threads", "none"]) == 1
    assert "expected an integer from 1 to 1024" in capsys.readouterr().err
    assert gradir_compile([str(tmp_path / "no.mlir"), "-o", made]) == 1
    assert "cannot read" in capsys.readouterr().err
    assert gradir_run([str(tmp_path / "no.so"), "--random-inputs", "0"]) == 1
    assert "cannot read" in capsys.readouterr().err


# Calls from Python.


def test_arguments_that_do_not_fit(tmp_path: Path) -> None:
    f = exported(gradir.parse(ADD), tmp_path).f
    x, y = random_arrays(f)
    for arrays, text in (
        ((x,), r"f: expected 2 arguments \(x, y\), got 1"),
        (
            (x.astype(np.float64), y),
            r"f: argument 0 \(x\): expected float32 array of shape \(4,\)",
        ),
        ((x, y[:3]), r"f: argument 1 \(y\): expected .*, got float32 of shape \(3,\)"),
    ):
        with pytest.raises(LibraryError, match=text):
            f(*arrays)
    out = np.empty(8, np.float32)
    for wrong, text in (
        (
            [out],
            r"out\[0\] \(z\): expected float32 array of shape \(4,\), got float32 of s",
        ),
        ([out[::2]], r"out\[0\] \(z\): expected a C-contiguous, aligned and writable array"),
        ([[1.0] * 4], r"out\[0\] \(z\): expected a NumPy float32 array of shape \(4,\), got list"),
        ([None, None], "out: expected 1 entries"),
        ([x.view()[:0]], "expected float32 array of shape"),
    ):
        with pytest.raises(LibraryError, match=text):
            f(x, y, out=wrong)
    (result,) = f(x, y, out=[out[4:]])
    assert result.base is out and result.tolist() == (x + y).tolist()


def test_numbers_of_python(tmp_path: Path) -> None:
    """They are not cut to the argument's type."""
    made = export(gradir.jit(lambda x, k: x * 2 + k), tmp_path, np.float32(1), np.int8(1),
                  functions="f")  # fmt: skip
    f = load_library(made.library).f
    assert f(1.5, 3)[0] == f(np.float32(1.5), np.int8(3))[0] == 6
    for x, k, text in (
        (1.5, 1.5, "argument 1 .*: expected int8 array of shape .*, got float64"),
        (1.5, 300, "argument 1 .*: 300 does not fit int8"),
        ("a", 1, r"argument 0 .*: expected float32 array of shape \(\)"),
        (np.float64(1.5), 1, "argument 0 .*: expected float32 array of shape .*, got float64"),
        ([1.5, 2], 1, r"argument 0 .*, got float32 of shape \(2,\)"),
    ):
        with pytest.raises(LibraryError, match=text):
            f(x, k)
