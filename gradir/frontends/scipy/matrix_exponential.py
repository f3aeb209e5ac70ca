"""gradir.scipy.linalg.expm: the exponential of a matrix, by a quotient that is squared in a loop.

Scaling and squaring with the diagonal Padé approximant of degree 13 (Higham, "The scaling and
squaring method for the matrix exponential revisited", SIAM J. Matrix Anal. Appl. 26, 2005).
"""

from __future__ import annotations

from typing import Any

import gradir.frontends.functions.numpy as gnp
from gradir.frontends.functions.arguments import floating
from gradir.frontends.scipy.calls import anywhere
from gradir.frontends.tracing.default_precision import in_own_precision
from gradir.frontends.tracing.source_locations import refusal
from gradir.frontends.tracing.tracer import Tracer
from gradir.frontends.transforms.flow import fori_loop
from gradir.frontends.transforms.markers import no_grad
from gradir.frontends.transforms.scans import map as map_rows

# The coefficients of the numerator, of degree 13 down to 0 (Higham, 2005, table 2.3's method).
_PADE = (
    1.0, 182.0, 16380.0, 960960.0, 40840800.0, 1323241920.0, 33522128640.0, 670442572800.0,
    10559470521600.0, 129060195264000.0, 1187353796428800.0, 7771770303897600.0,
    32382376266240000.0, 64764752532480000.0,
)  # fmt: skip
_THETA = 5.371920351148152
"""The norm up to which the quotient is exact to the unit roundoff of float64 (same, table 2.3)."""
_MOST = 1000
"""The most squarings: more overflow float64."""


def expm(A: Any) -> Tracer:
    """The exponential of square matrices [.., n, n].

    All types are computed as they are. The derivative goes through the computation.
    """
    x = floating(A)
    if x.ndim < 2 or x.shape[-1] != x.shape[-2]:
        raise refusal(f"expm: expected square matrices, got {x!r}")
    if x.ndim == 2:
        return _one(x)
    rows = map_rows(_one, x.reshape(-1, *x.shape[-2:]))
    return rows.reshape(x.shape)


@in_own_precision
def _one(x: Any) -> Any:
    n = x.shape[0]
    if n == 0:
        return x
    size = no_grad(gnp.max(gnp.sum(gnp.abs(x), axis=0)))
    above = gnp.ceil(gnp.log2(gnp.maximum(size / _THETA, 1.0)))
    squarings = gnp.where(gnp.isfinite(above), gnp.minimum(above, _MOST), 0).astype("int64")
    scaled = x * gnp.exp2(-squarings.astype(size.dtype))
    return fori_loop(0, squarings, lambda _, y: y @ y, _quotient(scaled))


def _quotient(x: Any) -> Any:
    """The Padé approximant [13/13] of exp(x)."""
    unit = gnp.eye(x.shape[0], dtype=x.dtype)
    b = _PADE[::-1]
    x2 = x @ x
    x4 = x2 @ x2
    x6 = x4 @ x2
    inner = x6 @ (b[13] * x6 + b[11] * x4 + b[9] * x2)
    odd = x @ (inner + b[7] * x6 + b[5] * x4 + b[3] * x2 + b[1] * unit)
    inner = x6 @ (b[12] * x6 + b[10] * x4 + b[8] * x2)
    even = inner + b[6] * x6 + b[4] * x4 + b[2] * x2 + b[0] * unit
    return gnp.linalg.solve(even - odd, even + odd)


COMPILED = {"expm": anywhere(expm, "gradir.scipy.linalg", takes_complex=True)}
