"""Error messages of calls, in terms of arguments and results.

Code numbers buffers, several for a tape or row slices; messages number the caller's arguments.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn, cast

from gradir.codegen.driver.growing_memory import NO_MEMORY, as_limit
from gradir.codegen.driver.report import CompiledProgram
from gradir.codegen.text.kernel import ERROR_BOUND, ERROR_CODE, ERROR_INDEX, NO_BOUND, PLAIN
from gradir.codegen.text.table import TABLE_ERROR
from gradir.errors import ArgumentError, ArgumentTypeError, ExecutionError, IndexOutOfRange
from gradir.runtime.arrays import ArraySpec
from gradir.runtime.tapes import NativeTape


class Messages:
    """The messages of one function; its table has inputs from the word `first` on."""

    def __init__(
        self,
        program: CompiledProgram,
        inputs: Sequence[ArraySpec],
        results: Sequence[ArraySpec],
        first: int,
    ):
        self.name, self._texts = program.name, program.messages
        self._inputs, self._results = inputs, results
        self._first = first
        self._input_sizes = [NativeTape.slots(type_) for type_ in program.input_tapes]
        self._groupings: list[Sequence[int]] = []

    def group_results(self, sizes: Sequence[int]) -> None:
        """Group the counted results: the next entry has `sizes[0]` of them, and so on."""
        self._groupings.append(sizes)

    def input_place(self, index: int) -> str:
        """The name of an argument, by one of its buffers."""
        place = place_of(index, self._input_sizes) if self._input_sizes else index
        return f"{self.name}: argument {place} (%{self._inputs[index].name})"

    def out_place(self, index: int) -> str:
        """The name of an entry of `out`, by one of its buffers."""
        for sizes in self._groupings:
            index = place_of(index, sizes)
        return f"{self.name}: out[{index}]"

    def refuse_missing(self, index: int) -> NoReturn:
        """Raise ArgumentError for an entry of `out` that is read before it is written."""
        raise ArgumentError(
            f"{self.out_place(index)}: expected the array that the result is added to, a "
            f"{self._results[index]}"
        )

    def overlap(self, table: Any, word: int, address: int, spec: ArraySpec) -> ArgumentError:
        """The error for a result that overlaps an argument or an earlier result."""
        places = [f"argument {k} (%{s.name})" for k, s in enumerate(self._inputs)]
        places += [f"out[{k}]" for k in range(len(self._results))]
        specs = (*self._inputs, *self._results)
        for other, (name, taken) in enumerate(zip(places, specs, strict=True), self._first):
            start = table[other]
            if other < word and address < start + taken.nbytes and start < address + spec.nbytes:
                place = self.out_place(word - self._first - len(self._inputs))
                hint = "; {grad.in_out} on an argument says that a result lies in it"
                is_whole = address == start and spec.nbytes == taken.nbytes
                is_input = other < len(self._inputs)
                return ArgumentError(
                    f"{place} shares memory with {name}{hint if is_whole and is_input else ''}"
                )
        raise AssertionError("no overlap")

    def wrong_count(self, count: int) -> ArgumentError:
        """The error for a wrong number of arguments."""
        names = ", ".join(f"%{spec.name}" for spec in self._inputs)
        return ArgumentTypeError(
            f"{self.name}: expected {len(self._inputs)} arguments ({names}), got {count}"
        )

    def failure(self, table: Any) -> ExecutionError:
        """The error in a run's error record."""
        words = (ERROR_CODE, ERROR_INDEX, ERROR_BOUND)
        code, index, bound = (int(table[TABLE_ERROR + word]) for word in words)
        message = self._texts[code - 1]
        if bound < 0:
            return ExecutionError(_failure(message, index, bound))
        return IndexOutOfRange(f"{message}: index {index} is out of range for a size of {bound}")


def entries_of(out: object, count: int, name: str) -> Sequence[object]:
    """The entries of `out`, one for each of `count` results."""
    entries = cast(Sequence[object], out) if isinstance(out, (tuple, list)) else (out,)
    if len(entries) != count:
        raise ArgumentError(
            f"{name}: out: expected {count} entries, one for each result, got {len(entries)}"
        )
    return entries


def place_of(buffer: int, sizes: Sequence[int]) -> int:
    """The number of the entry with a buffer, for entries of `sizes` buffers."""
    return next(k for k in range(len(sizes)) if buffer < sum(sizes[: k + 1]))


def _failure(message: str, number: int, bound: int) -> str:
    """The error of other failures than an index out of range."""
    if bound == PLAIN:
        return message
    if bound == NO_BOUND:
        return f"{message}, got {number}"
    if bound == NO_MEMORY:
        return f"{message} finds no memory for {number} bytes"
    return f"{message}'s limit is {as_limit(bound)} bytes, needed {number}"
