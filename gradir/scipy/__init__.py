"""gradir.scipy: `special`, `stats`, `linalg`, `signal` and `integrate`, as SciPy has them."""

import sys

from gradir.frontends.formulas import integrate
from gradir.frontends.formulas.published import LINALG, SPECIAL
from gradir.frontends.scipy import linalg, signal, special, stats

__all__ = ["integrate", "linalg", "signal", "special", "stats"]

special.register(SPECIAL)
linalg.register(LINALG)
for _module in (integrate, linalg, signal, special, stats):
    sys.modules[f"{__name__}.{_module.__name__.rpartition('.')[2]}"] = _module
