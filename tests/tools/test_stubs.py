"""The type stubs are those of the functions that are there."""

from __future__ import annotations

import ast
from importlib import import_module

import pytest

from gradir.tools.gen_stubs import MODULES, ROOT, stub


@pytest.mark.parametrize("name", MODULES)
def test_stubs_are_up_to_date(name: str) -> None:
    found = (ROOT / MODULES[name]).read_text("utf-8")
    assert found == stub(name), "run `make docs`"
    tree = ast.parse(found)
    declared = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
    declared |= {node.target.id for node in tree.body if isinstance(node, ast.AnnAssign)
                 and isinstance(node.target, ast.Name)}  # fmt: skip
    declared |= {
        a.name for node in tree.body if isinstance(node, ast.ImportFrom) for a in node.names
    }
    assert set(import_module(name).__all__) <= declared


def test_signatures() -> None:
    tree = ast.parse(stub("gradir.numpy"))
    [mean] = [n for n in tree.body if isinstance(n, ast.FunctionDef) and n.name == "mean"]
    assert [a.arg for a in mean.args.args] == ["a", "axis", "dtype", "out", "keepdims"]
    assert [a.arg for a in mean.args.kwonlyargs] == ["where"]
    assert (ast.get_docstring(mean) or "").startswith("The arithmetic mean over `axis`")
