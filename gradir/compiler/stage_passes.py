"""Passes with a target machine: gradir-group-rows, gradir-allocate-scratch, gradir-stages."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from gradir.codegen.driver.scratch import allocate_scratch
from gradir.codegen.rows.group_rows import group_rows
from gradir.compiler.pipeline import STAGES, Machine, run_stages, stages_until
from gradir.dialects.base.diagnostics import PassError


@dataclass(frozen=True)
class AllocateScratchPass(ModulePass):
    """Allocate the scratch buffers of native code for this machine."""

    name = "gradir-allocate-scratch"

    threads: int | None = None

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        machine = Machine.here(self.threads)
        allocate_scratch(op, machine.target, machine.threads)


@dataclass(frozen=True)
class GroupRowsPass(ModulePass):
    """Run nests that work row by row block by block of rows, as suits this machine."""

    name = "gradir-group-rows"

    threads: int | None = None

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        machine = Machine.here(self.threads)
        group_rows(op, machine.target, machine.threads)


@dataclass(frozen=True)
class StagesPass(ModulePass):
    """Run the stages of native code for this machine, all of them or until one."""

    name = "gradir-stages"

    until: str = STAGES[-1].name
    threads: int | None = None

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        stages = stages_until(self.until)
        if stages is None:
            known = ", ".join(dict.fromkeys(stage.name for stage in STAGES))
            raise PassError(f"gradir-stages: until must be one of {known}, got {self.until!r}", op)
        run_stages(op, Machine.here(self.threads), stages=stages)
