"""Instructions on one value or on a vector of lanes: arithmetic, conversions, combiners."""

from __future__ import annotations

from collections.abc import Sequence

from gradir.codegen.text.functions import FunctionText
from gradir.codegen.text.kinds import (
    FLOAT_BITS,
    bits_of,
    integers,
    is_float,
    literal,
    llvm_type,
    mangled,
    splat_literal,
)
from gradir.dialects.base.traced_sizes import SIZE, is_traced


class Instructions(FunctionText):
    """Appends instructions to a function; every method returns the name of its result."""

    def binary(self, opcode: str, kind: str, lanes: int, left: str, right: str) -> str:
        return self.emit(f"{opcode} {llvm_type(kind, lanes)} {left}, {right}")

    def unary(self, opcode: str, kind: str, lanes: int, operand: str) -> str:
        return self.emit(f"{opcode} {llvm_type(kind, lanes)} {operand}")

    def cast(self, opcode: str, source: str, target: str, lanes: int, operand: str) -> str:
        """`opcode operand to target`, for a cast instruction."""
        to = llvm_type(target, lanes)
        return self.emit(f"{opcode} {llvm_type(source, lanes)} {operand} to {to}")

    def select(self, kind: str, lanes: int, condition: str, then: str, other: str) -> str:
        type_ = llvm_type(kind, lanes)
        mask = llvm_type("i1", lanes)
        return self.emit(f"select {mask} {condition}, {type_} {then}, {type_} {other}")

    def compare(self, predicate: str, kind: str, lanes: int, left: str, right: str) -> str:
        opcode = "fcmp" if is_float(kind) else "icmp"
        return self.emit(f"{opcode} {predicate} {llvm_type(kind, lanes)} {left}, {right}")

    def splat(self, kind: str, lanes: int, scalar: str) -> str:
        """A vector with `scalar` in all lanes."""
        if scalar.startswith(SIZE) and kind not in ("i64", "index"):
            scalar = self._resized(kind, scalar)
        if lanes == 1 or not scalar.startswith("%"):
            return splat_literal(kind, lanes, scalar)
        type_ = llvm_type(kind, lanes)
        one = self.emit(f"insertelement {type_} poison, {llvm_type(kind)} {scalar}, i64 0")
        zeros = f"<{lanes} x i32> zeroinitializer"
        return self.emit(f"shufflevector {type_} {one}, {type_} poison, {zeros}")

    def _resized(self, kind: str, size: str) -> str:
        """A size, which is an i64, as a number of another kind."""
        if is_float(kind):
            return self.integer_to_float("i64", kind, 1, size, True)
        return self.cast("trunc", "i64", kind, 1, size)

    def shuffle(
        self, kind: str, lanes: int, left: str, order: Sequence[int], right: str = "poison"
    ) -> str:
        """The lanes that `order` lists, of `left` and `right` behind it, each of `lanes` lanes."""
        type_, places = llvm_type(kind, lanes), integers(order)
        return self.emit(
            f"shufflevector {type_} {left}, {type_} {right}, <{len(order)} x i32> {places}"
        )

    def number(self, kind: str, lanes: int, number: float) -> str:
        """The constant `number` in all lanes, as text."""
        if is_traced(number):
            return self.splat(kind, lanes, str(number))
        return splat_literal(kind, lanes, literal(kind, number))

    def intrinsic(self, name: str, kind: str, lanes: int, *operands: str) -> str:
        """A call of `@llvm.name` whose operands and result have one type."""
        type_ = llvm_type(kind, lanes)
        arguments = ", ".join(f"{type_} {operand}" for operand in operands)
        return self.call(type_, f"@llvm.{name}.{mangled(kind, lanes)}", arguments)

    # Conversions.

    def resize_float(self, source: str, target: str, lanes: int, operand: str) -> str:
        """From one float kind to another, rounded once to nearest even."""
        if source == target:
            return operand
        if FLOAT_BITS[source] == 16:
            operand, source = self._convert_half("extend", source, lanes, operand), "f32"
            if target == "f32":
                return operand
        if target in ("f32", "f64"):
            return self.cast(
                "fpext" if source == "f32" else "fptrunc", source, target, lanes, operand
            )
        if source == "f64":
            operand = self._round_to_odd(lanes, operand)
        return self._convert_half("narrow", target, lanes, operand)

    def _convert_half(self, name: str, half: str, lanes: int, operand: str) -> str:
        """From a half kind to f32 or back, by functions of ours in `target_functions.py`."""
        source, target = (half, "f32") if name == "extend" else ("f32", half)
        function = f"@gradir.{name}.{mangled(half, lanes)}"
        return self.call(
            llvm_type(target, lanes), function, f"{llvm_type(source, lanes)} {operand}"
        )

    def _round_to_odd(self, lanes: int, operand: str) -> str:
        """f64 to f32 such that rounding the result again gives what one rounding would have."""
        single = self.cast("fptrunc", "f64", "f32", lanes, operand)
        back = self.cast("fpext", "f32", "f64", lanes, single)
        inexact = self.compare("one", "f64", lanes, back, operand)
        sizes = [self.intrinsic("fabs", "f64", lanes, name) for name in (back, operand)]
        above = self.compare("ogt", "f64", lanes, *sizes)
        bits = self.cast("bitcast", "f32", "i32", lanes, single)
        lower = self.binary("sub", "i32", lanes, bits, self.cast("zext", "i1", "i32", lanes, above))
        odd = self.binary("or", "i32", lanes, lower, self.cast("zext", "i1", "i32", lanes, inexact))
        return self.cast("bitcast", "i32", "f32", lanes, odd)

    def integer_to_float(
        self, source: str, target: str, lanes: int, operand: str, signed: bool
    ) -> str:
        via = target
        if bits_of(target) == 16:
            via = "f32" if bits_of(source) <= 16 else "f64"
        value = self.cast("sitofp" if signed else "uitofp", source, via, lanes, operand)
        return self.resize_float(via, target, lanes, value)

    def float_to_integer(
        self, source: str, target: str, lanes: int, operand: str, signed: bool
    ) -> str:
        """Towards zero; numbers out of range go to the nearest end, NaN to 0."""
        if bits_of(source) == 16:
            operand, source = self.resize_float(source, "f32", lanes, operand), "f32"
        name = "fptosi.sat" if signed else "fptoui.sat"
        to, from_ = llvm_type(target, lanes), llvm_type(source, lanes)
        symbol = f"@llvm.{name}.{mangled(target, lanes)}.{mangled(source, lanes)}"
        return self.call(to, symbol, f"{from_} {operand}")

    def resize(
        self, source: str, target: str, lanes: int, operand: str, unsigned: bool = False
    ) -> str:
        """Between two floats, or two integers (signed unless `unsigned`), of any widths."""
        if source == target:
            return operand
        if is_float(source):
            return self.resize_float(source, target, lanes, operand)
        if bits_of(source) > bits_of(target):
            return self.cast("trunc", source, target, lanes, operand)
        extend = "zext" if unsigned or source == "i1" else "sext"
        return self.cast(extend, source, target, lanes, operand)

    # Combiners.

    def combine(self, combiner: str, kind: str, lanes: int, left: str, right: str) -> str:
        """`left combiner right`; maximum and minimum give NaN if one of them is."""
        if not is_float(kind):
            return self._combine_integers(combiner, kind, lanes, left, right)
        if bits_of(kind) == 16:
            wide = [self.resize_float(kind, "f32", lanes, v) for v in (left, right)]
            result = self.combine(combiner, "f32", lanes, *wide)
            return self.resize_float("f32", kind, lanes, result)
        if combiner in ("maximum", "minimum"):
            return self.intrinsic(combiner, kind, lanes, left, right)
        opcode = {"add": "fadd", "multiply": "fmul"}[combiner]
        return self.binary(opcode, kind, lanes, left, right)

    def _combine_integers(self, combiner: str, kind: str, lanes: int, left: str, right: str) -> str:
        sign, _, order = combiner.rpartition(" ")
        if order in ("maximum", "minimum"):
            # true is 1, the larger: signed order would have it as -1
            name = ("u" if sign or kind == "i1" else "s") + order[:3]
            return self.intrinsic(name, kind, lanes, left, right)
        opcode = {"add": "add", "multiply": "mul", "and": "and", "or": "or"}[combiner]
        return self.binary(opcode, kind, lanes, left, right)

    def order_key(self, kind: str, lanes: int, value: str, combiner: str) -> str:
        """An integer (i32 or i64) that is ordered as the float is: -inf, ..., -0, 0, ..., inf.

        NaN is the largest for combiner maximum, the smallest for minimum.
        """
        wide = "f64" if kind == "f64" else "f32"
        value = self.resize_float(kind, wide, lanes, value)
        integer = f"i{bits_of(wide)}"
        nan = {"i32": 0x7FC00000, "i64": 0x7FF8000000000000}[integer]
        if combiner == "minimum":
            nan -= 1 << bits_of(wide) - 1
        unordered = self.compare("uno", wide, lanes, value, value)
        bits = self.cast("bitcast", wide, integer, lanes, value)
        bits = self.select(integer, lanes, unordered, self.number(integer, lanes, nan), bits)
        return self._flip_negative(integer, lanes, bits)

    def from_order_key(self, kind: str, lanes: int, key: str) -> str:
        """The float of an order key."""
        wide = "f64" if kind == "f64" else "f32"
        integer = f"i{bits_of(wide)}"
        value = self.cast("bitcast", integer, wide, lanes, self._flip_negative(integer, lanes, key))
        return self.resize_float(wide, kind, lanes, value)

    def _flip_negative(self, kind: str, lanes: int, bits: str) -> str:
        """All bits but the sign turned round where the sign is set: its own inverse."""
        last = self.number(kind, lanes, bits_of(kind) - 1)
        sign = self.binary("ashr", kind, lanes, bits, last)
        others = self.number(kind, lanes, (1 << bits_of(kind) - 1) - 1)
        flip = self.binary("and", kind, lanes, sign, others)
        return self.binary("xor", kind, lanes, bits, flip)
