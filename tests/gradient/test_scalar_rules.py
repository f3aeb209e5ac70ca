"""Derivatives of arith, math and tensor ops: each rule by the table in scalar_cases.py; kinks."""

from __future__ import annotations

from math import inf, nan
from typing import Any

import numpy as np
import pytest
from scalar_cases import CASES, ELEMENTWISE, ScalarCase
from xdsl.dialects import tensor

import gradir
from gradir.dialects.array.creation import numpy_dtype
from gradir.dialects.base import op_rules
from gradir.dialects.base.shapes import NUMPY_NAMES, element_of, is_float, shape_of
from gradir.dialects.foreign import scalar_rules, tensor_rules
from gradir.errors import GradirError
from gradir.symbols import function_named
from gradir.testing import check_grads

STEPS = {"math.ceil", "math.floor", "math.round", "math.roundeven", "math.trunc"}
FLOATS = {str(element): numpy_dtype(element) for element in NUMPY_NAMES if is_float(element)}
case_of = pytest.mark.parametrize("case", CASES, ids=str)


def test_every_rule_has_a_case() -> None:
    assert scalar_rules.UNARY and tensor_rules
    ruled = op_rules._VJP_RULES
    casts = {"arith.extf", "arith.truncf"}
    ruled = {op.name for op in ruled if op.name.split(".")[0] in ("arith", "math", "tensor")}
    missing = ruled - {case.op.name for case in CASES} - casts
    assert not missing, f"no case in tests/support/scalar_cases.py for {', '.join(sorted(missing))}"


@case_of
def test_value(case: ScalarCase) -> None:
    module = gradir.parse(case.text("f64"))
    for arguments in case.arguments(np.float64):
        (found,) = gradir.interpret(module, "f", *arguments)
        shapes = zip(arguments, case.shapes, strict=True)
        plain = [a.item() if shape is None else a for a, shape in shapes]
        np.testing.assert_allclose(found, case.reference(plain), rtol=1e-14)


@pytest.mark.parametrize("name", ["f32", "f16", "bf16"])
@pytest.mark.parametrize("case", ELEMENTWISE, ids=str)
def test_other_types(case: ScalarCase, name: str) -> None:
    """Values and gradients are near the ones in f64."""
    dtype, eps = FLOATS[name], {"f32": 1e-6, "f16": 4e-3, "bf16": 3e-2}[name]
    expected, found = (gradir.parse(case.text(t)).gradient("f", mode="grad") for t in ("f64", name))
    for arguments in case.arguments(dtype):
        given = [a.astype(np.float64) for a in arguments]
        ours = gradir.interpret(found, "f_grad", *arguments)
        for one, other in zip(ours, gradir.interpret(expected, "f_grad", *given), strict=True):
            assert one.dtype == dtype
            np.testing.assert_allclose(one.astype(np.float64), other, rtol=8 * eps, atol=eps)


@pytest.mark.parametrize("case", [c for c in CASES if c.op.name not in STEPS], ids=str)
def test_gradients(case: ScalarCase) -> None:
    """First and second order against central differences; a third derivative exists."""
    module = gradir.parse(case.text("f64"))
    for arguments in case.arguments(np.float64):
        check_grads((module, "f"), arguments, order=2, atol=1e-8, rtol=1e-8, native=False)
    name = "f"
    for _ in range(3):
        module = module.gradient(name, mode="vjp")
        name += "_vjp"


@pytest.mark.parametrize("case", [c for c in CASES if c.op.name in STEPS], ids=str)
def test_steps_have_no_gradient(case: ScalarCase) -> None:
    module = gradir.parse(case.text("f64")).gradient("f", mode="grad")
    for arguments in case.arguments(np.float64):
        assert gradir.interpret(module, "f_grad", *arguments)[1] == 0


@pytest.mark.parametrize("mode", ["vjp", "split", "grad"])
def test_modes(mode: str) -> None:
    """Constants are made again where they are read; a scalar can be a residual."""
    module = gradir.parse("""
        func.func @f(%x: f64, %y: f64) -> f64 {
          %c = arith.constant 3.0 : f64
          %0 = math.exp %x : f64
          %1 = arith.mulf %0, %c : f64
          %2 = arith.mulf %1, %y : f64
          func.return %2 : f64
        }""").gradient("f", mode=mode)
    x, y = 0.5, 2.0
    match mode:
        case "split":
            value, *residuals = gradir.interpret(module, "f_fwd", x, y)
            assert len(residuals) == 3
            grads = gradir.interpret(module, "f_bwd", *residuals, 1.0)
        case "vjp":
            value, *grads = gradir.interpret(module, "f_vjp", x, y, 1.0)
        case _:
            value, *grads = gradir.interpret(module, "f_grad", x, y)
    np.testing.assert_allclose(value, 3 * np.exp(x) * y)
    np.testing.assert_allclose(grads, [3 * np.exp(x) * y, 3 * np.exp(x)])


def grads_of(line: str, *values: float) -> list[float]:
    """The gradient of `%y = line` at arguments %a, %b, ..."""
    names = "abc"[: len(values)]
    module = gradir.parse(f"""
        func.func @f({", ".join(f"%{n}: f64" for n in names)}) -> f64 {{
          %y = {line}
          func.return %y : f64
        }}""").gradient("f", mode="grad")
    return [float(g) for g in gradir.interpret(module, "f_grad", *values)[1:]]


@pytest.mark.parametrize(
    ("line", "values", "expected"),
    [
        ("math.absf %a : f64", [0.0], [0]),
        ("math.absf %a : f64", [-0.0], [0]),
        ("math.sqrt %a : f64", [0.0], [inf]),
        ("math.log %a : f64", [0.0], [inf]),
        ("arith.maximumf %a, %b : f64", [2.0, 2.0], [0.5, 0.5]),
        ("arith.minimumf %a, %b : f64", [2.0, 2.0], [0.5, 0.5]),
        ("math.powf %a, %b : f64", [0.0, 2.0], [0, 0]),
        ("math.powf %a, %b : f64", [0.0, 0.0], [0, 0]),
        ("math.powf %a, %b : f64", [0.0, 1.0], [1, 0]),
        ("math.powf %a, %b : f64", [-2.0, 2.0], [-4, nan]),
        ("math.copysign %a, %b : f64", [0.0, -1.0], [0, 0]),
        ("math.copysign %a, %b : f64", [3.0, -0.0], [-1, 0]),
        ("math.atan2 %a, %b : f64", [1e200, 1e200], [5e-201, -5e-201]),
        ("math.floor %a : f64", [2.0], [0]),
    ],
)
def test_kinks(line: str, values: list[float], expected: list[float]) -> None:
    np.testing.assert_allclose(grads_of(line, *values), expected, rtol=1e-12)


@pytest.mark.parametrize("x", [0.0, -1.5])
def test_integer_power_of_zero(x: float) -> None:
    text = """
        func.func @f(%x: f64) -> f64 {{
          %n = arith.constant {} : i64
          %y = math.fpowi %x, %n : f64, i64
          func.return %y : f64
        }}"""
    for n in (0, 1, 2):
        module = gradir.parse(text.format(n)).gradient("f", mode="grad")
        assert gradir.interpret(module, "f_grad", x)[1] == (n * x ** (n - 1) if n else 0)


@pytest.mark.parametrize(("wide", "narrow"), [("f64", "f32"), ("f32", "f16"), ("f32", "bf16")])
def test_casts(wide: str, narrow: str) -> None:
    """Cotangents are cast back; the derivative of a cast is 1 at every order."""
    module = gradir.parse(f"""
        func.func @f(%x: {wide}) -> {wide} {{
          %0 = arith.truncf %x : {wide} to {narrow}
          %1 = arith.mulf %0, %0 : {narrow}
          %2 = arith.extf %1 : {narrow} to {wide}
          func.return %2 : {wide}
        }}""")
    once = module.gradient("f", mode="grad")
    assert gradir.interpret(once, "f_grad", 1.5) == (2.25, 3.0)
    twice = once.gradient("f_grad", of=[1], mode="grad")
    assert gradir.interpret(twice, "f_grad_grad", 1.5)[2] == 2.0


def test_repeated_use_of_scalars_accumulates() -> None:
    module = gradir.parse("""
        func.func @f(%x: f32) -> f32 {
          %0 = arith.mulf %x, %x : f32
          %1 = arith.addf %0, %x : f32
          %2 = arith.addf %1, %x : f32
          func.return %2 : f32
        }""").gradient("f", mode="grad")
    assert gradir.interpret(module, "f_grad", 3.0) == (15.0, 8.0)
    assert "grad.accumulate" not in str(module)


def test_markers_on_scalars() -> None:
    module = gradir.parse("""
        func.func @f(%x: f32, %y: f32) -> f32 {
          %h = arith.mulf %x, %y : f32
          %n = grad.name %h {name = "h"} : f32
          %s = grad.no_grad %y : f32
          %r = grad.negate_gradient %x : f32
          %0 = arith.mulf %n, %s : f32
          %1 = arith.addf %0, %r : f32
          func.return %1 : f32
        }""").gradient("f", wrt=[0, 1, "h"], mode="grad")
    assert gradir.interpret(module, "f_grad", 3.0, 5.0) == (78.0, 24.0, 15.0, 5.0)


def test_a_scalar_that_does_not_contribute_gets_zero() -> None:
    module = gradir.parse("""
        func.func @f(%x: f32, %y: bf16) -> f32 {
          func.return %x : f32
        }""").gradient("f", mode="grad")
    values: Any = gradir.interpret(module, "f_grad", 3.0, 5.0)
    assert values == (3.0, 1.0, 0.0) and values[2].dtype == FLOATS["bf16"]


def test_mixed_scalars_and_tensors() -> None:
    module = gradir.parse("""
        func.func @f(%x: tensor<3xf64>, %s: f64) -> f64 {
          %t = tensor.splat %s : tensor<3xf64>
          %0 = array.multiply %x, %t : tensor<3xf64>
          %1 = array.tanh %0 : tensor<3xf64>
          %2 = array.sum %1 : tensor<3xf64> -> tensor<f64>
          %3 = tensor.extract %2[] : tensor<f64>
          %4 = math.exp %3 : f64
          func.return %4 : f64
        }""")
    check_grads((module, "f"), [np.array([0.3, -0.2, 0.9]), 1.3], order=3, native=False,
                atol=1e-6, rtol=1e-6)  # fmt: skip


def test_indices_of_operands_are_inactive() -> None:
    """Of slices at run-time offsets, too."""
    module = gradir.parse("""
        func.func @f(%x: tensor<4xf64>, %i: index) -> tensor<2xf64> {
          %0 = tensor.extract_slice %x[%i] [2] [1] : tensor<4xf64> to tensor<2xf64>
          %1 = array.square %0 : tensor<2xf64>
          func.return %1 : tensor<2xf64>
        }""").gradient("f", mode="vjp")
    _, grad = gradir.interpret(module, "f_vjp", np.arange(4.0), 1, np.ones(2))
    np.testing.assert_array_equal(grad, [0, 2, 4, 0])
    assert any(isinstance(op, tensor.InsertSliceOp) for op in module.op.walk())


def test_vectors_are_refused() -> None:
    """A value of another type between floats would lose its cotangent."""
    module = gradir.parse("""
        func.func @f(%x: f32) -> f32 {
          %v = vector.broadcast %x : f32 to vector<4xf32>
          %i = arith.constant 0 : index
          %y = vector.extract %v[0] : f32 from vector<4xf32>
          func.return %y : f32
        }""")
    with pytest.raises(GradirError, match=r"vector\.broadcast: it has no derivative"):
        module.gradient("f")


def on_tensors(case: ScalarCase) -> ScalarCase:
    """The same op on tensors: all calls of the case in one, element by element."""
    rows = len(case.values)
    columns = [list(column) for column in zip(*case.values, strict=True)]
    shape, line = f"{rows}x", case.line
    given = [
        (name, value if value in ("true", "false") else _dense(value, rows))
        for name, value in case.given
    ]
    line = line.replace(": T", f": tensor<{shape}T>").replace(", i32", f", tensor<{shape}i32>")
    return ScalarCase(
        case.op, line, lambda a: [case.reference(row) for row in zip(*a, strict=True)],
        [columns], (rows,), [(rows,)] * len(case.shapes), given,
    )  # fmt: skip


def _dense(value: str, rows: int) -> str:
    number, type_ = value.split(" : ")
    return f"dense<{number}> : tensor<{rows}x{type_}>"


on_elements = pytest.mark.parametrize("case", list(map(on_tensors, ELEMENTWISE)), ids=str)


@on_elements
def test_elements_of_tensors(case: ScalarCase) -> None:
    """The value of arith and math on tensors, and their derivatives, of numbers and of code."""
    module = gradir.parse(case.text("f64"))
    ((arguments),) = case.arguments(np.float64)
    (found,) = gradir.interpret(module, "f", *arguments)
    np.testing.assert_allclose(found, case.reference([a.tolist() for a in arguments]), rtol=1e-14)
    if case.op.name not in STEPS:
        check_grads((module, "f"), arguments, order=2, atol=1e-8, rtol=1e-8, native=False)
    # what an op on tensors of arith or math becomes is such ops again
    names = {op.name.split(".")[0] for op in module.gradient("f").op.walk()}
    assert names <= {"builtin", "func", "arith", "math", "grad", "array"}


def all_on_tensors(element: str) -> tuple[str, list[Any]]:
    """One program of all cases on tensors, and its arguments."""
    arguments: list[str] = []
    lines: list[str] = []
    results: list[str] = []
    types: list[str] = []
    values: list[Any] = []
    for n, case in enumerate(map(on_tensors, ELEMENTWISE)):
        line = case.line
        for k in reversed(range(len(case.shapes))):
            line = line.replace(f"%{k}", f"%x{n}_{k}")
        for name, value in case.given:
            lines.append(f"%{name}{n} = arith.constant {value}")
            line = line.replace(f"%{name} ", f"%{name}{n} ").replace(f"%{name},", f"%{name}{n},")
        lines.append(f"%y{n} = {line.replace('T', element)}")
        of_first: Any = case.values[0]
        rows = len(of_first[0])
        arguments += [f"%x{n}_{k}: tensor<{rows}x{element}>" for k in range(len(case.shapes))]
        results.append(f"%y{n}")
        types.append(f"tensor<{rows}x{element}>")
        values += case.arguments(FLOATS[element])[0]
    body = "\n  ".join(lines)
    return (
        f"func.func @f({', '.join(arguments)}) -> ({', '.join(types)}) {{\n  {body}\n"
        f"  func.return {', '.join(results)} : {', '.join(types)}\n}}"
    ), values


@pytest.mark.parametrize("element", ["f64", "f32", "f16", "bf16"])
@pytest.mark.parametrize("mode", ["vjp", "jvp"])
def test_native_code_of_tensors(element: str, mode: str) -> None:
    """Of values and derivatives, near the interpreter's; of second order in f64."""
    text, values = all_on_tensors(element)
    module, name = gradir.parse(text), "f"
    for _ in range(2 if element == "f64" else 1):
        module, name = module.gradient(name, mode=mode), f"{name}_{mode}"
        parameters = _parameters(module, name)
        values = [*values, *(np.full(s, 0.75, d) for s, d in parameters[len(values) :])]
    expected = gradir.interpret(module, name, *values)
    found = gradir.compile(module, name)(*values)
    eps = {"f64": 1e-13, "f32": 1e-5, "f16": 2e-2, "bf16": 1e-1}[element]
    for one, other in zip(expected, found, strict=True):
        np.testing.assert_allclose(
            other.astype(np.float64), one.astype(np.float64), rtol=eps, atol=eps
        )


def _parameters(module: gradir.Module, name: str) -> list[tuple[tuple[int, ...], Any]]:
    function = function_named(module.op, name)
    return [(shape_of(a.type), numpy_dtype(element_of(a.type))) for a in function.body.block.args]


@pytest.mark.parametrize("stride", [0, -1])
def test_strides_are_positive(stride: int) -> None:
    """A slice that reads an element twice would get a wrong gradient from its transpose."""
    text = """
        func.func @f(%x: tensor<4xf64>, %s: index) -> tensor<2xf64> {{
          %0 = tensor.extract_slice %x[0] [2] [{}] : tensor<4xf64> to tensor<2xf64>
          func.return %0 : tensor<2xf64>
        }}"""
    message = r"tensor\.extract_slice: strides must be positive"
    with pytest.raises(GradirError, match=rf"{message}, got \[{stride}\]; array.flip reverses"):
        gradir.parse(text.format(stride))
    with pytest.raises(GradirError, match=message):
        gradir.interpret(gradir.parse(text.format("%s")), "f", np.arange(4.0), stride)


READS = {
    "extract": """
        %e = tensor.extract %x[%i] : tensor<6xf64>
        %q = math.sin %e : f64
        %u = arith.addf %s, %q : f64""",
    "extract_slice": """
        %e = tensor.extract_slice %x[%i] [2] [1] : tensor<6xf64> to tensor<2xf64>
        %h = array.sin %e : tensor<2xf64>
        %t = array.sum %h : tensor<2xf64> -> tensor<f64>
        %q = tensor.extract %t[] : tensor<f64>
        %u = arith.addf %s, %q : f64""",
    "dynamic_slice": """
        %k = arith.index_cast %i : index to i64
        %at = tensor.from_elements %k : tensor<i64>
        %e = array.dynamic_slice %x, %at {sizes = [2]} : tensor<6xf64>, tensor<i64> -> tensor<2xf64>
        %h = array.sin %e : tensor<2xf64>
        %t = array.sum %h : tensor<2xf64> -> tensor<f64>
        %q = tensor.extract %t[] : tensor<f64>
        %u = arith.addf %s, %q : f64""",
    "take": """
        %k = arith.index_cast %i : index to i64
        %at = tensor.from_elements %k : tensor<i64>
        %e = array.take %x, %at {axis = 0} : tensor<6xf64>, tensor<i64> -> tensor<f64>
        %h = array.sin %e : tensor<f64>
        %q = tensor.extract %h[] : tensor<f64>
        %u = arith.addf %s, %q : f64""",
}


@pytest.mark.parametrize("name", READS)
def test_reading_a_part_in_a_loop_does_not_cost_a_tensor(name: str) -> None:
    """What flows back is written to the sum so far; no zeros are made or added."""
    module = gradir.parse(f"""
        func.func @f(%x: tensor<6xf64>) -> f64 {{
          %c0 = arith.constant 0 : index
          %c1 = arith.constant 1 : index
          %n = arith.constant 4 : index
          %z = arith.constant 0.0 : f64
          %y = scf.for %i = %c0 to %n step %c1 iter_args(%s = %z) -> (f64) {{{READS[name]}
            scf.yield %u : f64
          }}
          func.return %y : f64
        }}""")
    check_grads((module, "f"), [np.linspace(-1, 1, 6)], order=2, native=False)
    lines = str(module.gradient("f", mode="grad")).splitlines()
    assert not [line for line in lines if "grad.accumulate" in line and "tensor<6xf64>" in line]


def test_parts_are_added_to_what_flows_elsewhere() -> None:
    """Also where one value is taken twice, and natively."""
    module = gradir.parse("""
        func.func @f(%x: tensor<5xf64>, %i: tensor<3xi64>) -> tensor<f64> {
          %a = array.take %x, %i {axis = 0} : tensor<5xf64>, tensor<3xi64> -> tensor<3xf64>
          %b = array.take %x, %i {axis = 0} : tensor<5xf64>, tensor<3xi64> -> tensor<3xf64>
          %c = array.exp %x : tensor<5xf64>
          %d = array.multiply %a, %b : tensor<3xf64>
          %s = array.sum %d : tensor<3xf64> -> tensor<f64>
          %t = array.sum %c : tensor<5xf64> -> tensor<f64>
          %y = array.add %s, %t : tensor<f64>
          func.return %y : tensor<f64>
        }""").gradient("f", mode="grad")
    x, places = np.linspace(-1, 1, 5), np.array([4, 1, 1])
    expected = np.exp(x)
    np.add.at(expected, places, 2 * x[places])
    for results in (
        gradir.interpret(module, "f_grad", x, places),
        gradir.compile(module, "f_grad")(x, places),
    ):
        np.testing.assert_allclose(results[1], expected, rtol=1e-14)


def test_wrt_of_other_types() -> None:
    text = """
        func.func @f(%x: f32, %v: vector<4xf32> {}) -> f32 {{
          func.return %x : f32
        }}"""
    with pytest.raises(GradirError, match=r"wrt: %v of @f must be a tensor or a scalar"):
        gradir.parse(text.format("")).gradient("f")
    module = gradir.parse(text.format("{grad.inactive}")).gradient("f", mode="jvp")
    assert "%x_tangent: f32) -> (f32, f32)" in str(module)


def test_markers_of_scalars_are_gone_after_lowering() -> None:
    module = gradir.parse("""
        func.func @f(%x: f32) -> f32 {
          %n = grad.name %x {name = "h"} : f32
          %s = grad.no_grad %n : f32
          func.return %s : f32
        }""").run_passes("gradir-decompose,gradir-lower")
    assert "grad." not in str(module)
    with pytest.raises(GradirError, match=r"grad\.no_grad: expected ranked tensors, got vector"):
        gradir.parse("""
            func.func @f(%x: vector<4xf32>) {
              %s = grad.no_grad %x : vector<4xf32>
              func.return
            }""")
