"""One table for the rules of scalar code and of tensor's elements and slices: programs to check."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from xdsl.dialects import arith, tensor
from xdsl.dialects import math as math_dialect
from xdsl.ir import Operation

Shape = tuple[int, ...] | None
"""Of an operand; None is a scalar."""


@dataclass(frozen=True)
class ScalarCase:
    """An op on the arguments %0, %1, ..., which are floats of type T, except those in `given`.

    `line` is the op's text, `values` the arguments of each call, flat.
    """

    op: type[Operation]
    line: str
    reference: Callable[[Sequence[Any]], Any]
    values: Sequence[Sequence[float | Sequence[float]]]
    result: Shape = None
    shapes: Sequence[Shape] = (None,)
    given: Sequence[tuple[str, str]] = ()

    def __str__(self) -> str:
        return f"{self.op.name}-{self.line}".replace(" ", "")

    def text(self, type_: str) -> str:
        """A function `@f` of the floats alone; given values are constants."""
        arguments = [f"%{k}: {_type(s, type_)}" for k, s in enumerate(self.shapes)]
        constants = [f"%{name} = arith.constant {value}" for name, value in self.given]
        body = "\n  ".join([*constants, f"%y = {self.line.replace('T', type_)}"])
        result = _type(self.result, type_)
        return (
            f"func.func @f({', '.join(arguments)}) -> {result} {{\n  {body}\n"
            f"  func.return %y : {result}\n}}"
        )

    def arguments(self, dtype: Any) -> list[list[Any]]:
        """The arguments of each call."""
        return [
            [np.array(v, dtype).reshape(s or ()) for v, s in zip(row, self.shapes, strict=True)]
            for row in self.values
        ]


def _type(shape: Shape, element: str) -> str:
    return element if shape is None else f"tensor<{'x'.join([*map(str, shape), element])}>"


def _unary(op: type[Operation], reference: Callable[[float], float], *values: float) -> ScalarCase:
    rows = [[v] for v in values or (-1.3, 0.4, 2.1)]
    return ScalarCase(op, f"{op.name} %0 : T", lambda a: reference(a[0]), rows)


def _binary(
    op: type[Operation], reference: Callable[[float, float], float], *values: tuple[float, float]
) -> ScalarCase:
    pairs = values or ((-1.3, 0.7), (0.4, -2.2), (2.1, 1.7))
    line = f"{op.name} %0, %1 : T"
    rows = [list(p) for p in pairs]
    return ScalarCase(op, line, lambda a: reference(*a), rows, shapes=(None, None))


def _power(exponent: int) -> Callable[[Sequence[Any]], Any]:
    return lambda a: a[0] ** exponent


def _round(x: float) -> float:
    return math.floor(abs(x) + 0.5) * math.copysign(1, x)


_POSITIVE = (0.3, 1.0, 2.7)
_INSIDE = (-0.8, 0.1, 0.6)

ELEMENTWISE: tuple[ScalarCase, ...] = (
    _unary(arith.NegfOp, lambda x: -x),
    _unary(math_dialect.AbsFOp, abs),
    _unary(math_dialect.ExpOp, math.exp),
    _unary(math_dialect.Exp2Op, lambda x: 2.0**x),
    _unary(math_dialect.ExpM1Op, math.expm1),
    _unary(math_dialect.LogOp, math.log, *_POSITIVE),
    _unary(math_dialect.Log1pOp, math.log1p, -0.5, 0.2, 3.0),
    _unary(math_dialect.Log2Op, math.log2, *_POSITIVE),
    _unary(math_dialect.Log10Op, math.log10, *_POSITIVE),
    _unary(math_dialect.SqrtOp, math.sqrt, *_POSITIVE),
    _unary(math_dialect.RsqrtOp, lambda x: x**-0.5, *_POSITIVE),
    _unary(math_dialect.CbrtOp, lambda x: math.copysign(abs(x) ** (1 / 3), x)),
    _unary(math_dialect.SinOp, math.sin),
    _unary(math_dialect.CosOp, math.cos),
    _unary(math_dialect.TanOp, math.tan, -1.1, 0.3, 1.2),
    _unary(math_dialect.SinhOp, math.sinh),
    _unary(math_dialect.CoshOp, math.cosh),
    _unary(math_dialect.TanhOp, math.tanh),
    _unary(math_dialect.AsinOp, math.asin, *_INSIDE),
    _unary(math_dialect.AcosOp, math.acos, *_INSIDE),
    _unary(math_dialect.AtanOp, math.atan),
    _unary(math_dialect.AsinhOp, math.asinh),
    _unary(math_dialect.AcoshOp, math.acosh, 1.4, 2.5),
    _unary(math_dialect.AtanhOp, math.atanh, *_INSIDE),
    _unary(math_dialect.ErfOp, math.erf),
    _unary(math_dialect.CeilOp, math.ceil),
    _unary(math_dialect.FloorOp, math.floor),
    _unary(math_dialect.RoundOp, _round, -1.3, 0.6, 2.1),
    _unary(math_dialect.RoundEvenOp, round, -1.3, 0.6, 2.1),
    _unary(math_dialect.TruncOp, math.trunc),
    _binary(arith.AddfOp, lambda x, y: x + y),
    _binary(arith.SubfOp, lambda x, y: x - y),
    _binary(arith.MulfOp, lambda x, y: x * y),
    _binary(arith.DivfOp, lambda x, y: x / y),
    _binary(arith.MaximumfOp, max),
    _binary(arith.MinimumfOp, min),
    _binary(arith.MaxnumfOp, max),
    _binary(arith.MinnumfOp, min),
    _binary(math_dialect.Atan2Op, math.atan2),
    _binary(math_dialect.PowFOp, math.pow, (0.4, -2.2), (2.1, 1.7), (1.3, 0.5)),
    _binary(math_dialect.CopySignOp, math.copysign),
    ScalarCase(
        math_dialect.FmaOp,
        "math.fma %0, %1, %2 : T",
        lambda a: a[0] * a[1] + a[2],
        [[0.3, -1.2, 2.0], [1.5, 0.25, -1.0]],
        shapes=(None,) * 3,
    ),
    *(
        ScalarCase(
            math_dialect.FPowIOp,
            "math.fpowi %0, %n : T, i32",
            _power(n),
            [[-1.3], [0.4]],
            given=[("n", f"{n} : i32")],
        )
        for n in (-3, -1, 0, 1, 2, 5)
    ),
    *(
        ScalarCase(
            arith.SelectOp,
            "arith.select %c, %0, %1 : T",
            operator.itemgetter(1 - c),
            [[0.5, 2.0]],
            shapes=(None, None),
            given=[("c", str(bool(c)).lower())],
        )
        for c in (0, 1)
    ),
)


def _inserted(operands: Sequence[Any]) -> Any:
    x, t = operands
    result = np.array(t)
    result[1, 2] = x
    return result


def _with_slice(operands: Sequence[Any]) -> Any:
    x, t = operands
    result = np.array(t)
    result[:, 1] = x
    return result


_AT = [("i", "1 : index"), ("j", "2 : index")]
_MATRIX = [0.5, -1.0, 2.0, 0.25, 1.5, -0.75]

ON_TENSORS: tuple[ScalarCase, ...] = (
    ScalarCase(tensor.ExtractOp, "tensor.extract %0[%i, %j] : tensor<2x3xT>", lambda a: a[0][1, 2],
               [[_MATRIX]], shapes=[(2, 3)], given=_AT),
    ScalarCase(tensor.ExtractOp, "tensor.extract %0[] : tensor<T>", lambda a: a[0][()],
               [[[3.0]]], shapes=[()]),
    ScalarCase(tensor.InsertOp, "tensor.insert %0 into %1[%i, %j] : tensor<2x3xT>", _inserted,
               [[4.0, _MATRIX]], (2, 3), [None, (2, 3)], _AT),
    ScalarCase(tensor.ExtractSliceOp,
               "tensor.extract_slice %0[%i, 0] [1, 2] [1, 2] : tensor<2x3xT> to tensor<1x2xT>",
               lambda a: a[0][1:2, 0:3:2], [[_MATRIX]], (1, 2), [(2, 3)], _AT),
    ScalarCase(tensor.ExtractSliceOp,
               "tensor.extract_slice %0[0, %i] [2, 1] [1, 1] : tensor<2x3xT> to tensor<2xT>",
               lambda a: a[0][:, 1], [[_MATRIX]], (2,), [(2, 3)], _AT),
    ScalarCase(tensor.ExtractSliceOp,
               "tensor.extract_slice %0[1, 1] [0, 2] [1, 1] : tensor<2x3xT> to tensor<0x2xT>",
               lambda a: a[0][1:1, 1:3], [[_MATRIX]], (0, 2), [(2, 3)]),
    ScalarCase(tensor.InsertSliceOp,
               "tensor.insert_slice %0 into %1[0, %i] [2, 1] [1, 1]"
               " : tensor<2xT> into tensor<2x3xT>",
               _with_slice, [[[7.0, 8.0], _MATRIX]], (2, 3), [(2,), (2, 3)], _AT),
    ScalarCase(tensor.FromElementsOp, "tensor.from_elements %0, %1, %0, %1 : tensor<2x2xT>",
               lambda a: [[a[0], a[1]]] * 2, [[1.5, -2.0]], (2, 2), [None, None]),
    ScalarCase(tensor.FromElementsOp, "tensor.from_elements %0 : tensor<T>",
               lambda a: a[0], [[1.5]], ()),
    ScalarCase(tensor.SplatOp, "tensor.splat %0 : tensor<2x3xT>",
               lambda a: np.full((2, 3), a[0]), [[1.5]], (2, 3)),
    ScalarCase(tensor.CastOp, "tensor.cast %0 : tensor<2x3xT> to tensor<2x3xT>", lambda a: a[0],
               [[_MATRIX]], (2, 3), [(2, 3)]),
    ScalarCase(arith.SelectOp, "arith.select %c, %0, %1 : tensor<2x3xT>", lambda a: a[0],
               [[_MATRIX, [3.0] * 6]], (2, 3), [(2, 3), (2, 3)], [("c", "true")]),
)  # fmt: skip

CASES = (*ELEMENTWISE, *ON_TENSORS)
