"""Tensors in equal parts, one on each rank: of the elements in order, with zeros behind the last.

A part is a tensor of rank 1, whatever the shape of the whole is.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from xdsl.ir import Attribute, Operation, SSAValue

from gradir.dialects.array.movement import ReshapeOp
from gradir.dialects.array.slicing import PadOp, SliceOp
from gradir.dialects.base.shapes import element_of, shape_of, tensor
from gradir.dialects.base.value import Value
from gradir.dialects.comm.collectives import AllGatherOp, PartOp


@dataclass(frozen=True)
class Parts:
    """How tensors are divided among the ranks of a group."""

    ranks: int
    group: str

    @property
    def named(self) -> str | None:
        return None if self.group == "world" else self.group

    def extent(self, whole: Attribute) -> int:
        """The number of elements in a part."""
        return -(-prod(shape_of(whole)) // self.ranks)

    def type(self, whole: Attribute) -> Attribute:
        """The type of a part."""
        return tensor([self.extent(whole)], element_of(whole))

    def line(self, whole: Value) -> Value:
        """The elements in order, with zeros behind the last, in equal parts."""
        count = prod(whole.shape)
        type_ = tensor([count], whole.element)
        flat = whole if whole.type == type_ else ReshapeOp.on(whole, type=type_)
        left = self.extent(whole.type) * self.ranks - count
        return PadOp.on(flat, low=[0], high=[left]) if left else flat

    def part(self, whole: Value) -> Value:
        """This rank's part."""
        return PartOp.on(self.line(whole), axis=0, ranks=self.ranks, group=self.named)

    def whole(self, part: Value, type_: Attribute) -> Value:
        """The tensor of a type, from all ranks' parts."""
        line = AllGatherOp.on(part, axis=0, ranks=self.ranks, group=self.named)
        count = prod(shape_of(type_))
        if line.shape[0] != count:
            line = SliceOp.on(line, start=[0], stop=[count])
        return line if line.type == type_ else ReshapeOp.on(line, type=type_)


def read_in_parts(result: SSAValue) -> list[Operation]:
    """The ops that make a part of a result; none where it is read otherwise, or never."""
    for use in result.uses:
        chain = [use.operation]
        while not isinstance(chain[-1], PartOp):
            last = chain[-1]
            if not isinstance(last, ReshapeOp | PadOp) or not last.y.has_one_use():
                break
            chain.append(next(iter(last.y.uses)).operation)
        else:
            return chain
    return []
