"""The values of a scalar program in LLVM text: scalars, vectors of lanes, and addresses.

Inside a `loopnest.lanes` a value either varies from lane to lane and is a vector, or is a scalar.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from xdsl.dialects import arith
from xdsl.ir import Operation, SSAValue

from gradir.codegen.bodies.emitter import BodyEmitter, LlvmValue
from gradir.codegen.text.kinds import kind_of, llvm_type
from gradir.codegen.text.writer import FunctionWriter


class ProgramValues:
    """Names the values of one program, as scalars or vectors, and computes addresses of them.

    `lanes`, `index` and `varying` belong to the loopnest.lanes around, if any.
    """

    def __init__(self, f: FunctionWriter):
        self.f = f
        self.names: dict[SSAValue, str] = {}
        self.scalar = BodyEmitter(f, 1)
        self.lanes = 1
        self.index: SSAValue | None = None
        self.varying: set[SSAValue] = set()

    def varies(self, value: SSAValue) -> bool:
        return value in self.varying

    def lanes_of(self, value: SSAValue) -> int:
        return self.lanes if self.varies(value) else 1

    def type_of(self, value: SSAValue) -> str:
        return llvm_type(kind_of(value.type), self.lanes_of(value))

    def lane_value(self, value: SSAValue) -> str:
        """The name of a value; the index of a loopnest.lanes, whose name is the first lane's."""
        if value is self.index:
            return self.f.lane_numbers(self.lanes, self.names[value])
        return self.names[value]

    def passed(self, value: SSAValue, target: SSAValue) -> str:
        """A value as a vector if the argument or result that it becomes is one."""
        name = self.lane_value(value)
        if self.varies(target) and not self.varies(value):
            return self.f.splat(kind_of(value.type), self.lanes, name)
        return name

    # Addresses.

    def offset(self, indices: Sequence[SSAValue], steps: Sequence[int]) -> str:
        """The place of an element, or of the first lane's, in its buffer."""
        total = "0"
        for index, step in zip(indices, steps, strict=True):
            total = self.f.add(total, self.f.multiply(self.first_lane(index), step))
        return total

    def first_lane(self, value: SSAValue) -> str:
        """The scalar that a value is in the first lane, for one that moves by a constant."""
        if value is self.index or not self.varies(value):
            return self.names[value]
        op = value.owner
        assert isinstance(op, Operation)
        operands = [LlvmValue(self.first_lane(v), 1) for v in op.operands]
        return self.scalar.apply(op, operands).name

    def stride(self, indices: Sequence[SSAValue], steps: Sequence[int]) -> int | None:
        """How many elements lie between one lane and the next; None if that is not a constant."""
        lane_steps = [self.lane_step(index) for index in indices]
        if None in lane_steps:
            return None
        return sum(m * s for m, s in zip(cast(list[int], lane_steps), steps, strict=True))

    def lane_step(self, index: SSAValue) -> int | None:
        """By how much an index grows from lane to lane."""
        if not self.varies(index):
            return 0
        if index is self.index:
            return 1
        op = index.owner
        if not isinstance(op, arith.AddiOp | arith.SubiOp):
            return None
        left, right = self.lane_step(op.lhs), self.lane_step(op.rhs)
        if left is None or right is None:
            return None
        return left + right if isinstance(op, arith.AddiOp) else left - right

    def lane_offsets(self, indices: Sequence[SSAValue], steps: Sequence[int]) -> str:
        """The places of all lanes' elements, a vector with its type."""
        total = self.f.splat("i64", self.lanes, "0")
        for index, step in zip(indices, steps, strict=True):
            if self.varies(index):
                place = self.lane_value(index)
            else:
                place = self.f.splat("i64", self.lanes, self.names[index])
            if step != 1:
                factor = self.f.number("i64", self.lanes, step)
                place = self.f.binary("mul", "i64", self.lanes, place, factor)
            total = self.f.binary("add", "i64", self.lanes, total, place)
        return f"{llvm_type('i64', self.lanes)} {total}"
