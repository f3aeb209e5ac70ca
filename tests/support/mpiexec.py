"""Runs Python on several ranks, where gradir[mpi] is installed."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

needs_mpi = pytest.mark.skipif(find_spec("mpi4py") is None, reason="gradir[mpi] is not installed")

MPIEXEC = Path(sys.executable).parent / "mpiexec"


def on_ranks(
    ranks: int, *arguments: str, seconds: int = 20, folder: Path | None = None
) -> subprocess.CompletedProcess[str]:
    command = ["mpiexec"] if not MPIEXEC.exists() else [str(MPIEXEC)]
    return subprocess.run(
        [*command, "-n", str(ranks), sys.executable, *arguments],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        cwd=folder,
        env={**os.environ, "GRADIR_COMM_TIMEOUT": str(seconds), "GRADIR_NUM_THREADS": "1"},
    )
