"""The type of row slices: some rows of a tensor."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeGuard, cast

from xdsl.dialects.builtin import IntAttr, NoneAttr, TensorType, i64
from xdsl.ir import Attribute, ParametrizedAttribute, TypeAttribute
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from gradir.dialects.base.shapes import (
    DYNAMIC,
    AnyTensor,
    is_complex,
    is_scalar,
    is_static,
    require_size,
    shape_of,
    tensor,
)


@irdl_attr_definition
class SlicesType(ParametrizedAttribute, TypeAttribute):
    """`!grad.slices<1000x64xf32, count = 20>`: 20 rows of 64 numbers, of a tensor<1000x64xf32>.

    A value holds an index (i64) for each row. An index may occur several times: rows of one index
    add up. Without count the number of rows is unknown; native code needs it.
    """

    name = "grad.slices"

    dense: TensorType[Attribute]
    count: IntAttr | NoneAttr

    @staticmethod
    def of(dense: Attribute, count: int) -> SlicesType:
        """Slices of a dense type; the count may be DYNAMIC."""
        assert isinstance(dense, TensorType)
        dense = cast(TensorType[Attribute], dense)
        return SlicesType(dense, NoneAttr() if count == DYNAMIC else IntAttr(count))

    @property
    def rows(self) -> int:
        """The number of slices; DYNAMIC where it is unknown."""
        return self.count.data if isinstance(self.count, IntAttr) else DYNAMIC

    @property
    def indices(self) -> AnyTensor:
        return tensor([self.rows], i64)

    @property
    def values(self) -> AnyTensor:
        return tensor([self.rows, *shape_of(self.dense)[1:]], self.dense.element_type)

    def verify(self) -> None:
        if not shape_of(self.dense) or not is_static(self.dense):
            raise VerifyException(
                f"{self.name}: expected a static shape of rank 1 or more, got {self.dense}"
            )
        element = self.dense.element_type
        if not (is_scalar(element) or is_complex(element)):
            raise VerifyException(f"{self.name}: elements must be numbers, got {self.dense}")
        if isinstance(self.count, IntAttr) and self.count.data < 0:
            raise VerifyException(f"{self.name}: count must not be negative, got {self.rows}")
        for part in (self.dense, self.indices, self.values):
            require_size(part)

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        count: IntAttr | NoneAttr = NoneAttr()
        with parser.in_angle_brackets():
            shape, element = parser.parse_ranked_shape()
            if parser.parse_optional_punctuation(",") is not None:
                parser.parse_keyword("count")
                parser.parse_punctuation("=")
                count = IntAttr(parser.parse_integer(allow_boolean=False, allow_negative=False))
        return [TensorType(element, shape), count]

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            extents = ("?" if n == DYNAMIC else str(n) for n in shape_of(self.dense))
            printer.print_string("x".join([*extents, ""]))
            printer.print_attribute(self.dense.element_type)
            if isinstance(self.count, IntAttr):
                printer.print_string(f", count = {self.rows}")


def is_slices(type_: Attribute) -> TypeGuard[SlicesType]:
    return type(type_) is SlicesType
