"""Native code of maps: every rank, access and type against NumPy, and random nests."""

from __future__ import annotations

import ctypes
import math
import mmap
import os

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from nest_harness import (
    COPY,
    NARROWER,
    Array,
    assert_close,
    check,
    check_widths,
    compile_nest,
    nest,
    operands,
    reference,
)

from gradir.dialects.loopnest.loopnest import NestOp

EXTENTS = (0, 1, 2, 17, 64, 100)


@pytest.mark.parametrize("rank", range(5))
@pytest.mark.parametrize("extent", EXTENTS)
def test_maps_of_every_rank(rank: int, extent: int) -> None:
    bounds = [3, 1, 2, extent][4 - rank :] if rank else []
    dims = ", ".join(f"d{d}" for d in range(rank))
    shape = "".join(f"{n}x" for n in bounds)
    body = "%0 = arith.addf %a, %b : f32\nloopnest.yield %0 : f32"
    check(nest(bounds, [f"[{dims}] : {shape}f32"] * 2, [f"[{dims}] : {shape}f32"], body))


ACCESSES = {
    "broadcast": ("[d1] : 100xf32", "[d0, d1]"),
    "column": ("[d0] : 17xf32", "[d0, d1]"),
    "scalar": ("[] : f32", "[d0, d1]"),
    "constant": ("[3, d1] : 5x100xf32", "[d0, d1]"),
    "strided": ("[d0, 2 * d1 + 1] : 17x202xf32", "[d0, d1]"),
    "three apart": ("[d0, 3 * d1] : 17x298xf32", "[d0, d1]"),
    "four apart": ("[d0, 4 * d1 + 2] : 17x399xf32", "[d0, d1]"),
    "reversed": ("[-1 * d0 + 16, -1 * d1 + 99] : 17x100xf32", "[d0, d1]"),
    "sum": ("[d0 + d1] : 116xf32", "[d0, d1]"),
    "diagonal": ("[d0, d0, d1] : 17x17x100xf32", "[d0, d1]"),
    "transposed": ("[d1, d0] : 100x17xf32", "[d0, d1]"),
    "wide strides": ("[d1, d0, 0] : 100x17x3xf32", "[d0, d1]"),
    "padded": ("[d0 + -2, d1 + 5] pad 3.0 : f32 : 9x77xf32", "[d0, d1]"),
    "padded broadcast": ("[d0 + -2, 0] pad 3.0 : f32 : 9x77xf32", "[d0, d1]"),
    "padded reversed": ("[d0, -1 * d1 + 50] pad 3.0 : f32 : 17x70xf32", "[d0, d1]"),
    "padded strided": ("[d0, 3 * d1 + -7] pad 3.0 : f32 : 17x70xf32", "[d0, d1]"),
    "padded transposed": ("[d1 + -1, d0 + 1] pad 3.0 : f32 : 50x10xf32", "[d0, d1]"),
    "padded nothing": ("[d0, d1 + -1] pad 3.0 : f32 : 0x0xf32", "[d0, d1]"),
    "to transposed": ("[d0, d1] : 17x100xf32", "[d1, d0]"),
    "to reversed": ("[d0, d1] : 17x100xf32", "[d0, -1 * d1 + 99]"),
}


@pytest.mark.parametrize("kind", ACCESSES)
def test_accesses(kind: str) -> None:
    read, write = ACCESSES[kind]
    shape = "100x17xf32" if write == "[d1, d0]" else "17x100xf32"
    check(nest([17, 100], [read], [f"{write} : {shape}"], COPY.format("f32")))


@pytest.mark.parametrize("kind", ["strided", "padded", "padded transposed", "transposed"])
def test_accesses_of_narrower_vectors(kind: str) -> None:
    op = nest([17, 100], [ACCESSES[kind][0]], ["[d0, d1] : 17x100xf32"], COPY.format("f32"))
    check_widths(op)


def test_strided_outputs_leave_the_rest() -> None:
    op = nest([5, 33], ["[d0, d1] : 5x33xf32"], ["[d0, 3 * d1] : 5x99xf32"], COPY.format("f32"))
    check(op)


TRANSPOSES = {
    "whole tiles": ([32, 48], "[d1, d0] : 48x32x", "[d0, d1] : 32x48x"),
    "tails": ([33, 50], "[d1, d0] : 50x33x", "[d0, d1] : 33x50x"),
    "long": ([5, 3001], "[d1, d0] : 3001x5x", "[d0, d1] : 5x3001x"),
    "channels": ([2, 20, 7, 9], "[d0, d2, d3, d1] : 2x7x9x20x", "[d0, d1, d2, d3] : 2x20x7x9x"),
    "reversed": ([19, 23], "[-1 * d1 + 22, d0] : 23x19x", "[d0, d1] : 19x23x"),
}


@pytest.mark.parametrize("kind", TRANSPOSES)
@pytest.mark.parametrize("dtype", ["f32", "f64", "i1"])
def test_transposes(kind: str, dtype: str) -> None:
    bounds, read, write = TRANSPOSES[kind]
    op = nest(bounds, [f"{read}{dtype}"], [f"{write}{dtype}"], COPY.format(dtype))
    check_widths(op)


class Guarded:
    """A copy of an array in pages of its own, before or after which nothing may be touched."""

    def __init__(self, array: Array, at_end: bool):
        page = mmap.PAGESIZE
        size = -(-max(array.nbytes, 1) // page) * page
        self.pages = mmap.mmap(-1, size + 2 * page)
        start = page + (size - array.nbytes if at_end else 0)
        self.array = np.frombuffer(self.pages, array.dtype, array.size, start).reshape(array.shape)
        self.array[...] = array
        first = ctypes.addressof(ctypes.c_char.from_buffer(self.pages))
        self.fences = [(first, page), (first + page + size, page)]

    def fence(self, protection: int) -> None:
        for address, size in self.fences:
            library = ctypes.CDLL(None)
            assert not library.mprotect(ctypes.c_void_p(address), ctypes.c_size_t(size), protection)


def check_fenced(op: NestOp, at_end: bool) -> None:
    inputs, outputs = operands(op)
    arrays = [Guarded(a, at_end) for a in (*inputs, *outputs)]
    compiled = compile_nest(op)
    for a in arrays:
        a.fence(0)
    compiled.run([a.array for a in arrays[: len(inputs)]], [a.array for a in arrays[len(inputs) :]])
    for a in arrays:
        a.fence(mmap.PROT_READ | mmap.PROT_WRITE)
    for a, want in zip(arrays[len(inputs) :], reference(op, inputs, outputs), strict=True):
        assert_close(a.array, want, 10)


@pytest.mark.skipif(os.name != "posix", reason="mprotect")
@pytest.mark.parametrize("at_end", [False, True])
def test_nothing_outside_of_the_buffers_is_touched(at_end: bool) -> None:
    for read, write in ACCESSES.values():
        shape = "100x17xf32" if write == "[d1, d0]" else "17x100xf32"
        op = nest([17, 100], [read], [f"{write} : {shape}"], COPY.format("f32"))
        if "0x0" not in read:
            check_fenced(op, at_end)
    for bounds, read, write in TRANSPOSES.values():
        check_fenced(nest(bounds, [f"{read}f32"], [f"{write}f32"], COPY.format("f32")), at_end)


def test_a_transposed_input_beside_others() -> None:
    body = """%0 = arith.addf %a, %b : f32
%1 = arith.mulf %0, %c : f32
%2 = arith.subf %1, %d : f32
loopnest.yield %2, %0 : f32, f32"""
    inputs = ["[d1, d0] : 70x45xf32", "[d0, d1] : 45x70xf32", "[d0] : 45xf32", "[d1] : 70xf32"]
    check_widths(nest([45, 70], inputs, ["[d0, d1] : 45x70xf32", "[d1, d0] : 70x45xf32"], body))


@pytest.mark.parametrize("dtype", ["f64", "f32", "f16", "bf16", "i64", "i32", "i8", "i1"])
def test_copies_of_every_type(dtype: str) -> None:
    line = f"[d0, d1] : 5x100x{dtype}"
    check(nest([5, 100], [line], [line], COPY.format(dtype)))
    wide = f"[d1, d0] : 100x5x{dtype}"
    check(nest([5, 100], [wide], [line], COPY.format(dtype)))


def test_indices_of_collapsible_loops() -> None:
    body = """%0 = loopnest.index 0
%1 = loopnest.index 2
%2 = arith.muli %0, %1 : i64
%3 = arith.sitofp %2 : i64 to f32
%4 = arith.addf %3, %a : f32
loopnest.yield %4 : f32"""
    line = "[d0, d1, d2] : 5x4x70xf32"
    check_widths(nest([5, 4, 70], [line], [line], body))


def test_output_in_the_place_of_an_input() -> None:
    """All passes have read an input before its buffer is written."""
    op = nest(
        [60, 40],
        ["[d0, d1] : 60x40xf32"],
        ["[d0, d1] : 60x40xf32", "add [d0] : 60xf32", "add [d1] : 40xf32"],
        "%0 = arith.mulf %a, %a : f32\nloopnest.yield %0, %0, %0 : f32, f32, f32",
    )
    op.operands[1] = op.operands[0]
    inputs, outputs = operands(op)
    want = reference(op, inputs, outputs)
    compiled = compile_nest(op)
    compiled.run(inputs, [inputs[0], *outputs[1:]])
    assert_close(inputs[0], want[0])
    assert_close(outputs[1], want[1], 10)
    assert_close(outputs[2], want[2], 10)


# Random nests.

Description = tuple[list[int], list[str], list[str], str]
ROWS = ("d{k}", "d{k}", "-1 * d{k} + {last}", "2 * d{k} + 1", "d{k} + -2")


@st.composite
def random_nests(draw: st.DrawFn) -> Description:
    """Up to four dimensions; every access, pads, several outputs of f32 or f64."""
    bounds = draw(st.lists(st.sampled_from([1, 2, 3, 5, 16, 17, 33]), min_size=1, max_size=4))
    while math.prod(bounds) > 20_000:
        bounds[bounds.index(max(bounds))] = 3
    dtype = draw(st.sampled_from(["f32", "f64"]))
    inputs = [draw(random_reads(bounds, dtype)) for _ in range(draw(st.integers(1, 3)))]
    outputs = [draw(random_writes(bounds, dtype)) for _ in range(draw(st.integers(1, 3)))]
    total = "%a"
    lines: list[str] = []
    for k in range(1, len(inputs)):
        lines.append(f"%{k} = arith.addf {total}, %{'abc'[k]} : {dtype}")
        total = f"%{k}"
    yields = ", ".join([total] * len(outputs))
    lines.append(f"loopnest.yield {yields} : {', '.join([dtype] * len(outputs))}")
    return bounds, inputs, outputs, "\n".join(lines)


@st.composite
def random_reads(draw: st.DrawFn, bounds: list[int], dtype: str) -> str:
    dims = draw(st.permutations(range(len(bounds))))
    dims = dims[: draw(st.integers(0, len(bounds)))]
    rows: list[str] = []
    shape = ""
    for d in dims:
        row = draw(st.sampled_from(ROWS))
        rows.append(row.format(k=d, last=bounds[d] - 1))
        extent = 2 * bounds[d] if row.startswith("2") else bounds[d]
        shape += f"{draw(st.sampled_from([extent, extent, max(1, extent - 2)]))}x"
    return f"[{', '.join(rows)}] pad 1.5 : {dtype} : {shape}{dtype}"


@st.composite
def random_writes(draw: st.DrawFn, bounds: list[int], dtype: str) -> str:
    dims = list(draw(st.permutations(range(len(bounds)))))
    combiner = draw(st.sampled_from(["", "add ", "maximum "]))
    if combiner:
        dims = dims[: draw(st.integers(0, len(bounds)))]
    rows = [draw(st.sampled_from(ROWS[:4])) for _ in dims]
    texts = [r.format(k=d, last=bounds[d] - 1) for r, d in zip(rows, dims, strict=True)]
    shape = "".join(
        f"{2 * bounds[d] if r.startswith('2') else bounds[d]}x"
        for r, d in zip(rows, dims, strict=True)
    )
    start = draw(st.sampled_from(["", " init"])) if combiner else ""
    return f"{combiner}[{', '.join(texts)}]{start} : {shape}{dtype}"


@settings(max_examples=60, deadline=None, derandomize=True)
@given(random_nests(), st.sampled_from([None, *NARROWER]))
def test_random_nests(description: Description, vector_bytes: int | None) -> None:
    check(nest(*description), vector_bytes, scale=1000)
