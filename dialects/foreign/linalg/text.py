"""Text of linalg ops that xDSL does not read: several results of linalg.generic; tm_tensor.scan."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self, cast

from xdsl.dialects.builtin import ArrayAttr, BoolAttr, IntegerAttr, StringAttr, i64
from xdsl.dialects.linalg import ops as linalg
from xdsl.dialects.linalg.attrs import IteratorType, IteratorTypeAttr
from xdsl.dialects.utils import AbstractYieldOperation
from xdsl.ir import Attribute, Dialect, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    IRDLOperation,
    irdl_op_definition,
    prop_def,
    region_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import IsTerminator, Pure
from xdsl.utils.exceptions import VerifyException


def parse_operands(parser: Parser, keyword: str) -> Sequence[SSAValue]:
    """`ins(%a, %b : t, t)`, or `outs(...)`; nothing where the keyword is not there."""
    place = parser.pos
    if parser.parse_optional_keyword(keyword) is None:
        return ()
    parser.parse_punctuation("(")
    names = parser.parse_comma_separated_list(
        Parser.Delimiter.NONE, parser.parse_unresolved_operand
    )
    parser.parse_punctuation(":")
    types = parser.parse_comma_separated_list(Parser.Delimiter.NONE, parser.parse_type)
    parser.parse_punctuation(")")
    return parser.resolve_operands(names, types, place)


def parse_results(parser: Parser) -> Sequence[Attribute]:
    """`-> t`, `-> t, t` or `-> (t, t)`; none without an arrow."""
    if parser.parse_optional_punctuation("->") is None:
        return ()
    found = parser.parse_optional_comma_separated_list(Parser.Delimiter.PAREN, parser.parse_type)
    if found is None:
        found = parser.parse_comma_separated_list(Parser.Delimiter.NONE, parser.parse_type)
    return found


def print_operands(printer: Printer, keyword: str, values: Sequence[SSAValue]) -> None:
    """`ins(%a : t)`, as `parse_operands` reads it."""
    if not values:
        return
    printer.print_string(f" {keyword}(")
    printer.print_list(values, printer.print_ssa_value)
    printer.print_string(" : ")
    printer.print_list([v.type for v in values], printer.print_attribute)
    printer.print_string(")")


class GenericOp(linalg.GenericOp):
    """xDSL's linalg.generic, whose results may be types in parentheses.

    The definition is xDSL's.
    """

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        start = parser.pos
        settings = dict(parser.parse_optional_attr_dict())
        maps, kinds = settings.pop("indexing_maps", None), settings.pop("iterator_types", None)
        if not isinstance(maps, ArrayAttr) or not isinstance(kinds, ArrayAttr):
            parser.raise_error(
                "linalg.generic: expected indexing_maps and iterator_types", start, parser.pos
            )
        iterators = [_iterator(parser, each, start) for each in cast(Any, kinds).data]
        inputs, outputs = parse_operands(parser, "ins"), parse_operands(parser, "outs")
        extra: dict[str, Attribute] = {}
        if parser.parse_optional_keyword("attrs"):
            parser.parse_punctuation("=")
            extra = dict(parser.parse_optional_attr_dict())
        body = parser.parse_region()
        texts = [settings.pop(name, None) for name in ("doc", "library_call")]
        made = cls(
            *(inputs, outputs, body, cast(Any, maps), iterators, parse_results(parser)),
            *cast(Any, texts),
        )
        made.attributes |= settings | extra
        return made


def _iterator(parser: Parser, kind: Attribute, start: int) -> IteratorTypeAttr:
    if isinstance(kind, IteratorTypeAttr):
        return kind
    known = {each.value: each for each in IteratorType}
    if not isinstance(kind, StringAttr) or kind.data not in known:
        parser.raise_error(
            f"linalg.generic: expected iterator types {', '.join(known)}, got {kind}",
            *(start, parser.pos),
        )
    return IteratorTypeAttr(known[kind.data])


# tm_tensor, torch-mlir's dialect of what linalg cannot say.


@irdl_op_definition
class RunningYieldOp(AbstractYieldOperation[Attribute]):
    """Ends the body of a scan."""

    name = "tm_tensor.yield"
    traits = traits_def(IsTerminator())


@irdl_op_definition
class RunningOp(IRDLOperation):
    """Running sums and the like along a dimension: all of them, and the last."""

    name = "tm_tensor.scan"
    inputs = var_operand_def()
    outputs = var_operand_def()
    res = var_result_def()
    dimension = prop_def(IntegerAttr)
    inclusive = prop_def(IntegerAttr)
    body = region_def("single_block")
    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    traits = traits_def(Pure())

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        numbers: list[int] = []
        for keyword, read in (
            ("dimension", parser.parse_integer),
            ("inclusive", parser.parse_boolean),
        ):
            parser.parse_keyword(keyword)
            with parser.in_parens():
                numbers.append(int(read()))
        inputs, outputs = parse_operands(parser, "ins"), parse_operands(parser, "outs")
        body = parser.parse_region()
        return cls.build(
            operands=[inputs, outputs],
            result_types=[parse_results(parser)],
            properties={
                "dimension": IntegerAttr(numbers[0], i64),
                "inclusive": BoolAttr.from_bool(bool(numbers[1])),
            },
            regions=[body],
        )

    def print(self, printer: Printer) -> None:
        is_inclusive = "true" if self.inclusive.value.data else "false"
        printer.print_string(f" dimension({self.dimension.value.data}) inclusive({is_inclusive})")
        print_operands(printer, "ins", self.inputs)
        print_operands(printer, "outs", self.outputs)
        printer.print_string(" ")
        printer.print_region(self.body)
        printer.print_string(" -> ")
        printer.print_list(self.res.types, printer.print_attribute)

    def verify_(self) -> None:
        if len(self.inputs) != 1 or len(self.outputs) != 2 or len(self.res) != 2:
            raise VerifyException("tm_tensor.scan: expected one input, two outputs, two results")


TmTensor = Dialect("tm_tensor", [RunningOp, RunningYieldOp], [])
