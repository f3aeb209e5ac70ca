"""Libraries for tests: exported to a folder, loaded, and called beside the JIT's code."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gradir
from gradir.aot.loader import Function, Library, load_library
from gradir.codegen.text.target import LEVELS, target_of

Array = np.ndarray[Any, Any]

RUNNABLE = [level for level in LEVELS if not target_of(level).lacking]
C_FLAGS = ("-std=c11", "-O1", "-Wall", "-Wextra", "-Werror")
CXX_FLAGS = ("-std=c++17", "-O1", "-Wall", "-Wextra", "-Werror")


def tool(name: str) -> str:
    """The path of a tool; skips the test where there is none."""
    found = shutil.which(name)
    if found is None:
        pytest.skip(f"no {name}")
    return found


def exported(module: gradir.Module, folder: Path, name: str = "f", **options: Any) -> Library:
    """A library with a module's functions, in a new file."""
    path = folder / f"lib{name}.so"
    options.setdefault("targets", [RUNNABLE[0]])
    gradir.export_library(module, path, **options)
    return load_library(path)


def random_arrays(function: Function, seed: int = 0) -> list[Array]:
    """Arguments for a function: small whole numbers, or normal ones."""
    random = np.random.default_rng(seed)
    return [
        random.integers(0, 2, a.shape).astype(a.dtype)
        if a.dtype.kind in "iub"
        else random.standard_normal(a.shape).astype(a.dtype)
        for a in function.inputs
    ]


def assert_same_bits(found: Sequence[Any], wanted: Sequence[Any]) -> None:
    assert len(found) == len(wanted)
    for k, (one, other) in enumerate(zip(found, wanted, strict=True)):
        assert (one.shape, one.dtype) == (other.shape, other.dtype)
        assert one.tobytes() == other.tobytes(), f"result {k}"


def run_program(*command: object, **options: Any) -> str:
    """The output of a program; the test fails with what it says if it fails."""
    result = subprocess.run(
        [str(part) for part in command], capture_output=True, text=True, check=False, **options
    )
    assert result.returncode == 0, f"{command}: {result.stdout}{result.stderr}"
    return result.stdout
