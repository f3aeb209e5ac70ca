"""Writes what systems make of the programs with loops into tests/conformance/loops/outcomes.json.

`python tests/peers/record_loops.py JAX PyTorch` with tests, tests/support and tests/peers on the
path; all systems without names. Each runs in a process of its own: one may end it.
"""

from __future__ import annotations

import json
import subprocess
import sys
import warnings
from importlib.metadata import version
from typing import Any

from conformance.loops.all_programs import GROUPS, PROGRAMS
from conformance.loops.outcomes import FILE, KINDS
from conformance.loops.references import load
from loop_systems import SYSTEMS, outcomes_in


def worker(system: str, names: list[str]) -> None:
    """A line before and after each program."""
    warnings.simplefilter("ignore")
    references = load()
    for name in names:
        print(json.dumps([name, None]), flush=True)
        found = outcomes_in(system, PROGRAMS[name], references[name])
        print(json.dumps([name, found]), flush=True)


def recorded(system: str) -> dict[str, dict[str, str]]:
    """The outcomes of all programs; those that end the process are `crashed`."""
    found: dict[str, dict[str, str]] = {}
    while left := [name for name in PROGRAMS if name not in found]:
        command = [sys.executable, __file__, "--worker", system, *left]
        lines = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False).stdout
        told: dict[str, Any] = dict(map(json.loads, filter(_is_entry, lines.splitlines())))
        assert told, f"{system} does not start"
        found |= {n: o or dict.fromkeys(KINDS, "crashed") for n, o in told.items()}
    return found


def _is_entry(line: str) -> bool:
    return line.startswith('["') and line.endswith("]")


def main(systems: list[str]) -> None:
    """Record some systems; the stored records of the others stay."""
    for system in systems or SYSTEMS:
        _store(system, recorded(system))


def _store(system: str, outcomes: dict[str, dict[str, str]]) -> None:
    stored = json.loads(FILE.read_text(encoding="utf-8")) if FILE.exists() else {}
    versions = stored.get("versions", {}) | {system: version(SYSTEMS[system].package)}
    told = stored.get("outcomes", {}) | {system: outcomes}
    made = {
        "versions": {name: versions[name] for name in SYSTEMS if name in versions},
        "groups": GROUPS,
        "programs": {n: {"group": p.group, "says": p.says} for n, p in PROGRAMS.items()},
        "outcomes": {name: told[name] for name in SYSTEMS if name in told},
    }
    FILE.write_text(json.dumps(made, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--worker"]:
        worker(sys.argv[2], sys.argv[3:])
    else:
        main(sys.argv[1:])
