"""One step of Adam on 60 tensors with a million parameters in all, in place."""

from collections.abc import Callable, Iterator
from typing import Any

import harness
import numpy as np

# Weights and biases of 20 layers, and a vector beside each: 60 tensors of 1,008,640 numbers.
SHAPES = [(160, 256), (256,), (36, 256)] * 20
RATE = 1e-3


def make_arrays(seed: int) -> list[np.ndarray[Any, Any]]:
    """An array for each tensor."""
    random = np.random.default_rng(seed)
    return [random.standard_normal(shape, dtype=np.float32) for shape in SHAPES]


def prepare_gradir(threads: int) -> harness.Call:
    """`update` and `apply_updates` in a jitted function, with parameters and state donated."""
    gradir = harness.library("gradir")
    optim = gradir.optim
    optimizer = optim.adam(RATE)

    def step(params: Any, state: Any, grads: Any) -> Any:
        updates, state = optimizer.update(grads, state, params)
        return optim.apply_updates(params, updates), state

    step = gradir.jit(step, threads=threads, donate_argnums=(0, 1))
    return repeated(step, make_arrays(0), optimizer.init(make_arrays(0)), make_arrays(1))


def repeated(step: Callable[..., Any], params: Any, state: Any, grads: Any) -> harness.Call:
    """The call of (params, state, grads) -> (params, state) with one state after the other."""
    both = [(params, state)]

    def call() -> object:
        both[0] = step(*both[0], grads)
        return both[0][0]

    return call


def prepare_optax() -> harness.Call:
    """The same in JAX, by optax."""
    jax, optax = harness.library("jax"), harness.library("optax")
    optimizer = optax.adam(RATE)

    def step(params: Any, state: Any, grads: Any) -> Any:
        updates, state = optimizer.update(grads, state, params)
        return optax.apply_updates(params, updates), state

    params, grads = ([jax.numpy.asarray(a) for a in make_arrays(seed)] for seed in (0, 1))
    call = repeated(jax.jit(step, donate_argnums=(0, 1)), params, optimizer.init(params), grads)
    return lambda: jax.block_until_ready(call())


def prepare_torch(fused: bool) -> harness.Call:
    """`torch.optim.Adam`, as one call of a fused kernel or as one of each op for all tensors."""
    torch = harness.library("torch")
    params = [torch.nn.Parameter(torch.from_numpy(array)) for array in make_arrays(0)]
    for param, grad in zip(params, make_arrays(1), strict=True):
        param.grad = torch.from_numpy(grad)
    optimizer = torch.optim.Adam(params, lr=RATE, fused=fused, foreach=not fused)

    def call() -> object:
        optimizer.step()
        return params

    return call


def prepare_same_bytes(threads: int) -> harness.Call:
    """As many bytes as a step reads and writes, p, m, v and g, then p, m and v: an array scaled."""
    gradir = harness.library("gradir")
    count = 7 * sum(a.size for a in make_arrays(0)) // 2

    def scaled(x: Any) -> Any:
        return x * 0.999

    scale = gradir.jit(scaled, threads=threads, donate_argnums=0)
    array = [np.ones(count, np.float32)]

    def call() -> object:
        array[0] = scale(array[0])
        return array[0]

    return call


def workloads(threads: int) -> Iterator[harness.Workload]:
    """The step, and the traffic of one."""
    contenders = [
        harness.Contender("PyTorch fused", lambda: prepare_torch(True), "torch"),
        harness.Contender("PyTorch foreach", lambda: prepare_torch(False), "torch"),
        harness.Contender("optax, JAX jit", prepare_optax, "optax"),
        harness.Contender("gradir", lambda: prepare_gradir(threads), "gradir"),
    ]
    title = "Adam step, 60 tensors of 1,008,640 parameters, f32"
    yield harness.Workload(title, contenders, "PyTorch fused", tolerance=1e-6)
    limit = [harness.Contender("gradir", lambda: prepare_same_bytes(threads), "gradir")]
    title = "The bytes of that step: an array of 14 MB scaled in place"
    yield harness.Workload(title, limit, "gradir", tolerance=None)


if __name__ == "__main__":
    harness.main(workloads)
