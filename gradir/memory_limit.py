"""Derivatives within a memory limit, and the policy `auto`: plans that are measured, not estimated.

The candidates of `passes/recompute_candidates.py` are compiled down to the memory plan, the
cheapest first, until one fits. So the peak that is promised is the arena that the program gets; and
as the candidates do not depend on the limit, a larger limit never leads to a smaller peak than a
smaller one, nor to more recomputation.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache, partial

from xdsl.dialects.builtin import IntegerAttr, ModuleOp, i64
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute

from gradir.dialects.diagnostics import PassError
from gradir.passes.derived_functions import Derived, Program
from gradir.passes.gradient import Mode, functions_of
from gradir.passes.live_bytes import bytes_of_type
from gradir.passes.policies import recompute
from gradir.passes.recompute_candidates import Candidate, candidates, nearly_free

# Of a program of n ops, OPS_TO_MEASURE / n candidates are measured.
OPS_TO_MEASURE = 24_000
FEWEST, MOST = 6, 48
# The share of a derivative's time that `auto` may add.
LITTLE = 0.05


# On derived functions: the limit, and the peak that was measured.
MEMORY_LIMIT, PEAK = "grad.memory_limit", "grad.peak_bytes"


@dataclass(frozen=True)
class MemoryLimit:
    """A limit on the arena, in bytes; of the two halves of mode=split, on the larger arena and the
    residuals between them.
    """

    bytes: int

    def __call__(self, program: Program, derived: Derived, mode: Mode) -> None:
        plans = Plans(program, derived, mode)
        chosen = plans.within(self.bytes)
        if chosen is None:
            raise PassError(
                f"gradir-gradient: memory_limit of {self.bytes} bytes is infeasible: minimum is "
                f"{plans.minimum()} bytes",
                derived.source,
            )
        plans.apply(chosen)
        derived.attributes |= {
            MEMORY_LIMIT: IntegerAttr(self.bytes, i64),
            PEAK: IntegerAttr(plans.peak(chosen), i64),
        }


def keep_what_pays(program: Program, derived: Derived, mode: Mode) -> None:
    """The policy `auto`: recompute what is nearly free, if that lowers the peak and is no work."""
    pays = partial(measured_peak, derived, mode=mode)
    ops = [op for block in (derived.forward, derived.backward) for op in block.ops]
    most = LITTLE * sum(program.costs.of(op).seconds for op in ops)
    found = [c for c in nearly_free(derived, mode, program.costs) if c.cost <= most]
    chosen = min(found, key=pays)
    recompute(derived, lambda value: value not in chosen.kept, mode)


def check_limit(limit: Attribute | None, peak: int, function: FuncOp) -> None:
    """PassError if a function takes more than the limit that it was differentiated for."""
    if isinstance(limit, IntegerAttr) and peak > (allowed := limit.value.data):
        raise PassError(
            f"@{function.sym_name.data}: was differentiated for a memory limit of {allowed} bytes, "
            f"got an arena of {peak}; compile on the machine, and for the number of threads, where "
            "it was differentiated",
            function,
        )


class Plans:
    """The candidates for one derivative, and the memory that each takes."""

    def __init__(self, program: Program, derived: Derived, mode: Mode):
        self.program = program
        self.derived = derived
        self.mode: Mode = mode
        self._peaks = _measured(self._text())

    def _text(self) -> str:
        """What the peaks depend on: the derivative, the machine is one."""
        _, functions = made_functions(self.derived, None, self.mode)
        return "\n".join(map(str, functions))

    @cached_property
    def candidates(self) -> list[Candidate]:
        """Those that are measured, cheapest first."""
        found = candidates(self.derived, self.mode, self.program.costs)
        ops = len(self.derived.forward.ops) + len(self.derived.backward.ops)
        count = max(FEWEST, min(MOST, OPS_TO_MEASURE // max(ops, 1)))
        if len(found) <= count:
            return found
        return [found[k * (len(found) - 1) // (count - 1)] for k in range(count)]

    def peak(self, candidate: Candidate) -> int:
        """The bytes that the derivative takes, as compiled for this machine."""
        place = self.candidates.index(candidate)
        if place not in self._peaks:
            self._peaks[place] = measured_peak(self.derived, candidate, self.mode)
        return self._peaks[place]

    def within(self, limit: int) -> Candidate | None:
        """The cheapest candidate that fits."""
        possible = (c for c in self.candidates if c.at_least <= limit)
        return next((c for c in possible if self.peak(c) <= limit), None)

    def minimum(self) -> int:
        """The lowest peak; those that keep least are looked at first."""
        least: int | None = None
        for candidate in sorted(self.candidates, key=lambda c: c.at_least):
            if least is None or candidate.at_least < least:
                peak = self.peak(candidate)
                least = peak if least is None else min(least, peak)
        assert least is not None
        return least

    def apply(self, chosen: Candidate) -> None:
        """Make the derivative that of a candidate."""
        kept = chosen.kept
        recompute(self.derived, lambda value: value not in kept, self.mode)


def measured_peak(derived: Derived, candidate: Candidate, mode: Mode) -> int:
    """The bytes of the arena, and of residuals that go from one function to another."""
    module, functions = made_functions(derived, candidate, mode)
    between = 0
    if mode == "split":
        outputs = functions[0].function_type.outputs.data[len(derived.results) :]
        between = sum(map(bytes_of_type, outputs))
    return between + max(arena_bytes(module).values())


def made_functions(
    derived: Derived, candidate: Candidate | None, mode: Mode
) -> tuple[ModuleOp, list[FuncOp]]:
    """A module with the functions of a derivative that recomputes as the candidate says."""
    module = ModuleOp([derived.source.clone()])
    program = Program(module)
    [source] = program.functions.values()
    source.location = derived.source.location
    copy, copies = derived.copied(source)
    if candidate is not None:
        kept = {copies[value] for value in candidate.kept}
        recompute(copy, lambda value: value not in kept, mode)
    functions = functions_of(program, copy, mode)
    source.detach()
    return module, functions


@lru_cache(maxsize=8)
def _measured(text: str) -> dict[int, int]:
    """The peaks of the candidates, by number, that were measured for a derivative before."""
    del text
    return {}


def arena_bytes(module: ModuleOp) -> dict[str, int]:
    """The arena of each function, compiled for this machine; uses up the module."""
    from gradir.lowering.scratch import allocate_scratch
    from gradir.lowering.target import host
    from gradir.pipeline import place_buffers, run_stages
    from gradir.runtime.threads import thread_count

    run_stages(module)
    allocate_scratch(module, host(), thread_count(None))
    return {name: plan.peak_bytes for name, plan in place_buffers(module).items()}
