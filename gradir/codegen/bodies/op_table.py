"""The instructions of each op of a body: a table from op class to a function that writes them.

A function is handed the writer, the op, its operands' names and the number of lanes; all operands
have that many. Integer arithmetic wraps. Division and remainder by zero give 0, and the smallest
integer divided by -1 is itself; shifts by the width or more shift every bit out. Conversions from
float to integer saturate, NaN gives 0.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.dialects import arith, math, memref
from xdsl.ir import Operation

from gradir.codegen import costs
from gradir.codegen.text.instructions import Instructions
from gradir.codegen.text.kinds import (
    attribute_literal,
    bits_of,
    is_float,
    kind_of,
    llvm_type,
    mangled,
    splat_literal,
)
from gradir.codegen.vector_math import symbol
from gradir.dialects.loopnest import special
from gradir.dialects.loopnest.body_ops import LoadOp, StoreOp

Emit = Callable[[Instructions, Operation, Sequence[str], int], str]

FLOAT_PREDICATES = (
    *("false", "oeq", "ogt", "oge", "olt", "ole", "one", "ord"),
    *("ueq", "ugt", "uge", "ult", "ule", "une", "uno", "true"),
)
INTEGER_PREDICATES = ("eq", "ne", "slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge")

# math ops that are functions of gradir.codegen.vector_math, by the name they have there.
VECTOR_MATH: dict[type[Operation], str] = {
    math.ExpOp: "exp",
    math.Exp2Op: "exp2",
    math.ExpM1Op: "expm1",
    math.LogOp: "log",
    math.Log1pOp: "log1p",
    math.Log2Op: "log2",
    math.Log10Op: "log10",
    math.SinOp: "sin",
    math.CosOp: "cos",
    math.TanOp: "tan",
    math.SinhOp: "sinh",
    math.CoshOp: "cosh",
    math.TanhOp: "tanh",
    math.AsinOp: "asin",
    math.AcosOp: "acos",
    math.AtanOp: "atan",
    math.AsinhOp: "asinh",
    math.AcoshOp: "acosh",
    math.AtanhOp: "atanh",
    math.Atan2Op: "atan2",
    math.ErfOp: "erf",
    math.PowFOp: "pow",
    special.ErfcOp: "erfc",
    special.NormalCdfOp: "normal_cdf",
    special.NormalDensityOp: "normal_density",
    special.SigmoidOp: "sigmoid",
    special.SigmoidSlopeOp: "sigmoid_slope",
    special.TanhSlopeOp: "tanh_slope",
    special.SigmoidPointOp: "sigmoid_point",
    special.TanhPointOp: "tanh_point",
    special.SigmoidAtOp: "sigmoid_at",
    special.SigmoidSlopeAtOp: "sigmoid_slope_at",
    special.TanhAtOp: "tanh_at",
    special.HalfTanhAtOp: "half_tanh_at",
    special.TanhSlopeAtOp: "tanh_slope_at",
}


def operand_kind(op: Operation) -> str:
    return kind_of(op.operands[0].type)


def result_kind(op: Operation) -> str:
    return kind_of(op.results[0].type)


def _constant(i: Instructions, op: Operation, xs: Sequence[str], lanes: int) -> str:
    assert isinstance(op, arith.ConstantOp)
    kind = result_kind(op)
    return i.splat(kind, lanes, attribute_literal(op.value, kind))


# Floats: f16 and bf16 go through f32.

FloatFunction = Callable[[Instructions, str, int, Sequence[str]], str]


def _in_compute_kind(function: FloatFunction) -> Emit:
    """Computes in f32 where the kind is f16 or bf16, and rounds the result."""

    def emit(i: Instructions, op: Operation, xs: Sequence[str], lanes: int) -> str:
        kind = operand_kind(op)
        if bits_of(kind) != 16:
            return function(i, kind, lanes, xs)
        wide = [i.resize_float(kind, "f32", lanes, x) for x in xs]
        return i.resize_float("f32", kind, lanes, function(i, "f32", lanes, wide))

    return emit


def _float_binary(opcode: str) -> Emit:
    return _in_compute_kind(lambda i, k, n, xs: i.binary(opcode, k, n, xs[0], xs[1]))


def _float_intrinsic(name: str) -> Emit:
    return _in_compute_kind(lambda i, k, n, xs: i.intrinsic(name, k, n, *xs))


def _without_nan(name: str) -> Emit:
    """Of a number and a nan the number; LLVM's own maxnum would call the C library."""

    def emit(i: Instructions, kind: str, lanes: int, xs: Sequence[str]) -> str:
        x, y = xs
        no_x, no_y = (i.compare("uno", kind, lanes, v, v) for v in xs)
        both = i.select(kind, lanes, no_x, y, x), i.select(kind, lanes, no_y, x, y)
        return i.intrinsic(name, kind, lanes, *both)

    return _in_compute_kind(emit)


def _vector_math(name: str) -> Emit:
    return _in_compute_kind(lambda i, k, n, xs: _call_vector_math(i, name, k, n, xs))


def _call_vector_math(i: Instructions, name: str, kind: str, lanes: int, xs: Sequence[str]) -> str:
    i.needs.functions.add((name, bits_of(kind), lanes))
    type_ = llvm_type(kind, lanes)
    arguments = ", ".join(f"{type_} {x}" for x in xs)
    return i.call(type_, symbol(name, bits_of(kind), lanes), arguments)


def _rsqrt(i: Instructions, kind: str, lanes: int, xs: Sequence[str]) -> str:
    root = i.intrinsic("sqrt", kind, lanes, xs[0])
    return i.binary("fdiv", kind, lanes, i.number(kind, lanes, 1.0), root)


def _cbrt(i: Instructions, op: Operation, xs: Sequence[str], lanes: int) -> str:
    """|x| ** (1/3) in f64 and a step of Newton's, with the sign of x; rounded once."""
    kind = operand_kind(op)

    def number(value: float) -> str:
        return i.number("f64", lanes, value)

    x = i.resize_float(kind, "f64", lanes, xs[0])
    size = i.intrinsic("fabs", "f64", lanes, x)
    # small numbers are made large, as a quotient by a subnormal one has few bits
    small = i.compare("olt", "f64", lanes, size, number(2.0**-900))
    scaled = i.binary("fmul", "f64", lanes, size, number(2.0**900))
    base = i.select("f64", lanes, small, scaled, size)
    near = _call_vector_math(i, "pow", "f64", lanes, [base, number(1 / 3)])
    quotient = i.binary("fdiv", "f64", lanes, base, i.binary("fmul", "f64", lanes, near, near))
    off = i.binary("fdiv", "f64", lanes, i.binary("fsub", "f64", lanes, near, quotient), number(3))
    # of 0 and inf the quotient is nan
    off_is_number = i.compare("ord", "f64", lanes, off, off)
    off = i.select("f64", lanes, off_is_number, off, number(0))
    root = i.binary("fsub", "f64", lanes, near, off)
    back = i.binary("fmul", "f64", lanes, root, number(2.0**-300))
    root = i.select("f64", lanes, small, back, root)
    return i.resize_float("f64", kind, lanes, i.intrinsic("copysign", "f64", lanes, root, x))


def _fpowi(i: Instructions, op: Operation, xs: Sequence[str], lanes: int) -> str:
    """|x| ** n in f64, with the sign of x where n is odd; rounded once."""
    kind, integer = operand_kind(op), kind_of(op.operands[1].type)
    base = i.resize_float(kind, "f64", lanes, xs[0])
    exponent = i.integer_to_float(integer, "f64", lanes, xs[1], signed=True)
    size = i.intrinsic("fabs", "f64", lanes, base)
    power = _call_vector_math(i, "pow", "f64", lanes, [size, exponent])
    signed = i.intrinsic("copysign", "f64", lanes, power, base)
    last = i.binary("and", integer, lanes, xs[1], i.number(integer, lanes, 1))
    odd = i.compare("ne", integer, lanes, last, i.number(integer, lanes, 0))
    return i.resize_float("f64", kind, lanes, i.select("f64", lanes, odd, signed, power))


def _negf(i: Instructions, op: Operation, xs: Sequence[str], lanes: int) -> str:
    kind = operand_kind(op)
    if bits_of(kind) == 16:
        return i.binary("xor", kind, lanes, xs[0], splat_literal(kind, lanes, str(1 << 15)))
    return i.unary("fneg", kind, lanes, xs[0])


def _fma(i: Instructions, op: Operation, xs: Sequence[str], lanes: int) -> str:
    kind = operand_kind(op)
    wide = "f64" if bits_of(kind) == 16 else kind
    ys = [i.resize_float(kind, wide, lanes, x) for x in xs]
    return i.resize_float(wide, kind, lanes, i.intrinsic("fma", wide, lanes, *ys))


def _cmpf(i: Instructions, op: Operation, xs: Sequence[str], lanes: int) -> str:
    assert isinstance(op, arith.CmpfOp)
    kind = operand_kind(op)
    if bits_of(kind) == 16:
        xs, kind = [i.resize_float(kind, "f32", lanes, x) for x in xs], "f32"
    predicate = FLOAT_PREDICATES[op.predicate.value.data]
    return i.compare(predicate, kind, lanes, xs[0], xs[1])


# Integers.


def _integer_binary(opcode: str) -> Emit:
    return lambda i, op, xs, n: i.binary(opcode, operand_kind(op), n, xs[0], xs[1])


def _integer_intrinsic(name: str) -> Emit:
    return lambda i, op, xs, n: i.intrinsic(name, operand_kind(op), n, *xs)


def _absi(i: Instructions, op: Operation, xs: Sequence[str], lanes: int) -> str:
    kind = operand_kind(op)
    zero = i.number(kind, lanes, 0)
    negative = i.binary("sub", kind, lanes, zero, xs[0])
    return i.intrinsic("smax", kind, lanes, xs[0], negative)


def _count_zeros(name: str) -> Emit:
    """The width, of 0."""

    def emit(i: Instructions, op: Operation, xs: Sequence[str], lanes: int) -> str:
        kind = operand_kind(op)
        type_ = llvm_type(kind, lanes)
        symbol = f"@llvm.{name}.{mangled(kind, lanes)}"
        return i.call(type_, symbol, f"{type_} {xs[0]}, i1 false")

    return emit


def _ipowi(i: Instructions, op: Operation, xs: Sequence[str], lanes: int) -> str:
    """x ** y by squaring; to a negative power rounded towards 0, so 0 but for 1 and -1."""
    kind = operand_kind(op)
    x, y = xs
    zero, one, minus_one = (i.number(kind, lanes, v) for v in (0, 1, -1))
    result, square = one, x
    for k in range(max(bits_of(kind) - 1, 1)):
        bit = i.binary("and", kind, lanes, y, i.number(kind, lanes, 1 << k))
        taken = i.compare("ne", kind, lanes, bit, zero)
        result = i.select(kind, lanes, taken, i.binary("mul", kind, lanes, result, square), result)
        square = i.binary("mul", kind, lanes, square, square)
    # of 1 and -1 the last bit of the exponent decides, whatever its sign
    others = [i.compare("ne", kind, lanes, x, unit) for unit in (one, minus_one)]
    negative = i.compare("slt", kind, lanes, y, zero)
    is_fraction = i.binary("and", "i1", lanes, negative, i.binary("and", "i1", lanes, *others))
    return i.select(kind, lanes, is_fraction, zero, result)


def _cmpi(i: Instructions, op: Operation, xs: Sequence[str], lanes: int) -> str:
    assert isinstance(op, arith.CmpiOp)
    predicate = INTEGER_PREDICATES[op.predicate.value.data]
    return i.compare(predicate, operand_kind(op), lanes, xs[0], xs[1])


def _guarded(i: Instructions, opcode: str, kind: str, lanes: int, x: str, y: str) -> str:
    """Division or remainder that does not trap."""
    zero, one = (i.number(kind, lanes, v) for v in (0, 1))
    by_zero = i.compare("eq", kind, lanes, y, zero)
    unsafe = by_zero
    if opcode[0] == "s":
        smallest = i.number(kind, lanes, -(1 << bits_of(kind) - 1))
        at_end = i.compare("eq", kind, lanes, x, smallest)
        by_minus_one = i.compare("eq", kind, lanes, y, i.number(kind, lanes, -1))
        overflow = i.binary("and", "i1", lanes, at_end, by_minus_one)
        unsafe = i.binary("or", "i1", lanes, by_zero, overflow)
    result = i.binary(opcode, kind, lanes, x, i.select(kind, lanes, unsafe, one, y))
    return i.select(kind, lanes, by_zero, zero, result)


def _division(opcode: str) -> Emit:
    return lambda i, op, xs, n: _guarded(i, opcode, operand_kind(op), n, xs[0], xs[1])


def _rounded_division(opcode: str, up: bool) -> Emit:
    """Division rounded down or up: the truncated quotient, corrected where it is not exact."""

    def emit(i: Instructions, op: Operation, xs: Sequence[str], lanes: int) -> str:
        kind = operand_kind(op)
        x, y = xs
        zero = i.number(kind, lanes, 0)
        quotient = _guarded(i, opcode, kind, lanes, x, y)
        rest = i.binary("sub", kind, lanes, x, i.binary("mul", kind, lanes, quotient, y))
        wrong = i.compare("ne", kind, lanes, rest, zero)
        if opcode[0] == "s":
            signs = i.binary("xor", kind, lanes, rest, y)
            to_fix = i.compare("sge" if up else "slt", kind, lanes, signs, zero)
            wrong = i.binary("and", "i1", lanes, wrong, to_fix)
        divides = i.compare("ne", kind, lanes, y, zero)
        step = i.binary("and", "i1", lanes, wrong, divides)
        if kind != "i1":
            step = i.cast("zext", "i1", kind, lanes, step)
        return i.binary("add" if up else "sub", kind, lanes, quotient, step)

    return emit


def _shift(opcode: str) -> Emit:
    def emit(i: Instructions, op: Operation, xs: Sequence[str], lanes: int) -> str:
        kind = operand_kind(op)
        last = i.number(kind, lanes, bits_of(kind) - 1)
        inside = i.compare("ule", kind, lanes, xs[1], last)
        amount = i.select(kind, lanes, inside, xs[1], last)
        shifted = i.binary(opcode, kind, lanes, xs[0], amount)
        if opcode == "ashr":
            return shifted
        return i.select(kind, lanes, inside, shifted, i.number(kind, lanes, 0))

    return emit


# Conversions and selection.


def _select(i: Instructions, op: Operation, xs: Sequence[str], lanes: int) -> str:
    return i.select(result_kind(op), lanes, xs[0], xs[1], xs[2])


def _resize_float(i: Instructions, op: Operation, xs: Sequence[str], lanes: int) -> str:
    return i.resize_float(operand_kind(op), result_kind(op), lanes, xs[0])


def _cast(opcode: str) -> Emit:
    return lambda i, op, xs, n: i.cast(opcode, operand_kind(op), result_kind(op), n, xs[0])


def _index_cast(i: Instructions, op: Operation, xs: Sequence[str], lanes: int) -> str:
    source, target = operand_kind(op), result_kind(op)
    if source == target:
        return xs[0]
    opcode = "sext" if bits_of(source) < bits_of(target) else "trunc"
    return i.cast(opcode, source, target, lanes, xs[0])


def _bitcast(i: Instructions, op: Operation, xs: Sequence[str], lanes: int) -> str:
    source, target = operand_kind(op), result_kind(op)
    if source == target:
        return xs[0]
    return i.cast("bitcast", source, target, lanes, xs[0])


def _to_float(signed: bool) -> Emit:
    return lambda i, op, xs, n: i.integer_to_float(
        operand_kind(op), result_kind(op), n, xs[0], signed
    )


def _to_integer(signed: bool) -> Emit:
    return lambda i, op, xs, n: i.float_to_integer(
        operand_kind(op), result_kind(op), n, xs[0], signed
    )


OPS: dict[type[Operation], Emit] = {
    arith.ConstantOp: _constant,
    arith.AddfOp: _float_binary("fadd"),
    arith.SubfOp: _float_binary("fsub"),
    arith.MulfOp: _float_binary("fmul"),
    arith.DivfOp: _float_binary("fdiv"),
    # exact; of vectors lane by lane
    special.RemainderOp: _float_binary("frem"),
    arith.NegfOp: _negf,
    arith.MaximumfOp: _float_intrinsic("maximum"),
    arith.MinimumfOp: _float_intrinsic("minimum"),
    arith.MaxnumfOp: _without_nan("maximum"),
    arith.MinnumfOp: _without_nan("minimum"),
    arith.CmpfOp: _cmpf,
    arith.CmpiOp: _cmpi,
    arith.SelectOp: _select,
    arith.ExtFOp: _resize_float,
    arith.TruncFOp: _resize_float,
    arith.SIToFPOp: _to_float(signed=True),
    arith.UIToFPOp: _to_float(signed=False),
    arith.FPToSIOp: _to_integer(signed=True),
    arith.FPToUIOp: _to_integer(signed=False),
    arith.ExtSIOp: _cast("sext"),
    arith.ExtUIOp: _cast("zext"),
    arith.TruncIOp: _cast("trunc"),
    arith.IndexCastOp: _index_cast,
    arith.BitcastOp: _bitcast,
    arith.AddiOp: _integer_binary("add"),
    arith.SubiOp: _integer_binary("sub"),
    arith.MuliOp: _integer_binary("mul"),
    arith.DivSIOp: _division("sdiv"),
    arith.DivUIOp: _division("udiv"),
    arith.RemSIOp: _division("srem"),
    arith.RemUIOp: _division("urem"),
    arith.FloorDivSIOp: _rounded_division("sdiv", up=False),
    arith.CeilDivSIOp: _rounded_division("sdiv", up=True),
    arith.CeilDivUIOp: _rounded_division("udiv", up=True),
    arith.AndIOp: _integer_binary("and"),
    arith.OrIOp: _integer_binary("or"),
    arith.XOrIOp: _integer_binary("xor"),
    arith.ShLIOp: _shift("shl"),
    arith.ShRSIOp: _shift("ashr"),
    arith.ShRUIOp: _shift("lshr"),
    arith.MaxSIOp: _integer_intrinsic("smax"),
    arith.MinSIOp: _integer_intrinsic("smin"),
    arith.MaxUIOp: _integer_intrinsic("umax"),
    arith.MinUIOp: _integer_intrinsic("umin"),
    math.AbsFOp: _float_intrinsic("fabs"),
    math.AbsIOp: _absi,
    math.CeilOp: _float_intrinsic("ceil"),
    math.FloorOp: _float_intrinsic("floor"),
    math.RoundOp: _float_intrinsic("round"),
    math.RoundEvenOp: _float_intrinsic("roundeven"),
    math.TruncOp: _float_intrinsic("trunc"),
    math.CopySignOp: _float_intrinsic("copysign"),
    math.SqrtOp: _float_intrinsic("sqrt"),
    math.RsqrtOp: _in_compute_kind(_rsqrt),
    math.FmaOp: _fma,
    math.FPowIOp: _fpowi,
    math.CbrtOp: _cbrt,
    math.IPowIOp: _ipowi,
    math.CtPopOp: _integer_intrinsic("ctpop"),
    math.CountLeadingZerosOp: _count_zeros("ctlz"),
    math.CountTrailingZerosOp: _count_zeros("cttz"),
    **{op: _vector_math(name) for op, name in VECTOR_MATH.items()},
}

_INTEGER_DIVISIONS = (
    arith.DivSIOp, arith.DivUIOp, arith.RemSIOp, arith.RemUIOp, arith.FloorDivSIOp
)  # fmt: skip
# Every op that is not listed takes CHEAP_COST.
_COSTS: dict[type[Operation], float] = {
    arith.ConstantOp: 0.0,
    arith.DivfOp: costs.DIVISION_COST,
    special.RemainderOp: costs.REMAINDER_COST,
    math.SqrtOp: costs.SQUARE_ROOT_COST,
    math.RsqrtOp: costs.RECIPROCAL_ROOT_COST,
    **dict.fromkeys(_INTEGER_DIVISIONS, costs.INTEGER_DIVISION_COST),
    **dict.fromkeys(VECTOR_MATH, costs.MATH_COST),
    **dict.fromkeys((math.AsinhOp, math.AcoshOp, math.AtanhOp, math.Atan2Op), costs.LONG_MATH_COST),
    math.PowFOp: costs.FLOAT_POWER_COST,
    math.FPowIOp: costs.INTEGER_EXPONENT_COST,
    math.CbrtOp: costs.CUBE_ROOT_COST,
    math.IPowIOp: costs.INTEGER_POWER_COST,
}


def op_cost(op: Operation) -> float:
    """Roughly the nanoseconds that a vector of this op takes."""
    kind = kind_of(op.results[0].type) if op.results else "i1"
    is_half = is_float(kind) and bits_of(kind) == 16
    return _COSTS.get(type(op), costs.CHEAP_COST) * (costs.HALF_FACTOR if is_half else 1)


def number_cost(op: Operation) -> float:
    """Roughly the nanoseconds of an op of a program or a driver, on a number or a vector."""
    is_access = isinstance(op, LoadOp | StoreOp | memref.LoadOp | memref.StoreOp)
    return costs.MEMORY_COST if is_access else op_cost(op)
