"""Loop policies: the same bits under each, the least number of iterations that run again, and no
more snapshots than there are slots.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
from control_flow_programs import PROGRAMS
from control_flow_text import program
from xdsl.dialects import scf, tensor
from xdsl.dialects.builtin import IndexType, ModuleOp
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Region

import gradir
from gradir import GradirError, Module
from gradir.dialects.array.elementwise import SinOp
from gradir.dialects.base.attribute_names import POLICY_ATTRIBUTE
from gradir.dialects.base.value import Emitter
from gradir.dialects.grad.loop_policy import LoopPolicyAttr
from gradir.dialects.grad.tape import TapeNewOp
from gradir.interpreter.interpreter import interpret
from gradir.passes.rules.loops.schedules import binomial_steps
from gradir.symbols import function_named
from gradir.testing import check_grads

LOOPS = [n for n, p in PROGRAMS.items() if "scf.for" in p.text or "scf.while" in p.text]
POLICIES = [
    ("every", 1), ("every", 2), ("every", 7), ("binomial", 1), ("binomial", 2), ("binomial", 9),
    ("online", 1), ("online", 2), ("online", 3),
]  # fmt: skip


def with_policy(text: str, kind: str, number: int | None) -> Module:
    """The program with a policy on every loop; binomial becomes online on a scf.while."""
    module = gradir.parse(text)
    for op in module.op.walk():
        if isinstance(op, scf.ForOp | scf.WhileOp):
            is_while = isinstance(op, scf.WhileOp)
            fitting = "online" if is_while and kind == "binomial" else kind
            op.attributes[POLICY_ATTRIBUTE] = LoopPolicyAttr.of(fitting, number)
    return gradir.parse(str(module))


def by_policy(name: str, kind: str, number: int | None) -> tuple[Any, ...]:
    """The results and gradients of a program by a policy, by the interpreter."""
    module = with_policy(PROGRAMS[name].text, kind, number).gradient("f", mode="vjp")
    return gradir.interpret(module, "f_vjp", *PROGRAMS[name].arguments(), cotangent(name))


@cache
def cotangent(name: str) -> Any:
    case = PROGRAMS[name]
    return np.ones_like(gradir.interpret(gradir.parse(case.text), "f", *case.arguments())[0])


@cache
def by_store_all(name: str) -> tuple[Any, ...]:
    return by_policy(name, "store_all", None)


@pytest.mark.parametrize("policy", POLICIES, ids=lambda p: f"{p[0]}_{p[1]}")
@pytest.mark.parametrize("name", LOOPS)
def test_bits(name: str, policy: tuple[str, int]) -> None:
    """Results and gradients are as by store_all, bit for bit."""
    for one, other in zip(by_store_all(name), by_policy(name, *policy), strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("name", LOOPS)
def test_bits_of_native_code(name: str) -> None:
    """Also where loops are compiled and bodies fused."""
    case = PROGRAMS[name]
    arguments, ct = case.arguments(), cotangent(name)
    found: list[tuple[Any, ...]] = []
    for kind, number in (("store_all", None), ("every", 2), ("binomial", 2)):
        module = with_policy(case.text, kind, number).gradient("f", mode="vjp")
        found.append(gradir.compile(module, "f_vjp")(*arguments, ct))
    for one, *others in zip(*found, strict=True):
        for other in others:
            np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("policy", [("every", 2), ("binomial", 2)], ids=lambda p: p[0])
@pytest.mark.parametrize(
    "name", ["dynamic_bounds", "scalars_in_nests", "loop_in_callee_in_loop", "condition_computes"]
)
def test_second_order(name: str, policy: tuple[str, int]) -> None:
    """The code that runs iterations again is differentiated like any other."""
    case = PROGRAMS[name]
    check_grads((with_policy(case.text, *policy), "f"), case.arguments(), native=False)


def test_integers_run_again() -> None:
    """Also by ops that xDSL does not declare free of effects."""
    case = program(
        "%x: !v, %n: index", "!v",
        """
  %y = scf.for %i = %c0 to %n step %c1 iter_args(%a = %x) -> (!v) {
    %narrow = arith.index_cast %i : index to i32
    %wide = arith.extsi %narrow : i32 to i64
    %j = arith.index_cast %wide : i64 to index
    %k = arith.remui %j, %c3 : index
    %e = tensor.extract %a[%k] : !v
    %s = math.sin %e : f64
    %b = tensor.insert %s into %a[%k] : !v
    scf.yield %b : !v
  }""",
        [(4,)], np.int64(5),
    )  # fmt: skip
    check_grads((with_policy(case.text, "every", 2), "f"), case.arguments())


# The binomial schedule.


@cache
def least(length: int, slots: int) -> int:
    """The fewest iterations that run again, by dynamic programming."""
    if length <= 1:
        return 0
    if slots == 1:
        return length * (length - 1) // 2
    return min(
        m + least(length - m, slots - 1) + least(m, slots)
        for m in range(1, length)
    )  # fmt: skip


def schedule() -> ModuleOp:
    """A function of the length and the slots that gives m."""
    index = IndexType()
    block = Block(arg_types=[index, index])
    emitter = Emitter(block)
    emitter.insert(ReturnOp(binomial_steps(block.args[0], block.args[1], emitter)))
    return ModuleOp([FuncOp("m", ([index, index], [index]), Region(block))])


def test_schedules_are_optimal() -> None:
    """For all lengths up to 300 and up to 12 slots, the code's choice is a best one."""
    module = schedule()
    lengths, slots = 300, 12
    needed = np.zeros((lengths + 1, slots + 1), np.int64)
    needed[:, 1] = [n * (n - 1) // 2 for n in range(lengths + 1)]
    best = needed.copy()
    for s in range(2, slots + 1):
        for n in range(2, lengths + 1):
            places = np.arange(1, n)
            best[n, s] = np.min(places + best[n - places, s - 1] + best[places, s])
            (m,) = interpret(module, "m", [np.int64(n), np.int64(s)])
            needed[n, s] = m + needed[n - m, s - 1] + needed[m, s]
    np.testing.assert_array_equal(needed, best)


LOOP = program(
    "%x: !s, %n: index", "!s",
    """
  %y = scf.for %i = %c0 to %n step %c1 iter_args(%a = %x) -> (!s) {
    %s = array.sin %a : !s
    %b = array.add %s, %s : !s
    scf.yield %b : !s
  }""",
    [()], np.int64(0),
)  # fmt: skip


@pytest.mark.parametrize(("length", "slots"), [(1, 1), (7, 1), (20, 2), (33, 3), (40, 5), (9, 20)])
def test_executions_are_as_many_as_needed(
    length: int, slots: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The sine, of whose value no derivative is made, runs in the forward loop and where iterations
    run again. The forward loop has run what leads to its snapshots, which counts as run again, and
    goes on to the end."""
    sine, count = SinOp, 0
    original = sine.numpy

    def counting(self: Any, *arrays: Any) -> Any:
        nonlocal count
        count += 1
        return original(self, *arrays)

    module = with_policy(LOOP.text, "binomial", slots).gradient("f", mode="grad")
    monkeypatch.setattr(sine, "numpy", counting)
    gradir.interpret(module, "f_grad", np.array(0.3), np.int64(length))
    assert least(length, slots) <= count <= least(length, slots) + length


def tapes_of(module: Module, function: str) -> list[str]:
    ops = function_named(module.op, function).walk()
    return [str(op.tape.type) for op in ops if isinstance(op, TapeNewOp)]


def rows_of(module: Module) -> list[str]:
    empty = (op for op in module.op.walk() if isinstance(op, tensor.EmptyOp))
    return [str(op.tensor.type) for op in empty]


def test_snapshots_of_policies() -> None:
    """Snapshots are the carried values, in rows where their number is known; only a segment has a
    tape of its iterations."""
    text = LOOP.text.replace("to %n step", "to %c3 step")
    segment = ["!grad.tape<tensor<f64>, capacity = 2>"]
    expected: dict[str, tuple[list[str], list[str]]] = {
        "every": (segment, ["tensor<2xf64>"]),
        "binomial": ([], ["tensor<2xi64>", "tensor<2xf64>"]),
    }
    for kind, (tapes, rows) in expected.items():
        module = with_policy(text, kind, 2).gradient("f", mode="vjp")
        assert (tapes_of(module, "f_vjp"), rows_of(module)) == (tapes, rows)
    unknown = with_policy(LOOP.text, "every", 2).gradient("f", mode="vjp")
    assert tapes_of(unknown, "f_vjp") == ["!grad.tape<tensor<f64>>", *segment]


COUNTED = """
func.func @f(%x: tensor<f64>, %n: index) -> tensor<f64> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %y, %k = scf.while (%a = %x, %i = %c0) : (tensor<f64>, index) -> (tensor<f64>, index) {
    %more = arith.cmpi slt, %i, %n : index
    scf.condition(%more) %a, %i : tensor<f64>, index
  } do {
  ^bb0(%a: tensor<f64>, %i: index):
    %s = array.sin %a : tensor<f64>
    %b = array.add %s, %s : tensor<f64>
    %j = arith.addi %i, %c1 : index
    scf.yield %b, %j : tensor<f64>, index
  }
  func.return %y : tensor<f64>
}
"""


def test_snapshots_of_an_online_schedule() -> None:
    """They are the rows of a tensor, and all memory that the gradient takes but for the tables and
    the carried value. The counter, which the derivative does not use, is not in them."""
    text = COUNTED.replace("tensor<f64>", "tensor<500xf64>")
    module = with_policy(text, "online", 6).gradient("f", mode="vjp")
    assert rows_of(module) == ["tensor<8xi64>", "tensor<7xi64>", "tensor<6x500xf64>"]
    peak = gradir.compile(module, "f_vjp").plan.peak_bytes
    assert 7 * 4000 <= peak <= 7 * 4000 + 512


# Errors.

REFUSED = {
    "several = 3": "the policy must be store_all, every, binomial or online, got several",
    "every": "every takes a number of iterations above 0, got none",
    "every = 0": "every takes a number of iterations above 0, got 0",
    "binomial = -2": "binomial takes a number of slots above 0, got -2",
    "store_all = 2": "store_all takes no number",
    "every = 9223372036854775808": "every takes a number of iterations of at most 922",
}


@pytest.mark.parametrize("policy", REFUSED)
def test_policies_that_are_none(policy: str) -> None:
    text = LOOP.text.replace("  }\n", f"  }} {{grad.loop = #grad.loop<{policy}>}}\n", 1)
    with pytest.raises(GradirError, match=f"grad.loop: {REFUSED[policy]}"):
        gradir.parse(text)


def test_a_while_has_no_count_to_plan_with() -> None:
    text = PROGRAMS["newton"].text.replace(
        "  }\n  func.return", "  } attributes {grad.loop = #grad.loop<binomial = 3>}\n  func.return"
    )
    with pytest.raises(
        GradirError, match=r"scf\.while: binomial needs the number of iterations before the first"
    ):
        gradir.parse(text).gradient("f")


def test_tapes_are_no_snapshots() -> None:
    """A loop that takes records from a tape cannot be run again from a snapshot."""
    text = """
func.func @f(%x: f64, %n: index) -> f64 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %t0 = grad.tape_new : !grad.tape<f64>
  %y, %t = scf.for %i = %c0 to %n step %c1 iter_args(%a = %x, %t1 = %t0)
      -> (f64, !grad.tape<f64>) {
    %s = math.sin %a : f64
    %t2, %p = grad.tape_pop %t1 : !grad.tape<f64>
    %q = arith.mulf %s, %p : f64
    scf.yield %q, %t2 : f64, !grad.tape<f64>
  } {grad.loop = #grad.loop<every = 2>}
  func.return %y : f64
}"""
    with pytest.raises(GradirError, match="every keeps carried values, which must be numbers"):
        gradir.parse(text).gradient("f")
