"""How a loop nest addresses a tensor: one affine row per tensor dimension.

An access is an MLIR `affine_map` without floordiv and mod, as coefficients that passes can compute
with. A row is `sum(coefficients[d] * d) + constant`, or one run-time symbol (a scattered index).

Every pass asks the same few accesses the same questions thousands of times: answers are kept.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache

from xdsl.ir.affine import (
    AffineBinaryOpExpr,
    AffineBinaryOpKind,
    AffineConstantExpr,
    AffineDimExpr,
    AffineExpr,
    AffineMap,
    AffineSymExpr,
)


@dataclass(frozen=True)
class Row:
    """One subscript: `sum(coefficients[d] * d) + constant`, or symbol number `symbol` alone."""

    coefficients: tuple[int, ...]
    constant: int = 0
    symbol: int | None = None

    @cached_property
    def dim(self) -> int | None:
        """d if the row is exactly the iteration dimension d, else None."""
        used = self.used
        if self.constant == 0 and self.symbol is None and len(used) == 1:
            return used[0] if self.coefficients[used[0]] == 1 else None
        return None

    @cached_property
    def used(self) -> tuple[int, ...]:
        """The iteration dimensions that the row reads."""
        return tuple(d for d, c in enumerate(self.coefficients) if c)

    def interval(self, bounds: Sequence[int]) -> tuple[int, int]:
        """Smallest and largest value over the iteration space (which must not be empty)."""
        ends = [(c * (n - 1)) for c, n in zip(self.coefficients, bounds, strict=True)]
        low = self.constant + sum(e for e in ends if e < 0)
        return low, self.constant + sum(e for e in ends if e > 0)

    def tells_apart(self, dims: Collection[int], bounds: Sequence[int]) -> bool:
        """Whether values of some dimensions, the others being fixed, give each another subscript.

        It is so where each step is longer than all shorter ones together, as of digits.
        """
        reach = 0
        for step, d in sorted((abs(self.coefficients[d]), d) for d in dims if d in self.used):
            if step <= reach:
                return False
            reach += step * (bounds[d] - 1)
        return True


@dataclass(frozen=True)
class Access:
    """The subscripts with which an iteration of `num_dims` dimensions addresses one tensor."""

    num_dims: int
    rows: tuple[Row, ...]

    def __hash__(self) -> int:
        return self._hash

    @cached_property
    def _hash(self) -> int:
        return hash((self.num_dims, self.rows))

    @staticmethod
    @lru_cache
    def identity(rank: int) -> Access:
        return Access.of_dims(rank, range(rank))

    @staticmethod
    def of_dims(num_dims: int, dims: Sequence[int]) -> Access:
        """The access `(d0, ..., dn) -> (d[dims[0]], d[dims[1]], ...)`."""
        return Access(num_dims, tuple(dim_row(num_dims, d) for d in dims))

    @cached_property
    def is_identity(self) -> bool:
        return len(self.rows) == self.num_dims and all(
            row.dim == d for d, row in enumerate(self.rows)
        )

    @cached_property
    def dims(self) -> tuple[int, ...] | None:
        """The iteration dimension of each row if every row is one, else None."""
        dims = tuple(row.dim for row in self.rows)
        return None if None in dims else tuple(d for d in dims if d is not None)

    @cached_property
    def used(self) -> frozenset[int]:
        return frozenset(d for row in self.rows for d in row.used)

    @cached_property
    def at_zero(self) -> Access:
        """The access with no constants: of a part of a tensor, as if the tensor began there."""
        if all(row.constant == 0 for row in self.rows):
            return self
        return replace(self, rows=tuple(replace(row, constant=0) for row in self.rows))

    def compose(self, inner: Access) -> Access:
        """self after inner: `inner` gives a value for each dimension of `self`."""
        assert self.num_dims == len(inner.rows)
        return Access(inner.num_dims, tuple(_substitute(row, inner) for row in self.rows))

    def strides(self, shape: Sequence[int]) -> tuple[tuple[int, ...], int]:
        """Per iteration dimension the step in elements of a row-major tensor, and the offset."""
        return _strides(self, tuple(shape))

    def is_in_bounds(self, bounds: Sequence[int], shape: Sequence[int]) -> bool:
        """No iteration leaves the tensor (symbols are checked where they are made)."""
        if 0 in bounds:
            return True
        intervals = [row.interval(bounds) for row in self.rows if row.symbol is None]
        extents = [n for n, row in zip(shape, self.rows, strict=True) if row.symbol is None]
        return all(0 <= lo and hi < n for (lo, hi), n in zip(intervals, extents, strict=True))

    def is_injective(self, bounds: Sequence[int]) -> bool:
        """No two iterations address one element, as is plain from single rows; without symbols."""
        left = {d for d, n in enumerate(bounds) if n > 1}
        rows: list[Row] = [row for row in self.rows if row.symbol is None]
        while left and rows:
            plain = [row for row in rows if row.tells_apart(left, bounds)]
            if not plain:
                break
            left -= {d for row in plain for d in row.used}
            rows = [row for row in rows if row not in plain]
        return not left

    def to_map(self) -> AffineMap:
        symbols = sum(row.symbol is not None for row in self.rows)
        return AffineMap(self.num_dims, symbols, tuple(_expression(row) for row in self.rows))


def dim_row(num_dims: int, dim: int, coefficient: int = 1, constant: int = 0) -> Row:
    """The row `coefficient * d + constant`."""
    return Row(tuple(coefficient if d == dim else 0 for d in range(num_dims)), constant)


def constant_row(num_dims: int, value: int) -> Row:
    return Row((0,) * num_dims, value)


@lru_cache(maxsize=4096)
def _strides(access: Access, shape: tuple[int, ...]) -> tuple[tuple[int, ...], int]:
    steps, offset, size = [0] * access.num_dims, 0, 1
    for row, extent in zip(reversed(access.rows), reversed(shape), strict=True):
        for d, c in enumerate(row.coefficients):
            steps[d] += c * size
        offset += row.constant * size
        size *= extent
    return tuple(steps), offset


# By the identity of the map, which stands beside its access: to hash a map is to walk it.
_ACCESSES: dict[int, tuple[AffineMap, Access]] = {}
_MOST_ACCESSES = 4096


def access_of(affine_map: AffineMap) -> Access:
    """The rows of an affine map; ValueError where it has floordiv, mod or mixed symbols."""
    known = _ACCESSES.get(id(affine_map))
    if known is not None and known[0] is affine_map:
        return known[1]
    rows = tuple(_row(expr, affine_map.num_dims) for expr in affine_map.results)
    access = Access(affine_map.num_dims, rows)
    if len(_ACCESSES) >= _MOST_ACCESSES:
        _ACCESSES.clear()
    _ACCESSES[id(affine_map)] = affine_map, access
    return access


def _substitute(row: Row, inner: Access) -> Row:
    assert row.symbol is None
    coefficients, constant = [0] * inner.num_dims, row.constant
    for c, part in zip(row.coefficients, inner.rows, strict=True):
        assert part.symbol is None or c == 0
        constant += c * part.constant
        for d, k in enumerate(part.coefficients):
            coefficients[d] += c * k
    return Row(tuple(coefficients), constant)


def _row(expr: AffineExpr, num_dims: int) -> Row:
    if isinstance(expr, AffineSymExpr):
        return Row((0,) * num_dims, 0, expr.position)
    coefficients = [0] * num_dims
    constant = _collect(expr, 1, coefficients)
    return Row(tuple(coefficients), constant)


def _collect(expr: AffineExpr, factor: int, coefficients: list[int]) -> int:
    """Add factor * expr to the coefficients; return its constant part."""
    match expr:
        case AffineConstantExpr():
            return factor * expr.value
        case AffineDimExpr():
            coefficients[expr.position] += factor
            return 0
        case AffineBinaryOpExpr(kind=AffineBinaryOpKind.Add):
            left = _collect(expr.lhs, factor, coefficients)
            return left + _collect(expr.rhs, factor, coefficients)
        case AffineBinaryOpExpr(kind=AffineBinaryOpKind.Mul):
            if isinstance(expr.rhs, AffineConstantExpr):
                return _collect(expr.lhs, factor * expr.rhs.value, coefficients)
            if isinstance(expr.lhs, AffineConstantExpr):
                return _collect(expr.rhs, factor * expr.lhs.value, coefficients)
            raise ValueError(f"{expr} is not linear in the loop dimensions")
        case _:
            raise ValueError(f"{expr} is not linear in the loop dimensions")


def _expression(row: Row) -> AffineExpr:
    if row.symbol is not None:
        return AffineExpr.symbol(row.symbol)
    total: AffineExpr | None = None
    for d in row.used:
        c = row.coefficients[d]
        term = AffineExpr.dimension(d) if c == 1 else AffineExpr.dimension(d) * c
        total = term if total is None else total + term
    if total is None:
        return AffineExpr.constant(row.constant)
    return total + row.constant if row.constant else total
