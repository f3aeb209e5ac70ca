"""Checkpoint stages, policies, memory limits: the same bits, and the memory that was promised."""

from __future__ import annotations

import random
import runpy
from itertools import combinations
from math import isqrt
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from checkpoint_programs import RandomProgram, random_stages, random_statements
from xdsl.dialects.builtin import IntegerAttr

import gradir
from gradir import GradirError, Module
from gradir.dialects.base.attribute_names import PEAK
from gradir.dialects.base.diagnostics import PassError
from gradir.dialects.grad.policies import POLICIES
from gradir.passes.analysis.regions import MAX_REGION_DEPTH
from gradir.passes.gradient import memory_limit
from gradir.symbols import function_named
from gradir.testing import check_grads

Array = np.ndarray[Any, np.dtype[Any]]


def inputs(seed: int = 0) -> list[Array]:
    generator = np.random.default_rng(seed)
    return [generator.uniform(-0.6, 0.6, (6, 6)) for _ in range(2)]


def gradients(module: Module, **options: Any) -> tuple[Array, ...]:
    """What native code gives for the derivative in one function."""
    fn = gradir.compile(module.gradient("f", mode="grad", **options), "f_grad", threads=1)
    return fn(*inputs())


def assert_same_bits(one: Any, other: Any) -> None:
    assert len(one) == len(other)
    for x, y in zip(one, other, strict=True):
        np.testing.assert_array_equal(x, y)


def programs(count: int, size: int) -> list[Any]:
    found: list[Any] = []
    for seed in range(count):
        choose = random.Random(seed)
        found.append(pytest.param(random_statements(choose, size), choose, id=f"seed{seed}"))
    return found


@pytest.mark.parametrize(("program", "choose"), programs(8, 9))
def test_stages_change_no_bit(program: RandomProgram, choose: random.Random) -> None:
    """Gradients through nested stages, interpreted and native, joint and in halves."""
    plain = gradir.parse(program.text())
    marked = gradir.parse(program.text(random_stages(choose, 0, len(program.statements))))
    expected = gradir.interpret(plain.gradient("f", mode="grad"), "f_grad", *inputs())
    joint = marked.gradient("f", mode="grad")
    assert str(gradir.parse(str(joint))) == str(joint)
    assert_same_bits(gradir.interpret(joint, "f_grad", *inputs()), expected)
    assert_same_bits(gradients(marked), gradients(plain))
    halves = marked.gradient("f", of=0)
    outputs = gradir.interpret(halves, "f_fwd", *inputs())
    grads = gradir.interpret(halves, "f_bwd", *outputs[2:], np.array(1.0))
    assert_same_bits(grads, expected[2:])


@pytest.mark.parametrize(("program", "choose"), programs(4, 6))
def test_stages_differentiate_again(program: RandomProgram, choose: random.Random) -> None:
    """Second derivatives through stages are those without."""
    texts = program.text(), program.text(random_stages(choose, 0, len(program.statements)))
    results: list[tuple[Array, ...]] = []
    for text in texts:
        first = gradir.parse(text).gradient("f", mode="grad")
        second = first.gradient("f_grad", mode="vjp", of=[2, 3])
        cotangents = [np.cos(x) for x in inputs()]
        results.append(gradir.interpret(second, "f_grad_vjp", *inputs(), *cotangents))
    for one, other in zip(*results, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-9)


def nested_stages(depth: int) -> str:
    """Stages of an op each, one in the other."""
    lines: list[str] = []
    for k in range(depth):
        lines += [f"%s{k} = grad.start_checkpoint %x{k} : T", f"%x{k + 1} = array.sin %s{k} : T"]
    lines += [f"%x{k + 1} = grad.end_checkpoint %x{k} : T" for k in range(depth, 2 * depth)]
    body = "\n".join([*lines, f"func.return %x{2 * depth} : T"])
    text = f"func.func @f(%x0: T) -> T {{\n{body}\n}}"
    return text.replace("T", "tensor<f64>")


def test_stages_that_pass_values_on() -> None:
    """An output from outside of the stage, or given twice: sums in the order without the stage."""
    text = """func.func @f(%x: TYPE, %w: TYPE) -> (TYPE, TYPE) {
      %y:4 = STAGE -> (TYPE, TYPE, TYPE, TYPE) {
        %i:2 = STAGE -> (TYPE, TYPE) {
          %q = array.multiply %x, %w : TYPE
          YIELD %q, %w : TYPE, TYPE
        }
        %j = scf.execute_region -> (TYPE) {
          scf.yield %i#1 : TYPE
        }
        %a = array.exp %i#0 : TYPE
        YIELD %a, %x, %a, %j : TYPE, TYPE, TYPE, TYPE
      }
      %m1 = array.multiply %y#0, %x : TYPE
      %m2 = array.multiply %y#1, %y#2 : TYPE
      %m3 = array.multiply %m1, %y#0 : TYPE
      %m4 = array.multiply %m2, %y#3 : TYPE
      %m5 = array.multiply %w, %y#2 : TYPE
      %m6 = array.multiply %m3, %y#1 : TYPE
      %s1 = array.add %m4, %m5 : TYPE
      %s2 = array.add %s1, %m6 : TYPE
      %s3 = array.multiply %s2, %w : TYPE
      func.return %s3, %y#2 : TYPE, TYPE
    }"""
    text = text.replace("TYPE", "tensor<64xf32>")
    staged = gradir.parse(text.replace("STAGE", "grad.checkpoint").replace("YIELD", "grad.yield"))
    plain = gradir.parse(text.replace("STAGE", "scf.execute_region").replace("YIELD", "scf.yield"))
    x, w, *cts = np.random.default_rng(0).uniform(0.3, 1.7, (4, 64)).astype(np.float32)
    for of, given in (None, cts), ([1], cts[:1]):
        wanted, ours = (
            gradir.interpret(m.gradient("f", mode="vjp", of=of), "f_vjp", x, w, *given)
            for m in (plain, staged)
        )
        assert_same_bits(ours, wanted)


def test_stages_that_are_nested_deeply() -> None:
    """As deep as regions in a text, and then an error at the start that is one too many."""
    deepest = MAX_REGION_DEPTH - 2
    outlined = gradir.parse(nested_stages(deepest)).run_passes("gradir-outline-checkpoints")
    (sine,) = gradir.interpret(outlined, "f", np.array(0.5))
    wanted = np.array(0.5)
    for _ in range(deepest):
        wanted = np.sin(wanted)
    assert sine == wanted
    line = 2 + 2 * deepest
    too_many = gradir.parse(nested_stages(deepest + 1))
    with pytest.raises(
        GradirError, match=f"^<string>:{line}:1: .*nested too deeply: this one would be in 128"
    ):
        too_many.gradient("f")


@pytest.mark.parametrize(("program", "choose"), programs(3, 8))
def test_policies_change_no_bit(program: RandomProgram, choose: random.Random) -> None:
    """Each policy, of the function and of its stages, gives the same bits."""
    plain = gradir.parse(program.text())
    staged = gradir.parse(program.text(random_stages(choose, 0, len(program.statements))))
    expected = gradients(plain)
    peaks: dict[str, int] = {}
    for policy in POLICIES:
        assert_same_bits(gradients(staged, policy=policy), expected)
        derived = plain.gradient("f", mode="grad", policy=policy)
        fn = gradir.compile(derived, "f_grad", threads=1)
        assert_same_bits(fn(*inputs()), expected)
        peaks[policy] = fn.plan.peak_bytes
        outlined = str(staged.run_passes("gradir-outline-checkpoints"))
        named = outlined.replace("grad.checkpoint ->", f'grad.checkpoint policy "{policy}" ->')
        assert_same_bits(gradients(gradir.parse(named)), expected)
    assert peaks["auto"] <= peaks["keep_all"]


def minimum(module: Module, mode: str) -> int:
    with pytest.raises(GradirError, match="infeasible: minimum is") as caught:
        module.gradient("f", mode=mode, memory_limit=0)
    return int(str(caught.value).split("minimum is ")[1].split()[0])


@pytest.mark.parametrize(("program", "choose"), programs(3, 12))
def test_memory_limits_hold(program: RandomProgram, choose: random.Random) -> None:
    """The peak is the one predicted, within the limit, and monotone in it; bits never change."""
    del choose
    module = gradir.parse(program.text())
    expected = gradients(module)
    least = minimum(module, "grad")
    most = gradir.compile(module.gradient("f", mode="grad"), "f_grad").plan.peak_bytes
    before = 0
    for k in range(6):
        limit = least + (max(most, least) - least) * k // 5
        derived = module.gradient("f", mode="grad", memory_limit=limit)
        fn = gradir.compile(derived, "f_grad")
        predicted = function_named(derived.op, "f_grad").attributes[PEAK]
        assert isinstance(predicted, IntegerAttr)
        assert predicted.value.data == fn.plan.peak_bytes
        assert before <= fn.plan.peak_bytes <= limit
        before = fn.plan.peak_bytes
        assert_same_bits(fn(*inputs()), expected)
    with pytest.raises(GradirError, match=f"minimum is {least} bytes"):
        module.gradient("f", mode="grad", memory_limit=least - 1)


def test_memory_limit_of_halves() -> None:
    """In two functions the limit is on the larger arena and what goes from one to the other."""
    program = random_statements(random.Random(3), 8)
    module = gradir.parse(program.text())
    least = minimum(module, "split")
    derived = module.gradient("f", memory_limit=least)
    forward, backward = (gradir.compile(derived, f"f_{half}") for half in ("fwd", "bwd"))
    residuals = sum(spec.nbytes for spec in forward.results[2:])
    assert residuals + max(forward.plan.peak_bytes, backward.plan.peak_bytes) == least


def brute_force(module: Module) -> int:
    """The lowest peak of all sets of residuals that may be kept."""
    from gradir.compiler.measured_gradient import measure_here
    from gradir.passes.differentiate.derived import Derived
    from gradir.passes.gradient.gradient import Derivation, gradient
    from gradir.passes.gradient.measured_peak import measured_peak
    from gradir.passes.gradient.requests import DerivativeRequest
    from gradir.passes.recompute.candidates import Candidate
    from gradir.passes.recompute.policies import rematerialization

    peaks: list[int] = []

    def measure(derivation: Derivation) -> Derived:
        derived, mode = derivation.derived(), derivation.mode
        read = list(rematerialization(derived, lambda value: False, mode).stored)
        for count in range(len(read) + 1):
            for kept in combinations(read, count):
                candidate = Candidate(frozenset(kept), 0.0)
                peaks.append(measured_peak(measure_here(), derived, candidate, derivation))
        return derived

    gradient(module.op.clone(), DerivativeRequest("f", mode="grad"), keep=measure)
    return min(peaks)


# The backward code reads masks, sums, views, and whole factors of the kept values.
MASKED = """
func.func @f(%x: tensor<16x16xf64>, %w: tensor<16x16xf64>) -> tensor<f64> {
  %a = array.matmul %x, %w : tensor<16x16xf64>, tensor<16x16xf64> -> tensor<16x16xf64>
  %b = nn.relu %a : tensor<16x16xf64>
  %c = array.add %b, %x : tensor<16x16xf64>
  %d = array.matmul %c, %w : tensor<16x16xf64>, tensor<16x16xf64> -> tensor<16x16xf64>
  %e = nn.relu %d : tensor<16x16xf64>
  %g = array.add %e, %c : tensor<16x16xf64>
  %h = array.permute_dims %g {axes = [1, 0]} : tensor<16x16xf64> -> tensor<16x16xf64>
  %i = nn.relu %h : tensor<16x16xf64>
  %j = array.add %i, %h : tensor<16x16xf64>
  %k = array.matmul %j, %x : tensor<16x16xf64>, tensor<16x16xf64> -> tensor<16x16xf64>
  %l = array.tanh %k : tensor<16x16xf64>
  %loss = array.sum %l : tensor<16x16xf64> -> tensor<f64>
  func.return %loss : tensor<f64>
}
"""


def check_bounds(module: Module) -> None:
    """No candidate takes less than its bound says, and more memory is more peak at less cost."""
    from gradir.compiler.measured_gradient import measure_here
    from gradir.passes.differentiate.derived import Derived
    from gradir.passes.gradient.gradient import Derivation, gradient
    from gradir.passes.gradient.measured_peak import derivative_functions, peak_at_least
    from gradir.passes.gradient.memory_limit import Plans
    from gradir.passes.gradient.requests import DerivativeRequest

    def check(derivation: Derivation) -> Derived:
        plans = Plans(derivation, measure_here())
        for plan in plans:
            peak = plans.peak(plan)
            assert plan.candidate.at_least <= peak
            derived = plans.derived(plan.setting)
            _, functions = derivative_functions(derived, plan.candidate, derivation)
            assert peak_at_least(functions, derived, derivation) <= peak
        peaks = sorted({plans.peak(plan) for plan in plans})
        assert plans.within(peaks[0] - 1) is None and plans.peak(plans.least()) == peaks[0]
        chosen = [plans.within(peak) for peak in peaks]
        assert None not in chosen
        found = [(plans.peak(p), -p.candidate.cost) for p in chosen if p is not None]
        assert found == sorted(found) and [c for _, c in found] == sorted(c for _, c in found)
        return derivation.derived()

    gradient(module.op.clone(), DerivativeRequest("f", mode="grad"), keep=check)


def test_bounds_are_below_peaks() -> None:
    """Also where fusion keeps a mask in the place of a value."""
    check_bounds(gradir.parse(MASKED))


def test_plans_above_the_limit_are_not_measured() -> None:
    """The plan is the first that fits, and a bound tells of most of the others that they do not."""
    from gradir.compiler.measured_gradient import measure_here
    from gradir.passes.differentiate.derived import Derived
    from gradir.passes.gradient.gradient import Derivation, gradient
    from gradir.passes.gradient.memory_limit import PeakCache, Plans
    from gradir.passes.gradient.requests import DerivativeRequest

    def check(derivation: Derivation) -> Derived:
        all_plans = Plans(derivation, measure_here())
        peaks = [all_plans.peak(plan) for plan in all_plans]
        limit = sorted(peaks)[len(peaks) // 4]
        plans = Plans(derivation, measure_here())
        plans._peaks = PeakCache().of(plans.measure, "")
        chosen = plans.within(limit)
        assert chosen is not None
        assert chosen.number == next(k for k, peak in enumerate(peaks) if peak <= limit)
        assert len(plans._peaks) <= chosen.number // 2
        return derivation.derived()

    module = gradir.parse(layers_of_tanh(24))
    gradient(module.op.clone(), DerivativeRequest("f", mode="grad"), keep=check)


def layers_of_tanh(count: int) -> str:
    """A chain of products and tanhs, of 32 rows."""
    wide, weight = "tensor<32x16xf32>", "tensor<16x16xf32>"
    lines = [f"func.func @f(%h0: {wide}, %w: {weight}) -> tensor<f32> {{"]
    for k in range(count):
        lines.append(f"%a{k} = array.matmul %h{k}, %w : {wide}, {weight} -> {wide}")
        lines.append(f"%h{k + 1} = array.tanh %a{k} : {wide}")
    lines += [f"%s = array.sum %h{count} : {wide} -> tensor<f32>", "func.return %s : tensor<f32>"]
    return "\n".join([*lines, "}"])


@pytest.mark.parametrize(("program", "choose"), programs(6, 12))
def test_bounds_of_random_programs(program: RandomProgram, choose: random.Random) -> None:
    del choose
    check_bounds(gradir.parse(program.text()))


@pytest.mark.parametrize("seed", range(2))
def test_minimum_against_all_sets(seed: int) -> None:
    """Of a chain of a few values, no set of kept residuals takes less than the minimum."""
    choose = random.Random(seed)
    lines: list[str] = []
    matrix, value = "tensor<8x8xf64>", "%x"
    for k in range(7):
        op = choose.choice(["array.sin", "array.tanh", "array.matmul", "array.matmul"])
        types = matrix if op != "array.matmul" else f"{matrix}, {matrix} -> {matrix}"
        operands = value if op != "array.matmul" else f"{value}, %w"
        lines.append(f"%v{k} = {op} {operands} : {types}")
        value = f"%v{k}"
    body = "\n".join(lines)
    module = gradir.parse(
        f"func.func @f(%x: {matrix}, %w: {matrix}) -> tensor<f64> {{\n{body}\n"
        f"%l = array.sum {value} : {matrix} -> tensor<f64>\nfunc.return %l : tensor<f64>\n}}"
    )
    assert minimum(module, "grad") <= 1.15 * brute_force(module)


def layers(count: int) -> Module:
    """x = tanh(x @ w), `count` times, with one w."""
    types = "tensor<32x16xf32>, tensor<16x16xf32> -> tensor<32x16xf32>"
    lines = [
        f"%m{k} = array.matmul %v{k}, %w : {types}\n%v{k + 1} = array.tanh %m{k} : {TALL}"
        for k in range(count)
    ]
    body = "\n".join(lines)
    return gradir.parse(
        f"func.func @f(%v0: {TALL}, %w: tensor<16x16xf32>) -> tensor<f32> {{\n{body}\n"
        f"%l = array.sum %v{count} : {TALL} -> tensor<f32>\nfunc.return %l : tensor<f32>\n}}"
    )


TALL = "tensor<32x16xf32>"
LAYER_BYTES = 32 * 16 * 4


def test_least_limit_of_a_long_chain() -> None:
    """Runs of 24, 23, ..., 1 of 300 layers; the inputs of the runs are kept."""
    from gradir.passes.differentiate.derived import Derived
    from gradir.passes.gradient.gradient import Derivation, gradient
    from gradir.passes.gradient.requests import DerivativeRequest
    from gradir.passes.recompute.chain import Chain
    from gradir.passes.recompute.policies import rematerialization

    def check(derivation: Derivation) -> Derived:
        derived, costs = derivation.derived(), derivation.costs
        read = rematerialization(derived, lambda value: False, derivation.mode).stored
        chain = Chain(derived.forward, list(read), frozenset(), costs)
        assert chain.bytes >= 300 * LAYER_BYTES
        assert chain.least() <= 1.12 * isqrt(2 * 300) * LAYER_BYTES
        return derived

    gradient(layers(300).op.clone(), DerivativeRequest("f", mode="grad"), keep=check)


def peak(module: Module, **options: Any) -> int:
    made = module.gradient("f", mode="grad", **options)
    return gradir.compile(made, "f_grad").plan.peak_bytes


@pytest.mark.parametrize("policy", ["keep_none", "keep_matmuls", "keep_named", "auto"])
def test_policies_do_not_raise_the_peak(policy: str) -> None:
    """Where keeping all takes less than what a policy says, all is kept."""
    module = layers(12)
    assert peak(module, policy=policy) <= peak(module)


def recomputed(module: Module, **options: Any) -> int:
    """In how many places the derivative begins to recompute."""
    return str(module.gradient("f", **options)).count("grad.barrier")


def test_all_is_kept_only_where_that_takes_less(monkeypatch: pytest.MonkeyPatch) -> None:
    """A policy keeps what it says where it takes as much, or where nobody can tell."""
    module = layers(3)
    for policy in ("keep_none", "keep_matmuls"):
        for difference, is_taken in ((1, False), (0, True), (-1, True)):

            def measured(_: Any, __: Any, plan: Any, mode: Any, higher: int = difference) -> int:
                return 100 if plan is None else 100 + higher

            monkeypatch.setattr(memory_limit, "measured_peak", measured)
            for mode in ("grad", "split"):
                assert (recomputed(module, mode=mode, policy=policy) > 0) is is_taken

    def refused(*_: Any) -> int:
        raise PassError("foo.bar: there is no native code", module.op)

    monkeypatch.setattr(memory_limit, "measured_peak", refused)
    assert recomputed(module, mode="grad", policy="keep_matmuls") > 0


def test_nothing_is_measured_where_nothing_is_recomputed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory_limit, "measured_peak", None)
    text = """func.func @f(%x: tensor<3xf64>, %y: tensor<3xf64>) -> tensor<3xf64> {
      %z = array.multiply %x, %y : tensor<3xf64>
      func.return %z : tensor<3xf64>
    }"""
    assert recomputed(gradir.parse(text), mode="vjp", policy="keep_none") == 0


def test_contributions_do_not_pile_up() -> None:
    """Those of 40 layers to the gradient of the weight that they share."""
    assert minimum(layers(40), "grad") <= (isqrt(2 * 40) + 4) * LAYER_BYTES


def test_arena_of_a_deep_net() -> None:
    """Stages lower the peak of the compiled program as they should: two stored values a stage."""

    def net(per_stage: int | None) -> str:
        lines: list[str] = []
        wide, value = "tensor<64x64xf32>", "%x"
        for k in range(24):
            if per_stage and k % per_stage == 0:
                lines.append(f"%s{k} = grad.start_checkpoint {value} : {wide}")
                value = f"%s{k}"
            lines.append(f"%m{k} = array.matmul {value}, %w : {wide}, {wide} -> {wide}")
            lines.append(f"%h{k} = array.tanh %m{k} : {wide}")
            value = f"%h{k}"
            if per_stage and k % per_stage == per_stage - 1:
                lines.append(f"%e{k} = grad.end_checkpoint {value} : {wide}")
                value = f"%e{k}"
        body = "\n".join(lines)
        return (
            f"func.func @f(%x: {wide}, %w: {wide}) -> tensor<f32> {{\n{body}\n"
            f"%l = array.sum {value} : {wide} -> tensor<f32>\nfunc.return %l : tensor<f32>\n}}"
        )

    sizes: dict[int | None, float] = {}
    for per_stage in (None, 4, 6):
        derived = gradir.parse(net(per_stage)).gradient("f", mode="grad")
        sizes[per_stage] = gradir.compile(derived, "f_grad").plan.peak_bytes / (64 * 64 * 4)
    assert sizes[None] > 24
    # stage inputs, a stage's values, two cotangents, and what sums the gradient of %w
    assert sizes[4] < 6 + 4 + 5
    assert sizes[6] < 4 + 6 + 5


@pytest.mark.parametrize("stage", [7, 2000])
def test_long_stages(stage: int) -> None:
    """Many stages, or one of thousands of ops: without recursion."""
    lines: list[str] = []
    value = "%x"
    for k in range(2000):
        if k % stage == 0:
            lines.append(f"%s{k} = grad.start_checkpoint {value} : tensor<2xf32>")
            value = f"%s{k}"
        lines.append(f"%v{k} = array.sin {value} : tensor<2xf32>")
        value = f"%v{k}"
        if k % stage == stage - 1 or k == 1999:
            lines.append(f"%e{k} = grad.end_checkpoint {value} : tensor<2xf32>")
            value = f"%e{k}"
    text = "\n".join(lines)
    module = gradir.parse(
        f"func.func @f(%x: tensor<2xf32>) -> tensor<2xf32> {{\n{text}\n"
        f"func.return {value} : tensor<2xf32>\n}}"
    )
    derived = module.gradient("f", mode="vjp")
    ops = [op.name for op in function_named(derived.op, "f_vjp").walk()]
    assert ops.count("array.sin") == 2000 + 2000 - len(range(0, 2000, stage))


def test_plans_can_be_looked_at() -> None:
    """The schedule as text, and the picture: recomputed values show as such."""
    module = gradir.parse(random_statements(random.Random(1), 8).text())
    derived = module.gradient("f", mode="grad", memory_limit=minimum(module, "grad"))
    plan = gradir.compile(derived, "f_grad").plan
    text, picture = plan.schedule(), plan.svg()
    assert text.endswith(f"peak {plan.peak_bytes} bytes")
    alive = [int(line.rsplit("; ", 1)[1].split()[0]) for line in text.splitlines()[:-1]]
    assert max(alive) <= plan.peak_bytes and alive[-1] == 0
    assert "recompute " in text
    assert picture.count("<title>") == len(plan.buffers)
    assert picture.startswith("<svg") and picture.rstrip().endswith("</svg>")


def test_pictures_of_the_docs_are_current() -> None:
    """`python docs/pictures/draw.py` draws them anew."""
    folder = Path(__file__).parents[2] / "docs" / "pictures"
    drawn = runpy.run_path(str(folder / "draw.py"))["pictures"]()
    assert drawn == {path.name: path.read_text() for path in folder.glob("*.svg")}


def test_limits_are_kept_when_compiled() -> None:
    """A function that would take more than its limit is refused, rather than compiled."""
    module = gradir.parse(random_statements(random.Random(2), 10).text())
    least = minimum(module, "grad")
    text = str(module.gradient("f", mode="grad", memory_limit=least))
    smaller = text.replace(f"grad.memory_limit = {least} ", f"grad.memory_limit = {least - 1} ")
    with pytest.raises(GradirError, match=f"memory limit of {least - 1} bytes, got an arena of"):
        gradir.compile(gradir.parse(smaller), "f_grad")


def test_calls_with_stages() -> None:
    """Markers in a callee, differentiated as a call or, under a policy, inlined."""
    text = """
    func.func @g(%x: tensor<6x6xf64>) -> tensor<6x6xf64> {
      %s = grad.start_checkpoint %x : tensor<6x6xf64>
      %a = array.sin %s : tensor<6x6xf64>
      %b = array.matmul %a, %a : tensor<6x6xf64>, tensor<6x6xf64> -> tensor<6x6xf64>
      %e = grad.end_checkpoint %b : tensor<6x6xf64>
      func.return %e : tensor<6x6xf64>
    }
    func.func @f(%x: tensor<6x6xf64>, %w: tensor<6x6xf64>) -> tensor<f64> {
      %y = func.call @g(%x) : (tensor<6x6xf64>) -> tensor<6x6xf64>
      %z = array.multiply %y, %w : tensor<6x6xf64>
      %u = func.call @g(%z) : (tensor<6x6xf64>) -> tensor<6x6xf64>
      %loss = array.sum %u : tensor<6x6xf64> -> tensor<f64>
      func.return %loss : tensor<f64>
    }"""
    module = gradir.parse(text)
    lines = [line for line in text.splitlines() if "_checkpoint" not in line]
    plain = gradir.parse("\n".join(lines).replace("%s :", "%x :").replace("%e :", "%b :"))
    expected = gradients(plain)
    assert_same_bits(gradients(module), expected)
    assert_same_bits(gradients(module, policy="keep_none"), expected)
    derived = module.gradient("f", mode="grad", policy="keep_matmuls")
    assert str(function_named(derived.op, "g")) == str(function_named(module.op, "g"))


def test_calls_in_branches_of_stages() -> None:
    """They run again like all else, unless what they call has effects."""
    text = """
    func.func @g(%x: tensor<6x6xf64>) -> tensor<6x6xf64> {
      %a = array.sin %x : tensor<6x6xf64>
      %b = array.multiply %a, %x : tensor<6x6xf64>
      func.return %b : tensor<6x6xf64>
    }
    func.func @f(%x: tensor<6x6xf64>, %w: tensor<6x6xf64>) -> tensor<f64> {
      %yes = arith.constant true
      %s = START %x : tensor<6x6xf64>
      %a = array.sin %s : tensor<6x6xf64>
      %b = scf.if %yes -> (tensor<6x6xf64>) {
        %c = func.call @g(%a) : (tensor<6x6xf64>) -> tensor<6x6xf64>
        scf.yield %c : tensor<6x6xf64>
      } else {
        scf.yield %a : tensor<6x6xf64>
      }
      %d = array.multiply %b, %w : tensor<6x6xf64>
      %e = END %d : tensor<6x6xf64>
      %loss = array.sum %e : tensor<6x6xf64> -> tensor<f64>
      func.return %loss : tensor<f64>
    }"""
    plain = text.replace("START", "grad.barrier").replace("END", "grad.barrier")
    staged = text.replace("START", "grad.start_checkpoint").replace("END", "grad.end_checkpoint")
    assert_same_bits(gradients(gradir.parse(staged)), gradients(gradir.parse(plain)))
    calls: list[Array] = []

    def host(x: Array) -> Array:
        calls.append(x)
        return np.sin(x)

    gradir.register_host_function("called_once", host)
    call = 'grad.host_call %x {callee = "called_once"} : (tensor<6x6xf64>) -> tensor<6x6xf64>'
    effects = gradir.parse(staged.replace("array.sin %x : tensor<6x6xf64>", call))
    gradients(effects, wrt=1)
    assert len(calls) == 1


LOOP = """
func.func @f(%x: tensor<6x6xf64>, %w: tensor<6x6xf64>) -> tensor<f64> {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %n = arith.constant 3 : index
  START0
  %y = scf.for %i = %zero to %n step %one iter_args(%c = %s0) -> (tensor<6x6xf64>) {
    START1
    %d = array.sin %s1 : tensor<6x6xf64>
    %e = array.matmul %d, %w : tensor<6x6xf64>, tensor<6x6xf64> -> tensor<6x6xf64>
    END1
    scf.yield %e1 : tensor<6x6xf64>
  }
  END0
  %loss = array.sum %e0 : tensor<6x6xf64> -> tensor<f64>
  func.return %loss : tensor<f64>
}"""


def loop(outside: str, inside: str) -> str:
    """The loop, in or around a stage, or with barriers in the place of markers."""
    text = LOOP
    for k, (kind, start, end) in enumerate(((outside, "%x", "%y"), (inside, "%c", "%e"))):
        ops = ("grad.start_checkpoint", "grad.end_checkpoint")
        first, last = ops if kind == "stage" else ("grad.barrier", "grad.barrier")
        text = text.replace(f"START{k}", f"%s{k} = {first} {start} : tensor<6x6xf64>")
        text = text.replace(f"END{k}", f"%e{k} = {last} {end} : tensor<6x6xf64>")
    return text


@pytest.mark.parametrize(("outside", "inside"), [("stage", ""), ("", "stage"), ("stage", "stage")])
def test_loops_and_stages(outside: str, inside: str) -> None:
    """A loop in a stage, a stage in a loop, and both: the bits of none."""
    plain, staged = gradir.parse(loop("", "")), gradir.parse(loop(outside, inside))
    expected = gradients(plain)
    assert_same_bits(gradients(staged), expected)
    derived = staged.gradient("f", mode="grad")
    assert_same_bits(gradir.interpret(derived, "f_grad", *inputs()), gradir.interpret(
        plain.gradient("f", mode="grad"), "f_grad", *inputs()
    ))  # fmt: skip


def test_replays_draw_the_same_numbers() -> None:
    """Dropout in a stage: its mask is drawn again from the key, and is the same."""
    text = """
    func.func @f(%x: tensor<6x6xf64>, %w: tensor<6x6xf64>) -> tensor<f64> {
      %key = array.full {value = 3} : tensor<i64>
      %counter = array.full {value = 0} : tensor<i64>
      %s = START %x : tensor<6x6xf64>
      %h = array.sin %s : tensor<6x6xf64>
      %d, %mask = nn.dropout %h, %key, %counter {p = 0.4}
          : tensor<6x6xf64>, tensor<i64>, tensor<i64> -> (tensor<6x6xf64>, tensor<6x6xi1>)
      %y = array.multiply %d, %w : tensor<6x6xf64>
      %z = array.tanh %y : tensor<6x6xf64>
      %e = END %z : tensor<6x6xf64>
      %loss = array.sum %e : tensor<6x6xf64> -> tensor<f64>
      func.return %loss : tensor<f64>
    }"""
    plain = text.replace("START", "grad.barrier").replace("END", "grad.barrier")
    staged = text.replace("START", "grad.start_checkpoint").replace("END", "grad.end_checkpoint")
    expected = gradients(gradir.parse(plain))
    assert_same_bits(gradients(gradir.parse(staged)), expected)
    assert 0 < np.count_nonzero(expected[1]) < expected[1].size
    derived = str(gradir.parse(staged).gradient("f"))
    assert "grad.dropout_mask" in derived[derived.index("@f_bwd") :]


def test_state_is_updated_once() -> None:
    """Of batch_norm in a stage, the replay makes no running statistics; the bits are as without."""
    kinds = "tensor<6x6xf64>, tensor<6xf64>"
    text = f"""
    func.func @f(%x: tensor<6x6xf64>, %w: tensor<6x6xf64>) -> (tensor<f64>, tensor<6xf64>) {{
      %one = array.full {{value = 1.0}} : tensor<6xf64>
      %s = START %x : tensor<6x6xf64>
      %t, %mean, %var, %m, %i = nn.batch_norm %s, %one, %one, %one, %one {{training = true}}
          : {kinds}, tensor<6xf64>, tensor<6xf64>, tensor<6xf64>
          -> ({kinds}, tensor<6xf64>, tensor<6xf64>, tensor<6xf64>)
      %a = array.sin %t : tensor<6x6xf64>
      %y = array.multiply %a, %w : tensor<6x6xf64>
      %e = END %y : tensor<6x6xf64>
      %state = END %mean : tensor<6xf64>
      %loss = array.sum %e : tensor<6x6xf64> -> tensor<f64>
      func.return %loss, %state : tensor<f64>, tensor<6xf64>
    }}"""
    plain = text.replace("START", "grad.barrier").replace("END", "grad.barrier")
    staged = text.replace("START", "grad.start_checkpoint").replace("END", "grad.end_checkpoint")
    expected = gradients(gradir.parse(plain), of=0)
    assert_same_bits(gradients(gradir.parse(staged), of=0), expected)
    halves = gradir.parse(staged).gradient("f", of=0)
    backward = function_named(halves.run_passes("gradir-decompose,gradir-dce").op, "f_bwd")
    # 0.1, the momentum, occurs in the running statistics alone
    assert "value = 0.1" not in str(backward)


@pytest.mark.parametrize("limit", ["1000", 1.5, True, 1 << 63])
def test_limits_that_are_no_bytes(limit: Any) -> None:
    module = gradir.parse(random_statements(random.Random(2), 2).text())
    with pytest.raises(GradirError, match="memory_limit must be a whole number of bytes"):
        module.gradient("f", mode="grad", memory_limit=limit)


def test_few_plans_are_those_that_save_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a long program few plans are measured; some of them keep few bytes at a time."""
    kind = "tensor<512x16xf32>"
    lines = [
        f"%a{k} = array.matmul %b{k}, %w : {kind}, tensor<16x16xf32> -> {kind}\n"
        f"%b{k + 1} = array.tanh %a{k} : {kind}"
        for k in range(60)
    ]
    body = "\n".join([*lines, f"%l = array.sum %b60 : {kind} -> tensor<f32>"])
    text = f"""func.func @f(%b0: {kind}, %w: tensor<16x16xf32>) -> tensor<f32> {{
      {body}
      func.return %l : tensor<f32>
    }}"""
    module = gradir.parse(text)
    all_stored = gradir.compile(module.gradient("f", mode="grad"), "f_grad").plan.peak_bytes
    monkeypatch.setattr(memory_limit, "OPS_TO_MEASURE", 0)
    assert minimum(module, "grad") < 0.3 * all_stored


NAMED_STAGE = """
func.func @f(%x: f64, %w: f64) -> f64 {
  %y = grad.checkpoint -> (f64) {
    %z = grad.checkpoint -> (f64) {
      %a = math.sin %x : f64
      %h = grad.name %a {name = "h"} : f64
      %b = arith.mulf %h, %w : f64
      %g = grad.name %b {name = "g"} : f64
      grad.yield %g : f64
    }
    %c = math.sin %z : f64
    grad.yield %c : f64
  }
  func.return %y : f64
}"""


@pytest.mark.parametrize("mode", ["vjp", "split", "jvp"])
def test_names_in_stages(mode: str) -> None:
    """Where no result of a stage is asked for, its inner values still have a derivative."""
    module = gradir.parse(NAMED_STAGE)
    x, w = 0.3, 0.7
    wanted = {
        ("h", "g"): w,
        (0, "g"): w * np.cos(x),
        (0, "h"): np.cos(x),
        (1, "g"): np.sin(x),
        ("h", 0): w * np.cos(w * np.sin(x)),
    }
    for (wrt, of), expected in wanted.items():
        derived = module.gradient("f", wrt=[wrt], of=[of], mode=mode)
        if mode == "split":
            _, *residuals = gradir.interpret(derived, "f_fwd", x, w)
            *_, found = gradir.interpret(derived, "f_bwd", *residuals, 1.0)
        else:
            *_, found = gradir.interpret(derived, f"f_{mode}", x, w, 1.0)
        np.testing.assert_allclose(found, expected, err_msg=str((wrt, of)))


LOOPING_CALLEE = """
func.func private @g(%x: tensor<f64>) -> tensor<f64> {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %two = arith.constant 2 : index
  %y = scf.for %k = %zero to %two step %one iter_args(%a = %x) -> (tensor<f64>) {
    %b = array.sin %a : tensor<f64>
    scf.yield %b : tensor<f64>
  }
  func.return %y : tensor<f64>
}
func.func @f(%x: tensor<f64>) -> tensor<f64> {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %three = arith.constant 3 : index
  %y = scf.for %k = %zero to %three step %one iter_args(%a = %x) -> (tensor<f64>) {
    %b = grad.checkpoint -> (tensor<f64>) {
      %c = func.call @g(%a) : (tensor<f64>) -> tensor<f64>
      grad.yield %c : tensor<f64>
    }
    scf.yield %b : tensor<f64>
  }
  func.return %y : tensor<f64>
}"""


def test_call_in_stage_in_loop() -> None:
    """The tapes of a callee live as long as one run of the stage, not as long as the loop."""
    check_grads((gradir.parse(LOOPING_CALLEE), "f"), [np.asarray(0.7)])
