"""gradir-explore's command line: the page that it writes, and what it refuses."""

from __future__ import annotations

from pathlib import Path

import pytest
from explore.programs import LAYER, read_page

from gradir.tools.gradir_explore import main

GRADIENT = "gradir-gradient{function=layer mode=grad}"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("layer.mlir").write_text(LAYER)
    return tmp_path


def test_a_page_beside(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["layer.mlir"]) == 0
    assert capsys.readouterr().out == "layer.html\n"
    _, facts = read_page(Path("layer.html").read_text("utf-8"))
    assert facts["function"] == "layer" and facts["profile"] is None
    assert facts["files"][0]["name"] == "layer.mlir"


def test_passes_and_inputs(capsys: pytest.CaptureFixture[str]) -> None:
    command = ["layer.mlir", "-p", f"{GRADIENT},gradir-simplify", "--function", "layer_grad"]
    assert main([*command, "--random-inputs", "0", "--threads", "1", "-o", "out.html"]) == 0
    assert capsys.readouterr().out == "out.html\n"
    _, facts = read_page(Path("out.html").read_text("utf-8"))
    names = [name for name, _, _ in facts["stages"]]
    assert names[:4] == ["program", "gradir-gradient", "gradir-simplify", "the function alone"]
    assert facts["profile"]["threads"] == 1
    assert facts["memory"]["limited"]


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (["no.mlir"], "gradir-explore: error: cannot read 'no.mlir': No such file or directory"),
        (["bad.mlir"], "bad.mlir:3:3: error: array.tanh: "),
        (["layer.mlir", "--function", "g"], "no function @g; functions: @layer"),
        (["layer.mlir", "-p", "no-such-pass"], "no-such-pass"),
        (["layer.mlir", "-o", "no/page.html"], "cannot write 'no/page.html': "),
        (["layer.mlir", "--random-inputs", "x"], "expected an integer"),
        (["open.mlir"], "f: expected 1 arguments (%x), got 0"),
        (["memory.mlir", "--random-inputs", "0"], "memory.mlir:2:3: error: memref.alloc: "),
        ([], "the following arguments are required: FILE"),
    ],
)
def test_refusals(command: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    """One located error and exit code 1, and no page."""
    Path("bad.mlir").write_text(LAYER.replace("array.tanh %z", "array.tanh %z {axis = 1}"))
    Path("open.mlir").write_text(
        "func.func @f(%x: tensor<?xf64>) -> tensor<?xf64> {\n  func.return %x : tensor<?xf64>\n}\n"
    )
    Path("memory.mlir").write_text(
        "func.func @f(%x: tensor<f64>) -> tensor<f64> {\n"
        "  %m = memref.alloc() : memref<4xf64>\n  func.return %x : tensor<f64>\n}\n"
    )
    assert main(command) == 1
    printed = capsys.readouterr()
    assert said in printed.err and printed.out == "", printed.err
    assert "Traceback" not in printed.err and not list(Path().glob("*.html"))


def test_standard_input_and_help(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    import io
    import sys

    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(LAYER.encode())))
    assert main(["-"]) == 0
    assert capsys.readouterr().out == "page.html\n"
    assert main(["--help"]) == 0 and main(["--version"]) == 0
