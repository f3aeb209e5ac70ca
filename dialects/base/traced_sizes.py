"""Sizes that a program is compiled for as values: integers with a history.

A `TracedSize` has the number of one call, and how it follows from the extents of the arguments: a
polynomial of atoms, which are the extents, quotients, and results of functions. Arithmetic gives
further ones. A comparison is decided by the numbers of the call, and becomes a guard: the code
holds for all extents for which its guards hold. That one size is not another is no guard: code for
different sizes is right for equal ones. Where Python needs a plain integer (`range`, an index), or
a size is equal to a number, a `FixedSizeError` names the extents that have to be numbers.

In LLVM text a size is the name of a value, `%size.3`, which the function loads (`text/sized.py`).
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from math import isfinite
from typing import Any, NoReturn, TypeAlias, TypeVar, cast

Terms: TypeAlias = tuple[tuple[tuple[int, ...], int], ...]
"""The monomials, as sorted numbers of atoms, with their coefficients."""

FunctionT = TypeVar("FunctionT", bound=Callable[..., Any])

SIZE = "%size."
"""How the names of sizes in LLVM text begin."""

NAME = re.compile(r"%size\.(\d+)\b")


class UnsizedError(BaseException):
    """The code of a program has no form in which its sizes are values.

    No Exception: what a verifier catches it reports as an error in the program.
    """


class FixedSizeError(UnsizedError):
    """A size has to be a plain number."""

    def __init__(self, size: TracedSize):
        super().__init__(f"{size!r} must be a number")
        self.extents = size.graph.extents_of(size)


class EqualSizesError(UnsizedError):
    """Two extents are equal in a call, and code is made for equal ones."""

    def __init__(self, extents: frozenset[int]):
        super().__init__(f"extents {sorted(extents)} are equal")
        self.extents = extents


class SizeGraph:
    """The sizes of one compilation: how they are computed, and the guards on them.

    Both are lines of Python in the order in which the compilation came to them.
    """

    def __init__(self) -> None:
        self.values: list[int] = []
        self._extents: list[int] = []
        self._extents_of: list[frozenset[int]] = []
        self._lines: list[str] = []
        self._constants: list[Any] = []
        self._guards: set[str] = set()
        self._known: dict[Any, Any] = {}
        self._numbers: dict[Terms, int] = {}

    # Atoms.

    def extent(self, value: int) -> TracedSize:
        """The next extent that calls give."""
        self._extents.append(len(self.values))
        return self._atom(value, frozenset([len(self._extents) - 1]))

    def _atom(self, value: int, extents: frozenset[int]) -> TracedSize:
        self.values.append(value)
        self._extents_of.append(extents)
        return TracedSize(self, (((len(self.values) - 1,), 1),), value)

    def extents_of(self, *values: Any) -> frozenset[int]:
        """The numbers of the extents from which sizes, also nested ones, are computed."""
        found = frozenset[int]()
        for value in values:
            if type(value) is TracedSize:
                atoms = {atom for monomial, _ in value.terms for atom in monomial}
                found |= frozenset[int]().union(*(self._extents_of[atom] for atom in atoms))
            elif type(value) in (tuple, list):
                found |= self.extents_of(*cast("Sequence[Any]", value))
        return found

    def quotient(self, left: Any, right: Any) -> TracedSize:
        """left // right, for a right that is not 0."""
        key = _key(left), _key(right)
        if key not in self._known:
            value = int_of(left) // int_of(right)
            made = self._known[key] = self._atom(value, self.extents_of(left, right))
            self._lines.append(
                f"{_name(made)} = ({_written(self, left)}) // ({_written(self, right)})"
            )
        return self._known[key]

    def call(self, function: Callable[..., Any], args: tuple[Any, ...]) -> Any:
        """What a function gives of sizes: an integer, several, or a float for a cost."""
        key = function, _key(args)
        if key not in self._known:
            arguments = ", ".join(_written(self, each) for each in args)
            text = f"{self.constant(function)}({arguments})"
            extents = self.extents_of(*args)
            self._known[key] = self._result(function(*plain(args)), text, extents)
        return self._known[key]

    def _result(self, value: Any, text: str, extents: frozenset[int]) -> Any:
        if isinstance(value, float):
            return self.cost(value, text)
        if isinstance(value, tuple):
            atoms = tuple(self._atom(n, extents) for n in cast("tuple[int, ...]", value))
            self._lines.append(f"{''.join(f'{_name(a)}, ' for a in atoms)} = {text}")
            return atoms
        made = self._atom(value, extents)
        self._lines.append(f"{_name(made)} = {text}")
        return made

    def cost(self, value: float, text: str) -> TracedCost:
        """A number of which costs are computed."""
        key = "cost", text
        if key not in self._known:
            made = self._known[key] = TracedCost(self, f"v{len(self._known)}", value)
            self._lines.append(f"{made.name} = {text}")
        return self._known[key]

    def rounded(self, cost: TracedCost) -> TracedSize:
        """A cost as an integer."""
        key = "round", cost.name
        if key not in self._known:
            every = frozenset(range(len(self._extents)))
            self._known[key] = self._result(round(cost.value), f"round({cost.name})", every)
        return self._known[key]

    def constant(self, value: Any) -> str:
        """The name of an object in the lines."""
        self._constants.append(value)
        return f"c{len(self._constants) - 1}"

    def error_of_zero(self, difference: TracedSize) -> UnsizedError:
        """What stands in the way where a difference is 0 in a call."""
        [(one, c), *rest] = difference.terms
        if len(rest) == 1 and rest[0][1] == -c and len(one) == len(rest[0][0]) == 1:
            atoms = one[0], rest[0][0][0]
            if all(atom in self._extents for atom in atoms):
                return EqualSizesError(frozenset(map(self._extents.index, atoms)))
        return FixedSizeError(difference)

    # Guards.

    def guard(self, text: str, holds: bool) -> bool:
        """Note that a condition holds, or does not."""
        text = text if holds else f"not ({text})"
        if text not in self._guards:
            self._guards.add(text)
            self._lines.append(f"if not ({text}): return None")
        return holds

    @property
    def guards(self) -> tuple[str, ...]:
        """What must hold, as Python."""
        return tuple(self._guards)

    # Numbers in text.

    def number(self, size: TracedSize) -> int:
        """The place of a size among those that the text names."""
        return self._numbers.setdefault(size.terms, len(self._numbers))

    def evaluator(self, wanted: Sequence[Any]) -> Callable[..., Any]:
        """A function of the extents: the numbers in the text, and those of `wanted`.

        It gives None where a guard does not hold.
        """
        numbers = "".join(f"{_polynomial(terms)}, " for terms in self._numbers)
        last = f"return ({numbers}), {_written(self, tuple(wanted))}"
        lines = _used_lines([*self._lines, last])
        head = f"def evaluate({', '.join(f'a{k}' for k in self._extents)}):"
        scope: dict[str, Any] = {f"c{k}": value for k, value in enumerate(self._constants)}
        exec("\n    ".join([head, *lines]), scope)
        return cast("Callable[..., Any]", scope["evaluate"])


def _used_lines(lines: Sequence[str]) -> list[str]:
    """The lines but those that compute what no later line reads."""
    kept: list[str] = []
    read: set[str] = set()
    for line in reversed(lines):
        target, assigned, value = line.partition(" = ")
        if assigned and read.isdisjoint(_ATOM.findall(target)):
            continue
        kept.append(line)
        read.update(_ATOM.findall(value if assigned else line))
    return kept[::-1]


_ATOM = re.compile(r"\b[av]\d+\b")


def _name(atom: TracedSize) -> str:
    return f"a{atom.terms[0][0][0]}"


def _written(graph: SizeGraph, value: Any) -> str:
    """A value as Python, by the names of atoms."""
    if type(value) is TracedSize:
        return _polynomial(value.terms)
    if type(value) is TracedCost:
        return value.name
    if type(value) in (tuple, list):
        return f"({''.join(f'{_written(graph, v)}, ' for v in cast('Sequence[Any]', value))})"
    is_plain = isinstance(value, int | str) or (isinstance(value, float) and isfinite(value))
    return repr(value) if is_plain else graph.constant(value)


def _polynomial(terms: Terms) -> str:
    parts = ["*".join([str(c), *(f"a{a}" for a in monomial)]) for monomial, c in terms]
    return " + ".join(parts) or "0"


class TracedSize:
    """A size of a call, and how it follows from the extents of its arguments."""

    __slots__ = ("_hash", "graph", "terms", "value")

    # xDSL asks for integers by isinstance; C code takes nothing else than __index__
    __class__ = property(lambda self: int)  # type: ignore[assignment]

    def __init__(self, graph: SizeGraph, terms: Terms, value: int):
        self.graph, self.terms, self.value = graph, terms, value
        # never the hash of the number: a table must not take it for one
        self._hash = hash((id(graph), terms, "size"))

    def __hash__(self) -> int:
        return self._hash

    def __repr__(self) -> str:
        return f"<{self.value} = {_polynomial(self.terms)}>"

    def __str__(self) -> str:
        return f"{SIZE}{self.graph.number(self)}"

    def __format__(self, spec: str) -> str:
        return str(self)

    # Arithmetic.

    def __add__(self, other: Any) -> Any:
        return _sum(self, other, 1) if is_size(other) else self._as_cost(other, operator.add)

    __radd__ = __add__

    def __sub__(self, other: Any) -> Any:
        return _sum(self, other, -1) if is_size(other) else self._as_cost(other, operator.sub)

    def __rsub__(self, other: Any) -> Any:
        return _sum(-self, other, 1) if is_size(other) else self._as_cost(other, _subtracted)

    def __neg__(self) -> Any:
        return _product(self, -1)

    def __pos__(self) -> TracedSize:
        return self

    def __abs__(self) -> Any:
        return self if self >= 0 else -self

    def __mul__(self, other: Any) -> Any:
        return _product(self, other) if is_size(other) else self._as_cost(other, operator.mul)

    __rmul__ = __mul__

    def __floordiv__(self, other: Any) -> Any:
        return _quotient(self, other) if is_size(other) else NotImplemented

    def __rfloordiv__(self, other: Any) -> Any:
        return _quotient(other, self) if is_size(other) else NotImplemented

    def __mod__(self, other: Any) -> Any:
        return self - _quotient(self, other) * other if is_size(other) else NotImplemented

    def __rmod__(self, other: Any) -> Any:
        return other - _quotient(other, self) * self if is_size(other) else NotImplemented

    def __divmod__(self, other: Any) -> Any:
        return self // other, self % other

    # Comparisons.

    def _compare(self, other: Any, relation: str, decide: Callable[[int], bool]) -> Any:
        if not is_size(other):
            is_number = _is_number(other)
            return self.cost.compare(relation, other) if is_number else NotImplemented
        left = _sum(self, other, -1)
        if type(left) is int:
            return decide(left)
        text = f"({_polynomial(left.terms)}) {relation} 0"
        return self.graph.guard(text, decide(left.value))

    def __lt__(self, other: Any) -> Any:
        return self._compare(other, "<", lambda d: d < 0)

    def __le__(self, other: Any) -> Any:
        return self._compare(other, "<=", lambda d: d <= 0)

    def __gt__(self, other: Any) -> Any:
        return self._compare(other, ">", lambda d: d > 0)

    def __ge__(self, other: Any) -> Any:
        return self._compare(other, ">=", lambda d: d >= 0)

    def __eq__(self, other: object) -> Any:
        if type(other) is TracedSize and other.graph is not self.graph:
            return False
        if not is_size(other):
            return NotImplemented
        left = _sum(self, other, -1)
        if type(left) is int:
            return left == 0
        if type(other) is TracedSize and left.value:
            # code for different sizes is right for equal ones
            return False
        if left.value == 0:
            raise self.graph.error_of_zero(left)
        return self.graph.guard(f"({_polynomial(left.terms)}) == 0", False)

    def __ne__(self, other: object) -> Any:
        found = self.__eq__(other)
        return found if found is NotImplemented else not found

    def __bool__(self) -> bool:
        return self != 0

    # What needs a number.

    def __index__(self) -> NoReturn:
        raise FixedSizeError(self)

    __int__ = __float__ = bit_length = __index__

    @property
    def cost(self) -> TracedCost:
        """The size as a number of which costs are computed."""
        return self.graph.cost(self.value, _polynomial(self.terms))

    def _as_cost(self, other: Any, function: Callable[[Any, Any], Any]) -> Any:
        """A function of a cost and a number that is no integer."""
        return function(self.cost, other) if _is_number(other) else NotImplemented

    def __truediv__(self, other: Any) -> Any:
        return self._as_cost(other, operator.truediv)

    def __rtruediv__(self, other: Any) -> Any:
        return other / self.cost if _is_number(other) else NotImplemented

    def __pow__(self, other: Any) -> Any:
        return self._as_cost(other, operator.pow)

    def __lshift__(self, other: Any) -> Any:
        return self * (1 << other)

    def __rshift__(self, other: Any) -> Any:
        return self // (1 << other)


_RELATIONS: Mapping[str, Callable[[Any, Any], bool]] = {
    "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip


class TracedCost:
    """A number that is computed of sizes to compare it: each comparison becomes a guard."""

    __slots__ = ("graph", "name", "value")

    def __init__(self, graph: SizeGraph, name: str, value: float):
        self.graph, self.name, self.value = graph, name, value

    def _with(self, sign: str, other: Any, compute: Callable[[Any, Any], Any]) -> Any:
        if not _is_number(other):
            return NotImplemented
        text = f"{self.name} {sign} ({_written(self.graph, other)})"
        return self.graph.cost(compute(self.value, cost_of(other)), text)

    def _behind(self, sign: str, other: Any, compute: Callable[[Any, Any], Any]) -> Any:
        if not _is_number(other):
            return NotImplemented
        text = f"({_written(self.graph, other)}) {sign} {self.name}"
        return self.graph.cost(compute(cost_of(other), self.value), text)

    def __add__(self, other: Any) -> Any:
        return self._with("+", other, operator.add)

    __radd__ = __add__

    def __mul__(self, other: Any) -> Any:
        return self._with("*", other, operator.mul)

    __rmul__ = __mul__

    def __sub__(self, other: Any) -> Any:
        return self._with("-", other, operator.sub)

    def __rsub__(self, other: Any) -> Any:
        return self._behind("-", other, operator.sub)

    def __truediv__(self, other: Any) -> Any:
        return self._with("/", other, operator.truediv)

    def __rtruediv__(self, other: Any) -> Any:
        return self._behind("/", other, operator.truediv)

    def __pow__(self, other: Any) -> Any:
        return self._with("**", other, operator.pow)

    def __rpow__(self, other: Any) -> Any:
        return self._behind("**", other, operator.pow)

    def __abs__(self) -> Any:
        return self.graph.cost(abs(self.value), f"abs({self.name})")

    def __neg__(self) -> Any:
        return self.graph.cost(-self.value, f"-{self.name}")

    def compare(self, relation: str, other: Any) -> bool:
        """The comparison of the numbers of this call, with its guard."""
        holds = _RELATIONS[relation](self.value, cost_of(other))
        return self.graph.guard(f"{self.name} {relation} ({_written(self.graph, other)})", holds)

    def __lt__(self, other: Any) -> bool:
        return self.compare("<", other)

    def __le__(self, other: Any) -> bool:
        return self.compare("<=", other)

    def __gt__(self, other: Any) -> bool:
        return self.compare(">", other)

    def __ge__(self, other: Any) -> bool:
        return self.compare(">=", other)

    def __bool__(self) -> bool:
        return self.graph.guard(f"{self.name} != 0", bool(self.value))

    def __round__(self) -> TracedSize:
        return self.graph.rounded(self)

    def __index__(self) -> NoReturn:
        raise UnsizedError(f"{self!r} as a plain number")

    __int__ = __float__ = __floor__ = __ceil__ = __index__

    def __repr__(self) -> str:
        return f"<{self.value} = {self.name}>"


def as_cost(size: Any) -> Any:
    """A size as a number of which costs are computed: a float, or a traced one."""
    return size.cost if type(size) is TracedSize else float(size)


def cost_of(value: Any) -> float:
    """The number of this call of a cost, a size or a number."""
    return value.value if type(value) in (TracedCost, TracedSize) else value


def _is_number(value: object) -> bool:
    return type(value) in (TracedCost, TracedSize) or isinstance(value, int | float)


def _subtracted(one: Any, other: Any) -> Any:
    return other - one


def is_size(value: object) -> bool:
    """Whether a value is an integer, or a traced size."""
    return type(value) in (TracedSize, int, bool)


def is_traced(value: object) -> bool:
    """Whether a size is a value of the program."""
    return type(value) is TracedSize


def int_of(value: Any) -> int:
    """The number of the call, without a guard."""
    return value.value if type(value) is TracedSize else value


def plain(value: Any) -> Any:
    """A nesting of sizes with their numbers, without guards."""
    if type(value) in (TracedSize, TracedCost):
        return value.value
    if isinstance(value, tuple):
        return tuple(map(plain, cast("Iterable[Any]", value)))
    if isinstance(value, list):
        return list(map(plain, cast("Iterable[Any]", value)))
    return value


def of_sizes(function: FunctionT) -> FunctionT:
    """A function of numbers whose result, also a number or a tuple of them, is a traced size where
    an argument is one: nothing that it decides becomes a guard."""

    def call(*args: Any) -> Any:
        graph = _graph_in(args)
        return function(*args) if graph is None else graph.call(function, args)

    call.__doc__, call.__name__ = function.__doc__, function.__name__
    return cast(FunctionT, call)


def _graph_in(value: Any) -> SizeGraph | None:
    if type(value) in (TracedSize, TracedCost):
        return value.graph
    if type(value) in (tuple, list):
        for each in cast("Iterable[Any]", value):
            if (found := _graph_in(each)) is not None:
                return found
    return None


def _key(value: Any) -> Any:
    if type(value) is TracedSize:
        return value.terms
    if type(value) is TracedCost:
        return value.name
    if type(value) in (tuple, list):
        return tuple(map(_key, cast("Iterable[Any]", value)))
    return value


def _terms(value: Any) -> Mapping[tuple[int, ...], int]:
    if type(value) is TracedSize:
        return dict(value.terms)
    return {(): value} if value else {}


def _size(graph: SizeGraph, terms: Mapping[tuple[int, ...], int], value: int) -> Any:
    """The size of a polynomial; an integer where that is constant."""
    left = {monomial: c for monomial, c in terms.items() if c}
    if not any(left):
        return left.get((), 0)
    return TracedSize(graph, tuple(sorted(left.items())), value)


def _graph(*values: Any) -> SizeGraph:
    return next(v.graph for v in values if type(v) is TracedSize)


def _sum(left: Any, right: Any, factor: int) -> Any:
    terms = dict(_terms(left))
    for monomial, count in _terms(right).items():
        terms[monomial] = terms.get(monomial, 0) + factor * count
    return _size(_graph(left, right), terms, int_of(left) + factor * int_of(right))


def _product(left: Any, right: Any) -> Any:
    terms: dict[tuple[int, ...], int] = {}
    for one, m in _terms(left).items():
        for other, n in _terms(right).items():
            monomial = tuple(sorted(one + other))
            terms[monomial] = terms.get(monomial, 0) + m * n
    return _size(_graph(left, right), terms, int_of(left) * int_of(right))


def _quotient(left: Any, right: Any) -> Any:
    """left // right; terms that the divisor divides are no part of the new atom."""
    if type(right) is int:
        if right == 0:
            raise ZeroDivisionError(f"{left!r} // 0")
        if right < 0:
            return _quotient(-left, -right)
        if right == 1:
            return left
        # whole parts come out
        whole = {m: c // right for m, c in _terms(left).items()}
        rest = {m: c % right for m, c in _terms(left).items()}
        graph = left.graph
        out = _size(graph, whole, sum(c * _value(graph, m) for m, c in whole.items()))
        inner = _size(graph, rest, sum(c * _value(graph, m) for m, c in rest.items()))
        return out + (inner // right if type(inner) is int else graph.quotient(inner, right))
    for sign in (1, -1):
        if is_surely(left, sign * right):
            return sign
    exact = _exact(left, right)
    return _graph(left, right).quotient(left, right) if exact is None else exact


def _value(graph: SizeGraph, monomial: tuple[int, ...]) -> int:
    found = 1
    for atom in monomial:
        found *= graph.values[atom]
    return found


def _exact(left: Any, right: TracedSize) -> Any:
    """The quotient by a size of one term, where it divides each term; else None."""
    [(divisor, number), *more] = right.terms
    if more or number <= 0:
        return None
    found: dict[tuple[int, ...], int] = {}
    for monomial, count in _terms(left).items():
        rest = list(monomial)
        for atom in divisor:
            if atom not in rest:
                return None
            rest.remove(atom)
        if count % number:
            return None
        found[tuple(rest)] = count // number
    return _size(right.graph, found, int_of(left) // right.value)


def divides(size: Any, extent: Any) -> bool:
    """Whether an extent is a multiple of a size, for all that is known: no guard comes of it."""
    rest = extent % size
    return type(rest) is int and rest == 0


def is_surely(one: Any, other: Any) -> bool:
    """Whether two sizes are equal for all that is known: no guard comes of it."""
    rest = one - other
    return type(rest) is int and rest == 0
