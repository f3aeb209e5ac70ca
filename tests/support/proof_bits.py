"""Proofs that simplifications change no bit: programs before and after, as terms of z3.

Terms are of IEEE's binary16, or of 8 bits, where the solver is quick; no rule asks for the width.
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
    # without bounds, to the type that is there, and along no axis from what reductions start with
    "array.clip": lambda x: x,
    "array.astype": lambda x: x,
    "array.sum": lambda x: z3.fpAdd(NEAREST, z3.FPVal(-0.0, SORT), x),
    "array.prod": lambda x: z3.fpMul(NEAREST, z3.FPVal(1.0, SORT), x),
}
INTEGER_MEANINGS: dict[str, Callable[..., Any]] = {
    "array.negative": lambda x: -x,
    "array.multiply": lambda x, y: x * y,
    "array.add": lambda x, y: x + y,
    "array.clip": lambda x: x,
    "array.astype": lambda x: x,
    "array.sum": lambda x: x + 0,
    "array.prod": lambda x: x * 1,
    "grad.accumulate": lambda *xs: sum(xs),
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
    ("a clip without bounds", "%r = array.clip %x : T"),
    ("a conversion to the same type", "%r = array.astype %x : T -> T"),
    ("a sum along no axis", "%r = array.sum %x {axis = []} : T -> T"),
    ("a product along no axis", "%r = array.prod %x {axis = []} : T -> T"),
    ("a sum of zeros", f"%a = {ZERO}\n %b = {ZERO}\n %r = grad.accumulate %a, %b : T"),
)
"""Programs that `gradir-simplify` makes smaller."""

_INTEGER_ONE = "array.full {value = 1} : T"
INTEGERS: tuple[tuple[str, str], ...] = (
    ("-(-x)", "%a = array.negative %x : T\n %r = array.negative %a : T"),
    ("1 * x", f"%a = {_INTEGER_ONE}\n %r = array.multiply %a, %x : T"),
    ("x * 1", f"%a = {_INTEGER_ONE}\n %r = array.multiply %x, %a : T"),
    *(row for row in SIMPLIFIED if "array." in row[1] and "%a" not in row[1]),
    ("a sum of x alone", "%r = grad.accumulate %x : T"),
)
"""Those that are simplified on integers too."""

UNPROVEN: dict[str, str] = {
    "array.where": "an update of some indices: one term says no more than one index; tested for "
    "all indices of three rows (tests/gradient/test_simplification_proofs.py); a choice from a "
    "choice by the same bools, which is one choice: tested",
    "grad.gate": "a gate put before itself, which is one choice: tested",
    "array.diagonal": "its result has an axis less than its operand, and is never the operand",
    "array.broadcast_to of array.full": "the number is one attribute before and after; tested",
    "grad.barrier of a constant": "the constant itself, and equal constants may merge; tested",
    "tensor.cast": "the operand itself, where the types are equal",
    "array.bitcast": "the operand itself, where the types are equal",
    "array.complex": "of the two parts of one number: that number, whose bits only move",
    "array.real": "of a number made of two parts: the first of them",
    "array.imag": "of a number made of two parts: the second of them",
    "array.conj": "of a conjugate: its operand, the sign bit of the second part flipped twice",
    "scf.for": "control flow: a loop that never runs, or once; tested",
    "scf.if": "control flow: a branch that a constant takes; tested",
    "scf.index_switch": "control flow: a case that a constant takes; tested",
    "scf.execute_region": "control flow: a region of one block; tested",
}
"""Ops with a simplification that is not proven, and why."""

PASSES: dict[str, str] = {
    "cleanup/simplify.py": "the simplifications of this page; equal constants are merged by bits",
    "cleanup/simplify_flow.py": "control flow, above",
    "cleanup/initial_reads.py": "no algebra: places of a carried tensor that no iteration "
    "wrote yet, by intervals; tested by random loops; gates whose bools are true go",
    "cleanup/dce.py": "no algebra: ops without readers go; tested",
    "cleanup/dead_code.py": "no algebra: ops without readers go; tested",
    "cleanup/dead_region_values.py": "no algebra: values without readers go; tested",
    "cleanup/call_boundaries.py": "no algebra: names of functions; tested",
    "cleanup/decompose.py": "each op's own decomposition, against its NumPy meaning; tested",
    "cleanup/hoist.py": "no algebra: ops move; tested",
    "cleanup/split_complex.py": "each complex op's own formula on two planes, against its NumPy "
    "meaning; tested",
    "cleanup/paired_values.py": "no algebra: pairs of values in place of complex ones; tested",
    "cleanup/inline.py": "no algebra: bodies in place of calls; tested",
    "fusion/views.py": "proven: composed subscripts, and programs that are read through views",
    "fusion/fuse.py": "|-x| is |x|: both clear the sign bit; no other algebra: bodies one after "
    "the other; numbers are handed on as they are "
    "stored, or nests stay apart; tested",
    "fusion/products.py": "the factors of a product change sides, its chains stay: "
    "multiplication commutes; equal chains are computed once; tested",
    "fusion/groups.py": "no algebra: which nests merge; tested",
    "fusion/schedule.py": "no algebra: the order of nests; tested",
}
"""What the files of cleanup and fusion change, and how that is held."""

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


def program(body: str, element: str = "f16") -> gradir.Module:
    text = f"func.func @f(%x: T) -> T {{\n {body}\n func.return %r : T }}"
    return gradir.parse(text.replace("T", f"tensor<{element}>"))


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
            _number(number, x.sort())
            if isinstance(number, int | float)
            else _meanings(x.sort())[op.name](*(known[o] for o in op.operands))
        )
    raise AssertionError("a function returns")


def _number(number: float, sort: Any) -> Any:
    return z3.FPVal(number, sort) if sort == SORT else z3.BitVecVal(int(number), sort)


def _meanings(sort: Any) -> dict[str, Callable[..., Any]]:
    return MEANINGS if sort == SORT else INTEGER_MEANINGS


def simplified_op(body: str) -> str:
    """The op that a program's last line is of."""
    return body.rpartition("%r = ")[2].partition(" ")[0]


def differs(one: Any, other: Any) -> bool:
    """Whether there is a number for which two terms have other bits; all nan are one."""
    solver = z3.Solver()
    solver.add(one != other)
    found = solver.check()
    assert found in (z3.sat, z3.unsat), "undecided"
    return found == z3.sat
