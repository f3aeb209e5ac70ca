"""The discrete Fourier transform of many lines as one program, by the real and imaginary parts.

A length is a product of radices; each makes a pass over a line. After some passes, of radices with
the product `done`, a line is `rest` by `done` numbers, n = rest * done. A pass of radix r takes
(r, rest / r, done) to (rest / r, r, done): transforms of r numbers, times roots of unity (J. Cooley
and J. Tukey, Math. Comp. 19, 1965), in the self-sorting order of T. Stockham (1966). Transforms of
a few numbers are written out: of two factors again by Cooley and Tukey, of a prime by the sums and
differences of pairs.

Vectors run along `done`, or along the lines themselves where these lie side by side. A single line
has done = 1 in its first pass: there the numbers of one transform are a vector, each a sum of
products with a row of roots.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import prod
from typing import Any, TypeAlias

from xdsl.ir import Attribute, SSAValue

from gradir.dialects.base.lazy_numpy import np
from gradir.dialects.base.shapes import byte_size, tensor
from gradir.dialects.base.value import Emitter, Scalar
from gradir.dialects.building import body as b
from gradir.dialects.building.programs import ElementView, Index, ScalarProgram, block_of, forall

Complex: TypeAlias = "tuple[Scalar, Scalar]"
"""The real and the imaginary part."""

LARGEST_RADIX = 8
"""The largest radix of several primes: its numbers fit into the registers."""
LARGEST_PRIME = 31
"""Lengths with a larger prime factor have no such program."""
VECTOR_BYTES = 64
"""The first transforms of a line are as long as a vector, of the widest machines on any."""
COLUMNS = 32
"""The lines that are transformed at a time where they lie side by side."""


@lru_cache(256)
def primes_of(n: int) -> tuple[int, ...]:
    """The prime factors of a number, the smallest first."""
    found: list[int] = []
    prime = 2
    while n > 1:
        if prime * prime > n:
            prime = n
        while n % prime == 0:
            found.append(prime)
            n //= prime
        prime += 1
    return tuple(found)


def has_program(n: int) -> bool:
    """Whether a length has no large prime factor."""
    return max(primes_of(n), default=1) <= LARGEST_PRIME


def radices_of(n: int) -> list[int]:
    """The radices of the passes for a length: products of primes up to LARGEST_RADIX, or primes."""
    found: list[int] = []
    for each in sorted(primes_of(n), reverse=True):
        fits = [k for k, one in enumerate(found) if one * each <= LARGEST_RADIX]
        if fits:
            found[fits[0]] *= each
        else:
            found.append(each)
    return sorted(found, reverse=True)


def roots(sign: int, n: int, places: Any) -> Any:
    """exp(sign * 2 pi i k / n) for integers k, by sines and cosines of an eighth of the circle."""
    octant, rest = np.divmod(8 * (places % n), n)
    angle = np.where(octant % 2, n - rest, rest) * (np.pi / (4 * n))
    c, s = np.cos(angle), np.sin(angle)
    real = np.choose(octant, [c, s, -s, -c, -c, -s, s, c])
    return real + sign * 1j * np.choose(octant, [s, c, c, s, -s, -c, -c, -s])


def turns(sign: int, n: int, rows: int, columns: int) -> Any:
    """exp(sign * 2 pi i j k / n) for j and k."""
    return roots(sign, n, np.multiply.outer(np.arange(rows), np.arange(columns)))


# Transforms of a few numbers.


def transformed(p: ScalarProgram, xs: Sequence[Complex], sign: int) -> list[Complex]:
    """The transform of some numbers, written out."""
    count = len(xs)
    primes = primes_of(count)
    if len(primes) < 2:
        return _of_prime(p, xs, sign)
    first = prod(primes[: len(primes) // 2 + len(primes) % 2])
    other = count // first
    rows = [transformed(p, xs[k::other], sign) for k in range(other)]
    made: list[Complex] = [xs[0]] * count
    for k in range(first):
        factors = [complex(roots(sign, count, np.array(j * k))) for j in range(other)]
        column = [_turned(p, row[k], factor) for row, factor in zip(rows, factors, strict=True)]
        made[k::first] = transformed(p, column, sign)
    return made


def _of_prime(p: ScalarProgram, xs: Sequence[Complex], sign: int) -> list[Complex]:
    """x[j] + x[r - j] has the cosines, x[j] - x[r - j] the sines."""
    count, first = len(xs), xs[0]
    if count == 1:
        return list(xs)
    if count == 2:
        return [_sum(first, xs[1]), _difference(first, xs[1])]
    half = count // 2
    pairs = [(xs[j], xs[count - j]) for j in range(1, half + 1)]
    sums, differences = ([f(x, y) for x, y in pairs] for f in (_sum, _difference))
    total = first
    for each in sums:
        total = _sum(total, each)
    made: list[Complex] = [total] * count
    for k in range(1, half + 1):
        factors = roots(sign, count, np.arange(1, half + 1) * k)
        even, odd = first, None
        for factor, total_, apart in zip(factors, sums, differences, strict=True):
            c, s = p.number(factor.real, first[0].type), p.number(factor.imag, first[0].type)
            even = b.fma(c, total_[0], even[0]), b.fma(c, total_[1], even[1])
            odd = (
                (s * apart[0], s * apart[1])
                if odd is None
                else (b.fma(s, apart[0], odd[0]), b.fma(s, apart[1], odd[1]))
            )
        assert odd is not None
        made[k] = even[0] - odd[1], even[1] + odd[0]
        made[count - k] = even[0] + odd[1], even[1] - odd[0]
    return made


def _sum(x: Complex, y: Complex) -> Complex:
    return x[0] + y[0], x[1] + y[1]


def _difference(x: Complex, y: Complex) -> Complex:
    return x[0] - y[0], x[1] - y[1]


def _turned(p: ScalarProgram, x: Complex, factor: complex) -> Complex:
    """x times a root of unity; of an eighth turn, with one product for each part."""
    re, im = x
    match factor:
        case 1:
            return x
        case -1:
            return -re, -im
        case 1j:
            return -im, re
        case -1j:
            return im, -re
        case _:
            pass
    c, s = (p.number(part, re.type) for part in (factor.real, factor.imag))
    if abs(factor.real) == abs(factor.imag):
        first, second = (re - im, re + im) if factor.real == factor.imag else (re + im, im - re)
        return c * first, c * second
    return _product((c, s), x)


def _product(x: Complex, y: Complex) -> Complex:
    return b.fma(x[0], y[0], -(x[1] * y[1])), b.fma(x[0], y[1], x[1] * y[0])


# Passes.


@dataclass(frozen=True)
class LinePass:
    """One pass: n = radix * rest * done, after it."""

    radix: int
    rest: int
    done: int


@dataclass(frozen=True)
class Lines:
    """Transforms of `outer` times `inner` lines of n numbers: tensors of outer x n x inner."""

    outer: int
    n: int
    inner: int
    sign: int
    element: Attribute

    @property
    def passes(self) -> list[LinePass]:
        """The first one of single lines has up to as many numbers as a vector."""
        first = [self._first_radix()] if self.inner == 1 else []
        made: list[LinePass] = []
        rest, done = self.n, 1
        for radix in first + radices_of(self.n // prod(first)):
            rest //= radix
            made.append(LinePass(radix, rest, done))
            done *= radix
        return made

    def _first_radix(self) -> int:
        """The largest divisor that is no longer than a vector, or than two where it is short."""
        most = VECTOR_BYTES // byte_size(self.element)
        found = 1
        for longest in (most, 2 * most):
            if 4 * found < most:
                found = max(k for k in range(1, longest + 1) if self.n % k == 0)
        return found if found > 1 else primes_of(self.n)[0]

    def constants(self) -> list[Any]:
        """The tables of the passes: the roots of the first one of single lines, then of each pass
        the roots by which its numbers are turned, if any."""
        found: list[Any] = []
        for k, each in enumerate(self.passes):
            if self.inner == 1 and k == 0:
                found.append(turns(self.sign, each.radix, each.radix, each.radix))
            if each.rest > 1:
                table = turns(self.sign, each.radix * each.rest, each.rest, each.radix)
                found.append(table)
        return found

    def lower(
        self, emitter: Emitter, planes: Sequence[SSAValue], tables: Sequence[SSAValue]
    ) -> list[SSAValue]:
        """Both parts of the transforms; `planes` are both parts of the lines, or both in one tensor
        with one more axis, and `tables` the real and the imaginary parts of `constants`."""
        shape = [self.outer, self.n, self.inner]
        blocks = -(-self.inner // COLUMNS)
        kinds = [tensor(shape, self.element)] * (2 if len(self.passes) == 1 else 4)
        given = [*planes, *tables]

        def body(p: ScalarProgram, *views: ElementView) -> None:
            _Program(self, p, views[: len(given)], views[len(given) :]).write(len(planes))

        return forall(emitter, [self.outer, blocks], given, kinds, body)[:2]


class _Program:
    """Writes the program. Passes write to scratch and to the results in turns, last to these."""

    def __init__(
        self,
        lines: Lines,
        p: ScalarProgram,
        inputs: Sequence[ElementView],
        outputs: Sequence[ElementView],
    ):
        self.lines, self.p, self.inputs = lines, p, inputs
        self.sides = [outputs[k : k + 2] for k in range(0, len(outputs), 2)]
        self.row = p.index(0)
        self.low, self.high = block_of(p, p.index(1), lines.inner, COLUMNS)

    def write(self, planes: int) -> None:
        passes = self.lines.passes
        tables = iter(self.inputs[planes:])
        source: Sequence[ElementView] = self.inputs[:planes]
        for k, each in enumerate(passes):
            is_first_of_line = self.lines.inner == 1 and k == 0
            matrix = [next(tables), next(tables)] if is_first_of_line else []
            table = [next(tables), next(tables)] if each.rest > 1 else []
            target = self.sides[(len(passes) - 1 - k) % len(self.sides)]
            if is_first_of_line:
                self._by_matrix(each, source, target, matrix, table)
            else:
                self._by_transforms(each, source, target, table)
            source = target

    def _load(self, source: Sequence[ElementView], place: Index, column: Index) -> Complex:
        if len(source) == 1:
            one = source[0]
            return one[self.row, place, column, 0], one[self.row, place, column, 1]
        re, im = (part[self.row, place, column] for part in source)
        return re, im

    def _store(
        self, target: Sequence[ElementView], place: Index, column: Index, value: Complex
    ) -> None:
        for part, number in zip(target, value, strict=True):
            part[self.row, place, column] = number

    def _by_matrix(
        self,
        each: LinePass,
        source: Sequence[ElementView],
        target: Sequence[ElementView],
        matrix: Sequence[ElementView],
        table: Sequence[ElementView],
    ) -> None:
        """The transforms of a line's first pass, each a vector."""

        def one(q: Index) -> None:
            xs = [self._load(source, self._at(j * each.rest, q), 0) for j in range(each.radix)]

            def number(k: Scalar) -> None:
                re, im = matrix[0][0, k] * xs[0][0], matrix[0][0, k] * xs[0][1]
                over, under = matrix[1][0, k] * xs[0][1], matrix[1][0, k] * xs[0][0]
                for j, x in list(enumerate(xs))[1:]:
                    c, s = matrix[0][j, k], matrix[1][j, k]
                    re, im = b.fma(c, x[0], re), b.fma(c, x[1], im)
                    over, under = b.fma(s, x[1], over), b.fma(s, x[0], under)
                made = re - over, im + under
                if table:
                    made = _product((table[0][q, k], table[1][q, k]), made)
                self._store(target, self._at(k, self._times(q, each.radix)), 0, made)

            self.p.lanes(0, each.radix, number)

        self._for(each.rest, one)

    def _by_transforms(
        self,
        each: LinePass,
        source: Sequence[ElementView],
        target: Sequence[ElementView],
        table: Sequence[ElementView],
    ) -> None:
        """A pass whose vectors run along what is done, or along the lines."""
        p, radix, done = self.p, each.radix, each.done

        def one(q: Index) -> None:
            factors = [(table[0][q, k], table[1][q, k]) for k in range(1, radix) if table]

            def number(place: Index, column: Index) -> None:
                reads = (
                    self._at(self._times(self._at(j * each.rest, q), done), place)
                    for j in range(radix)
                )
                made = transformed(
                    p, [self._load(source, at, column) for at in reads], self.lines.sign
                )
                if table:
                    turned = map(_product, factors, made[1:])
                    made = [made[0], *turned]
                first = self._times(q, radix * done)
                for k, value in enumerate(made):
                    at = self._at(self._at(k * done, place), first)
                    self._store(target, at, column, value)

            if self.lines.inner == 1:
                p.lanes(0, done, lambda place: number(place, 0))
                return
            self._for(
                done,
                lambda place: p.lanes(self.low, self.high, lambda column: number(place, column)),
            )

        self._for(each.rest, one)

    # Places.

    def _for(self, count: int, body: Any) -> None:
        if count == 1:
            body(0)
        else:
            self.p.for_loop(0, count, body)

    def _at(self, place: Index, step: Index) -> Index:
        if isinstance(place, int) and isinstance(step, int):
            return place + step
        return step if place == 0 and isinstance(place, int) else self.p.integer(place) + step

    def _times(self, place: Index, factor: int) -> Index:
        return place * factor
