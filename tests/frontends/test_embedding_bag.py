"""nn.embedding_bag against NumPy, and the row slices of its table and of gather_nd's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gradir
import gradir.numpy as gnp
from gradir import nn
from gradir.errors import IndexOutOfRange, TraceError
from gradir.testing import check_grads

RANDOM = np.random.default_rng(0)
TABLE = RANDOM.standard_normal((7, 3))
IDS = np.array([[1, 5, 1], [2, 2, -1], [5, 0, 3]])
FLAT, OFFSETS = np.array([1, 5, 1, 2, -1]), np.array([0, 0, 3, 5])
WEIGHTS = RANDOM.standard_normal((3, 3))


def bags(ids: Any, offsets: Any) -> list[Any]:
    if offsets is None:
        return list(ids)
    return [*np.split(ids, offsets[1:])]


def expected(ids: Any, offsets: Any, mode: str, padding: int | None) -> Any:
    """By a loop over bags."""
    found: list[Any] = []
    for bag in bags(ids, offsets):
        kept = [k % 7 for k in bag if padding is None or k % 7 != padding % 7]
        rows = TABLE[kept]
        of = {"sum": np.sum, "mean": np.mean, "max": np.max}[mode]
        found.append(of(rows, axis=0) if kept else np.zeros(3))
    return np.array(found)


@pytest.mark.parametrize("padding", [None, 5, -6])
@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
@pytest.mark.parametrize(("ids", "offsets"), [(IDS, None), (FLAT, OFFSETS)], ids=["2d", "offsets"])
def test_values(ids: Any, offsets: Any, mode: str, padding: int | None) -> None:
    def bag(table: Any, ids: Any, *offsets: Any) -> Any:
        return nn.embedding_bag(table, ids, *offsets, mode=mode, padding_idx=padding)

    given = (ids,) if offsets is None else (ids, offsets)
    found = gradir.jit(bag)(TABLE, *given)
    np.testing.assert_allclose(found, expected(ids, offsets, mode, padding), rtol=1e-14)


@pytest.mark.parametrize("mode", ["sum", "mean"])
def test_row_slices(mode: str) -> None:
    """One for each place, of both forms; at second order too."""

    def loss(table: Any, ids: Any, *offsets: Any) -> Any:
        return gnp.sum(gnp.sin(nn.embedding_bag(table, ids, *offsets, mode=mode)))

    for given, count in (((IDS,), 9), ((FLAT, OFFSETS), 5)):
        rows = gradir.grad(loss, sparse_argnums=0)(TABLE, *given)
        assert rows.values.shape == (count, 3)
        np.testing.assert_allclose(rows.densify(), gradir.grad(loss)(TABLE, *given), rtol=1e-14)


def test_derivatives() -> None:
    """Of the table and the factors, at first and second order."""

    def loss(table: Any, weights: Any) -> Any:
        found = nn.embedding_bag(table, IDS, mode="sum", weights=weights, padding_idx=2)
        return gnp.sum(gnp.sin(found))

    check_grads(loss, [TABLE, WEIGHTS])


@pytest.mark.parametrize("offsets", [[1, 2], [0, 4, 2], [0, 9]])
def test_wrong_offsets(offsets: list[int]) -> None:
    """They do not start at 0, descend, or lie behind the ids."""

    def bag(table: Any, ids: Any, offsets: Any) -> Any:
        return nn.embedding_bag(table, ids, offsets, mode="sum")

    with pytest.raises(IndexOutOfRange):
        gradir.jit(bag)(TABLE, FLAT, np.array(offsets))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"mode": "median"}, 'mode must be "sum", "mean" or "max"'),
        ({"offsets": OFFSETS}, r"ids must be \[bags, n\] without offsets"),
        ({"mode": "mean", "weights": WEIGHTS}, 'weights need mode "sum"'),
        ({"mode": "sum", "weights": WEIGHTS[:2]}, "the shape of ids"),
    ],
)
def test_refusals(options: dict[str, Any], message: str) -> None:

    def bag(table: Any) -> Any:
        return nn.embedding_bag(table, IDS, **options)

    with pytest.raises(TraceError, match=message):
        gradir.jit(bag)(TABLE)


@pytest.mark.parametrize(
    ("places", "rows"), [(np.array([[3], [3], [-1]]), 3), (np.array([[3, 1], [0, 2]]), 7)]
)
def test_gather_nd(places: Any, rows: int) -> None:
    """Tuples of one index read rows, longer ones read elements."""

    def loss(table: Any) -> Any:
        return gnp.sum(gnp.gather_nd(table, places) ** 2)

    found = gradir.grad(loss, sparse_argnums=0)(TABLE)
    assert len(found.indices) == rows
    np.testing.assert_allclose(found.densify(), gradir.grad(loss)(TABLE))
