"""gradir-run --plot: results of each rank as curves, long and odd ones too."""

from __future__ import annotations

import re
from pathlib import Path
from xml.dom.minidom import parseString

import numpy as np
import pytest

from gradir.errors import ArgumentError
from gradir.tools.gradir_run import main
from gradir.tools.result_plot import MOST_PANELS, result_chart

PROGRAM = """\
func.func @f(%x: tensor<7x6xf32>, %i: tensor<4xi64>)
    -> (tensor<7x6xf32>, tensor<f32>, tensor<4xi64>) {
  %sum = array.sum %x : tensor<7x6xf32> -> tensor<f32>
  func.return %x, %sum, %i : tensor<7x6xf32>, tensor<f32>, tensor<4xi64>
}
"""


def curves(svg: str) -> list[list[str]]:
    """The points of each curve of a document."""
    parseString(svg)
    return [found.split() for found in re.findall(r'<polyline points="([^"]*)"', svg)]


def titles(svg: str) -> list[str]:
    return re.findall(r'font-size="15"[^>]*>([^<]*)<', svg)


def test_results_of_a_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("program.mlir").write_text(PROGRAM)
    assert main(["program.mlir", "--random-inputs", "0", "--plot", "out.svg"]) == 0
    assert capsys.readouterr().out.startswith("result0: float32[7,6]")
    svg = Path("out.svg").read_text()
    assert titles(svg) == ["result0 %x, 5 of 7 rows", "result1 %sum", "result2 %i"]
    assert [len(points) for points in curves(svg)] == [6, 6, 6, 6, 6, 1, 4]
    assert main(["program.mlir", "--random-inputs", "0", "--plot", "no/plot"]) == 1
    assert "cannot write 'no/plot'" in capsys.readouterr().err


def test_odd_results() -> None:
    """Empty, of one element, of bools, with nan, long: the ends of pieces are drawn."""
    long = np.sin(np.arange(100_000) / 1000)
    long[12_345] = 7.0
    odd = [
        np.zeros((0, 3)),
        np.ones((1, 1, 1)),
        np.array([True, False]),
        np.array([np.nan, 1.0]),
        long,
    ]
    found = curves(result_chart(odd, [None] * len(odd)))
    assert [len(points) for points in found[:3]] == [1, 2, 1]
    assert 1000 < len(found[3]) <= 2000
    highest = min(float(point.partition(",")[2]) for point in found[3])
    assert sum(float(point.partition(",")[2]) == highest for point in found[3]) == 1


def test_names_are_escaped_and_many_results_refused() -> None:
    svg = result_chart([np.ones(2)], ["<b>&"])
    parseString(svg)
    assert "<b>" not in svg
    with pytest.raises(ArgumentError, match="at most 60 results"):
        result_chart([np.ones(2)] * (MOST_PANELS + 1), [None] * (MOST_PANELS + 1))
