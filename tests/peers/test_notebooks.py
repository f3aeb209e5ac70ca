"""The notebooks of examples/notebooks run in Jupyter's kernel and show what is stored in them."""

from __future__ import annotations

from pathlib import Path

import notebooks
import pytest


@pytest.mark.parametrize("path", sorted(notebooks.FOLDER.glob("*.ipynb")), ids=lambda p: p.stem)
def test_outputs_in_jupyter(path: Path) -> None:
    nbformat = pytest.importorskip("nbformat")
    client = pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    found = nbformat.read(path, as_version=4)
    client.NotebookClient(found, timeout=120).execute()
    stored = notebooks.code_cells(notebooks.notebook(path))
    for cell, made in zip(stored, notebooks.code_cells(found), strict=True):
        if not notebooks.is_of_the_machine(cell):
            assert notebooks.texts(made["outputs"]) == notebooks.texts(cell["outputs"])
