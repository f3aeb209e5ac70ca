"""gradir.comm.simulate: how long a program would take on its ranks, by a model of the network."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, log2

from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue

from gradir.api import Module
from gradir.dialects.base.diagnostics import PassError, kind_name
from gradir.dialects.grad.host_call import COLLECTIVE, HostCallOp
from gradir.errors import ArgumentError, gradir_errors
from gradir.frontends.tracing.source_locations import named_options
from gradir.passes.analysis.live_bytes import BlockMemory, bytes_of
from gradir.passes.analysis.regions import values_read
from gradir.passes.recompute.costs import Costs
from gradir.symbols import function_named

STAGES = "gradir-stages{until=gradir-schedule}"


@dataclass(frozen=True)
class Forecast:
    """The seconds of one call on each rank, and the bytes that a rank hands to collectives.

    `waiting` are the seconds of `communication` behind which no computation stands. `memory` are
    the bytes of arguments, results and values alive between them.
    """

    total: float
    compute: float
    communication: float
    waiting: float
    bytes: int
    memory: int


@named_options
def simulate(
    module: Module,
    function: str,
    *,
    seconds: float | None = None,
    latency: float = 20e-6,
    bandwidth: float = 1e9,
    overlap: bool = True,
) -> Forecast:
    """A forecast for `@function`, whose collectives say how many ranks there are.

    The ops run in the order of native code, which goes on while collectives are under way, one at a
    time; without `overlap` they advance only while the program waits, as MPI libraries without a
    thread of their own do. A message takes `latency` seconds, and a second for each `bandwidth`
    bytes. The rounds are MPICH's (Thakur, Rabenseifner and Gropp, Optimization of Collective
    Communication Operations in MPICH, 2005): all values in each of log2(ranks) rounds, or, where
    that is faster, parts of them in twice as many. `seconds` is the measured time of the
    computation alone; without it a rough model of one core gives it. Collectives in loops and
    branches are refused.
    """
    for what, number in (("seconds", seconds), ("latency", latency), ("bandwidth", bandwidth)):
        if number is not None and not number >= (0 if what == "latency" else 1e-300):
            raise ArgumentError(f"{what}: expected a positive number, got {number!r}")
    staged = module.run_passes(f"gradir-inline,{STAGES}")
    with gradir_errors():
        found = function_named(staged.op, function)
        return _Timeline(found, seconds, latency, bandwidth, overlap).run()


class _Timeline:
    def __init__(
        self,
        function: FuncOp,
        seconds: float | None,
        latency: float,
        bandwidth: float,
        overlap: bool,
    ):
        self.ops = list(function.body.block.ops)
        self.latency, self.bandwidth, self.overlap = latency, bandwidth, overlap
        block = function.body.block
        outside = {*block.args, *self.ops[-1].operands}
        self.memory = BlockMemory(block).peak(self.ops) + sum(map(bytes_of, outside))
        costs = Costs()
        self.costs = {op: 0.0 if _is_collective(op) else costs.of(op).seconds for op in self.ops}
        self.free = {op for op in self.ops if costs.of(op).is_free}
        total = sum(self.costs.values())
        self.scale = 1.0 if seconds is None or not total else seconds / total
        self.now = self.compute = self.network = self.waiting = self.communication = 0.0
        self.bytes = 0
        self.arrival: dict[SSAValue, float] = {}

    def run(self) -> Forecast:
        for op in self.ops:
            _check(op)
            ready = max((self.arrival.get(v, 0.0) for v in values_read(op)), default=0.0)
            if op in self.free and op.results:
                # read where it is used
                self.arrival.update((r, ready) for r in op.results)
                continue
            self._wait(ready)
            if isinstance(op, HostCallOp) and _is_collective(op):
                self._start(op)
            else:
                taken = self.costs[op] * self.scale
                self.now += taken
                self.compute += taken
                if not self.overlap and self.network > self.now - taken:
                    self._put_off(taken)
        self._wait(self.network)
        times = self.now, self.compute, self.communication, self.waiting
        return Forecast(*times, self.bytes, self.memory)

    def _put_off(self, taken: float) -> None:
        """Delay messages in flight by `taken` seconds."""
        before = self.now - taken
        self.network += taken
        self.arrival.update({v: t + taken for v, t in self.arrival.items() if t > before})

    def _wait(self, ready: float) -> None:
        self.waiting += max(ready - self.now, 0.0)
        self.now = max(self.now, ready)

    def _start(self, op: HostCallOp) -> None:
        kind, _, *words = op.callee.data.removeprefix(COLLECTIVE).split(":")
        read = sum(map(bytes_of, op.inputs))
        taken = self._seconds(kind, int(words[0]) if words else 1, read)
        self.bytes += read
        self.communication += taken
        self.network = max(self.network, self.now) + taken
        self.arrival.update((r, self.network) for r in op.results)

    def _seconds(self, kind: str, ranks: int, read: int) -> float:
        if ranks == 1:
            return 0.0
        rounds, all_of_it = ceil(log2(ranks)), read / self.bandwidth
        begun, parts = rounds * self.latency, all_of_it * (ranks - 1) / ranks
        match kind:
            case "permute" | "send" | "recv":
                return self.latency + all_of_it
            case "all_gather":  # a rank reads its own part
                return begun + all_of_it * (ranks - 1)
            case "reduce_scatter":
                return begun + parts
            case _:
                return min(begun + rounds * all_of_it, 2 * (begun + parts))


def _is_collective(op: Operation) -> bool:
    return isinstance(op, HostCallOp) and op.is_started


def _check(op: Operation) -> None:
    """PassError for a collective in a region: how often it runs is not known."""
    for inner in op.walk():
        if inner is not op and _is_collective(inner):
            raise PassError(
                f"simulate: collectives must stand outside of loops and branches, got one in "
                f"{kind_name(op)}",
                inner,
            )
