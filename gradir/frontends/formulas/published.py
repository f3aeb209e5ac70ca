"""The functions of this room and of the transforms that gradir.scipy has, by module and name."""

from __future__ import annotations

from gradir.frontends.formulas import (
    bessel,
    dawson,
    inverses,
    lu,
    matrix_roots,
    modified_bessel,
    oscillating,
)
from gradir.frontends.transforms import matrix_exponential

SPECIAL = (
    bessel.FUNCTIONS
    | modified_bessel.FUNCTIONS
    | oscillating.FUNCTIONS
    | dawson.FUNCTIONS
    | inverses.FUNCTIONS
)
LINALG = matrix_exponential.FUNCTIONS | matrix_roots.FUNCTIONS | lu.FUNCTIONS
