"""Writes the tables of docs/stablehlo.md: how each op becomes StableHLO, and why some do not.

Run by `make docs`, from the ops' classes and their rows in the op table, and from the list of
programs on which IREE fails. The text before the marker is written by hand.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from xdsl.dialects.builtin import ModuleOp, f32
from xdsl.ir import Operation

from gradir.checking.programs import function
from gradir.dialects.array import OPS as ARRAY_OPS
from gradir.dialects.base.diagnostics import PassError
from gradir.dialects.building.kinds import ElementwiseOp
from gradir.dialects.grad.dialect import OPS as GRAD_OPS
from gradir.dialects.nn import OPS as NN_OPS
from gradir.stablehlo.control_flow import REGION_RULES
from gradir.stablehlo.convert import RULES
from gradir.stablehlo.numbers import NUMBER_OPS
from gradir.stablehlo.to_stablehlo import REFUSED, to_stablehlo
from gradir.tools.support_modules import support

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "stablehlo.md"
IREE = ROOT / "tests" / "peers" / "iree_refused.txt"
"""The number of all programs and IREE's version, then those on which it fails."""

MARKER = "<!-- written by `make docs` from here on -->\n"

OWN, BODY, PARTS, NEST = (
    "by a rule of their own",
    "by their bodies, element by element",
    "by the simpler ops that they are made of",
    "by their loop nests: slices, broadcasts, gathers, reductions and scatters",
)


def page() -> str:
    """The whole text of the page."""
    head, _, _ = PAGE.read_text(encoding="utf-8").partition(MARKER)
    return head + MARKER + "\n".join(_lines()) + "\n"


def iree_failures() -> dict[str, tuple[str, str]]:
    """What IREE does, and why, for the programs on which it fails, by name."""
    _, *lines = IREE.read_text(encoding="utf-8").splitlines()
    listed = (line.split(": ", 1) for line in lines)
    parts = ((name, text.partition("; ")) for name, text in listed)
    return {name: (what, why) for name, (what, _, why) in parts}


def ways() -> tuple[dict[str, list[str]], dict[str, str]]:
    """The ops by the way in which they become StableHLO, and the others with reasons."""
    found: dict[str, list[str]] = defaultdict(list)
    absent = dict(REFUSED)
    for op in (*ARRAY_OPS, *NN_OPS, *GRAD_OPS):
        if op.name in absent:
            continue
        if (why := _refusal(op)) is not None:
            absent[op.name] = why
        else:
            found[_way(op)].append(op.name)
    return found, absent


def _way(op: type[Any]) -> str:
    if op.name in RULES:
        return OWN
    if op.has_decomposition():
        return PARTS
    return BODY if issubclass(op, ElementwiseOp) else NEST


@cache
def _cases() -> dict[str, list[Any]]:
    found: dict[str, list[Any]] = defaultdict(list)
    for case in support("op_cases").CASES:
        found[case.op].append(case)
    return found


def _refusal(op: type[Any]) -> str | None:
    """Why a program of the op alone, its first row in the op table, is refused."""
    cases = _cases().get(op.name)
    if not cases:
        return None
    case = cases[0]
    module = ModuleOp([function(case, case.arrays(f32), f32)])
    try:
        to_stablehlo(module, "f")
    except PassError as error:
        return error.message.partition(": ")[2]
    return None


def _lines() -> Iterator[str]:
    yield from _iree_lines()
    found, absent = ways()
    count = sum(map(len, found.values()))
    yield f"## Ops\n\n{count} ops of `array`, `nn` and `grad` become StableHLO."
    for way in (OWN, BODY, PARTS, NEST):
        yield f"\n{way[0].upper()}{way[1:]}:\n\n{_names(found[way])}."
    others = [*_names_of(REGION_RULES), *NUMBER_OPS, "arith.constant"]
    others += [name for name in RULES if name.startswith("tensor.")]
    yield f"\nOf other dialects, on numbers and tensors:\n\n{_names(sorted(set(others)))}."
    yield "\n### Not there\n\n| op | why |\n|---|---|"
    by_reason: dict[str, list[str]] = defaultdict(list)
    for name, why in absent.items():
        by_reason[why].append(name)
    for why, names in by_reason.items():
        yield f"| {_names(sorted(names))} | {why} |"


def _iree_lines() -> Iterator[str]:
    """How many programs agree on IREE, and each that does not."""
    first, _ = IREE.read_text(encoding="utf-8").split("\n", 1)
    _, count, _, _, system, version = first.split()
    failures = iree_failures()
    yield f"## Programs on {system}\n"
    yield (
        f"{system} {version} runs {int(count) - len(failures)} of {count} programs with gradir's "
        f"results, the gradients of the examples and of golden files; on XLA all of them agree. "
        f"{system} fails on these:\n"
    )
    yield "| program | outcome | why |\n|---|---|---|"
    for name, (what, why) in failures.items():
        yield f"| `{name}` | {what} | {why} |"
    yield ""


def _names_of(rules: dict[type[Operation], Any]) -> list[str]:
    return [op.name for op in rules]


def _names(names: list[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def main() -> None:
    """Write the page beside this package's sources."""
    PAGE.write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main()
