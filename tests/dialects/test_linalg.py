"""linalg on tensors: values against its meaning element by element, derivatives, refusals."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from linalg_programs import Program, Writer, meaning

import gradir
from gradir.dialects.foreign.linalg.named import ELEMENTWISE, MEANINGS, op_class
from gradir.errors import GradirError, ParseError, PassError

Array = np.ndarray[Any, Any]


def run_both(module: gradir.Module, arrays: Sequence[Array], name: str = "f") -> tuple[Array, ...]:
    """The results of native code, which are the interpreter's."""
    found = gradir.compile(module, name)(*arrays)
    for x, y in zip(found, gradir.interpret(module, name, *arrays), strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-12, atol=1e-12)
    return found


def check_slope(module: gradir.Module, arrays: Sequence[Array], seed: int) -> None:
    """The vjp against a central difference along one direction."""
    random = np.random.default_rng(seed)
    function = gradir.compile(module, "f")
    cts = [random.normal(size=y.shape) for y in function(*arrays)]
    directions = [random.normal(size=a.shape) for a in arrays]
    step = 1e-6
    ahead, behind = (
        function(*[a + s * d for a, d in zip(arrays, directions, strict=True)])
        for s in (step, -step)
    )
    slopes = [(a - b) / (2 * step) for a, b in zip(ahead, behind, strict=True)]
    expected = sum(float(np.sum(s * c)) for s, c in zip(slopes, cts, strict=True))
    derived = gradir.compile(module.gradient("f", mode="vjp"), "f_vjp")(*arrays, *cts)
    grads = derived[len(cts) :]
    found = sum(float(np.sum(g * d)) for g, d in zip(grads, directions, strict=True))
    assert abs(found - expected) <= 1e-5 * (1 + abs(expected))


def arrays_for(program: Program, seed: int) -> list[Array]:
    random = np.random.default_rng(seed)
    return [random.uniform(-1, 1, shape) for shape in program.shapes]


@pytest.mark.parametrize("seed", range(24))
def test_random_generics(seed: int) -> None:
    program = Writer(seed).program()
    module, arrays = gradir.parse(program.text), arrays_for(program, seed)
    found = run_both(module, arrays)
    for x, y in zip(found, meaning(module, arrays), strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-10, atol=1e-12)
    check_slope(module, arrays, seed)


# Named ops.

SIZES: dict[str, int] = dict(
    zip("ncfghwdyxzmkba", (2, 3, 2, 2, 3, 2, 2, 2, 3, 2, 2, 3, 2, 2), strict=True)
)


def named_program(name: str, stride: int, dilation: int) -> Program:
    subscripts = MEANINGS[name].subscripts

    def extent(axis: tuple[str, ...]) -> int:
        if len(axis) == 1:
            return SIZES[axis[0]]
        return (SIZES[axis[0]] - 1) * stride + (SIZES[axis[1]] - 1) * dilation + 1

    shapes = [tuple(map(extent, term)) for term in subscripts.terms]
    types = [f"tensor<{''.join(f'{n}x' for n in shape)}f64>" for shape in shapes]
    count = subscripts.window_count
    settings = (
        f" {{strides = dense<{stride}> : vector<{count}xi64>, "
        f"dilations = dense<{dilation}> : vector<{count}xi64>}}"
    )
    names = [f"%a{k}" for k in range(len(types))]
    text = f"""
func.func @f({", ".join(f"{n}: {t}" for n, t in zip(names, types, strict=True))}) -> {types[-1]} {{
  %r = linalg.{name}{settings if count else ""} ins({", ".join(names[:-1])} :
      {", ".join(types[:-1])}) outs({names[-1]} : {types[-1]}) -> {types[-1]}
  func.return %r : {types[-1]}
}}"""
    return Program(text, shapes, 1)


@pytest.mark.parametrize("name", MEANINGS)
def test_named_ops(name: str) -> None:
    for settings in [(1, 1), (2, 2)] if MEANINGS[name].subscripts.window_count else [(1, 1)]:
        program = named_program(name, *settings)
        module, arrays = gradir.parse(program.text), arrays_for(program, 0)
        op: Any = next(op for op in module.op.walk() if op.name == f"linalg.{name}")
        body = op_class(name).get_hidden_region(op.inputs, op.outputs).block
        [found], [expected] = run_both(module, arrays), meaning(module, arrays, body)
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)
        assert str(gradir.parse(str(module))) == str(module)


OF_TWO = ("div", "powf", "add", "sub", "mul", "max", "min")


@pytest.mark.parametrize(
    "name", [*ELEMENTWISE, "add", "sub", "mul", "exp", "log", "sqrt", "max", "min", "copy"]
)
def test_elementwise_ops(name: str) -> None:
    count, type_ = 2 if name in OF_TWO else 1, "tensor<3x2xf64>"
    names = [f"%a{k}" for k in range(count + 1)]
    module = gradir.parse(f"""
func.func @f({", ".join(f"{n}: {type_}" for n in names)}) -> {type_} {{
  %r = linalg.{name} ins({", ".join(names[:-1])} : {", ".join([type_] * count)})
      outs({names[-1]} : {type_}) -> {type_}
  func.return %r : {type_}
}}""")
    arrays = [np.random.default_rng(k).uniform(0.3, 2.7, (3, 2)) for k in range(count + 1)]
    [found], [expected] = run_both(module, arrays), meaning(module, arrays)
    np.testing.assert_allclose(found, expected, rtol=1e-13)


def ops_after_decomposition(text: str) -> list[str]:
    module = gradir.parse(text).run_passes("gradir-decompose")
    return [op.name for op in module.op.walk()]


def generic(operands: str, body: str, *, kinds: str, maps: Sequence[str], types: str) -> str:
    """A function of one generic op whose outputs are its last arguments."""
    *inputs, result = types.split("; ")
    names = operands.split()
    listed = ", ".join(f"affine_map<{m}>" for m in maps)
    return f"""
func.func @f({", ".join(f"{n}: {t}" for n, t in zip(names, [*inputs, result], strict=True))})
    -> {result} {{
  %r = linalg.generic {{indexing_maps = [{listed}], iterator_types = [{kinds}]}}
      ins({", ".join(names[:-1])} : {", ".join(inputs)}) outs({names[-1]} : {result}) {{
{body}
  }} -> {result}
  func.return %r : {result}
}}"""


PRODUCT = """  ^bb0(%x: f32, %y: f32, %z: f32):
    %p = arith.mulf %x, %y : f32
    %s = arith.addf %z, %p : f32
    linalg.yield %s : f32"""


def test_products_are_raised() -> None:
    text = generic(
        "%a %b %c",
        PRODUCT,
        kinds='"parallel", "parallel", "reduction"',
        maps=["(i, j, k) -> (k, i)", "(i, j, k) -> (j, k)", "(i, j, k) -> (j, i)"],
        types="tensor<8x4xf32>; tensor<6x8xf32>; tensor<6x4xf32>",
    )
    names = ops_after_decomposition(text)
    assert names.count("array.dot_general") == 1 and "array.sum" not in names
    arrays = [np.random.default_rng(k).normal(size=s) for k, s in enumerate([(8, 4), (6, 8)])]
    a, b = (x.astype(np.float32) for x in arrays)
    [found] = gradir.compile(gradir.parse(text), "f")(a, b, np.ones((6, 4), np.float32))
    np.testing.assert_allclose(found, (a.T @ b.T).T + 1, rtol=1e-5)


def test_convolutions_are_raised() -> None:
    text = generic(
        "%a %b %c",
        PRODUCT,
        kinds='"parallel", "parallel", "parallel", "reduction", "reduction"',
        maps=[
            "(n, f, h, c, y) -> (n, h * 2 + y, c)",
            "(n, f, h, c, y) -> (f, y, c)",
            "(n, f, h, c, y) -> (n, f, h)",
        ],
        types="tensor<2x9x3xf32>; tensor<5x3x3xf32>; tensor<2x5x4xf32>",
    )
    names = ops_after_decomposition(text)
    assert "nn.conv1d" in names and "array.sum" not in names


def test_pools_are_raised() -> None:
    assert "nn.max_pool2d" in ops_after_decomposition(named_program("pooling_nhwc_max", 2, 1).text)
    assert "nn.avg_pool2d" in ops_after_decomposition(named_program("pooling_nchw_sum", 1, 1).text)


ARGMAX = """
func.func @f(%x: tensor<3x5xf64>) -> (tensor<3xf64>, tensor<3xi64>) {
  %low = arith.constant 0xFFF0000000000000 : f64
  %zero = arith.constant 0 : i64
  %a = tensor.empty() : tensor<3xf64>
  %m = linalg.fill ins(%low : f64) outs(%a : tensor<3xf64>) -> tensor<3xf64>
  %b = tensor.empty() : tensor<3xi64>
  %p = linalg.fill ins(%zero : i64) outs(%b : tensor<3xi64>) -> tensor<3xi64>
  %r:2 = linalg.generic {
      indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>,
                       affine_map<(i, j) -> (i)>],
      iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<3x5xf64>) outs(%m, %p : tensor<3xf64>, tensor<3xi64>) {
  ^bb0(%in: f64, %out: f64, %place: i64):
    %j = linalg.index 1 : index
    %k = arith.index_cast %j : index to i64
    %larger = arith.maximumf %in, %out : f64
    %is_new = arith.cmpf PREDICATE, %in, %out : f64
    %next = arith.select %is_new, %k, %place : i64
    linalg.yield %larger, %next : f64, i64
  } -> (tensor<3xf64>, tensor<3xi64>)
  func.return %r#0, %r#1 : tensor<3xf64>, tensor<3xi64>
}"""


@pytest.mark.parametrize(("predicate", "is_loop"), [("ogt", False), ("oge", True)])
def test_places_of_the_largest(predicate: str, is_loop: bool) -> None:
    """The first of equal ones is an op; the last is found by a loop."""
    text = ARGMAX.replace("PREDICATE", predicate)
    assert ("scf.for" in ops_after_decomposition(text)) == is_loop
    x = np.random.default_rng(0).integers(0, 3, (3, 5)).astype(float)
    value, place = run_both(gradir.parse(text), [x])
    np.testing.assert_array_equal(value, x.max(axis=1))
    last = 4 - x[:, ::-1].argmax(axis=1)
    np.testing.assert_array_equal(place, last if is_loop else x.argmax(axis=1))


def rows_joined(join: str, shape: str, element: str) -> gradir.Module:
    """The rows of a matrix, joined by an op of arith with what the output starts from."""
    body = f"""  ^bb0(%x: {element}, %z: {element}):
    %s = arith.{join} %x, %z : {element}
    linalg.yield %s : {element}"""
    text = generic(
        "%a %b",
        body,
        kinds='"parallel", "reduction"',
        maps=["(i, j) -> (i, j)", "(i, j) -> (i)"],
        types=f"tensor<{shape}x{element}>; tensor<{shape.partition('x')[0]}x{element}>",
    )
    return gradir.parse(text)


@pytest.mark.parametrize("join", ["maximumf", "addf", "mulf"])
def test_reductions_of_nothing(join: str) -> None:
    """No iteration: what the output starts from."""
    module, start = rows_joined(join, "2x0", "f64"), np.array([3.0, -1.0])
    [found] = run_both(module, [np.ones((2, 0)), start])
    np.testing.assert_array_equal(found, start)


@pytest.mark.parametrize("join", ["andi", "ori", "addi", "muli", "maxsi", "xori"])
def test_reductions_of_bits(join: str) -> None:
    """A sum of one bit is its parity, and true is the least signed bit."""
    module = rows_joined(join, "8x3", "i1")
    x = np.array(list(np.ndindex(2, 2, 2)), bool)
    start = np.arange(8) % 3 == 0
    [found], [expected] = run_both_bits(module, [x, start]), meaning(module, [x, start])
    np.testing.assert_array_equal(found, expected)


def run_both_bits(module: gradir.Module, arrays: Sequence[Array]) -> tuple[Array, ...]:
    found = gradir.compile(module, "f")(*arrays)
    np.testing.assert_array_equal(found[0], gradir.interpret(module, "f", *arrays)[0])
    return found


TRAINED = """
func.func @f(%x: tensor<4x3xf64>, %w: tensor<3x2xf64>, %steps: index) -> f64 {
  %zero = arith.constant 0.0 : f64
  %none = arith.constant 0 : index
  %one = arith.constant 1 : index
  %h0 = tensor.empty() : tensor<4x2xf64>
  %h = linalg.fill ins(%zero : f64) outs(%h0 : tensor<4x2xf64>) -> tensor<4x2xf64>
  %y = scf.for %k = %none to %steps step %one iter_args(%s = %h) -> (tensor<4x2xf64>) {
    %p = linalg.matmul ins(%x, %w : tensor<4x3xf64>, tensor<3x2xf64>)
        outs(%s : tensor<4x2xf64>) -> tensor<4x2xf64>
    %t = linalg.tanh ins(%p : tensor<4x2xf64>) outs(%h0 : tensor<4x2xf64>) -> tensor<4x2xf64>
    scf.yield %t : tensor<4x2xf64>
  }
  %e = tensor.empty() : tensor<f64>
  %i = linalg.fill ins(%zero : f64) outs(%e : tensor<f64>) -> tensor<f64>
  %r = linalg.reduce ins(%y:tensor<4x2xf64>) outs(%i:tensor<f64>) dimensions = [0, 1]
    (%a: f64, %b: f64) {
      %q = arith.addf %a, %b : f64
      linalg.yield %q : f64
    }
  %v = tensor.extract %r[] : tensor<f64>
  func.return %v : f64
}"""


def test_loops_of_linalg_at_second_order() -> None:
    module = gradir.parse(TRAINED)
    random = np.random.default_rng(0)
    x, w = random.normal(size=(4, 3)), random.normal(size=(3, 2)) / 2
    hidden = np.zeros((4, 2))
    for _ in range(5):
        hidden = np.tanh(hidden + x @ w)
    [value] = run_both(module, [x, w, np.array(5)])
    np.testing.assert_allclose(value, hidden.sum(), rtol=1e-12)
    first = module.gradient("f", wrt=[1], mode="grad")
    slope = gradir.compile(first, "f_grad")
    step, direction = 1e-6, random.normal(size=w.shape)

    def gradient(moved: float) -> Array:
        return slope(x, w + moved * direction, 5)[-1]

    second = first.gradient("f_grad", wrt=[1], mode="jvp")
    found = gradir.compile(second, "f_grad_jvp")(x, w, 5, direction)[-1]
    np.testing.assert_allclose(found, (gradient(step) - gradient(-step)) / (2 * step), rtol=1e-6)


SHAPES = """
func.func @f(%x: tensor<2x3xf64>, %y: tensor<2x1xf64>, %z: f64) -> tensor<4x2x4xf64> {
  %c = arith.constant 0.5 : f64
  %j = tensor.concat dim(1) %x, %y : (tensor<2x3xf64>, tensor<2x1xf64>) -> tensor<2x4xf64>
  %p = tensor.pad %j low[1, 0] high[0, 1] {
  ^bb0(%a: index, %b: index):
    tensor.yield %c : f64
  } : tensor<2x4xf64> to tensor<3x5xf64>
  %q = tensor.pad %p low[0, 0] high[1, 3] {
  ^bb0(%a: index, %b: index):
    tensor.yield %z : f64
  } : tensor<3x5xf64> to tensor<4x8xf64>
  %e = tensor.expand_shape %q [[0], [1, 2]] output_shape [4, 2, 4]
      : tensor<4x8xf64> into tensor<4x2x4xf64>
  %l = tensor.collapse_shape %e [[0, 1], [2]] : tensor<4x2x4xf64> into tensor<8x4xf64>
  %r = tensor.expand_shape %l [[0, 1], [2]] output_shape [4, 2, 4]
      : tensor<8x4xf64> into tensor<4x2x4xf64>
  func.return %r : tensor<4x2x4xf64>
}"""


def test_shapes_of_tensors() -> None:
    module = gradir.parse(SHAPES)
    random = np.random.default_rng(0)
    arrays = [random.normal(size=(2, 3)), random.normal(size=(2, 1)), np.array(3.0)]
    [found] = run_both(module, arrays)
    joined = np.pad(np.concatenate(arrays[:2], 1), [(1, 0), (0, 1)], constant_values=0.5)
    expected = np.pad(joined, [(0, 1), (0, 3)], constant_values=3.0).reshape(4, 2, 4)
    np.testing.assert_array_equal(found, expected)
    check_slope(module, arrays, 0)


@pytest.mark.parametrize(("inclusive", "join"), [("true", "addf"), ("false", "mulf")])
def test_scans(inclusive: str, join: str) -> None:
    start = {"addf": 0.0, "mulf": 1.0}[join]
    text = f"""
func.func @f(%x: tensor<3x4xf64>) -> (tensor<3x4xf64>, tensor<3xf64>) {{
  %c = arith.constant {start} : f64
  %a = tensor.empty() : tensor<3x4xf64>
  %b = tensor.empty() : tensor<3xf64>
  %s = linalg.fill ins(%c : f64) outs(%b : tensor<3xf64>) -> tensor<3xf64>
  %r:2 = tm_tensor.scan dimension(1) inclusive({inclusive}) ins(%x : tensor<3x4xf64>)
      outs(%a, %s : tensor<3x4xf64>, tensor<3xf64>) {{
  ^bb0(%p: f64, %q: f64):
    %t = arith.{join} %p, %q : f64
    tm_tensor.yield %t : f64
  }} -> tensor<3x4xf64>, tensor<3xf64>
  func.return %r#0, %r#1 : tensor<3x4xf64>, tensor<3xf64>
}}"""
    module = gradir.parse(text)
    assert str(gradir.parse(str(module))) == str(module)
    x = np.random.default_rng(0).normal(size=(3, 4))
    kind = {"addf": np.add, "mulf": np.multiply}[join]
    running = kind.accumulate(x, axis=1)
    if inclusive == "false":
        running = np.concatenate([np.full((3, 1), start), running[:, :-1]], axis=1)
    found = run_both(module, [x])
    np.testing.assert_allclose(found[0], running, rtol=1e-12)
    np.testing.assert_allclose(found[1], running[:, -1], rtol=1e-12)


@pytest.mark.parametrize("operands", ["%p, %p", "%q, %q"])
def test_scans_of_other_bodies(operands: str) -> None:
    text = f"""
func.func @f(%x: tensor<3xf64>) -> tensor<3xf64> {{
  %c = arith.constant 0.0 : f64
  %a = tensor.empty() : tensor<3xf64>
  %b = tensor.empty() : tensor<f64>
  %s = linalg.fill ins(%c : f64) outs(%b : tensor<f64>) -> tensor<f64>
  %r:2 = tm_tensor.scan dimension(0) inclusive(true) ins(%x : tensor<3xf64>)
      outs(%a, %s : tensor<3xf64>, tensor<f64>) {{
  ^bb0(%p: f64, %q: f64):
    %t = arith.addf {operands} : f64
    tm_tensor.yield %t : f64
  }} -> tensor<3xf64>, tensor<f64>
  func.return %r#0 : tensor<3xf64>
}}"""
    assert "tm_tensor.scan: expected a sum or a product" in refusal_of(text)


def test_attributes_that_may_change_a_named_op() -> None:
    text = named_program("matmul_transpose_a", 1, 1).text
    text = text.replace("matmul_transpose_a", 'matmul_transpose_a {cast = "cast_unsigned"}')
    assert "linalg.matmul_transpose_a: attribute cast is not known" in refusal_of(text)
    text = text.replace("cast =", "mine.note =")
    arrays = arrays_for(named_program("matmul_transpose_a", 1, 1), 0)
    run_both(gradir.parse(text), arrays)


# Refusals.


def refusal_of(text: str) -> str:
    with pytest.raises(GradirError) as caught:
        gradir.compile(gradir.parse(text), "f")
    return str(caught.value)


def test_refusals() -> None:
    identity = ["(i) -> (i)"] * 2
    types = "tensor<3xf64>; tensor<3xf64>"
    body = """  ^bb0(%x: f64, %z: f64):
    %c = arith.cmpf ogt, %x, %z : f64
    %s = scf.if %c -> (f64) {
      scf.yield %x : f64
    } else {
      scf.yield %z : f64
    }
    linalg.yield %s : f64"""
    text = generic("%a %b", body, kinds='"parallel"', maps=identity, types=types)
    assert "bodies of linalg ops may hold arith and math ops" in refusal_of(text)
    body = """  ^bb0(%x: f64, %z: f64):
    linalg.yield %x : f64"""
    text = generic("%a %b", body, kinds='"reduction"', maps=identity, types=types)
    assert "outputs must have all parallel loops for subscripts" in refusal_of(text)
    text = generic(
        "%a %b",
        body,
        kinds='"parallel"',
        maps=["(i) -> (i)", "(i) -> (i, i)"],
        types="tensor<3xf64>; tensor<3x3xf64>",
    )
    assert "subscripts of outputs must be loops, each once" in refusal_of(text)
    text = """
func.func @f(%a: memref<3xf64>, %b: memref<3xf64>) {
  linalg.exp ins(%a : memref<3xf64>) outs(%b : memref<3xf64>)
  func.return
}"""
    assert "error" in refusal_of(text)
    scan = """
func.func @f(%x: tensor<3xf64>, %b: tensor<f64>) -> tensor<3xf64> {
  %a = tensor.empty() : tensor<3xf64>
  %r:2 = tm_tensor.scan dimension(0) inclusive(true) ins(%x : tensor<3xf64>)
      outs(%a, %b : tensor<3xf64>, tensor<f64>) {
  ^bb0(%p: f64, %q: f64):
    %t = arith.addf %p, %q : f64
    tm_tensor.yield %t : f64
  } -> tensor<3xf64>, tensor<f64>
  func.return %r#0 : tensor<3xf64>
}"""
    assert "a sum or a product that starts from its neutral number" in refusal_of(scan)


RESOURCE = """
func.func @f() -> tensor<2xf32> {
  %c = arith.constant dense_resource<weights> : tensor<2xf32>
  func.return %c : tensor<2xf32>
}
{-#
  dialect_resources: {
    builtin: {
      weights: "0x040000000000803F00000040"
    }
  }
#-}
"""


def test_resources() -> None:
    module = gradir.parse(RESOURCE)
    np.testing.assert_array_equal(run_both(module, [])[0], np.array([1, 2], np.float32))
    other = RESOURCE.replace("0000803F", "00000000")  # the same key, other elements
    np.testing.assert_array_equal(run_both(gradir.parse(other), [])[0], [0, 2])


def test_resources_of_texts_that_are_read_at_once() -> None:
    """Each text has its own elements under a key that all have."""

    def first_number(number: int) -> float:
        digits = np.float32(number).tobytes().hex().upper()
        module = gradir.parse(RESOURCE.replace("0000803F", digits))
        return float(gradir.interpret(module, "f")[0][0])

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(first_number, range(1, 65))) == list(range(1, 65))


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("00000040", "0000", "expected 8 bytes for tensor<2xf32>, got 6"),
        ("0x04", "0xZZ", "expected hexadecimal digits"),
        ('weights: "', 'others: "', "no elements of this name"),
    ],
)
def test_wrong_resources(old: str, new: str, message: str) -> None:
    with pytest.raises(ParseError, match=message):
        gradir.parse(RESOURCE.replace(old, new))


def test_missing_resources() -> None:
    text = RESOURCE[: RESOURCE.index("{-#")]
    with pytest.raises(ParseError, match="3:3: error: dense_resource<weights>: no elements"):
        gradir.parse(text)


def test_an_extent_that_is_not_known() -> None:
    text = """
func.func @f(%x: tensor<?xf64>, %y: tensor<?xf64>) -> tensor<?xf64> {
  %r = linalg.exp ins(%x : tensor<?xf64>) outs(%y : tensor<?xf64>) -> tensor<?xf64>
  func.return %r : tensor<?xf64>
}"""
    module = gradir.parse(text)
    with pytest.raises(PassError, match=r"linalg\.exp"):
        module.run_passes("gradir-decompose")
