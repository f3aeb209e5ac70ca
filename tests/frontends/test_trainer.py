"""gradir.Trainer: the bits of its steps, after exceptions and files too; iterables, own steps."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from types import FrameType, SimpleNamespace
from typing import Any

import numpy as np
import pytest
from trainers import DATA, IDS, PARAMS, TARGETS, batches, everything, fitted, fresh, loss, trainer

import gradir
import gradir.numpy as gnp
from gradir import optim
from gradir.errors import ArgumentError, ArgumentTypeError, IndexOutOfRange
from gradir.frontends.tracing.trees import flatten
from gradir.frontends.training import whole_steps
from gradir.frontends.training.batches import shuffled

Array = np.ndarray[Any, Any]
SVG = "{http://www.w3.org/2000/svg}"


# Bits.


def test_the_steps_are_those_of_a_plain_loop() -> None:
    made = fresh()
    made.fit(DATA, 2, 5)
    optimizer = optim.sgd(0.1, momentum=0.9)
    step, params, state = optim.train_step(loss, optimizer), PARAMS, optimizer.init(PARAMS)
    losses: list[float] = []
    for epoch in (1, 2):
        order = shuffled(22, 0, epoch)
        for begin in range(0, 22, 5):
            rows = order[begin : begin + 5]
            params, state, value = step(params, state, IDS[rows], TARGETS[rows])
            losses.append(float(value))
    np.testing.assert_array_equal(made.params["table"], params["table"])
    np.testing.assert_array_equal(made.state[0].trace["b"][0], state[0].trace["b"][0])
    assert made.history.steps["loss"] == losses
    assert made.history.steps["rows"] == [5, 5, 5, 5, 2] * 2
    means = [np.average(losses[k : k + 5], weights=[5, 5, 5, 5, 2]) for k in (0, 5)]
    np.testing.assert_allclose(made.history.epochs["loss"], means, rtol=1e-12)
    # the trainer has arrays of its own, and gives copies
    assert PARAMS["table"].tolist() == [1.0] * 6
    made.params["table"][:] = 9
    np.testing.assert_array_equal(made.params["table"], params["table"])


def test_resumed_training_has_the_same_bits(tmp_path: Path) -> None:
    """In a trainer with another seed, from the file of an epoch."""
    at_once = fitted(fresh())
    made = fresh()
    fitted(made, 1, folder=tmp_path)
    other = trainer(metrics={"error": loss}, seed=7)
    other.load(tmp_path / "checkpoint.safetensors")
    assert everything(other) == everything(made)
    assert fitted(other) == at_once


@pytest.mark.parametrize("at", [1, 4, 5, 9])
def test_an_epoch_goes_on_in_its_middle(tmp_path: Path, at: int) -> None:
    at_once = fitted(fresh())
    made = fresh()
    taken = 0

    def interrupted(*args: Any) -> Any:
        nonlocal taken
        if taken == at:
            raise KeyboardInterrupt
        taken += 1
        return step.of_leaves(*args)

    whole_steps: Any = made._run.arrays
    step = whole_steps._step
    whole_steps._step = SimpleNamespace(of_leaves=interrupted)
    with pytest.raises(KeyboardInterrupt):
        fitted(made)
    whole_steps._step = step
    made.save(tmp_path / "middle.safetensors")
    assert len(made.history.steps["loss"]) == at
    assert fitted(made) == at_once
    made = fresh()
    made.load(tmp_path / "middle.safetensors")
    assert fitted(made) == at_once
    made.load(tmp_path / "middle.safetensors")
    if at % 5:
        with pytest.raises(
            ArgumentError, match=r"^data: . batches of epoch . are done, and its oth"
        ):
            made.fit(DATA, 3, 6)


def test_an_interruption_at_any_line_changes_nothing() -> None:
    """Ctrl-C arrives before a line of the loop, each in turn, and training goes on."""
    made = fresh()
    at_once = fitted(made, 1)
    made = fresh()
    count = lines_run(lambda: fitted(made, 1), stop_at=-1)
    for line in range(0, count, 5):
        made = fresh()
        with pytest.raises(KeyboardInterrupt):
            lines_run(partial(fitted, made, 1), stop_at=line)
        assert fitted(made, 1) == at_once, line


def lines_run(run: Callable[[], object], stop_at: int) -> int:
    """How many lines of the trainer's files run; KeyboardInterrupt at one of them."""
    count = 0

    def on_line(frame: FrameType, event: str, argument: Any) -> Any:
        nonlocal count
        if event == "line":
            count += 1
            if count - 1 == stop_at:
                raise KeyboardInterrupt
        return on_line

    def on_call(frame: FrameType, event: str, argument: Any) -> Any:
        return on_line if "frontends/training" in frame.f_code.co_filename else None

    before = sys.gettrace()
    sys.settrace(on_call)
    try:
        run()
    finally:
        sys.settrace(before)
    return count


def test_a_step_that_fails_while_it_runs_is_undone() -> None:
    """An index out of range, seen by native code that writes the parameters in place."""
    made = fresh()
    wrong = IDS.copy()
    wrong[shuffled(22, 0, 1)[12]] = 6
    with pytest.raises(IndexOutOfRange):
        made.fit((wrong, TARGETS), 3, 5)
    assert len(made.history.steps["loss"]) == 2
    after_two = made.params
    assert fitted(made) == fitted(fresh())
    made = fresh()
    made.fit([(IDS[o], TARGETS[o]) for o in np.split(shuffled(22, 0, 1)[:10], 2)], 1)
    np.testing.assert_array_equal(made.params["table"], after_two["table"])


@pytest.mark.parametrize("wrong", [6, -7])
def test_an_index_out_of_range_changes_no_row_of_a_table_or_its_moments(wrong: int) -> None:
    """Row slices, whose update would write the rows before the index that is wrong."""

    def retrieval(table: Any, ids: Any) -> Any:
        return gnp.sum(table[ids] ** 2)

    start = np.ones((6, 2), np.float32)
    made = gradir.Trainer(retrieval, optim.adam(0.1, lazy=True), start, sparse=True)
    made.fit([np.array([1, 2, 1])], 1)
    before = made.params, made.state
    with pytest.raises(IndexOutOfRange, match=f"index {wrong} is out of range for a size of 6"):
        made.fit([np.array([0, 3, wrong])], 2)
    for one, other in zip(flatten(before)[0], flatten((made.params, made.state))[0], strict=True):
        np.testing.assert_array_equal(one, other)
    made.fit([np.array([0, 3, -1])], 2)
    assert (made.params[[0, 3, 5]] < 1).all() and made.state[0].count == 2


def test_a_table_for_which_memory_has_no_room(monkeypatch: pytest.MonkeyPatch) -> None:
    huge = np.broadcast_to(np.float32(1), (10**13, 8))
    message = (
        r"no memory for a copy of float32 of shape \(10000000000000, 8\), 320000000000000 bytes"
    )
    with pytest.raises(ArgumentError, match=message):
        gradir.Trainer(lambda table: gnp.sum(table[:2]), optim.sgd(0.1), huge)
    made = fresh()

    def full(array: Any, place: str) -> Any:
        raise ArgumentError(f"{place}: no memory")

    with monkeypatch.context() as patch:
        patch.setattr(whole_steps, "copied", full)
        with pytest.raises(ArgumentError, match=r"params\['b'\]\[0\]: no memory"):
            fitted(made)  # at the copy before the first step
    assert not made.history.steps and fitted(made) == fitted(fresh())


def test_batches_that_change_after_their_step() -> None:
    """What a failed step is computed from again is the batch as it was."""

    class OneBuffer:
        def __iter__(self) -> Iterator[Any]:
            ids, targets = np.empty(5, np.int64), np.empty(5, np.float32)
            for k in (0, 5, 10):
                ids[:], targets[:] = IDS[k : k + 5], TARGETS[k : k + 5]
                yield ids, targets
            ids[2] = 77
            yield ids, targets

    made, plain = fresh(), trainer()
    whole_steps: Any = made._run.arrays
    whole_steps._bytes = 10**9
    whole_steps._kept_for_a_step(whole_steps.leaves).seconds_to_copy = 1e9  # no further copy
    with pytest.raises(IndexOutOfRange):
        made.fit(OneBuffer(), 1)
    assert len(whole_steps._kept.batches) == 4
    plain.fit(batches()[:3], 1)
    np.testing.assert_array_equal(made.params["table"], plain.params["table"])


def test_seeds_give_orders() -> None:
    orders = [shuffled(1000, seed, epoch).tolist() for seed in (0, 1) for epoch in (1, 2)]
    assert all(sorted(order) == list(range(1000)) for order in orders)
    assert len(set(map(tuple, orders))) == 4
    # NumPy's promise for bit generators: the same in each version
    assert shuffled(8, 3, 1).tolist() == [0, 6, 2, 1, 3, 7, 4, 5]
    made = fresh()
    made.fit(DATA, 1, 22, shuffle=False)
    unshuffled = made.history.steps["loss"]
    assert unshuffled == [float(gradir.jit(loss)(PARAMS, IDS, TARGETS))]


# Iterables.


class EndsEarly:
    """Batches that end with Ctrl-C after as many in all."""

    def __init__(self, left: int):
        self.left = left

    def __iter__(self) -> Iterator[Any]:
        for batch in batches():
            if not self.left:
                raise KeyboardInterrupt
            self.left -= 1
            yield batch


def test_an_iterable_goes_on_behind_its_last_batch(tmp_path: Path) -> None:
    made = fresh()
    made.fit(batches(), 2)
    at_once = everything(made)
    made = fresh()
    with pytest.raises(KeyboardInterrupt):
        made.fit(EndsEarly(6), 2, folder=tmp_path, save_every=1)
    made = fresh()
    made.load(tmp_path / "checkpoint.safetensors")
    with pytest.raises(
        ArgumentError, match=r"^data: gave 1 batches in epoch 2, expected the 2 that"
    ):
        made.fit(batches()[:1], 2)
    made.fit(batches(), 2)
    assert everything(made) == at_once


def test_iterables_of_batches() -> None:
    made = fresh()
    made.fit(DATA, 2, 5, shuffle=False, drop_last=True)
    by_rows = everything(made)
    made = fresh()
    made.fit(batches(), 2)
    assert everything(made) == by_rows
    with pytest.raises(
        ArgumentError, match=r"^data: gave 0 batches in epoch 4, expected at least 1"
    ):
        made.fit(iter(batches()), 4)
    assert made.epoch == 3


def test_single_and_nested_arrays() -> None:
    def mean(p: Any, batch: Any) -> Any:
        return gnp.mean(p * batch["x"][0])

    made = gradir.Trainer(mean, optim.sgd(0.5), np.ones(()))
    made.fit(({"x": [np.arange(4.0)]},), 1, 2)
    assert made.params == 1 - 0.5 * (1.5 * 2)
    made = gradir.Trainer(lambda p, x: gnp.mean(p * x), optim.sgd(0.5), np.ones(()))
    made.fit(np.arange(4.0), 1, 4)
    made.fit([np.arange(4.0)], 2)
    assert made.params == 1 - 0.5 * 3


# Other steps.


def deep_loss(weights: Any, x: Any) -> Any:
    for weight in weights:
        x = gnp.tanh(x @ weight)
    return gnp.mean(x * x)


def deep_trainer(carried: Any = None, **options: Any) -> gradir.Trainer:
    weights = list(np.random.default_rng(0).normal(size=(6, 16, 16)) / 4)

    def carrying(weights: Any, count: Any, x: Any) -> tuple[Any, Any]:
        return deep_loss(weights, x), count + 1

    made = deep_loss if carried is None else carrying
    return gradir.Trainer(made, optim.sgd(0.1), weights, carried=carried, seed=0, **options)


def test_limits_of_memory_change_no_bit() -> None:
    rows = np.random.default_rng(1).normal(size=(64, 16))
    weights = deep_trainer().params
    free = gradir.grad(deep_loss).compiled(weights, rows).executable.plan.peak_bytes
    limit = free * 3 // 4
    bounded = gradir.grad(deep_loss, memory_limit=limit).compiled(weights, rows)
    assert bounded.executable.plan.peak_bytes <= limit
    count = np.int64(0)
    options: list[dict[str, Any]] = [
        {"memory_limit": limit}, {"policy": "keep_none"}, {"carried": count},
        {"carried": count, "memory_limit": limit},
    ]  # fmt: skip
    expected = deep_trainer().fit(rows, 2, 64).steps["loss"]
    for each in options:
        assert deep_trainer(**each).fit(rows, 2, 64).steps["loss"] == expected
    with pytest.raises(gradir.GradirError, match="memory_limit of 100 bytes is infeasible"):
        deep_trainer(memory_limit=100).fit(rows, 1, 64)


def test_row_slices() -> None:
    sparse = trainer(sparse={"table": True, "b": [False]})
    dense = trainer()
    for each in (sparse, dense):
        each.fit(DATA, 3, 5)
    np.testing.assert_allclose(sparse.params["table"], dense.params["table"], rtol=1e-5)


def test_a_step_of_ones_own() -> None:
    """Row slices: the step writes the rows that the batch reads."""

    def step(params: Any, state: Any, ids: Any, targets: Any) -> Any:
        def of_table(table: Any) -> Any:
            return loss({**params, "table": table}, ids, targets)

        value, rows = gradir.value_and_grad(of_table, sparse_argnums=0)(params["table"])
        table = params["table"].at[rows.indices].add(-0.1 * rows.values)
        return {**params, "table": table}, state + 1, value

    made = gradir.Trainer.of_step(step, PARAMS, np.zeros((), np.int32))
    made.fit(DATA, 2, 11)
    table = np.ones(6, np.float32)
    for epoch in (1, 2):
        for rows in np.split(shuffled(22, 0, epoch), 2):
            np.add.at(table, IDS[rows], -0.1 * 2 / 11 * (table[IDS[rows]] - TARGETS[rows]))
    np.testing.assert_allclose(made.params["table"], table, rtol=1e-5)
    assert made.state == 4


@pytest.mark.parametrize(
    ("step", "message"),
    [
        (lambda p, s, x: (p, s), r"^step: must return \(params, state, loss\)"),
        (lambda p, s, x: ([p], s, p), "^step: must return params and state nested as it is given"),
        (lambda p, s, x: (p, gnp.stack([s, s]), p), r"^step: state must stay float64\[\], got"),
        (lambda p, s, x: (p, s, x), "^loss: expected a number of rank 0"),
        (lambda p, s, x: (p, s, (p, p)), "^aux: expected a dict of numbers"),
        (lambda p, s, x: (p, s, (p, {"rows": p})), "^aux: expected a dict of numbers"),
    ],
)  # fmt: skip
@pytest.mark.filterwarnings("ignore:jit of <lambda>|jit of main")
def test_wrong_steps(step: Callable[..., Any], message: str) -> None:
    made = gradir.Trainer.of_step(step, np.ones(()), np.zeros(()))
    with pytest.raises(ArgumentTypeError, match=message):
        made.fit(np.ones(2), 1, 2)
    assert (made.params, made.state, made.history.steps) == (1, 0, {})


# Carried arrays.


def test_carried_arrays_are_those_of_a_plain_loop(tmp_path: Path) -> None:
    def smooth(p: Any, carried: Any, ids: Any, targets: Any) -> Any:
        error = gnp.mean((p["table"][ids % 6] - targets) ** 2)
        after = {"mean": 0.9 * carried["mean"] + 0.1 * error, "steps": carried["steps"] + 1}
        return error * (1 + carried["mean"]), after

    def metric(p: Any, carried: Any, ids: Any, targets: Any) -> Any:
        return carried["steps"] + gnp.sum(p["table"] * 0)

    ids, targets = np.arange(12), np.linspace(-1, 1, 12)
    params, first = {"table": np.zeros(6)}, {"mean": np.zeros(()), "steps": np.int64(0)}
    optimizer = optim.sgd(0.1)
    options: dict[str, Any] = {"carried": first, "metrics": {"steps": metric}}
    made = gradir.Trainer(smooth, optimizer, params, **options)
    history = made.fit((ids, targets), 2, 4, shuffle=False, held_out=(ids, targets))
    p, carried, state = params, first, optimizer.init(params)
    for begin in [0, 4, 8] * 2:
        rows = slice(begin, begin + 4)
        (_, carried), grads = gradir.value_and_grad(smooth, has_aux=True)(
            p, carried, ids[rows], targets[rows]
        )
        updates, state = optimizer.update(grads, state, p)
        p = optim.apply_updates(p, updates)
    np.testing.assert_allclose(made.params["table"], p["table"], rtol=1e-14)
    np.testing.assert_allclose(made.carried["mean"], carried["mean"], rtol=1e-14)
    assert made.carried["steps"] == 6 and history.epochs["held_out_steps"] == [3, 6]
    assert flatten(made.state)[0] == flatten(optimizer.init(params))[0]
    made.save(tmp_path / "c.safetensors")
    other = gradir.Trainer(smooth, optimizer, params, **options)
    other.load(tmp_path / "c.safetensors")
    assert flatten(other.carried)[0] == flatten(made.carried)[0]


def test_carried_arrays_with_numbers_beside_the_loss() -> None:
    def scored(p: Any, carried: Any, x: Any) -> Any:
        return gnp.sum(p * x), (carried + 1, {"score": gnp.max(x)})

    made = gradir.Trainer(scored, optim.sgd(0.1), np.ones(3), has_aux=True, carried=np.zeros(()))
    history = made.fit((np.arange(6.0).reshape(2, 3),), 1, 1, shuffle=False)
    assert history.steps["score"] == [2, 5] and made.carried == 2
    with pytest.raises(ArgumentError, match="carried: ranks would carry different arrays"):
        gradir.Trainer(scored, optim.sgd(0.1), np.ones(3), carried=np.zeros(()), mpi=True)
    wrong = gradir.Trainer(
        lambda p, c, x: (gnp.sum(p * x), c), optim.sgd(0.1), np.ones(3), has_aux=True, carried=X
    )
    with pytest.raises(gradir.GradirError, match=r"must return \(number, \(next carried, aux\)\)"):
        wrong.fit((np.ones((2, 3)),), 1, 1)


X = np.zeros(())
