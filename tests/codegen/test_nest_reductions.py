"""Native code of reductions and scatters: values, and the same bits in every setting."""

from __future__ import annotations

import numpy as np
import pytest
from nest_harness import (
    COPY,
    assert_close,
    check,
    check_widths,
    compile_nest,
    in_three,
    nest,
    one_by_one,
    operands,
    parse_nest,
    reference,
    results,
)

from gradir.codegen.nests.kernel import emit_nest, nest_scratch_bytes
from gradir.codegen.text.target import host
from gradir.dialects.loopnest.loopnest import NestOp

COMBINERS = ("add", "multiply", "maximum", "minimum")
REDUCTIONS = {
    "rows": ([17, 100], "[d0, d1] : 17x100x", "[d0] : 17x"),
    "columns": ([17, 100], "[d0, d1] : 17x100x", "[d1] : 100x"),
    "all": ([17, 100], "[d0, d1] : 17x100x", "[] : "),
    "middle": ([3, 20, 5], "[d0, d1, d2] : 3x20x5x", "[d0, d2] : 3x5x"),
    "outer": ([3, 5, 40], "[d0, d1, d2] : 3x5x40x", "[d1] : 5x"),
    "pairs": ([50, 2], "[d0, d1] : 50x2x", "[d0] : 50x"),
    "window": (
        [2, 9, 20, 3, 3],
        "[d0, 2 * d1 + d3, 2 * d2 + d4] : 2x19x41x",
        "[d0, d1, d2] : 2x9x20x",
    ),
    "one": ([4, 1], "[d0, d1] : 4x1x", "[d0] : 4x"),
    "nothing": ([4, 0], "[d0, d1] : 4x0x", "[d0] : 4x"),
    "no rows": ([0, 4], "[d0, d1] : 0x4x", "[d1] : 4x"),
}


@pytest.mark.parametrize("shape", REDUCTIONS)
def test_reductions(shape: str) -> None:
    bounds, read, write = REDUCTIONS[shape]
    outputs = [f"{c} {write}f32" for c in COMBINERS]
    body = "loopnest.yield %a, %b, %a, %a : f32, f32, f32, f32"
    narrow = read.replace(":", "pad 1.0 : f32 :")
    check_widths(nest(bounds, [f"{read}f32", f"{narrow}f32"], outputs, body), scale=10)


@pytest.mark.parametrize("dtype", ["f64", "f16", "bf16", "i64", "i32", "i8", "i1"])
@pytest.mark.parametrize("shape", ["rows", "columns", "all"])
def test_reductions_of_every_type(dtype: str, shape: str) -> None:
    bounds, read, write = REDUCTIONS[shape]
    names = ("and", "or", "maximum", "minimum") if dtype == "i1" else COMBINERS[:1] + COMBINERS[2:]
    if dtype[0] == "i" and dtype != "i1":
        names = (*COMBINERS, "and", "or")
    outputs = [f"{c} {write}{dtype}" for c in names]
    types = ", ".join([dtype] * len(names))
    body = f"loopnest.yield {', '.join(['%a'] * len(names))} : {types}"
    # a sum in f16 is rounded at every step
    check(nest(bounds, [f"{read}{dtype}"], outputs, body), scale=100)


@pytest.mark.parametrize("combiner", COMBINERS)
@pytest.mark.parametrize("shape", ["rows", "columns", "all"])
def test_outputs_that_start_from_their_buffer(combiner: str, shape: str) -> None:
    bounds, read, write = REDUCTIONS[shape]
    subscripts, _, rest = write.partition(" : ")
    read = read.replace(":", "pad 1.0 : f32 :")
    op = nest(
        bounds, [f"{read}f32"], [f"{combiner} {subscripts} init : {rest}f32"], COPY.format("f32")
    )
    check(op, scale=10)


def test_a_wider_accumulator_is_rounded_once() -> None:
    body = "%0 = arith.extf %a : bf16 to f32\nloopnest.yield %0, %0, %0 : f32, f32, f32"
    outputs = ["add [d0] : 7xbf16", "add [d1] : 300xbf16", "add [d0] init : 7xbf16"]
    op = nest([7, 300], ["[d0, d1] : 7x300xbf16"], outputs, body)
    inputs, before = operands(op)
    got = results(compile_nest(op), inputs, before)
    want = inputs[0].astype(np.float64).sum(1).astype(np.float32)
    assert (got[0] == want.astype(got[0].dtype)).all()


def test_nan_wins_in_maximum_and_minimum() -> None:
    op = nest(
        [3, 40],
        ["[d0, d1] : 3x40xf32"],
        ["maximum [d0] : 3xf32", "minimum [d0] : 3xf32", "maximum [d1] : 40xf32"],
        "loopnest.yield %a, %a, %a : f32, f32, f32",
    )
    x = np.linspace(-3, 3, 120, dtype=np.float32).reshape(3, 40)
    x[1, 37] = np.nan
    outputs = operands(op)[1]
    top, bottom, columns = results(compile_nest(op), [x], outputs)
    assert np.isnan(top).tolist() == np.isnan(bottom).tolist() == [False, True, False]
    assert np.flatnonzero(np.isnan(columns)).tolist() == [37]


def test_signed_zeros_of_sums() -> None:
    zeros = np.full((2, 30), -0.0, np.float32)
    outputs = [np.ones(2, np.float32), np.ones(30, np.float32)]
    op = nest(
        [2, 30],
        ["[d0, d1] : 2x30xf32"],
        ["add [d0] : 2xf32", "add [d1] : 30xf32"],
        "loopnest.yield %a, %a : f32, f32",
    )
    got = results(compile_nest(op), [zeros], outputs)
    assert all(np.signbit(g).all() for g in got)
    empty = nest([2, 0], ["[d0, d1] : 2x0xf32"], ["add [d0] : 2xf32"], COPY.format("f32"))
    got = results(compile_nest(empty), [zeros[:, :0]], outputs[:1])
    assert not np.signbit(got[0]).any()


SPLIT_REDUCTIONS = {
    "long": ([100_000], "[d0] : 100000xf32", "[] : f32"),
    "all": ([300, 301], "[d0, d1] : 300x301xf32", "[] : f32"),
    "two long rows": ([2, 70_001], "[d0, d1] : 2x70001xf32", "[d0] : 2xf32"),
    "wide": ([2, 70_001], "[d0, d1] : 2x70001xf32", "[] : f32"),
    "columns": ([9000, 10], "[d0, d1] : 9000x10xf32", "[d1] : 10xf32"),
    "many columns": ([300, 300], "[d0, d1] : 300x300xf32", "[d1] : 300xf32"),
    "windows": ([3000, 9, 2, 2], "[d0, d1, d2, d3] : 3000x9x2x2xf32", "[d1] : 9xf32"),
    "outer": ([30, 3, 1000], "[d0, d1, d2] : 30x3x1000xf32", "[d1] : 3xf32"),
}


@pytest.mark.parametrize("kind", SPLIT_REDUCTIONS)
def test_large_reductions_are_split(kind: str) -> None:
    bounds, read, write = SPLIT_REDUCTIONS[kind]
    subscripts, _, shape = write.partition(" : ")
    op = nest(
        bounds,
        [read],
        [f"add {write}", f"add {subscripts} init : {shape}", f"maximum {write}"],
        "loopnest.yield %a, %a, %a : f32, f32, f32",
    )
    assert nest_scratch_bytes(op, host()) > 0
    assert emit_nest(op, "f", host()).phases[0].items >= 4
    check(op, scale=100)


def test_small_reductions_need_no_scratch() -> None:
    op = nest([64, 64], ["[d0, d1] : 64x64xf32"], ["add [] : f32"], COPY.format("f32"))
    assert nest_scratch_bytes(op, host()) == 0


def test_scratch_is_known_at_tensor_level() -> None:
    body = COPY.format("f32")
    for combiner, shape in (("add [] :", ""), ("add [d1] :", "300x"), ("add [d0] :", "300x")):
        buffers = nest([300, 300], ["[d0, d1] : 300x300xf32"], [f"{combiner} {shape}f32"], body)
        tensors = parse_nest(
            "func.func @f(%in0 : tensor<300x300xf32>) {\n"
            "  %0 = loopnest.nest [300, 300] (%a = %in0[d0, d1] : tensor<300x300xf32>)"
            f" -> ({combiner} tensor<{shape}f32>) {{\n    {body}\n  }}\n  func.return\n}}"
        )
        assert nest_scratch_bytes(tensors, host()) == nest_scratch_bytes(buffers, host())


BODIES = {
    "small": "%0 = arith.mulf %a, %a : f32\n",
    "large": "%1 = math.exp %a : f32\n%2 = math.exp %1 : f32\n%3 = math.tanh %1 : f32\n"
    "%0 = arith.mulf %2, %3 : f32\n",
}


@pytest.mark.parametrize("body", BODIES)
@pytest.mark.parametrize("bounds", [[7, 30], [500, 200], [3, 1], [3, 2000]])
def test_bits_do_not_depend_on_what_is_fused(body: str, bounds: list[int]) -> None:
    """A sum has the same bits alone and beside other outputs and types."""
    n, m = bounds
    x = f"[d0, d1] : {n}x{m}xf32"
    text = BODIES[body] + "%w = arith.extf %0 : f32 to f64\n"
    for line in (f"add [d0] : {n}xf32", f"add [d1] : {m}xf32", "add [] : f32"):
        alone = nest(bounds, [x], [line], text + "loopnest.yield %0 : f32")
        fused = nest(
            bounds,
            [x],
            [line, x, f"maximum [d0] : {n}xf32", f"add [d1] : {m}xf64", f"[d0, d1] : {n}x{m}xf64"],
            text + "loopnest.yield %0, %0, %0, %w, %w : f32, f32, f32, f64, f64",
        )
        inputs, _ = operands(alone)
        first = results(compile_nest(alone), inputs, operands(alone)[1])
        second = results(compile_nest(fused), inputs, operands(fused)[1])
        assert first[0].tobytes() == second[0].tobytes()


def test_outputs_of_all_kinds_together() -> None:
    """What a backward pass writes: a cotangent, a bias gradient, row sums, a total."""
    body = "%0 = arith.mulf %a, %b : f32\n%1 = arith.subf %0, %c : f32\n"
    op = nest(
        [50, 70],
        ["[d0, d1] : 50x70xf32", "[d1] : 70xf32", "[d0] : 50xf32"],
        ["[d0, d1] : 50x70xf32", "add [d1] : 70xf32", "add [d0] : 50xf32", "add [] : f32"],
        body + "loopnest.yield %1, %1, %0, %1 : f32, f32, f32, f32",
    )
    check_widths(op, scale=10)


# Scattered outputs and gathers.

SCATTER = "loopnest.yield %a, %b : f32, i64"


@pytest.mark.parametrize("combiner", ["add", "maximum", "multiply"])
@pytest.mark.parametrize("start", ["", " init"])
@pytest.mark.parametrize("columns", [1, 3, 64, 100])
def test_scatter_of_rows(combiner: str, start: str, columns: int) -> None:
    op = nest(
        [40, columns],
        [f"[d0, d1] : 40x{columns}xf32", "[d0] : 40xi64"],
        [f"{combiner} [s0, d1]{start} : 9x{columns}xf32"],
        SCATTER,
    )
    check_scatter(op)


def check_scatter(op: NestOp, rows: int = 9) -> None:
    inputs, outputs = operands(op)
    inputs[1] = np.random.default_rng(1).integers(0, rows, inputs[1].shape)
    want = reference(op, inputs, outputs)
    compiled = compile_nest(op)
    for split in (one_by_one, in_three):
        got = results(compiled, inputs, outputs, split)
        for g, w in zip(got, want, strict=True):
            assert_close(g, w, 10)


def test_scatter_of_elements() -> None:
    op = nest(
        [5, 40], ["[d0, d1] : 5x40xf32", "[d0, d1] : 5x40xi64"], ["add [d0, s0] : 5x9xf32"], SCATTER
    )
    check_scatter(op)
    column = nest(
        [5, 40],
        ["[d0, d1] : 5x40xf32", "[d0, d1] : 5x40xi64"],
        ["add [s0, d1] : 9x40xf32"],
        SCATTER,
    )
    check_scatter(column)


def test_scatter_into_a_wider_accumulator() -> None:
    body = "%0 = arith.extf %a : f16 to f32\nloopnest.yield %0, %b : f32, i64"
    for start in ("", " init"):
        op = nest(
            [40, 17], ["[d0, d1] : 40x17xf16", "[d0] : 40xi64"],
            [f"add [s0, d1]{start} : 9x17xf16"], body,
        )  # fmt: skip
        assert nest_scratch_bytes(op, host()) >= 9 * 17 * 4
        check_scatter(op)


def test_overlapping_windows_are_summed() -> None:
    op = nest([20, 5], ["[d0, d1] : 20x5xf32"], ["add [d0 + d1] : 24xf32"], COPY.format("f32"))
    check(op, scale=10)


LONG = {
    "a line": ([2**20], "[d0] : 1048576x", "[] : "),
    "rows": ([20, 70_000], "[d0, d1] : 20x70000x", "[d0] : 20x"),
    "columns": ([30_000, 20], "[d0, d1] : 30000x20x", "[d1] : 20x"),
    "a plane": ([1024, 300], "[d0, d1] : 1024x300x", "[] : "),
    "planes": ([17, 3000, 9], "[d0, d1, d2] : 17x3000x9x", "[d0] : 17x"),
    "far dimensions": ([300, 20, 300], "[d0, d1, d2] : 300x20x300x", "[d1] : 20x"),
    "columns of planes": ([1000, 70, 20], "[d0, d1, d2] : 1000x70x20x", "[d2] : 20x"),
}


@pytest.mark.parametrize("shape", LONG)
def test_errors_of_long_sums_do_not_grow(shape: str) -> None:
    """Equal numbers are the worst case of a chain: each addition is rounded the same way."""
    bounds, read, write = LONG[shape]
    op = nest(bounds, [f"{read}f32"], [f"add {write}f32"], COPY.format("f32"))
    x = np.full(bounds, 0.7, np.float32)
    _, outputs = operands(op)
    # of narrow vectors four times as many follow each other
    for vector_bytes, error in ((64, 1.5e-6), (16, 6e-6)):
        compiled = compile_nest(op, min(vector_bytes, host().vector_bytes))
        (found,) = results(compiled, [x], outputs)
        (again,) = results(compiled, [x], outputs, in_three)
        assert found.tobytes() == again.tobytes()
        np.testing.assert_allclose(found, float(x.flat[0]) * (x.size // found.size), rtol=error)
