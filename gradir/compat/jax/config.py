"""jax.config: the floating type is gradir's default, which jax_enable_x64 sets."""

from __future__ import annotations

from typing import Any

from gradir.errors import ArgumentError
from gradir.frontends.tracing.default_dtype import default_dtype as own_default_dtype


class Config:
    """The options of JAX that have a meaning here."""

    def update(self, name: str, value: Any) -> None:
        """Set `jax_enable_x64`: floats are float64, or float32. Others are refused."""
        if name != "jax_enable_x64":
            raise ArgumentError(
                f"config.update: {name!r} has no meaning here; jax_enable_x64 sets the floats"
            )
        own_default_dtype("float64" if value else "float32")


config = Config()
