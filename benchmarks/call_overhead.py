"""What a call costs beyond its arithmetic, and what a start costs beyond its imports.

Compiled and jitted functions of 16 elements, nested arguments, gradients; and programs that are
compiled, or were by an earlier start.
"""

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import harness
import numpy as np
import remat

START = """
import sys
import numpy as np
import gradir
import gradir.compiler.kept_code
module = gradir.parse(sys.argv[1])
if sys.argv[2] == "run":
    function = gradir.compile(module.gradient("main", mode="grad"), "main_grad")
    function(*(np.zeros(spec.shape, spec.dtype) for spec in function.inputs))
"""


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


def start(what: str, folder: Path | None) -> harness.Call:
    """A process that imports gradir, and may run value and gradient of a network once."""
    command = [sys.executable, "-c", START, str(harness.PROGRAMS / "mlp.mlir"), what]
    return lambda: subprocess.run(command, env=environment(folder), check=True)


def environment(folder: Path | None) -> dict[str, str]:
    """The environment with a folder for compiled code, or without any."""
    kept = {"GRADIR_CACHE": "0"}
    if folder is not None:
        kept = {"GRADIR_CACHE": "1", "GRADIR_CACHE_DIR": str(folder)}
    return os.environ | kept


def compilation(folder: Path | None, threads: int) -> harness.Call:
    """gradir.compile of the gradient of a transformer."""
    gradir = harness.library("gradir")
    module = gradir.parse(remat.transformer()).gradient("main", mode="grad")

    def call() -> None:
        os.environ.update(environment(folder))
        gradir.compile(module, "main_grad", threads=threads)

    return call


def prepare_gradir_jit() -> harness.Call:
    """`gradir.jit`."""
    gradir = harness.library("gradir")
    (x,), compiled = make_inputs(), gradir.jit(polynomial)
    return lambda: compiled(x)


LAYERS = 30


def sum_of_layers(layers: dict[str, dict[str, Any]]) -> Any:
    """A number from a nested argument of two small arrays per layer."""
    return sum((layer["w"] * layer["b"]).sum() for layer in layers.values())


def prepare_nested(name: str) -> harness.Call:
    """A library's `jit` of a function of 60 arrays in dicts."""
    module = harness.library(name)
    array = harness.library("jax.numpy").asarray if name == "jax" else np.asarray
    ones = np.ones(4, np.float32)
    layers = {f"layer{k}": {"w": array(ones * k), "b": array(ones)} for k in range(LAYERS)}
    compiled = module.jit(sum_of_layers)
    if name == "jax":
        return lambda: module.block_until_ready(compiled(layers))
    return lambda: compiled(layers)


def sum_of_polynomial(x: Any) -> Any:
    """The function that is differentiated."""
    return polynomial(x).sum()


def prepare_gradient(name: str, kept: bool) -> harness.Call:
    """A library's gradient function, compiled and kept, or asked for at each call."""
    module = harness.library(name)
    (x,) = make_inputs()
    if name == "jax":
        x = harness.library("jax.numpy").asarray(x)
    if not kept:
        return lambda: module.grad(sum_of_polynomial)(x)
    gradient = module.grad(sum_of_polynomial)
    compiled = module.jit(gradient) if name == "jax" else gradient
    return lambda: compiled(x)


def prepare_eager(name: str) -> harness.Call:
    """One function of a library's `numpy` module, outside of traced functions."""
    module = harness.library({"NumPy": "numpy"}.get(name, f"{name}.numpy"))
    (x,) = make_inputs()
    if name == "jax":
        x = module.asarray(x)
    return lambda: module.sin(x)


def workloads(threads: int) -> Iterator[harness.Workload]:
    """Calls with one array, with nested arguments, of gradients; starts and compilations."""

    def gradir(reuse: bool) -> harness.Call:
        return harness.compiled_function("call_overhead.mlir", make_inputs(), threads, reuse)

    contenders = [
        harness.Contender("NumPy, 2 operations", prepare_numpy),
        harness.Contender("JAX jit", prepare_jax, "jax"),
        harness.Contender("PyTorch eager", lambda: prepare_torch(False), "torch"),
        harness.Contender("PyTorch torch.compile", lambda: prepare_torch(True), "torch"),
        harness.Contender("gradir", lambda: gradir(False), "gradir"),
        harness.Contender("gradir, out=", lambda: gradir(True), "gradir"),
        harness.Contender("gradir jit", prepare_gradir_jit, "gradir"),
    ]
    title = "Call overhead, x * x + x of 16 elements, f32"
    yield harness.Workload(title, contenders, reference="JAX jit")
    contenders = [
        harness.Contender("JAX jit", lambda: prepare_nested("jax"), "jax"),
        harness.Contender("gradir jit", lambda: prepare_nested("gradir"), "gradir"),
    ]
    title = f"Call overhead, a number from {2 * LAYERS} arrays of 4 elements in dicts, f32"
    yield harness.Workload(title, contenders, reference="JAX jit")
    contenders = [
        harness.Contender("JAX, kept", lambda: prepare_gradient("jax", True), "jax"),
        harness.Contender("JAX, at each call", lambda: prepare_gradient("jax", False), "jax"),
        harness.Contender("gradir, kept", lambda: prepare_gradient("gradir", True), "gradir"),
        harness.Contender(
            "gradir, at each call", lambda: prepare_gradient("gradir", False), "gradir"
        ),
    ]
    title = "Call overhead, gradient of a sum of 16 elements, f32"
    yield harness.Workload(title, contenders, reference="JAX, kept")
    contenders = [
        harness.Contender("NumPy", lambda: prepare_eager("NumPy")),
        harness.Contender("JAX", lambda: prepare_eager("jax"), "jax"),
        harness.Contender("gradir", lambda: prepare_eager("gradir"), "gradir"),
    ]
    title = "Call overhead, sin of 16 elements outside of a trace, f32"
    yield harness.Workload(title, contenders, reference="NumPy")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "cache"
        contenders = [
            harness.Contender("import gradir, and parse", lambda: start("parse", folder)),
            harness.Contender("and compile, and run", lambda: start("run", None)),
            harness.Contender("and load from disk, and run", lambda: start("run", folder)),
        ]
        title = "Start of a process, network 784-256-256-10: value and gradient"
        yield harness.Workload(title, contenders, contenders[0].name, tolerance=None)
        contenders = [
            harness.Contender("gradir.compile", lambda: compilation(None, threads)),
            harness.Contender("from disk", lambda: compilation(folder, threads)),
        ]
        title = "Compilation of a transformer's gradient, 1,200 ops"
        yield harness.Workload(title, contenders, contenders[0].name, tolerance=None)


if __name__ == "__main__":
    harness.main(workloads)
