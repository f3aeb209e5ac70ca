"""Tapes in the interpreter: linked records, so that a tape is an immutable value.

A function may return a tape; to the caller it is an opaque object, an argument for the function
that takes it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from xdsl.ir import Operation

from gradir.dialects.base.diagnostics import location_text
from gradir.dialects.grad.tape import (
    TapeNewOp,
    TapePopOp,
    TapePushOp,
    TapeSizeOp,
    TapeType,
    record_bytes,
)
from gradir.errors import ArgumentTypeError, ExecutionError


@dataclass(frozen=True, eq=False)
class Tape:
    """A tape of a type: its last record, and the tape below it."""

    type: TapeType
    size: int = 0
    record: tuple[Any, ...] = ()
    below: Tape | None = None


def _new(op: TapeNewOp, operands: Sequence[Any]) -> Sequence[Any]:
    del operands
    return [Tape(op.tape_type)]


def require_room(op: TapePushOp, tape: Tape, more: int) -> None:
    """ExecutionError where `more` further records, pushed by `op`, exceed a tape's bounds."""
    size, capacity, limit = tape.size + more, tape.type.records, tape.type.byte_limit
    if capacity is not None and size > capacity:
        raise ExecutionError(
            f"{location_text(op)}grad.tape_push: the tape holds {capacity} records"
        )
    if limit is not None and size * record_bytes(tape.type) > limit:
        needed = size * record_bytes(tape.type)
        raise ExecutionError(
            f"{location_text(op)}grad.tape_push: the tape's limit is {limit} bytes, needed {needed}"
        )


def _push(op: TapePushOp, operands: Sequence[Any]) -> Sequence[Any]:
    tape, *record = operands
    assert isinstance(tape, Tape)
    require_room(op, tape, 1)
    return [Tape(tape.type, tape.size + 1, tuple(record), tape)]


def _pop(op: TapePopOp, operands: Sequence[Any]) -> Sequence[Any]:
    (tape,) = operands
    assert isinstance(tape, Tape)
    if tape.below is None:
        raise ExecutionError(f"{location_text(op)}grad.tape_pop: the tape has no records left")
    return [tape.below, *tape.record]


def _size(op: TapeSizeOp, operands: Sequence[Any]) -> Sequence[Any]:
    del op
    return [np.array(operands[0].size, np.int64)]


TAPE_OPS: dict[type[Operation], Callable[[Any, Sequence[Any]], Sequence[Any]]] = {
    TapeNewOp: _new,
    TapePushOp: _push,
    TapePopOp: _pop,
    TapeSizeOp: _size,
}


def as_tape(value: object, type_: TapeType, place: str) -> Tape:
    """An argument that is a tape of the type."""
    if not isinstance(value, Tape) or value.type != type_:
        got = value.type if isinstance(value, Tape) else type(value).__name__
        raise ArgumentTypeError(f"{place}: expected a {type_}, got {got}")
    return value
