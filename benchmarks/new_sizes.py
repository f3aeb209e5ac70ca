"""Calls that each have a new size: value and gradients of a network, and of attention.

gradir has code for many sizes from the second size on; `GRADIR_SIZES=0` compiles each size. JAX
compiles each shape, and torch.compile has code for many with `dynamic=True`.
"""

import os
from collections.abc import Callable, Iterator
from itertools import count
from typing import Any

import harness
import numpy as np

FIRST, ROUNDS = 40, 60
WIDTH, HIDDEN = 32, 64


def arguments(size: int) -> list[np.ndarray[Any, Any]]:
    """Weights, and inputs of some rows."""
    numbers = np.random.default_rng(0)
    shapes = ((WIDTH, HIDDEN), (HIDDEN, WIDTH), (size, WIDTH))
    return [0.1 * numbers.standard_normal(shape).astype(np.float32) for shape in shapes]


def network(np_: Any, w: Any, v: Any, x: Any) -> Any:
    """The mean square of two layers, with the functions of a library."""
    return np_.mean((np_.tanh(x @ w) @ v) ** 2)


def attention(np_: Any, w: Any, v: Any, x: Any) -> Any:
    """The mean square of a head of attention over all rows."""
    key = x @ w
    weights = np_.exp(0.1 * (key @ key.T))
    return np_.mean(((weights / np_.sum(weights, 1)[:, None]) @ (key @ v)) ** 2)


Loss = Callable[..., Any]


def new_sizes(call: Callable[..., Any]) -> harness.Call:
    """Calls of a function, each with another number of rows; the first two come before."""
    sizes = count(FIRST)
    for _ in range(2):
        call(*arguments(next(sizes)))
    return lambda: call(*arguments(next(sizes)))


def prepare_gradir(loss: Loss, are_many: bool) -> harness.Call:
    """`gradir.jit` with a named extent."""
    import gradir
    import gradir.numpy as gnp

    def function(w: Any, v: Any, x: Any) -> Any:
        return loss(gnp, w, v, x)

    gradient = gradir.value_and_grad(function, argnums=(0, 1))
    jitted = gradir.jit(gradient, shapes=(None, None, "n, ..."))

    def call(*given: Any) -> Any:
        os.environ["GRADIR_SIZES"] = str(int(are_many))
        return jitted(*given)

    return new_sizes(call)


def prepare_jax(loss: Loss) -> harness.Call:
    """`jax.jit`."""
    jax = harness.library("jax")

    def function(w: Any, v: Any, x: Any) -> Any:
        return loss(jax.numpy, w, v, x)

    compiled = jax.jit(jax.value_and_grad(function, argnums=(0, 1)))
    return new_sizes(lambda *given: jax.block_until_ready(compiled(*given)))


def contenders(loss: Loss) -> list[harness.Contender]:
    """The ways to make code."""
    return [
        harness.Contender("JAX jit", lambda: prepare_jax(loss), "jax"),
        harness.Contender("gradir, each size", lambda: prepare_gradir(loss, False)),
        harness.Contender("gradir, many sizes", lambda: prepare_gradir(loss, True)),
    ]


def workloads(threads: int) -> Iterator[harness.Workload]:
    """A network and attention."""
    for name, loss in (("two layers", network), ("attention", attention)):
        title = f"Value and gradients of {name}, f32, each call with rows of a new number"
        yield harness.Workload(title, contenders(loss), "JAX jit", tolerance=None, rounds=ROUNDS)


if __name__ == "__main__":
    harness.main(workloads)
