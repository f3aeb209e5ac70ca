"""Simplifications and reads through views change no bit: proofs by z3, and what it cannot say."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import z3
from proof_bits import (
    INTEGERS,
    PASSES,
    SIMPLIFIED,
    UNPROVEN,
    differs,
    op_count,
    program,
    simplified_op,
    term,
)
from proof_views import READ_THROUGH, VIEWS, View, fused_pair, unequal_elements, unproven_view
from xdsl.dialects.arith import AddiOp, ConstantOp, MuliOp
from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import Block

import gradir
from gradir.dialects.array.movement import PermuteDimsOp
from gradir.dialects.base.access import Access, Row
from gradir.dialects.base.interfaces import TensorOp
from gradir.dialects.base.op_rules import _SIMPLIFICATIONS
from gradir.dialects.base.value import Value
from gradir.dialects.loopnest.loopnest import IndexOp
from gradir.passes.cleanup.simplify_flow import _RULES
from gradir.passes.fusion.views import _index_of
from gradir.tools.gen_proofs_page import OPS

ROOT = Path(gradir.__file__).parent


@pytest.mark.parametrize(("name", "body"), INTEGERS)
def test_a_simplification_changes_no_integer(name: str, body: str) -> None:
    before = program(body, "i8")
    after = before.run_passes("gradir-simplify")
    assert op_count(after) < op_count(before)
    x = z3.BitVec("x", 8)
    assert not differs(term(before, x), term(after, x))


@pytest.mark.parametrize("view", VIEWS, ids=lambda view: view.name)
def test_a_simplified_view_has_the_same_elements(view: View) -> None:
    assert unproven_view(view) == []


def test_a_wrong_composition_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def wrong(self: PermuteDimsOp, x: Value) -> Value:
        inner = x.ssa.owner
        assert isinstance(inner, PermuteDimsOp)
        axes = [self.axes[a] for a in inner.axes]
        return PermuteDimsOp.on(x.emitter.value(inner.x), axes=axes, type=self.y.type)

    monkeypatch.setattr(PermuteDimsOp, "simplify", wrong)
    assert unproven_view(next(v for v in VIEWS if "of a permutation" in v.name))


@pytest.mark.parametrize(("name", "body"), READ_THROUGH)
def test_a_read_through_views_has_the_same_elements(name: str, body: str) -> None:
    nests, fused = fused_pair(body)
    assert len(fused.body.block.ops) < len(nests.body.block.ops)
    assert unequal_elements(nests, fused) is None


def test_composed_subscripts_are_subscripts_of_subscripts() -> None:
    """For all coefficients, constants and places, of two subscripts over three loops."""
    outer = Access(2, tuple(_row(f"a{k}", 2) for k in range(2)))
    inner = Access(3, tuple(_row(f"b{k}", 3) for k in range(2)))
    places = z3.Ints("i0 i1 i2")
    values = [_subscript(row, places) for row in inner.rows]
    for composed, row in zip(outer.compose(inner).rows, outer.rows, strict=True):
        difference = _subscript(composed, places) - _subscript(row, values)
        assert z3.simplify(difference, som=True).eq(z3.IntVal(0))


def _row(name: str, count: int) -> Row:
    return Row(tuple(z3.Ints([f"{name}_{d}" for d in range(count)])), z3.Int(f"{name}_c"))


def _subscript(row: Row, places: Sequence[Any]) -> Any:
    terms = [c * place for c, place in zip(row.coefficients, places, strict=True)]
    return z3.Sum(row.constant, *terms)


@pytest.mark.parametrize("row", [Row((1, 0)), Row((0, -1), 7), Row((3, -2), -1), Row((0, 0), 4)])
def test_an_index_that_is_read_through_is_the_subscript(row: Row) -> None:
    """In 64 bits, for all places."""
    block = Block()
    block.add_op(end := IndexOp(0))
    value = _index_of(row, block, end)
    places = z3.BitVecs("i0 i1", 64)
    known = dict[Any, Any]()
    for op in block.ops:
        match op:
            case ConstantOp(value=IntegerAttr() as number):
                known[op.result] = z3.BitVecVal(number.value.data, 64)
            case IndexOp():
                known[op.result] = places[op.dim.value.data]
            case MuliOp():
                known[op.result] = known[op.lhs] * known[op.rhs]
            case AddiOp():
                known[op.result] = known[op.lhs] + known[op.rhs]
    wanted = z3.BitVecVal(row.constant, 64)
    for factor, place in zip(row.coefficients, places, strict=True):
        wanted += factor * place
    assert not differs(known[value], wanted)


UPDATE = """func.func @f(%x: tensor<3xf64>, %i: tensor<2xi64>, %u: tensor<2xf64>, %c: tensor<i1>)
    -> tensor<3xf64> {
  %s = array.index_update %x, %i, %u : tensor<3xf64>, tensor<2xi64>, tensor<2xf64> -> tensor<3xf64>
  %b = array.broadcast_to %c : tensor<i1> -> tensor<3xi1>
  %r = array.where %b, %s, %x : tensor<3xi1>, tensor<3xf64>, tensor<3xf64> -> tensor<3xf64>
  func.return %r : tensor<3xf64>
}"""


def test_a_selected_update_is_an_update_of_the_selected() -> None:
    """All indices of three rows, equal ones too; the numbers are different, and only move."""
    before = gradir.parse(UPDATE)
    after = before.run_passes("gradir-simplify")
    assert str(before) != str(after)
    x, u = np.array([1.0, 2.0, 3.0]), np.array([4.0, 5.0])
    for *indices, taken in product(range(-3, 3), range(-3, 3), (False, True)):
        arguments = x, np.array(indices), u, np.array(taken)
        [wanted] = gradir.interpret(before, "f", *arguments)
        [found] = gradir.interpret(after, "f", *arguments)
        assert (wanted == found).all(), arguments


def test_each_simplification_is_in_a_list() -> None:
    listed = {simplified_op(body) for _, body in SIMPLIFIED} | {view.op for view in VIEWS}
    simplified = {op.name for op in OPS if op.simplify is not TensorOp.simplify}
    simplified |= {op.name for op in (*_SIMPLIFICATIONS, *_RULES)}
    assert listed | {name.partition(" ")[0] for name in UNPROVEN} == simplified
    assert not listed & set(UNPROVEN)


def test_each_file_of_cleanup_and_fusion_is_in_the_list() -> None:
    files = {
        f"{room}/{path.name}"
        for room in ("cleanup", "fusion")
        for path in (ROOT / "passes" / room).glob("*.py")
        if path.name != "__init__.py"
    }
    assert files == set(PASSES)
