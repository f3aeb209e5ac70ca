"""The log posterior of a mixture of Gaussians with a Wishart prior on its precisions."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np
from gradbench import wrap

import gradir
import gradir.numpy as gnp
from gradir.scipy.special import logsumexp, multigammaln

NAMES = ("alpha", "mu", "q", "l")


def _log_posterior(free: Any, x: Any, m: int, gamma: float) -> Any:
    alpha, mu, q, lower = (free[name] for name in NAMES)
    (n, d), k = x.shape, len(alpha)
    # the strictly lower triangle, column after column
    columns, rows = np.triu_indices(d, 1)
    precisions = gnp.zeros((k, d, d)).at[:, rows, columns].set(lower)
    scales, sums = gnp.exp(q), gnp.sum(q, axis=1)
    centered = x[:, None] - mu
    turned = scales * centered + gnp.einsum("kij,nkj->nki", precisions, centered)
    terms = alpha + sums - 0.5 * gnp.sum(turned * turned, axis=2)
    likelihood = gnp.sum(logsumexp(terms, axis=1)) - n * logsumexp(alpha)
    norms = gnp.sum(scales * scales) + gnp.sum(lower * lower)
    degrees = d + m + 1
    constant = degrees * d * math.log(gamma / math.sqrt(2)) - multigammaln(0.5 * degrees, d)
    prior = k * constant - 0.5 * gamma * gamma * norms + m * gnp.sum(sums)
    return likelihood - n * d * 0.5 * math.log(2 * math.pi) + prior


def _prepared(given: Any) -> Any:
    free = {name: np.array(given[name], float) for name in NAMES}
    # a mixture in one dimension has no lower triangle
    free["l"] = free["l"].reshape(given["k"], -1)
    return free, np.array(given["x"], float), given["m"], float(given["gamma"])


_objective = gradir.jit(_log_posterior, static_argnums=(2, 3))
_jacobian = gradir.jit(gradir.grad(_log_posterior), static_argnums=(2, 3))
_runs = partial(wrap.multiple_runs, pre=_prepared)


@_runs(post=float)
def objective(given: Any) -> Any:
    return _objective(*given)


@_runs(post=lambda found: {name: found[name].tolist() for name in NAMES})
def jacobian(given: Any) -> Any:
    return _jacobian(*given)
