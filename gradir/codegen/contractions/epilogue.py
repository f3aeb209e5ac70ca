"""The body of a contraction as the epilogue of its tiled product: the code for each sum."""

from __future__ import annotations

from typing import cast

from xdsl.ir import Attribute

from gradir.codegen.bodies.emitter import (
    BodyEmitter,
    LlvmValue,
    Surroundings,
    body_cost,
    element_kind,
    required_ops,
)
from gradir.codegen.contractions.dims import Tiling
from gradir.codegen.contractions.finish import ResultPlace
from gradir.codegen.costs import EPILOGUE_ACCESS_COST
from gradir.codegen.text.kinds import kind_of
from gradir.codegen.text.writer import FunctionWriter
from gradir.dialects.base.access import Access
from gradir.dialects.loopnest.loopnest import ContractOp, ShapedType


class BodyEpilogue:
    """Writes the op's body for a vector of sums, and loads sums that chains go on from."""

    def __init__(self, op: ContractOp, tiled: Tiling):
        self.op, self.tiled = op, tiled
        self.ops = required_ops(op.body.block)
        accesses = 1 + len(op.inputs[2:]) + len(op.output_types)
        self.cost = EPILOGUE_ACCESS_COST * accesses + body_cost(self.ops)

    def finish(self, f: FunctionWriter, sums: str, place: ResultPlace) -> None:
        """Compute and store one vector."""
        op, vector = self.op, place.vector
        indices = self._indices(place)
        surroundings = Surroundings(indices, self.tiled.vector_dim, vector.mask)
        emitter = BodyEmitter(f, vector.lanes, surroundings)
        loaded = [self._load(f, k, indices, place) for k in range(2, len(op.inputs))]
        values = emitter.emit(op.body.block, [sums, *loaded], self.ops)
        for k, (value, yielded) in enumerate(zip(values, op.yielded, strict=True)):
            assert value is not None
            kind = kind_of(yielded.type)
            self._store(f, k, indices, place, kind, emitter.vector(value, kind))

    def start(self, f: FunctionWriter, place: ResultPlace) -> str:
        """Load the partial sums of one vector from the result."""
        access, type_ = self.op.output_accesses[0], self.op.output_types[0]
        pointer, step = self._element(f, "%out0", access, type_, self._indices(place))
        kind, vector = kind_of(self.op.accumulator_type), place.vector
        return f.load_strided(kind, vector.lanes, pointer, step, vector.mask)

    def _indices(self, place: ResultPlace) -> dict[int, str]:
        """The index along each dimension that is not summed."""
        indices = dict.fromkeys(range(self.op.free_dims), "0")
        indices |= dict(zip(self.tiled.batch_dims, place.batch, strict=True))
        ends = ((self.tiled.row_dim, place.row), (self.tiled.column_dim, place.column))
        return indices | {dim: index for dim, index in ends if dim is not None}

    def _load(
        self, f: FunctionWriter, number: int, indices: dict[int, str], place: ResultPlace
    ) -> LlvmValue:
        access, type_ = self.op.input_accesses[number], self.op.inputs[number].type
        name, vector = f"%in{number}", place.vector
        if access is None:
            return LlvmValue(name, 1)
        kind = element_kind(cast(ShapedType, type_))
        pointer, step = self._element(f, name, access, type_, indices)
        if step == 0:
            return LlvmValue(f.load(kind, 1, pointer), 1)
        loaded = f.load_strided(kind, vector.lanes, pointer, step, vector.mask)
        return LlvmValue(loaded, vector.lanes)

    def _store(
        self,
        f: FunctionWriter,
        number: int,
        indices: dict[int, str],
        place: ResultPlace,
        kind: str,
        value: str,
    ) -> None:
        access, type_ = self.op.output_accesses[number], self.op.output_types[number]
        stored, vector = element_kind(cast(ShapedType, type_)), place.vector
        if stored != kind:
            value = f.resize(kind, stored, vector.lanes, value)
        pointer, step = self._element(f, f"%out{number}", access, type_, indices)
        f.store_strided(stored, vector.lanes, pointer, step, value, vector.mask)

    def _element(
        self,
        f: FunctionWriter,
        base: str,
        access: Access,
        type_: Attribute,
        indices: dict[int, str],
    ) -> tuple[str, int]:
        """The pointer to the element of the first lane, and the step from lane to lane."""
        shaped = cast(ShapedType, type_)
        steps, constant = access.strides(shaped.get_shape())
        offset = str(constant)
        for dim, index in indices.items():
            offset = f.add(offset, f.multiply(index, steps[dim]))
        along = self.tiled.vector_dim
        pointer = f.address(element_kind(shaped), base, offset)
        return pointer, 0 if along is None else steps[along]
