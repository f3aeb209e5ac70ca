"""loopnest.forall: a scalar program with loops of its own, over whole tensors.

    %sums = loopnest.forall [4] (%in = %x : tensor<4x5xf32>) -> (%out : tensor<4x5xf32>) {
      %i = loopnest.index 0
      %first = arith.constant 0 : i64
      %end = arith.constant 5 : i64
      %one = arith.constant 1 : i64
      %zero = arith.constant 0.0 : f32
      %all = scf.for %j = %first to %end step %one iter_args(%sum = %zero) -> (f32) : i64 {
        %element = loopnest.load %in[%i, %j] : tensor<4x5xf32> -> f32
        %next = arith.addf %sum, %element : f32
        loopnest.store %next, %out[%i, %j] : f32 to memref<4x5xf32>
        scf.yield %next : f32
      }
      loopnest.yield
    }

The outer iterations, over the bounds, are independent and may run at the same time; there may be
no bounds, which is one iteration. The body is arith, math, scf.for, scf.if, scf.while, loads,
stores and loopnest.lanes (an inner loop that runs as vectors). It is handed the inputs whole, and
for each result a buffer that is undefined at the start. Every element of a result that is read
later is written by exactly one outer iteration, which may read it back. A result that nobody reads
is scratch. Bits are set by the program: no operation is reordered or contracted.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import cast

from xdsl.dialects import arith, math, scf
from xdsl.dialects.builtin import DenseArrayBase, MemRefType, TensorType
from xdsl.ir import Attribute, Block, BlockArgument, Operation, Region, SSAValue
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
from xdsl.traits import IsolatedFromAbove
from xdsl.utils.exceptions import VerifyException

from gradir.dialects.base.attributes import bounds_attribute, bounds_of
from gradir.dialects.loopnest import special
from gradir.dialects.loopnest.body_ops import (
    CheckIndexOp,
    IndexOp,
    LanesOp,
    LoadOp,
    StoreOp,
    WritesBuffers,
    YieldOp,
    memory_type,
)
from gradir.dialects.loopnest.checks import require_count
from gradir.dialects.loopnest.text import print_attributes_and_body

# The control flow of programs, and the terminators of its regions.
CONTROL_FLOW = (scf.ForOp, scf.IfOp, scf.WhileOp)
_ENDS = (scf.YieldOp, scf.ConditionOp, YieldOp)
_BODY = (IndexOp, LoadOp, StoreOp, LanesOp, CheckIndexOp, *CONTROL_FLOW, *_ENDS, *special.OPS)
_SCALAR_DIALECTS = (arith.Arith.name, math.Math.name)


@irdl_op_definition
class ForallOp(IRDLOperation):
    """A scalar program for each outer iteration; see the head of this file."""

    name = "loopnest.forall"

    inputs = var_operand_def()
    outputs = var_operand_def()
    results_ = var_result_def()
    bounds = prop_def(DenseArrayBase)
    body = region_def("single_block")
    traits = traits_def(WritesBuffers(), IsolatedFromAbove())

    irdl_options = (AttrSizedOperandSegments(as_property=True),)

    def __init__(
        self,
        bounds: Sequence[int],
        inputs: Sequence[SSAValue],
        types: Sequence[Attribute],
        body: Region | Block,
        buffers: Sequence[SSAValue] = (),
    ):
        """Build at tensor level, or at buffer level where `buffers` holds one memref an output."""
        super().__init__(
            operands=[inputs, buffers],
            result_types=[[] if buffers else types],
            properties={"bounds": bounds_attribute(bounds)},
            regions=[body if isinstance(body, Region) else Region(body)],
        )

    @property
    def extents(self) -> tuple[int, ...]:
        """The number of outer iterations of each dimension."""
        return bounds_of(self.properties["bounds"])

    @property
    def output_types(self) -> list[Attribute]:
        """Tensor types at tensor level, memref types at buffer level."""
        return [v.type for v in self.outputs or self.results_]

    @property
    def scratch(self) -> tuple[SSAValue, ...]:
        """No scratch beside the outputs; the interface of nests."""
        return ()

    def verify_(self) -> None:
        if any(n < 0 for n in self.extents):
            raise VerifyException(
                f"{self.name}: bounds must not be negative, got {list(self.extents)}"
            )
        require_count(self, self.extents)
        for type_ in (*self.inputs.types, *self.output_types):
            if not isinstance(type_, TensorType | MemRefType):
                raise VerifyException(f"{self.name}: expected tensors or buffers, got {type_}")
        args = [a.type for a in self.body.block.args]
        expected = [*self.inputs.types, *map(memory_type, self.output_types)]
        if args != expected:
            raise VerifyException(
                f"{self.name}: body arguments must be ({', '.join(map(str, expected))}), "
                f"got ({', '.join(map(str, args))})"
            )
        last = self.body.block.last_op
        if not isinstance(last, YieldOp) or last.operands:
            raise VerifyException(f"{self.name}: the body must end in loopnest.yield of nothing")
        for op in program_ops(self.body.block):
            self._verify_op(op)

    def _verify_op(self, op: Operation) -> None:
        if not isinstance(op, _BODY) and op.dialect_name() not in _SCALAR_DIALECTS:
            raise VerifyException(f"{self.name}: a program cannot contain {op.name}")
        if isinstance(op, IndexOp) and not 0 <= op.dim.value.data < len(self.extents):
            raise VerifyException(
                f"{self.name}: loopnest.index must be below {len(self.extents)}, "
                f"got {op.dim.value.data}"
            )
        outputs = self.body.block.args[len(self.inputs) :]
        if isinstance(op, StoreOp) and op.target not in outputs:
            raise VerifyException(f"{self.name}: loopnest.store must write to a result")
        if isinstance(op, LoadOp) and op.source not in self.body.block.args:
            raise VerifyException(f"{self.name}: loopnest.load must read an input or a result")

    # Text.

    def print(self, printer: Printer) -> None:
        arguments = list(self.body.block.args)
        count = len(self.inputs)
        printer.print_string(f" {list(self.extents)} (")
        printer.print_list(
            zip(arguments, self.inputs, strict=False), lambda pair: _print_input(printer, *pair)
        )
        printer.print_string(") -> (")
        buffers = self.outputs or [None] * len(self.results_)
        rows = zip(arguments[count:], buffers, self.output_types, strict=True)
        printer.print_list(rows, lambda row: _print_output(printer, *row))
        printer.print_string(")")
        print_attributes_and_body(printer, self.attributes, self.body)

    @classmethod
    def parse(cls, parser: Parser) -> ForallOp:
        bounds = parser.parse_comma_separated_list(
            parser.Delimiter.SQUARE, lambda: parser.parse_integer(allow_boolean=False)
        )
        inputs = parser.parse_comma_separated_list(
            parser.Delimiter.PAREN, lambda: _parse_value(parser, is_input=True)
        )
        parser.parse_punctuation("->")
        outputs = parser.parse_comma_separated_list(
            parser.Delimiter.PAREN, lambda: _parse_value(parser, is_input=False)
        )
        attributes = parser.parse_optional_attr_dict_with_keyword()
        arguments = [a.resolve(type_) for a, _, type_ in inputs]
        arguments += [a.resolve(memory_type(type_)) for a, _, type_ in outputs]
        body = parser.parse_region(arguments)
        op = cls(
            bounds, [v for _, v, _ in inputs if v], [t for _, _, t in outputs], body,
            [v for _, v, _ in outputs if v],
        )  # fmt: skip
        op.attributes |= dict(attributes.data) if attributes else {}
        return op


def program_ops(block: Block) -> Iterator[Operation]:
    """All ops of a block and of the regions in it, outer ones first."""
    for op in block.ops:
        yield from op.walk()


def _print_input(printer: Printer, argument: BlockArgument, value: SSAValue) -> None:
    printer.print_ssa_value(argument)
    printer.print_string(" = ")
    printer.print_ssa_value(value)
    printer.print_string(" : ")
    printer.print_attribute(value.type)


def _print_output(
    printer: Printer, argument: BlockArgument, buffer: SSAValue | None, type_: Attribute
) -> None:
    printer.print_ssa_value(argument)
    if buffer is not None:
        printer.print_string(" = ")
        printer.print_ssa_value(buffer)
    printer.print_string(" : ")
    printer.print_attribute(type_)


def _parse_value(
    parser: Parser, is_input: bool
) -> tuple[Parser.UnresolvedArgument, SSAValue | None, Attribute]:
    """`%argument = %value : type`; a result at tensor level has no value."""
    name = parser.parse_argument(expect_type=False)
    value = None
    if parser.parse_optional_punctuation("=") is not None:
        value = parser.parse_unresolved_operand()
    elif is_input:
        parser.raise_error("expected `%name = %value` for an input of the body")
    parser.parse_punctuation(":")
    position = parser.pos
    type_ = parser.parse_type()
    if not isinstance(type_, TensorType | MemRefType):
        parser.raise_error("expected a tensor or memref type", position)
    shaped = cast(Attribute, type_)
    return name, parser.resolve_operand(value, shaped) if value else None, shaped
