"""Derivative rules of elementwise ops are proven by sympy, simplifications by z3."""

from __future__ import annotations

import pytest
import z3
from proof_bits import KEPT, LOOKS_LIKE, SIMPLIFIED, SORT, differs, op_count, program, term
from proof_rules import RULES, TESTED, Rule, unproven

from gradir.dialects import array, nn
from gradir.dialects.array.elementwise import TanhOp
from gradir.dialects.base.interfaces import Cotangents
from gradir.dialects.base.value import Value
from gradir.dialects.building.kinds import BinaryOp, UnaryOp
from gradir.dialects.building.points import TanhAtOp
from gradir.dialects.nn.activations import SigmoidOp


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.line)
def test_a_rule_is_the_derivative(rule: Rule) -> None:
    assert unproven(rule) == []


@pytest.mark.parametrize("op", [TanhOp, SigmoidOp])
def test_the_rule_of_a_result_that_is_kept_is_the_derivative(
    op: type[TanhOp | SigmoidOp], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(op, "apart", lambda self: None)
    assert unproven(Rule(f"{op.name} %x")) == []


def test_a_wrong_rule_is_not_proven(monkeypatch: pytest.MonkeyPatch) -> None:
    def wrong(self: TanhAtOp, ct: Value, y: Value, x: Value) -> Cotangents:
        return [ct * (1 - y)]

    monkeypatch.setattr(TanhAtOp, "vjp", wrong)
    assert len(unproven(Rule("array.tanh %x"))) == 2


def test_each_elementwise_op_is_proven_or_says_why_not() -> None:
    proven = {rule.op for rule in RULES}
    without = {line.partition(" ")[0] for line in TESTED}
    for op in (*array.OPS, *nn.OPS):
        if issubclass(op, UnaryOp | BinaryOp) and op.SAME_TYPE and not op.INACTIVE:
            assert op.name in proven | without, op.name


@pytest.mark.parametrize(("name", "body"), SIMPLIFIED)
def test_a_simplification_changes_no_bit(name: str, body: str) -> None:
    before = program(body)
    after = before.run_passes("gradir-simplify")
    assert op_count(after) < op_count(before)
    x = z3.FP("x", SORT)
    assert not differs(term(before, x), term(after, x))


@pytest.mark.parametrize(("name", "body"), KEPT)
def test_what_is_kept_is_not_what_it_looks_like(name: str, body: str) -> None:
    """The solver finds where they differ, and the pass leaves them."""
    before = program(body)
    assert str(before.run_passes("gradir-simplify")) == str(before)
    x = z3.FP("x", SORT)
    assert differs(term(before, x), LOOKS_LIKE[name](x))
