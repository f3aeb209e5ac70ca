"""StableHLO programs as modules of gradir: `load` reads one.

MLIR's generic form needs nothing; the pretty form is read by jaxlib (`gradir[jax]`).
"""

from gradir.frontends.imported.errors import ImportedProgramError
from gradir.frontends.stablehlo.load import load

__all__ = ["ImportedProgramError", "load"]
