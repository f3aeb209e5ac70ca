"""Value and gradient of one model in gradir and in its peers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import Any, cast

import harness
import numpy as np

from rows.names import GradirNames, JaxNames, TorchNames

Model = Callable[..., Any]
"""A number from a library's names and arrays."""


def jitted(model: Model, wrt: Sequence[int], threads: int, **options: Any) -> Any:
    """gradir's value and gradient of a model."""
    gradir, names = harness.library("gradir"), GradirNames()

    def value(*inputs: Any) -> Any:
        return model(names, *inputs)

    return gradir.jit(gradir.value_and_grad(value, argnums=tuple(wrt), **options), threads=threads)


def in_gradir(model: Model, inputs: Sequence[Any], wrt: Sequence[int], threads: int) -> Any:
    compiled = jitted(model, wrt, threads)
    return lambda: compiled(*inputs)


def _jitted_in_jax(model: Model, wrt: Sequence[int]) -> Any:
    """`jax.jit` of `jax.value_and_grad` of a model."""
    jax, names = harness.library("jax"), JaxNames()
    jax.config.update("jax_enable_x64", True)

    def value(*inputs: Any) -> Any:
        return model(names, *inputs)

    return jax.jit(jax.value_and_grad(value, argnums=tuple(wrt)))


def in_jax(model: Model, inputs: Sequence[Any], wrt: Sequence[int]) -> harness.Call:
    """A call of JAX's value and gradient, compiled."""
    jax, compiled = harness.library("jax"), _jitted_in_jax(model, wrt)
    arrays = [jax.numpy.asarray(x) for x in inputs]
    return lambda: jax.block_until_ready(compiled(*arrays))


def memory_in_jax(model: Model, inputs: Sequence[Any], wrt: Sequence[int]) -> int:
    """The bytes of temporaries of in_jax, arguments and results aside, as XLA plans them."""
    compiled = _jitted_in_jax(model, wrt).lower(*inputs).compile()
    return compiled.memory_analysis().temp_size_in_bytes


def memory_in_torch(model: Model, inputs: Sequence[Any], wrt: Sequence[int]) -> int:
    """The most bytes at a time that a call of in_torch allocates, by PyTorch's profiler, less the
    bytes of its gradients."""
    profiler = harness.library("torch").profiler
    call = in_torch(model, inputs, wrt)
    call()
    cpu = [profiler.ProfilerActivity.CPU]
    with profiler.profile(activities=cpu, profile_memory=True) as made:
        _, gradients = cast(tuple[Any, Any], call())
    events = [e for e in made.profiler.kineto_results.events() if e.name() == "[memory]"]
    events.sort(key=lambda e: e.start_ns())
    kept = sum(g.nbytes for g in gradients)
    return max(accumulate(e.nbytes() for e in events)) - kept


def in_torch(model: Model, inputs: Sequence[Any], wrt: Sequence[int]) -> harness.Call:
    """PyTorch's eager mode."""
    torch, names = harness.library("torch"), TorchNames()
    tensors = [torch.from_numpy(np.asarray(x)) for x in inputs]
    wanted = [tensors[k].requires_grad_() for k in wrt]

    def call() -> object:
        value = model(names, *tensors)
        return value, torch.autograd.grad(value, wanted)

    return call


def in_torch_compiled(model: Model, inputs: Sequence[Any], wrt: Sequence[int]) -> harness.Call:
    """`torch.compile` of value and gradient at once."""
    torch, names = harness.library("torch"), TorchNames()
    tensors = [torch.from_numpy(np.asarray(x)) for x in inputs]

    def value(*inputs: Any) -> Any:
        return model(names, *inputs)

    return harness.torch_compiled_gradient(value, tensors, tuple(wrt))


def differentiated(
    model: Model,
    inputs: Sequence[Any],
    wrt: Sequence[int],
    threads: int,
    peers: Sequence[str] = ("JAX", "PyTorch"),
) -> list[harness.Contender]:
    """gradir and peers with value and gradient of one model."""
    made = {
        "JAX": harness.Contender("JAX", lambda: in_jax(model, inputs, wrt), "jax"),
        "PyTorch": harness.Contender("PyTorch", lambda: in_torch(model, inputs, wrt), "torch"),
        "torch.compile": harness.Contender(
            "torch.compile", lambda: in_torch_compiled(model, inputs, wrt), "torch"
        ),
    }
    ours = harness.Contender("gradir", lambda: in_gradir(model, inputs, wrt, threads), "gradir")
    return [ours, *(made[peer] for peer in peers)]
