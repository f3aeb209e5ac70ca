"""Proofs of scalar derivative rules: each vjp equals the derivative of the op's meaning.

The vjp is the one that the gradient pass emits, the meaning is sympy's function of the op's name,
or the op's `body`. Where these have pieces, they are compared on intervals: x is a function of a
positive number t that runs through the interval.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import sympy as sp
from proof_terms import Term, terms
from xdsl.dialects.func import FuncOp

import gradir

T, U = sp.symbols("t u", positive=True)
V = sp.Symbol("v", real=True)
POSITIVE, NEGATIVE = T, -T
REAL = (POSITIVE, NEGATIVE)
INSIDE = (T / (1 + T), -T / (1 + T))
"""(0, 1) and (-1, 0)."""
ABOVE_ONE, BELOW_ONE = 1 + T, -1 - T
QUADRANTS = ((T, U), (-T, U), (T, -U), (-T, -U))
PAIRS = ((V + T, V), (V, V + T))
"""Two real numbers; the first or the second is the larger one."""


@dataclass(frozen=True)
class Rule:
    """An op and the intervals on which its rule is proven: terms of x, or of x and y."""

    line: str
    intervals: Sequence[Any] = REAL

    @property
    def op(self) -> str:
        return self.line.partition(" ")[0]


def _over_reals(*names: str) -> list[Rule]:
    return [Rule(f"{name} %x") for name in names]


RULES: tuple[Rule, ...] = (
    *_over_reals(
        "array.abs", "array.negative", "array.exp", "array.expm1", "array.exp2", "array.square",
        "array.reciprocal", "array.sin", "array.cos", "array.tan", "array.tanh", "array.sinh",
        "array.cosh", "array.atan", "array.asinh", "array.erf", "array.erfc", "nn.relu",
        "nn.sigmoid", "nn.silu", "nn.gelu", "nn.mish", "nn.softplus", "nn.logsigmoid",
        "nn.softsign", "nn.leaky_relu", "nn.elu", "nn.selu",
    ),
    Rule("nn.softplus %x {beta = 0.5}"),
    Rule("nn.celu %x {alpha = 2.0}"),
    *(Rule(f"array.{name} %x", [POSITIVE]) for name in ("log", "log2", "log10", "sqrt", "rsqrt")),
    Rule("array.log1p %x", [POSITIVE, INSIDE[1]]),
    *(Rule(f"array.{name} %x", INSIDE) for name in ("asin", "acos", "atanh")),
    Rule("array.acosh %x", [ABOVE_ONE]),
    Rule("array.clip %x {min = -1.0, max = 1.0}", [*INSIDE, ABOVE_ONE, BELOW_ONE]),
    Rule("nn.hardtanh %x", [*INSIDE, ABOVE_ONE, BELOW_ONE]),
    *(Rule(f"nn.{name} %x", [3 * INSIDE[0], 3 * INSIDE[1], 3 * ABOVE_ONE, 3 * BELOW_ONE])
      for name in ("hardsigmoid", "hardswish")),
    *(Rule(f"array.{name} %x, %y", QUADRANTS)
      for name in ("add", "subtract", "multiply", "divide", "hypot")),
    *(Rule(f"array.{name} %x, %y", PAIRS) for name in ("maximum", "minimum")),
    Rule("array.pow %x, %y", [(T, U), (T, -U)]),
    Rule("array.logaddexp %x, %y", PAIRS),
    *_over_reals(*(f"math.{name}" for name in (
        "absf", "exp", "exp2", "expm1", "sin", "cos", "tan", "sinh", "cosh", "tanh", "atan",
        "erf",
    ))),
    Rule("math.asinh %x", [*INSIDE, ABOVE_ONE, BELOW_ONE]),
    Rule("arith.negf %x"),
    *(Rule(f"math.{name} %x", [POSITIVE])
      for name in ("log", "log2", "log10", "sqrt", "rsqrt", "cbrt")),
    Rule("math.log1p %x", [POSITIVE, INSIDE[1]]),
    *(Rule(f"math.{name} %x", INSIDE) for name in ("asin", "acos", "atanh")),
    Rule("math.acosh %x", [ABOVE_ONE]),
    *(Rule(f"arith.{name} %x, %y", QUADRANTS) for name in ("addf", "subf", "mulf", "divf")),
    *(Rule(f"arith.{name} %x, %y", PAIRS)
      for name in ("maximumf", "minimumf", "maxnumf", "minnumf")),
    Rule("math.powf %x, %y", [(T, U), (T, -U)]),
)  # fmt: skip

TESTED: dict[str, str] = {
    "array.lgamma": "a piecewise series; its slope is grad.polygamma by definition",
    "array.cbrt": "sympy's root of a negative number is another branch",
    "array.atan2": "no term of sympy on all four quadrants",
    "array.remainder": "steps",
    "array.copysign": "a step in the sign",
    'nn.gelu %x {approximate = "tanh"}': "its constants are roundings",
    **dict.fromkeys(
        ("array.sign", "array.floor", "array.ceil", "array.round", "array.trunc"), "steps: slope 0"
    ),
}
"""Ops whose rules are tested at points alone (tests/dialects/test_points.py), and why."""


def unproven(rule: Rule) -> list[tuple[Any, int, Term]]:
    """The intervals and operands where the rule's difference from the derivative is not 0."""
    found = list[tuple[Any, int, Term]]()
    count = 1 + rule.line.count("%y")
    function, vjp = _functions(rule.line, count)
    numbers = sp.symbols("x y", real=True)[:count]
    for interval in rule.intervals:
        places = interval if isinstance(interval, tuple) else (interval,)
        given = dict(zip(numbers, places, strict=True))
        [meaning] = terms(function.body.block, numbers)
        slopes = terms(vjp.body.block, [*places, sp.Integer(1)])[1:]
        for k, slope in enumerate(slopes):
            wanted = sp.diff(_piece(meaning, given), numbers[k]).subs(given)
            rest = _piece(slope - wanted, {})
            if not _is_zero(rest):
                found.append((interval, k, rest))
    return found


def _piece(meaning: Term, given: dict[Any, Any]) -> Term:
    """The meaning without the pieces that are not on the interval."""

    def decide(node: Term) -> Term:
        return sp.true if sp.simplify(node.subs(given)) == sp.true else sp.false

    chosen = meaning.replace(lambda n: isinstance(n, sp.core.relational.Relational), decide)
    for kind, better in ((sp.Max, sp.Ge), (sp.Min, sp.Le)):
        chosen = chosen.replace(
            kind, lambda x, y, b=better: x if sp.simplify(b(x, y).subs(given)) == sp.true else y
        )
    return chosen.replace(
        sp.Abs, lambda x: x if sp.simplify((x >= 0).subs(given)) == sp.true else -x
    )


def _is_zero(term: Term) -> bool:
    if term == 0:
        return True
    return any(
        sp.simplify(form) == 0
        for form in (sp.together(term.rewrite(sp.exp)), sp.expand(term), term)
    )


def _functions(line: str, count: int) -> tuple[FuncOp, FuncOp]:
    t = "tensor<f64>"
    arguments = ", ".join(f"%{n}: {t}" for n in "xy"[:count])
    module = gradir.parse(
        f"func.func @f({arguments}) -> {t} {{ %r = {line} : {t}\n func.return %r : {t} }}"
    ).gradient("f", mode="vjp")
    by_name = {op.sym_name.data: op for op in module.op.ops if isinstance(op, FuncOp)}
    return by_name["f"], by_name["f_vjp"]
