"""The custom assembly format of loopnest.nest and loopnest.contract: printing and parsing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from xdsl.dialects.builtin import MemRefType, StringAttr, TensorType
from xdsl.ir import Attribute, Region, SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap, AffineSymExpr
from xdsl.parser import Parser, UnresolvedOperand
from xdsl.printer import Printer

from gradir.dialects.base.access import Access, Row, access_of

if TYPE_CHECKING:
    from gradir.dialects.loopnest.loopnest import LoopOp


def print_loop(printer: Printer, op: LoopOp) -> None:
    """Print all of `op` after its name."""
    printer.print_string(f" {list(op.extents)} (")
    _print_inputs(printer, op)
    printer.print_string(")")
    if op.HIDDEN_INPUTS:
        printer.print_string(" acc ")
        printer.print_block_argument(op.body.block.args[0])
        if op.roles is not None:
            printer.print_string(f" roles {op.roles.data}")
        if op.precision is not None:
            printer.print_string(f" precision {op.precision.data}")
    printer.print_string(" -> (")
    _print_outputs(printer, op)
    printer.print_string(")")
    for scratch in op.scratch:
        printer.print_string(" scratch ")
        printer.print_ssa_value(scratch)
        printer.print_string(" : ")
        printer.print_attribute(scratch.type)
    print_attributes_and_body(printer, op.attributes, op.body)


def print_attributes_and_body(
    printer: Printer, attributes: Mapping[str, Attribute], body: Region
) -> None:
    """Print what a loop ends with."""
    if attributes:
        printer.print_string(" attributes")
        printer.print_op_attributes(attributes)
    printer.print_string(" ")
    printer.print_region(body, print_entry_block_args=False)


def _print_inputs(printer: Printer, op: LoopOp) -> None:
    arguments = list(op.body.block.args)
    hidden = op.HIDDEN_INPUTS
    visible: list[SSAValue | None] = [None] * hidden
    visible += arguments[1 if hidden else 0 :]
    rows = zip(visible, op.inputs, op.input_accesses, op.input_pads, strict=True)
    for k, (argument, value, access, pad) in enumerate(rows):
        printer.print_string(", " if k else "")
        if argument is not None:
            printer.print_ssa_value(argument)
            printer.print_string(" = ")
        printer.print_ssa_value(value)
        printer.print_string("" if access is None else subscripts(access))
        if pad is not None:
            printer.print_string(" pad ")
            printer.print_attribute(pad)
        printer.print_string(" : ")
        printer.print_attribute(value.type)


def _print_outputs(printer: Printer, op: LoopOp) -> None:
    starts = {o: n for n, o in enumerate(op.starting_outputs)}
    rows = zip(op.output_types, op.output_accesses, op.output_combiners, strict=True)
    for k, (type_, access, combiner) in enumerate(rows):
        printer.print_string(", " if k else "")
        printer.print_string("" if combiner == "none" else combiner + " ")
        printer.print_string(subscripts(access))
        if k in starts:
            printer.print_string(" init")
            if op.inits:
                printer.print_string(" ")
                printer.print_ssa_value(op.inits[starts[k]])
        if op.outputs:
            printer.print_string(" to ")
            printer.print_ssa_value(op.outputs[k])
        printer.print_string(" : ")
        printer.print_attribute(type_)


def subscripts(access: Access) -> str:
    """The rows as they are written: `[d0, 2 * d1 + 1]`."""
    return "[" + ", ".join(_row_text(row) for row in access.rows) + "]"


def _row_text(row: Row) -> str:
    if row.symbol is not None:
        return f"s{row.symbol}"
    terms = [
        f"d{d}" if row.coefficients[d] == 1 else f"{row.coefficients[d]} * d{d}" for d in row.used
    ]
    if row.constant or not terms:
        terms.append(str(row.constant))
    return " + ".join(terms)


@dataclass
class _Input:
    name: Parser.UnresolvedArgument | None
    value: UnresolvedOperand
    access: Access | None
    pad: Attribute | None
    type: Attribute


@dataclass
class _Result:
    combiner: str
    access: Access
    starts: bool
    init: UnresolvedOperand | None
    buffer: UnresolvedOperand | None
    type: Attribute


@dataclass
class LoopHeader:
    """The parsed text of a loop op before its body."""

    bounds: list[int]
    inputs: list[_Input]
    accumulator: Parser.Argument | None
    roles: StringAttr | None
    precision: StringAttr | None
    results: list[_Result]
    scratch: SSAValue | None
    attributes: dict[str, Attribute]

    def arguments(self, parser: Parser, hidden: int) -> list[Parser.Argument]:
        """The arguments of the body's block."""
        arguments = [self.accumulator] if self.accumulator else []
        for one in self.inputs[hidden:]:
            if one.name is None:
                parser.raise_error("expected `%name = %value[...]` for an input of the body")
            arguments.append(one.name.resolve(_argument_type(one)))
        return arguments

    def build(self, parser: Parser, cls: type[LoopOp], body: Region) -> Any:
        """The op itself."""
        from gradir.dialects.loopnest.loopnest import Output

        resolve = parser.resolve_operand
        outputs = [
            Output(r.type, r.access, r.combiner, resolve(r.init, r.type) if r.init else None)
            for r in self.results
        ]
        op = cls(
            self.bounds,
            [resolve(i.value, i.type) for i in self.inputs],
            [i.access for i in self.inputs],
            outputs,
            body,
            [i.pad for i in self.inputs],
            [resolve(r.buffer, r.type) for r in self.results if r.buffer],
            [k for k, r in enumerate(self.results) if r.starts],
            self.scratch,
            self.roles,
            self.precision,
        )
        op.attributes |= self.attributes
        return op


def parse_loop_header(parser: Parser, hidden: int) -> LoopHeader:
    """Parse the text of `print_loop` up to the body."""
    bounds = parser.parse_comma_separated_list(
        parser.Delimiter.SQUARE, lambda: parser.parse_integer(allow_boolean=False)
    )
    rank = len(bounds)
    inputs = parser.parse_comma_separated_list(
        parser.Delimiter.PAREN, lambda: _parse_input(parser, rank)
    )
    accumulator = roles = precision = None
    if hidden:
        parser.parse_keyword("acc")
        accumulator = parser.parse_argument()
        if parser.parse_optional_keyword("roles"):
            roles = StringAttr(parser.parse_identifier())
        if parser.parse_optional_keyword("precision"):
            precision = StringAttr(parser.parse_identifier())
    parser.parse_punctuation("->")
    results = parser.parse_comma_separated_list(
        parser.Delimiter.PAREN, lambda: _parse_result(parser, rank)
    )
    scratch = None
    if parser.parse_optional_keyword("scratch"):
        operand = parser.parse_unresolved_operand()
        parser.parse_punctuation(":")
        scratch = parser.resolve_operand(operand, parser.parse_type())
    attributes = parser.parse_optional_attr_dict_with_keyword()
    data = dict(attributes.data) if attributes else {}
    return LoopHeader(bounds, inputs, accumulator, roles, precision, results, scratch, data)


def _argument_type(one: _Input) -> Attribute:
    if one.access is None:
        return one.type
    element = cast(TensorType[Attribute] | MemRefType[Attribute], one.type).element_type
    from gradir.dialects.loopnest.loopnest import scalar_type

    return scalar_type(element)


def _parse_input(parser: Parser, rank: int) -> _Input:
    name: Parser.UnresolvedArgument | None = None
    value = parser.parse_unresolved_operand()
    if parser.parse_optional_punctuation("=") is not None:
        name = parser.UnresolvedArgument(value.span)
        value = parser.parse_unresolved_operand()
    access = _parse_optional_access(parser, rank)
    pad = parser.parse_attribute() if parser.parse_optional_keyword("pad") else None
    parser.parse_punctuation(":")
    return _Input(name, value, access, pad, _parse_shaped_type(parser))


def _parse_result(parser: Parser, rank: int) -> _Result:
    combiner = parser.parse_optional_identifier() or "none"
    access = _parse_optional_access(parser, rank)
    if access is None:
        parser.raise_error("expected the subscripts of an output: `[d0, ...]`")
    starts = parser.parse_optional_keyword("init") is not None
    init = parser.parse_optional_unresolved_operand() if starts else None
    buffer = parser.parse_unresolved_operand() if parser.parse_optional_keyword("to") else None
    parser.parse_punctuation(":")
    return _Result(combiner, access, starts, init, buffer, _parse_shaped_type(parser))


def _parse_shaped_type(parser: Parser) -> Attribute:
    position = parser.pos
    type_ = parser.parse_type()
    if not isinstance(type_, TensorType | MemRefType):
        parser.raise_error("expected a tensor or memref type", position)
    return cast(Attribute, type_)


def _parse_optional_access(parser: Parser, rank: int) -> Access | None:
    rows: Sequence[AffineExpr] | None = parser.parse_optional_comma_separated_list(
        parser.Delimiter.SQUARE, lambda: _parse_row(parser, rank)
    )
    if rows is None:
        return None
    symbols = [e.position for r in rows for e in r.dfs() if isinstance(e, AffineSymExpr)]
    return access_of(AffineMap(rank, 1 + max(symbols, default=-1), tuple(rows)))


def _parse_row(parser: Parser, rank: int) -> AffineExpr:
    """`term (+ term | - term)*` where a term is d0, s0, 3, 3 * d0, or d0 * 3."""
    expr = _parse_term(parser, rank)
    while True:
        if parser.parse_optional_punctuation("+") is not None:
            expr = expr + _parse_term(parser, rank)
        elif parser.parse_optional_punctuation("-") is not None:
            expr = expr + _parse_term(parser, rank) * -1
        else:
            return expr


def _parse_term(parser: Parser, rank: int) -> AffineExpr:
    factor = parser.parse_optional_integer(allow_boolean=False)
    if factor is not None and parser.parse_optional_punctuation("*") is None:
        return AffineExpr.constant(factor)
    position = parser.pos
    name = parser.parse_identifier()
    if not name[1:].isdigit() or name[0] not in "ds" or (name[0] == "d" and int(name[1:]) >= rank):
        parser.raise_error(f"expected one of d0 ... d{rank - 1}, got {name}", position)
    make = AffineExpr.dimension if name[0] == "d" else AffineExpr.symbol
    term = make(int(name[1:]))
    if factor is None and parser.parse_optional_punctuation("*") is not None:
        factor = parser.parse_integer(allow_boolean=False)
    return term if factor is None else term * factor
