"""Structured control flow on scalars to LLVM blocks and phis: the scf ops with one block a region.

    names: dict[SSAValue, str] = {}                    # LLVM names of all values known so far
    flow = ControlFlow(function_text, names, emit_ops)
    if not flow.emit(op):                              # writes scf.for, .if, .while, ...
        ...                                            # not a structured op: the caller's

`emit_ops(block)` is called where a block's ops belong: it writes all of them but the terminator,
and adds their results to `names`. It may come back to `emit` for ops inside, and may end in another
LLVM block than it began in. Operands are looked up in `names`; arguments and results are added.
"""

from __future__ import annotations

from collections.abc import Callable, MutableMapping, Sequence
from typing import ClassVar, Protocol

from xdsl.dialects import scf
from xdsl.dialects.builtin import MemRefType
from xdsl.ir import Block, Operation, SSAValue

from gradir.codegen.text.kinds import kind_of, llvm_type
from gradir.codegen.text.writer import FunctionWriter
from gradir.dialects.base.attributes import integers_of
from gradir.dialects.base.constants import constant_integer
from gradir.dialects.base.diagnostics import LocatedError


def value_type(value: SSAValue) -> str:
    """The LLVM type of a value; a buffer is a pointer."""
    return "ptr" if isinstance(value.type, MemRefType) else llvm_type(kind_of(value.type))


class IterationBlock(Protocol):
    """The values that several iterations of a loop compute together, before they run one by one."""

    @property
    def lanes(self) -> int:
        """The largest number of iterations."""
        ...

    def begin(self) -> str:
        """Compute ahead; gives the number of iterations."""
        ...

    def resume(self, lane: str) -> None:
        """At the start of iteration number `lane` of them."""
        ...

    def end(self) -> None:
        """After the last."""
        ...


class ControlFlow:
    """Writes structured ops into one function.

    `type_of` gives the LLVM type of a carried value or result. `passed(value, target)` gives the
    name of `value` in the form that `target`, a block argument or result, has; it may write
    instructions. By default values have one form. `condition_of` gives the name of the condition of
    another trip of an scf.while, by default the operand. `blocks_of` gives the block of iterations
    that an scf.for computes ahead, if any; `chunk_of` how many iterations of one with constant
    bounds are a loop of their own. `at_back_edge(loop, trips)` may write instructions after an
    iteration of a loop, or after as many as run as one.
    """

    def __init__(
        self,
        function: FunctionWriter,
        names: MutableMapping[SSAValue, str],
        emit_ops: Callable[[Block], None],
        type_of: Callable[[SSAValue], str] = value_type,
        passed: Callable[[SSAValue, SSAValue], str] | None = None,
        condition_of: Callable[[scf.ConditionOp], str] | None = None,
        blocks_of: Callable[[scf.ForOp], IterationBlock | None] | None = None,
        chunk_of: Callable[[scf.ForOp], int | None] | None = None,
        at_back_edge: Callable[[Operation, int], None] | None = None,
    ):
        self.f = function
        self.names = names
        self.emit_ops = emit_ops
        self.type_of = type_of
        self.passed = passed or self._in_its_form
        self.condition_of = condition_of or self._condition
        self.blocks_of = blocks_of
        self.chunk_of = chunk_of
        self.at_back_edge = at_back_edge or _skip_back_edge

    def emit(self, op: Operation) -> bool:
        """Write `op` if it is structured; otherwise write nothing and return False."""
        emitter = self.EMITTERS.get(type(op))
        if emitter is None:
            return False
        emitter(self, op)
        return True

    def emit_for(self, op: scf.ForOp) -> None:
        """`for (i = lb; i < ub; i += step)`, signed; results are the carried values at the end."""
        carried = op.body.block.args[1:]
        starts = [self.names[op.lb], *self._passed(op.iter_args, carried)]
        ends = self._for(op, starts, self.names[op.ub], self._trip)
        self.names.update(zip(op.res, ends[1:], strict=True))

    def _for(
        self,
        op: scf.ForOp,
        starts: Sequence[str],
        upper: str,
        trip: Callable[[scf.ForOp], Sequence[str]],
    ) -> list[str]:
        """A loop of trips up to a bound; gives the counter and carried values at its end."""
        f, values = self.f, op.body.block.args
        head, inside, done = (f.fresh(f"for.{part}") for part in ("head", "body", "done"))
        entry = f.current_label
        f.jump(head)
        f.label(head)
        first = self._reserve_phis(values)
        ends = [self.names[value] for value in values]
        type_ = self.type_of(values[0])
        more = f.emit(f"icmp slt {type_} {ends[0]}, {upper}")
        f.branch(more, inside, done)
        f.label(inside)
        following = trip(op)
        latch = f.current_label
        f.jump(head)
        self.names.update(zip(values, ends, strict=True))
        self._fill_phis(first, values, [(starts, entry), (following, latch)])
        f.label(done)
        return ends

    def _trip(self, op: scf.ForOp) -> list[str]:
        """The code between two tests of a loop's bound: one iteration, or several."""
        ahead = self.blocks_of(op) if self.blocks_of else None
        chunk = self.chunk_of(op) if self.chunk_of and ahead is None else None
        if ahead is not None:
            ends = self._iterations(op, ahead)
        else:
            ends = self._iteration(op) if chunk is None else self._chunk(op, chunk)
        self.at_back_edge(op, chunk or 1 if ahead is None else ahead.lanes)
        return ends

    def _chunk(self, op: scf.ForOp, size: int) -> list[str]:
        """At most `size` iterations, as a loop inside; the bounds of `op` are constants."""
        f, values = self.f, op.body.block.args
        starts = [self.names[value] for value in values]
        left = f.emit(f"sub i64 {self.names[op.ub]}, {starts[0]}")
        # not negative, so that numbers without a sign do not overflow
        length = size * (constant_integer(op.step) or 1)
        is_last = f.emit(f"icmp ule i64 {left}, {length}")
        step = f.emit(f"select i1 {is_last}, i64 {left}, i64 {length}")
        end = f.emit(f"add i64 {starts[0]}, {step}")
        return self._for(op, starts, end, self._iteration)

    def _iteration(self, op: scf.ForOp) -> list[str]:
        """One iteration; gives the counter and carried values of the next."""
        block = op.body.block
        self.emit_ops(block)
        following = self._passed(_terminator(block).operands, block.args[1:])
        return [self._next(op), *following]

    def _next(self, op: scf.ForOp) -> str:
        """The counter of the next iteration; the upper bound, where it would overflow."""
        f, type_ = self.f, self.type_of(op.body.block.args[0])
        index, upper, step = (self.names[v] for v in (op.body.block.args[0], op.ub, op.step))
        if _step_fits(int(type_[1:]), constant_integer(op.ub), constant_integer(op.step)):
            return f.emit(f"add nsw {type_} {index}, {step}")
        # not negative as a number without a sign, as the counter is below the bound
        left = f.emit(f"sub {type_} {upper}, {index}")
        is_last = f.emit(f"icmp ule {type_} {left}, {step}")
        following = f.emit(f"add {type_} {index}, {step}")
        return f.emit(f"select i1 {is_last}, {type_} {upper}, {type_} {following}")

    def _iterations(self, op: scf.ForOp, ahead: IterationBlock) -> list[str]:
        """The same for as many iterations as are computed ahead together."""
        f, values = self.f, op.body.block.args
        outer = [self.names[value] for value in values]
        count = ahead.begin()
        head, inside, done = (f.fresh(f"block.{part}") for part in ("head", "body", "done"))
        entry, lane, following = f.current_label, "%" + f.fresh("lane"), "%" + f.fresh("lane")
        f.jump(head)
        f.label(head)
        place = f.reserve_phis(1)
        first = self._reserve_phis(values)
        inner = [self.names[value] for value in values]
        more = f.emit(f"icmp ult i64 {lane}, {count}")
        f.branch(more, inside, done)
        f.label(inside)
        ahead.resume(lane)
        ends = self._iteration(op)
        f.line(f"{following} = add i64 {lane}, 1")
        latch = f.current_label
        f.jump(head)
        f.fill_phi(place, lane, "i64", [("0", entry), (following, latch)])
        self._fill_phis(first, values, [(outer, entry), (ends, latch)])
        f.label(done)
        ahead.end()
        self.names.update(zip(values, outer, strict=True))
        return inner

    def emit_if(self, op: scf.IfOp) -> None:
        """One of two regions; the second may be missing where there are no results."""
        f = self.f
        then, other, done = (f.fresh(f"if.{part}") for part in ("then", "else", "done"))
        has_other = op.false_region.first_block is not None
        condition = self.names[op.cond]
        f.branch(condition, then, other if has_other else done)
        regions = [(then, op.true_region.block)]
        if has_other:
            regions.append((other, op.false_region.block))
        self._join(op, regions, done)

    def emit_while(self, op: scf.WhileOp) -> None:
        """The first region decides; its values go to the second, and at the end to the results."""
        f = self.f
        before, after = op.before_region.block, op.after_region.block
        head, body, done = (f.fresh(f"while.{part}") for part in ("head", "body", "done"))
        starts, entry = self._passed(op.arguments, before.args), f.current_label
        f.jump(head)
        f.label(head)
        first = self._reserve_phis(before.args)
        self.emit_ops(before)
        decision = _terminator(before)
        assert isinstance(decision, scf.ConditionOp)
        for targets in (after.args, op.res):
            values = self._passed(decision.args, targets)
            self.names.update(zip(targets, values, strict=True))
        f.branch(self.condition_of(decision), body, done)
        f.label(body)
        self.emit_ops(after)
        ends = self._passed(_terminator(after).operands, before.args)
        self.at_back_edge(op, 1)
        latch = f.current_label
        f.jump(head)
        self._fill_phis(first, before.args, [(starts, entry), (ends, latch)])
        f.label(done)

    def emit_execute_region(self, op: scf.ExecuteRegionOp) -> None:
        """The ops of the region, here."""
        block = op.region.first_block
        if block is None or block is not op.region.last_block:
            raise LocatedError(f"{op.name}: native code needs one block, got several", op)
        self.emit_ops(block)
        values = self._passed(_terminator(block).operands, op.outs)
        self.names.update(zip(op.outs, values, strict=True))

    def emit_index_switch(self, op: scf.IndexSwitchOp) -> None:
        """The region of the case that the operand equals, else the default one."""
        f = self.f
        regions = [op.default_region, *op.case_regions]
        labels = [f.fresh("switch.case") for _ in regions]
        cases = zip(integers_of(op.cases), labels[1:], strict=True)
        f.switch(self.names[op.arg], labels[0], cases)
        blocks = [region.block for region in regions]
        self._join(op, list(zip(labels, blocks, strict=True)), f.fresh("switch.done"))

    def _join(self, op: Operation, regions: Sequence[tuple[str, Block]], done: str) -> None:
        """Blocks that control reaches one of, and the block after them with the results."""
        f = self.f
        ways: list[tuple[list[str], str]] = []
        for label, block in regions:
            f.label(label)
            self.emit_ops(block)
            ways.append((self._passed(_terminator(block).operands, op.results), f.current_label))
            f.jump(done)
        f.label(done)
        first = self._reserve_phis(op.results)
        self._fill_phis(first, op.results, ways)

    def _condition(self, decision: scf.ConditionOp) -> str:
        return self.names[decision.condition]

    def _in_its_form(self, value: SSAValue, target: SSAValue) -> str:
        del target
        return self.names[value]

    def _passed(self, values: Sequence[SSAValue], targets: Sequence[SSAValue]) -> list[str]:
        return [self.passed(v, t) for v, t in zip(values, targets, strict=True)]

    def _reserve_phis(self, values: Sequence[SSAValue]) -> int:
        """Name a phi for each value, in lines that are written later; gives the first line."""
        for value in values:
            self.names[value] = "%" + self.f.fresh("phi")
        return self.f.reserve_phis(len(values))

    def _fill_phis(
        self, first: int, values: Sequence[SSAValue], ways: Sequence[tuple[Sequence[str], str]]
    ) -> None:
        for k, value in enumerate(values):
            incoming = [(names[k], label) for names, label in ways]
            self.f.fill_phi(first + k, self.names[value], self.type_of(value), incoming)

    EMITTERS: ClassVar[dict[type[Operation], Callable[..., None]]] = {
        scf.ForOp: emit_for,
        scf.IfOp: emit_if,
        scf.WhileOp: emit_while,
        scf.ExecuteRegionOp: emit_execute_region,
        scf.IndexSwitchOp: emit_index_switch,
    }


def _skip_back_edge(loop: Operation, trips: int) -> None:
    """The back edge of a function without polls: no instruction."""


def _step_fits(bits: int, upper: int | None, step: int | None) -> bool:
    """Whether the step, added to any counter below the upper bound, surely fits `bits` bits."""
    if step is None or upper is None:
        return step == 1
    return upper - 1 + step < 1 << bits - 1


def _terminator(block: Block) -> Operation:
    last = block.last_op
    assert last is not None
    return last
