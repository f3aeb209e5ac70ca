"""The register tile of a contraction: rows x vectors of accumulators, and the loop over k.

One generator serves every layout: the right operand is read as vectors along n, the left one as
broadcast scalars, both through strides that are constants.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import prod

from gradir.codegen.gemm.plan import ELEMENT_BYTES, HALF_KINDS, Vector
from gradir.codegen.text.functions import FunctionText
from gradir.codegen.text.half_floats import extended

# k that a loop over transposed blocks does at a time.
UNROLLED_STEPS = 8
# Multiply-adds that a tile writes out for short loops over dimensions of k.
MOST_UNROLLED = 288
# Scalars shared by written-out steps pay as long as they need so many times the registers at most:
# what they spare are memory operands.
CROWDED = 1.125


@dataclass(frozen=True)
class Source:
    """An operand as the tile sees it: a pointer to its first element and two constant strides."""

    pointer: str
    element: str
    row_stride: int
    column_stride: int

    def at(self, f: FunctionText, row: str, column: str) -> Source:
        """The same operand from another element on."""
        offset = add(f, multiply(f, row, self.row_stride), multiply(f, column, self.column_stride))
        return replace(self, pointer=element_pointer(f, self.element, self.pointer, offset))

    def moved(self, f: FunctionText, steps: Sequence[str], strides: Sequence[int]) -> Source:
        """The same operand so many steps of these strides on."""
        offset = "0"
        for step, stride in zip(steps, strides, strict=True):
            offset = add(f, offset, multiply(f, step, stride))
        return replace(self, pointer=element_pointer(f, self.element, self.pointer, offset))

    def kept_apart(self, f: FunctionText) -> Source:
        """The same operand by a pointer of which LLVM does not know that it is the same.

        Else it keeps the scalars of a step, which the window of the next one shares, in registers
        that the accumulators need.
        """
        return replace(self, pointer=f.emit(f'call ptr asm "", "=r,0"(ptr {self.pointer})'))


@dataclass(frozen=True)
class KLoop:
    """A loop over one dimension k: its length, and the step of each operand along it."""

    length: str
    left: int
    right: int


def add(f: FunctionText, left: str, right: str | int) -> str:
    """left + right, folded if both are literals."""
    right = str(right)
    if left == "0" or right == "0":
        return right if left == "0" else left
    if left.isdigit() and right.isdigit():
        return str(int(left) + int(right))
    return f.emit(f"add nsw i64 {left}, {right}")


def subtract(f: FunctionText, left: str, right: str | int) -> str:
    """left - right, folded if both are literals."""
    right = str(right)
    if right == "0":
        return left
    if left.isdigit() and right.isdigit():
        return str(int(left) - int(right))
    return f.emit(f"sub nsw i64 {left}, {right}")


def multiply(f: FunctionText, value: str, factor: int) -> str:
    """value * factor, folded if value is a literal or the factor is 0 or 1."""
    if value.isdigit() or factor == 0:
        return str(int(value) * factor) if value.isdigit() else "0"
    return value if factor == 1 else f.emit(f"mul nsw i64 {value}, {factor}")


def minimum(f: FunctionText, left: str, right: str | int) -> str:
    right = str(right)
    if left.isdigit() and right.isdigit():
        return str(min(int(left), int(right)))
    return f.emit(f"call i64 @llvm.smin.i64(i64 {left}, i64 {right})")


def maximum(f: FunctionText, left: str, right: str | int) -> str:
    right = str(right)
    if left.isdigit() and right.isdigit():
        return str(max(int(left), int(right)))
    return f.emit(f"call i64 @llvm.smax.i64(i64 {left}, i64 {right})")


def element_pointer(f: FunctionText, element: str, base: str, offset: str) -> str:
    """base + offset elements."""
    if offset == "0":
        return base
    return f.emit(f"getelementptr inbounds {stored(element)}, ptr {base}, i64 {offset}", "p")


def mask_of(vector: Vector) -> str | None:
    """The constant that has the lanes that exist, or None if all do."""
    if vector.valid == vector.lanes:
        return None
    bits = ", ".join(f"i1 {int(lane < vector.valid)}" for lane in range(vector.lanes))
    return f"<{bits}>"


def intrinsic_suffix(element: str, lanes: int) -> str:
    """`v16f32` and the like, as names of overloaded intrinsics spell vector types."""
    kind = {"float": "f32", "double": "f64", "i16": "i16"}[element]
    return f"v{lanes}{kind}"


def stored(element: str) -> str:
    """The LLVM type of an element in memory: f16 and bf16 are seen as their bits."""
    return "i16" if element in HALF_KINDS else element


def load_vector(
    f: FunctionText, element: str, accumulator: str, pointer: str, vector: Vector
) -> str:
    """A vector of consecutive elements, extended to the accumulator's type; missing lanes are 0."""
    bytes_ = ELEMENT_BYTES[element]
    shape = f"<{vector.lanes} x {stored(element)}>"
    mask = mask_of(vector)
    if mask is None:
        value = f.emit(f"load {shape}, ptr {pointer}, align {bytes_}", "b")
    else:
        name = f"@llvm.masked.load.{intrinsic_suffix(stored(element), vector.lanes)}.p0"
        value = f.emit(
            f"call {shape} {name}(ptr align {bytes_} {pointer}, "
            f"<{vector.lanes} x i1> {mask}, {shape} zeroinitializer)",
            "b",
        )
    return _extend(f, element, accumulator, value, vector.lanes)


def load_scalar(f: FunctionText, element: str, accumulator: str, pointer: str) -> str:
    """One element, extended to the accumulator's type."""
    value = f.emit(f"load {stored(element)}, ptr {pointer}, align {ELEMENT_BYTES[element]}", "a")
    return _extend(f, element, accumulator, value, None)


def _extend(f: FunctionText, element: str, accumulator: str, value: str, lanes: int | None) -> str:
    """The value in the accumulator's type; `lanes` is None for a scalar."""
    if element in HALF_KINDS:
        value, element = extended(f, HALF_KINDS[element], lanes, value), "float"
    if element == accumulator:
        return value
    before, after = ("", "") if lanes is None else (f"<{lanes} x ", ">")
    return f.emit(f"fpext {before}{element}{after} {value} to {before}{accumulator}{after}")


def store_vector(f: FunctionText, kind: str, value: str, pointer: str, lanes: int) -> None:
    f.line(f"store <{lanes} x {kind}> {value}, ptr {pointer}, align {ELEMENT_BYTES[kind]}")


def splat(f: FunctionText, accumulator: str, value: str, lanes: int) -> str:
    """All lanes equal to a scalar."""
    one = f.emit(
        f"insertelement <{lanes} x {accumulator}> poison, {accumulator} {value}, i64 0", "s"
    )
    return f.emit(
        f"shufflevector <{lanes} x {accumulator}> {one}, <{lanes} x {accumulator}> poison, "
        f"<{lanes} x i32> zeroinitializer",
        "s",
    )


def load_transposed(
    f: FunctionText, kind: str, source: Source, vector: Vector, count: int | None = None
) -> list[str]:
    """The next k of the columns of one vector, out of memory that is contiguous along k.

    There are as many k as the vector has lanes, or `count`.
    """
    count = vector.lanes if count is None else count
    rows: list[str] = []
    for column in range(vector.valid):
        pointer = source.at(f, "0", str(column)).pointer
        rows.append(load_vector(f, source.element, kind, pointer, Vector(vector.lanes, count)))
    rows += ["zeroinitializer"] * (vector.lanes - vector.valid)
    return transpose(f, kind, rows)[:count]


def transpose(f: FunctionText, kind: str, rows: list[str]) -> list[str]:
    """Transpose a square of as many vectors as each has lanes.

    Only shuffles that are single instructions are used: interleaving inside 128-bit blocks, then
    taking every second block of a pair of vectors.
    """
    lanes = len(rows)
    block = _block(kind, lanes)
    inside = [
        _transpose_in_blocks(f, kind, rows[start : start + block], lanes)
        for start in range(0, lanes, block)
    ]
    columns = [
        _transpose_blocks(f, kind, [group[place] for group in inside], block, lanes)
        for place in range(block)
    ]
    return [columns[place][number] for number in range(lanes // block) for place in range(block)]


def load_transposed_blocks(
    f: FunctionText, kind: str, source: Source, vector: Vector, count: int
) -> list[str]:
    """The next `count` k, at most 128 bits of them, of memory that is contiguous along k.

    The blocks of 128 bits go to their places as they are loaded, which spares shuffles.
    """
    block = _block(kind, vector.lanes)
    rows: list[str] = []
    for row in range(block):
        pieces: list[str] = []
        for column in range(row, vector.lanes, block):
            if column < vector.valid:
                pointer = source.at(f, "0", str(column)).pointer
                piece = load_vector(f, source.element, kind, pointer, Vector(block, count))
            else:
                piece = "zeroinitializer"
            pieces.append(piece)
        while len(pieces) > 1:
            width = vector.lanes // len(pieces)
            joined = [*range(2 * width)]
            pairs = zip(pieces[::2], pieces[1::2], strict=True)
            pieces = [_shuffle(f, kind, low, high, joined, width) for low, high in pairs]
        rows.append(pieces[0])
    return _transpose_in_blocks(f, kind, rows, vector.lanes)[:count]


def _block(kind: str, lanes: int) -> int:
    """Lanes in 128 bits."""
    return min(lanes, 16 // ELEMENT_BYTES[kind])


def _shuffle(
    f: FunctionText, kind: str, left: str, right: str, indices: list[int], lanes: int | None = None
) -> str:
    """Lanes of two vectors that have as many lanes as the result, or `lanes`."""
    shape = f"<{lanes or len(indices)} x {kind}>"
    text = ", ".join(f"i32 {index}" for index in indices)
    return f.emit(
        f"shufflevector {shape} {left}, {shape} {right}, <{len(indices)} x i32> <{text}>", "t"
    )


def _transpose_in_blocks(f: FunctionText, kind: str, group: list[str], lanes: int) -> list[str]:
    """Transpose 1, 2 or 4 rows inside each block of as many lanes."""
    block = len(group)

    def interleave(left: str, right: str, unit: int) -> list[str]:
        """Alternate units of the lower, and of the upper, halves of each block."""
        halves: list[str] = []
        for half in (0, block // 2):
            indices: list[int] = []
            for start in range(half, lanes, block):
                for piece in range(start, start + block // 2, unit):
                    indices += [*range(piece, piece + unit)]
                    indices += [*range(piece + lanes, piece + lanes + unit)]
            halves.append(_shuffle(f, kind, left, right, indices))
        return halves

    if block == 1:
        return group
    if block == 2:
        return interleave(group[0], group[1], 1)
    low01, high01 = interleave(group[0], group[1], 1)
    low23, high23 = interleave(group[2], group[3], 1)
    return [*interleave(low01, low23, 2), *interleave(high01, high23, 2)]


def _transpose_blocks(
    f: FunctionText, kind: str, vectors: list[str], block: int, lanes: int
) -> list[str]:
    """Block i of vector j becomes block j of vector i."""
    if len(vectors) == 1:
        return vectors
    halves: list[list[str]] = []
    for parity in (0, 1):
        chosen = [lane for lane in range(2 * lanes) if lane // block % 2 == parity]
        pairs = zip(vectors[::2], vectors[1::2], strict=True)
        taken = [_shuffle(f, kind, left, right, chosen) for left, right in pairs]
        halves.append(_transpose_blocks(f, kind, taken, block, lanes))
    return [value for pair in zip(*halves, strict=True) for value in pair]


@dataclass(frozen=True)
class Tile:
    """`height` rows of the given vectors. `fused` says that the target has fma instructions.

    `is_nested` says that k stands for several dimensions; `registers` are the target's vectors.
    """

    accumulator: str
    height: int
    vectors: tuple[Vector, ...]
    fused: bool = True
    is_nested: bool = False
    registers: int = 16

    @property
    def width(self) -> int:
        return sum(vector.lanes for vector in self.vectors)

    def places(self) -> list[tuple[int, int, Vector]]:
        """(row, first column, vector) of each accumulator."""
        found: list[tuple[int, int, Vector]] = []
        for row in range(self.height):
            column = 0
            for vector in self.vectors:
                found.append((row, column, vector))
                column += vector.lanes
        return found

    def type_of(self, vector: Vector) -> str:
        return f"<{vector.lanes} x {self.accumulator}>"

    def load(self, f: FunctionText, slot: str) -> list[str]:
        """The accumulators out of memory."""
        align = ELEMENT_BYTES[self.accumulator]
        return [
            f.emit(f"load {self.type_of(vector)}, ptr {pointer}, align {align}", "acc")
            for pointer, vector in self._slot_pointers(f, slot)
        ]

    def store(self, f: FunctionText, slot: str, accumulators: list[str]) -> None:
        """The accumulators into memory, row after row."""
        align = ELEMENT_BYTES[self.accumulator]
        for value, (pointer, vector) in zip(
            accumulators, self._slot_pointers(f, slot), strict=True
        ):
            f.line(f"store {self.type_of(vector)} {value}, ptr {pointer}, align {align}")

    def _slot_pointers(self, f: FunctionText, slot: str) -> list[tuple[str, Vector]]:
        return [
            (
                element_pointer(f, self.accumulator, slot, str(row * self.width + column)),
                vector,
            )
            for row, column, vector in self.places()
        ]

    def zeros(self) -> list[str]:
        return ["zeroinitializer"] * (self.height * len(self.vectors))

    def contract(
        self,
        f: FunctionText,
        lhs: Source,
        rhs: Source,
        loops: Sequence[KLoop],
        initial: list[str],
    ) -> list[str]:
        """Continue the chains `initial` over loops of at least one step, the outermost first."""
        first, *inner = loops

        def step(k: str, chains: list[str]) -> list[str]:
            left, right = lhs.moved(f, [k], [first.left]), rhs.moved(f, [k], [first.right])
            if k.isdigit() and self._crowds(lhs, first):
                left = left.kept_apart(f)
            if inner:
                return self.contract(f, left, right, inner, chains)
            return self._step(f, left, self._load(f, right), chains)

        if not self._is_unrolled(loops):
            return self._loop(f, first.length, 1, initial, step)
        chains = initial
        for k in range(int(first.length)):
            chains = step(str(k), chains)
        return chains

    def _crowds(self, lhs: Source, loop: KLoop) -> bool:
        """Whether written-out steps share scalars of other rows that have no registers left."""
        distance, rest = divmod(abs(loop.left), max(1, abs(lhs.row_stride)))
        if rest or distance >= self.height:
            return False
        scalars = self.height + distance * (int(loop.length) - 1)
        return (self.height + 1) * len(self.vectors) + scalars > CROWDED * self.registers

    def _is_unrolled(self, loops: Sequence[KLoop]) -> bool:
        """Whether loops, which others are around, are so short that they are written out."""
        lengths = [loop.length for loop in loops]
        if not all(length.isdigit() for length in lengths):
            return False
        count = prod(int(length) for length in lengths)
        return self.is_nested and count * self.height * len(self.vectors) <= MOST_UNROLLED

    def contract_transposed(
        self, f: FunctionText, lhs: Source, rhs: Source, length: int, initial: list[str]
    ) -> list[str]:
        """The chains over k in [0, length), from `initial` on.

        The right operand is contiguous along k.

        Blocks of it are transposed in registers, which pays if there are few rows to share it.
        """
        stride = min(length, UNROLLED_STEPS)
        rest = length % stride

        def several(k: str, chains: list[str], count: int) -> list[str]:
            return self._few_steps(f, lhs.at(f, "0", k), rhs.at(f, k, "0"), chains, count)

        whole = str(length - rest)
        chains = self._loop(f, whole, stride, initial, lambda k, old: several(k, old, stride))
        return several(whole, chains, rest) if rest else chains

    def _few_steps(
        self, f: FunctionText, lhs: Source, rhs: Source, chains: list[str], count: int
    ) -> list[str]:
        """The chains after `count` more k. A few k of one vector at a time need few registers."""
        results, column, width = list(chains), 0, len(self.vectors)
        for place, vector in enumerate(self.vectors):
            own = replace(self, vectors=(vector,))
            block = _block(self.accumulator, vector.lanes)
            for first in range(0, count, block):
                number = min(block, count - first)
                source = rhs.at(f, str(first), str(column))
                for inner, value in enumerate(
                    load_transposed_blocks(f, self.accumulator, source, vector, number)
                ):
                    left = lhs.at(f, "0", str(first + inner))
                    results[place::width] = own._step(f, left, [value], results[place::width])
            column += vector.lanes
        return results

    def _loop(
        self,
        f: FunctionText,
        length: str,
        stride: int,
        initial: list[str],
        step: Callable[[str, list[str]], list[str]],
    ) -> list[str]:
        """Carry the chains through step(k, chains) for k = 0, stride, ... below length."""
        entry = f.current_label
        body, done = f.fresh("k.body"), f.fresh("k.done")
        index, following = "%" + f.fresh("k"), "%" + f.fresh("k.next")
        carried = ["%" + f.fresh("acc") for _ in initial]
        kinds = [self.type_of(vector) for _, _, vector in self.places()]
        f.line(f"br label %{body}")
        f.label(body)
        phis = len(f.lines)
        results = step(index, carried)
        # where the loop ends, which is not where it begins if there are others in it
        latch = f.current_label
        f.lines[phis:phis] = [
            f"  {index} = phi i64 [ 0, %{entry} ], [ {following}, %{latch} ]",
            *(
                f"  {name} = phi {kind} [ {first}, %{entry} ], [ {result}, %{latch} ]"
                for name, kind, first, result in zip(carried, kinds, initial, results, strict=True)
            ),
        ]
        f.line(f"{following} = add nuw nsw i64 {index}, {stride}")
        again = f.emit(f"icmp slt i64 {following}, {length}")
        f.line(f"br i1 {again}, label %{body}, label %{done}")
        f.label(done)
        return results

    def _load(self, f: FunctionText, rhs: Source) -> list[str]:
        """The vectors of one k."""
        loaded: list[str] = []
        column = 0
        for vector in self.vectors:
            pointer = rhs.at(f, "0", str(column)).pointer
            loaded.append(load_vector(f, rhs.element, self.accumulator, pointer, vector))
            column += vector.lanes
        return loaded

    def _step(self, f: FunctionText, lhs: Source, right: list[str], chains: list[str]) -> list[str]:
        """The chains after one more k: lhs begins at this k, right are its vectors."""
        results: list[str] = []
        remaining = iter(chains)
        for row in range(self.height):
            pointer = lhs.at(f, str(row), "0").pointer
            left = load_scalar(f, lhs.element, self.accumulator, pointer)
            splats: dict[int, str] = {}
            for vector, value in zip(self.vectors, right, strict=True):
                if vector.lanes not in splats:
                    splats[vector.lanes] = splat(f, self.accumulator, left, vector.lanes)
                results.append(self._fma(f, vector, splats[vector.lanes], value, next(remaining)))
        return results

    def _fma(self, f: FunctionText, vector: Vector, left: str, right: str, total: str) -> str:
        kind = self.type_of(vector)
        if not self.fused:
            product = f.emit(f"fmul {kind} {left}, {right}")
            return f.emit(f"fadd {kind} {product}, {total}", "acc")
        name = f"@llvm.fma.{intrinsic_suffix(self.accumulator, vector.lanes)}"
        return f.emit(f"call {kind} {name}({kind} {left}, {kind} {right}, {kind} {total})", "acc")
