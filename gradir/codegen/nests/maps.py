"""Passes that combine nothing: every iteration writes its own elements, in any order."""

from __future__ import annotations

from gradir.codegen.costs import UNROLL_SIZE
from gradir.codegen.nests.items import Items
from gradir.codegen.nests.writer import PassWriter
from gradir.dialects.base.traced_sizes import is_traced


def write_map(writer: PassWriter) -> None:
    """All iterations of a pass without reductions."""
    one = writer.one
    unroll = _unroll(writer)
    items = map_items(writer, unroll)
    v = frozenset([one.vector_dim])
    with writer.items.each(items), writer.arguments.hoisting(v, {}):

        def step(mask: str | None) -> None:
            one_vector(0, mask)

        def one_vector(shift: int, mask: str | None) -> None:
            writer.store_plain(writer.body(shift, mask), shift, mask)

        rolled = one.body.size * unroll > UNROLL_SIZE
        writer.loops.along_vector(unroll, one_vector, rolled, step)


def map_items(writer: PassWriter, unroll: int) -> Items:
    """Every dimension is parallel."""
    dims = range(len(writer.one.bounds))
    return writer.items.choose(dims, 1, unroll * writer.lanes)


def _unroll(writer: PassWriter) -> int:
    """Vectors in a group: up to four of small bodies, none that the extent can not fill."""
    unroll = 4
    extent = writer.loops.extent
    while unroll > 1 and (
        unroll * (writer.one.body.size + 2) > UNROLL_SIZE
        or (not is_traced(extent) and unroll * writer.lanes > extent)
    ):
        unroll //= 2
    return unroll
