"""gradir.Trainer on several ranks: the bits, the files, failures."""

from __future__ import annotations

import time
from pathlib import Path

import mpi_trainer
import numpy as np
import pytest
from mpiexec import needs_mpi, on_ranks
from trainers import DATA, batches, everything, fresh, trainer

from gradir.errors import ArgumentError
from gradir.frontends.training.batches import batches_of
from gradir.frontends.training.team import TrainingTeam


def team(shards: int | None = None) -> TrainingTeam:
    made = TrainingTeam(shards, is_alone=True)
    made.rank, made.size = 1, 2
    made.shards = shards or 2
    return made


def test_a_rank_reads_its_rows_of_each_batch() -> None:
    whole = list(batches_of("data", DATA, 4, shuffle=True, drop_last=True).epoch(0, 1, 2))
    mine = list(batches_of("data", DATA, 4, True, True, team()).epoch(0, 1, 2))
    assert len(mine) == len(whole) == 3
    for own, batch in zip(mine, whole, strict=True):
        for a, b in zip(own, batch, strict=True):
            np.testing.assert_array_equal(a, b[2:])
    listed = list(batches_of("data", [batch for batch in whole], None, team=team()).epoch(0, 1, 0))
    np.testing.assert_array_equal(listed[0][0], mine[0][0])


def test_batches_that_have_no_equal_parts_are_refused() -> None:
    with pytest.raises(ArgumentError, match="data: a batch must be in 2 equal shards for 2 ranks"):
        batches_of("data", DATA, 5, team=team())
    batches_of("data", DATA, 4, team=team())  # the last has 2 rows
    with pytest.raises(ArgumentError, match="in 4 equal shards for 2 ranks, got 2 rows"):
        batches_of("data", DATA, 4, team=team(4))
    uneven = batches_of("data", batches(), None, team=team()).epoch(0, 1, 0)
    with pytest.raises(ArgumentError, match="got 5 rows"):
        next(uneven)
    with pytest.raises(ArgumentError, match=r"batch\[0\]: must have rows for 2 ranks"):
        next(batches_of("data", [3.0], None, team=team()).epoch(0, 1, 0))
    with pytest.raises(ArgumentError, match="deterministic: is for several ranks; set mpi=True"):
        trainer(deterministic=2)


def test_a_team_of_one_trains_like_a_trainer() -> None:
    alone, plain = trainer(mpi=True, metrics={"error": mpi_trainer.loss}), fresh()
    for made in (alone, plain):
        made.fit(DATA, 2, 5, held_out=DATA)
    for a, b in zip(everything(alone), everything(plain), strict=True):
        assert a == b


@needs_mpi
def test_any_number_of_ranks_goes_on_to_the_same_bits(tmp_path: Path) -> None:
    made = mpi_trainer.trainer()
    mpi_trainer.fitted(made, 1)
    made.save(tmp_path / "one.safetensors")
    want = mpi_trainer.fitted(made, 3)
    done = on_ranks(2, mpi_trainer.__file__, "trains", str(tmp_path))
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.split() == [want] * 6
    again = mpi_trainer.trainer()
    again.load(tmp_path / "2.safetensors")
    assert mpi_trainer.fitted(again, 3) == want
    assert len(list((tmp_path / "of 2").iterdir())) == 5


@needs_mpi
def test_a_step_that_fails_on_one_rank_ends_all(tmp_path: Path) -> None:
    start = time.monotonic()
    done = on_ranks(2, mpi_trainer.__file__, "fails", str(tmp_path))
    assert done.returncode != 0 and "goes on" not in done.stdout
    assert "IndexOutOfRange" in done.stderr and "rank 1 has failed" in done.stderr
    assert time.monotonic() - start < 15
