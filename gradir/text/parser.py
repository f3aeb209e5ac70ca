"""Program text to IR: xDSL's parser with locations, limits and errors that say where.

The one module that hooks into the internals of xDSL's parser.
"""

from __future__ import annotations

import re
import sys
import threading
from bisect import bisect_right
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from math import prod
from typing import Any, NoReturn

from xdsl.context import Context
from xdsl.dialects.builtin import (
    AnyFloat,
    BytesAttr,
    DenseIntOrFPElementsAttr,
    FileLineColLoc,
    IntAttr,
    ModuleOp,
    StringAttr,
    TensorType,
    UnknownLoc,
)
from xdsl.ir import Block, BlockArgument, Operation, SSAValue, TypeAttribute
from xdsl.parser import Parser, UnresolvedOperand
from xdsl.traits import IsolatedFromAbove
from xdsl.utils.exceptions import DiagnosticException, ParseError
from xdsl.utils.lexer import Span
from xdsl.utils.mlir_lexer import MLIRTokenKind

from gradir.diagnostics import Sources
from gradir.dialects.base.rounding import rounded
from gradir.dialects.base.shapes import FLOAT_NAMES, is_complex, is_float
from gradir.errors import gradir_errors
from gradir.forking import in_child, short_lock
from gradir.nearest import close_names
from gradir.text.locations import LocationParser
from gradir.text.resources import fill_resources, resources_of_one_text
from gradir.text.source_text import check

MAX_DENSE_ELEMENTS = 1 << 24
"""Elements of one `dense<...>` constant (a 4096x4096 matrix)."""

MAX_SPLAT_ELEMENTS = 1 << 26
"""Elements of all constants of a text together that are written as one number."""

MAX_INTEGER_WIDTH = (1 << 24) - 1
"""Bits of an integer type; the same as in MLIR."""

MAX_DIMENSION = (1 << 63) - 1
"""The largest size of one dimension of a shaped type."""

MAX_ALIAS_SIZE = 1 << 16
"""The most words of an alias after expansion."""

RESOURCE = "dense_resource<"

_TOP_LEVEL_ALIAS = (MLIRTokenKind.HASH_IDENT, MLIRTokenKind.EXCLAMATION_IDENT)
_OPERATION_START = (
    MLIRTokenKind.PERCENT_IDENT,
    MLIRTokenKind.BARE_IDENT,
    MLIRTokenKind.STRING_LIT,
)
_WORD = re.compile(r"[!#]?[\w$.]+")
_LINE_WITHOUT_COMMENT = re.compile(r"""(?:"(?:[^"\\]|\\.)*+"|(?!//).)*+""")


def parse_module(
    text: str,
    filename: str = "<string>",
    context: Context | None = None,
    *,
    implicit_module: bool = True,
    allow_empty: bool = False,
    bounded: bool = True,
) -> ModuleOp:
    """The module of a text; not verified.

    Every operation and block argument gets the location of its first character, unless the text
    gives one. Raises `gradir.errors.ParseError` for any fault of the text. Several operations, or
    one that is no module, are put into a module unless `implicit_module` is false. The numbers of
    elements in constants are limited unless `bounded` is false.
    """
    if context is None:
        from gradir.registry import make_context

        context = make_context()
    with gradir_errors(Sources({filename: text})):
        check(text, filename)
        with _room_to_recurse():
            parser = LocatingParser(context, text, filename, allow_empty=allow_empty)
            parser.bounded = bounded
            return parser.parse_module(implicit_module)


class LocatingParser(LocationParser):
    """xDSL's parser with locations on all IR, and located ParseErrors as its only errors."""

    def __init__(
        self, context: Context, text: str, filename: str, *, allow_empty: bool = False
    ) -> None:
        super().__init__(context, text, filename)
        self._allow_empty = allow_empty
        self._file = StringAttr(filename)
        self._line_starts = [0, *(match.end() for match in re.finditer("\n", text))]
        self._columns: dict[int, IntAttr] = {}
        self._first_uses: dict[str, Span] = {}
        self._forward_values: list[tuple[SSAValue, Span]] = []
        self._alias_sizes: dict[str, int] = {}
        self._splat_elements = 0
        self.bounded = True

    # Modules and operations

    def parse_module(self, allow_implicit_module: bool = True) -> ModuleOp:
        """Parse the whole input."""
        start = self._current_token.span
        if RESOURCE in self.lexer.input.content:
            with resources_of_one_text(self.ctx):
                operations = self._operations(start)
                fill_resources(operations, self.ctx, self._refuse_op)
        else:
            operations = self._operations(start)
        if not operations and not self._allow_empty:
            self.raise_error("expected an operation, got an empty input", start)
        self._refuse_undefined_values(0)
        self._refuse_forward_values()
        if len(operations) == 1 and isinstance(operations[0], ModuleOp):
            return operations[0]
        if not allow_implicit_module:
            self.raise_error("expected one builtin.module that holds everything", start)
        module = ModuleOp(operations)
        module.location = self._location_at(start.start)
        return module

    def _operations(self, start: Span) -> list[Operation]:
        try:
            return self._parse_top_level()
        except Exception as error:
            raise _located(error, start) from error

    def _refuse_op(self, op: Operation, message: str) -> NoReturn:
        place, position = op.location, 0
        if isinstance(place, FileLineColLoc) and place.filename == self._file:
            position = self._line_starts[place.line.data - 1] + place.column.data - 1
        raise ParseError(Span(position, position, self.lexer.input), message)

    def _parse_top_level(self) -> list[Operation]:
        operations: list[Operation] = []
        self.parse_location_aliases()
        while (kind := self._current_token.kind) != MLIRTokenKind.EOF:
            if kind in _TOP_LEVEL_ALIAS:
                if not self.skip_location_alias():
                    self._parse_alias_def()
            elif kind == MLIRTokenKind.FILE_METADATA_BEGIN:
                self._parse_file_metadata_dictionary()
            elif kind in _OPERATION_START:
                operations.append(self.parse_operation())
            else:
                self._unexpected("expected an operation")
        return operations

    def parse_operation(self) -> Operation:
        """Parse an operation and note where it starts."""
        start = self._current_token.span
        try:
            op = super().parse_operation()
        except ParseError:
            raise
        except Exception as error:
            raise _located(error, start) from error
        if isinstance(op.location, UnknownLoc):
            op.location = self._location_at(start.start)
        if self.forward_ssa_references and op.has_trait(IsolatedFromAbove):
            # a later function must not define this one's forward references
            self._refuse_undefined_values(start.start)
        return op

    def _parse_block(self) -> Block:
        if self._current_token.kind != MLIRTokenKind.CARET_IDENT:
            self._unexpected("expected an operation, a block label or '}'")
        label = self._current_token.span
        name = label.text[1:]
        if name in self.blocks and name not in self.forward_block_references:
            message = f"re-declaration of block '{name}'"
            self.raise_error(message, Span(label.start, label.end, self.lexer.input))
        return super()._parse_block()

    def _get_op_by_name(self, name: str) -> type[Operation]:
        op_type = self.ctx.get_optional_op(name, dialect_stack=self._parser_state.dialect_stack)
        if op_type is not None:
            return op_type
        position = self.lexer.input.content.rfind(name, 0, self.pos)
        self.raise_error(self._unknown_op(name), Span(position, self.pos, self.lexer.input))

    def _unknown_op(self, name: str) -> str:
        dialect, dot, _ = name.partition(".")
        if dot and dialect not in self.ctx.registered_dialect_names:
            return (
                f"unknown dialect '{dialect}' of operation '{name}'; "
                "--allow-unregistered-dialect would accept it"
            )
        close = close_names(name, (op.name for op in self.ctx.loaded_ops))
        return f"unknown operation '{name}'" + (f"; did you mean '{close[0]}'?" if close else "")

    # Values

    def resolve_operand(self, operand: UnresolvedOperand, type: Any) -> SSAValue[Any]:
        """The value of an operand's name; remembers the places of forward references."""
        name = operand.operand_name
        if name in self.ssa_values:
            return super().resolve_operand(operand, type)
        self._first_uses.setdefault(name, operand.span)
        value = super().resolve_operand(operand, type)
        self._forward_values.append((value, operand.span))
        return value

    def _parse_optional_operand_without_type(self) -> SSAValue | None:
        token = self._current_token
        if token.kind == MLIRTokenKind.PERCENT_IDENT and token.text[1:] not in self.ssa_values:
            self.raise_error(f"{token.text} is used before it is defined", token.span)
        return super()._parse_optional_operand_without_type()

    def _register_ssa_definition(self, name: str, values: Sequence[SSAValue], span: Span) -> None:
        super()._register_ssa_definition(name, values, span)
        self._first_uses.pop(name, None)
        for value in values:
            if isinstance(value, BlockArgument) and isinstance(value.location, UnknownLoc):
                value.location = self._location_at(span.start)

    def _refuse_undefined_values(self, start: int) -> None:
        """ParseError for undefined values used at or after `start`."""
        uses = [self._first_uses[name] for name in self.forward_ssa_references]
        late = [span for span in uses if span.start >= start]
        if late:
            span = min(late, key=lambda span: span.start)
            self.raise_error(f"{span.text} is used but not defined", span)

    def _refuse_forward_values(self) -> None:
        """ParseError for remaining placeholders: an operation uses a value defined inside of it.

        xDSL replaces placeholders at the definition, before that operation exists.
        """
        for value, span in self._forward_values:
            if value.first_use is not None:
                message = f"{span.text} is defined in a region that does not enclose this use"
                self.raise_error(message, span)

    # Types and attributes

    def _parse_tensor_literal_element(self) -> Parser._TensorLiteralElement:
        literal = super()._parse_tensor_literal_element()
        return _TensorLiteral(literal.is_negative, literal.value, literal.span)

    def parse_shape_dimension(self, allow_dynamic: bool = True) -> int:
        """Parse the size of a dimension, within 64 bits."""
        span = self._current_token.span
        size = super().parse_shape_dimension(allow_dynamic)
        if size > MAX_DIMENSION:
            self.raise_error(f"expected a size of at most {MAX_DIMENSION}", span)
        return size

    def _parse_optional_integer_or_float_type(self) -> TypeAttribute | None:
        token = self._current_token
        if token.kind == MLIRTokenKind.BARE_IDENT:
            match = self._builtin_integer_type_regex.match(token.text)
            # the length first: Python refuses to convert thousands of digits
            if match and (len(match[1]) > 9 or int(match[1]) > MAX_INTEGER_WIDTH):
                message = f"expected an integer type of at most {MAX_INTEGER_WIDTH} bits"
                self.raise_error(message, token.span)
        return super()._parse_optional_integer_or_float_type()

    def _parse_dense_literal_type(self) -> Any:
        span = self._current_token.span
        type = super()._parse_dense_literal_type()
        self._check_constant(type, span)
        return type

    def parse_dense_int_or_fp_elements_attr(self, type: Any) -> DenseIntOrFPElementsAttr:
        """Parse the part of a dense constant from `<` on; a splat costs its bytes and no more."""
        span = self._current_token.span
        if type is not None:
            self._check_constant(type, span)
        start = self.pos
        self.parse_punctuation("<", " in dense attribute")
        kind = self._current_token.kind
        is_splat = kind not in (
            MLIRTokenKind.GREATER,
            MLIRTokenKind.STRING_LIT,
            MLIRTokenKind.L_SQUARE,
        )
        if not is_splat:
            self._resume_from(start)
            return super().parse_dense_int_or_fp_elements_attr(type)
        literal = self._parse_tensor_literal_element()
        self.parse_punctuation(">", " in dense attribute")
        if type is None:
            self.parse_punctuation(":", " in dense attribute")
            type = self._parse_dense_literal_type()
        value: Any = literal.to_type(self, type.element_type)
        one = DenseIntOrFPElementsAttr.from_list(TensorType(type.element_type, [1]), [value])
        count = prod(type.get_shape())
        self._splat_elements += count
        if self.bounded and self._splat_elements > MAX_SPLAT_ELEMENTS:
            self.raise_error(
                f"dense: expected at most {MAX_SPLAT_ELEMENTS} elements in all constants of one "
                "number together; broadcast them",
                span,
            )
        return DenseIntOrFPElementsAttr(type, BytesAttr(one.data.data * count))

    def _check_constant(self, type: Any, span: Span) -> None:
        if isinstance(type.element_type, AnyFloat) and not is_float(type.element_type):
            self.raise_error(f"dense: floating types must be {FLOAT_NAMES}, got {type}", span)
        count = prod(type.get_shape())
        if self.bounded and count > MAX_DENSE_ELEMENTS:
            self.raise_error(
                f"dense: expected at most {MAX_DENSE_ELEMENTS} elements, got {count}; "
                "pass the tensor as an argument, or broadcast a smaller one",
                span,
            )

    def _parse_alias_def(self) -> None:
        name, start = self._current_token.span, self._current_token.span.end
        super()._parse_alias_def()
        words: list[str] = _WORD.findall(self.lexer.input.content, start, self.pos)
        size = sum(self._alias_sizes.get(word, 1) for word in words)
        if size > MAX_ALIAS_SIZE:
            message = f"alias {name.text} stands for too much; the limit is {MAX_ALIAS_SIZE} words"
            self.raise_error(message, name)
        self._alias_sizes[name.text] = size

    # Places and errors

    def _location_at(self, position: int) -> FileLineColLoc:
        line = bisect_right(self._line_starts, position)
        column = position - self._line_starts[line - 1] + 1
        column_attr = self._columns.get(column)
        if column_attr is None:
            column_attr = self._columns[column] = IntAttr(column)
        return FileLineColLoc(self._file, IntAttr(line), column_attr)

    def raise_error(
        self,
        msg: str,
        at_position: Span | int | None = None,
        end_position: int | None = None,
    ) -> NoReturn:
        """Raise a ParseError; for a missing token, behind the previous one."""
        if at_position is None or at_position is self._current_token.span:
            at_position = self._end_of_previous_line()
        if isinstance(at_position, int):
            end = at_position if end_position is None else end_position
            at_position = Span(at_position, end, self.lexer.input)
        raise ParseError(at_position, msg)

    def _unexpected(self, message: str) -> NoReturn:
        """Raise a ParseError at the current token."""
        token = self._current_token
        got = "the end of the file" if token.kind == MLIRTokenKind.EOF else f"'{token.text}'"
        span = Span(token.span.start, token.span.end, self.lexer.input)
        self.raise_error(f"{message}, got {got}", span)

    def _end_of_previous_line(self) -> Span:
        """The current token, or if it is the first of its line the end of the text before it."""
        token = self._current_token.span
        text = self.lexer.input.content
        line = bisect_right(self._line_starts, token.start) - 1
        if text[self._line_starts[line] : token.start].strip():
            return token
        for number in range(line - 1, -1, -1):
            start, end = self._line_starts[number : number + 2]
            match = _LINE_WITHOUT_COMMENT.match(text, start, end)
            if match and (written := match[0].rstrip()):
                position = start + len(written)
                return Span(position, position, self.lexer.input)
        return token


class _TensorLiteral(Parser._TensorLiteralElement):
    """An element of a dense constant; a hexadecimal one under a float type spells bits."""

    def to_type(self, parser: Any, type: Any) -> Any:
        if is_complex(type):
            return self._complex_of(parser, type)
        if not is_float(type):
            return super().to_type(parser, type)
        digits = self.span.text.removeprefix("-")
        if digits[:2] in ("0x", "0X"):
            return self._from_bits(parser, type)
        return rounded(self.to_float(parser), type)

    def _complex_of(self, parser: Any, type: Any) -> tuple[float, float]:
        """Two numbers in parentheses; one number is real."""
        if "0x" in self.span.text.lower():
            message = 'write the bits of complex numbers as those of all, "0x..."'
            parser.raise_error(message, self.span)
        value: Any = self.value
        real, imag = value if isinstance(value, tuple) else (value, 0.0)
        return rounded(real, type), rounded(imag, type)

    def _from_bits(self, parser: Any, type: AnyFloat) -> float:
        assert isinstance(self.value, int)
        if self.is_negative or self.value >= 1 << type.bitwidth:
            message = f"expected the {type.bitwidth} bits of {type}, got {self.span.text}"
            parser.raise_error(message, self.span)
        raw = self.value.to_bytes(type.bitwidth // 8, "little")
        return type.unpack(raw, 1)[0]


def _located(error: Exception, span: Span) -> ParseError:
    """A ParseError from xDSL's errors on malformed text: ValueErrors, assertions and the like."""
    if isinstance(error, ParseError):
        return error
    if isinstance(error, RecursionError):
        return ParseError(span, "this operation is nested too deeply")
    if isinstance(error, MemoryError):
        return ParseError(span, "not enough memory for this operation")
    text = " ".join(map(str, error.args)).strip()
    if isinstance(error, DiagnosticException) and text:
        return ParseError(span, text)
    if not text or isinstance(error, AssertionError):
        return ParseError(span, "malformed operation")
    return ParseError(span, f"malformed operation: {text}")


_recursion_lock = short_lock()
_recursion_users = 0
_recursion_limit = 0
# Four times the depth of the deepest accepted text.
_RECURSION_NEEDED = 10_000


class _ThreadUsers(threading.local):
    """This thread's share of `_recursion_users`."""

    users = 0


_own = _ThreadUsers()


@contextmanager
def _room_to_recurse() -> Generator[None]:
    """Raise Python's recursion limit while any thread parses.

    The text is checked before, so the depth in use stays near 2500 frames.
    """
    global _recursion_users, _recursion_limit
    with _recursion_lock:
        if _recursion_users == 0:
            _recursion_limit = sys.getrecursionlimit()
            sys.setrecursionlimit(max(_recursion_limit, _RECURSION_NEEDED))
        _recursion_users += 1
        _own.users += 1
    try:
        yield
    finally:
        with _recursion_lock:
            _recursion_users -= 1
            _own.users -= 1
            if _recursion_users == 0:
                sys.setrecursionlimit(_recursion_limit)


@in_child
def _forget_other_threads() -> None:
    """Drop the users of other threads in a forked child."""
    global _recursion_users
    is_left = _recursion_users > 0 and _own.users == 0
    _recursion_users = _own.users
    if is_left:
        sys.setrecursionlimit(_recursion_limit)


__all__ = ["LocatingParser", "parse_module"]
