"""grad.extent: an extent with a name as a number; gradir-specialize makes a constant of it."""

from __future__ import annotations

from typing import ClassVar

from xdsl.dialects.arith import ConstantOp
from xdsl.dialects.builtin import IndexType, IntegerAttr, StringAttr, i64
from xdsl.ir import Attribute, Operation
from xdsl.irdl import IRDLOperation, irdl_op_definition, prop_def, result_def, traits_def
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from gradir.dialects.array.creation import FullOp
from gradir.dialects.base.extent_values import read_extent
from gradir.dialects.base.extents import Size
from gradir.dialects.base.shapes import tensor


@irdl_op_definition
class ExtentOp(IRDLOperation):
    """The number of an extent, of symbols that types of the function name.

    The result is an index, or a tensor<i64>.

        %n = grad.extent "2*n + 1" : index
    """

    name = "grad.extent"
    assembly_format: ClassVar[str | None] = "$of attr-dict `:` type($result)"

    of = prop_def(StringAttr)
    result = result_def()
    traits = traits_def(Pure())

    def __init__(self, size: Size, type_: Attribute):
        super().__init__(properties={"of": StringAttr(str(size))}, result_types=[type_])

    @property
    def size(self) -> Size:
        """The extent, or an integer."""
        return read_extent(self.of.data)

    def constant(self, number: int) -> Operation:
        """A constant of the result's type."""
        if isinstance(self.result.type, IndexType):
            return ConstantOp(IntegerAttr(number, self.result.type))
        return FullOp.fill(number, tensor([], i64))

    def verify_(self) -> None:
        if self.result.type not in (IndexType(), tensor([], i64)):
            raise VerifyException(
                f"{self.name}: result type must be index or tensor<i64>, got {self.result.type}"
            )
        _ = self.size


OPS: tuple[type[IRDLOperation], ...] = (ExtentOp,)
