"""Writes the tables of docs/jax.md and others: each op, and why it is not there.

Run by `make docs`, from the tables of gradir/frontends/imported. The text before the marker is
written by hand.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from gradir.frontends.imported.jax_rules.table import JAX
from gradir.frontends.imported.onnx_rules.table import ONNX
from gradir.frontends.imported.stablehlo_rules.table import STABLEHLO
from gradir.frontends.imported.table import RuleTable
from gradir.frontends.imported.torch_rules.table import TORCH

ROOT = Path(__file__).resolve().parents[1]
MARKER = "<!-- written by `make docs` from here on -->\n"


@dataclass(frozen=True)
class ImportedPage:
    """A page, and the table that it shows; `kind` and `kinds` are the system's word for its ops.

    `suite` lists the system's own tests that are refused, with reasons, below their number.
    """

    name: str
    table: RuleTable
    kind: str
    kinds: str
    suite: str = ""

    @property
    def path(self) -> Path:
        """The file, beside this package's sources."""
        return ROOT / "docs" / self.name

    def text(self) -> str:
        """The whole text of the page."""
        head, _, _ = self.path.read_text(encoding="utf-8").partition(MARKER)
        return head + MARKER + "\n".join(self._lines()) + "\n"

    def _lines(self) -> Iterator[str]:
        table = self.table
        plain = sorted(name for name in table.rules if name not in table.notes)
        yield f"## {self.kinds.capitalize()}\n"
        yield f"{len(table.rules)} {self.kinds} are there. As in {table.system} are:\n"
        yield ", ".join(f"`{name}`" for name in plain) + ".\n"
        yield "### With a remark\n"
        yield f"| {self.kind} | remark |\n|---|---|"
        for note, names in _by_text(table.notes).items():
            yield f"| {names} | {note} |"
        yield "\n### Not there\n"
        yield f"| {self.kind} | why |\n|---|---|"
        for why, names in _by_text(table.absent).items():
            yield f"| {names} | {why} |"
        if self.suite:
            yield from _suite_lines(table.system, ROOT / self.suite)


PAGES = (
    ImportedPage("jax.md", JAX, "primitive", "primitives"),
    ImportedPage("torch.md", TORCH, "op", "ops"),
    ImportedPage("onnx.md", ONNX, "operator", "operators", "tests/peers/onnx_refused.txt"),
    ImportedPage("stablehlo-in.md", STABLEHLO, "op", "ops"),
)


def _suite_lines(system: str, path: Path) -> Iterator[str]:
    """How many of a system's own tests agree, and why the others are refused."""
    first, *lines = path.read_text(encoding="utf-8").splitlines()
    total = int(first.split()[1])
    reasons = Counter(line.split(": ", 1)[1] for line in lines)
    yield f"\n## {system}'s own tests\n"
    yield f"Of {total:,} tests {total - len(lines):,} agree, and {len(lines)} are refused:\n"
    yield "| tests | why |\n|---|---|"
    for why, count in sorted(reasons.items(), key=lambda item: (-item[1], item[0])):
        yield f"| {count} | {why} |"


def _by_text(texts: dict[str, str]) -> dict[str, str]:
    """The names that have one text, as a row."""
    found: dict[str, list[str]] = {}
    for name, text in sorted(texts.items()):
        found.setdefault(text, []).append(f"`{name}`")
    return {text: ", ".join(names) for text, names in found.items()}


def main() -> None:
    """Write the pages beside this package's sources."""
    for page in PAGES:
        page.path.write_text(page.text(), encoding="utf-8")


if __name__ == "__main__":
    main()
