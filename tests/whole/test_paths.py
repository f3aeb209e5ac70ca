"""Every file that the docs, the code and the tests name by its path is there.

So is every public name of gradir in the docs' text; the code in the docs runs elsewhere.
"""

import importlib
import re
from pathlib import Path
from typing import Any

import pytest

import gradir

ROOT = Path(__file__).parents[2]
NAMED = re.compile(r"(?<![\w./-])((?:[\w.-]+/)*(?!_invalid)[\w-]+\.(?:py|mlir|md|svg))\b")
FOLDERS = ("dialects", "passes", "gradir", "tools", "tests", "benchmarks", "examples", "docs")
FILES = [
    path
    for folder in FOLDERS
    for path in (ROOT / folder).rglob("*.*")
    if path.resolve().is_relative_to(ROOT / folder) and "__pycache__" not in path.parts
]
PATHS = {path.as_posix() for path in [*FILES, *ROOT.glob("*.*")]}
# files of a reader
WRITTEN = {
    "fit.py",
    "model.py",
    "power.mlir",
    "root.mlir",
    "root_grad.mlir",
    "epochs.svg",
    "results.svg",
    "wrong.mlir",
    "layer.mlir",
    "net.mlir",
    "step.mlir",
    "train.mlir",
    "train.py",
    "program.mlir",
}


def names_in(path: Path) -> set[str]:
    """The files that a text names: in code those with a folder before them."""
    found = set(NAMED.findall(path.read_text(encoding="utf-8"))) - WRITTEN
    return found if path.suffix == ".md" else {name for name in found if "/" in name}


def is_there(name: str, file: Path) -> bool:
    """Whether a name is a file's path, or ends one; or starts where the naming file is."""
    if (file.parent / name).exists() or (ROOT / name).exists():
        return True
    return any(path.endswith(f"/{name}") for path in PATHS)


def test_documents_name_files() -> None:
    files = [*ROOT.glob("*.md"), *(path for path in FILES if path.suffix == ".md")]
    files += [path for path in FILES if path.suffix == ".py"]
    missing = {
        f"{file.relative_to(ROOT)}: {name}"
        for file in files
        for name in names_in(file)
        if not is_there(name, file)
    }
    assert sorted(missing) == []


BLOCK = re.compile(r"```.*?```", re.DOTALL)
INLINE = re.compile(r"`([^`\n]+)`")
DOTTED = re.compile(r"\bgradir(?:\.[A-Za-z_]\w*)+")
OF_JITTED = re.compile(r"\bgradir\.(?:jit|grad|vjp|vmap)\(\w+\)\.(\w+)")
# a name that stands for any, an attribute of the IR, an op that a reader gives
NOT_PYTHON = {"gradir.numpy.X", "gradir.threads", "gradir.autograd_function"}


def has_name(dotted: str) -> bool:
    """Whether a name leads to a module, a class, a function or a method.

    What an optional package is needed for is taken to be there without it.
    """
    found: Any = gradir
    path = "gradir"
    for part in dotted.split(".")[1:]:
        path = f"{path}.{part}"
        try:
            found = getattr(found, part)
        except gradir.GradirError:
            return True
        except AttributeError:
            try:
                found = importlib.import_module(path)
            except gradir.GradirError:
                return True
            except ModuleNotFoundError:
                return False
    return True


# the changelog tells of names that were, and of mistakes
DOCUMENTS = [path for path in ROOT.glob("*.md") if path.name != "CHANGELOG.md"]
DOCUMENTS += (ROOT / "docs").rglob("*.md")


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_documents_name_what_is_there(document: Path) -> None:
    text = BLOCK.sub("", document.read_text(encoding="utf-8"))
    codes = INLINE.findall(text)
    names = {name for code in codes for name in DOTTED.findall(code)} - NOT_PYTHON
    assert sorted(name for name in names if not has_name(name)) == []
    jitted = gradir.jit(lambda x: x)
    methods = {name for code in codes for name in OF_JITTED.findall(code)}
    assert sorted(name for name in methods if not hasattr(jitted, name)) == []


def test_names_that_are_not_there() -> None:
    assert has_name("gradir.numpy.sin") and not has_name("gradir.numpy.sine")
    assert not has_name("gradir.sins.sin")
