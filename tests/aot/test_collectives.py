"""Collectives in libraries: with MPICH, where gradir[mpi] is installed, and stubs of other ABIs."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from aot_harness import C_FLAGS, RUNNABLE, exported, run_program, tool
from mpiexec import MPIEXEC, needs_mpi, on_ranks

import gradir
from gradir.aot.loader import LibraryError
from gradir.errors import ArgumentError, ArgumentTypeError, CompileError
from gradir.tools.gradir_compile import main as gradir_compile

PROGRAMS = Path(__file__).parents[1] / "support" / "mpi_programs.py"
HERE = Path(__file__).parent

STEP = """
func.func @f(%w: tensor<f64>, %x: tensor<f64> {grad.inactive}) -> tensor<f64> {
  %p = array.multiply %w, %x : tensor<f64>
  %one = arith.constant dense<1.0> : tensor<f64>
  %d = array.subtract %p, %one : tensor<f64>
  %s = array.square %d : tensor<f64>
  %mean = comm.all_reduce %s {kind = "mean", ranks = 2} : tensor<f64>
  func.return %mean : tensor<f64>
}"""


@needs_mpi
@pytest.mark.parametrize("ranks", [1, 2, 4])
def test_all_kinds(ranks: int, tmp_path: Path) -> None:
    """The bits of gradir.compile in the same processes, on one thread and on two."""
    done = on_ranks(ranks, str(PROGRAMS), "library", str(tmp_path))
    assert done.returncode == 0, done.stderr
    assert sorted(done.stdout.split("\n")[:-1]) == [f"library {k}" for k in range(ranks)]


@needs_mpi
@pytest.mark.parametrize(
    ("program", "ranks"), [("library_messages", 2), ("library_stops", 2), ("library_groups", 4)]
)
def test_messages_and_groups(program: str, ranks: int, tmp_path: Path) -> None:
    """The bits of gradir.compile; no deadlock where its calls have none."""
    done = on_ranks(ranks, str(PROGRAMS), program, str(tmp_path))
    assert done.returncode == 0, done.stderr
    assert sorted(done.stdout.split("\n")[:-1]) == [f"library {k}" for k in range(ranks)]


@needs_mpi
def test_a_program_in_c(tmp_path: Path) -> None:
    """It is told what is wrong before MPI begins, and with another number of ranks."""
    module = gradir.parse(STEP, "step.mlir").gradient("f", mode="grad")
    names = {"f_grad": "step"}
    gradir.export_library(module, tmp_path / "libstep.so", functions=names, targets=RUNNABLE[0])
    compiler = MPIEXEC.with_name("mpicc")
    if not compiler.exists():
        pytest.skip("no mpicc")
    made = tmp_path / "train"
    rest = [HERE / "mpi_train.c", tmp_path / "libstep.so", f"-Wl,-rpath,{tmp_path}", "-o", made]
    run_program(compiler, *C_FLAGS, f"-I{tmp_path}", *rest, f"-Wl,-rpath,{MPIEXEC.parents[1]}/lib")
    done = subprocess.run([MPIEXEC, "-n", "2", made], capture_output=True, text=True, check=False)
    # each rank goes down the slope of its own part: 1 / x
    assert sorted(done.stdout.splitlines()) == ["rank 0: w 1.000000", "rank 1: w 0.500000"]
    told = "step.mlir:7: comm.all_reduce: the caller has not initialized MPI"
    assert done.stderr.splitlines() == [told] * 2
    done = subprocess.run([MPIEXEC, "-n", "3", made], capture_output=True, text=True, check=False)
    assert "the program is for 2 ranks, got 3" in done.stderr


STUBBED = """
func.func @f(%x: tensor<6xf64>) -> (tensor<6xf64>, tensor<6xf64>, tensor<6xf64>, tensor<i64>) {
  %a = comm.all_reduce %x {ranks = 1} : tensor<6xf64>
  %b = comm.broadcast %x {root = 0, ranks = 1} : tensor<6xf64>
  %c = comm.permute %x {sources = [0], targets = [0], ranks = 1} : tensor<6xf64>
  comm.barrier
  %size = comm.size {group = "few"} : tensor<i64>
  func.return %a, %b, %c, %size : tensor<6xf64>, tensor<6xf64>, tensor<6xf64>, tensor<i64>
}"""

CALLS = """
import sys, numpy as np
from gradir.aot.loader import LibraryError, load_library
f = load_library(sys.argv[1]).f
x = np.arange(6.0)
try:
    for _ in range(2):
        *arrays, size = f(x)
    assert all(a.tolist() == x.tolist() for a in arrays) and size == 1
    print("right")
except LibraryError as error:
    print(error.code, error)
"""


@pytest.mark.parametrize(("mpi", "file"), [("openmpi", "libmpi.so.40"), ("abi", "libmpi_abi.so.1")])
def test_other_abis(mpi: str, file: str, tmp_path: Path) -> None:
    macros = ["-DABI"] if mpi == "abi" else []
    rest = ["-shared", "-fPIC", f"-Wl,-soname,{file}", "-o", tmp_path / file]
    run_program(tool("gcc"), "-O1", *macros, HERE / "mpi_stub.c", *rest)
    (tmp_path / "f.mlir").write_text(STUBBED)
    library = tmp_path / "libf.so"
    options = ["--mpi", mpi, "--group", "few=0"]
    assert gradir_compile([str(tmp_path / "f.mlir"), "-o", str(library), *options]) == 0

    def run(**variables: str) -> str:
        command = [sys.executable, "-c", CALLS, str(library)]
        return run_program(*command, env={**os.environ, **variables}).strip()

    assert run() == "right"
    place = f"14 {tmp_path / 'f.mlir'}:3:3: comm.all_reduce: "
    assert run(MPI_STUB_NONE="1") == place + "the caller has not initialized MPI"
    assert run(MPI_STUB_FAILS="1") == place + "MPI has failed (15)"


def test_a_library_without_its_mpi(tmp_path: Path) -> None:
    with pytest.raises(LibraryError, match=r"cannot be loaded: libmpi.so.40: cannot open shared"):
        exported(gradir.parse(STUBBED), tmp_path, mpi="openmpi", groups={"few": [0]})


def test_what_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    op = '%0 = comm.all_reduce %x {ranks = 2, group = "some"} : tensor<2xf64>'
    text = f"""func.func @f(%x: tensor<2xf64>) -> tensor<2xf64> {{
  {op}
  func.return %0 : tensor<2xf64>
}}"""
    path = tmp_path / "libf.so"
    module = gradir.parse(text, "some.mlir")
    groups: Any
    for groups, wrong in (
        (None, r"know the ranks of group some; name them: --group some=0,1, or groups={'some': "),
        ({"other": [0, 1]}, "a library has to know the ranks of group some"),
        ({"some": [0, 1, 2]}, "ranks = 2 must be the size of group some, got 3"),
        ({"some": [[0], [1, 2]]}, "ranks = 2 must be the size of group some, got 1, 2"),
    ):
        with pytest.raises(CompileError, match=f"some.mlir:2:3: error: comm.all_reduce: .*{wrong}"):
            gradir.export_library(module, path, groups=groups)
    for groups in ({"world": [0, 1]}, {"a b": [0]}, {3: [0]}, {"some": []}, {"some": [0, 0]},
                   {"some": [[0], [0]]}, {"some": [-1, 0]}, {"some": [[0], 1]}, {"some": ["a"]},
                   {"some": [1 << 31]}, {"some": "01"}, {"some": [True]}):  # fmt: skip
        with pytest.raises(ArgumentError, match="groups: expected "):
            gradir.export_library(module, path, groups=groups)
    export: Any = gradir.export_library
    for groups in ([0, 1], "some=0,1", {"some": 3}):
        with pytest.raises(ArgumentTypeError, match="groups: expected "):
            export(module, path, groups=groups)
    source = tmp_path / "f.mlir"
    source.write_text(text)
    for given in ("some", "some=", "some=0,a", "some=0,,1", "some=-1", "=0,1", "world=0,1"):
        command = [str(source), "-o", str(path), "--group", given]
        assert gradir_compile(command) == 1
        told = capsys.readouterr().err
        assert "group: expected " in told or "groups: expected a name" in told
    with pytest.raises(ArgumentError, match="mpi: one of mpich, openmpi, abi expected, got 'mpi'"):
        gradir.export_library(lambda x: x, path, np.ones(3), functions="f", mpi="mpi")
    assert not path.exists()
