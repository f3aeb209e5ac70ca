"""A JAX function differentiated on several ranks: `mpiexec -n N python` on this file.

Each rank takes its part of a batch and the mean of all gradients, and compares that with JAX's
gradient of the whole batch, whose loop JAX differentiates by its length.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np

import gradir
from gradir import comm
from gradir.interop.jax import differentiable

jax: Any = import_module("jax")
jax.config.update("jax_enable_x64", True)
jnp: Any = jax.numpy


def loss(w: Any, x: Any) -> Any:
    """A layer run three times, until a counter says so."""

    def step(state: Any) -> Any:
        k, h = state
        return k + 1, jnp.tanh(h @ w)

    return jnp.mean(jax.lax.while_loop(lambda state: state[0] < 3, step, (0, x))[1] ** 2)


def unrolled(w: Any, x: Any) -> Any:
    for _ in range(3):
        x = jnp.tanh(x @ w)
    return jnp.mean(x**2)


def main() -> None:
    rank, random = int(comm.axis_index()), np.random.default_rng(0)
    w, x = random.normal(size=(3, 3)), random.normal(size=(4 * comm.axis_size(), 3))
    ours = differentiable(loss)

    @gradir.jit
    def gradient(w: Any, x: Any) -> Any:
        return comm.pmean(gradir.grad(ours)(w, x))

    expected = jax.grad(unrolled)(w, x)
    np.testing.assert_allclose(gradient(w, x[4 * rank :][:4]), expected, atol=1e-13)
    print(f"agree {rank}\n", end="", flush=True)  # one write, which no rank cuts


if __name__ == "__main__":
    main()
