"""gradir.jit with donate_argnums and out: results in memory that the caller gives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gradir
import gradir.numpy as gnp
from gradir.errors import ArgumentError, ArgumentTypeError, IndexOutOfRange, TraceError

RANDOM = np.random.default_rng(3)
X = RANDOM.normal(size=(5, 3))


def step(params: Any, x: Any) -> Any:
    def loss(p: Any) -> Any:
        return gnp.sum(gnp.tanh(x @ p["w"] + p["b"]) ** 2)

    value, grads = gradir.value_and_grad(loss)(params)
    return {k: params[k] - 0.1 * grads[k] for k in params}, value


def parameters() -> Any:
    return {"b": np.linspace(0, 1, 2), "w": np.linspace(-1, 1, 6).reshape(3, 2)}


def test_a_training_step_has_the_same_bits_in_the_same_memory():
    donating, plain = gradir.jit(step, donate_argnums=0), gradir.jit(step)
    ours, theirs = parameters(), parameters()
    memory = {k: v.ctypes.data for k, v in ours.items()}
    for _ in range(4):
        (ours, loss), (theirs, wanted) = donating(ours, X), plain(theirs, X)
        np.testing.assert_array_equal(loss, wanted)
        for k in ours:
            np.testing.assert_array_equal(ours[k], theirs[k])
            assert ours[k].ctypes.data == memory[k]
            assert ours[k].flags.writeable


def test_a_donated_array_is_refused_from_then_on():
    donating, params = gradir.jit(step, donate_argnums=0), parameters()
    donating(params, X)
    for function in (donating, gradir.jit(step)):
        with pytest.raises(ArgumentError, match=r"step: params_b was donated to an earlier call"):
            function(params, X)
    with pytest.raises(ValueError, match="read-only"):
        params["w"][0] = 1.0


def test_arrays_that_cannot_be_donated():
    donating, params = gradir.jit(step, donate_argnums=(0,)), parameters()
    frozen = params["w"].copy()
    frozen.flags.writeable = False
    for wrong, message in (
        ({**params, "w": frozen}, "params_w: the array is read-only"),
        ({**params, "w": params["w"][:, ::-1]}, "params_w: the array is not C-contiguous"),
        ({**params, "b": params["w"][0]}, "params_b is donated and shares memory with params_w"),
    ):
        with pytest.raises(ArgumentError, match=message):
            donating(wrong, X)
    shared = np.zeros((3, 2))
    twice = gradir.jit(lambda x, y: x + y, donate_argnums=0)
    with pytest.raises(ArgumentError, match="x is donated and shares memory with y; pass a copy"):
        twice(shared, shared)
    np.testing.assert_array_equal(shared, 0)
    with pytest.raises(ArgumentTypeError, match="x: only a NumPy array can be donated, got float"):
        twice(1.0, 2.0)


def test_wrong_argument_numbers():
    for wrong in ("0", 1.0, [None], {0}):
        with pytest.raises(ArgumentTypeError, match="donate_argnums: expected an int or several"):
            gradir.jit(step, donate_argnums=wrong)  # pyrefly: ignore[bad-argument-type]
    with pytest.raises(ArgumentTypeError, match="expected positions of 2 arguments, got 2"):
        gradir.jit(step, donate_argnums=2)(parameters(), X)


READ_LATE = [
    lambda x, y: (y, x),
    lambda x, y: (y * 2, x[::-1]),
    lambda x, y: (x @ y, y @ x),
    lambda x, y: (gnp.sum(x, axis=0) + y, x.T * y),
    lambda x, y: (x, x),
    lambda x, y: (gnp.ones_like(x), x + y),
    lambda x, y: (gradir.fori_loop(0, 3, lambda i, c: c @ y, x), x),
    lambda x, y: (x.at[[0, 0, 1]].add(y), y.at[1:].set(x[:-1])),
]


@pytest.mark.parametrize("function", READ_LATE)
def test_values_that_are_read_after_the_result_is_written(function: Any):
    """The memory is taken only when nothing reads the old values."""
    x, y = RANDOM.normal(size=(2, 3, 3))
    wanted = gradir.jit(function)(x, y)
    for argnums in (0, 1, (0, 1), (1, 0), -1):
        found = gradir.jit(function, donate_argnums=argnums)(x.copy(), y.copy())
        for one, other in zip(found, wanted, strict=True):
            np.testing.assert_array_equal(one, other)


def test_arguments_that_no_result_can_take():
    function = gradir.jit(lambda x, y: gnp.sum(x * y), donate_argnums=(0, 1))
    with pytest.warns(UserWarning, match=r"no result can take the memory of x: tensor<3xf64>, y"):
        assert function(np.ones(3), np.ones(3)) == 3
    assert function(np.ones(3), np.ones(3)) == 3


def test_rows_of_a_table_are_written_in_place():
    """The program writes the rows that are named, and has no buffer of the table's size."""
    table = RANDOM.normal(size=(1000, 4))
    rows, values = np.array([3, 999, 3]), RANDOM.normal(size=(3, 4))
    update = gradir.jit(lambda t, i, v: t.at[i].add(-0.5 * v), donate_argnums=0)
    wanted = table.copy()
    np.add.at(wanted, rows, -0.5 * values)
    peak = update.compiled(table, rows, values).executable.plan.peak_bytes
    assert peak < table.nbytes // 10
    np.testing.assert_array_equal(update(table, rows, values), wanted)


def test_out():
    function = gradir.jit(lambda x: (x + 1, {"a": x * 2, "b": x[0]}))
    x, place = np.arange(3.0), np.empty(3)
    found = function(x, out=(None, {"a": place, "b": None}))
    assert found[1]["a"] is place
    np.testing.assert_array_equal(place, x * 2)
    assert function(x, out=(place, None))[0] is place
    with pytest.raises(ArgumentTypeError, match="out: expected arrays, or None, nested as the"):
        function(x, out=place)
    with pytest.raises(ArgumentError, match="shares memory"):
        function(x, out=(x, {"a": x, "b": None}))
    named = gradir.jit(lambda x, out: x + out)
    np.testing.assert_array_equal(named(x, out=x), 2 * x)
    donating = gradir.jit(lambda x: x + 1, donate_argnums=0)
    with pytest.raises(ArgumentError, match="out: result 0 takes the memory of x"):
        donating(x.copy(), out=place)
    with pytest.raises(TraceError, match="out is for arrays"):
        gradir.trace(lambda x: function(x, out=(place, None)), x)


@pytest.mark.parametrize("function", READ_LATE)
def test_arguments_as_out(function: Any):
    """The results are as in new memory, whichever arguments they lie in."""
    x, y = RANDOM.normal(size=(2, 3, 3))
    jitted = gradir.jit(function)
    wanted = jitted(x, y)
    for places in ((0, None), (None, 0), (1, 0), (0, 1), (1, None)):
        given = x.copy(), y.copy()
        out = tuple(None if k is None else given[k].view() for k in places)
        found = jitted(*given, out=out)
        for one, other, entry in zip(found, wanted, out, strict=True):
            assert entry is None or one is entry
            np.testing.assert_array_equal(one, other)


def test_arguments_as_out_that_are_refused():
    function = gradir.jit(lambda x, y: x[::-1] + y)
    x, y = np.arange(4.0), np.ones(4)
    for arguments, out, message in (
        ((x, x), x, r"out\[0\] shares memory with argument 0"),
        ((x[:3], y[:3]), x[1:], r"out\[0\] shares memory with argument 0"),
        ((x[::-1], y), x[::-1], r"out\[0\]: expected a C-contiguous array"),
    ):
        with pytest.raises(ArgumentError, match=message):
            function(*arguments, out=out)
    np.testing.assert_array_equal(x, np.arange(4.0))
    # another type is other memory
    widened = gradir.jit(lambda x: x.astype("float64"))
    bits = np.ones(2, np.int64)
    with pytest.raises(ArgumentError, match="shares memory"):
        widened(bits, out=bits.view(np.float64))


def test_out_beside_donation():
    function = gradir.jit(lambda x, y: (x - y, x * y), donate_argnums=0)
    x, y = np.arange(3.0), np.full(3, 2.0)
    first, second = function(x, y, out=(None, y))
    assert second is y
    np.testing.assert_array_equal((first, y), [[-2, -1, 0], [0, 2, 4]])
    with pytest.raises(ArgumentError, match="x was donated"):
        function(x, y)


def test_what_a_failed_call_may_have_written_is_refused():
    update = gradir.jit(lambda t, i, v: t.at[i].add(v), donate_argnums=0)
    table, values = np.zeros((4, 2)), np.ones((2, 2))
    with pytest.raises(IndexOutOfRange):
        update(table, np.array([0, 9]), values)
    with pytest.raises(ArgumentError, match="t was donated to a call that failed and may have"):
        update(table, np.arange(2), values)
    assert not table.flags.writeable
    fresh = np.zeros((4, 2))
    with pytest.raises(ArgumentError):
        update(fresh, np.arange(2), fresh[:2])  # nothing ran
    np.testing.assert_array_equal(update(fresh, np.arange(2), values)[:, 0], [1, 1, 0, 0])


def test_calls_after_the_first_refuse_and_lose_as_the_first_does():
    donating = gradir.jit(lambda t, i: t.at[i].add(1.0), donate_argnums=0)
    old = np.zeros(4)
    new = donating(donating(old, np.array([0])), np.array([0]))
    with pytest.raises(ArgumentError, match="was donated to an earlier call"):
        donating(old, np.array([0]))
    with pytest.raises(ArgumentError, match="shares memory with i"):
        gradir.jit(lambda t, i: t + i, donate_argnums=0)(new, new)
    frozen = new.copy()
    frozen.flags.writeable = False
    with pytest.raises(ArgumentError, match="t: the array is read-only and cannot be donated"):
        donating(frozen, np.array([0]))
    np.testing.assert_array_equal(new, [2, 0, 0, 0])
    with pytest.raises(IndexOutOfRange):
        donating(new, np.array([4]))
    with pytest.raises(ArgumentError, match="was donated to a call that failed"):
        donating(new, np.array([0]))


def test_arrays_at_the_address_of_one_that_is_gone_are_not_refused():
    donating = gradir.jit(lambda a, b: (a + 1, b - 1), donate_argnums=(0, 1))
    kept = [np.zeros(2) for _ in range(6)]  # as many calls refuse as arrays stay
    first = [donating(one, np.zeros(2))[0] for one in kept]
    a, b = np.zeros(2), np.zeros(2)
    for _ in range(3000):
        a, b = donating(a, b)
    np.testing.assert_array_equal((a, b), [[3000, 3000], [-3000, -3000]])
    for one, result in zip(kept, first, strict=True):
        np.testing.assert_array_equal(result, 1.0)
        with pytest.raises(ArgumentError, match="a was donated"):
            donating(one, np.zeros(2))


def test_a_call_like_the_one_before_has_the_same_kind():
    calls = gradir.jit(lambda x, n: x * n)
    single, double = np.ones(2, np.float32), np.ones(2)
    # a Python number gives way to the dtype, an array or NumPy number of it does not
    for n, dtype in ((2.0, "f4"), (np.float64(2), "f8"), (2.0, "f4"), (np.array(2.0), "f8")):
        for _ in range(2):
            assert calls(single, n).dtype == dtype
    for x in (single, double, single, np.ones(3, np.float32), np.ones((2, 1)), double):
        assert calls(x, 2.0).dtype == x.dtype
        assert calls(x, 2.0).shape == x.shape
    assert calls(single, True).dtype == "f4"
