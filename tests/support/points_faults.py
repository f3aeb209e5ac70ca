"""Known faults in the tables of points: where a value or derivative is not right, and why.

A row whose fault is gone fails the test: it is deleted then.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import inf


@dataclass(frozen=True)
class Fault:
    """At the points where `where` holds, `result` (value, first, second, or one of them: first0,
    forward1, second01, ...) is further from the right one than the limit."""

    line: str
    result: str
    where: Callable[..., bool]
    why: str


def _within(low: float, high: float = inf) -> Callable[[float], bool]:
    return lambda x: low <= x <= high


def _beyond(size: float) -> Callable[[float], bool]:
    return lambda x: abs(x) >= size


def _below(size: float) -> Callable[[float], bool]:
    return lambda x: abs(x) <= size


ORDERS = ("value", "first", "second")
_ENDS, _MINUS_ZERO = _beyond(inf), _below(0)
SIDE = "the slope of -0 is that of the wrong side"
CANCELS = "a difference of nearly equal numbers"
FAR = "a product of 0 and infinity, or of numbers that over- or underflow"
ARGUMENT = "the error of a rounded argument of an exponential, which is as large as the argument"
RISING = "exp overflows or is subnormal before the value is"


_RISING = [(result, _within(-inf, -87), RISING) for result in ("value", "first", "second")]


def _of(line: str, *rows: tuple[str, Callable[..., bool], str]) -> list[Fault]:
    return [Fault(line, result, where, why) for result, where, why in rows]


def _several(lines: str, *rows: tuple[str, Callable[..., bool], str]) -> list[Fault]:
    return [fault for name in lines.split() for fault in _of(f"{name} %x", *rows)]


ROUNDED = "the exponent less 1 is rounded, to a whole or to an even number"


STUCK = "the convention of the first derivative is differentiated as if it were smooth"


def _at_zero(x: float, y: float) -> bool:
    return x == 0 and 0 < y <= 1


def _large_logarithm(x: float, y: float) -> bool:
    return x > 1e8 or 0 < x < 1e-8


def _on_lines(op: str, *rows: tuple[str, Callable[..., bool], str]) -> list[Fault]:
    return _of(f"{op} %x {{axis = 1, keepdims = true}}", *rows)


def _one_beyond(size: float) -> Callable[..., bool]:
    return lambda *x: any(abs(t) >= size for t in x)


def _leads(*x: float) -> bool:
    """One share is nearly 1."""
    return sorted(x)[-1] - sorted(x)[-2] > 2


def _one_within(low: float, high: float) -> Callable[..., bool]:
    return lambda *x: any(low < abs(t) <= high for t in x)


ONE_PASS = "squares over- or underflow; scaling them costs one more pass over the lines"
TRANSPOSED = "forward mode is the transpose of reverse mode, whose two terms cancel"
FUSED = "the slope of the leading share is a difference from a sum that the kernel has kept"
UNIT = "the last place is that of 1: the sum without its largest term would be a second sum"


def _below_zero(x: float, y: float) -> bool:
    return x < 0 and not 1 <= abs(y) <= 2**24


FAULTS: tuple[Fault, ...] = (
    *_several("array.log array.log2 array.log10", ("first", _MINUS_ZERO, SIDE)),
    *_several("array.sqrt", *((r, _MINUS_ZERO, SIDE) for r in ("first", "second"))),
    *_several("array.atan", ("second", _beyond(1e9), FAR)),
    *_several("array.asinh array.cbrt", ("second", _ENDS, FAR)),
    *_several("array.erf", ("second", _beyond(1e18), FAR)),
    *_several("array.acosh", ("second", _ENDS, FAR), ("second", _within(1, 1), FAR)),
    *_several("array.erfc", ("second", _beyond(1e18), FAR)),
    *_several("array.lgamma", ("first", _within(1.44, 1.51), "digamma is 0 as a sum of ones there"),
              ("f", _within(-21, 2.5), "the interpreter takes the C library's")),
    *_several("nn.silu", *_RISING, ("first", _within(20), CANCELS),
              ("second", _within(103.9, 104.1), FAR), ("second", _within(745), FAR)),
    *_several("nn.mish", *_RISING, ("first", _within(-1.4, -1.1), "beside the slope's zero"),
              ("first", _within(inf), FAR),
              ("second", _within(1.4), CANCELS)),
    *_several("nn.gelu", ("value", _within(-inf, -2), CANCELS),
              ("first", _within(-inf, -2), CANCELS), ("first", _within(inf), FAR),
              ("second", _within(-inf, -37), ARGUMENT),
              ("second", _within(8), ARGUMENT)),
    *_of('nn.gelu %x {approximate = "tanh"}', ("value", _within(-inf, -1.4), ARGUMENT),
         ("first", _within(-inf, -3.5), ARGUMENT), ("first", _within(4), CANCELS),
         ("second", _within(-inf, -5), ARGUMENT), ("second", _within(1.4), CANCELS)),
    *_several("nn.softsign", ("second", _beyond(1e9), FAR)),
    *_of("array.pow %x, %y", ("first", _below_zero, ROUNDED), ("second", _below_zero, ROUNDED),
         ("first", _large_logarithm, ROUNDED), ("second", _large_logarithm, ROUNDED),
         ("second01", _at_zero, STUCK), ("second10", _at_zero, STUCK)),
    *_of("array.logaddexp %x, %y", ("first", lambda x, y: abs(x - y) > 30, ARGUMENT),
         ("second", lambda x, y: abs(x - y) > 2, CANCELS)),
    *_on_lines("array.prod", ("value", _one_beyond(1e100), FAR)),
    *_of("array.cumulative_prod %x {axis = 1}", ("value", _one_beyond(1e100), FAR)),
    *_on_lines("array.logsumexp", ("value", lambda *x: abs(max(x)) < 1e-8, UNIT)),
    *_of("nn.layer_norm %x", *((r, _one_beyond(1e18), ONE_PASS) for r in ORDERS)),
    *_of("nn.rms_norm %x {eps = 1.0e-5}", *((r, _one_beyond(1e18), ONE_PASS) for r in ORDERS),
         *((r, _one_within(0, 1e-18), ONE_PASS) for r in ("first", "second"))),
    *_of('nn.cross_entropy %x, %t {reduction = "none"}', ("forward01", _leads, TRANSPOSED)),
    *_of("nn.attention %q, %k, %v {scale = 1.0}", *((r, _leads, FUSED) for r in ORDERS[1:])),
)  # fmt: skip
