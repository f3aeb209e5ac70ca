"""gradir functions as functions of other systems: PyTorch, JAX, SciPy (docs/interop.md).

Each needs its package, an extra of gradir's: `pip install 'gradir[torch]'`. None is imported
before its module here is used.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gradir.interop import jax as jax
    from gradir.interop import scipy as scipy
    from gradir.interop import torch as torch

from gradir.nearest import missing_name

__all__ = ["jax", "scipy", "torch"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise missing_name("gradir.interop", name, __all__)
    return import_module(f"gradir.interop.{name}")
