"""gradir.scipy: `special`, `stats`, `linalg`, `signal`, `ndimage` and `integrate`, as SciPy."""

import sys

from gradir.frontends.scipy import integrate, linalg, ndimage, signal, special, stats

__all__ = ["integrate", "linalg", "ndimage", "signal", "special", "stats"]

for _module in (integrate, linalg, ndimage, signal, special, stats):
    sys.modules[f"{__name__}.{_module.__name__.rpartition('.')[2]}"] = _module
