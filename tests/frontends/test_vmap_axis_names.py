"""gradir.vmap with an axis_name: collectives between rows, held against sums of whole arrays.

tests/peers/test_vmap_axis_names.py holds them against JAX's.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gradir
import gradir.numpy as gnp
from gradir import comm
from gradir.errors import ArgumentTypeError, PassError, TraceError
from gradir.testing import check_grads

X = np.random.default_rng(0).normal(size=(4, 8))

Pair = tuple[Callable[[Any], Any], Callable[[Any], Any]]
"""A function of a row, and what it is for all rows at once."""

PAIRS: dict[str, Pair] = {
    "psum": (lambda x: comm.psum(gnp.sin(x), "i") * x, lambda x: gnp.sin(x).sum(0) * x),
    "pmean": (lambda x: x - comm.pmean(x, "i"), lambda x: x - x.mean(0)),
    "extremes": (
        lambda x: x * comm.pmax(x, "i") + comm.pmin(x, "i"),
        lambda x: x * x.max(0) + x.min(0),
    ),
    "all_gather": (
        lambda x: comm.all_gather(x, "i", axis=1) * gnp.reshape(x, (8, 1)),
        lambda x: gnp.permute_dims(x, (1, 0)) * gnp.reshape(x, (4, 8, 1)),
    ),
    "tiled": (
        lambda x: comm.all_gather(x, "i", tiled=True)[:8] * x,
        lambda x: x[0] * x,
    ),
    "psum_scatter": (
        lambda x: comm.psum_scatter(x**2, "i", tiled=True) * x[:2],
        lambda x: gnp.reshape((x**2).sum(0), (4, 2)) * x[:, :2],
    ),
    "ppermute": (
        lambda x: comm.ppermute(x, "i", perm=[(0, 1), (2, 0)]) * x,
        lambda x: gnp.stack([x[2] * x[0], x[0] * x[1], 0 * x[2], 0 * x[3]]),
    ),
    "broadcast": (lambda x: comm.broadcast(x, "i", root=2) * x, lambda x: x[2] * x),
    "axis_index": (
        lambda x: x * comm.axis_index("i") / comm.axis_size("i"),
        lambda x: x * np.arange(4).reshape(4, 1) / 4,
    ),
    "what_rows_share": (
        lambda x: comm.psum(np.ones(8), "i") * x + comm.pmean(np.ones(8), "i"),
        lambda x: 4 * x + 1,
    ),
    "loop": (
        lambda x: gradir.fori_loop(0, 3, lambda i, c: gnp.sin(comm.pmean(c, "i")) + x, x),
        lambda x: gradir.fori_loop(0, 3, lambda i, c: gnp.sin(c.mean(0)) + x, x),
    ),
    "loop_of_numbers": (
        lambda x: gradir.fori_loop(0, 2, lambda i, c: c + comm.axis_index("i"), 0) * x,
        lambda x: 2 * np.arange(4).reshape(4, 1) * x,
    ),
    "checkpoint": (
        gradir.checkpoint(lambda x: gnp.sin(comm.psum(x, "i")) * x),
        lambda x: gnp.sin(x.sum(0)) * x,
    ),
}


@pytest.mark.parametrize("name", PAIRS)
def test_values_and_derivatives(name: str) -> None:
    one, whole = PAIRS[name]
    rows = gradir.vmap(one, axis_name="i")
    expected = gradir.jit(whole)(X)
    for found in (rows(X), gradir.jit(rows)(X)):
        np.testing.assert_allclose(found, np.broadcast_to(expected, found.shape), rtol=1e-12)
    program = gradir.jit(rows).lower(X)
    (found,) = gradir.interpret(program.module, program.name, X)
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    check_grads(lambda x: (gnp.sin(rows(x)) * np.cos(X.sum())).sum(), (X,), order=2)


@pytest.mark.parametrize("name", PAIRS)
def test_derivatives_of_rows_are_those_of_their_sum(name: str) -> None:
    """As with gradir.comm between processes, and in JAX."""
    one, whole = PAIRS[name]
    inside = gradir.vmap(gradir.grad(lambda x: gnp.sin(one(x)).sum()), axis_name="i")
    outside = gradir.grad(lambda x: gnp.sin(whole(x)).sum())
    np.testing.assert_allclose(inside(X), outside(X), rtol=1e-10, atol=1e-12)


def test_nested_names() -> None:
    y = np.random.default_rng(1).normal(size=(3, 4, 8))

    def both(x: Any) -> Any:
        return x * comm.psum(x, "i") + comm.pmean(x, "j")

    found = gradir.vmap(gradir.vmap(both, axis_name="i"), axis_name="j")(y)
    np.testing.assert_allclose(found, y * y.sum(1, keepdims=True) + y.mean(0))
    inner = gradir.vmap(lambda x: comm.psum(x, "i"), axis_name="i")
    np.testing.assert_allclose(gradir.vmap(inner, axis_name="i")(y), np.stack([y.sum(1)] * 4, 1))
    without = gradir.vmap(lambda x: x * comm.psum(x, "i"))
    np.testing.assert_allclose(gradir.vmap(without, axis_name="i")(y), y * y.sum(0))


def test_rows_without_arguments_and_results_without_rows() -> None:
    numbers = gradir.vmap(lambda: comm.axis_index("i") * 2.0, axis_name="i", axis_size=3)
    np.testing.assert_array_equal(numbers(), [0, 2, 4])
    total = gradir.vmap(lambda x: comm.psum(x, "i"), axis_name="i", out_axes=None)
    np.testing.assert_allclose(total(X), X.sum(0))


def test_one_function_for_several_numbers_of_rows() -> None:
    slope = gradir.grad(lambda x: (comm.psum(x**2, "i") * x).sum())

    def ruled(x: Any) -> Any:
        return gnp.sin(comm.psum(x, "i"))

    custom = gradir.custom_vjp(ruled)
    custom.defvjp(
        lambda x: (custom(x), x),
        lambda x, ct: (comm.psum(ct * gnp.cos(comm.psum(x, "i")), "i"),),
    )

    def loss(x: Any) -> Any:
        first: list[Any] = [slope, custom]
        rows = [gradir.vmap(f, axis_name="i") for f in first]
        return sum((f(x) ** 2).sum() + (f(x[:2]) ** 2).sum() for f in rows)

    def expected(x: Any) -> Any:
        def of(x: Any) -> Any:
            slopes = (x**2).sum(0) + 2 * x * x.sum(0)
            return (slopes**2).sum() + len(x) * (gnp.sin(x.sum(0)) ** 2).sum()

        return of(x) + of(x[:2])

    np.testing.assert_allclose(gradir.jit(loss)(X), gradir.jit(expected)(X))
    np.testing.assert_allclose(gradir.grad(loss)(X), gradir.grad(expected)(X), rtol=1e-9)
    check_grads(loss, (X,), order=2)


@pytest.mark.parametrize(
    ("function", "kind", "message"),
    [
        (
            lambda x: gradir.while_loop(
                lambda c: c.sum() < 9, lambda c: c + comm.pmean(c, "i") ** 2 + 1, x
            ),
            PassError,
            'rows "i" must run for all rows at once, and scf.while around it goes other ways in ea',
        ),
        (
            lambda x: gradir.cond(x.sum() > 0, lambda x: comm.psum(x, "i"), lambda x: x, x),
            PassError,
            "and scf.if around it goes other ways in each row",
        ),
        (lambda x: comm.send(x, 0, "i"), PassError, 'comm.send: rows, here of "i", must be ranks'),
        (
            lambda x: x if comm.axis_index("i") > 0 else 2 * x,
            TraceError,
            "bool: a traced array has no value yet; choose with gradir.cond",
        ),
    ],
)
def test_refusals(function: Any, kind: Any, message: str) -> None:
    with pytest.raises(kind) as caught:
        gradir.vmap(function, axis_name="i")(X)
    assert message in str(caught.value) and "test_vmap_axis_names.py" in str(caught.value)


def test_wrong_arguments() -> None:
    wrong: Any = gradir.vmap
    with pytest.raises(ArgumentTypeError, match=r"axis_name: expected a name of letters, .* got 3"):
        wrong(np.sin, axis_name=3)
    with pytest.raises(ArgumentTypeError, match="axis_size: expected a number >= 0, got 'a'"):
        wrong(np.sin, axis_size="a")
    with pytest.raises(TraceError, match=r"but axis_size is 3, args\[0\] has 4"):
        gradir.vmap(gnp.sin, axis_size=3)(X)
    with pytest.raises(TraceError, match="an axis with a name must have a known number of rows"):
        gradir.vmap(gnp.sin, axis_name="i")(X[:0])


def test_a_name_that_is_no_axis() -> None:
    for function in (lambda x: comm.psum(x, "typo"), lambda x: x * comm.axis_index("typo")):
        with pytest.raises(TraceError, match="expected an axis of these rows, i, got 'typo'"):
            gradir.vmap(function, axis_name="i")(X)
    np.testing.assert_array_equal(gradir.vmap(lambda x: comm.psum(x), axis_name="i")(X), X)
