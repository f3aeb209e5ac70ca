"""Squares of vectors, transposed in registers, and the function that transposes one in memory.

Only shuffles that are single instructions are used: interleaving inside 128-bit blocks, then taking
every second block of a pair of vectors.
"""

from __future__ import annotations

from gradir.codegen.text.kinds import bytes_of
from gradir.codegen.text.writer import FunctionWriter

TRANSPOSE = "transpose"
"""The function's name in requests."""


def transposition(name: str, kind: str, lanes: int, attributes: str) -> str:
    """The text of `@name(source, source_step, target, target_step)`; steps are in bytes.

    It reads as many vectors as each has lanes, and writes them transposed.
    """
    f = FunctionWriter()

    def place(pointer: str, number: int) -> str:
        return f.address("i8", f"%{pointer}", f.multiply(f"%{pointer}_step", number))

    rows = [f.load(kind, lanes, place("source", row)) for row in range(lanes)]
    for row, value in enumerate(transpose(f, kind, rows)):
        f.store(kind, lanes, place("target", row), value)
    f.ret()
    parameters = "ptr %source, i64 %source_step, ptr %target, i64 %target_step"
    return f.define(name, parameters, f"noinline nounwind {attributes}")


def transpose(f: FunctionWriter, kind: str, rows: list[str]) -> list[str]:
    """Transpose a square of as many vectors as each has lanes."""
    lanes = len(rows)
    block = block_lanes(kind, lanes)
    inside = [
        transpose_in_blocks(f, kind, rows[start : start + block], lanes)
        for start in range(0, lanes, block)
    ]
    columns = [
        _transpose_blocks(f, kind, [group[place] for group in inside], block, lanes)
        for place in range(block)
    ]
    return [columns[place][number] for number in range(lanes // block) for place in range(block)]


def block_lanes(kind: str, lanes: int) -> int:
    """Lanes in 128 bits."""
    return min(lanes, 16 // bytes_of(kind))


def transpose_in_blocks(f: FunctionWriter, kind: str, group: list[str], lanes: int) -> list[str]:
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
            halves.append(f.shuffle(kind, lanes, left, indices, right))
        return halves

    if block == 1:
        return group
    if block == 2:
        return interleave(group[0], group[1], 1)
    low01, high01 = interleave(group[0], group[1], 1)
    low23, high23 = interleave(group[2], group[3], 1)
    return [*interleave(low01, low23, 2), *interleave(high01, high23, 2)]


def _transpose_blocks(
    f: FunctionWriter, kind: str, vectors: list[str], block: int, lanes: int
) -> list[str]:
    """Block i of vector j becomes block j of vector i."""
    if len(vectors) == 1:
        return vectors
    halves: list[list[str]] = []
    for parity in (0, 1):
        chosen = [lane for lane in range(2 * lanes) if lane // block % 2 == parity]
        pairs = zip(vectors[::2], vectors[1::2], strict=True)
        taken = [f.shuffle(kind, lanes, left, chosen, right) for left, right in pairs]
        halves.append(_transpose_blocks(f, kind, taken, block, lanes))
    return [value for pair in zip(*halves, strict=True) for value in pair]
