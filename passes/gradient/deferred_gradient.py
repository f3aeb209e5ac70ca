"""Derivatives of functions with dynamic shapes: a placeholder until the shapes are known.

Its body is one grad.derivative, which gradir-specialize replaces. A derivative depends on extents
(a mean's divides by the number of elements), so that it is made when they are known.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import ArrayAttr, IntegerAttr, StringAttr, i64
from xdsl.dialects.func import CallOp, FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, Operation, SSAValue

from gradir.dialects.base.diagnostics import PassError, op_name
from gradir.dialects.base.shapes import has_open_types, is_open
from gradir.dialects.grad.derivative import MODES, DerivativeOp
from gradir.dialects.grad.tape import cotangent_type
from gradir.passes.analysis.activity import Activity
from gradir.passes.analysis.region_flow import ops_within
from gradir.passes.analysis.signature import argument_attributes
from gradir.passes.differentiate.derived import function_around
from gradir.passes.differentiate.function import FunctionDifferentiator
from gradir.passes.differentiate.program import ModuleFunctions
from gradir.passes.differentiate.selectors import Target
from gradir.passes.gradient.requests import DerivativeRequest
from gradir.passes.shapes.specialize import waits_for_shapes


def open_op(
    program: ModuleFunctions, source: FuncOp, activity: Activity, targets: Sequence[Target]
) -> Operation | None:
    """The first op whose derivative needs unknown shapes; or the function, if its gradients do.

    A value without contributions has a gradient of zeros, whose shape must be known.
    """
    for op in ops_within(program.block(source)):
        if any(map(activity.is_active, op.results)) and _waits(program, op):
            return op
    return source if any(is_open(t.value.type) for t in targets) else None


def _waits(program: ModuleFunctions, op: Operation) -> bool:
    if isinstance(op, DerivativeOp) or has_open_types(op):
        return True
    if isinstance(op, CallOp):
        callee = program.functions.get(op.callee.root_reference.data)
        return callee is not None and waits_for_shapes(program.functions, program.custom, callee)
    return False


def _options(request: DerivativeRequest) -> dict[str, Attribute]:
    """A request as attributes of a grad.derivative, without its defaults."""
    found: dict[str, Attribute] = {"mode": StringAttr(request.mode)}
    for name, selectors in (("wrt", request.wrt), ("of", request.of)):
        if selectors is not None:
            found[name] = ArrayAttr(
                StringAttr(s) if isinstance(s, str) else IntegerAttr(s, i64) for s in selectors
            )
    if request.requests:
        forms = (f"{selector}={form}" for selector, form in request.requests)
        found["req"] = StringAttr(",".join(forms))
    if request.policy != "keep_all":
        found["policy"] = StringAttr(request.policy)
    if request.memory_limit is not None:
        found["memory_limit"] = IntegerAttr(request.memory_limit, i64)
    return found


def insert_deferred(
    analysis: FunctionDifferentiator, request: DerivativeRequest, place: Operation
) -> FuncOp:
    """Insert the placeholder `@f_<mode>`; PassError where the mode's types are unknown."""
    program, source, mode = analysis.program, analysis.source, request.mode
    wrt, of, name = analysis.wrt, analysis.of, source.sym_name.data
    _require_deferrable(source, wrt, mode, place)
    block = Block(arg_types=[a.type for a in program.block(source).args])
    for ours, argument in zip(block.args, program.block(source).args, strict=True):
        ours.name_hint = argument.name_hint
    incoming = of if mode == "vjp" else wrt if mode == "jvp" else ()
    ending = "tangent" if mode == "jvp" else "ct"
    for target in incoming:
        ct = block.insert_arg(cotangent_type(target.value.type), len(block.args))
        ct.name_hint = f"{target.hint}_{ending}"
    outgoing = of if mode == "jvp" else wrt
    results: list[SSAValue] = list(program.results(source))
    types = [r.type for r in results] + [cotangent_type(t.value.type) for t in outgoing]
    hints = [r.name_hint for r in results] + [f"{t.hint}_{ending}" for t in outgoing]
    op = DerivativeOp(name, block.args, types, _options(request))
    op.location = source.location
    for result, hint in zip(op.results, hints, strict=True):
        result.name_hint = hint
    returned = ReturnOp(*op.results)
    returned.location = source.location
    block.add_ops([op, returned])
    made = function_around(f"{name}_{mode}", block, argument_attributes(source))
    return program.add(made, source)


def _require_deferrable(source: FuncOp, wrt: Sequence[Target], mode: str, place: Operation) -> None:
    """PassError where the types of the derivative are unknown, or a request needs shapes."""
    if mode not in MODES:
        raise PassError(
            f"gradir-gradient: mode {mode} needs static shapes, as the residuals of "
            f"@{source.sym_name.data} depend on them at {op_name(place)}; run gradir-specialize "
            "first",
            place,
        )
    for target in wrt:
        if target.request != "write":
            raise PassError(
                f"req: {target.request} needs static shapes, as {op_name(place)} has not; run "
                "gradir-specialize first",
                place,
            )
