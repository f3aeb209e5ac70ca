"""Building contractions from Python functions on scalars; long sums are cut into parts.

One chain of n multiply-adds has an error of up to n/2 ulp: 1.4 % for x.T @ x of a million equal
rows in float32. So the outermost summed dimension of a long sum is cut into parts of about
`PART_STEPS` products, which are a dimension of a batch, and a nest adds the parts. Threads can
share them, too. Bounds and roles alone say so.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from math import prod

from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Attribute, Block, SSAValue

from gradir.dialects.base.access import Access, Row, constant_row, dim_row
from gradir.dialects.base.shapes import is_float, tensor
from gradir.dialects.base.value import Emitter, Scalar
from gradir.dialects.building.nests import Body, Read, argument_type, emit_loop, nest
from gradir.dialects.loopnest.loopnest import ContractOp, Output

# The most products of a part; a sum that is cut has at least two parts.
PART_STEPS = 4096
# How many times more elements the factors have than all parts of the result.
FACTORS_OVER_PARTS = 32


def contract(
    emitter: Emitter,
    bounds: Sequence[int],
    reads: Sequence[Read],
    outputs: Sequence[Output],
    accumulator: Attribute,
    body: Body,
    roles: str | None = None,
) -> list[SSAValue]:
    """Emit a contraction of the first two reads; `body` gets the sum and other reads.

    `roles` are those of `loopnest.contract`.
    """
    letters = roles or "b" * (len(bounds) - 3) + "mnk"
    cut = _cut(bounds, letters)
    is_padded = any(read.pad is not None for read in reads[:2])
    if cut is None or is_padded or not is_float(accumulator):
        return _emit_whole(emitter, bounds, reads, outputs, accumulator, body, roles)
    total = _emit_parts(emitter, cut, letters, reads[:2], accumulator)
    free = Access(cut.first, (*_dims(cut.first, cut.first), *_zeros(cut)))
    others = [Read(r.value, r.access and r.access.compose(free)) for r in reads[2:]]
    sums = Read(total, Access.identity(cut.first))
    results = [Output(o.type, o.access.compose(free), o.combiner, o.init) for o in outputs]
    return nest(emitter, cut.free, [sums, *others], results, body)


def _emit_whole(
    emitter: Emitter,
    bounds: Sequence[int],
    reads: Sequence[Read],
    outputs: Sequence[Output],
    accumulator: Attribute,
    body: Body,
    roles: str | None,
) -> list[SSAValue]:
    block = Block(arg_types=[accumulator, *(argument_type(r) for r in reads[2:])])
    attribute = StringAttr(roles) if roles else None
    return emit_loop(emitter, ContractOp, bounds, reads, outputs, block, body, attribute)


@dataclass(frozen=True)
class _Cut:
    """`count` parts of `size` indices of the outermost summed dimension, then `rest` indices."""

    bounds: tuple[int, ...]
    first: int
    size: int
    count: int
    rest: int

    @property
    def free(self) -> tuple[int, ...]:
        return self.bounds[: self.first]

    @property
    def inner(self) -> tuple[int, ...]:
        """The bounds of the summed dimensions inside of the one that is cut."""
        return self.bounds[self.first + 1 :]


def _cut(bounds: Sequence[int], letters: str) -> _Cut | None:
    """How a long sum is cut; None where it is one chain, or where parts cost too much."""
    first = len(letters.rstrip("k"))
    sizes = {
        role: prod(n for n, r in zip(bounds, letters, strict=True) if r == role) for role in "mnk"
    }
    size = max(1, PART_STEPS // max(1, prod(bounds[first + 1 :])))
    count = bounds[first] // size
    parts, factors = count * sizes["m"] * sizes["n"], (sizes["m"] + sizes["n"]) * sizes["k"]
    is_dot_product = sizes["m"] == sizes["n"] == 1
    if count < 2 or is_dot_product or 0 in bounds or FACTORS_OVER_PARTS * parts > factors:
        return None
    return _Cut(tuple(bounds), first, size, count, bounds[first] - count * size)


def _emit_parts(
    emitter: Emitter, cut: _Cut, letters: str, factors: Sequence[Read], accumulator: Attribute
) -> SSAValue:
    """The sum over all parts, in the accumulator's type: the rest first, then part after part."""
    rank, emit = cut.first, partial(_emit_sum, emitter, factors, accumulator)
    bounds = (cut.count, *cut.free, cut.size, *cut.inner)
    row = Row((cut.size, *[0] * rank, 1, *[0] * len(cut.inner)), 0)
    parts = emit(cut, bounds, "b" + letters, 1, row)
    start = None
    if cut.rest:
        left = (*cut.free, cut.rest, *cut.inner)
        start = emit(cut, left, letters, 0, dim_row(len(left), rank, 1, cut.count * cut.size))
    read = Read(parts, Access.of_dims(rank + 1, [rank, *range(rank)]))
    kept = Access.of_dims(rank + 1, range(rank))
    output = Output(tensor(cut.free, accumulator), kept, "add", start)
    [total] = nest(emitter, (*cut.free, cut.count), [read], [output], _same)
    return total


def _emit_sum(
    emitter: Emitter,
    factors: Sequence[Read],
    accumulator: Attribute,
    cut: _Cut,
    bounds: Sequence[int],
    letters: str,
    shift: int,
    row: Row,
) -> SSAValue:
    """The sum over bounds with `shift` more dimensions in front; `row` is the index that is cut."""
    dims = _dims(len(bounds), len(bounds))
    inner = Access(
        len(bounds), (*dims[shift : shift + cut.first], row, *dims[shift + cut.first + 1 :])
    )
    reads = [Read(f.value, f.access and f.access.compose(inner)) for f in factors]
    free = shift + cut.first
    output = Output(tensor(bounds[:free], accumulator), Access.of_dims(len(bounds), range(free)))
    [total] = _emit_whole(emitter, bounds, reads, [output], accumulator, _same, letters)
    return total


def _dims(num_dims: int, count: int) -> list[Row]:
    return [dim_row(num_dims, d) for d in range(count)]


def _zeros(cut: _Cut) -> list[Row]:
    return [constant_row(cut.first, 0)] * (len(cut.bounds) - cut.first)


def _same(x: Scalar) -> Scalar:
    return x
