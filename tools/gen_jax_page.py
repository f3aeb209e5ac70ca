"""Writes the table of docs/jax.md: each primitive of JAX, whether it is there, and why not.

Run by `make docs`, from gradir/frontends/imported/jax_rules. The text before the marker is written
by hand.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from gradir.frontends.imported.jax_rules.table import JAX

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "jax.md"
MARKER = "<!-- written by `make docs` from here on -->\n"


def page() -> str:
    """The whole text of docs/jax.md."""
    head, _, _ = PAGE.read_text(encoding="utf-8").partition(MARKER)
    return head + MARKER + "\n".join(_lines()) + "\n"


def _lines() -> Iterator[str]:
    plain = sorted(name for name in JAX.rules if name not in JAX.notes)
    yield "## Primitives\n"
    yield f"{len(JAX.rules)} primitives are there. As in JAX are:\n"
    yield ", ".join(f"`{name}`" for name in plain) + ".\n"
    yield "### With a remark\n"
    yield "| primitive | remark |\n|---|---|"
    for note, names in _by_text(JAX.notes).items():
        yield f"| {names} | {note} |"
    yield "\n### Not there\n"
    yield "| primitive | why |\n|---|---|"
    for why, names in _by_text(JAX.absent).items():
        yield f"| {names} | {why} |"


def _by_text(texts: dict[str, str]) -> dict[str, str]:
    """The names that have one text, as a row."""
    found: dict[str, list[str]] = {}
    for name, text in sorted(texts.items()):
        found.setdefault(text, []).append(f"`{name}`")
    return {text: ", ".join(names) for text, names in found.items()}


def main() -> None:
    """Write docs/jax.md beside this package's sources."""
    PAGE.write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main()
