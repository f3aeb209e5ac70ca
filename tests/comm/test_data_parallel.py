"""Steps of training on several ranks: against one rank with the whole batch, and bit for bit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gradir
import gradir.nn as nn
import gradir.numpy as gnp
from gradir import comm, optim
from gradir.errors import ArgumentError, PassError, TraceError
from gradir.frontends.optim.shards import shards as shards_of_step
from gradir.frontends.tracing.trees import flatten

Array = np.ndarray[Any, Any]
ROWS = 8


def loss(params: Any, x: Any, y: Any) -> Any:
    hidden = gnp.tanh(x @ params["w"] + params["b"])
    return gnp.mean((hidden @ params["v"] * params["s"] - y) ** 2)


def arrays(dtype: str = "float64") -> tuple[dict[str, Array], Array, Array]:
    random = np.random.default_rng(0)
    shapes = {"w": (3, 4), "b": (4,), "v": (4,), "s": ()}
    params = {k: np.asarray(random.normal(size=s)).astype(dtype) for k, s in shapes.items()}
    x = random.normal(size=(ROWS, 3)).astype(dtype)
    return params, x, np.sin(x.sum(1)).astype(dtype)


def on_ranks(ranks: int, options: str, shards: int, dtype: str = "float64") -> list[Any]:
    """The results of one step on each rank, with the program for one shard of this many."""
    optimizer = optim.sgd(0.1)
    params, x, y = arrays(dtype)
    state = optimizer.init(params)
    step = optim.train_step(loss, optimizer)
    count = ROWS // shards
    module = gradir.trace(step, params, state, x[:count], y[:count])
    module = module.run_passes(
        f"gradir-data-parallel{{function=step shards=4,5 ranks={ranks} {options}}}"
    )
    parts = zip(np.split(x, ranks), np.split(y, ranks), strict=True)
    leaves = [params[k] for k in sorted(params)]
    return comm.run_ranks(module, "step_parallel", [(*leaves, *part) for part in parts])


@pytest.mark.parametrize("bucket", [1, 40, 10**6])
@pytest.mark.parametrize("ranks", [1, 2, 4])
def test_a_step_is_that_of_the_whole_batch(ranks: int, bucket: int) -> None:
    optimizer = optim.sgd(0.1)
    params, x, y = arrays()
    want, _, value = gradir.jit(optim.train_step(loss, optimizer))(
        params, optimizer.init(params), x, y
    )
    for found in on_ranks(ranks, f"bucket_bytes={bucket}", ranks):
        for k, name in enumerate(sorted(want)):
            np.testing.assert_allclose(found[k], want[name], rtol=1e-12)
        np.testing.assert_allclose(found[-1], value, rtol=1e-12)


@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_equal_bits_on_any_number_of_ranks(dtype: str) -> None:
    runs = [on_ranks(n, "deterministic=8 bucket_bytes=9", 8, dtype) for n in (1, 2, 4, 8)]
    first = [np.asarray(a).tobytes() for a in runs[0][0]]
    for run in runs:
        for found in run:
            assert [np.asarray(a).tobytes() for a in found] == first


def test_shards_have_keys_of_their_own() -> None:
    """Random numbers differ between shards, and do not depend on the number of ranks."""
    text = """
    func.func @noise_grad(%w: tensor<2xf64>, %x: tensor<1x2xf64>, %key: tensor<i64>)
        -> (tensor<f64>, tensor<2xf64>) {
      %zero = array.full {value = 0} : tensor<i64>
      %n = array.normal %key, %zero : tensor<i64>, tensor<i64> -> tensor<2xf64>
      %loss = array.sum %x : tensor<1x2xf64> -> tensor<f64>
      func.return %loss, %n : tensor<f64>, tensor<2xf64>
    }
    func.func @step(%w: tensor<2xf64>, %x: tensor<1x2xf64>, %key: tensor<i64>) -> tensor<2xf64> {
      %l, %g = func.call @noise_grad(%w, %x, %key)
        : (tensor<2xf64>, tensor<1x2xf64>, tensor<i64>) -> (tensor<f64>, tensor<2xf64>)
      func.return %g : tensor<2xf64>
    }"""
    found: list[Array] = []
    for ranks in (1, 2, 4):
        options = f"{{function=step shards=1 ranks={ranks} deterministic=4 keys=2}}"
        module = gradir.parse(text).run_passes(f"gradir-data-parallel{options}")
        one = np.zeros(2), np.ones((4 // ranks, 2)), np.array(7)
        found.append(comm.run_ranks(module, "step_parallel", [one] * ranks)[0][0])
    assert len({a.tobytes() for a in found}) == 1
    keys = [7 + k * 0x1E3779B97F4A7C15 for k in range(4)]
    wrapped = [np.array((k + 2**63) % 2**64 - 2**63) for k in keys]
    draws = [_normal(k) for k in wrapped]
    np.testing.assert_allclose(found[0], np.mean(draws, 0), rtol=1e-12)


def _normal(key: Array) -> Array:
    text = """
    func.func @f(%key: tensor<i64>) -> tensor<2xf64> {
      %zero = array.full {value = 0} : tensor<i64>
      %n = array.normal %key, %zero : tensor<i64>, tensor<i64> -> tensor<2xf64>
      func.return %n : tensor<2xf64>
    }"""
    return gradir.interpret(gradir.parse(text), "f", key)[0]


def test_alone_it_is_the_step_itself() -> None:
    """data_parallel, compiled, on the one rank that there is."""
    optimizer = optim.adam(0.1)
    params, x, y = arrays("float32")
    state = optimizer.init(params)
    want = gradir.jit(optim.train_step(loss, optimizer))(params, state, x, y)
    step = comm.data_parallel(optim.train_step(loss, optimizer))
    found = step(params, state, x, y)
    for name in params:
        np.testing.assert_array_equal(found[0][name], want[0][name])
    sharded = comm.data_parallel(optim.train_step(loss, optimizer), deterministic=4)
    for name in params:
        np.testing.assert_allclose(
            sharded(params, state, x, y)[0][name], want[0][name], rtol=1e-4, atol=1e-6
        )


def with_predictions(params: Any, x: Any, y: Any) -> Any:
    logits = x @ params["w"]
    return gnp.mean((logits @ params["v"] - y) ** 2), (nn.softmax(logits), gnp.mean(logits))


def test_auxiliary_results() -> None:
    """Numbers are averaged; arrays differ between ranks, which must be said."""
    optimizer = optim.sgd(0.1)
    params, x, y = arrays()
    step = optim.train_step(with_predictions, optimizer, has_aux=True)
    args = params, optimizer.init(params), x, y
    with pytest.raises(PassError, match="must be alike on all ranks, and it depends on a shard"):
        comm.data_parallel(step)(*args)
    _, _, (value, (rows, mean)) = comm.data_parallel(step, local=2)(*args)
    want_value, (want_rows, want_mean) = with_predictions(params, x, y)
    np.testing.assert_allclose(rows, want_rows)
    np.testing.assert_allclose([value, mean], [want_value, want_mean])


def total(params: Any, state: Any, x: Any) -> Any:
    return gnp.sum(x)


def test_mistakes() -> None:
    optimizer = optim.sgd(0.1)
    params, x, y = arrays()
    args = params, optimizer.init(params), x, y
    made = optim.train_step(loss, optimizer)
    with pytest.raises(ArgumentError, match="argument 2 must have rows for 16 shards on this rank"):
        comm.data_parallel(made, deterministic=16)(*args)
    with pytest.raises(ArgumentError, match="there must be an argument 7, got 4 arguments"):
        comm.data_parallel(made, shards=7)(*args)
    with pytest.raises(ArgumentError, match="deterministic: expected a positive number, got 0"):
        comm.data_parallel(made, deterministic=0)
    with pytest.raises(ArgumentError, match="local: the step has no result 9"):
        comm.data_parallel(made, local=9)(*args)
    with pytest.raises(TraceError, match="a parallel step is called outside of traced functions"):
        gradir.jit(lambda *args: comm.data_parallel(made)(*args))(*args)
    with pytest.raises(PassError, match="must have one call of a function named _grad or _vjp"):
        comm.data_parallel(total)(params, (), x)


def of_rows(params: Any, ids: Any, y: Any) -> Any:
    return gnp.mean((gnp.sum(params["table"][ids], axis=1) * params["s"] - y) ** 2)


SPARSE = {"sgd": optim.sgd(0.1), "lazy": optim.adam(0.1, lazy=True), "adagrad": optim.adagrad(0.1)}


@pytest.mark.parametrize("name", SPARSE)
def test_row_slices_are_gathered(name: str) -> None:
    """The same ids in several shards, which add up; equal bits with `deterministic`."""
    optimizer, random = SPARSE[name], np.random.default_rng(0)
    params = {"table": random.normal(size=(10, 3)), "s": np.array(0.5)}
    ids, y = random.integers(0, 6, ROWS), random.normal(size=ROWS)
    state = optimizer.init(params)
    step = optim.train_step(of_rows, optimizer, sparse={"table": True, "s": False})
    want, _ = flatten(step(params, state, ids, y))
    leaves, _ = flatten((params, state))
    with shards_of_step(4):
        traced = gradir.trace(step, params, state, ids[: ROWS // 4], y[: ROWS // 4])
    options = f"function=step shards={len(leaves)},{len(leaves) + 1}"
    found: set[bytes] = set()
    for ranks in (2, 4):
        module = traced.run_passes(
            f"gradir-data-parallel{{{options} ranks={ranks} deterministic=4}}"
        )
        parts = zip(np.split(ids, ranks), np.split(y, ranks), strict=True)
        for results in comm.run_ranks(module, "step_parallel", [(*leaves, *p) for p in parts]):
            for got, expected in zip(results, want, strict=True):
                np.testing.assert_allclose(got, expected, rtol=1e-12)
            found.add(b"".join(np.asarray(a).tobytes() for a in results))
    assert len(found) == 1
    with pytest.raises(PassError, match="ranks must be 2, the number of all shards, got 4"):
        traced.run_passes(f"gradir-data-parallel{{{options} ranks=2}}")


def test_row_slices_alone() -> None:
    """Compiled, on the one rank that there is, in two shards."""
    optimizer, random = optim.sgd(0.1), np.random.default_rng(0)
    params = {"table": random.normal(size=(10, 3)), "s": np.array(0.5)}
    args = params, optimizer.init(params), random.integers(-10, 6, ROWS), random.normal(size=ROWS)
    step = optim.train_step(of_rows, optimizer, sparse={"table": True, "s": False})
    found = comm.data_parallel(step, deterministic=2)(*args)
    np.testing.assert_allclose(found[0]["table"], step(*args)[0]["table"], rtol=1e-12)
