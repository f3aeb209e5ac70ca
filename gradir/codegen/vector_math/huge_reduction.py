"""Reduction of huge arguments modulo pi/2, by the method of M. Payne and R. Hanek (1983).

x = m 2**e with an integer m of 53 bits. Of the product m 2**e (2/pi) only the 192 bits below 4
are computed, from a window of the bits of 2/pi: two of them count the quarter turns, and the other
190 leave more than a double's precision for any x, as no double is closer than 2**-62 to a
multiple of pi/2. This is the cold path of sin, cos and tan: one lane after the other.
"""

from __future__ import annotations

from gradir.codegen.text.kinds import literal, llvm_type, mangled

# A word of zeros, then the first 1280 bits of 2/pi after the binary point.
TWO_OVER_PI = (
    0,
    *(0xA2F9836E4E441529, 0xFC2757D1F534DDC0, 0xDB6295993C439041, 0xFE5163ABDEBBC561),
    *(0xB7246E3A424DD2E0, 0x06492EEA09D1921C, 0xFE1DEB1CB129A73E, 0xE88235F52EBB4484),
    *(0xE99C7026B45F7E41, 0x3991D639835339F4, 0x9C845F8BBDF9283B, 0x1FF897FFDE05980F),
    *(0xEF2F118B5A0A6D1F, 0x6D367ECF27CB09B7, 0x4F463F669E5FEA2D, 0x7527BAC7EBE5F17B),
    *(0x3D0739F78A5292EA, 0x6BFB5FB11F8D5D08, 0x56033046FC7B6BAB, 0xF0CFBC209AF4361D),
)

ATTRIBUTES = "noinline optnone cold nounwind memory(none)"

SCALAR = """\
@gradir.two_over_pi = private unnamed_addr constant [{count} x i64] [{words}]

define internal {{ double, i64 }} @gradir.reduce_huge.f64(double %x) {attributes} {{
entry:
  %pattern = bitcast double %x to i64
  %negative = icmp slt i64 %pattern, 0
  %biased = lshr i64 %pattern, 52
  %field = and i64 %biased, 2047
  %fraction = and i64 %pattern, 4503599627370495
  %m = or i64 %fraction, 4503599627370496
  ; e = field - 1075; the window begins at bit e + 62 of the table
  ; (other lanes of a vector may hold a small x, for which any window will do)
  %unbounded = sub i64 %field, 1013
  %position = call i64 @llvm.smax.i64(i64 %unbounded, i64 0)
  %index = lshr i64 %position, 6
  %shift = and i64 %position, 63
  %p0 = getelementptr i64, ptr @gradir.two_over_pi, i64 %index
  %p1 = getelementptr i64, ptr %p0, i64 1
  %p2 = getelementptr i64, ptr %p0, i64 2
  %p3 = getelementptr i64, ptr %p0, i64 3
  %w0 = load i64, ptr %p0
  %w1 = load i64, ptr %p1
  %w2 = load i64, ptr %p2
  %w3 = load i64, ptr %p3
  %high = call i64 @llvm.fshl.i64(i64 %w0, i64 %w1, i64 %shift)
  %middle = call i64 @llvm.fshl.i64(i64 %w1, i64 %w2, i64 %shift)
  %low = call i64 @llvm.fshl.i64(i64 %w2, i64 %w3, i64 %shift)
  ; the product of the window and m in words, low to high; above 192 bits it is not needed
  %low.wide = zext i64 %low to i128
  %middle.wide = zext i64 %middle to i128
  %m.wide = zext i64 %m to i128
  %low.product = mul i128 %low.wide, %m.wide
  %product.0 = trunc i128 %low.product to i64
  %carried = lshr i128 %low.product, 64
  %middle.product = mul i128 %middle.wide, %m.wide
  %middle.sum = add i128 %middle.product, %carried
  %product.1 = trunc i128 %middle.sum to i64
  %carried.1 = lshr i128 %middle.sum, 64
  %carried.word = trunc i128 %carried.1 to i64
  %high.product = mul i64 %high, %m
  %product.2 = add i64 %high.product, %carried.word
  ; the nearest quarter turn, and the signed rest in units of 2**-192 quarter turns
  %rounded = add i64 %product.2, {half}
  %turns = lshr i64 %rounded, 62
  %rest.2 = call i64 @llvm.fshl.i64(i64 %product.2, i64 %product.1, i64 2)
  %rest.1 = call i64 @llvm.fshl.i64(i64 %product.1, i64 %product.0, i64 2)
  %rest.0 = shl i64 %product.0, 2
  %below = icmp slt i64 %rest.2, 0
  ; its size: 0 - rest where that is below 0
  %is.0 = icmp eq i64 %rest.0, 0
  %rest.01 = or i64 %rest.0, %rest.1
  %are.01 = icmp eq i64 %rest.01, 0
  %opposite.0 = sub i64 0, %rest.0
  %inverse.1 = xor i64 %rest.1, -1
  %carry.1 = zext i1 %is.0 to i64
  %opposite.1 = add i64 %inverse.1, %carry.1
  %inverse.2 = xor i64 %rest.2, -1
  %carry.2 = zext i1 %are.01 to i64
  %opposite.2 = add i64 %inverse.2, %carry.2
  %size.0 = select i1 %below, i64 %opposite.0, i64 %rest.0
  %size.1 = select i1 %below, i64 %opposite.1, i64 %rest.1
  %size.2 = select i1 %below, i64 %opposite.2, i64 %rest.2
  ; its first 106 bits: 62 zeros at most are before them
  %zeros = call i64 @llvm.ctlz.i64(i64 %size.2, i1 false)
  %normal.2 = call i64 @llvm.fshl.i64(i64 %size.2, i64 %size.1, i64 %zeros)
  %normal.1 = call i64 @llvm.fshl.i64(i64 %size.1, i64 %size.0, i64 %zeros)
  %head = lshr i64 %normal.2, 11
  %tail.long = call i64 @llvm.fshl.i64(i64 %normal.2, i64 %normal.1, i64 42)
  %tail = and i64 %tail.long, 9007199254740991
  %head.float = uitofp i64 %head to double
  %tail.float = uitofp i64 %tail to double
  %tail.scaled = fmul double %tail.float, {tail_unit}
  ; (head + tail) * pi/2 in two parts
  %r = fmul double %head.float, {half_pi}
  %r.negated = fneg double %r
  %error = call double @llvm.fma.f64(double %head.float, double {half_pi}, double %r.negated)
  %error.1 = call double @llvm.fma.f64(double %head.float, double {half_pi_low}, double %error)
  %error.2 = call double @llvm.fma.f64(double %tail.scaled, double {half_pi}, double %error.1)
  %sum = fadd double %r, %error.2
  ; 2**(-53 - zeros)
  %exponent = sub i64 970, %zeros
  %scale.pattern = shl i64 %exponent, 52
  %scale = bitcast i64 %scale.pattern to double
  %magnitude = fmul double %sum, %scale
  %flip = xor i1 %below, %negative
  %opposite = fneg double %magnitude
  %remainder = select i1 %flip, double %opposite, double %magnitude
  %turns.negated = sub i64 0, %turns
  %quarter.turns = select i1 %negative, i64 %turns.negated, i64 %turns
  %result.0 = insertvalue {{ double, i64 }} poison, double %remainder, 0
  %result = insertvalue {{ double, i64 }} %result.0, i64 %quarter.turns, 1
  ret {{ double, i64 }} %result
}}
"""

VECTOR = """\
define internal {{ {floats}, {ints} }} {symbol}({floats} %x) {attributes} {{
entry:
  %xs = alloca {floats}
  %rs = alloca {floats}
  %qs = alloca {ints}
  store {floats} %x, ptr %xs
  br label %lane

lane:
  %i = phi i64 [ 0, %entry ], [ %i.next, %lane ]
  %x.place = getelementptr {float}, ptr %xs, i64 %i
  %r.place = getelementptr {float}, ptr %rs, i64 %i
  %q.place = getelementptr {int}, ptr %qs, i64 %i
  %x.i = load {float}, ptr %x.place
  {widen}
  %pair = call {{ double, i64 }} @gradir.reduce_huge.f64(double %x.wide)
  %r.wide = extractvalue {{ double, i64 }} %pair, 0
  %q.wide = extractvalue {{ double, i64 }} %pair, 1
  {narrow_float}
  {narrow_int}
  store {float} %r.i, ptr %r.place
  store {int} %q.i, ptr %q.place
  %i.next = add nuw nsw i64 %i, 1
  %done = icmp eq i64 %i.next, {lanes}
  br i1 %done, label %exit, label %lane

exit:
  %r = load {floats}, ptr %rs
  %q = load {ints}, ptr %qs
  %result.0 = insertvalue {{ {floats}, {ints} }} poison, {floats} %r, 0
  %result = insertvalue {{ {floats}, {ints} }} %result.0, {ints} %q, 1
  ret {{ {floats}, {ints} }} %result
}}
"""

ONE_FLOAT = """\
define internal {{ float, i32 }} @gradir.reduce_huge.f32(float %x) {attributes} {{
entry:
  %x.wide = fpext float %x to double
  %pair = call {{ double, i64 }} @gradir.reduce_huge.f64(double %x.wide)
  %r.wide = extractvalue {{ double, i64 }} %pair, 0
  %q.wide = extractvalue {{ double, i64 }} %pair, 1
  %r = fptrunc double %r.wide to float
  %q = trunc i64 %q.wide to i32
  %result.0 = insertvalue {{ float, i32 }} poison, float %r, 0
  %result = insertvalue {{ float, i32 }} %result.0, i32 %q, 1
  ret {{ float, i32 }} %result
}}
"""


def symbol(bits: int, lanes: int) -> str:
    """The function from x to { r, q } with x = q pi/2 + r and |r| <= pi/4, for |x| >= 2**16."""
    return f"@gradir.reduce_huge.{mangled(f'f{bits}', lanes)}"


def dependencies(bits: int, lanes: int) -> tuple[tuple[int, int], ...]:
    """The widths of the functions that the definition calls."""
    return () if (bits, lanes) == (64, 1) else ((64, 1),)


def definition(bits: int, lanes: int) -> str:
    """The text of the function named by `symbol`."""
    if lanes == 1:
        return scalar_definition() if bits == 64 else ONE_FLOAT.format(attributes=ATTRIBUTES)
    # A conversion that changes nothing is a bitcast.
    up, down, down_int = ("fpext", "fptrunc", "trunc") if bits == 32 else ("bitcast",) * 3
    kind = f"f{bits}"
    element = llvm_type(kind)
    return VECTOR.format(
        attributes=ATTRIBUTES,
        symbol=symbol(bits, lanes),
        lanes=lanes,
        float=element,
        int=f"i{bits}",
        floats=llvm_type(kind, lanes),
        ints=llvm_type(f"i{bits}", lanes),
        widen=f"%x.wide = {up} {element} %x.i to double",
        narrow_float=f"%r.i = {down} double %r.wide to {element}",
        narrow_int=f"%q.i = {down_int} i64 %q.wide to i{bits}",
    )


def scalar_definition() -> str:
    return SCALAR.format(
        attributes=ATTRIBUTES,
        count=len(TWO_OVER_PI),
        words=", ".join(f"i64 {word}" for word in TWO_OVER_PI),
        half=1 << 61,
        tail_unit=literal("f64", 2.0**-53),
        half_pi=literal("f64", 1.5707963267948966),
        half_pi_low=literal("f64", 6.123233995736766e-17),
    )
