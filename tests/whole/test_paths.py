"""Every file that the docs, the code and the tests name by its path is there."""

import re
from pathlib import Path

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
