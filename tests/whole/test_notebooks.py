"""The notebooks of examples/notebooks show what is stored in them."""

from __future__ import annotations

from pathlib import Path

import notebooks
import pytest

ALL = sorted(notebooks.FOLDER.glob("*.ipynb"))


@pytest.mark.parametrize("path", ALL, ids=lambda path: path.stem)
def test_outputs(path: Path) -> None:
    found = notebooks.notebook(path)
    cells, made = notebooks.code_cells(found), notebooks.run(found)
    assert cells
    for cell, outputs in zip(cells, made, strict=True):
        stored = notebooks.texts(cell["outputs"])
        if notebooks.is_of_the_machine(cell):
            assert len(notebooks.texts(outputs)) == len(stored)
        else:
            assert notebooks.texts(outputs) == stored


def test_there_are_notebooks() -> None:
    assert [path.stem for path in ALL] == ["first_gradients", "training"]
