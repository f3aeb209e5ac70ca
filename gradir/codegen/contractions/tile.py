"""The register tile of a product: rows x vectors of accumulators, and the loop over k.

One generator serves every layout: the right operand is read as vectors along n, the left one as
broadcast scalars, both through strides that are constants.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import prod

from gradir.codegen.contractions.chains import add_flushed, add_pairs
from gradir.codegen.contractions.operands import Source, load_vector, load_vectors
from gradir.codegen.contractions.product_plan import Chain, Vector, placed
from gradir.codegen.contractions.squares import block_lanes, load_transposed_blocks
from gradir.codegen.text.functions import is_number
from gradir.codegen.text.kinds import llvm_type
from gradir.codegen.text.writer import FunctionWriter

# k that a loop over transposed blocks does at a time.
UNROLLED_STEPS = 8
# Multiply-adds that a tile writes out for short loops over dimensions of k.
MOST_UNROLLED = 288
# Scalars shared by written-out steps spare memory operands; this pays as long as they need at most
# this many times the registers.
CROWDED = 1.125

SCALAR = Vector(1, 1)


@dataclass(frozen=True)
class KLoop:
    """A loop over one dimension k: its length, and the step of each operand along it."""

    length: str
    left: int
    right: int


@dataclass(frozen=True)
class Tile:
    """`height` rows of the given vectors. `fused` says that the target has fma instructions.

    `chain` is the product's; `flushes` says that code makes its subnormal sums zeros.
    `is_nested` says that k stands for several dimensions; `registers` are the target's vectors.
    """

    accumulator: str
    height: int
    vectors: tuple[Vector, ...]
    fused: bool = True
    is_nested: bool = False
    registers: int = 16
    chain: Chain = ""
    flushes: bool = False

    @property
    def width(self) -> int:
        return sum(vector.lanes for vector in self.vectors)

    def places(self) -> list[tuple[int, int, Vector]]:
        """(row, first column, vector) of each accumulator."""
        return [(row, *place) for row in range(self.height) for place in placed(self.vectors)]

    def load(self, f: FunctionWriter, slot: str) -> list[str]:
        """The accumulators out of memory."""
        return [f.load(self.accumulator, v.lanes, p) for p, v in self._slot_pointers(f, slot)]

    def store(self, f: FunctionWriter, slot: str, accumulators: list[str]) -> None:
        """The accumulators into memory, row after row."""
        for value, (p, v) in zip(accumulators, self._slot_pointers(f, slot), strict=True):
            f.store(self.accumulator, v.lanes, p, value)

    def _slot_pointers(self, f: FunctionWriter, slot: str) -> list[tuple[str, Vector]]:
        return [
            (f.element(self.accumulator, slot, row * self.width + column), vector)
            for row, column, vector in self.places()
        ]

    def zeros(self) -> list[str]:
        return ["zeroinitializer"] * (self.height * len(self.vectors))

    def contract(
        self,
        f: FunctionWriter,
        lhs: Source,
        rhs: Source,
        loops: Sequence[KLoop],
        initial: list[str],
    ) -> list[str]:
        """Continue the chains `initial` over loops of at least one step, the outermost first."""
        first, *inner = loops

        def step(k: str, chains: list[str]) -> list[str]:
            left, right = lhs.moved(f, [k], [first.left]), rhs.moved(f, [k], [first.right])
            if is_number(k) and self._crowds(lhs, first):
                left = left.with_opaque_pointer(f)
            if inner:
                return self.contract(f, left, right, inner, chains)
            return self._step(
                f, left, load_vectors(f, self.accumulator, right, self.vectors), chains
            )

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
        if not all(map(is_number, lengths)):
            return False
        count = prod(map(int, lengths))
        return self.is_nested and count * self.height * len(self.vectors) <= MOST_UNROLLED

    def contract_transposed(
        self, f: FunctionWriter, lhs: Source, rhs: Source, length: int, initial: list[str]
    ) -> list[str]:
        """The chains over k in [0, length), from `initial` on, of a right operand along k.

        Blocks of it are transposed in registers, which pays if there are few rows to share it.
        """
        stride = min(length, UNROLLED_STEPS)
        rest = length % stride

        def several(k: str, chains: list[str], count: int) -> list[str]:
            return self._few_steps(f, lhs.at(f, 0, k), rhs.at(f, k, 0), chains, count)

        whole = str(length - rest)
        chains = self._loop(f, whole, stride, initial, lambda k, old: several(k, old, stride))
        return several(whole, chains, rest) if rest else chains

    def _few_steps(
        self, f: FunctionWriter, lhs: Source, rhs: Source, chains: list[str], count: int
    ) -> list[str]:
        """The chains after `count` more k. A few k of one vector at a time need few registers."""
        results, width = list(chains), len(self.vectors)
        for place, (column, vector) in enumerate(placed(self.vectors)):
            own = replace(self, vectors=(vector,))
            block = block_lanes(self.accumulator, vector.lanes)
            for first in range(0, count, block):
                number, source = min(block, count - first), rhs.at(f, first, column)
                values = load_transposed_blocks(f, self.accumulator, source, vector, number)
                for inner, value in enumerate(values):
                    left = lhs.at(f, 0, first + inner)
                    results[place::width] = own._step(f, left, [value], results[place::width])
        return results

    def _loop(
        self,
        f: FunctionWriter,
        length: str,
        stride: int,
        initial: list[str],
        step: Callable[[str, list[str]], list[str]],
    ) -> list[str]:
        """Carry the chains through step(k, chains) for k = 0, stride, ... below length."""
        types = [llvm_type(self.accumulator, vector.lanes) for _, _, vector in self.places()]
        return f.carry(length, stride, list(zip(types, initial, strict=True)), step)

    def _step(
        self, f: FunctionWriter, lhs: Source, right: list[str], chains: list[str]
    ) -> list[str]:
        """The chains after one more k: lhs begins at this k, right are its vectors."""
        results: list[str] = []
        remaining = iter(chains)
        for row in range(self.height):
            left = load_vector(f, self.accumulator, lhs.at(f, row, 0), SCALAR)
            splats: dict[int, str] = {}
            for vector, value in zip(self.vectors, right, strict=True):
                if vector.lanes not in splats:
                    splats[vector.lanes] = f.splat(self.accumulator, vector.lanes, left)
                results.append(self._fma(f, vector, splats[vector.lanes], value, next(remaining)))
        return results

    def _fma(self, f: FunctionWriter, vector: Vector, left: str, right: str, total: str) -> str:
        kind, lanes = self.accumulator, vector.lanes
        if self.chain == "pairs":
            return add_pairs(f, lanes, left, right, total)
        if self.flushes:
            return add_flushed(f, lanes, left, right, total)
        if self.fused or self.chain == "rounded":
            return f.intrinsic("fma", kind, lanes, left, right, total)
        return f.binary("fadd", kind, lanes, f.binary("fmul", kind, lanes, left, right), total)
