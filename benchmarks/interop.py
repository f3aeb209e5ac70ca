"""What a call of a gradir function costs in PyTorch; importing JAX functions, and their steps."""

from collections.abc import Iterator
from typing import Any

import harness
import numpy as np
from jax_networks import NETWORKS, gpt2_small, resnet18


def make_tensor() -> Any:
    """The one argument."""
    torch = harness.library("torch")
    return torch.from_numpy(np.linspace(-1, 1, 16, dtype=np.float32)).requires_grad_()


def polynomial(x: Any) -> Any:
    """The function, for any library's arrays."""
    return x * x + x


def eager() -> Any:
    """PyTorch's operations, each of them a node of autograd."""
    return polynomial


def one_node() -> Any:
    """The same operations as one node: `torch.autograd.Function`, in Python."""
    torch = harness.library("torch")

    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return polynomial(x)

    def backward(ctx: Any, cotangent: Any) -> Any:
        (x,) = ctx.saved_tensors
        return cotangent * (2 * x + 1)

    members = {"forward": staticmethod(forward), "backward": staticmethod(backward)}
    made: Any = type("Polynomial", (torch.autograd.Function,), members)
    return made.apply


def wrapped(**options: Any) -> Any:
    """gradir's function, by `gradir.interop.torch.wrap`."""
    from gradir.interop.torch import wrap

    return wrap(polynomial, **options)


def round_trip(function: Any) -> harness.Call:
    """Forward and backward."""
    torch = harness.library("torch")
    x = make_tensor()
    ct = torch.ones(16)
    return lambda: torch.autograd.grad(function(x), x, ct)


def without_gradient(function: Any) -> harness.Call:
    """Forward of a tensor that requires no gradient."""
    x = make_tensor().detach()
    return lambda: function(x)


def training_step(name: str, how: str) -> harness.Call:
    """The loss and the gradient of a network, traced by hand, imported from JAX, or by JAX."""
    jax, gradir = harness.library("jax"), harness.library("gradir")
    nn, gnp = harness.library("gradir.nn"), harness.library("gradir.numpy")
    function, arguments = NETWORKS[name]

    def by_jax(*args: Any) -> Any:
        return function(jax.numpy, jax.nn, *args)

    def flat(found: Any) -> Any:
        return jax.tree_util.tree_leaves(jax.block_until_ready(found))

    if how == "JAX":
        step = jax.jit(jax.value_and_grad(by_jax))
        return lambda: flat(step(*arguments))
    if how == "traced by hand":
        step = gradir.value_and_grad(lambda *args: function(gnp, nn, *args))
    else:
        step = gradir.value_and_grad(harness.library("gradir.interop.jax").differentiable(by_jax))
    return lambda: flat(step(*arguments))


def importing(make: Any) -> harness.Call:
    """gradir.interop.jax.trace of a network."""
    function, specs = make(harness.library("jax"))
    trace = harness.library("gradir.interop.jax").trace
    return lambda: trace(function, *specs)


def of_jax() -> Iterator[harness.Workload]:
    """Steps of training, and imports."""
    ways = ("traced by hand", "imported from JAX", "JAX")
    for name in NETWORKS:
        contenders = [
            harness.Contender(way, lambda name=name, way=way: training_step(name, way), "jax")
            for way in ways
        ]
        yield harness.Workload(f"loss and gradient of {name}, f32", contenders, ways[0])
    for title, make in (("GPT-2 small", gpt2_small), ("ResNet-18", resnet18)):
        ours = harness.Contender("gradir", lambda make=make: importing(make), "jax")
        yield harness.Workload(f"importing {title}'s shape from JAX", [ours], "gradir", None)


def workloads(threads: int) -> Iterator[harness.Workload]:
    """PyTorch with and without a gradient; JAX's networks."""
    yield from of_torch()
    yield from of_jax()


def of_torch() -> Iterator[harness.Workload]:
    """With and without a gradient."""
    chosen = {
        "PyTorch eager": eager,
        "torch.autograd.Function": one_node,
        "gradir": wrapped,
        "gradir, one backward": lambda: wrapped(once_differentiable=True),
    }
    for title, call, names in (
        ("forward and backward", round_trip, list(chosen)),
        ("without a gradient", without_gradient, list(chosen)[:3]),
    ):
        contenders = [
            harness.Contender(name, lambda name=name, call=call: call(chosen[name]()), "torch")
            for name in names
        ]
        full = f"x * x + x of 16 elements in PyTorch, f32: {title}"
        yield harness.Workload(full, contenders, reference="torch.autograd.Function")


if __name__ == "__main__":
    harness.main(workloads)
