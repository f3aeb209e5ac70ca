"""Links between texts: a value that stays, one that is renamed, merged, or put into a loop nest."""

from __future__ import annotations

import gradir
from gradir.compiler.compiler import isolate_function
from gradir.compiler.pipeline import Machine, run_stages, stages_until
from gradir.explore.links import links
from gradir.explore.recorded_text import Snapshot, snapshot

PROGRAM = """\
func.func @f(%x: tensor<64xf64>, %y: tensor<64xf64>) -> tensor<f64> {
  %a = array.subtract %x, %y : tensor<64xf64>
  %b = array.subtract %x, %y : tensor<64xf64>
  %c = array.multiply %a, %b : tensor<64xf64>
  %d = array.sum %c : tensor<64xf64> -> tensor<f64>
  func.return %d : tensor<f64>
}
"""


def texts_before_and_after(stage: str) -> tuple[Snapshot, Snapshot]:
    """The snapshots around the last stage of a name."""
    stages = stages_until(stage)
    assert stages is not None
    module, machine = gradir.parse(PROGRAM).op.clone(), Machine.here(1)
    isolate_function(module, "f")
    run_stages(module, machine, stages=stages[:-1])
    before = snapshot(module)
    run_stages(module, machine, stages=stages[-1:])
    return before, snapshot(module)


def linked(before: Snapshot, after: Snapshot, name: str) -> list[str]:
    """The lines that first show what a named value became."""
    found = links(before, after)[before.hints.index(name)]
    first = {token.value: token.line for token in reversed(after.tokens)}
    return [after.lines[first[number]].strip() for number in found]


def test_equal_values_become_one() -> None:
    before, after = texts_before_and_after("cse")
    assert linked(before, after, "a") == linked(before, after, "b")
    assert linked(before, after, "b")[0].startswith("%a = array.subtract")


def test_names_go_on_in_lowered_code() -> None:
    before, after = texts_before_and_after("gradir-lower")
    assert linked(before, after, "a")[0].startswith("%a = loopnest.nest")
    assert linked(before, after, "x")[0].startswith("func.func @f(%x: ")


def test_a_fused_value_is_the_number_in_the_body() -> None:
    before, after = texts_before_and_after("gradir-fuse")
    [line] = linked(before, after, "a")
    assert "arith.subf" in line


def test_values_keep_their_numbers_apart() -> None:
    """Two texts of one module: every value is linked to itself."""
    module = gradir.parse(PROGRAM).op.clone()
    before, after = snapshot(module), snapshot(module)
    assert links(before, after) == [[k] for k in range(len(before.hints))]
