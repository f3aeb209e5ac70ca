"""The distributions of gradir.random: by Kolmogorov's and chi-squared tests, moments, edges."""

from __future__ import annotations

import numpy as np
import pytest
from random_draws import CONTINUOUS, COUNTS, EVERY, Array, Draw, every
from trace_harness import run

import gradir
from gradir import random

SIZE = 20_000


def test_distributions() -> None:
    """All by one program: distribution functions, probabilities of counts, means and variances.

    The interpreter's numbers are the same but for last bits, and the same counts.
    """
    module = gradir.trace(lambda key: every(key, (SIZE,)), 0)
    drawn = gradir.compile(module, "main")(11)
    for draw, one, other in zip(EVERY, drawn, gradir.interpret(module, "main", 11), strict=True):
        if draw.exact or draw.probabilities is not None:
            np.testing.assert_array_equal(one, other, err_msg=draw.name)
        np.testing.assert_allclose(one, other, rtol=1e-11, atol=1e-13, err_msg=draw.name)
    found = dict(zip(EVERY, drawn, strict=True))
    wrong = {
        str((draw.name, draw.parameters)): reason
        for draw, values in found.items()
        for reason in (has_distribution(draw, values), has_moments(draw, values))
        if reason
    }
    assert not wrong


def has_distribution(draw: Draw, values: Array) -> str:
    return counted(draw, values) if draw.cdf is None else distributed(draw, np.sort(values))


def distributed(draw: Draw, found: Array) -> str:
    """Kolmogorov's statistic is below 1.95, as in all but one of a thousand samples."""
    assert draw.cdf is not None
    with np.errstate(all="ignore"):
        heights = np.asarray(draw.cdf(found))
    steps = np.arange(SIZE + 1) / SIZE
    distance = np.sqrt(SIZE) * max(np.max(heights - steps[:-1]), np.max(steps[1:] - heights))
    return "" if distance < 1.95 else f"Kolmogorov's statistic {distance}"


def counted(draw: Draw, found: Array) -> str:
    """Chi squared within five deviations of its mean, of counts that are expected 5 times."""
    expected = np.asarray(draw.probabilities) * SIZE
    counts = np.bincount(found, minlength=len(expected))
    if len(counts) > len(expected) or found.min() < 0:
        return f"numbers from {found.min()} to {found.max()}"
    usual = expected >= 5
    parts = np.sum((counts[usual] - expected[usual]) ** 2 / expected[usual])
    freedom = max(np.count_nonzero(usual) - 1, 1)
    limit = freedom + 5 * np.sqrt(2 * freedom)
    return "" if parts < limit else f"chi squared {parts} of {freedom}"


def has_moments(draw: Draw, values: Array) -> str:
    """Mean and variance within five deviations; the variance's deviation by the fourth moment."""
    if np.isnan(draw.mean):
        return ""
    found = values.astype(float)
    errors = np.sqrt(draw.variance / SIZE), np.sqrt(np.var((found - draw.mean) ** 2) / SIZE)
    apart = abs(found.mean() - draw.mean), abs(found.var() - draw.variance)
    is_right = apart[0] < 5 * errors[0] and apart[1] < 6 * errors[1]
    return "" if is_right else f"mean {found.mean()}, variance {found.var()}"


def test_the_tests_see_a_wrong_distribution() -> None:
    numbers = np.random.default_rng(0)
    normal = next(draw for draw in CONTINUOUS if draw.name == "normal")
    assert not has_distribution(normal, numbers.normal(size=SIZE))
    assert has_distribution(normal, numbers.normal(0.05, size=SIZE))
    assert has_moments(normal, numbers.normal(scale=1.05, size=SIZE))
    counts = next(draw for draw in COUNTS if draw.name == "poisson")
    assert not has_distribution(counts, numbers.poisson(3.0, SIZE))
    assert has_distribution(counts, numbers.poisson(3.2, SIZE))


def test_large_means() -> None:
    """Mean and variance, where the search from 0 has no part."""
    found = gradir.jit(lambda key: [
        random.poisson(key, 1e6, (SIZE,)), random.binomial(key, 10**7, 0.1, (SIZE,)),
        random.gamma(key, 1e6, (SIZE,)), random.poisson(key, 1e12, (SIZE,)),
    ])(3)  # fmt: skip
    for values, mean, variance in zip(
        found, (1e6, 1e6, 1e6, 1e12), (1e6, 9e5, 1e6, 1e12), strict=True
    ):
        assert abs(values.mean() - mean) < 5 * np.sqrt(variance / SIZE)
        assert abs(values.var() / variance - 1) < 5 * np.sqrt(2 / SIZE)


def test_vectors() -> None:
    """Covariances, sums, norms, and the spread of orthogonal matrices and balls."""
    cov = np.array([[2.0, 0.6], [0.6, 1.0]])
    normals, parts, kinds, matrices, points, cube = gradir.jit(lambda key: (
        [random.multivariate_normal(key, np.array([1.0, -1.0]), cov, (SIZE,), method=m)
         for m in ("cholesky", "eigh", "svd")],
        random.dirichlet(key, np.array([0.5, 1.0, 2.5]), (SIZE,)),
        random.multinomial(key, 20, np.array([0.2, 0.3, 0.5]), (SIZE,)),
        random.orthogonal(key, 3, (SIZE // 10,)),
        random.ball(key, 3, shape=(SIZE,)), random.ball(key, 2, 5.0, (SIZE,)),
    ))(5)  # fmt: skip
    for each in normals:
        np.testing.assert_allclose(each.mean(axis=0), [1, -1], atol=0.05)
        np.testing.assert_allclose(np.cov(each.T), cov, atol=0.08)
    np.testing.assert_allclose(parts.sum(axis=-1), 1, rtol=1e-14)
    np.testing.assert_allclose(parts.mean(axis=0), np.array([0.5, 1, 2.5]) / 4, atol=0.01)
    np.testing.assert_array_equal(kinds.sum(axis=-1), 20)
    np.testing.assert_allclose(kinds.mean(axis=0), [4, 6, 10], atol=0.1)
    np.testing.assert_allclose(np.cov(kinds.T)[0, 2], -20 * 0.2 * 0.5, atol=0.2)
    products = matrices @ matrices.transpose(0, 2, 1)
    np.testing.assert_allclose(products, np.broadcast_to(np.eye(3), products.shape), atol=1e-13)
    np.testing.assert_allclose(matrices.mean(axis=0), 0, atol=0.07)
    assert abs(np.linalg.det(matrices).mean()) < 0.12
    lengths = np.linalg.norm(points, axis=-1)
    assert lengths.max() <= 1 and abs(np.mean(lengths**3) - 0.5) < 0.01
    powers = np.sum(np.abs(cube) ** 5, axis=-1) ** (1 / 5)
    assert powers.max() <= 1 and abs(np.mean(powers**2) - 0.5) < 0.01


def test_choices() -> None:
    a = np.arange(5.0) * 10
    p = np.array([0.0, 0.5, 0.0, 0.3, 0.2])
    drawn, few, most, all_, order, lines, categories, distinct = gradir.jit(lambda key: (
        random.choice(key, a, (SIZE,), p=p),
        random.choice(key, a, (3,), replace=False), random.choice(key, a, (3,), False, p),
        random.choice(key, 5, (5,), replace=False), random.permutation(key, a),
        random.permutation(key, np.tile(a, (4, 1)), axis=1, independent=True),
        random.categorical(key, np.log(p + 1e-300), shape=(SIZE,)),
        random.categorical(key, np.zeros((2, 5)), shape=(3, 2), replace=False),
    ))(9)  # fmt: skip
    for found in (drawn / 10, categories):
        shares = np.bincount(found.astype(int), minlength=5) / SIZE
        np.testing.assert_allclose(shares, p, atol=0.015)
        assert not shares[[0, 2]].any()
    assert len(set(few)) == 3 and set(most) == {10.0, 30.0, 40.0}
    assert sorted(all_) == list(range(5)) and sorted(order) == list(a)
    assert (np.sort(lines, axis=1) == a).all() and len({tuple(row) for row in lines}) > 1
    assert all(len(set(column)) == 3 for column in distinct.T)


def test_every_order_is_as_likely() -> None:
    keys = random.split(random.key(2), 6000)
    orders = gradir.jit(gradir.vmap(lambda key: random.permutation(key, 3)))(keys)
    counts = np.bincount(orders @ [9, 3, 1])
    counts = counts[counts > 0]
    assert len(counts) == 6
    assert np.sum((counts - 1000.0) ** 2 / 1000) < 5 + 5 * np.sqrt(10)


def test_ends_of_ranges() -> None:
    """Probabilities of 0 and 1, means and scales of 0, and parameters out of range."""
    nan = np.nan
    found = run(lambda key: [
        random.bernoulli(key, np.array([0.0, 1.0]), (50, 2)),
        random.binomial(key, np.array([0, 5, 5, -1, 2.5, 5, 10**15]),
                        np.array([0.5, 0, 1, 0.5, 0.5, nan, 0.0])),
        random.poisson(key, np.array([0.0, -1.0, nan, np.inf])),
        random.geometric(key, np.array([1.0, 0.0, 2.0])),
        random.negative_binomial(key, np.array([3.0, 0.0, 3.0]), np.array([1.0, 0.5, 0.0])),
        random.multinomial(key, np.array([3, -1]), np.array([0.0, 0.3, 0.0])),
        random.hypergeometric(key, np.array([3, 0, 3, 2]), np.array([0, 3, 3, 2]),
                              np.array([2, 2, 6, 5])),
        random.randint(key, (3,), 5, np.array([5, 4, 6])),
        random.uniform(key, (3,), None, 1.0, np.array([1.0, 0.5, np.inf])),
        random.rayleigh(key, np.array([0.0, -1.0])),
        random.lognormal(key, np.array([0.0, -1.0])),
        random.weibull_min(key, 0.0, np.array([2.0, 0.0])),
        random.triangular(key, np.array([1.0, 0, 2]), np.array([1.0, 0, 1]), np.array([1.0, 0, 3])),
        random.gamma(key, np.array([0.0, -1.0, np.inf, nan, 5e-324])),
        random.beta(key, np.array([0.0, 1.0]), np.array([1.0, -1.0])),
        random.truncated_normal(key, np.array([1.0, 2.0, np.inf]), np.array([1.0, 1.0, np.inf])),
        random.vonmises(key, 0.0, np.array([-1.0, np.inf])),
        random.wald(key, np.array([0.0, -1.0])),
        random.randint(key, (64,), -500, 500, "int8"), random.poisson(key, 1e9, dtype="int8"),
        random.truncated_normal(key, np.array([-np.inf, 3.0]), np.inf, (4, 2)),
        random.truncated_normal(key, 20.0, np.inf, (9,), "float32"),
        random.pareto(key, 0.0), random.power(key, -1.0), random.t(key, 0.0),
    ], 1)  # fmt: skip
    small, normal, tail = found[18], found[20], found[21]
    assert small.min() < -100 and small.max() > 100 and len(set(small)) > 48
    assert np.isfinite(normal).all() and normal[:, 1].min() > 3
    assert np.isfinite(tail).all() and tail.min() > 20
    expected = [
        np.tile([False, True], (50, 1)), [0, 0, 5, -1, -1, -1, 0], [0, -1, -1, -1], [1, -1, -1],
        [0, -1, -1], [[0, 3, 0], [-1, -1, -1]], [2, 0, 3, -1], [5, 5, 5], [1, 1, nan],
        [0, nan], [1, nan], [0, nan], [1, 0, nan], [0, nan, nan, nan, 0], [nan, nan], [1, nan, nan],
        [nan, nan], [nan, nan], small, 127, normal, tail, nan, nan, nan,
    ]  # fmt: skip
    for each, wanted in zip(found, expected, strict=True):
        np.testing.assert_array_equal(each, wanted)


def test_truncated_normal_beyond_all_probabilities() -> None:
    """Bounds whose probability no float64 is: numbers are within, as on the other side, and have
    the mean and the deviation of an exponential tail; both ways are one at 10."""
    bounds = [[10.0, 11], [40, 41], [700, 700.001], [1e8, np.inf], [1e200, 2e200], [9.9999999, 11]]
    low, high = np.array(bounds).T
    key = random.key(5)
    up, down, near = (
        np.asarray(random.truncated_normal(key, *b, (2000, 6)))
        for b in ((low, high), (-high, -low), (low[[5, *range(1, 6)]], high))
    )
    np.testing.assert_array_equal(up, -down)
    assert np.isfinite(up).all() and (up >= low).all() and (up <= high).all()
    for k, scale in ((0, 10.0), (1, 40.0)):
        above = (up[:, k] - scale) * scale
        assert abs(above.mean() - 1) < 0.07 and abs(above.std() - 1) < 0.07
    np.testing.assert_allclose(near[:, 0], up[:, 0], atol=2e-7)


NARROW = ("float32", "float16", "bfloat16")
IN_FLOAT64 = ("gamma", "beta", "vonmises")
NARROWED = [d for d in CONTINUOUS if d.name in IN_FLOAT64 or not d.is_slow]


def test_narrow_types() -> None:
    """They are rounded once, finite where float64 is, and of its numbers where those are drawn."""
    types = ("float64", *NARROW)
    wide, *others = gradir.jit(
        lambda key: [[d(key, (200,), dtype=t) for d in NARROWED] for t in types]
    )(4)
    for dtype, narrow in zip(NARROW, others, strict=True):
        for draw, expected, found in zip(NARROWED, wide, narrow, strict=True):
            assert str(found.dtype) == dtype, draw
            assert np.isfinite(found.astype(float)).all() and found.shape == (200,), draw
            if draw.name in IN_FLOAT64:
                np.testing.assert_array_equal(found, expected.astype(found.dtype))
        half = random.uniform(0, (5000,), dtype, -1.0, 0.5).astype(float)
        assert half.min() >= -1 and half.max() < 0.5


@pytest.mark.parametrize("shape", [(0,), ()])
def test_shapes(shape: tuple[int, ...]) -> None:
    for draw, found in zip(EVERY, run(lambda key: every(key, shape), 0), strict=True):
        assert np.shape(found) == shape, draw


def test_empty_and_single() -> None:
    assert random.dirichlet(0, np.ones((0, 3))).shape == (0, 3)
    assert random.permutation(0, 0).shape == (0,) and random.split(0, 0).shape == (0,)
    assert random.choice(0, 0, (0,)).shape == (0,)
    assert run(lambda: random.multinomial(0, 4, np.ones(1))).tolist() == [4]
    assert random.ball(0, 0).shape == (0,) and random.orthogonal(0, 1).shape == (1, 1)


def test_bits_are_even() -> None:
    for dtype in ("int8", "uint8", "int32", "int64"):
        found = random.bits(6, (4000,), dtype)
        assert str(found.dtype) == dtype
        unsigned = found.view(f"u{found.dtype.itemsize}")
        for place in range(8 * found.dtype.itemsize):
            share = np.mean(unsigned >> np.array(place, unsigned.dtype) & 1)
            assert abs(share - 0.5) < 5 * 0.5 / np.sqrt(4000), (dtype, place)


def test_randint_reaches_all_of_64_bits() -> None:
    """The upper half of a product of 128 bits, against Python's integers."""
    words = random.bits(8, (200,)).tolist()
    for low, high in ((-(2**63), 2**63 - 1), (0, 2**62 + 12345), (-5, 7), (-(2**40), 2**33)):
        wanted = [low + ((w % 2**64) * (high - low) >> 64) for w in words]
        assert random.randint(8, (200,), low, high).tolist() == wanted
