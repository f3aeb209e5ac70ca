"""Ops of arith, math and loopnest bodies on numbers or tensors, element by element, in StableHLO.

A rule takes the op and its operands, tensors of one shape; numbers have rank 0. Integers of bodies
are signless, as in arith; ops that read them as unsigned convert their bits. Meanings at the ends
are gradir's: a division by zero is 0, floats that no integer holds saturate, nan becomes 0, and
shifts by the width or more shift every bit out.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import cast

from xdsl.dialects import arith
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, FloatAttr, IntegerAttr, f32, i1
from xdsl.ir import Attribute, Operation

from gradir.dialects.base.shapes import as_integer_type, byte_size, is_float
from gradir.dialects.foreign.elements import element_type, numbers_class
from gradir.stablehlo import special
from gradir.stablehlo.values import (
    Hlo,
    HloEmitter,
    bitcast,
    compare,
    constant,
    convert,
    full,
    hlo_element,
    hlo_type,
    select,
    unsigned,
)

Rule = Callable[[Operation, Sequence[Hlo]], Hlo]

_FLOAT_PREDICATES = (
    *("false", "oeq", "ogt", "oge", "olt", "ole", "one", "ord"),
    *("ueq", "ugt", "uge", "ult", "ule", "une", "uno", "true"),
)
_INTEGER_PREDICATES = ("eq", "ne", "slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge")


def _direct(name: str) -> Rule:
    return lambda op, xs: xs[0].emit(name, *xs[1:])


def _unary(function: Callable[[Hlo], Hlo]) -> Rule:
    return lambda op, xs: function(xs[0])


def _on_bools(name: str, of_bools: str) -> Rule:
    """An op of integers, which wraps, whose meaning on i1 has another name."""
    return lambda op, xs: xs[0].emit(of_bools if xs[0].element == i1 else name, *xs[1:])


def result_element(op: Operation) -> Attribute:
    return hlo_element(element_type(op.results[0].type))


# Floats.


def _fma(op: Operation, xs: Sequence[Hlo]) -> Hlo:
    return xs[0] * xs[1] + xs[2]


def is_nan(x: Hlo) -> Hlo:
    return compare(x, "NE", x)


def _without_nan(name: str) -> Rule:
    """Of a number and a nan the number."""

    def rule(op: Operation, xs: Sequence[Hlo]) -> Hlo:
        x, y = xs
        return select(is_nan(x), y, select(is_nan(y), x, x.emit(name, y)))

    return rule


def _compare_floats(op: Operation, xs: Sequence[Hlo]) -> Hlo:
    assert isinstance(op, arith.CmpfOp) or numbers_class(op) is arith.CmpfOp
    predicate = _FLOAT_PREDICATES[cast(arith.CmpfOp, op).predicate.value.data]
    x, y = xs
    if predicate in ("true", "false"):
        return full(x.at, predicate == "true", hlo_type(op.results[0].type))
    either = is_nan(x).emit("or", is_nan(y))
    if predicate in ("uno", "ord"):
        return either if predicate == "uno" else either.emit("not")
    made = compare(x, predicate[1:].upper(), y)
    if predicate[0] == "u" and predicate != "une":
        return made.emit("or", either)
    return made.emit("and", either.emit("not")) if predicate == "one" else made


# Integers.


def _on_unsigned(function: Callable[..., Hlo]) -> Rule:
    """A function of the operands' bits as unsigned integers; the result has their type again."""

    def rule(op: Operation, xs: Sequence[Hlo]) -> Hlo:
        element = xs[0].element
        made = function(*(bitcast(x, unsigned(element)) for x in xs))
        return made if made.element == i1 else bitcast(made, element)

    return rule


def _compare_integers(op: Operation, xs: Sequence[Hlo]) -> Hlo:
    predicate = _INTEGER_PREDICATES[cast(arith.CmpiOp, op).predicate.value.data]
    x, y = xs
    if predicate in ("eq", "ne"):
        return compare(x, predicate.upper(), y)
    kind, direction = predicate[0], predicate[1:].upper()
    if x.element == i1 and kind == "s":
        # a set bit is -1
        x, y = y, x
    if kind == "u":
        x, y = (bitcast(v, unsigned(v.element)) for v in (x, y))
    return compare(x, direction, y)


def _guarded(name: str, x: Hlo, y: Hlo) -> Hlo:
    """A quotient or remainder, 0 where y is 0."""
    zero = y.full(0)
    by_zero = compare(y, "EQ", zero)
    return select(by_zero, zero, x.emit(name, select(by_zero, y.full(1), y)))


def _division(name: str) -> Rule:
    return lambda op, xs: _guarded(name, *xs)


def _rounded_division(up: bool) -> Rule:
    """The signed quotient rounded down or up, 0 where the divisor is 0."""

    def rule(op: Operation, xs: Sequence[Hlo]) -> Hlo:
        x, y = xs
        zero = x.full(0)
        quotient, rest = _guarded("divide", x, y), _guarded("remainder", x, y)
        signs = compare(rest.emit("xor", y), "GE" if up else "LT", zero)
        off = compare(rest, "NE", zero).emit("and", signs)
        step = convert(off, x.element)
        return quotient + step if up else quotient - step

    return rule


def _divide_up(x: Hlo, y: Hlo) -> Hlo:
    quotient, rest = _guarded("divide", x, y), _guarded("remainder", x, y)
    return quotient + convert(compare(rest, "NE", rest.full(0)), x.element)


def _shift(name: str) -> Rule:
    def rule(op: Operation, xs: Sequence[Hlo]) -> Hlo:
        x, y = xs
        bits = 8 * byte_size(x.element)
        amount = bitcast(y, unsigned(y.element))
        inside = compare(amount, "LT", amount.full(bits))
        last = select(inside, y, y.full(bits - 1))
        shifted = x.emit(name, last)
        return shifted if "arithmetic" in name else select(inside, shifted, x.full(0))

    return rule


def _integer_power(op: Operation, xs: Sequence[Hlo]) -> Hlo:
    """To a negative power rounded towards 0, so 0 but for 1 and -1."""
    x, y = xs
    zero = y.full(0)
    negative = compare(y, "LT", zero)
    exponent = select(negative, y.emit("and", y.full(1)), y)
    power = x.emit("power", exponent)
    is_fraction = negative.emit("and", compare(x.emit("abs"), "NE", x.full(1)))
    return select(is_fraction, x.full(0), power)


def _trailing_zeros(op: Operation, xs: Sequence[Hlo]) -> Hlo:
    """The bits below the lowest one that is set; the width, of 0."""
    x = xs[0]
    return (x.emit("not").emit("and", x - 1)).emit("popcnt")


# Constants, conversions and selection.


def _constant(op: Operation, emitter: HloEmitter) -> Hlo:
    value = cast(arith.ConstantOp, op).value
    type_ = hlo_type(op.results[0].type)
    if isinstance(value, DenseIntOrFPElementsAttr):
        return dense_constant(emitter, value)
    assert isinstance(value, FloatAttr | IntegerAttr)
    return full(emitter, value.value.data, type_)


def dense_constant(emitter: HloEmitter, value: DenseIntOrFPElementsAttr) -> Hlo:
    """A constant of gradir in StableHLO: elements of type index are i64."""
    type_ = hlo_type(value.get_type())
    return constant(emitter, DenseIntOrFPElementsAttr(type_, value.data))  # pyrefly: ignore


def _to_element(op: Operation, xs: Sequence[Hlo]) -> Hlo:
    return convert(xs[0], result_element(op))


def _bits_as(op: Operation, xs: Sequence[Hlo]) -> Hlo:
    return bitcast(xs[0], result_element(op))


def _from_unsigned(op: Operation, xs: Sequence[Hlo]) -> Hlo:
    """The number of the operand's bits, which are unsigned, in a wider integer or a float."""
    target = result_element(op)
    wide = convert(bitcast(xs[0], unsigned(xs[0].element)), unsigned(target))
    return bitcast(wide, target)


def _extend_signed(op: Operation, xs: Sequence[Hlo]) -> Hlo:
    target = result_element(op)
    made = convert(xs[0], target)
    return -made if xs[0].element == i1 else made


def _truncate_integer(op: Operation, xs: Sequence[Hlo]) -> Hlo:
    target = result_element(op)
    x = xs[0].emit("and", xs[0].full(1)) if target == i1 else xs[0]
    return convert(x, target)


def to_integer(x: Hlo, target: Attribute) -> Hlo:
    """A float as an integer: towards 0, the last ones beyond the ends, nan as 0."""
    integer = as_integer_type(target)
    assert integer is not None
    bits, signed = integer.width.data, unsigned(target) != target
    low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if signed else (0, (1 << bits) - 1)
    made = convert(x, target)
    made = select(compare(x, "LE", x.full(low)), made.full(low), made)
    made = select(compare(x, "GE", x.full(float(high + 1))), made.full(high), made)
    return select(is_nan(x), made.full(0), made)


def _to_signed(op: Operation, xs: Sequence[Hlo]) -> Hlo:
    return to_integer(xs[0], result_element(op))


def _to_unsigned(op: Operation, xs: Sequence[Hlo]) -> Hlo:
    target = result_element(op)
    return bitcast(to_integer(xs[0], unsigned(target)), target)


def _select(op: Operation, xs: Sequence[Hlo]) -> Hlo:
    return select(*xs)


_FLOATS: dict[str, Rule] = {
    "arith.addf": _direct("add"),
    "arith.subf": _direct("subtract"),
    "arith.mulf": _direct("multiply"),
    "arith.divf": _direct("divide"),
    "arith.negf": _direct("negate"),
    "arith.remf": _direct("remainder"),
    "loopnest.remainder": _direct("remainder"),
    "arith.maximumf": _direct("maximum"),
    "arith.minimumf": _direct("minimum"),
    "arith.maxnumf": _without_nan("maximum"),
    "arith.minnumf": _without_nan("minimum"),
    "arith.cmpf": _compare_floats,
    "math.absf": _direct("abs"),
    "math.ceil": _direct("ceil"),
    "math.floor": _direct("floor"),
    "math.round": _direct("round_nearest_afz"),
    "math.roundeven": _direct("round_nearest_even"),
    "math.copysign": lambda op, xs: special.with_sign_of(xs[0], xs[1]),
    "math.sqrt": _direct("sqrt"),
    "math.rsqrt": _direct("rsqrt"),
    "math.exp": _direct("exponential"),
    "math.expm1": _direct("exponential_minus_one"),
    "math.log": _direct("log"),
    "math.log1p": _direct("log_plus_one"),
    "math.sin": _direct("sine"),
    "math.cos": _direct("cosine"),
    "math.tan": _direct("tan"),
    "math.tanh": _direct("tanh"),
    "math.atan2": _direct("atan2"),
    "math.powf": _direct("power"),
    "math.fpowi": lambda op, xs: xs[0].emit("power", convert(xs[1], xs[0].element)),
    "math.fma": _fma,
    **{name: _unary(function) for name, function in special.UNARY.items()},
}

_INTEGERS: dict[str, Rule] = {
    "arith.addi": _on_bools("add", "xor"),
    "arith.subi": _on_bools("subtract", "xor"),
    "arith.muli": _on_bools("multiply", "and"),
    "arith.divsi": _division("divide"),
    "arith.remsi": _division("remainder"),
    "arith.divui": _on_unsigned(partial(_guarded, "divide")),
    "arith.remui": _on_unsigned(partial(_guarded, "remainder")),
    "arith.floordivsi": _rounded_division(up=False),
    "arith.ceildivsi": _rounded_division(up=True),
    "arith.ceildivui": _on_unsigned(_divide_up),
    "arith.andi": _direct("and"),
    "arith.ori": _direct("or"),
    "arith.xori": _direct("xor"),
    "arith.shli": _shift("shift_left"),
    "arith.shrsi": _shift("shift_right_arithmetic"),
    "arith.shrui": _shift("shift_right_logical"),
    "arith.maxsi": _direct("maximum"),
    "arith.minsi": _direct("minimum"),
    "arith.maxui": _on_unsigned(lambda x, y: x.emit("maximum", y)),
    "arith.minui": _on_unsigned(lambda x, y: x.emit("minimum", y)),
    "arith.cmpi": _compare_integers,
    "math.absi": _direct("abs"),
    "math.ipowi": _integer_power,
    "math.ctpop": _direct("popcnt"),
    "math.ctlz": _direct("count_leading_zeros"),
    "math.cttz": _trailing_zeros,
}

_CONVERSIONS: dict[str, Rule] = {
    "arith.select": _select,
    "arith.extf": _to_element,
    "arith.truncf": _to_element,
    "arith.sitofp": _extend_signed,
    "arith.uitofp": lambda op, xs: convert(
        bitcast(xs[0], unsigned(xs[0].element)), result_element(op)
    ),
    "arith.fptosi": _to_signed,
    "arith.fptoui": _to_unsigned,
    "arith.extsi": _extend_signed,
    "arith.extui": _from_unsigned,
    "arith.trunci": _truncate_integer,
    "arith.index_cast": _to_element,
    "arith.index_castui": _from_unsigned,
    "arith.bitcast": _bits_as,
}

NUMBER_OPS: dict[str, Rule] = {**_FLOATS, **_INTEGERS, **_CONVERSIONS}
"""The rules by op name; arith.constant has none, as it has no operand to stand beside."""


def number_op(op: Operation, xs: Sequence[Hlo], emitter: HloEmitter) -> Hlo | None:
    """The result of an op of arith, math or a body; None for other ops."""
    if isinstance(op, arith.ConstantOp):
        return _constant(op, emitter)
    rule = NUMBER_OPS.get(op.name)
    if rule is None or not op.results:
        return None
    if any(is_float(x.element) and byte_size(x.element) == 2 for x in xs) and _is_math(op):
        # as native code has it: halves go through f32, rounded once
        wide = [convert(x, f32) if is_float(x.element) else x for x in xs]
        return convert(rule(op, wide), result_element(op))
    return rule(op, xs)


def _is_math(op: Operation) -> bool:
    return op.name.split(".")[0] in ("math", "loopnest") and op.name != "math.copysign"
