"""Forward mode, beside reverse_mode.py: `walk_block_with_tangents` copies a block, and puts behind
each op the code for the tangents of its results.

Most ops have the one rule of this file, `push_ordinary`: the transpose of their vjp (transpose.py).
An op with regions, or a call, has a rule of its own (passes/rules/tangents.py), by the table in
passes/gradient/rule_table.py. There are no residuals: loops carry tangents along without tapes, and
checkpoints have no meaning.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any

from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Block, Operation, SSAValue

from gradir.dialects.base.interfaces import is_terminator
from gradir.dialects.base.value import Emitter
from gradir.dialects.grad.gates import Gates
from gradir.dialects.grad.grad import accumulated, zero
from gradir.passes.analysis.region_flow import executions_within, yielded
from gradir.passes.differentiate.function import FunctionDifferentiator
from gradir.passes.differentiate.transpose import pushed_forward


def walk_block_with_tangents(work: ForwardMode, block: Block) -> None:
    """Copy the ops of a block but the terminator, with their tangents."""
    for op in block.ops:
        if is_terminator(op):
            continue
        if work.takes_part(op):
            work.push(op)
        else:
            work.copy(op)


def push_ordinary(work: ForwardMode, op: Operation) -> None:
    """The forward rule of all ops with a vjp."""
    copy, emitter = work.copy(op), work.emitter(op)
    tangents = [work.tangent.get(o) for o in op.operands]
    wanted = [work.activity.is_active(r) for r in op.results]
    pushed = pushed_forward(copy, tangents, wanted, emitter, work.gates)
    work.set_tangents(op.results, pushed, emitter)


class ForwardMode:
    """Copies ops into a block, with their tangents.

    `primal` and `tangent` map values of the source to new ones; a value without a tangent has the
    tangent 0. `given` are tangents that are added to the computed ones. `callees` are the functions
    with tangents. `executions` is a bound on the block's runs, a part of the callees' keys.
    """

    def __init__(
        self,
        analysis: FunctionDifferentiator,
        callees: Mapping[Hashable, FuncOp],
        block: Block,
        executions: int | None,
        gates: Gates,
    ):
        self.analysis = analysis
        self.program = analysis.program
        self.activity = analysis.activity
        self.callees = callees
        self.block = block
        self.executions = executions
        self.gates = gates
        self.dissolved_stages = analysis.dissolved_stages()
        self.primal: dict[SSAValue, SSAValue] = {}
        self.tangent: dict[SSAValue, SSAValue] = {}
        self.given: dict[SSAValue, SSAValue] = {}

    def region(self, op: Operation) -> ForwardMode:
        """The forward mode of a region of an op of this block."""
        executions = executions_within(self.executions, op)
        inner = ForwardMode(self.analysis, self.callees, Block(), executions, self.gates)
        inner.primal, inner.tangent, inner.given = self.primal, self.tangent, self.given
        return inner

    # Values.

    def add_argument(self, source: SSAValue | None, type_: Attribute, hint: str | None) -> SSAValue:
        """Add an argument to the block, for a value of the source if there is one."""
        ours = self.block.insert_arg(type_, len(self.block.args))
        ours.name_hint = hint
        if source is not None:
            self.primal[source] = ours
        return ours

    def set_tangents(
        self, values: Sequence[SSAValue], tangents: Sequence[SSAValue | None], emitter: Emitter
    ) -> None:
        """Set the tangents of values; given ones are added."""
        for value, flowing in zip(values, tangents, strict=True):
            parts = [t for t in (self.given.get(value), flowing) if t is not None]
            if parts and self.activity.is_active(value):
                total = accumulated([emitter.value(t) for t in parts])
                self.tangent[value] = total.named(tangent_hint(value)).ssa

    def tangent_or_zero(self, value: SSAValue, emitter: Emitter) -> SSAValue:
        found = self.tangent.get(value)
        return zero(value.type, emitter).ssa if found is None else found

    # Ops.

    def takes_part(self, op: Operation) -> bool:
        """Whether a tangent may flow to a result of an op, or to a value in a dissolved stage."""
        return op in self.dissolved_stages or any(map(self.activity.is_active, op.results))

    def push(self, op: Operation) -> None:
        """Copy an op with its tangents, by its rule."""
        found = self.analysis.rules.get(type(op))
        push = found.forward if found and found.forward else push_ordinary
        push(self, op)

    def copy(self, op: Operation) -> Operation:
        copy = op.clone(self.primal)
        copy.location = op.location
        self.block.add_op(copy)
        return copy

    def emitter(self, op: Operation) -> Emitter:
        return Emitter(self.block, op.location)

    def take_over(self, op: Operation, made: Operation, active: Sequence[int]) -> None:
        """Map results of `op` to results of `made`, which end with the active ones' tangents."""
        count = len(op.results)
        for result, ours in zip(op.results, made.results, strict=False):
            ours.name_hint = result.name_hint
            self.primal[result] = ours
        values = [op.results[k] for k in active]
        self.set_tangents(values, made.results[count : count + len(active)], self.emitter(op))

    def dissolve(self, op: Operation) -> None:
        """Copy the ops of a region that runs once as ops of this block, with their tangents."""
        block = op.regions[0].block
        walk_block_with_tangents(self, block)
        for result, value in zip(op.results, yielded(block), strict=True):
            self.primal[result] = self.primal[value]
            if (tangent := self.tangent.get(value)) is not None:
                self.tangent[result] = tangent


def tangent_hint(value: SSAValue) -> str:
    return f"{value.name_hint}_tangent" if value.name_hint else "tangent"


ForwardRule = Callable[[ForwardMode, Any], None]
"""Appends an op of one class with the tangents of its results."""
