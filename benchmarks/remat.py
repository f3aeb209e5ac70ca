"""Memory and time of derivatives that recompute: stages, policies, memory limits, and long chains.

The peak is the arena that gradir plans, arguments and results aside; `growth` is that of the
process while the function runs, measured in a process of its own. JAX, if it is installed, gives
the temporary memory of its compiled program.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import harness
import numpy as np

MEGABYTE = 1e6
REPEATS = 5


# Programs.


class Writer:
    """Lines of one function; values are named by numbers."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.arguments: list[str] = []

    def argument(self, shape: Sequence[int], attributes: str = "") -> str:
        name = f"%x{len(self.arguments)}"
        self.arguments.append(f"{name}: {tensor(shape)}{attributes}")
        return name

    def op(self, text: str) -> str:
        name = f"%v{len(self.lines)}"
        self.lines.append(f"{name} = {text}")
        return name

    def unary(self, op: str, x: str, shape: Sequence[int], attributes: str = "") -> str:
        return self.op(f"{op} {x}{attributes} : {tensor(shape)}")

    def same(self, op: str, x: str, y: str, shape: Sequence[int]) -> str:
        return self.op(f"{op} {x}, {y} : {tensor(shape)}")

    def matmul(self, x: str, y: str, left: Sequence[int], right: Sequence[int]) -> str:
        result = tensor([*left[:-1], right[-1]])
        return self.op(f"array.matmul {x}, {y} : {tensor(left)}, {tensor(right)} -> {result}")

    def summed(self, x: str, shape: Sequence[int]) -> str:
        loss = self.op(f"array.sum {x} : {tensor(shape)} -> tensor<f32>")
        self.lines.append(f"func.return {loss} : tensor<f32>")
        body = "\n  ".join(self.lines)
        return f"func.func @main({', '.join(self.arguments)}) -> tensor<f32> {{\n  {body}\n}}\n"


def tensor(shape: Sequence[int]) -> str:
    return f"tensor<{''.join(f'{n}x' for n in shape)}f32>"


def mlp(rows: int = 4096, width: int = 256, layers: int = 16, per_layer: int = 3,
        stages: bool = False) -> str:  # fmt: skip
    """`layers` times `per_layer` of tanh(x @ w), the layers in checkpoint stages if asked for."""
    writer, shape, square = Writer(), (rows, width), (width, width)
    value = writer.argument(shape, " {grad.inactive}")
    weights = [writer.argument(square) for _ in range(layers * per_layer)]
    for layer in range(layers):
        if stages:
            value = writer.unary("grad.start_checkpoint", value, shape)
        for weight in weights[layer * per_layer : (layer + 1) * per_layer]:
            value = writer.unary("array.tanh", writer.matmul(value, weight, shape, square), shape)
        if stages:
            value = writer.unary("grad.end_checkpoint", value, shape)
    return writer.summed(value, shape)


def cnn(batch: int = 8, size: int = 32, channels: int = 16, blocks: int = 6) -> str:
    """Residual blocks of two 3 x 3 convolutions."""
    writer, shape = Writer(), (batch, channels, size, size)
    kernel = (channels, channels, 3, 3)
    value = writer.argument(shape, " {grad.inactive}")
    for _ in range(blocks):
        start = value
        for _ in range(2):
            weight = writer.argument(kernel)
            value = writer.op(
                f"nn.conv2d {value}, {weight} {{padding = 1}} : {tensor(shape)}, {tensor(kernel)}"
                f" -> {tensor(shape)}"
            )
            value = writer.unary("nn.relu", value, shape)
        value = writer.same("array.add", value, start, shape)
    return writer.summed(value, shape)


def transformer(batch: int = 4, length: int = 64, width: int = 64, blocks: int = 12) -> str:
    """Blocks of self attention of one head and of a gelu network, each with a skip connection."""
    writer, shape, flat = Writer(), (batch, length, width), (batch * length, width)
    value = writer.argument(shape, " {grad.inactive}")
    for _ in range(blocks):
        value = _feed_forward(writer, _attention(writer, value, shape, flat), shape, flat)
    return writer.summed(value, shape)


def _project(writer: Writer, x: str, flat: Sequence[int], width: int) -> str:
    square = (flat[-1], width)
    return writer.matmul(x, writer.argument(square), flat, square)


def _reshape(writer: Writer, x: str, source: Sequence[int], target: Sequence[int]) -> str:
    return writer.op(f"array.reshape {x} : {tensor(source)} -> {tensor(target)}")


def _attention(writer: Writer, x: str, shape: Sequence[int], flat: Sequence[int]) -> str:
    batch, length, width = shape
    rows = _reshape(writer, x, shape, flat)
    query, key, value = (
        _reshape(writer, _project(writer, rows, flat, width), flat, shape) for _ in range(3)
    )
    turned, scores = (batch, width, length), (batch, length, length)
    key = writer.op(
        f"array.permute_dims {key} {{axes = [0, 2, 1]}} : {tensor(shape)} -> {tensor(turned)}"
    )
    weights = writer.unary(
        "nn.softmax", writer.matmul(query, key, shape, turned), scores, " {axis = 2}"
    )
    mixed = _reshape(writer, writer.matmul(weights, value, scores, shape), shape, flat)
    out = _reshape(writer, _project(writer, mixed, flat, width), flat, shape)
    return writer.same("array.add", x, out, shape)


def _feed_forward(writer: Writer, x: str, shape: Sequence[int], flat: Sequence[int]) -> str:
    hidden = (flat[0], 4 * flat[1])
    rows = _reshape(writer, x, shape, flat)
    inner = writer.unary("nn.gelu", _project(writer, rows, flat, hidden[1]), hidden)
    out = _reshape(writer, _project(writer, inner, hidden, flat[1]), flat, shape)
    return writer.same("array.add", x, out, shape)


def chain(length: int, levels: Sequence[int]) -> str:
    """tanh(x @ w) again and again, in nested stages of the given lengths, outermost first."""
    writer, shape = Writer(), (32, 32)
    value, weight = writer.argument(shape), writer.argument(shape)
    for k in range(length):
        for size in levels:
            if k % size == 0:
                value = writer.unary("grad.start_checkpoint", value, shape)
        value = writer.unary("array.tanh", writer.matmul(value, weight, shape, shape), shape)
        for size in reversed(levels):
            if k % size == size - 1 or k == length - 1:
                value = writer.unary("grad.end_checkpoint", value, shape)
    return writer.summed(value, shape)


# Measurements.


def derived(text: str, **options: Any) -> Any:
    return harness.library("gradir").parse(text).gradient("main", mode="grad", **options)


def compiled(text: str, **options: Any) -> Any:
    return harness.library("gradir").compile(derived(text, **options), "main_grad")


def inputs_of(function: Any) -> list[Any]:
    random = np.random.default_rng(0)
    arrays: list[Any] = [random.standard_normal(s.shape, dtype=np.float32) for s in function.inputs]
    return [a / np.float32(max(a.shape[-1], 1) ** 0.5) for a in arrays]


def seconds(functions: Sequence[Any]) -> list[float]:
    """The best time of each; they run in turns, so that a noisy moment falls on all alike."""
    inputs = inputs_of(functions[0])
    outs = [f(*inputs) for f in functions]
    times: list[list[float]] = [[] for _ in functions]
    for _ in range(REPEATS):
        for function, out, found in zip(functions, outs, times, strict=True):
            begin = time.perf_counter()
            function(*inputs, out=list(out))
            found.append(time.perf_counter() - begin)
    return [min(found) for found in times]


def growth(stages: bool) -> float:
    """Bytes by which a fresh process grows in the first call of the network's derivative."""
    script = (
        "import sys; sys.path.insert(0, sys.argv[1]); import remat\n"
        f"f = remat.compiled(remat.mlp(stages={stages})); x = remat.inputs_of(f)\n"
        "out = [remat.buffer(r) for r in f.results]\n"
        "before = remat.reset_peak(); f(*x, out=out); print(remat.status('VmHWM') - before)"
    )
    command = [sys.executable, "-c", script, str(Path(__file__).parent)]
    return float(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def buffer(spec: Any) -> Any:
    """An array for a result, on memory that has been touched."""
    return np.ones(spec.shape, spec.dtype)


def reset_peak() -> int:
    """Let the peak begin at what this process has in memory now, in bytes."""
    Path("/proc/self/clear_refs").write_text("5")
    return status("VmRSS")


def status(field: str) -> int:
    """Bytes that Linux tells of this process."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(field))


def jax_bytes(stages: bool, layers: int = 16, per_layer: int = 3) -> int | None:
    """The temporary memory that JAX plans for the network; None without JAX."""
    try:
        jax = harness.library("jax")
    except ImportError:
        return None
    jnp = harness.library("jax.numpy")

    def layer(x: Any, weights: Any) -> Any:
        for weight in weights:
            x = jnp.tanh(x @ weight)
        return x

    step = jax.checkpoint(layer) if stages else layer

    def loss(weights: Any, x: Any) -> Any:
        for k in range(layers):
            x = step(x, weights[k * per_layer : (k + 1) * per_layer])
        return x.sum()

    x = jnp.zeros((4096, 256), jnp.float32)
    weights = [jnp.zeros((256, 256), jnp.float32)] * (layers * per_layer)
    lowered = jax.jit(jax.value_and_grad(loss)).lower(weights, x).compile()
    return int(lowered.memory_analysis().temp_size_in_bytes)


# Tables.


def stages_table() -> None:
    """16 layers of 3 x tanh(x @ w), x 4096 x 256."""
    print("## 16 layers of 3 x tanh(x @ w), x 4096 x 256 f32\n")
    print("| | peak MB | time | process growth MB | JAX peak MB |\n|---|---|---|---|---|")
    functions = [compiled(mlp(stages=stages)) for stages in (False, True)]
    times = seconds(functions)
    for stages, function, taken in zip((False, True), functions, times, strict=True):
        peer = jax_bytes(stages)
        shown = "-" if peer is None else f"{peer / MEGABYTE:.1f}"
        print(
            f"| {'a stage each layer' if stages else 'keep_all'} "
            f"| {function.plan.peak_bytes / MEGABYTE:.1f} | {taken / times[0]:.2f} "
            f"| {growth(stages) / MEGABYTE:.1f} | {shown} |"
        )


def sweep_table(title: str, text: str, count: int) -> None:
    """Memory limits from the minimum to what keep_all takes."""
    everything = compiled(text)
    least, most = minimum(text), everything.plan.peak_bytes
    print(f"\n## {title}: keep_all {most / MEGABYTE:.2f} MB, minimum {least / MEGABYTE:.2f} MB\n")
    print("| limit MB | of keep_all | peak MB | time | plan s |\n|---|---|---|---|---|")
    rows: list[tuple[int, Any, float]] = []
    for k in range(count):
        limit = least + (most - least) * k // max(count - 1, 1)
        begin = time.perf_counter()
        function = compiled(text, memory_limit=limit)
        rows.append((limit, function, time.perf_counter() - begin))
    times = seconds([everything, *(function for _, function, _ in rows)])
    for (limit, function, planning), taken in zip(rows, times[1:], strict=True):
        print(
            f"| {limit / MEGABYTE:.2f} | {limit / most:.0%} | "
            f"{function.plan.peak_bytes / MEGABYTE:.2f} | {taken / times[0]:.2f} | {planning:.1f} |"
        )


def minimum(text: str) -> int:
    """The smallest memory limit, which the refusal of a smaller one names."""
    try:
        return compiled(text, memory_limit=0).plan.peak_bytes
    except harness.library("gradir").GradirError as error:
        return int(str(error).split("minimum is ")[1].split()[0])


def chain_table(length: int) -> None:
    """A long chain in stages, and in stages of stages."""
    print(f"\n## {length} layers of tanh(x @ w), x 32 x 32 f32\n")
    print("| stages | peak, in values | runs of each layer |\n|---|---|---|")
    root = round(length**0.5)
    nested = [4**k for k in range(1, 6) if 4**k <= length][::-1]
    for name, levels in (("none", []), (f"of {root}", [root]), ("nested, 4 in 1", nested)):
        module = derived(chain(length, levels))
        peak = harness.library("gradir").compile(module, "main_grad").plan.peak_bytes
        [function] = [f for f in module.op.ops if f.sym_name.data == "main_grad"]
        runs = sum(op.name == "array.tanh" for op in function.walk()) / length
        print(f"| {name} | {peak / (32 * 32 * 4):.0f} | {runs:.1f} |")


def tables(quick: bool) -> Sequence[Callable[[], None]]:
    count = 6 if quick else 20
    rows = 512 if quick else 4096
    return (
        stages_table,
        lambda: sweep_table("The same network", mlp(rows=rows), count),
        lambda: sweep_table("CNN of 6 residual blocks", cnn(), count),
        lambda: sweep_table("Transformer of 12 blocks", transformer(), count),
        lambda: chain_table(256 if quick else 1024),
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer limits, smaller networks")
    parser.add_argument("--only", type=int, help="the number of one table, from 0")
    options = parser.parse_args()
    for number, table in enumerate(tables(options.quick)):
        if options.only in (None, number):
            table()


if __name__ == "__main__":
    main()
