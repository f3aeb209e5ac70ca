"""Operations that some targets have no instruction for, as functions in LLVM text.

Where a target lacks an instruction LLVM calls a library: one function for each lane, and some
(`__truncsfbf2`) that no library has. `completed` gives a module functions of ours instead, with
the same bits at every level:

    @gradir.extend.v8f16(<8 x i16>) -> <8 x float>      also bf16; exact
    @gradir.narrow.v8f16(<8 x float>) -> <8 x i16>      to nearest, ties to even
    @llvm.floor, ceil, trunc, round, roundeven          for targets that do not round
    @llvm.fma of f32                                    for targets without FMA

Libraries have the others: `LIBRARY_FUNCTIONS`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache

from gradir.codegen.text.kinds import mangled
from gradir.codegen.text.lanes import ROUNDING_MAGIC, Lanes, LaneValue
from gradir.codegen.text.target import MachineTarget

# Functions of the C library that native code may call. The first move and clear memory. Remainders
# need a long division; fma of f64 is called by targets without FMA, and exact there as well.
LIBRARY_FUNCTIONS = ("memcpy", "memmove", "memset", "fmod", "fmodf", "fma")

_CONVERSION = re.compile(r"@gradir\.(extend|narrow)\.(?:v(\d+))?(f16|bf16)\(")
_ROUNDING = re.compile(r"@llvm\.(floor|ceil|trunc|round|roundeven)\.(?:v(\d+))?f(32|64)\(")
_FMA = re.compile(r"@llvm\.(fma)\.(?:v(\d+))?f(32)\(")


def completed(text: str, target: MachineTarget) -> list[str]:
    """The text, with calls of functions that the target has, and their definitions."""
    conversions = {(m[1], m[2], m[3]) for m in _CONVERSION.finditer(text)}
    parts: list[str] = []
    for pattern, has in ((_ROUNDING, target.rounds), (_FMA, target.fma)):
        if has:
            continue
        replaced = {(m[1], m[2], m[3]) for m in pattern.finditer(text)}
        text = pattern.sub(lambda m: m[0].replace("@llvm.", "@gradir."), text)
        parts += [_arithmetic(name, int(v or 1), int(bits)) for name, v, bits in _sorted(replaced)]
    for name, lanes, kind in _sorted(conversions):
        parts.append(_conversion(name, kind, int(lanes or 1), target.converts_half))
    return [text, *parts]


def _sorted(found: set[tuple[str, str | None, str]]) -> list[tuple[str, str | None, str]]:
    return sorted(found, key=lambda one: (one[0], int(one[1] or 0), one[2]))


def _define(name: str, kind: str, operands: int, of: Lanes, source: str, value: LaneValue) -> str:
    """The text of `@gradir.name`, of operands of one kind, which gives `value`."""
    type_ = of.type_of(source)
    listed = ", ".join(f"{type_} %x{k}" for k in range(operands))
    # thirty instructions for each of a polynomial's: inlined they take seconds to compile
    inlining = "noinline" if name == "fma" else "alwaysinline"
    of.text.ret(f"{value.type} {value.name}")
    return of.text.define(
        f"gradir.{name}.{mangled(kind, of.lanes)}",
        listed,
        f"{inlining} nounwind memory(none)",
        result=value.type,
    )


# Conversions.


@cache
def _conversion(name: str, kind: str, lanes: int, has_half: bool) -> str:
    function = Lanes(32, lanes)
    is_native = kind == "f16" and has_half
    if name == "extend":
        convert = _extend_natively if is_native else _EXTENDS[kind]
    else:
        convert = _narrow_natively if is_native else _NARROWS[kind]
    source = "i16" if name == "extend" else function.float_kind
    value = convert(function, function.value(source, "%x0"))
    return _define(name, kind, 1, function, source, value)


def _extend_natively(f: Lanes, x: LaneValue) -> LaneValue:
    return x.cast("bitcast", "half").cast("fpext", f.float_kind)


def _narrow_natively(f: Lanes, x: LaneValue) -> LaneValue:
    return x.cast("fptrunc", "half").cast("bitcast", "i16")


def _widened(f: Lanes, x: LaneValue) -> LaneValue:
    return x.cast("zext", f.int_kind)


def _extend_bfloat(f: Lanes, x: LaneValue) -> LaneValue:
    """A bf16 is the upper half of an f32."""
    return (_widened(f, x) << 16).as_float()


def _narrow_bfloat(f: Lanes, x: LaneValue) -> LaneValue:
    """In integers on every target: the instruction of AVX-512 flushes subnormal numbers."""
    bits = x.as_int()
    high = bits >> 16
    rounded = (bits + ((high & 1) + f.int_constant(0x7FFF))) >> 16
    return (x.equals(x).select(rounded, high | 0x40)).cast("trunc", "i16")


def _extend_half(f: Lanes, x: LaneValue) -> LaneValue:
    """The exponent moves from bias 15 to 127; of subnormal numbers a subtraction finds it."""
    wide = _widened(f, x)
    sign, size = (wide & 0x8000) << 16, (wide & 0x7FFF) << 13
    exponent = size & 0x0F800000
    normal = size + f.int_constant((127 - 15) << 23)
    largest = exponent.equals(f.int_constant(0x0F800000))
    is_nan = size > f.int_constant(0x0F800000)
    quiet = is_nan.select(f.int_constant(0x00400000), f.int_constant(0))
    special = (normal + f.int_constant((128 - 16) << 23)) | quiet
    shifted = (normal + f.int_constant(1 << 23)).as_float()
    small = (shifted - 2.0**-14).as_int()
    is_small = exponent.equals(f.int_constant(0))
    return (is_small.select(small, largest.select(special, normal)) | sign).as_float()


def _narrow_half(f: Lanes, x: LaneValue) -> LaneValue:
    """Normal numbers are rounded in integers, subnormal ones by the addition of a large one."""
    bits = x.as_int()
    sign = (bits >> 16) & 0x8000
    size = bits & 0x7FFFFFFF
    odd = (size >> 13) & 1
    normal = (size + f.int_constant(((15 - 127) << 23) + 0xFFF) + odd) >> 13
    # 0.5 and f16's subnormal numbers have the same last place
    small = (size.as_float() + 0.5).as_int() - f.int_constant(0x3F000000)
    finite = (size < f.int_constant((127 - 14) << 23)).select(small, normal)
    payload = ((size >> 13) & 0x3FF) | 0x7E00
    infinite = x.equals(x).select(f.int_constant(0x7C00), payload)
    is_finite = size < f.int_constant((127 + 16) << 23)
    return (is_finite.select(finite, infinite) | sign).cast("trunc", "i16")


_EXTENDS = {"f16": _extend_half, "bf16": _extend_bfloat}
_NARROWS = {"f16": _narrow_half, "bf16": _narrow_bfloat}


# Arithmetic.


@cache
def _arithmetic(name: str, lanes: int, bits: int) -> str:
    function = Lanes(bits, lanes)
    kind, count = function.float_kind, 3 if name == "fma" else 1
    operands = [function.value(kind, f"%x{k}") for k in range(count)]
    value = _ARITHMETIC[name](function, *operands)
    return _define(name, kind, count, function, kind, value)


def _whole(f: Lanes, x: LaneValue, rounded: LaneValue) -> LaneValue:
    """`rounded` with x's sign, but x itself where it is whole, for its size, or nan."""
    limit = ROUNDING_MAGIC[f.bits] / 1.5
    return (abs(x) < limit).select(rounded.with_sign_of(x), x)


def _nearest(f: Lanes, size: LaneValue) -> LaneValue:
    """The nearest whole number, ties to even, of a size below 2**mantissa_bits."""
    limit = ROUNDING_MAGIC[f.bits] / 1.5
    return (size + limit) - limit


def _round_even(f: Lanes, x: LaneValue) -> LaneValue:
    return _whole(f, x, _nearest(f, abs(x)))


def _truncated(f: Lanes, size: LaneValue) -> LaneValue:
    near = _nearest(f, size)
    return (near > size).select(near - 1.0, near)


def _truncate(f: Lanes, x: LaneValue) -> LaneValue:
    return _whole(f, x, _truncated(f, abs(x)))


def _round_away(f: Lanes, x: LaneValue) -> LaneValue:
    size = abs(x)
    below = _truncated(f, size)
    return _whole(f, x, (size - below < 0.5).select(below, below + 1.0))


def _floor(f: Lanes, x: LaneValue) -> LaneValue:
    near = _round_even(f, x)
    return _whole(f, x, (near > x).select(near - 1.0, near))


def _ceil(f: Lanes, x: LaneValue) -> LaneValue:
    near = _round_even(f, x)
    return _whole(f, x, (near < x).select(near + 1.0, near))


def _fma(f: Lanes, x: LaneValue, y: LaneValue, z: LaneValue) -> LaneValue:
    """The product is exact in f64, and so is the error of the sum, which is rounded to odd there:
    rounding it again, to f32, then gives what one rounding would have."""
    product, addend = x.to_double() * y.to_double(), z.to_double()
    total = product + addend
    other = total - product
    error = (product - (total - other)) + (addend - other)
    bits = total.as_int()
    wide = total.function
    is_exact = error.equals(0.0)
    finite = (abs(error) < float("inf")) & ~is_exact
    outwards = ((error.as_int() ^ bits) > wide.int_constant(-1)).select(
        wide.int_constant(1), wide.int_constant(-1)
    )
    is_even = (bits & 1).equals(wide.int_constant(0))
    odd = (is_even & finite).select(bits + outwards, bits)
    return odd.as_float().to_single()


_ARITHMETIC: dict[str, Callable[..., LaneValue]] = {
    "floor": _floor,
    "ceil": _ceil,
    "trunc": _truncate,
    "round": _round_away,
    "roundeven": _round_even,
    "fma": _fma,
}
