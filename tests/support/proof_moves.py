"""Proofs that the derivative of an op that moves elements is its transpose, at any size.

The rule is run on types whose extents are symbols, and what it emits is lowered: the loop nests
say which elements each result sums. For all places i and j, the op takes element j of an operand
for element i of its result as often as the rule takes element i of ct for element j.

Where code asks for a property of an extent, it goes on as for large ones and the condition is
kept. The proof holds under it; the values that it leaves out are given to the symbol, one by one,
and proven too.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any

import z3
from proof_nests import (
    UNDEFINED,
    Elements,
    Place,
    Term,
    count_of,
    inside,
    lower_block,
    symbolic_nests,
    term_of,
)
from xdsl.dialects.builtin import AffineMapAttr, f64, i1, i64
from xdsl.dialects.func import ReturnOp
from xdsl.ir import Attribute, Block, SSAValue
from xdsl.ir.affine import AffineMap
from xdsl.utils.exceptions import VerifyException

from gradir.dialects import array, nn
from gradir.dialects.base.attributes import attribute
from gradir.dialects.base.extent_values import holds
from gradir.dialects.base.extents import Condition, ExtentError, Size, assuming, is_extent, symbol
from gradir.dialects.base.interfaces import TensorOp
from gradir.dialects.base.shapes import element_of, is_float, shape_of, tensor
from gradir.dialects.base.value import Emitter

SECONDS = 5
"""The most that the solver takes for one question."""
MOST_VALUES = 6
"""The most values of a symbol that are proven one by one."""


class Refused(Exception):
    """Extents with which an op is no program."""


@dataclass(frozen=True)
class Shapes:
    """The types and attributes of an op, made of sizes by the names of symbols."""

    operands: Sequence[Attribute]
    attributes: dict[str, Any] = field(default_factory=dict[str, Any])
    result: Attribute | None = None


@dataclass(frozen=True)
class Move:
    """An op on extents with names: `make` gives the types and attributes for sizes."""

    op: str
    symbols: str
    make: Callable[..., Shapes]


@dataclass
class Transposed:
    """An op and its rule as loop nests, with the facts of extents that were assumed."""

    arguments: Sequence[SSAValue]
    cts: Sequence[SSAValue]
    results: Sequence[SSAValue]
    found: Sequence[SSAValue | None]
    conditions: list[Condition]


def ops_by_name() -> dict[str, type[TensorOp]]:
    """The ops of the dialects with tensors."""
    from gradir.dialects.grad import dialect

    return {op.name: op for op in (*array.OPS, *nn.OPS, *dialect.OPS)}


def unproven(move: Move) -> list[str]:
    """What the solver does not prove of an op, with the extents that it says are wrong."""
    return unproven_at_all(move.symbols, lambda sizes, known: _wrong(move, sizes, known))


Question = Callable[[Mapping[str, Size], list[Condition]], list[str]]


def unproven_at_all(symbols: str, wrong: Question) -> list[str]:
    """What is wrong for some sizes of symbols; each call adds its conditions to a list."""
    names = symbols.split()
    waiting: list[tuple[Size, ...]] = [tuple(map(symbol, names))]
    seen = {str(sizes) for sizes in waiting}
    found: list[str] = []
    while waiting:
        sizes = dict(zip(names, waiting.pop(), strict=True))
        conditions: list[Condition] = []
        found += [f"{sizes} {text}" for text in wrong(sizes, conditions)]
        for condition in conditions:
            left_out = _left_out(condition)
            if left_out is None:
                found.append(f"{sizes} holds only where {condition}")
            for more in left_out or ():
                others = tuple(_under(size, more) for size in sizes.values())
                if str(others) not in seen:
                    seen.add(str(others))
                    waiting.append(others)
    return found


def _under(size: Size, given: Mapping[str, Size]) -> Size:
    """A size, or the given size for its symbol."""
    return size if isinstance(size, int) else given.get(str(size), size)


def _wrong(move: Move, sizes: Mapping[str, Size], conditions: list[Condition]) -> list[str]:
    """What is not proven under conditions, which are added to the list."""
    with assuming(conditions), symbolic_nests():
        try:
            made = emit(ops_by_name()[move.op], move.make(**sizes), conditions)
        except Refused:
            return []
        return _differences(made, sizes)


def emit(op_class: type[TensorOp], shapes: Shapes, conditions: list[Condition]) -> Transposed:
    """The op and what its rule emits, lowered."""
    block = Block(arg_types=shapes.operands)
    emitter = Emitter(block)
    types = None if shapes.result is None else [shapes.result]
    try:
        op = op_class.of(block.args, types, **shapes.attributes)
        op.verify_types()
    except ExtentError:
        raise
    except VerifyException as error:
        raise Refused(str(error)) from None
    count = len(block.args)
    for result in op.results:
        block.insert_arg(result.type, len(block.args))
    operands = [emitter.value(a) for a in block.args[:count]]
    cts = [emitter.value(a) for a in block.args[count:]]
    results = [emitter.value(r) for r in emitter.insert(op).results]
    flowing = op.vjp_all(cts, results, operands)
    kept = [*op.results, *(f.ssa for f in flowing if f is not None)]
    for ct, operand in zip(flowing, operands, strict=True):
        assert ct is None or ct.type == operand.type, f"{ct.type} for {operand.type}"
    block.add_op(last := ReturnOp(*kept))
    lower_block(block)
    values = list(last.operands)
    rest = iter(values[len(cts) :])
    return Transposed(
        block.args[:count],
        block.args[count:],
        values[: len(cts)],
        [None if f is None else next(rest) for f in flowing],
        conditions,
    )


def _differences(made: Transposed, sizes: Mapping[str, Size]) -> list[str]:
    """The operands for which op and rule are not each other's transpose."""
    found: list[str] = []
    for number, operand in enumerate(made.arguments):
        if not is_float(element_of(operand.type)):
            continue
        for ct, result in zip(made.cts, made.results, strict=True):
            if 0 in _numbers(result) + _numbers(operand):
                continue
            elements = Elements()
            i, j = place_of("i", result), place_of("j", operand)
            divisors: list[Term] = []
            forward = elements.at(result, i)
            taken = count_of(forward, operand, j, divisors)
            back, unwritten = z3.IntVal(0), count_of(forward, UNDEFINED, (), divisors)
            if (value := made.found[number]) is not None:
                parts = elements.at(value, j)
                if any(part.leaf not in (*made.cts, UNDEFINED) for part in parts):
                    found.append(f"operand {number}: more than ct")
                back = count_of(parts, ct, i, divisors)
                unwritten += count_of(parts, UNDEFINED, (), divisors)
            known = [*inside(i, shape_of(result.type)), *inside(j, shape_of(operand.type))]
            known += [*elements.facts, *map(condition_term, made.conditions)]
            known += [term_of(n) >= 0 for n in sizes.values()]
            wrong = [taken != back, unwritten != 0, *(d == 0 for d in divisors)]
            if (model := model_of(known, z3.Or(*wrong))) is not None:
                found.append(f"operand {number}: {model}")
    return found


def _numbers(value: SSAValue) -> list[int]:
    """The extents that are numbers."""
    return [n for n in shape_of(value.type) if not is_extent(n)]


def place_of(name: str, value: SSAValue) -> Place:
    return tuple(z3.Int(f"{name}{d}") for d in range(len(shape_of(value.type))))


def condition_term(condition: Condition) -> Term:
    left = term_of(condition.left)
    return left >= condition.right if condition.relation == ">=" else left != condition.right


def model_of(known: Sequence[Term], wrong: Term) -> str | None:
    """Numbers for which something is wrong; None where there are none."""
    solver = z3.Solver()
    solver.set("timeout", SECONDS * 1000)
    solver.add(*known, wrong)
    match solver.check():
        case z3.unsat:
            return None
        case z3.sat:
            return str(solver.model())
        case _:
            return "undecided"


def _left_out(condition: Condition) -> list[dict[str, Size]] | None:
    """The sizes of symbols that do not meet a condition; None where they are too many to name."""
    left, right = condition.left, condition.right
    if condition.relation == "!=" and right == 0 and [n for _, n in left.terms] == [1, -1]:
        return _equal_products(*(Counter(map(str, monomial)) for monomial, _ in left.terms))
    is_sum = all(len(monomial) == 1 and number > 0 for monomial, number in left.terms)
    is_product = len(left.terms) == 1 and condition.relation == "!=" and right > 0
    names = sorted(left.symbols)
    if right > MOST_VALUES or not (is_sum or is_product):
        return None
    numbers = product(range(0 if is_sum else 1, right + 1), repeat=len(names))
    found = (dict(zip(names, values, strict=True)) for values in numbers)
    return [dict[str, Size](values) for values in found if not holds(condition, values)]


def _equal_products(one: Counter[str], other: Counter[str]) -> list[dict[str, Size]] | None:
    """The sizes for which two products of symbols are equal."""
    common = one & other
    found: list[dict[str, Size]] = [{name: 0} for name in common]
    match [*(one - common).elements()], [*(other - common).elements()]:
        case [left], [right]:
            return [*found, {left: symbol(right)}]
        case ([*names], []) | ([], [*names]):
            return [*found, dict.fromkeys(names, 1)]
        case _:
            return None


# The ops.


def f(*shape: Size) -> Attribute:
    return tensor(shape, f64)  # type: ignore[arg-type]


def i(*shape: Size) -> Attribute:
    return tensor(shape, i64)  # type: ignore[arg-type]


def _slices() -> list[Move]:
    """Slices of q elements by steps, or of q + 1 ones, the last step short of `rest`.

    Which of the two ends left out is the longer one is part of a case.
    """

    def add(step: int, rest: int, symbols: str, ends: Callable[..., tuple[Any, Any]]) -> None:
        def make(q: Any, **more: Any) -> Shapes:
            first, end = ends(**more)
            stop = first + step * (q + 1) - rest if rest else first + step * q
            attributes = {"start": [0, first, 0], "stop": [2, stop, 2], "step": [1, step, 1]}
            return Shapes([f(2, stop + end, 2)], attributes)

        moves.append(Move("array.slice", f"q {symbols}", make))

    moves: list[Move] = []
    for step in range(1, 4):
        for rest in range(step):
            add(step, rest, "p d", lambda p, d, rest=rest: (p, p + d + rest))
            add(step, rest, "r d", lambda r, d: (r + d, r))
            for more in range(1, rest):
                add(step, rest, "p", lambda p, more=more: (p, p + more))
    return moves


def _pads() -> list[Move]:
    """Paddings whose longer side is the low one or the high one, of the last axis or another."""
    moves: list[Move] = []
    for mode in ("constant", "edge", "reflect"):
        for is_low, is_last in product((True, False), repeat=2):

            def make(
                n: Any,
                w: Any,
                d: Any,
                mode: str = mode,
                is_low: bool = is_low,
                is_last: bool = is_last,
            ) -> Shapes:
                low, high = (w + d, w) if is_low else (w, w + d)
                others: list[Any] = [] if is_last else [2]
                n += {"constant": 0, "edge": 1, "reflect": 1 + w + d}[mode]
                widths = {"low": [low, *(0 for _ in others)], "high": [high, *(0 for _ in others)]}
                return Shapes([f(n, *others)], {**widths, "mode": mode})

            moves.append(Move("array.pad", "n w d", make))
    return moves


def _diagonals() -> list[Move]:
    """Matrices and the numbers of their diagonals, which are as long as rows or columns say."""
    shapes: dict[str, Callable[[Any, Any, Any], tuple[Any, Any, Any]]] = {
        "to the right, cut by rows": lambda k, e, d: (e, k + e + d, k),
        "to the right, cut by columns": lambda k, e, d: (e + d, k + e, k),
        "to the left, cut by columns": lambda k, e, d: (k + e + d, e, -k),
        "to the left, cut by rows": lambda k, e, d: (k + e, e + d, -k),
        "behind the last column": lambda k, e, d: (k, e, e + d),
        "behind the last row": lambda k, e, d: (e, k, -e - d),
    }
    moves: list[Move] = []
    for find in shapes.values():

        def make(a: Any, k: Any, e: Any, d: Any, find: Any = find) -> Shapes:
            n, m, offset = find(k, e, d)
            return Shapes([f(a, n, m)], {"offset": offset})

        moves.append(Move("array.diagonal", "a k e d", make))
        moves.append(Move("array.trace", "k e d", lambda make=make, **rest: make(2, **rest)))
        moves.append(Move("grad.diagonal_backward", "a k e d", _diagonal_back(find)))
    return moves


def _diagonal_back(find: Callable[[Any, Any, Any], tuple[Any, Any, Any]]) -> Callable[..., Shapes]:
    def make(a: Any, k: Any, e: Any, d: Any) -> Shapes:
        n, m, offset = find(k, e, d)
        line = ops_by_name()["array.diagonal"].infer_types(
            [f(a, n, m)], {"offset": attribute(offset)}
        )
        assert line is not None
        return Shapes(list(line), {"offset": offset}, f(a, n, m))

    return make


def _identities() -> list[Move]:
    """Ops that change no element, and sums of whole tensors."""
    names = ("start_checkpoint", "end_checkpoint", "barrier")
    moves = [Move(f"grad.{name}", "a n", lambda a, n: Shapes([f(a, n)])) for name in names]
    return [
        *moves,
        *(Move("grad.shift", "a n k", lambda a, n, k, s=s: Shapes(
            [f(a, n, 2)], {"by": s * k, "axis": 1})) for s in (1, -1)),
        Move("grad.name", "a n", lambda a, n: Shapes([f(a, n)], {"name": "x"})),
        Move("grad.accumulate_slice", "a n p r", lambda a, n, p, r: Shapes(
            [f(a, p + n + r), f(a, n)], {"start": [0, p]})),
        Move("grad.accumulate", "a n", lambda a, n: Shapes([f(a, n)] * 3)),
    ]  # fmt: skip


def _rolls() -> list[Move]:
    """Shifts in [-n, n], along an axis or of all elements."""
    return [
        Move("array.roll", "a s r c", lambda a, s, r, c, sign=sign: Shapes(
            [f(a, s + r, c)], {"shift": sign * s, "axis": 1}))
        for sign in (1, -1)
    ]  # fmt: skip


def _affine() -> list[Move]:
    """Sliding windows with borders, by steps, and subscripts that are exchanged."""
    windows = AffineMapAttr(AffineMap.from_callable(lambda n, k: (n * 2 + k - 1,)))
    swapped = AffineMapAttr(AffineMap.from_callable(lambda n, k: (k, n)))
    return [
        Move("array.affine_gather", "n m k", lambda n, m, k: Shapes(
            [f(n)], {"map": windows, "pad": 0.0}, f(m, k))),
        Move("array.affine_gather", "n m", lambda n, m: Shapes(
            [f(n, m)], {"map": swapped}, f(m, n))),
        Move("array.affine_scatter_add", "n m k", lambda n, m, k: Shapes(
            [f(m, k)], {"map": windows, "drop": True}, f(n))),
    ]  # fmt: skip


MOVES: tuple[Move, ...] = (
    Move("array.permute_dims", "a n c", lambda a, n, c: Shapes([f(a, n, c)], {"axes": [2, 0, 1]})),
    Move("array.flip", "a n c", lambda a, n, c: Shapes([f(a, n, c)], {"axis": 1})),
    Move("array.reshape", "a n c", lambda a, n, c: Shapes([f(a, n, c)], result=f(n, c * a))),
    Move("array.reshape", "a n c", lambda a, n, c: Shapes([f(a, n * c)], result=f(a, n, c))),
    Move("array.expand_dims", "a n c", lambda a, n, c: Shapes([f(a, n, c)], {"axis": [1, -1]})),
    Move("array.squeeze", "a c", lambda a, c: Shapes([f(a, 1, c, 1)], {"axis": [1, 3]})),
    Move("array.broadcast_to", "a n c", lambda a, n, c: Shapes([f(1, c)], result=f(a, n, c))),
    Move("array.sum", "a n c", lambda a, n, c: Shapes([f(a, n, c)], {"axis": 1})),
    Move("array.sum", "a n c", lambda a, n, c: Shapes(
        [f(a, n, c)], {"axis": [0, 2], "keepdims": True})),
    *_slices(),
    *_pads(),
    Move("array.concat", "a n m k c", lambda a, n, m, k, c: Shapes(
        [f(a, n, c), f(a, m, c), f(a, k, c)], {"axis": 1})),
    Move("array.concat", "a n", lambda a, n: Shapes([f(a, n), *[f(a, 2)] * 4], {"axis": 1})),
    Move("array.stack", "a c", lambda a, c: Shapes([f(a, c)] * 3, {"axis": 1})),
    Move("array.split", "a n m c", lambda a, n, m, c: Shapes(
        [f(a, n + m + 2, c)], {"axis": 1, "sizes": [n, 2, m]})),
    *_rolls(),
    Move("array.tile", "a n r", lambda a, n, r: Shapes([f(a, n, 2)], {"repeats": [1, r, 1]})),
    Move("array.repeat", "a n r", lambda a, n, r: Shapes(
        [f(a, n, 2)], {"count": r, "axis": 1})),
    *(Move(f"array.tri{end}", "a n m k", lambda a, n, m, k, s=s: Shapes(
        [f(a, n, m)], {"k": s * k})) for end in "lu" for s in (1, -1)),
    *_diagonals(),
    Move("array.dynamic_slice", "a m r c", lambda a, m, r, c: Shapes(
        [f(a, m + r, c), i(), i(), i()], {"sizes": [a, m, c]})),
    Move("array.dynamic_update_slice", "a m r c", lambda a, m, r, c: Shapes(
        [f(a, m + r, c), f(a, m, c), i(), i(), i()])),
    Move("array.take", "a n m c", lambda a, n, m, c: Shapes([f(a, n, c), i(m)], {"axis": 1})),
    Move("array.scatter_add", "a n m c", lambda a, n, m, c: Shapes(
        [f(a, n, c), i(m), f(a, m, c)], {"axis": 1})),
    Move("array.take_along_axis", "a n m c", lambda a, n, m, c: Shapes(
        [f(a, n, c), i(a, m, c)], {"axis": 1})),
    Move("grad.take_along_axis_backward", "a n m c", lambda a, n, m, c: Shapes(
        [f(a, m, c), i(a, m, c)], {"axis": 1}, f(a, n, c))),
    Move("array.gather_nd", "a n m k c", lambda a, n, m, k, c: Shapes(
        [f(a, n, m, c), i(a, k, 2)], {"batch_dims": 1})),
    Move("array.scatter_nd_add", "a n m k c", lambda a, n, m, k, c: Shapes(
        [f(a, n, m, c), i(a, k, 2), f(a, k, c)], {"batch_dims": 1})),
    Move("array.where", "a n", lambda a, n: Shapes([tensor([a, n], i1), f(a, n), f(a, n)])),
    Move("nn.embedding", "a n c", lambda a, n, c: Shapes([i(a), f(n, c)])),
    Move("nn.pixel_shuffle", "n c", lambda n, c: Shapes([f(2, 8, n, c)], {"factor": 2})),
    *_affine(),
    *_identities(),
)  # fmt: skip

TESTED_MOVES: dict[str, str] = {
    "array.index_update": "of equal indices the last one is kept: no linear equation says which",
}
"""Ops that move elements whose rules are tested alone, and why."""
