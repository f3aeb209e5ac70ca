"""Runs lit over tests/filecheck, and checks that every file there tests something."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from in_process import SUBSTITUTIONS, InProcess, run_lines

FOLDER = Path(__file__).parents[1] / "filecheck"
FILES = sorted(FOLDER.rglob("*.mlir"))

FOLDERS = sorted({file.parent for file in FILES})


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_run_lines(folder: Path) -> None:
    """Every RUN line in a folder under tests/filecheck passes, by lit's test format.

    Not in lit, which loads gradir anew for each of these tests.
    """
    lit_format = InProcess(SUBSTITUTIONS)
    for file in FILES:
        if file.parent == folder:
            for line in run_lines(file.read_text(encoding="utf-8")):
                complaint = lit_format.complaint(line, str(file))
                assert complaint is None, f"{file.name}: {line}\n{complaint}"


def test_lit() -> None:
    """lit finds every file, and runs the files of one folder."""
    lit = [sys.executable, "-c", "from lit.main import main; main()"]

    def run(*arguments: str) -> str:
        result = subprocess.run([*lit, *arguments], capture_output=True, text=True, check=False)
        assert result.returncode == 0, result.stdout + result.stderr
        return result.stdout

    assert run(str(FOLDER), "--show-tests").count(".mlir") == len(FILES)
    folder = FOLDER / "simplify"
    count = len(list(folder.glob("*.mlir")))
    assert re.search(rf"Passed: *{count} ", run(str(folder), "-v", "-j1"))


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
