"""The pages of decisions: their form, their index, and that what they name in backticks is there.

`test_paths.py` has the names of files; here are folders, ops, and names of the code.
"""

import re
from collections import Counter
from pathlib import Path

import pytest

from gradir.tools.gen_decisions_index import INDEX, index, lead, pages, paragraphs

ROOT = Path(__file__).parents[2]
FOLDERS = ("dialects", "passes", "gradir", "tools", "tests", "benchmarks", "examples", "docs")
QUOTED = re.compile(r"`([^`]+)`")
PATH = re.compile(rf"(?:{'|'.join(FOLDERS)})(?:/[\w.-]+)*/?")
NAME = re.compile(r"[A-Za-z_]\w*(?:\.\w+)*")
# `name` in `file.py`, `name` (`file.py`), `name`, `file.py`
BESIDE = re.compile(r"`(\w+)`(?: in |, | \()`([\w/.-]+\.py)`")
WORD = re.compile(r"\w+")
COMMAND = re.compile(r"gradir-[a-z]+(?:-[a-z]+)*")
# Names of other software, and of rejected ways.
FOREIGN = {
    "ReluGradient",  # a type of Caffe2's operators
    "reportPrivateUsage",
    "signal.set_wakeup_fd",
}


def sources() -> list[Path]:
    """The files of code; the folders in gradir/ that are links are read once, by their names."""
    return [
        path
        for folder in FOLDERS
        for path in (ROOT / folder).rglob("*.*")
        if path.suffix in (".py", ".mlir") and path != Path(__file__)
    ]


@pytest.fixture(scope="module")
def texts() -> dict[str, str]:
    """The text of each file of code, by its path."""
    return {path.as_posix(): path.read_text(encoding="utf-8") for path in sources()}


@pytest.fixture(scope="module")
def words(texts: dict[str, str]) -> set[str]:
    """The words of the code, and the names of commands and passes."""
    patterns = (WORD, COMMAND)
    return {
        word for text in texts.values() for pattern in patterns for word in pattern.findall(text)
    }


@pytest.fixture(scope="module")
def dialect_names(texts: dict[str, str]) -> set[str]:
    """The strings "dialect.name" in the code: ops, attributes and types."""
    return {name for text in texts.values() for name in re.findall(r'"(\w+\.\w+)"', text)}


def quoted(text: str) -> set[str]:
    """What stands in backticks, without line ends."""
    return {" ".join(code.split()) for code in QUOTED.findall(text)}


def absent_paths(text: str) -> set[str]:
    """The paths from the project's folders that are not there."""
    paths = {code for code in quoted(text) if PATH.fullmatch(code)}
    return {path for path in paths if not (ROOT / path).exists()}


def is_checkable(code: str) -> bool:
    """Whether it is a name with a dot, an underscore or a capital."""
    is_name = NAME.fullmatch(code) is not None and not code.endswith(
        (".py", ".md", ".mlir", ".txt")
    )
    return is_name and re.search(r"[._A-Z]", code) is not None


def absent_names(text: str, words: set[str], dialect_names: set[str]) -> set[str]:
    """The names that no file of code has: ops and attributes whole, others by their parts."""
    dialects = {name.partition(".")[0] for name in dialect_names} & {"array", "nn", "grad", "comm"}
    found = set()
    for code in filter(is_checkable, quoted(text) - FOREIGN):
        parts = code.split(".")
        is_of_dialect = len(parts) == 2 and parts[0] in dialects
        if code not in dialect_names if is_of_dialect else not words.issuperset(parts):
            found.add(code)
    return found | {name for name in COMMAND.findall(text) if name not in words}


def absent_beside(text: str, texts: dict[str, str]) -> set[tuple[str, str]]:
    """The names that the file beside them does not have."""
    return {
        (name, file)
        for name, file in BESIDE.findall(text)
        if not any(
            path.endswith(f"/{file}") and re.search(rf"\b{name}\b", code)
            for path, code in texts.items()
        )
    }


@pytest.mark.parametrize("page", pages(), ids=lambda page: page.stem)
def test_page_has_title_sentence_and_entries(page: Path) -> None:
    title, says, *entries = paragraphs(page)
    assert re.fullmatch(r"# [^\n]+", title)
    assert re.fullmatch(r"[^*#\n][^\n]+\.", says)
    assert [entry[:60] for entry in entries if lead(entry) is None] == []
    assert [entry[:60] for entry in entries if "\n**" in entry] == [], "an empty line before it"


def test_no_decision_stands_twice() -> None:
    leads = Counter(lead(entry) for page in pages() for entry in paragraphs(page)[2:])
    assert [words for words, count in leads.items() if count > 1] == []


def test_index_is_current() -> None:
    assert INDEX.read_text(encoding="utf-8") == index(), "run `make docs`"


@pytest.mark.parametrize("page", pages(), ids=lambda page: page.stem)
def test_what_is_named_is_there(
    page: Path, texts: dict[str, str], words: set[str], dialect_names: set[str]
) -> None:
    text = page.read_text(encoding="utf-8")
    assert absent_paths(text) == set()
    assert absent_names(text, words, dialect_names) == set()
    assert absent_beside(text, texts) == set()


def test_what_is_gone_is_found(
    texts: dict[str, str], words: set[str], dialect_names: set[str]
) -> None:
    gone = "absent_here"  # this file is left out of the code that is read
    bad = f"`passes/{gone}/`, `{gone}`, `grad.{gone}`, `gradir.{gone}`, gradir-no-such"
    text = f"{bad}, `grad.gate`, gradir-simplify, `passes/fusion/`"
    assert absent_paths(text) == {f"passes/{gone}/"}
    assert absent_names(text, words, dialect_names) == {
        gone,
        f"grad.{gone}",
        f"gradir.{gone}",
        "gradir-no-such",
    }
    beside = f"`{gone}` in `passes/fusion/fuse.py`, (`STAGES`, `compiler/pipeline.py`)"
    assert absent_beside(beside, texts) == {(gone, "passes/fusion/fuse.py")}
