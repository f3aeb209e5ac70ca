"""jax.random: gradir.random, with JAX's names, parameters and distributions, and other numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import gradir.random as own
from gradir.compat.jax.arrays import namespace
from gradir.nearest import missing_name

if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        try:
            made = namespace(own, name)
        except AttributeError as error:
            reason = str(error).partition(": ")[2] or None
            raise missing_name("gradir.compat.jax.random", name, [], reason) from None
        return globals().setdefault(name, made)

else:

    def __getattr__(name: str) -> Any: ...


def __dir__() -> list[str]:
    return sorted(own.__all__)
