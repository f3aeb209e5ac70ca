"""mlir-opt's flags on gradir-opt."""

from __future__ import annotations

from pathlib import Path

import pytest

from gradir.tools.gradir_opt import main
from gradir.tools.mlir_options import MEANINGLESS, SAME

Capture = pytest.CaptureFixture[str]

PROGRAM = """
func.func @f(%x: tensor<3xf64>) -> tensor<3xf64> {
  %w = arith.constant dense<[1.0, 2.0, 3.0]> : tensor<3xf64>
  %c = arith.constant dense<2.0> : tensor<3xf64>
  %a = arith.mulf %x, %w : tensor<3xf64>
  %b = arith.mulf %x, %w : tensor<3xf64>
  %y = arith.addf %a, %b : tensor<3xf64>
  func.return %y : tensor<3xf64>
}
"""


@pytest.fixture
def program(tmp_path: Path) -> str:
    path = tmp_path / "program.mlir"
    path.write_text(PROGRAM)
    return str(path)


def run(capsys: Capture, *arguments: str) -> tuple[int, str, str]:
    code = main(arguments)
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def test_passes_are_flags(program: str, capsys: Capture) -> None:
    gradient = "gradir-gradient{function=f mode=vjp}"
    expected = run(capsys, program, "-p", f"canonicalize,{gradient},cse")
    assert expected[0] == 0
    flags = "--canonicalize", "--gradir-gradient=function=f mode=vjp", "-cse"
    assert run(capsys, program, *flags) == expected
    code, output, errors = run(capsys, program, "--cse", "-p", "dce")
    assert (code, output) == (1, "") and "passes as flags (cse) and a pipeline" in errors
    code, _, errors = run(capsys, program, "--gradir-gradient=function=g mode=vjp")
    assert code == 1 and "@g" in errors
    assert run(capsys, program, "--no-such-pass")[0] == 1


@pytest.mark.parametrize("theirs", SAME)
def test_other_names(theirs: str, program: str, capsys: Capture) -> None:
    code, output, errors = run(capsys, program, theirs, "--cse")
    wanted = run(capsys, program, SAME[theirs], "-p", "cse")
    assert (code, output) == wanted[:2] and bool(errors) == bool(wanted[2])


def test_flags_without_effect(program: str, capsys: Capture) -> None:
    flags = [*MEANINGLESS, "--verify-each=false"]
    assert run(capsys, program, *flags) == run(capsys, program)


def titles(errors: str) -> list[str]:
    lines = [line for line in errors.splitlines() if line.startswith("// -----//")]
    return [line.removeprefix("// -----// IR Dump ").removesuffix(" //----- //") for line in lines]


@pytest.mark.parametrize(
    ("flags", "expected"),
    [
        (["--mlir-print-ir-before-all"], ["Before cse", "Before dce"]),
        (["--mlir-print-ir-after-all"], ["After cse", "After dce"]),
        (["--mlir-print-ir-before=dce"], ["Before dce"]),
        (["--mlir-print-ir-after=cse,dce"], ["After cse", "After dce"]),
        (["--mlir-print-ir-after=cse", "--mlir-print-ir-after=canonicalize"], ["After cse"]),
        (["--mlir-print-ir-after-all", "--mlir-print-ir-after-change"], ["After cse"]),
    ],
)
def test_dumps(flags: list[str], expected: list[str], program: str, capsys: Capture) -> None:
    code, output, errors = run(capsys, program, "--cse", "--dce", *flags)
    assert code == 0 and output.startswith("builtin.module") and titles(errors) == expected


def test_dumps_of_changes(program: str, capsys: Capture) -> None:
    errors = run(capsys, program, "--cse", "--cse", "--dce", "--mlir-print-ir-after-change")[2]
    assert titles(errors) == ["After cse"]  # it merges and removes at once


def test_a_dump_of_a_failure(program: str, capsys: Capture) -> None:
    flags = "--cse", "--gradir-gradient=function=g mode=vjp", "--mlir-print-ir-after-failure"
    code, output, errors = run(capsys, program, *flags)
    assert (code, output) == (1, "") and titles(errors) == ["After gradir-gradient Failed"]


def test_large_constants_are_left_out(program: str, capsys: Capture) -> None:
    code, output, _ = run(capsys, program, "--mlir-elide-elementsattrs-if-larger=2")
    assert code == 0 and output.count("dense_resource<__elided__> : tensor<3xf64>") == 1
    assert "dense<2.000000e+00> : tensor<3xf64>" in output
    assert "__elided__" not in run(capsys, program, "--mlir-elide-elementsattrs-if-larger=3")[1]
    assert "__elided__" not in run(capsys, program)[1]


def test_roundtrip(program: str, capsys: Capture) -> None:
    assert run(capsys, program, "--verify-roundtrip") == run(capsys, program)
    for flag in ("--mlir-print-op-generic", "--mlir-print-debuginfo"):
        assert run(capsys, program, flag, "--verify-roundtrip")[0] == 0
    elided = "--mlir-elide-elementsattrs-if-larger=1"
    code, _, errors = run(capsys, program, elided, "--verify-roundtrip")
    assert code == 1 and "dense_resource<__elided__>: no elements" in errors


def test_lists(program: str, capsys: Capture) -> None:
    code, output, _ = run(capsys, "--show-dialects")
    assert code == 0 and {"array", "linalg", "stablehlo", "scf"} & set(output.split()) >= {
        "array",
        "linalg",
        "scf",
    }
    code, _, errors = run(capsys, program, "--cse", "--dce", "--dump-pass-pipeline")
    assert code == 0 and errors.strip() == "Pass Manager: builtin.module(cse,dce)"
