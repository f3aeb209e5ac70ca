"""gradir-opt's command line, the registry behind it, and the universe for xDSL's own tools."""

from __future__ import annotations

import inspect
import io
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Literal

import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, Dialect
from xdsl.passes import ModulePass
from xdsl.universe import XDSL_UNIVERSE, Universe
from xdsl.utils.exceptions import PassFailedException

from gradir import registry, universe
from gradir.diagnostics import Diagnostic
from gradir.dialects.base.diagnostics import PassError
from gradir.errors import ArgumentError
from gradir.tools import gradir_opt
from gradir.tools.expected_diagnostics import compare, expectations

PROGRAM = """func.func @f(%x: f64) -> f64 {
  %y = arith.addf %x, %x : f64
  func.return %y : f64
}
"""
PRINTED = """builtin.module {
  func.func @f(%x: f64) -> f64 {
    %y = arith.addf %x, %x : f64
    func.return %y : f64
  }
}
"""
NOT_DOMINATED = PROGRAM.replace("%x, %x", "%x, %y")

BIN = Path(sys.executable).parent

Capture = pytest.CaptureFixture[str]


@pytest.fixture
def program(tmp_path: Path) -> str:
    """A file that holds PROGRAM."""
    file = tmp_path / "program.mlir"
    file.write_text(PROGRAM)
    return str(file)


def run(capsys: Capture, *arguments: str) -> tuple[int, str, str]:
    """Exit code, standard output and standard error of gradir-opt."""
    code = gradir_opt.main(arguments)
    output, errors = capsys.readouterr()
    assert "Traceback" not in errors
    return code, output, errors


# Input and output


def test_prints_the_program(program: str, capsys: Capture) -> None:
    """Without a pass, the program is parsed, verified and printed."""
    assert run(capsys, program) == (0, PRINTED + "\n", "")


@pytest.mark.parametrize("arguments", [[], ["-"]])
def test_standard_input(
    arguments: list[str], capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`-` and no file at all read standard input, which errors call <stdin>."""
    for text, code, errors in (
        (PROGRAM, 0, ""),
        ("]", 1, "<stdin>:1:1: error: expected an operation, got ']'\n]\n^\n"),
    ):
        stream = io.TextIOWrapper(io.BytesIO(text.encode()))
        monkeypatch.setattr(sys, "stdin", stream)
        assert run(capsys, *arguments)[::2] == (code, errors)


@pytest.mark.parametrize("name", ["program.txt", "program", "program.mlir.in"])
def test_any_extension(name: str, tmp_path: Path, capsys: Capture) -> None:
    """The name of the file does not matter."""
    (tmp_path / name).write_text(PROGRAM)
    assert run(capsys, str(tmp_path / name))[0] == 0


def test_unreadable_files(tmp_path: Path, capsys: Capture) -> None:
    """A missing file, a folder, and bytes that are no text."""
    missing = str(tmp_path / "missing.mlir")
    expected = f"error: cannot read '{missing}': No such file or directory\n"
    assert run(capsys, missing) == (1, "", expected)
    assert "Is a directory" in run(capsys, str(tmp_path))[2]
    binary = tmp_path / "binary"
    binary.write_bytes(b"// text\n\x7fELF\x80")
    code, _, errors = run(capsys, str(binary))
    assert code == 1 and errors.startswith(
        f"{binary}:2:5: error: expected UTF-8 text, got byte 0x80"
    )


def test_output_file(program: str, tmp_path: Path, capsys: Capture) -> None:
    """The output is written if there was no error; an old file stays if there was one."""
    target = tmp_path / "out.mlir"
    assert run(capsys, program, "-o", str(target)) == (0, "", "")
    assert target.read_text() == PRINTED + "\n"
    bad = tmp_path / "bad.mlir"
    bad.write_text(NOT_DOMINATED)
    assert run(capsys, str(bad), "-o", str(target))[0] == 1
    assert target.read_text() == PRINTED + "\n"
    assert run(capsys, program, "-o", "-")[1] == PRINTED + "\n"
    code, _, errors = run(capsys, program, "-o", str(tmp_path / "no" / "folder"))
    assert code == 1 and "error: cannot write" in errors


def test_errors_are_located(tmp_path: Path, capsys: Capture) -> None:
    """File, line, column, source line and caret go to standard error; the exit code is 1."""
    file = tmp_path / "f.mlir"
    file.write_text(NOT_DOMINATED)
    code, output, errors = run(capsys, str(file))
    assert (code, output) == (1, "")
    assert errors.startswith(
        f"{file}:2:3: error: arith.addf: %y is used before it is defined\n"
        "  %y = arith.addf %x, %y : f64\n"
        "  ^\n"
    )
    assert run(capsys, str(file), "--disable-verify")[0] == 0


def test_disable_verify_ends_with_the_run(program: str, capsys: Capture) -> None:
    """xDSL switches attribute checks off for the process; main switches them on again."""
    before = Attribute.__post_init__
    run(capsys, program, "--disable-verify")
    assert Attribute.__post_init__ is before


def test_split_input(tmp_path: Path, capsys: Capture) -> None:
    """Each chunk is processed, lines count from the start of the file, comments may stand alone."""
    file = tmp_path / "f.mlir"
    file.write_text(f"// RUN\n// -----\n{PROGRAM}// -----\n{NOT_DOMINATED}// -----\n{PROGRAM}")
    code, output, errors = run(capsys, str(file), "--split-input-file")
    assert code == 1
    assert output.split("// -----\n") == [
        "builtin.module {\n}\n\n",
        PRINTED + "\n",
        "",
        PRINTED + "\n",
    ]
    assert errors.startswith(f"{file}:9:3: error:")


def test_a_dashed_comment_does_not_split(tmp_path: Path, capsys: Capture) -> None:
    """Only a line that is exactly the separator splits."""
    file = tmp_path / "f.mlir"
    file.write_text(f"// ---------- title\n{PROGRAM}")
    assert run(capsys, str(file), "--split-input-file") == (0, PRINTED + "\n", "")


def test_parsing_diagnostics(tmp_path: Path, capsys: Capture) -> None:
    """As in xdsl-opt, the message goes to standard output and is no failure."""
    file = tmp_path / "f.mlir"
    file.write_text("]")
    code, output, errors = run(capsys, str(file), "--parsing-diagnostics")
    assert (code, errors) == (0, "") and "error: expected an operation" in output


def test_broken_pipe(program: str) -> None:
    """A reader that goes away causes no traceback."""
    many = Path(program).with_name("many.mlir")
    many.write_text("\n".join(PROGRAM.replace("@f", f"@f{i}") for i in range(2000)))
    command = f"'{BIN}/gradir-opt' '{many}' | true"
    result = subprocess.run(command, shell=True, capture_output=True, text=True, check=False)
    assert result.stderr == ""


# Arguments


def test_list_passes(capsys: Capture) -> None:
    """Every pass has a line; gradir's come first and say what they do."""
    code, output, _ = run(capsys, "--list-passes")
    lines = output.splitlines()
    names = [line.split()[0] for line in lines]
    assert code == 0 and set(names) == set(registry.passes())
    ours = [line for line in lines if line.startswith("gradir-")]
    assert lines[: len(ours)] == ours and len(ours) == len(registry.PASSES)
    assert all(len(line.split()) > 3 for line in ours)


def test_version_and_help(capsys: Capture) -> None:
    """Both end with code 0; wrong flags and targets end with code 1."""
    assert run(capsys, "--version")[0] == 0
    code, output, _ = run(capsys, "--help")
    assert code == 0 and "--verify-diagnostics" in output
    assert run(capsys, "--no-such-flag")[0] == 1
    assert run(capsys, "-t", "nothing")[0] == 1
    assert run(capsys, "-t", "{")[2].startswith("pass-pipeline:1:1: error:")


@pytest.mark.parametrize("target", ["mlir", "llvm"])
def test_targets(target: str, program: str, capsys: Capture) -> None:
    """xDSL's output formats are all there; one that cannot take the program says so."""
    code, output, errors = run(capsys, program, "-t", target)
    assert bool(output.strip()) == (code == 0)
    assert bool(errors.strip()) == (code == 1)


def test_light_start() -> None:
    """Neither NumPy nor llvmlite is loaded to print a program."""
    code = (
        "import sys\nfrom gradir.tools.gradir_opt import main\n"
        "assert main(['-']) == 0\n"
        "assert not {'numpy', 'llvmlite'} & sys.modules.keys()"
    )
    result = subprocess.run(
        [sys.executable, "-c", code], input=PROGRAM, capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, result.stderr


# Passes


@dataclass(frozen=True)
class OptionsPass(ModulePass):
    """Has options of every kind, and fails in the way `how` says."""

    name = "test-options"
    function: str
    wrt: tuple[int | str, ...] | None = None
    mode: Literal["split", "vjp", "grad"] = "split"
    memory_limit: int | None = None
    req: str | None = None

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        target = next(each for each in op.walk() if each.name == "arith.addf")
        match self.function:
            case "located":
                raise PassError("arith.addf: no", target)
            case "unlocated":
                raise PassFailedException("no")
            case "bug":
                raise KeyError("x")
            case "missing":
                raise NotImplementedError("not yet")
            case "recursion":
                raise RecursionError
            case "invalid":
                target.operands[0] = target.results[0]
            case _:
                pass


AVAILABLE: registry.Passes = {OptionsPass.name: lambda: OptionsPass}


def parse(spec: str) -> ModulePass:
    """The one pass of a pipeline."""
    (parsed,) = registry.parse_passes(spec, AVAILABLE).passes
    return parsed


@pytest.mark.parametrize(
    "options, expected",
    [
        ("function=f", OptionsPass("f")),
        ("function=f wrt=0", OptionsPass("f", (0,))),
        ("function=f wrt=0,2", OptionsPass("f", (0, 2))),
        ("function=f wrt=h,1", OptionsPass("f", ("h", 1))),
        ('function=f wrt="0"', OptionsPass("f", ("0",))),
        ("function=f mode=vjp memory-limit=64", OptionsPass("f", None, "vjp", 64)),
        ('function=f req="w=add,1=null"', OptionsPass("f", req="w=add,1=null")),
    ],
)
def test_options(options: str, expected: OptionsPass) -> None:
    """Indices and names mix in one option."""
    assert parse(f"test-options{{{options}}}") == expected


@pytest.mark.parametrize(
    "spec, message",
    [
        (
            "test-option{function=f}",
            "error: unknown pass 'test-option'; did you mean test-options?",
        ),
        ("test-options", "error: pass 'test-options' needs option 'function'"),
        ("test-options{function=f x=1}", "has no option 'x'; its options: function, wrt, mode"),
        (
            "test-options{function=f mode=up}",
            "option 'mode' must be one of split, vjp, grad, got up",
        ),
        (
            "test-options{function=f wrt=1.5}",
            "option 'wrt' must be a whole number or a name, or several, s",
        ),
        (
            "test-options{function=f memory_limit=1k}",
            "option 'memory_limit' must be a whole number, got 1k",
        ),
        ("test-options{function}", "option 'function' must be a name, got nothing"),
        ("test-options{function=1}", "option 'function' must be a name, got 1"),
        ("test-options{function=f wrt=}", "pass-pipeline:1:29: error: Unknown argument value"),
        ("test-options{", "pass-pipeline:1:14: error: Expected argument name here"),
        (",", "pass-pipeline:1:1: error: Expected pass name here"),
    ],
)
def test_wrong_pipelines(spec: str, message: str) -> None:
    """The message names the pass, the option and what it takes."""
    with pytest.raises(ArgumentError) as caught:
        parse(spec)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    "how, expected",
    [
        ("located", "program.mlir:2:3: error: arith.addf: no\n  %y = arith.addf"),
        ("unlocated", "error: no\n"),
        ("bug", "error in pass 'test-options', which is not gradir's: KeyError: 'x'; --traceb"),
        ("missing", "pass 'test-options', which is not gradir's, does not take this program: no"),
        ("recursion", "error: the program is nested too deeply"),
        ("invalid", "program.mlir:2:3: error: arith.addf: %y is used before it is defined"),
    ],
)
def test_failing_passes(
    how: str, expected: str, program: str, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever a pass raises is one message; what it leaves is verified."""
    monkeypatch.setattr(registry, "passes", lambda: dict(AVAILABLE))
    code, output, errors = run(capsys, program, "-p", f"test-options{{function={how}}}")
    assert (code, output) == (1, "")
    assert expected in errors


def test_between_passes(program: str, capsys: Capture) -> None:
    """The IR between passes goes to standard output, times to standard error."""
    arguments = ("-p", "cse,dce", "--print-between-passes", "--time-passes")
    code, output, errors = run(capsys, program, *arguments)
    assert code == 0 and output.startswith("IR after cse:")
    assert [line.split()[:3] for line in errors.splitlines()] == [
        ["Pass", "cse", "took"],
        ["Pass", "dce", "took"],
    ]


def test_registry_is_complete() -> None:
    """Every pass of gradir is in the table, under its own name, and can be loaded."""
    import gradir

    defined: set[str] = set()
    assert gradir.__file__ is not None
    folder = Path(gradir.__file__).parent
    rooms = [folder / name for name in ("passes", "codegen", "compiler", "stablehlo")]
    files = [*folder.glob("*.py"), *(file for room in rooms for file in room.rglob("*.py"))]
    for file in files:
        parents = file.relative_to(folder.parent).parent.parts
        module = import_module(".".join([*parents, file.stem]))
        for _, member in inspect.getmembers(module, inspect.isclass):
            if issubclass(member, ModulePass) and member.__module__ == module.__name__:
                defined.add(member.name)
    assert {thunk().name for thunk in registry.own_passes().values()} == defined
    for name, thunk in registry.own_passes().items():
        assert thunk().name == name and (thunk().__doc__ or "").strip()


def test_dialects_load() -> None:
    """Each of gradir's dialects can be loaded under its name."""
    for name, thunk in registry.own_dialects().items():
        assert thunk().name == name


# Comments that expect diagnostics


def check(text: str, *got: Diagnostic) -> list[str]:
    """The complaints about these diagnostics, `line: message`."""
    wanted, malformed = expectations(text, "f")
    return [f"{each.line}: {each.message}" for each in malformed + compare(wanted, list(got), "f")]


def error(line: int, message: str, *notes: Diagnostic) -> Diagnostic:
    """An error in the file `f`."""
    return Diagnostic("error", message, "f", line, 1, notes)


def test_expected_places() -> None:
    """@+N, @-N, @above, @below, the comment's own line, and no place at all."""
    text = """a // expected-error {{one}}
b
// expected-error @-1 {{two}}
// expected-error@+3 {{three}}
// expected-error @above {{four}}
// expected-error @below {{five}} expected-error @+1 {{six}}
c
// expected-error @unknown {{seven}}"""
    places = {"one": 1, "two": 2, "three": 7, "four": 2, "five": 7, "six": 7}
    got = [error(line, f"says {message}.") for message, line in places.items()]
    got.append(Diagnostic("error", "seven"))
    assert check(text, *got) == []
    moved = [error(line + 1, message) for message, line in places.items()]
    assert len(check(text, *moved, Diagnostic("error", "seven"))) == 2 * len(places)


def test_expected_notes_and_counts() -> None:
    """Notes count; each comment matches once; severity matters."""
    text = "a // expected-error {{one}} expected-note {{two}}"
    note = Diagnostic("note", "two", "f", 1, 1)
    assert check(text, error(1, "one", note)) == []
    assert check(text, error(1, "one")) == ['1: expected note "two" was not produced']
    assert check("a", error(1, "one", note)) == [
        "1: unexpected error: one",
        "1: unexpected note: two",
    ]
    assert check(text, error(1, "one", note), error(1, "one")) == ["1: unexpected error: one"]
    assert check("// expected-error @+1 one") == [
        "1: malformed comment; write expected-error @+1 {{text}}"
    ]


# The universe


class FakeEntryPoint:
    """An installed plugin."""

    def __init__(self, name: str, load: Callable[[], object]) -> None:
        self.name, self.load = name, load


def install(monkeypatch: pytest.MonkeyPatch, **plugins: Callable[[], object]) -> None:
    """Make the environment have these plugins and xDSL itself."""
    points = [FakeEntryPoint(name, load) for name, load in plugins.items()]
    points.append(FakeEntryPoint("xdsl", lambda: XDSL_UNIVERSE))

    def entry_points(group: str) -> list[FakeEntryPoint]:
        assert group == "xdsl.universe"
        return points

    monkeypatch.setattr("importlib.metadata.entry_points", entry_points)


def other_nn() -> Dialect:
    """Somebody else's dialect `nn`."""
    return Dialect("nn")


def nn_universe() -> Universe:
    """Somebody else's universe."""
    return Universe(all_dialects={"nn": other_nn})


def test_universe_in_xdsl_tools(monkeypatch: pytest.MonkeyPatch) -> None:
    """With the entry point, xDSL's tools know gradir's names."""
    ours = {"array", "nn", "grad", "comm", "loopnest", "stablehlo"}
    assert set(universe.GRADIR_UNIVERSE.all_dialects) == ours
    install(monkeypatch, gradir=lambda: universe.COURTEOUS_UNIVERSE)
    everything = Universe.get_multiverse()
    assert {"array", "nn", "grad", "loopnest", "arith"} <= everything.all_dialects.keys()
    assert "gradir-verify" in everything.all_passes


@pytest.mark.parametrize("name", ["a", "z"])
def test_universe_gives_way(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another plugin's name stays its own, whichever comes first; a full universe would clash."""
    install(monkeypatch, gradir=lambda: universe.COURTEOUS_UNIVERSE, **{name: nn_universe})
    everything = Universe.get_multiverse()
    assert "array" in everything.all_dialects
    assert everything.all_dialects["nn"] is other_nn
    assert "nn" not in universe.COURTEOUS_UNIVERSE.all_dialects
    install(monkeypatch, gradir=lambda: universe.GRADIR_UNIVERSE, **{name: nn_universe})
    with pytest.raises(ValueError, match="Duplicate definition of nn"):
        Universe.get_multiverse()


def test_universe_survives_broken_plugins(
    program: str, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """gradir-opt works where other plugins do not load or clash; its own names win."""

    def broken() -> object:
        raise ImportError

    install(monkeypatch, one=broken, two=nn_universe, three=nn_universe, four=object)
    assert run(capsys, program)[0] == 0
    driver = gradir_opt.GradirOpt([program])
    assert "nn" in driver.ctx.registered_dialect_names


def test_xdsl_opt_is_not_affected(program: str) -> None:
    """With gradir installed, xDSL's own tool works, and its names are its own."""
    result = subprocess.run(
        [str(BIN / "xdsl-opt"), program, "-p", "cse"], capture_output=True, text=True, check=False
    )
    assert (result.returncode, result.stdout) == (0, PRINTED + "\n")
