"""gradir-run's command line: what it runs, what it prints and writes, and what it refuses."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from gradir.profiling.limits import Limits
from gradir.tools import gradir_run, run_inputs, run_options

PROGRAM = """\
func.func @f(%x: tensor<2x3xf32>, %i: tensor<4xi64>) -> tensor<4x3xf32> {
  %y = array.take %x, %i {axis = 0} : tensor<2x3xf32>, tensor<4xi64> -> tensor<4x3xf32>
  func.return %y : tensor<4x3xf32>
}
func.func @half(%x: tensor<3xbf16>, %b: tensor<2xi1>) -> (tensor<3xbf16>, tensor<2xi1>) {
  func.return %x, %b : tensor<3xbf16>, tensor<2xi1>
}
func.func @total(%x: tensor<200xf64>) -> (tensor<f64>, tensor<200xf64>) {
  %sum = array.sum %x : tensor<200xf64> -> tensor<f64>
  func.return %sum, %x : tensor<f64>, tensor<200xf64>
}
"""
REFUSED = """\
func.func @memory(%x: memref<f64>) -> memref<f64> {
  func.return %x : memref<f64>
}
func.func @result(%x: tensor<f64>) -> (tensor<f64>, complex<f64>) {
  %c = "test.op"() : () -> complex<f64>
  func.return %x, %c : tensor<f64>, complex<f64>
}
func.func @dynamic(%x: tensor<?xf64>) -> tensor<?xf64> {
  func.return %x : tensor<?xf64>
}
func.func @complex(%x: tensor<2xcomplex<i8>>) -> tensor<2xcomplex<i8>> {
  func.return %x : tensor<2xcomplex<i8>>
}
"""

X = np.arange(6, dtype=np.float32).reshape(2, 3)
MODES = pytest.mark.parametrize("mode", [[], ["--threads", "1"], ["--interpret"]], ids=str)

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    """Runs gradir-run in a folder with the programs and inputs; code, output and errors."""
    monkeypatch.chdir(tmp_path)
    Path("program.mlir").write_text(PROGRAM)
    Path("refused.mlir").write_text(REFUSED)
    np.save("x.npy", X)
    np.save("i.npy", np.array([0, 1, -1, 0]))

    def call(*arguments: str) -> tuple[int, str, str]:
        code = gradir_run.main(arguments)
        output, errors = capsys.readouterr()
        return code, output, errors

    return call


def inputs(*files: str) -> list[str]:
    return [word for file in files for word in ("--input", file)]


# Results


@MODES
def test_prints_results(run: Run, mode: list[str]) -> None:
    """Native code and the interpreter print the same: name, dtype, shape, source name, values."""
    code, output, errors = run(
        "program.mlir", "--function", "f", *inputs("x.npy", "i.npy"), "--precision", "2", *mode
    )
    assert (code, errors) == (0, "")
    assert output == (
        "result0: float32[4,3]  // %y\n"
        "[[0.00 1.00 2.00]\n [3.00 4.00 5.00]\n [3.00 4.00 5.00]\n [0.00 1.00 2.00]]\n"
    )


def test_one_element_and_large(run: Run) -> None:
    """One element stands on the line of its name; a large array is shortened."""
    np.save("r.npy", np.arange(200.0))
    code, output, _ = run("program.mlir", "--function", "@total", "--input", "r.npy")
    assert code == 0
    assert output.splitlines() == [
        "result0: float64[] = 19900.000000  // %sum",
        "result1: float64[200]  // %x",
        "[  0.000000   1.000000   2.000000 ... 197.000000 198.000000 199.000000]",
    ]


@pytest.mark.parametrize(
    ("array", "text"),
    [
        (np.array([[2.5]], np.float32), "r: float32[1,1] = 2.500000"),
        (np.array(1e-12), "r: float64[] = 1.000000e-12"),
        (np.array(True), "r: bool[] = True"),
        (np.array([3, -4], np.int8), "r: int8[2]\n[ 3 -4]"),
        (np.array(2**64 - 1, np.uint64), "r: uint64[] = 18446744073709551615"),
        (np.array([1.5, 2], ml_dtypes.bfloat16), "r: bfloat16[2]\n[1.500000 2.000000]"),
        (np.array([np.nan, np.inf]), "r: float64[2]\n[nan inf]"),
        (np.empty((0, 3)), "r: float64[0,3]\n[]"),
    ],
    ids=lambda value: str(value) if isinstance(value, str) else "",
)
def test_shown(array: np.ndarray[Any, Any], text: str) -> None:
    """What each kind of array looks like, whatever NumPy's print options are."""
    with np.printoptions(precision=1, threshold=1):
        assert gradir_run.shown("r", array) == text


@MODES
def test_output_dir(run: Run, mode: list[str]) -> None:
    """Results are written as .npy files that can be read back as inputs, bf16 too."""
    np.save("h.npy", np.array([0.5, 1, -2], ml_dtypes.bfloat16))
    np.save("b.npy", np.array([True, False]))
    arguments = ["program.mlir", "--function", "half", "--output-dir", "new/folder", *mode]
    _, first, errors = run(*arguments, *inputs("h.npy", "b.npy"))
    assert errors == ""
    assert Path("new/folder/result0.npy").read_bytes() == Path("h.npy").read_bytes()
    assert Path("new/folder/result1.npy").read_bytes() == Path("b.npy").read_bytes()
    assert run(*arguments, *inputs("new/folder/result0.npy", "b.npy")) == (0, first, "")


def test_passes(run: Run) -> None:
    """A pipeline runs first, so that the function to run may be one that it makes."""
    pipeline = "gradir-gradient{function=total mode=grad of=0}"
    arguments = ["program.mlir", "-p", pipeline, "--function", "total_grad", "--random-inputs", "3"]
    code, output, errors = run(*arguments)
    assert (code, errors) == (0, "")
    assert "[1.000000 1.000000 1.000000 ... 1.000000 1.000000 1.000000]" in output
    assert run(*arguments, "--interpret") == (0, output, "")


def test_standard_input(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """`-` reads the program from standard input; the only function needs no --function."""
    text = PROGRAM[: PROGRAM.index("func.func @half")]
    for program, expected in ((text, (0, "")), (text + "]", (1, "<stdin>:5:1: error: "))):
        stream = io.TextIOWrapper(io.BytesIO(program.encode()))
        monkeypatch.setattr(sys, "stdin", stream)
        code, _, errors = run("-", *inputs("x.npy", "i.npy"))
        assert code == expected[0]
        assert errors.startswith(expected[1])


# Random inputs


def test_random_inputs() -> None:
    """Fixed values by seed and position, so that expected output stays right."""
    from gradir.runtime.arrays import ArraySpec

    def draw(dtype: Any, seed: int = 0, index: int = 0) -> np.ndarray[Any, Any]:
        spec = ArraySpec("x", (1000,), np.dtype(dtype))
        array = run_inputs.random_input(spec, seed, index)
        assert array.dtype == spec.dtype
        return array

    floats = draw(np.float64)
    assert abs(floats.mean()) < 0.1
    assert abs(floats.std() - 1) < 0.1
    np.testing.assert_allclose(floats[:2], [-0.3625903, -0.41597474], rtol=1e-6)
    assert set(draw(np.int32).tolist()) == set(range(run_options.INTEGER_BOUND))
    assert set(draw(np.bool_).tolist()) == {False, True}
    np.testing.assert_array_equal(draw(ml_dtypes.bfloat16), floats.astype(ml_dtypes.bfloat16))
    assert not np.array_equal(draw(np.float64, index=1), floats)
    assert not np.array_equal(draw(np.float64, seed=1), floats)


def test_random_inputs_fill_up(run: Run) -> None:
    """Files come first; an argument's random array does not depend on how many there are."""
    arguments = ["program.mlir", "--function", "half", "--random-inputs", "5"]
    np.save("h.npy", np.zeros(3, ml_dtypes.bfloat16))
    all_random, with_file = run(*arguments)[1], run(*arguments, "--input", "h.npy")[1]
    assert "[0.000000 0.000000 0.000000]" in with_file
    assert "[0.000000 0.000000 0.000000]" not in all_random
    assert all_random.splitlines()[2:] == with_file.splitlines()[2:]


# Refusals


@MODES
def test_index_error(run: Run, mode: list[str]) -> None:
    """An index out of range is an error at the op, with its source line."""
    np.save("i.npy", np.array([0, 1, 2, 0]))
    code, output, errors = run("program.mlir", "--function", "f", *inputs("x.npy", "i.npy"), *mode)
    assert (code, output) == (1, "")
    head, line, caret = errors.splitlines()
    assert head.startswith("program.mlir:2:3: error: array.take: index 2 is out of ")
    assert line == PROGRAM.splitlines()[1]
    assert caret == "  ^"


FULL = "@f takes 2 arguments (%x, %i), got "


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--function", "g"], "no function @g; functions: @f, @half, @total"),
        ([], "--function must say which function to run; functions: @f, @half, @total"),
        (
            ["--function", "f", *inputs("x.npy")],
            FULL + "1 --input; no input for %i: int64[4]; --random-inputs SEED makes random ones",
        ),
        (["--function", "f", *inputs("x.npy", "i.npy", "i.npy")], FULL + "3 --input"),
        (
            ["--function", "f", *inputs("i.npy", "i.npy")],
            "i.npy: argument 0 (%x) of @f: expected float32 array of shape (2, 3), "
            "got int64 of shape (4,)",
        ),
        (["--function", "f", *inputs("no.npy")], "cannot read 'no.npy': No such file or directory"),
        (["--interpret", "--threads", "2"], "--threads is for native code"),
        (["-p", "no-such-pass"], "unknown pass 'no-such-pass'"),
    ],
)  # fmt: skip
def test_refuses(run: Run, arguments: list[str], message: str) -> None:
    """Errors without a place are one line with the fault and the way out."""
    if "no.npy" in arguments:
        arguments = [*arguments, "--random-inputs", "0"]
    code, output, errors = run("program.mlir", *arguments)
    assert (code, output) == (1, "")
    assert errors.startswith(f"gradir-run: error: {message}")
    assert errors.count("\n") == 1


@pytest.mark.parametrize(
    ("function", "place", "message"),
    [
        (
            "memory",
            "1:19",
            "argument 0 (%x): gradir-run runs functions of tensors and numbers, got memref<f64>",
        ),
        (
            "result",
            "4:1",
            "result 1: gradir-run runs functions of tensors and numbers, got complex<f64>",
        ),
        (
            "dynamic",
            "8:20",
            "argument 0 (%x): --random-inputs needs static shapes, got tensor<?xf64>; "
            "give an --input",
        ),
        ("complex", "11:20", "argument 0 (%x): no array type holds elements of type complex<i8>"),
    ],
)
def test_refuses_types(run: Run, function: str, place: str, message: str) -> None:
    """What cannot be an array is refused where the source says it."""
    code, _, errors = run("refused.mlir", "--function", function, "--random-inputs", "0")
    assert code == 1
    assert errors.startswith(f"refused.mlir:{place}: error: @{function}: {message}\n")


def test_refuses_files(run: Run) -> None:
    """Files that are not arrays of numbers are refused; a pickle is not loaded."""
    np.save("object.npy", np.array([{}], dtype=object), allow_pickle=True)
    Path("text.npy").write_text("not an array")
    Path("short.npy").write_bytes(Path("x.npy").read_bytes()[:-4])
    np.savez("archive.npy.npz", x=X)
    for file in ("object.npy", "text.npy", "short.npy", "archive.npy.npz"):
        code, _, errors = run(
            "program.mlir", "--function", "f", "--input", file, "--random-inputs", "0"
        )
        assert code == 1
        message = f"gradir-run: error: cannot read '{file}' as an .npy file of numbers: "
        assert errors.startswith(message)
        assert errors.count("\n") == 1


def test_refuses_output_dir(run: Run) -> None:
    """A folder that cannot be made is an error before anything is printed."""
    code, output, errors = run(
        "program.mlir", "--function", "f", "--random-inputs", "0", "--output-dir", "x.npy"
    )
    assert (code, output) == (1, "")
    assert errors == "gradir-run: error: cannot write to 'x.npy': File exists\n"


def test_parse_error_and_missing_file(run: Run) -> None:
    """Errors of the program are as by gradir-opt, with place, line and caret."""
    Path("bad.mlir").write_text(PROGRAM.replace("return %y", "return %z"))
    code, _, errors = run("bad.mlir")
    assert code == 1
    assert errors.splitlines()[0] == "bad.mlir:3:15: error: %z is used but not defined"
    assert errors.splitlines()[-1] == " " * 14 + "^"
    assert run("no.mlir")[::2] == (
        1,
        "gradir-run: error: cannot read 'no.mlir': No such file or directory\n",
    )


def test_command_line_errors(run: Run) -> None:
    """Arguments that are not understood give exit code 1 as well, --help 0."""
    for arguments in (
        ["program.mlir", "--threads", "0"],
        ["program.mlir", "--random-inputs", "-1"],
    ):
        code, _, errors = run(*arguments)
        assert code == 1
        assert "expected an integer from " in errors
    code, output, _ = run("--help")
    assert code == 0
    assert "integers uniform in [0, 8)" in output


def test_bugs_are_one_line(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """A bug of gradir's own is reported as such; --traceback shows where it is."""

    def broken(*arguments: object) -> None:
        raise AssertionError("surprise")

    monkeypatch.setattr(gradir_run, "compile", broken)
    arguments = ["program.mlir", "--function", "f", *inputs("x.npy", "i.npy")]
    text = "gradir-run: error: internal error: AssertionError: surprise; --traceback shows where\n"
    assert run(*arguments) == (1, "", text)
    assert "in broken" in run(*arguments, "--traceback")[2]
    # the interpreter is another way, so it must not have been broken
    assert run(*arguments, "--interpret")[0] == 0


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_full_disk(run: Run) -> None:
    """Results that cannot be printed are an error, once."""
    command = [sys.executable, "-m", "gradir.tools.gradir_run", "program.mlir"]
    with open("/dev/full", "w") as full:
        result = subprocess.run(
            [*command, "--function", "half", "--random-inputs", "0", "--interpret"],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert result.returncode == 1
    reason = "No space left on device"
    assert result.stderr == f"gradir-run: error: cannot write to standard output: {reason}\n"


ENDLESS = """
func.func @f(%x: tensor<f64>) -> tensor<f64> {
  %true = arith.constant true
  %y = scf.while (%a = %x) : (tensor<f64>) -> tensor<f64> {
    scf.condition(%true) %a : tensor<f64>
  } do {
  ^bb0(%a: tensor<f64>):
    %b = array.sin %a : tensor<f64>
    scf.yield %b : tensor<f64>
  }
  func.return %y : tensor<f64>
}
"""


@MODES
def test_timeout(run: Run, mode: list[str]) -> None:
    """A time limit ends what would run for ever, and is no trouble for what does not."""
    Path("endless.mlir").write_text(ENDLESS)
    arguments = ["--random-inputs", "0", "--timeout", "0.5", *mode]
    code, out, errors = run("endless.mlir", *arguments)
    assert (code, out) == (1, "")
    assert errors == "gradir-run: error: the time limit of 0.5 s is exceeded (--timeout)\n"
    arguments[3] = "600"
    assert run("program.mlir", "--function", "total", *arguments)[0] == 0
    for wrong in ("0", "nan", "-1", "soon", "1e12"):
        code, _, errors = run("endless.mlir", "--timeout", wrong)
        assert code == 1 and "expected a number of seconds" in errors


@MODES
def test_interrupt(tmp_path: Path, mode: list[str]) -> None:
    """Ctrl-C ends a program with the shell's code for it, and says nothing."""
    (tmp_path / "endless.mlir").write_text(ENDLESS)
    # the parent may have chosen to ignore the signal
    code = (
        "import signal, sys, threading, os; from gradir.tools.gradir_run import main;"
        "signal.signal(signal.SIGINT, signal.default_int_handler);"
        "threading.Timer(2.0, os.kill, (os.getpid(), signal.SIGINT)).start(); sys.exit(main())"
    )
    command = [sys.executable, "-c", code, "endless.mlir", "--random-inputs", "0", *mode]
    ended = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert (ended.returncode, ended.stdout, ended.stderr) == (130, "", "")


def test_files_say_open_extents(run: Run) -> None:
    """The file gives an extent that the function leaves open, natively and interpreted."""
    for count in (2, 5):
        np.save("open.npy", np.arange(float(count)))
        for more in ((), ("--interpret",)):
            arguments = ("--function", "dynamic", "--input", "open.npy", *more)
            code, output, _ = run("refused.mlir", *arguments)
            assert code == 0
            assert output.startswith(f"result0: float64[{count}]")
    code, _, errors = run("refused.mlir", "--function", "dynamic")
    assert code == 1 and "no input for %x: float64[?]" in errors
    np.save("matrix.npy", np.zeros((2, 2)))
    code, _, errors = run("refused.mlir", "--function", "dynamic", "--input", "matrix.npy")
    assert code == 1 and "expected float64 array of shape (?,), got float64" in errors


def test_profile(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """The results come from one run; the profile is printed behind them, and written."""

    def limits(threads: int) -> Limits:
        return Limits(threads, {32: 1e12, 64: 1e12}, 1e10)

    monkeypatch.setattr("gradir.profiling.run.measured_limits", limits)
    monkeypatch.setattr("gradir.profiling.run.SECONDS", 0.001)
    command = ["program.mlir", "--function", "total", "--random-inputs", "0"]
    plain = run(*command)[1]
    files = ["--profile-json", "p.json", "--profile-svg", "p.svg"]
    code, output, errors = run(*command, "--profile", *files)
    assert (code, errors) == (0, "") and output.startswith(plain)
    assert "    program.mlir:9  %sum = array.sum %x" in output
    assert json.loads(Path("p.json").read_text())["function"] == "total"
    assert Path("p.svg").read_text().startswith("<svg")
    assert run(*command, *files)[1] == plain


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--profile", "--interpret"], "a profile is of native code; leave --interpret out"),
        (["--profile-svg", "no-folder/p"], "cannot write 'no-folder/p': No such file or directory"),
    ],
)
def test_profile_refused(run: Run, options: list[str], message: str) -> None:
    code, output, errors = run(
        "program.mlir", "--function", "total", "--random-inputs", "0", *options
    )
    assert (code, output, errors) == (1, "", f"gradir-run: error: {message}\n")


NAN = """
func.func @f(%x: tensor<2xf64>) -> tensor<2xf64> {
  %y = array.log %x : tensor<2xf64>
  return %y : tensor<2xf64>
}
"""


def test_explain(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """Behind the results, where a nan in them comes from; or as an error in their place."""
    Path("nan.mlir").write_text(NAN)
    np.save("zero.npy", np.array([1.0, 0.0]))
    command = ["nan.mlir", "--input", "zero.npy"]
    head = "nan.mlir:3:3: error: array.log of x = 0.0 is -inf at [1]\n  %y = array.log %x"
    plain = run(*command)[1]
    for options in (["--explain"], ["--explain", "--interpret"]):
        code, output, errors = run(*command, *options)
        assert (code, errors) == (0, "") and output.startswith(plain) and head in output
    monkeypatch.setenv("GRADIR_NAN", "raise")
    code, output, errors = run(*command)
    assert (code, output) == (1, "") and errors.startswith(head)
