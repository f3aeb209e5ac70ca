"""Runs the cells of notebooks, as Jupyter shows them, and compares or writes what they show.

`python tests/support/notebooks.py` runs examples/notebooks and writes their outputs anew.
"""

from __future__ import annotations

import ast
import io
import json
import sys
from collections.abc import Mapping
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parents[2] / "examples" / "notebooks"


def notebook(path: Path) -> dict[str, Any]:
    return json.loads(path.read_text())


def code_cells(found: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [cell for cell in found["cells"] if cell["cell_type"] == "code"]


def is_of_the_machine(cell: Mapping[str, Any]) -> bool:
    """Whether a cell shows numbers of the CPU that it runs on."""
    return "machine" in cell["metadata"].get("tags", ())


def run(found: Mapping[str, Any]) -> list[list[dict[str, Any]]]:
    """The outputs of each cell with code: what it prints, and its last expression."""
    names: dict[str, Any] = {"__name__": "__main__"}
    return [_outputs("".join(cell["source"]), names, k) for k, cell in enumerate(code_cells(found))]


def _outputs(source: str, names: dict[str, Any], number: int) -> list[dict[str, Any]]:
    tree, name = ast.parse(source), f"<cell {number + 1}>"
    last = tree.body[-1] if tree.body else None
    shown = None
    with redirect_stdout(io.StringIO()) as printed:
        if isinstance(last, ast.Expr):
            tree.body.pop()
            exec(compile(tree, name, "exec"), names)
            shown = eval(compile(ast.Expression(last.value), name, "eval"), names)
        else:
            exec(compile(tree, name, "exec"), names)
    made: list[dict[str, Any]] = []
    if printed.getvalue():
        text = printed.getvalue().splitlines(keepends=True)
        made.append({"name": "stdout", "output_type": "stream", "text": text})
    if shown is not None:
        data = {"text/plain": repr(shown).splitlines(keepends=True)}
        if (html := getattr(shown, "_repr_html_", None)) is not None:
            data["text/html"] = html().splitlines(keepends=True)
        made.append({"data": data, "execution_count": number + 1, "metadata": {},
                     "output_type": "execute_result"})  # fmt: skip
    return made


def texts(outputs: list[dict[str, Any]]) -> list[str]:
    """What outputs say as text, and for HTML that it is there."""
    made: list[str] = []
    for output in outputs:
        data = output.get("data", {"text/plain": output.get("text", "")})
        made.append("".join(data["text/plain"]))
        made += ["HTML"] * ("text/html" in data)
    return made


def write(path: Path) -> None:
    found = notebook(path)
    for number, (cell, outputs) in enumerate(zip(code_cells(found), run(found), strict=True)):
        cell["outputs"], cell["execution_count"] = outputs, number + 1
    path.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    for each in [Path(p) for p in sys.argv[1:]] or sorted(FOLDER.glob("*.ipynb")):
        write(each)
