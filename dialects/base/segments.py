"""Operands in segments, read and written without the generic code of IRDL.

An op with several variadic groups of operands keeps their sizes in `operandSegmentSizes`. IRDL
unpacks them at each access, and builds lists of lists at each construction: for the loop ops, of
which every pass reads and makes thousands, a third of the time of the passes.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from xdsl.dialects.builtin import DenseArrayBase, i32
from xdsl.ir import Operation
from xdsl.ir.core import SSAValues
from xdsl.irdl import AttrSizedOperandSegments

from gradir.dialects.base.quick_ir import item_of, make_tuple

SIZES = AttrSizedOperandSegments.attribute_name


@lru_cache(maxsize=4096)
def segment_sizes(*sizes: int) -> DenseArrayBase:
    """The property that says how many operands each group has."""
    return DenseArrayBase.from_list(i32, sizes)


@lru_cache(maxsize=4096)
def _slices(packed: bytes) -> tuple[slice, ...]:
    """Where each group lies, of sizes as `operandSegmentSizes` packs them."""
    slices: list[slice] = []
    end = 0
    for size in i32.unpack(packed, len(packed) // i32.size):
        slices.append(slice(end, end + size))
        end += size
    return tuple(slices)


class OperandSegment:
    """A variadic group of operands: the descriptor that stands for IRDL's."""

    def __init__(self, index: int):
        self.index = index

    def __get__(self, op: Operation | None, owner: type[Operation]) -> Any:
        if op is None:
            return self
        sizes: Any = op.properties[SIZES]
        return make_tuple(SSAValues, item_of(op._operands, _slices(sizes.data.data)[self.index]))


def read_quickly(op_class: type[Operation], *names: str) -> None:
    """Read the operands of a class, all in the named groups, without IRDL's code."""
    for index, name in enumerate(names):
        setattr(op_class, name, OperandSegment(index))
