"""A matrix as the code of a product sees it: where its elements lie, and loads of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gradir.codegen.contractions.product_plan import Operand, Vector, placed
from gradir.codegen.text.writer import FunctionWriter


@dataclass(frozen=True)
class Source:
    """A pointer to the first element, the elements' kind, and two constant strides."""

    pointer: str
    element: str
    row_stride: int
    column_stride: int

    def at(self, f: FunctionWriter, row: str | int, column: str | int) -> Source:
        """The same matrix from another element on."""
        return self.moved(f, [row, column], [self.row_stride, self.column_stride])

    def moved(
        self, f: FunctionWriter, steps: Sequence[str | int], strides: Sequence[int]
    ) -> Source:
        """The same matrix, moved by `steps` of these strides."""
        offset = "0"
        for step, stride in zip(steps, strides, strict=True):
            offset = f.add(offset, f.multiply(str(step), stride))
        if offset == "0":
            return self
        return self._from(f.element(self.element, self.pointer, offset))

    def with_opaque_pointer(self, f: FunctionWriter) -> Source:
        """The same matrix by a pointer that LLVM does not know to be the same.

        Else it keeps the scalars of a step, which the window of the next one shares, in registers
        that the accumulators need.
        """
        return self._from(f.emit(f'call ptr asm "", "=r,0"(ptr {self.pointer})'))

    def _from(self, pointer: str) -> Source:
        # a third of the time of `replace`, in thousands of steps
        return Source(pointer, self.element, self.row_stride, self.column_stride)


def at_batch(f: FunctionWriter, pointer: str, operand: Operand, batch: Sequence[str]) -> Source:
    """The matrix of one batch element."""
    whole = Source(pointer, operand.element, operand.row_stride, operand.column_stride)
    strides = [1, *operand.batch_strides]
    return whole.moved(f, [operand.offset, *batch], strides)


def load_vector(f: FunctionWriter, kind: str, source: Source, vector: Vector) -> str:
    """Elements that follow the first one, extended to `kind`; missing lanes are 0."""
    value = f.load(source.element, vector.lanes, source.pointer, vector.mask)
    return f.resize_float(source.element, kind, vector.lanes, value)


def load_vectors(
    f: FunctionWriter, kind: str, source: Source, vectors: Sequence[Vector]
) -> list[str]:
    """The vectors that follow each other from the first element on."""
    return [load_vector(f, kind, source.at(f, 0, c), v) for c, v in placed(vectors)]
