"""Steps of chains in the precision bf16, on vectors of f32 (dialects/base/precision.py)."""

from __future__ import annotations

from gradir.codegen.text.kinds import llvm_type
from gradir.codegen.text.writer import FunctionWriter
from gradir.dialects.base.precision import LEAST_SUM

# The narrowest vector of VDPBF16PS.
LEAST_LANES = 4


def add_pairs(f: FunctionWriter, lanes: int, left: str, right: str, total: str) -> str:
    """`total` and the products of the upper halves of words, then of the lower halves."""
    if lanes < LEAST_LANES:
        wide = [_widened(f, lanes, x) for x in (left, right, total)]
        made = add_pairs(f, LEAST_LANES, *wide)
        if lanes == 1:
            return f.emit(f"extractelement {llvm_type('f32', LEAST_LANES)} {made}, i64 0")
        return f.shuffle("f32", LEAST_LANES, made, range(lanes))
    sums, pairs = llvm_type("f32", lanes), f"<{2 * lanes} x bfloat>"
    words = [f.emit(f"bitcast {sums} {x} to {pairs}") for x in (left, right)]
    arguments = f"{sums} {total}, {pairs} {words[0]}, {pairs} {words[1]}"
    return f.call(sums, f"@llvm.x86.avx512bf16.dpbf16ps.{32 * lanes}", arguments)


def _widened(f: FunctionWriter, lanes: int, x: str) -> str:
    """A number or a narrow vector in the first lanes; nobody reads the others."""
    wide = llvm_type("f32", LEAST_LANES)
    if lanes == 1:
        return f.emit(f"insertelement {wide} zeroinitializer, float {x}, i64 0")
    return f.shuffle(
        "f32", lanes, x, [min(k, lanes) for k in range(LEAST_LANES)], "zeroinitializer"
    )


def add_flushed(f: FunctionWriter, lanes: int, left: str, right: str, total: str) -> str:
    """`fma(left, right, total)`, and a zero of its sign for what is subnormal.

    Near the smallest normal number sums are exact in f64: factors have 8 bits, and `total` is no
    finer than 2**-149.
    """
    made = f.intrinsic("fma", "f32", lanes, left, right, total)
    wide = [f.cast("fpext", "f32", "f64", lanes, x) for x in (left, right, total)]
    product = f.binary("fmul", "f64", lanes, wide[0], wide[1])
    size = f.intrinsic("fabs", "f64", lanes, f.binary("fadd", "f64", lanes, product, wide[2]))
    is_small = f.compare("olt", "f64", lanes, size, f.number("f64", lanes, LEAST_SUM))
    zero = f.intrinsic("copysign", "f32", lanes, f.number("f32", lanes, 0.0), made)
    return f.select("f32", lanes, is_small, zero, made)
