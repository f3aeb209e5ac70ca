"""The values of extents with names, and their text: `2*n + 1`.

The shapes of arrays give the values of the names in the shapes that these must have.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, TypeAlias, cast

from xdsl.utils.exceptions import VerifyException

from gradir.dialects.base.extents import (
    Condition,
    Extent,
    ExtentError,
    Quotient,
    Size,
    symbol,
)


def value_of(size: Size, values: Mapping[str, int]) -> int:
    """The number of an extent for values of its symbols."""
    if isinstance(size, int):
        return size
    total = 0
    for monomial, count in size.terms:
        for atom in monomial:
            if isinstance(atom, Quotient):
                count *= value_of(atom.extent, values) // atom.divisor
            else:
                count *= values[atom]
        total += count
    return total


@lru_cache(1 << 12)
def read_extent(text: str) -> Size:
    """The extent of a text such as `2*n + 1`. VerifyException for other text."""
    try:
        return cast(Size, _read(ast.parse(text.strip(), mode="eval").body))
    except (SyntaxError, ValueError, ZeroDivisionError, RecursionError, MemoryError):
        raise VerifyException(
            f"an extent must be names and integers with +, -, * and //, got {text}"
        ) from None


def _read(node: ast.AST) -> Any:
    match node:
        case ast.Name(id=name) if name != "_" and name.isascii():
            return symbol(name)
        case ast.Constant(value=int() as number) if not isinstance(number, bool):
            return number
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_read(operand)
        case ast.BinOp(left=left, op=op, right=right):
            one, other = _read(left), _read(right)
            match op:
                case ast.Add():
                    return one + other
                case ast.Sub():
                    return one - other
                case ast.Mult():
                    return one * other
                case ast.FloorDiv() if isinstance(other, int):
                    return one // other
                case _:
                    raise ValueError(op)
        case _:
            raise ValueError(node)


def holds(condition: Condition, values: Mapping[str, int]) -> bool:
    """Whether a condition holds for values of its symbols."""
    found = value_of(condition.left, values)
    return found >= condition.right if condition.relation == ">=" else found != condition.right


def read_condition(text: str) -> Condition:
    """The condition of a text such as `n != 1`. VerifyException for other text."""
    for relation in (">=", "!="):
        left, found, right = text.partition(relation)
        extent = read_extent(left) if found else 0
        if isinstance(extent, Extent) and right.strip().removeprefix("-").isdigit():
            return Condition(extent, relation, int(right))
    raise VerifyException(f"a condition must be like n >= 2 or n != 1, got {text}")


Named: TypeAlias = "tuple[str, Sequence[Size], Sequence[int]]"
"""A name, the shape that it must have, and the one that it has."""


def values_of_shapes(named: Sequence[Named]) -> dict[str, int]:
    """The values of the symbols in shapes, from the shapes found; ExtentError where these differ.

    An extent of one symbol, to the first power, gives its value; the first such one.
    """
    values: dict[str, int] = {}
    places: dict[str, str] = {}
    without: dict[str, str] = {}
    for name, wanted, found in named:
        if len(wanted) != len(found):
            raise ExtentError(_ragged(name, wanted, found, values, places))
        for size, number in zip(wanted, found, strict=True):
            symbol, value = _solution(size, number)
            if symbol and value is None:
                fact = f"{size} is {number} for no integer {symbol} >= 0"
                without.setdefault(symbol, f"{_ragged(name, wanted, found, {}, {})}: {fact}")
            elif symbol and value is not None and symbol not in values:
                values[symbol], places[symbol] = value, name
    for name, wanted, found in named:
        _require_values(name, wanted, values, without)
        if tuple(value_of(size, values) for size in wanted) != tuple(found):
            raise ExtentError(_ragged(name, wanted, found, values, places))
    return values


def _require_values(
    name: str, wanted: Sequence[Size], values: Mapping[str, int], without: Mapping[str, str]
) -> None:
    """ExtentError for a symbol without a value; `without` says why there is none."""
    for size in wanted:
        missing = sorted(size.symbols - set(values)) if isinstance(size, Extent) else []
        if missing:
            raise ExtentError(
                without.get(missing[0])
                or f"{name}: no argument says what {missing[0]} is, got {sizes_text(wanted)}; "
                "one must have it as an extent of its own"
            )


def _solution(size: Size, number: int) -> tuple[str, int | None]:
    """The symbol of an extent `a*n + b`, and its value where the extent is a number, or None.

    An empty name for other extents.
    """
    if not isinstance(size, Extent):
        return "", None
    terms = dict(size.terms)
    constant = terms.pop((), 0)
    [(monomial, count), *more] = terms.items()
    if more or len(monomial) != 1 or not isinstance(monomial[0], str):
        return "", None
    value, rest = divmod(number - constant, count)
    return monomial[0], None if rest or value < 0 else value


def _ragged(
    name: str,
    wanted: Sequence[Size],
    found: Sequence[int],
    values: Mapping[str, int],
    places: Mapping[str, str],
) -> str:
    """The message about a shape that does not fit, with the values of its symbols."""
    symbols = sorted(frozenset[str]().union(*(n.symbols for n in wanted if isinstance(n, Extent))))
    known = [
        f"{n} = {values[n]} (from {places[n]})" for n in symbols if places.get(n, name) != name
    ]
    given = f" with {', '.join(known)}" if known else ""
    return f"{name} has shape {sizes_text(found)}, expected {sizes_text(wanted)}{given}"


def sizes_text(shape: Sequence[Size]) -> str:
    """A shape in a message: `(n, 3)`."""
    return f"({', '.join(map(str, shape))}{',' if len(shape) == 1 else ''})"
