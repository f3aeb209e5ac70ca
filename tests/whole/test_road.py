"""The road of a call of gradir.grad, as docs/architecture.md lists its files."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
ROOMS = ("api.py", "cache/", "compiler/", "frontends/transforms/", "runtime/", "text/")
MOST_FILES = 32

CALLS = """
import json, os, sys
import numpy as np
import gradir
import gradir.numpy as gnp

entered = set()

def note(frame, event, argument):
    if event == "call" and frame.f_code.co_name != "<module>":
        entered.add(os.path.realpath(frame.f_code.co_filename))

gradient = gradir.grad(lambda x: gnp.sum(gnp.tanh(x) * x))
sys.setprofile(note)
for _ in range(2):
    gradient(np.linspace(0, 1, 5))
sys.setprofile(None)
print(json.dumps([sorted(entered), sorted(sys.modules)]))
"""

NOT_NEEDED = (
    *("difflib", "email", "importlib.metadata", "logging", "scipy", "sysconfig", "unittest"),
    *("gradir.dialects.planes", "gradir.dialects.spectral"),
)
"""Modules that a first call does without: they take as long to import as a small stage runs."""


@cache
def first_calls() -> tuple[list[str], list[str]]:
    """The files with functions that a first and a second call run, and all imported modules."""
    environment = os.environ | {"GRADIR_CACHE": "0", "GRADIR_TIERS": "1"}
    command = [sys.executable, "-c", CALLS]
    ran = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return tuple(json.loads(ran.stdout))


def files_of_calls() -> set[str]:
    """The files with functions that run in the calls, in the rooms of the road."""
    package = f"{(ROOT / 'gradir').resolve()}{os.sep}"
    names = {name.removeprefix(package) for name in first_calls()[0]}
    return {name for name in names if name.startswith(ROOMS)}


def listed_files() -> set[str]:
    """The files of the road in the document; a bare name is in the folder of the one before."""
    text = (ROOT / "docs" / "architecture.md").read_text()
    section = text.partition("**One call**")[2].partition("What else a call may meet")[0]
    found, folder = set[str](), ""
    for name in re.findall(r"`([\w/]+\.py)`", section.partition("1. ")[2]):
        whole = name if "/" in name or name in ROOMS else f"{folder}/{name}"
        folder = whole.rpartition("/")[0] or folder
        found.add(whole)
    return {name for name in found if name.startswith(ROOMS)}


def test_the_road_is_as_listed() -> None:
    assert files_of_calls() == listed_files()
    assert len(listed_files()) <= MOST_FILES


def test_modules_that_no_call_needs() -> None:
    assert not {*NOT_NEEDED} & {*first_calls()[1]}
