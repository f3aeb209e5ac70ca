"""The loop nests of concat and stack."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from math import prod
from typing import cast

from xdsl.dialects.builtin import FloatAttr, IntegerAttr, IntegerType
from xdsl.ir import Attribute, SSAValue

from gradir.dialects.base.access import Access, dim_row
from gradir.dialects.base.rounding import rounded
from gradir.dialects.base.shapes import element_of, is_bool, is_float, shape_of
from gradir.dialects.base.value import Emitter, Scalar
from gradir.dialects.building import body as b
from gradir.dialects.building.nests import Read, nest
from gradir.dialects.loopnest.loopnest import Output, scalar_type

# One nest reads an element of each operand for every element that it writes, but it fuses, and
# writes whole lines. A nest for each operand reads once; it is slow where its parts are short.
MOST_SELECTED = 4
MOST_SELECTED_SHORT = 64
SHORT_PART = 16


@dataclass(frozen=True)
class JoinedPart:
    """An operand, its extent along the axis, and its subscripts over its own part of the result."""

    value: SSAValue
    extent: int
    access: Access


def joined(
    emitter: Emitter, type_: Attribute, axis: int, pieces: Sequence[JoinedPart]
) -> list[SSAValue]:
    """The pieces in order: few of them by one nest, which can fuse with others.

    Many pieces are one nest each into one buffer, so that the work stays linear.
    """
    pieces = [p for p in pieces if p.extent] or pieces[:1]
    starts = [0, *accumulate(p.extent for p in pieces[:-1])]
    part = prod(shape_of(type_)[axis:]) // len(pieces)
    most = MOST_SELECTED_SHORT if part < SHORT_PART else MOST_SELECTED
    build = _selected if len(pieces) <= most else _chained
    return build(emitter, type_, axis, list(zip(pieces, starts, strict=True)))


Placed = list[tuple[JoinedPart, int]]


def _moved(rank: int, axis: int, start: int) -> Access:
    """The identity, but for `start` added along the axis."""
    return Access(rank, tuple(dim_row(rank, d, 1, start if d == axis else 0) for d in range(rank)))


def _selected(emitter: Emitter, type_: Attribute, axis: int, placed: Placed) -> list[SSAValue]:
    shape = shape_of(type_)
    rank, zero = len(shape), pad_value(0, element_of(type_))
    reads: list[Read] = []
    for piece, start in placed:
        is_guarded = axis in piece.access.used and len(placed) > 1
        access = piece.access.compose(_moved(rank, axis, -start))
        reads.append(Read(piece.value, access, zero if is_guarded else None))

    def pick(*xs: Scalar) -> Scalar:
        at, result = b.index(xs[0], axis), xs[0]
        for x, (_, start) in list(zip(xs, placed, strict=True))[1:]:
            result = b.select(at >= start, x, result)
        return result

    def same(x: Scalar) -> Scalar:
        return x

    body = pick if len(placed) > 1 else same
    return nest(emitter, shape, reads, [Output(type_, Access.identity(rank))], body)


def _chained(emitter: Emitter, type_: Attribute, axis: int, placed: Placed) -> list[SSAValue]:
    shape, whole = shape_of(type_), None
    rank = len(shape)

    def same(x: Scalar) -> Scalar:
        return x

    for piece, start in placed:
        bounds = [piece.extent if d == axis else n for d, n in enumerate(shape)]
        output = Output(type_, _moved(rank, axis, start), "none", whole)
        [whole] = nest(emitter, bounds, [Read(piece.value, piece.access)], [output], same)
    assert whole is not None
    return [whole]


def pad_value(value: float, element: Attribute) -> Attribute:
    """The attribute of a padded read."""
    if is_float(element):
        return FloatAttr(rounded(value, element), element)
    scalar = cast(IntegerType, scalar_type(element))
    return IntegerAttr(-int(value != 0) if is_bool(element) else int(value), scalar)
