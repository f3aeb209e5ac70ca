"""Derivatives of ops that move elements are proven to be their transposes, by z3, at any size."""

from __future__ import annotations

import pytest
from proof_moves import MOVES, TESTED_MOVES, Move, unproven
from proof_reasons import REASONS
from proof_rules import RULES, TESTED
from xdsl.ir import Block

from gradir.dialects.array.indexing import IndexingOp
from gradir.dialects.array.movement import FlipOp, MovementOp
from gradir.dialects.array.slicing import PadOp, SliceOp
from gradir.dialects.base.access import Access
from gradir.dialects.base.interfaces import Cotangents
from gradir.dialects.base.value import Value
from gradir.tools.gen_proofs_page import OPS


@pytest.mark.parametrize("move", MOVES, ids=lambda move: move.op)
def test_a_rule_is_the_transpose(move: Move) -> None:
    assert unproven(move) == []


def _first(op: str) -> Move:
    return next(move for move in MOVES if move.op == op)


def test_a_missing_flip_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def wrong(self: FlipOp, ct: Value, y: Value, x: Value) -> Cotangents:
        return [ct]

    monkeypatch.setattr(FlipOp, "vjp", wrong)
    assert len(unproven(_first("array.flip"))) == 1


def test_a_slice_from_another_place_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is right without borders, and so for most small shapes of a table."""

    def wrong(self: PadOp, ct: Value, y: Value, x: Value) -> Cotangents:
        return [SliceOp.on(ct, start=[0] * len(x.shape), stop=list(x.shape))]

    monkeypatch.setattr(PadOp, "vjp", wrong)
    assert unproven(_first("array.pad"))


def test_a_wrong_lowering_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """What an op does is read from its own nests: an identity is not the transpose of a flip."""
    real = FlipOp.access

    def wrong(self: FlipOp) -> Access:
        is_of_rule = self.x is self.x.owner.args[1] if isinstance(self.x.owner, Block) else False
        return Access.identity(3) if is_of_rule else real(self)

    monkeypatch.setattr(FlipOp, "access", wrong)
    assert unproven(_first("array.flip"))


def test_each_movement_is_proven_or_says_why_not() -> None:
    known = {move.op for move in MOVES} | set(TESTED_MOVES)
    for op in OPS:
        if issubclass(op, MovementOp | IndexingOp) and not op.INACTIVE:
            assert op.name in known, op.name


def test_each_op_is_in_one_list() -> None:
    """The page would have no line for another one."""
    proven = {rule.op for rule in RULES} | {move.op for move in MOVES}
    at_points = {line.partition(" ")[0] for line in TESTED} - proven
    lists = [proven, at_points, set(TESTED_MOVES), set(REASONS)]
    lists.append({op.name for op in OPS if op.INACTIVE} - at_points)
    named = [name for names in lists for name in names if "arith." not in name]
    found = sorted(name for name in named if not name.startswith("math."))
    assert found == sorted(op.name for op in OPS)
