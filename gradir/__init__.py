"""gradir: reverse-mode automatic differentiation as a compiler pass, and native code for the CPU.

import gradir
module = gradir.parse("program.mlir")
fn = gradir.compile(module.gradient("f", mode="vjp"), "f_vjp")
*results, gradient = fn(*arrays)
"""

from gradir.api import Module, compile, interpret, parse
from gradir.errors import GradirError
from gradir.row_slices import RowSlices

__version__ = "0.1.0"

__all__ = ["GradirError", "Module", "RowSlices", "__version__", "compile", "interpret", "parse"]
