"""gradir-to-stablehlo: a module's functions on tensors as StableHLO.

Calls are inlined, row slices become tensors and compound ops simpler ones, by the stages of the
compiler before its loop nests. Then each op is converted (`convert.py`).
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import MemRefType, ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass

from gradir.compiler.pipeline import STAGES, Machine, run_stages
from gradir.dialects.base.diagnostics import PassError, value_name
from gradir.dialects.base.precision import PRECISION
from gradir.dialects.base.shapes import is_complex_tensor, is_open
from gradir.dialects.grad.custom_vjp import CustomVjpOp
from gradir.dialects.grad.lapack import FACTOR_OPS
from gradir.passes.analysis.call_graph import functions_by_name, only_block
from gradir.passes.analysis.region_flow import ops_within
from gradir.passes.cleanup.inline import inline
from gradir.stablehlo.convert import converted, refuse

REFUSED: dict[str, str] = {
    "grad.host_call": "a function of the host has no form in StableHLO",
    **{op.name: "LAPACK computes it, and StableHLO has no op for it" for op in FACTOR_OPS},
    "grad.derivative": "its derivative waits for shapes: run gradir-specialize first",
    "array.boolean_mask": "its shape depends on values",
    "array.nonzero": "its shape depends on values",
    "array.unique": "its shape depends on values",
    **dict.fromkeys(
        (
            *("comm.all_reduce", "comm.reduce", "comm.broadcast", "comm.all_gather", "comm.part"),
            *("comm.reduce_scatter", "comm.permute", "comm.send", "comm.recv", "comm.barrier"),
            *("comm.rank", "comm.size"),
        ),
        "it belongs to ranks of gradir's, which a StableHLO program does not have",
    ),
}
"""Ops that are refused before anything is taken apart, and why."""


_PRECISION = (
    "StableHLO leaves the order of sums open, which its precision sets; leave precision out"
)


def to_stablehlo(module: ModuleOp, function: str | None = None) -> ModuleOp:
    """The module's functions in StableHLO; with `function` that one alone, as @main.

    Raises PassError that names all ops without a form. The module is used up.
    """
    names = _wanted(module, function)
    inline(module, every=True)
    for op in list(module.ops):
        is_wanted = isinstance(op, FuncOp) and op.sym_name.data in names
        if isinstance(op, CustomVjpOp) or not is_wanted:
            op.detach()
            op.erase(safe_erase=False)
    _refuse_all(module)
    stages = [stage.name for stage in STAGES]
    run_stages(module, Machine.here(1), stages=STAGES[: stages.index("gradir-lower")])
    return converted(module, names)


def _wanted(module: ModuleOp, function: str | None) -> dict[str, str]:
    """The functions to convert, and the names that they get."""
    functions = functions_by_name(module)
    if function is None:
        return {name: name for name, each in functions.items() if not each.is_declaration}
    if function not in functions or functions[function].is_declaration:
        known = ", ".join(f"@{n}" for n in functions) or "none"
        raise PassError(f"no function @{function} with a body; functions: {known}", module)
    return {function: "main"}


def _refuse_all(module: ModuleOp) -> None:
    """PassError for ops and arguments that no stage makes into something with a form."""
    problems: list[tuple[str, Operation]] = []
    for op in module.ops:
        assert isinstance(op, FuncOp)
        block = only_block(op)
        problems += [(_of_buffer(v), op) for v in block.args if isinstance(v.type, MemRefType)]
        for arg in block.args:
            if is_open(arg.type):
                text = f"@{op.sym_name.data}: shapes must be known, got {arg.type}"
                problems.append((f"{text}; write the extents, or run gradir-specialize", op))
        ends = (*op.function_type.inputs, *op.function_type.outputs)
        if (found := next(filter(is_complex_tensor, ends), None)) is not None:
            text = f"@{op.sym_name.data}: arguments and results must be real, got {found}"
            problems.append((f"{text}; hand over real and imaginary parts", op))
        for inner in ops_within(block):
            if (why := REFUSED.get(inner.name)) is not None:
                problems.append((f"{inner.name}: {why}", inner))
            if PRECISION in inner.attributes or PRECISION in inner.properties:
                problems.append((f"{inner.name}: {_PRECISION}", inner))
            buffers = [v for v in inner.results if isinstance(v.type, MemRefType)]
            problems += [(_of_buffer(v), inner) for v in buffers]
    refuse(problems)


def _of_buffer(value: SSAValue) -> str:
    what = value_name(value)
    return (
        f"{what}: values must be tensors or numbers, got {value.type}; convert before bufferization"
    )


@dataclass(frozen=True)
class ToStablehloPass(ModulePass):
    """Print functions as StableHLO, with {function=f} that one alone, as @main."""

    name = "gradir-to-stablehlo"

    function: str | None = None

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        made = to_stablehlo(op, self.function)
        for old in list(op.ops):
            old.detach()
            old.erase(safe_erase=False)
        for new in list(made.ops):
            new.detach()
            op.body.block.add_op(new)
