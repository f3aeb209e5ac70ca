"""Evals of GradBench, by gradir and other tools in turn, in a clone of its repository.

The eval's own program asks and checks; each question goes to all tools, and gradir's answer back.

    .venv/bin/python benchmarks/gradbench/compare.py CLONE det llsq [--tools gradir manual jax]
        [--options="-l 5"]
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import shutil
import statistics
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
PACKAGE = Path("python/gradbench/gradbench")
TOOLS: dict[str, list[Any]] = {
    name: [PACKAGE / "tools" / name / "run.py"] for name in ("gradir", "jax", "pytorch")
} | {"manual": [PACKAGE / "cpp.py", "manual"]}


class Peer:
    """A process that speaks the protocol, in the clone."""

    def __init__(self, command: Sequence[Any], clone: Path):
        here = [str(clone / PACKAGE.parent), os.environ.get("PYTHONPATH", "")]
        self.process = subprocess.Popen(
            [sys.executable, *map(str, command)],
            cwd=clone,
            env=os.environ | {"PYTHONPATH": os.pathsep.join(here)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def read(self) -> Any:
        """The next message, or None at the end."""
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        return json.loads(line) if line else None

    def send(self, message: Any) -> None:
        assert self.process.stdin is not None
        print(json.dumps(message), file=self.process.stdin, flush=True)

    def ask(self, message: Any) -> Any:
        self.send(message)
        return self.read() or {"success": False, "error": "the tool ended"}


@dataclass
class Answers:
    """What the tools said to one question."""

    question: dict[str, Any]
    by_tool: dict[str, Any]

    def __str__(self) -> str:
        times = {name: _milliseconds(answer) for name, answer in self.by_tool.items()}
        ours, cells = times.get("gradir"), list[str]()
        for name, found in times.items():
            ratio = f" ({ours / found:.2f})" if ours and found and name != "gradir" else ""
            cells.append(f"{name} {'-' if found is None else f'{found:.4g} ms'}{ratio}")
        place = f"{self.question['module']} {self.question['function']}"
        return f"{place:18} {self.question.get('description', ''):24} " + "  ".join(cells)


def _milliseconds(answer: Any) -> float | None:
    """The median of the runs behind the first, which compiles; of one run, that one."""
    if not answer.get("success"):
        return None
    times = [one["nanoseconds"] / 1e6 for one in answer["timings"] if one["name"] == "evaluate"]
    return statistics.median(times[1:] or times)


def compare(clone: Path, name: str, tools: Sequence[str], options: Sequence[str]) -> bool:
    """Run one eval; False if an answer of gradir was wrong or missing."""
    peers = {tool: Peer(TOOLS[tool], clone) for tool in tools}
    asking, is_right = Peer([PACKAGE / "evals" / name / "run.py", *options], clone), True
    while (message := asking.read()) is not None:
        if message["kind"] == "analysis":
            if not message["valid"]:
                is_right = False
                print(f"WRONG: {message.get('error')}"[:2000])
            asking.send({"id": message["id"]})
            continue
        answers = {tool: peer.ask(message) for tool, peer in peers.items()}
        if message["kind"] == "evaluate":
            print(Answers(message, answers), flush=True)
        if error := answers["gradir"].get("error"):
            is_right = False
            print(error)
        asking.send(answers["gradir"] | {"id": message["id"]})
    for peer in peers.values():
        peer.process.terminate()
    return is_right


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("clone", type=Path, help="a clone of GradBench's repository")
    parser.add_argument("evals", nargs="+")
    parser.add_argument("--tools", nargs="+", default=["gradir", "manual"], choices=list(TOOLS))
    parser.add_argument(
        "--options", default="", help="for the evals: --options='-l 5 --min-runs 9'"
    )
    options = parser.parse_args()
    clone = options.clone.resolve()
    for folder in ("tools", "python"):
        shutil.copytree(HERE / folder, clone / folder, dirs_exist_ok=True)
    done = [
        compare(clone, name, options.tools, shlex.split(options.options)) for name in options.evals
    ]
    return 0 if all(done) else 1


if __name__ == "__main__":
    sys.exit(main())
