"""gradir.comm.simulate: the model against arithmetic by hand."""

from __future__ import annotations

import pytest

import gradir
from gradir import comm
from gradir.errors import ArgumentError, PassError

TEXT = """
func.func @f(%x: tensor<1000xf64>, %y: tensor<64x64xf64>) -> (tensor<1000xf64>, tensor<64x64xf64>) {
  %a = comm.all_reduce %x {ranks = 4} : tensor<1000xf64>
  %m = array.matmul %y, %y : tensor<64x64xf64>, tensor<64x64xf64> -> tensor<64x64xf64>
  %s = array.sin %a : tensor<1000xf64>
  func.return %s, %m : tensor<1000xf64>, tensor<64x64xf64>
}
"""


def test_a_reduction_beside_a_computation() -> None:
    found = comm.simulate(gradir.parse(TEXT), "f", seconds=1.0, latency=0.01, bandwidth=1e5)
    reduction = 4 * 0.01 + 6 / 4 * 8000 / 1e5
    assert found.communication == pytest.approx(reduction)
    assert found.compute == pytest.approx(1.0)
    assert found.bytes == 8000
    # the product of matrices, most of the second, stands between the start and the wait
    assert found.waiting < reduction and found.total == pytest.approx(1.0 + found.waiting)
    slow = comm.simulate(gradir.parse(TEXT), "f", seconds=1.0, latency=1.0, bandwidth=1e5)
    assert slow.waiting > 1 and slow.total == pytest.approx(1.0 + slow.waiting)
    behind = comm.simulate(
        gradir.parse(TEXT), "f", seconds=1.0, latency=0.01, bandwidth=1e5, overlap=False
    )
    assert behind.total == pytest.approx(1.0 + reduction)
    # the arguments, both results, and the sum
    assert found.memory == 8000 + 2 * 8000 + 2 * 64 * 64 * 8


@pytest.mark.parametrize(
    ("op", "seconds"),
    [
        ("all_gather %x {ranks = 4} : tensor<1000xf64> -> tensor<4000xf64>", 2 + 3 * 8000),
        ("reduce_scatter %x {ranks = 4} : tensor<1000xf64> -> tensor<250xf64>", 2 + 3 * 2000),
        ("broadcast %x {ranks = 4} : tensor<1000xf64>", 4 + 6 / 4 * 8000),
        ("reduce %x {ranks = 5} : tensor<1000xf64>", 6 + 8 / 5 * 8000),
        ("all_reduce %x {ranks = 2} : tensor<1000xf64>", 1 + 8000),
        ("send %x {target = 1, ranks = 4} : tensor<1000xf64>", 1 + 8000),
        ("all_reduce %x {ranks = 1} : tensor<1000xf64>", 0),
    ],
)
def test_kinds(op: str, seconds: float) -> None:
    result = op.rpartition("tensor<")[2]
    text = f"""
    func.func @f(%x: tensor<1000xf64>) -> tensor<{result} {{
      %y = comm.{op}
      func.return %y : tensor<{result}
    }}"""
    found = comm.simulate(gradir.parse(text), "f", latency=1.0, bandwidth=1.0)
    assert found.communication == pytest.approx(seconds)
    assert found.total == pytest.approx(seconds + found.compute)


def test_mistakes() -> None:
    loop = """
    func.func @f(%x: tensor<4xf64>, %n: index) -> tensor<4xf64> {
      %zero = arith.constant 0 : index
      %one = arith.constant 1 : index
      %y = scf.for %i = %zero to %n step %one iter_args(%a = %x) -> (tensor<4xf64>) {
        %b = comm.all_reduce %a {ranks = 2} : tensor<4xf64>
        scf.yield %b : tensor<4xf64>
      }
      func.return %y : tensor<4xf64>
    }"""
    with pytest.raises(PassError, match=r"collectives must stand outside of loops .* in scf.for"):
        comm.simulate(gradir.parse(loop), "f")
    with pytest.raises(ArgumentError, match="bandwidth: expected a positive number, got 0"):
        comm.simulate(gradir.parse(TEXT), "f", bandwidth=0)
