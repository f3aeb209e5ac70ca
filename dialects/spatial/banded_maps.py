"""Linear maps along axes with few neighbours per result element: resizing, windows.

Along one axis such a map is a matrix with one band per row. The bands' places and weights are
tables, so that one nest fits any ratio of extents, and a transpose is another table.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from xdsl.dialects.builtin import i64
from xdsl.ir import Attribute, SSAValue

from gradir.dialects.array.creation import ConstantOp
from gradir.dialects.base.access import Access, Row, dim_row
from gradir.dialects.base.lazy_numpy import np
from gradir.dialects.base.shapes import element_of, shape_of, tensor
from gradir.dialects.base.value import Emitter, Scalar
from gradir.dialects.building import body as b
from gradir.dialects.building.nests import Read, nest
from gradir.dialects.loopnest.loopnest import Output

# Bands up to this width are summed in the body of a nest.
UNROLLED_WIDTH = 4


@dataclass(frozen=True)
class Band:
    """y[i] = sum over t of weights[t, i] * x[first[i] + t]; all places are in x."""

    first: Any
    weights: Any

    @staticmethod
    def of_rows(rows: Sequence[dict[int, float]], extent: int) -> Band:
        """The band of the matrix whose rows have these entries, over an axis of some extent."""
        width = max([1, *(max(r) - min(r) + 1 for r in rows if r)])
        width = min(width, max(extent, 1))
        first = [min(min(row, default=0), max(extent - width, 0)) for row in rows]
        weights = np.zeros((width, len(rows)))
        for i, row in enumerate(rows):
            for place, weight in row.items():
                weights[place - first[i], i] = weight
        return Band(np.array(first, "int64"), weights)

    @property
    def width(self) -> int:
        return self.weights.shape[0]

    @property
    def is_unweighted(self) -> bool:
        """Whether all weights are 1."""
        return bool((self.weights == 1).all())

    @property
    def is_selection(self) -> bool:
        """Whether each result element is one of x, unchanged."""
        return self.width == 1 and self.is_unweighted

    @property
    def step(self) -> int | None:
        """The constant move of the band from row to row; None where it varies."""
        steps = {int(second - first) for first, second in pairwise(self.first)}
        return min(steps, default=0) if len(steps) < 2 else None


def transposed_rows(rows: Sequence[dict[int, float]], extent: int) -> list[dict[int, float]]:
    """The rows of the transposed matrix."""
    result: list[dict[int, float]] = [{} for _ in range(extent)]
    for i, row in enumerate(rows):
        for place, weight in row.items():
            result[place][i] = weight
    return result


def constant(emitter: Emitter, array: Any, element: Attribute) -> SSAValue:
    """A table."""
    return emitter.insert(ConstantOp.of_array(array, element)).y


def place_dims(rank: int, bands: int) -> list[int]:
    """The nest dimension of each axis in `picked`: dimensions of bands precede the last."""
    return [*range(rank - 1), rank - 1 + bands]


def picked(
    emitter: Emitter,
    type_: Attribute,
    xs: Sequence[SSAValue],
    bands: dict[int, Band],
    pick: Callable[..., Scalar],
) -> list[SSAValue]:
    """The sum of `pick(element...)` of xs over the places of a band along each axis.

    Weights are ignored: the pick tells the valid places.
    """
    shape, rank, count = shape_of(type_), len(shape_of(type_)), len(bands)
    dims, num_dims = place_dims(rank, count), rank + count
    reads = [Read(x, None) for x in xs]
    for axis, band in bands.items():
        access = Access.of_dims(num_dims, [dims[axis]])
        reads.append(Read(constant(emitter, band.first, i64), access))
    is_map = all(band.width == 1 for band in bands.values())

    def body(*values: Scalar) -> Scalar:
        places = [b.index(values[-1], d) for d in dims]
        for k, (axis, first) in enumerate(zip(bands, values[len(xs) :], strict=True)):
            places[axis] = first + b.index(first, rank - 1 + k)
        result = pick(*(b.load(table, places) for table in values[: len(xs)]))
        return b.from_compute(result, element_of(type_)) if is_map else result

    bounds = [*shape[:-1], *(band.width for band in bands.values()), *shape[-1:]]
    output = Output(type_, Access.of_dims(num_dims, dims), "none" if is_map else "add")
    return nest(emitter, bounds, reads, [output], body)


def banded(
    emitter: Emitter, type_: Attribute, x: SSAValue, bands: dict[int, Band]
) -> list[SSAValue]:
    """x multiplied by a band along each axis, one after the other, rounded to the type once.

    The last axis comes last: until then a vector holds neighbours of x.
    """
    shape, wide = list(shape_of(x.type)), b.compute_type(element_of(type_))
    if all(band.is_selection for band in bands.values()):

        def widen(value: Scalar) -> Scalar:
            return b.to_compute(value, element_of(type_))

        return picked(emitter, type_, [x], bands, widen)
    for axis, band in sorted(bands.items()):
        shape[axis] = len(band.first)
        is_last = axis == max(bands)
        x = _along(emitter, type_ if is_last else tensor(shape, wide), x, axis, band)
    return [x]


def _along(emitter: Emitter, type_: Attribute, x: SSAValue, axis: int, band: Band) -> SSAValue:
    """x multiplied by a band along one axis."""
    return _Stage(type_, axis, band, element_of(x.type)).emit(emitter, x)


@dataclass(frozen=True)
class _Stage:
    """One band, applied along one axis: a sum in the body if it is narrow, else a reduction."""

    type: Attribute
    axis: int
    band: Band
    element: Attribute

    @property
    def is_unrolled(self) -> bool:
        return self.band.width <= UNROLLED_WIDTH

    @property
    def dims(self) -> list[int]:
        """The nest dimension of each axis; a reduction's dimension stands before the last."""
        rank = len(shape_of(self.type))
        return [*range(rank - 1), rank - 1 if self.is_unrolled else rank]

    @property
    def num_dims(self) -> int:
        return self.dims[-1] + 1

    def emit(self, emitter: Emitter, x: SSAValue) -> SSAValue:
        """The nest."""
        shape, parts = shape_of(self.type), range(self.band.width if self.is_unrolled else 1)
        reads = self._sources(emitter, x)
        count = len(reads)
        if not self.band.is_unweighted:
            reads += [self._weights(emitter, t) for t in parts]

        def body(*values: Scalar) -> Scalar:
            sources, weights = values[:count], values[count:]
            total: Scalar | None = None
            for t in parts:
                term = self._element(sources, t)
                if weights:
                    term = _weighted(weights[t], term)
                total = term if total is None else total + term
            assert total is not None
            return b.from_compute(total, element_of(self.type)) if self.is_unrolled else total

        bounds = shape if self.is_unrolled else [*shape[:-1], self.band.width, shape[-1]]
        access = Access.of_dims(self.num_dims, self.dims)
        output = Output(self.type, access, "none" if self.is_unrolled else "add")
        return nest(emitter, bounds, reads, [output], body)[0]

    def _sources(self, emitter: Emitter, x: SSAValue) -> list[Read]:
        """Reads of x at each place of the band, or of x whole and of the band's first places."""
        step, first = self.band.step, self.band.first
        if step is None:
            access = Access.of_dims(self.num_dims, [self.dims[self.axis]])
            return [Read(x, None), Read(constant(emitter, first, i64), access)]
        start = int(first[0]) if len(first) else 0
        reads: list[Read] = []
        for t in range(self.band.width if self.is_unrolled else 1):
            rows = [dim_row(self.num_dims, d) for d in self.dims]
            coefficients = [0] * self.num_dims
            coefficients[self.dims[self.axis]] = step
            if not self.is_unrolled:
                coefficients[self.num_dims - 2] = 1
            rows[self.axis] = Row(tuple(coefficients), start + t)
            reads.append(Read(x, Access(self.num_dims, tuple(rows))))
        return reads

    def _weights(self, emitter: Emitter, t: int) -> Read:
        """A read of the weights: at place t of an unrolled band, else at the current place."""
        wide, at = b.compute_type(self.element), self.dims[self.axis]
        if self.is_unrolled:
            table = constant(emitter, self.band.weights[t], wide)
            return Read(table, Access.of_dims(self.num_dims, [at]))
        table = constant(emitter, self.band.weights, wide)
        return Read(table, Access.of_dims(self.num_dims, [self.num_dims - 2, at]))

    def _element(self, sources: Sequence[Scalar], t: int) -> Scalar:
        """The element: at place t of an unrolled band, else at the current place."""
        if self.band.step is not None:
            return b.to_compute(sources[t], self.element)
        table, first = sources
        places = [b.index(first, d) for d in self.dims]
        on = b.constant(first, t) if self.is_unrolled else b.index(first, self.num_dims - 2)
        places[self.axis] = first + on
        return b.to_compute(b.load(table, places), self.element)


def _weighted(weight: Scalar, value: Scalar) -> Scalar:
    """weight * value, but 0 for a weight of 0, even where the value is infinite or nan."""
    zero = b.constant(weight, 0)
    return b.select(b.equal(weight, zero), zero, weight * value)


def apply_numpy(x: Any, bands: dict[int, Band]) -> Any:
    """The map on a NumPy array; unread places do not matter, even if infinite or nan."""
    for axis, band in bands.items():
        moved = np.moveaxis(x, axis, 0)
        total = np.zeros((len(band.first), *moved.shape[1:]), x.dtype)
        for t, line in enumerate(band.weights):
            if moved.shape[0] == 0:
                break
            weight = line.astype(x.dtype).reshape(-1, *[1] * (x.ndim - 1))
            part = moved[band.first + t]
            with np.errstate(invalid="ignore"):
                total = total + np.where(weight == 0, 0, weight * part).astype(x.dtype)
        x = np.moveaxis(total, 0, axis)
    return x
