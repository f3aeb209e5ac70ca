"""A 1024 x 1024 x 1024 matrix product in f32, on one thread and on two, by both of its texts, and
with factors rounded to bf16."""

from collections.abc import Iterator
from typing import Any

import harness
import numpy as np

SIZE = 1024


def make_inputs() -> list[np.ndarray[Any, Any]]:
    """Two square matrices."""
    random = np.random.default_rng(0)
    return [random.standard_normal((SIZE, SIZE), dtype=np.float32) for _ in range(2)]


def prepare_numpy() -> harness.Call:
    """NumPy's BLAS, into one buffer."""
    a, b = make_inputs()
    out = np.empty_like(a)
    return lambda: np.matmul(a, b, out=out)


def prepare_jax() -> harness.Call:
    """`jax.jit` of the product."""
    jax = harness.library("jax")
    a, b = (jax.numpy.asarray(array) for array in make_inputs())
    compiled = jax.jit(jax.numpy.matmul)
    return lambda: jax.block_until_ready(compiled(a, b))


def prepare_torch() -> harness.Call:
    """PyTorch, into one buffer."""
    torch = harness.library("torch")
    a, b = (torch.from_numpy(array) for array in make_inputs())
    out = torch.empty_like(a)
    return lambda: torch.mm(a, b, out=out)


def prepare_torch_bf16() -> harness.Call:
    """PyTorch's product of float32 arrays by bfloat16: converted, multiplied, converted."""
    torch = harness.library("torch")
    a, b = (torch.from_numpy(array) for array in make_inputs())
    return lambda: torch.mm(a.bfloat16(), b.bfloat16()).float()


def workloads(threads: int) -> Iterator[harness.Workload]:
    """The product beside others', and written as a `linalg.generic` beside `array.matmul`."""

    def gradir(reuse: bool, program: str = "matmul.mlir") -> harness.Call:
        return harness.compiled_function(program, make_inputs(), threads, reuse)

    contenders = [
        harness.Contender("NumPy, out=", prepare_numpy),
        harness.Contender("JAX jit", prepare_jax, "jax"),
        harness.Contender("PyTorch eager, out=", prepare_torch, "torch"),
        harness.Contender("gradir", lambda: gradir(False), "gradir"),
        harness.Contender("gradir, out=", lambda: gradir(True), "gradir"),
    ]
    title = f"Matrix product {SIZE} x {SIZE} x {SIZE}, f32"
    yield harness.Workload(title, contenders, reference="NumPy, out=")
    written = [
        harness.Contender("array.matmul", lambda: gradir(True), "gradir"),
        harness.Contender("linalg.generic", lambda: gradir(True, "linalg_matmul.mlir"), "gradir"),
    ]
    # no tolerance: their bits are the same
    yield harness.Workload(f"{title}, by its text", written, "array.matmul", tolerance=0.0)
    rounded = [
        harness.Contender("gradir, f32", lambda: gradir(True), "gradir"),
        harness.Contender("gradir, bf16", lambda: gradir(True, "matmul_bf16.mlir"), "gradir"),
        harness.Contender("PyTorch eager, bf16", prepare_torch_bf16, "torch"),
    ]
    # the results of bf16 are others
    yield harness.Workload(f"{title}, precision bf16", rounded, "gradir, f32", tolerance=None)


if __name__ == "__main__":
    harness.main(workloads, threads=(1, 2))
