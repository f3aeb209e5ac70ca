"""What each elementwise op means, in mpmath, and the points that matter to it.

A row is the op's text, its meaning on jets (points_jets.py), its domain, and the answers at single
points that the meaning does not give: poles, ends, infinities, conventions at kinks.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from math import copysign, inf, nan, pi
from typing import Any

import points_jets as j
from mpmath import mp
from points_jets import Jet, Triple, apply, lifted

Answer = tuple[Any, Any, Any]
"""A value and its first two derivatives."""

# Of a crossing.
AROUND = 0.25


@dataclass(frozen=True)
class Unary:
    """An op of one operand %x. Outside of [low, high] all of its answers are nan."""

    line: str
    meaning: Callable[[Jet], Jet]
    low: float = -inf
    high: float = inf
    # Zeros, poles, kinks: points are put there and beside them.
    near: tuple[float, ...] = ()
    at: Mapping[float, Answer] = field(default_factory=dict[float, Answer])
    at_nan: Answer = (nan, nan, nan)
    # The answer at -0, where it differs from the answer at 0.
    at_minus_zero: Answer | None = None
    # Zeros of the value (0), slope (1) or curvature (2) that are no floats. Near them the error is
    # counted in last places of numbers further off: a zero has no more digits than its argument.
    crossings: tuple[tuple[int, float], ...] = ()

    @property
    def op(self) -> str:
        return self.line.partition(" ")[0]

    def answer(self, x: float) -> Answer:
        """The value and its derivatives at a point; at an infinity their limits."""
        if x != x:
            return self.at_nan
        if x == 0 and copysign(1, x) < 0 and self.at_minus_zero:
            return self.at_minus_zero
        if x in self.at:
            return self.at[x]
        if not self.low <= x <= self.high:
            return nan, nan, nan
        number = mp.mpf(x) if abs(x) != inf else mp.sign(x) * mp.mpf(2) ** 20000
        [argument] = j.arguments(0.0)
        found = self.meaning(Jet(number, argument.first, argument.second))
        return found.value, found.first[0], found.second[0][0]

    def results(self, point: tuple[float, ...]) -> dict[str, Any]:
        """What `derivatives` in points_run.py gives at a point."""
        f, first, second = self.answer(*point)
        return {"f": f, "first0": first, "forward0": first, "second00": second}

    def last_place_of(self, point: tuple[float, ...], order: int) -> Any:
        """The size whose last place counts at a point, unless the answer's own is larger."""
        [x] = point
        near = [z for n, z in self.crossings if n == order and abs(x - z) < AROUND]
        return max((abs(self.answer(z + AROUND)[order]) for z in near), default=0)


def of(op: str, function: Triple, **rest: Any) -> Unary:
    return Unary(f"{op} %x", lifted(function), **rest)


def _pieces(*pieces: tuple[float, Callable[[Jet], Jet]]) -> Callable[[Jet], Jet]:
    """The function of the first piece whose upper end is not below x."""

    def meaning(x: Jet) -> Jet:
        return next(f for end, f in pieces if x.value <= end)(x)

    return meaning


def _same(x: Jet) -> Jet:
    return x


def _constant(number: Any) -> Callable[[Jet], Jet]:
    return lambda x: x.constant(number)


def _step(op: str, function: Callable[[Any], Any], near: tuple[float, ...], **rest: Any) -> Unary:
    """An op that is constant between steps: its derivative is 0, also of nan."""
    return Unary(f"{op} %x", lambda x: x.constant(function(x.value)), near=near,
                 at={inf: (inf, 0, 0), -inf: (-inf, 0, 0)} | rest.get("at", {}),
                 at_nan=(nan, 0, 0))  # fmt: skip


def _round_even(x: Any) -> Any:
    return mp.nint(x)


def _trunc(x: Any) -> Any:
    return mp.sign(x) * mp.floor(abs(x))


def _sigmoid(x: Jet) -> Jet:
    return apply(j.SIGMOID, x)


def _gelu_tanh(x: Jet) -> Jet:
    scale, cubic = 2 * mp.sqrt(2 / mp.pi), mp.mpf(0.044715)
    return x * _sigmoid((x + x * x * x * cubic) * scale)


def _exponential(above: Any, below: Any, rate: Any) -> Callable[[Jet], Jet]:
    return _pieces(
        (0, lambda x: apply(j.EXPM1, x * rate) * below),
        (inf, lambda x: x * above),
    )


SELU_SCALE = mp.mpf(1.0507009873554804934193349852946)
SELU_ALPHA = mp.mpf(1.6732632423543772848170429916717)

NEVER: Answer = (nan, nan, nan)
_LOG = {0.0: (-inf, inf, -inf), inf: (inf, 0, 0)}
_WAVE = {
    "at": {inf: NEVER, -inf: NEVER},
    "near": (pi / 2, pi, -pi, 3 * pi / 2, 2 * pi, 11.0, 355.0),
}

# Of nan: the slope is nan, and where it is a number elsewhere, that number has no slope.
FLAT: Answer = (nan, nan, 0)

# Where slopes and curvatures are 0.
SILU = (-1.2784645427610738, -2.399357280515468)
GELU, GELU_TANH, MISH = -0.7517915246935645, -0.7524614220710163, -1.1924312145154952

ARRAY: tuple[Unary, ...] = (
    of("array.abs", j.ABS, at_nan=FLAT),
    Unary("array.negative %x", lambda x: -x, at_nan=(nan, -1, 0)),
    of("array.exp", j.EXP, near=(709.7827128933839, -745.1332191019412, 88.72283, -103.97)),
    of("array.exp2", j.EXP2, near=(1024, -1022, -1074, 128, -126, -149)),
    of("array.expm1", j.EXPM1, near=(709.7827128933839, 88.72283, -37.0, -17.0)),
    of("array.log", j.logarithm(), low=0, near=(1, 2.718281828459045), at=_LOG),
    of("array.log2", j.logarithm(2), low=0, near=(1, 8), at=_LOG),
    of("array.log10", j.logarithm(10), low=0, near=(1, 1000), at=_LOG),
    of("array.log1p", j.LOG1P, low=-1, near=(-1, 0),
       at={-1.0: (-inf, inf, -inf), inf: (inf, 0, 0)}),
    of("array.cbrt", j.CBRT, near=(1, 8, -8), at={0: (0, inf, nan)}),
    of("array.sqrt", j.SQRT, low=0, near=(1, 4)),
    of("array.rsqrt", j.RSQRT, low=0, near=(1, 4), at_minus_zero=(-inf, -inf, -inf)),
    of("array.square", j.SQUARE, at_nan=(nan, nan, 2)),
    of("array.reciprocal", j.RECIPROCAL, at_minus_zero=(-inf, -inf, -inf)),
    of("array.sin", j.SIN, **_WAVE),
    of("array.cos", j.COS, **_WAVE),
    of("array.tan", j.TAN, **_WAVE),
    of("array.tanh", j.TANH),
    of("array.sinh", j.SINH, near=(710.4758600739439, 89.41599)),
    of("array.cosh", j.COSH, near=(710.4758600739439, 89.41599)),
    of("array.asin", j.ASIN, low=-1, high=1, near=(1, -1)),
    of("array.acos", j.ACOS, low=-1, high=1, near=(1, -1)),
    of("array.atan", j.ATAN, near=(1, -1)),
    of("array.asinh", j.ASINH, at={inf: (inf, 0, 0), -inf: (-inf, 0, 0)}),
    of("array.acosh", j.ACOSH, low=1, near=(1,), at={inf: (inf, 0, 0)}),
    of("array.atanh", j.ATANH, low=-1, high=1, near=(1, -1)),
    of("array.erf", j.ERF),
    of("array.erfc", j.ERFC, near=(26.54, 9.19, 10.05)),
    of("array.lgamma", j.LGAMMA, near=(1, 2, -1, -2, -0.5, -1.5, -20, 1.4616321449683623),
       at={inf: (inf, inf, 0), -inf: (inf, nan, nan)},
       crossings=((0, -2.4570247382), (0, -2.7476826467), (0, -3.1435808883),
                  (1, 1.4616321449683623), (1, -0.504083008), (1, -1.573498473),
                  (1, -2.610720868), (1, -3.635293366))),
    _step("array.sign", mp.sign, (), at={inf: (1, 0, 0), -inf: (-1, 0, 0)}),
    _step("array.floor", mp.floor, (1, -1, 0)),
    _step("array.ceil", mp.ceil, (1, -1, 0)),
    _step("array.round", _round_even, (0.5, 1.5, -0.5, -2.5)),
    _step("array.trunc", _trunc, (1, -1, 0)),
    Unary("array.clip %x {min = -1.0, max = 1.5}",
          _pieces((-1, _constant(-1)), (1.5, _same), (inf, _constant(1.5))),
          near=(-1, 1.5), at={-1.0: (-1, 0.5, 0), 1.5: (1.5, 0.5, 0)}, at_nan=FLAT),
)  # fmt: skip

NN: tuple[Unary, ...] = (
    Unary("nn.relu %x", _pieces((0, _constant(0)), (inf, _same)), at_nan=FLAT),
    of("nn.sigmoid", j.SIGMOID, near=(-745.13, -36.7, 36.7, -103.9, 17.3)),
    Unary("nn.silu %x", lambda x: x * _sigmoid(x), near=SILU,
          crossings=((1, SILU[0]), (2, SILU[1]), (2, -SILU[1]))),
    Unary("nn.gelu %x", lambda x: x * apply(j.NORMAL_CDF, x), near=(GELU, -37.5, 8.3),
          crossings=((1, GELU), (2, 2**0.5), (2, -(2**0.5)))),
    Unary('nn.gelu %x {approximate = "tanh"}', _gelu_tanh, near=(GELU_TANH, -21.0, -10.0),
          crossings=((1, GELU_TANH), (2, 1.4185040087908284), (2, -1.4185040087908284))),
    Unary("nn.mish %x", lambda x: x * apply(j.TANH, apply(j.SOFTPLUS, x)), near=(MISH,),
          crossings=((1, MISH), (2, 1.4905711794854285), (2, -2.256376396360793))),
    of("nn.softplus", j.SOFTPLUS),
    Unary("nn.softplus %x {beta = 0.5}", lambda x: apply(j.SOFTPLUS, x * 0.5) / 0.5),
    Unary("nn.logsigmoid %x", lambda x: -apply(j.SOFTPLUS, -x)),
    of("nn.softsign", j.SOFTSIGN, at={inf: (nan, 0, 0), -inf: (nan, 0, 0)}),
    Unary("nn.leaky_relu %x", _pieces((0, lambda x: x * 0.01), (inf, _same)), at_nan=FLAT),
    Unary("nn.elu %x", _exponential(1, 1, 1)),
    Unary("nn.celu %x {alpha = 2.0}", _exponential(1, 2, mp.mpf(0.5))),
    Unary("nn.selu %x", _exponential(SELU_SCALE, SELU_SCALE * SELU_ALPHA, 1)),
    Unary("nn.hardtanh %x",
          _pieces((-1, _constant(-1)), (1, _same), (inf, _constant(1))),
          near=(-1, 1), at={1.0: (1, 0, 0)}, at_nan=FLAT),
    Unary("nn.hardsigmoid %x",
          _pieces((-3, _constant(0)), (3, lambda x: (x + 3) / 6), (inf, _constant(1))),
          near=(-3, 3), at={3.0: (1, 0, 0)}, at_nan=FLAT),
    Unary("nn.hardswish %x",
          _pieces((-3, lambda x: x * 0), (3, lambda x: x * (x + 3) / 6), (inf, _same)),
          near=(-3, 3), at={3.0: (3, 1, 0), -inf: (nan, 0, 0)}, at_nan=(nan, nan, mp.mpf(1) / 3)),
)  # fmt: skip

UNARY = (*ARRAY, *NN)
