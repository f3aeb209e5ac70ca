"""jax.scipy: `special`, `stats` and `linalg` of gradir.scipy."""

from gradir.scipy import linalg, special, stats

__all__ = ["linalg", "special", "stats"]
