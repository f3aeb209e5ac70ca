"""The facts on one function, gathered while the compiler's own stages run over it.

The program at the beginning goes through the steps that made the module, then through
`native_code`, which takes the stages as a function: here one that notes the text after each.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from xdsl.dialects import memref
from xdsl.dialects.builtin import ModuleOp

from gradir.codegen.driver.program import emit_program
from gradir.codegen.driver.report import Timed
from gradir.codegen.text.target import host
from gradir.compiler.compiler import native_code
from gradir.compiler.dynamic import needs_shapes, shapes_of_arrays, specialized
from gradir.compiler.pipeline import STAGES, Machine, Plans
from gradir.explore.links import links
from gradir.explore.plans import LimitedPlans, plans_within
from gradir.explore.recorded_text import Snapshot, SourceLine, snapshot
from gradir.explore.steps import Lineage, Step, applied
from gradir.passes.analysis.liveness import Liveness
from gradir.passes.buffers.plan_memory import MemoryPlan
from gradir.profiling.profile import Profile
from gradir.runtime.jit import kernel_assembly
from gradir.runtime.llvm import assembly
from gradir.runtime.native_code import runnable
from gradir.runtime.threads import thread_count
from gradir.symbols import drop_unneeded, function_named

_FEATURES = re.compile(r'"target-features"="[^"]*"')


@dataclass(frozen=True)
class StageText:
    """A stage by its name, and the number of the snapshot after it."""

    name: str
    snapshot: int
    is_changed: bool


@dataclass(frozen=True)
class KernelText:
    """A kernel of the native code: its work, its source lines, its LLVM text and assembly."""

    name: str
    op: str
    ops: tuple[str, ...]
    sources: tuple[SourceLine, ...]
    flops: int | None
    bytes: int
    llvm: str
    asm: str


@dataclass
class Exploration:
    """All that a page shows of one function.

    `links` has for each snapshot but the last the links of its values to the next one.
    `buffer_values` are the values of the plan's buffers, and `points` the lines of the ops at its
    positions, both in the snapshot `planned`.
    """

    function: str
    machine: Machine
    stages: list[StageText] = field(default_factory=list[StageText])
    snapshots: list[Snapshot] = field(default_factory=list[Snapshot])
    links: list[list[list[int]]] = field(default_factory=list[list[list[int]]])
    plan: MemoryPlan = field(default_factory=lambda: MemoryPlan((), 0))
    planned: int = 0
    points: list[int] = field(default_factory=list[int])
    buffer_values: list[int] = field(default_factory=list[int])
    limited: LimitedPlans | None = None
    kernels: list[KernelText] = field(default_factory=list[KernelText])
    driver: str = ""
    profile: Profile | None = None
    _timed: tuple[Timed, ...] = ()

    def note(self, name: str, module: ModuleOp) -> None:
        """Keep the text of the module after a stage, if that changed it."""
        after = snapshot(module)
        before = self.snapshots[-1] if self.snapshots else None
        is_changed = before is None or before.lines != after.lines
        if before is not None and is_changed:
            self.links.append(links(before, after))
        if is_changed:
            self.snapshots.append(after)
        self.stages.append(StageText(name, len(self.snapshots) - 1, is_changed))

    def run_stages(self, module: ModuleOp, machine: Machine) -> Plans:
        """All stages, for `native_code`; the function is alone in the module."""
        self.note("the function alone", module)
        *before, last = STAGES
        for stage in before:
            stage.run(module, machine)
            self.note(stage.name, module)
        self._note_points(module)
        plans = last.run(module, machine) or {}
        self.note(last.name, module)
        function = function_named(module.clone(), self.function)
        # a second program, with clocks, says which source lines each kernel has
        self._timed = emit_program(function, machine.target, machine.threads, True).timed
        return plans

    def _note_points(self, module: ModuleOp) -> None:
        """The ops that the positions of the plan are, before its buffers are views of the arena."""
        block = function_named(module, self.function).body.block
        self.planned, live = len(self.snapshots) - 1, Liveness(block)
        seen = self.snapshots[-1]
        for op in block.walk():
            if isinstance(op, memref.AllocOp):
                self.buffer_values.append(seen.values.get(op.memref, -1))
        self.points = [seen.op_lines.get(op, -1) for op in live.ops]

    def note_code(self, text: str, names: Sequence[tuple[str, str]]) -> None:
        """Keep the native code, as LLVM text, of kernels with their names and ops."""
        asm = assembly(text, self.machine.target)
        shown = _FEATURES.sub('"target-features"="..."', text)
        timed = {each.name: each for each in self._timed if each.kind == "kernel"}
        for name, op in dict.fromkeys(names):
            found = timed.get(name)
            work = ((), (), None, 0) if found is None else _work(found)
            llvm = kernel_llvm(shown, name)
            self.kernels.append(KernelText(name, op, *work, llvm, kernel_assembly(asm, name)))
        self.driver = kernel_llvm(shown, "gradir_driver") or kernel_llvm(shown, "gradir_entry")


def is_spec(given: object) -> bool:
    """Whether an argument has a shape and no elements."""
    data = ("__array__", "__dlpack__", "values")
    return hasattr(given, "shape") and not any(hasattr(given, name) for name in data)


def shape_steps(module: ModuleOp, function: str, arrays: Sequence[object]) -> list[Step]:
    """The step that gives a function with dynamic extents the shapes of its arguments."""
    if not needs_shapes(module, function):
        return []
    shapes = shapes_of_arrays(function_named(module, function), arrays)
    return [Step("shapes of the arguments", lambda op: specialized(op, function, shapes))]


def _work(timed: Timed) -> tuple[tuple[str, ...], tuple[SourceLine, ...], int | None, int]:
    return timed.ops, timed.lines, timed.flops, timed.bytes


def kernel_llvm(text: str, name: str) -> str:
    """The functions of one kernel, or the function of a name, in LLVM text."""
    function = rf'^define [^@\n]*@"?{re.escape(name)}[.("][^\n]*\n.*?^}}'
    return "\n\n".join(re.findall(function, text, re.DOTALL | re.MULTILINE))


def explored(
    past: Lineage,
    module: ModuleOp,
    function: str,
    threads: int | None = None,
    arrays: Sequence[object] = (),
    limited: Callable[[int], ModuleOp] | None = None,
) -> Exploration:
    """The facts on `@function` of `module`, which the steps of `past` have made.

    `arrays` give dynamic extents their sizes. `limited` makes the module for a memory limit;
    without it the last derivative of `past` is made again. Raises as the compiler does.
    """
    function_named(module, function)
    past = past.after(*shape_steps(module, function, arrays))
    found = Exploration(function, Machine(runnable(host()), thread_count(threads)))
    work = past.root.clone()
    found.note("program", work)
    for step in past.steps:
        work = applied(step.change, work)
        found.note(step.title, work)
    drop_unneeded(work, function)
    code = native_code(work, function, found.machine, stages=found.run_stages)
    assert code.plan is not None
    found.plan = code.plan
    found.note_code(code.program.text, [(k.name, k.op) for k in code.program.kernels])
    limited = limited or (past.with_limit if past.has_limit else None)
    if limited is not None:
        found.limited = plans_within(limited, function, found.machine)
    return found
