"""Gradients through branches and loops: every construct, nested, at every order; the values kept of
the iterations, and refusals.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from control_flow_programs import PROGRAMS
from control_flow_text import CONSTANTS, program

import gradir
from gradir import GradirError, Module
from gradir.dialects.grad.tape import TapeNewOp
from gradir.symbols import function_named
from gradir.testing import check_grads


@pytest.mark.parametrize("name", PROGRAMS)
def test_first_and_second_order(name: str) -> None:
    """Central differences of the function, and of its vjp, natively too."""
    case = PROGRAMS[name]
    check_grads((gradir.parse(case.text), "f"), case.arguments())


@pytest.mark.parametrize("name", ["sine_while", "if_in_while_in_for", "rnn_while", "newton"])
def test_third_order(name: str) -> None:
    case = PROGRAMS[name]
    check_grads((gradir.parse(case.text), "f"), case.arguments(), order=3, native=False)


@pytest.mark.parametrize("name", PROGRAMS)
def test_both_halves(name: str) -> None:
    """Mode split computes the bits of mode vjp; tapes and counts are residuals."""
    case = PROGRAMS[name]
    module, arguments = gradir.parse(case.text), case.arguments()
    value, *expected = gradir.interpret(
        module.gradient("f", mode="vjp"), "f_vjp", *arguments, *cotangents(module)
    )
    split = module.gradient("f")
    result, *residuals = gradir.interpret(split, "f_fwd", *arguments)
    grads = gradir.interpret(split, "f_bwd", *residuals, *cotangents(module))
    np.testing.assert_array_equal(value, result)
    for one, other in zip(expected, grads, strict=True):
        np.testing.assert_array_equal(one, other)


MIXED = [
    "sine_while", "dynamic_bounds", "while_in_for_in_if", "condition_computes", "switch_in_loop",
    "loop_in_callee_in_loop", "newton", "elements",
]  # fmt: skip


@pytest.mark.parametrize("modes", [("jvp", "vjp"), ("vjp", "jvp"), ("jvp", "jvp")], ids="_of_".join)
@pytest.mark.parametrize("name", MIXED)
def test_mixed_modes(name: str, modes: tuple[str, str]) -> None:
    """Forward over reverse, reverse over forward and forward over forward: all give d2f."""
    outer, inner = modes
    case = PROGRAMS[name]
    module, arguments = gradir.parse(case.text), case.arguments()
    first = module.gradient("f", mode=inner)
    second = first.gradient(f"f_{inner}", mode=outer)
    count = len(function_named(first.op, f"f_{inner}").function_type.inputs)
    generator = np.random.default_rng(1)
    types: list[Any] = list(function_named(second.op, f"f_{inner}_{outer}").function_type.inputs)[
        len(arguments) :
    ]
    given = [generator.uniform(-1, 1, getattr(t, "get_shape", tuple)()) for t in types]
    found = gradir.interpret(second, f"f_{inner}_{outer}", *arguments, *given)
    point, rest = [*arguments, *given[: count - len(arguments)]], given[count - len(arguments) :]
    check_derivative(first, f"f_{inner}", outer, point, rest, found)


def check_derivative(
    module: Module, function: str, mode: str, point: list[Any], given: list[Any], found: Any
) -> None:
    """Compare a jvp, or a vjp along a direction, with central differences."""
    results = gradir.interpret(module, function, *point)
    floats = [k for k, value in enumerate(point) if np.asarray(value).dtype == np.float64]
    generator = np.random.default_rng(2)
    directions: list[Any] = given
    if mode == "vjp":
        directions = [generator.uniform(-1, 1, point[k].shape) for k in floats]

    def moved(step: float) -> list[Any]:
        values = list(point)
        for k, direction in zip(floats, directions, strict=True):
            values[k] = values[k] + step * direction
        return list(gradir.interpret(module, function, *values))

    size = 1e-5
    slopes = [(a - b) / (2 * size) for a, b in zip(moved(size), moved(-size), strict=True)]
    rest = found[len(results) :]
    if mode == "jvp":
        for slope, tangent in zip(slopes, rest, strict=True):
            np.testing.assert_allclose(tangent, slope, rtol=1e-6, atol=1e-7)
    else:
        expected = sum(float(np.sum(s * ct)) for s, ct in zip(slopes, given, strict=True))
        got = sum(float(np.sum(g * d)) for g, d in zip(rest, directions, strict=True))
        assert got == pytest.approx(expected, rel=1e-6, abs=1e-7)


def cotangents(module: Module) -> list[Any]:
    """Ones for the one result of @f."""
    (type_,) = function_named(module.op, "f").function_type.outputs
    return [np.ones(getattr(type_, "get_shape", tuple)())]


def test_records_that_are_popped_in_vain() -> None:
    """Of a snapshot that no derivative reads there is no cotangent, in a callee either."""
    text = """
func.func @g(%y: !s, %z: !s) -> !s {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %p, %q, %r = scf.while (%a = %z, %i = %c0) : (!s, index) -> (!s, index, !s) {
    %s = array.add %y, %z : !s
    %more = arith.cmpi slt, %i, %c1 : index
    scf.condition(%more) %s, %i, %a : !s, index, !s
  } do {
  ^bb0(%b: !s, %j: index, %c: !s):
    %k = arith.addi %j, %c1 : index
    scf.yield %z, %k : !s, index
  } attributes {grad.loop = #grad.loop<every = 1>}
  %t = array.multiply %p, %p : !s
  func.return %t : !s
}
func.func @f(%x: !s, %y: !s) -> !s {
  %r = func.call @g(%x, %y) : (!s, !s) -> !s
  func.return %r : !s
}"""
    module = gradir.parse(text.replace("!s", "tensor<f64>"))
    check_grads((module, "f"), [0.3, 0.5], native=False)


def test_data_dependent_while() -> None:
    """y = sin(y) * y three times at 1.5, by its closed form."""
    module = gradir.parse(PROGRAMS["sine_while"].text)
    first = module.gradient("f", mode="grad")
    second = first.gradient("f_grad", of=1, mode="grad")
    _, slope, curvature = gradir.interpret(second, "f_grad_grad", np.array(1.5))
    assert slope == pytest.approx(1.3632862, abs=5e-8)
    assert curvature == pytest.approx(-5.4875875, abs=5e-8)


def test_second_derivative_of_a_power() -> None:
    """y = x, squared until it exceeds 100: x**8 at 3."""
    text = program(
        "%x: f64",
        "f64",
        """
  %limit = arith.constant 100.0 : f64
  %y = scf.while (%a = %x) : (f64) -> f64 {
    %more = arith.cmpf olt, %a, %limit : f64
    scf.condition(%more) %a : f64
  } do {
  ^bb0(%a: f64):
    %b = arith.mulf %a, %a : f64
    scf.yield %b : f64
  }""",
        [()],
    ).text
    module = gradir.parse(text).gradient("f", mode="grad").gradient("f_grad", of=1, mode="grad")
    results = gradir.interpret(module, "f_grad_grad", np.array(3.0))
    assert [float(r) for r in results] == [6561, 17496, 40824]


# What is kept.


def loop(body: str, type_: str = "tensor<4xf64>", bounds: str = "%c0 to %n step %c1") -> str:
    """A loop over %i that carries %a from %x, where %w is captured; its body yields %b."""
    return f"""func.func @f(%x: {type_}, %w: {type_}, %n: index) -> {type_} {{{CONSTANTS}
  %y = scf.for %i = {bounds} iter_args(%a = %x) -> ({type_}) {{
{body}
    scf.yield %b : {type_}
  }}
  func.return %y : {type_}
}}"""


def tapes_of(text: str) -> list[str]:
    return tapes_in(gradir.parse(text).gradient("f", mode="vjp"), "f_vjp")


def tapes_in(module: Module, function: str) -> list[str]:
    ops = function_named(module.op, function).walk()
    return [str(op.tape.type) for op in ops if isinstance(op, TapeNewOp)]


VECTOR = "tensor<4xf64>"


def ops(*lines: str, type_: str = VECTOR) -> str:
    return "\n".join(f"    {line} : {type_}" for line in lines)


AT = """
    %k = arith.index_cast %i : index to i64
    %at = tensor.from_elements %k : tensor<i64>"""
ROW = f"""{AT}
    %rows = array.reshape %w : {VECTOR} -> tensor<2x2xf64>
    %row = array.take %rows, %at {{axis = 0}} : tensor<2x2xf64>, tensor<i64> -> tensor<2xf64>
    %twice = array.broadcast_to %row : tensor<2xf64> -> tensor<2x2xf64>
    %factor = array.reshape %twice : tensor<2x2xf64> -> {VECTOR}
"""
ELEMENT = f"""{AT}
    %one = array.take %w, %at {{axis = 0}} : {VECTOR}, tensor<i64> -> tensor<f64>
    %factor = array.broadcast_to %one : tensor<f64> -> {VECTOR}
"""

TAPED: dict[str, tuple[str, list[str]]] = {
    "output of tanh": (loop(ops("%b = array.tanh %a")), [f"<{VECTOR}>"]),
    "what the next iteration starts from": (
        # both %a and %b are read; the backward loop hands %b of an iteration to the one before
        loop(ops("%p = array.multiply %a, %a", "%b = array.tanh %p")),
        [f"<{VECTOR}>"],
    ),
    "known trip count": (
        loop(ops("%b = array.tanh %a"), bounds="%c0 to %c3 step %c2"),
        [f"<{VECTOR}, capacity = 2>"],
    ),
    "linear": (loop(ops("%b = array.add %a, %w")), []),
    "captured factor": (
        # the cotangent of %w reads %a, the one of %a reads %w, which no iteration changes
        loop(ops("%b = array.multiply %a, %w")),
        [f"<{VECTOR}>"],
    ),
    "invariant": (
        # sin(w) moves out of the loop
        loop(ops("%s = array.sin %w", "%b = array.multiply %a, %s")),
        [f"<{VECTOR}>"],
    ),
    "made of an invariant and the index": (
        loop(
            "    %k = arith.index_cast %i : index to i64\n"
            "    %t = arith.sitofp %k : i64 to f64\n"
            + ops("%s = math.sin %w", "%p = arith.mulf %s, %t", "%b = arith.mulf %a, %p",
                  type_="f64"),
            "f64",
        ),
        ["<f64>"],
    ),
    "constant": (
        loop(ops("%two = array.full {value = 2.0}", "%b = array.multiply %a, %two")),
        [],
    ),
    "rows of a tensor": (
        # read again: the tensor is no larger than all rows that are read
        loop(ROW + ops("%b = array.multiply %a, %factor"), bounds="%c0 to %c2 step %c1"),
        [f"<{VECTOR}, capacity = 2>"],
    ),
    "a few elements of a tensor": (
        loop(ELEMENT + ops("%b = array.multiply %a, %factor"), bounds="%c0 to %c2 step %c1"),
        [f"<{VECTOR}, tensor<f64>, capacity = 2>"],
    ),
    "index": (
        loop(
            "    %k = arith.index_cast %i : index to i64\n"
            "    %t = arith.sitofp %k : i64 to f64\n" + ops("%b = arith.mulf %a, %t", type_="f64"),
            "f64",
        ),
        [],
    ),
    "arithmetic of what is kept": (
        loop(ops("%s = math.sin %a", "%p = arith.mulf %s, %w", "%b = arith.mulf %p, %p",
                 type_="f64"), "f64"),
        ["<f64, f64>"],
    ),
    "view": (
        loop(
            "    %s = array.sum %a {axis = [0], keepdims = true} : tensor<4xf64> -> tensor<1xf64>\n"
            "    %e = array.broadcast_to %s : tensor<1xf64> -> tensor<4xf64>\n"
            + ops("%b = array.multiply %e, %w")
        ),
        ["<tensor<1xf64>>"],
    ),
    "nested": (
        loop(
            f"""    %b = scf.for %j = %c0 to %c2 step %c1 iter_args(%u = %a) -> ({VECTOR}) {{
      %v = array.sin %u : {VECTOR}
      scf.yield %v : {VECTOR}
    }}""",
            bounds="%c0 to %c3 step %c1",
        ),
        [f"<{VECTOR}, capacity = 6>"],
    ),
    "bounds of an inner loop": (
        loop(
            f"""    %m = arith.addi %i, %n : index
    %b = scf.for %j = %i to %m step %c1 iter_args(%u = %a) -> ({VECTOR}) {{
      %v = array.sin %u : {VECTOR}
      scf.yield %v : {VECTOR}
    }}"""
        ),
        [f"<{VECTOR}>"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", TAPED)
def test_what_is_taped(name: str) -> None:
    """Only what the body's vjp reads and cannot make again for less."""
    text, expected = TAPED[name]
    assert tapes_of(text) == [f"!grad.tape{tape}" for tape in expected]


def test_count_of_an_inner_while_is_taped() -> None:
    """How often an inner loop ran is known when it has run: an index on the outer tape."""
    case = PROGRAMS["if_in_while_in_for"]
    tapes = tapes_of(case.text)
    assert len(tapes) == 2
    assert "index" in tapes[1] and "capacity = 3" in tapes[1] and "capacity" not in tapes[0]


def test_one_loop_for_many_weights() -> None:
    """Weights that are passed along unchanged are neither carried nor taped."""
    module = gradir.parse(PROGRAMS["rnn_while"].text).gradient("f", mode="vjp")
    text = str(module.op).partition("@f_vjp")[2]
    assert "scf.while (%i = %c0, %a = %h, %tape_2 = %tape)" in text


@pytest.mark.parametrize("kind", ["kept", "invariant", "cheap"])
def test_long_bodies(kind: str) -> None:
    """2000 ops in a chain, of each kind that is treated by itself; no recursion along the chain."""
    length = 2000
    op, start = {
        "kept": ("math.sin", "%a"),
        "invariant": ("math.sin", "%w"),
        "cheap": ("arith.negf", "%w"),
    }[kind]
    lines = [f"%v0 = {op} {start} : f64"]
    lines += [f"%v{k} = {op} %v{k - 1} : f64" for k in range(1, length)]
    text = loop("\n".join([*lines, f"%b = arith.mulf %v{length - 1}, %a : f64"]), "f64")
    module = gradir.parse(text).gradient("f", wrt=[0], mode="grad")
    _, grad = gradir.interpret(module, "f_grad", np.array(0.5), np.array(0.25), np.int64(1))
    assert np.isfinite(grad)
    assert len(tapes_of(text)) == 1


# Errors.


LIMITED = """
func.func @f(%x: tensor<4xf64>, %more: i1) -> tensor<4xf64> {
  %y = scf.while (%a = %x) : (tensor<4xf64>) -> tensor<4xf64> {
    scf.condition(%more) %a : tensor<4xf64>
  } do {
  ^bb0(%a: tensor<4xf64>):
    %b = array.sin %a : tensor<4xf64>
    scf.yield %b : tensor<4xf64>
  } attributes {grad.tape_limit = 1000}
  func.return %y : tensor<4xf64>
}
"""


def test_an_infinite_loop_with_a_limit() -> None:
    """The error says the limit, where the loop is, and how much was needed."""
    module = gradir.parse(LIMITED, "endless.mlir").gradient("f", mode="vjp")
    with pytest.raises(GradirError) as caught:
        gradir.interpret(module, "f_vjp", np.ones(4), np.bool_(True), np.ones(4))
    message = str(caught.value)
    native = gradir.compile(module, "f_vjp")
    with pytest.raises(GradirError) as again:
        native(np.ones(4), np.bool_(True), np.ones(4))
    assert str(again.value) == message
    # the call after it works
    assert len(native(np.ones(4), np.bool_(False), np.ones(4))) == 2
    assert "grad.tape_push: the tape's limit is 1000 bytes, needed 1024" in message
    assert message.startswith("endless.mlir:3:")


def test_a_limit_that_suffices() -> None:
    """A loop that ends before its tape is full."""
    text = LIMITED.replace("%more: i1", "%c: i1").replace(
        "scf.condition(%more)", "%more = arith.andi %c, %c : i1\n    scf.condition(%more)"
    )
    module = gradir.parse(text).gradient("f", mode="vjp")
    _, grad = gradir.interpret(module, "f_vjp", np.ones(4), np.bool_(False), np.full(4, 3.0))
    np.testing.assert_array_equal(grad, np.full(4, 3.0))


def test_tapes_of_the_second_derivative_are_limited() -> None:
    module = gradir.parse(LIMITED).gradient("f", mode="vjp").gradient("f_vjp", mode="vjp")
    tapes = tapes_in(module, "f_vjp_vjp")
    assert len(tapes) > 2 and all("limit = 1000>" in tape for tape in tapes)


def test_a_limit_that_is_no_number() -> None:
    module = gradir.parse(LIMITED.replace("1000", '"many"'))
    with pytest.raises(GradirError, match=r"grad\.tape_limit must be a number of bytes, got"):
        module.gradient("f")


def test_a_tape_that_is_read_twice() -> None:
    """Its cotangent would be a sum of tapes."""
    text = """
func.func @f(%x: f64) -> f64 {
  %t0 = grad.tape_new : !grad.tape<f64>
  %t = grad.tape_push %t0, %x : !grad.tape<f64>
  %t1, %a = grad.tape_pop %t : !grad.tape<f64>
  %t2, %b = grad.tape_pop %t : !grad.tape<f64>
  %y = arith.mulf %a, %b : f64
  func.return %y : f64
}"""
    with pytest.raises(GradirError, match="%t: a tape must be read once on each path, got 2"):
        gradir.parse(text).gradient("f")


@pytest.mark.parametrize("place", ["scf.if", "scf.for"])
def test_recursion_is_refused(place: str) -> None:
    """Also where the call stands in a region."""
    call = "%z = func.call @f(%x, %c, %n) : (f64, i1, index) -> f64"
    regions = {
        "scf.if": f"scf.if %c -> (f64) {{ {call}\n scf.yield %z : f64 }}"
        " else { scf.yield %x : f64 }",
        "scf.for": "scf.for %i = %n to %n step %n iter_args(%a = %x) -> (f64)"
        f" {{ {call}\n scf.yield %z : f64 }}",
    }
    text = f"func.func @f(%x: f64, %c: i1, %n: index) -> f64 {{\n%y = {regions[place]}\n"
    with pytest.raises(GradirError, match=r"func\.call: @f is recursive"):
        gradir.parse(text + "func.return %y : f64\n}").gradient("f")


def test_an_op_without_derivative_in_a_loop() -> None:
    """The error stands at the op in the body, and says how it is reached."""
    text = loop("    %e = arith.bitcast %a : tensor<4xf64> to tensor<4xf64>\n"
                "    %b = arith.bitcast %e : tensor<4xf64> to tensor<4xf64>")  # fmt: skip
    with pytest.raises(GradirError) as caught:
        gradir.parse(text, "cast.mlir").gradient("f")
    assert str(caught.value).startswith("cast.mlir:8:5: error: arith.bitcast: it has no derivative")
    assert "reached by %x -> %a -> %e" in str(caught.value)


def test_pruned_loops_keep_their_effects() -> None:
    """A loop without a result that is read goes; one that calls a function stays."""
    text = """
func.func private @log(f64) -> ()
func.func @f(%x: f64, %n: index) -> f64 {
  %y = scf.for %i = %n to %n step %n iter_args(%a = %x) -> (f64) {
    %s = math.sin %a : f64
    scf.yield %s : f64
  }
  scf.for %i = %n to %n step %n {
    func.call @log(%x) : (f64) -> ()
  }
  func.return %x : f64
}"""
    left = [op.name for op in function_named(gradir.parse(text).run_passes("gradir-dce").op, "f")
            .body.block.ops]  # fmt: skip
    assert left == ["scf.for", "func.return"]
