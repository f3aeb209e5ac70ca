"""gradir.numpy.r_ and c_: arrays joined by subscripts, with NumPy's meaning."""

from __future__ import annotations

from typing import Any, cast

from gradir.frontends.tracing.eager import eager
from gradir.frontends.tracing.source_locations import refusal
from gradir.frontends.tracing.tracer import Tracer, registered
from gradir.frontends.tracing.tracing import lifted


class Joiner:
    """`r_[a, 0, 1:5, x]` joins arrays, numbers and ranges; a step of 5j means five numbers.

    A first subscript "axis", "axis,ndmin" or "axis,ndmin,place" says along which axis, of at least
    how many axes the parts are made, and at which of these the axes of a part begin.
    """

    def __init__(self, name: str, axis: int, rank: int, place: int):
        self._name, self._places = name, (axis, rank, place)

    def __repr__(self) -> str:
        return f"gradir.numpy.{self._name}"

    def __getitem__(self, key: Any) -> Any:
        return _join_parts(self._name, self._places, key)


@eager
def _join_parts(name: str, places: tuple[int, int, int], key: Any) -> Tracer:
    items: list[Any] = list(cast(Any, key)) if isinstance(key, tuple) else [key]
    axis, rank, place = places
    if items and isinstance(items[0], str):
        axis, rank, place = _directive(name, items.pop(0), places)
    made: list[Any] = []
    for item in items:
        if isinstance(item, str):
            raise refusal(f"{name}: {item!r} must be the first subscript")
        part = _range(cast(Any, item)) if isinstance(item, slice) else lifted(item)
        made.append(_of_rank(name, part, rank, place))
    if not made:
        raise refusal(f"{name}: at least one array must be given")
    return registered("concatenate")(made, axis=axis)


def _directive(name: str, text: str, places: tuple[int, int, int]) -> tuple[int, int, int]:
    found: list[int] = []
    try:
        found = [int(each) for each in text.split(",")]
    except ValueError:
        pass
    if not 1 <= len(found) <= 3:
        raise refusal(f'{name}: expected "axis", "axis,ndmin" or "axis,ndmin,place", got {text!r}')
    axis, rank, place = (*found, *places[len(found) :])
    return axis, rank, place


def _range(item: slice) -> Any:
    """The numbers from start to stop, by steps; an imaginary step says how many there are."""
    first, stop, by = item.start, item.stop, item.step
    start = 0 if first is None else first
    if isinstance(by, complex):
        return registered("linspace")(start, stop, int(abs(by)))
    return registered("arange")(start, stop, 1 if by is None else by)


def _of_rank(name: str, part: Any, rank: int, place: int) -> Any:
    """The part with axes of extent 1 around its own, which begin at `place`."""
    missing = rank - part.ndim
    if missing <= 0:
        return part
    before = place + missing + 1 if place < 0 else place
    if part.ndim and not 0 <= before <= missing:
        raise refusal(f"{name}: the axes of {part!r} cannot begin at axis {place} of {rank}")
    before = min(max(before, 0), missing)
    return registered("reshape")(part, (1,) * before + part.shape + (1,) * (missing - before))


r_ = Joiner("r_", 0, 1, -1)
c_ = Joiner("c_", -1, 2, 0)
