"""Value and six gradients of a 784-256-256-10 network's mean cross entropy, batch 64, f32."""

from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

import harness
import numpy as np

BATCH, SIZES = 64, (784, 256, 256, 10)
PARAMETERS = range(2, 8)


def make_inputs() -> list[np.ndarray[Any, Any]]:
    """x, targets, and the weights and biases of the three layers."""
    random = np.random.default_rng(0)
    x = random.standard_normal((BATCH, SIZES[0]), dtype=np.float32)
    inputs: list[np.ndarray[Any, Any]] = [x, random.integers(0, SIZES[-1], BATCH)]
    for fan_in, fan_out in pairwise(SIZES):
        weight = random.standard_normal((fan_in, fan_out), dtype=np.float32)
        inputs.append(weight * np.float32(np.sqrt(2 / fan_in)))
        inputs.append(random.standard_normal(fan_out, dtype=np.float32) * np.float32(0.1))
    return inputs


def prepare_numpy() -> harness.Call:
    """Written by hand, with NumPy's `out=` wherever it saves a fresh array."""
    x, targets, w1, b1, w2, b2, w3, b3 = make_inputs()
    rows = np.arange(BATCH)

    def call() -> object:
        h1 = x @ w1
        np.maximum(np.add(h1, b1, out=h1), 0, out=h1)
        h2 = h1 @ w2
        np.maximum(np.add(h2, b2, out=h2), 0, out=h2)
        logits = h2 @ w3
        logits += b3
        logits -= logits.max(axis=1, keepdims=True)
        z3_ct = np.exp(logits)
        total = z3_ct.sum(axis=1, keepdims=True)
        loss = (np.log(total[:, 0]) - logits[rows, targets]).mean()
        z3_ct /= total
        z3_ct[rows, targets] -= 1
        z3_ct *= np.float32(1 / BATCH)
        z2_ct = z3_ct @ w3.T
        z2_ct *= h2 > 0
        z1_ct = z2_ct @ w2.T
        z1_ct *= h1 > 0
        return (
            loss,
            *(x.T @ z1_ct, z1_ct.sum(axis=0)),
            *(h1.T @ z2_ct, z2_ct.sum(axis=0)),
            *(h2.T @ z3_ct, z3_ct.sum(axis=0)),
        )

    return call


def prepare_jax() -> harness.Call:
    """`jax.jit` of `jax.value_and_grad`."""
    jax = harness.library("jax")
    inputs = [jax.numpy.asarray(array) for array in make_inputs()]

    def loss(x: Any, targets: Any, *parameters: Any) -> Any:
        w1, b1, w2, b2, w3, b3 = parameters
        h1 = jax.nn.relu(x @ w1 + b1)
        h2 = jax.nn.relu(h1 @ w2 + b2)
        scores = jax.nn.log_softmax(h2 @ w3 + b3)
        return -scores[jax.numpy.arange(BATCH), targets].mean()

    compiled = jax.jit(jax.value_and_grad(loss, argnums=tuple(PARAMETERS)))
    return lambda: jax.block_until_ready(compiled(*inputs))


def torch_loss() -> Callable[..., Any]:
    """The loss in PyTorch's functions."""
    torch = harness.library("torch")

    def loss(x: Any, targets: Any, *parameters: Any) -> Any:
        w1, b1, w2, b2, w3, b3 = parameters
        h1 = torch.relu(torch.addmm(b1, x, w1))
        h2 = torch.relu(torch.addmm(b2, h1, w2))
        return torch.nn.functional.cross_entropy(torch.addmm(b3, h2, w3), targets)

    return loss


def prepare_torch_eager() -> harness.Call:
    """`torch.autograd.grad`."""
    torch = harness.library("torch")
    x, targets, *parameters = [torch.from_numpy(array) for array in make_inputs()]
    for parameter in parameters:
        parameter.requires_grad_()
    loss = torch_loss()

    def call() -> object:
        value = loss(x, targets, *parameters)
        return (value, *torch.autograd.grad(value, parameters))

    return call


def prepare_torch_compile() -> harness.Call:
    """`torch.compile` of value and gradient at once: one graph, faster than two halves."""
    torch = harness.library("torch")
    inputs = [torch.from_numpy(array) for array in make_inputs()]
    return harness.torch_compiled_gradient(torch_loss(), inputs, tuple(PARAMETERS))


def workloads(threads: int) -> Iterator[harness.Workload]:
    """The one workload."""

    def gradir(reuse: bool) -> harness.Call:
        return harness.compiled_gradient("mlp.mlir", make_inputs(), PARAMETERS, threads, reuse)

    contenders = [
        harness.Contender("JAX jit", prepare_jax, "jax"),
        harness.Contender("PyTorch eager", prepare_torch_eager, "torch"),
        harness.Contender("PyTorch torch.compile", prepare_torch_compile, "torch"),
        harness.Contender("NumPy by hand", prepare_numpy),
        harness.Contender("gradir", lambda: gradir(False), "gradir"),
        harness.Contender("gradir, out=", lambda: gradir(True), "gradir"),
    ]
    title = "Network 784-256-256-10, batch 64, f32: value and 6 gradients"
    yield harness.Workload(title, contenders, reference="JAX jit")


if __name__ == "__main__":
    harness.main(workloads)
