"""StableHLO on IREE's CPU, and the programs on which IREE fails.

`outcome` of a program is "" where all results agree, and what IREE does elsewhere. The programs are
those that XLA runs in test_stablehlo.py. `python tests/peers/stablehlo_iree.py` writes the list
anew; the reasons behind its semicolons are found and written by hand.
"""

from __future__ import annotations

import pickle
import re
import subprocess
import sys
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from stablehlo_programs import Array, Program, paths, programs_of

from gradir.packages import package
from gradir.tools.gen_stablehlo_page import IREE, iree_failures

compiler: Any = package("iree.compiler", "iree")

CHILD = Path(__file__).parent / "iree_child.py"
FLAGS = ("--iree-llvmcpu-target-cpu=host", "--iree-input-demote-f64-to-f32=false")
SYSTEM = "--iree-llvmcpu-link-embedded=false"
"""Code that has tanh and sin of f64 from the system's libraries; IREE's own have none."""


class IreeError(Exception):
    """IREE refuses a program, or its code ends the process."""


def run_on_iree(text: str, arrays: Sequence[Array]) -> list[Array]:
    """The results of @main; IreeError where there are none."""
    try:
        code = compiled(text)
    except IreeError:
        code = compiled(text, SYSTEM)
    sent = pickle.dumps((code, list(arrays)))
    done = subprocess.run([sys.executable, CHILD], input=sent, capture_output=True, check=False)
    if done.returncode:
        raise IreeError(_fault(done.stderr.decode()))
    found: list[Array] = pickle.loads(done.stdout)
    return found


def compiled(text: str, *flags: str) -> Any:
    """IREE's code of a program; IreeError where it has none."""
    try:
        return compiler.compile_str(
            text, input_type="stablehlo", target_backends=["llvm-cpu"], extra_args=[*FLAGS, *flags]
        )
    except compiler.CompilerToolError as error:
        raise IreeError(_fault(str(error))) from None


def _fault(text: str) -> str:
    """The first error of a text, without places and operands."""
    lines = re.findall(r"\berror: (.*)", text) or text.strip().splitlines()[-1:] or ["no word"]
    missing = re.search(r"undefined symbol: \w+", lines[0])
    return missing[0] if missing else lines[0].partition(": %")[0]


def outcome(program: Program) -> str:
    """What IREE does wrong with a program, "" where its results agree."""
    try:
        found = run_on_iree(program.text, program.arrays)
    except IreeError as error:
        return f"refused: {error}"
    wrong = [str(k) for k in range(len(program.wanted)) if not program.agrees(found, k)]
    return f"another result {', '.join(wrong)}" if wrong else ""


def main() -> None:
    """Write the list anew; reasons stay with the names that stay."""
    known = iree_failures()
    programs = [each for path in paths() for each in programs_of(path)]
    lines: list[str] = []
    for program in programs:
        if what := outcome(program):
            _, why = known.get(program.name, ("", "not looked into"))
            lines.append(f"{program.name}: {what}; {why}\n")
    head = f"# {len(programs)} programs by IREE {version('iree-base-compiler')}\n"
    IREE.write_text(head + "".join(sorted(lines)), encoding="utf-8")


if __name__ == "__main__":
    main()
