"""What each op on short lines means, in sized numbers, with its first two derivatives.

A row is the op's text on %x, lines of some width in a matrix, and a meaning: the functions that
give a result, its derivative in an element, and that in another element. Points are made from pairs
of magnitudes, or of arguments for exponentials.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import inf, nan
from typing import Any

from mpmath import mp
from points_sized import (
    ONE,
    ZERO,
    Sized,
    exact,
    exp,
    is_same,
    log1p,
    power,
    product,
    total,
)

Line = Sequence[Sized]
MAGNITUDES = (0.0, 1e-320, 1e-160, 1e-30, 1e-9, 0.3, 1.0 + 2.0**-20, 1e4, 1e19, 1e160)
EXPONENTS = (0.0, 1e-9, 0.25, 5.5, 37.43, 88.75, 104.25, 745.25, 1e4)


@dataclass(frozen=True)
class Meaning:
    """Results at a line by their places, and derivatives by places of elements."""

    value: Callable[[int], Sized]
    first: Callable[[int, int], Sized]
    second: Callable[[int, int, int], Sized]


@dataclass(frozen=True)
class Lines:
    """An op on lines %x of a width, whose results are as many as `height`."""

    line: str
    meaning: Callable[[Line], Meaning]
    width: int = 3
    height: int = 1
    sizes: tuple[float, ...] = MAGNITUDES
    # Lines beside the ones with pairs of sizes.
    more: tuple[tuple[float, ...], ...] = ()
    # Text before the op, with types that points_lines_run.py names.
    before: str = ""
    types: str = "{x} -> {y}"

    @property
    def op(self) -> str:
        return self.line.partition(" ")[0]

    def answers(self, point: Sequence[float], least: float) -> dict[str, Sized]:
        """What is right at a line, by the names of points_lines_run.py.

        Numbers below the least have the least one's last place.
        """
        meaning = self.meaning([Sized(mp.mpf(x), max(abs(mp.mpf(x)), least)) for x in point])
        found: dict[str, Sized] = {}
        for i in range(self.height):
            found[f"f{i}"] = meaning.value(i)
            for j in range(self.width):
                first = meaning.first(i, j)
                found[f"first{i}{j}"] = found[f"forward{i}{j}"] = first
                for k in range(self.width):
                    found[f"second{i}{j}{k}"] = meaning.second(i, j, k)
        return found


def _flat(*_: int) -> Sized:
    return ZERO


def _undefined(*_: int) -> Sized:
    return exact(nan)


def _sum(x: Line) -> Meaning:
    return Meaning(lambda i: total(x), lambda i, j: ONE, _flat)


def _mean(x: Line) -> Meaning:
    share = ONE / exact(len(x))
    return Meaning(lambda i: total(x) * share, lambda i, j: share, _flat)


def _without(x: Line, *places: int) -> Sized:
    return product(t for k, t in enumerate(x) if k not in places)


def _prod(x: Line) -> Meaning:
    def second(i: int, j: int, k: int) -> Sized:
        return ZERO if j == k else _without(x, j, k)

    return Meaning(lambda i: _without(x), lambda i, j: _without(x, j), second)


def _cumulative_sum(x: Line) -> Meaning:
    return Meaning(lambda i: total(x[: i + 1]), lambda i, j: exact(j <= i), _flat)


def _cumulative_prod(x: Line) -> Meaning:
    def first(i: int, j: int) -> Sized:
        return _without(x[: i + 1], j) if j <= i else ZERO

    def second(i: int, j: int, k: int) -> Sized:
        return _without(x[: i + 1], j, k) if max(j, k) <= i and j != k else ZERO

    return Meaning(lambda i: _without(x[: i + 1]), first, second)


def _extremum(sign: int) -> Callable[[Line], Meaning]:
    """The largest, or with -1 the smallest: equal ones share the slope."""

    def meaning(x: Line) -> Meaning:
        top = max(sign * t.number for t in x)
        ties = [t.number == sign * top for t in x]
        shares = [exact(tied) / exact(sum(ties)) for tied in ties]
        return Meaning(lambda i: exact(sign * top), lambda i, j: shares[j], _flat)

    return meaning


def _first_largest(x: Line) -> Meaning:
    top = max(t.number for t in x)
    place = [t.number for t in x].index(top)
    return Meaning(lambda i: exact(top), lambda i, j: is_same(j, place), _flat)


def _signs(x: Line) -> list[Sized]:
    return [exact(mp.sign(t.number)) for t in x]


def _sizes(x: Line) -> list[Sized]:
    return [Sized(abs(t.number), t.size) for t in x]


def _norm1(x: Line) -> Meaning:
    return Meaning(lambda i: total(_sizes(x)), lambda i, j: _signs(x)[j], _flat)


def _largest_size(x: Line) -> Meaning:
    of_sizes = _extremum(1)(_sizes(x))
    return Meaning(of_sizes.value, lambda i, j: of_sizes.first(i, j) * _signs(x)[j], _flat)


def _norm2(x: Line) -> Meaning:
    if all(t.number == 0 for t in x):
        return Meaning(lambda i: ZERO, _flat, _undefined)
    length = power(total(t * t for t in x), 0.5)
    unit = [t / length for t in x]

    def second(i: int, j: int, k: int) -> Sized:
        return (is_same(j, k) - unit[j] * unit[k]) / length

    return Meaning(lambda i: length, lambda i, j: unit[j], second)


# Deviations.


def _apart(x: Line) -> list[Sized]:
    """Distances to the mean, which is rounded."""
    mean, size = total(x).number / len(x), max(t.size for t in x)
    equal = all(t.number == x[0].number for t in x)
    return [ZERO if equal else Sized(t.number - mean, size) for t in x]


def _square(x: Line) -> Sized:
    """The sum of squared distances to the mean, whose error comes in by its square."""
    number = total(t * t for t in _apart(x)).number
    return Sized(number, max(number, max(t.size for t in x) ** 2 * mp.mpf(2) ** -23))


def _var(correction: int) -> Callable[[Line], Meaning]:
    def meaning(x: Line) -> Meaning:
        d, n = _apart(x), exact(len(x))
        share = ONE / exact(len(x) - correction)

        def second(i: int, j: int, k: int) -> Sized:
            return exact(2) * share * (is_same(j, k) - ONE / n)

        return Meaning(lambda i: _square(x) * share, lambda i, j: exact(2) * share * d[j], second)

    return meaning


def _std(x: Line) -> Meaning:
    d, share = _apart(x), ONE / exact(len(x))
    variance = _square(x) * share
    if variance.number == 0:
        return Meaning(lambda i: ZERO, _flat, _undefined)
    y = power(variance, 0.5)
    unit = [t / y for t in d]

    def second(i: int, j: int, k: int) -> Sized:
        return share * (is_same(j, k) - share - unit[j] * unit[k] * share) / y

    return Meaning(lambda i: y, lambda i, j: unit[j] * share, second)


def _normalized(is_centered: bool) -> Callable[[Line], Meaning]:
    """Of layer_norm and rms_norm, eps 1e-5."""

    def meaning(x: Line) -> Meaning:
        share = ONE / exact(len(x))
        d = _apart(x) if is_centered else list(x)
        square = _square(x) if is_centered else total(t * t for t in x)
        r = power(square * share + exact(1e-5), -0.5)
        n = [t * r for t in d]

        def apart(j: int, k: int) -> Sized:
            return is_same(j, k) - share if is_centered else is_same(j, k)

        def first(i: int, j: int) -> Sized:
            return r * (apart(i, j) - n[i] * n[j] * share)

        def second(i: int, j: int, k: int) -> Sized:
            pairs = apart(i, j) * n[k] + apart(i, k) * n[j] + apart(j, k) * n[i]
            return r * r * share * (exact(3) * share * n[i] * n[j] * n[k] - pairs)

        return Meaning(lambda i: n[i], first, second)

    return meaning


# Exponentials.


class _Shares:
    """softmax of a line, without cancellation: shares p, and q, 1 less them."""

    def __init__(self, x: Line):
        numbers = [t.number for t in x]
        self.top = max(numbers)
        self.low = [exact(t - self.top) for t in numbers]
        powers = [exp(t) for t in self.low]
        place = numbers.index(self.top)
        self.others = total(p for k, p in enumerate(powers) if k != place)
        self.p = [p / (ONE + self.others) for p in powers]
        self.q = [total(p for k, p in enumerate(self.p) if k != i) for i in range(len(x))]

    def slope(self, i: int, j: int) -> Sized:
        return self.p[i] * self.q[i] if i == j else -self.p[i] * self.p[j]

    def apart(self, i: int, j: int) -> Sized:
        """(i == j) - p[j]."""
        return self.q[j] if i == j else -self.p[j]

    def curve(self, i: int, j: int, k: int) -> Sized:
        return self.p[i] * (self.apart(i, j) * self.apart(i, k) - self.slope(j, k))


def _softmax(x: Line) -> Meaning:
    s = _Shares(x)
    return Meaning(lambda i: s.p[i], s.slope, s.curve)


def _complement(x: Line) -> Meaning:
    s = _Shares(x)
    return Meaning(lambda i: s.q[i], lambda i, j: -s.slope(i, j), lambda *at: -s.curve(*at))


def _log_softmax(x: Line) -> Meaning:
    s = _Shares(x)

    def value(i: int) -> Sized:
        return s.low[i] - log1p(s.others)

    return Meaning(value, s.apart, lambda i, j, k: -s.slope(j, k))


def _logsumexp(x: Line) -> Meaning:
    if all(t.number == -inf for t in x):
        return Meaning(lambda i: exact(-inf), _flat, _flat)
    s = _Shares(x)
    return Meaning(
        lambda i: exact(s.top) + log1p(s.others), lambda i, j: s.p[j], lambda i, j, k: s.slope(j, k)
    )


def _cross_entropy(x: Line) -> Meaning:
    """Of class 1."""
    of_log = _log_softmax(x)
    return Meaning(
        lambda i: -of_log.value(1),
        lambda i, j: -of_log.first(1, j),
        lambda i, j, k: -of_log.second(1, j, k),
    )


# Products and orders.


def _vecdot(x: Line) -> Meaning:
    half = len(x) // 2

    def partner(j: int) -> int:
        return (j + half) % len(x)

    def value(i: int) -> Sized:
        return total(x[j] * x[partner(j)] for j in range(half))

    return Meaning(value, lambda i, j: x[partner(j)], lambda i, j, k: exact(k == partner(j)))


def _sort(x: Line) -> Meaning:
    order = sorted(range(len(x)), key=lambda j: x[j].number)
    return Meaning(lambda i: x[order[i]], lambda i, j: exact(order[i] == j), _flat)


# Parts of the product overflow.
_APART = ((1e160, 1e160, 0.0), (1e-160, 1e160, -1e160), (1e160, 1e160, 1e-160))
_MASKED = ((-inf, 0.0, 0.0), (-inf, -inf, 3.0), (-inf, 800.0, -1e4), (0.0, -inf, -800.0))
_HALVES = """ %a = array.slice %x {{start = [0, 0], stop = [{rows}, 2]}} : {x} -> {half}
 %b = array.slice %x {{start = [0, 2], stop = [{rows}, 4]}} : {x} -> {half}
"""
_CHANNEL = " %channel = array.reshape %x : {x} -> {cube}\n"
_MATRICES = """ %m = array.reshape %a : {half} -> {row}
 %v = array.reshape %b : {half} -> {vector}
"""
_KEYS = """ %q = array.full {{value = 1.0}} : {cell}
 %k = array.reshape %x : {x} -> {keys}
 %eye = array.eye : tensor<3x3x{kind}>
 %v = array.broadcast_to %eye : tensor<3x3x{kind}> -> {values}
"""
_CLASSES = " %t = array.constant {{value = dense<1> : tensor<{rows}xi64>}} : tensor<{rows}xi64>\n"


def _reduction(text: str, meaning: Callable[[Line], Meaning], **rest: Any) -> Lines:
    op, _, more = text.partition(" ")
    return Lines(f"{op} %x {{axis = 1, keepdims = true{more}}}", meaning, **rest)


def _each(text: str, meaning: Callable[[Line], Meaning], **rest: Any) -> Lines:
    return Lines(text, meaning, height=3, types="{x}", **rest)


def _soft(op: str, meaning: Callable[[Line], Meaning]) -> Lines:
    return _each(f"{op} %x", meaning, sizes=EXPONENTS, more=_MASKED)


LINES: tuple[Lines, ...] = (
    _reduction("array.sum", _sum),
    _reduction("array.mean", _mean),
    _reduction("array.prod", _prod, more=_APART),
    _reduction("array.max", _extremum(1)),
    _reduction("array.min", _extremum(-1)),
    _reduction("array.norm , ord = 1", _norm1),
    _reduction("array.norm", _norm2),
    _reduction('array.norm , ord = "inf"', _largest_size),
    _reduction("array.var", _var(0)),
    _reduction("array.var , correction = 1", _var(1), sizes=MAGNITUDES[3:]),
    _reduction("array.std", _std),
    _reduction("array.logsumexp", _logsumexp, sizes=EXPONENTS, more=(*_MASKED, (-inf,) * 3)),
    _each("array.cumulative_sum %x {axis = 1}", _cumulative_sum),
    _each("array.cumulative_prod %x {axis = 1}", _cumulative_prod, more=_APART),
    _each("array.sort %x", _sort),
    _soft("nn.softmax", _softmax),
    _soft("nn.log_softmax", _log_softmax),
    _soft("grad.softmax_complement", _complement),
    Lines("nn.layer_norm %x", _normalized(True), height=3),
    Lines("nn.rms_norm %x {eps = 1.0e-5}", _normalized(False), height=3),
    Lines('nn.cross_entropy %x, %t {reduction = "none"}', _cross_entropy, before=_CLASSES,
          sizes=EXPONENTS, more=_MASKED[2:3],
          types="{x}, tensor<{rows}xi64> -> tensor<{rows}x{kind}>"),
    Lines("nn.avg_pool1d %channel {kernel = 3}", _mean, before=_CHANNEL, types="{cube} -> {cell}"),
    Lines("nn.max_pool1d %channel {kernel = 3}", _first_largest, before=_CHANNEL,
          types="{cube} -> {cell}"),
    Lines("nn.attention %q, %k, %v {scale = 1.0}", _softmax, height=3, sizes=EXPONENTS,
          before=_KEYS, types="{cell}, {keys}, {values} -> {cube}"),
    Lines("array.matmul %m, %v", _vecdot, width=4, sizes=MAGNITUDES[:-1],
          before=_HALVES + _MATRICES, types="{row}, {vector} -> {cell}"),
    Lines("array.vecdot %a, %b", _vecdot, width=4, sizes=MAGNITUDES[:-1], before=_HALVES,
          types="{half}, {half} -> tensor<{rows}x{kind}>"),
)  # fmt: skip
