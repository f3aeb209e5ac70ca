"""grad.accumulate_slice: a contribution to a part of a cotangent, added in place."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from xdsl.ir import SSAValue
from xdsl.irdl import irdl_op_definition, operand_def, result_def, traits_def
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from gradir.dialects.array.slicing import SliceOp
from gradir.dialects.base.access import Access, dim_row
from gradir.dialects.base.attributes import Attributes, Types, integers
from gradir.dialects.base.batch import Batch
from gradir.dialects.base.interfaces import Cotangents, TensorOp
from gradir.dialects.base.lazy_numpy import np
from gradir.dialects.base.shapes import DYNAMIC, element_of, shape_of
from gradir.dialects.base.value import Emitter, Scalar, Value
from gradir.dialects.building import body as b
from gradir.dialects.building.kinds import require_elements
from gradir.dialects.building.nests import Read, nest
from gradir.dialects.loopnest.loopnest import Output


@irdl_op_definition
class AccumulateSliceOp(TensorOp):
    """x with `updates` added to its elements from `start` on, one entry per axis (0 where absent).

    Where nothing else reads x it is written in place, so that a chain of such sums needs the
    memory of one. In `updates` it is the transpose of array.slice. vjp: ct, that slice of ct
    """

    name = "grad.accumulate_slice"
    COMPLEX: ClassVar[bool] = True
    ATTRIBUTES: ClassVar[tuple[str, ...]] = ("start",)

    x = operand_def()
    updates = operand_def()
    y = result_def()
    traits = traits_def(Pure())

    @classmethod
    def infer_types(cls, operands: Types, attributes: Attributes) -> Types:
        x, updates = operands
        require_elements(x, "float", cls.COMPLEX)
        shape, part = shape_of(x), shape_of(updates)
        if len(shape) != len(part) or element_of(x) != element_of(updates):
            raise VerifyException(f"ranks and elements must agree, got {x} and {updates}")
        start = integers(attributes, "start", [0] * len(shape)) or []
        if len(start) != len(shape):
            raise VerifyException(f"start must have {len(shape)} entries, got {len(start)}")
        rows = zip(start, part, shape, strict=True)
        if any(s < 0 or (DYNAMIC not in (m, n) and s + m > n) for s, m, n in rows):
            raise VerifyException(f"updates {updates} must lie inside {x}, got start {start}")
        return [x]

    @property
    def start(self) -> list[int]:
        return integers(self.attributes, "start", [0] * len(shape_of(self.x.type))) or []

    def vjp(self, ct: Value, y: Value, x: Value, updates: Value) -> Cotangents:
        stop = [s + n for s, n in zip(self.start, updates.shape, strict=True)]
        return [ct, SliceOp.on(ct, start=self.start, stop=stop)]

    def vmap(self, batch: Batch) -> Sequence[Value]:
        return batch.in_front(start=[0, *self.start])

    def lower(self, emitter: Emitter, operands: Sequence[SSAValue]) -> Sequence[SSAValue]:
        x, updates = operands
        element, rank = element_of(x.type), len(self.start)
        rows = [dim_row(rank, d, 1, first) for d, first in enumerate(self.start)]

        def widen(value: Scalar) -> Scalar:
            return b.to_compute(value, element)

        output = Output(self.y.type, Access(rank, tuple(rows)), "add", x)
        read = Read(updates, Access.identity(rank))
        return nest(emitter, shape_of(updates.type), [read], [output], widen)

    def numpy(self, x: Any, updates: Any) -> Any:
        result = np.array(x)
        at = tuple(slice(s, s + n) for s, n in zip(self.start, updates.shape, strict=True))
        result[at] += updates
        return result


OPS: tuple[type[TensorOp], ...] = (AccumulateSliceOp,)
