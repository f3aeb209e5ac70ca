"""gradir.scipy: `special`, `stats`, `linalg`, `signal` and `integrate`, as SciPy has them."""

import sys

from gradir.frontends.scipy import integrate, linalg, signal, special, stats

__all__ = ["integrate", "linalg", "signal", "special", "stats"]

for _module in (integrate, linalg, signal, special, stats):
    sys.modules[f"{__name__}.{_module.__name__.rpartition('.')[2]}"] = _module
