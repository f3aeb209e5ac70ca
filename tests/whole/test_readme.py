"""The code in README.md, CONTRIBUTING.md and docs/ runs, in order, and gives the output shown.

In each document:

- python blocks run in one namespace, so that a later one can use an earlier one's names;
- sh blocks whose first command is one of gradir's run in bash, and stop at the first error;
- `<!-- file: NAME -->` before a block writes it to a file that later blocks can read;
- `<!-- output -->` before a block compares it with what the block before it printed;
- `<!-- quote: FILE -->` before a block says that a file of the project has these lines;
- `<!-- needs: PACKAGE -->` before a python block leaves it and its output out where an optional
  package is not installed; `make test-peers` installs them;
- `<!-- not run -->` before a block leaves it out.

All run in an empty folder with links to the project's examples, so files that they write are gone
afterwards.
"""

import contextlib
import io
import os
import re
import subprocess
import sys
import textwrap
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DOCUMENTS = sorted([ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")])
LINKS = ("benchmarks", "docs", "examples", "tests")


def name_of(document: Path) -> str:
    """A document's path, without docs/."""
    return document.relative_to(ROOT).as_posix().removeprefix("docs/")


BLOCK = re.compile(
    r"(?:^[ ]*<!--[ ]*(?P<mark>[^\n]*?)[ ]*-->[ ]*\n\n?)?"
    r"^(?P<indent>[ ]*)(?P<fence>`{3,})(?P<language>\w*)[^\n]*\n(?P<text>.*?)"
    r"^(?P=indent)(?P=fence)[ ]*$",
    re.MULTILINE | re.DOTALL,
)


@dataclass(frozen=True)
class Block:
    """A fenced block: the line of its first line, its language, its text, the comment before it."""

    line: int
    language: str
    text: str
    mark: str

    @property
    def runs(self) -> bool:
        """Whether the block is a program to run."""
        if self.mark == "not run" or self.mark.startswith("quote:"):
            return False
        if self.mark.startswith("needs: "):
            return find_spec(self.mark.removeprefix("needs: ")) is not None
        return self.language == "python" or (
            self.language == "sh" and first_command(self.text).startswith("gradir-")
        )


def blocks_of(document: str) -> list[Block]:
    """The fenced blocks of a document, in order."""
    return [
        Block(
            document.count("\n", 0, match.start("text")) + 1,
            match["language"],
            textwrap.dedent(match["text"]),
            match["mark"] or "",
        )
        for match in BLOCK.finditer(document)
    ]


def has_lines(text: str, quoted: str) -> bool:
    """Whether a file has the quoted lines, one after the other, whatever their indentation."""
    wanted = [line.strip() for line in quoted.strip().splitlines()]
    lines = [line.strip() for line in text.splitlines()]
    starts = range(len(lines) - len(wanted) + 1)
    return any(lines[k : k + len(wanted)] == wanted for k in starts)


def first_command(script: str) -> str:
    """The first line of a shell script that is neither empty nor a comment."""
    lines = (line.strip() for line in script.splitlines())
    return next((line for line in lines if line and not line.startswith("#")), "")


def run_python(block: Block, name: str, namespace: dict[str, object]) -> str:
    """Run a python block and return what it printed; errors name the document's line."""
    output = io.StringIO()
    code = compile("\n" * (block.line - 1) + block.text, name, "exec")
    before = dict(os.environ)
    try:
        with contextlib.redirect_stdout(output):
            exec(code, namespace)
    finally:  # a document may set variables, which are for it alone
        os.environ.clear()
        os.environ.update(before)
    return output.getvalue()


def run_shell(block: Block, name: str, folder: Path) -> str:
    """Run an sh block and return what it printed."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    result = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", block.text],
        cwd=folder,
        env=os.environ | {"PATH": path},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, f"{name}:{block.line}:\n{result.stdout}{result.stderr}"
    return result.stdout


def run_document(name: str, document: str, folder: Path) -> int:
    """Run a document's blocks in a folder and return how many ran."""
    namespace: dict[str, object] = {"__name__": "__main__"}
    output: str | None = None
    is_left_out = False
    count = 0
    for block in blocks_of(document):
        if block.mark == "output" and is_left_out:
            continue
        is_left_out = block.mark.startswith("needs: ") and not block.runs
        if block.mark == "output":
            assert output is not None, f"{name}:{block.line}: output of nothing that ran"
            assert output.strip() == block.text.strip(), f"{name}:{block.line}: other output"
        elif block.mark.startswith("file:"):
            (folder / block.mark.removeprefix("file:").strip()).write_text(block.text)
        elif block.runs:
            if block.language == "python":
                output = run_python(block, name, namespace)
            else:
                output = run_shell(block, name, folder)
            count += 1
    return count


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty working folder with links to what documents may read."""
    for name in LINKS:
        (tmp_path / name).symlink_to(ROOT / name)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("path", DOCUMENTS, ids=name_of)
def test_document_runs(path: Path, folder: Path) -> None:
    run_document(path.name, path.read_text(encoding="utf-8"), folder)


def test_readme_shows_the_library_and_the_commands() -> None:
    blocks = blocks_of((ROOT / "README.md").read_text(encoding="utf-8"))
    assert {"python", "sh"} <= {block.language for block in blocks if block.runs}


@pytest.mark.parametrize("path", DOCUMENTS, ids=name_of)
def test_quotations_are_true(path: Path) -> None:
    for block in blocks_of(path.read_text(encoding="utf-8")):
        if block.mark.startswith("quote: "):
            file = ROOT / block.mark.removeprefix("quote: ")
            assert has_lines(file.read_text(), block.text), f"{path.name}:{block.line}: {file.name}"


@pytest.mark.parametrize("path", DOCUMENTS, ids=name_of)
def test_marks_are_known(path: Path) -> None:
    marks = {block.mark for block in blocks_of(path.read_text(encoding="utf-8"))}
    others = {m for m in marks if not m.startswith(("file: ", "quote: ", "needs: "))}
    assert others <= {"", "output", "not run"}


SAMPLE = """\
```python
x = 2
```

<!-- file: greeting.txt -->
```text
hello
```

```sh
make something that is not run
```

<!-- not run -->
```python
raise AssertionError
```

```python
from pathlib import Path
print(x, Path("greeting.txt").read_text().strip())
```

<!-- output -->
```text
2 hello
```
"""


def test_blocks_run_in_order(folder: Path) -> None:
    assert run_document("sample", SAMPLE, folder) == 2


@pytest.mark.parametrize(("package", "count"), [("numpy", 2), ("no_such_package", 1)])
def test_blocks_need_packages(package: str, count: int, folder: Path) -> None:
    """Their output is left out with them; other blocks' is not."""
    sample = SAMPLE.replace("```python\nfrom", f"<!-- needs: {package} -->\n```python\nfrom")
    assert run_document("sample", sample, folder) == count
    with pytest.raises(AssertionError, match="other output"):
        run_document("sample", sample + SAMPLE.replace("2 hello", "3 hello"), folder)


def test_other_output_is_an_error(folder: Path) -> None:
    with pytest.raises(AssertionError, match="sample:26: other output"):
        run_document("sample", SAMPLE.replace("2 hello", "3 hello"), folder)


def test_an_error_in_a_block_is_an_error(folder: Path) -> None:
    with pytest.raises(NameError, match="y"):
        run_document("sample", SAMPLE.replace("x = 2", "y"), folder)


def test_a_failing_command_is_an_error(folder: Path) -> None:
    with pytest.raises(AssertionError, match="sample:2"):
        run_document("sample", "```sh\ngradir-no-such-command\n```\n", folder)
