"""array: Taylor's series of elementwise functions, by the recurrences of power series.

A series is the list of its coefficients, tensors of one shape: x_0 + x_1 t + x_2 t^2 and so on.
(Griewank & Walther, "Evaluating Derivatives", 2nd ed., 2008, section 13.2)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import factorial, log

from xdsl.ir import Operation

from gradir.dialects.array import arithmetic, elementwise, transcendental
from gradir.dialects.array.elementwise import splat_of
from gradir.dialects.base.value import Value

Series = Sequence[Value | None]
"""Coefficients, None where they are 0."""


def sum_of(x: Series, y: Series) -> list[Value | None]:
    return [_total([a, b]) for a, b in zip(x, y, strict=True)]


def scaled(x: Series, by: float) -> list[Value | None]:
    return [None if a is None else a * by for a in x]


def negated(x: Series) -> list[Value | None]:
    return [None if a is None else -a for a in x]


def product(x: Series, y: Series) -> list[Value | None]:
    return [_total([_times(x[i], y[k - i]) for i in range(k + 1)]) for k in range(len(x))]


def quotient(x: Series, y: Series) -> list[Value | None]:
    """z with z y = x."""
    made: list[Value | None] = []
    for k, a in enumerate(x):
        rest = _less(a, [_times(made[i], y[k - i]) for i in range(k)])
        made.append(_over(rest, y[0]))
    return made


def _times(x: Value | None, y: Value | None, by: float = 1.0) -> Value | None:
    if x is None or y is None or not by:
        return None
    return x * y if by == 1.0 else x * y * by


def _over(x: Value | None, y: Value | None) -> Value | None:
    if x is None:
        return None
    return x / (x.full(0.0) if y is None else y)


def _total(terms: Sequence[Value | None]) -> Value | None:
    found = [x for x in terms if x is not None]
    return sum(found[1:], found[0]) if found else None


def _less(x: Value | None, terms: Sequence[Value | None]) -> Value | None:
    rest = _total(terms)
    if x is None or rest is None:
        return x if rest is None else -rest
    return x - rest


def _integrated(first: Value, x: Series, factor: Callable[[Series], Series]) -> Series:
    """y of y_0 and y' = f x', where `factor` gives f's series as far as y's, given so far."""
    made: list[Value | None] = [first]
    for k in range(1, len(x)):
        f = factor(made)
        made.append(_total([_times(x[j], f[k - j], j / k) for j in range(1, k + 1)]))
    return made


def _exponential(x: Series, y: Value) -> Series:
    return _integrated(y, x, lambda made: made)


def _logarithm(x: Series, y: Value, inner: Series) -> Series:
    """y with y' = x' / inner."""
    made: list[Value | None] = [y]
    for k in range(1, len(x)):
        parts = [_times(made[j], inner[k - j], j / k) for j in range(1, k)]
        made.append(_over(_less(x[k], parts), inner[0]))
    return made


def _power(x: Series, y: Value, exponent: float) -> Series:
    """y with x y' = exponent y x'; of a small integer exponent by products."""
    if exponent == int(exponent) and 0 <= exponent <= len(x):
        made: list[Value | None] = [y.full(1.0), *[None] * (len(x) - 1)]
        for _ in range(int(exponent)):
            made = product(made, x)
        return made
    made = [y]
    for k in range(1, len(x)):
        parts = [_times(x[j], made[k - j], (exponent * j - (k - j)) / k) for j in range(1, k + 1)]
        made.append(_over(_total(parts), x[0]))
    return made


def _shifted(x: Series, by: float) -> Series:
    first = x[0]
    assert first is not None
    return [first + by, *x[1:]]


def _tanh(x: Series, y: Value) -> Series:
    def slope(made: Series) -> Series:
        return _shifted(scaled(product(made, made), -1.0), 1.0)

    return _integrated(y, x, slope)


def _sine_and_cosine(x: Series, first: Sequence[Value], sign: float) -> tuple[Series, Series]:
    """y' = z x' and z' = sign y x'."""
    y: list[Value | None] = [first[0]]
    z: list[Value | None] = [first[1]]
    for k in range(1, len(x)):
        up = [_times(x[j], z[k - j], j / k) for j in range(1, k + 1)]
        down = [_times(x[j], y[k - j], sign * j / k) for j in range(1, k + 1)]
        y.append(_total(up))
        z.append(_total(down))
    return y, z


def _first(x: Series) -> Value:
    assert x[0] is not None
    return x[0]


def _sine(x: Series, y: Value) -> Series:
    return _sine_and_cosine(x, [y, elementwise.CosOp.on(_first(x))], -1.0)[0]


def _cosine(x: Series, y: Value) -> Series:
    return _sine_and_cosine(x, [elementwise.SinOp.on(_first(x)), y], -1.0)[1]


def _hyperbolic_sine(x: Series, y: Value) -> Series:
    return _sine_and_cosine(x, [y, transcendental.CoshOp.on(_first(x))], 1.0)[0]


def _hyperbolic_cosine(x: Series, y: Value) -> Series:
    return _sine_and_cosine(x, [transcendental.SinhOp.on(_first(x)), y], 1.0)[1]


def _arctangent(x: Series, y: Value, sign: float) -> Series:
    """y with y' = x' / (1 + sign x^2)."""
    return _logarithm(x, y, _shifted(scaled(product(x, x), sign), 1.0))


def series_of_sigmoid(x: Series, y: Value) -> Series:
    """1 / (1 + e^-x)."""
    return _integrated(y, x, lambda made: sum_of(made, negated(product(made, made))))


def series_of_softplus(x: Series, y: Value) -> Series:
    """The logarithm of e^x and a constant."""
    share = series_of_sigmoid(x, elementwise.ExpOp.on(_first(x) - y))
    return _integrated(y, x, lambda _: share)


_UNARY: dict[type[Operation], Callable[[Series, Value], Series]] = {
    elementwise.NegativeOp: lambda x, _: negated(x),
    elementwise.ExpOp: _exponential,
    elementwise.Expm1Op: lambda x, y: [y, *_exponential(x, elementwise.ExpOp.on(_first(x)))[1:]],
    elementwise.LogOp: lambda x, y: _logarithm(x, y, x),
    elementwise.Log1pOp: lambda x, y: _logarithm(x, y, _shifted(x, 1.0)),
    elementwise.SqrtOp: lambda x, y: _power(x, y, 0.5),
    elementwise.RsqrtOp: lambda x, y: _power(x, y, -0.5),
    elementwise.SquareOp: lambda x, _: product(x, x),
    elementwise.ReciprocalOp: lambda x, y: _power(x, y, -1.0),
    elementwise.SinOp: _sine,
    elementwise.CosOp: _cosine,
    elementwise.TanhOp: _tanh,
    transcendental.Exp2Op: lambda x, y: _exponential(scaled(x, log(2)), y),
    transcendental.Log2Op: lambda x, y: _logarithm(scaled(x, 1 / log(2)), y, x),
    transcendental.Log10Op: lambda x, y: _logarithm(scaled(x, 1 / log(10)), y, x),
    transcendental.SinhOp: _hyperbolic_sine,
    transcendental.CoshOp: _hyperbolic_cosine,
    transcendental.AtanOp: lambda x, y: _arctangent(x, y, 1.0),
    transcendental.AtanhOp: lambda x, y: _arctangent(x, y, -1.0),
}
_BINARY: dict[type[Operation], Callable[[Series, Series], Series]] = {
    elementwise.AddOp: sum_of,
    elementwise.SubtractOp: lambda x, y: sum_of(x, negated(y)),
    elementwise.MultiplyOp: product,
    elementwise.DivideOp: quotient,
}


def register_series(op: type[Operation], rule: Callable[[Series, Value], Series]) -> None:
    """Give an op of one operand its rule, from the operand's series and the result."""
    _UNARY[op] = rule


def has_series(op: Operation) -> bool:
    """Whether an op has a rule on series; a power has one with a constant exponent."""
    if isinstance(op, arithmetic.PowOp | arithmetic.LogaddexpOp):
        return isinstance(splat_of(op.rhs), int | float)
    return type(op) in _UNARY or type(op) in _BINARY


def series_of(op: Operation, y: Value, operands: Sequence[Series]) -> Series:
    """The series of the result y of an op from its operands'."""
    if isinstance(op, arithmetic.PowOp):
        exponent = splat_of(op.rhs)
        assert isinstance(exponent, int | float)
        return _power(operands[0], y, float(exponent))
    if isinstance(op, arithmetic.LogaddexpOp):
        return series_of_softplus(operands[0], y)
    if type(op) in _UNARY:
        return _UNARY[type(op)](operands[0], y)
    return _BINARY[type(op)](*operands)


def root_of_variable(root: Value, count: int) -> Series:
    """The series of the square root of the variable, from its value."""
    x: Series = [root * root, root.full(1.0), *[None] * (count - 2)]
    return _power(x, root, 0.5)


def derivatives(series: Series) -> list[Value]:
    """The value and the derivatives of a function from its series."""
    first = _first(series)
    zeros = (first.full(0.0) if x is None else x for x in series)
    return [x * float(factorial(k)) if k > 1 else x for k, x in enumerate(zeros)]
