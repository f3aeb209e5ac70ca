"""What a call costs beyond its arithmetic, and what a start costs beyond its imports.

A compiled function of 16 elements; and programs that are compiled, or were by an earlier start.
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


def workloads(threads: int) -> Iterator[harness.Workload]:
    """Calls; starts and compilations, with a folder for compiled code and without."""

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
