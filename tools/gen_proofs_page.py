"""Writes docs/proofs.md from the proofs in tests/support. Run by `make docs`.

It says of each derivative rule whether it is proven, tested at points, or tested by differences.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

from gradir.dialects import array, comm, nn
from gradir.dialects.base.interfaces import TensorOp
from gradir.dialects.grad import dialect as grad

ROOT = Path(__file__).resolve().parent.parent

HEAD = """# What is proven

Written by `make docs`; do not edit. `tests/gradient/test_proofs.py` proves what stands under
"Proven" each time that the tests run.

A derivative rule is proven where the code that the gradient pass emits for it, read as a term of
sympy, is the derivative of the op's meaning, on open intervals that fill the op's domain but for
single points. What holds at these points, and how far rounding leads away, is tested:
[ops.md](ops.md) has the errors. A rule that is not proven is tested against central differences,
for two orders (`tests/dialects/test_ops.py`).

A simplification is proven where z3 finds no number, among all of IEEE's binary16 with its
infinities, zeros of both signs and nan, for which the programs before and after differ in a bit.
"""


def page() -> str:
    """The whole text of docs/proofs.md."""
    return "\n".join(_lines()) + "\n"


def _lines() -> Iterator[str]:
    rules, bits = _support("proof_rules"), _support("proof_bits")
    yield HEAD
    yield "## Derivative rules\n"
    yield "### Proven\n"
    yield "| op | where; t and u are any positive numbers, v any real one |\n|---|---|"
    for rule in rules.RULES:
        yield f"| `{rule.line}` | {', '.join(map(_interval, rule.intervals))} |"
    yield "\n### Tested at points, and why\n"
    yield "| op | why it is not proven |\n|---|---|"
    for line, why in sorted(rules.TESTED.items()):
        yield f"| `{line.partition(' ')[0] if '{' not in line else line}` | {why} |"
    yield "\n### Tested by differences\n"
    yield f"{', '.join(f'`{name}`' for name in _others(rules))}.\n"
    yield "Most act on more than one element at a time, on which these proofs say nothing.\n"
    yield "## Simplifications\n"
    yield f"Proven: {', '.join(f'`{name}`' for name, _ in bits.SIMPLIFIED)}.\n"
    yield (
        f"Not made, with a number that shows why: {', '.join(f'`{n}`' for n, _ in bits.KEPT)}.\n"
    )
    yield "The others move elements and do no arithmetic: views of views, conversions to a type"
    yield "that is there, selections that become updates. They are tested."


def _interval(place: Any) -> str:
    parts = place if isinstance(place, tuple) else (place,)
    text = ", ".join(map(str, parts))
    return f"({text})" if len(parts) > 1 else text


def _others(rules: Any) -> list[str]:
    """The ops with a derivative that are neither proven nor tested at points."""
    known = {rule.op for rule in rules.RULES} | {line.partition(" ")[0] for line in rules.TESTED}
    ops = (*array.OPS, *nn.OPS, *grad.OPS, *comm.OPS)
    return [op.name for op in ops if op.name not in known and _is_active(op)]


def _is_active(op: type[TensorOp]) -> bool:
    return not op.INACTIVE


def _support(name: str) -> Any:
    """A module of tests/support."""
    support = str(ROOT / "tests" / "support")
    if support not in sys.path:
        sys.path.append(support)
    return import_module(name)


def main() -> None:
    """Write docs/proofs.md beside this package's sources."""
    (ROOT / "docs" / "proofs.md").write_text(page())


if __name__ == "__main__":
    main()
