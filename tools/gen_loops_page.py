"""Writes the tables of docs/loops.md: what gradir and other systems make of programs with loops.

Run by `make docs`, from tests/conformance/loops/outcomes.json. The text before the marker is
written by hand.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "loops.md"
PROGRAMS = "tests/conformance/loops"
MARKER = "<!-- written by `make docs` from here on -->\n"
KINDS = {"reverse": "first order", "forward": "forward mode", "second": "second order"}


def page() -> str:
    """The whole text of docs/loops.md."""
    head, _, _ = PAGE.read_text(encoding="utf-8").partition(MARKER)
    found = json.loads((ROOT / PROGRAMS / "outcomes.json").read_text(encoding="utf-8"))
    sections = [_section(group, found) for group in found["groups"]]
    return "\n".join([head + MARKER, _summary(found), *sections])


def _summary(found: Mapping[str, Any]) -> str:
    """How many programs each system has right."""
    count = len(found["programs"])
    lines = ["## Who is right", "", f"Of {count} programs are right:", ""]
    lines += _head(["system", *KINDS.values()])
    for system, outcomes in found["outcomes"].items():
        right = [sum(o[kind] == "right" for o in outcomes.values()) for kind in KINDS]
        lines.append(_row([f"{system} {found['versions'][system]}", *map(str, right)]))
    return "\n".join([*lines, ""])


def _section(group: str, found: Mapping[str, Any]) -> str:
    """What a group tests, and its programs."""
    systems = list(found["outcomes"])
    lines = [f"## {group}", "", found["groups"][group], ""]
    lines += [f"Programs: [{group}.py](../{PROGRAMS}/{group}.py).", ""]
    lines += _head(["program", *systems])
    for name, program in found["programs"].items():
        if program["group"] == group:
            cells = [_words(found["outcomes"][system][name]) for system in systems]
            lines.append(_row([f"`{name}`: {program['says']}", *cells]))
    return "\n".join([*lines, ""])


def _words(outcome: Mapping[str, str]) -> str:
    """One word where all kinds have it, else each word with its kinds."""
    words = list(dict.fromkeys(outcome[kind] for kind in KINDS))
    if len(words) == 1:
        return words[0]
    told = [(w, [KINDS[k] for k in KINDS if outcome[k] == w]) for w in words]
    return "; ".join(f"{word}: {', '.join(kinds)}" for word, kinds in told)


def _head(titles: Iterable[str]) -> list[str]:
    titles = list(titles)
    return [_row(titles), "|" + "---|" * len(titles)]


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def main() -> None:
    """Write docs/loops.md beside this package's sources."""
    PAGE.write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main()
