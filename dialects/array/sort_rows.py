"""The program that sorts rows: by counting for short ones, by digits for long ones. Stable.

Elements become integers that are ordered as they are, NaN last. In a short row each element counts
those that go before it, in vectors, and is stored at that place. A long row is sorted by digits,
the lowest first, each pass moving the row from one half of scratch to the other; a digit that is
the same everywhere is passed over. Rows are dealt out to groups that have scratch.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects import arith
from xdsl.dialects.builtin import IntegerType, i32, i64
from xdsl.ir import Attribute, SSAValue

from gradir.dialects.base.shapes import (
    byte_size,
    element_of,
    is_float,
    is_unsigned,
    shape_of,
    tensor,
)
from gradir.dialects.base.value import Emitter, Scalar
from gradir.dialects.building import body as b
from gradir.dialects.building.programs import ElementView, ScalarProgram, forall

# Groups of rows, each with scratch for one row: at most one per possible thread, and no more than
# the first number where rows are long, so that scratch stays below a multiple of the input.
FEW_GROUPS, MOST_GROUPS = 8, 64
GROUPED_ELEMENTS = 1 << 18
# The longest rows that are sorted by counting, by the bits of their keys.
COUNTED = {32: 160, 64: 112}
# Bits of a digit. More of them make fewer passes, but more counts to clear and to sum up, and more
# places to write to: too much for short rows, and for those that are not in the cache.
DIGIT_BITS, LONG_DIGIT_BITS = 8, 11
LONG_ROWS = range(1 << 14, 1 << 18)
# The most elements that are selected from a longer row without sorting the rest.
MOST_SELECTED = 32


@dataclass(frozen=True)
class RowSort:
    """A sort of the rows of `type`: order, number of elements, values or indices or both."""

    type: Attribute
    descending: bool
    count: int
    values: bool
    indices: bool

    def lower(self, emitter: Emitter, x: SSAValue) -> list[SSAValue]:
        """The first `count` values and their indices, as wanted, of each row of x (rank 2)."""
        rows, extent = shape_of(self.type)
        most = max(FEW_GROUPS, min(MOST_GROUPS, GROUPED_ELEMENTS // max(extent, 1)))
        groups = max(1, min(rows, most))
        wide = byte_size(element_of(self.type)) == 8
        key, place = (i64 if wide else i32), (i32 if extent < 1 << 31 else i64)
        program = _Sorting(self, groups, key)
        outputs = [tensor([rows, self.count], element_of(self.type))] if self.values else []
        outputs += [tensor([rows, self.count], i64)] if self.indices else []
        ordered, digits = extent if self.indices else 0, 0 if program.is_short else program.digits
        scratch = [tensor([groups, 2, extent], key), tensor([groups, 2, ordered], place)]
        scratch.append(tensor([groups, program.passes, digits], place))
        bounds = [min(groups, rows)]
        return forall(emitter, bounds, [x], [*outputs, *scratch], program.write)[: len(outputs)]


class _Sorting:
    """Writes the program. Of scratch, `keys` and `order` have two sides, 0 and 1."""

    p: ScalarProgram
    x: ElementView
    keys: ElementView
    order: ElementView
    counts: ElementView
    group: Scalar
    row: Scalar

    def __init__(self, wanted: RowSort, groups: int, key: IntegerType):
        self.wanted = wanted
        self.groups = groups
        self.rows, self.extent = shape_of(wanted.type)
        self.element = element_of(wanted.type)
        self.key = key
        self.bits = key.width.data
        # such a number has the sign bit of its key for its highest one
        self.is_unsigned = is_unsigned(self.element) and 8 * byte_size(self.element) == self.bits
        is_long = LONG_ROWS.start <= self.extent < LONG_ROWS.stop
        self.digit_bits = LONG_DIGIT_BITS if is_long else DIGIT_BITS
        self.digits = 1 << self.digit_bits
        self.passes = -(-self.bits // self.digit_bits)

    @property
    def is_short(self) -> bool:
        return self.extent <= COUNTED[self.bits]

    @property
    def selects(self) -> bool:
        return self.wanted.count <= MOST_SELECTED and 4 * self.wanted.count <= self.extent

    def write(self, p: ScalarProgram, x: ElementView, *rest: ElementView) -> None:
        *outputs, keys, order, counts = rest
        self.p, self.x, self.keys, self.order, self.counts = p, x, keys, order, counts
        self.group = p.index(0)
        low, high = (n * self.rows / p.integer(self.groups) for n in (self.group, self.group + 1))

        def one(row: Scalar) -> None:
            self.row = row
            side = self.sort_row()
            self.p.lanes(0, self.wanted.count, lambda k: self.output(outputs, side, k))

        p.for_loop(low, high, one)

    def sort_row(self) -> Scalar:
        """Sort keys and their order; returns their side of scratch."""
        if self.is_short:
            return self.count_before()
        if self.selects:
            return self.select()
        return self.sort_digits()

    def output(self, outputs: Sequence[ElementView], side: Scalar, k: Scalar) -> None:
        outputs = list(outputs)
        at = b.cast(self.order[self.group, side, k], i64) if self.wanted.indices else None
        if self.wanted.values:
            out = outputs.pop(0)
            if at is None:
                out[self.row, k] = self.value(self.keys[self.group, side, k])
            else:
                out[self.row, k] = self.x[self.row, at]
        if at is not None:
            outputs[0][self.row, k] = at

    # Keys.

    def number(self, value: int) -> Scalar:
        return self.p.number(value, self.key)

    def sign_of(self, key: Scalar) -> Scalar:
        """A mask of all bits but the sign for a negative key; else 0."""
        shift, rest = self.number(self.bits - 1), self.number((1 << self.bits - 1) - 1)
        return b.logical_and(key.emit(arith.ShRSIOp(key.ssa, shift.ssa)), rest)

    def key_of(self, x: Scalar) -> Scalar:
        """An integer with the order of the element (of zeros, -0.0 is equal to 0.0)."""
        key = x
        if is_float(x.type):
            # -0.0 + 0.0 is 0.0; where only values are results, zeros keep their signs
            plain = x + 0.0 if self.wanted.indices else x
            bits = plain.emit(arith.BitcastOp(plain.ssa, self.key))
            key = b.logical_xor(bits, self.sign_of(bits))
            key = b.select(b.unordered(x, x), self.number((1 << self.bits - 1) - 1), key)
        key = b.cast(key, self.key)
        key = self.flipped(key) if self.is_unsigned else key
        return b.logical_xor(key, self.number(-1)) if self.wanted.descending else key

    def value(self, key: Scalar) -> Scalar:
        """The element of a key."""
        key = b.logical_xor(key, self.number(-1)) if self.wanted.descending else key
        if not is_float(self.x.compute):
            return b.cast(self.flipped(key) if self.is_unsigned else key, self.x.compute)
        bits = b.logical_xor(key, self.sign_of(key))
        return bits.emit(arith.BitcastOp(bits.ssa, self.x.compute))

    def flipped(self, key: Scalar) -> Scalar:
        """The key with its sign bit flipped: ordered as an unsigned number, and back."""
        return b.logical_xor(key, self.number(-(1 << self.bits - 1)))

    # Short rows.

    def count_before(self) -> Scalar:
        p, keys, group = self.p, self.keys, self.group

        def load(i: Scalar) -> None:
            keys[group, 0, i] = self.key_of(self.x[self.row, i])

        def place(i: Scalar) -> None:
            own, number = keys[group, 0, i], b.cast(i, self.key)

            def count(j: Scalar, rank: Scalar) -> Scalar:
                other = keys[group, 0, j]
                earlier = b.cast(j, self.key) < number
                tied = b.logical_and(b.equal(other, own), earlier)
                before = b.logical_or(other < own, tied)
                return rank + b.cast(before, self.key)

            (rank,) = p.for_loop(0, self.extent, count, [self.number(0)])
            at = b.cast(rank, i64)
            if self.wanted.indices:
                self.order[group, 1, at] = b.cast(i, self.order.element)
            else:
                keys[group, 1, at] = own

        p.lanes(0, self.extent, load)
        p.lanes(0, self.extent, place)
        return p.integer(1)

    # Long rows.

    def sort_digits(self) -> Scalar:
        p = self.p

        def load(i: Scalar) -> None:
            self.keys[self.group, 0, i] = self.flipped(self.key_of(self.x[self.row, i]))
            if self.wanted.indices:
                self.order[self.group, 0, i] = b.cast(i, self.order.element)

        p.lanes(0, self.extent, load)
        self.count_digits()
        (side,) = p.for_loop(0, self.passes, self.digit_pass, [p.integer(0)])
        if not self.wanted.indices:

            def restore(i: Scalar) -> None:
                self.keys[self.group, side, i] = self.flipped(self.keys[self.group, side, i])

            p.lanes(0, self.wanted.count, restore)
        return side

    def digit(self, key: Scalar, number: Scalar | int) -> Scalar:
        shift = b.cast(self.p.integer(number), self.key) * self.digit_bits
        low = key.emit(arith.ShRUIOp(key.ssa, shift.ssa))
        return b.cast(b.logical_and(low, self.number(self.digits - 1)), i64)

    def count_digits(self) -> None:
        """The count of each digit, for all passes at once."""
        p, counts, group = self.p, self.counts, self.group
        one = p.number(1, counts.element)

        def clear(number: Scalar) -> None:
            def zero(d: Scalar) -> None:
                counts[group, number, d] = p.number(0, counts.element)

            p.lanes(0, self.digits, zero)

        def count(i: Scalar) -> None:
            key = self.keys[group, 0, i]
            for number in range(self.passes):
                at = (group, number, self.digit(key, number))
                counts[at] = counts[at] + one

        p.for_loop(0, self.passes, clear)
        p.for_loop(0, self.extent, count)

    def digit_pass(self, number: Scalar, side: Scalar) -> Scalar:
        """Move the row to the other side, ordered by one digit; returns its side."""
        p, counts, group = self.p, self.counts, self.group
        first = counts[group, number, self.digit(self.keys[group, side, 0], number)]
        other = 1 - side

        def start(d: Scalar, total: Scalar) -> Scalar:
            count = counts[group, number, d]
            counts[group, number, d] = total
            return total + count

        def move(i: Scalar) -> None:
            key = self.keys[group, side, i]
            d = self.digit(key, number)
            at = counts[group, number, d]
            counts[group, number, d] = at + 1
            at = b.cast(at, i64)
            self.keys[group, other, at] = key
            if self.wanted.indices:
                self.order[group, other, at] = self.order[group, side, i]

        def go() -> Scalar:
            p.for_loop(0, self.digits, start, [p.number(0, counts.element)])
            p.for_loop(0, self.extent, move)
            return other

        all_equal = b.equal(first, p.number(self.extent, counts.element))
        (found,) = p.if_(all_equal, lambda: side, go)
        return found

    def select(self) -> Scalar:
        """The first `count` elements, by insertion into a sorted list."""
        p, keys, order, group = self.p, self.keys, self.order, self.group
        count, last = self.wanted.count, self.wanted.count - 1

        def insert(i: Scalar, key: Scalar, filled: Scalar) -> None:
            def goes_on(k: Scalar) -> Scalar:
                before = b.maximum(k - 1, p.integer(0))
                return b.logical_and(k > p.integer(0), keys[group, 0, before] > key)

            def move(k: Scalar) -> Scalar:
                keys[group, 0, k] = keys[group, 0, k - 1]
                order[group, 0, k] = order[group, 0, k - 1]
                return k - 1

            (k,) = p.while_([filled], goes_on, move)
            keys[group, 0, k] = key
            order[group, 0, k] = b.cast(i, order.element)

        def begin(i: Scalar) -> None:
            insert(i, self.key_of(self.x[self.row, i]), i)

        def step(i: Scalar, worst: Scalar) -> Scalar:
            key = self.key_of(self.x[self.row, i])

            def replace() -> Scalar:
                insert(i, key, p.integer(last))
                return keys[group, 0, last]

            (worst,) = p.if_(key < worst, replace, lambda: worst)
            return worst

        p.for_loop(0, count, begin)
        if count:
            p.for_loop(count, self.extent, step, [keys[group, 0, last]])
        return p.integer(0)
