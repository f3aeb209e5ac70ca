"""Region ops by slots: values that enter and read each, values handed through, the rest."""

from __future__ import annotations

import pytest
from xdsl.dialects import scf
from xdsl.ir import Operation, OpResult, SSAValue

import gradir
from gradir.passes.analysis.region_ops import drop_slots, region_flow, slot_of, sole_source
from gradir.passes.verify.verify import verify

PROGRAM = """
func.func @f(%x: f64, %y: f64, %n: index, %c: i1) -> (f64, f64) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %for:3 = scf.for %i = %c0 to %n step %c1 iter_args(%a = %x, %b = %y, %same = %x)
      -> (f64, f64, f64) {
    %stage = grad.checkpoint -> (f64) {
      grad.yield %same : f64
    }
    scf.yield %b, %a, %stage : f64, f64, f64
  }
  %while:2 = scf.while (%p = %x, %q = %y) : (f64, f64) -> (f64, f64) {
    scf.condition(%c) %q, %p : f64, f64
  } do {
  ^bb0(%r: f64, %s: f64):
    %t = math.sin %s : f64
    scf.yield %t, %r : f64, f64
  }
  %if = scf.if %c -> (f64) {
    scf.yield %x : f64
  } else {
    scf.yield %x : f64
  }
  func.return %for#2, %while#0 : f64, f64
}
"""


def named(value: SSAValue) -> str:
    hint = value.name_hint or "?"
    return f"{hint}.{value.index}" if isinstance(value, OpResult) else hint


def op_of(module: gradir.Module, kind: type[Operation]) -> Operation:
    return next(op for op in module.op.walk() if isinstance(op, kind))


@pytest.fixture
def module() -> gradir.Module:
    return gradir.parse(PROGRAM)


@pytest.mark.parametrize(
    ("kind", "slots"),
    [
        (scf.ForOp, [("x b", "a for.0"), ("y a", "b for.1"), ("x stage.0", "for.2 same")]),
        (scf.WhileOp, [("x t.0", "p"), ("y r", "q"), ("q", "r while.0"), ("p", "s while.1")]),
        (scf.IfOp, [("x x", "if.0")]),
    ],
)
def test_slots(module: gradir.Module, kind: type[Operation], slots: list[tuple[str, str]]) -> None:
    flow = region_flow(op_of(module, kind))
    assert flow is not None
    found = [
        (" ".join(named(e.value) for e in s.entries), " ".join(sorted(map(named, s.values))))
        for s in flow.slots
    ]
    assert sorted(found) == sorted(slots)
    for slot in flow.slots:
        for value in slot.values:
            other = slot_of(value)
            assert other is not None and other.values == slot.values


def test_sole_sources(module: gradir.Module) -> None:
    """A value that goes round through a stage is the one it starts from; two that swap places, and
    what the body computes, are not."""
    sources: dict[str, str | None] = {}
    for kind in (scf.ForOp, scf.WhileOp, scf.IfOp):
        flow = region_flow(op_of(module, kind))
        assert flow is not None
        for slot in flow.slots:
            source = sole_source(flow, slot)
            sources[min(map(named, slot.values))] = None if source is None else named(source)
    assert sources == {
        "a": None, "b": None, "for.2": "x",
        "p": None, "q": "y", "r": "y", "s": None, "if.0": "x",
    }  # fmt: skip


def test_dropping_slots(module: gradir.Module) -> None:
    """The op goes on with the others; a tuple of two slots that swap goes as a whole."""
    op = op_of(module, scf.ForOp)
    flow = region_flow(op)
    assert flow is not None
    (left,) = drop_slots(op, flow.slots[:2])
    made = left.owner
    assert isinstance(made, scf.ForOp) and len(made.iter_args) == 1
    assert [named(a) for a in made.body.block.args] == ["i", "same"]
    verify(module.op)
    (x,) = gradir.interpret(module, "f", 1.5, 2.0, 3, False)[:1]
    assert x == 1.5
