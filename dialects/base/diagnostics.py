"""Errors with an operation and a source location.

Message convention: `<op>: <requirement>, got <fact>[; <way out>]`, as in
`array.matmul: inner sizes must match, got 3 and 4`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TypeAlias, cast

from xdsl.dialects.builtin import (
    ArrayAttr,
    CallSiteLoc,
    FileLineColLoc,
    FusedLoc,
    LocationAttr,
    NameLoc,
    UnknownLoc,
    UnregisteredOp,
)
from xdsl.ir import Attribute, BlockArgument, Operation, OpResult, SSAValue
from xdsl.utils.exceptions import DiagnosticException, PassFailedException, VerifyException

Place: TypeAlias = Operation | SSAValue | LocationAttr
"""The place of an error or a note: an operation, the definition of a value, or a location."""


class LocatedError(DiagnosticException):
    """An error about the user's program, located at an operation.

    `str()` is the bare message; `gradir.diagnostics` renders it with the source line.
    """

    message: str
    op: Operation | None
    location: LocationAttr
    notes: list[tuple[str, LocationAttr]]

    def __init__(
        self,
        message: str,
        op_or_location: Place,
        notes: Iterable[tuple[str, Place]] = (),
    ) -> None:
        super().__init__(message)
        self.message = message
        self.op = op_or_location if isinstance(op_or_location, Operation) else None
        self.location = location_of(op_or_location)
        self.notes = [(text, location_of(place)) for text, place in notes]
        if (place := file_location(self.location)) is not None:
            # tools that know nothing of locations show the notes
            self.add_note(f"at {place.filename.data}:{place.line.data}:{place.column.data}")


class PassError(LocatedError, PassFailedException):
    """A pass refuses the program. Users get it as `gradir.errors.PassError`."""


class RankError(LocatedError):
    """The ranks of a program do not fit each other. Users get it as `gradir.errors.CommError`."""


class ValidationError(LocatedError):
    """A stage changed the meaning of a program. Users get it as `gradir.errors.ValidationError`."""


class VerifyError(LocatedError, VerifyException):
    """The program is not valid IR. Users get it as `gradir.errors.VerifyError`."""


def location_of(place: Place) -> LocationAttr:
    """The location of an operation, of a value's definition, or the location itself.

    Without a location of its own, the location of the nearest enclosing operation with one.
    """
    if isinstance(place, BlockArgument):
        if not isinstance(place.location, UnknownLoc):
            return place.location
        op = place.owner.parent_op()
    elif isinstance(place, OpResult):
        op = place.owner
    elif isinstance(place, Operation):
        op = place
    elif isinstance(place, SSAValue):
        op = None
    else:
        return place
    while op is not None and isinstance(op.location, UnknownLoc):
        op = op.parent_op()
    return UnknownLoc() if op is None else op.location


def file_location(location: Attribute) -> FileLineColLoc | None:
    """The first file position inside `location`, through names, call sites and fused locations."""
    return next(file_locations(location), None)


def file_locations(location: Attribute) -> Iterator[FileLineColLoc]:
    """All file positions inside `location`."""
    pending: list[Attribute] = [location]
    while pending:
        match pending.pop():
            case FileLineColLoc() as found:
                yield found
            case NameLoc(location=inner):
                pending.append(inner)
            case CallSiteLoc(callee=callee, caller=caller):
                pending += [caller, callee]
            case FusedLoc() as fused:
                members = cast(ArrayAttr[Attribute], fused.locations)
                pending += reversed(members.data)
            case _:
                pass


def value_name(value: SSAValue) -> str:
    """A value as a message names it: `%x`, else `result 0 of arith.addf`, `argument 1 of @f`."""
    if value.name_hint is not None:
        return f"%{value.name_hint}"
    if isinstance(value, OpResult):
        return f"result {value.index} of {kind_name(value.owner)}"
    if isinstance(value, BlockArgument):
        owner = value.owner.parent_op()
        return f"argument {value.index} of {'a block' if owner is None else op_name(owner)}"
    return "a value that has been erased"


def op_name(op: Operation) -> str:
    """An operation as a message names it: its symbol if it has one, `@f`, else its name."""
    symbol = op.get_attr_or_prop("sym_name")
    data = getattr(symbol, "data", None)
    return f"@{data}" if isinstance(data, str) else kind_name(op)


def kind_name(op: Operation) -> str:
    """The name of an operation's kind, registered or not; a host call's with its function."""
    name = op.op_name.data if isinstance(op, UnregisteredOp) else op.name
    function = getattr(op.get_attr_or_prop("callee"), "data", None)
    return f"{name} @{function}" if isinstance(function, str) else name


def location_text(place_or_op: Place) -> str:
    """`file:line:col: ` of a place for messages made at run time; empty where unknown."""
    place = file_location(location_of(place_or_op))
    if place is None:
        return ""
    return f"{place.filename.data}:{place.line.data}:{place.column.data}: "
