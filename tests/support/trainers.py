"""A small trainer for tests: a table and a number, fitted to 22 rows."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

import gradir
import gradir.numpy as gnp
from gradir import optim
from gradir.frontends.tracing.trees import flatten

_random = np.random.default_rng(0)
IDS = _random.integers(0, 6, 22)
TARGETS = _random.normal(size=22).astype(np.float32)
DATA = IDS, TARGETS
PARAMS: dict[str, Any] = {"table": np.ones(6, np.float32), "b": [np.zeros((), np.float32)]}


def loss(params: Any, ids: Any, targets: Any) -> Any:
    return gnp.mean((params["table"][ids] + params["b"][0] - targets) ** 2)


def batches() -> list[Any]:
    """The first 20 rows in batches of 5."""
    return [(IDS[k : k + 5], TARGETS[k : k + 5]) for k in range(0, 20, 5)]


def trainer(**options: Any) -> gradir.Trainer:
    return gradir.Trainer(loss, optim.sgd(0.1, momentum=0.9), PARAMS, **options)


def fresh() -> gradir.Trainer:
    """A trainer as new with the metric "error"; its programs are compiled once for all tests."""
    made, folder = _shared()
    made.load(Path(folder.name) / "start")
    return made


@cache
def _shared() -> tuple[gradir.Trainer, TemporaryDirectory[str]]:
    made, folder = trainer(metrics={"error": loss}), TemporaryDirectory()
    made.save(Path(folder.name) / "start")
    return made, folder


def fitted(made: gradir.Trainer, epochs: int = 3, **options: Any) -> list[bytes]:
    """Train to this epoch; the bits."""
    made.fit(DATA, epochs, 5, held_out=DATA, **options)
    return everything(made)


def everything(made: gradir.Trainer) -> list[bytes]:
    """The bits of parameters, state and history."""
    leaves, _ = flatten((made.params, made.state))
    columns = [*made.history.epochs.values(), *made.history.steps.values()]
    return [np.asarray(each).tobytes() for each in [*leaves, *columns]]
