"""Programs in C and C++ with libraries: the examples, and calls with wrong arguments."""

from __future__ import annotations

import os
import subprocess
import sys
from functools import partial
from pathlib import Path
from xml.etree import ElementTree

import pytest
from aot_harness import C_FLAGS, CXX_FLAGS, run_program, tool

import gradir

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "ahead_of_time"
PROGRAMS = {"train.c": ("gcc", C_FLAGS), "train.cpp": ("g++", CXX_FLAGS)}


@pytest.fixture(scope="module")
def digits(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files of the example."""
    folder = tmp_path_factory.mktemp("digits")
    run_program(sys.executable, EXAMPLE / "export.py", folder, cwd=ROOT)
    return folder


def build(source: Path, folder: Path, library: str, *options: str) -> Path:
    """A program of a source file and a library in a folder."""
    compiler, flags = PROGRAMS["train.cpp" if source.suffix == ".cpp" else "train.c"]
    made = folder / f"{source.stem}{source.suffix}{''.join(options).replace('=', '')}.bin"
    rest = [folder / library, "-lm", "-lpthread", f"-Wl,-rpath,{folder}", "-o", made]
    run_program(tool(compiler), *flags, *options, f"-I{folder}", source, *rest)
    return made


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_digits_network_is_trained(name: str, digits: Path) -> None:
    """Its exit code says whether the accuracy is what it should be."""
    printed = run_program(build(EXAMPLE / name, digits, "libdigits.so"), digits / "digits.bin")
    assert "held-out accuracy 0.9" in printed.splitlines()[-1]


def test_the_training_is_drawn(digits: Path, tmp_path: Path) -> None:
    """What the C program prints becomes a picture; nothing read is an error."""
    printed = run_program(build(EXAMPLE / "train.c", digits, "libdigits.so"), digits / "digits.bin")
    command = [sys.executable, EXAMPLE / "draw.py", tmp_path / "digits_c.svg"]
    drawn = partial(subprocess.run, command, capture_output=True, text=True, check=False)
    assert drawn(input="").returncode == 1
    assert not (tmp_path / "digits_c.svg").exists()
    assert drawn(input=printed).stdout == printed
    picture = ElementTree.parse(tmp_path / "digits_c.svg").getroot()
    assert len(picture.findall(".//{http://www.w3.org/2000/svg}polyline")) == 2


@pytest.mark.parametrize("name", PROGRAMS)
def test_sanitizers_find_nothing(name: str, digits: Path) -> None:
    made = build(EXAMPLE / name, digits, "libdigits.so", "-g", "-fsanitize=address,undefined")
    result = subprocess.run(
        [made, digits / "digits.bin", "1"], capture_output=True, text=True, check=False
    )
    assert (result.stderr, result.returncode) == ("", 1), "one epoch is not enough"


def test_valgrind_finds_nothing(digits: Path) -> None:
    made = build(EXAMPLE / "train.c", digits, "libdigits.so")
    valgrind = tool("valgrind"), "-q", "--error-exitcode=9", "--leak-check=full"
    command = [*valgrind, made, digits / "digits.bin", "1"]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (result.stderr, result.returncode) == ("", 1)


def test_cmake(tmp_path: Path) -> None:
    cmake = tool("cmake")
    tool("g++")
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    configure = cmake, "-S", EXAMPLE, "-B", tmp_path, f"-DPython3_EXECUTABLE={sys.executable}"
    run_program(*configure, env=environment)
    run_program(cmake, "--build", tmp_path, env=environment)
    assert "accuracy" in run_program(tmp_path / "train", tmp_path / "digits.bin")


TWO = """
func.func @f(%x: tensor<2x3xf32>, %y: tensor<2x3xf32>, %n: tensor<0xi64>) -> tensor<2x3xf32> {
  %z = array.add %x, %y : tensor<2x3xf32>
  func.return %z : tensor<2x3xf32>
}
func.func @g(%x: tensor<f32>, %n: index) -> tensor<f32> {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %y = scf.for %i = %zero to %n step %one iter_args(%c = %x) -> (tensor<f32>) {
    %s = array.sin %c : tensor<f32>
    scf.yield %s : tensor<f32>
  }
  func.return %y : tensor<f32>
}"""

SAID = """\
good: 0 0 
2 7
without a status: 0
without a status: 4
abi: 1 0 
dtype: 4 1 f: in[1] (y): expected dtype 8, got 9
rank: 5 0 f: in[0] (x): expected rank 2, got 1
rank: 5 0 f: in[0] (x): expected rank 2, got -1
size: 5 0 f: in[0] (x): expected size 6, got -6
shape: 5 0 f: in[0] (x): axis 0: expected extent 2, got 3
no shape: 3 0 f: in[0] (x): shape is NULL
size: 5 0 f: in[0] (x): expected size 6, got 5
no data: 3 1 f: in[1] (y): data is NULL
alignment: 6 0 f: in[0] (x): data must be aligned to 4 bytes
unknown request: 7 -1 f: out[0] (z): expected request 0 (null), 1 (write) or 2 (add), got 3
unknown request: 7 -1 f: out[0] (z): expected request 0 (null), 1 (write) or 2 (add), got -1
no data: 9 0 f: workspace: expected 192 bytes ROOM 128 in status->workspace_bytes
null: 9 0 f: workspace: expected 192 bytes ROOM 0 in status->workspace_bytes
in place: 9 0 f: workspace: expected 192 bytes ROOM 0 in status->workspace_bytes
overlap: 8 -1 f: out[0] shares memory with in[0]
workspace: 8 0 f: in[0] shares memory with the workspace
workspace: 8 -1 f: out[0] shares memory with the workspace
an odd address of nothing: 0 0 
nothing in a result: 0 0 
no level: 2 0 f: level -1: expected 0 for the best level, or one from 1 (x86-64) to 1 (x86-64)
any level: 0 0 
no workspace: 9 0 f: workspace: expected 128 bytes aligned to 64, got NULL
workspace alignment: 9 0 f: workspace: expected 128 bytes aligned to 64, got other memory
small workspace: 9 0 f: workspace: expected 128 bytes aligned to 64, got 127
stop is for long loops: 0 0 
no arrays: 3 f: in is NULL
no results: 3 f: out is NULL
skipped: 0 0 
skipped: 0 0 
skipped: 0 0 
skipped: 0 0 
skipped: 0 0 
7 8
added: 0 0 
9 15
in place: 0 0 
2 7
added in place: 0 0 
6 21
no allocator: 3 g_vjp: status->allocator: resize is NULL
grow: 0 1 1 
no allocator: 3 g_vjp: status->allocator: resize is NULL
""".replace(
    " ROOM", ", of them 64 for results that are null, added or in the place of arguments, got"
)


@pytest.mark.parametrize("options", [(), ("-g", "-fsanitize=address,undefined")], ids=["", "asan"])
def test_wrong_calls(options: tuple[str, ...], tmp_path: Path) -> None:
    module = gradir.parse(TWO, "two.mlir").gradient("g", mode="vjp")
    gradir.export_library(module, tmp_path / "libf.so", functions=["f", "g_vjp"], targets="x86-64")
    made = build(Path(__file__).with_name("bad_calls.c"), tmp_path, "libf.so", *options)
    printed = run_program(made)
    said, _, last = printed.rstrip("\n").rpartition("\n")
    assert said + "\n" == SAID
    assert last.startswith("grow: 13 1 0 grad.tape_push: the tape finds no memory for ")
    if not options:
        valgrind = tool("valgrind"), "-q", "--error-exitcode=9", "--leak-check=full"
        assert run_program(*valgrind, made) == printed
