"""Trainers that tests run on several ranks: functions of this file, `mpiexec -n N python` on it.

The first word is the function, the second a folder.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from trainers import DATA, IDS, PARAMS, TARGETS, everything, loss

import gradir
from gradir import comm, optim
from gradir.errors import FileError

ROWS = tuple(column[:20] for column in DATA)
"""Five batches of four rows."""


def trainer(sharded: Any = None) -> gradir.Trainer:
    options: dict[str, Any] = {"metrics": {"error": loss}, "deterministic": 4}
    return gradir.Trainer(loss, optim.adam(0.1), PARAMS, mpi=True, sharded=sharded, **options)


def fitted(made: gradir.Trainer, epochs: int, **options: Any) -> str:
    """Train to this epoch; the digest of parameters, state and history."""
    made.fit(ROWS, epochs, 4, held_out=(IDS, TARGETS), **options)
    return hashlib.sha256(b"".join(everything(made))).hexdigest()


def trains(folder: Path) -> None:
    """To the end at once, and from files of one rank and of these, in parts."""
    ranks = comm.axis_size()
    at_once = fitted(trainer(), 3, folder=folder / f"of {ranks}", watch="loss")
    found = [at_once]
    files = [folder / "one.safetensors", folder / f"{ranks}.safetensors"]
    made = trainer()
    made.fit(ROWS, 1, 4, held_out=DATA)
    made.save(files[1])
    for file, sharded in zip(files, ("state", "params"), strict=True):
        made = trainer(sharded)
        made.load(file)
        found.append(fitted(made, 3))
    print(" ".join(found) + "\n", end="", flush=True)
    refusals(folder)


def refusals(folder: Path) -> None:
    """What all ranks refuse, and go on."""
    rank = int(comm.axis_index())
    made = trainer()
    other = folder / ("2.safetensors" if rank == 0 else "none")
    # what fails, the words of the message, and the rank that fails, which has an error of its own
    cases: list[tuple[Callable[[], object], str, int | None]] = [
        (lambda: made.fit(DATA, 1, 4), "in 4 equal shards for 2 ranks, got 2 rows", None),
        (lambda: made.save(folder), "save: rank 0 has failed: FileError", 0),
        (lambda: made.load(other), "load: rank 1 has failed: FileError", 1),
        (lambda: fitted(made, 2 + rank), "epochs must be equal on all ranks, got 2", None),
        (lambda: uneven(rank), "table'] must be equal on all ranks, got float32[6] with", None),
    ]
    for call, said, culprit in cases:
        try:
            call()
        except gradir.GradirError as error:
            assert isinstance(error, FileError) if rank == culprit else said in str(error), error
        else:
            raise AssertionError(f"expected: {said}")


def uneven(rank: int) -> None:
    params = {**PARAMS, "table": np.full(6, rank, np.float32)}
    gradir.Trainer(loss, optim.adam(0.1), params, mpi=True)


def fails(folder: Path) -> None:
    """One rank has an index that is out of range, and catches the error."""
    made = trainer()
    ids = IDS[:20].copy()
    if comm.axis_index() == 1:
        ids[:] = 99
    try:
        made.fit((ids, TARGETS[:20]), 1, 4)
    except gradir.GradirError:
        print("goes on", flush=True)


if __name__ == "__main__":
    globals()[sys.argv[1]](Path(sys.argv[2]))
