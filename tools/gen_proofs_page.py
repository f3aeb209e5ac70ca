"""Writes docs/proofs.md from the proofs in tests/support. Run by `make docs`.

It says of each op and each simplification whether it is proven, tested, or why neither.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from gradir.dialects import array, comm, nn
from gradir.dialects.grad import dialect as grad
from gradir.tools.support_modules import support

OPS = (*array.OPS, *nn.OPS, *grad.OPS, *comm.OPS)
ROOT = Path(__file__).resolve().parent.parent

HEAD = """# What is proven

Written by `make docs`; do not edit. `tests/gradient/test_proofs.py` and
`test_move_proofs.py` prove what stands under "Proven" each time that the tests run.

A derivative rule is proven where the code that the gradient pass emits for it, read as a term of
sympy, is the derivative of the op's meaning, on open intervals that fill the op's domain but for
single points. What holds at these points, and how far rounding leads away, is tested:
[ops.md](ops.md) has the errors. A rule that is not proven is tested against central differences,
for two orders (`tests/dialects/test_ops.py`).

The rule of an op that moves elements is proven where it is the op's transpose: z3 finds no extents
and no places i and j for which the op takes element j of its operand for element i of its result
another number of times than the rule takes element i of the cotangent for element j. Both are read
from the loop nests that gradir lowers the op and its rule to, with symbols for extents. Where code
asks whether an extent is 0 or 1, each answer is proven. Most cases move one axis of three: axes in
front of it are one axis in row-major order, and so are those behind it, so that three stand for any
rank. Integers of places have no width in the proof; gradir keeps places below 2**62. What is no
extent is tried: steps of slices from 1 to 3, shifts of up to the extent, both signs of offsets, two
affine maps, one permutation, up to five operands (`tests/support/proof_moves.py`).

A simplification is proven where z3 finds no number, among all of IEEE's binary16 with its
infinities, zeros of both signs and nan, for which the programs before and after differ in a bit;
or no integer of 8 bits. One of views is proven where the result has the same elements, at any size
(`tests/gradient/test_simplification_proofs.py`).
"""


def page() -> str:
    """The whole text of docs/proofs.md."""
    return "\n".join(_lines()) + "\n"


def _lines() -> Iterator[str]:
    rules, moves, bits = map(support, ("proof_rules", "proof_moves", "proof_bits"))
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
    yield "\n### Proven to be the transpose, at any size\n"
    yield f"{_names(sorted({move.op for move in moves.MOVES}))}.\n"
    yield "### Tested by differences, and why not proven\n"
    yield "| why | ops |\n|---|---|"
    for why, names in _by_reason(_unproven(rules, moves)).items():
        yield f"| {why} | {_names(names)} |"
    yield "\n### Without a derivative\n"
    yield f"{_names(op.name for op in OPS if op.INACTIVE)}.\n"
    yield from _simplifications(bits, support("proof_views"))


def _simplifications(bits: Any, views: Any) -> Iterator[str]:
    yield "## Simplifications\n"
    yield f"Proven of floats: {_names(name for name, _ in bits.SIMPLIFIED)}.\n"
    yield f"Proven of integers of 8 bits: {_names(name for name, _ in bits.INTEGERS)}.\n"
    yield f"Proven to have the same elements: {_names(view.name for view in views.VIEWS)}.\n"
    yield f"Not made, with a number that shows why: {_names(name for name, _ in bits.KEPT)}.\n"
    yield "### Not proven, and why\n"
    yield "| op | why |\n|---|---|"
    for name, why in bits.UNPROVEN.items():
        yield f"| `{name}` | {why} |"
    yield "\n### The files of cleanup and fusion\n"
    yield "| file | what it changes |\n|---|---|"
    for name, what in bits.PASSES.items():
        yield f"| `{name}` | {what} |"
    yield "\nFusion reads through views by composed subscripts. They are proven for all"
    yield "coefficients of two subscripts over three loops, and these programs before and after:"
    yield f"{', '.join(name for name, _ in views.READ_THROUGH)}."


def _interval(place: Any) -> str:
    parts = place if isinstance(place, tuple) else (place,)
    text = ", ".join(map(str, parts))
    return f"({text})" if len(parts) > 1 else text


def _names(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _unproven(rules: Any, moves: Any) -> dict[str, str]:
    """Why each op with a derivative is not proven, of those without a row; KeyError for no why."""
    known = {rule.op for rule in rules.RULES} | {line.partition(" ")[0] for line in rules.TESTED}
    known |= {move.op for move in moves.MOVES}
    reasons = support("proof_reasons").REASONS | moves.TESTED_MOVES
    names = (op.name for op in OPS if not op.INACTIVE)
    return {name: reasons[name] for name in names if name not in known}


def _by_reason(reasons: Mapping[str, str]) -> dict[str, list[str]]:
    """The ops of each reason."""
    return {why: [n for n, w in reasons.items() if w == why] for why in reasons.values()}


def main() -> None:
    """Write docs/proofs.md beside this package's sources."""
    (ROOT / "docs" / "proofs.md").write_text(page())


if __name__ == "__main__":
    main()
