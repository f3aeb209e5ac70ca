"""Writes docs/decisions/README.md, the index of the pages beside it. Run by `make docs`.

It has the title of each page, the sentence below the title, and the first words of each entry,
which are bold in the page.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

FOLDER = Path(__file__).resolve().parent.parent / "docs" / "decisions"
INDEX = FOLDER / "README.md"

HEAD = """# Decisions

This index is written by `make docs`; do not edit. An entry is one paragraph of a page: the
decision, in bold, why, and what would change it. An entry that is no longer true is removed, with
the change that ends it.
"""
LEAD = re.compile(r"\*\*(.+?)\*\*", re.DOTALL)


def pages() -> list[Path]:
    """The pages of entries, by name."""
    return sorted(set(FOLDER.glob("*.md")) - {INDEX})


def paragraphs(page: Path) -> list[str]:
    """A page's title, its sentence, and its entries."""
    return page.read_text(encoding="utf-8").strip().split("\n\n")


def lead(entry: str) -> str | None:
    """The bold words that an entry begins with; None if it begins otherwise."""
    found = LEAD.match(entry)
    return found and " ".join(found[1].split()).rstrip(".:")


def index() -> str:
    """The whole text of docs/decisions/README.md."""
    return "\n".join(_lines()) + "\n"


def _lines() -> Iterator[str]:
    yield HEAD.rstrip()
    for page in pages():
        title, says, *entries = paragraphs(page)
        yield f"\n## [{title.removeprefix('# ')}]({page.name})\n\n{says}\n"
        yield from (f"- {lead(entry)}" for entry in entries)


if __name__ == "__main__":
    INDEX.write_text(index(), encoding="utf-8")
