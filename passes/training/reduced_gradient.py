"""gradir-data-parallel: a derivative's function whose gradients are averaged over all shards.

The reductions stand in its body, each behind the code that makes the last gradient of its bucket,
in the order of that code: communication begins while the backward code goes on. Of a gradient in
parts (comm.part, by gradir-shard-state) each rank gets the mean of its part, by reduce_scatter.
"""

from __future__ import annotations

from collections.abc import Container, Sequence
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
from gradir.dialects.comm.collectives import AllReduceOp, PartOp, ReduceScatterOp
from gradir.passes.cleanup.dead_code import remove_dead_ops
from gradir.passes.differentiate.derived import function_around
from gradir.passes.training.calls import returned


@dataclass(frozen=True)
class Reduction:
    """How gradients are averaged: over `ranks` of a group, with `parts` shards on each.

    `is_ordered`: in sums of neighbours. A bucket has `bucket_bytes` or more, but for the last.
    """

    group: str
    ranks: int
    parts: int
    is_ordered: bool
    bucket_bytes: int

    def mean(self, total: Value, type_: Attribute) -> Value:
        """The mean over all shards, from the sum over this rank's shards."""
        ordered = True if self.is_ordered else None
        summed = AllReduceOp.on(total, ranks=self.ranks, group=self._named, ordered=ordered)
        return narrowed(summed / (self.ranks * self.parts), type_)

    def mean_of_part(self, total: Value, type_: Attribute) -> Value:
        """This rank's part, along axis 0, of the mean."""
        summed = ReduceScatterOp.on(total, axis=0, ranks=self.ranks, group=self._named)
        return narrowed(summed / (self.ranks * self.parts), type_)

    def part(self, whole: Value) -> Value:
        """This rank's part of what all ranks have."""
        return PartOp.on(whole, axis=0, ranks=self.ranks, group=self._named)

    @property
    def _named(self) -> str | None:
        return None if self.group == "world" else self.group


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
    values = [_divided(last.operands[k]) or last.operands[k] for k in places]
    earlier = _partials(block, values, reduction.parts)
    order = {op: k for k, op in enumerate(block.ops)}
    members = [
        _Member(k, value, _place(value, order), parts, value is not last.operands[k])
        for k, value, parts in zip(places, values, earlier, strict=True)
    ]
    members.sort(key=lambda member: member.place)
    for bucket in _buckets(members, reduction.bucket_bytes):
        _reduce(block, bucket, reduction, last)
    remove_dead_ops(block)  # the parts of this rank's own gradients
    attributes = [dict(a.data) for a in source.arg_attrs or ()]
    made = function_around(name, block, attributes)
    made.location = source.location
    module.body.block.insert_op_after(made, source)
    return made


@dataclass(frozen=True)
class _Member:
    """A result: its place, its value, the number of the op that makes it, and partial sums.

    `is_part`: the result is this rank's part of the value.
    """

    index: int
    value: SSAValue
    place: int
    earlier: Sequence[SSAValue]
    is_part: bool


def _divided(result: SSAValue) -> SSAValue | None:
    """What a result is a part of, in a line; None for one that is whole."""
    owner = result.owner
    return owner.x if isinstance(owner, PartOp) and len(shape_of(owner.x.type)) == 1 else None


def whole_gradient(module: ModuleOp, source: FuncOp, places: Sequence[int], name: str) -> FuncOp:
    """Add a copy of a function without parts: its results at `places` are what these are parts of.

    A function that has none is itself.
    """
    if all(_divided(value) is None for value in returned(source)):
        return source
    block = source.clone().body.detach_block(0)
    last = block.last_op
    assert last is not None
    for k in places:
        last.operands[k] = _divided(last.operands[k]) or last.operands[k]
    made = function_around(name, block, [dict(a.data) for a in source.arg_attrs or ()])
    made.location = source.location
    module.body.block.insert_op_after(made, source)
    return made


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
    """Large values, and small neighbours in the order of the code, of one kind."""
    found: list[list[_Member]] = []
    open_: dict[tuple[Attribute, bool], list[_Member]] = {}
    for member in members:
        kind = element_of(sum_type(member.value.type)), member.is_part
        if _bytes(member) >= least:  # alone it need not be copied
            found.append([member])
            continue
        bucket = open_.setdefault(kind, [])
        bucket.append(member)
        if sum(_bytes(each) for each in bucket) >= least:
            found.append(open_.pop(kind))
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
    is_part = bucket[0].is_part
    if is_part and not reduction.is_ordered:
        means = _parts_together(totals, bucket, reduction)
    else:
        if len(totals) == 1:
            means = [reduction.mean(totals[0], bucket[0].value.type)]
        else:
            means = _together(totals, bucket, reduction)
        means = [reduction.part(mean) for mean in means] if is_part else means
    for member, mean in zip(bucket, means, strict=True):
        mean.named(last.operands[member.index].name_hint)
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


def _parts_together(
    totals: Sequence[Value], bucket: Sequence[_Member], reduction: Reduction
) -> list[Value]:
    """This rank's parts of the means of several values, by one reduction: a row for each rank."""
    rows = [
        ReshapeOp.on(total, type=tensor([reduction.ranks, n // reduction.ranks], total.element))
        for total in totals
        for n in total.shape
    ]
    line = ConcatOp.on(*rows, axis=1) if len(rows) > 1 else rows[0]
    mean = reduction.mean_of_part(line, tensor([1, line.shape[1]], line.element))
    means: list[Value] = []
    start = 0
    for row, member in zip(rows, bucket, strict=True):
        stop = start + row.shape[1]
        part = SliceOp.on(mean, start=[0, start], stop=[1, stop])
        shaped = ReshapeOp.on(part, type=tensor([row.shape[1]], row.element))
        means.append(narrowed(shaped, tensor([row.shape[1]], element_of(member.value.type))))
        start = stop
    return means


def gradient_places(
    source: FuncOp, invariant: Sequence[Attribute], others: Container[int]
) -> list[int]:
    """The results that are averaged: the gradients, and the floating numbers before them.

    The gradients are the last results, with the types of some of the operands that are alike on all
    ranks, or in parts; `others` among them are not averaged.
    """
    results = returned(source)
    types = [value.type for value in results]
    first, left = len(types), list(invariant)
    while first:
        k = first - 1
        if k not in others and _divided(results[k]) is None:
            if types[k] not in left:
                break
            left.remove(types[k])
        first = k
    numbers = [k for k in range(first) if _is_number(types[k])]
    gradients = [k for k in range(first, len(types)) if k not in others]
    return [] if first == len(types) else [*numbers, *gradients]


def _is_number(type_: Attribute) -> bool:
    return not shape_of(type_) and is_float(element_of(type_))
