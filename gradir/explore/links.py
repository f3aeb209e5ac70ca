"""Links from the values of one snapshot to what became of them in the next one.

A value that a stage has kept is itself. One that was replaced is linked to new values of its name;
else, if it was the result of a loop nest, to the number in the body that it was made of; else to
what its readers read now; else to new values at its place of the source, of the same op if there
are some; where there are none, to values that were there before, of its name, or of its type at
its place.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence

from gradir.explore.recorded_text import Snapshot

MOST_LINKS = 12
"""The values that one value is linked to: a vmapped or unrolled one may become thousands."""

Keys = Callable[[Snapshot, int], Iterable[Hashable]]
"""By what a value may be found."""


Index = Mapping[Hashable, Sequence[int]]
"""The numbers of values by keys."""


def links(before: Snapshot, after: Snapshot) -> list[list[int]]:
    """For each value of `before` the numbers of values of `after`, the text of the IR as it is."""
    kept = {before.values[v]: number for v, number in after.values.items() if v in before.values}
    old = sorted(kept.values())
    new = sorted(set(after.values.values()).difference(old))
    itself: Index = {value: [number] for value, number in after.values.items()}
    ways: list[tuple[Keys, Index]] = [
        (_name, _index(after, new, _name)),
        (_yielded, itself),
        (_read_instead, itself),
        *((keys, _index(after, new, keys)) for keys in (_place_and_op, _place, _places)),
        *((keys, _index(after, old, keys)) for keys in (_name, _place_and_type)),
    ]
    return [
        [kept[number]] if number in kept else _first_found(before, number, ways)
        for number in range(len(before.hints))
    ]


def _first_found(before: Snapshot, number: int, ways: Sequence[tuple[Keys, Index]]) -> list[int]:
    for keys, index in ways:
        found = dict.fromkeys(n for key in keys(before, number) for n in index.get(key, ()))
        if found:
            return list(found)[:MOST_LINKS]
    return []


def _index(of: Snapshot, numbers: Iterable[int], keys: Keys) -> Index:
    index: defaultdict[Hashable, list[int]] = defaultdict(list)
    for number in numbers:
        for key in keys(of, number):
            index[key].append(number)
    return index


def _name(of: Snapshot, number: int) -> Iterable[Hashable]:
    hint = of.hints[number]
    return [] if hint is None else [hint]


def _yielded(of: Snapshot, number: int) -> Iterable[Hashable]:
    """The number in the body of the loop nest that made a value, which may go into another nest."""
    value = of.yielded[number]
    return [] if value is None else [value]


def _read_instead(of: Snapshot, number: int) -> Iterable[Hashable]:
    """The values that the readers of a value read now in its place."""
    readers = of.readers[number]
    return [op.operands[k] for op, k in readers if op.parent is not None and k < len(op.operands)]


def _place_and_op(of: Snapshot, number: int) -> Iterable[Hashable]:
    spots, kind = of.spots[number], of.kinds[number]
    return [(spots, kind)] if spots and kind else []


def _place(of: Snapshot, number: int) -> Iterable[Hashable]:
    """All places at once, of results: arguments of bodies have those of the whole body."""
    return [of.spots[number]] if of.spots[number] and of.kinds[number] else []


def _places(of: Snapshot, number: int) -> Iterable[Hashable]:
    return of.spots[number] if of.kinds[number] else []


def _place_and_type(of: Snapshot, number: int) -> Iterable[Hashable]:
    return [(of.spots[number], of.types[number])] if of.spots[number] else []
