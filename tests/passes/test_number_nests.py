"""gradir-lower of ops on numbers: one nest for many of them, each behind all that it reads."""

from __future__ import annotations

import random

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

import gradir
from gradir.dialects.loopnest.loopnest import NestOp
from gradir.passes.lower import number_nests
from gradir.passes.lower.lower import lower
from gradir.passes.verify.verify import verify


def lowered(text: str) -> ModuleOp:
    op = gradir.parse(text).op.clone()
    lower(op)
    verify(op)
    return op


def nests(op: Operation) -> list[NestOp]:
    return [inner for inner in op.walk() if isinstance(inner, NestOp)]


def program(arguments: str, results: str, *lines: str) -> str:
    return f"func.func @f({arguments}) -> ({results}) {{\n" + "\n".join(lines) + "\n}"


def assert_equal_to_interpreter(text: str, *arrays: np.ndarray) -> None:
    verify(lowered(text))
    module = gradir.parse(text)
    want = gradir.interpret(module, "f", *arrays)
    for ours, theirs in zip(gradir.compile(module, "f")(*arrays), want, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-12)


N, X = "tensor<f64>", "tensor<3xf64>"


def test_a_chain_of_numbers_is_one_nest() -> None:
    lines = [f"%v{k + 1} = array.sin %v{k} : {N}" for k in range(100)]
    one, *others = nests(lowered(program(f"%v0: {N}", N, *lines, f"func.return %v100 : {N}")))
    assert not others
    assert len(one.results) == 1
    assert len(list(one.body.block.ops)) == 101


def test_long_chains_are_parted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(number_nests, "MOST_OPS", 8)
    lines = [f"%v{k + 1} = array.sin %v{k} : {N}" for k in range(20)]
    text = program(f"%v0: {N}", N, *lines, f"func.return %v20 : {N}")
    assert [len(list(op.body.block.ops)) - 1 for op in nests(lowered(text))] == [8, 8, 4]
    assert_equal_to_interpreter(text, np.array(0.5))


def test_a_number_that_waits_for_a_sum_is_in_a_nest_of_its_own() -> None:
    """%early needs no sum, so the loop that reads it need not wait for one."""
    op = lowered(
        program(
            f"%a: {N}, %x: {X}", f"{N}, {X}",
            f"%sum = array.sum %x : {X} -> {N}",
            f"%late = array.multiply %sum, %a : {N}",
            f"%early = array.exp %a : {N}",
            f"%spread = array.broadcast_to %early : {N} -> {X}",
            f"func.return %late, %spread : {N}, {X}",
        )
    )  # fmt: skip
    kinds = [next(inner.name for inner in nest.body.block.ops) for nest in nests(op)]
    assert kinds.count("math.exp") == 1
    exponential = nests(op)[kinds.index("math.exp")]
    assert len(exponential.results) == 1 and len(exponential.inputs) == 1


def test_open_nests_that_read_each_other() -> None:
    """A nest is built after the one that it reads, which may have been built in between."""
    lines = (
        f"%b = array.exp %a : {N}",
        f"%s = array.sum %x : {X} -> {N}",
        f"%c = array.multiply %b, %s : {N}",
        f"%d = array.add %b, %a : {N}",
        f"%v = array.broadcast_to %d : {N} -> {X}",
        f"%e = array.add %c, %d : {N}",
        f"%t = array.sum %v : {X} -> {N}",
        f"%g = array.multiply %e, %t : {N}",
        f"func.return %g, %c : {N}, {N}",
    )
    text = program(f"%a: {N}, %x: {X}", f"{N}, {N}", *lines)
    assert_equal_to_interpreter(text, np.array(0.3), np.array([1.0, 2.0, 4.0]))


def test_regions_read_numbers_from_outside() -> None:
    text = program(
        f"%a: {N}", N,
        f"%b = array.exp %a : {N}",
        f"%zero = array.full {{value = 0.0}} : {N}",
        f"%c = array.greater %b, %zero : {N}, {N} -> tensor<i1>",
        "%p = tensor.extract %c[] : tensor<i1>",
        f"%r = scf.if %p -> ({N}) {{",
        f"  %y = array.multiply %b, %b : {N}",
        f"  %z = array.sin %y : {N}",
        f"  scf.yield %z : {N}",
        "} else {",
        f"  scf.yield %b : {N}",
        "}",
        f"func.return %r : {N}",
    )  # fmt: skip
    assert_equal_to_interpreter(text, np.array(0.3))


@pytest.mark.parametrize("element", ["f16", "bf16"])
def test_halves_are_rounded_after_each_op(element: str) -> None:
    ml_dtypes = pytest.importorskip("ml_dtypes")
    dtype = np.float16 if element == "f16" else ml_dtypes.bfloat16
    h = f"tensor<{element}>"
    lines = (
        f"%p = array.multiply %a, %b : {h}",
        f"%s = grad.accumulate %p, %a, %b, %p : {h}",
        f"%q = array.subtract %s, %a : {h}",
        f"func.return %q : {h}",
    )
    module = gradir.parse(program(f"%a: {h}, %b: {h}", h, *lines))
    arrays = np.array(1.2345, dtype), np.array(777.7, dtype)
    (want,) = gradir.interpret(module, "f", *arrays)
    (got,) = gradir.compile(module, "f")(*arrays)
    assert np.asarray(got).tobytes() == np.asarray(want).tobytes()


@pytest.mark.parametrize("seed", range(12))
def test_random_mixtures_of_numbers_and_vectors(seed: int) -> None:
    text = random_text(random.Random(seed))
    assert_equal_to_interpreter(text, np.array(0.3), np.array([0.7]), np.array([0.1, 0.9, 0.4]))


def random_text(choice: random.Random) -> str:
    """A program whose ops read values of rank 0, of one element and of three, old and new."""
    one = "tensor<1xf64>"
    values = {N: ["%a"], one: ["%b"], X: ["%x"]}
    lines: list[str] = []

    def add(type_: str, text: str) -> None:
        name = f"%v{len(lines)}"
        lines.append(f"{name} = {text}")
        values[type_].append(name)

    for _ in range(30):
        kind = choice.choice([N, N, N, one, one, X])
        x, y = (choice.choice(values[kind]) for _ in range(2))
        form = choice.randrange(5)
        if form == 0 and kind == X:
            add(N, f"array.sum {x} : {X} -> {N}")
        elif form == 0 and kind == N:
            add(X, f"array.broadcast_to {x} : {N} -> {X}")
        elif form == 1 and kind != X:
            other = one if kind == N else N
            add(other, f"array.reshape {x} : {kind} -> {other}")
        elif form == 2:
            add(kind, f"array.sin {x} : {kind}")
        elif form == 3:
            add(kind, f"grad.accumulate {x}, {y}, {x} : {kind}")
        else:
            add(kind, f"array.multiply {x}, {y} : {kind}")
    last = [values[kind][-1] for kind in (N, one, X)]
    lines.append(f"func.return {', '.join(last)} : {N}, {one}, {X}")
    return program(f"%a: {N}, %b: {one}, %x: {X}", f"{N}, {one}, {X}", *lines)
