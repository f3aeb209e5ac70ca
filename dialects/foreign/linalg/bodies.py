"""Bodies of linalg ops, computed for all iterations at once.

A body is written for one element. Here each of its ops becomes one op on tensors of the iteration
space: an arith or math op is the same op on tensors, `linalg.index` counts along a dimension, and
`tensor.extract` gathers. Indices are i64 in them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from xdsl.dialects import arith, tensor
from xdsl.dialects.builtin import (
    DenseIntOrFPElementsAttr,
    FloatAttr,
    IndexType,
    IntegerAttr,
    TensorType,
    i64,
)
from xdsl.dialects.linalg import ops as linalg
from xdsl.ir import Attribute, Block, BlockArgument, Operation, SSAValue

from gradir.dialects.array.creation import IotaOp
from gradir.dialects.array.gather_scatter import GatherNdOp
from gradir.dialects.array.movement import BroadcastToOp, ReshapeOp
from gradir.dialects.array.slicing import ConcatOp
from gradir.dialects.base.diagnostics import PassError
from gradir.dialects.base.elementwise_arith import FORMS, made
from gradir.dialects.base.shapes import tensor as tensor_type
from gradir.dialects.base.value import Emitter, Value


@dataclass
class BodyOnTensors:
    """A body's values as tensors of `shape`, the extents of the iteration space."""

    emitter: Emitter
    shape: Sequence[int]
    values: dict[SSAValue, Value] = field(default_factory=dict)

    def value(self, ssa: SSAValue) -> Value:
        """The tensor of a value: of the body, or a number from around it."""
        found = self.values.get(ssa)
        if found is None:
            found = self.values[ssa] = self._spread(ssa)
        return found

    def type_of(self, element: Attribute) -> TensorType[Attribute]:
        return tensor_type(self.shape, i64 if isinstance(element, IndexType) else element)

    def compute(self, ssa: SSAValue) -> Value:
        """The tensor of a value of the body, and of all that it is computed from."""
        pending = [ssa]
        while pending:
            last = pending[-1]
            op = last.owner
            if last in self.values or not (isinstance(op, Operation) and self._is_inside(op, ssa)):
                pending.pop()
                continue
            missing = [o for o in _operands(op) if self._is_missing(o, ssa)]
            if missing:
                pending += missing
                continue
            self.values[last] = self._computed(op)
            pending.pop()
        return self.value(ssa)

    def _is_inside(self, op: Operation, ssa: SSAValue) -> bool:
        return op.parent is _block_of(ssa)

    def _is_missing(self, operand: SSAValue, ssa: SSAValue) -> bool:
        owner = operand.owner
        is_inside = isinstance(owner, Operation) and self._is_inside(owner, ssa)
        return is_inside and operand not in self.values

    def _computed(self, op: Operation) -> Value:
        if isinstance(op, arith.ConstantOp):
            return self._constant(op)
        if isinstance(op, linalg.IndexOp):
            return self.counted(op.dim.value.data)
        if isinstance(op, tensor.ExtractOp):
            return self._gathered(op)
        if isinstance(op, arith.IndexCastOp):
            return self.converted(self.value(op.input), op.result.type)
        if op.name.split(".")[0] in ("arith", "math") and len(op.results) == 1:
            return self._same(op)
        raise PassError(
            f"{op.name}: bodies of linalg ops may hold arith and math ops, linalg.index and "
            "tensor.extract",
            op,
        )

    def _same(self, op: Operation) -> Value:
        [result] = op.results
        same = FORMS.get(type(op), type(op)).create(
            operands=[self.value(o).ssa for o in op.operands],
            result_types=[self.type_of(result.type)],
            properties=op.properties,
            attributes=op.attributes,
        )
        return self.emitter.value(self.emitter.insert(same).results[0])

    def _constant(self, op: arith.ConstantOp) -> Value:
        number = op.value
        if not isinstance(number, IntegerAttr | FloatAttr):
            raise PassError(f"arith.constant: expected a number, got {number}", op)
        type_: Any = self.type_of(number.type)
        elements = DenseIntOrFPElementsAttr.from_list(type_, [number.value.data])
        return self.emitter.value(self.emitter.insert(arith.ConstantOp(elements)).result)

    def counted(self, dim: int) -> Value:
        iota = IotaOp.of([], [tensor_type(self.shape, i64)], axis=dim)
        return self.emitter.value(self.emitter.insert(iota).y)

    def _gathered(self, op: tensor.ExtractOp) -> Value:
        """The elements of a tensor at places that differ from iteration to iteration."""
        source = self.emitter.value(op.tensor)
        columns = [
            ReshapeOp.on(self.value(k), type=tensor_type([*self.shape, 1], i64)) for k in op.indices
        ]
        if not columns:
            return BroadcastToOp.on(source, type=self.type_of(source.element))
        places = columns[0] if len(columns) == 1 else ConcatOp.on(*columns, axis=-1)
        return GatherNdOp.on(source, places)

    def converted(self, x: Value, target: Attribute) -> Value:
        """An index as an integer, or an integer as an index: i64 either way."""
        type_ = self.type_of(target)
        if x.type == type_:
            return x
        wider = _bits(type_.element_type) > _bits(x.element)
        return on_tensors(arith.ExtSIOp if wider else arith.TruncIOp, x, type=type_)

    def _spread(self, ssa: SSAValue) -> Value:
        """A number from around the body, for each iteration."""
        owner = ssa.owner
        if isinstance(owner, arith.ConstantOp):
            return self._constant(owner)
        if isinstance(ssa.type, IndexType):
            cast_op = self.emitter.insert(arith.IndexCastOp(ssa, i64))
            return self._splat(cast_op.result)
        return self._splat(ssa)

    def _splat(self, ssa: SSAValue) -> Value:
        splat = self.emitter.insert(tensor.SplatOp(ssa, [], self.type_of(ssa.type)))
        return self.emitter.value(splat.result)


def on_tensors(kind: type[Operation], *operands: Value, type: Attribute | None = None) -> Value:
    """An op of arith on tensors, its result of a type: by default, of the first operand's."""
    emitter = operands[0].emitter
    op = made(kind, [o.ssa for o in operands], type or operands[0].type)
    return emitter.value(emitter.insert(op).results[0])


def _bits(element: Attribute) -> int:
    return getattr(element, "bitwidth", 64)


def _block_of(ssa: SSAValue) -> Block | None:
    owner = ssa.owner
    return owner if isinstance(owner, Block) else owner.parent


def _operands(op: Operation) -> Sequence[SSAValue]:
    """The operands that are numbers: a tensor that is read from is used as it is."""
    return list(op.indices) if isinstance(op, tensor.ExtractOp) else list(op.operands)


def reads(body: Block, value: SSAValue) -> frozenset[BlockArgument]:
    """The arguments of a body that a value is computed from."""
    seen, pending, found = set[SSAValue](), [value], set[BlockArgument]()
    while pending:
        last = pending.pop()
        if last in seen:
            continue
        seen.add(last)
        if isinstance(last, BlockArgument):
            if last.block is body:
                found.add(last)
        elif isinstance(last.owner, Operation) and last.owner.parent is body:
            pending += last.owner.operands
    return frozenset(found)
