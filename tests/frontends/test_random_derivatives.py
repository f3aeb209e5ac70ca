"""Derivatives through gradir.random: by the parameters with the same key, and of quantiles."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from random_draws import Array
from trace_harness import run

import gradir
import gradir.numpy as gnp
from gradir import random
from gradir.frontends.random import angles
from gradir.frontends.random.gamma_slope import quantile_slope
from gradir.scipy import special

KEY = random.key(5)

# A function of parameters, and these: the numbers move as the formula does.
MOVED: dict[str, tuple[Callable[..., Any], tuple[float, ...]]] = {
    "uniform": (lambda a, b: random.uniform(KEY, (3,), None, a, b), (-0.5, 2.0)),
    "lognormal": (lambda a: random.lognormal(KEY, a, (3,)), (0.7,)),
    "rayleigh": (lambda a: random.rayleigh(KEY, a, (3,)), (0.7,)),
    "pareto": (lambda a: random.pareto(KEY, a, (3,)), (2.5,)),
    "power": (lambda a: random.power(KEY, a, (3,)), (2.5,)),
    "weibull_min": (lambda a, b: random.weibull_min(KEY, a, b, (3,)), (2.0, 1.5)),
    "triangular": (lambda a, b, c: random.triangular(KEY, a, b, c, (4,)), (0.1, 0.8, 2.0)),
    "double_sided_maxwell": (
        lambda a, b: random.double_sided_maxwell(KEY, a, b, (3,)), (0.3, 2.0)),
    "truncated_normal": (lambda a, b: random.truncated_normal(KEY, a, b, (3,)), (0.4, 2.0)),
    "truncated_normal, low": (
        lambda a, b: random.truncated_normal(KEY, a, b, (3,)), (-9.0, -7.0)),
    "truncated_normal, beyond": (
        lambda a, b: random.truncated_normal(KEY, a, b, (3,)), (40.0, 40.01)),
    "truncated_normal, no end": (
        lambda a, b: random.truncated_normal(KEY, -np.inf, b, (3,)) * a, (2.0, -12.0)),
    "multivariate_normal": (
        lambda a, b: random.multivariate_normal(
            KEY, gnp.stack([a, a * a]), gnp.stack([a, b, b, a]).reshape(2, 2)).ravel(), (2.0, 0.5)),
}  # fmt: skip


def all_moved(theta: Any) -> Any:
    parts: list[Any] = []
    at = 0
    for function, values in MOVED.values():
        parts.append(function(*(theta[at + k] for k in range(len(values)))))
        at += len(values)
    return gnp.concatenate(parts)


def test_moved_numbers_against_central_differences() -> None:
    """First and second order, forward and reverse mode; some natively, some interpreted."""
    theta = np.array([v for _, values in MOVED.values() for v in values])
    f, step = gradir.jit(all_moved), 1e-5
    unit = np.eye(len(theta)) * step
    wanted = np.stack([(f(theta + u) - f(theta - u)) / (2 * step) for u in unit], axis=-1)
    forward = gradir.jit(gradir.jacfwd(all_moved))
    np.testing.assert_allclose(forward(theta), wanted, rtol=1e-7, atol=1e-8)
    np.testing.assert_allclose(
        run(gradir.jacrev(all_moved), theta), forward(theta), rtol=1e-12, atol=1e-14
    )
    direction = np.linspace(0.5, 1.0, len(theta))

    def along(theta: Any) -> Any:
        return gradir.jvp(all_moved, (theta,), (direction,))[1]

    _, second = run(lambda t: gradir.jvp(along, (t,), (direction,)), theta)
    apart = forward(theta + step * direction) - forward(theta - step * direction)
    np.testing.assert_allclose(second, apart @ direction / (2 * step), rtol=1e-6, atol=1e-6)


# a, log(z / a) and d log(z) / d a, of mpmath 1.4 with 40 digits.
SLOPES = (
    (0.001, -5000.0, 5006332.1833471717),
    (0.5, -3.0, 7.6067908902335489),
    (0.5, 1.8, 0.96576185570539871),
    (1.0, 0.25, 1.0347265594359454),
    (3.9, -0.8, 0.38824068716857728),
    (4.0, 0.21, 0.23423949359669507),
    (30.0, 0.4, 0.027260326326626238),
    (1000000.0, -0.003, 1.0015009169166458e-6),
)


def test_slopes_of_gamma_quantiles() -> None:
    a, r, wanted = np.array(SLOPES).T
    np.testing.assert_allclose(gradir.jit(quantile_slope)(a, r), wanted, rtol=5e-14)


def quantile_slopes(cdf: Callable[..., Any], z: Array, *at: Any, step: float) -> list[Array]:
    """The derivatives of quantiles by the parameters, by differences of a distribution function."""
    height = (cdf(z * (1 + step), *at) - cdf(z * (1 - step), *at)) / (2 * step * z)
    found: list[Array] = []
    for k, value in enumerate(at):
        h = step * value
        ends = [[*at[:k], value + side * h, *at[k + 1 :]] for side in (1, -1)]
        found.append(-(cdf(z, *ends[0]) - cdf(z, *ends[1])) / (2 * h) / height)
    return found


def wald_cdf(x: Any, mean: float, scale: float) -> Any:
    root = np.sqrt(scale / x)
    return special.ndtr(root * (x / mean - 1)) + np.exp(
        2 * scale / mean + special.log_ndtr(-root * (x / mean + 1))
    )


def test_quantiles_move_as_those_of_the_distribution() -> None:
    """gamma, chisquare and wald, against differences of the distribution functions."""
    shapes = np.array([0.3, 1.0, 2.5, 12.0, 80.0])
    one = np.ones_like(shapes)

    def f(a: Any) -> Any:
        return random.gamma(KEY, a), random.chisquare(KEY, a)

    (z, y), (dz, dy) = gradir.jit(lambda a: gradir.jvp(f, (a,), (one,)))(shapes)
    for k, a in enumerate(shapes):
        [slope] = quantile_slopes(lambda x, a: special.gammainc(a, x), z[k], a, step=1e-5)
        np.testing.assert_allclose(dz[k], slope, rtol=1e-7)
        [slope] = quantile_slopes(lambda x, df: special.gammainc(df / 2, x / 2), y[k], a, step=1e-5)
        np.testing.assert_allclose(dy[k], slope, rtol=1e-7)

    def arrivals(mean: Any, scale: Any) -> Any:
        return random.wald(KEY, mean, (6,), scale=scale)

    found = gradir.jit(gradir.jacrev(arrivals, argnums=(0, 1)))(1.3, 2.1)
    slopes = quantile_slopes(wald_cdf, arrivals(1.3, 2.1), 1.3, 2.1, step=1e-5)
    np.testing.assert_allclose(found, slopes, rtol=1e-6)


def quantiles(p: Any, a: float, start: Any) -> Any:
    """z with gammainc(a, z) = p, by Newton's method."""
    z = start
    for _ in range(6):
        density = np.exp((a - 1) * np.log(z) - z - special.gammaln(a))
        z = z - (special.gammainc(a, z) - p) / density
    return z


def test_second_derivatives_of_gamma_numbers() -> None:
    """Against second differences of quantiles of the same probability."""

    def numbers(a: Any) -> Any:
        return random.gamma(KEY, a, (4,))

    for a in (0.7, 6.0):
        z = numbers(a)
        p, h = special.gammainc(a, z), 1e-3 * a
        up, down = quantiles(p, a + h, z), quantiles(p, a - h, z)
        second = gradir.jit(gradir.jacfwd(gradir.jacrev(numbers)))(a)
        np.testing.assert_allclose(second, (up - 2 * z + down) / h**2, rtol=2e-4)


def vonmises_cdf(x: Any, kappa: Any) -> Any:
    """The probability of an angle from 0 to x."""
    grid, weights = np.polynomial.legendre.leggauss(200)
    t, sharp = x[:, None] * (grid + 1) / 2, kappa[:, None]
    whole = np.sum(np.exp(sharp * (np.cos(np.pi * grid) - 1)) * weights, axis=-1) * np.pi
    return np.sum(np.exp(sharp * (np.cos(t) - 1)) * weights, axis=-1) * x / 2 / whole


def test_vonmises() -> None:
    """By kappa, of both orders."""
    kappas = np.repeat([0.01, 2.0, 60.0], 4)

    def f(kappa: Any) -> Any:
        return random.vonmises(KEY, 0.0, kappa)

    x, step, h = f(kappas), 1e-5, 1e-5 * kappas
    height = (vonmises_cdf(x + step, kappas) - vonmises_cdf(x - step, kappas)) / (2 * step)
    moved = vonmises_cdf(x, kappas + h) - vonmises_cdf(x, kappas - h)
    one = np.ones_like(kappas)

    def pushed(kappa: Any) -> Any:
        return gradir.jvp(f, (kappa,), (one,))[1]

    first, second = run(lambda k: gradir.jvp(pushed, (k,), (one,)), kappas)
    np.testing.assert_allclose(first, -moved / (2 * h) / height, rtol=1e-6)
    # along the quantiles: differences of the first derivative at angles that move with kappa
    slope, sign, h = gradir.jit(angles.quantile_slope), np.sign(x), 1e-4 * kappas
    ends = [sign * slope(np.abs(x + s * h * first), kappas + s * h) for s in (1, -1)]
    np.testing.assert_allclose(second, (ends[0] - ends[1]) / (2 * h), rtol=1e-5)


def test_ratios_are_those_of_gamma_numbers() -> None:
    """beta, dirichlet, t and f: forward and reverse mode agree, and means have the right slopes."""
    keys = random.split(KEY, 4000)

    def mean(theta: Any) -> Any:
        a, b = theta

        def one(key: Any) -> Any:
            parts = random.dirichlet(key, gnp.stack([a, b, a + b]))
            return gnp.stack([random.beta(key, a, b), parts[0], random.f(key, a * 4, b * 8)])

        return gnp.mean(gradir.vmap(one)(keys), axis=0)

    theta = np.array([1.5, 2.5])
    forward = gradir.jit(gradir.jacfwd(mean))(theta)
    a, b = theta
    wanted = [
        [b / (a + b) ** 2, -a / (a + b) ** 2],
        [b / (a + b) ** 2 / 2, -a / (a + b) ** 2 / 2],
        [0, -8 * 2 / (8 * b - 2) ** 2],
    ]
    np.testing.assert_allclose(forward, wanted, atol=0.02)
    small = gradir.jit(gradir.jacrev(lambda t: random.t(KEY, t, (3,))))(4.0)
    pushed = gradir.jit(lambda t: gradir.jvp(lambda t: random.t(KEY, t, (3,)), (t,), (1.0,)))(4.0)
    np.testing.assert_allclose(small, pushed[1], rtol=1e-13)


def test_small_shapes_have_finite_slopes() -> None:
    """Numbers below the least float64 are 0 with slope 0; their logarithms have all digits."""
    a = np.array([1e-3, 1e-2, 0.1, 1e6])

    def f(a: Any) -> Any:
        return random.gamma(KEY, a, (4,)), random.loggamma(KEY, a, (4,))

    (z, y), (dz, dy) = gradir.jit(lambda a: gradir.jvp(f, (a,), (np.ones(4),)))(a)
    assert np.isfinite(dz).all() and np.isfinite(dy).all() and (dy > 0).all()
    np.testing.assert_allclose(z, np.exp(y), rtol=1e-13)
    np.testing.assert_allclose(dz, z * dy, rtol=1e-13)


def test_counts_are_inactive() -> None:
    def loss(p: Any) -> Any:
        total = random.poisson(KEY, 3 * p) + random.binomial(KEY, 9, p) + random.geometric(KEY, p)
        chosen = gnp.where(random.bernoulli(KEY, p, (3,)), p, 2 * p)
        return total * p + gnp.sum(chosen)

    value, slope = gradir.value_and_grad(loss)(0.4)
    assert abs(slope * 0.4 - value) < 1e-12


def test_elements_that_are_chosen_have_derivatives() -> None:
    x = np.arange(5.0)
    weights = np.array([1.0, 10.0, 100.0])

    def loss(x: Any) -> Any:
        return gnp.sum(random.choice(KEY, x, (3,), p=x + 1) * weights) + gnp.sum(
            random.permutation(KEY, x)[:1] * 1000
        )

    found = gradir.grad(loss)(x)
    wanted = np.zeros(5)
    np.add.at(wanted, random.choice(KEY, 5, (3,), p=x + 1), weights)
    wanted[random.permutation(KEY, 5)[0]] += 1000
    np.testing.assert_array_equal(found, wanted)
