"""The distributions of vectors of gradir.scipy.stats."""

from __future__ import annotations

from inspect import signature
from math import inf, log, pi
from typing import Any

import numpy as np

from gradir.frontends.functions.arguments import checked, floating
from gradir.frontends.functions.array_ops import op
from gradir.frontends.functions.reductions import all, sum
from gradir.frontends.functions.sugar import (
    where,
)
from gradir.frontends.functions.views import (
    broadcast_to,
    expand_dims,
    reshape,
)
from gradir.frontends.scipy.distributions import Distribution
from gradir.frontends.scipy.entropies import xlogy
from gradir.frontends.tracing.eager import eager
from gradir.frontends.tracing.source_locations import refusal
from gradir.frontends.tracing.tracing import lifted


def _normal(x: Any, mean: Any = None, cov: Any = 1) -> Any:
    """The log density of vectors, the last axis of x; of a mean, and a covariance matrix.

    cov: a matrix, a vector for a diagonal one, or one number. A singular matrix gives nan.
    """
    value, spread = floating(x), floating(cov)
    centre = floating(0.0 if mean is None else mean)
    n = max([each.shape[-1] for each in (centre, spread) if each.ndim], default=value.shape[-1:])
    n = n if isinstance(n, int) else (n[0] if n else 1)
    if value.ndim == 0 or (value.shape[-1] != n):
        value = expand_dims(value, value.ndim)
    apart: Any = value - centre
    if spread.ndim < 2:
        unit = lifted(np.eye(n)).astype(spread.dtype)
        spread = unit * spread
    factor = op.cholesky(spread)
    columns = reshape(apart, [-1, n]).T
    solved: Any = op.triangular_solve(factor, columns, lower=True)
    squares = reshape(sum(solved * solved, 0), apart.shape[:-1])
    return -0.5 * (n * log(2 * pi) + squares) - sum(op.log(op.diagonal(factor)))


def _dirichlet(x: Any, alpha: Any) -> Any:
    """The log density of vectors along the first axis of x, which sum to 1; or all but the last."""
    value, a = floating(x), floating(alpha)
    n = a.shape[0] if a.ndim == 1 else 0
    if not n or not value.ndim or value.shape[0] not in (n, n - 1):
        raise refusal(f"dirichlet: expected {n} or {n - 1} rows for {a!r}, got {value!r}")
    if value.shape[0] == n - 1:
        value = op.concat([value, 1 - sum(value, 0, keepdims=True)], axis=0)
    is_inside = all(op.greater_equal(value, 0), 0)
    powers = broadcast_to(reshape(a, [n, *[1] * (value.ndim - 1)]), value.shape) - 1
    safe = where(op.less(value, 0), 1.0, value)
    made = sum(xlogy(powers, safe), 0) + op.lgamma(sum(a)) - sum(op.lgamma(a))
    return where(is_inside, made, -inf)


def _distribution(name: str, formula: Any) -> Distribution:
    def density(*args: Any, **kwargs: Any) -> Any:
        return op.exp(formula(*args, **kwargs))

    density.__signature__ = signature(formula)  # pyright: ignore[reportFunctionMemberAccess]
    formula.__name__, density.__name__ = f"{name}.logpdf", f"{name}.pdf"
    density.__doc__ = f"The density whose logarithm is {name}.logpdf."
    return Distribution(
        name=name,
        logpdf=eager(checked(formula, f"{name}.logpdf")),
        pdf=eager(checked(density, f"{name}.pdf")),
    )


DISTRIBUTIONS = {
    "multivariate_normal": _distribution("multivariate_normal", _normal),
    "dirichlet": _distribution("dirichlet", _dirichlet),
}
