"""Contractions of f32 with the precision bf16, in steps (dialects/base/precision.py has the order).

Both factors are copied, rounded; then the tiled kernel runs with chains of its own:

- `pairs`: a copy holds two k of a factor in each word of 32 bits, the first in the upper half, and
  VDPBF16PS adds both products of two words to a chain, the upper one first. At an odd end of k
  the lower halves are -0 and +0, whose product changes no sum.
- `rounded`: a copy holds numbers of f32 that are numbers of bf16, and the kernel is that of f32,
  run with subnormal results as zeros; where the processor has no such mode, chains make them so.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import cast

from xdsl.builder import Builder
from xdsl.dialects import arith, math
from xdsl.dialects.builtin import (
    FloatAttr,
    IntegerAttr,
    MemRefType,
    StringAttr,
    bf16,
    f32,
    i32,
    i64,
)
from xdsl.ir import Attribute, Block, SSAValue
from xdsl.rewriter import InsertPoint

from gradir.codegen.contractions.steps import (
    FactorCopy,
    OperandPlace,
    Steps,
    body_nest,
    by_dims,
    by_rows,
    copied_elements,
    epilogue_names,
    hands_on_the_sum,
    product_of,
    sums_of,
)
from gradir.codegen.text.target import MachineTarget
from gradir.dialects.base.access import Access, Row
from gradir.dialects.base.precision import LEAST_NORMAL
from gradir.dialects.base.shapes import memref_type
from gradir.dialects.loopnest.body_ops import memory_type
from gradir.dialects.loopnest.loopnest import (
    ContractOp,
    IndexOp,
    NestOp,
    Output,
    ShapedType,
    YieldOp,
)

# What a contraction on copies of its factors has in place of the precision, for the tiled kernel.
PAIRS, ROUNDED = "pairs", "rounded"
# Copies of this many times the elements of a factor take more time than pairs spare.
MOST_COPIES = 2


def precise_steps(op: ContractOp, has_plain_epilogue: bool, target: MachineTarget) -> Steps:
    """Copies of both factors, the product, and perhaps the body."""
    pairs = _pair_steps(op, has_plain_epilogue) if target.multiplies_pairs else None
    return pairs or _rounded_steps(op, target)


def _pair_steps(op: ContractOp, has_plain_epilogue: bool) -> Steps | None:
    """By pairs; None where copies would be too large."""
    dim = _pair_dim(op)
    copies = [_pair_copy(op, index, dim) for index in range(2)]
    for value, pairs in zip(op.inputs[:2], copies, strict=True):
        elements = prod(cast(ShapedType, value.type).get_shape())
        if pairs.words > MOST_COPIES * max(1, elements):
            return None
    nests = [_pair_nest(op, k, pairs, op.extents[dim]) for k, pairs in enumerate(copies)]
    reads = [pairs.read for pairs in copies]
    extents = [-(-n // 2) if d == dim else n for d, n in enumerate(op.extents)]
    return _steps(op, nests, reads, extents, PAIRS, has_plain_epilogue)


def _rounded_steps(op: ContractOp, target: MachineTarget) -> Steps:
    """By f32: the body has a step of its own, as it knows subnormal numbers."""
    nests, reads = list[NestOp](), list[Access]()
    for index in range(2):
        access = cast(Access, op.input_accesses[index])
        copied, read = min(by_dims(op, access), by_rows(op, access), key=copied_elements)
        nests.append(_rounded_nest(op, index, copied))
        reads.append(read)
    has_body = hands_on_the_sum(op)
    return _steps(op, nests, reads, op.extents, ROUNDED, has_body, target.flushes)


def _steps(
    op: ContractOp,
    copies: Sequence[NestOp],
    reads: Sequence[Access],
    extents: Sequence[int],
    precision: str,
    has_body: bool,
    flushes: bool = False,
) -> Steps:
    """The copies, the product over these extents, and unless it has the body a nest for that."""
    steps, places, types = Steps(), list[OperandPlace](), list[Attribute]()
    for index, nest in enumerate(copies):
        types.append(nest.outputs[0].type)
        places.append(steps.allocate(cast(MemRefType[Attribute], types[index])))
        sources = [f"%in{index}"] * len(nest.inputs)
        steps.add(f"copy{index}", nest, [*sources, places[index]])
    sums = None if has_body else sums_of(op, "none")
    product = product_of(op, types, reads, sums, extents, StringAttr(precision))
    if sums is None:
        steps.add("product", product, [*places, *epilogue_names(op)], flushes=flushes)
        return steps
    place = steps.allocate(sums.type)
    steps.add("product", product, [*places, place], flushes=flushes)
    steps.add("body", body_nest(op, sums.type), [place, *epilogue_names(op)])
    return steps


# Copies of pairs.


def _pair_dim(op: ContractOp) -> int:
    """The dimension k whose neighbours are pairs: the last one that has any."""
    summed = range(op.free_dims, len(op.extents))
    return next((d for d in reversed(summed) if op.extents[d] > 1), summed[-1])


@dataclass(frozen=True)
class _PairsCopy:
    """A copy of a factor in words along its axis `axis`; it reads the upper halves.

    `lower` reads the lower ones, and `read` is how the contraction reads the copy.
    """

    copied: FactorCopy
    lower: Access
    read: Access
    axis: int

    @property
    def words(self) -> int:
        return prod(self.copied.shape)


def _pair_copy(op: ContractOp, index: int, dim: int) -> _PairsCopy:
    """The smaller one: a word for each iteration of dimensions, or of the tensor that is read."""
    access, found = cast(Access, op.input_accesses[index]), list[_PairsCopy]()
    axis = _paired_axis(op, access, dim)
    if axis is not None:
        copied, read = by_rows(op, access)
        rows = (_halved(r, dim) if d == axis else r for d, r in enumerate(read.rows))
        found.append(_in_words(copied, Access(read.num_dims, tuple(rows)), axis))
    copied, read = by_dims(op, access)
    axis = next(d for d, row in enumerate(read.rows) if dim in row.used)
    # of two that are as large the one in the order of the tensor, which is written faster
    return min([*found, _in_words(copied, read, axis)], key=lambda one: one.words)


def _paired_axis(op: ContractOp, access: Access, dim: int) -> int | None:
    """The axis of a tensor along which neighbours are those of a dimension, if there is one.

    Other dimensions, as groups of channels, move along it by whole pairs.
    """
    axes = [d for d, row in enumerate(access.rows) if dim in row.used]
    if len(axes) != 1 or 0 in op.extents:
        return None
    row = access.rows[axes[0]]
    others = [row.coefficients[d] for d in row.used if d != dim and op.extents[d] > 1]
    is_whole = not others or (op.extents[dim] % 2 == 0 and all(c % 2 == 0 for c in others))
    return axes[0] if row.symbol is None and row.coefficients[dim] == 1 and is_whole else None


def _halved(row: Row, dim: int) -> Row:
    """A subscript of elements as one of pairs along a dimension."""
    halves = tuple(c if d == dim else c // 2 for d, c in enumerate(row.coefficients))
    return replace(row, coefficients=halves, constant=row.constant // 2)


def _in_words(copied: FactorCopy, read: Access, axis: int) -> _PairsCopy:
    """The copy with two neighbours along an axis in each word."""
    shape = tuple(-(-n // 2) if d == axis else n for d, n in enumerate(copied.shape))
    upper, lower = (
        Access(copied.access.num_dims, tuple(_doubled(r, axis, k) for r in copied.access.rows))
        for k in range(2)
    )
    return _PairsCopy(FactorCopy(shape, upper), lower, read, axis)


def _doubled(row: Row, axis: int, more: int) -> Row:
    """A subscript at 2 d + more in place of d."""
    step = row.coefficients[axis]
    twice = tuple(2 * c if d == axis else c for d, c in enumerate(row.coefficients))
    return replace(row, coefficients=twice, constant=row.constant + more * step)


def _pair_nest(op: ContractOp, index: int, pairs: _PairsCopy, extent: int) -> NestOp:
    """Writes the words of a factor's copy."""
    body = Block(arg_types=[f32, f32])
    b = Builder(InsertPoint.at_end(body))
    upper, lower = body.args
    pad = op.input_pads[index]
    if extent % 2:
        place = b.insert(IndexOp(pairs.axis)).result
        last = b.insert(arith.ConstantOp(IntegerAttr(extent // 2, i64))).result
        none = b.insert(arith.ConstantOp(FloatAttr(0.0 if index else -0.0, f32))).result
        is_inside = b.insert(arith.CmpiOp(place, last, "ne")).result
        lower = b.insert(arith.SelectOp(is_inside, lower, none)).result
        pad = pad or FloatAttr(0.0, f32)
    high, low = (b.insert(arith.BitcastOp(_rounded(b, x), i32)).result for x in (upper, lower))
    sixteen = b.insert(arith.ConstantOp(IntegerAttr(16, i32))).result
    word = b.insert(arith.OrIOp(high, b.insert(arith.ShRUIOp(low, sixteen)).result)).result
    b.insert(YieldOp(b.insert(arith.BitcastOp(word, f32)).result))
    return _copy_nest(op, index, pairs.copied, [pairs.copied.access, pairs.lower], body, pad)


# Copies of rounded numbers.


def _rounded_nest(op: ContractOp, index: int, copied: FactorCopy) -> NestOp:
    """Writes a factor's copy, rounded."""
    body = Block(arg_types=[f32])
    b = Builder(InsertPoint.at_end(body))
    b.insert(YieldOp(_rounded(b, body.args[0])))
    return _copy_nest(op, index, copied, [copied.access], body, op.input_pads[index])


def _copy_nest(
    op: ContractOp,
    index: int,
    copied: FactorCopy,
    reads: Sequence[Access],
    body: Block,
    pad: Attribute | None,
) -> NestOp:
    """A nest that writes a copy of a factor, which its body reads at these places."""
    target = memref_type(copied.shape, f32)
    source, buffer = Block(arg_types=[memory_type(op.inputs[index].type), target]).args
    output = Output(target, Access.identity(len(copied.shape)))
    sources, pads = [source] * len(reads), [pad] * len(reads)
    return NestOp(copied.shape, sources, reads, [output], body, pads, buffers=[buffer])


def _rounded(b: Builder, x: SSAValue) -> SSAValue:
    """x of f32 rounded to bf16, still as f32; subnormal numbers are zeros of their sign."""
    zero, least = (
        b.insert(arith.ConstantOp(FloatAttr(number, f32))).result for number in (0.0, LEAST_NORMAL)
    )
    is_small = b.insert(arith.CmpfOp(b.insert(math.AbsFOp(x)).result, least, "olt")).result
    signed = b.insert(math.CopySignOp(zero, x)).result
    kept = b.insert(arith.SelectOp(is_small, signed, x)).result
    return b.insert(arith.ExtFOp(b.insert(arith.TruncFOp(kept, bf16)).result, f32)).result
