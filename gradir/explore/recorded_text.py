"""The text of a module with the places of its values and the source lines of its ops."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, field
from io import StringIO
from itertools import islice

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, OpResult, SSAValue

from gradir.dialects.base.diagnostics import file_locations, location_of
from gradir.dialects.loopnest.loopnest import LoopOp
from gradir.text.printer import FaithfulPrinter

MOST_READERS = 4
"""The uses of a value that are noted."""

SourceLine = tuple[str, int]
"""A file and the number of a line, from 1."""

Spot = tuple[str, int, int]
"""A file, a line and a column."""


@dataclass(frozen=True)
class Token:
    """A printed value: its line and column from 0, its length, and its number in `values`."""

    line: int
    column: int
    length: int
    value: int


@dataclass
class Snapshot:
    """A module as text at one time.

    `values` numbers the values that were printed; `hints`, `types`, `kinds` (the op that makes it,
    empty for arguments), `yielded` (of a loop nest's result), `readers` (ops and operands) and
    `spots` are facts of these, which later stages may change. `op_lines` has the line of each op,
    `sources` the source lines of each line of text.
    """

    lines: list[str]
    tokens: list[Token]
    values: dict[SSAValue, int] = field(default_factory=dict[SSAValue, int])
    hints: list[str | None] = field(default_factory=list[str | None])
    types: list[str] = field(default_factory=list[str])
    kinds: list[str] = field(default_factory=list[str])
    yielded: list[SSAValue | None] = field(default_factory=list[SSAValue | None])
    readers: list[list[tuple[Operation, int]]] = field(
        default_factory=list[list[tuple[Operation, int]]]
    )
    spots: list[tuple[Spot, ...]] = field(default_factory=list[tuple[Spot, ...]])
    op_lines: dict[Operation, int] = field(default_factory=dict[Operation, int])
    sources: list[tuple[SourceLine, ...]] = field(default_factory=list[tuple[SourceLine, ...]])


class _RecordingPrinter(FaithfulPrinter):
    """A printer that notes where in its text values and ops begin."""

    stream: StringIO

    def __init__(self, stream: StringIO):
        super().__init__(stream=stream)
        self.printed: list[tuple[int, int, SSAValue]] = []
        self.begun: list[tuple[int, Operation]] = []

    def print_ssa_value(self, value: SSAValue) -> str:
        """Print a value's name."""
        start = self.stream.tell()
        name = super().print_ssa_value(value)
        self.printed.append((start, self.stream.tell() - start, value))
        return name

    def print_op(self, op: Operation) -> None:
        """Print an op."""
        self.begun.append((self.stream.tell(), op))
        super().print_op(op)


def snapshot(module: ModuleOp) -> Snapshot:
    """The text of a module, which parses back, with its values and source lines."""
    stream = StringIO()
    printer = _RecordingPrinter(stream)
    printer.print_op(module)
    text = stream.getvalue()
    lines = text.split("\n")
    starts = [0]
    for line in lines[:-1]:
        starts.append(starts[-1] + len(line) + 1)
    made = Snapshot(lines, [])
    for start, length, value in printer.printed:
        line = bisect_right(starts, start) - 1
        token = Token(line, start - starts[line], length, _number(made, value))
        made.tokens.append(token)
    made.sources = [() for _ in lines]
    for start, op in printer.begun:
        line = bisect_right(starts, start) - 1
        made.op_lines[op] = line
        made.sources[line] = made.sources[line] or _lines_of(_spots_of(op))
    return made


def _number(made: Snapshot, value: SSAValue) -> int:
    """The number of a value, which is new or known."""
    if value not in made.values:
        made.values[value] = len(made.values)
        made.hints.append(value.name_hint)
        made.types.append(str(value.type))
        made.readers.append([(u.operation, u.index) for u in islice(value.uses, MOST_READERS)])
        made.yielded.append(yielded_value(value))
        made.kinds.append(_kind_of(value))
        made.spots.append(_spots_of(value))
    return made.values[value]


def _kind_of(value: SSAValue) -> str:
    """The name of the op that makes a value; of a loop nest's result, the one in its body."""
    made_by = value if isinstance(value, OpResult) else None
    inner = None if made_by is None else yielded_value(made_by)
    made_by = inner if isinstance(inner, OpResult) else made_by
    return "" if made_by is None else made_by.owner.name


def yielded_value(value: SSAValue) -> SSAValue | None:
    """The number in the body of a loop nest that is an element of a result; None of others."""
    if not isinstance(value, OpResult) or not isinstance(value.owner, LoopOp):
        return None
    yielded = value.owner.yielded
    return yielded[value.index] if value.index < len(yielded) else None


def _spots_of(place: Operation | SSAValue) -> tuple[Spot, ...]:
    """The places in source files of an op or a value."""
    found = file_locations(location_of(place))
    return tuple(dict.fromkeys((f.filename.data, f.line.data, f.column.data) for f in found))


def _lines_of(spots: tuple[Spot, ...]) -> tuple[SourceLine, ...]:
    return tuple(dict.fromkeys((file, line) for file, line, _ in spots))
