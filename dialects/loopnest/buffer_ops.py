"""Loopnest ops of scalar code at buffer level: checked offsets and steps, windows of buffers."""

from __future__ import annotations

from math import prod
from typing import ClassVar, cast

from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    IndexType,
    IntegerAttr,
    MemRefType,
    StringAttr,
    UnitAttr,
    i8,
    i64,
)
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import (
    AnyAttr,
    IRDLOperation,
    VarConstraint,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
)
from xdsl.traits import MemoryReadEffect, MemoryWriteEffect, Pure
from xdsl.utils.exceptions import VerifyException

from gradir.dialects.base.shapes import memref_type
from gradir.dialects.loopnest.body_ops import require_bound

_index = IndexType()


@irdl_op_definition
class CheckOffsetOp(IRDLOperation):
    """An index in [0, bound).

    Outside of that the result is clamped and the call fails with an error that gives `message`
    (the op and its location), the index and the bound; if `plain`, the message alone. With a bound
    of 0 each index fails; the result is 0, at which there is nothing to read or write.

        %1 = loopnest.check_offset %0 bound 4 : i64 message "f.mlir:3:8: tensor.extract"
    """

    name = "loopnest.check_offset"
    index = operand_def(_index)
    bound = prop_def(IntegerAttr)
    message = prop_def(StringAttr)
    plain = opt_prop_def(UnitAttr)
    result = result_def(_index)
    traits = traits_def(Pure())
    assembly_format = "$index `bound` $bound (`plain` $plain^)? `message` $message attr-dict"

    def __init__(self, index: SSAValue, bound: int, message: str, is_plain: bool = False):
        super().__init__(
            operands=[index],
            properties={
                "bound": IntegerAttr(bound, i64),
                "message": StringAttr(message),
                "plain": UnitAttr() if is_plain else None,
            },
            result_types=[_index],
        )

    def verify_(self) -> None:
        if self.bound.value.data:
            require_bound(self, self.bound)


@irdl_op_definition
class CheckStepOp(IRDLOperation):
    """The step of a loop, which must be positive.

    Else it is so large that the loop ends at once, and the call fails with `message`.
    """

    name = "loopnest.check_step"

    T: ClassVar = VarConstraint("T", AnyAttr())

    step = operand_def(T)
    message = prop_def(StringAttr)
    result = result_def(T)
    traits = traits_def(Pure())
    assembly_format = "$step `message` $message attr-dict `:` type($step)"

    def __init__(self, step: SSAValue, message: str):
        super().__init__(
            operands=[step],
            properties={"message": StringAttr(message)},
            result_types=[step.type],
        )


@irdl_op_definition
class RecordsOp(IRDLOperation):
    """Memory for records; it grows while the function runs, and is freed at its end.

    `stride` is the distance of records in bytes. `size` bytes of each count against `limit`, the
    most bytes of all records together (negative: no limit).

        %tape = loopnest.records stride 16 size 16 limit 1024 : memref<?xi8>

    With `kept` the memory is not freed: the caller takes it, with result number `kept`.
    """

    name = "loopnest.records"
    stride = prop_def(IntegerAttr)
    size = prop_def(IntegerAttr)
    limit = prop_def(IntegerAttr)
    kept = opt_prop_def(IntegerAttr)
    result = result_def(MemRefType)
    assembly_format = (
        "`stride` $stride `size` $size `limit` $limit (`kept` $kept^)? attr-dict `:` type($result)"
    )

    def __init__(self, stride: int, size: int, limit: int, kept: int | None = None):
        numbers = {"stride": stride, "size": size, "limit": limit, "kept": kept}
        super().__init__(
            properties={
                name: None if number is None else IntegerAttr(number, i64)
                for name, number in numbers.items()
            },
            result_types=[memref_type([DYNAMIC_INDEX], i8)],
        )


@irdl_op_definition
class RecordsAtOp(IRDLOperation):
    """Records of an earlier call, at the address in a slot; read only."""

    name = "loopnest.records_at"
    slot = operand_def(MemRefType)
    result = result_def(MemRefType)
    traits = traits_def(Pure())
    assembly_format = "$slot attr-dict `:` type($slot) `->` type($result)"

    def __init__(self, slot: SSAValue):
        super().__init__(operands=[slot], result_types=[memref_type([DYNAMIC_INDEX], i8)])


@irdl_op_definition
class ReserveOp(IRDLOperation):
    """Make room for record number `count`, and give that number.

    It invalidates the windows of the records. Where the limit is exceeded, or there is no
    memory, the result is 0 and the call fails with `message`, the limit and the bytes needed.
    """

    name = "loopnest.reserve"
    records = operand_def(MemRefType)
    count = operand_def(_index)
    message = prop_def(StringAttr)
    row = result_def(_index)
    traits = traits_def(MemoryReadEffect(), MemoryWriteEffect())
    assembly_format = "$records `[` $count `]` `message` $message attr-dict `:` type($records)"

    def __init__(self, records: SSAValue, count: SSAValue, message: str):
        super().__init__(
            operands=[records, count],
            properties={"message": StringAttr(message)},
            result_types=[_index],
        )


@irdl_op_definition
class BoundIfRoomOp(IRDLOperation):
    """The upper bound of a loop on records: `high`, but `low` where a reservation failed, so that
    the loop has no trips.

        %end = loopnest.bound_if_room %tape, %low, %high : memref<?xi8>, index
    """

    name = "loopnest.bound_if_room"

    T: ClassVar = VarConstraint("T", AnyAttr())

    records = operand_def(MemRefType)
    low = operand_def(T)
    high = operand_def(T)
    result = result_def(T)
    traits = traits_def(MemoryReadEffect())
    assembly_format = "$records `,` $low `,` $high attr-dict `:` type($records) `,` type($result)"

    def __init__(self, records: SSAValue, low: SSAValue, high: SSAValue):
        super().__init__(operands=[records, low, high], result_types=[high.type])


@irdl_op_definition
class WindowOp(IRDLOperation):
    """The elements of a buffer from `offset` on, in row-major order, as a buffer of its own.

    Of records the offset is in bytes, and the elements may be of any type.
    Shares memory with the source; all of it must be inside.

        %row = loopnest.window %x at %offset : memref<4x3xf64> -> memref<3xf64>
    """

    name = "loopnest.window"
    source = operand_def(MemRefType)
    offset = operand_def(_index)
    result = result_def(MemRefType)
    traits = traits_def(Pure())
    assembly_format = "$source `at` $offset attr-dict `:` type($source) `->` type($result)"

    def __init__(self, source: SSAValue, offset: SSAValue, type_: Attribute):
        super().__init__(operands=[source, offset], result_types=[type_])

    def verify_(self) -> None:
        source, result = (cast(MemRefType[Attribute], v.type) for v in (self.source, self.result))
        if isinstance(self.source.owner, RecordsOp | RecordsAtOp):
            return
        if prod(result.get_shape()) > prod(source.get_shape()):
            raise VerifyException(f"{self.name}: {result} does not fit {source}")
        if source.element_type != result.element_type:
            raise VerifyException(f"{self.name}: elements must agree, got {source} and {result}")


OPS: tuple[type[IRDLOperation], ...] = (
    *(CheckOffsetOp, CheckStepOp, RecordsOp, RecordsAtOp, ReserveOp, BoundIfRoomOp, WindowOp),
)
