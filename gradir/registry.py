"""All dialects and passes by name, imported at first use.

`make_context` gives an xDSL context with every dialect; `parse_passes` reads a pass pipeline.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from difflib import get_close_matches
from importlib import import_module
from types import NoneType
from typing import Any, TypeAlias, get_args, get_type_hints

from xdsl.context import Context
from xdsl.dialects import get_all_dialects
from xdsl.ir import Dialect
from xdsl.passes import ModulePass, PassPipeline, PassPipelineCallbackType
from xdsl.transforms import get_all_passes
from xdsl.utils.arg_spec import ArgSpec, ParameterListType, parse_pipeline
from xdsl.utils.exceptions import ArgSpecParseError
from xdsl.utils.hints import isa, type_repr

from gradir.errors import ArgumentError, GradirError
from gradir.plugins import PluginContext, plugin_dialects, plugin_passes

Dialects: TypeAlias = dict[str, Callable[[], Dialect]]
Passes: TypeAlias = dict[str, Callable[[], type[ModulePass]]]

DIALECTS: dict[str, str] = {
    "array": "gradir.dialects.array:Array",
    "nn": "gradir.dialects.nn:NN",
    "grad": "gradir.dialects.grad.dialect:Grad",
    "comm": "gradir.dialects.comm:Comm",
    "loopnest": "gradir.dialects.loopnest.loopnest:Loopnest",
}
"""gradir's own dialects: name to `module:Dialect object`."""

EXTENDED: dict[str, str] = {"arith": "gradir.dialects.base.elementwise_arith:Arith"}
"""Dialects of xDSL with gradir's additions, in the same form."""

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
    "gradir-stages": "gradir.compiler.stage_passes:StagesPass",
    "gradir-sum-slices": "gradir.passes.lower.sum_slices:SumSlicesPass",
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


def dialects() -> Dialects:
    """All dialects by name, those of other packages too."""
    return plugin_dialects() | builtin_dialects()


def passes() -> Passes:
    """All passes by name, those of other packages too."""
    return plugin_passes() | builtin_passes()


def make_context(*, allow_unregistered: bool = False) -> Context:
    """A context in which every dialect is registered; each is loaded at its first use."""
    context = PluginContext(allow_unregistered=allow_unregistered)
    for name, dialect in builtin_dialects().items():
        context.register_dialect(name, dialect)
    return context


def _load(target: str) -> Callable[[], Any]:
    module, _, attribute = target.partition(":")
    return lambda: getattr(import_module(module), attribute)


def parse_passes(
    spec: str,
    available: Passes | None = None,
    callback: PassPipelineCallbackType | None = None,
) -> PassPipeline:
    """The pipeline of a text as `a,b{x=1 y=2,3}`; ArgumentError if it is wrong."""
    if available is None:
        # entry points are looked for only where a name is not known
        available = builtin_passes()
        if any(each.name not in available for each in _specs(spec)):
            available = passes()
    return PassPipeline(tuple(_make_pass(each, available) for each in _specs(spec)), callback)


def _specs(text: str) -> tuple[ArgSpec, ...]:
    try:
        return tuple(parse_pipeline(text))
    except ArgSpecParseError as error:
        raise ArgumentError(syntax_error(error)) from None


def syntax_error(error: ArgSpecParseError) -> str:
    """xDSL's message about a pipeline: `title, place, line, caret, text` on a line each."""
    match str(error).splitlines():
        case [_, place, line, caret, text, *_]:
            return f"{place}: error: {text.strip()}\n{line}\n{caret}"
        case _:
            return f"error: {error}"


def _make_pass(spec: ArgSpec, available: Passes) -> ModulePass:
    if spec.name not in available:
        raise ArgumentError(_unknown_pass(spec.name, available))
    pass_type = available[spec.name]()
    _check_options(spec, pass_type)
    try:
        return pass_type.from_spec(spec)
    except GradirError:
        raise
    except (ValueError, TypeError) as error:
        raise ArgumentError(f"error: pass '{spec.name}': {error}") from None


def _unknown_pass(name: str, available: Passes) -> str:
    close = get_close_matches(name, available, n=3, cutoff=0.5)
    close += [other for other in available if name in other and other not in close][:5]
    candidates = close or [other for other in available if other.startswith("gradir-")]
    return f"error: unknown pass '{name}'; did you mean {', '.join(candidates)}?"


def _check_options(spec: ArgSpec, pass_type: type[ModulePass]) -> None:
    """ArgumentError for the first option that is unknown, missing or ill-typed."""
    given = spec.normalize_parameter_names().parameters
    types = get_type_hints(pass_type)
    options = [option.name for option in fields(pass_type) if option.init]
    for name in given:
        if name not in options:
            listed = ", ".join(options) or "none"
            raise ArgumentError(
                f"error: pass '{spec.name}' has no option '{name}'; its options: {listed}"
            )
    for name in sorted(pass_type.required_fields() - given.keys()):
        raise ArgumentError(f"error: pass '{spec.name}' needs option '{name}'")
    for name, values in given.items():
        if not _fits(values, types[name]):
            wanted = type_repr(types[name]).replace("typing.", "").replace("|", " | ")
            got = ",".join(map(str, values)) or "nothing"
            raise ArgumentError(
                f"error: pass '{spec.name}': option '{name}' must be {wanted}, got {got}"
            )


def _fits(values: ParameterListType, type: Any) -> bool:
    """Whether xDSL accepts `values` for an option of this type: as one value, or as a tuple."""
    if not values:
        return NoneType in get_args(type)
    return (len(values) == 1 and isa(values[0], type)) or isa(values, type)
