"""Stages that hand back what they did not make, and results that nobody reads: derivatives are
the same as without stages, to the bit, and pruning changes no number.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from stage_programs import Block, Maker, Node, Writer, as_python

import gradir
import gradir.numpy as gnp
from gradir import Module
from gradir.passes.cleanup import simplify
from gradir.passes.differentiate import derived as derived_code
from gradir.passes.rules import checkpoints
from gradir.symbols import function_named

Array = np.ndarray[Any, Any]
Wrap = Callable[[Any], Any]
X, Y = np.array([0.3, 0.7]), np.array([1.1, 0.4])
GIVEN = [X, Y, np.bool_(True), np.int64(2)]
CT = np.array([1.0, -0.5])
LOOPS = ("", " {grad.loop = #grad.loop<every = 2>}", " {grad.loop = #grad.loop<binomial = 2>}")
CLEANUPS = ("gradir-dce", "gradir-simplify,gradir-dce")
STAGES = ("stage", "stage", "if", "for", "call", "stage", "while")


def plain(function: Any) -> Any:
    return function


def assert_same_bits(one: Any, other: Any) -> None:
    for x, y in zip(one, other, strict=True):
        np.testing.assert_array_equal(x, y)
        assert x.tobytes() == y.tobytes()


# A stage that hands on what another stage made, in different forms.


def handed_on(wrap: Wrap) -> Any:
    def run(x: Any) -> Any:
        a = wrap(gnp.sin)(x)
        b, c = wrap(lambda a: (a, gnp.exp(a)))(a)
        return b * a + c

    return run


def captured_twice(wrap: Wrap) -> Any:
    def run(x: Any) -> Any:
        a = wrap(gnp.sin)(x)
        b, c, d = wrap(lambda _: (a, a, wrap(lambda _: a)(x)))(x)
        return b * c * gnp.exp(d)

    return run


def through_two(wrap: Wrap) -> Any:
    def run(x: Any) -> Any:
        a, b = wrap(lambda x: wrap(lambda y: (gnp.sin(y), y))(gnp.exp(x)))(x)
        c, d = wrap(lambda _: wrap(lambda b: (b, a))(b))(a)
        return a * d + gnp.tanh(b) * c

    return run


@pytest.mark.parametrize("make", [handed_on, captured_twice, through_two])
def test_a_stage_hands_on_what_another_made(make: Any) -> None:
    for derivative in (gradir.grad, lambda f: gradir.grad(gradir.grad(f))):
        expected = derivative(make(plain))(0.7)
        assert derivative(make(gradir.checkpoint))(0.7) == pytest.approx(expected, rel=1e-14)
    assert gradir.grad(make(plain))(0.7) == gradir.grad(make(gradir.checkpoint))(0.7)


def test_a_lost_cotangent_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a rule contributes to a value that the walk has passed never becomes silence."""

    def through_all(value: Any, stage: Any) -> Any:
        while isinstance(owner := value.owner, checkpoints.CheckpointOp):
            value = owner.yielded[value.index]
        return value

    monkeypatch.setattr(checkpoints, "_source_in_stage", through_all)
    with pytest.raises(AssertionError, match=r"array.sin: the cotangent of .* came after the walk"):
        gradir.grad(handed_on(gradir.checkpoint))(0.7)


# Random programs as text.


def derivative(module: Module, mode: Any, **options: Any) -> list[Array]:
    """The results of a derivative in a mode, with the same cotangent or tangent for all."""
    made = module.gradient("f", mode=mode, **options)
    if mode != "split":
        given = _given(made, f"f_{mode}")
        return [*gradir.interpret(made, f"f_{mode}", *given)]
    count = len(gradir.interpret(module, "f", *GIVEN))
    values = [*gradir.interpret(made, "f_fwd", *GIVEN)]
    return [*values[:count], *gradir.interpret(made, "f_bwd", *values[count:], *[CT] * count)]


def _given(module: Module, function: str) -> list[Any]:
    """Arguments of a derivative: the program's, then cotangents or tangents."""
    count = len(function_named(module.op, function).function_type.inputs)
    return [*GIVEN, *[CT] * (count - len(GIVEN))]


def both(program: Block, loops: str = "", named: str | None = None) -> list[Module]:
    """The program without and with its stages."""
    return [gradir.parse(Writer(marked, loops, named).text(program)) for marked in (False, True)]


@pytest.mark.parametrize("seed", range(24))
def test_stages_of_captured_values_change_no_bit(seed: int) -> None:
    program = Maker(seed, ("stage",) if seed % 2 else STAGES).program(3 if seed % 2 else 2)
    modules = both(program, LOOPS[seed % 3])
    for mode in ("vjp", "split", "jvp"):
        assert_same_bits(*(derivative(m, mode) for m in modules))


@pytest.mark.parametrize("seed", range(24, 36))
def test_names_in_stages_of_captured_values(seed: int) -> None:
    program = Maker(seed, ("stage",) if seed % 2 else STAGES).program(3)
    named = random.Random(seed).choice([*_plain_results(program.nodes)])
    modules = both(program, named=named)
    for options in ({"wrt": ["h", 0]}, {"of": ["h", 0]}):
        assert_same_bits(*(derivative(m, "vjp", **options) for m in modules))


def _plain_results(nodes: list[Node]) -> list[str]:
    """Results of the ops that are in no region but stages' regions."""
    found = [r for n in nodes if not n.blocks for r in n.results]
    inner = [_plain_results(n.blocks[0].nodes) for n in nodes if n.kind == "stage"]
    return [*found, *(r for each in inner for r in each)]


@pytest.mark.parametrize("seed", [3, 8, 26, 37])
def test_second_derivatives_of_stages_of_captured_values(seed: int) -> None:
    found: list[Any] = []
    for module in both(Maker(seed, STAGES).program(2)):
        second = module.gradient("f", mode="vjp").gradient("f_vjp", mode="vjp")
        given = _given(second, "f_vjp_vjp")
        found.append(gradir.interpret(second, "f_vjp_vjp", *given))
    for one, other in zip(*found, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9)


@pytest.mark.parametrize("seed", [0, 5])
def test_native_code_of_stages_of_captured_values(seed: int) -> None:
    found: list[Any] = []
    for module in both(Maker(seed, STAGES).program(2)):
        made = module.gradient("f", mode="grad", of=[0])
        found.append(gradir.compile(made, "f_grad", threads=1)(*GIVEN))
    assert_same_bits(*found)


@pytest.mark.parametrize("seed", range(6))
def test_python_stages_of_captured_values(seed: int) -> None:
    program = Maker(seed, ("stage", "stage", "for")).program(3)
    found: list[Any] = []
    for wrap in (plain, gradir.checkpoint):
        module = gradir.trace(as_python(program, wrap), X, Y)
        made = module.gradient("main", mode="grad")
        found.append(gradir.interpret(made, "main_grad", X, Y))
    assert_same_bits(*found)


def test_calls_in_the_test_of_a_loop_that_runs_again() -> None:
    """The first test stands by itself and may read less active values than the carried ones."""
    for seed in (150, 392):
        program = Maker(seed, STAGES).program(2)
        modules = both(program, LOOPS[2])
        assert_same_bits(*(derivative(m, "vjp") for m in modules))


def test_what_a_loop_in_a_stage_hands_through() -> None:
    """Sums have the order that they have without the stage: %b is %y, and so is %s."""
    inside = """
      {0}, %c = scf.for %i = %zero to %n step %one iter_args(%p = %y, %q = %x)
          -> (tensor<2xf64>, tensor<2xf64>) {{
        %r = array.sin %q : tensor<2xf64>
        scf.yield %p, %r : tensor<2xf64>, tensor<2xf64>
      }}"""
    stage = f"""%s = grad.checkpoint -> (tensor<2xf64>) {{
      {inside.format("%b")}
      grad.yield %b : tensor<2xf64>
    }}"""
    found = [
        derivative(
            gradir.parse(
                f"""
            func.func @f(%x: tensor<2xf64>, %y: tensor<2xf64>, %c: i1, %n: index)
                -> tensor<2xf64> {{
              %zero = arith.constant 0 : index
              %one = arith.constant 1 : index
              {part}
              %t = array.tanh %s : tensor<2xf64>
              %e = array.exp %s : tensor<2xf64>
              %u = array.sin %y : tensor<2xf64>
              %v = array.multiply %t, %e : tensor<2xf64>
              %w = array.divide %u, %s : tensor<2xf64>
              %z = array.add %v, %w : tensor<2xf64>
              func.return %z : tensor<2xf64>
            }}""".replace("%c =", "%d =")
            ),
            "vjp",
        )
        for part in (inside.format("%s"), stage)
    ]
    assert_same_bits(*found)
    program = Maker(810, STAGES).program(2)
    assert_same_bits(*(derivative(m, "vjp") for m in both(program)))


# Pruning.


@pytest.mark.parametrize("seed", range(30))
def test_pruning_changes_no_number(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of random results with respect to random arguments; floor_divide ends cotangents early."""
    choose = random.Random(seed)
    program = Maker(seed, steps=True).program()
    module = gradir.parse(Writer(True, choose.choice(LOOPS)).text(program))
    options: dict[str, Any] = {"of": [choose.randrange(len(program.returned))],
               "wrt": choose.choice([[0], [1], [0, 1]])}  # fmt: skip
    given = [X, Y, np.bool_(choose.random() < 0.5), np.int64(choose.randint(0, 3))]
    pruned = module.gradient("f", mode="vjp", **options)
    with monkeypatch.context() as patch:
        patch.setattr(derived_code, "prune_flow", lambda blocks: None)
        patch.setattr(simplify, "simplify_flow", lambda block: None)
        whole = module.gradient("f", mode="vjp", **options)
    for name, modules, arguments in (
        ("f", [module], given),
        ("f_vjp", [whole, pruned], [*given, CT]),
    ):
        cleaned = [m.run_passes(p) for m in modules for p in CLEANUPS]
        expected, *found = (gradir.interpret(m, name, *arguments) for m in (*modules, *cleaned))
        for each in found:
            assert_same_bits(expected, each)


def test_a_branch_to_which_no_cotangent_comes() -> None:
    """The backward code that was made for it goes, and what only that read."""
    module = gradir.parse("""
        func.func @f(%x: tensor<f64>, %y: tensor<f64>, %c: i1) -> (tensor<f64>, tensor<f64>) {
          %u, %v = scf.if %c -> (tensor<f64>, tensor<f64>) {
            %t = array.tanh %x : tensor<f64>
            scf.yield %t, %t : tensor<f64>, tensor<f64>
          } else {
            scf.yield %x, %y : tensor<f64>, tensor<f64>
          }
          %q = array.floor_divide %v, %v : tensor<f64>
          func.return %q, %v : tensor<f64>, tensor<f64>
        }""")
    made = module.gradient("f", of=[0], mode="vjp")
    given = [np.float64(0.5), np.float64(2.0), np.bool_(True), np.float64(1.0)]
    _, _, *grads = gradir.interpret(made, "f_vjp", *given)
    assert grads == [0.0, 0.0]
