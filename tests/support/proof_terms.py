"""Straight-line IR on one number as a term of sympy: what proofs of derivatives compare."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import sympy as sp
from xdsl.dialects.builtin import FloatAttr
from xdsl.dialects.func import ReturnOp
from xdsl.ir import Block, Operation, SSAValue

from gradir.dialects.array.elementwise import splat_of
from gradir.dialects.base.shapes import element_of
from gradir.dialects.base.value import Emitter, Scalar
from gradir.dialects.building.kinds import ElementwiseOp

Term = Any


def _chosen(condition: Term, x: Term, y: Term) -> Term:
    return sp.Piecewise((x, condition), (y, True))


def _copysign(x: Term, y: Term) -> Term:
    return sp.Abs(x) * _chosen(y >= 0, sp.Integer(1), sp.Integer(-1))


def _erfc(x: Term) -> Term:
    return 1 - sp.erf(x)


def _tanh_slope(x: Term) -> Term:
    return 1 - sp.tanh(x) ** 2


def _sigmoid(x: Term) -> Term:
    return 1 / (1 + sp.exp(-x))


def _sigmoid_slope(x: Term) -> Term:
    return _sigmoid(x) * _sigmoid(-x)


# By the name behind the dialect, which is the same in array, arith and math where the meaning is.
MEANINGS: dict[str, Callable[..., Term]] = {
    **{"add": lambda x, y: x + y, "subtract": lambda x, y: x - y, "multiply": lambda x, y: x * y},
    **{"divide": lambda x, y: x / y, "negative": lambda x: -x, "square": lambda x: x * x},
    **{"addf": lambda x, y: x + y, "subf": lambda x, y: x - y, "mulf": lambda x, y: x * y},
    **{"divf": lambda x, y: x / y, "negf": lambda x: -x, "reciprocal": lambda x: 1 / x},
    **{"exp": sp.exp, "expm1": lambda x: sp.exp(x) - 1, "exp2": lambda x: 2**x},
    **{"log": sp.log, "log1p": lambda x: sp.log(1 + x), "sqrt": sp.sqrt},
    **{"log2": lambda x: sp.log(x) / sp.log(2), "log10": lambda x: sp.log(x) / sp.log(10)},
    **{"rsqrt": lambda x: 1 / sp.sqrt(x), "sin": sp.sin, "cos": sp.cos, "tan": sp.tan},
    **{"sinh": sp.sinh, "cosh": sp.cosh, "tanh": sp.tanh, "asin": sp.asin, "acos": sp.acos},
    **{"atan": sp.atan, "asinh": sp.asinh, "acosh": sp.acosh, "atanh": sp.atanh},
    **{"erf": sp.erf, "erfc": _erfc, "cbrt": sp.cbrt, "copysign": _copysign},
    "normal_cdf": lambda x: (1 + sp.erf(x / sp.sqrt(2))) / 2,
    # a point stands for x
    **dict.fromkeys(("tanh_point", "sigmoid_point"), lambda x: x),
    **{"tanh_at": sp.tanh, "tanh_slope_at": _tanh_slope, "tanh_slope": _tanh_slope},
    **{"sigmoid_at": _sigmoid, "half_tanh_at": lambda x: sp.tanh(x / 2)},
    **{"sigmoid_slope_at": _sigmoid_slope, "sigmoid_slope": _sigmoid_slope},
    "normal_density": lambda x: sp.exp(-x * x / 2) / sp.sqrt(2 * sp.pi),
    **{"abs": sp.Abs, "absf": sp.Abs, "sign": sp.sign},
    **{"hypot": lambda x, y: sp.sqrt(x * x + y * y), "sigmoid": _sigmoid},
    **{"greater": sp.Gt, "greater_equal": sp.Ge, "less": sp.Lt, "less_equal": sp.Le},
    **{"equal": sp.Eq, "not_equal": sp.Ne, "where": _chosen, "select": _chosen},
    "gate": lambda x, keep, rest: _chosen(keep, x, rest),
    "fma": lambda x, y, z: x * y + z,
    **{"logical_and": sp.And, "logical_or": sp.Or, "andi": sp.And, "ori": sp.Or},
    **{"pow": lambda x, y: x**y, "powf": lambda x, y: x**y},
    **dict.fromkeys(("maximum", "maximumf", "maxnumf"), sp.Max),
    **dict.fromkeys(("minimum", "minimumf", "minnumf"), sp.Min),
}  # fmt: skip
_COMPARISONS = {
    **{"oeq": sp.Eq, "ogt": sp.Gt, "oge": sp.Ge, "olt": sp.Lt, "ole": sp.Le, "one": sp.Ne},
    "uno": lambda x, y: sp.false,
}


def terms(block: Block, arguments: Sequence[Term]) -> list[Term]:
    """What the operands of a block's last op are, as terms of the block's arguments.

    Raises KeyError with the name of an op that has no term.
    """
    known: dict[SSAValue, Term] = dict(zip(block.args, arguments, strict=True))
    last = block.last_op
    assert last is not None
    for op in block.ops:
        if op is not last:
            known[op.results[0]] = _term(op, [known[o] for o in op.operands])
    return [known[o] for o in last.operands]


def _term(op: Operation, operands: Sequence[Term]) -> Term:
    number = _number(op)
    if number is not None:
        return sp.nan if number != number else _exact(number)
    if op.name == "arith.cmpf":
        return _COMPARISONS[_predicate(op)](*operands)
    name = op.name.partition(".")[2]
    if name not in MEANINGS and isinstance(op, ElementwiseOp):
        return _by_body(op, operands)
    return MEANINGS[name](*operands)


def _by_body(op: ElementwiseOp, operands: Sequence[Term]) -> Term:
    """The meaning that lowering gives the op."""
    block = Block(arg_types=[element_of(o.type) for o in op.operands])
    result = op.body(*(Scalar(a, Emitter(block)) for a in block.args))
    block.add_op(ReturnOp(result.ssa))
    return terms(block, operands)[0]


def _predicate(op: Operation) -> str:
    names = ("false", "oeq", "ogt", "oge", "olt", "ole", "one", "ord", "ueq", "ugt", "uge", "ult",
             "ule", "une", "uno", "true")  # fmt: skip
    return names[op.properties["predicate"].value.data]  # type: ignore[attr-defined]


def _number(op: Operation) -> float | None:
    if op.name == "arith.constant" and isinstance(op.properties["value"], FloatAttr):
        return op.properties["value"].value.data
    if op.operands or not op.results:
        return None
    number = splat_of(op.results[0])
    assert not isinstance(number, complex), "rules of real numbers"
    return number


# Constants of rules, as the numbers that they are roundings of.
_ROUNDED: tuple[Term, ...] = (
    *(sp.log(2), 1 / sp.log(2), 1 / sp.log(10), 2 / sp.sqrt(sp.pi), -2 / sp.sqrt(sp.pi)),
    *(sp.sqrt(sp.Rational(1, 2)), 1 / sp.sqrt(2 * sp.pi)),
)


def _exact(number: float) -> Term:
    for term in _ROUNDED:
        if abs(float(term) - number) < 4e-16 * abs(number):
            return term
    return sp.Rational(number)
