"""Squares of an operand that is contiguous the other way: loaded, and transposed in registers."""

from __future__ import annotations

from gradir.codegen.contractions.operands import Source, load_vector
from gradir.codegen.contractions.product_plan import Vector
from gradir.codegen.text.kinds import FLOAT_BITS, bytes_of
from gradir.codegen.text.writer import FunctionWriter
from gradir.codegen.vector_math import symbol
from gradir.codegen.vector_math.squares import (
    TRANSPOSE,
    block_lanes,
    transpose,
    transpose_in_blocks,
)


def copy_transposed(
    f: FunctionWriter, kind: str, source: Source, vector: Vector, target: str, width: int
) -> None:
    """Store the next k, as many as lanes, of the columns of one vector, in rows of `width`.

    A whole square is left to a function that all kernels of a module share: its shuffles would be
    most of the code of a kernel.
    """
    lanes = vector.lanes
    if vector.valid == lanes > 2 and source.element == kind:
        f.needs.functions.add((TRANSPOSE, FLOAT_BITS[kind], lanes))
        steps = (size * bytes_of(kind) for size in (source.column_stride, width))
        pointers = zip((source.pointer, target), steps, strict=True)
        arguments = ", ".join(f"ptr {pointer}, i64 {step}" for pointer, step in pointers)
        f.call("void", symbol(TRANSPOSE, FLOAT_BITS[kind], lanes), arguments)
        return
    for row, value in enumerate(load_transposed(f, kind, source, vector)):
        f.store(kind, lanes, f.element(kind, target, row * width), value)


def load_transposed(f: FunctionWriter, kind: str, source: Source, vector: Vector) -> list[str]:
    """The next k, as many as lanes, of the columns of one vector; memory is contiguous along k."""
    whole = Vector(vector.lanes, vector.lanes)
    rows = [load_vector(f, kind, source.at(f, 0, c), whole) for c in range(vector.valid)]
    rows += ["zeroinitializer"] * (vector.lanes - vector.valid)
    return transpose(f, kind, rows)


def load_transposed_blocks(
    f: FunctionWriter, kind: str, source: Source, vector: Vector, count: int
) -> list[str]:
    """The next `count` k, at most 128 bits of them, of memory that is contiguous along k.

    The blocks of 128 bits go to their places as they are loaded, which spares shuffles.
    """
    block = block_lanes(kind, vector.lanes)
    rows: list[str] = []
    for row in range(block):
        pieces: list[str] = []
        for column in range(row, vector.lanes, block):
            piece = "zeroinitializer"
            if column < vector.valid:
                piece = load_vector(f, kind, source.at(f, 0, column), Vector(block, count))
            pieces.append(piece)
        while len(pieces) > 1:
            width = vector.lanes // len(pieces)
            pairs = zip(pieces[::2], pieces[1::2], strict=True)
            pieces = [f.shuffle(kind, width, low, range(2 * width), high) for low, high in pairs]
        rows.append(pieces[0])
    return transpose_in_blocks(f, kind, rows, vector.lanes)[:count]
