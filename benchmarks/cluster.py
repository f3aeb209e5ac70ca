"""Steps of training on several ranks: against threads, hidden communication, and the forecast.

    python benchmarks/cluster.py [--rounds 5] [--ranks 2,4] [--plot docs/cluster.svg]

For each model, in turns: one process with two threads; so many ranks with one thread each, which
measure their step, the same step without communication (all ranks at once), the reductions alone,
and the network's latency and bandwidth, from which `comm.simulate` forecasts the step. Medians over
rounds. `--plot` writes the forecasts for 1 to 10,000 ranks of a cluster as a picture.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

import gradir
import gradir.nn as nn
import gradir.numpy as gnp
from gradir import comm, optim
from gradir.frontends.training.chart import Curve, Panel, chart

Array = np.ndarray[Any, Any]
SECONDS = 0.6
"""How long each thing is timed in a round."""
# a cluster with a network of 100 Gbit/s and nodes of 1 TFLOP/s
LATENCY, BANDWIDTH, FLOPS = 5e-6, 12e9, 1e12


@dataclass(frozen=True)
class Model:
    """A network of layers with tanh, on batches of so many rows."""

    sizes: Sequence[int]
    batch: int

    @property
    def parameters(self) -> int:
        return sum(a * b + b for a, b in zip(self.sizes, self.sizes[1:], strict=False))

    @property
    def flops(self) -> float:
        """Multiplications and additions of a step for one row."""
        products = [a * b for a, b in zip(self.sizes, self.sizes[1:], strict=False)]
        return 6 * sum(products) - 2 * products[0]

    def arrays(self, seed: int = 0) -> tuple[dict[str, Array], Array, Array]:
        """Parameters, rows and labels."""
        random = np.random.default_rng(seed)
        params: dict[str, Array] = {}
        for k, (a, b) in enumerate(zip(self.sizes, self.sizes[1:], strict=False)):
            params[f"w{k}"] = (random.normal(size=(b, a)) / a**0.5).astype(np.float32)
            params[f"b{k}"] = np.zeros(b, np.float32)
        x = random.normal(size=(self.batch, self.sizes[0])).astype(np.float32)
        return params, x, random.integers(0, self.sizes[-1], self.batch)

    def loss(self, params: Any, x: Any, labels: Any) -> Any:
        last = len(self.sizes) - 2
        for k in range(last + 1):
            x = nn.linear(x, params[f"w{k}"], params[f"b{k}"])
            x = gnp.tanh(x) if k < last else x
        return nn.cross_entropy(x, labels)


MODELS = {
    "digits": Model((64, 64, 10), 64),
    "digits512": Model((64, 64, 10), 512),
    "mlp10m": Model((1024, 2048, 2048, 2048, 10), 1024),
}


def median_seconds(call: Callable[[], object]) -> float:
    """The median of calls, of which all ranks make equally many."""
    call()
    start = time.perf_counter()
    call()
    once = float(comm.pmax(np.float64(time.perf_counter() - start)))
    found: list[float] = []
    for _ in range(max(3, int(SECONDS / max(once, 1e-5)))):
        start = time.perf_counter()
        call()
        found.append(time.perf_counter() - start)
    return statistics.median(found)


class Run:
    """A jitted step on arrays that it writes in place."""

    def __init__(self, step: Any, model: Model, part: slice):
        params, x, labels = model.arrays()
        self.step, self.batch = step, (x[part], labels[part])
        self.params, self.state = params, optim.adam(1e-3).init(params)

    def __call__(self) -> None:
        self.params, self.state, _ = self.step(self.params, self.state, *self.batch)


def plain(model: Model, threads: int, part: slice = slice(None)) -> Run:
    made = optim.train_step(model.loss, optim.adam(1e-3))
    return Run(gradir.jit(made, threads=threads, donate_argnums=(0, 1)), model, part)


def parallel(model: Model, part: slice = slice(None), sharded: Any = None) -> Run:
    made = optim.train_step(model.loss, optim.adam(1e-3))
    step = comm.data_parallel(made, threads=1, donate_argnums=(0, 1), sharded=sharded)
    run = Run(step, model, part)
    run.params, run.state = step.shard(run.params, run.state)
    return run


def reductions(model: Model) -> Callable[[], object]:
    """The gradients of a step averaged in buckets of its size, and nothing else."""
    sizes = [0]
    for n in (a * b + b for a, b in zip(model.sizes, model.sizes[1:], strict=False)):
        if sizes[-1] * 4 >= 1 << 22:
            sizes.append(0)
        sizes[-1] += n
    buckets = [np.zeros(n, np.float32) for n in sizes]
    call = gradir.jit(comm.psum, threads=1, donate_argnums=0)

    def reduce() -> None:
        buckets[:] = call(buckets)

    return reduce


def network() -> tuple[float, float]:
    """Latency and bandwidth that the model of a reduction has for this many ranks."""
    ranks = comm.axis_size()
    rounds = int(np.ceil(np.log2(ranks)))
    small, large = np.zeros(1, np.float32), np.zeros(1 << 21, np.float32)
    call = gradir.jit(comm.psum, threads=1)
    latency = median_seconds(lambda: call(small)) / rounds
    seconds = median_seconds(lambda: call(large)) - 2 * rounds * latency
    return latency, 2 * (ranks - 1) / ranks * large.nbytes / seconds


def module_of(model: Model, ranks: int, sharded: str | None = None) -> gradir.Module:
    """The step of one of so many ranks, which need not be there, on the model's rows each."""
    params, x, labels = model.arrays()
    state = optim.adam(1e-3).init(params)
    made = optim.train_step(model.loss, optim.adam(1e-3))
    module, name = gradir.trace(made, params, state, x, labels), "step"
    count = 3 * len(params) + 1
    if sharded is not None:
        first = 0 if sharded == "params" else len(params) + 1
        numbers = ",".join(str(k) for k in range(first, count) if k != len(params))
        options = f"function=step sharded={numbers} ranks={ranks}"
        module, name = module.run_passes(f"gradir-shard-state{{{options}}}"), "step_sharded"
    options = f"function={name} shards={count},{count + 1} ranks={ranks}"
    return module.run_passes(f"gradir-data-parallel{{{options}}}")


def as_rank(name: str) -> None:
    """One rank's measurements; rank 0 prints them."""
    model, rank, ranks = MODELS[name], int(comm.axis_index()), comm.axis_size()
    share = model.batch // ranks
    part = slice(rank * share, (rank + 1) * share)
    found: dict[str, float] = {
        "step": median_seconds(parallel(model, part)),
        "state": median_seconds(parallel(model, part, "state")),
        "compute": median_seconds(plain(model, 1, part)),
        "reduce": median_seconds(reductions(model)),
    }
    found["latency"], found["bandwidth"] = network()
    if rank == 0:
        guess = comm.simulate(
            module_of(replace(model, batch=share), ranks),
            "step_parallel",
            seconds=found["compute"],
            latency=found["latency"],
            bandwidth=found["bandwidth"],
            overlap=False,
        )
        print(json.dumps({**found, "forecast": guess.total}), flush=True)


def as_one(name: str) -> None:
    """One process: two threads, and the pass at one rank beside the plain step, in turns."""
    model = MODELS[name]
    threads = plain(model, 2)
    found = {"threads": median_seconds(threads)}
    pair = plain(model, 1), parallel(model)
    turns = [[median_seconds(each) for each in pair] for _ in range(5)]
    found["plain"], found["parallel"] = (statistics.median(t) for t in zip(*turns, strict=True))
    print(json.dumps(found), flush=True)


def child(ranks: int, *arguments: str) -> dict[str, float]:
    command = [sys.executable, __file__, *arguments]
    if ranks > 1:
        beside = Path(sys.executable).parent / "mpiexec"
        command = [str(beside) if beside.exists() else "mpiexec", "-n", str(ranks), *command]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(done.stdout + done.stderr)
    return json.loads(done.stdout.splitlines()[-1])


def measure(name: str, ranks: Sequence[int], rounds: int) -> None:
    """The table of a model."""
    every: dict[int, list[dict[str, float]]] = {n: [] for n in (1, *ranks)}
    for _ in range(rounds):
        for n, found in every.items():
            found.append(child(n, "--one" if n == 1 else "--rank", name))
    medians = {
        n: {key: statistics.median(each[key] for each in found) for key in found[0]}
        for n, found in every.items()
    }
    one = medians[1]
    print(f"\n{name}: {MODELS[name].parameters:,} parameters, batches of {MODELS[name].batch} rows")
    overhead = one["parallel"] / one["plain"] - 1
    print(f"  one process, 2 threads      {one['threads'] * 1e3:8.3f} ms")
    print(f"  the pass at 1 rank, 1 thread {overhead:+.1%}")
    for n in ranks:
        found = medians[n]
        beside, step = found["step"] - found["compute"], found["step"]
        hidden = 1 - min(max(beside / found["reduce"], 0), 1)
        print(f"  {n} ranks, 1 thread each      {_against(step, one)}")
        print(f"    with state in parts       {_against(found['state'], one)}")
        print(f"    without communication     {found['compute'] * 1e3:8.3f} ms")
        print(f"    reductions alone          {found['reduce'] * 1e3:8.3f} ms, {hidden:.0%} hidden")
        network = f"{found['latency'] * 1e6:.1f} us, {found['bandwidth'] / 1e9:.1f} GB/s"
        error = found["forecast"] / step - 1
        print(
            f"    forecast                  {found['forecast'] * 1e3:8.3f} ms, {error:+.0%}; "
            f"{network}"
        )


def _against(seconds: float, one: dict[str, float]) -> str:
    return f"{seconds * 1e3:8.3f} ms, {one['threads'] / seconds:.2f} of 2 threads"


def plot(path: Path) -> None:
    """Forecasts for a cluster, of a step with 1024 rows a rank: time and memory, by the ranks."""
    counts = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000]
    model = MODELS["mlp10m"]
    seconds = model.flops * model.batch / FLOPS
    times: dict[str, list[tuple[float, float]]] = {}
    memory: dict[str, list[tuple[float, float]]] = {}
    for sharded in (None, "state", "params"):
        for n in counts:
            module = module_of(model, n, sharded)
            name = "step_sharded_parallel" if sharded else "step_parallel"
            found = comm.simulate(
                module, name, seconds=seconds, latency=LATENCY, bandwidth=BANDWIDTH
            )
            at = float(np.log10(n))
            times.setdefault(sharded or "whole", []).append((at, found.total * 1e3))
            memory.setdefault(sharded or "whole", []).append((at, found.memory / 1e6))
    panels = [
        Panel(title, [Curve(name, points) for name, points in found.items()])
        for title, found in (("ms of a step", times), ("MB of a rank", memory))
    ]
    path.write_text(chart(panels, "log10 of the number of ranks"))


def main() -> None:
    """Run, or be a child that does."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--ranks", default="2,4")
    parser.add_argument("--models", default=",".join(MODELS))
    parser.add_argument("--plot", type=Path)
    parser.add_argument("--one", choices=MODELS)
    parser.add_argument("--rank", choices=MODELS)
    given = parser.parse_args()
    if given.one or given.rank:
        as_one(given.one) if given.one else as_rank(given.rank)
        return
    if given.plot:
        plot(given.plot)
        return
    os.environ["GRADIR_NUM_THREADS"] = "1"
    print(f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors, {time.strftime('%F %R')}")
    for name in given.models.split(","):
        measure(name, [int(n) for n in given.ranks.split(",")], given.rounds)


if __name__ == "__main__":
    main()
