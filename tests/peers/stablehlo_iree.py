"""StableHLO on IREE's CPU, and the programs on which IREE fails: `python tests/peers/stablehlo_iree.py`.

`outcome` of a program is "" where all results agree, and the reason why not elsewhere. The programs
are those that XLA runs in test_stablehlo.py.
"""

from __future__ import annotations

import pickle
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from stablehlo_programs import Array, Program, paths, programs_of

from gradir.packages import package

compiler: Any = package("iree.compiler", "iree")

REFUSED = Path(__file__).parent / "iree_refused.txt"
"""The number of all programs, then those on which IREE fails: a name and the reason on each line."""

CHILD = Path(__file__).parent / "iree_child.py"
FLAGS = ("--iree-llvmcpu-target-cpu=host", "--iree-input-demote-f64-to-f32=false")
SYSTEM = "--iree-llvmcpu-link-embedded=false"
"""Code that has its tanh and sin of f64 from the system's libraries; IREE's own have none."""


class IreeError(Exception):
    """IREE refuses a program, or ends while it runs."""


def run_on_iree(text: str, arrays: Sequence[Array]) -> list[Array]:
    """The results of @main; IreeError where there are none."""
    try:
        code = _compiled(text)
    except compiler.CompilerToolError as error:
        code = _compiled(text, SYSTEM)
    sent = pickle.dumps((code, list(arrays)))
    done = subprocess.run([sys.executable, CHILD], input=sent, capture_output=True)
    if done.returncode:
        raise IreeError(done.stderr.decode().strip().splitlines()[-1])
    found: list[Array] = pickle.loads(done.stdout)
    return found


def _compiled(text: str, *flags: str) -> Any:
    return compiler.compile_str(
        text, input_type="stablehlo", target_backends=["llvm-cpu"], extra_args=[*FLAGS, *flags]
    )
