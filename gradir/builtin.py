"""The dialects and passes of gradir and of xDSL by name, imported at first use."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any, TypeAlias

from xdsl.dialects import get_all_dialects
from xdsl.ir import Dialect
from xdsl.passes import ModulePass
from xdsl.transforms import get_all_passes

Dialects: TypeAlias = dict[str, Callable[[], Dialect]]
Passes: TypeAlias = dict[str, Callable[[], type[ModulePass]]]

DIALECTS: dict[str, str] = {
    "array": "gradir.dialects.array:Array",
    "nn": "gradir.dialects.nn:NN",
    "grad": "gradir.dialects.grad.dialect:Grad",
    "comm": "gradir.dialects.comm:Comm",
    "loopnest": "gradir.dialects.loopnest.loopnest:Loopnest",
    "stablehlo": "gradir.stablehlo.dialect:StableHlo",
}
"""gradir's own dialects: name to `module:Dialect object`."""

EXTENDED: dict[str, str] = {
    "arith": "gradir.dialects.base.elementwise_arith:Arith",
    "linalg": "gradir.dialects.foreign.linalg:Linalg",
    "tm_tensor": "gradir.dialects.foreign.linalg:TmTensor",
}
"""Dialects of xDSL with gradir's additions, and of others, in the same form."""

PASSES: dict[str, str] = {
    "gradir-allocate-scratch": "gradir.compiler.stage_passes:AllocateScratchPass",
    "gradir-vmap": "gradir.passes.batch.vmap:VmapPass",
    "gradir-append-loss": "gradir.passes.training.append_loss:AppendLossPass",
    "gradir-bufferize": "gradir.passes.buffers.bufferize:BufferizePass",
    "gradir-shard-state": "gradir.passes.training.shard_state:ShardStatePass",
    "gradir-data-parallel": "gradir.passes.training.data_parallel:DataParallelPass",
    "gradir-dce": "gradir.passes.cleanup.dce:DcePass",
    "gradir-decompose": "gradir.passes.cleanup.decompose:DecomposePass",
    "gradir-expand-slices": "gradir.passes.lower.expand_slices:ExpandSlicesPass",
    "gradir-fuse": "gradir.passes.fusion.fuse:FusePass",
    "gradir-gradient": "gradir.compiler.measured_gradient:MeasuredGradientPass",
    "gradir-group-rows": "gradir.compiler.stage_passes:GroupRowsPass",
    "gradir-hoist": "gradir.passes.cleanup.hoist:HoistPass",
    "gradir-inline": "gradir.passes.cleanup.inline:InlinePass",
    "gradir-inline-checkpoints": "gradir.passes.recompute.inline_checkpoints:InlineCheckpointsPass",
    "gradir-lift-constants": "gradir.passes.training.lift_constants:LiftConstantsPass",
    "gradir-lower": "gradir.passes.lower.lower:LowerPass",
    "gradir-outline-checkpoints": (
        "gradir.passes.recompute.outline_checkpoints:OutlineCheckpointsPass"
    ),
    "gradir-plan-memory": "gradir.passes.buffers.plan_memory:PlanMemoryPass",
    "gradir-prove-bounds": "gradir.passes.verify.prove_bounds:ProveBoundsPass",
    "gradir-scalarize": "gradir.passes.lower.scalarize:ScalarizePass",
    "gradir-schedule": "gradir.passes.fusion.schedule:SchedulePass",
    "gradir-simplify": "gradir.passes.cleanup.simplify:SimplifyPass",
    "gradir-specialize": "gradir.compiler.specialize_pass:SpecializePass",
    "gradir-split-complex": "gradir.passes.cleanup.split_complex:SplitComplexPass",
    "gradir-stages": "gradir.compiler.stage_passes:StagesPass",
    "gradir-sum-slices": "gradir.passes.lower.sum_slices:SumSlicesPass",
    "gradir-to-stablehlo": "gradir.stablehlo.to_stablehlo:ToStablehloPass",
    "gradir-train-step": "gradir.compiler.measured_step:MeasuredTrainStepPass",
    "gradir-verify": "gradir.passes.verify.verify:VerifyPass",
}
"""gradir's own passes: name to `module:class`."""


def own_dialects() -> Dialects:
    """gradir's dialects by name."""
    return {name: _load(target) for name, target in DIALECTS.items()}


def own_passes() -> Passes:
    """gradir's passes by name."""
    return {name: _load(target) for name, target in PASSES.items()}


def builtin_dialects() -> Dialects:
    """gradir's and xDSL's dialects by name; gradir's where both have a name."""
    extended = {name: _load(target) for name, target in EXTENDED.items()}
    return get_all_dialects() | extended | own_dialects()


def builtin_passes() -> Passes:
    """gradir's and xDSL's passes by name."""
    return own_passes() | get_all_passes()


def _load(target: str) -> Callable[[], Any]:
    module, _, attribute = target.partition(":")
    return lambda: getattr(import_module(module), attribute)
