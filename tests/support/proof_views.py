"""Proofs that simplifications of views, and reads through views, give the same elements.

A simplification is the op's own `simplify`, on extents that are symbols. Fusion runs on numbers:
its programs are compared before and after at all places.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import z3
from proof_moves import condition_term, f, model_of, ops_by_name, place_of, unproven_at_all
from proof_nests import Elements, Term, count_of, inside, lower_block, symbolic_nests, term_of
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, SSAValue

import gradir
from gradir.dialects.base.extents import Condition, Size, assuming
from gradir.dialects.base.interfaces import TensorOp
from gradir.dialects.base.shapes import shape_of
from gradir.dialects.base.value import Emitter

Step = tuple[str, dict[str, Any], Attribute | None]
"""An op on the result of the step before: name, attributes, and type where it is written."""


@dataclass(frozen=True)
class View:
    """A chain of ops whose last one is simplified: the argument's type and the steps."""

    name: str
    symbols: str
    make: Callable[..., tuple[Attribute, list[Step]]]

    @property
    def op(self) -> str:
        """The op that is simplified."""
        sizes = dict.fromkeys(self.symbols.split(), 2)
        return self.make(**sizes)[1][-1][0]


def _steps(*steps: Any) -> list[Step]:
    return [(step[0], step[1], step[2] if len(step) > 2 else None) for step in steps]


VIEWS: tuple[View, ...] = (
    View("a reshape of a reshape", "a", lambda a: (f(a * 2, 3), _steps(
        ("array.reshape", {}, f(a, 6)), ("array.reshape", {}, f(2 * a, 3, 1))))),
    View("a reshape to its own shape", "a n", lambda a, n: (f(a, n), _steps(
        ("array.reshape", {}, f(a, n))))),
    View("a permutation of a permutation", "a n c", lambda a, n, c: (f(a, n, c), _steps(
        ("array.permute_dims", {"axes": [1, 2, 0]}), ("array.permute_dims", {"axes": [2, 1, 0]})))),
    View("a permutation that moves nothing", "a n", lambda a, n: (f(a, n), _steps(
        ("array.permute_dims", {"axes": [0, 1]})))),
    View("a broadcast of a broadcast", "a n c", lambda a, n, c: (f(1, c), _steps(
        ("array.broadcast_to", {}, f(n, c)), ("array.broadcast_to", {}, f(a, n, c))))),
    View("a broadcast to its own shape", "a n", lambda a, n: (f(a, n), _steps(
        ("array.broadcast_to", {}, f(a, n))))),
    View("no new axes", "a n", lambda a, n: (f(a, n), _steps(("array.expand_dims", {"axis": []})))),
    View("no axis squeezed", "a n", lambda a, n: (f(a, n), _steps(
        ("array.squeeze", {"axis": []})))),
    View("a flip of no axis", "a n", lambda a, n: (f(a, n), _steps(("array.flip", {"axis": []})))),
    View("a slice of all", "a n", lambda a, n: (f(a, n), _steps(
        ("array.slice", {"stop": [a, n]})))),
    View("a padding by nothing", "a n", lambda a, n: (f(a, n), _steps(
        ("array.pad", {"low": [0, 0], "high": [0, 0]})))),
    View("a roll by a whole turn", "a n", lambda a, n: (f(a, n), _steps(
        ("array.roll", {"shift": n, "axis": 1})))),
    View("a shift by nothing", "a n", lambda a, n: (f(a, n), _steps(
        ("grad.shift", {"axis": 1, "by": 0})))),
    View("a barrier on a view", "a n", lambda a, n: (f(a, n), _steps(
        ("array.permute_dims", {"axes": [1, 0]}), ("grad.barrier", {})))),
)  # fmt: skip


def unproven_view(view: View) -> list[str]:
    """What the solver does not prove of a simplification, with the sizes for which it is wrong."""

    def wrong(sizes: Mapping[str, Size], conditions: list[Condition]) -> list[str]:
        with assuming(conditions), symbolic_nests():
            block, last = _simplified(*view.make(**sizes))
            if last is None:
                return ["is not simplified"]
            known = [term_of(n) >= 0 for n in sizes.values()]
            before, after = last.operands
            return _unequal(block, before, after, [*known, *map(condition_term, conditions)])

    return unproven_at_all(view.symbols, wrong)


def _simplified(type_: Attribute, steps: Sequence[Step]) -> tuple[Block, ReturnOp | None]:
    """A block that returns a chain of ops and its simplification, lowered."""
    block = Block(arg_types=[type_])
    emitter, value, op = Emitter(block), block.args[0], None
    for name, attributes, result in steps:
        kind: type[TensorOp] = ops_by_name()[name]
        op = emitter.insert(kind.of([value], None if result is None else [result], **attributes))
        value = op.results[0]
    assert op is not None
    made = op.simplify(*map(emitter.value, op.operands))
    if made is None:
        return block, None
    assert made.type == value.type
    block.add_op(last := ReturnOp(value, made.ssa))
    lower_block(block)
    return block, last


def _unequal(
    block: Block,
    one: SSAValue,
    other: SSAValue,
    known: Sequence[Term],
) -> list[str]:
    """Places at which two values sum other elements of the block's arguments."""
    elements, divisors, found = Elements(by_division=True), list[Term](), list[str]()
    i = place_of("i", one)
    sums = [elements.at(value, i) for value in (one, other)]
    for argument in block.args:
        j = place_of("j", argument)
        before, after = (count_of(parts, argument, j, divisors) for parts in sums)
        facts = [*known, *inside(i, shape_of(one.type)), *inside(j, shape_of(argument.type))]
        wrong = z3.Or(before != after, *(d == 0 for d in divisors))
        if (model := model_of(facts, wrong)) is not None:
            found.append(model)
    return found


READ_THROUGH: tuple[tuple[str, str], ...] = (
    ("a flip of a slice of a padding", """
        %a = array.pad %x {low = [2, 0], high = [1, 3]} : tensor<4x6xf64> -> tensor<7x9xf64>
        %b = array.slice %a {start = [1, 2], stop = [7, 8], step = [2, 1]}
          : tensor<7x9xf64> -> tensor<3x6xf64>
        %r = array.flip %b : tensor<3x6xf64> -> tensor<3x6xf64>"""),
    ("a padding of a transposed broadcast", """
        %a = array.broadcast_to %x : tensor<4x6xf64> -> tensor<2x4x6xf64>
        %b = array.permute_dims %a {axes = [2, 0, 1]} : tensor<2x4x6xf64> -> tensor<6x2x4xf64>
        %r = array.pad %b {low = [1, 0, 2], high = [0, 2, 0]}
          : tensor<6x2x4xf64> -> tensor<7x4x6xf64>"""),
    ("parts side by side", """
        %a = array.flip %x {axis = [1]} : tensor<4x6xf64> -> tensor<4x6xf64>
        %b = array.concat %a, %x {axis = 0} : tensor<4x6xf64>, tensor<4x6xf64> -> tensor<8x6xf64>
        %r = array.tril %b : tensor<8x6xf64>"""),
    ("a sum of two orders", """
        %a = array.flip %x {axis = [0]} : tensor<4x6xf64> -> tensor<4x6xf64>
        %b = array.add %a, %x : tensor<4x6xf64>
        %r = array.slice %b {start = [1, 0], stop = [4, 6]}
          : tensor<4x6xf64> -> tensor<3x6xf64>"""),
)  # fmt: skip
"""Programs whose nests `gradir-fuse` reads through: it leaves one of them."""


def fused_pair(body: str) -> tuple[FuncOp, FuncOp]:
    """A program's loop nests before and after fusion."""
    result = body.rpartition(" ")[2]
    text = f"func.func @f(%x: tensor<4x6xf64>) -> {result} {{ {body}\n func.return %r : {result} }}"
    nests = gradir.parse(text).run_passes("gradir-decompose,gradir-lower")
    fused = nests.run_passes("gradir-fuse")
    made: list[FuncOp] = []
    for module in (nests, fused):
        function = module.op.body.block.first_op
        assert isinstance(function, FuncOp)
        made.append(function)
    return made[0], made[1]


def unequal_elements(one: FuncOp, other: FuncOp) -> str | None:
    """A place at which two functions of one argument sum other elements of it."""
    sums: list[Term] = []
    facts: list[Term] = []
    for function in (one, other):
        block = function.body.block
        assert isinstance(block.last_op, ReturnOp)
        [value] = block.last_op.operands
        i, j = place_of("i", value), place_of("j", block.args[0])
        facts += [*inside(i, shape_of(value.type)), *inside(j, shape_of(block.args[0].type))]
        sums.append(count_of(Elements(by_division=True).at(value, i), block.args[0], j, []))
    return model_of(facts, sums[0] != sums[1])
