"""Loops whose steps are not known before they run: steps that are none, counters that overflow."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gradir
from gradir.errors import ExecutionError, PassError
from gradir.testing import check_grads

LOOP = """
func.func @f(%x: f64, %low: T, %high: T, %step: T) -> f64 {
  %y = scf.for %i = %low to %high step %step iter_args(%a = %x) -> (f64) : T {
    %b = math.sin %a : f64
    scf.yield %b : f64
  } {grad.loop = #grad.loop<POLICY>}
  func.return %y : f64
}
"""
POLICIES = ("store_all", "every = 2", "binomial = 2")


def loop(policy: str, type_: str = "index") -> gradir.Module:
    text = LOOP.replace("POLICY", policy).replace("T", type_)
    return gradir.parse(text.replace(" : index {", " {"))


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("step", [0, -1])
def test_steps_that_are_none(policy: str, step: int) -> None:
    """Also where the policy replaces the loop by others; `step` is what the caller gave."""
    given = (0.5, 0, 5, step)
    module = loop(policy).gradient("f", mode="grad", of=[0])
    error = rf"^<string>:3:3: scf.for: step must be positive, got {step}$"
    with pytest.raises(ExecutionError, match=error):
        gradir.interpret(module, "f_grad", *given)
    with pytest.raises(ExecutionError, match=error):
        gradir.compile(module, "f_grad")(*given)


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("bounds", [(0, 7, 2), (3, 3, 2), (-5, 6, 3), (4, -4, 3), (0, 6, 9)])
def test_steps_that_are_known_late(policy: str, bounds: tuple[int, int, int]) -> None:
    check_grads((loop(policy), "f"), [np.float64(0.5), *map(np.int64, bounds)])


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize(
    ("type_", "bounds", "trips"),
    [
        *(("index", (0, 2**63 - 1, 2**62), 2), ("index", (2**63 - 9, 2**63 - 1, 3), 3)),
        *(("i32", (0, 2**31 - 1, 2**30), 2), ("i32", (2**31 - 3, 2**31 - 1, 2), 1)),
        ("i64", (-(2**63), 2**63 - 1, 2**62), 4),
    ],
)
def test_counters_stop_at_the_largest_number(
    policy: str, type_: str, bounds: tuple[int, int, int], trips: int
) -> None:
    module = loop(policy, type_).gradient("f", mode="grad", of=[0])
    wanted, slope = np.float64(0.5), np.float64(1.0)
    for _ in range(trips):
        wanted, slope = np.sin(wanted), slope * np.cos(wanted)
    for results in (
        gradir.interpret(module, "f_grad", 0.5, *bounds),
        gradir.compile(module, "f_grad")(0.5, *bounds),
    ):
        np.testing.assert_allclose(results, [wanted, slope], rtol=1e-14)


@pytest.mark.parametrize("bounds", [(2**63 - 9, 2**63 - 1, 3), (-(2**63), 2**63 - 1, 2**62)])
def test_constant_counters_near_the_largest_number(bounds: tuple[int, int, int]) -> None:
    """Under every policy the same, also where k iterations would go beyond all numbers."""
    names = dict(zip(("%low", "%high", "%step"), bounds, strict=True))
    found: list[tuple[Any, ...]] = []
    for policy in (*POLICIES, f"every = {2**63 - 1}"):
        text = LOOP.replace("POLICY", policy)
        text = text.replace(", %low: T, %high: T, %step: T", "")
        for name, number in names.items():
            line = f"  {name} = arith.constant {number} : i64\n  %y ="
            text = text.replace("  %y =", line, 1)
        module = gradir.parse(text.replace("T", "i64")).gradient("f", mode="grad", of=[0])
        found.append(gradir.interpret(module, "f_grad", 0.5))
        assert found[-1] == found[0]
        native = gradir.compile(module, "f_grad")(0.5)
        np.testing.assert_allclose(native, found[0], rtol=1e-14)


SLOTS = """
func.func @f(%x: tensor<3xf64>, %n: index) -> tensor<3xf64> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %y = scf.for %i = %c0 to %n step %c1 iter_args(%a = %x) -> (tensor<3xf64>) {
    %b = array.sin %a : tensor<3xf64>
    scf.yield %b : tensor<3xf64>
  } {grad.loop = #grad.loop<POLICY>}
  func.return %y : tensor<3xf64>
}
"""
WHILE = """
func.func @f(%x: tensor<3xf64>, %n: index) -> tensor<3xf64> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %y, %k = scf.while (%a = %x, %i = %c0) : (tensor<3xf64>, index) -> (tensor<3xf64>, index) {
    %more = arith.cmpi slt, %i, %n : index
    scf.condition(%more) %a, %i : tensor<3xf64>, index
  } do {
  ^bb0(%a: tensor<3xf64>, %i: index):
    %b = array.sin %a : tensor<3xf64>
    %j = arith.addi %i, %c1 : index
    scf.yield %b, %j : tensor<3xf64>, index
  } attributes {grad.loop = #grad.loop<POLICY>}
  func.return %y : tensor<3xf64>
}
"""


@pytest.mark.parametrize("kind", ["binomial", "online", "every"])
def test_more_slots_than_memory(kind: str) -> None:
    """No more are planned than the loop has iterations; where these are not known, it is refused,
    with the place of the loop."""
    policy = f"{kind} = {10**14}"
    text = SLOTS.replace("POLICY", policy)
    seven = "  %seven = arith.constant 7 : index\n  %y ="
    known = text.replace("to %n", "to %seven").replace("  %y =", seven)
    derived = gradir.parse(known).gradient("f", mode="vjp")
    given = np.linspace(0.1, 0.9, 3), 7, np.ones(3)
    fn = gradir.compile(derived, "f_vjp")
    assert fn.plan.peak_bytes < 1000
    plain = gradir.parse(known.replace(policy, "store_all")).gradient("f", mode="vjp")
    for one, other in zip(fn(*given), gradir.compile(plain, "f_vjp")(*given), strict=True):
        np.testing.assert_array_equal(one, other)
    for each in (text, WHILE.replace("POLICY", policy))[: 1 + (kind != "binomial")]:
        with pytest.raises(
            PassError, match=rf"^<string>:5:3: error: grad.loop: {policy} keeps up to {10**14} rec"
        ):
            gradir.parse(each).gradient("f", mode="vjp")


def test_a_tape_that_no_address_reaches_the_end_of() -> None:
    """Two loops of 2**31 iterations, one in the other; under a limit such a program compiles."""
    starts = "".join(
        f"%y{k} = scf.for %i{k} = %zero to %n step %one iter_args(%x{k + 1} = %x{k}) -> (f64) {{\n"
        for k in range(2)
    )
    module = gradir.parse(
        "func.func @f(%x0: f64) -> f64 {\n%zero = arith.constant 0 : index\n"
        "%one = arith.constant 1 : index\n%n = arith.constant 2147483648 : index\n"
        f"{starts}%s = math.sin %x2 : f64\nscf.yield %s : f64\n}}\n"
        "scf.yield %y1 : f64\n}\nfunc.return %y0 : f64\n}"
    )
    with pytest.raises(gradir.GradirError, match=r"^<string>:1:1: error: @f_grad: needs \d+ bytes"):
        gradir.compile(module.gradient("f", mode="grad"), "f_grad")
    limited = module.gradient("f", mode="grad", memory_limit=100_000)
    assert "grad.peak_bytes" in str(limited)


# Two calls of a function with a loop of at most one trip, whose tape has a record for each.
ONE_TRIP = """
func.func @g(%x: f64, %n: index) -> f64 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  HIGH
  %y = scf.for %i = %c0 to %high step %c1 iter_args(%a = %x) -> (f64) {
    %b = math.sin %a : f64
    %c = arith.mulf %b, %a : f64
    scf.yield %c : f64
  }
  func.return %y : f64
}
func.func @f(%x: f64, %n: index) -> f64 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %y = scf.for %i = %c0 to %c2 step %c1 iter_args(%a = %x) -> (f64) {
    %b = func.call @g(%a, %n) : (f64, index) -> f64
    scf.yield %b : f64
  }
  func.return %y : f64
}
"""


@pytest.mark.parametrize("trips", [0, 1])
@pytest.mark.parametrize(
    "high",
    [
        "%high = arith.constant 1 : index",
        "%length = arith.minui %n, %c1 : index\n  %high = arith.addi %c0, %length : index",
    ],
    ids=["constant", "bounded"],
)
def test_one_trip_in_each_of_several_calls(high: str, trips: int) -> None:
    check_grads((gradir.parse(ONE_TRIP.replace("HIGH", high)), "f"), [0.9, np.int64(trips)])
