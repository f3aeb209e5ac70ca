"""gradir-opt in MLIR's spelling, its native targets, names as printed, and python -m gradir."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import gradir
from gradir.tools import gradir_opt

Capture = pytest.CaptureFixture[str]

LAYER = """\
func.func @layer(%x: tensor<4x3xf64>, %w: tensor<3x2xf64>) -> tensor<4x2xf64> {
  %z = array.matmul %x, %w : tensor<4x3xf64>, tensor<3x2xf64> -> tensor<4x2xf64>
  %y = array.tanh %z : tensor<4x2xf64>
  func.return %y : tensor<4x2xf64>
}
"""
VJP = "gradir-gradient{function=layer wrt=w mode=vjp}"


@pytest.fixture
def layer(tmp_path: Path) -> str:
    path = tmp_path / "layer.mlir"
    path.write_text(LAYER)
    return str(path)


def run(capsys: Capture, *arguments: str) -> tuple[int, str, str]:
    code = gradir_opt.main(arguments)
    return code, *capsys.readouterr()


def test_arguments_are_named_as_printed(layer: str, capsys: Capture) -> None:
    code, output, _ = run(capsys, layer, "-p", VJP)
    assert code == 0 and output == run(capsys, layer, "-p", VJP.replace("wrt=w", "wrt=1"))[1]
    code, _, errors = run(capsys, layer, "-p", VJP.replace("wrt=w", "wrt=q"))
    assert code == 1 and "no value of @layer is named 'q'; names: %x, %w (set by" in errors
    module = gradir.parse(LAYER).gradient("layer", wrt="w", mode="vjp", req={"w": "add"})
    assert "layer_vjp" in module.functions


def test_native_targets(layer: str, capsys: Capture) -> None:
    code, output, _ = run(capsys, layer, "-t", "llvm")
    assert code == 0 and "define" in output and "@gradir.tanh" in output
    code, output, _ = run(capsys, layer, "-t", "asm")
    assert code == 0 and "\t.text" in output
    code, output, errors = run(capsys, layer, "-p", VJP, "-t", "llvm")
    assert code == 1 and "-t 'llvm{function=NAME}'; functions: @layer, @layer_vjp" in errors
    assert run(capsys, layer, "-p", VJP, "-t", "llvm{function=layer_vjp}")[0] == 0
    code, _, errors = run(capsys, layer, "-t", "llvm{function=g}")
    assert code == 1 and "no function @g; functions: @layer" in errors


def test_llvm_of_its_dialect_is_xdsl_s(tmp_path: Path, capsys: Capture) -> None:
    path = tmp_path / "f.mlir"
    path.write_text(
        "llvm.func @f(%x: i64) -> i64 {\n  %y = llvm.add %x, %x : i64\n  llvm.return %y : i64\n}"
    )
    code, output, errors = run(capsys, str(path), "-t", "llvm")
    assert (code, errors) == (0, "") and "define" in output and "add i64" in output


def test_pipelines_in_mlir_s_spelling(layer: str, capsys: Capture) -> None:
    pipeline = f"builtin.module({VJP},cse)"
    code, output, errors = run(
        capsys, layer, f"--pass-pipeline={pipeline}", "--mlir-print-ir-after-all"
    )
    assert code == 0 and output == run(capsys, layer, "-p", f"{VJP},cse")[1]
    heads = [line for line in errors.splitlines() if line.startswith("//")]
    assert heads == [
        "// -----// IR Dump After gradir-gradient //----- //",
        "// -----// IR Dump After cse //----- //",
    ]
    code, _, errors = run(capsys, layer, "--pass-pipeline=builtin.module(func.func(cse))")
    assert code == 1 and "passes are for whole modules" in errors


def test_python_m_gradir(layer: str) -> None:
    def call(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "gradir", *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    assert call("--version").stdout == f"gradir {gradir.__version__}\n"
    assert call("run", "--version").stdout == f"gradir-run {gradir.__version__}\n"
    assert call("compile", "--version").stdout == f"gradir-compile {gradir.__version__}\n"
    found = call("opt", layer, "-p", VJP)
    assert found.returncode == 0 and "@layer_vjp" in found.stdout
    assert call("opt", layer, "-p", "nothing").returncode == 1
    assert "usage: gradir COMMAND" in call().stdout
    wrong = call("optt")
    assert wrong.returncode == 1 and "no command optt" in wrong.stderr
