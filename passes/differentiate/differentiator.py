"""Forward and backward code of one block: of a function, or of a region in one.

One forward walk copies the block and fills a map from its values; one reverse walk appends the vjp
of each active op through one emitter. The backward code reads values of the forward code freely;
what becomes of that is for the function, or the op around a region, to decide.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from xdsl.dialects.builtin import LocationAttr
from xdsl.ir import Block, Operation, SSAValue

from gradir.dialects.base.diagnostics import PassError, location_text, op_name, value_name
from gradir.dialects.base.interfaces import Cotangents, TensorOp, is_terminator, vjp_rule
from gradir.dialects.base.slice_type import is_slices
from gradir.dialects.base.value import Emitter, Value
from gradir.dialects.base.value_names import cotangent_name
from gradir.dialects.grad.grad import accumulated, zero
from gradir.dialects.grad.slices import densified
from gradir.dialects.grad.tape import TapePopOp, TapeType, cotangent_type, is_tape, new_tape
from gradir.passes.analysis.activity import Activity
from gradir.passes.analysis.region_flow import executions_within
from gradir.passes.cleanup.dead_code import remove_dead_ops
from gradir.passes.differentiate.derived_functions import DifferentiatedLoop, Program
from gradir.passes.differentiate.rule import structural_rule


@dataclass
class Shared:
    """What the blocks of one function share.

    `primal` gives the forward value of each source value. `same` gives, of a carried value that
    never changes, the value that it starts from: cotangents of the one are the other's.
    `dissolved` are ops of which the one block became part of the block around. `loops` are those
    through which cotangents flow. `opened` are the stages that hold a value that was asked for:
    they are dissolved. `copy_of` gives the op of the source that an op stands for; its operands may
    be others, active or not, but it calls what was made for the source. `scaffold` are the blocks
    in which code is made: what is in no region in the end is code to which no cotangent has come.
    """

    program: Program
    activity: Activity
    primal: dict[SSAValue, SSAValue] = field(default_factory=dict[SSAValue, SSAValue])
    same: dict[SSAValue, SSAValue] = field(default_factory=dict[SSAValue, SSAValue])
    saved: dict[Operation, object] = field(default_factory=dict[Operation, object])
    dissolved: dict[Operation, Block] = field(default_factory=dict[Operation, Block])
    loops: dict[Operation, DifferentiatedLoop] = field(
        default_factory=dict[Operation, DifferentiatedLoop]
    )
    opened: set[Operation] = field(default_factory=set[Operation])
    copy_of: dict[Operation, Operation] = field(default_factory=dict[Operation, Operation])
    scaffold: list[Block] = field(default_factory=list[Block])

    def take_down(self, *kept: Block) -> None:
        """Erase the code that became part of nothing, so that nobody finds uses in it."""
        for block in self.scaffold:
            if block.parent is None and block not in kept:
                block.drop_all_references()
        self.scaffold.clear()

    def identify(self, value: SSAValue, origin: SSAValue) -> None:
        """Let the contributions to a value be those of another, which the walk back sees later."""
        self.same[value] = origin

    def origin(self, value: SSAValue) -> SSAValue:
        while value in self.same:
            value = self.same[value]
        return value


@dataclass
class TapeThread:
    """A tape that passes through a block: what it is now, in the forward and in the backward code.

    Without a `backward` of its own, the backward code takes it up where the forward code left it.
    """

    type: TapeType
    forward: SSAValue
    backward: SSAValue | None = None

    def in_backward(self) -> SSAValue:
        return self.forward if self.backward is None else self.backward


class Differentiator:
    """Makes the forward and the backward code of one block.

    `executions`: at most so often the block runs while its tapes live; None where unknown.
    `threaded`: tapes come in as arguments of the new blocks, rather than begin here.
    """

    def __init__(
        self,
        shared: Shared,
        block: Block,
        location: LocationAttr,
        executions: int | None = 1,
        threaded: bool = True,
        asked: Iterable[SSAValue] = (),
        sparse: Iterable[SSAValue] = (),
    ):
        self.shared = shared
        self.activity = shared.activity
        self.program = shared.program
        self.block = block
        self.location = location
        self.executions = executions
        self.threaded = threaded
        self.asked = set(asked)
        # values whose cotangents are summed up as row slices where they can be
        self.sparse = set(sparse)
        self.tapes: list[TapeThread] = []
        self.contributions: dict[SSAValue, list[Value]] = {}
        self.found: dict[SSAValue, Value] = {}
        self.forward = Block()
        self.backward = Block()
        shared.scaffold += [self.forward, self.backward]
        self.emitter = Emitter(self.backward, location)

    def region(self, block: Block, op: Operation) -> Differentiator:
        """For a block of a region of an op of this block."""
        within = executions_within(self.executions, op)
        return Differentiator(self.shared, block, op.location, within)

    # Arguments and tapes.

    def add_argument(self, argument: SSAValue) -> SSAValue:
        """An argument of the forward code for one of the source."""
        ours = self.forward.insert_arg(argument.type, len(self.forward.args))
        ours.name_hint = argument.name_hint
        self.shared.primal[argument] = ours
        return ours

    def open_tape(self, type_: TapeType) -> TapeThread:
        """A tape for an op of this block, or for this block itself."""
        if not self.threaded:
            tape = new_tape(type_, Emitter(self.forward, self.location))
            tape.name_hint = "tape"
            return TapeThread(type_, tape)
        ends = [b.insert_arg(type_, len(b.args)) for b in (self.forward, self.backward)]
        for end in ends:
            end.name_hint = "tape"
        self.tapes.append(TapeThread(type_, *ends))
        return self.tapes[-1]

    # Forward.

    def copy_forward(self) -> None:
        """Append the forward code of all ops but a terminator."""
        self.copy_block(self.block)

    def copy_block(self, block: Block) -> None:
        for op in block.ops:
            if is_terminator(op):
                continue
            rule = structural_rule(op)
            # what is asked for in a stage may be all that is active of it
            is_active = op in self.shared.opened or any(map(self.activity.is_active, op.results))
            if rule is not None and is_active:
                self.shared.saved[op] = rule.forward(self, op)
            else:
                self.forward.add_op(copied(op, self.shared.primal))

    def dissolve(self, op: Operation, block: Block, results: Iterable[SSAValue]) -> None:
        """Make the ops of a region's block, which runs once, ops of this block."""
        self.copy_block(block)
        self.shared.dissolved[op] = block
        for result, value in zip(op.results, results, strict=True):
            self.shared.identify(result, value)
            self.shared.primal[result] = self.primal(value)

    def forward_emitter(self, op: Operation) -> Emitter:
        return Emitter(self.forward, op.location)

    def primal(self, value: SSAValue) -> SSAValue:
        return self.shared.primal[value]

    def set_primal(self, results: Iterable[SSAValue], ours: Iterable[SSAValue]) -> None:
        """Say what stands for results of the source, and name it like them."""
        for result, value in zip(results, ours, strict=True):
            value.name_hint = result.name_hint
            self.shared.primal[result] = value

    # Backward.

    def contribute(self, value: SSAValue, ct: Value) -> None:
        """Add a contribution to the cotangent of a value, of this block or from outside."""
        value = self.shared.origin(value)
        if self._takes(value):
            type_ = ct.ssa.type
            given = type_.dense if is_slices(type_) and value in self.sparse else type_
            assert given == cotangent_type(value.type), f"cotangent {type_} of {value.type}"
            self.contributions.setdefault(value, []).append(ct)

    def _takes(self, value: SSAValue) -> bool:
        """A contribution to a value is of use: it depends on what is asked for."""
        if value not in self.activity.varied:
            return False
        if value not in self.activity.useful:
            raise lost(value, "has no way to a gradient")
        return True

    def walk_back(self) -> None:
        """Append the backward code, given the cotangents that were contributed so far.

        What is left afterwards is for arguments and for values from outside.
        """
        self.walk_block_back(self.block)
        self.emitter.location = self.location
        for value in self.contributions:
            home = _home(value)
            if home is not self.block and self.block.is_ancestor(home):
                raise lost(value, "came after the walk back had passed it")

    def walk_block_back(self, block: Block) -> None:
        op = block.last_op
        while op is not None:
            if (inner := self.shared.dissolved.get(op)) is not None:
                self.walk_block_back(inner)
            elif self._gets_cotangents(op):
                self.emitter.location = op.location
                cts = [self.cotangent(r) for r in op.results]
                for result, ct in zip(op.results, cts, strict=True):
                    if ct is not None and result in self.asked:
                        self.found[result] = ct
                self._propagate(op, [None if ct is None else densified(ct) for ct in cts])
            op = op.prev_op

    def _gets_cotangents(self, op: Operation) -> bool:
        """Something was contributed to a result; or a record is taken from an active tape, whose
        cotangent must have one for it, be it zeros."""
        if isinstance(op, TapePopOp) and self.activity.is_active(op.tape):
            return True
        return any(r in self.contributions for r in op.results)

    def walk_region_back(self, block: Block) -> None:
        """Append the backward code of a block that stands for a region: there, all rows count."""
        sparse, self.sparse = self.sparse, set[SSAValue]()
        self.walk_block_back(block)
        self.sparse = sparse

    def cotangent(self, value: SSAValue) -> Value | None:
        """The sum of the contributions to a value, which are used up; None if there are none."""
        parts = self.contributions.pop(value, None)
        if parts is None:
            return None
        return summed(value, parts)

    def cotangent_or_zero(self, value: SSAValue) -> Value:
        ct = self.cotangent(value)
        if ct is None:
            ct = zero(value.type, self.emitter).named(cotangent_hint(value))
        return densified(ct)

    def sum_so_far(self, value: SSAValue) -> Value:
        """What has flowed to a captured value so far, for an op of this block to add to.

        So a loop in a loop goes on with the sum of the outer one, instead of adding to it.
        """
        return self.cotangent_or_zero(self.shared.origin(value))

    def _propagate(self, op: Operation, cts: Cotangents) -> None:
        """Append the derivative of one op and hand on the cotangents of what it reads."""
        before = self.backward.last_op
        kept: set[SSAValue] = set()
        for value, ct in self._flowing(op, cts):
            if ct is not None and self._takes(self.shared.origin(value)):
                kept.add(ct.ssa)
                self.contribute(value, ct.named(cotangent_hint(value)))
        if structural_rule(op) is None:
            remove_dead_ops(self.backward, before, kept)

    def flowing_out(self) -> dict[SSAValue, Value]:
        """What flows to values from outside the block, after the walk."""
        flowing: dict[SSAValue, Value] = {}
        for value in list(self.contributions):
            ct = self.cotangent(value)
            assert ct is not None
            flowing[value] = ct
        return flowing

    def check_all_used(self) -> None:
        """AssertionError if a contribution is left over, in a block that has nothing around it."""
        for value in self.contributions:
            raise lost(value, "is left over")

    def _flowing(self, op: Operation, cts: Cotangents) -> Iterable[tuple[SSAValue, Value | None]]:
        if (structural := structural_rule(op)) is not None:
            return structural.backward(self, op, self.shared.saved[op], cts)
        if not any(map(self.activity.is_active, op.operands)):
            return []
        rule = vjp_rule(op)
        assert rule is not None  # check_differentiable has seen to it
        results, operands = (
            [self.emitter.value(self.primal(v)) for v in values]
            for values in (op.results, op.operands)
        )
        flowing = list(zip(op.operands, rule(op, cts, results, operands), strict=True))
        return self._as_slices(op, cts, results, operands, flowing)

    def _as_slices(
        self,
        op: Operation,
        cts: Cotangents,
        results: Sequence[Value],
        operands: Sequence[Value],
        flowing: list[tuple[SSAValue, Value | None]],
    ) -> Iterable[tuple[SSAValue, Value | None]]:
        """What flows to the operands, as slices to the first if that is asked for and offered."""
        is_asked = bool(op.operands) and self.shared.origin(op.operands[0]) in self.sparse
        if is_asked and isinstance(op, TensorOp) and len(cts) == 1 and cts[0] is not None:
            slices = op.row_slices(cts[0], results[0], *operands)
            if slices is not None:
                flowing[0] = op.operands[0], slices
        return flowing


def lost(value: SSAValue, fact: str) -> AssertionError:
    """A bug of gradir: a cotangent was contributed that no gradient would have."""
    owner = value.owner if isinstance(value.owner, Operation) else value.owner.parent_op()
    place = "" if owner is None else f"{location_text(owner)}{op_name(owner)}: "
    return AssertionError(f"{place}the cotangent of {value_name(value)} {fact}")


def _home(value: SSAValue) -> Operation | Block:
    """Where a value is defined: an op, or the block that it is an argument of."""
    owner = value.owner
    assert isinstance(owner, Operation | Block)
    return owner


def summed(value: SSAValue, parts: Sequence[Value]) -> Value:
    """The cotangent of a value from contributions, in reverse program order."""
    if is_tape(value.type) and len(parts) > 1:
        raise PassError(
            f"{value_name(value)}: a tape must be read once on each path, got {len(parts)} readers",
            value,
        )
    return accumulated(parts).named(cotangent_hint(value))


def cotangent_hint(value: SSAValue) -> str:
    return cotangent_name(value.name_hint)


def zero_of(value: SSAValue, emitter: Emitter) -> Value:
    """The cotangent of a value to which nothing contributes."""
    return zero(value.type, emitter).named(cotangent_hint(value))


def copied(op: Operation, values: dict[SSAValue, SSAValue]) -> Operation:
    """A copy of an op that reads what stands for its operands; `values` gets its results."""
    copy = op.clone(values)
    for one, other in zip(op.walk(), copy.walk(), strict=True):
        other.location = one.location
    return copy


def splice(block: Block, arguments: Sequence[SSAValue], emitter: Emitter) -> list[SSAValue]:
    """Move the ops of a block to where an emitter is; returns what its terminator handed back."""
    for argument, value in zip(block.args, arguments, strict=True):
        argument.replace_all_uses_with(value)
    last = block.last_op
    assert last is not None
    handed_back = list(last.operands)
    last.detach()
    last.erase()
    for op in list(block.ops):
        op.detach()
        emitter.insert(op)
    return handed_back
