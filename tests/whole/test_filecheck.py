"""Runs lit over tests/filecheck, and checks that every file there tests something."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from in_process import InProcess, run_lines

FOLDER = Path(__file__).parents[1] / "filecheck"
FILES = sorted(FOLDER.rglob("*.mlir"))

# Under `pytest -n` the folders run side by side instead.
JOBS = 1 if "PYTEST_XDIST_WORKER" in os.environ else 2
FOLDERS = sorted({file.parent for file in FILES})


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_lit(folder: Path) -> None:
    """Every file in a folder under tests/filecheck passes."""
    lit = [sys.executable, "-c", "from lit.main import main; main()"]
    result = subprocess.run(
        [*lit, str(folder), "-v", f"-j{JOBS}"], capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, result.stdout + result.stderr


def is_checked(command: str) -> bool:
    """Whether the outcome of a RUN line depends on what the tool says."""
    if "GRADIR_ROUNDTRIP" in command or "--verify-diagnostics" in command:
        return True
    return command.split("|")[-1].split()[:1] == ["filecheck"]


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(FOLDER)))
def test_file_is_checked(file: Path) -> None:
    """A file has a RUN line whose output is checked, and the comments it is checked against."""
    text = file.read_text(encoding="utf-8")
    commands = [command for command in run_lines(text) if is_checked(command)]
    assert commands, f"no RUN line of {file.name} reaches filecheck or --verify-diagnostics"
    for command in commands:
        for prefix in re.findall(r"--check-prefix(?:es)?[= ](\S+)", command):
            for each in prefix.split(","):
                assert re.search(rf"//\s*{each}(-[A-Z]+)?:", text), f"{each} has no comment"


def test_is_checked() -> None:
    """A RUN line that never reaches filecheck is found out."""
    assert is_checked("gradir-opt %s | filecheck %s")
    assert is_checked("gradir-opt %s --verify-diagnostics --split-input-file")
    assert not is_checked("gradir-opt %s")
    assert not is_checked("gradir-opt %s | filecheck %s | cat")
    assert run_lines("// RUN: a \\\n// RUN: | filecheck %s\n") == ["a | filecheck %s"]


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("gradir-opt %s | filecheck %s", None),
        ("gradir-opt %s | filecheck %s --check-prefix=WRONG", "filecheck ended with exit code 1"),
        ("gradir-opt %s -p csee", "gradir-opt ended with exit code 1"),
        ("not gradir-opt %s", "gradir-opt ended with exit code 0"),
        ("not gradir-opt %s -p csee 2>&1 | filecheck %s --check-prefix=ERROR", None),
        ("not gradir-opt %s -p csee | filecheck %s --check-prefix=ERROR", "filecheck ended"),
        ("ALIAS %s --split-input-file | filecheck %s", None),
    ],
)
def test_complaints(line: str, complaint: str | None, tmp_path: Path) -> None:
    """The test format fails a RUN line whose tools fail, and no other."""
    file = tmp_path / "t.mlir"
    file.write_text(
        "func.func @f() {\n  func.return\n}\n// CHECK: @f\n// WRONG: @g\n// ERROR: csee\n"
    )
    found = InProcess({"ALIAS": "gradir-opt"}).complaint(line, str(file))
    assert (found is None) if complaint is None else (found is not None and complaint in found)


def test_other_tools_are_refused() -> None:
    with pytest.raises(ValueError, match="one of gradir-opt, gradir-run, filecheck expected, got"):
        InProcess({}).complaint("sed s/a/b/ %s | filecheck %s", __file__)
