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

from xdsl.ir import Attribute, Block, SSAValue

from gradir.dialects.base.access import Access, Row, constant_row, dim_row
from gradir.dialects.base.shapes import is_float, tensor
from gradir.dialects.base.sum_order import FACTORS_OVER_PARTS, PART_STEPS
from gradir.dialects.base.value import Emitter
from gradir.dialects.building.nests import Body, Read, argument_type, emit_loop, nest, unchanged
from gradir.dialects.loopnest.loopnest import ContractOp, Output


def contract(
    emitter: Emitter,
    bounds: Sequence[int],
    reads: Sequence[Read],
    outputs: Sequence[Output],
    accumulator: Attribute,
    body: Body,
    roles: str | None = None,
    precision: str | None = None,
) -> list[SSAValue]:
    """Emit a contraction of the first two reads; `body` gets the sum and other reads.

    `roles` and `precision` are those of `loopnest.contract`. With a precision a sum is one chain.
    """
    letters = roles or "b" * (len(bounds) - 3) + "mnk"
    cut = _cut(bounds, letters)
    is_padded = any(read.pad is not None for read in reads[:2])
    if cut is None or is_padded or precision is not None or not is_float(accumulator):
        block = Block(arg_types=[accumulator, *(argument_type(r) for r in reads[2:])])
        return emit_loop(emitter, ContractOp, bounds, reads, outputs, block, body, roles, precision)
    total = _emit_parts(emitter, cut, letters, reads[:2], accumulator)
    sums, free = Read(total, Access.identity(cut.first)), cut.free_access
    others = [_through(read, free) for read in reads[2:]]
    results = [output._replace(access=output.access.compose(free)) for output in outputs]
    return nest(emitter, cut.free, [sums, *others], results, body)


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

    @property
    def free_access(self) -> Access:
        """All dimensions from those that are not summed."""
        zeros = [constant_row(self.first, 0)] * (len(self.bounds) - self.first)
        return Access(self.first, (*_dims(self.first), *zeros))


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
    [total] = nest(emitter, (*cut.free, cut.count), [read], [output], unchanged)
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
    dims = _dims(len(bounds))
    dims[shift + cut.first] = row
    inner = Access(len(bounds), tuple(dims[shift:]))
    reads = [_through(factor, inner) for factor in factors]
    free = shift + cut.first
    output = Output(tensor(bounds[:free], accumulator), Access.of_dims(len(bounds), range(free)))
    # no part is cut once more
    [total] = contract(emitter, bounds, reads, [output], accumulator, unchanged, letters)
    return total


def _through(read: Read, inner: Access) -> Read:
    """A read of other dimensions, from which `inner` gives its own."""
    return read._replace(access=read.access and read.access.compose(inner))


def _dims(num_dims: int) -> list[Row]:
    return [dim_row(num_dims, d) for d in range(num_dims)]
