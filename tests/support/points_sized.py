"""Numbers of mpmath with a size: the number whose last place an error is counted in.

A rounded evaluation of a formula errs by some last places of its terms. So a sum has the size of
its largest term, a product has each factor's error relative to the factor, and exp has the error of
its rounded argument. Where nothing cancels the size is the number's own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import reduce
from operator import mul
from typing import Any

from mpmath import mp

Number = Any


@dataclass(frozen=True)
class Sized:
    """A number, and the size that its error is relative to."""

    number: Number
    size: Number

    def __add__(self, other: Sized) -> Sized:
        return Sized(self.number + other.number, max(self.size, other.size))

    def __neg__(self) -> Sized:
        return Sized(-self.number, self.size)

    def __sub__(self, other: Sized) -> Sized:
        return self + -other

    def __mul__(self, other: Sized) -> Sized:
        if self.size == 0 or other.size == 0:
            return ZERO
        one, two = abs(self.number) * other.size, self.size * abs(other.number)
        return Sized(self.number * other.number, max(one, two))

    def __truediv__(self, other: Sized) -> Sized:
        return self * other.map(lambda x: 1 / x, lambda x: -1 / x**2)

    def map(self, function: Callable[[Number], Number], slope: Callable[[Number], Number]) -> Sized:
        """function(x); an error of x comes through by the slope."""
        made = function(self.number)
        return Sized(made, max(abs(made), abs(slope(self.number)) * self.size))


def exact(number: Number) -> Sized:
    """A number that is rounded once."""
    x = mp.mpf(number)
    return Sized(x, abs(x))


ZERO, ONE = exact(0), exact(1)


def total(terms: Iterable[Sized]) -> Sized:
    found = list(terms)
    return Sized(sum((t.number for t in found), mp.mpf(0)), max((t.size for t in found), default=0))


def product(factors: Iterable[Sized]) -> Sized:
    return reduce(mul, factors, ONE)


def is_same(i: int, j: int) -> Sized:
    """1 where two places are one."""
    return ONE if i == j else ZERO


def exp(x: Sized) -> Sized:
    if x.number < -(10**5):
        return ZERO
    made = mp.exp(x.number)
    return Sized(made, made * max(1, x.size))


def log1p(x: Sized) -> Sized:
    return x.map(mp.log1p, lambda t: 1 / (1 + t))


def power(x: Sized, exponent: Number) -> Sized:
    e = mp.mpf(exponent)
    return x.map(lambda t: t**e, lambda t: e * t ** (e - 1))
