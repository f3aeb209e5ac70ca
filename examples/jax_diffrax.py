"""The gradient of a diffrax solve with no limit of steps, which JAX does not differentiate.

    .venv/bin/pip install --editable '.[jax]' diffrax
    .venv/bin/python examples/jax_diffrax.py

diffrax's loop is a while loop of JAX here; gradir differentiates it as it is, to second order. The
gradient is held against diffrax's own, which needs a largest number of steps. Exit code 1 if they
differ.
"""

from __future__ import annotations

import os
import sys
from importlib import import_module
from typing import Any


def main() -> int:
    """Compare both gradients; the exit code."""
    # its checks would call Python, which a program does not
    os.environ.setdefault("EQX_ON_ERROR", "nan")
    from gradir.interop.jax import differentiable

    jax: Any = import_module("jax")
    jax.config.update("jax_enable_x64", True)
    diffrax, jnp = import_module("diffrax"), jax.numpy
    term = diffrax.ODETerm(lambda t, y, pull: jnp.stack([y[1], -pull * jnp.sin(y[0])]))
    steps = diffrax.PIDController(rtol=1e-7, atol=1e-9)

    def angle(pull: Any, **options: Any) -> Any:
        found = diffrax.diffeqsolve(
            term, diffrax.Tsit5(), 0.0, 2.0, 0.1, jnp.asarray([1.0, 0.0]), pull,
            stepsize_controller=steps, **options,
        )  # fmt: skip
        return found.ys[0, 0]

    ours = differentiable(lambda p: angle(p, max_steps=None, adjoint=diffrax.ForwardMode()))
    first, second = jax.grad(ours)(9.81), jax.grad(jax.grad(ours))(9.81)
    bounded = jax.grad(lambda p: angle(p, max_steps=256, adjoint=diffrax.DirectAdjoint()))(9.81)
    print(f"gradir: {first:.10f}, second order {second:.10f}")
    print(f"diffrax, at most 256 steps: {bounded:.10f}")
    return int(abs(first - bounded) > 1e-10)


if __name__ == "__main__":
    try:
        sys.exit(main())
    except ImportError as error:
        sys.exit(f"error: {error}")
