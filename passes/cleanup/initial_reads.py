"""gradir-simplify: a part of a carried tensor that no earlier iteration wrote is read from the
tensor's initial value.

    %r = scf.for %i = %low to %high step %one iter_args(%ct = %initial) -> (tensor<256x64xf32>) {
      %row = array.dynamic_slice %ct, %i, %zero {sizes = [1, 64]}       reads %initial instead
      %next = array.dynamic_update_slice %ct, %zeros, %i, %zero
      scf.yield %next
    }

The derivative of a loop that writes a row per step is such a loop: it takes each row of a cotangent
once, and leaves zeros there. Where the initial value is a constant, the row is one, so a mask that
began as true everywhere is true in each iteration, and its gates are none.

A place counts in the loop's number: place = slope * number + first, as its ops tell. Only loops
with constant bounds, whose parts lie inside of the tensor in each iteration, are seen through.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects import arith, scf, tensor
from xdsl.dialects.builtin import DYNAMIC_INDEX
from xdsl.ir import Operation, SSAValue

from gradir.dialects.array.comparison import LessOp, WhereOp
from gradir.dialects.array.creation import FullOp
from gradir.dialects.array.dynamic_slices import DynamicSliceOp, DynamicUpdateSliceOp
from gradir.dialects.array.elementwise import AddOp, SubtractOp
from gradir.dialects.array.gather_scatter import IndexUpdateOp
from gradir.dialects.array.indexing import ScatterAddOp, TakeOp
from gradir.dialects.array.known_bools import are_true
from gradir.dialects.base.attributes import integers_of
from gradir.dialects.base.constants import constant_integer
from gradir.dialects.base.shapes import DYNAMIC, element_of, is_float, is_tensor, shape_of
from gradir.dialects.base.shapes import tensor as tensor_type
from gradir.dialects.building.gate import GateOp
from gradir.dialects.grad.grad import ZeroOp
from gradir.passes.analysis.edits import insert_before, replace_op, replace_results
from gradir.passes.analysis.ranges import whole_range
from gradir.passes.analysis.region_flow import trips, yielded


def read_initial_values(loop: scf.ForOp) -> bool:
    """Read what no earlier iteration wrote from initial values, where that needs no memory: the
    initial value is a constant, or the carried one is then dead. Whether anything changed."""
    counts = _Counts.of(loop)
    if counts is None:
        return False
    changed = False
    ends = yielded(loop.body.block)
    for k, argument in enumerate(loop.body.block.args[1:]):
        writes = _writes_between(argument, ends[k])
        if not writes:
            continue
        uses = [use.operation for use in argument.uses]
        reads = [op for op in uses if _reads_before(counts, op, argument, writes)]
        is_dead = (
            len(reads) + 1 == len(uses)
            and loop.results[k].first_use is None
            and all(op.results[0].has_one_use() for op in writes)
        )
        number = loop.iter_args[k].owner
        for op in reads:
            if isinstance(number, FullOp | ZeroOp):
                _replace_by_constant(op, number)
            elif is_dead:
                op.operands[0] = loop.iter_args[k]
        changed |= bool(reads) and (is_dead or isinstance(number, FullOp | ZeroOp))
    return changed


def _replace_by_constant(op: Operation, whole: FullOp | ZeroOp) -> None:
    """Put a part of a constant in the place of an op that reads it."""
    [read] = op.results
    if is_tensor(read.type):
        replace_op(op, type(whole).create(result_types=[read.type], attributes=whole.attributes))
        return
    zero = tensor_type([], read.type)
    insert_before(one := type(whole).create(result_types=[zero], attributes=whole.attributes), op)
    replace_op(op, tensor.ExtractOp(one.y, [], read.type))


def remove_true_gates(loop: scf.ForOp) -> None:
    """Remove the gates of a loop's body whose masks are true everywhere."""
    for op in list(loop.body.block.ops):
        if isinstance(op, GateOp) and are_true(op.keep):
            replace_results(op, [op.x])


# Parts of a carried tensor.


@dataclass(frozen=True)
class _Part:
    """A part of a tensor: where it begins, and how long it is, along each axis."""

    starts: Sequence[SSAValue | int]
    sizes: Sequence[int]


def _part_of(op: Operation) -> _Part | None:
    """The part that an op reads of its first operand, or writes; None for other ops."""
    match op:
        case DynamicSliceOp():
            return _Part(op.starts, shape_of(op.y.type))
        case DynamicUpdateSliceOp():
            return _Part(op.starts, shape_of(op.update.type))
        case tensor.ExtractSliceOp() | tensor.InsertSliceOp():
            strides, sizes = integers_of(op.static_strides), integers_of(op.static_sizes)
            if DYNAMIC_INDEX in sizes or any(stride != 1 for stride in strides):
                return None
            given, fixed = iter(op.offsets), integers_of(op.static_offsets)
            return _Part([next(given) if n == DYNAMIC_INDEX else n for n in fixed], sizes)
        case tensor.ExtractOp() | tensor.InsertOp():
            return _Part(op.indices, [1] * len(op.indices))
        case TakeOp() | IndexUpdateOp() | ScatterAddOp() if not shape_of(op.indices.type):
            shape, axis = shape_of(op.x.type), op.axis
            return _Part(
                [op.indices if d == axis else 0 for d in range(len(shape))],
                [1 if d == axis else n for d, n in enumerate(shape)],
            )
        case _:
            return None


def _written(op: Operation) -> SSAValue | None:
    """The tensor that an op copies, but for one part; None for other ops."""
    match op:
        case DynamicUpdateSliceOp() | IndexUpdateOp() | ScatterAddOp():
            return op.x
        case tensor.InsertSliceOp() | tensor.InsertOp():
            return op.dest
        case _:
            return None


def _writes_between(first: SSAValue, last: SSAValue) -> list[Operation]:
    """The ops that make the last value of the first one by writing parts; none where others do."""
    found: list[Operation] = []
    while last is not first:
        op = last.owner
        below = _written(op) if isinstance(op, Operation) else None
        if below is None or not isinstance(op, Operation):
            return []
        found.append(op)
        last = below
    return found


def _reads_before(
    counts: _Counts, op: Operation, argument: SSAValue, writes: Sequence[Operation]
) -> bool:
    """Whether an op of the body reads a part of a carried tensor that no earlier iteration wrote.

    Earlier ones wrote on the other side of an axis, the further the longer ago."""
    is_read = isinstance(op, DynamicSliceOp | TakeOp | tensor.ExtractSliceOp | tensor.ExtractOp)
    if not is_read or op.operands[0] is not argument or op.parent is not counts.loop.body.block:
        return False
    shape, read, parts = shape_of(argument.type), _part_of(op), [_part_of(op) for op in writes]
    return read is not None and all(
        written is not None
        and any(_is_behind(counts, axis, shape, read, written) for axis in range(len(shape)))
        for written in parts
    )


def _is_behind(
    counts: _Counts, axis: int, shape: Sequence[int], read: _Part, written: _Part
) -> bool:
    """Whether what is written in an iteration is behind what later ones read, along an axis."""
    ours, theirs = (counts.place_inside(part, axis, shape[axis]) for part in (read, written))
    if ours is None or theirs is None or ours.slope != theirs.slope:
        return False
    moved = ours.slope * counts.step
    begin = ours.first + moved
    if moved > 0:
        return begin >= theirs.first + written.sizes[axis]
    return moved < 0 and begin + read.sizes[axis] <= theirs.first


# Places as functions of a loop's number.


@dataclass(frozen=True)
class _Place:
    """slope * number + first"""

    slope: int
    first: int

    def __add__(self, other: _Place) -> _Place:
        return _Place(self.slope + other.slope, self.first + other.first)

    def times(self, factor: int) -> _Place:
        return _Place(self.slope * factor, self.first * factor)


@dataclass(frozen=True)
class _Counts:
    """The numbers of a loop with constant bounds: the first and the last one, and the step."""

    loop: scf.ForOp
    low: int
    high: int
    step: int

    @classmethod
    def of(cls, loop: scf.ForOp) -> _Counts | None:
        """None where a bound is unknown, or where nothing runs."""
        low, step, count = constant_integer(loop.lb), constant_integer(loop.step), trips(loop)
        if low is None or step is None or not count or constant_integer(loop.ub) is None:
            return None
        return cls(loop, low, low + (count - 1) * step, step)

    def ends(self, place: _Place) -> tuple[int, int]:
        """The least and the greatest one of a place."""
        ends = sorted(place.slope * number + place.first for number in (self.low, self.high))
        return ends[0], ends[1]

    def place_inside(self, part: _Part, axis: int, extent: int) -> _Place | None:
        """Where a part begins along an axis; None unless it lies inside in each iteration."""
        size, place = part.sizes[axis], self.place(part.starts[axis])
        if place is None or DYNAMIC in (size, extent):
            return None
        low, high = self.ends(place)
        return place if 0 <= low and high + size <= extent else None

    def place(self, value: SSAValue | int) -> _Place | None:
        """An integer as a function of the number; None where its ops do not tell."""
        if isinstance(value, int):
            return _Place(0, value)
        if value is self.loop.body.block.args[0]:
            return _Place(1, 0)
        if (number := constant_integer(value)) is not None:
            return _Place(0, number)
        found = self._computed(value.owner) if isinstance(value.owner, Operation) else None
        return found if found is not None and self._holds(value, found) else None

    def _computed(self, op: Operation) -> _Place | None:
        match op:
            case FullOp() if not is_float(element_of(op.y.type)):
                return _Place(0, int(op.number))
            case arith.IndexCastOp() | arith.ExtSIOp() | tensor.FromElementsOp():
                return self.place(op.operands[0]) if len(op.operands) == 1 else None
            case arith.AddiOp() | arith.SubiOp() | AddOp() | SubtractOp():
                left, right = (self.place(operand) for operand in op.operands)
                if left is None or right is None:
                    return None
                return left + right.times(1 if isinstance(op, arith.AddiOp | AddOp) else -1)
            case WhereOp(operands=[condition, _, other]) if self._is_never(condition):
                return self.place(other)
            case arith.MuliOp():
                left, right = (self.place(operand) for operand in op.operands)
                if left is None or right is None or (left.slope and right.slope):
                    return None
                return left.times(right.first) if left.slope else right.times(left.first)
            case _:
                return None

    def _is_never(self, condition: SSAValue) -> bool:
        """Whether it is the question if a place is negative, and the place never is: an index that
        may count from the end."""
        match condition.owner:
            case LessOp(operands=[index, zero]):
                found, none = self.place(index), self.place(zero)
                return found is not None and none == _Place(0, 0) and self.ends(found)[0] >= 0
            case _:
                return False

    def _holds(self, value: SSAValue, place: _Place) -> bool:
        """Whether the type of an integer holds it in each iteration."""
        whole = whole_range(element_of(value.type) if is_tensor(value.type) else value.type)
        low, high = self.ends(place)
        return whole is not None and whole[0] <= low and high <= whole[1]
