"""StableHLO in: what gradir prints is read back, rules one by one, derivatives, and bad texts."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gradir
from gradir.errors import GradirError, ParseError
from gradir.frontends.stablehlo import ImportedProgramError, load

GOLDEN = Path(__file__).resolve().parents[1] / "filecheck"
Array = np.ndarray[Any, np.dtype[Any]]


def function(body: str, arguments: str, results: str) -> str:
    """A text with @main."""
    return f"func.func @main({arguments}) -> {results} {{\n{body}\n}}"


def run(text: str, *arrays: Any) -> list[Array]:
    return [np.asarray(x) for x in gradir.interpret(load(text), "main", *arrays)]


# What gradir prints is read back.


@pytest.mark.parametrize(
    ("file", "name"),
    [
        ("stablehlo/gradient.mlir", "f"),
        ("stablehlo/control_flow.mlir", "f"),
        ("stablehlo/tensors.mlir", "moves"),
        ("stablehlo/tensors.mlir", "rows"),
        ("stablehlo/tensors.mlir", "convolved"),
        ("stablehlo/tensors.mlir", "sorted"),
        ("run/mlp.mlir", "f"),
        ("dialects/nn_pools.mlir", None),
        ("dialects/array_sorting.mlir", None),
        ("dialects/array_gather_scatter.mlir", None),
        ("control_flow/while.mlir", None),
    ],
)
def test_printed_programs_are_read_back(file: str, name: str | None) -> None:
    read = 0
    for text in re.split(r"^// -----$", (GOLDEN / file).read_text("utf-8"), flags=re.MULTILINE):
        module = gradir.parse(text)
        for each in [name] if name else module.functions:
            if each not in module.functions:
                continue
            try:
                printed = module.to_stablehlo(each)
            except GradirError:
                continue
            arrays = _arguments(module, each)
            try:
                wanted = gradir.interpret(module, each, *arrays)
            except GradirError:
                continue  # an index out of range
            found = gradir.interpret(load(printed), "main", *arrays)
            for one, other in zip(found, wanted, strict=True):
                np.testing.assert_allclose(one, other, 1e-5, 1e-6)
            read += 1
    assert read


def _arguments(module: gradir.Module, name: str) -> list[Array]:
    from gradir.dialects.base.shapes import NUMPY_NAMES, element_of, is_tensor, shape_of
    from gradir.passes.analysis.call_graph import functions_by_name

    made: list[Array] = []
    for number, type_ in enumerate(functions_by_name(module.op)[name].function_type.inputs):
        generator = np.random.default_rng(number)
        shape = shape_of(type_) if is_tensor(type_) else ()
        dtype = NUMPY_NAMES.get(element_of(type_) if is_tensor(type_) else type_, "int64")
        is_floating = "float" in dtype
        numbers = generator.normal(size=shape) if is_floating else generator.integers(0, 2, shape)
        made.append(np.asarray(numbers).astype(dtype))
    return made


# Rules.


def test_the_total_order_of_floats() -> None:
    body = """
  %c = "stablehlo.compare"(%x, %y) {comparison_direction = #stablehlo<comparison_direction GT>,
    compare_type = #stablehlo<comparison_type TOTALORDER>}
    : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
  "func.return"(%c) : (tensor<4xi1>) -> ()"""
    text = function(body, "%x: tensor<4xf32>, %y: tensor<4xf32>", "tensor<4xi1>")
    x = np.array([0.0, -0.0, np.nan, 1.0], "f4")
    y = np.array([-0.0, 0.0, np.inf, 2.0], "f4")
    np.testing.assert_array_equal(run(text, x, y)[0], [True, False, True, False])


def test_a_case_beyond_the_branches_is_the_last() -> None:
    body = """
  %y = "stablehlo.case"(%i) ({
    "stablehlo.return"(%x) : (tensor<f64>) -> ()
  }, {
    %n = "stablehlo.negate"(%x) : (tensor<f64>) -> tensor<f64>
    "stablehlo.return"(%n) : (tensor<f64>) -> ()
  }) : (tensor<i32>) -> tensor<f64>
  func.return %y : tensor<f64>"""
    text = function(body, "%i: tensor<i32>, %x: tensor<f64>", "tensor<f64>")
    found = [float(run(text, np.int32(i), 3.0)[0]) for i in (-1, 0, 1, 7)]
    assert found == [-3.0, 3.0, -3.0, -3.0]


def test_reductions_by_a_program() -> None:
    """The largest element and its first place, as JAX's argmax has it."""
    body = """
  %i = "stablehlo.iota"() {iota_dimension = 0 : i64} : () -> tensor<5xi32>
  %low = "stablehlo.constant"() {value = dense<0xFF800000> : tensor<f32>} : () -> tensor<f32>
  %zero = "stablehlo.constant"() {value = dense<0> : tensor<i32>} : () -> tensor<i32>
  %v, %k = "stablehlo.reduce"(%x, %i, %low, %zero) ({
  ^bb0(%a: tensor<f32>, %m: tensor<i32>, %b: tensor<f32>, %n: tensor<i32>):
    %gt = "stablehlo.compare"(%a, %b) {comparison_direction = #stablehlo<comparison_direction GT>}
      : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %eq = "stablehlo.compare"(%a, %b) {comparison_direction = #stablehlo<comparison_direction EQ>}
      : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %lt = "stablehlo.compare"(%m, %n) {comparison_direction = #stablehlo<comparison_direction LT>}
      : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %tie = "stablehlo.and"(%eq, %lt) : (tensor<i1>, tensor<i1>) -> tensor<i1>
    %first = "stablehlo.or"(%gt, %tie) : (tensor<i1>, tensor<i1>) -> tensor<i1>
    %w = "stablehlo.select"(%first, %a, %b) : (tensor<i1>, tensor<f32>, tensor<f32>) -> tensor<f32>
    %p = "stablehlo.select"(%first, %m, %n) : (tensor<i1>, tensor<i32>, tensor<i32>) -> tensor<i32>
    "stablehlo.return"(%w, %p) : (tensor<f32>, tensor<i32>) -> ()
  }) {dimensions = array<i64: 0>}
    : (tensor<5xf32>, tensor<5xi32>, tensor<f32>, tensor<i32>) -> (tensor<f32>, tensor<i32>)
  func.return %v, %k : tensor<f32>, tensor<i32>"""
    text = function(body, "%x: tensor<5xf32>", "(tensor<f32>, tensor<i32>)")
    value, place = run(text, np.array([1, 7, 3, 7, 2], "f4"))
    assert (float(value), int(place)) == (7.0, 1)


# Derivatives.

TANH = function(
    """
  %y = "stablehlo.tanh"(%x) : (tensor<3xf64>) -> tensor<3xf64>
  %z = "stablehlo.multiply"(%y, %x) : (tensor<3xf64>, tensor<3xf64>) -> tensor<3xf64>
  func.return %z : tensor<3xf64>""",
    "%x: tensor<3xf64>",
    "tensor<3xf64>",
)


def test_derivatives_need_a_statement() -> None:
    x = np.array([0.5, -1.0, 2.0])
    np.testing.assert_allclose(run(TANH, x)[0], np.tanh(x) * x)
    module = load(TANH)
    for each in (module, gradir.parse(str(module))):
        with pytest.raises(GradirError, match="derivative"):
            each.gradient("main", mode="grad")


def test_trusted_derivatives_are_derivatives() -> None:
    """Beside central differences, at first and second order."""
    module = load(TANH, trust_derivatives=True)
    first = module.gradient("main", mode="vjp")
    second = first.gradient("main_vjp", wrt=[0], of=[1], mode="vjp")
    x, ct, ct2 = np.array([0.5, -1.0, 2.0]), np.array([1.0, 2.0, -1.0]), np.array([0.3, 1.0, 2.0])
    step = 1e-6

    def value(x: Array) -> Array:
        return np.asarray(gradir.interpret(module, "main", x)[0])

    def slope(x: Array) -> Array:
        return np.asarray(gradir.interpret(first, "main_vjp", x, ct)[1])

    for k, along in enumerate(np.eye(3) * step):
        wanted = ct @ (value(x + along) - value(x - along)) / (2 * step)
        np.testing.assert_allclose(slope(x)[k], wanted, 1e-7)
        wanted = ct2 @ (slope(x + along) - slope(x - along)) / (2 * step)
        found = gradir.interpret(second, "main_vjp_vjp", x, ct, ct2)[2]
        np.testing.assert_allclose(np.asarray(found)[k], wanted, 1e-6)


# Bad texts.


def test_all_that_cannot_be_imported_is_named() -> None:
    body = """
  %a = "stablehlo.fft"(%x) {} : (tensor<3xf32>) -> tensor<3xf32>
  %b = "chlo.strange"(%a) : (tensor<3xf32>) -> tensor<3xf32>
  %c = "stablehlo.custom_call"(%b) {call_target_name = "f"} : (tensor<3xf32>) -> tensor<3xi4>
  func.return %c : tensor<3xi4>"""
    with pytest.raises(ImportedProgramError) as caught:
        load(function(body, "%x: tensor<3xf32>", "tensor<3xi4>"))
    said = str(caught.value)
    assert re.findall(r"^  ([\w.]+) \(once; <string>:(\d+):\d+\): ", said, re.MULTILINE) == [
        ("stablehlo.fft", "3"),
        ("chlo.strange", "4"),
        ("stablehlo.custom_call", "5"),
    ]


def call_text(count: int) -> str:
    """Functions that call the one before twice."""
    first = "func.func @f0(%x: tensor<f32>) -> tensor<f32> {\nfunc.return %x : tensor<f32>\n}"
    others = [
        f"func.func @f{k}(%x: tensor<f32>) -> tensor<f32> {{\n"
        f"%a = func.call @f{k - 1}(%x) : (tensor<f32>) -> tensor<f32>\n"
        f"%b = func.call @f{k - 1}(%a) : (tensor<f32>) -> tensor<f32>\n"
        "func.return %b : tensor<f32>\n}"
        for k in range(1, count)
    ]
    return "\n".join([first, *others])


def nested(depth: int) -> str:
    text = '%y = "stablehlo.negate"(%x) : (tensor<f32>) -> tensor<f32>'
    for _ in range(depth):
        inner = f'{text}\n"stablehlo.return"(%y) : (tensor<f32>) -> ()'
        text = f'%y = "stablehlo.if"(%c) ({{\n{inner}\n}}, {{\n{inner if depth < 3 else ""}' + (
            '"stablehlo.return"(%x) : (tensor<f32>) -> ()\n}) : (tensor<i1>) -> tensor<f32>'
        )
    return function(
        f"{text}\nfunc.return %y : tensor<f32>", "%c: tensor<i1>, %x: tensor<f32>", "tensor<f32>"
    )


RECURSION = """func.func @main(%x: tensor<f32>) -> tensor<f32> {
  %y = func.call @main(%x) : (tensor<f32>) -> tensor<f32>
  func.return %y : tensor<f32>
}"""


def one_op(op: str, result: str = "tensor<3xf32>") -> str:
    return function(f"%y = {op}\nfunc.return %y : {result}", "%x: tensor<3xf32>", result)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (RECURSION, r"<string>:2:3: error: @main calls itself"),
        (call_text(30).replace("@f29", "@main"), "more than 250,000 ops"),
        (nested(70), "regions may be nested 64 deep, not deeper"),
        (one_op('"stablehlo.tanh"() : () -> tensor<3xf32>'), "tanh"),
        (one_op('"stablehlo.tanh"(%x, %x) : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>'),
         "tanh"),
        (one_op('"stablehlo.transpose"(%x) : (tensor<3xf32>) -> tensor<3xf32>'),
         "permutation must be a list of numbers, got None"),
        (one_op('"stablehlo.transpose"(%x) {permutation = array<i64: 7>} : (tensor<3xf32>) -> '
                "tensor<3xf32>"), "stablehlo.transpose"),
        (one_op('"stablehlo.reshape"(%x) : (tensor<3xf32>) -> tensor<4xf32>', "tensor<4xf32>"),
         "stablehlo.reshape"),
        (one_op('"stablehlo.add"(%x, %x) : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf64>',
                "tensor<3xf64>"), "expected float64"),
        (one_op('"stablehlo.abs"(%x) : (tensor<3xf32>) -> tensor<?xf32>', "tensor<?xf32>"),
         "shapes must be known"),
        (one_op('"stablehlo.gather"(%x, %x) {dimension_numbers = #stablehlo.gather<a = [1]>} : '
                "(tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>"), "field a, which is not known"),
        (one_op('"stablehlo.while"(%x) ({}, {}) : (tensor<3xf32>) -> tensor<3xf32>'), "while"),
        (one_op('"stablehlo.dot_general"(%x, %x) {dot_dimension_numbers = #stablehlo.dot<'
                "lhs_contracting_dimensions = [9], rhs_contracting_dimensions = [0]>} : "
                "(tensor<3xf32>, tensor<3xf32>) -> tensor<f32>", "tensor<f32>"), "dot_general"),
        (function("func.return %x : tensor<complex<f32>>", "%x: tensor<complex<f32>>",
                  "tensor<complex<f32>>"), "with elements of type complex64 are not read"),
    ],
)  # fmt: skip
def test_hostile_texts_are_refused(text: str, message: str) -> None:
    with pytest.raises(GradirError, match=message):
        load(text)


def test_what_is_no_text_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ParseError, match=r"generic form|jaxlib: "):
        load("func.func @main( {\n")
    with pytest.raises(ImportedProgramError, match="No such file"):
        load(tmp_path / "none.mlir")
    with pytest.raises(ImportedProgramError, match="which function\\? there are @a, @b"):
        load("func.func @a() {\nfunc.return\n}\nfunc.func @b() {\nfunc.return\n}")
    with pytest.raises(ImportedProgramError, match="no function @c with a body"):
        load("func.func @a() {\nfunc.return\n}", entry="c")


def test_no_memory_is_taken_for_sizes_that_a_text_names() -> None:
    large = "tensor<1099511627776xi64>"
    text = function(
        f"""
  %k = "stablehlo.iota"() {{iota_dimension = 0 : i64}} : () -> {large}
  %j = "stablehlo.reshape"(%k) : ({large}) -> tensor<1099511627776x1xi64>
  %y = "stablehlo.gather"(%x, %j) {{dimension_numbers = #stablehlo.gather<
    collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>,
    slice_sizes = array<i64: 1>}} : ({large}, tensor<1099511627776x1xi64>) -> {large}
  func.return %y : {large}""",
        f"%x: {large}",
        large,
    )
    assert "array.take" in str(load(text))
