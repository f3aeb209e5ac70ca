"""docs/jax.md is what the table of JAX's primitives says."""

from __future__ import annotations

from gradir.frontends.imported.jax_rules.table import JAX
from gradir.tools.gen_jax_page import PAGE, page


def test_the_page_is_written_from_the_table() -> None:
    assert PAGE.read_text() == page(), "docs/jax.md is stale: run `make docs`"


def test_the_page_names_each_primitive_once() -> None:
    text = page().partition("## Primitives")[2]
    for name in (*JAX.rules, *JAX.absent):
        assert text.count(f"`{name}`") == 1, name
