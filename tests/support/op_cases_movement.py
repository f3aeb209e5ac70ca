"""Rows of the op table for array's ops that put together, repeat, cut out and scatter."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import product
from typing import Any

import numpy as np
from op_cases import Case, integers
from op_references import Array, Reference


def _stack(*xs: Array, axis: int = 0) -> Array:
    result = np.zeros((len(xs), *xs[0].shape))
    for k, x in enumerate(xs):
        result[k] = x
    return np.moveaxis(result, 0, axis)


def _concat(*xs: Array, axis: int) -> Array:
    return np.moveaxis(np.array([row for x in xs for row in np.moveaxis(x, axis, 0)]), 0, axis)


def _split(x: Array, sizes: Any, axis: int = 0) -> tuple[Array, ...]:
    lines, start = np.moveaxis(x, axis, 0), 0
    parts: list[Array] = []
    for n in np.atleast_1d(sizes):
        parts.append(np.moveaxis(lines[start : start + n], 0, axis))
        start += n
    return tuple(parts)


def _places(x: Array, shape: Sequence[int], source: Callable[..., Any]) -> Array:
    """The array whose element at each place is x's at `source(place)`."""
    result = np.zeros(shape, x.dtype)
    for place in np.ndindex(*shape):
        result[place] = x[source(place)]
    return result


def _roll(x: Array, shift: Any, axis: Any = None) -> Array:
    if axis is None:
        flat = x.reshape(-1)
        return _roll(flat, shift, 0).reshape(x.shape)
    axes = [int(a) % x.ndim for a in np.atleast_1d(axis)]
    shifts: list[int] = np.broadcast_to(shift, len(axes)).tolist()
    moved = dict(zip(axes, shifts, strict=True))

    def source(place: tuple[int, ...]) -> tuple[int, ...]:
        return tuple((i - moved.get(d, 0)) % x.shape[d] for d, i in enumerate(place))

    return _places(x, x.shape, source)


def _tile(x: Array, repeats: Any) -> Array:
    repeats = np.atleast_1d(np.array(repeats, int))
    rank = max(x.ndim, len(repeats))
    x = x.reshape((1,) * (rank - x.ndim) + x.shape)
    repeats = [1] * (rank - len(repeats)) + list(repeats)
    shape = [n * r for n, r in zip(x.shape, repeats, strict=True)]

    def source(place: tuple[int, ...]) -> tuple[int, ...]:
        return tuple(i % n for i, n in zip(place, x.shape, strict=True))

    return _places(x, shape, source)


def _repeat(x: Array, count: int, axis: int | None = None) -> Array:
    if axis is None:
        x, axis = x.reshape(-1), 0
    axis %= x.ndim
    shape = [n * count if d == axis else n for d, n in enumerate(x.shape)]

    def source(place: tuple[int, ...]) -> tuple[int, ...]:
        return tuple(i // count if d == axis else i for d, i in enumerate(place))

    return _places(x, shape, source)


def _assembly() -> list[Case]:
    return [
        Case("array.stack", [(2, 3)] * 3, {}, _stack),
        Case("array.stack", [(2, 3)] * 2, {"axis": -1}, _stack),
        Case("array.stack", [(2, 3)] * 2, {"axis": 1}, _stack),
        Case("array.stack", [()] * 17, {}, _stack),
        Case("array.stack", [(17,)], {"axis": -2}, _stack),
        Case("array.stack", [(0,)] * 2, {"axis": 1}, _stack),
        Case("array.stack", [(2, 17)] * 5, {"axis": 1}, _stack),
        Case("array.stack", [(2, 17)] * 9, {"axis": -1}, _stack),
        Case("array.concat", [(n % 4, 17) for n in range(6)], {"axis": 0}, _concat),
        Case("array.split", [(6, 4)], {"sizes": [1, 3, 2]}, _split),
        Case("array.split", [(2, 5)], {"axis": -1, "sizes": [2, 0, 3]}, _split),
        Case("array.split", [(2, 3, 2)], {"axis": 1, "sizes": [1, 2]}, _split),
        Case("array.split", [(17,)], {"sizes": 17}, _split),
        Case("array.split", [(0,)], {"sizes": [0, 0]}, _split),
        Case("array.roll", [(5,)], {"shift": 2, "axis": 0}, _roll),
        Case("array.roll", [(3, 4)], {"shift": -5, "axis": -1}, _roll),
        Case("array.roll", [(3, 4)], {"shift": 7}, _roll),
        Case("array.roll", [(3, 4, 2)], {"shift": [1, -1], "axis": [0, 1]}, _roll),
        Case("array.roll", [(3, 4, 2)], {"shift": 1, "axis": [-1, 0, 1]}, _roll),
        Case("array.roll", [(3, 4)], {"shift": 6, "axis": 0}, _roll),
        Case("array.roll", [(17,)], {"shift": 17, "axis": 0}, _roll),
        Case("array.roll", [()], {"shift": 3}, _roll),
        Case("array.roll", [(0, 2)], {"shift": 1, "axis": 0}, _roll),
        Case("array.tile", [(3,)], {"repeats": 2}, _tile),
        Case("array.tile", [(2, 3)], {"repeats": [2, 3]}, _tile),
        Case("array.tile", [(2, 3)], {"repeats": [3]}, _tile),
        Case("array.tile", [(3,)], {"repeats": [2, 1, 2]}, _tile),
        Case("array.tile", [()], {"repeats": [2, 2]}, _tile),
        Case("array.tile", [(2, 3)], {"repeats": []}, _tile),
        Case("array.tile", [(2, 3)], {"repeats": [0, 2]}, _tile),
        Case("array.tile", [(0, 3)], {"repeats": [2, 2]}, _tile),
        Case("array.repeat", [(3,)], {"count": 2, "axis": 0}, _repeat),
        Case("array.repeat", [(2, 3)], {"count": 3, "axis": -1}, _repeat),
        Case("array.repeat", [(2, 3, 2)], {"count": 2, "axis": 1}, _repeat),
        Case("array.repeat", [(2, 3)], {"count": 2}, _repeat),
        Case("array.repeat", [()], {"count": 4}, _repeat),
        Case("array.repeat", [(17,)], {"count": 1, "axis": 0}, _repeat),
        Case("array.repeat", [(2, 3)], {"count": 0, "axis": 0}, _repeat),
    ]


def _border(x: Array, low: Any, high: Any, mode: str) -> Array:
    """Element by element, as walking over the ends goes on or turns round."""
    low, high = np.broadcast_to(low, x.ndim), np.broadcast_to(high, x.ndim)
    shape = [int(n) for n in low + x.shape + high]
    lines: list[list[int]] = []
    for n, lo, m in zip(x.shape, low, shape, strict=True):
        inside = list(range(n))
        line = inside if mode == "edge" else inside[::-1][:-1] + inside + inside[::-1][1:]
        first = int(lo) if mode == "edge" else int(lo) - n + 1
        lines.append([line[min(max(i - first, 0), len(line) - 1)] for i in range(m)])

    def source(place: tuple[int, ...]) -> tuple[int, ...]:
        return tuple(line[i] for line, i in zip(lines, place, strict=True))

    return _places(x, shape, source)


def _borders() -> list[Case]:
    rows: list[tuple[tuple[int, ...], dict[str, Any]]] = [
        ((4,), {"low": 2, "high": 3}),
        ((4,), {"low": 3, "high": 0}),
        ((3, 4), {"low": [1, 2], "high": [2, 0]}),
        ((2, 3, 3), {"low": [0, 1, 2], "high": [0, 1, 2]}),
        ((2,), {"low": 1, "high": 1}),
        ((17,), {"low": 0, "high": 16}),
        ((3, 4), {"low": [0, 0], "high": [0, 0]}),
        ((0, 3), {"low": [0, 1], "high": [0, 2]}),
        ((), {"low": [], "high": []}),
    ]
    cases = [Case("array.pad", [s], {**a, "mode": m}, _border)
             for m in ("edge", "reflect") for s, a in rows]  # fmt: skip
    wide: list[tuple[tuple[int, ...], dict[str, Any]]] = [
        ((1,), {"low": 3, "high": 2}),
        ((1, 2), {"low": [2, 5], "high": [0, 4]}),
    ]
    return cases + [Case("array.pad", [s], {**a, "mode": "edge"}, _border) for s, a in wide]


def _window(x: Array, starts: Sequence[Array], sizes: Sequence[int]) -> list[list[int]]:
    """The indices along each axis: the last ones possible where a start is too large."""
    lines: list[list[int]] = []
    for n, m, start in zip(x.shape, sizes, starts, strict=True):
        possible = [s for s in range(n - m + 1) if s <= start] or [0]
        lines.append(list(range(possible[-1], possible[-1] + m)))
    return lines


def _dynamic_slice(x: Array, *starts: Array, sizes: Any) -> Array:
    lengths: list[int] = np.atleast_1d(sizes).tolist()
    return x[np.ix_(*_window(x, starts, lengths))] if x.ndim else x


def _dynamic_update_slice(x: Array, update: Array, *starts: Array) -> Array:
    if not x.ndim:
        return update
    result = np.array(x)
    for place, target in zip(
        np.ndindex(*update.shape), product(*_window(x, starts, update.shape)), strict=True
    ):
        result[target] = update[place]
    return result


def _dynamic_slices() -> list[Case]:
    def at(*starts: int, dtype: Any = np.int64) -> list[Array]:
        return [np.array(s, dtype) for s in starts]

    rows: list[tuple[tuple[int, ...], list[Array], list[int]]] = [
        ((5,), at(2), [3]),
        ((5,), at(4, dtype=np.int32), [3]),
        ((5,), at(-2, dtype=np.int8), [2]),
        ((4, 6), at(1, 2), [2, 3]),
        ((4, 6), at(9, 0), [1, 6]),
        ((4, 6), at(0, 3), [4, 2]),
        ((3, 4, 5), at(1, 9, -9), [1, 2, 5]),
        ((17,), at(2**62), [17]),
        ((300,), at(250, dtype=np.uint8), [20]),
        ((3, 90), at(1, 11), [2, 70]),
        ((), [], []),
        ((4,), at(2), [0]),
        ((0,), at(1), [0]),
    ]
    return [
        *(Case("array.dynamic_slice", [s, *i], {"sizes": m}, _dynamic_slice) for s, i, m in rows),
        *(
            Case("array.dynamic_update_slice", [s, tuple(m), *i], {}, _dynamic_update_slice)
            for s, i, m in rows
        ),
    ]


def _tuples(
    x: Array, indices: Array, batch_dims: int
) -> Iterator[tuple[tuple[int, ...], tuple[int, ...]]]:
    """Places in the result of gather_nd, and where in x they lead."""
    *outer, depth = indices.shape
    for place in np.ndindex(*outer, *x.shape[batch_dims + depth :]):
        picked = tuple(int(i) for i in indices[place[: len(outer)]])
        yield place, (*place[:batch_dims], *picked, *place[len(outer) :])


def _gather_nd(x: Array, indices: Array, batch_dims: int = 0) -> Array:
    depth = indices.shape[-1]
    result = np.zeros((*indices.shape[:-1], *x.shape[batch_dims + depth :]))
    for place, source in _tuples(x, indices, batch_dims):
        result[place] = x[source]
    return result


def _scatter_nd_add(x: Array, indices: Array, updates: Array, batch_dims: int = 0) -> Array:
    result = np.array(x)
    for place, target in _tuples(x, indices, batch_dims):
        result[target] += updates[place]
    return result


def _index_update(x: Array, indices: Array, updates: Array, axis: int = 0) -> Array:
    axis %= x.ndim
    result = np.moveaxis(np.array(x), axis, 0)
    k = indices.ndim
    rows = np.moveaxis(updates, range(axis, axis + k), range(k)).reshape(-1, *result.shape[1:])
    for i, row in zip(indices.ravel(), rows, strict=True):
        result[i] = row
    return np.moveaxis(result, 0, axis)


def _one_hot(indices: Array, depth: int, axis: int = -1) -> Array:
    rows = [np.eye(depth)[i] for i in indices.ravel()]
    return np.moveaxis(np.reshape(rows, (*indices.shape, depth)), -1, axis)


def _scatters() -> list[Case]:
    pairs = integers([[0, 1], [2, -1], [0, 1], [-3, 0]])
    singles = integers([[[1], [0]], [[-1], [1]]], dtype=np.int32)
    rows: list[tuple[tuple[int, ...], Array, dict[str, Any]]] = [
        ((3, 4), pairs, {}),
        ((3, 4, 2), pairs, {}),
        ((3, 4), singles, {}),
        ((2, 3), singles, {"batch_dims": 1}),
        ((2, 2, 3), singles, {"batch_dims": 2}),
        ((2, 3, 2, 2), integers([[[0, 1]], [[-1, 0]]]), {"batch_dims": 1}),
        ((17,), integers([[16]]), {}),
        ((300, 2), np.array([255, 1], np.uint8), {}),
        ((3, 4), np.zeros((0, 2), np.int64), {}),
        ((0, 4), np.zeros((0, 1), np.int64), {}),
        ((2, 0), integers([[1], [0], [1]]), {}),
    ]

    def taken(x: tuple[int, ...], indices: Array, attributes: dict[str, Any]) -> tuple[int, ...]:
        batch = attributes.get("batch_dims", 0)
        return (*indices.shape[:-1], *x[batch + indices.shape[-1] :])

    repeated, none = integers([[0, 2], [2, -1]]), np.zeros(0, np.int64)
    return [
        *(Case("array.gather_nd", [x, i], a, _gather_nd) for x, i, a in rows),
        *(
            Case("array.scatter_nd_add", [x, i, taken(x, i, a)], a, _scatter_nd_add)
            for x, i, a in rows
        ),
        Case("array.index_update", [(4, 3), integers(2, 0, -1), (3, 3)], {}, _index_update),
        Case("array.index_update", [(3, 4), repeated, (2, 2, 4)], {}, _index_update),
        Case("array.index_update", [(2, 3, 2), repeated, (2, 2, 2, 2)], {"axis": -2},
             _index_update),
        Case("array.index_update", [(3,), integers(1, 1, -2, dtype=np.int32), (3,)], {},
             _index_update),
        Case("array.index_update", [(2, 3), np.array(-1, np.int8), (2,)], {"axis": 1},
             _index_update),
        Case("array.index_update", [(300,), np.array([255, 7], np.uint8), (2,)], {},
             _index_update),
        Case("array.index_update", [(3, 2), none, (0, 2)], {}, _index_update),
        Case("array.index_update", [(0,), none, (0,)], {}, _index_update),
        Case("array.index_update", [(17, 20), np.arange(34) % 17, (34, 20)], {}, _index_update),
        Case("array.one_hot", [integers(0, 2, -1)], {"depth": 3}, _one_hot,
             results=[((3, 3), None)]),
        Case("array.one_hot", [repeated], {"depth": 4, "axis": 0}, _one_hot,
             results=[((4, 2, 2), "int32")]),
        Case("array.one_hot", [repeated], {"depth": 17, "axis": 1}, _one_hot,
             results=[((2, 17, 2), "bool")]),
        Case("array.one_hot", [np.array(3, np.uint8)], {"depth": 5}, _one_hot,
             results=[((5,), "float16")]),
        Case("array.one_hot", [none], {"depth": 2}, _one_hot, results=[((0, 2), None)]),
        Case("array.one_hot", [none], {"depth": 0}, _one_hot, results=[((0, 0), None)]),
    ]  # fmt: skip


def _eye(shape: tuple[int, int], k: int) -> Array:
    ones = [float(j - i == k) for i in range(shape[0]) for j in range(shape[1])]
    return np.reshape(ones, shape)


def _side(x: Array, kept: Callable[[int], bool]) -> Array:
    """x with zeros on the diagonals that are not kept."""
    result = np.array(x)
    for place in np.ndindex(*x.shape):
        if not kept(place[-1] - place[-2]):
            result[place] = 0
    return result


def _tril(x: Array, k: int = 0) -> Array:
    return _side(x, lambda d: d <= k)


def _triu(x: Array, k: int = 0) -> Array:
    return _side(x, lambda d: d >= k)


def _diagonal(x: Array, offset: int = 0) -> Array:
    rows, columns = x.shape[-2:]
    line = [x[..., i, i + offset] for i in range(rows) if 0 <= i + offset < columns]
    return np.stack(line, axis=-1) if line else np.zeros((*x.shape[:-2], 0))


def _trace(x: Array, offset: int = 0) -> Array:
    return np.sum(_diagonal(x, offset), axis=-1)


def _on_diagonal(*shape: int) -> Reference:
    def function(ct: Array, offset: int = 0) -> Array:
        result = np.zeros(shape)
        for place in np.ndindex(*shape):
            *batch, i, j = place
            if j - i == offset:
                result[place] = ct[(*batch, min(i, j))]
        return result

    return function


_MATRICES = ((3, 3), (2, 4), (4, 2), (2, 3, 4), (1, 1), (0, 3), (17, 2))


def _triangles() -> list[Case]:
    def eye(shape: tuple[int, int], element: str | None, **k: int) -> Case:
        reference = _eye(shape, k.get("k", 0))
        return Case("array.eye", [], k, reference, results=[(shape, element)])

    def backward(shape: tuple[int, ...], ct: tuple[int, ...], **offset: int) -> Case:
        return Case("grad.diagonal_backward", [ct], offset, _on_diagonal(*shape),
                    results=[(shape, None)])  # fmt: skip

    return [
        eye((3, 3), None),
        eye((2, 4), "int32", k=1),
        eye((4, 2), "bool", k=-2),
        eye((17, 17), "float32", k=20),
        eye((0, 3), None, k=1),
        *(
            Case(op, [shape], {"k": k} if k else {}, reference)
            for op, reference in (("array.tril", _tril), ("array.triu", _triu))
            for shape in _MATRICES
            for k in (0, 1, -1)
        ),
        Case("array.tril", [(3, 4)], {"k": 9}, _tril),
        Case("array.triu", [(3, 4)], {"k": 9}, _triu),
        *(
            Case(op, [shape], {"offset": k} if k else {}, reference)
            for op, reference in (("array.diagonal", _diagonal), ("array.trace", _trace))
            for shape in _MATRICES
            for k in (0, 2, -1)
        ),
        Case("array.diagonal", [(3, 4)], {"offset": -7}, _diagonal),
        backward((3, 3), (3,)),
        backward((2, 4, 3), (2, 2), offset=-2),
        backward((2, 4), (2,), offset=1),
        backward((2, 4), (0,), offset=5),
        backward((0, 3), (0,)),
    ]


CASES: tuple[Case, ...] = (
    *_assembly(),
    *_borders(),
    *_dynamic_slices(),
    *_scatters(),
    *_triangles(),
)
