"""Scalar functions for the bodies of loop nests: each appends arith, math or loopnest ops.

An op class writes its meaning on one element with these: `b.exp(x) / (1 + b.exp(x))`. Elements of
f16 and bf16 are computed in f32 (`to_compute`) and rounded once at the end. Integers have arith's
signless types; unsigned elements are `Unsigned` scalars, on which the ops are unsigned.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import inf
from typing import Any

from xdsl.dialects import arith, math
from xdsl.dialects.builtin import (
    BFloat16Type,
    Float16Type,
    FloatAttr,
    IndexType,
    IntegerAttr,
    f32,
    i1,
    i64,
)
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.irdl import IRDLOperation

from gradir.dialects.base.elementwise_arith import comparison, made
from gradir.dialects.base.rounding import rounded
from gradir.dialects.base.shapes import as_integer_type, is_float, is_unsigned
from gradir.dialects.base.traced_sizes import is_traced
from gradir.dialects.base.value import Scalar, Unsigned
from gradir.dialects.loopnest import loopnest, special


def constant(like: Scalar, number: float) -> Scalar:
    """`number` in the type of `like`."""
    made = literal(like, number, like.type)
    return _as_unsigned(made) if isinstance(like, Unsigned) else made


def _full(like: Scalar, number: float, type_: Attribute) -> Scalar:
    del type_
    return constant(like, number)


def _as_unsigned(x: Scalar) -> Unsigned:
    return Unsigned(x.ssa, x.emitter)


def _plain(x: Scalar) -> Scalar:
    """A scalar to emit at that is not read as unsigned."""
    return Scalar(x.ssa, x.emitter) if isinstance(x, Unsigned) else x


def literal(near: Scalar, number: float, type_: Attribute) -> Scalar:
    """`number` in a given scalar type, emitted beside `near`."""
    if is_traced(number):
        return _traced_literal(near, number, type_)
    if is_float(type_):
        value: Attribute = FloatAttr(rounded(number, type_), type_)
    else:
        integer = as_integer_type(type_)
        value = (
            IntegerAttr(int(number), IndexType())
            if integer is None
            else IntegerAttr(int(number), integer, truncate_bits=True)
        )
    return _plain(near).constant(value)


def _traced_literal(near: Scalar, number: Any, type_: Attribute) -> Scalar:
    """A size that is a value of the program, rounded once where the type is a float's."""
    if not is_float(type_):
        integer = as_integer_type(type_) or IndexType()
        return _plain(near).constant(IntegerAttr(number, integer))
    whole = _plain(near).constant(IntegerAttr(number, i64))
    return _convert(arith.SIToFPOp, whole, type_)


Make = Callable[..., Operation]


def _by_type(on_float: Make, on_integer: Make | None, on_unsigned: Make | None):
    """The op for floats, integers or unsigned integers: one unsigned operand makes it unsigned."""

    def function(*operands: Scalar) -> Scalar:
        if is_float(operands[0].type):
            near, make = _plain(operands[0]), on_float
        else:
            near = next((o for o in operands if isinstance(o, Unsigned)), operands[0])
            make = on_unsigned if isinstance(near, Unsigned) else on_integer
        assert make is not None, f"no meaning on {operands[0].type}"
        return near.emit(make(*(o.ssa for o in operands)))

    return function


def _quickly(op_class: type[IRDLOperation]) -> Callable[..., Operation]:
    """Make an op of the type of its first operand, with the properties that its class starts with.

    IRDL's constructor, which finds these anew for each op, makes the first one.
    """
    known: list[Mapping[str, Attribute]] = []

    def make(*operands: SSAValue) -> Operation:
        if not known:
            first = op_class(*operands)
            known.append(first.properties)
            first.erase()
        return op_class.create(
            operands=operands, result_types=[operands[0].type], properties=known[0]
        )

    return make


def _same_type(
    on_float: type[IRDLOperation],
    on_integer: type[IRDLOperation] | None,
    on_unsigned: type[IRDLOperation] | None = None,
):
    """An op by type; unsigned integers have the op of integers where none is given."""
    classes = on_integer, on_unsigned or on_integer
    return _by_type(_quickly(on_float), *(None if c is None else _quickly(c) for c in classes))


def _compare(float_predicate: str, integer_predicate: str, unsigned_predicate: str = ""):
    def make(op: type[arith.CmpfOp | arith.CmpiOp], predicate: str) -> Make:
        def made(x: SSAValue, y: SSAValue) -> Operation:
            return comparison(op, x, y, predicate)

        return made

    predicates = integer_predicate, unsigned_predicate or integer_predicate
    on_integers = (make(arith.CmpiOp, p) for p in predicates)
    function = _by_type(make(arith.CmpfOp, float_predicate), *on_integers)

    def compare(x: Scalar, y: Scalar) -> Scalar:
        return _plain(function(x, y))

    return compare


def _negate(x: Scalar) -> Scalar:
    return x.emit(arith.NegfOp(x.ssa)) if is_float(x.type) else 0 - x


add = _same_type(arith.AddfOp, arith.AddiOp)
subtract = _same_type(arith.SubfOp, arith.SubiOp)
multiply = _same_type(arith.MulfOp, arith.MuliOp)
divide = _same_type(arith.DivfOp, arith.FloorDivSIOp, arith.DivUIOp)
maximum = _same_type(arith.MaximumfOp, arith.MaxSIOp, arith.MaxUIOp)
minimum = _same_type(arith.MinimumfOp, arith.MinSIOp, arith.MinUIOp)
less = _compare("olt", "slt", "ult")
less_equal = _compare("ole", "sle", "ule")
greater = _compare("ogt", "sgt", "ugt")
greater_equal = _compare("oge", "sge", "uge")
equal = _compare("oeq", "eq")
not_equal = _compare("une", "ne")
unordered = _compare("uno", "ne")
_absolute = _same_type(math.AbsFOp, math.AbsIOp)
exp = _same_type(math.ExpOp, None)
exp2 = _same_type(math.Exp2Op, None)
expm1 = _same_type(math.ExpM1Op, None)
log = _same_type(math.LogOp, None)
log1p = _same_type(math.Log1pOp, None)
log2 = _same_type(math.Log2Op, None)
log10 = _same_type(math.Log10Op, None)
sqrt = _same_type(math.SqrtOp, None)
rsqrt = _same_type(math.RsqrtOp, None)
cbrt = _same_type(math.CbrtOp, None)
sin = _same_type(math.SinOp, None)
cos = _same_type(math.CosOp, None)
tan = _same_type(math.TanOp, None)
asin = _same_type(math.AsinOp, None)
acos = _same_type(math.AcosOp, None)
atan = _same_type(math.AtanOp, None)
atan2 = _same_type(math.Atan2Op, None)
sinh = _same_type(math.SinhOp, None)
cosh = _same_type(math.CoshOp, None)
tanh = _same_type(math.TanhOp, None)
asinh = _same_type(math.AsinhOp, None)
acosh = _same_type(math.AcoshOp, None)
atanh = _same_type(math.AtanhOp, None)
erf = _same_type(math.ErfOp, None)
erfc = _same_type(special.ErfcOp, None)
normal_density = _same_type(special.NormalDensityOp, None)
normal_cdf = _same_type(special.NormalCdfOp, None)
sigmoid = _same_type(special.SigmoidOp, None)
sigmoid_point = _same_type(special.SigmoidPointOp, None)
sigmoid_slope = _same_type(special.SigmoidSlopeOp, None)
tanh_slope = _same_type(special.TanhSlopeOp, None)
tanh_point = _same_type(special.TanhPointOp, None)
sigmoid_at = _same_type(special.SigmoidAtOp, None)
sigmoid_slope_at = _same_type(special.SigmoidSlopeAtOp, None)
half_tanh_at = _same_type(special.HalfTanhAtOp, None)
tanh_at = _same_type(special.TanhAtOp, None)
tanh_slope_at = _same_type(special.TanhSlopeAtOp, None)
power = _same_type(math.PowFOp, None)
# with the sign of the dividend
truncated_remainder = _same_type(special.RemainderOp, arith.RemSIOp, arith.RemUIOp)
floor = _same_type(math.FloorOp, None)
ceil = _same_type(math.CeilOp, None)
trunc = _same_type(math.TruncOp, None)
round_even = _same_type(math.RoundEvenOp, None)
copysign = _same_type(math.CopySignOp, None)
fma = _same_type(math.FmaOp, None)
logical_and = _same_type(arith.AndIOp, arith.AndIOp)
logical_or = _same_type(arith.OrIOp, arith.OrIOp)
logical_xor = _same_type(arith.XOrIOp, arith.XOrIOp)


def absolute(x: Scalar) -> Scalar:
    """|x|; of an unsigned integer x itself."""
    return x if isinstance(x, Unsigned) else _absolute(x)


def logical_not(x: Scalar) -> Scalar:
    return logical_xor(x, literal(x, 1, i1))


def hypot(x: Scalar, y: Scalar) -> Scalar:
    """sqrt(x * x + y * y) of floats, the larger factored out."""
    a, c = absolute(x), absolute(y)
    top, low = maximum(a, c), minimum(a, c)
    zero, one, infinite = constant(x, 0), constant(x, 1), constant(x, inf)
    ratio = low / select(equal(top, zero), one, top)
    length = top * sqrt(fma(ratio, ratio, one))
    return select(logical_or(equal(a, infinite), equal(c, infinite)), infinite, length)


def integer_power(x: Scalar, y: Scalar, bits: int) -> Scalar:
    """x ** y of integers by squaring, for exponents of `bits` bits; 0 of a fraction."""
    zero, one = constant(x, 0), constant(x, 1)
    result, square = one, x
    for k in range(bits):
        taken = not_equal(logical_and(y, constant(y, 1 << k)), zero)
        result = select(taken, result * square, result)
        square = square * square
    if isinstance(y, Unsigned):
        return result
    # of 1 and -1 the last bit of the exponent decides, whatever its sign
    is_fraction = logical_and(y < zero, not_equal(absolute(x), one))
    return select(is_fraction, zero, result)


def _rest(x: Scalar, y: Scalar, zero: Scalar) -> tuple[Scalar, Scalar]:
    """The remainder with the sign of x, and whether y has another sign."""
    rest = truncated_remainder(x, y)
    return rest, logical_and(not_equal(rest, zero), logical_xor(rest < zero, y < zero))


def floor_remainder(x: Scalar, y: Scalar) -> Scalar:
    """x - y * floor(x / y), with the sign of y; integers give 0 where y is 0."""
    if isinstance(x, Unsigned):
        return truncated_remainder(x, y)
    zero = constant(x, 0)
    rest, wrong = _rest(x, y, zero)
    if not is_float(x.type):
        return select(wrong, rest + y, rest)
    # an exact division leaves a zero with the sign of y; by 0 it is nan
    exact = select(equal(y, zero), rest, copysign(zero, y))
    return select(equal(rest, zero), exact, select(wrong, rest + y, rest))


def floor_divide(x: Scalar, y: Scalar) -> Scalar:
    """floor(x / y) as Python has it: consistent with `floor_remainder`; x / y where y is 0."""
    if not is_float(x.type):
        return x / y
    zero, one = constant(x, 0), constant(x, 1)
    rest, wrong = _rest(x, y, zero)
    # nearly an integer, so that it is rounded, not cut
    near = (x - rest) / y
    near = select(wrong, near - one, near)
    low = floor(near)
    low = select(near - low > 0.5, low + one, low)
    quotient = x / y
    whole = select(equal(near, zero), copysign(zero, quotient), low)
    return select(equal(y, zero), quotient, whole)


def select(condition: Scalar, x: Scalar, y: Scalar) -> Scalar:
    """x where the condition is true, else y."""
    near = y if isinstance(y, Unsigned) else x
    return near.emit(made(arith.SelectOp, [condition.ssa, x.ssa, y.ssa], x.ssa.type))


Scalar.OPERATORS.update(
    full=_full,
    add=add,
    subtract=subtract,
    multiply=multiply,
    divide=divide,
    negative=_negate,
    less=less,
    less_equal=less_equal,
    greater=greater,
    greater_equal=greater_equal,
    equal=equal,
    not_equal=not_equal,
    logical_and=logical_and,
    logical_or=logical_or,
    logical_not=logical_not,
    where=select,
    tanh=tanh,
)


def index(near: Scalar, dim: int) -> Scalar:
    """The current value of iteration dimension `dim`, i64."""
    return near.emit(loopnest.IndexOp(dim))


def load(source: Scalar, indices: Sequence[Scalar]) -> Scalar:
    """An element of a whole tensor operand."""
    return source.emit(loopnest.LoadOp(source.ssa, [i.ssa for i in indices]))


def check_index(x: Scalar, bound: int, message: str, from_start: bool = False) -> Scalar:
    """x (i64) as an index in [0, bound): negative values count from the end unless `from_start`;
    others are errors."""
    return x.emit(loopnest.CheckIndexOp(x.ssa, bound, message, from_start))


def cast(x: Scalar, target: Attribute) -> Scalar:
    """x converted to an element type; to i1 by comparing with 0, to ui8 as an unsigned number.

    Floats become integers towards 0 and saturate, nan is 0; integers wrap.
    """
    type_ = loopnest.scalar_type(target)
    made = _plain(x if x.type == type_ else _converted(x, type_, is_unsigned(target)))
    return _as_unsigned(made) if is_unsigned(target) else made


def bitcast(x: Scalar, target: Attribute) -> Scalar:
    """The bits of x as an element type of the same width."""
    type_ = loopnest.scalar_type(target)
    plain = _plain(x)
    made = plain if x.type == type_ else plain.emit(arith.BitcastOp(plain.ssa, type_))
    return _as_unsigned(made) if is_unsigned(target) else made


def _converted(x: Scalar, target: Attribute, to_unsigned: bool) -> Scalar:
    source = x.type
    if target == i1:
        return x.not_equal(0)
    if is_float(source) and is_float(target):
        return _resize_float(x, target)
    if is_float(source):
        return _convert(arith.FPToUIOp if to_unsigned else arith.FPToSIOp, x, target)
    unsigned = isinstance(x, Unsigned) or source == i1
    if is_float(target):
        return _convert(arith.UIToFPOp if unsigned else arith.SIToFPOp, x, target)
    return _resize_integer(x, target, unsigned)


def _convert(op: type[Operation], x: Scalar, target: Attribute) -> Scalar:
    return x.emit(made(op, [x.ssa], x.of_type(target)))


def _resize_float(x: Scalar, target: Attribute) -> Scalar:
    """Between formats of equal width (f16, bf16) through f32."""
    source = x.type
    assert is_float(target)
    if source.bitwidth == target.bitwidth:
        return _resize_float(_resize_float(x, f32), target)
    resize = arith.ExtFOp if source.bitwidth < target.bitwidth else arith.TruncFOp
    return _convert(resize, x, target)


def _resize_integer(x: Scalar, target: Attribute, unsigned: bool) -> Scalar:
    width, wanted = as_integer_type(x.type), as_integer_type(target)
    assert width is not None and wanted is not None
    if width.width.data > wanted.width.data:
        return _convert(arith.TruncIOp, x, wanted)
    return _convert(arith.ExtUIOp if unsigned else arith.ExtSIOp, x, wanted)


def compute_type(element: Attribute) -> Attribute:
    """The scalar type of a tensor's elements in bodies."""
    if isinstance(element, Float16Type | BFloat16Type):
        return f32
    return loopnest.scalar_type(element)


def to_compute(x: Scalar, element: Attribute) -> Scalar:
    """An element of a tensor, as it was loaded, converted to its compute type."""
    return _as_unsigned(x) if is_unsigned(element) else cast(x, compute_type(element))


def from_compute(x: Scalar, element: Attribute) -> Scalar:
    """A computed value rounded to the element type of a tensor."""
    return cast(x, element)


# Ops of a body that cost next to nothing: accesses and constants are folded.
_FREE = (
    arith.ConstantOp,
    loopnest.IndexOp,
    arith.IndexCastOp,
    arith.SIToFPOp,
    arith.TruncIOp,
)


def computes(block: Block) -> bool:
    """Whether a body does more than to yield an element, a constant or an index."""
    return any(not isinstance(op, (*_FREE, loopnest.YieldOp)) for op in block.ops)


def values_of(block_args: Sequence[SSAValue], emitter: Any) -> list[Scalar]:
    """Block arguments of a body as scalars (or whole tensors, for `load`)."""
    return [Scalar(a, emitter) for a in block_args]
