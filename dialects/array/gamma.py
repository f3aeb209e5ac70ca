"""array.lgamma, and its derivatives of every order, grad.polygamma.

Both are computed in f64 and rounded once. All coefficients are exact constants: Riemann's zeta
function at the integers, and Bernoulli's numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from math import factorial, inf, log, pi, prod
from typing import Any, ClassVar

from xdsl.dialects.builtin import f64
from xdsl.irdl import irdl_op_definition, operand_def, result_def
from xdsl.utils.exceptions import VerifyException

from gradir.dialects.base.attributes import Attributes, Types, integer
from gradir.dialects.base.diagnostics import LocatedError
from gradir.dialects.base.interfaces import Cotangents
from gradir.dialects.base.lazy_numpy import np
from gradir.dialects.base.value import Scalar, Value
from gradir.dialects.building import body as b
from gradir.dialects.building.kinds import ElementwiseOp, UnaryOp, require_elements

# Euler's constant: -digamma(1).
EULER = 0.5772156649015329
# B2, B4, ..., B16.
BERNOULLI = (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6, -3617 / 510)
# The unrolled sums grow with the order.
LAST_ORDER = 20
# From here on the asymptotic series of lgamma is used.
STIRLING = 8.5


@cache
def zeta_less_one(s: int) -> float:
    """1/2**s + 1/3**s + ..., by Euler and Maclaurin's formula from 1/12**s on."""
    q = 12.0
    head = sum(k**-s for k in range(11, 1, -1))
    return head + q ** (1 - s) * (1 / (s - 1) + 1 / (2 * q) + _tail(s, 1 / q))


def _tail(s: int, r: Any) -> Any:
    """The terms after 1 / (s - 1) + r / 2 in the series of zeta(s, 1/r) * (1/r)**(s - 1)."""
    rising = [prod(range(s, s + 2 * j - 1)) / factorial(2 * j) for j in range(1, 9)]
    coefficients = [bernoulli * c for bernoulli, c in zip(BERNOULLI, rising, strict=True)]
    return _polynomial(r * r, coefficients) * r * r


def _polynomial(x: Any, coefficients: Sequence[float]) -> Any:
    """c0 + c1 x + ... on a number, a scalar of a body or an array."""
    total: Any = coefficients[-1]
    for coefficient in reversed(coefficients[:-1]):
        total = x * total + coefficient
    return total


@irdl_op_definition
class LgammaOp(UnaryOp):
    """log |gamma(x)|; inf at 0, -1, -2, ...   vjp: ct * grad.polygamma(x)"""

    name = "array.lgamma"

    def vjp(self, ct: Value, y: Value, x: Value) -> Cotangents:
        return [ct * PolygammaOp.on(x, order=0)]

    def body(self, x: Scalar) -> Scalar:
        return b.cast(_lgamma(b.cast(x, f64)), x.type)

    def numpy(self, x: Any) -> Any:
        import math

        def one(v: float) -> float:
            try:
                return math.lgamma(v)
            except (ValueError, OverflowError):
                return inf

        return np.vectorize(one, otypes=[np.float64])(x)


def _lgamma(x: Any) -> Any:
    a: Any = b.absolute(x)
    of_positive = _lgamma_positive(a)
    # gamma(x) gamma(-x) = -pi / (x sin(pi x)), and x - round(x) is exact
    sine = b.absolute(b.sin((a - b.round_even(a)) * pi))
    reflected = b.log(pi / (sine * a)) - of_positive
    # for a smaller a it is -log(a), and the product might be 0; from 2**52 on all are integers
    reflected = b.select(a < 2.0**-60, of_positive, reflected)
    reflected = b.select(a >= 2.0**52, x.full(inf), reflected)
    return b.select(x < 0, reflected, of_positive)


def _lgamma_positive(x: Any) -> Any:
    """lgamma(2 + z) + log of the factor of gamma(2 + z); from 8.5 on Stirling's series."""

    def where(condition: Any, yes: Any, no: Any) -> Any:
        return b.select(condition, yes, no)

    below_half, below_two, large = x < 0.5, x < 1.5, x >= STIRLING
    z, factor = x - 2, x.full(1)
    for _ in range(6):
        steps = z >= 0.5
        factor = where(steps, factor * (z + 1), factor)
        z = where(steps, z - 1, z)
    z = where(below_half, x, where(below_two, x - 1, z))
    divisor = where(below_half, x * (x + 1), x)
    logarithm = b.log(where(large, x, where(below_two, divisor, factor)))
    series = z * _polynomial(z, _lgamma_coefficients())
    near = where(below_two, series - logarithm, series + logarithm)
    r = 1 / x
    terms = [c / (2 * j * (2 * j - 1)) for j, c in enumerate(BERNOULLI, 1)]
    far = (x - 0.5) * (logarithm - 1) + (_polynomial(r * r, terms) * r + (log(2 * pi) - 1) / 2)
    return where(large, far, near)


@cache
def _lgamma_coefficients() -> tuple[float, ...]:
    """The coefficients of lgamma(2 + z) / z for |z| <= 1/2."""
    return (1 - EULER, *((-1) ** k * zeta_less_one(k) / k for k in range(2, 27)))


@irdl_op_definition
class PolygammaOp(ElementwiseOp):
    """Derivative number `order` (0: none) of digamma, the derivative of array.lgamma.

    vjp: ct * polygamma(x) of the next order
    """

    name = "grad.polygamma"
    ATTRIBUTES: ClassVar[tuple[str, ...]] = ("order",)
    SAME_TYPE: ClassVar[bool] = True

    x = operand_def()
    y = result_def()

    @classmethod
    def infer_types(cls, operands: Types, attributes: Attributes) -> Types:
        require_elements(operands[0], "float")
        if not 0 <= (order := integer(attributes, "order")) <= LAST_ORDER:
            raise VerifyException(f"order must be in [0, {LAST_ORDER}], got {order}")
        return [operands[0]]

    @property
    def order(self) -> int:
        return integer(self.attributes, "order")

    def vjp(self, ct: Value, y: Value, x: Value) -> Cotangents:
        if self.order == LAST_ORDER:
            raise LocatedError(f"{self.name}: no derivative beyond order {LAST_ORDER}", self)
        return [ct * PolygammaOp.on(x, order=self.order + 1)]

    def body(self, x: Scalar) -> Scalar:
        wide: Any = b.cast(x, f64)
        mirrored = wide <= 0
        positive = b.select(mirrored, 1 - wide, wide)
        value = _polygamma_positive(positive, self.order, b.log)
        cotangent = 1 / b.tan((wide - b.round_even(wide)) * pi)
        reflected = _reflected(value, cotangent, self.order)
        return b.cast(b.select(mirrored, reflected, value), x.type)

    def numpy(self, x: Any) -> Any:
        where: Any = np.where
        wide: Any = x.astype(np.float64)
        positive = where(wide <= 0, 1 - wide, wide)
        value = _polygamma_positive(positive, self.order, np.log)
        cotangent = 1 / np.tan((wide - np.rint(wide)) * pi)
        return where(wide <= 0, _reflected(value, cotangent, self.order), value)


def _polygamma_positive(x: Any, order: int, logarithm: Any) -> Any:
    """polygamma of x > 0: the recurrence up to q, then the asymptotic series."""
    steps = 12 + 2 * order
    r = 1 / (x + steps)
    head: Any = 0.0
    for k in range(steps - 1, -1, -1):
        head = head + _integer_power(1 / (x + k), order + 1)
    if order == 0:
        terms = [c / (2 * j) for j, c in enumerate(BERNOULLI, 1)]
        return logarithm(x + steps) - (r * 0.5 + _polynomial(r * r, terms) * (r * r)) - head
    tail = _integer_power(r, order) * (r * 0.5 + 1 / order + _tail(order + 1, r))
    return (head + tail) * float((-1) ** (order + 1) * factorial(order))


def _integer_power(x: Any, exponent: int) -> Any:
    result = x
    for _ in range(exponent - 1):
        result = result * x
    return result


def _reflected(of_mirrored: Any, cotangent: Any, order: int) -> Any:
    """The value at x from that at 1 - x and cot(pi x)."""
    # the derivative of c = cot(pi x) is -pi (1 + c**2)
    coefficients = [0.0, 1.0]
    for _ in range(order):
        slope = [-k * c for k, c in enumerate(coefficients)][1:]
        padded = [*slope, 0.0, 0.0]
        coefficients = [c + low for c, low in zip(padded, [0.0, 0.0, *slope], strict=True)]
    of_cotangent = _polynomial(cotangent, coefficients) * pi ** (order + 1)
    return of_mirrored * float((-1) ** order) - of_cotangent
