"""gradir.scipy: `special`, `stats`, `linalg`, `signal`, `ndimage`, `fft`, `integrate`, as SciPy."""

import sys
from typing import TYPE_CHECKING

from gradir.frontends.functions.missing_names import missing
from gradir.frontends.scipy import fft, integrate, linalg, ndimage, signal, special, stats

__all__ = ["fft", "integrate", "linalg", "ndimage", "signal", "special", "stats"]

for _module in (fft, integrate, linalg, ndimage, signal, special, stats):
    sys.modules[f"{__name__}.{_module.__name__.rpartition('.')[2]}"] = _module

ABSENT = {
    "optimize": "gradir.interop.scipy.minimize, or scipy.optimize with gradir.grad(f)",
    "sparse": "gradir.RowSlices and gradir.sparse_jacobian",
}

if not TYPE_CHECKING:
    __getattr__ = missing("gradir.scipy", ABSENT)
