"""Steps of training with state and parameters in parts: against the step of one rank."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gradir
import gradir.numpy as gnp
from gradir import comm, optim
from gradir.errors import PassError
from gradir.frontends.tracing.trees import flatten

Array = np.ndarray[Any, Any]
ROWS = 12


def loss(params: Any, x: Any, y: Any) -> Any:
    hidden = gnp.tanh(x @ params["w"] + params["b"])
    return gnp.mean((hidden @ params["v"] * params["s"] - y) ** 2)


def part(whole: Array, rank: int, ranks: int) -> Array:
    """A rank's part of an array, as the pass has it."""
    count = -(-whole.size // ranks)
    return np.pad(whole.ravel(), (0, count * ranks - whole.size))[rank * count :][:count]


OPTIMIZERS = {
    "adamw": optim.adamw(0.1),
    "momentum": optim.sgd(0.1, momentum=0.9),
    "global norm": optim.chain(optim.clip_by_global_norm(0.1), optim.adam(0.1)),
    "clipped": optim.chain(optim.clip(0.3), optim.adam(0.1)),
}


def arguments(optimizer: Any) -> tuple[Any, Any, Array, Array]:
    random = np.random.default_rng(0)
    shapes = {"w": (3, 5), "b": (5,), "v": (5,), "s": ()}
    params = {k: np.asarray(random.normal(size=s)) for k, s in shapes.items()}
    x = random.normal(size=(ROWS, 3))
    state = optimizer.init(params)
    grown: list[Any] = []
    for leaf in flatten(state)[0]:
        grown.append(np.asarray(random.random(np.shape(leaf)), leaf.dtype))
    return params, flatten(state)[1].build(grown), x, np.sin(x.sum(1))


def sharded_module(optimizer: Any, ranks: int, what: str, options: str, shards: int) -> Any:
    """The module, the numbers of the arguments that are parts, and the leaves of a step."""
    params, state, x, y = arguments(optimizer)
    leaves, _ = flatten((params, state))
    first = 0 if what == "params" else len(params)
    chosen = [k for k in range(first, len(leaves)) if np.ndim(leaves[k])]
    count = ROWS // shards
    module = gradir.trace(
        optim.train_step(loss, optimizer), params, state, x[:count], y[:count]
    ).run_passes(
        f"gradir-shard-state{{function=step sharded={','.join(map(str, chosen))} ranks={ranks}}},"
        f"gradir-data-parallel{{function=step_sharded ranks={ranks} {options} "
        f"shards={len(leaves)},{len(leaves) + 1}}}"
    )
    return module, chosen, leaves


def on_ranks(name: str, ranks: int, what: str, options: str = "", shards: int = 0) -> list[Any]:
    """The results of a step on each rank, by all ranks in this process."""
    optimizer = OPTIMIZERS[name]
    *_, x, y = arguments(optimizer)
    module, chosen, leaves = sharded_module(optimizer, ranks, what, options, shards or ranks)

    def own(rank: int) -> list[Any]:
        return [part(v, rank, ranks) if k in chosen else v for k, v in enumerate(leaves)]

    batch = list(zip(np.split(x, ranks), np.split(y, ranks), strict=True))
    args = [(*own(rank), *batch[rank]) for rank in range(ranks)]
    return comm.run_ranks(module, "step_sharded_parallel", args)


@pytest.mark.parametrize("what", ["state", "params"])
@pytest.mark.parametrize(
    ("name", "ranks"), [("adamw", 2), ("momentum", 4), ("clipped", 3), ("global norm", 2)]
)
def test_a_step_is_that_of_one_rank(name: str, ranks: int, what: str) -> None:
    optimizer = OPTIMIZERS[name]
    params, state, x, y = arguments(optimizer)
    want, _ = flatten(gradir.jit(optim.train_step(loss, optimizer))(params, state, x, y))
    _, chosen, _ = sharded_module(optimizer, ranks, what, "", ranks)
    for bucket in (1, 10**6):
        for rank, found in enumerate(on_ranks(name, ranks, what, f"bucket_bytes={bucket}")):
            for k, (got, whole) in enumerate(zip(found, want, strict=True)):
                expected = part(whole, rank, ranks) if k in chosen else whole
                rtol = 1e-5 if expected.dtype == np.float32 else 1e-11
                np.testing.assert_allclose(got, expected, rtol=rtol, atol=1e-13)


@pytest.mark.parametrize("what", ["state", "params"])
def test_equal_bits_on_any_number_of_ranks(what: str) -> None:
    found: set[bytes] = set()
    for ranks in (1, 2, 4):
        parts = on_ranks("adamw", ranks, what, "deterministic=4 bucket_bytes=30", 4)
        leaves = [np.concatenate([np.atleast_1d(p[k]) for p in parts]) for k in range(8)]
        wholes = [leaf.ravel()[:size] for leaf, size in zip(leaves, (5, 1, 5, 15), strict=False)]
        found.add(b"".join(w.tobytes() for w in wholes))
    assert len(found) == 1


def test_what_is_communicated() -> None:
    """Gradients go by reduce_scatter, parameters come by all_gather: in parts twice."""
    counts: dict[str, dict[str, int]] = {}
    for what in ("state", "params"):
        module, *_ = sharded_module(OPTIMIZERS["adamw"], 2, what, "", 2)
        ops = [op.name for op in module.run_passes("gradir-inline").op.walk()]
        body = str(module).partition("@step_sharded_parallel")[2]
        counts[what] = {"gathered": body.partition("func.return")[0].count("all_gather")}
        counts[what]["scattered"] = ops.count("comm.reduce_scatter")
    assert counts["state"]["gathered"] == 3 and counts["params"]["gathered"] == 0
    assert counts["state"]["scattered"] > 0 < counts["params"]["scattered"]


def test_padding_of_many_ranks_and_of_nothing() -> None:
    """Arrays of fewer elements than ranks, and of none."""
    text = """
    func.func @f_grad(%w: tensor<2xf64>, %e: tensor<0x3xf64>, %x: tensor<2xf64>)
        -> (tensor<f64>, tensor<2xf64>, tensor<0x3xf64>) {
      %z = array.multiply %w, %x : tensor<2xf64>
      %loss = array.sum %z : tensor<2xf64> -> tensor<f64>
      func.return %loss, %x, %e : tensor<f64>, tensor<2xf64>, tensor<0x3xf64>
    }
    func.func @step(%w: tensor<2xf64>, %e: tensor<0x3xf64>, %x: tensor<2xf64>)
        -> (tensor<2xf64>, tensor<0x3xf64>, tensor<f64>) {
      %l, %g, %h = func.call @f_grad(%w, %e, %x) : (tensor<2xf64>, tensor<0x3xf64>, tensor<2xf64>)
        -> (tensor<f64>, tensor<2xf64>, tensor<0x3xf64>)
      %v = array.subtract %w, %g : tensor<2xf64>
      %d = array.add %e, %h : tensor<0x3xf64>
      func.return %v, %d, %l : tensor<2xf64>, tensor<0x3xf64>, tensor<f64>
    }"""
    module = gradir.parse(text).run_passes(
        "gradir-shard-state{function=step sharded=0,1 ranks=3},"
        "gradir-data-parallel{function=step_sharded shards=2 ranks=3}"
    )
    w, none, x = np.array([1.0, 2.0]), np.zeros(0), np.array([0.5, 0.25])
    args = [(part(w, r, 3), none, x * r) for r in range(3)]
    found = comm.run_ranks(module, "step_sharded_parallel", args)
    assert [a[0].tolist() for a in found] == [[0.5], [1.75], [0.0]]
    assert [a[1].shape for a in found] == [(0,)] * 3
    np.testing.assert_allclose([a[2] for a in found], 1.0)


def test_what_does_not_work_element_by_element_is_refused() -> None:
    for optimizer, op in (
        (optim.chain(optim.trace(0.9), optim.clip_by_global_norm(1.0)), "array.sum"),
        (optim.lamb(0.1), "array.sum"),
    ):
        with pytest.raises(PassError, match=f"must work element by element, got {op}") as error:
            sharded_module(optimizer, 2, "state", "", 2)
        assert error.value.diagnostic is not None


def deep(params: Any, x: Any) -> Any:
    for name in sorted(params):
        x = gnp.tanh(x @ params[name])
    return gnp.mean(x * x)


def working_bytes(layers: int, side: int) -> int:
    """The arena of a step with parameters in parts on two ranks."""
    optimizer = optim.sgd(0.1)
    params = {f"w{k}": np.zeros((side, side), np.float32) for k in range(layers)}
    args = params, optimizer.init(params), np.zeros((4, side), np.float32)
    numbers = ",".join(map(str, range(layers)))
    module = gradir.trace(optim.train_step(deep, optimizer), *args).run_passes(
        f"gradir-shard-state{{function=step sharded={numbers} ranks=2}},"
        "gradir-data-parallel{function=step_sharded ranks=2 bucket_bytes=1 "
        f"shards={layers}}}"
    )
    return gradir.compile(module, "step_sharded_parallel", threads=1).plan.peak_bytes


def test_parameters_in_parts_are_gathered_one_after_the_other() -> None:
    """A layer more takes working memory for its part of the gradient and its rows."""
    side = 64
    more = (working_bytes(7, side) - working_bytes(5, side)) / 2
    assert more <= side * side * 4 / 2 + 4 * side * 4
