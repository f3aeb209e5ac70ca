"""What each elementwise op of two operands means, in mpmath, with its first two derivatives."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import nan
from typing import Any

from mpmath import mp

Number = Any
Answers = tuple[Number, ...]
"""f, its derivatives in x and in y, and their derivatives: xx, xy, yy."""


@dataclass(frozen=True)
class Binary:
    """An op of operands %x and %y at finite numbers."""

    line: str
    meaning: Callable[[Number, Number], Answers]
    # Points that count; elsewhere there is nothing to compare with.
    holds: Callable[[float, float], bool] = lambda x, y: True
    # The size whose last place counts for an answer of an order, unless the answer is larger.
    scale: Callable[[float, float, int], Number] = lambda x, y, order: 0

    @property
    def op(self) -> str:
        return self.line.partition(" ")[0]

    def results(self, point: tuple[float, ...]) -> dict[str, Number]:
        """What `derivatives` in points_run.py gives at a point."""
        f, x, y, xx, xy, yy = self.meaning(*map(mp.mpf, point))
        if not is_moderate(*point):
            return {"f": f}
        first = {"first0": x, "first1": y, "forward0": x, "forward1": y}
        second = {"second00": xx, "second01": xy, "second10": xy, "second11": yy}
        return {"f": f, **first, **second}

    def last_place_of(self, point: tuple[float, ...], order: int) -> Number:
        """The size whose last place counts at a point, unless the answer's own is larger."""
        x, y = point
        return self.scale(x, y, order)


def _divide(x: Number, y: Number) -> Answers:
    return x / y, 1 / y, -x / y**2, 0, -1 / y**2, 2 * x / y**3


def _extremum(wins: Callable[[Number, Number], bool]) -> Callable[[Number, Number], Answers]:
    def meaning(x: Number, y: Number) -> Answers:
        share = mp.mpf(0.5) if x == y else mp.mpf(wins(x, y))
        return x if wins(x, y) else y, share, 1 - share, 0, 0, 0

    return meaning


def _pow(x: Number, y: Number) -> Answers:
    if x == 0:
        return _pow_at_zero(y)
    if x < 0 and not mp.isint(y):
        return (nan,) * 6
    log = mp.log(abs(x))
    # far outside of every float, and slow in mpmath, where it is limited
    power = mp.exp(min(max(y * log, -(mp.mpf(10) ** 5)), mp.mpf(10) ** 5))
    power = -power if x < 0 and mp.isint(y) and int(y) % 2 else power
    slope = power / x
    parts = power, y * slope, power * log, y * (y - 1) * slope / x, slope * (1 + y * log)
    if x < 0:
        return parts[0], parts[1], nan, parts[3], nan, nan
    return *parts, power * log**2


def _pow_at_zero(y: Number) -> Answers:
    """One-sided limits; 0 by convention where a factor 0 meets an infinite one."""

    def part(factor: Number, e: Number) -> Number:
        return factor if e == 0 else mp.mpf(0) if e > 0 or factor == 0 else factor * mp.inf

    mixed = mp.mpf(0) if y > 1 else -mp.inf if y > 0 else mp.inf
    to_y = -mp.inf if y < 0 else mp.mpf(0)
    return part(1, y), part(y, y - 1), to_y, part(y * (y - 1), y - 2), mixed, -to_y


def _atan2(x: Number, y: Number) -> Answers:
    square = x * x + y * y
    if square == 0:
        return mp.mpf(0), mp.mpf(0), mp.mpf(0), nan, nan, nan
    twice = 2 * x * y / square**2
    return mp.atan2(x, y), y / square, -x / square, -twice, (x - y) * (x + y) / square**2, twice


def _hypot(x: Number, y: Number) -> Answers:
    length = mp.sqrt(x * x + y * y)
    if length == 0:
        return mp.mpf(0), mp.mpf(0), mp.mpf(0), nan, nan, nan
    cube = length**3
    return length, x / length, y / length, y * y / cube, -x * y / cube, x * x / cube


def _logaddexp(x: Number, y: Number) -> Answers:
    apart = min(max(x - y, -(mp.mpf(10) ** 5)), mp.mpf(10) ** 5)
    small = mp.exp(-abs(apart))
    share, rest = 1 / (1 + mp.exp(-apart)), 1 / (1 + mp.exp(apart))
    both = small / (1 + small) ** 2
    return max(x, y) + mp.log1p(small), share, rest, both, -both, both


def _remainder(x: Number, y: Number) -> Answers:
    with mp.workdps(700):
        turns = mp.floor(x / y)
        rest = x - y * turns
    return rest, 1, -turns, 0, 0, 0


def _copysign(x: Number, y: Number) -> Answers:
    sign = mp.mpf(-1 if y < 0 else 1)
    return abs(x) * sign, mp.sign(x) * sign, 0, 0, 0, 0


def _largest_operand(x: float, y: float, order: int) -> Number:
    """A sum that is 0 has the digits of its terms."""
    return max(abs(x), abs(y)) if order == 0 else 0


def _power_terms(x: float, y: float, order: int) -> Number:
    """The larger term of x ** (y - 1) * (1 + y * log(x))."""
    if order < 2 or x <= 0:
        return 0
    slope = mp.exp((mp.mpf(y) - 1) * mp.log(x))
    return slope * max(1, abs(y * mp.log(x)))


def _largest_curvature(power: int) -> Callable[[float, float, int], Number]:
    """1 / length ** power: of a second derivative the digits that the matrix of all has."""

    def scale(x: float, y: float, order: int) -> Number:
        length = mp.hypot(x, y)
        return 1 / length**power if order == 2 and length else 0

    return scale


BINARY: tuple[Binary, ...] = (
    Binary("array.add %x, %y", lambda x, y: (x + y, 1, 1, 0, 0, 0)),
    Binary("array.subtract %x, %y", lambda x, y: (x - y, 1, -1, 0, 0, 0)),
    Binary("array.multiply %x, %y", lambda x, y: (x * y, y, x, 0, 1, 0)),
    Binary("array.divide %x, %y", _divide, holds=lambda x, y: y != 0),
    Binary("array.maximum %x, %y", _extremum(lambda x, y: x >= y)),
    Binary("array.minimum %x, %y", _extremum(lambda x, y: x <= y)),
    Binary("array.pow %x, %y", _pow, holds=lambda x, y: x != 0 or y != 0, scale=_power_terms),
    Binary("array.atan2 %x, %y", _atan2, scale=_largest_curvature(2)),
    Binary("array.hypot %x, %y", _hypot, scale=_largest_curvature(1)),
    Binary("array.logaddexp %x, %y", _logaddexp, scale=_largest_operand),
    Binary("array.remainder %x, %y", _remainder, holds=lambda x, y: y != 0),
    Binary("array.copysign %x, %y", _copysign),
)
# Values are compared at pairs of all of them; derivatives at pairs of the moderate ones, whose
# squares and cubes are floats.
SIZES = (0.0, 1e-320, 1e-310, 1e-160, 1e-38, 1e-9, 0.3, 0.5, 1.0, 2.0, 3.0, 7.5, 40.0, 1e10, 1e20,
         1e160, 1.7e308)  # fmt: skip
MODERATE = 1e10


def is_moderate(x: float, y: float) -> bool:
    return all(v == 0 or 1 / MODERATE <= abs(v) <= MODERATE for v in (x, y))
