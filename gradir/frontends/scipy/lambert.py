"""Lambert's W, the inverse of w * exp(w), by Newton's steps and series, with its slope."""

from __future__ import annotations

from math import e, factorial
from typing import Any

import numpy as np

import gradir.frontends.functions.numpy as gnp
from gradir.frontends.functions.arguments import number
from gradir.frontends.functions.bessel import polynomial
from gradir.frontends.scipy.calls import anywhere, in_float64
from gradir.frontends.tracing.source_locations import refusal
from gradir.frontends.transforms.custom_derivatives import custom_jvp


def _branch_coefficients(count: int) -> list[float]:
    """W in powers of sqrt(2 (e z + 1)) (Corless, Gonnet, Hare, Jeffrey & Knuth, "On the Lambert W
    function", Advances in Computational Mathematics 5, 1996, 4.23-24)."""
    mu, alpha = [-1.0, 1.0], [2.0, -1.0]
    for k in range(2, count):
        alpha.append(sum(mu[j] * mu[k + 1 - j] for j in range(2, k)))
        following = (k - 1) / (k + 1) * (mu[k - 2] / 2 + alpha[k - 2] / 4)
        mu.append(following - alpha[k] / 2 - mu[k - 1] / (k + 1))
    return mu


def _rough(z: Any, k: int) -> Any:
    """W to begin with: by logarithms for large z, and in branch -1; else a quotient."""
    if k:
        far = gnp.log(-z)
        return far - gnp.log(-far)
    far = gnp.log(gnp.maximum(z, 1.0) + 1)
    near = gnp.minimum(z, 1.0)
    quotient = near * (1 + 4 / 3 * near) / (1 + 7 / 3 * near + 5 / 6 * near * near)
    return gnp.where(z < 1, quotient, far * (1 - gnp.log1p(far) / (2 + far)))


def _lambert(z: Any, k: int) -> Any:
    """W of branch 0 or -1 by Newton's steps on w + log(w / z), and by series near -1/e and 0."""
    is_ok = gnp.logical_and(z >= -1 / e, z < (np.inf if k == 0 else 0.0))
    z = gnp.where(is_ok, z, 1.0 if k == 0 else -0.2)
    root = gnp.sqrt(gnp.maximum(2 * e * ((z + 1 / e) + _REST), 0.0)) * (1.0 if k == 0 else -1.0)
    is_branch = gnp.abs(root) < 0.25
    by_root = polynomial(gnp.where(is_branch, root, 0.0), _branch_coefficients(24))
    is_small = gnp.logical_and(gnp.abs(z) < 0.05, k == 0)
    powers = [0.0, *((-n) ** (n - 1) / factorial(n) for n in range(1, 22))]
    small = polynomial(gnp.where(is_small, z, 0.0), powers)
    usual = gnp.where(gnp.logical_or(is_branch, is_small), 1.0 if k == 0 else -0.2, z)
    w = gnp.where(gnp.abs(root) < 0.8, polynomial(root, [-1.0, 1.0, -1 / 3, 11 / 72]),
                  _rough(usual, k))  # fmt: skip
    for _ in range(7):
        w = gnp.where(gnp.logical_or(is_branch, is_small), 1.0 if k == 0 else -2.0, w)
        w = w / (1 + w) * (1 + gnp.log(usual / w))
    made = gnp.where(is_branch, by_root, gnp.where(is_small, small, w))
    return is_ok, made


_REST = -1.2428753672788363e-17
"""1/e less its float64."""


@custom_jvp
def _lambert_upper(z: Any) -> Any:
    is_ok, made = _lambert(z, 0)
    return gnp.where(is_ok, made, gnp.where(z == np.inf, np.inf, np.nan))


@custom_jvp
def _lambert_lower(z: Any) -> Any:
    is_ok, made = _lambert(z, -1)
    return gnp.where(is_ok, made, gnp.where(z == 0, -np.inf, np.nan))


def _slope_of_lower(w: Any, z: Any) -> Any:
    is_end = z == 0
    below = gnp.where(is_end, -2.0, w)
    # at 0 a root's slope, -inf like its other derivatives
    at_end = -(gnp.where(is_end, -z, 1.0) ** -0.5)
    return gnp.where(is_end, at_end, 1 / (gnp.exp(below) * (1 + below)))


_lambert_upper.defjvps(lambda t, w, z: t / (gnp.exp(w) * (1 + w)))
_lambert_lower.defjvps(lambda t, w, z: t * _slope_of_lower(w, z))


def lambertw(z: Any, k: int = 0) -> Any:
    """The real w with w * exp(w) = z: of branch 0, w >= -1, or of branch -1, w <= -1.

    nan where it is complex: for z < -1/e, and for z > 0 in branch -1.
    """
    branch = number(k, "lambertw: k")
    if branch not in (0, -1):
        raise refusal(f"lambertw: k must be 0 or -1, as other branches are complex, got {k}")
    return in_float64(_lambert_lower if branch else _lambert_upper)(z)


COMPILED = {"lambertw": anywhere(lambertw, "gradir.scipy.special", ("k",))}
