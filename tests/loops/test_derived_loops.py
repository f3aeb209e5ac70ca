"""Loops in code that was itself derived: they run again like those that are written.

Snapshots are rows of tensors, which the backward loop reads and does not carry, and what a loop
only writes into is in none of its own. So a second derivative of loops under a policy keeps within
a memory limit as the first one does.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from xdsl.dialects import scf, tensor
from xdsl.dialects.func import FuncOp

import gradir
from gradir import GradirError, Module
from gradir.dialects.base.attribute_names import PEAK, POLICY_ATTRIBUTE
from gradir.dialects.grad.loop_policy import LoopPolicyAttr
from gradir.passes.analysis.region_flow import trips
from gradir.symbols import function_named


def counted(policy: str, steps: int | None = None) -> str:
    """A scf.for of a known number of steps, or of as many as the argument says."""
    end = "%n" if steps is None else "%steps"
    return f"""
func.func @f(%x: tensor<4xf64>, %n: index) -> tensor<f64> {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %steps = arith.constant {steps or 0} : index
  %y = scf.for %i = %c0 to {end} step %c1 iter_args(%a = %x) -> (tensor<4xf64>) {{
    %s = array.sin %a : tensor<4xf64>
    %b = array.multiply %s, %a : tensor<4xf64>
    scf.yield %b : tensor<4xf64>
  }} {{grad.loop = #grad.loop<{policy}>}}
  %l = array.sum %y : tensor<4xf64> -> tensor<f64>
  func.return %l : tensor<f64>
}}"""


def unknown(policy: str) -> str:
    """A scf.while of as many steps as the argument says."""
    return f"""
func.func @f(%x: tensor<4xf64>, %n: index) -> tensor<f64> {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %y, %k = scf.while (%a = %x, %i = %c0) : (tensor<4xf64>, index) -> (tensor<4xf64>, index) {{
    %more = arith.cmpi slt, %i, %n : index
    scf.condition(%more) %a, %i : tensor<4xf64>, index
  }} do {{
  ^bb0(%a: tensor<4xf64>, %i: index):
    %s = array.sin %a : tensor<4xf64>
    %b = array.multiply %s, %a : tensor<4xf64>
    %m = arith.addi %i, %c1 : index
    scf.yield %b, %m : tensor<4xf64>, index
  }} attributes {{grad.loop = #grad.loop<{policy}>}}
  %l = array.sum %y : tensor<4xf64> -> tensor<f64>
  func.return %l : tensor<f64>
}}"""


X, CT = np.array([0.9, 1.1, 1.7, 0.3]), np.array([0.5, -1.0, 2.0, 0.25])


def first(text: str) -> Module:
    """With @f_grad, in text as a program of its own."""
    return gradir.parse(str(gradir.parse(text).gradient("f", mode="grad")))


def second(module: Module, limit: int | None = None) -> Module:
    """With @f_grad_vjp, of the gradient."""
    return module.gradient("f_grad", mode="vjp", of=[1], memory_limit=limit)


def under(module: Module, kind: str, number: int) -> Module:
    """Every loop of @f_grad under a policy; binomial becomes online on a scf.while."""
    for op in function_named(module.op, "f_grad").walk():
        if isinstance(op, scf.ForOp | scf.WhileOp):
            fitting = "online" if isinstance(op, scf.WhileOp) and kind == "binomial" else kind
            op.attributes[POLICY_ATTRIBUTE] = LoopPolicyAttr.of(fitting, number)
    return gradir.parse(str(module))


def assert_same_bits(one: Any, other: Any) -> None:
    for x, y in zip(one, other, strict=True):
        np.testing.assert_array_equal(x, y)


def empty_types(module: Module, function: str) -> list[str]:
    ops = function_named(module.op, function).walk()
    return [str(op.tensor.type) for op in ops if isinstance(op, tensor.EmptyOp)]


# Policies.


@pytest.mark.parametrize(
    ("text", "again"),
    [
        (counted("binomial = 2"), ("every", 2)),
        (counted("binomial = 9", 5), ("binomial", 2)),
        (unknown("online = 2"), ("binomial", 2)),
    ],
    ids=["binomial", "counted", "online"],
)
def test_bits_under_policies(text: str, again: tuple[str, int]) -> None:
    """Of loops that a schedule has made, all of them under a policy; zero trips too."""
    module = first(text)
    plain, derived = second(module), second(under(first(text), *again))
    for length in (0, 5):
        given = X, np.int64(length), CT
        expected = gradir.interpret(plain, "f_grad_vjp", *given)
        assert_same_bits(gradir.interpret(derived, "f_grad_vjp", *given), expected)

    def gradient(x: Any) -> Any:
        return gradir.interpret(module, "f_grad", x, np.int64(5))[1]

    steps = 1e-6 * np.eye(4)
    central = [CT @ (gradient(X + e) - gradient(X - e)) / 2e-6 for e in steps]
    found = gradir.interpret(derived, "f_grad_vjp", X, np.int64(5), CT)
    np.testing.assert_allclose(found[-1], central, rtol=1e-6)


def test_a_loop_that_pops_is_refused() -> None:
    """Where the first derivative has stored all, its backward loop reads a tape as it goes."""
    module = under(first(counted("store_all")), "every", 2)
    with pytest.raises(
        GradirError,
        match=r"\d+:\d+: error: scf.for: every keeps carried values, which must be numbers or "
        r"tensors of static shape, got %tape\S*: !grad.tape<.*>; use store_all",
    ):
        second(module)


# What a loop only writes into.

STEPS = """
func.func @f(%x: tensor<4xf64>, %n: index) -> (tensor<4xf64>, tensor<11x4xf64>, f64) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %zero = arith.constant 0.0 : f64
  %none = array.full {value = 0.0} : tensor<11x4xf64>
  %y, %ys, %last = scf.for %i = %c0 to %n step %c1 iter_args(%a = %x, %r = %none, %l = %zero)
      -> (tensor<4xf64>, tensor<11x4xf64>, f64) {
    %s = array.sin %a : tensor<4xf64>
    %b = array.multiply %s, %x : tensor<4xf64>
    %k = arith.remui %i, %c2 : index
    %is_even = arith.cmpi eq, %k, %c0 : index
    %r1 = scf.if %is_even -> (tensor<11x4xf64>) {
      %r2 = tensor.insert_slice %s into ROW
      scf.yield %r2 : tensor<11x4xf64>
    } else {
      scf.yield %r : tensor<11x4xf64>
    }
    %e = tensor.extract %s[%k] : tensor<4xf64>
    scf.yield %b, %r1, %e : tensor<4xf64>, tensor<11x4xf64>, f64
  }
  func.return %y, %ys, %last : tensor<4xf64>, tensor<11x4xf64>, f64
}""".replace("ROW", "%r[%i, 0] [1, 4] [1, 1] : tensor<4xf64> into tensor<11x4xf64>")


STEP = "%e = tensor.extract %s[%k] : tensor<4xf64>"
CTS = np.cos(X), np.cos(np.arange(44.0)).reshape(11, 4), np.float64(0.5)


def steps_under(policy: str, step: str = STEP) -> Module:
    text = STEPS.replace(STEP, step)
    attribute = f"{{grad.loop = #grad.loop<{policy}>}}"
    text = text.replace("f64\n  }\n  func.return", f"f64\n  }} {attribute}\n  func.return")
    return gradir.parse(text).gradient("f", mode="vjp", of=[0, 1, 2])


@pytest.mark.parametrize(
    ("policy", "rows"),
    [
        ("every = 3", []),
        ("binomial = 3", ["3xi64", "3x4xf64"]),
        ("online = 2", ["2xi64", "2x4xf64"]),
    ],
)
def test_what_is_only_written_is_in_no_snapshot(policy: str, rows: list[str]) -> None:
    """The rows of all steps, and a number that the next step does not read."""
    plain, derived = steps_under("store_all"), steps_under(policy)
    for length in (0, 1, 11):
        given = X, np.int64(length), *CTS
        expected = gradir.interpret(plain, "f_vjp", *given)
        assert_same_bits(gradir.interpret(derived, "f_vjp", *given), expected)
    assert empty_types(derived, "f_vjp") == [f"tensor<{row}>" for row in rows]
    assert ("grad.tape_new : !grad.tape<tensor<4xf64>>\n" in str(derived)) == (not rows)


@pytest.mark.parametrize(
    ("step", "rows"),
    [
        (
            "%d = tensor.extract %r1[%k, %c0] : tensor<11x4xf64>\n    %e = arith.mulf %d, %d : f64",
            ["4xf64", "11x4xf64"],
        ),
        (STEP.replace("%e", "%d") + "\n    %e = arith.mulf %d, %l : f64", ["4xf64", "f64"]),
    ],
    ids=["row", "number"],
)
def test_what_is_read_is_in_snapshots(step: str, rows: list[str]) -> None:
    plain, derived = steps_under("store_all", step), steps_under("binomial = 3", step)
    given = X, np.int64(7), *CTS
    expected = gradir.interpret(plain, "f_vjp", *given)
    assert_same_bits(gradir.interpret(derived, "f_vjp", *given), expected)
    found = [f"tensor<3x{row}>" for row in ("i64", *rows)]
    assert empty_types(derived, "f_vjp")[: len(found)] == found


def test_trips_of_a_segment() -> None:
    """At most as many as fit between the bounds, whatever the start is."""
    text = """
func.func @f(%x: f64, %start: index, %n: index) -> f64 {
  %c3 = arith.constant 3 : index
  %c10 = arith.constant 10 : index
  %0 = arith.addi %start, %c10 : index
  %end = arith.minsi %n, %0 : index
  %left = arith.subi %n, %start : index
  %length = arith.minui %c10, %left : index
  %1 = arith.addi %start, %length : index
  %y = scf.for %i = %start to END step %c3 iter_args(%a = %x) -> (f64) {
    %s = math.sin %a : f64
    scf.yield %s : f64
  }
  func.return %y : f64
}"""
    for end, expected in (("%end", 4), ("%0", 4), ("%1", 4), ("%n", None)):
        loops = gradir.parse(text.replace("END", end)).op.walk()
        assert [trips(op) for op in loops if isinstance(op, scf.ForOp)] == [expected]


# Limits.


def least(module: Module) -> int:
    with pytest.raises(GradirError, match="infeasible") as error:
        second(module, 0)
    return int(str(error.value).split("minimum is ")[1].split()[0])


def attribute(module: Module, name: str) -> Any:
    function = function_named(module.op, "f_grad_vjp")
    assert isinstance(function, FuncOp)
    return function.attributes[name]


def assert_within(limit: int, module: Module, lengths: list[int]) -> None:
    """The same bits in the memory that is promised, and nothing beside it."""
    plain = gradir.compile(second(module), "f_grad_vjp")
    derived = second(module, limit)
    fn = gradir.compile(derived, "f_grad_vjp")
    assert fn.plan.peak_bytes == attribute(derived, PEAK).value.data <= limit
    assert not fn.program.growing
    for length in lengths:
        given = X, np.int64(length), CT
        assert_same_bits(fn(*given), plain(*given))


def test_limits_hold() -> None:
    """Down to the least, which is tight."""
    module = first(counted("every = 3", 13))
    fewest = least(module)
    for limit in (fewest, 3 * fewest):
        assert_within(limit, module, [13])
    with pytest.raises(GradirError, match=f"infeasible: minimum is {fewest} bytes"):
        second(module, fewest - 1)


@pytest.mark.parametrize("text", [counted("binomial = 3"), unknown("online = 3")])
def test_limits_of_unknown_lengths_hold(text: str) -> None:
    assert_within(1 << 17, first(text), [0, 1, 13])


def test_memory_of_many_steps() -> None:
    """900 steps, in 30 segments: the least memory of the second derivative grows like the root, as
    the first derivative's does."""
    few, many = (least(first(counted(f"every = {k}", k * k))) for k in (15, 30))
    stored = gradir.compile(second(first(counted("every = 30", 900))), "f_grad_vjp").plan.peak_bytes
    assert many < 2.5 * few and 15 * many < stored


@pytest.mark.parametrize("trips", [1, 2])
def test_a_record_that_gets_no_cotangent_is_still_a_record(trips: int) -> None:
    """relu reads its output from the tape, and the second derivative gives that output none."""

    def f(x: Any) -> Any:
        return gradir.fori_loop(0, trips, lambda i, y: gradir.nn.relu(y), x)

    module = gradir.trace(f, np.ones(2))
    first = module.gradient("f", mode="vjp")
    second = first.gradient("f_vjp", mode="vjp")
    x, ct = np.array([0.5, -0.3]), np.array([0.4, 0.7])
    gradir.testing.check_grads((module, "f"), (x,), order=2)
    assert len(gradir.compile(second, "f_vjp_vjp")(x, ct, ct, ct)) == 4
