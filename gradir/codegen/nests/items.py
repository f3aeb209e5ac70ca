"""The work items of a pass: how its parallel dimensions are dealt out, and the loop over items."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from math import prod

from gradir.codegen.costs import ITEM_ACCESS_COST, ITEM_COST
from gradir.codegen.nests.loops import PassLoops
from gradir.dialects.base.traced_sizes import is_traced, of_sizes

# Elements that a work item should at least cover, whatever its body costs.
LEAST_ELEMENTS, MOST_ELEMENTS = 256, 4096


@of_sizes
def _share(wanted: int, size: int) -> int:
    """How many times a size is wanted, at least once."""
    return max(1, wanted // size)


@dataclass(frozen=True)
class Items:
    """How the parallel dimensions are dealt out: `full` ones one by one, `blocked` in blocks.

    `inner` parallel dimensions are loops inside an item.
    """

    full: tuple[int, ...]
    blocked: tuple[int, int] | None
    inner: tuple[int, ...]


class PassItems:
    """Deals the parallel dimensions out to items, and writes the loop over one call's items."""

    def __init__(self, loops: PassLoops):
        self.loops = loops
        self.one = loops.one
        self.chunk_index = "0"
        self.count = 1

    def choose(self, dims: Sequence[int], inner: int, multiple: int) -> Items:
        """Deal out parallel `dims`, outermost first, so that an item is not too small.

        `inner` elements belong to each index of all of them; blocks of the vector dimension are
        multiples of `multiple`.
        """
        size, position = inner, len(dims)
        vector = self.loops.lanes // self.one.interleaved
        wanted = int(ITEM_COST * vector / (ITEM_ACCESS_COST + self.one.body.cost))
        wanted = max(LEAST_ELEMENTS, min(MOST_ELEMENTS, wanted))
        while position and (
            not is_traced(size * self.one.bounds[dims[position - 1]])
            and size * self.one.bounds[dims[position - 1]] <= wanted
        ):
            position -= 1
            size *= self.one.bounds[dims[position]]
        if not position:
            return Items((), None, tuple(dims))
        dim = dims[position - 1]
        block = _share(wanted, size)
        if dim == self.one.vector_dim:
            block = -(-block // multiple) * multiple
        if is_traced(block) or is_traced(self.one.bounds[dim]):
            # also where one block has all: the number of items is a value
            return Items(tuple(dims[: position - 1]), (dim, block), tuple(dims[position:]))
        if block >= self.one.bounds[dim]:
            return Items(tuple(dims[: position - 1]), None, tuple(dims[position - 1 :]))
        if block == 1:
            return Items(tuple(dims[:position]), None, tuple(dims[position:]))
        return Items(tuple(dims[: position - 1]), (dim, block), tuple(dims[position:]))

    @contextmanager
    def each(self, items: Items) -> Generator[None]:
        """The loop over the function's items, with their dimensions bound."""
        blocks = [] if items.blocked is None else [items.blocked]
        with self.blocks(items.full, blocks), ExitStack() as stack:
            for dim in [d for d, _ in blocks] + list(items.inner):
                if dim != self.one.vector_dim:
                    stack.enter_context(self.loops.loop(dim))
            yield

    @contextmanager
    def blocks(self, full: Sequence[int], blocks: Sequence[tuple[int, int]]) -> Generator[None]:
        """The loop over items: an index of each `full` dimension, and a span of each block."""
        one = self.one
        counts = [one.bounds[d] for d in full]
        counts += [-(-one.bounds[d] // size) for d, size in blocks]
        if one.chunk is not None:
            counts.insert(0, one.chunk.count)
        self.count = prod(counts)
        with self.loops.f.items(self.count) as item, ExitStack() as stack:
            parts = self.loops.f.digits(item, counts)
            if one.chunk is not None:
                self.chunk_index = parts.pop(0)
                self.loops.set_span(one.chunk.dim, self.chunk_index, one.chunk.size)
            for (dim, size), number in zip(blocks, parts[len(full) :], strict=True):
                self.loops.set_span(dim, number, size)
            for dim, index in zip(full, parts, strict=False):
                stack.enter_context(self.loops.at(dim, index))
            yield
