"""jax.numpy: gradir.numpy, whose results outside of traces are JAX's arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import gradir.numpy as gnp
from gradir.compat.jax.arrays import Array, namespace
from gradir.compat.jax.sized import SIZED
from gradir.nearest import missing_name

ndarray = Array
newaxis = None

if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        try:
            made = SIZED.get(name) or namespace(gnp, name)
        except AttributeError as error:
            reason = str(error).partition(": ")[2] or None
            raise missing_name("gradir.compat.jax.numpy", name, [], reason) from None
        return globals().setdefault(name, made)

else:

    def __getattr__(name: str) -> Any: ...


def __dir__() -> list[str]:
    return sorted({*gnp.__all__, "ndarray", "newaxis"})
