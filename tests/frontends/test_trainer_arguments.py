"""Wrong arguments of gradir.Trainer are refused before anything is done."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from trainers import DATA, IDS, PARAMS, TARGETS, fresh, loss, trainer

import gradir
from gradir import optim
from gradir.errors import ArgumentError, ArgumentTypeError, FileError

Array = np.ndarray[Any, Any]
SVG = "{http://www.w3.org/2000/svg}"


# What is refused.


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        ((3, 1), {}, "^data: expected an array, a tuple of arrays, or an iterable"),
        (("text", 1), {}, "^data: expected an array"),
        ((DATA, 1), {}, "^batch_size: expected a positive integer"),
        ((DATA, 1, 0), {}, "^batch_size: expected at least 1, got 0"),
        ((DATA, 1, 2.0), {}, "^batch_size: expected an integer, got 2.0"),
        ((DATA, 1, 23), {"drop_last": True}, "^data: expected at least one batch of 23 rows"),
        (((IDS[:0], TARGETS[:0]), 1, 1), {}, "^data: expected at least one batch"),
        (((), 1, 1), {}, "^data: expected an array or several, got none"),
        (([DATA], 1, 5), {}, "^batch_size: is for arrays, and data gives batches, got 5"),
        ((DATA, True, 5), {}, "^epochs: expected an integer, got True"),
        ((DATA, -1, 5), {}, "^epochs: expected at least 0, got -1"),
        (((IDS, TARGETS[1:]), 1, 5), {}, r"^data\[1\]: must have the rows of data\[0\], got 21"),
        (((IDS, [1.0]), 1, 5), {}, r"^data\[1\]\[0\]: expected a NumPy array, got float"),
        (((IDS, np.ones(())), 1, 5), {}, r"^data\[1\]: expected an array with rows"),
        ((DATA, 1, 5), {"held_out": 3}, "^held_out: expected an array"),
        ((DATA, 1, 5), {"patience": 1}, "^patience: needs the name of a column"),
        ((DATA, 1, 5), {"better": "best"}, "^better: expected 'lower' or 'higher', got 'best'"),
        ((DATA, 1, 5), {"watch": "held_out_error"}, "^watch: expected 'loss', got"),
        ((DATA, 1, 5), {"held_out": DATA, "watch": "held_out_"}, "^watch: expected .held_out_err"),
        ((DATA, 1, 5), {"save_every": 1}, "^save_every: needs a folder to write to"),
        ((DATA, 1, 5), {"folder": 3}, "^folder: expected a path, got 3"),
        ((DATA, 1, 5), {"progress": "yes"}, "^progress: expected True, False or None, got 'yes'"),
    ],
)  # fmt: skip
def test_wrong_arguments_of_fit(arguments: Any, options: Any, message: str) -> None:
    made = fresh()
    with pytest.raises(ArgumentError, match=message):
        made.fit(*arguments, **options)
    assert made.history.steps == {}


def test_wrong_columns_and_folders(tmp_path: Path) -> None:
    with pytest.raises(ArgumentError, match=r"^watch: expected 'loss', got 'cost'"):
        fresh().fit(DATA, 2, 22, watch="cost", patience=1)
    (tmp_path / "file").write_text("")
    with pytest.raises(FileError, match="file: cannot be made: File exists"):
        fresh().fit(DATA, 2, 22, folder=tmp_path / "file")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"params": {"w": 1.0}}, r"^params\['w'\]: expected a NumPy array, got 1.0"),
        ({"params": {"w": np.ones(2, complex)}}, "expected real numbers, got complex128"),
        ({"seed": -1}, "^seed: expected at least 0, got -1"),
        ({"seed": None}, "^seed: expected an integer, got None"),
        ({"metrics": [loss]}, "^metrics: expected functions by names, got "),
        ({"metrics": {"a": 3}}, r"^metrics\['a'\]: expected a name and a function"),
        ({"optimizer": 0.1}, "^optimizer: expected one of gradir.optim, got 0.1"),
    ],
)
def test_wrong_arguments(options: Any, message: str) -> None:
    given: dict[str, Any] = {"loss": loss, "optimizer": optim.sgd(0.1), "params": PARAMS, **options}
    with pytest.raises(gradir.GradirError, match=message):
        gradir.Trainer(**given)


def test_metrics_are_numbers() -> None:
    made = trainer(metrics={"all": lambda params, ids, targets: params["table"]})
    with pytest.raises(ArgumentError, match=r"^held_out: the trainer has no metrics"):
        trainer().fit(DATA, 1, 22, held_out=DATA)
    with pytest.raises(ArgumentTypeError, match=r"^metric 'all': expected a number of rank 0"):
        made.evaluate(DATA, 22)
