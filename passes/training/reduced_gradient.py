"""gradir-data-parallel: a derivative's function whose gradients are averaged over all shards.

The reductions stand in its body, each behind the code that makes the last gradient of its bucket,
in the order of that code: communication begins while the backward code goes on.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from xdsl.dialects.builtin import ModuleOp, f32
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Block, Operation, OpResult, SSAValue

from gradir.dialects.array.movement import ReshapeOp
from gradir.dialects.array.reductions import narrowed, widened
from gradir.dialects.array.slicing import ConcatOp, SliceOp
from gradir.dialects.base.shapes import byte_size, element_of, is_float, shape_of, tensor
from gradir.dialects.base.value import Emitter, Value
from gradir.dialects.comm.collectives import AllReduceOp
from gradir.passes.differentiate.derived import function_around
from gradir.passes.training.calls import returned


@dataclass(frozen=True)
class Reduction:
    """How gradients are averaged: over `ranks` of a group, with `parts` shards on each.

    `is_ordered`: in sums of neighbours. A bucket has at least so many bytes, but for the last.
    """

    group: str
    ranks: int
    parts: int
    is_ordered: bool
    bucket_bytes: int

    def mean(self, total: Value, type_: Attribute) -> Value:
        """The mean over all shards, from the sum over those of this rank."""
        group = None if self.group == "world" else self.group
        ordered = True if self.is_ordered else None
        summed = AllReduceOp.on(total, ranks=self.ranks, group=group, ordered=ordered)
        return narrowed(summed / (self.ranks * self.parts), type_)


def reduced_gradient(
    module: ModuleOp, source: FuncOp, places: Sequence[int], reduction: Reduction, name: str
) -> FuncOp:
    """Add a copy of a function whose results at `places` are averaged over all shards.

    Behind its arguments are the partial sums of earlier shards: `partial_count` for each place, as
    `partial_sums` makes them.
    """
    copy = source.clone()
    block = copy.body.detach_block(0)
    last = block.last_op
    assert last is not None
    earlier = _partials(block, [last.operands[k] for k in places], reduction.parts)
    order = {op: k for k, op in enumerate(block.ops)}
    members = [
        _Member(k, last.operands[k], _place(last.operands[k], order), parts)
        for k, parts in zip(places, earlier, strict=True)
    ]
    members.sort(key=lambda member: member.place)
    for bucket in _buckets(members, reduction.bucket_bytes):
        _reduce(block, bucket, reduction, last)
    attributes = [dict(a.data) for a in source.arg_attrs or ()]
    made = function_around(name, block, attributes)
    made.location = source.location
    module.body.block.insert_op_after(made, source)
    return made


@dataclass(frozen=True)
class _Member:
    """A result: its place, its value, the number of the op that makes it, and partial sums."""

    index: int
    value: SSAValue
    place: int
    earlier: Sequence[SSAValue]


def partial_count(parts: int) -> int:
    """The number of partial sums that there are before the last of 2**k shards."""
    return parts.bit_length() - 1


def _partials(block: Block, values: Sequence[SSAValue], parts: int) -> list[list[SSAValue]]:
    """New arguments for the partial sums of values, in the types that sums have."""
    return [
        [
            block.insert_arg(sum_type(value.type), len(block.args))
            for _ in range(partial_count(parts))
        ]
        for value in values
    ]


def sum_type(type_: Attribute) -> Attribute:
    """The type that values of a type are summed in."""
    is_half = is_float(element_of(type_)) and byte_size(element_of(type_)) == 2
    return tensor(shape_of(type_), f32) if is_half else type_


def _place(value: SSAValue, order: dict[Operation, int]) -> int:
    return order[value.op] if isinstance(value, OpResult) else -1


def _buckets(members: Sequence[_Member], least: int) -> list[list[_Member]]:
    """Neighbours in the order of the code, of one element type, of at least so many bytes."""
    found: list[list[_Member]] = []
    open_: dict[Attribute, list[_Member]] = {}
    for member in members:
        element = element_of(sum_type(member.value.type))
        bucket = open_.setdefault(element, [])
        bucket.append(member)
        if sum(_bytes(each) for each in bucket) >= least:
            found.append(open_.pop(element))
    return [*found, *open_.values()]


def _bytes(member: _Member) -> int:
    type_ = sum_type(member.value.type)
    return prod(shape_of(type_)) * byte_size(element_of(type_))


def _reduce(block: Block, bucket: Sequence[_Member], reduction: Reduction, last: Operation) -> None:
    """Average the members of a bucket behind the last one's code."""
    value = bucket[-1].value
    behind = value.op.next_op if isinstance(value, OpResult) else block.first_op
    emitter = Emitter(block, last.location, before=behind)
    totals = [_total(emitter, member) for member in bucket]
    if len(totals) == 1:
        means = [reduction.mean(totals[0], bucket[0].value.type)]
    else:
        means = _together(totals, bucket, reduction)
    for member, mean in zip(bucket, means, strict=True):
        mean.named(member.value.name_hint)
        last.operands[member.index] = mean.ssa


def _total(emitter: Emitter, member: _Member) -> Value:
    """The sum over this rank's shards: the last one's value and the earlier partial sums."""
    total = widened(emitter.value(member.value))
    for earlier in reversed(member.earlier):
        total = emitter.value(earlier) + total
    return total


def _together(
    totals: Sequence[Value], bucket: Sequence[_Member], reduction: Reduction
) -> list[Value]:
    """The means of several values, by one reduction."""
    element = totals[0].element
    flat = [ReshapeOp.on(total, type=tensor([prod(total.shape)], element)) for total in totals]
    line = tensor([sum(each.shape[0] for each in flat)], element)
    mean = reduction.mean(ConcatOp.on(*flat, axis=0), line)
    means: list[Value] = []
    start = 0
    for total, member in zip(totals, bucket, strict=True):
        stop = start + prod(total.shape)
        part = SliceOp.on(mean, start=[start], stop=[stop])
        shaped = ReshapeOp.on(part, type=total.type)
        means.append(narrowed(shaped, member.value.type))
        start = stop
    return means


def gradient_places(source: FuncOp, invariant: Sequence[Attribute]) -> list[int]:
    """The results that are averaged: the gradients, and the floating numbers before them.

    The gradients are the last results, with the types of some of the operands that are alike on all
    ranks.
    """
    types = [value.type for value in returned(source)]
    first, left = len(types), list(invariant)
    while first and types[first - 1] in left:
        first -= 1
        left.remove(types[first])
    numbers = [k for k in range(first) if _is_number(types[k])]
    return [] if first == len(types) else [*numbers, *range(first, len(types))]


def _is_number(type_: Attribute) -> bool:
    return not shape_of(type_) and is_float(element_of(type_))
