"""Elementwise functions and reductions over large arrays: time and arena."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import harness
import numpy as np

from rows.row import GRADIR, Asked, Figure, Measured, Row, Run
from rows.timing import first_call, model_row

OPTIONS, SIDE = 4_000_000, 4096
POINTS, FEATURES, CLUSTERS = 1000, 10, 25
NO_MEGABYTE = 0.5
"""What counts as 0 MB: panels and partial sums."""


def options() -> list[Any]:
    """Spot, strike, time, rate and volatility."""
    random = np.random.default_rng(0)
    ranges = ((50, 150), (50, 150), (0.1, 2), (0.01, 0.05), (0.1, 0.5))
    return [random.uniform(*r, OPTIONS).astype(np.float32) for r in ranges]


def mean_price(xp: Any, spot: Any, strike: Any, time: Any, rate: Any, volatility: Any) -> Any:
    """The mean of Black-Scholes prices of calls."""
    deviation = volatility * xp.sqrt(time)
    growth = (rate + 0.5 * volatility * volatility) * time
    d1 = (xp.log(spot / strike) + growth) / deviation
    cdf1, cdf2 = (0.5 * (1 + xp.erf(d * 0.5**0.5)) for d in (d1, d1 - deviation))
    return (spot * cdf1 - strike * xp.exp(-rate * time) * cdf2).mean()


def matrices(count: int) -> list[Any]:
    random = np.random.default_rng(0)
    return [random.normal(size=(SIDE, SIDE)).astype(np.float32) for _ in range(count)]


def weighted_softmax(xp: Any, x: Any, w: Any) -> Any:
    return (xp.softmax(x) * w).sum()


def summed_logsumexp(xp: Any, x: Any) -> Any:
    return xp.logsumexp(x).sum()


def mixture(xp: Any, alphas: Any, means: Any, scales: Any, lower: Any, x: Any) -> Any:
    """The log likelihood of points in a mixture of Gaussians.

    `lower` are the strict lower triangles of their factors, transposed; `scales` the logarithms of
    the diagonals.
    """
    shifted = x[None] - means[:, None]
    scaled = xp.exp(scales)[:, None] * shifted + shifted @ lower
    terms = (alphas + xp.sum(scales, 1))[:, None] - 0.5 * xp.sum(scaled * scaled, 2)
    return xp.logsumexp(xp.swap(terms, 0, 1)).sum() - POINTS * xp.logsumexp(alphas)


def mixture_inputs() -> list[Any]:
    random, k, d = np.random.default_rng(0), CLUSTERS, FEATURES
    lower = np.triu(random.normal(size=(k, d, d)), 1)
    shapes: Sequence[tuple[int, ...]] = ((k,), (k, d), (k, d))
    return [*(random.normal(size=s) for s in shapes), lower, random.normal(size=(POINTS, d))]


CONSTANT = """
func.func @main(%x: tensor<{n}xf32>) -> tensor<{n}xf32> {{
  %c = {made} : tensor<{n}xf32>
  %y = array.multiply %x, %c : tensor<{n}xf32>
  func.return %y : tensor<{n}xf32>
}}
"""


def measure_splat(run: Run) -> Measured:
    """Compilation of a program with a constant of 4 million equal elements, or array.full."""
    gradir = harness.library("gradir")
    x = np.ones(OPTIONS, np.float32)

    def compiled(made: str) -> harness.Call:
        module = gradir.parse(CONSTANT.format(n=OPTIONS, made=made))
        function = gradir.compile(module, "main", threads=run.setting.threads)
        return lambda: function(x)

    compiled("array.full {value = 2.5}")()  # modules that the first program loads
    figures: list[Figure] = []
    for who, made in (
        (GRADIR, f"array.constant {{value = dense<1.5> : tensor<{OPTIONS}xf32>}}"),
        ("gradir, array.full", "array.full {value = 1.5}"),
    ):
        contender = harness.Contender(who, lambda made=made: compiled(made))
        figures.append(first_call(contender))
    return Measured(figures)


ROWS = (
    Row(
        "Black-Scholes, 4 million, mean of the prices and 5 gradients",
        model_row(mean_price, options, range(5), peers=("torch.compile", "JAX"), arena=True),
        [Asked("time", 9.0), Asked("arena", NO_MEGABYTE)],
    ),
    Row(
        "sum(softmax(x) * w), 4096 x 4096, value and gradient",
        model_row(weighted_softmax, lambda: matrices(2), (0,), arena=True),
        [Asked("time", 10.0), Asked("arena", NO_MEGABYTE)],
    ),
    Row(
        "logsumexp, 4096 x 4096, value and gradient",
        model_row(summed_logsumexp, lambda: matrices(1), (0,), arena=True),
        [Asked("time", 5.0)],
    ),
    Row(
        "Gaussian mixture (10, 25, 1000), f64, value and gradient",
        model_row(mixture, mixture_inputs, range(4), arena=True),
        [Asked("time", 0.35)],
    ),
    Row(
        "a constant of 4 million equal elements: compilation and first call",
        measure_splat,
    ),
)
