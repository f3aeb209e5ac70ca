"""gradir.scipy: `special`, `stats`, `linalg` and `signal`, with SciPy's names and meanings."""

import sys

from gradir.frontends.scipy import linalg, signal, special, stats
from gradir.frontends.transforms import matrix_exponential

__all__ = ["linalg", "signal", "special", "stats"]

linalg.register(matrix_exponential.FUNCTIONS)
for _module in (linalg, signal, special, stats):
    sys.modules[f"{__name__}.{_module.__name__.rpartition('.')[2]}"] = _module
