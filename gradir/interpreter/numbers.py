"""The ops of arith and math in the interpreter, on numbers and on elements of tensors alike.

Floats come as f32 or f64: f16 and bf16 are computed in f32, and results rounded by the caller.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from math import erf, inf, isfinite, nextafter
from typing import Any, cast

import numpy as np
from xdsl.dialects import arith, math
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, FloatAttr, IntegerAttr
from xdsl.ir import Attribute, Operation

from gradir.dialects.base import extrema
from gradir.dialects.base.attributes import numbers_of
from gradir.dialects.base.diagnostics import LocatedError
from gradir.dialects.base.op_rules import foreign_type
from gradir.dialects.base.shapes import is_float
from gradir.dialects.building import points
from gradir.dialects.foreign.elements import element_type, numbers_class
from gradir.interpreter.integers import (
    INTEGER_OPS,
    as_signed,
    as_unsigned,
    integer_value,
    integers_of_floats,
)
from gradir.runtime.arrays import dtype_of

Array = np.ndarray[Any, np.dtype[Any]]

_FLOAT_PREDICATES: tuple[Callable[[Any, Any], Any], ...] = (
    lambda x, y: False,
    lambda x, y: x == y,
    lambda x, y: x > y,
    lambda x, y: x >= y,
    lambda x, y: x < y,
    lambda x, y: x <= y,
    lambda x, y: (x < y) | (x > y),
    lambda x, y: (x == x) & (y == y),
    lambda x, y: ~((x < y) | (x > y)),
    lambda x, y: ~(x <= y),
    lambda x, y: ~(x < y),
    lambda x, y: ~(x >= y),
    lambda x, y: ~(x > y),
    lambda x, y: x != y,
    lambda x, y: (x != x) | (y != y),
    lambda x, y: True,
)


def _rsqrt(x: Array) -> Array:
    return 1 / np.sqrt(x)


def _round(x: Array) -> Array:
    """To the nearest integer, halves away from 0."""
    whole = np.trunc(x)
    return whole + np.copysign(np.abs(x - whole) >= 0.5, x)


def _fma(x: Array, y: Array, z: Array) -> Array:
    """x * y + z, rounded once."""
    rows = zip(x.ravel().tolist(), y.ravel().tolist(), z.ravel().tolist(), strict=True)
    return np.array([_rounded_sum(*row, x.dtype) for row in rows], x.dtype).reshape(x.shape)


def _rounded_sum(x: float, y: float, z: float, dtype: np.dtype[Any]) -> float:
    """x * y + z as a float that rounds to the nearest number of the type, f64 or f32."""
    if not (isfinite(x * y) and isfinite(x * y + z)):
        return x * y + z
    exact = Fraction(x) * Fraction(y) + Fraction(z)
    if exact == 0:
        return x * y + z
    nearest = exact.numerator / exact.denominator
    off = exact - Fraction(nearest)
    if dtype == np.float32 and off != 0:
        # to odd, so that the second rounding equals a direct one
        bits = int(np.float64(nearest).view(np.int64))
        return nearest if bits % 2 else nextafter(nearest, inf if off > 0 else -inf)
    return nearest


# Conversions are the identity, since each result is cast to its type.
_FLOAT_OPS: dict[type[Operation], Callable[..., Any]] = {
    arith.AddfOp: np.add,
    arith.SubfOp: np.subtract,
    arith.MulfOp: np.multiply,
    arith.DivfOp: np.divide,
    arith.NegfOp: np.negative,
    arith.MaximumfOp: extrema.maximum,
    arith.MinimumfOp: extrema.minimum,
    arith.MaxnumfOp: extrema.maximum_of_numbers,
    arith.MinnumfOp: extrema.minimum_of_numbers,
    arith.ExtFOp: np.asarray,
    arith.TruncFOp: np.asarray,
    math.AbsFOp: np.abs,
    math.CeilOp: np.ceil,
    math.FloorOp: np.floor,
    math.ExpOp: np.exp,
    math.ExpM1Op: np.expm1,
    math.LogOp: np.log,
    math.Log1pOp: np.log1p,
    math.SqrtOp: np.sqrt,
    math.RsqrtOp: _rsqrt,
    math.SinOp: np.sin,
    math.CosOp: np.cos,
    math.TanOp: np.tan,
    math.SinhOp: np.sinh,
    math.CoshOp: np.cosh,
    math.TanhOp: points.tanh,
    math.AsinOp: np.arcsin,
    math.AcosOp: np.arccos,
    math.AtanOp: np.arctan,
    math.Atan2Op: np.arctan2,
    math.PowFOp: np.power,
    math.FmaOp: _fma,
    math.ErfOp: np.vectorize(erf, otypes=[np.float64]),
    math.Exp2Op: np.exp2,
    math.Log2Op: np.log2,
    math.Log10Op: np.log10,
    math.CbrtOp: np.cbrt,
    math.AsinhOp: np.arcsinh,
    math.AcoshOp: np.arccosh,
    math.AtanhOp: np.arctanh,
    math.RoundOp: _round,
    math.RoundEvenOp: np.rint,
    math.TruncOp: np.trunc,
    math.CopySignOp: np.copysign,
}


# Ops on several kinds of numbers, by the op, its operands and the type of its elements.


def _compare(op: Any, xs: Sequence[Array], element: Attribute) -> Any:
    return cast(Any, _FLOAT_PREDICATES[op.predicate.value.data](*xs))


def _select(op: Any, xs: Sequence[Array], element: Attribute) -> Any:
    condition, x, y = xs
    return cast(Any, np.where(condition, x, y))


def _integer_exponent(op: Any, xs: Sequence[Array], element: Attribute) -> Any:
    return np.power(xs[0].astype(np.float64), as_signed(xs[1]))


def _to_float(hold: Callable[[Any], Array]) -> Callable[..., Any]:
    def convert(op: Any, xs: Sequence[Array], element: Attribute) -> Any:
        number = hold(xs[0])
        # through f64: a cast through f32 would round twice
        return number.astype(np.float64) if dtype_of(element).itemsize == 2 else number

    return convert


def _to_integer(signed: bool) -> Callable[..., Any]:
    def convert(op: Any, xs: Sequence[Array], element: Attribute) -> Any:
        return integers_of_floats(xs[0], element, signed)

    return convert


def _bitcast(op: Any, xs: Sequence[Array], element: Attribute) -> Any:
    exact = xs[0].astype(dtype_of(element_type(op.input.type)))
    return exact.view(dtype_of(element))


_MIXED_OPS: dict[type[Operation], Callable[[Any, Sequence[Array], Attribute], Any]] = {
    arith.CmpfOp: _compare,
    arith.SelectOp: _select,
    arith.SIToFPOp: _to_float(as_signed),
    arith.UIToFPOp: _to_float(as_unsigned),
    arith.FPToSIOp: _to_integer(signed=True),
    arith.FPToUIOp: _to_integer(signed=False),
    arith.BitcastOp: _bitcast,
    math.FPowIOp: _integer_exponent,
}

NUMBER_OPS: frozenset[type[Operation]] = frozenset({*_FLOAT_OPS, *_MIXED_OPS, *INTEGER_OPS})
"""The ops on numbers that the interpreter knows; their forms on tensors, too."""


def knows_number_op(op: Operation) -> bool:
    return numbers_class(op) in NUMBER_OPS


def number_value(op: Operation, operands: Sequence[Array]) -> Any:
    """The result of an op of NUMBER_OPS."""
    if (type_ := foreign_type(op)) is not None:
        raise LocatedError(f"{op.name}: expected numbers or tensors, got {type_}", op)
    of_numbers, element = numbers_class(op), element_type(op.results[0].type)
    if (function := _FLOAT_OPS.get(of_numbers)) is not None:
        return function(*operands)
    if (mixed := _MIXED_OPS.get(of_numbers)) is not None:
        return mixed(op, operands, element)
    return integer_value(of_numbers, operands, element, _predicate(op))


def _predicate(op: Operation) -> int:
    found = op.properties.get("predicate")
    return found.value.data if isinstance(found, IntegerAttr) else 0


def constant_value(op: arith.ConstantOp) -> Any:
    """A number, or the array of a dense tensor."""
    match op.value:
        case FloatAttr() | IntegerAttr() as number:
            return number.value.data
        case DenseIntOrFPElementsAttr() as dense:
            element = element_type(op.result.type)
            kind = np.float64 if is_float(element) else np.int64
            array = np.array(numbers_of(dense), kind).reshape(dense.get_shape())
            return array.astype(dtype_of(element))
        case _:
            raise LocatedError(f"{op.name}: expected a number or dense<...>, got {op.value}", op)
