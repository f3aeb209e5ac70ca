"""RUN lines of golden tests, in the process of lit: to start Python takes longer than most tests.

A RUN line is a pipeline of gradir-opt, gradir-run and filecheck, each perhaps behind `not`, with
standard output and, after `2>&1`, standard error going to the next one. `%s` is the file.
"""

from __future__ import annotations

import io
import re
import shlex
import sys
import traceback
from collections.abc import Callable, Mapping, Sequence
from contextlib import redirect_stderr, redirect_stdout
from typing import Any

import lit.Test
from filecheck.main import main as filecheck
from lit.formats import FileBasedTest

from gradir.tools.gradir_opt import main as gradir_opt
from gradir.tools.gradir_run import main as gradir_run

TOOLS: Mapping[str, Callable[[Sequence[str]], object]] = {
    "gradir-opt": gradir_opt,
    "gradir-run": gradir_run,
    "filecheck": lambda arguments: filecheck(["filecheck", *arguments]),
}

SUBSTITUTIONS: Mapping[str, str] = {
    # pretty form, through generic form, back to pretty form
    "GRADIR_ROUNDTRIP": "gradir-opt %s --print-op-generic --split-input-file"
    " | gradir-opt --split-input-file | filecheck %s"
}

_RUN = re.compile(r"^\s*// RUN:(.*)$", re.MULTILINE)


def run_lines(text: str) -> list[str]:
    """The commands of the RUN lines; a line that ends in a backslash goes on in the next one."""
    lines: list[str] = [line.strip() for line in _RUN.findall(text)]
    return "\n".join(lines).replace("\\\n", "").split("\n")


class InProcess(FileBasedTest):
    """The test format; `substitutions` are replaced in RUN lines, as `%s` is."""

    def __init__(self, substitutions: Mapping[str, str]):
        self.substitutions = substitutions

    def execute(self, test: Any, litConfig: Any) -> Any:
        path = test.getSourcePath()
        with open(path, encoding="utf-8") as file:
            lines = run_lines(file.read())
        for line in lines:
            if (complaint := self.complaint(line, path)) is not None:
                return lit.Test.Result(lit.Test.FAIL, f"{line}\n{complaint}")
        return lit.Test.Result(lit.Test.PASS, "")

    def complaint(self, line: str, path: str) -> str | None:
        """What is wrong with the outcome of a RUN line, if anything is."""
        for name, replacement in self.substitutions.items():
            line = line.replace(name, replacement)
        output = ""
        for command in _commands(line):
            words = [word.replace("%s", path) for word in command]
            fails = words[0] == "not"
            merged = words[-1] == "2>&1"
            name, *arguments = words[fails : len(words) - merged]
            code, output, errors = run_tool(name, arguments, output, merged)
            if (code != 0) != fails:
                return f"{name} ended with exit code {code}\n{errors or output}"
        return None


def _commands(line: str) -> list[list[str]]:
    """The words of each command of a pipeline."""
    commands: list[list[str]] = [[]]
    for word in shlex.split(line):
        if word == "|":
            commands.append([])
        else:
            commands[-1].append(word)
    assert all(commands), f"a pipeline of commands expected, got: {line}"
    return commands


def run_tool(
    name: str, arguments: Sequence[str], given: str, merged: bool = False
) -> tuple[int, str, str]:
    """The exit code, standard output and standard error of a tool; if `merged`, both in one."""
    if name not in TOOLS:
        raise ValueError(f"one of {', '.join(TOOLS)} expected, got {name}")
    output = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
    errors = output if merged else io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
    before, sys.stdin = sys.stdin, io.TextIOWrapper(io.BytesIO(given.encode()), encoding="utf-8")
    try:
        with redirect_stdout(output), redirect_stderr(errors):
            code = _exit_code(TOOLS[name], arguments)
    finally:
        sys.stdin = before
    return code, _text(output), "" if merged else _text(errors)


def _exit_code(tool: Callable[[Sequence[str]], object], arguments: Sequence[str]) -> int:
    """As from a process: a traceback, if one is due, is among the errors."""
    try:
        code = tool(arguments)
    except SystemExit as error:
        code = error.code
    except Exception:
        traceback.print_exc()
        return 1
    if isinstance(code, str):
        print(code, file=sys.stderr)
        return 1
    return code if isinstance(code, int) else 0


def _text(stream: io.TextIOWrapper) -> str:
    stream.flush()
    buffer = stream.buffer
    assert isinstance(buffer, io.BytesIO)
    return buffer.getvalue().decode()
