"""Random programs of JAX: functions composed with control flow, vmap and grad, against JAX's own.

`python tests/peers/test_jax_fuzz.py FIRST COUNT` tries more of them.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from jax_ops import jax, jnp
from test_jax_primitives import same, total

from gradir.interop.jax import differentiable

lax: Any = jax.lax
Function = Callable[[Any], Any]
UNARY: tuple[Function, ...] = (
    jnp.sin, jnp.tanh, jnp.abs, jax.nn.gelu, jax.nn.relu, jax.nn.silu, jax.nn.softplus,
    lambda x: x**3, lambda x: jnp.exp(-x * x), lambda x: jnp.sqrt(x * x + 1), lambda x: x * 0.5,
    lambda x: jnp.maximum(x, 0.3), lambda x: jnp.clip(x, -0.7, 0.7), lax.stop_gradient,
    lambda x: jnp.where(x > 0, x, jnp.sin(x)), lambda x: x[::-1], lambda x: jnp.roll(x, 1),
    lambda x: jnp.cumsum(x), lambda x: jnp.sort(x), lambda x: jax.nn.softmax(x),
    lambda x: x - jnp.mean(x), lambda x: x / (1 + jnp.linalg.norm(x)), lambda x: x.at[1].set(x[0]),
    lambda x: x.at[jnp.array([0, 2])].add(x[1:3]), lambda x: x[jnp.argsort(x)],
    lambda x: jnp.concatenate([x[2:], x[:2]]), lambda x: jnp.pad(x, (1, 1))[1:-1] + x,
    lambda x: lax.cummax(x), lambda x: jnp.diff(x, append=x[:1]), lambda x: lax.top_k(x, 4)[0],
    lambda x: jnp.convolve(x, jnp.array([0.2, 0.5, 0.3]), mode="same"), jax.scipy.special.erf,
    lambda x: jnp.outer(x, x).sum(0), lambda x: (x.reshape(2, 2) @ x.reshape(2, 2)).ravel(),
    lambda x: jnp.linalg.solve(jnp.eye(4) * 5 + jnp.outer(x, x), x), lambda x: jnp.prod(x) + x,
    lambda x: jax.scipy.special.logsumexp(x) * x, lambda x: jnp.linalg.slogdet(
        jnp.eye(2) * 3 + x.reshape(2, 2))[1] * x, lambda x: jnp.interp(x, jnp.arange(4.0), x),
)  # fmt: skip
BINARY: tuple[Callable[[Any, Any], Any], ...] = (
    jnp.add, jnp.multiply, jnp.subtract, jnp.maximum, jnp.minimum, jnp.arctan2, jnp.logaddexp,
    lambda x, y: x / (1 + y * y), lambda x, y: jnp.where(x > y, x, y * 2), jnp.hypot,
)  # fmt: skip


def random_function(random: np.random.Generator, depth: int) -> Function:
    """A function of vectors of 4 elements."""
    kind = random.integers(0, 11 if depth else 3)
    if kind < 3:
        return UNARY[random.integers(len(UNARY))]
    f, g = (random_function(random, depth - 1) for _ in range(2))
    join = BINARY[random.integers(len(BINARY))]
    count, limit = int(random.integers(0, 4)), float(random.uniform(0.5, 2))
    makers: tuple[Callable[[], Function], ...] = (
        lambda: lambda x: f(g(x)),
        lambda: lambda x: join(f(x), g(x)),
        lambda: lambda x: lax.cond(x[0] > 0.1, f, g, x),
        lambda: lambda x: lax.fori_loop(0, count, lambda i, c: jnp.tanh(f(c)) + x * i / 4, x),
        lambda: lambda x: _scanned(f, x),
        lambda: lambda x: jax.vmap(f)(jnp.stack([x, g(x)])).sum(0),
        lambda: lambda x: jax.grad(lambda x: jnp.sum(jnp.sin(f(x))))(x),
        lambda: jax.checkpoint(lambda x: jax.jit(f)(x) + x),
        lambda: lambda x: jax.vmap(lambda s: lax.while_loop(
            lambda c: jnp.abs(c) > limit, lambda c: jnp.tanh(c) * 0.8, s))(f(x)) if count > 3 else
            lax.switch(jnp.argmax(x), [f, g, jnp.sin, jnp.cos], x),
    )  # fmt: skip
    return makers[random.integers(len(makers))]()


def _scanned(f: Function, x: Any) -> Any:
    def step(carry: Any, row: Any) -> Any:
        made = jnp.tanh(f(carry)) + row
        return made, made[0]

    last, firsts = lax.scan(step, x, x.reshape(4, 1))
    return last + firsts


def compare(seed: int) -> None:
    random = np.random.default_rng(seed)
    f = random_function(random, 3)
    x = jnp.asarray(random.uniform(-1.5, 1.5, 4))
    ours = differentiable(f)

    def slope(function: Any) -> Function:
        return jax.grad(lambda x: total(function(x), 1))

    expected = jax.jit(lambda x: (f(x), slope(f)(x), slope(slope(f))(x)))(x)
    found = jax.jit(lambda x: (ours(x), slope(ours)(x), slope(slope(ours))(x)))(x)
    for order, (a, e) in enumerate(zip(found, expected, strict=True)):
        if np.isfinite(np.asarray(e)).all():
            same(a, e, 1e-8 if order else 1e-10, f"seed {seed}, order {order}")


@pytest.mark.parametrize("first", range(0, 24, 8))
def test_random_programs(first: int) -> None:
    for seed in range(first, first + 8):
        compare(seed)


if __name__ == "__main__":
    begin, number = map(int, sys.argv[1:])
    for seed_ in range(begin, begin + number):
        print(seed_, flush=True)
        try:
            compare(seed_)
        except Exception as error:
            print(seed_, type(error).__name__, str(error)[:700])
