"""IR to program text that parses back to the same IR, to the bit.

xDSL's printer, plus details that its text loses: the terminator of a `scf.execute_region` without
results; in dense constants the signs of mixed zeros, and the bits of nans.
"""

from __future__ import annotations

from collections.abc import Callable
from io import StringIO
from math import isfinite
from typing import IO, Any, ClassVar, cast

from xdsl.context import Context
from xdsl.dialects import scf
from xdsl.dialects.builtin import (
    AnyFloat,
    BytesAttr,
    DenseIntOrFPElementsAttr,
    ModuleOp,
    TensorType,
)
from xdsl.ir import Attribute, Operation, Region
from xdsl.printer import Printer
from xdsl.syntax_printer import SyntaxPrinter
from xdsl.targets.mlir import MLIRTarget

from gradir.dialects.base.attributes import is_splat
from gradir.dialects.base.shapes import is_complex


def program_text(op: Operation) -> str:
    """An op as text that parses back."""
    stream = StringIO()
    FaithfulPrinter(stream=stream).print_op(op)
    return stream.getvalue()


class FaithfulPrinter(Printer):
    """A printer of text that parses back to the same program.

    With `largest_constant`, constants of more elements are left out, and it does not.
    """

    largest_constant: int | None = None

    def print_region(
        self,
        region: Region,
        print_entry_block_args: bool = True,
        print_empty_block: bool = True,
        print_block_terminators: bool = True,
    ) -> None:
        """Print a region, with its terminator unless the op's parser adds it."""
        super().print_region(
            region,
            print_entry_block_args,
            print_empty_block,
            print_block_terminators or isinstance(region.parent, scf.ExecuteRegionOp),
        )

    def print_attribute(self, attribute: Attribute) -> None:
        """Print an attribute; a dense constant as its bytes where xDSL would lose some."""
        if not isinstance(attribute, DenseIntOrFPElementsAttr):
            super().print_attribute(attribute)
            return
        constant = cast(DenseIntOrFPElementsAttr, attribute)
        if self._is_left_out(constant):
            self.print_string("dense_resource<__elided__> : ")
            self.print_attribute(constant.get_type())
            return
        said = _first_of(constant) if is_splat(constant) else constant
        if _is_said(said):
            said.print_without_type(self)
            self.print_string(" : ")
        else:
            self.print_string(f'dense<"0x{constant.data.data.hex().upper()}"> : ')
        self.print_attribute(constant.get_type())

    def _is_left_out(self, constant: DenseIntOrFPElementsAttr) -> bool:
        most = self.largest_constant
        return most is not None and len(constant) > most and not is_splat(constant)


def _first_of(splat: DenseIntOrFPElementsAttr) -> DenseIntOrFPElementsAttr:
    """One element of a splat; prints like the whole."""
    element = splat.get_element_type()
    data = splat.data.data[: element.compile_time_size]
    type_ = TensorType(element, [len(data) // element.compile_time_size])
    return DenseIntOrFPElementsAttr(type_, BytesAttr(data))


def _is_said(constant: DenseIntOrFPElementsAttr) -> bool:
    """Whether xDSL's text of a constant gives its bits: it is no splat by == alone, and its nans
    are Python's."""
    element, data = constant.get_element_type(), constant.data.data
    if is_complex(element):
        parts = element.element_type.unpack(data, len(data) // element.element_type.size)
        if not all(map(isfinite, parts)):
            return False
    if not (isinstance(element, AnyFloat) or is_complex(element)) or not data:
        return True
    pack: Callable[..., bytes] = element.pack
    one = element.unpack(data[: element.size], 1)
    if is_splat(constant):
        return data.startswith(pack(one))
    values: tuple[Any, ...] = constant.get_values()
    return values.count(one[0]) < len(values) and pack(values) == data


class _HighlightingPrinter(FaithfulPrinter, SyntaxPrinter):
    """The same text, in color."""


class FaithfulTarget(MLIRTarget):
    """The output format `mlir` of gradir-opt."""

    largest_constant: ClassVar[int | None] = None
    """See FaithfulPrinter. It is the class's, since targets are made of xdsl-opt's options."""

    @classmethod
    def eliding(cls, largest: int | None) -> type[FaithfulTarget]:
        """The format with constants of at most so many elements."""
        return cls if largest is None else type(cls.__name__, (cls,), {"largest_constant": largest})

    def emit(self, ctx: Context, module: ModuleOp, output: IO[str]) -> None:
        """Write a module to a stream."""
        printer = (_HighlightingPrinter if self.syntax_highlight else FaithfulPrinter)(
            stream=output,
            print_generic_format=self.print_generic_format,
            print_properties_as_attributes=self.print_properties_as_attributes,
            print_debuginfo=self.print_debuginfo,
        )
        printer.largest_constant = self.largest_constant
        printer.print_op(module)
        printer.print_metadata(ctx.loaded_dialects)
        print("\n", file=output)
