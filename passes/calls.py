"""Differentiation of func.call: each callee is differentiated once per activity pattern.

A call of @g becomes a call of its forward half, which returns the residuals, and in the backward
code a call of its backward half.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import cast

from xdsl.dialects.func import CallOp, FuncOp
from xdsl.ir import Operation, SSAValue

from gradir.dialects.diagnostics import PassError
from gradir.dialects.grad import zero
from gradir.dialects.interfaces import Cotangents
from gradir.dialects.value import Emitter, Value
from gradir.passes.activity import Dependence, analyze, carries_cotangent
from gradir.passes.derived_functions import Program, split_functions
from gradir.passes.targets import Target, resolve_of, resolve_wrt


@dataclass(frozen=True)
class SavedCall:
    """What the backward call needs: the function, residuals, and who takes part."""

    backward: FuncOp
    residuals: tuple[SSAValue, ...]
    wrt: tuple[int, ...]
    of: tuple[int, ...]


class CallRule:
    """The structural rule of func.call."""

    def dependence(self, program: Program, op: Operation, varied: Sequence[bool]) -> Sequence[bool]:
        callee = callee_of(program, op)
        key = (callee, tuple(varied))
        if key not in program.dependences:
            with program.entering(callee, op):
                block = program.block(callee)
                wrt = [
                    a for a, flag in zip(block.args, varied, strict=True)
                    if flag and carries_cotangent(a)
                ]  # fmt: skip
                inner = analyze(block, wrt, [], partial(self._inner, program))
                results = program.results(callee)
                program.dependences[key] = [r in inner.varied for r in results]
        return program.dependences[key]

    def _inner(self, program: Program, op: Operation) -> Dependence | None:
        return partial(self.dependence, program) if isinstance(op, CallOp) else None

    def forward(
        self,
        program: Program,
        op: Operation,
        operands: Sequence[SSAValue],
        active_operands: Sequence[bool],
        active_results: Sequence[bool],
        emitter: Emitter,
    ) -> tuple[Sequence[SSAValue], object]:
        callee = callee_of(program, op)
        wrt = tuple(k for k, flag in enumerate(active_operands) if flag)
        of = tuple(k for k, flag in enumerate(active_results) if flag)
        forward, backward = self._halves(program, callee, op, wrt, of)
        types = forward.function_type.outputs.data
        call = emitter.insert(CallOp(forward.sym_name.data, operands, list(types)))
        count = len(op.results)
        residuals = tuple(call.results[count:])
        for residual, named in zip(residuals, program.results(forward)[count:], strict=True):
            residual.name_hint = named.name_hint
        return call.results[:count], SavedCall(backward, residuals, wrt, of)

    def _halves(
        self,
        program: Program,
        callee: FuncOp,
        op: Operation,
        wrt: tuple[int, ...],
        of: tuple[int, ...],
    ) -> tuple[FuncOp, FuncOp]:
        from gradir.passes.gradient import Differentiator

        key = (callee, wrt, of)
        if key not in program.halves:
            with program.entering(callee, op):
                block, results = program.block(callee), program.results(callee)
                derived = Differentiator(
                    program,
                    callee,
                    [Target(block.args[k], block.args[k].name_hint or f"arg{k}") for k in wrt],
                    [Target(results[k], results[k].name_hint or f"result{k}") for k in of],
                ).run(seed_with_ones=False)
                derived.suffix = _suffix(callee, results, wrt, of)
                forward, backward = split_functions(program, derived, program.share)
                program.halves[key] = (forward, backward)
        return program.halves[key]

    def backward(
        self, program: Program, op: Operation, saved: object, cts: Cotangents, emitter: Emitter
    ) -> Cotangents:
        call = cast(SavedCall, saved)
        seeds = [self._seed(cts[k], op.results[k], emitter) for k in call.of]
        types = call.backward.function_type.outputs.data
        name = call.backward.sym_name.data
        made = emitter.insert(CallOp(name, [*call.residuals, *seeds], list(types)))
        flowing: list[Value | None] = [None] * len(op.operands)
        for place, result in zip(call.wrt, made.results, strict=True):
            flowing[place] = emitter.value(result)
        return flowing

    def _seed(self, ct: Value | None, result: SSAValue, emitter: Emitter) -> SSAValue:
        return zero(result.type, emitter).ssa if ct is None else ct.ssa


def _suffix(
    callee: FuncOp, results: Sequence[SSAValue], wrt: tuple[int, ...], of: tuple[int, ...]
) -> str:
    """What tells the halves of one activity pattern from those of another; the default has none."""
    usual_wrt = [t.value for t in resolve_wrt(callee, None)]
    usual_of = [t.value for t in resolve_of(callee, results, None, "split")]
    arguments = callee.body.block.args
    if [arguments[k] for k in wrt] == usual_wrt and [results[k] for k in of] == usual_of:
        return ""
    return f"_wrt_{'_'.join(map(str, wrt))}_of_{'_'.join(map(str, of))}"


def callee_of(program: Program, op: Operation) -> FuncOp:
    """The function that a call calls; PassError where it has no body."""
    assert isinstance(op, CallOp)
    callee = program.function(op.callee.root_reference.data, op)
    if callee.is_declaration:
        raise PassError(
            f"func.call: @{callee.sym_name.data} has no body, so that it has no derivative", op
        )
    return callee
