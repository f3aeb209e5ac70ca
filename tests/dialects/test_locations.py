"""Locations in text, in the forms that MLIR prints: aliases behind the ops, ranges, fused ones."""

from __future__ import annotations

from pathlib import Path

import pytest

import gradir
from gradir import GradirError
from gradir.frontends.stablehlo import load

TEXT = """#loc1 = loc("a.py":1:1)
func.func @f(%x: tensor<2xf32> loc("x"(#loc1))) -> tensor<2xf32> {
  %y = array.exp %x : tensor<2xf32> loc(#loc4)
  %z = array.exp %y : tensor<2xf32> loc(fused<"why">["a.py":3:1, "b.py":4:2])
  %w = array.exp %z : tensor<2xf32> loc("a.py":5:1 to :21)
  func.return %w : tensor<2xf32> loc(#loc5)
} loc(#loc)
#loc = loc(unknown)
#loc4 = loc("b.py":7:9)
#loc5 = loc(callsite(#loc4 at #loc1))
"""


def test_all_forms_are_read() -> None:
    module = gradir.parse(TEXT)
    found = {str(op.location) for op in module.op.walk() if op.name in ("array.exp", "func.return")}
    assert found == {
        'loc("b.py":7:9)',
        'loc(fused<"why">["a.py":3:1, "b.py":4:2])',
        'loc("a.py":5:1)',
        'loc(callsite("b.py":7:9 at "a.py":1:1))',
    }


@pytest.mark.parametrize(
    ("location", "message"),
    [
        ("#nope", "undefined symbol alias '#nope'"),
        ('fused<"a">[', "Unexpected location syntax"),
        ("#loc1", "undefined symbol alias '#loc1'"),
    ],
)
def test_wrong_ones_have_a_place(location: str, message: str) -> None:
    text = f"func.func @f() {{\n  func.return loc({location})\n}}\n"
    text = f"#loc1 = loc(#loc1)\n{text}" if location == "#loc1" else text
    with pytest.raises(GradirError, match=r"^<string>:\d+:\d+: error: ") as caught:
        gradir.parse(text)
    assert message in str(caught.value)


def test_a_location_opens_no_file(tmp_path: Path) -> None:
    """A text from elsewhere may name any file; no message shows a line of it."""
    secret = tmp_path / "secret.txt"
    secret.write_text("hunter2\n")
    text = f'''func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {{
  %y = "stablehlo.nonsense"(%x) : (tensor<2xf32>) -> tensor<2xf32> loc("{secret}":1:1)
  "func.return"(%y) : (tensor<2xf32>) -> () loc("{secret}":1:1)
}}'''
    for read in (load, gradir.parse):
        with pytest.raises(GradirError) as caught:
            read(text)
        assert "hunter2" not in str(caught.value)
