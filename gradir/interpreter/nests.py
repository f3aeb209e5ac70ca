"""Loop nests at tensor level: the body runs once, on arrays over the grid of the bounds.

An output combines what the iterations give for each element in the order of the loops, in the type
that the body yields: halves are rounded after each step, or once if the body yields f32.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import erfc, prod
from typing import Any, cast

import numpy as np
from xdsl.dialects import arith
from xdsl.dialects.builtin import FloatAttr, IntegerAttr
from xdsl.ir import Attribute, Operation, SSAValue

from gradir.dialects.base.access import Access, Row
from gradir.dialects.base.diagnostics import LocatedError, location_text
from gradir.dialects.base.interfaces import TensorOp
from gradir.dialects.base.shapes import element_of, is_float, is_unsigned, shape_of
from gradir.dialects.building import points
from gradir.dialects.building.slopes import normal_cdf, normal_density
from gradir.dialects.loopnest.loopnest import (
    CheckIndexOp,
    IndexOp,
    LoadOp,
    LoopOp,
    NestOp,
    Output,
    YieldOp,
    scalar_type,
)
from gradir.dialects.loopnest.special import (
    ErfcOp,
    HalfTanhAtOp,
    NormalCdfOp,
    NormalDensityOp,
    RemainderOp,
    SigmoidAtOp,
    SigmoidOp,
    SigmoidPointOp,
    SigmoidSlopeAtOp,
    SigmoidSlopeOp,
    SpecialOp,
    TanhAtOp,
    TanhPointOp,
    TanhSlopeAtOp,
    TanhSlopeOp,
)
from gradir.errors import IndexOutOfRange
from gradir.interpreter.conversions import as_elements
from gradir.interpreter.integers import as_unsigned, of_width
from gradir.interpreter.numbers import constant_value, knows_number_op, number_value
from gradir.runtime.arrays import widened

Array = np.ndarray[Any, np.dtype[Any]]

_SPECIAL: dict[type[SpecialOp], Callable[[Array], Array]] = {
    ErfcOp: np.vectorize(erfc, otypes=[np.float64]),
    NormalCdfOp: normal_cdf,
    NormalDensityOp: normal_density,
    SigmoidOp: points.sigmoid,
    SigmoidSlopeOp: points.sigmoid_slope,
    TanhSlopeOp: points.tanh_slope,
    SigmoidPointOp: points.sigmoid_point,
    SigmoidAtOp: points.sigmoid_at,
    SigmoidSlopeAtOp: points.sigmoid_slope_at,
    TanhPointOp: points.tanh_point,
    TanhAtOp: points.tanh_at,
    HalfTanhAtOp: points.half_tanh_at,
    TanhSlopeAtOp: points.tanh_slope_at,
}


def nest_values(op: NestOp, operands: Sequence[Array]) -> list[Array]:
    """The results of a nest, given its inputs and inits."""
    inputs, inits = operands[: len(op.inputs)], operands[len(op.inputs) :]
    grid = RunGrid(op, op.extents)
    return outputs_of(op, grid, grid.run(inputs), inits)


def outputs_of(
    op: LoopOp, grid: RunGrid, yielded: Sequence[Array], inits: Sequence[Array]
) -> list[Array]:
    """The results of a nest or a contraction from what its body yields on the grid."""
    starts = dict(zip(op.starting_outputs, inits, strict=True))
    values, symbols = yielded[: len(op.results)], yielded[len(op.results) :]
    results: list[Array] = []
    for k, output in enumerate(op.output_list):
        count = sum(row.symbol is not None for row in output.access.rows)
        indices, symbols = symbols[:count], symbols[count:]
        places, inside = _places(grid.bounds, output.access, shape_of(output.type), indices)
        if not inside.all():
            raise IndexOutOfRange(
                f"{location_text(op)}{op.name}: an index of output {k} is out of range for "
                f"{output.type}"
            )
        element = op.yielded[k].type
        results.append(_combined(output, element, places.ravel(), values[k], starts.get(k)))
    return results


# The body.


class RunGrid:
    """A run of a body on the whole grid: each value is an array of the shape of the bounds."""

    def __init__(self, op: LoopOp, bounds: tuple[int, ...]):
        self.op = op
        self.bounds = bounds
        self.values: dict[SSAValue, Array] = {}

    def run(self, inputs: Sequence[Array]) -> list[Array]:
        """The values that the body yields."""
        op = self.op
        hidden = op.HIDDEN_INPUTS
        rows = zip(inputs, op.input_accesses, op.input_pads, strict=True)
        arguments = [a for a in op.body.block.args if a not in self.values]
        for argument, (array, access, pad) in zip(arguments, [*rows][hidden:], strict=True):
            whole = access is None
            self.values[argument] = array if whole else read_elements(self, array, access, pad)
        for inner in op.body.block.ops:
            if not isinstance(inner, YieldOp):
                (result,) = inner.results
                made = as_elements(self._value(inner), result.type)
                self.values[result] = np.broadcast_to(made, self.bounds)
        return [as_elements(self.values[v], v.type) for v in op.yielded]

    def _value(self, op: Operation) -> Any:
        operands = [widened(self.values[o]) for o in op.operands]
        match op:
            case arith.ConstantOp():
                return constant_value(op)
            case IndexOp():
                return _counts(self.bounds, op.dim.value.data)
            case LoadOp():
                return loaded_element(op, operands[0], operands[1:])
            case CheckIndexOp():
                return checked_index(op, operands[0])
            case _:
                return body_value(op, operands)


def body_value(op: Operation, operands: Sequence[Array]) -> Any:
    """The result of an op that computes, in the body of a nest or of a program."""
    match op:
        case TensorOp():  # one that takes numbers, such as grad.gate
            return op.numpy(*operands)
        case SpecialOp():
            return _SPECIAL[type(op)](*operands)
        case RemainderOp():
            return np.fmod(*operands)
        case _ if knows_number_op(op):
            return number_value(op, operands)
        case _:
            raise LocatedError(f"{op.name}: the interpreter does not know this op", op)


def read_elements(grid: RunGrid, array: Array, access: Access, pad: Attribute | None) -> Array:
    """The element of an array at each place of the grid, or the pad outside."""
    places, inside = _places(grid.bounds, access, array.shape, ())
    flat = _signed(array).reshape(-1)
    result = np.zeros(grid.bounds, flat.dtype)
    if pad is not None:
        result[...] = cast(FloatAttr | IntegerAttr, pad).value.data
    result[inside] = flat[places[inside]]
    return result


def loaded_element(op: LoadOp, array: Array, indices: Sequence[Array]) -> Array:
    for index, extent in zip(indices, array.shape, strict=True):
        _require_index(location_text(op) + op.name, index, (index < 0) | (index >= extent), extent)
    return _signed(array[tuple(indices)])


def checked_index(op: CheckIndexOp, index: Array) -> Array:
    bound = op.bound.value.data
    wrapped = index if op.from_start is not None else np.where(index < 0, index + bound, index)
    _require_index(op.message.data, index, (wrapped < 0) | (wrapped >= bound), bound)
    return wrapped


def _require_index(place: str, index: Array, wrong: Array, bound: int) -> None:
    if wrong.any():
        first = int(index[wrong].flat[0])
        raise IndexOutOfRange(f"{place}: index {first} is out of range for a size of {bound}")


def _signed(array: Array) -> Array:
    """Unsigned integers as bodies hold them."""
    return array.view(f"i{array.itemsize}") if array.dtype.kind == "u" else array


# Subscripts.


def _counts(bounds: Sequence[int], dim: int) -> Array:
    """The value of a dimension at each place of the grid."""
    line = [n if d == dim else 1 for d, n in enumerate(bounds)]
    return np.broadcast_to(np.arange(bounds[dim]).reshape(line), bounds)


def _places(
    bounds: tuple[int, ...], access: Access, shape: Sequence[int], symbols: Sequence[Array]
) -> tuple[Array, Array]:
    """The number of the element at each place of the grid, and whether it is inside."""
    places, inside = np.zeros(bounds, np.int64), np.ones(bounds, bool)
    for row, extent in zip(access.rows, shape, strict=True):
        index = _subscript(bounds, row) if row.symbol is None else symbols[row.symbol]
        inside &= (index >= 0) & (index < extent)
        places = places * extent + index
    return places, inside


def _subscript(bounds: tuple[int, ...], row: Row) -> Array:
    index = np.full(bounds, row.constant)
    for d in row.used:
        index = index + row.coefficients[d] * _counts(bounds, d)
    return index


# Outputs.


def _combined(
    output: Output, element: Attribute, places: Array, values: Array, start: Array | None
) -> Array:
    """An output from the values of all iterations, which are elements of type `element`."""
    shape = shape_of(output.type)
    if is_unsigned(element_of(output.type)):
        values = as_unsigned(values)
    result = _initial(output, element, prod(shape), values.dtype)
    if start is not None:
        result = start.reshape(-1).astype(result.dtype)
    _combine(output.combiner, result, places, values.ravel())
    held = scalar_type(element_of(output.type))
    integer = result if is_float(held) else of_width(result, held)
    return as_elements(integer, element_of(output.type)).reshape(shape)


def _initial(output: Output, element: Attribute, size: int, dtype: np.dtype[Any]) -> Array:
    """What a combiner starts from. Unwritten elements are conspicuous: nan, or the largest."""
    if is_float(element):
        numbers = {"add": 0, "multiply": 1, "maximum": -np.inf, "minimum": np.inf}
        return np.full(size, numbers.get(output.combiner, np.nan), dtype)
    if dtype.kind == "b":
        return np.full(size, output.combiner in ("multiply", "minimum", "and", "none"))
    limits = np.iinfo(dtype)
    ones = limits.max if dtype.kind == "u" else -1
    numbers = {"add": 0, "multiply": 1, "maximum": limits.min, "and": ones, "or": 0}
    return np.full(size, numbers.get(output.combiner, limits.max), dtype)


def _combine(combiner: str, result: Array, places: Array, values: Array) -> None:
    """Combine each value into the element at its place, in order."""
    is_bool = values.dtype.kind == "b"
    match combiner:
        case "none":
            result[places] = values
        case "add":
            (np.logical_xor if is_bool else np.add).at(result, places, values)
        case "multiply":
            np.multiply.at(result, places, values)
        case "and":
            np.bitwise_and.at(result, places, values)
        case "or":
            np.bitwise_or.at(result, places, values)
        case _:
            _take_extremes(combiner == "maximum", result, places, values)


def _take_extremes(largest: bool, result: Array, places: Array, values: Array) -> None:
    """The maximum or minimum at each place: -0 is below 0, and nan wins."""
    all_places = np.concatenate([np.arange(result.size), places])
    every = widened(np.concatenate([result, values]))
    keys, ties = every, ~np.signbit(every) if every.dtype.kind == "f" else every
    if not largest:
        keys, ties = (-every if every.dtype.kind == "f" else ~every), ~ties
    order = np.lexsort((ties, keys))
    # nan is sorted to the end, and of one place the last value stays
    result[all_places[order]] = every[order]
