"""A memory limit chooses how loops keep their iterations: the same bits, the memory that was
promised, and no tape beyond the limit.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
from loop_nests import random_loops
from random_flow_programs import random_flow_program
from xdsl.dialects.builtin import ArrayAttr, IntegerAttr
from xdsl.ir import Attribute

import gradir
from gradir import GradirError, Module
from gradir.compiler.measured_gradient import measure_here
from gradir.dialects.base.attribute_names import LOOPS, PEAK
from gradir.passes.differentiate.derived import Derived
from gradir.passes.gradient.gradient import Derivation, gradient
from gradir.passes.gradient.measured_peak import measured_peak
from gradir.passes.gradient.memory_limit import Plans
from gradir.passes.gradient.requests import DerivativeRequest, Mode
from gradir.passes.recompute.loop_policy_search import least_runs
from gradir.symbols import function_named

ODE = Path(__file__).parents[2] / "benchmarks" / "programs" / "ode.mlir"


def minimum(module: Module, function: str, mode: str) -> int:
    """The least limit; 0 where there is none."""
    try:
        module.gradient(function, mode=mode, memory_limit=0)
    except GradirError as error:
        return int(str(error).split("minimum is ")[1].split()[0])
    return 0


def promised(module: Module, function: str) -> int:
    peak = function_named(module.op, function).attributes[PEAK]
    assert isinstance(peak, IntegerAttr)
    return peak.value.data


def chosen(module: Module, function: str) -> list[str]:
    policies = cast("ArrayAttr[Attribute]", function_named(module.op, function).attributes[LOOPS])
    return [str(p).removeprefix("#grad.loop<").removesuffix(">") for p in policies]


def assert_same_bits(one: Sequence[Any], other: Sequence[Any]) -> None:
    for x, y in zip(one, other, strict=True):
        np.testing.assert_array_equal(x, y)


def loops_arguments() -> list[Any]:
    return [np.linspace(0.3, 0.9, 5), np.int64(6)]


SEEDS = [
    1,
    0,
    3,
    5,
]


@pytest.mark.parametrize("seed", SEEDS)
def test_limits_hold(seed: int) -> None:
    """The peak is the one predicted, within the limit, and monotone in it; bits never change."""
    module, given = gradir.parse(random_loops(seed)), loops_arguments()
    ct = np.cos(given[0])
    expected = gradir.compile(module.gradient("f", mode="vjp"), "f_vjp")(*given, ct)
    least = minimum(module, "f", "vjp")
    before = 0
    for limit in (least, 4 * least, 40 * least):
        derived = module.gradient("f", mode="vjp", memory_limit=limit)
        fn = gradir.compile(derived, "f_vjp")
        assert promised(derived, "f_vjp") == fn.plan.peak_bytes
        assert before <= fn.plan.peak_bytes <= limit
        before = fn.plan.peak_bytes
        assert_same_bits(fn(*given, ct), expected)
        assert str(gradir.parse(str(derived))) == str(derived)
    with pytest.raises(GradirError, match=f"infeasible: minimum is {least} bytes"):
        module.gradient("f", mode="vjp", memory_limit=least - 1)


@pytest.mark.parametrize("seed", [1, 0])
def test_limits_of_halves_hold(seed: int) -> None:
    """Tapes that go from one function to the other count."""
    module, given = gradir.parse(random_loops(seed)), loops_arguments()
    ct = np.cos(given[0])
    expected = gradir.compile(module.gradient("f", mode="vjp"), "f_vjp")(*given, ct)
    least = minimum(module, "f", "split")
    for limit in (least, 10 * least):
        derived = module.gradient("f", memory_limit=limit)
        forward, backward = (gradir.compile(derived, f"f_{half}") for half in ("fwd", "bwd"))
        value, *residuals = forward(*given)
        assert_same_bits([value, *backward(*residuals, ct)], expected)
        arrays = [a for r in residuals for a in getattr(r, "arrays", [r])]
        larger = max(forward.plan.peak_bytes, backward.plan.peak_bytes)
        assert sum(np.asarray(a).nbytes for a in arrays) + larger == promised(derived, "f_fwd")
        assert promised(derived, "f_fwd") <= limit


@pytest.mark.parametrize("seed", [2, 4, 8, 14, 23, 25])
def test_random_flow(seed: int) -> None:
    """Loops in branches, branches in loops, callees, conditions that compute: interpreted."""
    module = gradir.parse(random_flow_program(seed))
    floats = [np.full(shape, 0.4) for shape in ((), (), (3,))]
    given = [*floats, np.int64(2), np.bool_(True), np.bool_(False)]
    ct = np.ones_like(gradir.interpret(module, "f", *given)[0])
    expected = gradir.interpret(module.gradient("f", mode="vjp"), "f_vjp", *given, ct)
    for limit in (minimum(module, "f", "vjp"), 1 << 40):
        derived = module.gradient("f", mode="vjp", memory_limit=limit)
        assert_same_bits(gradir.interpret(derived, "f_vjp", *given, ct), expected)


def all_plans(module: Module, mode: Mode) -> Plans:
    found: list[Plans] = []

    def look(derivation: Derivation) -> Derived:
        found.append(Plans(derivation, measure_here()))
        return derivation.derived()

    gradient(module.op.clone(), DerivativeRequest("f", mode=mode), keep=look)
    return found[0]


@pytest.mark.parametrize(("seed", "mode"), [(0, "vjp"), (1, "split"), (5, "vjp")])
def test_bounds_are_bounds(seed: int, mode: Mode) -> None:
    """No plan takes less than its lower bound before it is measured, and they come in order."""
    plans = all_plans(gradir.parse(random_loops(seed)), mode)
    costs: list[float] = []
    for plan in plans:
        derived = plans.derived(plan.setting)
        assert plan.candidate.at_least <= measured_peak(
            plans.measure, derived, plan.candidate, plans.derivation
        )
        costs.append(plans.settings[plan.setting].cost + plan.candidate.cost)
    assert costs == sorted(costs) and len(costs) > 3


def test_least_runs() -> None:
    """As by dynamic programming."""
    lengths = 40
    best = np.zeros((lengths + 1, 6), np.int64)
    best[:, 1] = [n * (n - 1) // 2 for n in range(lengths + 1)]
    for s in range(2, 6):
        for n in range(2, lengths + 1):
            m = np.arange(1, n)
            best[n, s] = np.min(m + best[n - m, s - 1] + best[m, s])
    found = [[least_runs(n, s) for s in range(1, 6)] for n in range(lengths + 1)]
    np.testing.assert_array_equal(found, best[:, 1:])


# What is chosen.


def test_an_ode_of_many_steps() -> None:
    """1.6 MB of records become 7 KB of states and the records of some steps."""
    module = gradir.parse(ODE.read_text())
    expected = gradir.compile(module.gradient("main", mode="grad"), "main_grad")(2.0, 2.0)
    peaks: list[int] = []
    every = "every = 223"
    for limit, policy in ((2_000_000, "store_all"), (1_000_000, every), (10_000, every)):
        derived = module.gradient("main", mode="grad", memory_limit=limit)
        fn = gradir.compile(derived, "main_grad", threads=1)
        assert chosen(derived, "main_grad") == [policy]
        assert_same_bits(fn(2.0, 2.0), expected)
        peaks.append(fn.plan.peak_bytes)
    assert peaks == [1_600_000, peaks[1], peaks[1]] and peaks[1] < 10_000


def counted(policy: str = "") -> str:
    """A scf.while of as many steps as the argument says."""
    attributes = f"attributes {{grad.loop = #grad.loop<{policy}>}}" if policy else ""
    return f"""
func.func @f(%x: tensor<4xf64>, %n: index) -> tensor<4xf64> {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %y, %k = scf.while (%a = %x, %i = %c0) : (tensor<4xf64>, index) -> (tensor<4xf64>, index) {{
    %more = arith.cmpi slt, %i, %n : index
    scf.condition(%more) %a, %i : tensor<4xf64>, index
  }} do {{
  ^bb0(%b: tensor<4xf64>, %j: index):
    %s = array.sin %b : tensor<4xf64>
    %m = arith.addi %j, %c1 : index
    scf.yield %s, %m : tensor<4xf64>, index
  }} {attributes}
  func.return %y : tensor<4xf64>
}}"""


def test_a_loop_of_unknown_length_gets_slots() -> None:
    """Whatever its length is, the arena has the promised size, and nothing is outside of it."""
    module = gradir.parse(counted())
    derived = module.gradient("f", mode="vjp", memory_limit=2_000)
    assert chosen(derived, "f_vjp") == ["online = 32"]
    x, ct = np.linspace(0.1, 0.9, 4), np.ones(4)
    plain = gradir.compile(module.gradient("f", mode="vjp"), "f_vjp")
    fn = gradir.compile(derived, "f_vjp")
    assert fn.plan.peak_bytes == promised(derived, "f_vjp") and not fn.program.growing
    for length in (0, 1, 31, 32, 33, 300):
        assert_same_bits(fn(x, np.int64(length), ct), plain(x, np.int64(length), ct))


def test_a_tape_that_is_asked_for_has_a_limit() -> None:
    """A loop that says store_all has what the arena leaves, and stops where that is too little."""
    module = gradir.parse(counted("store_all"))
    derived = module.gradient("f", mode="vjp", memory_limit=2_000)
    assert chosen(derived, "f_vjp") == ["store_all"]
    left = 2_000 - promised(derived, "f_vjp")
    assert f"limit = {left}>" in str(derived)
    fn = gradir.compile(derived, "f_vjp")
    x, ct, most = np.linspace(0.1, 0.9, 4), np.ones(4), left // 32
    plain = gradir.compile(module.gradient("f", mode="vjp"), "f_vjp")
    assert_same_bits(fn(x, np.int64(most), ct), plain(x, np.int64(most), ct))
    with pytest.raises(GradirError, match=rf"the tape's limit is {left} bytes, needed"):
        fn(x, np.int64(most + 1), ct)


def test_policies_that_are_written_stay() -> None:
    module = gradir.parse(counted("online = 3"))
    derived = module.gradient("f", mode="vjp", memory_limit=1 << 30)
    assert chosen(derived, "f_vjp") == ["online = 3"]
    with pytest.raises(GradirError, match="minimum is"):
        module.gradient("f", mode="vjp", memory_limit=1)


def test_a_loop_with_effects_stores_all() -> None:
    """It must not run again; its tape is limited."""
    note = 'grad.host_call %k0 {callee = "note"} : (tensor<f64>) -> ()\n    %s = array.sin'
    text = counted().replace("%s = array.sin", note)
    text = text.replace("%c0 =", "%k0 = array.full {value = 0.0} : tensor<f64>\n  %c0 =", 1)
    derived = gradir.parse(text).gradient("f", mode="vjp", memory_limit=1 << 20)
    assert chosen(derived, "f_vjp") == ["store_all"]
    assert f"limit = {(1 << 20) - promised(derived, 'f_vjp')}>" in str(derived)


def test_tapes_of_the_caller_keep_their_types() -> None:
    """A derivative of a backward function takes a tape and gives its cotangent: neither is of the
    memory that is limited, the tape between the two loops is."""
    halves = gradir.parse(counted("store_all")).gradient("f", mode="split")
    twice, limited = (
        halves.gradient("f_bwd", mode="vjp", memory_limit=limit) for limit in (None, 4_000)
    )
    types = [
        [str(t) for t in function_named(m.op, "f_bwd_vjp").function_type.inputs]
        for m in (twice, limited)
    ]
    assert types[0] == types[1] and any("tape" in t for t in types[0])
    left = 4_000 - promised(limited, "f_bwd_vjp")
    assert str(limited).count(f"limit = {left}>") and "limit" not in str(twice)
    x, n, ct = np.linspace(0.1, 0.9, 4), np.int64(5), np.ones(4)
    _, *residuals = gradir.interpret(halves, "f_fwd", x, n)
    given = [*residuals, ct, ct]
    found, wanted = (gradir.interpret(m, "f_bwd_vjp", *given) for m in (limited, twice))
    for k in (0, -1):  # between them is the tape
        np.testing.assert_array_equal(found[k], wanted[k])


def test_bounds_refuse_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """A bound that is too high, say of a tape that a later pass removes, hides no plan."""
    module = gradir.parse(counted("store_all"))
    least = minimum(module, "f", "grad")

    def too_high(bounds: object, kept: object) -> int:
        return 10**9

    monkeypatch.setattr("gradir.passes.recompute.kept_bytes.KeptBytes.at_least", too_high)
    assert promised(module.gradient("f", mode="grad", memory_limit=least), "f_grad") == least
