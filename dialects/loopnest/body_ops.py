"""The ops of scalar bodies in the loopnest dialect: indices, loads, stores, loops over lanes.

Nests are perfect and hand their elements to a straight body; programs (`loopnest.forall`) have
control flow, loads and stores of their own. Both use arith, math, and the ops of this file.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from xdsl.dialects.builtin import (
    IndexType,
    IntegerAttr,
    IntegerType,
    MemRefType,
    Signedness,
    StringAttr,
    TensorType,
    UnitAttr,
    i64,
)
from xdsl.dialects.utils import AbstractYieldOperation
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    region_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import (
    EffectInstance,
    IsTerminator,
    MemoryEffect,
    MemoryEffectKind,
    MemoryWriteEffect,
    Pure,
    RecursiveMemoryEffect,
)
from xdsl.utils.exceptions import VerifyException

from gradir.dialects.base.kept_facts import kept_fact
from gradir.dialects.base.shapes import as_integer_type, memref_type
from gradir.dialects.loopnest.text import print_attributes_and_body

ShapedType = TensorType[Attribute] | MemRefType[Attribute]


class WritesBuffers(MemoryEffect):
    """The effects of nests and foralls: none on tensors; on buffers, reads and writes."""

    @classmethod
    def get_effects(cls, op: Operation) -> set[EffectInstance]:
        outputs = cast(Any, op).outputs
        kinds = (MemoryEffectKind.READ, MemoryEffectKind.WRITE) if outputs else ()
        return set(map(EffectInstance, kinds))


@kept_fact
def scalar_type(element: Attribute) -> Attribute:
    """The type of one element inside a body: arith knows signless integers only, so ui8 is i8."""
    integer = as_integer_type(element)
    if integer is not None and integer.signedness.data != Signedness.SIGNLESS:
        return IntegerType(integer.width.data)
    return element


def memory_type(type_: Attribute) -> MemRefType[Attribute]:
    """The buffer type of a tensor or buffer; in a program results are buffers: they are mutable."""
    shaped = cast(ShapedType, type_)
    return memref_type(shaped.get_shape(), shaped.element_type)


@irdl_op_definition
class IndexOp(IRDLOperation):
    """The current value of iteration dimension `dim`, as i64."""

    name = "loopnest.index"
    dim = prop_def(IntegerAttr)
    result = result_def(i64)
    traits = traits_def(Pure())
    assembly_format = "$dim attr-dict"

    def __init__(self, dim: int):
        Operation.__init__(self, properties={"dim": IntegerAttr(dim, i64)}, result_types=[i64])


class _ReadsBuffers(MemoryEffect):
    """A tensor is a value; the contents of a buffer may change."""

    @classmethod
    def get_effects(cls, op: Operation) -> set[EffectInstance]:
        is_buffer = isinstance(op.operands[0].type, MemRefType)
        return {EffectInstance(MemoryEffectKind.READ)} if is_buffer else set()


@irdl_op_definition
class LoadOp(IRDLOperation):
    """One element of a whole tensor or buffer operand, at i64 indices in range."""

    name = "loopnest.load"
    source = operand_def()
    indices = var_operand_def(i64)
    result = result_def()
    traits = traits_def(_ReadsBuffers())
    assembly_format = "$source `[` $indices `]` attr-dict `:` type($source) `->` type($result)"

    def __init__(self, source: SSAValue, indices: Sequence[SSAValue]):
        element = scalar_type(cast(ShapedType, source.type).element_type)
        Operation.__init__(self, operands=[source, *indices], result_types=[element])

    def verify_(self) -> None:
        rank = len(cast(ShapedType, self.source.type).get_shape())
        if len(self.indices) != rank:
            raise VerifyException(f"{self.name}: {rank} indices expected, got {len(self.indices)}")
        element = scalar_type(cast(ShapedType, self.source.type).element_type)
        if self.result.type != element:
            raise VerifyException(
                f"{self.name}: expected a result of {element} from {self.source.type}, "
                f"got {self.result.type}"
            )


def require_bound(op: Operation, bound: IntegerAttr[IntegerType | IndexType]) -> None:
    """VerifyException for a bound of an index check that admits no index."""
    if not 0 < bound.value.data < 1 << 63:
        raise VerifyException(
            f"{op.name}: bound must be positive and below 2**63, got {bound.value.data}"
        )


@irdl_op_definition
class CheckIndexOp(IRDLOperation):
    """An index in [-bound, bound), from the end where negative, as one in [0, bound).

    With `from_start` none counts from the end. An index out of range is clamped, and the call
    fails after the nest with an error of `message` (the op and its location), the index and the
    bound. `bound` is positive.
    """

    name = "loopnest.check_index"
    index = operand_def(i64)
    bound = prop_def(IntegerAttr)
    from_start = opt_prop_def(UnitAttr)
    message = prop_def(StringAttr)
    result = result_def(i64)
    traits = traits_def(Pure())
    assembly_format = (
        "$index `bound` $bound (`from_start` $from_start^)? `message` $message attr-dict"
    )

    def __init__(self, index: SSAValue, bound: int, message: str, from_start: bool = False):
        super().__init__(
            operands=[index],
            properties={
                "bound": IntegerAttr(bound, i64),
                "from_start": UnitAttr() if from_start else None,
                "message": StringAttr(message),
            },
            result_types=[i64],
        )

    def verify_(self) -> None:
        require_bound(self, self.bound)


@irdl_op_definition
class YieldOp(AbstractYieldOperation[Attribute]):
    """Ends a body. Of a nest: one value per output, then the scattered indices by their symbols."""

    name = "loopnest.yield"
    traits = traits_def(IsTerminator())

    def __init__(self, *values: SSAValue):
        Operation.__init__(self, operands=values)


@irdl_op_definition
class StoreOp(IRDLOperation):
    """Writes one element of a result of the program, at i64 indices in range.

    loopnest.store %v, %out[%i, %j] : memref<4x5xf32>
    """

    name = "loopnest.store"
    value = operand_def()
    target = operand_def(MemRefType)
    indices = var_operand_def(i64)
    traits = traits_def(MemoryWriteEffect())
    assembly_format = (
        "$value `,` $target `[` $indices `]` attr-dict `:` type($value) `to` type($target)"
    )

    def __init__(self, value: SSAValue, target: SSAValue, indices: Sequence[SSAValue]):
        super().__init__(operands=[value, target, list(indices)])

    def verify_(self) -> None:
        target = cast(ShapedType, self.target.type)
        if len(self.indices) != len(target.get_shape()):
            rank = len(target.get_shape())
            raise VerifyException(f"{self.name}: {rank} indices expected, got {len(self.indices)}")
        element = scalar_type(target.element_type)
        if self.value.type != element:
            raise VerifyException(
                f"{self.name}: expected a value of {element} for {target}, got {self.value.type}"
            )


@irdl_op_definition
class LanesOp(IRDLOperation):
    """`for (i = lower; i < upper; i += 1)` whose iterations are independent: run as vectors.

    No iteration reads an element that another one writes. Inside, conditions and the bounds and
    steps of loops must not depend on i; a loop without a counter and a nested loopnest.lanes are
    not allowed.

        loopnest.lanes %j = %lower to %upper {
          ...
        }
    """

    name = "loopnest.lanes"
    lower = operand_def(i64)
    upper = operand_def(i64)
    body = region_def("single_block")
    traits = traits_def(RecursiveMemoryEffect())

    def __init__(self, lower: SSAValue, upper: SSAValue, body: Region | Block):
        region = body if isinstance(body, Region) else Region(body)
        super().__init__(operands=[lower, upper], regions=[region])

    def verify_(self) -> None:
        if [a.type for a in self.body.block.args] != [i64]:
            raise VerifyException(
                f"{self.name}: the body takes one argument, the index of type i64"
            )
        last = self.body.block.last_op
        if not isinstance(last, YieldOp) or last.operands:
            raise VerifyException(f"{self.name}: the body must end in loopnest.yield of nothing")

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_ssa_value(self.body.block.args[0])
        printer.print_string(" = ")
        printer.print_ssa_value(self.lower)
        printer.print_string(" to ")
        printer.print_ssa_value(self.upper)
        print_attributes_and_body(printer, self.attributes, self.body)

    @classmethod
    def parse(cls, parser: Parser) -> LanesOp:
        index = parser.parse_argument(expect_type=False)
        parser.parse_punctuation("=")
        lower = parser.parse_operand(i64)
        parser.parse_keyword("to")
        upper = parser.parse_operand(i64)
        attributes = parser.parse_optional_attr_dict_with_keyword()
        op = cls(lower, upper, parser.parse_region([index.resolve(i64)]))
        op.attributes |= dict(attributes.data) if attributes else {}
        return op


OPS: tuple[type[IRDLOperation], ...] = (IndexOp, LoadOp, StoreOp, LanesOp, CheckIndexOp, YieldOp)
