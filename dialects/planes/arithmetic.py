"""Complex arithmetic on planes: the real and the imaginary parts of a tensor, as two real tensors.

Sums, products and quotients are NumPy's, operation by operation: quotients by R. Smith's algorithm,
CACM 5 (1962), which does not overflow where the result does not.
"""

from __future__ import annotations

from collections.abc import Callable
from math import inf, nan
from typing import Any, TypeAlias

from xdsl.ir import Attribute

from gradir.dialects.array.arithmetic import CopysignOp, HypotOp
from gradir.dialects.array.comparison import LogicalAndOp, LogicalNotOp, LogicalOrOp, WhereOp
from gradir.dialects.array.creation import ConstantOp
from gradir.dialects.array.elementwise import AbsOp
from gradir.dialects.base.shapes import element_of, real_element, shape_of, tensor
from gradir.dialects.base.value import Emitter, Value

Planes: TypeAlias = "tuple[Value, Value]"
OnPlanes: TypeAlias = Callable[[Planes], Planes]


def plane_type(type_: Attribute) -> Attribute:
    """The type of both planes of a complex tensor."""
    return tensor(shape_of(type_), real_element(element_of(type_)))


def full(near: Value, number: complex) -> Planes:
    """A number like a plane."""
    whole = complex(number)
    return near.full(whole.real), near.full(whole.imag)


def constant(emitter: Emitter, numbers: Any, element: Attribute) -> Planes:
    """The complex numbers of a NumPy array, with real elements of this type."""
    re, im = (
        emitter.value(emitter.insert(ConstantOp.of_array(part, element)).y)
        for part in (numbers.real, numbers.imag)
    )
    return re, im


def add(x: Planes, y: Planes) -> Planes:
    return x[0] + y[0], x[1] + y[1]


def subtract(x: Planes, y: Planes) -> Planes:
    return x[0] - y[0], x[1] - y[1]


def negative(x: Planes) -> Planes:
    return -x[0], -x[1]


def conjugate(x: Planes) -> Planes:
    return x[0], -x[1]


def times_i(x: Planes) -> Planes:
    """i * x."""
    return -x[1], x[0]


def over_i(x: Planes) -> Planes:
    """x / i."""
    return x[1], -x[0]


def product_by(times: Callable[[Value, Value], Value], x: Planes, y: Planes) -> Planes:
    """A product that is bilinear, from the products of planes."""
    real = times(x[0], y[0]) - times(x[1], y[1])
    return real, times(x[0], y[1]) + times(x[1], y[0])


def multiply(x: Planes, y: Planes) -> Planes:
    return product_by(lambda a, b: a * b, x, y)


def scaled(x: Planes, by: Value | float) -> Planes:
    """x times a real number."""
    return x[0] * by, x[1] * by


def divide(x: Planes, y: Planes) -> Planes:
    """x / y; inf or nan by 0."""
    (a, b), (c, d) = x, y
    wide, high = AbsOp.on(c), AbsOp.on(d)
    by_real = wide >= high
    large, small = choose(by_real, (c, d), (d, c))
    is_zero = both(wide.equal(0), high.equal(0))
    ratio = small / WhereOp.on(is_zero, large.full(1), large)
    scale = 1 / (large + small * ratio)
    real = WhereOp.on(by_real, a + b * ratio, a * ratio + b) * scale
    imag = WhereOp.on(by_real, b - a * ratio, b * ratio - a) * scale
    return choose(is_zero, (a / wide, b / wide), (real, imag))


def reciprocal(x: Planes) -> Planes:
    """1 / x."""
    c, d = x
    by_real = AbsOp.on(d) <= AbsOp.on(c)
    large, small = choose(by_real, (c, d), (d, c))
    ratio = small / large
    length = large + small * ratio
    one, share = 1 / length, ratio / length
    return WhereOp.on(by_real, one, share), -WhereOp.on(by_real, share, one)


def choose(condition: Value, x: Planes, y: Planes) -> Planes:
    """x where a condition is true, else y, on both planes."""
    return WhereOp.on(condition, x[0], y[0]), WhereOp.on(condition, x[1], y[1])


def both(x: Value, y: Value) -> Value:
    return LogicalAndOp.on(x, y)


def either(x: Value, y: Value) -> Value:
    return LogicalOrOp.on(x, y)


def is_not(x: Value) -> Value:
    return LogicalNotOp.on(x)


def is_finite(x: Value) -> Value:
    """Whether elements of a plane are finite."""
    return AbsOp.on(x) < inf


def is_infinite(x: Value) -> Value:
    """Whether elements of a plane are inf or -inf."""
    return AbsOp.on(x).equal(inf)


def is_nan(x: Value) -> Value:
    return x.not_equal(x)


def signed_like(size: Value, sign: Value) -> Value:
    """|size| with the sign of another plane, also of its -0."""
    return CopysignOp.on(size, sign)


def length(x: Planes) -> Value:
    """|x| without overflow."""
    return HypotOp.on(*x)


def nan_like(near: Value) -> Planes:
    """nan on both planes."""
    return near.full(nan), near.full(nan)
