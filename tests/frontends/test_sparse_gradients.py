"""Gradients as RowSlices in traced code: against dense ones, at every order, in flow and stages."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gradir
import gradir.nn as gnn
import gradir.numpy as gnp
from gradir import RowSlices
from gradir.errors import TraceError
from gradir.testing import check_grads

RANDOM = np.random.default_rng(5)
TABLE = RANDOM.normal(size=(8, 3))
IDS = np.array([[1, 3], [1, -1]])


def squares(rows: Any) -> Any:
    return gnp.sum(gnp.sin(rows) * rows)


def in_a_loop(table: Any, ids: Any) -> Any:
    return gradir.fori_loop(0, 2, lambda i, total: total + squares(table[ids[i]]) * total, 1.0)


def in_a_branch(table: Any, ids: Any) -> Any:
    return gradir.cond(
        ids[0, 0] > 0, lambda: squares(table[ids]), lambda: squares(table[ids] * 2.0)
    )


FUNCTIONS: dict[str, Any] = {
    "index": lambda t, i: squares(t[i]),
    "take": lambda t, i: squares(gnp.take(t, i, axis=0)),
    "embedding": lambda t, i: squares(gnn.embedding(t, i)),
    "twice": lambda t, i: squares(t[i]) * squares(t[i[0]]),
    "and dense": lambda t, i: squares(t[i]) + gnp.sum(t**3),
    "dense": lambda t, i: squares(t * 2.0),
    "an integer": lambda t, i: squares(t[i[0, 0]]),
    "a view": lambda t, i: squares(t[2:][i[0] - 1]),
    "not at all": lambda t, i: gnp.sum(gnp.astype(i, "float64")),
    "stage": lambda t, i: squares(gradir.checkpoint(lambda t, i: t[i] * t[i])(t, i)),
    "loop": in_a_loop,
    "branch": in_a_branch,
    "call": lambda t, i: squares(gradir.jit(lambda t, i: gnp.tanh(t[i]))(t, i)),
}


def in_a_complex_loop(table: Any, ids: Any) -> Any:
    return gradir.fori_loop(0, 2, lambda i, total: total + squares(table[ids[i]]) * total, 1.0 + 0j)


OF_COMPLEX = {n: f for n, f in FUNCTIONS.items() if n not in ("embedding", "loop", "not at all")}


@pytest.mark.parametrize("name", [*OF_COMPLEX, "loop"])
@pytest.mark.parametrize("dtype", ["complex128", "complex64"])
def test_complex_rows(name: str, dtype: str) -> None:
    """Native and interpreted, with equal indices."""
    function = {**OF_COMPLEX, "loop": in_a_complex_loop}[name]
    table = (TABLE + 1j * TABLE[::-1]).astype(dtype)

    def loss(table: Any, ids: Any) -> Any:
        return gnp.real(function(table, ids) * (1 + 0.3j))

    wanted = gradir.grad(loss)(table, IDS)
    found = gradir.grad(loss, sparse_argnums=0)(table, IDS)
    module = gradir.trace(loss, table, IDS).gradient(
        "loss", wrt=[0], mode="grad", req={0: "slices"}
    )
    _, interpreted = gradir.interpret(module, "loss_grad", table, IDS)
    for slices in (found, interpreted):
        assert isinstance(slices, RowSlices) and slices.dtype == dtype
        close = 1e-11 if dtype == "complex128" else 1e-3
        for each in (slices, slices.coalesce()):
            np.testing.assert_allclose(each.densify(), wanted, close, close)


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("dtype", [np.float64, np.float32], ids=["f64", "f32"])
def test_against_the_dense_gradient(name: str, dtype: Any):
    function, table = FUNCTIONS[name], TABLE.astype(dtype)
    slices = gradir.grad(function, sparse_argnums=0)(table, IDS)
    dense = gradir.grad(function)(table, IDS)
    assert isinstance(slices, RowSlices)
    assert slices.shape == table.shape
    assert slices.dtype == dtype
    assert slices.indices.dtype == np.int64
    tolerance = 1e-12 if dtype == np.float64 else 1e-5
    np.testing.assert_allclose(slices.densify(), dense, rtol=tolerance, atol=tolerance)
    np.testing.assert_allclose(slices.coalesce().densify(), dense, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("name", ["index", "embedding", "twice"])
def test_the_rows_that_are_read_and_no_others(name: str):
    slices = gradir.grad(FUNCTIONS[name], sparse_argnums=0)(TABLE, IDS)
    reads = [1, 3, 1, 7, 1, 3] if name == "twice" else [1, 3, 1, 7]
    assert sorted(slices.indices) == sorted(reads)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_second_order(name: str):
    """Derivatives flow through the values of slices, and through what they are added to."""

    def updated(table: Any) -> Any:
        rows = gradir.grad(FUNCTIONS[name], sparse_argnums=0)(table, IDS)
        return table.at[rows.indices].add(-0.1 * rows.values)

    def wanted(table: Any) -> Any:
        return table - 0.1 * gradir.grad(FUNCTIONS[name])(table, IDS)

    np.testing.assert_allclose(gradir.jit(updated)(TABLE), gradir.jit(wanted)(TABLE), rtol=1e-12)
    found = gradir.grad(lambda t: gnp.sum(updated(t) ** 2))(TABLE)
    np.testing.assert_allclose(
        found, gradir.grad(lambda t: gnp.sum(wanted(t) ** 2))(TABLE), rtol=1e-10, atol=1e-12
    )
    check_grads(updated, (TABLE,), order=1)


def arithmetic(slices: Any, table: Any) -> list[Any]:
    return [
        slices * 2.0,
        3.0 * slices,
        slices / 4.0,
        -slices,
        slices + slices * 2.0,
        slices - slices * 3.0,
        slices.coalesce(),
        slices.coalesce("mean"),
        slices.astype("float32"),
        slices + table,
        table + slices,
        table - slices,
        slices - table,
        slices.densify(),
    ]


def test_arithmetic():
    """Of arrays and of traced ones alike."""
    slices = gradir.grad(FUNCTIONS["index"], sparse_argnums=0)(TABLE, IDS)
    made = arithmetic(slices, TABLE)
    traced = gradir.jit(arithmetic)(slices, TABLE)
    for one, other in zip(made, traced, strict=True):
        assert type(one) is type(other)
        if isinstance(one, RowSlices):
            np.testing.assert_array_equal(one.indices, other.indices)
            one, other = one.values, other.values
        assert one.dtype == other.dtype
        np.testing.assert_allclose(one, other, rtol=1e-12)
    dense = slices.densify()
    sums = {0: 2 * dense, 4: 3 * dense, 5: -2 * dense, 6: dense, 9: TABLE + dense}
    for k, wanted in {**sums, 11: TABLE - dense, 12: dense - TABLE}.items():
        found = made[k].densify() if isinstance(made[k], RowSlices) else made[k]
        np.testing.assert_allclose(found, wanted, rtol=1e-12, atol=1e-12)
    mean = made[7]
    np.testing.assert_allclose(mean.values[0], (slices.values[0] + slices.values[2]) / 2)
    with pytest.raises(ValueError, match="mode must be sum or mean, got 'max'"):
        slices.coalesce("max")
    with pytest.raises(ValueError, match=r"slices of \[8, 3\] and an array of \[3\]"):
        _ = slices + np.ones(3)
    with pytest.raises(TypeError):
        _ = slices * TABLE


def test_an_index_below_all_rows_is_no_other_row():
    """-9 of 8 rows is not -1."""
    below = RowSlices(np.array([-9, 2]), np.ones((2, 3)), (8, 3))
    for call in (
        lambda: below.coalesce().densify(),
        lambda: gradir.jit(lambda slices: slices.coalesce().densify())(below),
        lambda: gradir.grad(lambda t: gnp.sum(t[below.indices]), sparse_argnums=0)(TABLE).densify(),
    ):
        with pytest.raises(IndexError, match="index -9 is out of"):
            call()


def test_sums_have_the_type_of_both():
    whole = np.arange(8).reshape(4, 2)
    halves = RowSlices(np.array([1, 1]), np.full((2, 2), 0.5), (4, 2))
    single = RowSlices(np.array([1, 1]), np.full((2, 2), 0.5, np.float32), (4, 2))
    wanted = whole + np.array([[0.0], [1.0], [0.0], [0.0]])
    np.testing.assert_array_equal(whole + halves, wanted)
    for one, other in [(halves, single), (single, halves)]:
        assert (one + other).dtype == np.float64
        assert (one.densify() + other).dtype == np.float64
        traced = gradir.jit(lambda i, v, w: RowSlices(i, v, (4, 2)) + RowSlices(i, w, (4, 2)))
        assert traced(one.indices, one.values, other.values).dtype == np.float64
        traced = gradir.jit(lambda x, i, w: x + RowSlices(i, w, (4, 2)))
        assert traced(one.densify(), other.indices, other.values).dtype == np.float64
    traced = gradir.jit(lambda x, i, w: x + RowSlices(i, w, (4, 2)))
    np.testing.assert_array_equal(traced(whole, halves.indices, halves.values), wanted)
    counts = RowSlices(np.array([1, 1]), np.ones((2, 2), np.int64), (4, 2))
    with pytest.raises(TypeError, match="a mean needs floating values, got int64"):
        counts.coalesce("mean")


def test_several_arguments_and_nested_ones():
    def loss(params: Any, ids: Any, scale: Any) -> Any:
        return squares(params["table"][ids] @ params["w"]) * scale

    params = {"table": TABLE, "w": RANDOM.normal(size=(3, 2))}
    both = gradir.value_and_grad(loss, argnums=(0, 2), sparse_argnums=(0,))
    value, (grads, scale) = both(params, IDS, 2.0)
    wanted, (dense, wanted_scale) = gradir.value_and_grad(loss, argnums=(0, 2))(params, IDS, 2.0)
    assert value == wanted
    assert scale == wanted_scale
    for name in params:
        np.testing.assert_allclose(grads[name].densify(), dense[name], rtol=1e-12, atol=1e-12)


def of_leaves(params: Any, ids: Any, scale: Any) -> Any:
    rows = params["tables"][0][ids] + params["tables"][1][ids[0]]
    return squares(rows @ params["w"]) * scale


@pytest.mark.parametrize(
    ("argnums", "sparse"),
    [
        (0, {"tables": [True, False], "w": False}),
        (0, lambda params: {"tables": [x.shape[0] > 8 for x in params["tables"]], "w": False}),
        ((2, 0), (False, {"tables": (True, False), "w": False})),
    ],
)
def test_single_leaves(argnums: Any, sparse: Any):
    pair = np.ones((9, 3)), TABLE
    tables = list(pair) if argnums == 0 else pair
    params = {"tables": tables, "w": RANDOM.normal(size=(3, 2))}
    found = gradir.grad(of_leaves, argnums, sparse=sparse)(params, IDS, 2.0)
    dense = gradir.grad(of_leaves, argnums)(params, IDS, 2.0)
    first, wanted = (found, dense) if argnums == 0 else (found[1], dense[1])
    assert isinstance(first["tables"][0], RowSlices)
    np.testing.assert_allclose(first["tables"][0].densify(), wanted["tables"][0], rtol=1e-12)
    np.testing.assert_allclose(first["tables"][1], wanted["tables"][1], rtol=1e-12)
    np.testing.assert_allclose(first["w"], wanted["w"], rtol=1e-12)


def test_a_whole_part_and_both_options():
    params = {"tables": [TABLE, TABLE], "w": RANDOM.normal(size=(3, 2))}
    sparse = {"tables": True, "w": False}
    _, grads = gradir.value_and_grad(of_leaves, sparse=sparse)(params, IDS, 2.0)
    assert [isinstance(g, RowSlices) for g in (*grads["tables"], grads["w"])] == [True, True, False]
    grads = gradir.grad(of_leaves, sparse_argnums=0, sparse=sparse)(params, IDS, 2.0)
    assert isinstance(grads["w"], RowSlices)


@pytest.mark.parametrize(
    ("sparse", "message"),
    [
        ({"a": True}, "sparse must be nested like the gradient, got nothing at sparse['b']"),
        ({"a": True, "b": True, "c": True}, "got an array at sparse['c'] and nothing at"),
        ({"a": [True], "b": False}, "got a list of 1 at sparse['a'] and an array at"),
        ({"a": "yes", "b": False}, "sparse['a'] must be True or False, got 'yes'"),
        (True, "t_b has no rows, got float64[]"),
        (lambda: True, "is called with 1 argument"),
    ],
)
def test_leaves_that_cannot_be_chosen(sparse: Any, message: str):
    with pytest.raises(TraceError) as caught:
        gradir.grad(lambda t: squares(t["a"]) * t["b"], sparse=sparse)({"a": TABLE, "b": 1.0})
    assert message in str(caught.value)


def test_what_cannot_be_slices():
    with pytest.raises(TraceError, match="x is in sparse_argnums and not in argnums"):
        gradir.grad(lambda t, x: t * x, sparse_argnums=1)(1.0, 1.0)
    with pytest.raises(TraceError, match=r"t has no rows, got float64\[\]|t has no rows"):
        gradir.grad(lambda t: t * t, sparse_argnums=0)(1.0)
    with pytest.raises(TraceError, match="argnums: no argument 3: the call has 1 argument"):
        gradir.grad(lambda t: t * t, sparse_argnums=3)(1.0)


def test_a_step_touches_its_rows_and_nothing_else():
    """The arena grows with the batch, not with the table."""

    def step(table: Any, ids: Any) -> Any:
        loss, rows = gradir.value_and_grad(FUNCTIONS["index"], sparse_argnums=0)(table, ids)
        return table.at[rows.indices].add(-0.1 * rows.values), loss

    jitted = gradir.jit(step, donate_argnums=0)
    peaks = {
        (rows, batch): jitted.compiled(
            gradir.Spec((rows, 16), "float32"), gradir.Spec((batch,), "int64")
        ).executable.plan.peak_bytes
        for rows, batch in ((1000, 8), (100_000, 8), (1000, 64))
    }
    assert peaks[1000, 8] == peaks[100_000, 8]
    assert peaks[1000, 64] <= 9 * peaks[1000, 8]
    table = TABLE.copy()
    dense = gradir.grad(FUNCTIONS["index"])(TABLE, IDS)
    new, _ = jitted(table, IDS)
    np.testing.assert_allclose(new, TABLE - 0.1 * dense, rtol=1e-12)
