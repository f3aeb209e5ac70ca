"""Streaming stores, and bodies computed for several vectors at once: the same bits as without."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from nest_harness import (
    COPY,
    NARROWER,
    Array,
    check_widths,
    compile_nest,
    in_three,
    nest,
    operands,
    parse_nest,
)

from gradir.codegen.nests import space
from gradir.codegen.nests.kernel import emit_nest
from gradir.codegen.text.target import MachineTarget, host
from gradir.dialects.loopnest.loopnest import NestOp

STREAM = "!nontemporal"
TWICE = "%0 = arith.addf %a, %a : f32\n"
EXP = "%0 = math.exp %a : f32\n"
BYTE = "%1 = arith.fptosi %a : f32 to i8\n"
WIDER = "%1 = arith.extf %a : f32 to f64\n"
YIELD = "loopnest.yield %0 : f32"
TWO = "loopnest.yield %0, %1 : f32, "

SQUARE = "[d0, d1] : 96x192xf32"
NESTS: dict[str, tuple[list[int], list[str], list[str], str]] = {
    "one vector and a tail": ([77], ["[d0] : 77xf32"], ["[d0] : 77xf32"], TWICE + YIELD),
    "blocks and a tail": (
        [10_005],
        ["[d0] : 10005xf32"],
        ["[d0] : 10005xf32", "[d0] : 10005xi8"],
        TWICE + BYTE + TWO + "i8",
    ),
    "two widths": (
        [3000],
        ["[d0] : 3000xf32"],
        ["[d0] : 3000xf32", "[d0] : 3000xf64"],
        TWICE + WIDER + TWO + "f64",
    ),
    "several vectors at once": ([9001], ["[d0] : 9001xf32"], ["[d0] : 9001xf32"], EXP + YIELD),
    "rows": ([96, 192], ["[d1] : 192xf32"], [SQUARE], TWICE + YIELD),
    "transposed": ([96, 192], ["[d1, d0] : 192x96xf32"], [SQUARE], TWICE + YIELD),
    "a part": ([96, 128], [SQUARE], ["[d0, d1 + 64] : 96x192xf32"], TWICE + YIELD),
    "beside a sum": (
        [70_001],
        ["[d0] : 70001xf32"],
        ["add [] : f32", "[d0] : 70001xf32"],
        EXP + "loopnest.yield %a, %0 : f32, f32",
    ),
    "beside sums of columns": (
        [96, 192],
        [SQUARE],
        ["add [d1] : 192xf32", SQUARE],
        EXP + "loopnest.yield %a, %0 : f32, f32",
    ),
}


def streaming(target: MachineTarget | None = None) -> MachineTarget:
    """A machine without caches: everything streams."""
    return replace(target or host(), l3_bytes=0)


def text(op: NestOp, target: MachineTarget) -> str:
    return emit_nest(op, "nest", target).text


def moved(array: Array, offset: int) -> Array:
    """A copy of an array `offset` elements behind an address that is a multiple of 64."""
    memory = np.zeros(array.nbytes + 64 + offset * array.itemsize, np.uint8)
    start = -memory.ctypes.data % 64 + offset * array.itemsize
    copy = memory[start : start + array.nbytes].view(array.dtype).reshape(array.shape)
    copy[...] = array
    return copy


@pytest.mark.skipif(not host().streaming, reason="this machine has no streaming stores")
@pytest.mark.parametrize("vector_bytes", [None, *NARROWER])
@pytest.mark.parametrize("name", NESTS)
def test_streams_have_the_bits_of_ordinary_stores(name: str, vector_bytes: int | None) -> None:
    op = nest(*NESTS[name])
    target = host(vector_bytes)
    inputs, outputs = operands(op)
    ordinary = compile_nest(op, target=replace(target, streaming=False))
    streams = compile_nest(op, target=streaming(target))
    want = [moved(o, 0) for o in outputs]
    ordinary.run(inputs, want)
    for offsets in ([0] * len(outputs), [1] * len(outputs), range(len(outputs))):
        got = [moved(o, k) for o, k in zip(outputs, offsets, strict=True)]
        streams.run(inputs, got, in_three)
        assert [g.tobytes() for g in got] == [w.tobytes() for w in want]


@pytest.mark.skipif(not host().streaming, reason="this machine has no streaming stores")
@pytest.mark.parametrize("name", NESTS)
def test_large_outputs_stream(name: str) -> None:
    """There are streaming stores, and a fence after them."""
    if name == "transposed" and host().vector_bytes < 64:
        pytest.skip("a tile's rows are shorter than a line")
    found = text(nest(*NESTS[name]), streaming())
    assert STREAM in found
    assert found.index("sfence") > found.rindex(STREAM)


@pytest.mark.parametrize(
    ("bounds", "read", "write"),
    [
        ([64, 50], "[d1] : 50xf32", "[d0, d1] : 64x50xf32"),
        ([100], "[d0] : 100xf32", "[d0 + 1] : 101xf32"),
        ([100], "[d0] : 100xf32", "[2 * d0] : 200xf32"),
    ],
    ids=["rows between lines", "an offset", "a stride"],
)
def test_outputs_that_can_not_be_aligned_do_not_stream(
    bounds: list[int], read: str, write: str
) -> None:
    op = nest(bounds, [read], [write], COPY.format("f32"))
    assert STREAM not in text(op, streaming())
    check_widths(op)


def test_outputs_that_fit_the_cache_do_not_stream() -> None:
    op = nest([1000], ["[d0] : 1000xf32"], ["[d0] : 1000xf32"], TWICE + YIELD)
    assert STREAM not in text(op, replace(host(), l3_bytes=8000))
    if host().streaming:
        assert STREAM in text(op, replace(host(), l3_bytes=7999))


def test_outputs_in_place_do_not_stream() -> None:
    op = parse_nest(
        "func.func @f(%x : memref<1000xf32>) {\n"
        "  loopnest.nest [1000] (%a = %x[d0] : memref<1000xf32>)"
        f" -> ([d0] to %x : memref<1000xf32>) {{\n{TWICE}{YIELD}\n  }}\n  func.return\n}}"
    )
    assert STREAM not in text(op, streaming())


LARGE = "%0 = math.exp %a : f32\n%1 = math.tanh %0 : f32\n%2 = arith.mulf %0, %1 : f32\n"


@pytest.mark.parametrize("vector_bytes", [None, *NARROWER])
@pytest.mark.parametrize("columns", [1024, 1100, 70_003])
def test_several_vectors_at_once_have_the_same_bits(
    columns: int, vector_bytes: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    op = nest(
        [3, columns],
        [f"[d0, d1] : 3x{columns}xf32"],
        [
            f"[d0, d1] : 3x{columns}xf32",
            "add [d0] : 3xf32",
            f"add [d1] : {columns}xf32",
            "maximum [] : f32",
        ],
        LARGE + "loopnest.yield %1, %2, %2, %0 : f32, f32, f32, f32",
    )
    inputs, outputs = operands(op)
    several, one = ([o.copy() for o in outputs] for _ in range(2))
    assert f"@gradir.tanh.v{4 * host(vector_bytes).vector_bytes // 4}f32" in text(
        op, host(vector_bytes)
    )
    compile_nest(op, vector_bytes).run(inputs, several)
    monkeypatch.setattr(space, "INTERLEAVED_SIZE", 1 << 30)
    compile_nest(op, vector_bytes).run(inputs, one)
    assert [s.tobytes() for s in several] == [o.tobytes() for o in one]
