"""Products with `precision = "bf16"`: one order of sums, bit for bit, at every level of processors.

The reference is exact: fractions, rounded once to float32 after each product. Native code of this
machine, of levels below it, and of targets without a mode for subnormal numbers has its bits, and
so has the interpreter.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import product
from math import copysign, inf, isfinite, isnan, nan
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import gradir
from gradir.codegen.contractions.precision import PAIRS, ROUNDED, precise_steps
from gradir.codegen.text.target import LEVELS, MachineTarget, host, target_of
from gradir.compiler.compiler import compile_function, emit_object
from gradir.dialects.loopnest.loopnest import ContractOp
from gradir.runtime.jit import undefined_symbols

Array = np.ndarray[Any, np.dtype[Any]]


def targets() -> dict[str, MachineTarget]:
    """This machine, the levels that it can run, narrow vectors, and one without a mode."""
    found = {level: target_of(level) for level in LEVELS if not target_of(level).lacking}
    narrow = target_of("host", 32 if host().vector_bytes > 16 else 16)
    plain = replace(host(), multiplies_pairs=False, flushes=False)
    return {"host": host(), **found, "narrow": narrow, "no mode": plain}


TARGETS = targets()
of_target = pytest.mark.parametrize("target", TARGETS.values(), ids=TARGETS)


def type_of(shape: Sequence[int]) -> str:
    return f"tensor<{''.join(f'{n}x' for n in shape)}f32>"


def dot_general(
    left: Sequence[int],
    right: Sequence[int],
    batch: int,
    contract: tuple[Sequence[int], Sequence[int]],
    result: Sequence[int],
    precision: str = ', precision = "bf16"',
) -> str:
    """A product of factors whose first `batch` axes run together."""
    rows = list(range(batch))
    a, b, y = type_of(left), type_of(right), type_of(result)
    return f"""func.func @f(%a: {a}, %b: {b}) -> {y} {{
      %y = array.dot_general %a, %b {{lhs_batch = {rows}, rhs_batch = {rows},
        lhs_contract = {list(contract[0])}, rhs_contract = {list(contract[1])}{precision}}}
        : {a}, {b} -> {y}
      func.return %y : {y}
    }}"""


def matrices(layout: str, batch: Sequence[int], m: int, n: int, k: int) -> tuple[Any, ...]:
    """The shapes and the summed axes of factors that are stored as the layout says."""
    first = len(batch)
    left = [*batch, m, k] if layout[0] == "n" else [*batch, k, m]
    right = [*batch, k, n] if layout[1] == "n" else [*batch, n, k]
    contract = [first + (layout[0] == "n")], [first + (layout[1] == "t")]
    return left, right, first, contract, [*batch, m, n]


def native(text: str, target: MachineTarget, *arrays: Array, threads: int = 1) -> list[Array]:
    module = gradir.parse(text).op
    return list(compile_function(module, "f", threads, target)(*arrays))


def assert_bits(found: Array, expected: Array) -> None:
    """Equal bits; which nan a nan is stands open."""
    assert found.dtype == expected.dtype == np.float32
    where = np.isnan(expected)
    np.testing.assert_array_equal(np.isnan(found), where)
    one, other = (np.where(where, 0, x).view(np.uint32) for x in (found, expected))
    np.testing.assert_array_equal(one, other)


# The reference.

LEAST = Fraction(1, 2**126)


def rounded_factor(x: float) -> float:
    """The number of bf16 next to one of f32; zeros for subnormal ones."""
    if isfinite(x) and abs(Fraction(x)) < LEAST:
        return copysign(0.0, x)
    return float(np.float32(x).astype(ml_dtypes.bfloat16))


def rounded_sum(exact: Fraction) -> float:
    """24 bits, to nearest even, as if exponents had no end; then the ends of f32."""
    size = abs(exact)
    step = Fraction(1)
    while size >= step * 2**24:
        step *= 2
    while size < step * 2**23:
        step /= 2
    size = round(size / step) * step
    if size < LEAST:
        size = Fraction(0)
    made = inf if size >= Fraction(2) ** 128 else float(size)
    return copysign(made, -1.0 if exact < 0 else 1.0)


def next_sum(total: float, left: float, right: float) -> float:
    if isnan(total) or isnan(left) or isnan(right):
        return nan
    if not (isfinite(total) and isfinite(left) and isfinite(right)):
        with np.errstate(invalid="ignore"):
            return float(np.float64(left) * np.float64(right) + np.float64(total))
    exact = Fraction(left) * Fraction(right) + Fraction(total)
    if exact:
        return rounded_sum(exact)
    # a sum of zeros: of two negative ones -0, else 0
    is_negative = copysign(1, total) < 0 and copysign(1, left) * copysign(1, right) < 0
    return -0.0 if is_negative and left * right == 0 and total == 0 else 0.0


def reference(a: Array, b: Array) -> Array:
    """a [m, k] times b [k, n]."""
    left = np.vectorize(rounded_factor, otypes=[float])(a) if a.size else a.astype(float)
    right = np.vectorize(rounded_factor, otypes=[float])(b) if b.size else b.astype(float)
    y = np.zeros((a.shape[0], b.shape[1]), np.float32)
    for i, j in product(*map(range, y.shape)):
        total = 0.0
        for k in range(a.shape[1]):
            total = next_sum(total, float(left[i, k]), float(right[k, j]))
        y[i, j] = total
    return y


# Numbers.

SPECIAL = np.array(
    [0.0, -0.0, inf, -inf, nan, 1e-40, -1e-45, 2**-126, -(2**-126), 3.4e38, -3.4e38, 1.0, -1.0,
     2.0**-63, -(2.0**-64), 1.00390625, 1.01171875, 3.3895314e38],
    np.float32,
)  # fmt: skip


def numbers(kind: str, shape: Sequence[int], random: np.random.Generator) -> Array:
    x = random.standard_normal(shape).astype(np.float32)
    powers = np.float32(2.0) ** random.integers(-70, -54, shape).astype(np.float32)
    match kind:
        case "plain":
            return x
        case "small":  # products around the smallest normal number
            return x * powers
        case "powers":  # and sums that are exactly it
            return np.sign(x) * powers
        case "large":  # sums beyond the largest number
            return np.where(random.random(shape) < 0.5, x * np.float32(1e19), x)
        case _:
            some = SPECIAL[random.integers(0, len(SPECIAL), shape)]
            return np.where(random.random(shape) < 0.3, some, x)


KINDS = ["plain", "small", "powers", "large", "special"]


@of_target
@pytest.mark.parametrize("kind", KINDS)
def test_exact(target: MachineTarget, kind: str) -> None:
    random = np.random.default_rng(KINDS.index(kind))
    for m, n, k in [(3, 5, 7), (1, 1, 40), (2, 17, 4), (5, 1, 9)]:
        a, b = numbers(kind, (m, k), random), numbers(kind, (k, n), random)
        text = dot_general(*matrices("nn", [], m, n, k))
        expected = reference(a, b)
        assert_bits(gradir.interpret(gradir.parse(text), "f", a, b)[0], expected)
        assert_bits(native(text, target, a, b)[0], expected)


@of_target
def test_sums_at_the_smallest_normal_number(target: MachineTarget) -> None:
    """2**-126 less about half a unit of what is below it: some are rounded to 2**-126, and stay;
    others are subnormal, and 0."""
    random = np.random.default_rng(5)
    n = 300
    a = np.zeros((1, 2), np.float32)
    a[0] = 2.0**-63, 2.0**-75
    b = np.zeros((2, n), np.float32)
    b[0] = 2.0**-63
    b[1] = -(2.0**-77) * (1 + np.arange(n) / 64)
    b *= np.where(random.random(n) < 0.5, -1, 1).astype(np.float32)
    text = dot_general(*matrices("nn", [], 1, n, 2))
    expected = reference(a, b)
    assert 0 < np.count_nonzero(expected) < n
    assert_bits(gradir.interpret(gradir.parse(text), "f", a, b)[0], expected)
    assert_bits(native(text, target, a, b)[0], expected)


SEEDS = 24


@pytest.mark.parametrize("seed", range(SEEDS))
def test_random_products(seed: int) -> None:
    """Layouts, batches, odd ends of k: the bits of the interpreter at each target."""
    random = np.random.default_rng(seed)
    sizes = [1, 2, 3, 5, 8, 13, 17, 31, 33, 48, 65, 100]
    batch = [2, 3][: random.integers(0, 3)]
    m, n, k = (int(random.choice(sizes)) for _ in range(3))
    layout = ["nn", "nt", "tn", "tt"][seed % 4]
    left, right, first, contract, result = matrices(layout, batch, m, n, k)
    kind = KINDS[seed % len(KINDS)]
    a, b = numbers(kind, left, random), numbers(kind, right, random)
    text = dot_general(left, right, first, contract, result)
    [expected] = gradir.interpret(gradir.parse(text), "f", a, b)
    for target in TARGETS.values():
        assert_bits(native(text, target, a, b)[0], expected)
    assert_bits(native(text, host(), a, b, threads=2)[0], expected)


@of_target
@pytest.mark.parametrize("k", [0, 1, 2])
def test_few_products(target: MachineTarget, k: int) -> None:
    a = np.array([[1.0, -1e-40], [-0.0, 3]], np.float32)[:, :k]
    b = np.array([[2.0, -3, 0], [5, 7, -0.0]], np.float32)[:k]
    text = dot_general(*matrices("nn", [], 2, 3, k))
    assert_bits(native(text, target, a, b)[0], reference(a, b))


@of_target
def test_axes(target: MachineTarget) -> None:
    """Several summed axes, in the order that is written; none; and results of batch axes alone."""
    random = np.random.default_rng(3)
    none: list[int] = []
    cases = [
        ([3, 4, 5, 2], [5, 6, 4, 2], 0, ([2, 1, 3], [0, 2, 3]), [3, 6]),
        ([3, 4], [5], 0, (none, none), [3, 4, 5]),
        ([4, 3, 70], [4, 3, 70], 2, ([2], [2]), [4, 3]),
        ([2, 3], [2, 4], 1, (none, none), [2, 3, 4]),
    ]
    for left, right, batch, contract, result in cases:
        a, b = (numbers("special", shape, random) for shape in (left, right))
        text = dot_general(left, right, batch, contract, result)
        [expected] = gradir.interpret(gradir.parse(text), "f", a, b)
        assert_bits(native(text, target, a, b)[0], expected)


@of_target
def test_views_and_epilogues(target: MachineTarget) -> None:
    """A slice of a factor, of which the next column is no part of an odd sum; and a body that
    keeps subnormal numbers."""
    text = """func.func @f(%a: tensor<5x8xf32>, %b: tensor<9x4xf32>, %s: tensor<4xf32>)
        -> (tensor<5x4xf32>, tensor<5xf32>) {
      %left = array.slice %a {start = [0, 1], stop = [5, 6], step = [1, 1]}
        : tensor<5x8xf32> -> tensor<5x5xf32>
      %right = array.slice %b {start = [2, 0], stop = [7, 4], step = [1, 1]}
        : tensor<9x4xf32> -> tensor<5x4xf32>
      %y = array.matmul %left, %right {precision = "bf16"}
        : tensor<5x5xf32>, tensor<5x4xf32> -> tensor<5x4xf32>
      %line = array.broadcast_to %s : tensor<4xf32> -> tensor<5x4xf32>
      %z = array.multiply %y, %line : tensor<5x4xf32>
      %t = array.sum %z {axis = [1]} : tensor<5x4xf32> -> tensor<5xf32>
      func.return %z, %t : tensor<5x4xf32>, tensor<5xf32>
    }"""
    random = np.random.default_rng(0)
    a, b = (numbers("plain", shape, random) for shape in ((5, 8), (9, 4)))
    a[:, 6] = b[7] = nan
    s = np.array([1, 1e-40, 2**-130, 3], np.float32)
    expected = gradir.interpret(gradir.parse(text), "f", a, b, s)
    assert np.any((expected[0] != 0) & (np.abs(expected[0]) < 2**-126))
    found = native(text, target, a, b, s)
    assert_bits(found[0], expected[0])
    np.testing.assert_allclose(found[1], expected[1], rtol=1e-5)


# Convolutions.


@pytest.mark.parametrize("layout", ["NCHW", "NHWC"])
@pytest.mark.parametrize("groups", [1, 2, 4])
@pytest.mark.parametrize(("stride", "dilation"), [(1, 1), (2, 1), (1, 2), (3, 1)])
def test_convolutions(layout: str, groups: int, stride: int, dilation: int) -> None:
    """A convolution and its transposes: the bits of the interpreter at each target."""
    random = np.random.default_rng(groups)
    n, c, h, w, o, pad = 2, 4, 7, 6, 8, 1
    places = [(size + 2 * pad - dilation * 2 - 1) // stride + 1 for size in (h, w)]
    last = layout == "NHWC"
    image = [n, h, w, c] if last else [n, c, h, w]
    kernel = [3, 3, c // groups, o] if last else [o, c // groups, 3, 3]
    result = [n, *places, o] if last else [n, o, *places]
    x, k, y = map(type_of, (image, kernel, result))
    settings = (
        f"stride = {stride}, padding = {pad}, dilation = {dilation}, groups = {groups}, "
        f'layout = "{layout}", precision = "bf16"'
    )
    text = f"""func.func @f(%x: {x}, %w: {k}, %ct: {y}) -> ({y}, {x}, {k}) {{
      %y = nn.conv2d %x, %w {{{settings}}} : {x}, {k} -> {y}
      %x_ct = grad.conv2d_input_backward %ct, %w {{{settings}}} : {y}, {k} -> {x}
      %w_ct = grad.conv2d_weight_backward %ct, %x {{{settings}}} : {y}, {x} -> {k}
      func.return %y, %x_ct, %w_ct : {y}, {x}, {k}
    }}"""
    module = gradir.parse(text)
    given = [
        [numbers(kind, shape, random) for shape in (image, kernel, result)]
        for kind in ("plain", "special")
    ]
    expected = [gradir.interpret(module, "f", *arrays) for arrays in given]
    for target in TARGETS.values():
        function = compile_function(gradir.parse(text).op, "f", 1, target)
        for arrays, wanted in zip(given, expected, strict=True):
            for one, other in zip(function(*arrays), wanted, strict=True):
                assert_bits(one, other)


def test_order_of_a_convolution() -> None:
    """Over the kernel's places, then the channels, in both layouts."""
    random = np.random.default_rng(2)
    n, c, h, w, o = 2, 5, 6, 7, 4
    image, kernel = numbers("plain", (n, h, w, c), random), numbers("plain", (3, 3, c, o), random)
    padded = np.pad(image, [(0, 0), (1, 1), (1, 1), (0, 0)])
    taps = [padded[:, k : k + h, j : j + w] for k in range(3) for j in range(3)]
    patches = np.stack(taps, 3).reshape(n * h * w, 9 * c)
    text = dot_general(*matrices("nn", [], n * h * w, o, 9 * c))
    [expected] = native(text, host(), patches, kernel.reshape(9 * c, o))
    last, first = (0, 3, 1, 2), (3, 2, 0, 1)
    for layout, arrays in (
        ("NHWC", (image, kernel)),
        ("NCHW", (image.transpose(last).copy(), kernel.transpose(first).copy())),
    ):
        y = [n, h, w, o] if layout == "NHWC" else [n, o, h, w]
        types = [type_of(shape) for shape in (arrays[0].shape, arrays[1].shape, y)]
        text = f"""func.func @f(%x: {types[0]}, %w: {types[1]}) -> {types[2]} {{
          %y = nn.conv2d %x, %w {{padding = 1, layout = "{layout}", precision = "bf16"}}
            : {types[0]}, {types[1]} -> {types[2]}
          func.return %y : {types[2]}
        }}"""
        [found] = native(text, host(), *arrays)
        found = found if layout == "NHWC" else found.transpose(0, 2, 3, 1)
        assert_bits(found.reshape(n * h * w, o), expected)


# Plans.


def contraction(text: str) -> ContractOp:
    module = gradir.parse(text).run_passes("gradir-decompose,gradir-lower")
    return next(op for op in module.op.walk() if isinstance(op, ContractOp))


def chosen(text: str, target: MachineTarget) -> tuple[str, tuple[int, ...], bool]:
    """The chain of a product on copies, its extents, and whether its step flushes."""
    steps = precise_steps(contraction(text), True, target).steps
    step = next(step for step in steps if isinstance(step.op, ContractOp))
    assert isinstance(step.op, ContractOp) and step.op.precision is not None
    return step.op.precision.data, step.op.extents, step.flushes


def test_pairs() -> None:
    """A processor with VDPBF16PS multiplies pairs; a large copy for them is not made."""
    has = replace(host(), multiplies_pairs=True)
    text = dot_general(*matrices("nn", [], 30, 40, 51))
    assert chosen(text, has) == (PAIRS, (30, 40, 26), False)
    assert chosen(text, replace(has, multiplies_pairs=False)) == (ROUNDED, (30, 40, 51), True)
    # groups of three channels are no whole pairs
    for groups, chain in ((1, PAIRS), (4, PAIRS), (8, ROUNDED)):
        x, w, y = map(type_of, ([8, 24, 30, 30], [16, 24 // groups, 3, 3], [8, 16, 28, 28]))
        text = f"""func.func @f(%x: {x}, %w: {w}) -> {y} {{
          %y = nn.conv2d %x, %w {{groups = {groups}, precision = "bf16"}} : {x}, {w} -> {y}
          func.return %y : {y}
        }}"""
        assert chosen(text, has)[0] == chain


@pytest.mark.parametrize("level", LEVELS)
def test_objects(level: str) -> None:
    """Code of each level calls no library, on aarch64 too, which has no such mode."""
    text = dot_general(*matrices("nn", [], 30, 17, 41))
    data = emit_object(gradir.parse(text).op, "f", target_of(level)).data
    assert undefined_symbols([data]) == ()


def test_text() -> None:
    """The contraction prints its precision, and parses back."""
    text = dot_general(*matrices("nn", [], 3, 4, 5))
    lowered = gradir.parse(text).run_passes("gradir-decompose,gradir-lower")
    assert " roles mnk precision bf16 -> (" in str(lowered)
    assert str(gradir.parse(str(lowered))) == str(lowered)


def test_without_a_precision_nothing_changes() -> None:
    """Code without one knows no chain but fma."""
    text = dot_general(*matrices("nn", [], 33, 40, 51), precision="")
    op = contraction(text)
    assert op.precision is None and "precision" not in op.properties
    assert "dpbf16" not in gradir.compile(gradir.parse(text), "f").llvm_ir
