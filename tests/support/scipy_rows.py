"""What a row of the tables of gradir.scipy is, and the points that rows share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

Number = Any
"""A number of mpmath."""

TINY = (1e-100, 1e-17, 1e-9, 1e-4)
SMALL = (0.1, 0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 2.5, 3.0, 4.0)
MIDDLE = (5.0, 7.5, 8.0, 10.0, 12.0, 15.5, 20.0, 25.0, 30.0, 50.0)
LARGE = (100.0, 170.5, 700.0, 1e4)
HUGE = (1e8, 1e16, 1e100)
PROBABILITIES = (1e-100, 1e-17, 1e-9, 1e-4, 0.02425, 0.1, 0.25, 0.45, 0.5, 0.55, 0.75, 0.9,
                 0.97575, 0.9999, 1 - 2.0**-30, 1 - 2.0**-53)  # fmt: skip
TO_ONE = (*TINY, 0.1, 0.25, 0.5, 0.75, 0.9, 0.9999, 1 - 2.0**-30)


@dataclass(frozen=True)
class Row:
    """A function of numbers, and its derivatives in the last one."""

    name: str
    function: Callable[..., Any]
    meaning: Callable[..., Number]
    points: Sequence[float]
    # Values of the arguments before the last one.
    others: Sequence[tuple[float, ...]] = ((),)
    # The derivatives that are taken: 0, 1 or 2.
    order: int = 2
    # Digits that its differences need: many where it is nearly constant.
    digits: int = 90
    # Where it is singular, beside 0.
    ends: tuple[float, ...] = ()

    @property
    def places(self) -> list[tuple[float, ...]]:
        return [(*other, x) for other in self.others for x in self.points]


def signed(*parts: Sequence[float]) -> list[float]:
    numbers = [x for part in parts for x in part]
    return [*numbers, *(-x for x in numbers)]
