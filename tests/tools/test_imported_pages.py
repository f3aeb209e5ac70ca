"""docs/jax.md and docs/torch.md are what the tables of rules say."""

from __future__ import annotations

import pytest

from gradir.tools.gen_imported_pages import PAGES, ImportedPage


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_page_is_written_from_the_table(page: ImportedPage) -> None:
    assert page.path.read_text() == page.text(), f"docs/{page.name} is stale: run `make docs`"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_page_names_each_op_once(page: ImportedPage) -> None:
    text = page.text().partition(f"## {page.kinds.capitalize()}")[2]
    for name in (*page.table.rules, *page.table.absent):
        assert text.count(f"`{name}`") == 1, name
