"""Numbers with their first two derivatives, in mpmath: what the tables of points are held against.

A `Jet` is a value, its derivatives in the arguments, and the derivatives of those. The functions
are written so that nothing cancels: 50 digits hold in every tail.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from mpmath import mp

Number = Any
"""A number of mpmath."""

Triple = tuple[Callable[..., Any], Callable[..., Any], Callable[..., Any]]
"""A function of one number, and its first and second derivative."""

DIGITS = 50


def _times(x: Number, y: Number) -> Number:
    """x * y in a chain rule: what does not depend on an argument is 0 also beside inf."""
    return mp.mpf(0) if x == 0 or y == 0 else x * y


@dataclass(frozen=True)
class Jet:
    """f, its derivative in argument i, and its derivative in arguments i and j."""

    value: Number
    first: tuple[Number, ...]
    second: tuple[tuple[Number, ...], ...]

    def map(self, value: Number, slope: Number, curvature: Number) -> Jet:
        """g(f) by the chain rule, from g, g' and g'' at f."""
        first = tuple(_times(slope, a) for a in self.first)
        second = tuple(
            tuple(
                _times(curvature, _times(a, b)) + _times(slope, self.second[i][j])
                for j, b in enumerate(self.first)
            )
            for i, a in enumerate(self.first)
        )
        return Jet(value, first, second)

    def join(self, other: Jet, value: Number, partial: tuple[Number, ...]) -> Jet:
        """g(f, h) by the chain rule; `partial` are g's derivatives: x, y, xx, xy, yy."""
        x, y, xx, xy, yy = partial
        one, two = self.map(value, x, xx), other.map(value, y, yy)
        first = tuple(a + b for a, b in zip(one.first, two.first, strict=True))
        second = tuple(
            tuple(
                one.second[i][j]
                + two.second[i][j]
                + _times(xy, _times(self.first[i], other.first[j]))
                + _times(xy, _times(self.first[j], other.first[i]))
                for j in range(len(first))
            )
            for i in range(len(first))
        )
        return Jet(value, first, second)

    def constant(self, number: Number) -> Jet:
        """A number that depends on no argument."""
        zeros = tuple(mp.mpf(0) for _ in self.first)
        return Jet(mp.mpf(number), zeros, tuple(zeros for _ in self.first))

    def lift(self, other: Jet | Number) -> Jet:
        return other if isinstance(other, Jet) else self.constant(other)

    def __add__(self, other: Jet | Number) -> Jet:
        y = self.lift(other)
        return self.join(y, self.value + y.value, (1, 1, 0, 0, 0))

    def __neg__(self) -> Jet:
        return self.map(-self.value, -1, 0)

    def __sub__(self, other: Jet | Number) -> Jet:
        return self + -self.lift(other)

    def __mul__(self, other: Jet | Number) -> Jet:
        y = self.lift(other)
        return self.join(y, self.value * y.value, (y.value, self.value, 0, 1, 0))

    def __truediv__(self, other: Jet | Number) -> Jet:
        return self * apply(RECIPROCAL, self.lift(other))

    __radd__ = __add__
    __rmul__ = __mul__

    def __rsub__(self, other: Number) -> Jet:
        return -self + other

    def __rtruediv__(self, other: Number) -> Jet:
        return self.lift(other) / self


def arguments(*numbers: float) -> list[Jet]:
    """The jets of the arguments themselves."""
    zeros = tuple(mp.mpf(0) for _ in numbers)
    return [
        Jet(mp.mpf(x), tuple(mp.mpf(i == k) for i in range(len(numbers))), (zeros,) * len(numbers))
        for k, x in enumerate(numbers)
    ]


def apply(function: Triple, x: Jet) -> Jet:
    value, slope, curvature = (part(x.value) for part in function)
    return x.map(value, slope, curvature)


def lifted(function: Triple) -> Callable[[Jet], Jet]:
    """A function of one number as one of a jet."""
    return lambda x: apply(function, x)


def _over(x: Number, y: Number) -> Number:
    """x / y; by 0 an infinity, as if 0 were approached from above."""
    return x * mp.inf if y == 0 else x / y


RECIPROCAL: Triple = (
    lambda x: _over(1, x),
    lambda x: -_over(1, x * x),
    lambda x: 2 * _over(1, x**3),
)


def logarithm(base: Number = None) -> Triple:
    """The logarithm to a base, e where it is not given."""

    def scale() -> Number:
        return mp.mpf(1) if base is None else mp.log(base)

    return (
        lambda x: mp.log(x) / scale(),
        lambda x: _over(1, x) / scale(),
        lambda x: -_over(1, x * x) / scale(),
    )


def power(exponent: Number) -> Triple:
    """x ** exponent for x >= 0, infinite at 0 where the exponent is negative."""

    def part(factor: Number, e: Number) -> Callable[[Number], Number]:
        return lambda x: factor * (mp.inf if x == 0 and e < 0 else x**e)

    e = mp.mpf(exponent)
    return part(1, e), part(e, e - 1), part(e * (e - 1), e - 2)


def _zero(x: Number) -> Number:
    return mp.mpf(0)


# Beyond this, exponentials are far outside of every float, and slow in mpmath.
_FAR = mp.mpf(10) ** 5


def _within(x: Number) -> Number:
    return min(max(x, -_FAR), _FAR)


def _exp(x: Number) -> Number:
    return mp.exp(_within(x))


def _sinh(x: Number) -> Number:
    return mp.sinh(_within(x))


def _cosh(x: Number) -> Number:
    return mp.cosh(_within(x))


def _sech(x: Number) -> Number:
    return mp.sech(_within(x))


def _erfc(x: Number) -> Number:
    return mp.erfc(_within(x))


def _bell(x: Number) -> Number:
    """erf'(x)."""
    return 2 / mp.sqrt(mp.pi) * _exp(-x * x)


def _normal(x: Number) -> Number:
    """The density of the normal distribution."""
    return _exp(-x * x / 2) / mp.sqrt(2 * mp.pi)


def _logistic(x: Number) -> Number:
    return 1 / (1 + _exp(-x))


def _logistic_slope(x: Number) -> Number:
    small = _exp(-abs(x))
    return small / (1 + small) ** 2


def _of_circle(x: Number, n: Number) -> Number:
    """(1 - x * x) ** -(n / 2)."""
    inside = (1 - x) * (1 + x)
    return mp.inf if inside == 0 else inside ** (-mp.mpf(n) / 2)


def _of_hyperbola(x: Number, n: Number) -> Number:
    """(x * x - 1) ** -(n / 2)."""
    inside = (x - 1) * (x + 1)
    return mp.inf if inside == 0 else inside ** (-mp.mpf(n) / 2)


ABS: Triple = (abs, mp.sign, _zero)
EXP: Triple = (_exp, _exp, _exp)
EXP2: Triple = (
    lambda x: mp.mpf(2) ** _within(x),
    lambda x: mp.log(2) * mp.mpf(2) ** _within(x),
    lambda x: mp.log(2) ** 2 * mp.mpf(2) ** _within(x),
)
EXPM1: Triple = (lambda x: mp.expm1(_within(x)), _exp, _exp)
LOG1P: Triple = (
    lambda x: mp.log1p(x) if x != -1 else -mp.inf,
    lambda x: _over(1, 1 + x),
    lambda x: -_over(1, (1 + x) ** 2),
)
SQRT = power(mp.mpf(1) / 2)
RSQRT = power(-mp.mpf(1) / 2)
CBRT: Triple = (
    lambda x: mp.sign(x) * mp.cbrt(abs(x)),
    lambda x: mp.cbrt(abs(x)) / (3 * abs(x)),
    lambda x: -2 * mp.sign(x) * mp.cbrt(abs(x)) / (9 * abs(x) ** 2),
)
SQUARE: Triple = (lambda x: x * x, lambda x: 2 * x, lambda x: mp.mpf(2))
SIN: Triple = (mp.sin, mp.cos, lambda x: -mp.sin(x))
COS: Triple = (mp.cos, lambda x: -mp.sin(x), lambda x: -mp.cos(x))
TAN: Triple = (mp.tan, lambda x: mp.sec(x) ** 2, lambda x: 2 * mp.sec(x) ** 2 * mp.tan(x))
TANH: Triple = (
    lambda x: mp.tanh(_within(x)),
    lambda x: _sech(x) ** 2,
    lambda x: -2 * _sech(x) ** 2 * mp.tanh(_within(x)),
)
SINH: Triple = (_sinh, _cosh, _sinh)
COSH: Triple = (_cosh, _sinh, _cosh)
ASIN: Triple = (mp.asin, lambda x: _of_circle(x, 1), lambda x: _times(x, _of_circle(x, 3)))
ACOS: Triple = (mp.acos, lambda x: -_of_circle(x, 1), lambda x: -_times(x, _of_circle(x, 3)))
ATAN: Triple = (
    mp.atan,
    lambda x: 1 / (1 + x * x),
    lambda x: -2 * x / (1 + x * x) ** 2,
)
ASINH: Triple = (
    mp.asinh,
    lambda x: (1 + x * x) ** -0.5,
    lambda x: -x * (1 + x * x) ** -1.5,
)
ACOSH: Triple = (
    mp.acosh,
    lambda x: _of_hyperbola(x, 1),
    lambda x: -_times(x, _of_hyperbola(x, 3)),
)
ATANH: Triple = (
    lambda x: mp.atanh(x) if abs(x) != 1 else x * mp.inf,
    lambda x: _of_circle(x, 2),
    lambda x: 2 * _times(x, _of_circle(x, 4)),
)
ERF: Triple = (lambda x: mp.erf(_within(x)), _bell, lambda x: -2 * x * _bell(x))
ERFC: Triple = (_erfc, lambda x: -_bell(x), lambda x: 2 * x * _bell(x))
SIGMOID: Triple = (
    _logistic,
    _logistic_slope,
    lambda x: -_logistic_slope(x) * mp.tanh(_within(x / 2)),
)
SOFTPLUS: Triple = (
    lambda x: max(x, 0) + mp.log1p(_exp(-abs(x))),
    _logistic,
    _logistic_slope,
)
SOFTSIGN: Triple = (
    lambda x: x / (1 + abs(x)),
    lambda x: (1 + abs(x)) ** -2,
    lambda x: -2 * mp.sign(x) * (1 + abs(x)) ** -3,
)


def _psi(order: int, x: Number) -> Number:
    """Derivative number `order` of digamma; at a pole its limit from above."""
    if mp.isint(x) and x <= 0:
        return -mp.inf if order % 2 == 0 else mp.inf
    if x > -100 or order > 1:
        return mp.psi(order, x)
    # by reflection, as mpmath steps up to 0 one by one
    cotangent = mp.pi * mp.cot(mp.pi * x)
    if order == 0:
        return mp.psi(0, 1 - x) - cotangent
    return mp.pi**2 + cotangent**2 - mp.psi(1, 1 - x)


def _lgamma(x: Number) -> Number:
    return mp.inf if mp.isint(x) and x <= 0 else mp.re(mp.loggamma(x))


LGAMMA: Triple = (_lgamma, lambda x: _psi(0, x), lambda x: _psi(1, x))


NORMAL_CDF: Triple = (
    lambda x: _erfc(-x / mp.sqrt(2)) / 2,
    _normal,
    lambda x: -_times(x, _normal(x)),
)


def polygamma(order: int) -> Triple:
    """Derivative number `order` of digamma."""

    def part(n: int) -> Callable[[Number], Number]:
        return lambda x: _psi(n, x)

    return part(order), part(order + 1), part(order + 2)


CBRT: Triple = (
    lambda x: mp.sign(x) * abs(x) ** (mp.mpf(1) / 3),
    lambda x: mp.inf if x == 0 else abs(x) ** (-mp.mpf(2) / 3) / 3,
    lambda x: -mp.sign(x) * abs(x) ** (-mp.mpf(5) / 3) * 2 / 9,
)
