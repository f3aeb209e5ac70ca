"""A compiled function of 16 elements: what one call costs beyond its arithmetic."""

from collections.abc import Iterator
from typing import Any

import harness
import numpy as np


def make_inputs() -> list[np.ndarray[Any, Any]]:
    """The one argument."""
    return [np.linspace(-1, 1, 16, dtype=np.float32)]


def polynomial(x: Any) -> Any:
    """The function, for any library's arrays."""
    return x * x + x


def prepare_numpy() -> harness.Call:
    """Two NumPy operations."""
    (x,) = make_inputs()
    return lambda: polynomial(x)


def prepare_jax() -> harness.Call:
    """`jax.jit`."""
    jax = harness.library("jax")
    x = jax.numpy.asarray(make_inputs()[0])
    compiled = jax.jit(polynomial)
    return lambda: jax.block_until_ready(compiled(x))


def prepare_torch(compiled: bool) -> harness.Call:
    """Two PyTorch operations, or the same through `torch.compile`."""
    torch = harness.library("torch")
    x = torch.from_numpy(make_inputs()[0])

    if not compiled:
        return lambda: polynomial(x)
    harness.require_cxx_compiler()
    function = torch.compile(polynomial, fullgraph=True)
    return lambda: function(x)


def workloads(threads: int) -> Iterator[harness.Workload]:
    """The one workload."""

    def gradir(reuse: bool) -> harness.Call:
        return harness.compiled_function("call_overhead.mlir", make_inputs(), threads, reuse)

    contenders = [
        harness.Contender("NumPy, 2 operations", prepare_numpy),
        harness.Contender("JAX jit", prepare_jax, "jax"),
        harness.Contender("PyTorch eager", lambda: prepare_torch(False), "torch"),
        harness.Contender("PyTorch torch.compile", lambda: prepare_torch(True), "torch"),
        harness.Contender("gradir", lambda: gradir(False), "gradir"),
        harness.Contender("gradir, out=", lambda: gradir(True), "gradir"),
    ]
    title = "Call overhead, x * x + x of 16 elements, f32"
    yield harness.Workload(title, contenders, reference="JAX jit")


if __name__ == "__main__":
    harness.main(workloads)
