"""StableHLO on IREE's CPU: golden programs, examples and loops, and the faults of IREE's.

It needs the extra `iree`; `make test-peers` leaves it out where that is not installed. It takes ten
minutes, six of them for dialects/random.mlir, whose StableHLO is 400 KB.
"""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("iree.compiler")
if find_spec("iree.runtime") is None:  # it is imported in processes of its own
    pytest.skip("iree.runtime is not installed", allow_module_level=True)

from stablehlo_iree import IreeError, compiled, outcome, run_on_iree
from stablehlo_programs import Array, Program, arrays_for, paths, programs_of

import gradir
from gradir.tools.gen_stablehlo_page import iree_failures

REFUSED = iree_failures()


@pytest.mark.parametrize("path", list(paths()), ids=lambda path: path.stem)
def test_programs(path: Path) -> None:
    """They agree but for those that the list names, which is true in both directions."""
    wrong: list[str] = []
    for program in programs_of(path):
        found, listed = outcome(program), REFUSED.get(program.name, ("", ""))[0]
        if found != listed:
            wrong.append(f"{program.name}: found {found!r}, listed {listed!r}")
    assert not wrong, "\n".join(wrong)


def test_the_list_names_programs() -> None:
    names = {path.relative_to(path.parents[1]).with_suffix("").as_posix() for path in paths()}
    assert {name.partition(" @")[0] for name in REFUSED} <= names
    assert all(why and why != "not looked into" for _, why in REFUSED.values())


# Loops.


# The steps of a sine, as many as it takes, with snapshots.
HALVED = """
func.func @f(%x: tensor<2xf32>) -> tensor<f32> {
  %two = array.full {value = 2.0} : tensor<2xf32>
  %limit = arith.constant 5.0 : f32
  %y = scf.while (%a = %x) : (tensor<2xf32>) -> tensor<2xf32> {
    %square = array.multiply %a, %a : tensor<2xf32>
    %all = array.sum %square : tensor<2xf32> -> tensor<f32>
    %number = tensor.extract %all[] : tensor<f32>
    %more = arith.cmpf olt, %number, %limit : f32
    scf.condition(%more) %a : tensor<2xf32>
  } do {
  ^bb0(%a: tensor<2xf32>):
    %s = array.sin %a : tensor<2xf32>
    %b = array.multiply %s, %two : tensor<2xf32>
    scf.yield %b : tensor<2xf32>
  } attributes {grad.loop = #grad.loop<online = 2>}
  %sum = array.sum %y : tensor<2xf32> -> tensor<f32>
  func.return %sum : tensor<f32>
}
"""

STEPS = """
func.func @f(%x: tensor<3xf32>) -> tensor<f32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c5 = arith.constant 5 : index
  %y = scf.for %i = %c0 to %c5 step %c1 iter_args(%y = %x) -> (tensor<3xf32>) {
    %s = array.sin %y : tensor<3xf32>
    scf.yield %s : tensor<3xf32>
  }
  %sum = array.sum %y : tensor<3xf32> -> tensor<f32>
  func.return %sum : tensor<f32>
}
"""


@pytest.mark.parametrize("text", [HALVED, STEPS], ids=["while", "for"])
def test_loops(text: str) -> None:
    module = gradir.parse(text).gradient("f", mode="grad")
    arrays = arrays_for(module, "f_grad")
    wanted = [np.asarray(x) for x in gradir.compile(module, "f_grad")(*arrays)]
    assert outcome(Program("f", module.to_stablehlo("f_grad"), arrays, wanted)) == ""


# Faults of IREE's, by programs that have nothing else. A test that fails here says that IREE has
# mended one: docs/stablehlo.md and the list are to follow.

SORT = """
func.func @main(%x: tensor<8xf32>, %i: tensor<8xi32>) -> (tensor<8xf32>, tensor<8xi32>) {
  %a, %b = "stablehlo.sort"(%x, %i) ({
  ^bb0(%p: tensor<f32>, %q: tensor<f32>, %r: tensor<i32>, %s: tensor<i32>):
    %c = "stablehlo.compare"(%p, %q) {comparison_direction = #stablehlo<comparison_direction LT>}
      : (tensor<f32>, tensor<f32>) -> tensor<i1>
    "stablehlo.return"(%c) : (tensor<i1>) -> ()
  }) {dimension = 0 : i64, is_stable = true}
    : (tensor<8xf32>, tensor<8xi32>) -> (tensor<8xf32>, tensor<8xi32>)
  func.return %a, %b : tensor<8xf32>, tensor<8xi32>
}
"""

SUM = """
func.func @main() -> tensor<TYPE> {
  %true = "stablehlo.constant"() {value = dense<true> : tensor<8xi1>} : () -> tensor<8xi1>
  %ones = "stablehlo.convert"(%true) : (tensor<8xi1>) -> tensor<8xTYPE>
  %zero = "stablehlo.constant"() {value = dense<ZERO> : tensor<TYPE>} : () -> tensor<TYPE>
  %sum = "stablehlo.reduce"(%ones, %zero) ({
  ^bb0(%a: tensor<TYPE>, %b: tensor<TYPE>):
    %c = "stablehlo.add"(%a, %b) : (tensor<TYPE>, tensor<TYPE>) -> tensor<TYPE>
    "stablehlo.return"(%c) : (tensor<TYPE>) -> ()
  }) {dimensions = array<i64: 0>} : (tensor<8xTYPE>, tensor<TYPE>) -> tensor<TYPE>
  func.return %sum : tensor<TYPE>
}
"""

POWER = """
func.func @main(%x: tensor<3xf64>, %y: tensor<3xf64>) -> tensor<3xf64> {
  %a = "stablehlo.power"(%x, %y) : (tensor<3xf64>, tensor<3xf64>) -> tensor<3xf64>
  func.return %a : tensor<3xf64>
}
"""

PAD = """
func.func @main(%x: tensor<4xf64>) -> tensor<4xf64> {
  %one = "stablehlo.constant"() {value = dense<1.0> : tensor<f64>} : () -> tensor<f64>
  %a = "stablehlo.pad"(%x, %one) {edge_padding_low = array<i64: 1>,
    edge_padding_high = array<i64: -1>, interior_padding = array<i64: 0>}
    : (tensor<4xf64>, tensor<f64>) -> tensor<4xf64>
  %b = "stablehlo.pad"(%a, %one) {edge_padding_low = array<i64: 1>,
    edge_padding_high = array<i64: -1>, interior_padding = array<i64: 0>}
    : (tensor<4xf64>, tensor<f64>) -> tensor<4xf64>
  func.return %b : tensor<4xf64>
}
"""

CONVERT = """
func.func @main(%x: tensor<4xi32>) -> tensor<4xbf16> {
  %a = "stablehlo.convert"(%x) : (tensor<4xi32>) -> tensor<4xbf16>
  func.return %a : tensor<4xbf16>
}
"""

TANH = """
func.func @main(%x: tensor<4xf64>) -> tensor<4xf64> {
  %a = "stablehlo.tanh"(%x) : (tensor<4xf64>) -> tensor<4xf64>
  func.return %a : tensor<4xf64>
}
"""


def test_a_stable_sort_moves_equal_elements() -> None:
    x: Array = np.array([2, 1, 1, 2, 1, 0, 0, 2], np.float32)
    values, places = run_on_iree(SORT, [x, np.arange(8, dtype=np.int32)])
    assert values.tolist() == sorted(x.tolist())
    assert places.tolist() == [6, 5, 2, 1, 4, 7, 0, 3]  # stable: 5, 6, 1, 2, 4, 0, 3, 7


@pytest.mark.parametrize(("type_", "zero", "found"), [("f32", "0.0", 1), ("i32", "0", 8)])
def test_a_sum_of_constant_bools(type_: str, zero: str, found: int) -> None:
    """1 instead of 8, for floats."""
    [total] = run_on_iree(SUM.replace("TYPE", type_).replace("ZERO", zero), [])
    assert total == found


def test_a_power_of_a_number_below_0() -> None:
    """nan instead of -8 and 4, and of 1 for 0 to the 0."""
    [found] = run_on_iree(POWER, [np.array([-2.0, -2.0, 0.0]), np.array([3.0, 2.0, 0.0])])
    assert np.isnan(found).all()


def test_a_pad_of_a_pad() -> None:
    with pytest.raises(IreeError, match=r"'stream\.yield' op used resource not listed"):
        compiled(PAD)


def test_integers_to_bfloat16() -> None:
    with pytest.raises(IreeError, match="undefined symbol: __truncsfbf2"):
        compiled(CONVERT)


def test_tanh_of_f64_is_the_system_s() -> None:
    with pytest.raises(IreeError, match="undefined symbol: tanh"):
        compiled(TANH)
    x = np.array([0.0, 0.5, -1.0, 2.0])
    np.testing.assert_allclose(run_on_iree(TANH, [x])[0], np.tanh(x), 1e-12)
