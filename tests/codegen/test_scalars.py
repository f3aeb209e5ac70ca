"""Native code of the ops of bodies: exact results, rounding, edge cases, index checks."""

from __future__ import annotations

import math
from collections.abc import Sequence

import ml_dtypes
import numpy as np
import pytest
from nest_harness import (
    COPY,
    DTYPES,
    Array,
    assert_close,
    check,
    compile_nest,
    nest,
    operands,
    reference,
    results,
)
from xdsl.dialects import test
from xdsl.dialects.builtin import f32

from gradir.codegen.bodies.op_table import VECTOR_MATH
from gradir.codegen.nests.kernel import emit_nest
from gradir.codegen.text.target import host
from gradir.codegen.vector_math import FUNCTIONS
from gradir.dialects.base.diagnostics import LocatedError
from gradir.dialects.loopnest.loopnest import NestOp

FLOATS = ("f64", "f32", "f16", "bf16")
SPECIAL = [0.0, -0.0, math.inf, -math.inf, math.nan, 1.0, -1.5, 2.5, 1e-40, 3e-8, 65519.0, 65520.0]


def special(dtype: np.dtype[np.generic], seed: int = 0) -> Array:
    """Numbers of all sizes, halfway cases and the special ones."""
    generator = np.random.default_rng(seed)
    bits = generator.integers(0, 1 << 16, 2000).astype(np.uint32) << 16
    halves = (bits + generator.choice([0x7FFF, 0x8000, 0x8001, 0x18000], 2000)).astype(np.uint32)
    # just beside the middle of two bf16 numbers: rounding twice would go wrong
    beside = 1 + generator.choice([-1, 0, 1], 2000) * 2.0**-40
    ordinary = generator.standard_normal(2000) * 10.0 ** generator.integers(-9, 9, 2000)
    with np.errstate(all="ignore"):
        near = halves.view(np.float32).astype(np.float64) * beside
        return np.concatenate([SPECIAL, near, ordinary]).astype(dtype)


def same_floats(got: Array, want: Array) -> None:
    """Equal bits, but for nans."""
    assert (np.isnan(got) == np.isnan(want)).all()
    numbers = ~np.isnan(want)
    assert got[numbers].tobytes() == want[numbers].tobytes()


@pytest.mark.parametrize("source", FLOATS)
@pytest.mark.parametrize("target", FLOATS)
def test_float_conversions_round_to_nearest_even(source: str, target: str) -> None:
    sizes = {k: np.dtype(DTYPES[k]).itemsize for k in FLOATS}
    if sizes[source] == sizes[target]:
        return
    op_name = "extf" if sizes[source] < sizes[target] else "truncf"
    x = special(np.dtype(DTYPES[source]))
    n = x.size
    body = f"%0 = arith.{op_name} %a : {source} to {target}\nloopnest.yield %0 : {target}"
    op = nest([n], [f"[d0] : {n}x{source}"], [f"[d0] : {n}x{target}"], body)
    with np.errstate(all="ignore"):
        want = x.astype(DTYPES[target])
        if (source, target) == ("f64", "bf16"):
            want = nearest_bfloat(x)
    got = results(compile_nest(op), [x], [np.zeros_like(want)])
    same_floats(got[0], want)


def nearest_bfloat(x: Array) -> Array:
    """x rounded once, while a cast by way of f32 rounds twice."""
    guess = x.astype(np.float32).astype(ml_dtypes.bfloat16)
    bits = guess.view(np.int16)[:, None] + np.array([-1, 0, 1], np.int16)
    around = bits.view(ml_dtypes.bfloat16).astype(np.float64)
    error = np.abs(around - x[:, None])
    error[np.isnan(error)] = np.inf
    # on a tie the even one
    order = np.lexsort((bits & 1, error), axis=1)[:, 0]
    ordinary = np.isfinite(guess.astype(np.float64)) & (np.abs(x) < 3.38e38) & (x != 0)
    best = bits[np.arange(x.size), order].view(ml_dtypes.bfloat16)
    return np.where(ordinary, best, guess)


UNARY_FLOATS = ["absf", "ceil", "floor", "trunc", "roundeven", "sqrt"]
BINARY_FLOATS = ["addf", "subf", "mulf", "divf", "maximumf", "minimumf", "maxnumf", "minnumf"]


@pytest.mark.parametrize("dtype", FLOATS)
def test_float_ops(dtype: str) -> None:
    """Exactly rounded in every type: f16 and bf16 as NumPy does them, by way of f32."""
    lines = [f"%u{k} = math.{name} %a : {dtype}" for k, name in enumerate(UNARY_FLOATS)]
    lines += [f"%b{k} = arith.{name} %a, %b : {dtype}" for k, name in enumerate(BINARY_FLOATS)]
    lines += [f"%n = arith.negf %a : {dtype}", f"%c = math.copysign %a, %b : {dtype}"]
    names = [line.split()[0] for line in lines]
    check_exactly(lines, names, [dtype] * len(names), dtype)


def check_exactly(
    lines: Sequence[str], names: Sequence[str], types: Sequence[str], dtype: str
) -> None:
    x, y = special(np.dtype(DTYPES[dtype])), special(np.dtype(DTYPES[dtype]), 1)[::-1].copy()
    n = x.size
    op = nest(
        [n],
        [f"[d0] : {n}x{dtype}"] * 2,
        [f"[d0] : {n}x{t}" for t in types],
        "\n".join([*lines, f"loopnest.yield {', '.join(names)} : {', '.join(types)}"]),
    )
    outputs = operands(op)[1]
    got = results(compile_nest(op), [x, y], outputs)
    for name, g, w in zip(names, got, reference(op, [x, y], outputs), strict=True):
        if g.dtype.kind in "ib":
            np.testing.assert_array_equal(g, w, name)
            continue
        zero = (g == 0) & (w == 0)  # the sign of a zero maximum is free in NumPy
        same_floats(np.where(zero, 0, g).astype(g.dtype), np.where(zero, 0, w).astype(w.dtype))


PREDICATES = ["oeq", "ogt", "oge", "olt", "ole", "one", "ord", "ueq", "ugt", "ult", "une", "uno"]


@pytest.mark.parametrize("dtype", FLOATS)
def test_float_comparisons(dtype: str) -> None:
    lines = [f"%c{k} = arith.cmpf {p}, %a, %b : {dtype}" for k, p in enumerate(PREDICATES)]
    lines += [f"%s = arith.select %c0, %a, %b : {dtype}"]
    names = [line.split()[0] for line in lines]
    check_exactly(lines, names, ["i1"] * len(PREDICATES) + [dtype], dtype)


def scalar_table(body: str, source: str, target: str, xs: Array, ys: Array) -> list[int]:
    n = xs.size
    op = nest([n], [f"[d0] : {n}x{source}"] * 2, [f"[d0] : {n}x{target}"], body)
    out = operands(op)[1]
    return results(compile_nest(op), [xs, ys], out)[0].tolist()


LOW, HIGH = -(2**31), 2**31 - 1
DIVISIONS = {
    # op: results for 7/2, -7/2, 7/-2, 5/0, LOW/-1
    "divsi": [3, -3, -3, 0, LOW],
    "remsi": [1, -1, 1, 0, 0],
    "floordivsi": [3, -4, -4, 0, LOW],
    "ceildivsi": [4, -3, -3, 0, LOW],
    "divui": [3, 2147483644, 0, 0, 0],
    "remui": [1, 1, 7, 0, LOW],
    "ceildivui": [4, 2147483645, 1, 0, 1],
}


@pytest.mark.parametrize("name", DIVISIONS)
def test_divisions_do_not_trap(name: str) -> None:
    x = np.array([7, -7, 7, 5, LOW], np.int32)
    y = np.array([2, 2, -2, 0, -1], np.int32)
    body = f"%0 = arith.{name} %a, %b : i32\nloopnest.yield %0 : i32"
    assert scalar_table(body, "i32", "i32", x, y) == DIVISIONS[name]


@pytest.mark.parametrize(
    ("name", "want"),
    [("shli", [12, 0, -32]), ("shrsi", [0, -1, -2]), ("shrui", [0, 0, 0x3FFFFFFE])],
)
def test_shifts_beyond_the_width(name: str, want: list[int]) -> None:
    x, y = np.array([3, -5, -8], np.int32), np.array([2, 32, 2], np.int32)
    body = f"%0 = arith.{name} %a, %b : i32\nloopnest.yield %0 : i32"
    assert scalar_table(body, "i32", "i32", x, y) == want


def test_floats_to_integers_saturate() -> None:
    x = np.array([1.9, -1.9, 1e20, -1e20, np.nan, 300.0], np.float32)
    body = "%0 = arith.fptosi %a : f32 to i32\nloopnest.yield %0 : i32"
    assert scalar_table(body, "f32", "i32", x, x) == [1, -1, HIGH, LOW, 0, 300]


@pytest.mark.parametrize("dtype", ["i64", "i32", "i8"])
def test_integer_ops(dtype: str) -> None:
    names = ["addi", "subi", "muli", "andi", "ori", "xori", "maxsi", "minsi"]
    lines = [f"%{name} = arith.{name} %a, %b : {dtype}" for name in names]
    lines += [f"%c = arith.cmpi slt, %a, %b : {dtype}", f"%u = arith.cmpi ugt, %a, %b : {dtype}"]
    lines += [f"%f = arith.sitofp %a : {dtype} to f32", f"%abs = math.absi %a : {dtype}"]
    names += ["c", "u", "f", "abs"]
    types = [dtype] * 8 + ["i1", "i1", "f32", dtype]
    body = [*lines, f"loopnest.yield {', '.join('%' + n for n in names)} : {', '.join(types)}"]
    outputs = [f"[d0] : 77x{t}" for t in types]
    check(nest([77], [f"[d0] : 77x{dtype}"] * 2, outputs, "\n".join(body)))


@pytest.mark.parametrize("dtype", ["f32", "f64", "f16", "bf16"])
def test_math_functions_in_maps_and_reductions(dtype: str) -> None:
    body = f"""%0 = math.absf %a : {dtype}
%1 = math.exp %a : {dtype}
%2 = math.tanh %1 : {dtype}
%3 = math.sin %0 : {dtype}
%4 = arith.addf %2, %3 : {dtype}
loopnest.yield %4, %4 : {dtype}, {dtype}"""
    line = f"[d0, d1] : 9x200x{dtype}"
    check(nest([9, 200], [line], [line, f"add [d0] : 9x{dtype}"], body), scale=100)


def test_every_math_function_exists() -> None:
    assert FUNCTIONS.issuperset(VECTOR_MATH.values())


def test_binary_math_functions() -> None:
    body = """%0 = math.powf %a, %b : f32
%1 = math.atan2 %a, %b : f32
loopnest.yield %0, %1 : f32, f32"""
    op = nest([100], ["[d0] : 100xf32"] * 2, ["[d0] : 100xf32"] * 2, body)
    x, y = (np.abs(a) for a in operands(op)[0])
    power, angle = results(compile_nest(op), [x, y], operands(op)[1])
    assert_close(power, x**y)
    assert_close(angle, np.arctan2(x, y))


@pytest.mark.parametrize("kind", ["f64", "f32", "f16", "bf16"])
@pytest.mark.parametrize("integer", ["i32", "i64"])
def test_integer_powers(kind: str, integer: str) -> None:
    """Of zeros, infinities and nan too; the sign is the base's for odd powers."""
    bases = [0.0, -0.0, 1.0, -1.0, 0.5, -1.5, 3.0, math.inf, -math.inf, math.nan]
    powers = [0, 1, 2, 3, -1, -2, -3, 17, 2**31 - 1, -(2**31)]
    x = np.repeat(np.array(bases, DTYPES[kind]), len(powers))
    n = np.tile(np.array(powers, DTYPES[integer]), len(bases))
    body = f"%0 = math.fpowi %a, %b : {kind}, {integer}\nloopnest.yield %0 : {kind}"
    lines = [f"[d0] : {x.size}x{kind}", f"[d0] : {x.size}x{integer}"]
    op = nest([x.size], lines, [f"[d0] : {x.size}x{kind}"], body)
    with np.errstate(all="ignore"):
        want = np.power(x.astype(np.float64), n.astype(np.float64)).astype(DTYPES[kind])
    (got,) = results(compile_nest(op), [x, n], [np.zeros_like(want)])
    assert_close(got, want)
    finite = np.isfinite(want)
    np.testing.assert_array_equal(np.signbit(got[finite]), np.signbit(want[finite]))


def test_an_unknown_op_is_named() -> None:
    op = nest([4], ["[d0] : 4xf32"], ["[d0] : 4xf32"], COPY.format("f32"))
    block = op.body.block
    strange = test.TestPureOp([block.args[0]], [f32])
    last = block.last_op
    assert last is not None
    block.insert_op_before(strange, last)
    last.operands[0] = strange.results[0]
    with pytest.raises(LocatedError, match=r"test\.pureop: expected an op that has native code"):
        emit_nest(op, "f", host())


TAKE = """%0 = loopnest.check_index %b bound 9 message "take: index out of range"
%1 = loopnest.index 1
%2 = loopnest.load %a[%0, %1] : memref<9x100xf32> -> f32
loopnest.yield %2 : f32"""


def take(index: str = "[d0] : 30xi64") -> NestOp:
    return nest([30, 100], [": 9x100xf32", index], ["[d0, d1] : 30x100xf32"], TAKE)


def test_take_of_rows() -> None:
    op = take()
    inputs, outputs = operands(op)
    compiled = compile_nest(op)
    got = [o.copy() for o in outputs]
    assert compiled.run(inputs, got) == (0, 0, 0)
    assert_close(got[0], inputs[0][inputs[1]])
    assert "gather" not in compiled.assembly


def test_take_of_elements() -> None:
    op = take("[d0, d1] : 30x100xi64")
    inputs, outputs = operands(op)
    got = results(compile_nest(op), inputs, outputs)
    assert_close(got[0], inputs[0][inputs[1], np.arange(100)])


@pytest.mark.parametrize("index", ["[d0] : 30xi64", "[d0, d1] : 30x100xi64"])
def test_an_index_out_of_range_is_reported_once(index: str) -> None:
    op = take(index)
    compiled = compile_nest(op)
    assert compiled.kernel.messages == ("take: index out of range",)
    inputs, outputs = operands(op)
    inputs[1].reshape(-1)[-1] = 9
    got = [o.copy() for o in outputs]
    assert compiled.run(inputs, got) == (1, 9, 9)
    assert got[0][-1, -1] == inputs[0][8, 99]
    inputs[1].reshape(-1)[3] = -10
    assert compiled.run(inputs, got) == (1, -10, 9)
