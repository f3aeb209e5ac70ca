"""Elementary functions in LLVM IR against NumPy in higher precision, over arrays of every kind."""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np
import pytest
from llvmlite import binding as llvmlite_binding
from vector_math_harness import (
    EDGES,
    FLOAT,
    INTEGER,
    LANES,
    SCALED_LANES,
    Array,
    apply,
    optimized,
    sample,
)

from gradir.codegen.text.target import host
from gradir.codegen.vector_math import (
    FUNCTIONS,
    definition,
    definitions,
    dependencies,
    operand_count,
    symbol,
)
from gradir.dialects.loopnest.special import POINT_END

binding: Any = llvmlite_binding

# What the references are computed in: 80 bits on x86, and on other machines perhaps just 64.
WIDER = {32: np.float64, 64: np.longdouble}

# Units in the last place. No function is documented to be worse than 4.
LARGEST_ERROR = {
    **dict.fromkeys(FUNCTIONS, 2.2),
    **{"cos": 2.8, "erfc": 3.5, "sin": 2.8, "sinh": 2.5, "tan": 3.5, "tanh": 2.6},
    **{"normal_cdf": 3.8, "normal_density": 2.5},
    **dict.fromkeys(("tanh_slope", "sigmoid_slope", "tanh_point", "sigmoid_point"), 3.5),
    **dict.fromkeys(("exp", "exp2", "log", "pow"), 1.0),
}
REFERENCE_NOISE = {32: 0.0, 64: 0.0 if np.finfo(np.longdouble).nmant > 60 else 1.0}

SAME_NAME = "exp exp2 expm1 log log2 log10 log1p sin cos tan sinh cosh tanh".split()
OTHER_NAME = {
    **{"asin": np.arcsin, "acos": np.arccos, "atan": np.arctan, "atan2": np.arctan2},
    **{"asinh": np.arcsinh, "acosh": np.arccosh, "atanh": np.arctanh, "pow": np.power},
}

nan, inf = math.nan, math.inf
# Function, operands, result; a zero's sign counts.
SPECIAL_VALUES: list[tuple[str, tuple[float, ...], float]] = [
    *(("exp", (x,), y) for x, y in ((inf, inf), (-inf, 0.0), (0.0, 1.0), (-0.0, 1.0))),
    *(("exp2", (x,), y) for x, y in ((inf, inf), (-inf, 0.0), (10.0, 1024.0), (-3.0, 0.125))),
    *(("expm1", (x,), y) for x, y in ((inf, inf), (-inf, -1.0), (-0.0, -0.0), (0.0, 0.0))),
    *(("tanh", (x,), y) for x, y in ((inf, 1.0), (-inf, -1.0), (-0.0, -0.0), (30.0, 1.0))),
    *(("sinh", (x,), y) for x, y in ((inf, inf), (-inf, -inf), (-0.0, -0.0), (0.0, 0.0))),
    *(("cosh", (x,), y) for x, y in ((inf, inf), (-inf, inf), (-0.0, 1.0), (0.0, 1.0))),
    *(("log", (x,), y) for x, y in ((0.0, -inf), (-0.0, -inf), (-1.0, nan), (-inf, nan))),
    *(("log", (x,), y) for x, y in ((1.0, 0.0), (inf, inf))),
    *(("log2", (x,), y) for x, y in ((0.0, -inf), (-1.0, nan), (1.0, 0.0), (1024.0, 10.0))),
    *(("log10", (x,), y) for x, y in ((0.0, -inf), (-1.0, nan), (1.0, 0.0), (inf, inf))),
    *(("log1p", (x,), y) for x, y in ((-1.0, -inf), (-2.0, nan), (-0.0, -0.0), (inf, inf))),
    *(("asinh", (x,), y) for x, y in ((inf, inf), (-inf, -inf), (-0.0, -0.0), (0.0, 0.0))),
    *(("acosh", (x,), y) for x, y in ((1.0, 0.0), (0.5, nan), (-3e30, nan), (-inf, nan))),
    *(("atanh", (x,), y) for x, y in ((1.0, inf), (-1.0, -inf), (-0.0, -0.0), (2.0, nan))),
    *((name, (x,), nan) for name in ("sin", "cos", "tan") for x in (inf, -inf)),
    *((name, (x,), x) for name in ("sin", "tan", "asin", "atan", "erf") for x in (0.0, -0.0)),
    *(("asin", (x,), y) for x, y in ((1.0, math.pi / 2), (-1.0, -math.pi / 2), (1.5, nan))),
    *(("acos", (x,), y) for x, y in ((1.0, 0.0), (-1.0, math.pi), (-1.5, nan), (inf, nan))),
    *(("atan", (x,), y) for x, y in ((inf, math.pi / 2), (-inf, -math.pi / 2))),
    *(("erf", (x,), y) for x, y in ((inf, 1.0), (-inf, -1.0), (7.0, 1.0), (-7.0, -1.0))),
    *(("erfc", (x,), y) for x, y in ((inf, 0.0), (-inf, 2.0), (0.0, 1.0), (50.0, 0.0))),
    *(("rsqrt", (x,), y) for x, y in ((0.0, inf), (-0.0, -inf), (inf, 0.0), (-1.0, nan))),
    *(("sigmoid", (x,), y) for x, y in ((inf, 1.0), (-inf, 0.0), (0.0, 0.5), (-0.0, 0.5))),
    *((f"{name}_slope", (x,), 0.0) for name in ("tanh", "sigmoid") for x in (inf, -inf)),
    *(("tanh_slope", (0.0,), 1.0), ("sigmoid_slope", (-0.0,), 0.25)),
    *((f"{name}_point", (x,), x) for name in ("tanh", "sigmoid") for x in (0.0, -0.0)),
    # a share of 0 with its flag
    *((f"{name}_point", (inf,), 2.0) for name in ("tanh", "sigmoid")),
    *(
        (name, (x,), y)
        for name in ("tanh_at", "half_tanh_at")
        for x, y in ((2.0, 1.0), (-2.0, -1.0), (-0.0, -0.0), (0.25, 0.25))
    ),
    *(("sigmoid_at", (x,), y) for x, y in ((2.0, 1.0), (-2.0, 0.0), (0.0, 0.5), (0.5, 0.75))),
    *((f"{name}_slope_at", (2.0,), 0.0) for name in ("tanh", "sigmoid")),
    *((name, (nan,), nan) for name in sorted(FUNCTIONS) if operand_count(name) == 1),
]


def reference(name: str, *operands: Array) -> Array:
    if name in SAME_NAME:
        return getattr(np, name)(*operands)
    if name in OTHER_NAME:
        return OTHER_NAME[name](*operands)
    return REFERENCES[name](*operands)


def reciprocal_root(x: Array) -> Array:
    return 1 / np.sqrt(x)


def erf(x: Array) -> Array:
    a = np.abs(x)
    return np.copysign(np.where(a < 2.2, erf_series(np.minimum(a, 3)), 1 - erfc_fraction(a)), x)


def erfc(x: Array) -> Array:
    a = np.abs(x)
    complement = np.where(a < 2.2, 1 - erf_series(np.minimum(a, 3)), erfc_fraction(a))
    return np.where(x < 0, 2 - complement, complement)


def erf_series(a: Array) -> Array:
    """The power series with positive terms (Abramowitz and Stegun 7.1.6)."""
    total = term = np.ones_like(a)
    for k in range(1, 100):
        term = term * (2 * a * a) / (2 * k + 1)
        total = total + term
    return 2 / root_pi(a) * a * np.exp(-a * a) * total


def erfc_fraction(a: Array) -> Array:
    """The continued fraction for large a (Abramowitz and Stegun 7.1.14)."""
    a = np.minimum(np.maximum(a, 2), 120)
    tail = a
    for k in range(200, 0, -1):
        tail = a + a.dtype.type(k) / 2 / tail
    return np.exp(-a * a) / tail / root_pi(a)


def root_pi(like: Array) -> Any:
    return np.sqrt(4 * np.arctan(like.dtype.type(1)))


def normal_density(x: Array) -> Array:
    return np.exp(-x * x / 2) / (np.sqrt(x.dtype.type(2)) * root_pi(x))


def normal_cdf(x: Array) -> Array:
    return erfc(-x / np.sqrt(x.dtype.type(2))) / 2


def sigmoid(x: Array) -> Array:
    power = np.exp(-np.abs(x))
    return np.where(x < 0, power, 1) / (1 + power)


def share(x: Array) -> Array:
    """1 / (1 + exp(|x|))."""
    return np.exp(-np.abs(x)) / (1 + np.exp(-np.abs(x)))


def point(x: Array, near: Array, part: Array) -> Array:
    """`near` where its size is below 1/2, else the part with a flag and the sign of x."""
    kind = NARROWER[x.dtype.type]
    integer = np.dtype(f"u{np.dtype(kind).itemsize}")
    flag = integer.type(1 << 8 * integer.itemsize - 2)
    far = (part.astype(kind).view(integer) | flag).view(kind).astype(x.dtype)
    return np.where((np.abs(near) < 0.5) | np.isnan(x), near, np.copysign(far, x))


def tanh_rest(x: Array) -> Array:
    """1 - |tanh(x)|, 0 from POINT_END on."""
    return np.where(np.abs(x) > TANH_END[x.dtype.type], 0, 2 * share(2 * x))


def parts(points: Array, scale: float) -> tuple[Array, Array]:
    """The size of what a point is near 0, and its distance from 1, `scale` times a flagged part."""
    narrow = points.astype(NARROWER[points.dtype.type])
    integer = np.dtype(f"u{narrow.itemsize}")
    mask = integer.type((1 << 8 * integer.itemsize - 2) - 1)
    part = (narrow.view(integer) & mask).view(narrow.dtype).astype(points.dtype)
    far, size = np.abs(points) > 1, np.abs(points)
    return np.where(far, 1 - scale * part, size), np.where(far, scale * part, 1 - size)


def size_at(scale: float) -> Any:
    return lambda points: np.copysign(parts(points, scale)[0], points)


def slope_at(scale: float, factor: float) -> Any:
    def slope(points: Array) -> Array:
        size, rest = parts(points, scale)
        return factor * rest * (1 + size)

    return slope


def sigmoid_at(points: Array) -> Array:
    size, rest = parts(points, 2)
    return np.where(points < 0, rest / 2, (1 + size) / 2)


NARROWER = {wide: FLOAT[bits] for bits, wide in WIDER.items()}
TANH_END = {WIDER[bits]: end for bits, end in POINT_END.items()}

REFERENCES = {
    **{"sigmoid": sigmoid, "sigmoid_slope": lambda x: share(x) * (1 - share(x))},
    "sigmoid_point": lambda x: point(x, np.tanh(x / 2), share(x)),
    **{"sigmoid_at": sigmoid_at, "half_tanh_at": size_at(2), "sigmoid_slope_at": slope_at(2, 0.25)},
    "tanh_slope": lambda x: tanh_rest(x) * (2 - tanh_rest(x)),
    "tanh_point": lambda x: point(x, np.tanh(x), tanh_rest(x)),
    **{"tanh_at": size_at(1), "tanh_slope_at": slope_at(1, 1)},
    **{"erf": erf, "erfc": erfc, "rsqrt": reciprocal_root},
    **{"normal_cdf": normal_cdf, "normal_density": normal_density},
}


def error_in_ulp(got: Array, wanted: Array) -> Array:
    """The distance in units of the last place of `got`'s type; inf for a wrong special value."""
    kind = got.dtype.type
    with np.errstate(all="ignore"):
        rounded = wanted.astype(kind)
        spacing = np.spacing(np.minimum(np.abs(rounded), np.finfo(kind).max))
        error = np.abs(got.astype(wanted.dtype) - wanted) / spacing.astype(wanted.dtype)
    both_nan = np.isnan(got) & np.isnan(rounded)
    same_infinity = np.isinf(rounded) & (got == rounded)
    error = np.where(both_nan | same_infinity, 0, error)
    wrong_zero = (got == 0) & (wanted == 0) & (np.signbit(got) != np.signbit(wanted))
    return np.where(np.isnan(error) | wrong_zero, inf, error)


@pytest.mark.parametrize("bits", [32, 64])
@pytest.mark.parametrize("name", sorted(FUNCTIONS))
def test_error(name: str, bits: int) -> None:
    operands = sample(name, bits)
    with np.errstate(all="ignore"):
        wanted = reference(name, *(operand.astype(WIDER[bits]) for operand in operands))
        error = error_in_ulp(apply(name, 1, *operands), wanted)
    worst = int(np.argmax(error))
    at = [operand[worst] for operand in operands]
    assert error[worst] <= LARGEST_ERROR[name] + REFERENCE_NOISE[bits], f"{name}{at}"


@pytest.mark.parametrize("bits", [32, 64])
@pytest.mark.parametrize("name", sorted(FUNCTIONS))
def test_vectors_have_the_bits_of_scalars(name: str, bits: int) -> None:
    operands = sample(name, bits)
    scalar = apply(name, 1, *operands)
    for lanes in LANES[bits][1:]:
        lanewise = apply(name, lanes, *operands)
        different = (scalar.view(INTEGER[bits]) != lanewise.view(INTEGER[bits])) & ~(
            np.isnan(scalar) & np.isnan(lanewise)
        )
        assert not different.any(), [operand[different][:4] for operand in operands]


@pytest.mark.skipif(not host(None).scales, reason="a CPU with AVX-512 scales by an instruction")
@pytest.mark.parametrize("bits", [32, 64])
@pytest.mark.parametrize("name", ["exp", "exp2", "erfc", "pow", "sigmoid", "sigmoid_point"])
def test_the_instruction_that_scales_gives_the_same_bits(name: str, bits: int) -> None:
    operands = sample(name, bits)
    wanted = apply(name, 1, *operands)
    for lanes in SCALED_LANES[bits]:
        found = apply(name, lanes, *operands, scales=True)
        np.testing.assert_array_equal(
            np.isnan(found) | (found.view(INTEGER[bits]) == wanted.view(INTEGER[bits])), True
        )
        np.testing.assert_array_equal(np.isnan(found), np.isnan(wanted))


@pytest.mark.parametrize("bits", [32, 64])
@pytest.mark.parametrize(("name", "operands", "wanted"), SPECIAL_VALUES)
def test_special_value(name: str, operands: tuple[float, ...], wanted: float, bits: int) -> None:
    kind = FLOAT[bits]
    got = apply(name, 1, *(np.full(1, operand, kind) for operand in operands))
    np.testing.assert_array_equal(got, np.full(1, wanted, kind))
    assert math.isnan(wanted) or np.signbit(got[0]) == np.signbit(wanted)


@pytest.mark.parametrize("bits", [32, 64])
@pytest.mark.parametrize("name", ["atan2", "pow"])
def test_all_pairs_of_edges(name: str, bits: int) -> None:
    edges = np.array(EDGES, FLOAT[bits])
    x, y = (np.ascontiguousarray(grid.ravel()) for grid in np.meshgrid(edges, edges))
    with np.errstate(all="ignore"):
        wanted = reference(name, x.astype(WIDER[bits]), y.astype(WIDER[bits]))
        error = error_in_ulp(apply(name, 1, x, y), wanted)
    wrong = error > LARGEST_ERROR[name] + REFERENCE_NOISE[bits]
    assert not wrong.any(), list(zip(x[wrong], y[wrong], strict=True))


@pytest.mark.parametrize("bits", [32, 64])
@pytest.mark.parametrize("name", ["sin", "cos", "tan"])
def test_next_to_multiples_of_a_quarter_turn(name: str, bits: int) -> None:
    turns = np.concatenate([np.arange(1, 2000), 2.0 ** np.arange(0, 60)])
    x = (turns.astype(np.longdouble) * (2 * np.arctan(np.longdouble(1)))).astype(FLOAT[bits])
    with np.errstate(all="ignore"):
        wanted = reference(name, x.astype(np.longdouble))
    error = error_in_ulp(apply(name, 1, x), wanted)
    assert error.max() <= LARGEST_ERROR[name] + REFERENCE_NOISE[64], x[np.argmax(error)]


def test_definitions_are_each_function_once() -> None:
    requests = {("sin", 32, 16), ("cos", 32, 16), ("tan", 64, 1), ("exp", 32, 16)}
    text = "\n".join(definitions(requests))
    defined = re.findall(r"^(?:define .*?)?(@[\w.]+)(?:\(| = )", text, re.MULTILINE)
    assert len(defined) == len(set(defined))
    assert {symbol(*request) for request in requests} <= set(defined)
    assert "@gradir.reduce_huge.f64" in defined
    assert "\n".join(definitions(sorted(requests))) == text


def test_definition_and_its_dependencies_make_a_module() -> None:
    request = ("cos", 32, 8)
    text = "\n".join([*dependencies(*request), definition(*request)])
    binding.parse_assembly(text).verify()
    assert dependencies("exp", 32, 8) == ()


def test_no_library_is_called() -> None:
    module, machine = optimized({(name, bits, 256 // bits) for name in FUNCTIONS for bits in LANES})
    declared = re.findall(r"^declare .*?(@[\w.]+)", str(module), re.MULTILINE)
    assert declared and all(name.startswith("@llvm.") for name in declared)
    assembly = machine.emit_assembly(module)
    for name in ("fma", "fmod", "exp", "log", "sin", "cos", "pow", "ldexp", "roundeven"):
        assert not re.search(rf"\b{name}[fl]?\b", assembly)
