"""A public class name has one meaning in the product, so that a search for it finds one class."""

import ast
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FOLDERS = ("gradir", "passes", "dialects", "tools")
OPS_MAY_BE_IN = ("dialects",)
# A user's error and the compiler's error with a place, which it wraps.
ERRORS = "gradir/errors.py"
ERROR_FILES = {ERRORS, "dialects/base/diagnostics.py"}


@dataclass(frozen=True)
class Definition:
    """A class of a file; `op` is its name in programs, None for classes that are no ops."""

    file: str
    op: str | None


def op_name(node: ast.ClassDef) -> str | None:
    """The `name = "dialect.x"` of a class whose own name ends in Op."""
    if not node.name.endswith("Op"):
        return None
    for line in node.body:
        match line:
            case ast.Assign(targets=[ast.Name(id="name")], value=ast.Constant(value=str() as name)):
                return name
            case _:
                pass
    return None


def definitions(source: str, file: str) -> Iterator[tuple[str, Definition]]:
    """The public classes of a file, nested ones too."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
            yield node.name, Definition(file, op_name(node))


def is_allowed(found: list[Definition]) -> bool:
    """Whether definitions of one name are ops of several dialects, or an error and its wrapper."""
    files = {each.file for each in found}
    if len(files) == 1:
        return True
    ops = {each.op for each in found}
    dialects = {op.partition(".")[0] for op in ops if op is not None}
    in_dialects = all(file.startswith(OPS_MAY_BE_IN) for file in files)
    return files == ERROR_FILES or (in_dialects and None not in ops and len(dialects) == len(found))


def wrong_names(sources: dict[str, str]) -> dict[str, set[str]]:
    """The names with several meanings, and their files."""
    by_name: defaultdict[str, list[Definition]] = defaultdict(list)
    for file, source in sources.items():
        for name, definition in definitions(source, file):
            by_name[name].append(definition)
    return {
        name: {each.file for each in found}
        for name, found in by_name.items()
        if not is_allowed(found)
    }


def product() -> dict[str, str]:
    """The product's files, without those reached through links."""
    paths = [path for folder in FOLDERS for path in (ROOT / folder).rglob("*.py")]
    found = {path.relative_to(ROOT): path for path in paths if path.resolve() == path}
    return {file.as_posix(): path.read_text("utf-8") for file, path in found.items()}


def test_a_class_name_has_one_meaning() -> None:
    assert wrong_names(product()) == {}


API, PASS = "gradir/api.py", "passes/fusion/fuse.py"
ARRAY, COMM = "dialects/array/arithmetic.py", "dialects/comm/messages.py"


def op(name: str) -> str:
    return f'class AddOp(Kind):\n    """Adds."""\n\n    name = "{name}"\n'


@pytest.mark.parametrize(
    ("sources", "wrong"),
    [
        ({PASS: "class Plan: ...", API: "class Plan: ..."}, {"Plan"}),
        ({PASS: "class Plan:\n    class Step: ...", API: "class Step: ..."}, {"Step"}),
        ({PASS: "class _Plan: ...", API: "class _Plan: ..."}, set()),
        ({PASS: "class Plan: ...", API: "class PlanB: ..."}, set()),
        ({ARRAY: op("array.add"), COMM: op("nn.add")}, set()),
        ({ARRAY: op("array.add"), COMM: op("array.add")}, {"AddOp"}),
        ({ARRAY: op("array.add"), COMM: "class AddOp: ..."}, {"AddOp"}),
        ({ARRAY: op("array.add"), PASS: op("nn.add")}, {"AddOp"}),
        (dict.fromkeys(ERROR_FILES, "class PassError(Exception): ..."), set()),
        ({ERRORS: "class E: ...", API: "class E: ..."}, {"E"}),
    ],
)
def test_what_counts_as_one_meaning(sources: dict[str, str], wrong: set[str]) -> None:
    assert wrong_names(sources).keys() == wrong
