"""Tapes: the residuals of a loop's iterations, as a pure SSA value.

A tape is a stack of records, one element type per column. Push and pop are each other's adjoint:
the cotangent of a tape is a tape of the cotangents of its floating columns, so that loops which
push and pop are differentiated like any others. Generated code uses every tape once on each path,
so that native code keeps it in place and moves its end.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self, cast

from xdsl.dialects.builtin import ArrayAttr, IndexType, IntAttr, NoneAttr
from xdsl.ir import Attribute, Operation, ParametrizedAttribute, SSAValue, TypeAttribute
from xdsl.irdl import (
    IRDLOperation,
    irdl_attr_definition,
    irdl_op_definition,
    operand_def,
    result_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.parser import AttrParser, Parser
from xdsl.printer import Printer
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from gradir.dialects.base.interfaces import Cotangents
from gradir.dialects.base.op_rules import register_inactive, register_vjp
from gradir.dialects.base.shapes import (
    as_integer_type,
    byte_size,
    element_of,
    is_float,
    is_inexact,
    is_static,
    is_tensor,
    require_size,
    shape_of,
)
from gradir.dialects.base.slice_type import is_slices
from gradir.dialects.base.value import Emitter, Value

Bound = IntAttr | NoneAttr


@irdl_attr_definition
class TapeType(ParametrizedAttribute, TypeAttribute):
    """`!grad.tape<f64, tensor<4xf64>, capacity = 100>`: records of a scalar and a tensor.

    capacity: the most records at a time, known where every loop around a push has constant bounds;
    its memory is planned like a stacked tensor's. Without one the tape grows while the
    program runs. limit: the most bytes of its records; more are an error at run time. The type
    holds both, so that the cotangent of a tape has them too.
    """

    name = "grad.tape"

    columns: ArrayAttr[Attribute]
    capacity: Bound
    limit: Bound

    @staticmethod
    def of(
        columns: Sequence[Attribute], capacity: int | None = None, limit: int | None = None
    ) -> TapeType:
        return TapeType(ArrayAttr(columns), _bound(capacity), _bound(limit))

    @property
    def records(self) -> int | None:
        """The capacity; None where it is unknown."""
        return self.capacity.data if isinstance(self.capacity, IntAttr) else None

    @property
    def byte_limit(self) -> int | None:
        return self.limit.data if isinstance(self.limit, IntAttr) else None

    def with_columns(self, columns: Sequence[Attribute]) -> TapeType:
        """A tape of other records, with the same bounds."""
        return TapeType(ArrayAttr(columns), self.capacity, self.limit)

    def verify(self) -> None:
        if not self.columns.data:
            raise VerifyException("grad.tape: a tape must have a column, got none")
        for column in self.columns:
            if is_tensor(column) and not is_static(column):
                raise VerifyException(f"grad.tape: shapes must be static, got {column}")
            element = element_of(column) if is_tensor(column) else column
            integer = as_integer_type(element)
            if not (is_inexact(element) or integer is not None or isinstance(element, IndexType)):
                raise VerifyException(
                    f"grad.tape: columns must be tensors or numbers, got {column}"
                )
            if is_tensor(column):
                require_size(column)
        for what, bound in (("capacity", self.records), ("limit", self.byte_limit)):
            if bound is not None and not 0 <= bound < 1 << 63:
                raise VerifyException(
                    f"grad.tape: {what} must not be negative, and below 2**63, got {bound}"
                )

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        columns: list[Attribute] = []
        bounds: dict[str, int] = {}
        with parser.in_angle_brackets():
            while True:
                word = parser.parse_optional_keyword("capacity")
                word = word or parser.parse_optional_keyword("limit")
                if word is not None:
                    parser.parse_punctuation("=")
                    bounds[word] = parser.parse_integer(allow_boolean=False, allow_negative=False)
                else:
                    columns.append(parser.parse_type())
                if parser.parse_optional_punctuation(",") is None:
                    break
        capacity, limit = (_bound(bounds.get(word)) for word in ("capacity", "limit"))
        return [ArrayAttr(columns), capacity, limit]

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_list(self.columns, printer.print_attribute)
            for word, bound in (("capacity", self.records), ("limit", self.byte_limit)):
                if bound is not None:
                    printer.print_string(f", {word} = {bound}")


def _bound(number: int | None) -> Bound:
    return NoneAttr() if number is None else IntAttr(number)


def is_tape(type_: Attribute) -> bool:
    return type(type_) is TapeType


def record_bytes(type_: TapeType) -> int:
    """The bytes of one record: its columns one after the other, an index as 8."""
    total = 0
    for column in type_.columns:
        count = 1
        for extent in shape_of(column) if is_tensor(column) else ():
            count *= extent
        element = element_of(column) if is_tensor(column) else column
        total += count * (8 if isinstance(element, IndexType) else byte_size(element))
    return total


def is_floating(type_: Attribute) -> bool:
    """Whether values of this type have cotangents."""
    if isinstance(type_, TapeType):
        return any(map(is_floating, type_.columns))
    if is_slices(type_):
        type_ = type_.dense
    return is_inexact(element_of(type_)) if is_tensor(type_) else is_float(type_)


def cotangent_type(type_: Attribute) -> Attribute:
    """The type of the cotangent of a floating value: its own; of a tape, its floating columns; of
    row slices, the dense tensor."""
    if is_slices(type_):
        return type_.dense
    if isinstance(type_, TapeType):
        return type_.with_columns([c for c in type_.columns if is_floating(c)])
    return type_


class _TapeOp(IRDLOperation):
    """The base of the four ops: one tape type in the text."""

    @property
    def tape_type(self) -> TapeType:
        """The type of the op's tape."""
        return cast(TapeType, (*self.operands, *self.results)[0].type)

    def verify_(self) -> None:
        for value in self._tapes():
            if not isinstance(value.type, TapeType):
                raise VerifyException(f"{self.name}: expected a tape, got {value.type}")
            if value.type != self.tape_type:
                raise VerifyException(
                    f"{self.name}: the tape must stay a {self.tape_type}, got {value.type}"
                )
        self._verify_columns()

    def _tapes(self) -> Sequence[SSAValue]:
        raise NotImplementedError

    def _columns(self) -> Sequence[SSAValue]:
        return ()

    def _verify_columns(self) -> None:
        wanted, got = list(self.tape_type.columns), [v.type for v in self._columns()]
        if isinstance(self, TapePushOp | TapePopOp) and wanted != got:
            expected, found = (", ".join(map(str, types)) for types in (wanted, got))
            raise VerifyException(f"{self.name}: a record of {expected} expected, got {found}")

    def print(self, printer: Printer) -> None:
        printer.print_string(" " if self.operands else "")
        printer.print_list(self.operands, printer.print_ssa_value)
        if self.attributes:
            printer.print_string(" ")
            printer.print_attr_dict(self.attributes)
        printer.print_string(" : ")
        printer.print_attribute(self.tape_type)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        position = parser.pos
        operands = parser.parse_optional_undelimited_comma_separated_list(
            parser.parse_optional_unresolved_operand, parser.parse_unresolved_operand
        )
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        type_ = parser.parse_type()
        if not isinstance(type_, TapeType):
            parser.raise_error(f"{cls.name}: expected a tape, got {type_}")
        inputs, results = cls.signature(type_)
        values = parser.resolve_operands(operands or [], inputs, position)
        return cls.create(operands=values, result_types=results, attributes=attributes)

    @classmethod
    def signature(cls, type_: TapeType) -> tuple[Sequence[Attribute], Sequence[Attribute]]:
        """The types of the operands and of the results, for a tape of a type."""
        raise NotImplementedError


@irdl_op_definition
class TapeNewOp(_TapeOp):
    """A tape without records.

    It declares an effect, so that no pass merges two tapes; gradir's own dead code elimination
    drops a dead one.
    """

    name = "grad.tape_new"

    tape = result_def(TapeType)

    @classmethod
    def signature(cls, type_: TapeType) -> tuple[Sequence[Attribute], Sequence[Attribute]]:
        return [], [type_]

    def _tapes(self) -> Sequence[SSAValue]:
        return [self.tape]


@irdl_op_definition
class TapePushOp(_TapeOp):
    """The tape with one more record.   vjp: pop from ct, the tape of cotangents"""

    name = "grad.tape_push"

    tape = operand_def(TapeType)
    columns = var_operand_def()
    result = result_def(TapeType)
    traits = traits_def(Pure())

    @classmethod
    def signature(cls, type_: TapeType) -> tuple[Sequence[Attribute], Sequence[Attribute]]:
        return [type_, *type_.columns], [type_]

    def _tapes(self) -> Sequence[SSAValue]:
        return [self.tape, self.result]

    def _columns(self) -> Sequence[SSAValue]:
        return self.columns


@irdl_op_definition
class TapePopOp(_TapeOp):
    """The tape without its last record, and that record.   vjp: push the cts onto the tape's ct

    A tape without records is an error of the program.
    """

    name = "grad.tape_pop"

    tape = operand_def(TapeType)
    result = result_def(TapeType)
    columns = var_result_def()
    traits = traits_def(Pure())

    @classmethod
    def signature(cls, type_: TapeType) -> tuple[Sequence[Attribute], Sequence[Attribute]]:
        return [type_], [type_, *type_.columns]

    def _tapes(self) -> Sequence[SSAValue]:
        return [self.tape, self.result]

    def _columns(self) -> Sequence[SSAValue]:
        return self.columns


@irdl_op_definition
class TapeSizeOp(_TapeOp):
    """The number of records on the tape, an index."""

    name = "grad.tape_size"

    tape = operand_def(TapeType)
    size = result_def(IndexType)
    traits = traits_def(Pure())

    @classmethod
    def signature(cls, type_: TapeType) -> tuple[Sequence[Attribute], Sequence[Attribute]]:
        return [type_], [IndexType()]

    def _tapes(self) -> Sequence[SSAValue]:
        return [self.tape]


# Building.


def new_tape(type_: Attribute, emitter: Emitter) -> SSAValue:
    return emitter.insert(TapeNewOp.create(result_types=[type_])).tape


def push(tape: SSAValue, columns: Sequence[SSAValue], emitter: Emitter) -> SSAValue:
    op = TapePushOp.create(operands=[tape, *columns], result_types=[tape.type])
    return emitter.insert(op).result


def pop(tape: SSAValue, emitter: Emitter) -> tuple[SSAValue, Sequence[SSAValue]]:
    """The tape without its last record, and the columns of that record."""
    types = cast(TapeType, tape.type).columns
    op = emitter.insert(TapePopOp.create(operands=[tape], result_types=[tape.type, *types]))
    return op.result, op.columns


# Derivatives.


def pop_cotangents(op: TapePushOp, ct: Value) -> tuple[Cotangents, Sequence[SSAValue]]:
    """The cotangents of the operands of a push, and all values popped from the tape `ct`:
    cotangents of the floating columns, then their masks, if it has any."""
    rest, popped = pop(ct.ssa, ct.emitter)
    left = iter(popped)
    by_column = [ct.emitter.value(next(left)) if is_floating(c.type) else None for c in op.columns]
    return [ct.emitter.value(rest), *by_column], popped


def floating_cotangents(op: TapePopOp, cts: Cotangents, emitter: Emitter) -> list[SSAValue]:
    """The cotangents of the floating columns of a pop, zeros included."""
    from gradir.dialects.grad.grad import zero

    return [
        (ct or zero(column.type, emitter)).ssa
        for ct, column in zip(cts, op.columns, strict=True)
        if is_floating(column.type)
    ]


def _push_vjp(
    op: TapePushOp, cts: Cotangents, results: Sequence[Value], operands: Sequence[Value]
) -> Cotangents:
    (ct,) = cts
    assert ct is not None
    return pop_cotangents(op, ct)[0]


def _pop_vjp(
    op: TapePopOp, cts: Cotangents, results: Sequence[Value], operands: Sequence[Value]
) -> Cotangents:
    from gradir.dialects.grad.grad import zero

    emitter = operands[0].emitter
    rest, *flowing = cts
    tape = rest or zero(op.tape_type, emitter)
    return [emitter.value(push(tape.ssa, floating_cotangents(op, flowing, emitter), emitter))]


register_vjp(TapePushOp, _push_vjp)
register_vjp(TapePopOp, _pop_vjp)
register_inactive(TapeNewOp)
register_inactive(TapeSizeOp)

TAPE_OPS: tuple[type[Operation], ...] = (TapeNewOp, TapePushOp, TapePopOp, TapeSizeOp)
