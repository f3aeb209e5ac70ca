"""Networks imported from PyTorch and JAX: what importing takes, and their steps of training.

A step is the loss and the gradients of all parameters. The same network is traced by hand with
gradir.nn, imported, and run by PyTorch, torch.compile and jax.jit.
"""

from collections.abc import Callable, Iterator
from typing import Any

import harness
import jax_networks
import torch_networks
from torch_networks import Formulas, Gradir, Jax, Network

IMPORTS = 4
"""Turns of a contender that takes seconds."""


# Steps of training.


def by_hand(network: Network, kind: type[Gradir] = Gradir) -> harness.Call:
    """gradir.value_and_grad of the network in gradir.nn."""
    functions, gradir = kind(), harness.library("gradir")
    return step_of(
        gradir.value_and_grad, lambda *given: network.by_hand(functions, *given), network
    )


def from_jax(network: Network) -> harness.Call:
    """gradir.value_and_grad of the network in JAX, imported."""
    functions, gradir = Jax(), harness.library("gradir")
    imported = harness.library("gradir.interop.jax").differentiable(
        lambda *given: network.by_hand(functions, *given)
    )
    return step_of(gradir.value_and_grad, imported, network)


def by_jax(network: Network) -> harness.Call:
    """jax.jit of JAX's gradient."""
    functions, jax = Jax(), harness.library("jax")

    def transformed(function: Any) -> Any:
        compiled = jax.jit(jax.value_and_grad(function))
        return lambda *given: jax.block_until_ready(compiled(*given))

    return step_of(transformed, lambda *given: network.by_hand(functions, *given), network)


def step_of(transformed: Any, function: Any, network: Network) -> harness.Call:
    """The loss and the gradients, in the order of the module's parameters."""
    params = {name: p.detach().numpy() for name, p in network.module.named_parameters()}
    inputs = [tensor.numpy().astype(narrow(tensor)) for tensor in network.inputs]
    step = transformed(function)

    def call() -> object:
        loss, gradients = step(params, *inputs)
        return [loss, *(gradients[name] for name in params)]

    return call


def narrow(tensor: Any) -> str:
    """JAX's dtype for an input: integers of 32 bits."""
    return "float32" if tensor.is_floating_point() else "int32"


def from_torch(network: Network) -> harness.Call:
    """gradir.value_and_grad of the module, imported as a function of its parameters."""
    gradir = harness.library("gradir")
    f = harness.library("gradir.interop.torch").functional(network.module, *network.inputs)
    inputs = [tensor.numpy() for tensor in network.inputs]
    step = gradir.value_and_grad(f, has_aux=bool(f.buffers))

    def call() -> object:
        value, gradients = step(f.parameters, *inputs)
        loss = value[0] if f.buffers else value
        return [loss, *(gradients[name] for name, _ in network.module.named_parameters())]

    return call


def torch_step(module: Any, network: Network) -> harness.Call:
    """PyTorch's forward and backward of a module that it runs."""
    torch, params = harness.library("torch"), list(network.module.parameters())

    def call() -> object:
        loss = module(*network.inputs)
        return [loss, *torch.autograd.grad(loss, params)]

    return call


def differentiable_module(network: Network) -> harness.Call:
    """gradir's module in PyTorch's place, by PyTorch's backward."""
    made = harness.library("gradir.interop.torch").differentiable(network.module)
    return torch_step(made, network)


def compiled_module(network: Network) -> harness.Call:
    """torch.compile of the module."""
    harness.require_cxx_compiler()
    return torch_step(harness.library("torch").compile(network.module, fullgraph=True), network)


STEPS: dict[str, tuple[Callable[[Network], harness.Call], str]] = {
    "traced by hand": (by_hand, "torch"),
    "imported from PyTorch": (from_torch, "torch"),
    "differentiable(module)": (differentiable_module, "torch"),
    "JAX's formulas by hand": (lambda network: by_hand(network, Formulas), "torch"),
    "imported from JAX": (from_jax, "jax"),
    "PyTorch": (lambda network: torch_step(network.module, network), "torch"),
    "torch.compile": (compiled_module, "torch"),
    "jax.jit": (by_jax, "jax"),
}


def steps() -> Iterator[harness.Workload]:
    """The networks' steps of training."""
    for title, make in torch_networks.STEPS.items():
        contenders = [
            harness.Contender(name, lambda make=make, way=way: way(make()), requires)
            for name, (way, requires) in STEPS.items()
        ]
        yield harness.Workload(f"loss and gradients of {title}, f32", contenders, "traced by hand")


# Imports.


def of_torch(network: Network, how: str) -> harness.Call:
    """PyTorch's export of a module, gradir's trace of what was exported, or both."""
    torch, trace = harness.library("torch"), harness.library("gradir.interop.torch").trace
    if how == "torch.export":
        return lambda: torch.export.export(network.module, network.inputs)
    if how == "trace of the module":
        return lambda: trace(network.module, *network.inputs)
    program = torch.export.export(network.module, network.inputs)
    return lambda: trace(program, trust_derivatives=True)


def of_jax(make: Any) -> harness.Call:
    """gradir.interop.jax.trace of a network, jax.make_jaxpr included."""
    function, specs = make(harness.library("jax"))
    trace = harness.library("gradir.interop.jax").trace
    return lambda: trace(function, *specs)


def imports() -> Iterator[harness.Workload]:
    """Networks of known shapes."""
    ways = ("trace of the module", "torch.export", "trace of the export")
    for title, make in torch_networks.IMPORTS.items():
        contenders = [
            harness.Contender(how, lambda make=make, how=how: of_torch(make(), how), "torch")
            for how in ways
        ]
        name = f"importing {title}'s shape from PyTorch"
        yield harness.Workload(name, contenders, ways[0], None, rounds=IMPORTS)
    for title, make in (
        ("GPT-2 small", jax_networks.gpt2_small),
        ("ResNet-18", jax_networks.resnet18),
    ):
        ours = harness.Contender("trace", lambda make=make: of_jax(make), "jax")
        name = f"importing {title}'s shape from JAX"
        yield harness.Workload(name, [ours], "trace", None, rounds=IMPORTS)


def workloads(threads: int) -> Iterator[harness.Workload]:
    """Steps of training, then imports."""
    yield from steps()
    yield from imports()


if __name__ == "__main__":
    harness.main(workloads)
