"""The online schedule of scf.while: a model of it against known facts of the best schedules, and
the code that gradir emits against the model, iteration by iteration.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import cache, partial
from math import comb
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import gradir
from gradir.dialects.grad.host_functions import (
    _FUNCTIONS,
)
from gradir.testing import check_grads

LENGTHS, SLOTS = 300, 12


def most(slots: int, times: int) -> int:
    """beta(s, t): how many iterations can be taken back while none runs again more often."""
    return comb(slots + times, slots)


def least_times(length: int, slots: int) -> int:
    """t with beta(s, t - 1) < length <= beta(s, t)."""
    times = 0
    while most(slots, times) < length:
        times += 1
    return times


# The model.


class Model:
    """The schedule of the forward loop: which iterations have a snapshot when `length` have run."""

    def __init__(self, slots: int):
        self.slots, self.times, self.length = slots, 1, 0
        self.kept: list[int] = []

    def run(self) -> None:
        at = [*self.kept, self.length, self.length + 1]
        if len(self.kept) < self.slots:
            self.kept.append(self.length)
        else:
            while (place := self._gives_way(at)) is None:
                self.times += 1
            del at[place]
            self.kept = at[:-1]
        self.length += 1

    def _gives_way(self, at: list[int]) -> int | None:
        return next(
            (
                place
                for place in range(self.slots, 0, -1)
                if at[place + 1] - at[place - 1] <= most(self.slots - place + 1, self.times)
            ),
            None,
        )


def binomial(length: int, slots: int) -> int:
    """m of the binomial schedule."""
    t = least_times(length, slots)
    twice_less = most(slots, t - 2) if t >= 2 else 0
    return max(twice_less, length - most(slots - 1, t), 1)


def backward(kept: list[int], length: int, slots: int) -> list[int]:
    """What the backward code does: i for running iteration i, ~i for taking it back."""
    kept, left, done = list(kept), length, list[int]()
    while left:
        assert len(kept) <= slots
        at, free = kept[-1], slots - len(kept)
        if left - at == 1 or free == 0:
            done += [*range(at, left - 1), ~(left - 1)]
            if left - at == 1:
                kept.pop()
            left -= 1
        else:
            steps = binomial(left - at, free + 1)
            done += range(at, at + steps)
            kept.append(at + steps)
    return done


@cache
def fewest() -> np.ndarray[Any, Any]:
    """[s, n]: how many iterations must run again at least behind a forward loop that keeps what it
    is told to, by dynamic programming."""
    again = np.zeros((SLOTS + 1, LENGTHS + 1), np.int64)
    again[1] = [n * (n - 1) // 2 for n in range(LENGTHS + 1)]
    best = again.copy()
    for s in range(2, SLOTS + 1):
        for n in range(2, LENGTHS + 1):
            at = np.arange(1, n)
            again[s, n] = np.min(at + again[s - 1, n - at] + again[s, at])
            best[s, n] = np.min(best[s - 1, n - at] + again[s, at])
    return best


@pytest.mark.parametrize("slots", range(1, SLOTS + 1))
def test_bounds_of_the_schedule(slots: int) -> None:
    """For all lengths: no more snapshots than slots, no iteration more than t times again, and in
    all at most 1.13 times the fewest executions that are possible for a known length; the fewest
    up to s."""
    model, worst = Model(slots), 1.0
    for length in range(1, LENGTHS + 1):
        model.run()
        assert len(model.kept) <= slots and model.kept[0] == 0
        done = backward(model.kept, length, slots)
        assert [~i for i in done if i < 0] == list(range(length))[::-1]
        again = Counter(i for i in done if i >= 0)
        assert max(again.values(), default=0) <= least_times(length, slots)
        executions, best = length + again.total(), length + fewest()[slots, length]
        assert executions == best or length > slots
        worst = max(worst, executions / best)
    assert worst <= 1.13


# The code.


@pytest.fixture
def events() -> Any:
    """A pure function x -> x + 1 for programs, and what became of it: i for running it on i, ~i
    for its derivative there."""
    before, seen = dict(_FUNCTIONS), list[int]()

    def run(x: Any) -> Any:
        seen.append(int(x))
        return x + 1

    def back(ct: Any, x: Any) -> Any:
        seen.append(~int(x))
        return ct

    gradir.register_host_function("step", run, backward=back, pure=True)
    yield seen
    _FUNCTIONS.clear()
    _FUNCTIONS.update(before)


STEPS = """
func.func @f(%x: tensor<f64>, %end: tensor<f64>) -> tensor<f64> {
  %y = scf.while (%a = %x) : (tensor<f64>) -> tensor<f64> {
    %p = tensor.extract %a[] : tensor<f64>
    %q = tensor.extract %end[] : tensor<f64>
    %more = arith.cmpf olt, %p, %q : f64
    scf.condition(%more) %a : tensor<f64>
  } do {
  ^bb0(%a: tensor<f64>):
    %b = grad.host_call %a {callee = "step", pure, deps = ["out_grad0", "in0"]}
        : (tensor<f64>) -> tensor<f64>
    scf.yield %b : tensor<f64>
  } attributes {grad.loop = #grad.loop<online = SLOTS>}
  func.return %y : tensor<f64>
}"""


def expected(length: int, slots: int) -> list[int]:
    model = Model(slots)
    for _ in range(length):
        model.run()
    return [*range(length), *backward(model.kept, length, slots)]


def derived(slots: int) -> gradir.Module:
    module = gradir.parse(STEPS.replace("SLOTS", str(slots)))
    return module.gradient("f", mode="vjp", wrt=[0])


@pytest.mark.parametrize("slots", range(1, SLOTS + 1))
def test_native_code_follows_the_model(slots: int, events: list[int]) -> None:
    native = gradir.compile(derived(slots), "f_vjp")
    for length in (*range(40), 66, 91, 120, 187, LENGTHS):
        events.clear()
        y, ct = native(np.float64(0), np.float64(length), np.float64(3))
        assert (y, ct) == (length, 3)
        assert events == expected(length, slots)


@pytest.mark.parametrize(("length", "slots"), [(0, 2), (1, 1), (2, 1), (9, 1), (30, 3), (60, 7)])
def test_the_interpreter_follows_the_model(length: int, slots: int, events: list[int]) -> None:
    gradir.interpret(derived(slots), "f_vjp", np.float64(0), np.float64(length), np.float64(1))
    assert events == expected(length, slots)


# Values of all kinds.

FLOATS = """
func.func @f(%x: tensor<2x3x!s>, %w: !s, %n: index) -> (tensor<2x3x!s>, !s) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %y, %z, %i = scf.while (%a = %x, %l = %w, %j = %c0)
      : (tensor<2x3x!s>, !s, index) -> (tensor<2x3x!s>, !s, index) {
    %more = arith.cmpi slt, %j, %n : index
    scf.condition(%more) %a, %l, %j : tensor<2x3x!s>, !s, index
  } do {
  ^bb0(%a: tensor<2x3x!s>, %l: !s, %j: index):
    %s = array.sin %a : tensor<2x3x!s>
    %all = tensor.splat %l : tensor<2x3x!s>
    %b = array.multiply %s, %all : tensor<2x3x!s>
    %m = arith.mulf %l, %l : !s
    %k = arith.addi %j, %c1 : index
    scf.yield %b, %m, %k : tensor<2x3x!s>, !s, index
  } attributes {grad.loop = #grad.loop<POLICY>}
  func.return %y, %z : tensor<2x3x!s>, !s
}"""

DTYPES: dict[str, Any] = {
    "f64": np.float64, "f32": np.float32, "f16": np.float16, "bf16": ml_dtypes.bfloat16,
}  # fmt: skip

# A bit, an i16, an index and a row of integers decide what the body computes.
INTEGERS = """
func.func @f(%x: tensor<2x3xf64>, %n: i32) -> tensor<2x3xf64> {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %first = arith.constant 0 : index
  %last = arith.constant 2 : index
  %true = arith.constant true
  %odd = arith.constant 21 : i16
  %some = arith.constant 13 : i16
  %rows = array.constant {value = dense<[1, 0]> : tensor<2xi64>} : tensor<2xi64>
  %y, %i, %b, %w, %o, %r = scf.while
      (%a = %x, %j = %c0, %c = %true, %v = %some, %p = %first, %q = %rows)
      : (tensor<2x3xf64>, i32, i1, i16, index, tensor<2xi64>)
      -> (tensor<2x3xf64>, i32, i1, i16, index, tensor<2xi64>) {
    %more = arith.cmpi slt, %j, %n : i32
    scf.condition(%more) %a, %j, %c, %v, %p, %q
        : tensor<2x3xf64>, i32, i1, i16, index, tensor<2xi64>
  } do {
  ^bb0(%a: tensor<2x3xf64>, %j: i32, %c: i1, %v: i16, %p: index, %q: tensor<2xi64>):
    %swapped = array.take %a, %q {axis = 0} : tensor<2x3xf64>, tensor<2xi64> -> tensor<2x3xf64>
    %s = array.sin %swapped : tensor<2x3xf64>
    %e = tensor.extract %a[%first, %p] : tensor<2x3xf64>
    %all = tensor.splat %e : tensor<2x3xf64>
    %g = arith.cmpi sgt, %v, %odd : i16
    %h = scf.if %g -> (tensor<2x3xf64>) {
      %m = array.multiply %s, %all : tensor<2x3xf64>
      scf.yield %m : tensor<2x3xf64>
    } else {
      scf.yield %s : tensor<2x3xf64>
    }
    %t = scf.if %c -> (tensor<2x3xf64>) {
      scf.yield %h : tensor<2x3xf64>
    } else {
      %m = array.multiply %h, %a : tensor<2x3xf64>
      scf.yield %m : tensor<2x3xf64>
    }
    %k = arith.addi %j, %c1 : i32
    %d = arith.xori %c, %true : i1
    %z = arith.muli %v, %odd : i16
    %l = arith.subi %last, %p : index
    %u = array.flip %q {axis = 0} : tensor<2xi64> -> tensor<2xi64>
    scf.yield %t, %k, %d, %z, %l, %u : tensor<2x3xf64>, i32, i1, i16, index, tensor<2xi64>
  } attributes {grad.loop = #grad.loop<POLICY>}
  func.return %y : tensor<2x3xf64>
}"""

NESTED = """
func.func @f(%x: tensor<2xf64>, %n: index) -> tensor<f64> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %y = scf.for %i = %c0 to %n step %c1 iter_args(%o = %x) -> (tensor<2xf64>) {
    %odd = arith.remui %i, %c2 : index
    %is_odd = arith.cmpi eq, %odd, %c1 : index
    %v = scf.if %is_odd -> (tensor<2xf64>) {
      %w, %k = scf.while (%a = %o, %j = %c0) : (tensor<2xf64>, index) -> (tensor<2xf64>, index) {
        %more = arith.cmpi slt, %j, %i : index
        scf.condition(%more) %a, %j : tensor<2xf64>, index
      } do {
      ^bb0(%a: tensor<2xf64>, %j: index):
        %s = array.sin %a : tensor<2xf64>
        %b = array.multiply %s, %x : tensor<2xf64>
        %c = array.add %b, %a : tensor<2xf64>
        %l = arith.addi %j, %c1 : index
        scf.yield %c, %l : tensor<2xf64>, index
      } attributes {grad.loop = #grad.loop<POLICY>}
      scf.yield %w : tensor<2xf64>
    } else {
      %s = array.tanh %o : tensor<2xf64>
      scf.yield %s : tensor<2xf64>
    }
    scf.yield %v : tensor<2xf64>
  }
  %z = array.sum %y : tensor<2xf64> -> tensor<f64>
  func.return %z : tensor<f64>
}"""


def runs(text: str, policy: str, mode: str, cases: Sequence[Sequence[Any]]) -> list[Any]:
    """For each case of arguments, results and gradients by the interpreter and by native code,
    seeded with ones."""
    module = gradir.parse(text.replace("POLICY", policy)).gradient("f", mode=mode)
    names = ["f", "f_vjp"] if mode == "vjp" else ["f", "f_fwd", "f_bwd"]
    interpreted = [partial(gradir.interpret, module, name) for name in names]
    found: list[Any] = []
    for run in (interpreted, [gradir.compile(module, name) for name in names]):
        for arguments in cases:
            seeds = [np.ones_like(y) for y in run[0](*arguments)]
            if mode == "vjp":
                found += run[1](*arguments, *seeds)
            else:
                forward = run[1](*arguments)
                found += [*forward[: len(seeds)], *run[2](*forward[len(seeds) :], *seeds)]
    return found


def assert_bits_of_store_all(
    text: str, slots: Sequence[int], cases: Sequence[Sequence[Any]], mode: str = "vjp"
) -> None:
    expected = runs(text, "store_all", mode, cases)
    for s in slots:
        ours = runs(text, f"online = {s}", mode, cases)
        for one, other in zip(ours, expected, strict=True):
            np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("element", DTYPES)
def test_floats_are_kept_as_they_are(element: str) -> None:
    type_ = DTYPES[element]
    x = np.linspace(-0.7, 2, 6).reshape(2, 3).astype(type_)
    cases = [(x, np.asarray(1.01, type_)[()], np.int64(n)) for n in (0, 1, 2, 9)]
    assert_bits_of_store_all(FLOATS.replace("!s", element), [1, 3], cases)


def test_integers_that_decide_are_kept() -> None:
    cases = [(np.linspace(0.2, 2, 6).reshape(2, 3), np.int32(n)) for n in (0, 1, 8)]
    assert_bits_of_store_all(INTEGERS, [1, 2, 5], cases)


def test_snapshots_are_residuals_between_two_functions() -> None:
    """Of types that arrays have."""
    cases = [(np.linspace(0.2, 2, 6).reshape(2, 3), np.int32(n)) for n in (0, 1, 8)]
    ours = runs(INTEGERS, "online = 3", "split", cases)
    for one, other in zip(ours, runs(INTEGERS, "store_all", "vjp", cases), strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("mode", ["vjp", "split"])
def test_loops_of_unknown_length_in_loops_and_branches(mode: str) -> None:
    """The outer loop keeps the snapshots of the inner one."""
    cases = [(np.array([0.3, 0.7]), np.int64(n)) for n in (1, 8)]
    assert_bits_of_store_all(NESTED, [1, 2, 4], cases, mode)


@pytest.mark.parametrize("slots", [1, 3])
@pytest.mark.parametrize("name", ["floats", "nested"])
def test_second_derivatives(name: str, slots: int) -> None:
    """The code that keeps snapshots and runs again is differentiated like any other."""
    text, arguments = {
        "floats": (FLOATS.replace("!s", "f64"), (np.full((2, 3), 0.4), np.float64(1.1))),
        "nested": (NESTED, (np.array([0.3, 0.7]),)),
    }[name]
    module = gradir.parse(text.replace("POLICY", f"online = {slots}"))
    check_grads((module, "f"), (*arguments, np.int64(4)), order=2, native=slots == 3)


def test_forward_over_reverse() -> None:
    """The jvp of the gradient, as hvp takes it, is that with a tape."""
    x, ct = np.array([0.3, 0.7]), np.array([1.5, -0.5])
    found: list[Any] = []
    for policy in ("store_all", "online = 2"):
        module = gradir.parse(NESTED.replace("POLICY", policy)).gradient("f", mode="grad")
        module = module.gradient("f_grad", mode="jvp", wrt=[0])
        found.append(gradir.interpret(module, "f_grad_jvp", x, np.int64(6), ct))
        found.append(gradir.compile(module, "f_grad_jvp")(x, np.int64(6), ct))
    for k in (0, 1):
        for one, other in zip(found[k], found[2 + k], strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-12)
