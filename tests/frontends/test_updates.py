"""x.at[key] of traced arrays: as NumPy's assignment to x[key], with gradients to second order."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from trace_harness import RANDOM, X, fails, run

import gradir
import gradir.numpy as gnp
from gradir.testing import check_grads

KEYS: list[Any] = [
    0,
    -1,
    (1, 2),
    slice(1, None),
    slice(None, None, 2),
    slice(None, None, -1),
    slice(2, 0, -2),
    slice(3, 1),
    ...,
    (..., 1),
    (slice(None, None, 2), None, slice(None, None, -2)),
    (None, 1, ...),
    (),
    [2, 0, 2],
    [[0], [1]],
    (slice(1, 3), [1, 1, 0]),
    (slice(None, None, -2), [3, 0, 0]),
]
METHODS: dict[str, Any] = {
    "multiply": np.multiply,
    "divide": np.divide,
    "min": np.minimum,
    "max": np.maximum,
}


def values_for(key: Any) -> Any:
    """Values of the shape of X[key]."""
    return RANDOM.uniform(1, 2, X[key].shape)


@pytest.mark.parametrize("key", KEYS, ids=str)
def test_set_and_add(key: Any):
    values = values_for(key)
    wanted = X.copy()
    wanted[key] = values
    np.testing.assert_array_equal(run(lambda x, v: x.at[key].set(v), X, values), wanted)
    wanted = X.copy()
    np.add.at(wanted, key, values)
    found = run(lambda x, v: x.at[key].add(v), X, values)
    np.testing.assert_allclose(found, wanted, rtol=1e-15)
    np.subtract.at(wanted := X.copy(), key, values)
    found = run(lambda x, v: x.at[key].subtract(v), X, values)
    np.testing.assert_allclose(found, wanted, rtol=1e-15)
    np.testing.assert_array_equal(run(lambda x: x.at[key].get(), X), X[key])


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("key", KEYS, ids=str)
def test_other_methods(key: Any, name: str):
    values = values_for(key)

    def update(x: Any, v: Any) -> Any:
        return getattr(x.at[key], name)(v)

    METHODS[name].at(wanted := X.copy(), key, values)
    np.testing.assert_allclose(run(update, X, values), wanted, rtol=1e-15)


def test_powers_of_places_that_are_named_twice_are_refused():
    assert "may name a place twice power is not there" in fails(lambda x: x.at[[0, 0]].power(2), X)


@pytest.mark.parametrize("name", METHODS)
def test_values_of_one_place_at_traced_indices(name: str):
    """Numbers of a float and of an integer type; gradients to second order, rows of a map."""
    rows = np.array([2, 0, 2, -1, 2])
    values = RANDOM.uniform(1, 2, (5, *X.shape[1:]))

    def update(x: Any, v: Any, i: Any) -> Any:
        return getattr(x.at[i], name)(v)

    METHODS[name].at(wanted := X.copy(), rows, values)
    np.testing.assert_allclose(run(update, X, values, rows), wanted, rtol=1e-15)
    check_grads(lambda x, v: update(x, v, rows), (X, values), order=2)
    mapped = gradir.jit(gradir.vmap(update, in_axes=(None, 0, None)))
    found = mapped(X, np.stack([values, values]), rows)
    np.testing.assert_allclose(found, [wanted, wanted], rtol=1e-15)
    if name != "divide":
        whole = (10 * values).astype(np.int64)
        METHODS[name].at(wanted := np.full(X.shape, 3), rows, whole)
        np.testing.assert_array_equal(run(update, np.full(X.shape, 3), whole, rows), wanted)


@pytest.mark.parametrize("key", KEYS, ids=str)
def test_gradients(key: Any):
    values = values_for(key)
    for name in ("set", "add", "multiply"):

        def update(x: Any, v: Any, name: str = name) -> Any:
            return getattr((x * x).at[key], name)(v * v)

        check_grads(update, (X, values), order=2)


def test_traced_indices():
    def update(x: Any, i: Any, j: Any) -> Any:
        return x.at[i, ..., j].multiply(3.0).at[j].add(1.0)

    wanted = X.copy()
    wanted[1, ..., 2] *= 3
    wanted[2] += 1
    np.testing.assert_array_equal(run(update, X, np.int64(1), np.int64(2)), wanted)
    rows = np.array([0, 2, 0])
    found = run(lambda x, i: x.at[i].add(gnp.ones_like(x[i])), X, rows)
    np.add.at(wanted := X.copy(), rows, 1.0)
    np.testing.assert_array_equal(found, wanted)


def test_values_broadcast_and_take_the_type():
    single = X.astype(np.float32)
    found = run(lambda x, v: x.at[1:].set(v), single, X[0, :1])
    wanted = single.copy()
    wanted[1:] = X[0, :1]
    assert found.dtype == np.float32
    np.testing.assert_array_equal(found, wanted)
    np.testing.assert_array_equal(run(lambda x: x.at[0].set(2), np.arange(3)), [2, 1, 2])
    assert "x.at[...]" in fails(lambda x: x.at[0].set(0.5), np.arange(3))
    assert "broadcast" in fails(lambda x, v: x.at[0].set(v), X, X)


def test_a_scan_fills_rows():
    """In a loop, at a traced place; with its gradient."""

    def rows(x: Any) -> Any:
        def step(carry: Any, i: Any) -> Any:
            return carry.at[i].set(gnp.sin(carry[i - 1] + x)), None

        return gradir.scan(step, gnp.zeros((4, 3)), gnp.arange(4))[0]

    x = RANDOM.uniform(-1, 1, 3)
    row, wanted = np.zeros(3), np.zeros((4, 3))
    for i in range(4):
        wanted[i] = row = np.sin(row + x)
    np.testing.assert_allclose(run(rows, x), wanted, rtol=1e-14)
    check_grads(rows, (x,), order=2)


def test_a_choice_of_new_rows_or_old_ones():
    """It is one of rows, which shows in the memory alone; an index out of range is the update's."""

    def chosen(table: Any, ids: Any, rows: Any, wanted: Any) -> Any:
        new = table.at[ids].set(rows)
        return gnp.where(wanted, new, table)

    jitted = gradir.jit(chosen, donate_argnums=0)
    table, rows = np.arange(60.0).reshape(20, 3), -np.ones((3, 3))
    rows[2], ids = -2, np.array([4, -1, 4])
    compiled = jitted.compiled(table, ids, rows, True)
    assert compiled.executable.plan.peak_bytes < table.nbytes
    for wanted in (True, False):
        expected = table.copy()
        if wanted:
            expected[ids] = rows
        found = jitted(table.copy(), ids, rows, wanted)
        np.testing.assert_array_equal(found, expected)
        gradients = gradir.grad(lambda t, r, w=wanted: gnp.sum(chosen(t, ids, r, w) ** 2), (0, 1))
        of_table, of_rows = gradients(table, rows)
        np.testing.assert_array_equal(of_table, np.where(expected == table, 2 * table, 0))
        np.testing.assert_array_equal(of_rows, [[0] * 3, *(2 * rows[1:] * wanted)])
    with pytest.raises(IndexError) as caught:
        jitted(table, np.array([4, 20, 4]), rows, False)
    place = f"{__file__}:{chosen.__code__.co_firstlineno + 1}:"
    assert str(caught.value).startswith(place)
    assert "array.index_update: index 20 is out of range" in str(caught.value)


OUT_OF_RANGE: list[Any] = [
    (lambda x, i, v: x.at[i].set(v, mode="drop"), [7, 1, 2, 9]),
    (lambda x, i, v: x.at[i].add(v, mode="drop", unique_indices=True), [7, 1, 2, 12]),
    (lambda x, i, v: x.at[i].min(-v, mode="fill"), [-7, 1, 2, -9]),
    (lambda x, i, v: x.at[i].add(v, mode="clip"), [7 + 10, 1, 2, 3 + 8 + 9]),
    (lambda x, i, v: x.at[i].get(mode="fill", fill_value=-1) + 0 * v, [0, -1, 3, -1]),
    (lambda x, i, v: x.at[i].get(mode="clip") + 0 * v, [0, 3, 3, 0]),
    (lambda x, i, v: x.at[i].get(mode="drop") + 0 * v, [0, np.nan, 3, np.nan]),
    (lambda x, i, v: x.at[2:].apply(lambda y: y**2) + 0 * v, [0, 1, 4, 9]),
    (lambda x, i, v: x.at[9].set(5, mode="drop") + 0 * v, [0, 1, 2, 3]),
]


@pytest.mark.parametrize(("function", "wanted"), OUT_OF_RANGE)
def test_indices_out_of_range(function: Any, wanted: list[float]):
    i, v = np.array([0, 9, -1, -9]), np.array([7.0, 8.0, 9.0, 10.0])
    found = gradir.jit(function)(np.arange(4.0), i, v)
    np.testing.assert_array_equal(found, wanted)
    if not np.isnan(wanted).any():
        check_grads(lambda x, v: gnp.sum(function(x, i, v) ** 2), (np.arange(4.0), v), order=2)


def test_places_of_several_axes_out_of_range():
    x, i = np.zeros((2, 3)), np.array([0, 1, 2])
    found = gradir.jit(lambda x: x.at[i, i[::-1]].set(1.0, mode="drop"))(x)
    np.testing.assert_array_equal(found, [[0, 0, 1], [0, 1, 0]])
    columns = gradir.jit(lambda x: x.at[::-1, i + 1].add(i + 1.0, mode="drop"))(x)
    np.testing.assert_array_equal(columns, [[0, 1, 2]] * 2)
    for function, message in [
        (lambda x: x.at[0].set(1.0, mode="wrap"), "x.at[...]: mode must be one of None, 'promise"),
        (lambda x: x.at[0].set(1.0, modes="drop"), "x.at[...]: unknown argument modes; did you"),
        (lambda x: x.at[0].set(1.0, fill_value=1), "x.at[...]: fill_value is an option of get"),
    ]:
        assert fails(function, x).startswith(message)
