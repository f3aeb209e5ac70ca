"""Rows of the op table for ops with loops of their own: cumulative ops, sorting, linear algebra."""

from __future__ import annotations

from math import inf, nan, prod
from typing import Any

import numpy as np
from op_cases import Case, integers
from op_references import Array, Reference

from gradir.dialects.array.polynomial import floats
from gradir.dialects.base.attributes import Plain


def _lines(x: Array, axis: int) -> Array:
    """The lines of x along an axis, as rows."""
    moved = np.moveaxis(x, axis, -1)
    return moved.reshape(prod(moved.shape[:-1]), moved.shape[-1])


def _back(rows: Array, x: Array, axis: int) -> Array:
    """Rows in place of the lines of x along an axis."""
    moved = np.moveaxis(x, axis, -1).shape
    return np.moveaxis(rows.reshape(*moved[:-1], rows.shape[-1]), -1, axis)


def _cumulative(reduce: Any) -> Reference:
    """Each element from the elements before it, by their definition."""

    def function(x: Array, axis: int = 0, exclusive: bool = False, reverse: bool = False) -> Array:
        lines, keep = _lines(x, axis), 0 if exclusive else 1
        result = np.zeros(lines.shape)
        count = lines.shape[1]
        for row, line in enumerate(lines):
            for k in range(count):
                part = line[k + 1 - keep :] if reverse else line[: k + keep]
                result[row, k] = reduce(part)
        return _back(result, x, axis)

    return function


def _linear_recurrence(
    a: Array, u: Array, axis: int = 0, reverse: bool = False, lagged: bool = False
) -> Array:
    """The sum of all u[j] times the coefficients between j and i."""
    factors, added = _lines(a, axis), _lines(u, axis)
    if reverse:
        factors, added = factors[:, ::-1], added[:, ::-1]
    result, shift = np.zeros(added.shape), 0 if lagged else 1
    for row, (line, terms) in enumerate(zip(factors, added, strict=True)):
        for i in range(len(terms)):
            products = [prod(line[j + shift : i + shift].tolist()) for j in range(i + 1)]
            result[row, i] = np.dot(products, terms[: i + 1])
    return _back(result[:, ::-1] if reverse else result, u, axis)


def _shift(x: Array, axis: int, by: int) -> Array:
    lines = _lines(x, axis)
    result = np.zeros(lines.shape)
    for place in range(lines.shape[1]):
        if 0 <= place - by < lines.shape[1]:
            result[:, place] = lines[:, place - by]
    return _back(result, x, axis)


_SCANNED: tuple[tuple[tuple[int, ...], dict[str, Plain]], ...] = (
    ((3, 4), {"axis": 1}),
    ((3, 4), {"axis": 0, "exclusive": True}),
    ((3, 4), {"axis": -1, "reverse": True}),
    ((2, 3, 2), {"axis": 1, "reverse": True, "exclusive": True}),
    ((9, 3), {"axis": -1, "exclusive": True}),
    ((1,), {}),
    ((17,), {"axis": 0}),
    ((0,), {}),
    ((0, 3), {"axis": 1}),
    ((3, 0), {"axis": -1}),
    ((2, 0), {"axis": 0}),
    ((4, 0), {"axis": 1, "exclusive": True}),
)


def _cumulatives() -> list[Case]:
    zeros = np.array([[2.0, 0.0, -1.5, 3.0], [0.0, 0.5, 0.0, 2.0], [0.0, 0.0, 0.0, 1.0]])
    return [
        *(Case("array.cumulative_sum", [s], a, _cumulative(np.sum)) for s, a in _SCANNED),
        *(Case("array.cumulative_prod", [s], a, _cumulative(np.prod)) for s, a in _SCANNED),
        Case("array.cumulative_prod", [zeros], {"axis": 1}, _cumulative(np.prod)),
        Case("array.cumulative_prod", [zeros], {"axis": 0, "exclusive": True, "reverse": True},
             _cumulative(np.prod)),
        *(Case("grad.linear_recurrence", [s, s], a | {"reverse": reverse, "lagged": lagged},
               _linear_recurrence)
          for s, a in (((3, 4), {"axis": 1}), ((3, 4), {"axis": 0}), ((2, 0), {"axis": 1}))
          for reverse in (False, True) for lagged in (False, True)),
        Case("grad.shift", [(3, 4)], {"axis": 1, "by": 1}, _shift),
        Case("grad.shift", [(3, 4)], {"axis": 0, "by": -2}, _shift),
        Case("grad.shift", [(3,)], {"axis": 0, "by": 5}, _shift),
    ]  # fmt: skip


# Sorting: by Python's sort of lines, which is stable too.


def _order(line: Array, descending: bool) -> list[int]:
    """The places of a line in order; NaN is larger than all numbers."""

    def key(place: int) -> tuple[bool, float]:
        value = float(line[place])
        is_nan = value != value
        number = 0.0 if is_nan else value
        return (not is_nan, -number) if descending else (is_nan, number)

    return sorted(range(len(line)), key=key)


def _orders(x: Array, axis: int, descending: bool) -> Array:
    lines = _lines(x, axis)
    rows = [_order(line, descending) for line in lines]
    return np.array(rows, np.int64).reshape(lines.shape)


def _argsort(x: Array, axis: int = -1, descending: bool = False) -> Array:
    return _back(_orders(x, axis, descending), x, axis)


def _sort(x: Array, axis: int = -1, descending: bool = False) -> Array:
    lines = _lines(x, axis)
    rows = [line[order] for line, order in zip(lines, _orders(x, axis, descending), strict=True)]
    return _back(np.array(rows).reshape(lines.shape), x, axis)


def _top_k(x: Array, k: int, axis: int = -1, largest: bool = True) -> tuple[Array, Array]:
    order = _argsort(x, axis, largest)
    first = np.moveaxis(np.moveaxis(order, axis, 0)[:k], 0, axis)
    values = np.moveaxis(np.moveaxis(_sort(x, axis, largest), axis, 0)[:k], 0, axis)
    return values, first


_SORTED: tuple[tuple[tuple[int, ...], dict[str, Plain]], ...] = (
    ((3, 4), {}),
    ((3, 4), {"axis": 0, "descending": True}),
    ((2, 5, 3), {"axis": 1}),
    ((2, 5, 3), {"axis": -1, "descending": True}),
    ((1,), {}),
    ((17,), {"axis": 0}),
    ((0,), {}),
    ((0, 3), {"axis": 1}),
    ((3, 0), {"axis": -1}),
)
# Ties, zeros of both signs, and NaN; a row of f64 that is too long to be sorted by counting.
_TIED = np.array([[2.0, -0.0, nan, 0.0, 2.0, -inf, 0.0], [nan, 1, inf, nan, 1, -0.0, 0.0]])
_LONG = np.random.default_rng(5).integers(-40, 40, (2, 300)) / 8


def _sorts() -> list[Case]:
    both: tuple[dict[str, Plain], ...] = ({}, {"descending": True})
    tied = (_TIED, _LONG, np.array([[3, -7, 3, 0, -7]], np.int8), np.array([5, 1, 255], np.uint8),
            np.array([2**40, -(2**60), 3]))  # fmt: skip
    picked: tuple[tuple[tuple[int, ...], dict[str, Plain]], ...] = (
        ((3, 7), {"k": 2}),
        ((7, 3), {"k": 3, "axis": 0, "largest": False}),
        ((4,), {"k": 4}),
        ((4,), {"k": 0}),
        ((1,), {"k": 1}),
        ((0, 4), {"k": 2}),
    )
    return [
        *(Case("array.sort", [s], a, _sort) for s, a in _SORTED),
        *(Case("array.sort", [x], a, _sort, is_derivative=False) for x in tied for a in both),
        *(Case("array.argsort", [s], a, _argsort) for s, a in _SORTED),
        *(Case("array.argsort", [x], a, _argsort) for x in tied for a in both),
        *(Case("array.top_k", [s], a, _top_k) for s, a in picked),
        *(Case("array.top_k", [x], {"k": k, "largest": largest}, _top_k, is_derivative=False)
          for x in (_TIED, _LONG) for k in (3, 7) for largest in (True, False)),
        Case("array.top_k", [_LONG], {"k": 200}, _top_k, is_derivative=False),
    ]  # fmt: skip


# Searching: the number of elements before an element, one by one.


def _searched(x: Array, v: Array, side: str = "left") -> Array:
    def before(one: Any, other: Any) -> bool:
        return bool(one < other or (other != other and one == one))

    lines = x.reshape(prod(x.shape[:-1]), x.shape[-1])
    wanted = v.reshape(len(lines), prod(v.shape[x.ndim - 1 :]))
    found = [
        [sum(before(e, w) if side == "left" else not before(w, e) for e in line) for w in row]
        for line, row in zip(lines, wanted, strict=True)
    ]
    return np.array(found, np.int64).reshape(v.shape)


def _searches() -> list[Case]:
    ascending = np.array([-inf, -1.5, -0.0, 0.0, 0.25, 0.25, 2.0, inf, nan])
    wanted = np.array([[nan, -inf, inf, 0.0], [-0.0, 0.25, 1.0, -7.0], [0.3, 2.0, 3.0, -1.5]])
    lines = np.sort(np.random.default_rng(2).integers(-4, 4, (2, 3, 5)) / 2)
    bits = (np.array([False, True]), np.array([True, False]))
    given: list[tuple[Array, Array]] = [
        *((ascending[:n], wanted) for n in (0, 1, 2, 3, 4, 7, 8, 9)),
        (lines, lines[..., ::2] + 0.5), (lines[:1, 0], np.zeros((1, 2, 3))), (lines[0, 0], lines),
        (integers([-(2**62), 3, 3, 2**62]), integers(3, 2**62, -5)), bits,
        (np.array([1, 200], np.uint8), np.array([200, 1, 3], np.uint8)),
        (np.arange(4.0), np.array(2.0)), (np.arange(4.0), np.zeros((0, 2))),
    ]  # fmt: skip
    return [
        Case("array.searchsorted", [x, v], {"side": side} if side else {}, _searched)
        for x, v in given
        for side in ("right", "")
    ]


# Linear algebra: by NumPy's, and by expansion.


def _matrices(*shape: int, seed: int = 0) -> Array:
    """Matrices that are far from singular, but whose pivots are not on the diagonal."""
    noise = np.random.default_rng(seed).uniform(-1, 1, shape)
    return noise / max(shape[-1], 1) + 2 * np.eye(shape[-1])[np.arange(shape[-1])[::-1]]


def _positive(*shape: int) -> Array:
    """Not symmetric; the symmetric part is positive definite."""
    noise = np.random.default_rng(3).uniform(-1, 1, shape)
    return noise / max(shape[-1], 1) + 2 * np.eye(shape[-1])


def _symmetric_cholesky(a: Array) -> Array:
    symmetric = (a + np.swapaxes(a, -1, -2)) / 2
    result = np.zeros(a.shape)
    for i in range(a.shape[-1]):
        for j in range(i + 1):
            rest = symmetric[..., i, j] - np.sum(result[..., i, :j] * result[..., j, :j], -1)
            result[..., i, j] = np.sqrt(rest) if i == j else rest / result[..., j, j]
    return result


def _solve(a: Array, b: Array, transpose: bool = False) -> Array:
    a = np.swapaxes(a, -1, -2) if transpose else a
    return np.linalg.solve(a, b[..., None])[..., 0] if b.ndim < a.ndim else np.linalg.solve(a, b)


def _triangular_solve(
    a: Array, b: Array, lower: bool = True, transpose: bool = False, unit_diagonal: bool = False
) -> Array:
    triangle = np.tril(a) if lower else np.triu(a)
    if unit_diagonal:
        size = a.shape[-1]
        triangle = triangle * (1 - np.eye(size)) + np.eye(size)
    return _solve(triangle, b, transpose)


def _minors(a: Array, i: int, j: int) -> Array:
    return np.delete(np.delete(a, i, axis=-2), j, axis=-1)


def _det(a: Array) -> Array:
    """By expansion along the first row."""
    if a.shape[-1] == 0:
        return np.ones(a.shape[:-2])
    terms = [(-1) ** j * a[..., 0, j] * _det(_minors(a, 0, j)) for j in range(a.shape[-1])]
    return np.sum(terms, axis=0)


def _slogdet(a: Array) -> tuple[Array, Array]:
    return np.sign(_det(a)), np.log(np.abs(_det(a)))


def _cofactor(a: Array) -> Array:
    result = np.zeros(a.shape)
    for i, j in np.ndindex(*a.shape[-2:]):
        result[..., i, j] = (-1) ** (i + j) * _det(_minors(a, i, j))
    return result


def _lu_factor(a: Array, defer: bool = False) -> tuple[Array, ...]:
    """Of matrices with the pivots of _matrices: rows in the opposite order."""
    size, batch = a.shape[-1], a.shape[:-2]
    columns = np.zeros((*batch, size), np.int64) + np.array(range(size), np.int64)
    rows = columns[..., ::-1]
    lu = np.array(a[..., ::-1, :])
    for k in range(size):
        lu[..., k + 1 :, k] /= lu[..., k, k][..., None]
        lu[..., k + 1 :, k + 1 :] -= lu[..., k + 1 :, k, None] * lu[..., k, None, k + 1 :]
    return lu, rows, columns, np.full(batch, (-1.0) ** (size // 2))


_MATRICES = (
    *(_matrices(*shape) for shape in ((3, 3), (2, 1, 4, 4), (1, 1), (0, 0), (2, 0, 0), (0, 3, 3))),
    _matrices(9, 9, seed=1),
)


def _triangulars() -> list[Case]:
    ways: list[dict[str, Plain]] = [
        {"lower": lower, "transpose": transpose, "unit_diagonal": unit}
        for lower in (True, False) for transpose in (True, False) for unit in (True, False)
    ]  # fmt: skip
    a = _positive(3, 3)
    name = "array.triangular_solve"
    return [
        *(Case(name, [a, (3, 2)], way, _triangular_solve) for way in (dict[str, Plain](), *ways)),
        *(Case(name, [_positive(11, 11), (11,)], way, _triangular_solve) for way in ways[::3]),
        Case(name, [_positive(2, 3, 3), (2, 3, 1)], {}, _triangular_solve),
        Case(name, [_positive(2, 3, 3), (2, 3)], {"lower": False}, _triangular_solve),
        Case(name, [_positive(1, 1), (1, 70)], {}, _triangular_solve),
        Case(name, [_positive(0, 0), (0, 2)], {}, _triangular_solve),
        Case(name, [a, (3, 0)], {}, _triangular_solve),
        Case(name, [_positive(0, 3, 3), (0, 3)], {}, _triangular_solve),
    ]


def _eigh(a: Array) -> Any:
    return tuple(np.linalg.eigh((a + np.swapaxes(a, -1, -2)) / 2))


def _svd(a: Array) -> Any:
    return tuple(np.linalg.svd(a, full_matrices=False))


def _qr(a: Array) -> Any:
    return tuple(np.linalg.qr(a))


def _eig(a: Array) -> Any:
    """In LAPACK's order, with its phases."""
    w, v = np.linalg.eig(a)
    return w.astype(complex), v.astype(complex)


def _turned(*shape: int) -> Array:
    """Matrices with real and with complex eigenvalues."""
    made = _spread(*shape)
    made[..., 0, 1], made[..., 1, 0] = 2.5, -1.5
    return made


def _pinv(a: Array, rcond: float = 1e-15) -> Array:
    return np.linalg.pinv(a, rcond=rcond)


def _spread(*shape: int) -> Array:
    """Matrices whose singular values, and eigenvalues, are far from each other."""
    noise = np.random.default_rng(8).uniform(-0.3, 0.3, shape)
    rows, columns = shape[-2:]
    return noise + np.eye(rows, columns) * (1 + np.arange(rows)[:, None])


def _eigen_solve(a: Array, x: Array, w: Array, v: Array, columns: Any = None) -> Array:
    """Column by column, of matrices without their eigenvalue 0."""
    places = [*range(*columns[:2]), *range(*columns[2:])] if columns else range(len(w))
    made = np.zeros(x.shape, x.dtype)
    for i, k in enumerate(places):
        own = np.outer(v[:, k], v[:, k].conj())
        system = w[k] * np.eye(len(w)) - (a + a.conj().T) / 2 + own
        made[:, i] = np.linalg.solve(system, x[:, i] - own @ x[:, i])
    return made


def _singular_solve(
    a: Array, x1: Array, x2: Array, u: Array, s: Array, vh: Array, columns: Any = None
) -> tuple[Array, Array]:
    """As _eigen_solve, of the symmetric matrix with a and its transpose beside zeros."""
    (m, n), (start, stop) = a.shape, columns or (0, len(s))
    both = np.block([[np.zeros((m, m)), a], [a.conj().T, np.zeros((n, n))]])
    made = np.zeros((m + n, stop - start), x1.dtype)
    for i, k in enumerate(range(start, stop)):
        one, other = np.outer(u[:, k], u[:, k].conj()), np.outer(vh[k].conj(), vh[k])
        own = np.block([[one, np.zeros((m, n))], [np.zeros((n, m)), other]])
        x = np.concatenate([x1[:, i], x2[:, i]])
        # a turns the part along u and v around; none is left there
        made[:, i] = np.linalg.solve(s[k] * np.eye(m + n) - both + 9 * own, x - own @ x)
    return made[:m], made[m:]


def _cofactor_slope(a: Array, e: Array) -> Array:
    """The cofactors are polynomials of degree n - 1: exactly by interpolation."""
    places = np.arange(-3, 4) / 3
    values = np.stack([_cofactor(a + t * e) for t in places])
    powers = np.linalg.inv(np.vander(places, increasing=True))
    return np.tensordot(powers[1], values, 1)


def _lyapunov(h: Array, q: Array, w: Array, v: Array) -> Array:
    return _sylvester(h, q)


def _sylvester(a: Array, q: Array) -> Array:
    """All equations at once."""
    unit = np.eye(a.shape[-1])
    made = np.zeros_like(q)
    for place in np.ndindex(*a.shape[:-2]):
        system = np.kron(a[place], unit) + np.kron(unit, a[place].T)
        made[place] = np.linalg.solve(system, q[place].reshape(-1)).reshape(unit.shape)
    return made


def _polar(a: Array) -> tuple[Array, ...]:
    u, s, vh = np.linalg.svd(a, full_matrices=False)
    return u @ vh, np.sum(s, -1), s, np.swapaxes(vh, -1, -2)


def _spectral(
    a: Array, w: Array, v: Array, *others: Array, order: int = 0, run: Any = None
) -> Array:
    """By quotients: values are far from each other."""
    start, stop = run or (0, len(w))
    f = np.where((np.arange(len(w)) >= start) & (np.arange(len(w)) < stop), others[0], 0)
    e = v.conj().T @ others[-1] @ v
    inner = np.diag(f)
    if order:
        apart = w[:, None] - w + np.eye(len(w))
        inner = np.where(np.eye(len(w)), np.diag(others[1]), (f[:, None] - f) / apart)
        inner = inner * (e + e.conj().T) / 2
    return v @ inner @ v.conj().T


def _spectral_trace(a: Array, w: Array, v: Array, *jets: Array, run: Any = None) -> Array:
    return np.sum(jets[0])


def _polynomial(x: Array, coefficients: Any) -> Array:
    return np.polyval([c.value.data for c in coefficients][::-1], x)


def _systems() -> list[Case]:
    """Operands agree with each other, so the factors' derivatives are tested."""
    a, tall, wide = _spread(4, 4), _spread(4, 3), _spread(3, 5)
    w, v = _eigh(a)
    h = _positive(3, 3)
    sums = _eigh(h)
    f, slopes = np.exp(w / 4), np.exp(w / 4) / 4
    part = np.array([0, 0.5, -1.5, 0])
    eigen, singular = "grad.eigen_solve", "grad.singular_solve"
    return [
        Case(eigen, [a, (4, 4), w, v], {}, _eigen_solve, is_derivative=False),
        Case(eigen, [a, (4, 3), w, v], {"columns": [0, 1, 2, 4]}, _eigen_solve,
             is_derivative=False),
        *(Case(singular, [b, (len(b), 3), (b.shape[1], 3), *_svd(b)], {}, _singular_solve,
               is_derivative=False) for b in (tall, wide)),
        Case(singular, [tall, (4, 1), (3, 1), *_svd(tall)], {"columns": [1, 2]}, _singular_solve,
             is_derivative=False),
        Case("grad.spectral", [a, w, v, f, slopes], {}, _spectral, is_derivative=False),
        Case("grad.spectral", [a, w, v, f, slopes, f, f, (4, 4)], {"order": 1}, _spectral,
             is_derivative=False),
        Case("grad.spectral", [a, w, v, part, part, part, part, (4, 4)],
             {"order": 1, "run": [1, 3]}, _spectral, is_derivative=False),
        Case("grad.spectral_trace", [a, w, v, f, slopes], {}, _spectral_trace,
             is_derivative=False),
        *_complex_systems(),
        Case("grad.lyapunov", [(h + h.T) / 2, (3, 3), *sums], {}, _lyapunov, is_derivative=False),
        *(Case("grad.polar", [b], {}, _polar) for b in
          (tall, _spread(2, 1, 4, 3), _spread(3, 3), _spread(1, 1), _spread(0, 0))),
        *(Case("grad.cofactor_slope", [_positive(*s), s], {}, _cofactor_slope)
          for s in ((3, 3), (2, 1, 4, 4), (1, 1), (0, 0))),
        *(Case("grad.polynomial", [shape], {"coefficients": floats(c)}, _polynomial) for shape, c
          in (((5,), [0.5, -1.0, 2.0, 0.25]), ((2, 3), [1.0, 2.0, -0.5]), ((), [1.0, 0.0, 3.0]))),
        *(Case("grad.sylvester", [_positive(*s), s], {}, _sylvester)
          for s in ((3, 3), (2, 2, 2), (1, 1), (0, 0))),
    ]  # fmt: skip


def _complex_systems() -> list[Case]:
    a, tall = (_spread(*s) + 1j * _spread(*s)[:, ::-1] / 4 for s in ((4, 4), (4, 3)))
    hermitian = (a + a.conj().T) / 2
    w, v = np.linalg.eigh(hermitian)
    f, slopes = np.exp(w / 4), np.exp(w / 4) / 4
    u, s, vh = np.linalg.svd(tall, full_matrices=False)
    given = [tall, tall, a[:3, :3], u, s, vh]
    positive = a @ a.conj().T
    sums = np.linalg.eigh(positive)
    jets = [hermitian, w, v, f, slopes]
    return [
        Case("grad.eigen_solve", [hermitian, a, w, v], {}, _eigen_solve, is_derivative=False),
        Case("grad.singular_solve", given, {}, _singular_solve, is_derivative=False),
        Case("grad.spectral", [*jets, f, f, a], {"order": 1}, _spectral, is_derivative=False),
        Case("grad.spectral_trace", jets, {}, _spectral_trace, is_derivative=False),
        Case("grad.lyapunov", [positive, a, *sums], {}, _lyapunov, is_derivative=False),
    ]


def _factors() -> list[Case]:
    """Signs of vectors are LAPACK's, of f32 as of f64."""
    squares = [_spread(*shape) for shape in ((3, 3), (2, 1, 4, 4), (1, 1), (0, 0), (2, 0, 0))]
    shapes = ((4, 3), (3, 5), (2, 1, 4, 3), (1, 2), (0, 3), (0, 3, 3))
    others = [_spread(*shape) for shape in shapes]
    singular = np.outer([1.0, 2, 3], [2.0, 0, 1])
    return [
        *(Case("array.eigh", [a], {}, _eigh) for a in (*squares, others[-1])),
        *(Case("array.eig", [a], {}, _eig, is_derivative=False)
          for a in (*squares, others[-1], _turned(3, 3), _turned(2, 1, 4, 4))),
        *(Case("array.eig", [a + 1j * a[..., ::-1, :]], {}, _eig, is_derivative=False)
          for a in (*squares[:3], squares[3])),
        *(Case("array.svd", [a], {}, _svd) for a in (*squares[:3], *others)),
        *(Case("array.qr", [a], {}, _qr) for a in (*squares[:3], *others)),
        *(Case("array.pinv", [a], {}, _pinv) for a in (*squares[:3], *others)),
        Case("array.pinv", [singular], {"rcond": 1e-3}, _pinv, is_derivative=False),
    ]  # fmt: skip


def _linear_algebra() -> list[Case]:
    shapes = ((3, 3), (2, 1, 4, 4), (1, 1), (9, 9), (0, 0), (0, 3, 3))
    indefinite = np.array([[[1.0, 2], [2, 1]], [[4, 2], [2, 3]]])
    failed = [[[nan, 0], [nan, nan]], [[2, 0], [1, np.sqrt(2)]]]
    return [
        *(Case("array.cholesky", [_positive(*s)], {}, _symmetric_cholesky) for s in shapes),
        Case("array.cholesky", [indefinite], {}, np.array(failed), is_derivative=False),
        *_triangulars(),
        *(Case("array.solve", [a, (*a.shape[:-1], 2)], {}, _solve) for a in _MATRICES),
        Case("array.solve", [_MATRICES[0], (3,)], {"transpose": True}, _solve),
        Case("array.solve", [_MATRICES[1], (2, 1, 4, 3)], {"transpose": True}, _solve),
        Case("array.solve", [_MATRICES[1], (2, 1, 4)], {}, _solve),
        *(Case("array.inv", [a], {}, np.linalg.inv) for a in _MATRICES),
        *(Case("array.det", [a], {}, _det) for a in _MATRICES[:-1]),
        *(Case("array.slogdet", [a], {}, _slogdet) for a in _MATRICES[:-1]),
        *(Case("grad.cofactor", [a], {}, _cofactor) for a in _MATRICES[:-1]),
        *(Case("grad.lu_factor", [a], {"defer": defer}, _lu_factor)
          for a in _MATRICES for defer in (False, True)),
    ]  # fmt: skip


CASES: tuple[Case, ...] = (
    *_cumulatives(),
    *_sorts(),
    *_searches(),
    *_linear_algebra(),
    *_factors(),
    *_systems(),
)
