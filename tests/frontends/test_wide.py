"""Sums, counts and indices have a wider type than the elements."""

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import gradir
import gradir.nn as nn
import gradir.numpy as gnp
import gradir.scipy as gsp

HALVES = [np.dtype(np.float16), np.dtype(ml_dtypes.bfloat16)]
MANY = 100_000  # beyond float16, and beyond what bfloat16 counts


def _steps(dtype: Any) -> Any:
    """3, 4, 3, 4, ...: mean 3.5, variance 1/4."""
    return (3 + np.arange(MANY) % 2).astype(dtype)


def _large(dtype: Any) -> Any:
    """300, -300, ...: their squares are beyond float16."""
    return (300.0 * (-1) ** np.arange(100)).astype(dtype)


EVERY, BAG = np.ones(MANY, bool), np.zeros((1, MANY), int)
# By name: a function of `_steps` and `_large`, and what it gives.
OF_HALVES: dict[str, tuple[Callable[[Any, Any], Any], Any]] = {
    "mean where": (lambda x, _: gnp.mean(x, where=EVERY), 3.5),
    "nanmean": (lambda x, _: gnp.nanmean(x), 3.5),
    "average": (lambda x, _: gnp.average(x, weights=gnp.ones_like(x)), 3.5),
    "var where": (lambda x, _: gnp.var(x, where=EVERY), 0.25),
    "var of a mean": (lambda x, _: gnp.var(x, mean=x[:1] + 0.5), 0.25),
    "std where": (lambda x, _: gnp.std(x, where=EVERY), 0.5),
    "nanvar": (lambda x, _: gnp.nanvar(x), 0.25),
    "nanstd": (lambda x, _: gnp.nanstd(x), 0.5),
    "std of large": (lambda _, y: gnp.std(y, where=EVERY[:100]), 300),
    "nanstd of large": (lambda _, y: gnp.nanstd(y), 300),
    "cov": (lambda x, _: gnp.cov(x), 0.25),
    "cov of weights": (lambda x, _: gnp.cov(x, aweights=np.ones(MANY)), 0.25),
    "corrcoef": (lambda _, y: gnp.corrcoef(gnp.stack([y, -y]))[0], [1, -1]),
    "median of large": (lambda _, y: gnp.median(gnp.abs(y) * 150), 45_000),
    "quantile of large": (lambda _, y: gnp.quantile(y[:2] * 200, 0.25), -30_000),
    "kl_div": (
        lambda x, _: nn.kl_div(x[:, None] * 0, x[:, None] * 0 + 1, reduction="batchmean"), 0,
    ),
    "kl_div of logs": (
        lambda x, _: nn.kl_div(x[:, None] * 0 - 1, x[:, None] * 0, "batchmean", True), 1,
    ),
    "embedding_bag": (lambda x, _: nn.embedding_bag(x[:2, None], BAG)[0], [3]),
    "embedding_bag at offsets": (lambda x, _: nn.embedding_bag(x[:2, None], BAG[0], [0])[0], [3]),
    "cosine_embedding": (
        lambda _, y: nn.cosine_embedding_loss(y[None], -y[None], gnp.array([-1])), 0,
    ),
    "multilabel_margin": (
        lambda x, _: nn.multilabel_margin_loss(x[:600] * 0, [*range(300), -1, *[0] * 299]), 150,
    ),
    "local_response_norm": (
        lambda _, y: nn.local_response_norm(y[:3].reshape(1, 3, 1), 3)[0, 1], [-300 / 10**0.75],
    ),
    "lp_pool": (lambda _, y: nn.lp_pool1d(gnp.abs(y)[:2].reshape(1, 1, 2), 3, 2), [[[378]]]),
    "norm of order 3": (lambda _, y: gnp.linalg.norm(y[:8], 3), 600),
    "trapezoid": (lambda _, y: gnp.trapezoid(gnp.abs(y[:2]) * 200), 60_000),
    "linspace": (lambda _, y: gnp.linspace(y[1] * 150, y[0] * 150, 3), [-45_000, 0, 45_000]),
    "long linspace": (lambda x, _: gnp.linspace(x[0], x[1], MANY + 1)[50_000], 3.5),
    "geomspace": (lambda x, _: gnp.geomspace(x[0] - 2, x[1] * 25, MANY + 1)[50_000], 10),
    "bin edges": (lambda x, _: gnp.histogram(x, 5000)[1][2500], 3.5),
    "densities": (lambda x, _: gnp.histogram(x, 2, density=True)[0], [1, 1]),
    "logsumexp": (lambda x, _: gsp.special.logsumexp(x * 0, b=x), np.log(3.5 * MANY)),
    "grid_sample": (
        lambda x, _: nn.grid_sample(
            gnp.arange(3000, dtype=x.dtype).reshape(1, 1, 1, 3000) / 1024,
            gnp.stack([x[:1] / 3, x[:1] * 0], -1).reshape(1, 1, 1, 2), align_corners=True,
        )[0, 0, 0], [2999 / 1024],
    ),
}  # fmt: skip


@pytest.mark.parametrize("dtype", HALVES, ids=str)
def test_sums_and_counts_of_halves_are_held(dtype: Any):
    def every(x: Any, y: Any) -> list[Any]:
        return [function(x, y) for function, _ in OF_HALVES.values()]

    found = gradir.jit(every)(_steps(dtype), _large(dtype))
    for (name, (_, want)), one in zip(OF_HALVES.items(), found, strict=True):
        assert one.dtype == dtype, name
        close = 2e-3 if dtype == np.float16 else 1.5e-2
        np.testing.assert_allclose(one.astype(float), want, close, close, err_msg=name)


@pytest.mark.parametrize("dtype", HALVES, ids=str)
def test_slopes_of_means_of_halves_are_not_lost(dtype: Any):
    x = _steps(dtype)
    means = [
        lambda x: gnp.mean(x, where=EVERY),
        gnp.nanmean,
        lambda x: gnp.average(x, weights=np.ones(MANY, dtype)),
        lambda x: nn.kl_div(x[:, None], np.ones((MANY, 1), dtype), reduction="batchmean"),
    ]
    each = gradir.jit(lambda x: [gradir.grad(f)(x) for f in means])(x)
    for found, sign in zip(each, (1, 1, 1, -1), strict=True):
        np.testing.assert_allclose(found.astype(float), sign / MANY, rtol=1e-2)
    table = x[:2, None]
    found = gradir.grad(lambda t: gnp.sum(nn.embedding_bag(t, BAG)))(table)
    np.testing.assert_allclose(found.astype(float), [[1], [0]], rtol=2e-3)
    found = gradir.grad(lambda x: gnp.var(x, where=EVERY).astype("float32") * 1e4)(x)
    np.testing.assert_allclose(found.astype(float), 0.2 * (x.astype(float) - 3.5), rtol=1e-2)


@pytest.mark.parametrize("count", [1007, 4103, 100_001])
@pytest.mark.parametrize("dtype", HALVES, ids=str)
def test_places_of_quantiles_are_exact(dtype: Any, count: int):
    x = np.random.default_rng(0).permutation(count)
    x = (x / count).astype(dtype)
    gaps = np.where(np.arange(count) % 3 == 0, np.nan, x.astype(float)).astype(dtype)
    shares = [0.0, 0.1, 0.37, 0.5, 0.9, 1.0]

    def every(x: Any, y: Any) -> list[Any]:
        return [gnp.quantile(x, shares), gnp.percentile(x, 37, method="lower"), gnp.median(x),
                gnp.nanquantile(y, shares), gnp.nanpercentile(y, 37, method="higher"),
                gnp.nanmedian(y)]  # fmt: skip

    wanted = [np.quantile(x.astype(float), shares),
              np.percentile(x.astype(float), 37, method="lower"), np.median(x.astype(float)),
              np.nanquantile(gaps.astype(float), shares),
              np.nanpercentile(gaps.astype(float), 37, method="higher"),
              np.nanmedian(gaps.astype(float))]  # fmt: skip
    module = gradir.trace(every, x, gaps)
    for found in (gradir.jit(every)(x, gaps), gradir.interpret(module, "every", x, gaps)):
        for one, want in zip(found, wanted, strict=True):
            # rounded to a half once: the elements beside a place are equal, or its neighbours
            near = np.asarray(want).astype(dtype).astype(float)
            close = np.ldexp(1.0, -11 if dtype == np.float16 else -8)
            np.testing.assert_allclose(np.asarray(one).astype(float), near, close, 0)


def test_places_of_quantiles_of_many_elements_are_exact():
    x = np.arange(2**24 + 9, dtype=np.float32)
    found = gradir.jit(lambda x, q: gnp.quantile(x, q, method="lower"))(x, np.float32(1.0))
    assert found == x[-1]


def test_quantiles_differentiate_in_wide_places():
    x = np.random.default_rng(1).permutation(4103).astype(np.float16)

    def at(q: Any) -> Any:
        return gnp.quantile(x, q).astype("float32")

    # one more share of all is one more of 4102 steps of 1 or of the spacing of halves
    slope = gradir.grad(at)(np.float32(0.2))
    assert 0 < slope <= 2 * 4102
    chosen = gradir.grad(lambda x: gnp.quantile(x, 0.25))(x)
    assert np.count_nonzero(chosen) == 2
    assert chosen.astype(float).sum() == 1


# Indices of small types.

TYPES = ["int8", "uint8", "int16", "uint16", "int32", "uint64"]
MODES = ["wrap", "clip"]
LINE = np.arange(300.0)


def _read(xp: Any, i: Any) -> list[Any]:
    """Functions of indices that NumPy has."""
    line = xp.asarray(LINE)
    found = [xp.take(line, i, mode=mode) for mode in MODES]
    found += [xp.take(line[:50], i, mode=mode) for mode in MODES]
    found += [xp.choose(i, [xp.full(3, float(k)) for k in range(9)], mode=mode) for mode in MODES]
    found += [*xp.unravel_index(i, (3, 300)), *xp.unravel_index(i, (300, 3), order="F")]
    found += [xp.ravel_multi_index((i, i, i, i), (300, 400, 500, 600), mode=m)
              for m in ("raise", *MODES)]  # fmt: skip
    found += [i < 300, i <= 300, i > 300, i >= 300, i == 300, i != 300, i > -1000, i <= -1000]
    found += [300 > i, 300 == i, 70_000 >= i, 2**70 > i, -(2**70) > i, xp.less(300, i)]
    return [*found, xp.where(i < 300, i, 0)]


@pytest.mark.parametrize("name", TYPES)
def test_small_indices_are_those_of_numpy(name: str):
    i = np.array([0, 5, 100], name)

    def f(i: Any) -> list[Any]:
        return _read(gnp, i)

    wanted = _read(np, i.astype("int64" if name != "uint64" else name).astype("int64"))
    module = gradir.trace(f, i)
    for found in (gradir.jit(f)(i), gradir.interpret(module, "f", i)):
        for k, (want, one) in enumerate(zip(wanted, found, strict=True)):
            if k < len(wanted) - 1:
                assert np.asarray(one).dtype == want.dtype, k
            np.testing.assert_array_equal(one, want, err_msg=str(k))


@pytest.mark.parametrize("name", TYPES)
def test_small_indices_write_where_they_say(name: str):
    given = [0, 5, 100] if name[0] == "u" else [-1, 5, -100]
    i, at = np.array(given, name), np.array(given)
    modes = ["clip", "drop", "fill", None]

    def f(i: Any) -> list[Any]:
        line = gnp.asarray(LINE)
        written = [[line.at[i].set(7.0, mode=m), line.at[i].add(7.0, mode=m),
                    line.at[i].get(mode=m), gnp.stack([line, line]).at[0, i].get(mode=m)]
                   for m in modes]  # fmt: skip
        out = [line[:50].at[i].get(mode="fill", fill_value=-1.0), line[:50].at[i].get(mode="clip")]
        put = gnp.put_along_axis(line, i, 7.0, 0, inplace=False)
        return [
            *(each for row in written for each in row),
            *out,
            put,
            gnp.put(line, i, 7.0, mode="wrap", inplace=False),
        ]

    changed, added = LINE.copy(), LINE.copy()
    changed[at], added[at] = 7.0, added[at] + 7.0
    out = [0, 5, -1] if name[0] == "u" else [49, 5, -1]
    clipped = [0, 5, 49] if name[0] == "u" else [49, 5, 0]
    wanted = [changed, added, LINE[at], LINE[at]] * len(modes) + [out, clipped, changed, changed]
    for k, (one, want) in enumerate(zip(gradir.jit(f)(i), wanted, strict=True)):
        np.testing.assert_array_equal(one, want, err_msg=str(k))


def test_indices_beyond_int64_are_beyond_every_extent():
    i = np.array([2**64 - 1, 1], "uint64")

    def f(i: Any) -> list[Any]:
        line = gnp.arange(9.0)
        return [line.at[i].get(mode="clip"), line.at[i].get(mode="fill", fill_value=-1.0),
                gnp.take(line, i, mode="wrap"), gnp.take(line, i, mode="clip")]  # fmt: skip

    wanted = [[8, 1], [-1, 1], [(2**64 - 1) % 9, 1], [8, 1]]
    for one, want in zip(gradir.jit(f)(i), wanted, strict=True):
        np.testing.assert_array_equal(one, want)


def test_numbers_of_elements_are_held():
    i = np.array([80_000], "int32")
    assert gnp.ravel_multi_index((i, i), (100_000, 100_000)) == [80_000 * 100_001]
    with pytest.raises(gradir.GradirError, match=r"ravel_multi_index: .* more than 2\*\*63 - 1"):
        gradir.trace(lambda i: gnp.ravel_multi_index((i, i, i, i), (100_000,) * 4), i)


def test_a_blank_may_be_beyond_the_type_of_the_targets():
    x = np.log(np.random.default_rng(2).dirichlet(np.ones(300), (10, 1)))
    lengths = np.array([10]), np.array([2])
    small, large = np.array([[5, 100]], "uint8"), np.array([[5, 100]])
    found = [nn.ctc_loss(x, targets, *lengths, blank=299) for targets in (small, large)]
    assert found[0] == found[1]


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
def test_ctc_losses_of_halves_keep_their_type(reduction: str):
    x = np.log(np.random.default_rng(2).dirichlet(np.ones(5), (10, 2))).astype(np.float16)
    targets, lengths = np.array([[1, 2], [3, 4]], "int8"), (np.array([10, 9]), np.array([2, 1]))
    found = nn.ctc_loss(x, targets, *lengths, reduction=reduction)
    wanted = nn.ctc_loss(x.astype(float), targets, *lengths, reduction=reduction)
    assert np.asarray(found).dtype == np.float16
    np.testing.assert_allclose(found, wanted, rtol=2e-3)
