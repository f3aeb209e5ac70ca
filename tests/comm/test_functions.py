"""gradir.comm's functions: eager and traced, on ranks that are threads."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gradir
import gradir.numpy as gnp
from gradir import comm
from gradir.errors import CommError, TraceError, VerifyError
from gradir.interpreter.ranks import on_ranks

X = np.arange(6.0).reshape(2, 3)


def everything(x: Any) -> Any:
    """All functions on an array of this rank."""
    return {
        "psum": comm.psum({"a": x, "b": [x + 1]})["b"][0],
        "ordered": comm.psum(x, ordered=True),
        "pmean": comm.pmean(x),
        "pmax": comm.pmax(x),
        "pmin": comm.pmin(x),
        "stacked": comm.all_gather(x, axis=1),
        "tiled": comm.all_gather(x, axis=-1, tiled=True),
        "scattered": comm.psum_scatter(x),
        "parts": comm.psum_scatter(x, scatter_dimension=0, tiled=True),
        "permuted": comm.ppermute(x, perm=[(0, 1)]),
        "broadcast": comm.broadcast(x, root=1),
        "rank": comm.axis_index(),
    }


def expected(rank: int) -> dict[str, Any]:
    xs = [X, X + 10]
    total = xs[0] + xs[1]
    return {
        "psum": total + 2,
        "ordered": total,
        "pmean": total / 2,
        "pmax": xs[1],
        "pmin": xs[0],
        "stacked": np.stack(xs, 1),
        "tiled": np.concatenate(xs, -1),
        "scattered": total[rank],
        "parts": total[rank : rank + 1],
        "permuted": xs[0] if rank == 1 else np.zeros_like(X),
        "broadcast": xs[1],
        "rank": rank,
    }


def check(found: list[Any]) -> None:
    for rank, values in enumerate(found):
        want = expected(rank)
        assert values.keys() == want.keys()
        for name, value in values.items():
            np.testing.assert_allclose(value, want[name], err_msg=name)
            assert np.shape(value) == np.shape(want[name]), name


def test_outside_of_a_trace() -> None:
    def run(rank: int) -> Any:
        comm.barrier()
        return everything(X + 10 * rank)

    check(on_ranks(2, run))


def test_traced() -> None:
    """The trace knows the number of ranks of the world that traces."""
    module = on_ranks(2, lambda rank: gradir.trace(everything, X))[0]
    assert "ranks = 2" in str(module)
    names = sorted(expected(0))
    results = comm.run_ranks(module, "everything", [(X,), (X + 10,)])
    check([dict(zip(names, values, strict=True)) for values in results])


def test_messages() -> None:
    def run(rank: int) -> Any:
        if rank == 0:
            return comm.send(X, 1)
        return comm.recv(X, 0)

    first, second = on_ranks(2, run)
    np.testing.assert_array_equal(first, 0 * X)
    np.testing.assert_array_equal(second, X)


def linear(z: Any) -> Any:
    """The collectives that add or move elements, each result times another number."""
    parts = [
        comm.psum(z), comm.psum(z, ordered=True), comm.pmean(z), comm.all_gather(z, axis=1),
        comm.psum_scatter(z, scatter_dimension=0, tiled=True), comm.ppermute(z, perm=[(0, 1)]),
        comm.broadcast(z, root=1),
    ]  # fmt: skip
    return gnp.concat([gnp.reshape(part, (-1,)) * (k + 1) for k, part in enumerate(parts)])


def loss_of_parts(x: Any, y: Any) -> Any:
    return gnp.sum(linear(x) ** 2 + linear(y) ** 2)


def complex_loss(z: Any) -> Any:
    return gnp.sum(gnp.abs(linear(z)) ** 2)


def gradients(loss: Any, args: list[Any]) -> list[Any]:
    """On each rank, by the interpreter; `args` has the arguments of each."""
    module = on_ranks(2, lambda rank: gradir.trace(loss, *args[0]))[0]
    name = module.functions[0]
    return [
        found[1:]
        for found in comm.run_ranks(module.gradient(name, mode="grad"), f"{name}_grad", args)
    ]


def test_complex_numbers() -> None:
    """Both parts; the gradient of a real loss is d/dx - i d/dy. Native code: test_mpi.py."""
    xs, ys = [np.cos(X + rank) for rank in range(2)], [np.sin(X * (rank + 2)) for rank in range(2)]
    zs = [x + 1j * y for x, y in zip(xs, ys, strict=True)]
    real, imag, both = (np.asarray(on_ranks(2, lambda k, a=a: linear(a[k]))) for a in (xs, ys, zs))
    np.testing.assert_allclose(both, real + 1j * imag, 1e-13)
    pairs = list(zip(xs, ys, strict=True))
    of_pairs = gradients(loss_of_parts, pairs)
    for [ours], (by_x, by_y) in zip(
        gradients(complex_loss, [(z,) for z in zs]), of_pairs, strict=True
    ):
        np.testing.assert_allclose(ours, by_x - 1j * by_y, 1e-12)


def test_complex_rows_are_ranks() -> None:
    z = np.cos(np.arange(12.0)).reshape(2, 2, 3) * (1 + 0.5j) + 1j * np.arange(12.0).reshape(
        2, 2, 3
    )

    def mapped(z: Any) -> Any:
        return gradir.vmap(lambda row: comm.psum(row, "rows") * row, axis_name="rows")(z)

    np.testing.assert_allclose(mapped(z), z.sum(0) * z, 1e-13)
    np.testing.assert_allclose(gradir.jit(mapped)(z), z.sum(0) * z, 1e-13)
    gradir.testing.check_grads(mapped, [z], order=2)


def test_alone() -> None:
    assert comm.axis_size() == 1
    np.testing.assert_array_equal(comm.psum(X), X)

    def mean(x: Any) -> Any:
        return comm.pmean(gnp.sum(gnp.sin(x)))

    slope = gradir.jit(gradir.grad(mean))(X)
    np.testing.assert_allclose(slope, np.cos(X))


def test_mistakes() -> None:
    def run(rank: int) -> Any:
        with pytest.raises(TraceError, match="axis 1 must have an element for each of 2 ranks"):
            comm.psum_scatter(X, scatter_dimension=1)
        with pytest.raises(VerifyError, match=r"comm.send: target must be a rank below 2, got 2"):
            comm.send(X, 2)
        with pytest.raises(CommError, match="there is no group rows"):
            comm.psum(X, "rows")
        with pytest.raises(VerifyError, match=r"comm.all_reduce: elements must be floating"):
            comm.psum(X > 1)

    on_ranks(2, run)
    with pytest.raises(CommError, match="group world has one rank, so that rank 0"):
        comm.recv(X, 0)
