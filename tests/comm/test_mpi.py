"""Programs on several processes, by MPI: where gradir[mpi] is installed."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from mpiexec import needs_mpi, on_ranks

PROGRAMS = Path(__file__).parents[1] / "support" / "mpi_programs.py"
EXAMPLE = Path(__file__).parents[2] / "examples" / "digits_mpi.py"


def run(ranks: int, program: str) -> subprocess.CompletedProcess[str]:
    """A program of mpi_programs.py on this many ranks."""
    return on_ranks(ranks, str(PROGRAMS), program)


def passes(ranks: int, program: str) -> list[str]:
    done = run(ranks, program)
    assert done.returncode == 0, done.stdout + done.stderr
    return sorted(done.stdout.splitlines())


@needs_mpi
@pytest.mark.parametrize("ranks", [2, 4])
def test_native_code_and_the_interpreter_agree_with_one_process(ranks: int) -> None:
    assert passes(ranks, "everything") == [f"agree {k}" for k in range(ranks)]


@needs_mpi
@pytest.mark.parametrize(
    ("program", "said"),
    [
        (
            "raises",
            "ValueError: this rank has had enough\ngradir: rank 1 has failed, which ends all",
        ),
        ("dies", "signal 9"),
        ("fails_between", "HostCallError"),
    ],
)
def test_a_rank_that_fails_ends_all(program: str, said: str) -> None:
    start = time.monotonic()
    done = run(2, program)
    assert done.returncode != 0 and said in done.stdout + done.stderr
    assert "goes on" not in done.stdout
    assert time.monotonic() - start < 10


@needs_mpi
@pytest.mark.parametrize(
    ("program", "said"),
    [
        ("exits", "all_reduce of float64[3]: rank 1 has ended, and this rank waits for it"),
        ("exits_at_once", ""),
        (
            "branch_without",
            "all_reduce of float64[2]: rank 1 has ended",
        ),
        (
            "branch_of_another_kind",
            "all ranks of group world must call the same, got all_reduce of float64[2] on rank 0 "
            "and broadcast 0 of float64[2] on rank 1",
        ),
        (
            "branch_of_another_shape",
            "got all_reduce of float64[2] on rank 0 and all_reduce of float64[1] on rank 1",
        ),
        (
            "branch_beside_python",
            "got argument x: memref<2xf64> on rank 0 and argument x: memref<3",
        ),
    ],
)
def test_ranks_that_wait_in_vain_end_with_an_error(program: str, said: str) -> None:
    start = time.monotonic()
    done = run(2, program)
    assert done.returncode != 0 and said in done.stderr
    # the start of Python, and five seconds
    assert time.monotonic() - start < 9


@needs_mpi
def test_a_wait_has_a_limit_and_a_rank_may_end_early() -> None:
    start = time.monotonic()
    done = on_ranks(2, str(PROGRAMS), "sleeps", seconds=1)
    assert done.returncode != 0 and time.monotonic() - start < 12
    assert "have not come within 1 seconds (GRADIR_COMM_TIMEOUT)" in done.stderr
    assert passes(2, "ends_early") == ["well"]


@needs_mpi
def test_different_programs_are_refused_before_they_meet() -> None:
    done = run(2, "differs")
    assert done.returncode != 0
    assert (
        "CommError" in done.stderr
        and "all ranks of group world must run the same program, got argument x: " in done.stderr
    )


@needs_mpi
def test_the_example_gives_the_same_bits_on_any_number_of_ranks(tmp_path: Path) -> None:
    found: set[str] = set()
    for ranks in (1, 2, 4):
        done = on_ranks(
            ranks, str(EXAMPLE), "1", folder=tmp_path
        )  # too few epochs for a good result
        assert f"{ranks} ranks" in done.stdout, done.stdout + done.stderr
        found |= {line for line in done.stdout.splitlines() if line.startswith("parameters: ")}
    assert len(found) == 1
    assert "<svg" in (tmp_path / "digits_mpi.svg").read_text()


WITHOUT = """
import sys
sys.modules["mpi4py"] = None
from gradir import comm
comm.axis_size()
"""


def test_a_launched_process_without_mpi4py_is_refused() -> None:
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PMI_SIZE": "2", "PMI_RANK": "0"},
    )
    assert done.returncode == 1
    assert "CommError: this process was started as one of several, and mpi4py" in done.stderr
    assert "install gradir[mpi]" in done.stderr
