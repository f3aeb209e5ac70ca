"""gradir.Trainer: epochs over data, with measurements, checkpoint files and an early stop."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np

from gradir.errors import ArgumentError, ArgumentTypeError
from gradir.frontends.comm.data_parallel import ParallelStep, data_parallel
from gradir.frontends.comm.shards import Sharded
from gradir.frontends.optim.train_step import train_step
from gradir.frontends.optim.transformation import GradientTransformation
from gradir.frontends.tracing.source_locations import named_options
from gradir.frontends.tracing.spec import spec_of
from gradir.frontends.tracing.trees import flatten, map_tree
from gradir.frontends.training.batches import Batch, Batches, batches_of, require_count, rows_of
from gradir.frontends.training.checkpoint_file import Checkpoint, Progress, read_checkpoint
from gradir.frontends.training.history import (
    COUNTS,
    Better,
    History,
    Table,
    epoch_means,
    epochs_since_best,
    weighted_mean,
)
from gradir.frontends.training.plan import FitPlan, either, plan_of
from gradir.frontends.training.progress_bar import ProgressBar
from gradir.frontends.training.team import TrainingTeam
from gradir.frontends.training.whole_files import as_path
from gradir.frontends.training.whole_steps import WholeSteps, kind_of
from gradir.frontends.transforms.jit import Jitted, jit


@dataclass(frozen=True)
class _Run:
    """Arrays, how far they are, and the rows of the history; later rows do not count."""

    arrays: WholeSteps[Progress]
    epochs: Table
    steps: Table

    @property
    def progress(self) -> Progress:
        return self.arrays.progress


class Trainer:
    """Training of parameters by a loss function and an optimizer of gradir.optim.

    `loss(params, *batch)` returns a floating number of rank 0; with `has_aux` it returns (number,
    aux), where aux is a dict of numbers of rank 0 that are recorded beside the loss. `sparse` are
    the parameters with row slices for gradients, `policy` and `memory_limit` what the gradient
    keeps, in bytes, all as for optim.train_step. `metrics` are functions
    like the loss, of any numbers, for data that is held out. `seed` gives the order of rows.
    `threads` as for gradir.compile. The arrays of `params` are copied.

    A step writes parameters and state in place, and applies whole or not at all: after any
    exception, Ctrl-C too, the trainer is as it was before the step that failed, and `fit` goes on
    with the next call. It computes that again from a copy, by the steps since, so a step must
    follow from its arguments. Copies take a twentieth of the time, and as much memory again as
    parameters and state.

    `carried` are arrays that the loss function has from step to step, such as the running
    statistics of nn.batch_norm: `loss(params, carried, *batch)` returns (number, next carried), and
    with `has_aux` (number, (next carried, aux)); metrics take them too. They are not for `mpi`.

    `mpi`: all ranks that a launcher has started train together, each on its rows of every batch, as
    by gradir.comm.data_parallel, which says what `deterministic` and `sharded` are. They make the
    same calls with the same parameters and data; `params` and `state` too, where these are sharded.
    Rank 0 writes the files, which any number of ranks goes on from. A step that fails on one of
    several ranks ends all.
    """

    @named_options
    def __init__(
        self,
        loss: Callable[..., Any],
        optimizer: GradientTransformation,
        params: Any,
        *,
        has_aux: bool = False,
        sparse: Any = False,
        carried: Any = None,
        policy: str = "keep_all",
        memory_limit: int | None = None,
        metrics: Mapping[str, Callable[..., Any]] | None = None,
        seed: int = 0,
        threads: int | None = None,
        mpi: bool = False,
        deterministic: int | None = None,
        sharded: Sharded | None = None,
    ):
        if mpi and carried is not None:
            raise ArgumentError("carried: ranks would carry different arrays; set mpi=False")
        kept = policy, memory_limit
        step = train_step(loss, optimizer, has_aux, sparse, carried is not None, *kept)
        params = map_tree(_as_array, params)
        state = optimizer.init(params)
        about = metrics, seed, threads, mpi, deterministic, sharded
        self._carries = carried is not None
        self._begin(step, params, (state, carried) if self._carries else state, *about)

    @classmethod
    def of_step(
        cls,
        step: Callable[..., Any],
        params: Any,
        state: Any,
        *,
        metrics: Mapping[str, Callable[..., Any]] | None = None,
        seed: int = 0,
        threads: int | None = None,
        mpi: bool = False,
        deterministic: int | None = None,
        sharded: Sharded | None = None,
    ) -> Trainer:
        """A trainer with a step of one's own: (params, state, *batch) -> (params, state, loss).

        It is traced. The third result is a number of rank 0, or (number, dict of numbers).
        """
        made = cls.__new__(cls)
        made._carries = False
        about = metrics, seed, threads, mpi, deterministic, sharded
        made._begin(step, params, state, *about)
        return made

    def _begin(
        self,
        step: Any,
        params: Any,
        state: Any,
        metrics: Any,
        seed: int,
        threads: int | None,
        mpi: bool,
        deterministic: int | None,
        sharded: Sharded | None,
    ) -> None:
        require_count("seed", seed, least=0)
        params, state = map_tree(_as_array, (params, state))
        named = dict(_paths({"params": params, "state": state}))
        for path, leaf in named.items():
            if not isinstance(leaf, np.ndarray):
                raise ArgumentTypeError(f"{path}: expected a NumPy array, got {leaf!r:.60}")
            spec_of(cast(object, leaf))  # refuses other dtypes
            if leaf.dtype.kind == "c":
                raise ArgumentTypeError(
                    f"{path}: expected real numbers, got {leaf.dtype}; make parameters of both "
                    "parts"
                )
        for what, given in (("deterministic", deterministic), ("sharded", sharded)):
            if not mpi and given is not None:
                raise ArgumentError(f"{what}: is for several ranks; set mpi=True")
        self._team = TrainingTeam(deterministic, is_alone=not mpi)
        if mpi:
            options: dict[str, Any] = {"deterministic": deterministic, "threads": threads}
            options["sharded"] = sharded
            self._step = data_parallel(step, donate_argnums=(0, 1), **options)
        else:
            self._step = jit(step, threads, donate_argnums=(0, 1))
        self._metrics = _checked_metrics(metrics, threads)
        self._team.require_equal("Trainer", {"seed": seed, "metrics": list(self._metrics)})
        self._team.require_equal_arrays("Trainer", named)
        self._kinds = {path: kind_of(leaf) for path, leaf in named.items()}
        self._tree = flatten((params, state))[1]
        self._run = _Run(self._steps(params, state, Progress(seed)), Table(), Table())

    def _steps(self, params: Any, state: Any, progress: Progress) -> WholeSteps[Progress]:
        """Steps from whole arrays on; this rank keeps all or its parts of them."""
        if isinstance(self._step, ParallelStep):
            params, state = self._step.shard(params, state)
        return WholeSteps(self._step, params, state, progress)

    def _whole(self) -> tuple[Any, Any]:
        """Parameters and state, whole; the next step writes some of their arrays."""
        arrays = self._run.arrays
        own = arrays.tree.build(arrays.leaves)
        return self._step.whole(*own) if isinstance(self._step, ParallelStep) else own

    def __repr__(self) -> str:
        progress = self._run.progress
        return f"<gradir.Trainer after {progress.epoch} epochs and {progress.steps} steps>"

    @property
    def params(self) -> Any:
        """A copy of the parameters."""
        return map_tree(np.copy, self._whole()[0])

    @property
    def state(self) -> Any:
        """A copy of the optimizer's state."""
        state = self._whole()[1]
        return map_tree(np.copy, state[0] if self._carries else state)

    @property
    def carried(self) -> Any:
        """A copy of the arrays that the loss function carries; None without them."""
        return map_tree(np.copy, self._whole()[1][1]) if self._carries else None

    @property
    def epoch(self) -> int:
        """The number of epochs that are done."""
        return self._run.progress.epoch

    @property
    def history(self) -> History:
        """The measurements so far."""
        run = self._run
        return History(run.epochs.first(run.progress.epoch), run.steps.first(run.progress.steps))

    @named_options
    def fit(
        self,
        data: Any,
        epochs: int,
        batch_size: int | None = None,
        *,
        shuffle: bool = True,
        drop_last: bool = False,
        held_out: Any = None,
        patience: int | None = None,
        watch: str | None = None,
        better: Better = "lower",
        folder: Any = None,
        save_every: int | None = None,
        progress: bool | None = None,
    ) -> History:
        """Train until `epochs` epochs are done, counting earlier calls; the history.

        `data` is a tuple of (nested) arrays with equal numbers of rows. A batch has `batch_size` of
        these rows, in an order that the seed and the epoch give (`shuffle`); the last batch is
        smaller or left out (`drop_last`). Or it is an iterable of batches, iterated once an epoch;
        a batch that is a tuple has several arguments of the loss. `held_out`, likewise, is measured
        by the metrics after each epoch.

        `patience`: stop after this many epochs without a better value of the column `watch`.
        `folder`: after each epoch its files are written, each whole or not at all:
        checkpoint.safetensors, best.safetensors (of the best epoch by `watch`), epochs.csv,
        steps.csv and epochs.svg. `save_every`: the first of them after as many steps, too.
        `progress`: whether to show a bar; by default on a terminal.
        """
        plan = plan_of(
            *(data, epochs, batch_size, shuffle, drop_last, held_out, patience, watch, better),
            *(folder, save_every, list(self._metrics), self._team),
        )
        self._fit(plan, progress)
        return self.history

    def evaluate(self, data: Any, batch_size: int | None = None) -> dict[str, float]:
        """The metrics on data as `fit` takes it: means over the rows, batch by batch."""
        return self._measured(batches_of("data", data, batch_size))

    def save(self, path: Any) -> None:
        """Write a checkpoint file in the safetensors format, whole or not at all."""
        run, history, file = self._run, self.history, as_path("path", path)
        tables = Table(history.epochs), Table(history.steps)
        arrays = dict(zip(self._kinds, flatten(self._whole())[0], strict=True))
        made = Checkpoint(arrays, run.progress, *tables)
        self._team.by_first("save", lambda: made.write(file))

    def load(self, path: Any) -> None:
        """Go on from a checkpoint file: its arrays, its seed, its place in the data, its history.

        FileError for a file that is not whole, is no checkpoint, or has other arrays than the
        trainer; the trainer is then as before. Functions and their numbers, such as the loss and
        a learning rate, are the trainer's: a file has none.
        """
        file = as_path("path", path)
        found = self._team.here("load", lambda: read_checkpoint(file, self._kinds))
        self._team.require_equal("load", {"progress": found.progress})
        self._team.require_equal_arrays("load", found.arrays)
        params, state = self._tree.build(list(found.arrays.values()))
        self._run = _Run(self._steps(params, state, found.progress), found.epochs, found.steps)

    def _fit(self, plan: FitPlan, progress: bool | None) -> None:
        batches, run = plan.data, self._run
        about = {"data": batches.cut, "progress": run.progress, "epochs": plan.epochs}
        about |= {"patience": plan.patience, "watch": plan.watch, "better": plan.better}
        about |= {"folder": plan.folder is None, "save_every": plan.save_every}
        self._team.require_equal("fit", about)
        if run.progress.batch and run.progress.cut != batches.cut:
            raise ArgumentError(
                f"data: {run.progress.batch} batches of epoch {self.epoch + 1} are done, and its "
                "others must be cut alike, by rows, batch_size, shuffle and drop_last: expected "
                f"{run.progress.cut}, got {batches.cut}"
            )
        shown = progress if self._team.rank == 0 else False
        with ProgressBar(shown, plan.epochs, batches.count, run.progress) as bar:
            while self.epoch < plan.epochs and not self._is_stopped(plan):
                self._epoch(plan, bar)

    def _epoch(self, plan: FitPlan, bar: ProgressBar) -> None:
        """The rest of an epoch."""
        run, done = self._run, self._run.progress
        for batch in plan.data.epoch(done.seed, done.epoch + 1, done.batch):
            self._take(batch, plan.data.cut)
            bar.step(run.steps.columns["loss"][-1])
            steps = run.progress.steps
            if plan.folder and plan.save_every and steps % plan.save_every == 0:
                self.save(plan.folder / "checkpoint.safetensors")
        done = run.progress
        held_out = plan.held_out
        measured = dict[str, float]() if held_out is None else self._measured(held_out)
        row = {
            "epoch": done.epoch + 1,
            **epoch_means(run.steps, slice(done.steps - done.batch, done.steps)),
            **{f"held_out_{name}": value for name, value in measured.items()},
        }
        run.epochs.put(done.epoch, row)
        run.arrays.note(replace(done, epoch=done.epoch + 1, batch=0, cut=()))
        bar.epoch(row)
        self._write(plan)

    def _take(self, batch: Batch, cut: tuple[int, ...]) -> None:
        run = self._run

        def after(result: Any) -> Progress:
            # the row counts from the moment on when the progress does
            done = run.progress
            rows = self._team.size * rows_of(batch)
            row = {"step": done.steps + 1, "epoch": done.epoch + 1, "rows": rows}
            run.steps.put(done.steps, {**row, **_numbers(result)})
            return replace(done, batch=done.batch + 1, steps=done.steps + 1, cut=cut)

        try:
            run.arrays.take(batch, after)
        except BaseException as error:
            self._team.end(error)
            raise

    def _measured(self, data: Batches) -> dict[str, float]:
        """The means of the metrics over the rows; each rank measures some of the batches."""
        (params, state), team = self._whole(), self._team
        given = (params, state[1]) if self._carries else (params,)

        def own() -> dict[int, tuple[float, list[float]]]:
            return {
                k: (rows_of(batch), self._values((*given, *batch)))
                for k, batch in enumerate(data.epoch(0, 1, 0))
                if k % team.size == team.rank
            }

        every = {k: found for part in team.gathered("evaluate", own) for k, found in part.items()}
        rows, values = zip(*(every[k] for k in sorted(every)), strict=True)
        columns = zip(self._metrics, zip(*values, strict=True), strict=True)
        return {name: weighted_mean(column, rows) for name, column in columns}

    def _values(self, arguments: tuple[Any, ...]) -> list[float]:
        return [
            _number(f"metric {name!r}", metric(*arguments))
            for name, metric in self._metrics.items()
        ]

    def _is_stopped(self, plan: FitPlan) -> bool:
        patience = plan.patience
        if patience is None or not self.epoch:
            return False
        # rank 0 decides: a mean need not be the same bits on all ranks
        return self._team.by_first("fit", lambda: self._epochs_since_best(plan) >= patience)

    def _epochs_since_best(self, plan: FitPlan) -> int:
        columns = self._run.epochs.first(self.epoch).columns
        if plan.watch not in columns:
            raise ArgumentError(
                f"watch: expected {either(set(columns) - {'epoch'})}, got {plan.watch!r}"
            )
        return epochs_since_best(columns[plan.watch], plan.better)

    def _write(self, plan: FitPlan) -> None:
        """The files of an epoch, the checkpoint last: what it tells is then in the others."""
        if plan.folder is None:
            return
        folder, history = plan.folder, self.history

        def tables() -> bool:
            history.write_csv(folder / "epochs.csv")
            history.write_csv(folder / "steps.csv", "steps")
            history.write_svg(folder / "epochs.svg")
            return plan.watch is not None and not self._epochs_since_best(plan)

        if self._team.by_first("fit", tables):
            self.save(folder / "best.safetensors")
        self.save(folder / "checkpoint.safetensors")


def _as_array(leaf: Any) -> Any:
    """A number of NumPy as an array, since steps write in place."""
    return np.asarray(leaf) if isinstance(leaf, np.generic) else leaf


def _paths(trees: Mapping[str, Any]) -> list[tuple[str, Any]]:
    flat = {name: flatten(tree) for name, tree in trees.items()}
    return [
        pair
        for name, (leaves, tree) in flat.items()
        for pair in zip(tree.paths(name), leaves, strict=True)
    ]


def _checked_metrics(metrics: object, threads: int | None) -> dict[str, Jitted[..., Any]]:
    if metrics is not None and not isinstance(metrics, Mapping):
        raise ArgumentTypeError(f"metrics: expected functions by names, got {metrics!r:.60}")
    given = cast(Mapping[object, Any], metrics or {})
    for name, metric in given.items():
        if not isinstance(name, str) or not callable(metric):
            raise ArgumentTypeError(f"metrics[{name!r}]: expected a name and a function")
    return {cast(str, name): jit(metric, threads) for name, metric in given.items()}


def _numbers(result: Any) -> dict[str, float]:
    """The loss of a step and the numbers beside it, by their names."""
    is_pair = type(result) is tuple and len(cast(Any, result)) == 2
    loss, aux = cast(tuple[Any, Any], result if is_pair else (result, {}))
    if not isinstance(aux, dict) or not {"loss", *COUNTS}.isdisjoint(cast(dict[str, Any], aux)):
        raise ArgumentTypeError(
            f"aux: expected a dict of numbers by names other than {either(['loss', *COUNTS])}, "
            f"got {aux!r:.60}"
        )
    given = {"loss": loss, **cast(dict[str, Any], aux)}
    return {str(name): _number(str(name), value) for name, value in given.items()}


def _number(what: str, value: Any) -> float:
    if np.shape(value) or isinstance(value, str | bytes):
        raise ArgumentTypeError(f"{what}: expected a number of rank 0, got {value!r:.60}")
    return float(value)
