"""grad.derivative: the derivative of a function of dynamic shapes.

A derivative needs shapes (a mean's divides by the number of elements), so that it is made
when they are known: gradir-specialize replaces this op by a call of gradir-gradient's function.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar, cast

from xdsl.dialects.builtin import (
    ArrayAttr,
    FlatSymbolRefAttr,
    FlatSymbolRefAttrConstr,
    FunctionType,
    IntegerAttr,
    StringAttr,
    SymbolRefAttr,
    i1,
)
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    irdl_op_definition,
    prop_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from gradir.dialects.base.attributes import print_attributes

MODES = ("vjp", "grad", "jvp")
"""The modes whose result types follow from the function's."""


@irdl_op_definition
class DerivativeOp(IRDLOperation):
    """A call of gradir-gradient's function of a mode, for dynamic shapes.

    Operands are `@f_<mode>`'s: the primals, then cotangents of `of` (vjp) or tangents of
    `wrt` (jvp). Results are the results of @f, then gradients of `wrt`, or tangents of `of`.
    The other options of the pass are attributes of the same names.

        %y, %x_ct = grad.derivative @f(%x, %y_ct) {mode = "vjp", wrt = [0]}
          : (tensor<?xf32>, tensor<f32>) -> (tensor<f32>, tensor<?xf32>)
    """

    name = "grad.derivative"
    ATTRIBUTES: ClassVar[tuple[str, ...]] = ("mode", "wrt", "of", "policy", "memory_limit", "req")

    callee = prop_def(FlatSymbolRefAttrConstr)
    arguments = var_operand_def()
    outputs = var_result_def()
    traits = traits_def(Pure())

    def __init__(
        self,
        callee: str,
        arguments: Sequence[SSAValue],
        types: Sequence[Attribute],
        attributes: Mapping[str, Attribute],
    ):
        super().__init__(
            operands=[arguments],
            result_types=[types],
            properties={"callee": SymbolRefAttr(callee)},
            attributes=dict(attributes),
        )

    @property
    def function(self) -> str:
        """The name of the differentiated function."""
        callee: FlatSymbolRefAttr = self.callee
        return callee.root_reference.data

    @property
    def mode(self) -> str:
        mode = self.attributes.get("mode")
        return mode.data if isinstance(mode, StringAttr) else ""

    def selectors(self, name: str) -> list[int | str] | None:
        """`wrt` or `of`: indices and names; None for the default."""
        given = self.attributes.get(name)
        if given is None:
            return None
        entries = (
            cast(ArrayAttr[Attribute], given).data if isinstance(given, ArrayAttr) else [given]
        )
        found: list[int | str] = []
        for entry in entries:
            if isinstance(entry, IntegerAttr):
                found.append(entry.value.data)
            elif isinstance(entry, StringAttr):
                found.append(entry.data)
            else:
                raise VerifyException(f"{self.name}: {name} must be indices or names, got {given}")
        return found

    def option(self, name: str) -> str | int | None:
        """An option, a string or a number; None where it is absent."""
        match self.attributes.get(name):
            case None:
                return None
            case StringAttr() as text:
                return text.data
            case IntegerAttr() as number if number.type != i1:
                return number.value.data
            case other:
                raise VerifyException(
                    f"{self.name}: {name} must be a string or a number, got {other}"
                )

    def verify_(self) -> None:
        for name in self.attributes:
            if name not in self.ATTRIBUTES and "." not in name:
                known = ", ".join(self.ATTRIBUTES)
                raise VerifyException(f"{self.name}: unknown attribute {name}; known: {known}")
        if self.mode not in MODES:
            *others, last = MODES
            got = self.attributes.get("mode") or "nothing"
            raise VerifyException(
                f"{self.name}: mode must be {', '.join(others)} or {last}, got {got}"
            )
        for name in ("wrt", "of"):
            self.selectors(name)
        for name in ("policy", "memory_limit", "req"):
            self.option(name)

    # Text.

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_attribute(self.callee)
        with printer.in_parens():
            printer.print_list(self.arguments, printer.print_ssa_value)
        print_attributes(printer, self.attributes)
        printer.print_string(" : ")
        types = [value.type for value in self.arguments], [value.type for value in self.outputs]
        printer.print_attribute(FunctionType.from_lists(*types))

    @classmethod
    def parse(cls, parser: Parser) -> DerivativeOp:
        callee = parser.parse_symbol_name().data
        position = parser.pos
        arguments = parser.parse_comma_separated_list(
            parser.Delimiter.PAREN, parser.parse_unresolved_operand
        )
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        type_ = parser.parse_type()
        if not isinstance(type_, FunctionType):
            parser.raise_error(f"{cls.name}: expected a function type, got {type_}")
        operands = parser.resolve_operands(arguments, type_.inputs.data, position)
        return cls(callee, operands, type_.outputs.data, attributes)


OPS: tuple[type[Operation], ...] = (DerivativeOp,)
