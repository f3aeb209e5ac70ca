"""The forward and the backward code of one block, under construction."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from xdsl.dialects.builtin import LocationAttr
from xdsl.ir import Block, Operation, SSAValue

from gradir.dialects.base.value import Emitter, Value
from gradir.dialects.grad.tape import TapeType, new_tape
from gradir.passes.analysis.edits import erase
from gradir.passes.differentiate.shared import Shared
from gradir.passes.differentiate.tapes import TapeThread


class BlockCode:
    """The forward and the backward code of a block of the source.

    The backward code reads values of the forward code freely; the function, or the op around a
    region, turns these reads into residuals. `tapes_are_arguments`: tapes are arguments of the new
    blocks, which hand them back; otherwise they begin here.
    """

    def __init__(
        self, shared: Shared, block: Block, location: LocationAttr, tapes_are_arguments: bool
    ):
        self.shared = shared
        self.activity = shared.activity
        self.program = shared.program
        self.block = block
        self.location = location
        self.tapes_are_arguments = tapes_are_arguments
        self.tapes: list[TapeThread] = []
        self.forward = Block()
        self.backward = Block()
        shared.scaffold += [self.forward, self.backward]
        self.emitter = Emitter(self.backward, location)

    def forward_emitter(self, op: Operation) -> Emitter:
        return Emitter(self.forward, op.location)

    def add_argument(self, argument: SSAValue) -> SSAValue:
        """Add an argument of the forward code for one of the source."""
        ours = self.forward.insert_arg(argument.type, len(self.forward.args))
        ours.name_hint = argument.name_hint
        self.shared.primal[argument] = ours
        return ours

    def copy(self, op: Operation) -> None:
        """Append a copy of an op to the forward code."""
        self.forward.add_op(copied(op, self.shared.primal))

    def primal(self, value: SSAValue) -> SSAValue:
        return self.shared.primal[value]

    def primals(self, values: Iterable[SSAValue]) -> list[Value]:
        """The primals of values of the source, for backward code."""
        return [self.emitter.value(self.primal(value)) for value in values]

    def set_primal(self, results: Iterable[SSAValue], ours: Iterable[SSAValue]) -> None:
        """Set the primal values of results of the source, and name them alike."""
        for result, value in zip(results, ours, strict=True):
            value.name_hint = result.name_hint
            self.shared.primal[result] = value

    def open_tape(self, type_: TapeType) -> TapeThread:
        """Open a tape for an op of this block, or for this block itself."""
        if not self.tapes_are_arguments:
            tape = new_tape(type_, Emitter(self.forward, self.location))
            tape.name_hint = "tape"
            return TapeThread(type_, tape)
        ends = [b.insert_arg(type_, len(b.args)) for b in (self.forward, self.backward)]
        for end in ends:
            end.name_hint = "tape"
        self.tapes.append(TapeThread(type_, *ends))
        return self.tapes[-1]


def copied(op: Operation, values: dict[SSAValue, SSAValue]) -> Operation:
    """A copy of an op on the mapped operands; maps the results in `values`."""
    copy = op.clone(values)
    for one, other in zip(op.walk(), copy.walk(), strict=True):
        other.location = one.location
    return copy


def splice(block: Block, arguments: Sequence[SSAValue], emitter: Emitter) -> list[SSAValue]:
    """Move the ops of a block to an emitter's place; returns the terminator's operands."""
    for argument, value in zip(block.args, arguments, strict=True):
        argument.replace_all_uses_with(value)
    last = block.last_op
    assert last is not None
    handed_back = list(last.operands)
    erase(last)
    for op in list(block.ops):
        op.detach()
        emitter.insert(op)
    return handed_back
