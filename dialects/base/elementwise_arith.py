"""Ops of arith on tensors that xDSL has on numbers alone: comparisons, choices, conversions.

A class here parses the op of its name: on tensors into itself, on numbers into xDSL's op
(`NUMBERS`). `Arith` is xDSL's dialect with these classes in it.
"""

from __future__ import annotations

from abc import ABC
from collections.abc import Sequence
from typing import Any, ClassVar

from xdsl.dialects import arith
from xdsl.dialects.builtin import IntegerAttr, i1, i64
from xdsl.ir import Attribute, Block, Dialect, Operation, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import Pure

from gradir.dialects.base.shapes import element_of, is_tensor, shape_of, tensor


class TensorForm(IRDLOperation, ABC):
    """An op on tensors: xDSL's `NUMBERS` on each element."""

    NUMBERS: ClassVar[type[Operation]]

    traits = traits_def(Pure())

    @classmethod
    def create(cls, **parts: Any) -> Any:
        """The op, or xDSL's where the deciding type is no tensor."""
        # a copy of a block is made without operands at first
        operands = parts.get("operands")
        if not operands or is_tensor(operands[0].type):
            return super().create(**parts)
        return cls.NUMBERS.create(**parts)

    def verify_(self) -> None:
        # the rules of the op on numbers, which the elements have to keep
        elements = Block(arg_types=[_element(o.type) for o in self.operands])
        of_numbers = self.NUMBERS.create(
            operands=elements.args,
            result_types=[_element(r.type) for r in self.results],
            properties=self.properties,
        )
        of_numbers.verify()


def _element(type_: Attribute) -> Attribute:
    return element_of(type_) if is_tensor(type_) else type_


class _Comparison(TensorForm, ABC):
    PREDICATES: ClassVar[Sequence[str]]

    predicate = prop_def(IntegerAttr)
    lhs = operand_def()
    rhs = operand_def()
    result = result_def()

    @classmethod
    def parse(cls, parser: Parser) -> Any:
        predicate = parser.parse_identifier()
        if predicate not in cls.PREDICATES:
            known = ", ".join(cls.PREDICATES)
            parser.raise_error(f"{cls.name}: the predicate must be one of {known}, got {predicate}")
        operands: list[Any] = []
        for _ in range(2):
            parser.parse_punctuation(",")
            operands.append(parser.parse_unresolved_operand())
        properties = cls.parse_flags(parser)
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        type_ = parser.parse_type()
        values = parser.resolve_operands(operands, [type_, type_], parser.pos)
        properties["predicate"] = IntegerAttr(cls.PREDICATES.index(predicate), i64)
        return cls.create(
            operands=values,
            result_types=[_bools_like(type_)],
            properties=properties,
            attributes=attributes,
        )

    @classmethod
    def parse_flags(cls, parser: Parser) -> dict[str, Attribute]:
        return {}

    def print(self, printer: Printer) -> None:
        printer.print_string(f" {self.PREDICATES[self.predicate.value.data]}, ")
        printer.print_list(self.operands, printer.print_ssa_value)
        self.print_flags(printer)
        printer.print_op_attributes(self.attributes)
        printer.print_string(" : ")
        printer.print_attribute(self.lhs.type)

    def print_flags(self, printer: Printer) -> None:
        """Print the flags behind the operands."""


@irdl_op_definition
class CmpiOp(_Comparison):
    """Integers compared as the predicate says."""

    name = "arith.cmpi"
    NUMBERS: ClassVar[type[Operation]] = arith.CmpiOp
    PREDICATES: ClassVar[Sequence[str]] = tuple(arith.CMPI_COMPARISON_OPERATIONS)


@irdl_op_definition
class CmpfOp(_Comparison):
    """Floats compared as the predicate says."""

    name = "arith.cmpf"
    NUMBERS: ClassVar[type[Operation]] = arith.CmpfOp
    PREDICATES: ClassVar[Sequence[str]] = tuple(arith.CMPF_COMPARISON_OPERATIONS)

    fastmath = opt_prop_def(arith.FastMathFlagsAttr)

    @classmethod
    def parse_flags(cls, parser: Parser) -> dict[str, Attribute]:
        flags = arith.FastMathFlagsAttr("none")
        if parser.parse_optional_keyword("fastmath"):
            flags = arith.FastMathFlagsAttr(arith.FastMathFlagsAttr.parse_parameter(parser))
        return {"fastmath": flags}

    def print_flags(self, printer: Printer) -> None:
        flags = self.fastmath
        if isinstance(flags, arith.FastMathFlagsAttr) and flags != arith.FastMathFlagsAttr("none"):
            printer.print_string(" fastmath")
            flags.print_parameter(printer)


@irdl_op_definition
class SelectOp(TensorForm):
    """Element by element: `lhs` where the condition is true, else `rhs`."""

    name = "arith.select"
    NUMBERS: ClassVar[type[Operation]] = arith.SelectOp

    cond = operand_def()
    lhs = operand_def()
    rhs = operand_def()
    result = result_def()

    @classmethod
    def parse(cls, parser: Parser) -> Any:
        operands = [parser.parse_unresolved_operand()]
        for _ in range(2):
            parser.parse_punctuation(",")
            operands.append(parser.parse_unresolved_operand())
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        condition, type_ = i1, parser.parse_type()
        if parser.parse_optional_punctuation(",") is not None:
            condition, type_ = type_, parser.parse_type()
        values = parser.resolve_operands(operands, [condition, type_, type_], parser.pos)
        return cls.create(operands=values, result_types=[type_], attributes=attributes)

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_list(self.operands, printer.print_ssa_value)
        printer.print_op_attributes(self.attributes)
        printer.print_string(" : ")
        printer.print_list([self.cond.type, self.result.type], printer.print_attribute)


class _Conversion(TensorForm, ABC):
    input = operand_def()
    result = result_def()

    @classmethod
    def parse(cls, parser: Parser) -> Any:
        operand = parser.parse_unresolved_operand()
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        source = parser.parse_type()
        parser.parse_keyword("to")
        target = parser.parse_type()
        values = parser.resolve_operands([operand], [source], parser.pos)
        return cls.create(operands=values, result_types=[target], attributes=attributes)

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_ssa_value(self.input)
        printer.print_op_attributes(self.attributes)
        printer.print_string(" : ")
        printer.print_attribute(self.input.type)
        printer.print_string(" to ")
        printer.print_attribute(self.result.type)


@irdl_op_definition
class SIToFPOp(_Conversion):
    """Signed integers as floats; i1 true is -1."""

    name = "arith.sitofp"
    NUMBERS: ClassVar[type[Operation]] = arith.SIToFPOp


@irdl_op_definition
class UIToFPOp(_Conversion):
    """Unsigned integers as floats; i1 true is 1."""

    name = "arith.uitofp"
    NUMBERS: ClassVar[type[Operation]] = arith.UIToFPOp


@irdl_op_definition
class FPToSIOp(_Conversion):
    """Floats as signed integers: towards 0, saturating, nan to 0."""

    name = "arith.fptosi"
    NUMBERS: ClassVar[type[Operation]] = arith.FPToSIOp


@irdl_op_definition
class FPToUIOp(_Conversion):
    """Floats as unsigned integers: towards 0, saturating, nan to 0."""

    name = "arith.fptoui"
    NUMBERS: ClassVar[type[Operation]] = arith.FPToUIOp


@irdl_op_definition
class ExtSIOp(_Conversion):
    """Signed integers with more bits."""

    name = "arith.extsi"
    NUMBERS: ClassVar[type[Operation]] = arith.ExtSIOp


@irdl_op_definition
class ExtUIOp(_Conversion):
    """Unsigned integers with more bits."""

    name = "arith.extui"
    NUMBERS: ClassVar[type[Operation]] = arith.ExtUIOp


@irdl_op_definition
class TruncIOp(_Conversion):
    """Integers with fewer bits: the low ones."""

    name = "arith.trunci"
    NUMBERS: ClassVar[type[Operation]] = arith.TruncIOp


@irdl_op_definition
class IndexCastOp(_Conversion):
    """Between an integer and index, both signed."""

    name = "arith.index_cast"
    NUMBERS: ClassVar[type[Operation]] = arith.IndexCastOp


FORMS: dict[type[Operation], type[TensorForm]] = {
    op.NUMBERS: op
    for op in (
        *(CmpiOp, CmpfOp, SelectOp, SIToFPOp, UIToFPOp, FPToSIOp, FPToUIOp, ExtSIOp, ExtUIOp),
        *(TruncIOp, IndexCastOp),
    )
}
"""The class on tensors for each of xDSL's ops on numbers."""


def _bools_like(type_: Attribute) -> Attribute:
    return tensor(shape_of(type_), i1) if is_tensor(type_) else i1


def comparison(op: type[Operation], x: SSAValue, y: SSAValue, predicate: str) -> Operation:
    """A comparison of two numbers or two tensors; `op` is xDSL's class for numbers."""
    form = FORMS[op]
    assert issubclass(form, _Comparison)
    number = IntegerAttr(form.PREDICATES.index(predicate), i64)
    properties: dict[str, Attribute] = {"predicate": number}
    if form is CmpfOp:
        properties["fastmath"] = arith.FastMathFlagsAttr("none")
    return form.create(operands=[x, y], result_types=[_bools_like(x.type)], properties=properties)


def made(op: type[Operation], operands: Sequence[SSAValue], result: Attribute) -> Operation:
    """The op on these operands, numbers or tensors; `op` is xDSL's class for numbers."""
    return FORMS.get(op, op).create(operands=operands, result_types=[result])


Arith = Dialect(
    "arith",
    [FORMS.get(op, op) for op in arith.Arith.operations],
    list(arith.Arith.attributes),
    [arith.ArithConstantMaterializationInterface()],
)
