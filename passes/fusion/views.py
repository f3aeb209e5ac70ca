"""The first half of fusion: nests that only move or repeat elements disappear into their readers.

A nest whose body computes nothing (a view: transpose, slice, broadcast, constant, iota) is read
through: the reader's access is composed with the view's. So is a nest that computes one number
from constants alone, as the cotangent 1 / n of a mean. A nest that computes is read through
too where it has one reader that reads each of its elements at most once, and where it spreads small
tensors by a little arithmetic (x[:, None] - y): its elements cost less than their place in memory.
"""

from __future__ import annotations

from math import prod
from typing import NamedTuple

from xdsl.dialects import arith
from xdsl.dialects.builtin import IntegerAttr, i64
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Block, BlockArgument, Operation, SSAValue
from xdsl.traits import ConstantLike

from gradir.dialects.base.access import Access, Row
from gradir.dialects.base.shapes import shape_of
from gradir.dialects.building.body import computes
from gradir.dialects.loopnest.loopnest import ContractOp, IndexOp, LoopOp, NestOp
from gradir.passes.analysis.contraction_chains import copied_factors
from gradir.passes.analysis.edits import erase
from gradir.passes.fusion.products import make_once

# A product copies a part of a tensor that may die, if the tensor is more times larger than this.
MOST_OF_PART = 16
# Results SMALL times larger than the tensors read for them are computed where they are read, if
# they take at most MOST_SPREAD_OPS ops of one instruction each.
SMALL, MOST_SPREAD_OPS = 16, 12
_CHEAP = (
    IndexOp, arith.ConstantOp, arith.AddfOp, arith.SubfOp, arith.MulfOp, arith.NegfOp, arith.AddiOp,
    arith.SubiOp, arith.CmpfOp, arith.CmpiOp, arith.SelectOp, arith.ExtFOp, arith.TruncFOp,
)  # fmt: skip


class Input(NamedTuple):
    """One input of a loop op."""

    value: SSAValue
    access: Access | None
    pad: Attribute | None


def inputs_of(op: LoopOp) -> list[Input]:
    rows = zip(op.inputs, op.input_accesses, op.input_pads, strict=True)
    return [Input(*row) for row in rows]


class Producer(NamedTuple):
    """What readers ask of a nest that makes one of their inputs."""

    is_map: bool
    reads_whole_tensors: bool
    computes: bool
    is_number: bool

    @staticmethod
    def of(op: NestOp) -> Producer:
        makes_values = computes(op.body.block)
        return Producer(
            is_map(op),
            any(access is None for access in op.input_accesses),
            makes_values,
            makes_values and _is_number(op),
        )


def inline_views(block: Block) -> None:
    """Read through views and single-use producers, in program order.

    A nest that has been reached is changed no more, so what its readers ask is found once.
    """
    producers: dict[Operation, Producer] = {}
    for op in list(block.ops):
        if isinstance(op, LoopOp) and op.parent is block:
            _inline_into(op, producers)
            if isinstance(op, ContractOp):
                make_once(op)


def is_map(op: Operation) -> bool:
    """One output, each element written once at the place of its iteration, as it is yielded."""
    return (
        isinstance(op, NestOp)
        and len(op.results) == 1
        and op.output_combiners == ["none"]
        and op.output_accesses[0].is_identity
        and not op.inits
        and op.is_stored_as_yielded(0)
    )


def _inline_into(op: LoopOp, producers: dict[Operation, Producer]) -> None:
    """Read the producers' inputs in place of their results for as long as that is free."""
    while any([isinstance(value.owner, NestOp) for value in op.inputs]):
        for k, one in enumerate(inputs_of(op)):
            producer = one.value.owner
            if not isinstance(producer, NestOp):
                continue
            known = producers.get(producer)
            if known is None:
                known = producers[producer] = Producer.of(producer)
            if _may_inline(op, k, one, producer, known):
                _merge_producer(op, k, one, producer)
                break
        else:
            return


def _may_inline(op: LoopOp, k: int, one: Input, producer: NestOp, known: Producer) -> bool:
    if one.access is None or one.pad is not None or not known.is_map or known.reads_whole_tensors:
        return False
    if producer.parent is not op.parent and known.computes:
        # from outside of a loop or branch: not computed again inside
        return False
    if isinstance(op, ContractOp) and k < op.HIDDEN_INPUTS:
        return _may_read_through(op, one, producer)
    if isinstance(op, ContractOp) and any(pad is not None for pad in producer.input_pads):
        return False
    if known.computes and not known.is_number:
        return _reads_once(op, one, producer) or _spreads(op, producer)
    return True


def _is_number(producer: NestOp) -> bool:
    """A little arithmetic on constants, the same for all elements: LLVM folds it.

    Each reader gets a copy. Without a bound, a chain of such nests would double at each link.
    """
    if producer.inputs:
        return False
    ops = list(producer.body.block.ops)[:-1]
    return len(ops) <= MOST_SPREAD_OPS and all(op.name.startswith("arith.") for op in ops)


def _spreads(op: LoopOp, producer: NestOp) -> bool:
    """The producer makes much of little, and op needs no element more often than it is made."""
    size = prod(producer.extents)
    if SMALL * sum(prod(shape_of(value.type)) for value in producer.inputs) > size:
        return False
    ops = list(producer.body.block.ops)[:-1]
    return (
        isinstance(op, NestOp)
        and prod(op.extents) <= size
        and len(ops) <= MOST_SPREAD_OPS
        and all(isinstance(inner, _CHEAP) for inner in ops)
    )


def _may_read_through(op: ContractOp, factor: Input, producer: NestOp) -> bool:
    """The factor of a contraction may be read through a view: one that permutes dimensions or drops
    some, or takes a part of each."""
    access = producer.input_accesses[0] if len(producer.inputs) == 1 else None
    return (
        access is not None
        and producer.input_pads == [None]
        and producer.yielded == list(producer.body.block.args)
        and all(row.dim is not None or not row.used for row in access.at_zero.rows)
        and (access.at_zero is access or _may_read_part(op, factor, producer))
    )


def _may_read_part(op: ContractOp, factor: Input, producer: NestOp) -> bool:
    """A factor may begin inside of a tensor: no factor is copied in pieces, which begin at row 0,
    and the tensor does not live much longer for it."""
    assert factor.access is not None
    if copied_factors(op) or any(len(row.used) > 1 for row in factor.access.rows):
        return False
    [whole] = producer.inputs
    is_large = MOST_OF_PART * prod(producer.extents) >= prod(shape_of(whole.type))
    return is_large or _outlives(whole, op)


def _outlives(value: SSAValue, op: Operation) -> bool:
    """Whether a value is in memory for as long as the block of an op runs."""
    owner = value.owner
    if isinstance(owner, Block):
        return owner is not op.parent or isinstance(op.parent_op(), FuncOp)
    return owner.parent is not op.parent or owner.has_trait(ConstantLike)


def _reads_once(op: LoopOp, one: Input, producer: NestOp) -> bool:
    """op is the only reader, by another access than the identity, and repeats no element."""
    if one.access is None or one.access.is_identity or not one.value.has_one_use():
        return False
    dims = [row.used for row in one.access.rows]
    injective = all(len(d) <= 1 for d in dims) and len({x for d in dims for x in d}) == len(
        [x for d in dims for x in d]
    )
    repeats = any(n > 1 and d not in one.access.used for d, n in enumerate(op.extents))
    return injective and not repeats and not isinstance(op, ContractOp)


def _merge_producer(op: LoopOp, k: int, one: Input, producer: NestOp) -> None:
    """Replace op's input k by the producer's inputs, read through the producer."""
    assert one.access is not None
    through = [
        i._replace(access=None if i.access is None else i.access.compose(one.access))
        for i in inputs_of(producer)
    ]
    inputs = inputs_of(op)
    hidden = op.HIDDEN_INPUTS
    merged = [*inputs[:k], *through, *inputs[k + 1 :]]
    block = op.body.block
    if k >= hidden:
        _inline_body(block, block.args[k - hidden + (1 if hidden else 0)], producer, one.access)
    op.set_inputs([i.value for i in merged], [i.access for i in merged], [i.pad for i in merged])
    if producer.results[0].first_use is None:
        erase(producer)


def _inline_body(block: Block, argument: BlockArgument, producer: NestOp, access: Access) -> None:
    """Put the producer's body before the reader's, its results in place of one argument."""
    source = producer.body.block
    place = block.args.index(argument)
    mapping: dict[SSAValue, SSAValue] = {}
    for offset, inner in enumerate(source.args):
        mapping[inner] = block.insert_arg(inner.type, place + offset)
    first = block.first_op
    assert first is not None
    for inner in list(source.ops)[:-1]:
        if isinstance(inner, IndexOp):
            row = access.rows[inner.dim.value.data]
            mapping[inner.result] = _index_of(row, block, first)
        else:
            block.insert_op_before(inner.clone(mapping), first)
    yielded = producer.yielded[0]
    argument.replace_all_uses_with(mapping.get(yielded, yielded))
    block.erase_arg(argument)


def _index_of(row: Row, block: Block, before: Operation) -> SSAValue:
    """The value of an affine row, as arithmetic on the reader's indices."""

    def emit(op: Operation) -> SSAValue:
        block.insert_op_before(op, before)
        return op.results[0]

    if row.dim is not None:
        return emit(IndexOp(row.dim))
    total = emit(arith.ConstantOp(IntegerAttr(row.constant, i64)))
    for d in row.used:
        factor = emit(arith.ConstantOp(IntegerAttr(row.coefficients[d], i64)))
        term = emit(arith.MuliOp(emit(IndexOp(d)), factor))
        total = emit(arith.AddiOp(total, term))
    return total
