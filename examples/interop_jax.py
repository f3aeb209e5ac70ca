"""Fit the end of a pendulum's swing in JAX, through a while loop that JAX does not differentiate.

    .venv/bin/pip install --editable '.[jax]'
    .venv/bin/python examples/interop_jax.py

The time steps adapt to their error, so that their number depends on the values. JAX refuses its
reverse mode; `gradir.interop.jax.differentiable` gives it. The gradient is held against central
differences. Exit code 1 if it differs or the length is not found.
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Any

TOLERANCE, SECONDS = 1e-4, 2.0


def swing(np_: Any, while_loop: Any, length: Any) -> Any:
    """The angle of a pendulum after two seconds, by Heun's method with adaptive steps."""

    def slope(y: Any) -> Any:
        return np_.stack([y[1], -9.81 / length * np_.sin(y[0])])

    def step(state: Any) -> Any:
        t, y, h = state
        first = slope(y)
        second = slope(y + h * first)
        error = h * np_.max(np_.abs(second - first)) / 2
        is_good = error < TOLERANCE
        t, y = np_.where(is_good, t + h, t), np_.where(is_good, y + h * (first + second) / 2, y)
        h = h * np_.clip(0.9 * np_.sqrt(TOLERANCE / error), 0.3, 2.0)
        return t, y, np_.minimum(h, SECONDS - t + 1e-9)

    start = np_.asarray(0.0), np_.asarray([1.0, 0.0]), np_.asarray(0.01)
    return while_loop(lambda state: state[0] < SECONDS, step, start)[1][0]


def main() -> int:
    """Find the length; the exit code."""
    from gradir.interop.jax import differentiable

    jax: Any = import_module("jax")
    jax.config.update("jax_enable_x64", True)

    def angle(length: Any) -> Any:
        return swing(jax.numpy, jax.lax.while_loop, length)

    ours = differentiable(angle)
    try:
        jax.grad(angle)(1.0)
    except ValueError as error:
        print("JAX:", str(error).split(" with ")[0])
    slope = float(jax.grad(ours)(1.0))
    apart = float(angle(1.0 + 1e-6) - angle(1.0 - 1e-6)) / 2e-6
    print(f"slope {slope:.6f}, by differences {apart:.6f}")
    measured, length = angle(1.3), 1.0
    loss = jax.jit(jax.value_and_grad(lambda length: (ours(length) - measured) ** 2))
    for _ in range(30):
        value, gradient = loss(length)
        # Gauss and Newton's step for one residual
        length = length - 2 * value / gradient
        if value < 1e-16:
            break
    print(f"found: length {length:.4f}")
    return int(abs(slope - apart) > 1e-5 or abs(length - 1.3) > 1e-3)


if __name__ == "__main__":
    try:
        sys.exit(main())
    except ImportError as error:
        sys.exit(f"error: {error}")
