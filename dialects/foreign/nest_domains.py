"""The iterations of a nest that read an input inside of its bounds, and what their reads span."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gradir.dialects.base.access import Access, Row, dim_row
from gradir.dialects.base.shapes import shape_of
from gradir.dialects.loopnest.loopnest import NestOp


@dataclass(frozen=True)
class Domain:
    """A box of iterations: in each dimension `bounds` of them, from `first` on."""

    first: tuple[int, ...]
    bounds: tuple[int, ...]

    def moved(self, access: Access) -> Access:
        """An access of the nest, for loops that count from 0."""
        if not any(self.first):
            return access
        rank = len(self.first)
        rows = tuple(dim_row(rank, d, 1, n) for d, n in enumerate(self.first))
        return access.compose(Access(rank, rows))


@dataclass(frozen=True)
class Room:
    """The elements that reads span, outside of the tensor too: `shape` of them, from `first` on."""

    first: tuple[int, ...]
    shape: tuple[int, ...]

    def moved(self, access: Access) -> Access:
        """The access to a tensor of the room's shape."""
        rows = zip(access.rows, self.first, strict=True)
        return Access(access.num_dims, tuple(Row(r.coefficients, r.constant - n) for r, n in rows))

    def back(self) -> Access:
        """The element of the room for each element of the tensor."""
        rank = len(self.first)
        return Access(rank, tuple(dim_row(rank, d, 1, -n) for d, n in enumerate(self.first)))


def domain_of(op: NestOp, k: int) -> Domain:
    """All iterations that read input k inside; some subscripts of two loops may leave it.

    Where the derivative of the body at the pad is nan, an iteration that is left out adds nothing
    to any derivative of the derivative; one that is made, and whose sum is dropped, adds nan.
    """
    access, shape = op.input_accesses[k], shape_of(op.inputs[k].type)
    assert access is not None
    low, high = [0] * access.num_dims, [n - 1 for n in op.extents]
    for row, extent in zip(access.rows, shape, strict=True):
        if not row.used and not 0 <= row.constant < extent:
            return Domain(tuple(low), (0,) * len(low))
        if len(row.used) == 1:
            (d,) = row.used
            first, last = _inside(row.coefficients[d], row.constant, extent)
            low[d], high[d] = max(low[d], first), min(high[d], last)
    counts = (max(hi - lo + 1, 0) for lo, hi in zip(low, high, strict=True))
    return Domain(tuple(low), tuple(counts))


def _inside(step: int, start: int, extent: int) -> tuple[int, int]:
    """The first and the last n for which start + step * n is in [0, extent)."""
    if step < 0:
        step, start = -step, extent - 1 - start
    return -(start // step), (extent - 1 - start) // step


def room_of(access: Access, bounds: Sequence[int], shape: Sequence[int]) -> Room:
    """The tensor itself where no read leaves it."""
    if access.is_in_bounds(bounds, shape):
        return Room((0,) * len(shape), tuple(shape))
    ends = [row.interval(bounds) for row in access.rows]
    return Room(tuple(low for low, _ in ends), tuple(high - low + 1 for low, high in ends))
