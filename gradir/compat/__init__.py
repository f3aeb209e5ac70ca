"""Other systems' names with their meanings: `from gradir.compat import jax, jnp, lax`."""

from gradir.compat import jax
from gradir.compat.jax import lax
from gradir.compat.jax import numpy as jnp

__all__ = ["jax", "jnp", "lax"]
