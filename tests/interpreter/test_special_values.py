"""Native code and the interpreter give the same zeros, nan, inf and subnormals.

Every elementwise op of the table, each on all pairs of special numbers; a row has an odd length, so
that vectors and their remainders are both run. Which nan it is stays open.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any, cast

import ml_dtypes
import numpy as np
import pytest
from op_cases import CASES, ELEMENTS, Case
from op_programs import function, module_of
from xdsl.dialects.builtin import f64
from xdsl.utils.exceptions import VerifyException

import gradir
from gradir.dialects.base.attributes import Plain
from gradir.dialects.base.diagnostics import LocatedError
from gradir.dialects.building.kinds import BinaryOp, CompareOp, UnaryOp

Array = np.ndarray[Any, np.dtype[Any]]
FLOATS = {"f64": np.float64, "f32": np.float32, "f16": np.float16, "bf16": ml_dtypes.bfloat16}
ZEROS = (0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan)
INTEGERS = {
    "i8": np.int8, "i16": np.int16, "i32": np.int32, "i64": np.int64, "ui8": np.uint8,
    "ui16": np.uint16, "ui32": np.uint32, "ui64": np.uint64,
}  # fmt: skip
ELEMENTS_BY_NAME = {str(e): e for e in ELEMENTS.values()}

# Ops of arith, math and array whose results are exact, or rounded once.
EXACT = (
    *("add", "subtract", "multiply", "divide", "maximum", "minimum", "abs", "negative", "sqrt"),
    *("max", "min", "sort", "argsort", "argmax", "argmin"),
    *("sign", "floor", "ceil", "trunc", "round", "square", "copysign", "clip"),
)


def numbers(name: str) -> Array:
    """Special numbers of a floating type, and some more."""
    limits = cast(Any, ml_dtypes.finfo(FLOATS[name]))
    tiny, normal = float(limits.smallest_subnormal), float(limits.smallest_normal)
    large = float(limits.max)
    found = [0.0, 1.0, np.inf, tiny, 3 * tiny, normal, normal / 2, large, large / 2]
    found += [0.5, 1.5, 2.5, 3.0, 7.0, 0.49999997, 1e-3, 100.3]
    return np.array([*found, *(-x for x in found), np.nan]).astype(FLOATS[name])


def integers(dtype: type[Any]) -> Array:
    """The ends, and what shifts and divisions make something of."""
    limits = np.iinfo(dtype)
    low, high, bits = limits.min, limits.max, limits.bits
    found = {low, low + 1, -7, -2, -1, 0, 1, 2, 3, 7, bits - 1, bits, bits + 1, high - 1, high}
    return np.array(sorted(n for n in found if low <= n <= high), dtype)


def bits(array: Any) -> Array:
    """The bits, with one nan for all."""
    plain = np.ascontiguousarray(array)
    if plain.dtype.kind in "biu":
        return plain
    unsigned = {2: np.uint16, 4: np.uint32, 8: np.uint64}[plain.dtype.itemsize]
    same = np.where(np.isnan(plain), np.asarray(np.nan, plain.dtype), plain)
    return np.where(np.isnan(plain), unsigned(2**15 - 1), same.view(unsigned))


def kinds(array: Any) -> Array:
    """Of each element whether it is nan, inf, or 0, with its sign; 0 of other numbers."""
    wide = np.asarray(array).astype(np.float64)
    if np.asarray(array).dtype.kind in "biu":
        return wide
    signs = np.copysign(1.0, wide)
    return np.select([np.isnan(wide), np.isinf(wide), wide == 0], [4.0, 3 * signs, 2 * signs], 0.0)


def check(op: str, native: Sequence[Any], expected: Sequence[Any], *given: Any) -> None:
    for one, other in zip(native, expected, strict=True):
        if op in EXACT or one.dtype.kind in "biu":
            np.testing.assert_array_equal(bits(one), bits(other), f"{op} {given}")
            continue
        # a number rounded to 0 or inf may be the last one before it
        least = max(1e-37, float(cast(Any, ml_dtypes.finfo(one.dtype)).smallest_subnormal))
        is_close = np.isclose(one.astype(np.float64), other.astype(np.float64), 1e-2, least)
        ends = (kinds(one) == 0) | (kinds(other) == 0)
        agree = (kinds(one) == kinds(other)) | (ends & is_close)
        assert agree.all(), f"{op} {given}: {one[~agree]} and {other[~agree]}"


def run_both(case: Case, *several: Sequence[Array]) -> None:
    """The op on several operands of the same types, compiled once."""
    module = gradir.Module(module_of(function(case, several[0], f64)))
    native = gradir.compile(module, "f")
    for arrays in several:
        with np.errstate(all="ignore"):
            expected = gradir.interpret(module, "f", *arrays)
        check(case.op.split(".")[1], native(*arrays), expected)


def elementwise() -> list[Case]:
    """A row of the table for each elementwise op and each of its attributes."""
    found: dict[tuple[str, str], Case] = {}
    for case in CASES:
        if issubclass(case.op_class, UnaryOp | BinaryOp | CompareOp):
            found.setdefault((case.op, str(case.attributes)), case)
    return list(found.values())


ROWS = elementwise()
ARRAYS: dict[str, Array] = {
    **{name: numbers(name) for name in FLOATS},
    **{name: integers(kind) for name, kind in INTEGERS.items()},
    "i1": np.array([False, True]),
}


def takes(case: Case, name: str) -> bool:
    """The op is one on elements of this kind."""
    try:
        operands = [ARRAYS[name]] * len(case.operands)
        module_of(function(case, operands, f64))
    except (VerifyException, LocatedError):
        return False
    return True


@pytest.mark.parametrize(
    "name", ["f32", *(pytest.param(n, marks=pytest.mark.slow) for n in ARRAYS if n != "f32")]
)
def test_elementwise_ops(name: str) -> None:
    """On all pairs of special numbers."""
    values = ARRAYS[name]
    ran = 0
    for case in ROWS:
        if not takes(case, name):
            continue
        arrays = list(map(np.ravel, np.meshgrid(*[values] * len(case.operands))))
        run_both(case, arrays)
        ran += 1
    assert ran > 5


def extrema_program(names: Sequence[str], type_: str) -> str:
    """Extrema and the like of arith and math, of numbers or of tensors."""
    ops = [f"%{n} = arith.{n} %x, %y : {type_}" for n in names]
    types = ", ".join([type_] * len(names))
    return (
        f"func.func @f(%x: {type_}, %y: {type_}) -> ({types}) {{\n  "
        + "\n  ".join(ops)
        + f"\n  return {', '.join(f'%{n}' for n in names)} : {types}\n}}"
    )


BY_ONE_AXIS = ("array.sort", "array.argsort", "array.cumulative_sum", "array.cumulative_prod")
LINES: dict[str, list[dict[str, Plain]]] = {
    **{f"array.{op}": [{}] for op in ("max", "min", "sum", "mean", "argmax", "argmin")},
    "array.sort": [{}, {"descending": True}],
    "array.argsort": [{}, {"descending": True}],
    "array.cumulative_sum": [{}, {"exclusive": True}, {"reverse": True}],
    "array.cumulative_prod": [{"reverse": True}],
}
EXTREMA = ("maximumf", "minimumf", "maxnumf", "minnumf")


@pytest.mark.parametrize("name", FLOATS)
def test_extrema_of_arith(name: str) -> None:
    """As MLIR means them: -0 is below 0, and nan wins, or never where there is a number."""
    values = np.array(ZEROS, FLOATS[name])
    x, y = map(np.ravel, np.meshgrid(values, values))
    module = gradir.parse(extrema_program(EXTREMA, f"tensor<{x.size}x{name}>"))
    expected, native = gradir.interpret(module, "f", x, y), gradir.compile(module, "f")(x, y)
    check("maximum", native, expected, name)
    of_numbers = gradir.parse(extrema_program(EXTREMA, name))
    run = gradir.compile(of_numbers, "f")
    for k in range(x.size):
        found = run(x[k], y[k])
        check("maximum", found, gradir.interpret(of_numbers, "f", x[k], y[k]), x[k], y[k])
        check("maximum", found, [row[k] for row in native], x[k], y[k])
    zeros = run(*values[:2])
    assert [bool(np.signbit(z)) for z in zeros] == [False, True, False, True]


@pytest.mark.parametrize(
    "name", ["f32", *(pytest.param(n, marks=pytest.mark.slow) for n in FLOATS if n != "f32")]
)
@pytest.mark.parametrize("op", LINES)
def test_lines_with_zeros_of_both_signs(op: str, name: str) -> None:
    """Rows and columns of every length up to three vectors'."""
    generator = np.random.default_rng(7)
    pools = (ZEROS[:2], (*ZEROS[1:4], -np.inf), (*ZEROS, 2.0))
    for length in (1, 3, 17, 67):
        shape = length, length + 2
        xs = [generator.choice(np.array(pool), shape).astype(FLOATS[name]) for pool in pools]
        for axis in (0, 1):
            for attributes in LINES[op]:
                places: Plain = axis if op in BY_ONE_AXIS else [axis]
                case = Case(op, xs[:1], {"axis": places, **attributes})
                run_both(case, *([x] for x in xs))


def test_a_window_that_holds_both_zeros() -> None:
    generator = np.random.default_rng(1)
    for name, dtype in FLOATS.items():
        x = generator.choice(np.array(ZEROS[:2]), (1, 2, 9, 11)).astype(dtype)
        case = next(c for c in CASES if c.op == "nn.max_pool2d")
        module = gradir.Module(module_of(function(case, [x], ELEMENTS_BY_NAME[name])))
        check("maximum", gradir.compile(module, "f")(x), gradir.interpret(module, "f", x))


@pytest.mark.parametrize("name", FLOATS)
def test_constants_that_are_folded(name: str) -> None:
    """What passes compute ahead has the bits that would be computed."""
    for x, y in product(("0.0", "-0.0", "1.0"), repeat=2):
        lines = [f"%{v} = arith.constant {n} : {name}" for v, n in (("a", x), ("b", y))]
        lines += [f"%{n} = arith.{n} %a, %b : {name}" for n in EXTREMA]
        lines += [
            f"%{v}s = array.full {{value = {n}}} : tensor<5x{name}>"
            for v, n in (("a", x), ("b", y))
        ]
        lines += [f"%{n}s = array.{n} %as, %bs : tensor<5x{name}>" for n in ("maximum", "minimum")]
        results = [*(f"%{n}" for n in EXTREMA), "%maximums", "%minimums"]
        types = ", ".join([name] * 4 + [f"tensor<5x{name}>"] * 2)
        text = f"func.func @f() -> ({types}) {{\n" + "\n".join(lines)
        text += f"\nreturn {', '.join(results)} : {types}\n}}"
        module = gradir.parse(text)
        simple = module.run_passes("gradir-simplify,cse,canonicalize")
        expected = gradir.interpret(module, "f")
        check("maximum", gradir.compile(module, "f")(), expected, x, y)
        check("maximum", gradir.interpret(simple, "f"), expected, x, y)
        check("maximum", gradir.compile(simple, "f")(), expected, x, y)
