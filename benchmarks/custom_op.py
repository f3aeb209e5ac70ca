"""A chain of 100 calls of Python or native functions in one program: what a call costs.

Each function copies 16 numbers. A call of NumPy's copy in a Python loop is the work itself. Then
two calls that sleep, at the same time or one after the other.
"""

import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import harness
import numpy as np

CALLS = 100
SECONDS = 0.05
Array = np.ndarray[Any, Any]


def make_inputs() -> list[Array]:
    """The one argument."""
    return [np.linspace(-1, 1, 16)]


def copy(inputs: tuple[Array, ...], outputs: tuple[Array, ...], req: tuple[str, ...]) -> None:
    """The forward function."""
    outputs[0][...] = inputs[0]


def copy_back(
    cotangents: tuple[Array, ...], inputs: None, outputs: None, grads: tuple[Array, ...], req: Any
) -> None:
    """The backward function."""
    grads[0][...] = cotangents[0]


def same(x: Any) -> Any:
    """The shape rule."""
    return x


def copied(x: Array) -> Array:
    """The same as a plain host function."""
    return x


def prepare_numpy() -> harness.Call:
    """The copies alone."""
    (x,) = make_inputs()

    def run() -> Array:
        y = x
        for _ in range(CALLS):
            out = np.empty_like(y)
            copy((y,), (out,), ("write",))
            y = out
        return y

    return run


def prepare_host_function(threads: int) -> harness.Call:
    """`gradir.register_host_function`."""
    import gradir

    gradir.register_host_function("copied", copied)
    lines = [
        f'%y{k + 1} = grad.host_call %y{k} {{callee = "copied"}} : (T) -> T' for k in range(CALLS)
    ]
    text = f"func.func @f(%y0: T) -> T {{\n{chr(10).join(lines)}\nfunc.return %y{CALLS} : T\n}}"
    module = gradir.parse(text.replace("T", "tensor<16xf64>"))
    (x,) = make_inputs()
    fn = gradir.compile(module, "f", threads)
    return lambda: fn(x)[0]


def prepare_custom_op(threads: int, differentiate: bool, **options: Any) -> harness.Call:
    """`gradir.custom_op`."""
    import gradir

    op = gradir.custom_op(copy, same, copy_back, needs=("cotangents",), **options)
    return prepare_chain(op, threads, differentiate)


def prepare_chain(op: Any, threads: int, differentiate: bool) -> harness.Call:
    """A chain of calls of an op; differentiated, half of them are backward."""
    import gradir

    (x,) = make_inputs()

    def chain(x: Any) -> Any:
        for _ in range(CALLS // 2 if differentiate else CALLS):
            x = op(x)
        return x

    module = gradir.trace(chain, x)
    if not differentiate:
        fn = gradir.compile(module, "chain", threads)
        return lambda: fn(x)[0]
    both = gradir.compile(module.gradient("chain", mode="vjp"), "chain_vjp", threads)
    return lambda: both(x, x)[1]


SOURCE = """
#include "gradir_op.h"
#include <string.h>

int32_t copy(const gradir_call *call) {
    const gradir_array *x = &call->inputs[0];
    memcpy(call->outputs[0].data, x->data, (size_t)x->size * sizeof(double));
    return 0;
}

int32_t copy_back(const gradir_call *call) {
    const gradir_array *ct = &call->cotangents[0];
    memcpy(call->grads[0].data, ct->data, (size_t)ct->size * sizeof(double));
    return 0;
}
"""


def prepare_native(threads: int, differentiate: bool) -> harness.Call:
    """The same functions in C: `gradir.native`."""
    import gradir

    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if compiler is None:
        raise harness.UnavailableError("no C compiler")
    with tempfile.TemporaryDirectory() as folder:
        source, library = Path(folder) / "copy.c", Path(folder) / "copy.so"
        source.write_text(SOURCE)
        options = "-O2", "-shared", "-fPIC", f"-I{gradir.include_dir()}"
        subprocess.run([compiler, *options, source, "-o", library], check=True)
        forward, backward = (gradir.native(library, name) for name in ("copy", "copy_back"))
    op = gradir.custom_op(forward, same, backward, needs=("cotangents",), pure=True)
    return prepare_chain(op, threads, differentiate)


def sleep(inputs: tuple[Array, ...], outputs: tuple[Array, ...], req: tuple[str, ...]) -> None:
    """A function that waits for something else."""
    time.sleep(SECONDS)
    outputs[0][...] = inputs[0]


def prepare_sleeps(threads: int, exec: Any) -> harness.Call:
    """Two calls without data between them."""
    import gradir

    op = gradir.custom_op(sleep, same, exec=exec)
    (x,) = make_inputs()

    def both(x: Any) -> Any:
        return op(x) + op(-x)

    fn = gradir.jit(both, threads=threads)
    return lambda: fn(x)


def workloads(threads: int) -> Iterator[harness.Workload]:
    """Calls that do little, and calls that wait."""
    contenders = [
        harness.Contender("NumPy", prepare_numpy),
        harness.Contender("host function", lambda: prepare_host_function(threads), "gradir"),
        harness.Contender("custom op", lambda: prepare_custom_op(threads, False), "gradir"),
        harness.Contender(
            "half of them backward", lambda: prepare_custom_op(threads, True), "gradir"
        ),
        harness.Contender("debug", lambda: prepare_custom_op(threads, False, debug=True), "gradir"),
        harness.Contender(
            "async", lambda: prepare_custom_op(threads, False, exec="async"), "gradir"
        ),
        harness.Contender("native functions", lambda: prepare_native(threads, False), "gradir"),
        harness.Contender("native, half backward", lambda: prepare_native(threads, True), "gradir"),
    ]
    title = f"{CALLS} calls of Python or native functions, copies of 16 elements, f64"
    yield harness.Workload(title, contenders, reference="NumPy")
    sleeps = [
        harness.Contender(exec, lambda exec=exec: prepare_sleeps(threads, exec), "gradir")
        for exec in ("sync", "async")
    ]
    title = f"Two calls of Python functions that sleep for {1000 * SECONDS:g} ms"
    yield harness.Workload(title, sleeps, reference="sync")


if __name__ == "__main__":
    harness.main(workloads)
