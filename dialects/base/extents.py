"""Extents with names: polynomials of symbols, as integers that are known when a program runs.

A symbol stands for any integer >= 0. Arithmetic and comparisons of extents are Python's. What holds
for some values of the symbols alone is not known: code of gradir's goes on as for large ones, and
`assuming` collects its assumptions; elsewhere that is an error, as is any use as a number.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, gcd
from threading import local
from typing import Any, ClassVar, NoReturn, TypeAlias, cast

from xdsl.utils.exceptions import VerifyException

Size: TypeAlias = "int | Extent"
Monomial: TypeAlias = tuple["str | Quotient", ...]

_PACKAGE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))) + os.sep
MOST_TERMS = 256
HUGE = 1 << 30
"""A number above any extent: limits of sizes are checked again with the numbers."""
WAY_OUT = "loop with gradir.fori_loop or scan, make arrays with gradir.numpy, or fix the extent"


class ExtentError(VerifyException):
    """An extent is not known, and something needs its number."""


class _Hooks:
    """Functions of the frontends: the error at the user's line, the extent as a traced number."""

    def __init__(self) -> None:
        self.refusal: Callable[[str], Exception] = ExtentError
        self.array: Callable[[Extent], Any] | None = None


class _Assumed(local):
    collected: list[Condition] | None = None


_assumed = _Assumed()


@contextmanager
def assuming(collected: list[Condition]) -> Generator[None]:
    """A context in which gradir's code goes on as for large symbols; conditions are collected."""
    before, _assumed.collected = _assumed.collected, collected
    try:
        yield
    finally:
        _assumed.collected = before


@dataclass(frozen=True)
class Condition:
    """A condition that must hold: `left >= right`, or `left != right` for a number `right`."""

    left: Extent
    relation: str
    right: int

    def __str__(self) -> str:
        return f"{self.left} {self.relation} {self.right}"


@dataclass(frozen=True)
class Quotient:
    """A quotient of an extent by a positive number, rounded down."""

    extent: Extent
    divisor: int

    def __str__(self) -> str:
        return f"{_factor(self.extent)}//{self.divisor}"


class Extent:
    """A polynomial of symbols and quotients with integer coefficients; no constant."""

    __slots__ = ("_hash", "terms")
    hooks: ClassVar[_Hooks] = _Hooks()

    terms: tuple[tuple[Monomial, int], ...]

    def __init__(self, terms: Mapping[Monomial, int]):
        self.terms = tuple(sorted(terms.items(), key=_order))
        self._hash = hash(self.terms)

    def __hash__(self) -> int:
        return self._hash

    def __repr__(self) -> str:
        return str(self)

    def __str__(self) -> str:
        text = ""
        for monomial, count in self.terms:
            size = str(abs(count)) if not monomial or abs(count) != 1 else ""
            is_alone = len(monomial) == 1 and count == 1
            factors = "*".join(str(a) if is_alone else _written(a) for a in monomial)
            part = "*".join(filter(None, (size, factors)))
            sign = "-" if count < 0 else "+"
            text += f" {sign} {part}" if text else ("-" if count < 0 else "") + part
        return text

    @property
    def symbols(self) -> frozenset[str]:
        """The names of its symbols."""
        atoms = [atom for monomial, _ in self.terms for atom in monomial]
        inner = [a.extent.symbols if isinstance(a, Quotient) else frozenset([a]) for a in atoms]
        return frozenset[str]().union(*inner)

    # Arithmetic.

    def __add__(self, other: Any) -> Any:
        return _sum(self, other, 1) if _is_size(other) else self._as_array(other, "__add__")

    def __sub__(self, other: Any) -> Any:
        return _sum(self, other, -1) if _is_size(other) else self._as_array(other, "__sub__")

    def __rsub__(self, other: Any) -> Any:
        return _sum(-self, other, 1) if _is_size(other) else self._as_array(other, "__rsub__")

    def __mul__(self, other: Any) -> Any:
        return _product(self, other) if _is_size(other) else self._as_array(other, "__mul__")

    __radd__, __rmul__ = __add__, __mul__

    def __neg__(self) -> Any:
        return _product(self, -1)

    def __abs__(self) -> Any:
        return self if self >= 0 else -self

    def __pos__(self) -> Extent:
        return self

    def __floordiv__(self, other: Any) -> Any:
        if not _is_size(other):
            return self._as_array(other, "__floordiv__")
        return _quotient(self, other)

    def __mod__(self, other: Any) -> Any:
        if not _is_size(other):
            return self._as_array(other, "__mod__")
        return self - _quotient(self, other) * other

    def __rfloordiv__(self, other: Any) -> Any:
        return _quotient(other, self) if _is_size(other) else NotImplemented

    def __rmod__(self, other: Any) -> Any:
        return other - _quotient(other, self) * self if _is_size(other) else NotImplemented

    def __divmod__(self, other: Any) -> Any:
        return self // other, self % other

    def __pow__(self, other: Any) -> Any:
        if isinstance(other, int) and other >= 0:
            made: Any = 1
            for _ in range(other):
                made = made * self
            return made
        return self._as_array(other, "__pow__")

    def __truediv__(self, other: Any) -> Any:
        return self._as_array(other, "__truediv__")

    def __rtruediv__(self, other: Any) -> Any:
        return self._as_array(other, "__rtruediv__")

    def _as_array(self, other: Any, operator: str) -> Any:
        """The operator on the extent as a traced number: an operand or the result is no integer."""
        is_plain = isinstance(other, int | float | Extent) and not isinstance(other, bool)
        if self.hooks.array is None or not is_plain:
            return NotImplemented
        right = self.hooks.array(other) if isinstance(other, Extent) else other
        return getattr(self.hooks.array(self), operator)(right)

    # Comparisons.

    def __eq__(self, other: object) -> bool:
        if not _is_size(other):
            return False
        if other == -1 and not _is_asked_by_user():
            return False  # a dynamic extent, and no extent is negative
        return _is_zero(_sum(self, cast(Size, other), -1), f"{self} == {other}")

    def __lt__(self, other: Any) -> bool:
        return self._at_least(other, self, 1, "<")

    def __le__(self, other: Any) -> bool:
        return self._at_least(other, self, 0, "<=")

    def __gt__(self, other: Any) -> bool:
        return self._at_least(self, other, 1, ">")

    def __ge__(self, other: Any) -> bool:
        return self._at_least(self, other, 0, ">=")

    def _at_least(self, left: Any, right: Any, margin: int, relation: str) -> bool:
        """Whether left >= right + margin."""
        other = right if left is self else left
        if not _is_size(other):
            return NotImplemented
        return _is_positive(_sum(left, right, -1) - margin, f"{self} {relation} {other}")

    def __bool__(self) -> bool:
        return self != 0

    # What needs a number.

    def _refuse(self, what: str) -> NoReturn:
        raise self.hooks.refusal(f"{what}: the extent {self} is not known while tracing; {WAY_OUT}")

    def __index__(self) -> int:
        return self._refuse("index")

    def __int__(self) -> int:
        return self._refuse("int")

    def __float__(self) -> float:
        return self._refuse("float")

    def __array__(self, *_: object, **__: object) -> Any:
        return self._refuse("numpy.asarray")


def symbol(name: str) -> Extent:
    """The extent of a name."""
    return Extent({(name,): 1})


def is_extent(size: object) -> bool:
    """Whether a size is not known."""
    return isinstance(size, Extent)


def is_same(one: object, other: object) -> bool:
    """Whether two sizes are equal for all values of the symbols."""
    if isinstance(one, Extent) or isinstance(other, Extent):
        return isinstance(one, Extent) and isinstance(other, Extent) and one.terms == other.terms
    return one == other


def _is_size(value: object) -> bool:
    return isinstance(value, Extent) or (isinstance(value, int) and not isinstance(value, bool))


def _order(term: tuple[Monomial, int]) -> tuple[int, str]:
    return -len(term[0]), "*".join(map(str, term[0]))


def _written(atom: str | Quotient) -> str:
    return atom if isinstance(atom, str) else f"({atom})"


def _factor(extent: Extent) -> str:
    [(monomial, count), *more] = extent.terms
    return str(extent) if not more and count == 1 and len(monomial) == 1 else f"({extent})"


def _terms(size: Size) -> Mapping[Monomial, int]:
    return dict(size.terms) if isinstance(size, Extent) else {(): size}


def _made(terms: Mapping[Monomial, int]) -> Any:
    left = {monomial: count for monomial, count in terms.items() if count}
    return Extent(left) if any(left) else left.get((), 0)


def _sum(left: Size, right: Size, factor: int) -> Any:
    terms = dict(_terms(left))
    for monomial, count in _terms(right).items():
        terms[monomial] = terms.get(monomial, 0) + factor * count
    return _made(terms)


def _product(left: Size, right: Size) -> Any:
    terms: dict[Monomial, int] = {}
    for one, m in _terms(left).items():
        for other, n in _terms(right).items():
            monomial = tuple(sorted((*one, *other), key=str))
            terms[monomial] = terms.get(monomial, 0) + m * n
    if len(terms) > MOST_TERMS:
        raise ExtentError(f"an extent must have at most {MOST_TERMS} terms, got {len(terms)}")
    return _made(terms)


def _quotient(left: Size, right: Size) -> Any:
    """A quotient rounded down."""
    if isinstance(right, Extent) or not isinstance(left, Extent):
        return _small_quotient(left, right)
    if right == 0:
        raise ZeroDivisionError(f"{left} // 0")
    if right < 0:
        return _quotient(-left, -right)
    whole = {monomial: count // right for monomial, count in left.terms}
    rest = _made({monomial: count % right for monomial, count in left.terms})
    if isinstance(rest, int):
        return _made(whole)  # a constant below the divisor
    return _made(whole) + Extent({(Quotient(rest, right),): 1})


def _small_quotient(left: Size, right: Size) -> Any:
    """A quotient by an extent: exact, or of a number nearer to 0 than the extent."""
    exact = _exact_quotient(left, cast(Extent, right))
    if exact is not None:
        return exact
    if 0 <= left < right:
        return 0
    if -right <= left < 0:
        return -1
    raise Extent.hooks.refusal(
        f"{left} // {right}: the extent {right} is not known while tracing; {WAY_OUT}"
    )


def _exact_quotient(left: Size, right: Extent) -> Any:
    """A quotient by an extent of one term; None where it is not exact."""
    [(divisor, number), *more] = right.terms
    quotient: dict[Monomial, int] = {}
    for monomial, count in _terms(left).items():
        rest = list(monomial)
        for atom in divisor:
            if atom not in rest or more or count % number:
                return None
            rest.remove(atom)
        quotient[tuple(rest)] = count // number
    return _made(quotient)


# Bounds and signs of extents.


def _bound(extent: Extent, sign: int) -> int | None:
    """The least value of sign * extent, if its terms show one."""
    terms = [(monomial, sign * count) for monomial, count in extent.terms]
    bounds = [_least(terms)]
    if all(map(_has_simple_quotient, extent.terms)):
        bounds.append(_least(list(_smooth(terms, True).items())))
    return max((b for b in bounds if b is not None), default=None)


def _has_simple_quotient(term: tuple[Monomial, int]) -> bool:
    """Whether a term has at most one quotient, and that none in it: fractions bound it."""
    inner = [atom.extent for atom in term[0] if isinstance(atom, Quotient)]
    atoms = [atom for extent in inner for monomial, _ in extent.terms for atom in monomial]
    return len(inner) <= 1 and all(isinstance(atom, str) for atom in atoms)


def _least(terms: Sequence[tuple[Monomial, int | Fraction]]) -> int | None:
    """The constant of terms whose others are all >= 0."""
    constant: int | Fraction = 0
    for monomial, count in terms:
        if not monomial:
            constant = count
        elif count < 0 or not all(map(_is_natural, monomial)):
            return None
    return ceil(constant)


def _is_natural(atom: str | Quotient) -> bool:
    """Whether a factor is >= 0."""
    least = 0 if isinstance(atom, str) else _bound(atom.extent, 1)
    return least is not None and least >= 0


def _smooth(
    terms: Sequence[tuple[Monomial, int]], is_bound: bool = False
) -> dict[Monomial, Fraction]:
    """Terms with fractions for quotients; for `is_bound` no term becomes more."""
    made: dict[Monomial, Fraction] = {}
    for monomial, count in terms:
        part: Mapping[Monomial, Fraction] = {(): Fraction(count)}
        for atom in monomial:
            part = _expanded(part, atom, is_bound and count > 0)
        for each, number in part.items():
            made[each] = made.get(each, Fraction(0)) + number
    return {monomial: number for monomial, number in made.items() if number}


def _expanded(
    terms: Mapping[Monomial, Fraction], atom: str | Quotient, is_least: bool
) -> dict[Monomial, Fraction]:
    """Terms times a factor, a quotient as a fraction of the symbols, or as the least it can be."""
    factor: Mapping[Monomial, Fraction] = {(cast(Any, atom),): Fraction(1)}
    if isinstance(atom, Quotient):
        inner = _smooth(atom.extent.terms)
        inner[()] = inner.get((), Fraction(0)) - (atom.divisor - 1 if is_least else 0)
        factor = {m: n / atom.divisor for m, n in inner.items()}
    made: dict[Monomial, Fraction] = {}
    for one, m in terms.items():
        for other, n in factor.items():
            monomial = tuple(sorted((*one, *other), key=str))
            made[monomial] = made.get(monomial, Fraction(0)) + m * n
    return made


def _is_positive(difference: Size, question: str) -> bool:
    """Whether a difference is >= 0."""
    if isinstance(difference, int):
        return difference >= 0
    least, most = _bound(difference, 1), _bound(difference, -1)
    if least is not None and least >= 0:
        return True
    if most is not None and most > 0:
        return False
    constant = dict(difference.terms).get((), 0)
    if abs(constant) >= HUGE:
        return constant > 0
    smooth = _smooth(difference.terms)
    degree = max(map(len, smooth), default=0)
    highest = [n for monomial, n in smooth.items() if len(monomial) == degree > 0]
    if highest and all(n > 0 for n in highest):
        return _assumed_true(question, difference, True)
    if highest and all(n < 0 for n in highest):
        _assumed_true(question, -1 - difference, True)
        return False
    raise _undecided(question)


def _is_zero(difference: Size, question: str) -> bool:
    if isinstance(difference, int):
        return difference == 0
    for sign in (1, -1):
        least = _bound(difference, sign)
        if least is not None and least > 0:
            return False
    return not _assumed_true(question, difference, False)


def _assumed_true(question: str, difference: Extent, is_order: bool) -> bool:
    """True, with the condition `difference >= 0`, or `!= 0`, among those collected."""
    if _assumed.collected is None or _is_asked_by_user():
        raise _undecided(question)
    terms = dict(difference.terms)
    right = -terms.pop((), 0)
    left = Extent(terms)
    if not is_order and left.terms[0][1] < 0:
        left, right = -left, -right
    common = gcd(*(count for _, count in left.terms))
    if not is_order and right % common:
        return True
    left = Extent({monomial: count // common for monomial, count in left.terms})
    condition = Condition(left, ">=" if is_order else "!=", -(-right // common))
    if str(condition) not in map(str, _assumed.collected):
        _assumed.collected.append(condition)
    return True


def _is_asked_by_user() -> bool:
    frame: Any = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename == __file__:
        frame = frame.f_back
    return frame is None or not frame.f_code.co_filename.startswith(_PACKAGE)


def _undecided(question: str) -> Exception:
    return Extent.hooks.refusal(
        f"{question} is not known while tracing; choose with gradir.numpy.where or gradir.cond, "
        "or fix the extent"
    )
