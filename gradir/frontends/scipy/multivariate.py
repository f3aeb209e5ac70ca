"""The distributions of vectors of gradir.scipy.stats."""

from __future__ import annotations

from inspect import signature
from math import inf, log, pi
from typing import Any

import numpy as np

from gradir.frontends.functions.arguments import checked, floating
from gradir.frontends.functions.array_ops import op
from gradir.frontends.functions.promotion import converted
from gradir.frontends.functions.reductions import all, sum
from gradir.frontends.functions.reductions import max as max_of
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
from gradir.frontends.tracing.default_precision import in_own_precision
from gradir.frontends.tracing.eager import eager
from gradir.frontends.tracing.source_locations import refusal
from gradir.frontends.tracing.tracing import element, lifted


def _dimension(mean: Any, cov: Any, otherwise: int) -> int:
    return max([each.shape[-1] for each in (mean, cov) if each.ndim], default=otherwise)


def _covariance(cov: Any, n: int) -> Any:
    """A matrix of a matrix, of a vector for a diagonal one, or of one number."""
    return cov if cov.ndim == 2 else lifted(np.eye(n)).astype(cov.dtype) * cov


def _normal(x: Any, mean: Any = None, cov: Any = 1, allow_singular: bool = False) -> Any:
    """The log density of vectors, the last axis of x; of a mean, and a covariance matrix.

    cov: a matrix, a vector for a diagonal one, or one number. A singular matrix gives nan; with
    `allow_singular` the density in the space that it spans, -inf outside.
    """
    value, spread = floating(x), floating(cov)
    centre = floating(0.0 if mean is None else mean)
    n = _dimension(centre, spread, value.shape[-1] if value.ndim else 1)
    if value.ndim == 0 or (value.shape[-1] != n):
        value = expand_dims(value, value.ndim)
    apart: Any = value - centre
    spread = _covariance(spread, n)
    columns = reshape(apart, [-1, n]).T
    if allow_singular:
        squares, logarithm, is_outside = _singular(spread, columns)
    else:
        factor = op.cholesky(spread)
        solved: Any = op.triangular_solve(factor, columns, lower=True)
        squares, logarithm = sum(solved * solved, 0), 2 * sum(op.log(op.diagonal(factor)))
        is_outside, logarithm = None, n * log(2 * pi) + logarithm
    made = -0.5 * (logarithm + reshape(squares, apart.shape[:-1]))
    return made if is_outside is None else where(reshape(is_outside, made.shape), -inf, made)


def _pseudo_determinant(spread: Any) -> tuple[Any, Any, Any]:
    """The bound below which eigenvalues are 0, the number above, and the sum of their logarithms.

    By eigenvalues alone, whose derivatives exist where they are equal.
    """
    values, _ = op.eigh(spread)
    # SciPy's bound
    bound = 1e6 * float(np.finfo(spread.dtype).eps) * max_of(op.abs(values))
    is_there = op.greater(values, bound)
    logarithms = where(is_there, op.log(where(is_there, values, 1.0)), 0.0)
    return bound, sum(converted(is_there, element(spread))), sum(logarithms)


@in_own_precision
def _singular(spread: Any, columns: Any) -> tuple[Any, Any, Any]:
    """Squares of columns by the pseudoinverse, the logarithm of the factor, and who is outside."""
    bound, rank, logarithm = _pseudo_determinant(spread)
    inverse = op.pinv(spread, rcond=1e6 * float(np.finfo(spread.dtype).eps))
    solved: Any = op.matmul(inverse, columns)
    rest: Any = columns - op.matmul(spread, solved)
    is_outside = op.greater(op.norm(rest, axis=[0]), 1e3 * bound)
    return sum(columns * solved, 0), rank * log(2 * pi) + logarithm, is_outside


def _entropy(mean: Any = None, cov: Any = 1) -> Any:
    """The differential entropy, of a singular covariance that in the space that it spans."""
    centre, spread = floating(0.0 if mean is None else mean), floating(cov)
    matrix = _covariance(spread, _dimension(centre, spread, 1))
    _, rank, logarithm = _pseudo_determinant(matrix)
    return 0.5 * (rank * (log(2 * pi) + 1) + logarithm)


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


def _distribution(name: str, formula: Any, **others: Any) -> Distribution:
    def density(*args: Any, **kwargs: Any) -> Any:
        return op.exp(formula(*args, **kwargs))

    density.__signature__ = signature(formula)  # pyrefly: ignore[missing-attribute]
    formula.__name__, density.__name__ = f"{name}.logpdf", f"{name}.pdf"
    density.__doc__ = f"The density whose logarithm is {name}.logpdf."
    return Distribution(
        name=name,
        logpdf=eager(checked(formula, f"{name}.logpdf")),
        pdf=eager(checked(density, f"{name}.pdf")),
        **{kind: eager(checked(each, f"{name}.{kind}")) for kind, each in others.items()},
    )


DISTRIBUTIONS = {
    "multivariate_normal": _distribution("multivariate_normal", _normal, entropy=_entropy),
    "dirichlet": _distribution("dirichlet", _dirichlet),
}
