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
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import harness
import numpy as np

MEGABYTE = 1e6
# So many pairs of calls are timed, more while a table has taken less than so many seconds.
LEAST_PAIRS, MOST_PAIRS, TABLE_SECONDS = 3, 100, 10.0


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


def elementwise(rows: int = 1024, width: int = 512, layers: int = 8) -> str:
    """layer_norm, gelu, a product with a weight, softmax and a skip connection, again and again."""
    writer, shape = Writer(), (rows, width)
    value = writer.argument(shape)
    for _ in range(layers):
        start = value
        kind = tensor(shape)
        value = writer.op(f"nn.layer_norm {value} : {kind} -> {kind}")
        value = writer.unary("nn.gelu", value, shape)
        value = writer.same("array.multiply", value, writer.argument(shape), shape)
        value = writer.unary("nn.softmax", value, shape, " {axis = 1}")
        value = writer.same("array.add", value, start, shape)
    return writer.summed(value, shape)


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


@dataclass
class Timing:
    """Seconds of a function and of the one that it is compared with, in turns."""

    own: list[float] = field(default_factory=list[float])
    reference: list[float] = field(default_factory=list[float])

    @property
    def ratio(self) -> float:
        """The fastest of each: what slows down a call is other work on the machine."""
        return min(self.own) / min(self.reference)


def timings(reference: Any, functions: Sequence[Any]) -> list[Timing]:
    """The times of each function beside those of `reference`, which runs before each of its calls.

    Results go to the same buffers, and arenas lie in memory that was touched: pages that are fresh
    take longer than many a recomputation.
    """
    inputs = inputs_of(reference)
    out = [buffer(result) for result in reference.results]
    for function in (reference, *functions):
        function(*inputs, out=out)
    found = [Timing() for _ in functions]
    begin = time.perf_counter()
    while len(found[0].own) < LEAST_PAIRS or (
        len(found[0].own) < MOST_PAIRS and time.perf_counter() - begin < TABLE_SECONDS
    ):
        for function, timing in zip(functions, found, strict=True):
            for called, taken in ((reference, timing.reference), (function, timing.own)):
                start = time.perf_counter()
                called(*inputs, out=out)
                taken.append(time.perf_counter() - start)
    return found


def flops_of(module: Any) -> int:
    """What a derivative computes, as the cost model counts it."""
    costs = harness.library("gradir.passes.recompute.costs").Costs()
    return sum(costs.of(op).flops for op in function_of(module).body.block.ops)


def function_of(module: Any) -> Any:
    [function] = [f for f in module.op.ops if f.sym_name.data == "main_grad"]
    return function


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
    times = timings(functions[0], functions)
    for stages, function, timing in zip((False, True), functions, times, strict=True):
        peer = jax_bytes(stages)
        shown = "-" if peer is None else f"{peer / MEGABYTE:.1f}"
        print(
            f"| {'a stage each layer' if stages else 'keep_all'} "
            f"| {function.plan.peak_bytes / MEGABYTE:.1f} | {timing.ratio:.2f} "
            f"| {growth(stages) / MEGABYTE:.1f} | {shown} |"
        )


@dataclass(frozen=True)
class Planned:
    """A derivative within a limit, and what share of keep_all's flops it computes beyond them."""

    limit: int
    module: Any
    recomputed: float
    seconds: float

    @property
    def text(self) -> str:
        """Its operations: limits that lead to the same plan have the same."""
        return str(function_of(self.module)).replace(f"memory_limit = {self.limit} ", "")


def sweep_table(title: str, text: str, count: int) -> None:
    """Memory limits from the minimum to what keep_all takes, and the policies."""
    everything = compiled(text)
    least, most = minimum(text), everything.plan.peak_bytes
    print(f"\n## {title}: keep_all {most / MEGABYTE:.2f} MB, minimum {least / MEGABYTE:.2f} MB\n")
    print("| limit MB | of keep_all | peak MB | time | recomputed flops | plan s |")
    print("|---|---|---|---|---|---|")
    limits = {least + (most - least) * k // max(count - 1, 1) for k in range(count)}
    if least <= most // 2:
        limits.add(most // 2)
    total = flops_of(derived(text))
    rows = [planned(text, limit, total) for limit in sorted(limits)]
    compile_ = harness.library("gradir").compile
    functions = {row.text: compile_(row.module, "main_grad") for row in rows}
    found = dict(zip(functions, timings(everything, [*functions.values()]), strict=True))
    times = [found[row.text] for row in rows]
    for row, timing in zip(rows, times, strict=True):
        peak = functions[row.text].plan.peak_bytes
        print(
            f"| {row.limit / MEGABYTE:.2f} | {row.limit / most:.0%} | {peak / MEGABYTE:.2f} | "
            f"{timing.ratio:.2f} | {row.recomputed:.1%} | {row.seconds:.1f} |"
        )
    print()
    print(overhead_at_half(most, rows, times), flush=True)
    policies_table(text, everything)


def planned(text: str, limit: int, total: int) -> Planned:
    """The derivative within a limit; `total` are keep_all's flops."""
    begin = time.perf_counter()
    module = derived(text, memory_limit=limit)
    taken = time.perf_counter() - begin
    return Planned(limit, module, flops_of(module) / total - 1, taken)


def overhead_at_half(most: int, rows: Sequence[Planned], times: Sequence[Timing]) -> str:
    """A sentence on the largest limit that is at most half of keep_all's peak."""
    half = [(row, timing) for row, timing in zip(rows, times, strict=True) if 2 * row.limit <= most]
    if not half:
        return "Half of keep_all's peak is below the minimum."
    row, timing = half[-1]
    return (
        f"At {row.limit / most:.0%} of keep_all's peak: {timing.ratio - 1:.0%} more time, "
        f"{row.recomputed:.1%} more flops."
    )


def elementwise_table(rows: int) -> None:
    """The policies on a program without contractions."""
    text = elementwise(rows)
    everything = compiled(text)
    peak = everything.plan.peak_bytes / MEGABYTE
    print(f"\n## 8 layers of layer_norm, gelu, softmax: keep_all {peak:.2f} MB")
    policies_table(text, everything)


def policies_table(text: str, everything: Any) -> None:
    """Peak and time of each policy beside keep_all."""
    print("\n| policy | peak MB | of keep_all | time |\n|---|---|---|---|")
    names = sorted(harness.library("gradir.dialects.grad.policies").POLICIES)
    functions = [compiled(text, policy=name) for name in names]
    for name, function, timing in zip(
        names, functions, timings(everything, functions), strict=True
    ):
        peak = function.plan.peak_bytes
        share = peak / max(everything.plan.peak_bytes, 1)
        print(f"| {name} | {peak / MEGABYTE:.2f} | {share:.0%} | {timing.ratio:.2f} |", flush=True)


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
    for name, levels in (("none", nested[:0]), (f"of {root}", [root]), ("nested, 4 in 1", nested)):
        module = derived(chain(length, levels))
        peak = harness.library("gradir").compile(module, "main_grad").plan.peak_bytes
        runs = sum(op.name == "array.tanh" for op in function_of(module).walk()) / length
        print(f"| {name} | {peak / (32 * 32 * 4):.0f} | {runs:.1f} |")


def tables(quick: bool) -> Sequence[Callable[[], None]]:
    count = 6 if quick else 20
    rows = 512 if quick else 4096
    return (
        stages_table,
        lambda: sweep_table(f"The same network, {rows} rows", mlp(rows=rows), count),
        lambda: sweep_table("CNN of 6 residual blocks", cnn(), count),
        lambda: sweep_table("Transformer of 12 blocks", transformer(), count),
        lambda: elementwise_table(rows // 4),
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
