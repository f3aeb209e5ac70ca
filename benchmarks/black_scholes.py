"""Summed Black-Scholes price of 4 million calls, f32, and its gradients to all five inputs."""

from collections.abc import Callable, Iterator
from typing import Any

import harness
import numpy as np

COUNT = 4_000_000
SQRT_HALF = 0.70710678118654752


def make_inputs() -> list[np.ndarray[Any, Any]]:
    """Spot, strike, time, rate and volatility of each option."""
    random = np.random.default_rng(0)
    ranges = ((80, 120), (80, 120), (0.2, 2), (0.01, 0.05), (0.1, 0.5))
    return [random.uniform(low, high, COUNT).astype(np.float32) for low, high in ranges]


def total_price(library: Any, erf: Any, *inputs: Any) -> Any:
    """The summed price, in whichever library's arrays."""
    spot, strike, time, rate, volatility = inputs
    deviation = volatility * library.sqrt(time)
    growth = (rate + 0.5 * volatility * volatility) * time
    d1 = (library.log(spot / strike) + growth) / deviation
    d2 = d1 - deviation
    cdf1 = 0.5 * (1 + erf(d1 * SQRT_HALF))
    cdf2 = 0.5 * (1 + erf(d2 * SQRT_HALF))
    return (spot * cdf1 - strike * library.exp(-rate * time) * cdf2).sum()


def prepare_jax() -> harness.Call:
    """`jax.jit` of `jax.value_and_grad`."""
    jax = harness.library("jax")
    inputs = [jax.numpy.asarray(array) for array in make_inputs()]

    def price(*inputs: Any) -> Any:
        return total_price(jax.numpy, jax.scipy.special.erf, *inputs)

    compiled = jax.jit(jax.value_and_grad(price, argnums=tuple(range(5))))
    return lambda: jax.block_until_ready(compiled(*inputs))


def torch_price() -> Callable[..., Any]:
    """The price in PyTorch's functions."""
    torch = harness.library("torch")

    def price(*inputs: Any) -> Any:
        return total_price(torch, torch.erf, *inputs)

    return price


def prepare_torch_eager() -> harness.Call:
    """`torch.autograd.grad`."""
    torch = harness.library("torch")
    inputs = [torch.from_numpy(array).requires_grad_() for array in make_inputs()]
    price = torch_price()

    def call() -> object:
        value = price(*inputs)
        return (value, *torch.autograd.grad(value, inputs))

    return call


def prepare_torch_compile() -> harness.Call:
    """`torch.compile` of value and gradient at once: one graph, twice as fast as two halves."""
    torch = harness.library("torch")
    inputs = [torch.from_numpy(array) for array in make_inputs()]
    return harness.torch_compiled_gradient(torch_price(), inputs, tuple(range(5)))


def workloads(threads: int) -> Iterator[harness.Workload]:
    """The one workload."""

    def gradir(reuse: bool) -> harness.Call:
        return harness.compiled_gradient(
            "black_scholes.mlir", make_inputs(), range(5), threads, reuse
        )

    contenders = [
        harness.Contender("PyTorch torch.compile", prepare_torch_compile, "torch"),
        harness.Contender("PyTorch eager", prepare_torch_eager, "torch"),
        harness.Contender("JAX jit", prepare_jax, "jax"),
        harness.Contender("gradir", lambda: gradir(False), "gradir"),
        harness.Contender("gradir, out=", lambda: gradir(True), "gradir"),
    ]
    title = f"Black-Scholes, {COUNT:,} calls, f32: summed price and 5 gradients"
    yield harness.Workload(title, contenders, reference="PyTorch torch.compile", tolerance=1e-3)


if __name__ == "__main__":
    harness.main(workloads)
