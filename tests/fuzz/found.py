"""Files of cases that failed once: what failed, how it was found, and the program."""

from __future__ import annotations

import re
from pathlib import Path

from fuzz.campaign import Fault
from fuzz.levels import LEVELS, level

FOUND = Path(__file__).parent / "found"
ENDINGS = {
    "traced": ".py", "tensor": ".mlir", "ranks": ".ranks", "points": ".points", "mutants": ".txt",
    "stablehlo": ".stablehlo", "onnx": ".base64",
}  # fmt: skip


def command(fault: Fault) -> str:
    """The command that makes a fault again."""
    return f"make fuzz LEVEL={fault.level} CASE={fault.seed}"


def text_of(fault: Fault) -> str:
    """What a file of a fault says."""
    sign = "#" if fault.level == "traced" else "//"
    head = f"{sign} {command(fault)}\n{sign} {fault.outcome.key}\n"
    return head + level(fault.level).write(fault.smallest)


def write(fault: Fault, folder: Path = FOUND) -> Path:
    """Write a fault as a file, which tests/tools/test_fuzz_found.py runs if it is in its folder."""
    words = re.sub(r"\W+", "_", fault.outcome.key).strip("_").lower()[:60]
    path = folder / f"{words}_{fault.seed}{ENDINGS[fault.level]}"
    folder.mkdir(parents=True, exist_ok=True)
    path.write_text(text_of(fault), encoding="utf-8")
    return path


def level_of(path: Path) -> str:
    """The level of a file that was written."""
    return next(name for name in LEVELS if path.suffix == ENDINGS[name])
