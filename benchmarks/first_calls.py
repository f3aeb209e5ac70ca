"""First calls: seconds from a Python function to its first result, in new processes.

A process imports its library, and arrays of NumPy; then the clock starts: `jit` of value and
gradient, and one call. So the modules that a first compilation loads count. gradir and JAX take
turns; the table has medians, their ratio, and LLVM's part of gradir's time, summed over threads.

    .venv/bin/python benchmarks/first_calls.py [--only TEXT ...] [--rounds N]
"""

from __future__ import annotations

import argparse
import json
import math
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import harness
import numpy as np
from rows import loops, networks, sweeps, training
from rows.libraries import Model, in_gradir, in_jax
from rows.timing import llvm_seconds

THREADS = 2
LONGEST = 60
"""The seconds after which a process is ended."""
CHAIN, LAYERS, TERMS, ODE_STEPS = 1000, 250, 1000, 1000
GRID, HEAT_STEPS = 32, 100
LIBRARIES = ("gradir", "jax")
STARTS = {"gradir": "import gradir, gradir.numpy, gradir.nn", "jax": "import jax, jax.numpy"}


# Programs that no other benchmark has, by the names that all libraries share.


def tiny(xp: Any, x: Any) -> Any:
    return (xp.sin(x) * x).sum()


def chain(xp: Any, x: Any) -> Any:
    """A thousand operations, each of the one before."""
    y = -x
    for k in range(1, CHAIN):
        y = (y + x, xp.tanh(y), y * x)[k % 3]
    return y.sum()


def layers(xp: Any, y: Any, *weights: Any) -> Any:
    """A thousand operations in equal layers with weights of their own."""
    for w, b in zip(weights[::2], weights[1::2], strict=True):
        y = xp.tanh(y @ w + b) + y
    return y.sum()


def terms(xp: Any, x: Any) -> Any:
    """A thousand sums and products."""
    y = x
    for k in range(TERMS):
        y = y * x if k % 2 else y + x
    return y.sum()


def heat(xp: Any, y: Any) -> Any:
    """Steps of the heat equation, unrolled."""
    for _ in range(HEAT_STEPS):
        near = xp.roll(y, 1, 0) + xp.roll(y, -1, 0) + xp.roll(y, 1, 1) + xp.roll(y, -1, 1)
        y = y + 0.1 * (near - 4 * y)
    return (y * y).sum()


def scanned_heat(xp: Any, y: Any) -> Any:
    """The same in a loop."""

    def step(y: Any, _: Any) -> Any:
        near = xp.roll(y, 1, 0) + xp.roll(y, -1, 0) + xp.roll(y, 1, 1) + xp.roll(y, -1, 1)
        return y + 0.1 * (near - 4 * y), None

    y = xp.scan(step, y, None, HEAT_STEPS)[0]
    return (y * y).sum()


def ode(xp: Any, y: Any, w: Any) -> Any:
    """A scalar equation by Euler's method."""

    def step(y: Any, _: Any) -> Any:
        return y + 1e-4 * (w * xp.sin(y) - y), None

    return xp.scan(step, y, None, ODE_STEPS)[0]


def leaves(xp: Any, *xs: Any) -> Any:
    """A loop of 60 numbers."""

    def step(xs: Any, _: Any) -> Any:
        after = (*xs[1:], xs[0])
        return tuple(x + 1e-2 * (xp.sin(y) - x) for x, y in zip(xs, after, strict=True)), None

    return sum(xp.scan(step, xs, None, loops.SCANNED)[0])


def checkpointed(xp: Any, x: Any, *weights: Any) -> Any:
    """Blocks of two layers, each recomputed in the backward pass."""

    @xp.checkpoint
    def block(x: Any, one: Any, other: Any) -> Any:
        return x + xp.tanh(xp.tanh(x @ one) @ other)

    for one, other in zip(weights[::2], weights[1::2], strict=True):
        x = block(x, one, other)
    return (x * x).mean()


def transformer(xp: Any, *given: Any) -> Any:
    names = list(training.transformer()[0])
    params = dict(zip(names, given[: len(names)], strict=True))
    return training.transformer_loss(xp, params, *given[len(names) :])


def transformer_inputs() -> list[Any]:
    params, inputs = training.transformer()
    return [*params.values(), *inputs]


def numbers(count: int) -> list[Any]:
    return list(np.linspace(0.1, 1, count))


def squares(count: int, side: int, rows: int) -> list[Any]:
    return networks.normal((rows, side), *[(side, side)] * count)


def layer_inputs() -> list[Any]:
    return networks.normal((16, 32), *[(32, 32), (16, 32)] * LAYERS)


def small_matrix(count: int) -> list[Any]:
    return networks.normal(*[(256, 256)] * count)


@dataclass(frozen=True)
class FirstCall:
    """A model, its inputs, and the arguments whose gradient is taken."""

    name: str
    model: Model
    inputs: Callable[[], Sequence[Any]]
    wrt: Sequence[int] = (0,)


ROWS = (
    # modules that a first compilation loads count here, and in all other rows
    FirstCall("tiny function", tiny, lambda: numbers(16)[:1]),
    FirstCall("softmax", sweeps.weighted_softmax, lambda: small_matrix(2)),
    FirstCall("logsumexp", sweeps.summed_logsumexp, lambda: small_matrix(1)),
    FirstCall("Black-Scholes", sweeps.mean_price, lambda: [x[:4096] for x in sweeps.options()],
              range(5)),
    FirstCall("Gaussian mixture", sweeps.mixture, sweeps.mixture_inputs, range(4)),
    FirstCall("MLP", networks.mlp, networks.mlp_inputs, range(2, 8)),
    FirstCall("layer_norm MLP", networks.norm_mlp, networks.norm_mlp_inputs, range(1, 5)),
    FirstCall("convolution 3 x 3", networks.conv, networks.conv_inputs, (0, 1)),
    FirstCall("ResNet", networks.resnet_of(0), networks.resnet_inputs, networks.RESNET_WRT),
    FirstCall("attention t128", networks.attention_of(True),
              lambda: networks.attention_inputs(8, 128), (0, 1, 2)),
    FirstCall("attention t1024", networks.attention_of(False),
              lambda: networks.attention_inputs(1, 1024), (0, 1, 2)),
    FirstCall("encoder block", networks.encoder, networks.encoder_inputs, range(1, 11)),
    FirstCall("transformer, 2 layers", transformer, transformer_inputs,
              range(len(training.transformer()[0]))),
    FirstCall("LSTM, scanned", networks.lstm, networks.lstm_inputs, range(1, 5)),
    FirstCall("checkpointed net", checkpointed, lambda: squares(16, 64, 32), range(17)),
    FirstCall("scalar ODE", ode, lambda: numbers(2), (0, 1)),
    FirstCall("loop of 60 leaves", leaves, lambda: numbers(loops.LEAVES), range(loops.LEAVES)),
    FirstCall("heat equation, scanned", scanned_heat, lambda: networks.normal((GRID, GRID))),
    FirstCall("heat equation, unrolled", heat, lambda: networks.normal((GRID, GRID))),
    FirstCall("chain of 1,000", chain, lambda: networks.normal((16,))),
    FirstCall("1,000 elementwise ops", terms, lambda: networks.normal((16,))),
    FirstCall("equal layers, 1,000 ops", layers, layer_inputs, range(1, 2 * LAYERS + 1)),
)  # fmt: skip


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", nargs="+", metavar="TEXT", help="rows with this in their names")
    parser.add_argument("--rounds", type=int, default=3, help="processes of each contender")
    parser.add_argument("--libraries", nargs="+", default=LIBRARIES, choices=LIBRARIES)
    parser.add_argument("--child", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        print(json.dumps(measure(*json.loads(options.child))))
        return 0
    ratios = [table_line(row, options) for row in chosen_rows(options.only)]
    known = [ratio for ratio in ratios if ratio is not None]
    if known:
        mean = math.exp(statistics.fmean(map(math.log, known)))
        at_most = sum(ratio <= 1 for ratio in known)
        print(f"geometric mean {mean:.2f}; at most JAX's time in {at_most} of {len(known)}")
    return 0


def chosen_rows(only: Sequence[str] | None) -> list[FirstCall]:
    return [row for row in ROWS if not only or any(text in row.name for text in only)]


def table_line(row: FirstCall, options: argparse.Namespace) -> float | None:
    """Measure a row in turns and print its line; gradir's time over JAX's."""
    cells = [f"{row.name:26}"]
    medians: dict[str, float] = {}
    found = samples_of(row, options)
    for name, samples in found.items():
        if not samples:
            cells.append(f"{name} more than {LONGEST} s")
            continue
        medians[name] = statistics.median(s["seconds"] for s in samples)
        cpu = statistics.median(s["cpu"] for s in samples)
        cells.append(f"{name} {medians[name]:6.3f} s (CPU {cpu:6.3f})")
    if "gradir" in medians:
        cells.append(f"LLVM {statistics.median(s['llvm'] for s in found['gradir']):6.3f}")
    ratio = medians["gradir"] / medians["jax"] if len(medians) == len(LIBRARIES) else None
    if ratio is not None:
        cells.append(f"ratio {ratio:5.2f}")
    print("  ".join(cells), flush=True)
    return ratio


def samples_of(row: FirstCall, options: argparse.Namespace) -> dict[str, list[dict[str, float]]]:
    """What processes of each library took, in turns; nothing of one that takes too long."""
    found: dict[str, list[dict[str, float]]] = {name: [] for name in options.libraries}
    late: set[str] = set()
    for _ in range(options.rounds):
        for name in [each for each in found if each not in late]:
            try:
                found[name].append(in_new_process(row, name))
            except subprocess.TimeoutExpired:
                late.add(name)
    return {name: [] if name in late else samples for name, samples in found.items()}


def in_new_process(row: FirstCall, library: str) -> dict[str, float]:
    command = [sys.executable, __file__, "--child", json.dumps([row.name, library])]
    # as users have it: quick code runs first
    environment = os.environ | harness.child_environment(THREADS) | {"GRADIR_TIERS": "1"}
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, check=True,
                          timeout=LONGEST)  # fmt: skip
    return json.loads(done.stdout.splitlines()[-1])


def measure(name: str, library: str) -> dict[str, float]:
    """The first call of one row in this process."""
    row = next(row for row in ROWS if row.name == name)
    inputs = row.inputs()
    exec(STARTS[library])
    start, before = time.perf_counter(), time.process_time()
    if library == "gradir":
        call = in_gradir(row.model, inputs, row.wrt, THREADS)
    else:
        call = in_jax(row.model, inputs, row.wrt)
    call()
    seconds, cpu = time.perf_counter() - start, time.process_time() - before
    return {"seconds": seconds, "cpu": cpu, "llvm": _llvm_part(row, inputs, library)}


def _llvm_part(row: FirstCall, inputs: Sequence[Any], library: str) -> float:
    """LLVM's seconds of the code that was compiled."""
    if library != "gradir":
        return 0.0
    from rows.libraries import jitted

    return llvm_seconds(jitted(row.model, row.wrt, THREADS).compiled(*inputs).executable)


if __name__ == "__main__":
    sys.exit(main())
