"""Runs lit over tests/filecheck, and checks that every file there tests something."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent / "filecheck"
FILES = sorted(FOLDER.rglob("*.mlir"))

_RUN = re.compile(r"^\s*// RUN:(.*)$", re.MULTILINE)


# Under `pytest -n` the folders run side by side instead.
JOBS = 1 if "PYTEST_XDIST_WORKER" in os.environ else 2
# The fast tests take some folders with few files; the others start a process for each file as well.
QUICK_FOLDERS = {"bufferize", "fusion", "simplify", "verify"}
FOLDERS = [
    pytest.param(
        folder, marks=() if folder.name in QUICK_FOLDERS else pytest.mark.slow, id=folder.name
    )
    for folder in sorted({file.parent for file in FILES})
]


@pytest.mark.parametrize("folder", FOLDERS)
def test_lit(folder: Path) -> None:
    """Every file in a folder under tests/filecheck passes."""
    lit = [sys.executable, "-c", "from lit.main import main; main()"]
    result = subprocess.run(
        [*lit, str(folder), "-v", f"-j{JOBS}"], capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, result.stdout + result.stderr


def run_lines(text: str) -> list[str]:
    """The commands of the RUN lines; a line that ends in a backslash goes on in the next one."""
    lines: list[str] = [line.strip() for line in _RUN.findall(text)]
    return "\n".join(lines).replace("\\\n", "").split("\n")


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
