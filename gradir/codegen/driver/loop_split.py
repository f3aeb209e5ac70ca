"""Ops of a loop's body that need no result of the iteration before, and are worth computing ahead.

Independent values are: values that advance by a constant each iteration (the counter of the loop,
the number of the record that a tape pops); loads, at such places, from memory that the loop does
not write; results of independent values. Among them `split` picks the ops that take long, and their
independent users: sines of popped values, say. All else stays one iteration after the other.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from xdsl.dialects import arith, math, memref, scf
from xdsl.dialects.builtin import MemRefType
from xdsl.ir import Block, Operation, SSAValue

from gradir.codegen.bodies.op_table import OPS, VECTOR_MATH
from gradir.codegen.text.kinds import bytes_of, kind_of
from gradir.dialects.base.constants import constant_integer
from gradir.dialects.base.shapes import element_of, shape_of
from gradir.dialects.loopnest.buffer_ops import CheckOffsetOp, RecordsAtOp, RecordsOp, WindowOp
from gradir.dialects.loopnest.loopnest import ReshapeOp

# Ops that take so long that a store and a load of the result are nothing beside them.
LONG = (*VECTOR_MATH, arith.DivfOp, math.SqrtOp, math.RsqrtOp, math.FPowIOp)
# Steps up to this size do not overflow in a block of iterations.
_LARGEST_STEP = 1 << 40


@dataclass
class Split:
    """Ops of a body in their order. Each iteration a value in `steps` grows by its number there (a
    buffer by bytes); it stays the same where that is 0."""

    steps: dict[SSAValue, int]
    # of a load of `together`, how many bytes further on the next iteration loads
    strides: dict[Operation, int]
    # computed for the first iteration of a block, from which the others follow by steps
    first: list[Operation] = field(default_factory=list[Operation])
    # computed for all iterations of a block together
    together: list[Operation] = field(default_factory=list[Operation])
    # ops of `together` that are not computed again one by one
    ahead: set[Operation] = field(default_factory=set[Operation])
    # results of `ahead` that the iterations read
    handed: list[SSAValue] = field(default_factory=list[SSAValue])


def split(loop: scf.ForOp, is_constant: Callable[[memref.LoadOp], bool]) -> Split | None:
    """The ops worth computing ahead, None if there are none; `is_constant` says whether a load is
    from memory that the loop does not write."""
    block, step = loop.body.block, constant_integer(loop.step)
    if step is None or not 0 < step < _LARGEST_STEP or kind_of(block.args[0].type) != "i64":
        return None
    search = _Search(block, is_constant, {block.args[0]: step, **_carried_steps(block)})
    for op in block.ops:
        if len(op.results) == 1 and not op.regions:
            search.visit(op)
    found = search.result()
    return found if found.handed else None


class _Search:
    """Walks a body in order and finds the ops that do not depend on other iterations."""

    def __init__(
        self,
        block: Block,
        is_constant: Callable[[memref.LoadOp], bool],
        steps: dict[SSAValue, int],
    ):
        self.block, self.is_constant, self.steps = block, is_constant, steps
        self.strides: dict[Operation, int] = {}
        # independent ops whose results have no constant step; the long ones, and users of these
        self.varying: set[Operation] = set()
        self.ahead: set[Operation] = set()

    def visit(self, op: Operation) -> None:
        known = [self._step(operand) for operand in op.operands]
        is_independent = all(
            step is not None or operand.owner in self.varying
            for step, operand in zip(known, op.operands, strict=True)
        )
        steps = [step for step in known if step is not None]
        step = _step_of_result(op, steps) if len(steps) == len(known) else None
        if isinstance(op, memref.LoadOp):
            if step is None or step % bytes_of(kind_of(op.res.type)) or not self.is_constant(op):
                return
            self.strides[op] = step
            step = None if step else 0
        if step is not None:
            self.steps[op.results[0]] = step
        elif is_independent and (type(op) in OPS or isinstance(op, memref.LoadOp)):
            self.varying.add(op)
            if isinstance(op, LONG) or any(operand.owner in self.ahead for operand in op.operands):
                self.ahead.add(op)

    def _step(self, value: SSAValue) -> int | None:
        """The step of an operand; 0 for a value from outside of the loop."""
        owner = value.owner
        home = owner if isinstance(owner, Block) else owner.parent
        return self.steps.get(value) if home is self.block else 0

    def result(self) -> Split:
        """With all that the ops ahead need, and the checks that constant steps rest on."""
        found = Split(self.steps, self.strides, ahead=self.ahead)
        wanted = set[SSAValue]()
        for op in reversed(list(self.block.ops)):
            if len(op.results) != 1:
                continue
            value = op.results[0]
            is_check = isinstance(op, CheckOffsetOp) and value in self.steps
            if op in self.ahead or is_check or value in wanted:
                wanted.update(op.operands)
                (found.together if op in self.varying else found.first).append(op)
            if op in self.ahead and any(use.operation not in self.ahead for use in value.uses):
                found.handed.append(value)
        for ops in (found.first, found.together, found.handed):
            ops.reverse()
        return found


def _carried_steps(block: Block) -> dict[SSAValue, int]:
    """How far carried numbers advance per iteration, where that is constant."""
    last = block.last_op
    assert last is not None
    steps: dict[SSAValue, int] = {}
    for carried, following in zip(block.args[1:], last.operands, strict=True):
        if not isinstance(carried.type, MemRefType) and kind_of(carried.type) == "i64":
            distance = _distance(carried, following)
            if distance is not None and abs(distance) < _LARGEST_STEP:
                steps[carried] = distance
    return steps


def _distance(start: SSAValue, value: SSAValue) -> int | None:
    """The constant by which `value` exceeds `start`."""
    distance = 0
    while value is not start:
        op = value.owner
        if isinstance(op, CheckOffsetOp):
            value = op.index
        elif isinstance(op, arith.AddiOp | arith.SubiOp):
            number = constant_integer(op.rhs)
            if number is None:
                return None
            distance += number if isinstance(op, arith.AddiOp) else -number
            value = op.lhs
        else:
            return None
    return distance


def _step_of_result(op: Operation, steps: Sequence[int]) -> int | None:
    """The step of a result by the steps of the operands; for a load, the step of its address."""
    step = None
    match op:
        case memref.LoadOp():
            ways = [s * stride for s, stride in zip(steps[1:], _strides(op), strict=True)]
            step = steps[0] + sum(ways)
        case WindowOp():
            step = steps[0] + steps[1] * _unit(op)
        case ReshapeOp() | CheckOffsetOp():
            step = steps[0]
        case _ if type(op) in OPS and not any(steps):
            step = 0
        case _ if any(kind_of(v.type) != "i64" for v in (*op.operands, *op.results)):
            pass
        case arith.AddiOp():
            step = steps[0] + steps[1]
        case arith.SubiOp():
            step = steps[0] - steps[1]
        case arith.MuliOp():
            factors = constant_integer(op.rhs), constant_integer(op.lhs)
            step = next((s * f for s, f in zip(steps, factors, strict=True) if f is not None), None)
        case arith.IndexCastOp():
            step = steps[0]
        case _:
            pass
    return step if step is not None and abs(step) < _LARGEST_STEP else None


def _strides(op: memref.LoadOp) -> list[int]:
    """Bytes from one element to the next along each dimension."""
    strides: list[int] = []
    size = bytes_of(kind_of(op.res.type))
    for extent in reversed(shape_of(op.memref.type)):
        strides.append(size)
        size *= extent
    return strides[::-1]


def _unit(op: WindowOp) -> int:
    """The bytes of one unit of the offset: an element, or of records a byte."""
    if isinstance(op.source.owner, RecordsOp | RecordsAtOp):
        return 1
    return bytes_of(kind_of(element_of(op.source.type)))
