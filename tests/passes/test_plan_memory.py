"""Offsets of live ranges: the lowest that fits, for any number of ranges and any size."""

from __future__ import annotations

import random

import pytest

from gradir.passes.buffers.plan_memory import ALIGNMENT, PlannedBuffer, Range, assign_offsets


def lowest(size: int, others: list[PlannedBuffer]) -> int:
    """The lowest aligned offset at which nothing lies on a buffer of `others`."""
    ends = [-(-(b.offset + b.size) // ALIGNMENT) * ALIGNMENT for b in others]
    return min(
        start
        for start in (0, *ends)
        if all(start + size <= b.offset or start >= b.offset + b.size for b in others)
    )


@pytest.mark.parametrize("largest", [200, 2**62])
@pytest.mark.parametrize("seed", range(5))
def test_each_is_as_low_as_larger_ones_allow(seed: int, largest: int) -> None:
    """Sums of the large sizes need more than 64 bits."""
    chosen = random.Random(seed)
    ranges: list[Range] = []
    for k in range(60):
        first = chosen.randrange(40)
        sizes = (0, 1, 64, largest)
        ranges.append((f"{k}", chosen.choice(sizes), first, first + chosen.choice((0, 2, 20))))
    placed = {b.name: b for b in assign_offsets(ranges).buffers}
    before: list[PlannedBuffer] = []
    for name, size, first, last in sorted(ranges, key=lambda r: (-r[1], r[2])):
        beside = [b for b in before if b.size and b.first <= last and first <= b.last]
        assert placed[name].offset == (lowest(size, beside) if size else placed[name].offset)
        before.append(placed[name])
    assert max(b.offset + b.size for b in before) == assign_offsets(ranges).peak_bytes
