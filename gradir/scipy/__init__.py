"""gradir.scipy: `special`, `stats`, `linalg`, `signal`, `ndimage`, `fft`, `integrate`, as SciPy."""

import sys

from gradir.frontends.scipy import fft, integrate, linalg, ndimage, signal, special, stats

__all__ = ["fft", "integrate", "linalg", "ndimage", "signal", "special", "stats"]

for _module in (fft, integrate, linalg, ndimage, signal, special, stats):
    sys.modules[f"{__name__}.{_module.__name__.rpartition('.')[2]}"] = _module
