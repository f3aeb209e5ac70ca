"""Differentiation of func.call: each callee is differentiated once per activity pattern.

A call of @g becomes a call of its forward half, which returns the residuals, and in the backward
code a call of its backward half.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from xdsl.dialects.func import CallOp, FuncOp
from xdsl.ir import Operation, SSAValue

from gradir.dialects.grad import zero
from gradir.dialects.interfaces import Cotangents
from gradir.dialects.value import Emitter, Value
from gradir.passes.call_dependence import callee_of, dependence
from gradir.passes.derived_functions import Program, split_functions
from gradir.passes.targets import Target, resolve_of, resolve_wrt

if TYPE_CHECKING:
    from gradir.passes.gradient import Differentiator


@dataclass(frozen=True)
class SavedCall:
    """What the backward call needs: the function, residuals, and who takes part."""

    backward: FuncOp
    residuals: tuple[SSAValue, ...]
    wrt: tuple[int, ...]
    of: tuple[int, ...]


Key = tuple[FuncOp, tuple[int, ...], tuple[int, ...]]
"""A callee, and which arguments and results take part."""


class CallRule:
    """The structural rule of func.call."""

    def dependence(self, program: Program, op: Operation, varied: Sequence[bool]) -> Sequence[bool]:
        assert isinstance(op, CallOp)
        return dependence(program, op, varied)

    def forward(
        self,
        program: Program,
        op: Operation,
        operands: Sequence[SSAValue],
        active_operands: Sequence[bool],
        active_results: Sequence[bool],
        emitter: Emitter,
    ) -> tuple[Sequence[SSAValue], object]:
        key = _key(program, op, active_operands, active_results)
        forward, backward = program.halves[key]
        types = forward.function_type.outputs.data
        call = emitter.insert(CallOp(forward.sym_name.data, operands, list(types)))
        count = len(op.results)
        residuals = tuple(call.results[count:])
        for residual, named in zip(residuals, program.results(forward)[count:], strict=True):
            residual.name_hint = named.name_hint
        return call.results[:count], SavedCall(backward, residuals, key[1], key[2])

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


def differentiate_callees(program: Program, caller: Differentiator) -> None:
    """Make the halves of all that is called actively below `caller`, callees first.

    An explicit stack, since chains of calls may be longer than Python's.
    """
    stack: list[tuple[Key | None, Differentiator, Iterator[Key]]]
    stack = [(None, caller, _active_calls(program, caller))]
    while stack:
        key, current, needed = stack[-1]
        following = next((k for k in needed if k not in program.halves), None)
        if following is not None:
            inner = _differentiator(program, following)
            stack.append((following, inner, _active_calls(program, inner)))
            continue
        stack.pop()
        if key is not None:
            derived = current.run(seed_with_ones=False)
            derived.suffix = _suffix(program, key)
            program.halves[key] = split_functions(program, derived, program.share)


def _active_calls(program: Program, caller: Differentiator) -> Iterator[Key]:
    is_active = caller.activity.is_active
    for op in caller.block.ops:
        if isinstance(op, CallOp) and any(map(is_active, op.results)):
            yield _key(program, op, map(is_active, op.operands), map(is_active, op.results))


def _key(program: Program, op: Operation, operands: Iterable[bool], results: Iterable[bool]) -> Key:
    assert isinstance(op, CallOp)
    wrt, of = (tuple(k for k, flag in enumerate(flags) if flag) for flags in (operands, results))
    return callee_of(program, op), wrt, of


def _differentiator(program: Program, key: Key) -> Differentiator:
    from gradir.passes.gradient import Differentiator

    callee, wrt, of = key
    arguments, results = program.block(callee).args, program.results(callee)
    return Differentiator(
        program,
        callee,
        [Target(arguments[k], arguments[k].name_hint or f"arg{k}") for k in wrt],
        [Target(results[k], results[k].name_hint or f"result{k}") for k in of],
    )


def _suffix(program: Program, key: Key) -> str:
    """What tells the halves of one activity pattern from those of another; the default has none."""
    callee, wrt, of = key
    results = program.results(callee)
    usual_wrt = [t.value for t in resolve_wrt(callee, None)]
    usual_of = [t.value for t in resolve_of(callee, results, None, "split")]
    arguments = callee.body.block.args
    if [arguments[k] for k in wrt] == usual_wrt and [results[k] for k in of] == usual_of:
        return ""
    return f"_wrt_{'_'.join(map(str, wrt))}_of_{'_'.join(map(str, of))}"
