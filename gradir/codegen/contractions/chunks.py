"""Contractions with copied factors, a chunk of their outermost dimension at a time.

A factor with padding is copied before the tiled kernel reads it. A copy of a whole batch of images
would often be the largest buffer alive, and would leave the cache before it is read. So where a
dimension leads in every tensor that varies along it, its chunks follow each other:

- rows of the result: each thread copies and multiplies its own chunks, one after the other;
- a summed dimension: all threads copy a chunk and go on with the chains of all elements, from the
  result of the chunk before. A chain stays the same, also in its bits.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import cast

from xdsl.builder import Builder
from xdsl.dialects import arith
from xdsl.dialects.builtin import AnyFloat, FloatAttr, MemRefType
from xdsl.ir import Attribute, Block, SSAValue
from xdsl.rewriter import InsertPoint

from gradir.codegen.contractions.steps import (
    OperandPlace,
    Steps,
    body_nest,
    epilogue_names,
    hands_on_the_sum,
    memory_type,
    parameters,
    sums_of,
    tiled_steps,
)
from gradir.codegen.text.kernel import Kernel, KernelPhase
from gradir.codegen.text.kinds import bits_of, kind_of
from gradir.codegen.text.target import MachineTarget
from gradir.codegen.text.writer import FunctionWriter
from gradir.dialects.base.access import Access
from gradir.dialects.base.shapes import memref_type
from gradir.dialects.loopnest.loopnest import (
    ContractOp,
    IndexOp,
    NestOp,
    Output,
    ShapedType,
    YieldOp,
)

# The least bytes of copies in a chunk: threads meet after each chunk of a summed dimension.
LEAST_BYTES = 64 * 1024
# The least rows of a chunk for each pass over the other factor, which each chunk may pack again.
LEAST_ROWS = 1024
# With this many chunks a thread, an uneven share is a quarter of a thread's work at most.
MANY = 4


@dataclass(frozen=True)
class Chunks:
    """`count` chunks. `part` is the contraction of one, on stand-ins.

    From chunk to chunk its inputs and outputs move by `strides` bytes.
    """

    count: int
    part: ContractOp
    strides: tuple[int, ...]


def row_chunks(op: ContractOp, copied: Sequence[int], threads: int) -> Chunks | None:
    """Chunks of rows, for threads of their own; None where they do not suit."""
    dim = 0
    written = all(dim in access.used for access in op.output_accesses)
    if op.dim_roles[dim] == "k" or not written or _asks_for_index(op, dim):
        return None
    for size in _sizes(op, dim, copied, LEAST_BYTES):
        count = op.extents[dim] // size
        if count % threads == 0 or count >= MANY * threads:
            return _chunks(op, dim, size)
    return None


def summed_chunks(op: ContractOp, copied: Sequence[int]) -> Chunks | None:
    """Chunks of the outermost summed dimension; None where they do not suit."""
    dim = op.free_dims
    # the sums are read and written for each chunk
    sums = prod(op.extents[:dim]) * _bytes(op.accumulator_type)
    for size in _sizes(op, dim, copied, max(LEAST_BYTES, sums)):
        return _chunks(_bare(op), dim, size)
    return None


def _asks_for_index(op: ContractOp, dim: int) -> bool:
    return any(isinstance(i, IndexOp) and i.dim.value.data == dim for i in op.body.walk())


def _sizes(op: ContractOp, dim: int, copied: Sequence[int], least: int) -> Iterator[int]:
    """How many steps of a dimension a chunk may have: enough to be worth it, but not all."""
    accesses = [a for a in (*op.input_accesses, *op.output_accesses) if a is not None]
    if not all(_leads(access, dim) for access in accesses) or None in op.input_accesses:
        return
    factors = [cast(Access, access) for access in op.input_accesses[:2]]
    if not all(dim in factors[index].used and _has_rows(op, index, dim) for index in copied):
        return
    extent, copies = op.extents[dim], tiled_steps(op, copied, True).scratch_bytes
    for size in range(1, extent // 2 + 1):
        if extent % size == 0 and copies * size >= least * extent:
            shared = [a for a in factors if dim not in a.used]
            if all(_passes(op, a) * size >= LEAST_ROWS * extent for a in shared):
                yield size


def _leads(access: Access, dim: int) -> bool:
    """Whether only the first subscript has the dimension, if any, and nothing else."""
    return dim not in access.used or (
        access.rows[0].dim == dim and all(dim not in row.used for row in access.rows[1:])
    )


def _has_rows(op: ContractOp, index: int, dim: int) -> bool:
    """Whether a factor has all rows of a dimension: a chunk knows of no padding behind them."""
    return op.extents[dim] <= cast(ShapedType, op.inputs[index].type).get_shape()[0]


def _passes(op: ContractOp, factor: Access) -> int:
    """How often each element of a factor is read."""
    return prod(extent for d, extent in enumerate(op.extents) if d not in factor.used)


def _bare(op: ContractOp) -> ContractOp:
    """The sums alone: into the result where that holds nothing else, or into a buffer."""
    body = Block(arg_types=[op.accumulator_type])
    body.add_op(YieldOp(body.args[0]))
    factors = Block(arg_types=[memory_type(v.type) for v in op.inputs[:2]]).args
    if hands_on_the_sum(op):
        target = memory_type(op.output_types[0])
        output = Output(target, op.output_accesses[0])
    else:
        output = sums_of(op, "none").output
    return ContractOp(
        op.extents, factors, op.input_accesses[:2], [output], body, op.input_pads[:2],
        buffers=Block(arg_types=[output.type]).args, roles=op.roles,
    )  # fmt: skip


def _chunks(op: ContractOp, dim: int, size: int) -> Chunks:
    """The contraction of one chunk."""
    count = op.extents[dim] // size
    outputs: list[SSAValue | None] = [*op.outputs] or [None] * len(op.output_types)
    accesses = [*map(lambda a: cast(Access, a), op.input_accesses), *op.output_accesses]
    types = [memory_type(t) for t in (*(v.type for v in op.inputs), *op.output_types)]
    is_cut = [dim in access.used for access in accesses]
    parts = [
        memref_type([size, *t.get_shape()[1:]], t.element_type) if cut else t
        for t, cut in zip(types, is_cut, strict=True)
    ]
    # a buffer that is read and written remains one value
    stand_ins: dict[SSAValue, SSAValue] = {}
    values = [
        argument if value is None else stand_ins.setdefault(value, argument)
        for value, argument in zip((*op.inputs, *outputs), Block(arg_types=parts).args, strict=True)
    ]
    inputs, buffers = values[: len(op.inputs)], values[len(op.inputs) :]
    part = ContractOp(
        [size if d == dim else n for d, n in enumerate(op.extents)],
        inputs,
        op.input_accesses,
        [Output(b.type, o.access) for b, o in zip(buffers, op.output_list, strict=True)],
        op.body.clone(),
        op.input_pads,
        buffers=buffers,
        roles=op.roles,
    )
    sizes = [prod(t.get_shape()) * _bytes(t.element_type) for t in parts]
    strides = tuple(n if cut else 0 for n, cut in zip(sizes, is_cut, strict=True))
    return Chunks(count, part, strides)


def _bytes(element: Attribute) -> int:
    return max(1, bits_of(kind_of(element)) // 8)


def summed_steps(op: ContractOp, chunks: Chunks, copied: Sequence[int]) -> Steps:
    """Zeros, then for each chunk its copies and more of each sum; at last the body."""
    steps = Steps()
    result: OperandPlace = "%out0"
    if not hands_on_the_sum(op):
        result = steps.allocate(memory_type(chunks.part.output_types[0]))
    steps.add("zero", _zero_nest(memory_type(chunks.part.output_types[0])), [result])
    begun = steps.scratch_bytes
    inner = tiled_steps(chunks.part, copied, True, begun)
    for chunk in range(chunks.count):
        moved = [chunk * stride for stride in chunks.strides]
        places: dict[OperandPlace, OperandPlace] = {
            f"%in{k}": (f"%in{k}", moved[k]) for k in range(2)
        }
        places["%out0"] = result
        for step in inner.steps:
            operands = [places.get(place, place) for place in step.operands]
            steps.add(step.label, step.op, operands, isinstance(step.op, ContractOp))
    steps.scratch_bytes = inner.scratch_bytes
    if not hands_on_the_sum(op):
        sums = sums_of(op, "none").type
        steps.add("body", body_nest(op, sums), [result, *epilogue_names(op)])
    return steps


def _zero_nest(type_: MemRefType[Attribute]) -> NestOp:
    body = Block()
    builder = Builder(InsertPoint.at_end(body))
    zero = arith.ConstantOp(FloatAttr(0.0, cast(AnyFloat, type_.element_type)))
    builder.insert(YieldOp(builder.insert(zero).result))
    shape = type_.get_shape()
    output = Output(type_, Access.identity(len(shape)))
    return NestOp(shape, [], [], [output], body, buffers=Block(arg_types=[type_]).args)


def emit_rows(
    op: ContractOp, chunks: Chunks, part: Kernel, share_bytes: int, shares: int, name: str,
    target: MachineTarget,
) -> Kernel:  # fmt: skip
    """One phase whose items are shares: chunks that follow each other, in scratch memory of their
    own. `part` is the kernel of one chunk."""
    f = FunctionWriter()
    names = [f"%in{k}" for k in range(len(op.inputs))]
    names += [f"%out{k}" for k in range(len(op.output_types))]
    with f.loop("%begin", "%end", hint="share") as share:
        scratch = f.element("i8", "%scratch", f.multiply(share, share_bytes))
        begin, end = f.share_of(chunks.count, share, shares)
        with f.loop(begin, end, hint="chunk") as chunk:
            places = [
                f.element("i8", base, f.multiply(chunk, stride))
                for base, stride in zip(names, chunks.strides, strict=True)
            ]
            handed_on = ", ".join(f"ptr {p}" for p in (*places, scratch, "%error"))
            for phase in part.phases:
                f.call("void", f"@{phase.symbol}", f"{handed_on}, i64 0, i64 {phase.items}")
    f.ret()
    head = f"{parameters(op)}, i64 %begin, i64 %end"
    text = f.define(f"{name}.chunks", head, target.attributes, linkage="")
    cost = chunks.count * sum(phase.cost for phase in part.phases)
    phases = (KernelPhase(f"{name}.chunks", shares, cost),)
    return replace(part, text=f"{part.text}\n{text}", phases=phases)
