"""Differentiation of func.call: each callee is differentiated once per activity pattern.

A call of @g becomes a call of its forward half, which returns the residuals, and in the backward
code a call of its backward half.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator
from dataclasses import dataclass

from xdsl.dialects.func import CallOp, FuncOp
from xdsl.ir import Block, BlockArgument, Operation, SSAValue

from gradir.dialects.base.interfaces import Cotangents
from gradir.dialects.base.slice_type import is_slices
from gradir.dialects.base.value import Value
from gradir.dialects.grad.grad import is_zero, zero
from gradir.dialects.grad.slices import densified, slices_of
from gradir.passes.analysis.activity import Activity
from gradir.passes.analysis.call_graph import callees_first
from gradir.passes.analysis.region_flow import executions_within, region_flow
from gradir.passes.analysis.region_ops import is_counted, is_loop
from gradir.passes.differentiate.call_dependence import callee_of
from gradir.passes.differentiate.call_masks import note_call
from gradir.passes.differentiate.derived import split_functions
from gradir.passes.differentiate.differentiator import Differentiator
from gradir.passes.differentiate.function import FunctionDifferentiator
from gradir.passes.differentiate.program import CalleeHalves, ModuleFunctions
from gradir.passes.differentiate.reverse_mode import Flowing
from gradir.passes.differentiate.selectors import Target, resolve_of, resolve_wrt
from gradir.passes.differentiate.structural_rule import Rules
from gradir.passes.differentiate.tables import Pattern, call_pattern
from gradir.passes.differentiate.tapes import TapeThread
from gradir.passes.rules.custom_vjp import (
    SavedCustomCall,
    custom_backward,
    custom_forward,
    custom_of,
)


@dataclass(frozen=True)
class Key:
    """A callee, its active arguments and results, and the bound of its executions.

    The bound is 1 for a callee without loops, which needs no tapes. `tables` are the active
    arguments whose gradients may be row slices: the backward half returns two values for each
    whose gradient is (`ModuleFunctions.rows_read`).
    """

    callee: FuncOp
    wrt: tuple[int, ...]
    of: tuple[int, ...]
    tables: tuple[int, ...]
    executions: int | None

    @property
    def pattern(self) -> Pattern:
        return self.callee, self.wrt, self.of, self.tables


@dataclass(frozen=True)
class SavedCall:
    """The data of a backward call: functions, residuals, tapes, active arguments and results."""

    key: Key
    halves: CalleeHalves
    residuals: tuple[SSAValue, ...]
    threads: tuple[TapeThread, ...]


class CallRule:
    """The structural rule of func.call."""

    def forward(self, outer: Differentiator, op: CallOp) -> SavedCall | SavedCustomCall:
        if (declared := custom_of(outer.program, op)) is not None:
            return custom_forward(outer, op, declared)
        source = outer.shared.copy_of.get(op, op)
        assert isinstance(source, CallOp)
        tables = outer.shared.tables.among(source)
        key = key_of(outer.program, source, outer.activity, outer.executions, tables)
        halves = outer.program.halves[key]
        threads = tuple(outer.open_tape(t) for t in halves.tapes)
        operands = [*map(outer.primal, op.operands), *(t.forward for t in threads)]
        types = halves.forward.function_type.outputs.data
        name = halves.forward.sym_name.data
        call = outer.forward_emitter(op).insert(CallOp(name, operands, list(types)))
        returned = outer.program.results(halves.forward)
        for result, named in zip(call.results, returned, strict=True):
            result.name_hint = named.name_hint
        count, last = len(op.results), len(call.results) - len(threads)
        outer.set_primal(op.results, call.results[:count])
        # values that the callee hands through are here already
        residuals = tuple(
            operands[kept.index] if isinstance(kept, BlockArgument) else result
            for result, kept in zip(call.results[count:last], returned[count:last], strict=True)
        )
        for thread, tape in zip(threads, call.results[last:], strict=True):
            thread.forward = tape
        return SavedCall(key, halves, residuals, threads)

    def backward(
        self,
        outer: Differentiator,
        op: CallOp,
        saved: SavedCall | SavedCustomCall,
        cts: Cotangents,
    ) -> Flowing:
        if isinstance(saved, SavedCustomCall):
            return custom_backward(outer, op, saved, cts)
        emitter = outer.emitter
        seeds = [(cts[k] or zero(op.results[k].type, emitter)).ssa for k in saved.key.of]
        types = saved.halves.backward.function_type.outputs.data
        name = saved.halves.backward.sym_name.data
        tapes = [t.in_backward() for t in saved.threads]
        made = emitter.insert(CallOp(name, [*saved.residuals, *seeds, *tapes], list(types)))
        first = len(made.results) - len(tapes)
        for thread, tape in zip(saved.threads, made.results[first:], strict=True):
            thread.backward = tape
        # a symbolic zero is left out here too: -0.0 + 0.0 is 0.0
        returned = map(is_zero, outer.program.results(saved.halves.backward))
        parts = zip(map(emitter.value, made.results[:first]), returned, strict=False)
        rows = outer.program.rows_read[saved.key.pattern]
        grads = [_cotangent(outer, op, k in rows, k, parts) for k in saved.key.wrt]
        source = outer.shared.copy_of.get(op, op)
        assert isinstance(source, CallOp)
        note_call(outer.shared.gates, source, saved.halves.masks, seeds, grads, emitter)
        return [(op.operands[k], ct) for k, ct in zip(saved.key.wrt, grads, strict=True)]


def _cotangent(
    outer: Differentiator,
    op: CallOp,
    is_sparse: bool,
    k: int,
    parts: Iterator[tuple[Value, bool]],
) -> Value | None:
    """The cotangent of an operand from the next results of the backward half, each with whether it
    is zero."""
    first, is_nothing = next(parts)
    if not is_sparse:
        return None if is_nothing else first
    rows = slices_of(first, next(parts)[0], op.operands[k].type)
    return rows if outer.contributions.sums_slices(op.operands[k]) else densified(rows)


def differentiate_callees(caller: FunctionDifferentiator) -> None:
    """Make the halves of all active callees below `caller`, callees first."""
    program = caller.program

    def derive(key: Key, callee: FunctionDifferentiator) -> None:
        derived = callee.run(seed_with_ones=False)
        derived.suffix = suffix(program, key)
        rows = zip(key.wrt, (grad.type for grad in derived.grads), strict=True)
        program.rows_read[key.pattern] = {k: t.rows for k, t in rows if is_slices(t)}
        derived.unpack_slices()
        forward, backward = split_functions(program, derived, program.share)
        tapes = tuple(t.type for t in derived.tapes)
        program.halves[key] = CalleeHalves(forward, backward, tapes, callee.masks)

    derive_callees(caller, program.halves, derive)


def derive_callees(
    caller: FunctionDifferentiator,
    done: Container[object],
    derive: Callable[[Key, FunctionDifferentiator], None],
) -> None:
    """Call `derive` for all active callees below `caller` that are not done, callees first.

    An explicit stack, since chains of calls may be longer than Python's.
    """
    program = caller.program
    stack: list[tuple[Key | None, FunctionDifferentiator, Iterator[Key]]]
    stack = [(None, caller, _active_calls(program, caller))]
    while stack:
        key, current, needed = stack[-1]
        following = next((k for k in needed if k not in done), None)
        if following is not None:
            inner = _differentiator(program, caller.rules, following)
            stack.append((following, inner, _active_calls(program, inner)))
            continue
        stack.pop()
        if key is not None:
            derive(key, current)


def _active_calls(program: ModuleFunctions, caller: FunctionDifferentiator) -> Iterator[Key]:
    """The active calls in a function and in its loops; a generator, which can be resumed."""
    dissolved = caller.dissolved_stages()
    for op, executions in _with_executions(caller.block, caller.executions, dissolved):
        if not isinstance(op, CallOp) or custom_of(program, op) is not None:
            continue
        if any(map(caller.activity.is_active, op.results)):
            tables = caller.tables.among(op)
            yield key_of(program, op, caller.activity, executions, tables)


def _with_executions(
    block: Block, executions: int | None, dissolved: Container[Operation]
) -> Iterator[tuple[Operation, int | None]]:
    for op in block.ops:
        yield op, executions
        if (flow := region_flow(op)) is not None:
            inside = executions if op in dissolved else executions_within(executions, op)
            for inner in flow.blocks:
                yield from _with_executions(inner, inside, dissolved)
            if is_loop(op) and not is_counted(op) and inside != executions:
                # the copy of the first test, for repeated iterations
                yield from _with_executions(flow.blocks[0], executions, dissolved)


def key_of(
    program: ModuleFunctions,
    op: CallOp,
    activity: Activity,
    executions: int | None,
    tables: tuple[int, ...] = (),
) -> Key:
    pattern = call_pattern(program, op, activity, tables)
    return Key(*pattern, executions if _has_loops(program, pattern[0]) else 1)


def _has_loops(program: ModuleFunctions, function: FuncOp) -> bool:
    """Whether a function, or one that it calls, has a loop; there is no recursion."""
    if function not in program.looping:
        functions = callees_first(program.functions, [function])
        for each in functions:
            program.looping[each] = any(
                is_loop(op) or (isinstance(op, CallOp) and program.looping[callee_of(program, op)])
                for op in each.walk()
            )
    return program.looping[function]


def _differentiator(program: ModuleFunctions, rules: Rules, key: Key) -> FunctionDifferentiator:
    arguments, results = program.block(key.callee).args, program.results(key.callee)
    return FunctionDifferentiator(
        program,
        rules,
        key.callee,
        [_argument(arguments[k], k, k in key.tables) for k in key.wrt],
        [Target(results[k], results[k].name_hint or f"result{k}") for k in key.of],
        key.executions,
        tapes_are_arguments=True,
    )


def _argument(value: SSAValue, k: int, is_table: bool) -> Target:
    return Target(value, value.name_hint or f"arg{k}", "rows" if is_table else "write")


def suffix(program: ModuleFunctions, key: Key) -> str:
    """The name suffix of an activity pattern's halves; empty for the default pattern."""
    callee, wrt, of = key.callee, key.wrt, key.of
    results = program.results(callee)
    usual_wrt = [t.value for t in resolve_wrt(callee, None)]
    usual_of = [t.value for t in resolve_of(callee, results, None, "split")]
    arguments = callee.body.block.args
    rows = f"_rows_{'_'.join(map(str, key.tables))}" if key.tables else ""
    if [arguments[k] for k in wrt] == usual_wrt and [results[k] for k in of] == usual_of:
        return rows
    return f"_wrt_{'_'.join(map(str, wrt))}_of_{'_'.join(map(str, of))}{rows}"
