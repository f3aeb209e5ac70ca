"""gradir.optim with row slices among the gradients: exact as dense ones are, and lazy."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import gradir
import gradir.numpy as gnp
from gradir import RowSlices, optim
from gradir.errors import TraceError

Array = np.ndarray[Any, Any]
RANDOM = np.random.default_rng(11)
STEPS = 3
# Repeated and negative indices, one, none, and none of a table without rows.
INDICES: list[list[list[int]]] = [
    [[1, 4, 1, -2, 1], [0, -5, 2, 0], [3], [], []],
    [[0, 0, 0, 0, 0], [4, 4, -1, 1], [-1], [], []],
    [[5, -1, 4, 2, -6], [3, 0, 1, 2], [1], [], []],
]
SHAPES = [(6, 3), (5,), (4, 2, 3), (3, 2), (0, 3)]
SEEDED = RANDOM.bit_generator.state


@pytest.fixture(autouse=True)
def the_same_numbers_in_any_order() -> None:
    RANDOM.bit_generator.state = SEEDED


def nested(tables: list[Any], w: Any, scale: Any) -> dict[str, Any]:
    first, second, *rest = tables
    return {"layers": [{"table": first, "w": w}, None, (second, rest)], "scale": scale}


def drawn(shape: tuple[int, ...], dtype: Any) -> Array:
    return np.asarray(RANDOM.normal(size=shape)).astype(dtype)


def of_step(step: list[list[int]], dtype: Any) -> tuple[Any, Any]:
    """Gradients with slices, and the same with arrays."""
    slices = [
        RowSlices(np.array(i, np.int64), drawn((len(i), *shape[1:]), dtype), shape)
        for i, shape in zip(step, SHAPES, strict=True)
    ]
    w, scale = drawn((2, 3), dtype), drawn((), dtype)
    return nested(slices, w, scale), nested([s.densify() for s in slices], w, scale)


def leaves_of(tree: Any) -> list[Any]:
    first, _, (second, rest) = tree["layers"]
    return [first["table"], first["w"], second, *rest, tree["scale"]]


def stepping(optimizer: optim.GradientTransformation) -> Callable[..., Any]:
    def step(params: Any, state: Any, grads: Any) -> Any:
        updates, state = optimizer.update(grads, state, params)
        return optim.apply_updates(params, updates), state

    return step


def start(dtype: Any) -> Any:
    return nested([drawn(s, dtype) for s in SHAPES], drawn((2, 3), dtype), drawn((), dtype))


# Exact.

EXACT: dict[str, optim.GradientTransformation] = {
    "sgd": optim.sgd(optim.linear_schedule(0.3, 0.1, 3)),
    "momentum": optim.sgd(0.1, 0.9),
    "nesterov": optim.sgd(0.1, 0.9, nesterov=True),
    "weight decay": optim.chain(optim.add_decayed_weights(0.1), optim.sgd(0.1)),
    "adagrad": optim.adagrad(0.1),
    "adagrad from 0": optim.adagrad(0.1, 0.0, 0.0),
    "rmsprop": optim.rmsprop(0.1, momentum=0.9),
    "centered": optim.rmsprop(0.1, 0.8, 1e-3, centered=True),
    "adam": optim.adam(0.1),
    "adamw": optim.adamw(0.1, nesterov=True),
    "adafactor": optim.adafactor(0.1, 2, momentum=0.9, weight_decay_rate=0.01),
    "lamb": optim.lamb(0.1, weight_decay=0.2),
    "lion": optim.lion(0.1),
    "clip": optim.chain(optim.clip(0.5), optim.scale(-0.1)),
    "global norm": optim.chain(optim.clip_by_global_norm(0.5), optim.adagrad(0.1)),
    "block rms": optim.chain(optim.clip_by_block_rms(0.2), optim.sgd(0.1)),
    "trust": optim.chain(optim.scale_by_trust_ratio(eps=0.1), optim.sgd(0.1)),
    "param rms": optim.chain(optim.scale_by_param_block_rms(), optim.sgd(0.1)),
    "ema": optim.chain(optim.ema(0.9), optim.sgd(0.1)),
    "polyak": optim.chain(optim.polyak_average(), optim.sgd(0.1)),
    "loss scale": optim.dynamic_loss_scale(optim.adagrad(0.1), 2.0),
}
SPARSE_UPDATES = {
    *("sgd", "adagrad", "adagrad from 0", "clip", "global norm", "block rms", "trust"),
    *("param rms", "loss scale"),
}


@pytest.mark.parametrize(
    ("name", "dtype"),
    [*((name, "float64") for name in EXACT), *((n, "float32") for n in ("sgd", "adagrad", "adam"))],
)
def test_exact(name: str, dtype: str) -> None:
    """The parameters and the state are those that the dense gradients give."""
    optimizer = EXACT[name]
    step = gradir.jit(stepping(optimizer))
    dense = sparse = start(dtype)
    state = dense_state = optimizer.init(dense)
    tolerance = 1e-12 if dtype == "float64" else 2e-5
    for indices in INDICES:
        slices, arrays = of_step(indices, dtype)
        sparse, state = step(sparse, state, slices)
        dense, dense_state = step(dense, dense_state, arrays)
        for tree, other in ((sparse, dense), (state, dense_state)):
            for one, two in zip(_arrays(tree), _arrays(other), strict=True):
                assert (one.dtype, one.shape) == (two.dtype, two.shape)
                np.testing.assert_allclose(one, two, rtol=tolerance, atol=tolerance)


def _arrays(tree: Any) -> list[Any]:
    """All arrays of a tree."""
    if isinstance(tree, dict):
        tree = list(tree.values())
    if isinstance(tree, (list, tuple)):
        return [leaf for child in tree for leaf in _arrays(child)]
    return [] if tree is None else [np.asarray(tree)]


@pytest.mark.parametrize("name", EXACT)
def test_what_stays_sparse(name: str) -> None:
    """By itself, without a jit around it; as the docs say."""
    optimizer, table = EXACT[name], np.ones((4, 2))
    grads = RowSlices(np.array([1, -1]), np.ones((2, 2)), (4, 2))
    updates, _ = optimizer.update(grads, optimizer.init(table), table)
    assert isinstance(updates, RowSlices) == (name in SPARSE_UPDATES)


def test_global_norm() -> None:
    grads = RowSlices(np.array([1, -1, 3]), np.array([[3.0, 0.0], [1.0, 0.0], [3.0, 0.0]]), (4, 2))
    assert optim.global_norm({"a": grads, "b": np.array(12.0)}) == 13.0
    assert optim.global_norm([grads, grads.densify()]) == 50**0.5


def test_weight_decay_of_other_leaves_leaves_slices() -> None:
    decayed = optim.add_decayed_weights(0.1, {"tables": False, "w": True})
    grads = RowSlices(np.array([0, 0]), np.ones((2, 2)), (4, 2))
    params = {"tables": [np.ones((4, 2))], "w": np.ones(2)}
    updates, _ = decayed.update({"tables": [grads], "w": np.ones(2)}, decayed.init(params), params)
    [kept] = updates["tables"]
    np.testing.assert_array_equal(kept.values, grads.values)
    np.testing.assert_array_equal(updates["w"], [1.1, 1.1])


# Lazy, against loops over the rows that the batch touched.

Rows = list[tuple[Any, Array]]
Course = Callable[[Array, Rows], Iterator[Array]]


def lazy_momentum(p: Array, steps: Rows, nesterov: bool = False) -> Iterator[Array]:
    velocity = np.zeros_like(p)
    for r, g in steps:
        velocity[r] = 0.9 * velocity[r] + g
        p[r] -= 0.1 * (g + 0.9 * velocity[r] if nesterov else velocity[r])
        yield p


def lazy_nesterov(p: Array, steps: Rows) -> Iterator[Array]:
    return lazy_momentum(p, steps, nesterov=True)


def lazy_rmsprop(p: Array, steps: Rows) -> Iterator[Array]:
    mean, square, velocity = (np.zeros_like(p) for _ in range(3))
    for r, g in steps:
        mean[r] = 0.8 * mean[r] + 0.2 * g
        square[r] = 0.8 * square[r] + 0.2 * g**2
        u = -0.1 * g / np.sqrt(square[r] - mean[r] ** 2 + 1e-3)
        velocity[r] = 0.7 * velocity[r] + u
        p[r] += velocity[r]
        yield p


def lazy_adam(p: Array, steps: Rows, decay: float = 0, nesterov: bool = False) -> Iterator[Array]:
    mean, square = np.zeros_like(p), np.zeros_like(p)
    for t, (r, g) in enumerate(steps, 1):
        mean[r] = 0.9 * mean[r] + 0.1 * g
        square[r] = 0.999 * square[r] + 0.001 * g**2
        ahead = mean[r] / (1 - 0.9**t)
        if nesterov:
            ahead = 0.9 * mean[r] / (1 - 0.9 ** (t + 1)) + 0.1 * g / (1 - 0.9**t)
        d = ahead / (np.sqrt(square[r] / (1 - 0.999**t)) + 1e-8)
        p[r] -= 0.1 * (d + decay * p[r])
        yield p


def lazy_adamw(p: Array, steps: Rows) -> Iterator[Array]:
    return lazy_adam(p, steps, decay=0.2, nesterov=True)


def lazy_lion(p: Array, steps: Rows) -> Iterator[Array]:
    mean = np.zeros_like(p)
    for r, g in steps:
        p[r] -= 0.1 * (np.sign(0.9 * mean[r] + 0.1 * g) + 0.2 * p[r])
        mean[r] = 0.99 * mean[r] + 0.01 * g
        yield p


def lazy_decay(p: Array, steps: Rows) -> Iterator[Array]:
    for r, g in steps:
        p[r] -= 0.1 * (g + 0.3 * p[r])
        yield p


LAZY: list[tuple[optim.GradientTransformation, Course]] = [
    (optim.sgd(0.1, 0.9, lazy=True), lazy_momentum),
    (optim.sgd(0.1, 0.9, nesterov=True, lazy=True), lazy_nesterov),
    (optim.rmsprop(0.1, 0.8, 1e-3, centered=True, momentum=0.7, lazy=True), lazy_rmsprop),
    (optim.adam(0.1, lazy=True), lazy_adam),
    (optim.adamw(0.1, weight_decay=0.2, nesterov=True, lazy=True), lazy_adamw),
    (optim.lion(0.1, weight_decay=0.2, lazy=True), lazy_lion),
    (optim.chain(optim.add_decayed_weights(0.3, lazy=True), optim.sgd(0.1)), lazy_decay),
]


@pytest.mark.parametrize(
    ("optimizer", "course", "dtype"),
    [*((*row, "float64") for row in LAZY), (optim.adam(0.1, lazy=True), lazy_adam, "float32")],
    ids=lambda o: getattr(o, "__name__", ""),
)
def test_lazy(optimizer: optim.GradientTransformation, course: Course, dtype: str) -> None:
    """Rows of the batch alone change, where gradients are slices; dense leaves are as ever."""
    step, params = gradir.jit(stepping(optimizer)), start(dtype)
    given = [of_step(indices, dtype)[0] for indices in INDICES]
    state, found = optimizer.init(params), [params]
    for grads in given:
        params, state = step(params, state, grads)
        found.append(params)
    rows = [leaves_of(tree) for tree in found]
    tolerance = 1e-12 if dtype == "float64" else 2e-5
    for k, p in enumerate(rows[0]):
        grads = [_rows_of(leaves_of(each)[k]) for each in given]
        wanted = course(p.astype(np.float64), grads)
        for t, expected in enumerate(wanted, 1):
            np.testing.assert_allclose(rows[t][k], expected, rtol=tolerance, atol=tolerance)
            if isinstance(grads[t - 1][0], np.ndarray):
                others = np.setdiff1d(np.arange(len(p)), grads[t - 1][0])
                np.testing.assert_array_equal(rows[t][k][others], rows[t - 1][k][others])


def _rows_of(leaf: Any) -> tuple[Any, Array]:
    """The rows of a gradient, once each, and their sums in float64; all of a dense one."""
    if not isinstance(leaf, RowSlices):
        return ..., leaf.astype(np.float64)
    dense = leaf.astype(np.float64).densify()
    rows = np.unique(leaf.indices % max(1, leaf.shape[0]))
    return rows, dense[rows]


def test_slices_of_all_rows_are_dense() -> None:
    """A row that is there with a gradient of 0 counts as touched."""
    table, order = drawn((5, 2), np.float64), RANDOM.permutation(5)
    values = drawn((5, 2), np.float64)
    values[2] = 0
    lazy, exact = optim.adamw(0.1, lazy=True), optim.adamw(0.1)
    one, two = (table, lazy.init(table)), (table, exact.init(table))
    for _ in range(2):
        slices = RowSlices(order, values, (5, 2))
        one, two = stepping(lazy)(*one, slices), stepping(exact)(*two, slices.densify())
    np.testing.assert_allclose(one[0], two[0], rtol=1e-13)


# Dtypes, inf and nan.


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16], ids=["f16", "bf16"])
@pytest.mark.parametrize(
    "make",
    [
        lambda: optim.sgd(0.1, 0.9, state_dtype="float32", lazy=True),
        lambda: optim.adamw(0.1, state_dtype="float32", lazy=True),
        lambda: optim.adagrad(0.1, state_dtype="float32"),
        lambda: optim.static_loss_scale(optim.sgd(0.1), 1.0),
    ],
    ids=["sgd", "adamw", "adagrad", "unscaled"],
)
def test_small_parameters(make: Callable[[], Any], dtype: Any) -> None:
    """The step is the one in float32, rounded once; repeated rows among them."""
    optimizer, table = make(), drawn((6, 3), dtype)
    indices, values = np.array([1, -1, 1, 4]), drawn((4, 3), dtype)
    values[2] = values[0]  # a sum that is exact
    slices, wide = RowSlices(indices, values, (6, 3)), table.astype(np.float32)
    new, _ = stepping(optimizer)(table, optimizer.init(table), slices)
    wanted, _ = stepping(optimizer)(wide, optimizer.init(wide), slices.astype(np.float32))
    assert new.dtype == dtype
    np.testing.assert_array_equal(new, wanted.astype(dtype))


def test_repeated_rows_are_rounded_once() -> None:
    """Each of the 1,000 updates is less than half a step of bfloat16 at 1."""
    table = np.ones((2, 1), ml_dtypes.bfloat16)
    updates = RowSlices(np.zeros(1000, np.int64), np.full((1000, 1), 0.001, table.dtype), (2, 1))
    np.testing.assert_allclose(optim.apply_updates(table, updates)[:, 0].astype(float), [2, 1])
    norm = optim.global_norm(updates)
    assert norm.dtype == np.float32 and abs(norm - 1) < 0.01


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_a_dynamic_scale(bad: float) -> None:
    """A step with nan or inf in the slices changes nothing but the scale."""
    optimizer = optim.dynamic_loss_scale(optim.adam(0.1, lazy=True), 8.0)
    step, table = gradir.jit(stepping(optimizer)), drawn((6, 3), np.float32)
    state, values = optimizer.init(table), drawn((3, 3), np.float32)
    slices = RowSlices(np.array([2, 0, 2]), values, (6, 3))
    table, state = step(table, state, slices)
    values[1, 1] = bad
    after, skipped = step(table, state, RowSlices(slices.indices, values, (6, 3)))
    np.testing.assert_array_equal(after, table)
    for one, other in zip(_arrays(skipped.inner), _arrays(state.inner), strict=True):
        np.testing.assert_array_equal(one, other)
    assert (skipped.scale, skipped.skipped_steps) == (4.0, 1)


def test_nan_stays_in_its_rows() -> None:
    table, values = np.ones((4, 2)), np.array([[np.nan, 1.0], [1.0, 1.0]])
    optimizer = optim.chain(optim.clip_by_global_norm(1.0), optim.adam(0.1, lazy=True))
    grads = RowSlices(np.array([1, 3]), values, (4, 2))
    new, _ = stepping(optimizer)(table, optimizer.init(table), grads)
    assert np.isnan(new).all(axis=1).tolist() == [False, True, False, True]


def test_derivatives_flow_through_rows() -> None:
    """Of the table after a step, in the gradients' values and in the table."""
    table, values = drawn((5, 2), np.float64), drawn((4, 2), np.float64)
    optimizer = optim.chain(optim.clip_by_block_rms(0.1), optim.adagrad(0.1))

    def behind(table: Any, values: Any, as_array: bool) -> Any:
        slices = RowSlices(np.array([1, 3, 1, -5]), values, (5, 2))
        grads = slices.densify() if as_array else slices
        new, _ = stepping(optimizer)(table, optimizer.init(table), grads)
        return gnp.sum(gnp.sin(new))

    found, wanted = (
        gradir.grad(partial(behind, as_array=as_array), argnums=(0, 1))(table, values)
        for as_array in (False, True)
    )
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-10, atol=1e-12)


# Refusals.

TABLE = np.ones((4, 2))
GOOD = RowSlices(np.array([1]), np.ones((1, 2)), (4, 2))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: optim.apply_updates({"t": GOOD}, {"t": TABLE}),
            "apply_updates: params['t'] must be an array, got RowSlices",
        ),
        (
            lambda: optim.adam(0.1).init([GOOD]),
            "adam: params[0] must be an array, got RowSlices",
        ),
        (
            lambda: optim.apply_updates([np.ones((4, 3))], [GOOD]),
            "updates[0] must have the shape of params[0], got row slices of float64[4, 2] and "
            "float64[4, 3]",
        ),
        (
            lambda: optim.global_norm([RowSlices(np.array([0.5]), np.ones((1, 2)), (4, 2))]),
            "updates[0]: slices of [4, 2] must have integer indices [n] and values [n, 2], "
            "got float64[1] and float64[1, 2]",
        ),
        (
            lambda: optim.global_norm(RowSlices(np.array([1, 2]), np.ones((1, 2)), (4, 2))),
            "got int64[2] and float64[1, 2]",
        ),
        (
            lambda: optim.global_norm(RowSlices(np.array([1]), np.ones((1, 2), int), (4, 2))),
            "updates must be floating, got row slices of int64[4, 2]",
        ),
        (
            lambda: optim.adam(0.1).update({"t": GOOD}, optim.adam(0.1).init({"s": TABLE})),
            "state.mu must be nested like updates",
        ),
    ],
)
def test_refused(call: Callable[[], Any], message: str) -> None:
    with pytest.raises(TraceError) as caught:
        call()
    assert message in str(caught.value) and f"{__file__}:" in str(caught.value)


@pytest.mark.parametrize("index", [4, -5])
@pytest.mark.parametrize("make", [optim.sgd, lambda rate: optim.adam(rate, lazy=True)])
def test_an_index_beyond_the_table(make: Callable[[float], Any], index: int) -> None:
    grads, optimizer = RowSlices(np.array([0, index]), np.ones((2, 2)), (4, 2)), make(0.1)
    with pytest.raises(gradir.GradirError, match="index"):
        stepping(optimizer)(TABLE, optimizer.init(TABLE), grads)


# Steps of training.


def loss(params: Any, ids: Any, targets: Any) -> Any:
    rows = params["tables"][0][ids] * params["w"]
    return gnp.mean((gnp.sum(rows * rows, axis=-1) - targets) ** 2)


def of_tables(params: Any) -> Any:
    return {"tables": [True], "w": False}


PARAMS = {"tables": [drawn((6, 3), np.float64)], "w": np.ones(3)}
IDS, TARGETS = np.array([1, -1, 1, 3]), np.ones(4)


@pytest.mark.parametrize("sparse", [{"tables": True, "w": False}, of_tables], ids=["tree", "rule"])
@pytest.mark.parametrize(
    "optimizer",
    [optim.adagrad(0.1), optim.dynamic_loss_scale(optim.sgd(0.1))],
    ids=["adagrad", "loss scale"],
)
def test_train_step(optimizer: optim.GradientTransformation, sparse: Any) -> None:
    state = optimizer.init(PARAMS)
    found = optim.train_step(loss, optimizer, sparse=sparse)(PARAMS, state, IDS, TARGETS)
    wanted = optim.train_step(loss, optimizer)(PARAMS, state, IDS, TARGETS)
    for one, other in zip(_arrays(found), _arrays(wanted), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12)


STEP_MEMORY: dict[str, optim.GradientTransformation] = {
    "sgd": optim.sgd(0.1),
    "clipped": optim.chain(optim.clip_by_global_norm(1.0), optim.sgd(0.1)),
    "momentum": optim.sgd(0.1, 0.9, lazy=True),
    "adagrad": optim.adagrad(0.1),
    "adam": optim.adam(0.1, lazy=True),
    "adamw": optim.adamw(0.1, lazy=True),
    "unscaled": optim.dynamic_loss_scale(optim.adam(0.1, lazy=True)),
}


def peak_bytes(
    optimizer: optim.GradientTransformation, rows: int, batch: int, dtype: Any = np.float32
) -> int:
    step = optim.train_step(loss, optimizer, sparse={"tables": True, "w": False})
    params = {"tables": [np.zeros((rows, 16), dtype)], "w": np.zeros(16, dtype)}
    donating, ids = gradir.jit(step, donate_argnums=(0, 1)), np.zeros(batch, np.int64)
    made = donating.compiled(params, optimizer.init(params), ids, np.zeros(batch, dtype))
    return made.executable.plan.peak_bytes


@pytest.mark.parametrize("name", STEP_MEMORY)
def test_a_donating_step_has_no_buffer_of_the_table(name: str) -> None:
    """Nor copies of its moments: the arena is as large as the batch needs."""
    small, large = (peak_bytes(STEP_MEMORY[name], rows, 8) for rows in (1000, 50_000))
    assert small == large < 1000 * 16 * 4 / 8


def test_a_table_of_bfloat16_has_none_either() -> None:
    small, large = (peak_bytes(optim.sgd(0.1), n, 8, ml_dtypes.bfloat16) for n in (1000, 50_000))
    assert small == large


def test_a_donating_step_changes_its_rows() -> None:
    optimizer = optim.adam(0.1, lazy=True)
    step = optim.train_step(loss, optimizer, sparse=of_tables)
    state = optimizer.init(PARAMS)
    wanted = gradir.jit(step)(PARAMS, state, IDS, TARGETS)
    given = {"tables": [PARAMS["tables"][0].copy()], "w": PARAMS["w"].copy()}
    table = given["tables"][0].view()
    found = gradir.jit(step, donate_argnums=(0, 1))(given, optimizer.init(PARAMS), IDS, TARGETS)
    for one, other in zip(_arrays(found), _arrays(wanted), strict=True):
        np.testing.assert_array_equal(one, other)
    assert np.shares_memory(table, found[0]["tables"][0])
    np.testing.assert_array_equal(table[[0, 2, 4]], PARAMS["tables"][0][[0, 2, 4]])
