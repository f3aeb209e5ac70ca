"""What calls of a compiled function say that is wrong, in the words of its arguments and results.

Code counts buffers, of which a tape or row slices have several; messages count what a caller gives.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from gradir.codegen.driver.growing_memory import NO_MEMORY, as_limit
from gradir.codegen.driver.program import CompiledProgram
from gradir.codegen.driver.scalars import NO_BOUND, PLAIN
from gradir.codegen.text.kernel import ERROR_BOUND, ERROR_CODE, ERROR_INDEX
from gradir.codegen.text.table import TABLE_ERROR
from gradir.errors import ArgumentError, ArgumentTypeError, ExecutionError, IndexOutOfRange
from gradir.runtime.arrays import ArraySpec
from gradir.runtime.tapes import NativeTape


class Messages:
    """The messages of one function, whose table has its inputs from the word `first` on."""

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
        """Say that of what results were counted so far, each of these has so many."""
        self._groupings.append(sizes)

    def input_place(self, index: int) -> str:
        """An argument by one of its buffers."""
        place = place_of(index, self._input_sizes) if self._input_sizes else index
        return f"{self.name}: argument {place} (%{self._inputs[index].name})"

    def out_place(self, index: int) -> str:
        """An entry of `out` by one of its buffers."""
        for sizes in self._groupings:
            index = place_of(index, sizes)
        return f"{self.name}: out[{index}]"

    def overlap(self, table: Any, word: int, address: int, spec: ArraySpec) -> ArgumentError:
        """Of a result at an address, for a word of the table whose words before are filled in."""
        places = [f"argument {k} (%{s.name})" for k, s in enumerate(self._inputs)]
        places += [f"out[{k}]" for k in range(len(self._results))]
        specs = (*self._inputs, *self._results)
        for other, (name, taken) in enumerate(zip(places, specs, strict=True), self._first):
            start = table[other]
            if other < word and address < start + taken.nbytes and start < address + spec.nbytes:
                place = self.out_place(word - self._first - len(self._inputs))
                return ArgumentError(f"{place} shares memory with {name}")
        raise AssertionError("no overlap")

    def wrong_count(self, count: int) -> ArgumentError:
        """Of so many arguments."""
        names = ", ".join(f"%{spec.name}" for spec in self._inputs)
        return ArgumentTypeError(
            f"{self.name}: expected {len(self._inputs)} arguments ({names}), got {count}"
        )

    def failure(self, table: Any) -> ExecutionError:
        """What the error record of a run says."""
        words = (ERROR_CODE, ERROR_INDEX, ERROR_BOUND)
        code, index, bound = (int(table[TABLE_ERROR + word]) for word in words)
        message = self._texts[code - 1]
        if bound < 0:
            return ExecutionError(_failure(message, index, bound))
        return IndexOutOfRange(f"{message}: index {index} is out of range for a size of {bound}")


def entries_of(out: object, count: int, name: str) -> Sequence[object]:
    """The entries of `out` of a function, one for each of `count` results."""
    entries = cast(Sequence[object], out) if isinstance(out, tuple | list) else (out,)
    if len(entries) != count:
        raise ArgumentError(
            f"{name}: out: expected {count} entries, one for each result, got {len(entries)}"
        )
    return entries


def place_of(buffer: int, sizes: Sequence[int]) -> int:
    """Of entries of so many buffers each, the one that has the buffer."""
    return next(k for k in range(len(sizes)) if buffer < sum(sizes[: k + 1]))


def _failure(message: str, number: int, bound: int) -> str:
    """What went wrong, where no index is out of range."""
    if bound == PLAIN:
        return message
    if bound == NO_BOUND:
        return f"{message}, got {number}"
    if bound == NO_MEMORY:
        return f"{message} finds no memory for {number} bytes"
    return f"{message}'s limit is {as_limit(bound)} bytes, needed {number}"
