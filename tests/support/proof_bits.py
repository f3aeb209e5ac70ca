"""Proofs that simplifications change no bit: programs before and after, as terms of z3.

Terms are of IEEE's binary16, where the solver is quick; no rule asks for the width.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import z3
from xdsl.dialects.func import FuncOp
from xdsl.ir import SSAValue

import gradir
from gradir.dialects.array.elementwise import splat_of

SORT = z3.Float16()
NEAREST = z3.RNE()

MEANINGS: dict[str, Callable[..., Any]] = {
    "array.negative": z3.fpNeg,
    "array.multiply": lambda x, y: z3.fpMul(NEAREST, x, y),
    "array.divide": lambda x, y: z3.fpDiv(NEAREST, x, y),
    "array.add": lambda x, y: z3.fpAdd(NEAREST, x, y),
    "array.subtract": lambda x, y: z3.fpSub(NEAREST, x, y),
    "grad.accumulate": lambda *xs: _sum(xs),
}
for _ours, _theirs in (
    ("array.negative", "arith.negf"), ("array.multiply", "arith.mulf"),
    ("array.divide", "arith.divf"), ("array.add", "arith.addf"),
):  # fmt: skip
    MEANINGS[_theirs] = MEANINGS[_ours]


def _sum(terms: tuple[Any, ...]) -> Any:
    total = terms[0]
    for term in terms[1:]:
        total = z3.fpAdd(NEAREST, total, term)
    return total


ONE, ZERO = (f"array.full {{value = {v}}} : T" for v in ("1.0", "0.0"))
SIMPLIFIED: tuple[tuple[str, str], ...] = (
    ("-(-x)", "%a = array.negative %x : T\n %r = array.negative %a : T"),
    ("1 * x", f"%a = {ONE}\n %r = array.multiply %a, %x : T"),
    ("x * 1", f"%a = {ONE}\n %r = array.multiply %x, %a : T"),
    ("x / 1", f"%a = {ONE}\n %r = array.divide %x, %a : T"),
    ("-(-x) by arith", "%a = arith.negf %x : T\n %r = arith.negf %a : T"),
    ("1 * x by arith", f"%a = {ONE}\n %r = arith.mulf %a, %x : T"),
    ("x / 1 by arith", f"%a = {ONE}\n %r = arith.divf %x, %a : T"),
    ("a sum of x alone", "%r = grad.accumulate %x : T"),
    ("a sum of zeros", f"%a = {ZERO}\n %b = {ZERO}\n %r = grad.accumulate %a, %b : T"),
)
"""Programs that `gradir-simplify` makes smaller."""

KEPT: tuple[tuple[str, str], ...] = (
    ("x + 0", f"%a = {ZERO}\n %r = array.add %x, %a : T"),
    ("0 * x", f"%a = {ZERO}\n %r = array.multiply %x, %a : T"),
    ("x - x", "%r = array.subtract %x, %x : T"),
    ("x / x", "%r = array.divide %x, %x : T"),
)
"""Programs that it leaves alone, as they are not what they look like: x, 0, 0 and 1."""
LOOKS_LIKE: dict[str, Callable[[Any], Any]] = {
    "x + 0": lambda x: x,
    "0 * x": lambda x: z3.FPVal(0.0, SORT),
    "x - x": lambda x: z3.FPVal(0.0, SORT),
    "x / x": lambda x: z3.FPVal(1.0, SORT),
}


def program(body: str) -> gradir.Module:
    text = f"func.func @f(%x: T) -> T {{\n {body}\n func.return %r : T }}"
    return gradir.parse(text.replace("T", "tensor<f16>"))


def op_count(module: gradir.Module) -> int:
    return sum(1 for _ in module.op.walk())


def term(module: gradir.Module, x: Any) -> Any:
    """What `@f` returns, as a term of its argument."""
    function = module.op.body.block.first_op
    assert isinstance(function, FuncOp)
    block = function.body.block
    known: dict[SSAValue, Any] = {block.args[0]: x}
    for op in block.ops:
        if op.name == "func.return":
            return known[op.operands[0]]
        number = None if op.operands else splat_of(op.results[0])
        known[op.results[0]] = (
            z3.FPVal(number, SORT)
            if number is not None
            else MEANINGS[op.name](*(known[o] for o in op.operands))
        )
    raise AssertionError("a function returns")


def differs(one: Any, other: Any) -> bool:
    """Whether there is a number for which two terms have other bits; all nan are one."""
    solver = z3.Solver()
    solver.add(one != other)
    found = solver.check()
    assert found in (z3.sat, z3.unsat), "undecided"
    return found == z3.sat
