"""Who may import whom: dialects <- passes <- gradir <- tools, and a light `import gradir`."""

import ast
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
LAYERS = ("dialects", "passes", "gradir", "tools")
LINKED = ("dialects", "passes", "tools")


def python_files(folder: str) -> list[Path]:
    """The Python files of a top-level folder, without those reached through links."""
    files = (ROOT / folder).rglob("*.py")
    return sorted(path for path in files if path.resolve().is_relative_to(ROOT / folder))


def module_parts(path: Path) -> list[str]:
    """The package that a file's relative imports start from."""
    parts = list(path.relative_to(ROOT).parent.parts)
    return parts if parts[:1] == ["gradir"] else ["gradir", *parts]


def imported_names(tree: ast.AST, package: list[str]) -> Iterator[tuple[int, str]]:
    """Line and full dotted name of everything that a file imports, at any depth."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            start = package[: len(package) - node.level + 1] if node.level else []
            base = [*start, *(node.module or "").split(".")] if node.module else start
            yield from ((node.lineno, ".".join([*base, alias.name])) for alias in node.names)


def layer_of(name: str) -> str | None:
    """The layer that a dotted name belongs to, or None for other projects' modules."""
    first, _, rest = name.partition(".")
    if first != "gradir":
        return None
    second = rest.partition(".")[0]
    return second if second in LINKED else "gradir"


def violations(source: str, layer: str, package: list[str]) -> list[str]:
    """What a file of `layer` imports that it must not."""
    found: list[str] = []
    for line, name in imported_names(ast.parse(source), package):
        if name.partition(".")[0] in LINKED:
            found.append(f"{line}: {name}: import it as gradir.{name}")
        target = layer_of(name)
        if target is not None and LAYERS.index(target) > LAYERS.index(layer):
            found.append(f"{line}: {layer} imports {name} of {target}")
    return found


@pytest.mark.parametrize("layer", LAYERS)
def test_imports_point_left(layer: str) -> None:
    files = python_files(layer)
    assert files, f"no Python files in {layer}"
    found = [
        f"{path.relative_to(ROOT)}:{violation}"
        for path in files
        for violation in violations(path.read_text(), layer, module_parts(path))
    ]
    assert found == []


@pytest.mark.parametrize("folder", ["tests", "examples", "benchmarks"])
def test_no_second_name_for_a_module(folder: str) -> None:
    found = [
        f"{path.relative_to(ROOT)}:{violation}"
        for path in python_files(folder)
        for violation in violations(path.read_text(), "tools", [folder])
    ]
    assert found == []


@pytest.mark.parametrize(
    ("source", "layer"),
    [
        ("import gradir.passes.gradient.gradient", "dialects"),
        ("from gradir.text.parser import parse", "dialects"),
        ("from gradir import parser", "passes"),
        ("from gradir import tools", "gradir"),
        ("from ..passes import gradient", "dialects"),
        ("def f():\n    from gradir.tools import gradir_opt", "gradir"),
        ("import dialects.array", "tools"),
        ("from passes import gradient", "tools"),
    ],
)
def test_the_check_sees_a_violation(source: str, layer: str) -> None:
    assert len(violations(source, layer, ["gradir", layer])) == 1


@pytest.mark.parametrize(
    ("source", "layer"),
    [
        ("from gradir import dialects", "passes"),
        ("from .array import AddOp", "dialects"),
        ("from gradir.dialects.array import AddOp", "gradir"),
        ("from gradir.text.parser import parse", "tools"),
        ("import tools_of_another_project", "dialects"),
    ],
)
def test_the_check_lets_the_rest_pass(source: str, layer: str) -> None:
    assert violations(source, layer, ["gradir", layer]) == []


@pytest.mark.parametrize(
    "module", ["gradir", "gradir.dialects.array", "gradir.dialects.nn", "gradir.passes"]
)
def test_import_is_light(module: str) -> None:
    """No code generator, compiler or frontend before it is needed."""
    heavy = (
        "llvmlite",
        "numpy",
        "gradir.frontends",
        "gradir.codegen",
        "gradir.runtime.jit",
        "gradir.tools",
    )
    program = f"import sys, {module}\nprint([name for name in {heavy} if name in sys.modules])"
    command = [sys.executable, "-c", program]
    result = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT / "tests")
    assert result.stdout.strip() == "[]"


LOADED = """
import sys
import numpy
import gradir
before = [name for name in ("xdsl", "gradir.api") if name in sys.modules]
import gradir.numpy as gnp
import_ = [name for name in {import_} if name in sys.modules]
gradir.jit(lambda x: gnp.sum(gnp.sin(x)))(numpy.ones(3))
print(before, import_, [name for name in {first} if name in sys.modules])
"""


def test_what_a_small_program_does_not_load() -> None:
    """No pass before the first program, and then none that it does not need."""
    first = (
        *("gradir.passes.gradient.gradient", "gradir.passes.rules", "gradir.passes.training"),
        *("gradir.text.parser", "gradir.codegen.contractions.kernel"),
        *("gradir.runtime.host_calls", "gradir.dialects.spatial", "gradir.dialects.nn"),
    )
    import_ = (*first, "llvmlite", "gradir.codegen", "gradir.compiler", "gradir.passes.verify")
    command = [sys.executable, "-c", LOADED.format(import_=import_, first=first)]
    result = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT / "tests")
    assert result.stdout.strip() == "[] [] []"


# The rooms of gradir/, the lowest first: a room imports from those before it, and from itself.
GRADIR_ROOMS = (
    *(
        "nearest",
        "diagnostics",
        "errors",
        "argument_checks",
        "checks",
        "forking",
        "gc_pause",
        "quick_imports",
        "digests",
        "builtin",
        "universe",
    ),
    *("packages", "plugins", "registry", "symbols", "long_compilations"),
    *("cache", "text", "codegen", "runtime", "interpreter", "validation", "compiler", "stablehlo"),
    *("explain", "profiling", "explore", "api"),
    *(
        "frontends",
        "aot",
        "build",
        "checking",
        "numpy",
        "nn",
        "scipy",
        "random",
        "optim",
        "debug",
        "comm",
        "tree",
        "testing",
        "interop",
        "compat",
    ),
    *("__init__", "__main__"),
)


def gradir_room(name: str) -> str | None:
    """The room of gradir/ that a dotted name belongs to; None for what lies elsewhere."""
    first, *rest = name.split(".")
    if first != "gradir" or (rest and rest[0] in LINKED):
        return None
    return rest[0] if rest and rest[0] in GRADIR_ROOMS else "__init__"


def arrows_up(path: Path) -> list[str]:
    """What a file imports from rooms above its own."""
    rooms = GRADIR_ROOMS
    own = path.relative_to(ROOT / "gradir").with_suffix("").parts[0]
    assert own in rooms, f"{path}: which room of gradir is it in?"
    imported = imported_names(ast.parse(path.read_text()), module_parts(path))
    return [
        f"{path.relative_to(ROOT)}:{line}: {name}"
        for line, name in imported
        if (room := gradir_room(name)) and rooms.index(room) > rooms.index(own)
    ]


def test_rooms_of_gradir() -> None:
    """Also inside of functions, where a circle would hide."""
    files = python_files("gradir")
    assert [arrow for path in files for arrow in arrows_up(path)] == []
    used = {path.relative_to(ROOT / "gradir").with_suffix("").parts[0] for path in files}
    assert used == set(GRADIR_ROOMS)


@pytest.mark.parametrize(
    ("name", "room"),
    [
        ("gradir.text.parser.parse", "text"),
        ("gradir.parse", "__init__"),
        ("gradir", "__init__"),
        ("gradir.passes.gradient", None),
        ("numpy.linalg", None),
    ],
)
def test_names_are_in_rooms(name: str, room: str | None) -> None:
    assert gradir_room(name) == room


# Passes and code generation ask ops what they are. These name tensor ops, and say why.
NAMES_TENSOR_OPS = {
    "passes/lower/sum_slices.py": "a sum of slices at run-time places, in the loop that adds them",
    "passes/rules/loops/state.py": "a stack of records is a tensor, written at the trip's number",
    "passes/training/data_parallel.py": "a rank's shards are slices, and their keys numbers",
    "passes/training/reduced_gradient.py": "gradients are joined to buckets, and averaged",
    "passes/training/parts.py": "a tensor in equal parts is a line of its elements, and slices",
    "passes/training/shard_state.py": "a constant, and a number for all elements, in parts",
    "passes/rules/branch_results.py": "a record of one branch as the bytes of another's shape",
}
TENSOR_OPS = tuple(f"gradir.dialects.{name}." for name in ("array", "nn", "spatial", "comm"))


def tensor_ops_named(path: Path) -> list[str]:
    """The classes of tensor ops that a file imports."""
    imported = imported_names(ast.parse(path.read_text()), module_parts(path))
    return [name for _, name in imported if name.startswith(TENSOR_OPS) and name.endswith("Op")]


@pytest.mark.parametrize("folder", ["passes", "gradir/codegen"])
def test_passes_name_no_tensor_op(folder: str) -> None:
    files = {str(path.relative_to(ROOT)): path for path in python_files(folder)}
    naming = {name for name, path in files.items() if tensor_ops_named(path)}
    allowed = {name for name in NAMES_TENSOR_OPS if name.startswith(folder)}
    assert naming == allowed


# The rooms of a folder, the lowest first: a file imports from its own room and from those before.
ROOMS = {
    "passes": (
        *("analysis", "verify", "shapes", "cleanup", "differentiate", "recompute"),
        *("rules", "rules.loops", "gradient", "batch", "lower", "training", "fusion", "buffers"),
    ),
    "gradir/codegen": (
        *("costs", "kernel_key", "text", "vector_math", "bodies", "nests", "contractions"),
        *("programs", "rows", "driver"),
    ),
    "gradir/frontends": (
        *(
            "tracing",
            "building",
            "functions",
            "transforms",
            "scipy",
            "random",
            "optim",
            "comm",
            "training",
            "caffe2",
            "imported",
            "imported.jax_rules",
            "imported.torch_rules",
            "imported.onnx_rules",
            "imported.stablehlo_rules",
            "onnx",
            "stablehlo",
        ),
    ),
}


def room_of(name: str, folder: str) -> str | None:
    """The room of a folder that a dotted name is in, the innermost; None if it is in none."""
    found = [r for r in ROOMS[folder] if f"{name}.".startswith(f"{dotted(folder)}.{r}.")]
    return max(found, key=len, default=None)


def dotted(folder: str) -> str:
    return ".".join(module_parts(ROOT / folder / "__init__.py"))


def imports_of_later_rooms(source: str, folder: str, room: str) -> list[str]:
    """What a file of a room imports of rooms behind it, also inside of functions."""
    rooms, package = ROOMS[folder], f"{dotted(folder)}.{room}".split(".")
    found: list[str] = []
    for line, name in imported_names(ast.parse(source), package):
        target = room_of(name, folder)
        if target is not None and rooms.index(target) > rooms.index(room):
            found.append(f"{line}: {room} imports {name} of {target}")
    return found


@pytest.mark.parametrize("folder", ROOMS)
def test_rooms_import_earlier_rooms(folder: str) -> None:
    """No room is left out, and none imports from a later one."""
    found: list[str] = []
    rooms: set[str] = set()
    for path in python_files(folder):
        room = ".".join(path.relative_to(ROOT / folder).with_suffix("").parts)
        if "." in room:
            room = room.rpartition(".")[0]
        if room != "__init__":
            rooms.add(room)
            imports = imports_of_later_rooms(path.read_text(), folder, room)
            found += [f"{path.relative_to(ROOT)}:{each}" for each in imports]
    assert (rooms, found) == (set(ROOMS[folder]), [])


@pytest.mark.parametrize(
    ("source", "room", "count"),
    [
        ("from gradir.passes.gradient.gradient import gradient", "rules.loops", 1),
        ("def f():\n    from gradir.passes.recompute.costs import Costs", "differentiate", 1),
        ("if TYPE_CHECKING:\n    from gradir.passes.recompute import costs", "cleanup", 1),
        ("from gradir.passes.rules.loops.body import Body", "rules", 1),
        ("from .loops import body", "rules", 1),
        ("import gradir.passes.buffers", "fusion", 1),
        ("from gradir.passes.rules.calls import Key", "rules.loops", 0),
        ("from gradir.passes.cleanup.dce import dce\nimport numpy", "cleanup", 0),
    ],
)
def test_the_check_sees_a_later_room(source: str, room: str, count: int) -> None:
    assert len(imports_of_later_rooms(source, "passes", room)) == count


# The rooms of dialects in the order of their imports, and who names a later room as it runs.
DIALECT_ROOMS = (
    *("base", "loopnest", "building", "array", "spatial", "grad", "nn", "comm", "foreign"),
    *("planes", "spectral", "__init__"),
)
NAMES_BACKWARD_OPS = {("array", "grad"), ("spatial", "nn"), ("grad", "nn")}


def imported_rooms(path: Path, package: str) -> Iterator[tuple[str, bool]]:
    """The rooms of a package that a file imports, and whether it does so as it is loaded."""

    def walk(node: ast.AST, at_load: bool) -> Iterator[tuple[str, bool]]:
        is_function = isinstance(node, ast.FunctionDef | ast.Lambda)
        is_typing = isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
        if isinstance(node, ast.Import | ast.ImportFrom):
            for _, name in imported_names(ast.Module([node], []), []):
                if name.startswith(package + "."):
                    yield name.removeprefix(package + ".").partition(".")[0], at_load
        elif not is_typing:
            for child in ast.iter_child_nodes(node):
                yield from walk(child, at_load and not is_function)

    return walk(ast.parse(path.read_text()), True)


def upward(folder: str, package: str, rooms: Sequence[str]) -> tuple[list[str], set[Any]]:
    """The imports of later rooms as a file is loaded; and those as a function runs, by room."""
    loading: list[str] = []
    running: set[tuple[str, str]] = set()
    for path in python_files(folder):
        inner = path.relative_to(ROOT / folder).parts
        room = inner[0] if len(inner) > 1 else path.stem
        for target, at_load in imported_rooms(path, package):
            if rooms.index(target) <= rooms.index(room):
                continue
            if at_load:
                loading.append(f"{path.relative_to(ROOT)} imports {target}")
            else:
                running.add((room, target))
    return loading, running


def test_rooms_of_dialects() -> None:
    """An op names another room's op for a derivative or a decomposition; base and loops do not."""
    loading, running = upward("dialects", "gradir.dialects", DIALECT_ROOMS)
    assert (loading, running) == ([], NAMES_BACKWARD_OPS)
