"""gradir: reverse-mode automatic differentiation as a compiler pass, and native code for the CPU.

import gradir
module = gradir.parse("program.mlir")
fn = gradir.compile(module.gradient("f", mode="vjp"), "f_vjp")
*results, gradient = fn(*arrays)
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from gradir.api import Module, compile, interpret, parse, register_host_function
from gradir.errors import GradirError
from gradir.row_slices import RowSlices

__version__ = "0.1.0"

__all__ = [
    "GradirError",
    "Module",
    "RowSlices",
    "__version__",
    "compile",
    "interpret",
    "parse",
    "register_host_function",
]


if TYPE_CHECKING:
    from gradir import testing as testing


def __getattr__(name: str) -> Any:
    """`gradir.testing` is imported when it is first used: not every program checks gradients."""
    if name == "testing":
        return import_module("gradir.testing")
    raise AttributeError(f"module 'gradir' has no attribute {name!r}")
