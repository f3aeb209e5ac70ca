"""Misspelled options, choices and commands are told the nearest, by every command line."""

from __future__ import annotations

import subprocess
import sys
from importlib import import_module

import pytest

from gradir.errors import ArgumentError
from gradir.nearest import close_names, meant
from gradir.registry import parse_passes

Capture = pytest.CaptureFixture[str]


@pytest.mark.parametrize(
    ("tool", "arguments", "message"),
    [
        ("opt", ["--pass-pipline", "x"], "did you mean --pass-pipeline?"),
        ("opt", ["-t", "llvmm"], "did you mean llvm?"),
        ("run", ["f.mlir", "--ploot=a.svg"], "did you mean --plot?"),
        ("run", ["f.mlir", "--random-input", "0", "-q"], "unrecognized arguments: -q\n"),
        ("compile", ["f.mlir", "-o", "f.so", "--funtion", "f"], "did you mean --function?"),
        ("compile", ["f.mlir", "-o", "f.so", "--mpi", "mpch"], "did you mean mpich?"),
        ("explore", ["f.mlir", "--oput", "x"], "did you mean --output?"),
        ("explore", ["f.mlir", "--zzz"], "unrecognized arguments: --zzz\n"),
    ],
)
def test_unknown_options(tool: str, arguments: list[str], message: str, capsys: Capture) -> None:
    assert import_module(f"gradir.tools.gradir_{tool}").main(arguments) == 1
    assert message in capsys.readouterr().err


def test_unknown_commands() -> None:
    found = subprocess.run(
        [sys.executable, "-m", "gradir", "docter"], capture_output=True, text=True, check=False
    )
    assert found.returncode == 1
    assert "no command docter; did you mean doctor?\n" in found.stderr


def test_capitals_are_as_small_letters() -> None:
    assert close_names("ReLU", ["elu", "relu", "selu"]) == ["relu"]
    assert close_names("LAYER", ["Layer", "layer"]) == ["layer"]
    assert meant("Linear", ["linear", "bilinear"]) == "did you mean linear?"
    assert meant("kernal_size", ["x", "kernel"]) == "did you mean kernel?"


@pytest.mark.parametrize(
    ("pipeline", "message"),
    [
        ("gradir-gradient{function=f moed=grad}", "no option 'moed'; did you mean mode? its opt"),
        ("gradir-gradient{function=f mode=up}", "must be one of split, vjp, grad, jvp, got up"),
        ("builtin.module(func.func(cse))", "passes are for whole modules, without parentheses"),
    ],
)
def test_wrong_pipelines_are_told_in_words(pipeline: str, message: str) -> None:
    with pytest.raises(ArgumentError) as caught:
        parse_passes(pipeline)
    assert message in str(caught.value)
