"""The arguments of `Trainer.fit`, checked before anything is compiled or written."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gradir.errors import ArgumentError
from gradir.frontends.training.batches import Batches, batches_of, is_arrays, require_count
from gradir.frontends.training.history import Better
from gradir.frontends.training.team import TrainingTeam
from gradir.frontends.training.whole_files import as_path, file_errors


@dataclass(frozen=True)
class FitPlan:
    """What one `fit` is to do."""

    data: Batches
    epochs: int
    held_out: Batches | None
    watch: str | None
    better: Better
    patience: int | None
    folder: Path | None
    save_every: int | None


def plan_of(
    data: Any,
    epochs: int,
    batch_size: int | None,
    shuffle: bool,
    drop_last: bool,
    held_out: Any,
    patience: int | None,
    watch: str | None,
    better: Better,
    folder: Any,
    save_every: int | None,
    metrics: Sequence[str],
    team: TrainingTeam,
) -> FitPlan:
    """The plan; makes the folder."""
    require_count("epochs", epochs, least=0)
    counts = {"batch_size": batch_size, "patience": patience, "save_every": save_every}
    for what, count in counts.items():
        if count is not None:
            require_count(what, count, least=1)
    if better not in ("lower", "higher"):
        raise ArgumentError(f"better: expected 'lower' or 'higher', got {better!r}")
    if patience and watch is None:
        raise ArgumentError("patience: needs the name of a column, such as watch='loss'")
    if save_every and folder is None:
        raise ArgumentError("save_every: needs a folder to write to")
    batches = batches_of("data", data, batch_size, shuffle, drop_last, team)
    measured = None if held_out is None else _held_out(held_out, batch_size, metrics)
    _require_watched(watch, metrics if measured else ())
    path = None if folder is None else as_path("folder", folder)
    if path is not None:
        team.by_first("folder", lambda: _make(path))
    return FitPlan(batches, epochs, measured, watch, better, patience, path, save_every)


def _held_out(held_out: Any, batch_size: int | None, metrics: Sequence[str]) -> Batches:
    if not metrics:
        raise ArgumentError("held_out: the trainer has no metrics to measure it by")
    return batches_of("held_out", held_out, batch_size if is_arrays(held_out) else None)


def _require_watched(watch: str | None, metrics: Sequence[str]) -> None:
    """ArgumentError for a metric that is not measured; other columns are the loss function's."""
    columns = [f"held_out_{name}" for name in metrics]
    if watch is not None and watch.startswith("held_out_") and watch not in columns:
        raise ArgumentError(f"watch: expected {either(['loss', *columns])}, got {watch!r}")


def _make(folder: Path) -> None:
    with file_errors(folder, "cannot be made"):
        folder.mkdir(parents=True, exist_ok=True)


def either(names: Iterable[str]) -> str:
    """Names in a message: `'loss' or 'accuracy'`."""
    return " or ".join(map(repr, sorted(names)))
