"""Calls of functions with tapes among their arguments or results: a tape is several arrays."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from typing import Any

from gradir.codegen.driver.growing_memory import CAPACITY, POINTER
from gradir.codegen.driver.report import CompiledProgram
from gradir.errors import ArgumentTypeError
from gradir.runtime.arrays import Array
from gradir.runtime.call_table import CallTable
from gradir.runtime.messages import Messages, entries_of
from gradir.runtime.tapes import GrownMemory, NativeTape, unboxed


class TapeBoxes:
    """The tapes among the arguments and results of one function.

    The lists of types have None for arrays; without tapes they are empty.
    """

    def __init__(self, program: CompiledProgram, messages: Messages):
        self._messages, self._name = messages, program.name
        self._inputs, self._results = program.input_tapes, program.result_tapes
        # the words of the growing memory of results
        self._grown = {kept: word for word, _, kept in program.growing if kept >= 0}
        # the number of arrays of each result
        self._sizes = [
            NativeTape.slots(type_, k in self._grown) for k, type_ in enumerate(self._results)
        ]
        if self._sizes:
            messages.group_results(self._sizes)

    def unboxed(self, arguments: Sequence[object]) -> tuple[object, ...]:
        """The arguments with the arrays of each tape in its place."""
        if len(arguments) != len(self._inputs):
            raise ArgumentTypeError(
                f"{self._name}: expected {len(self._inputs)} arguments, got {len(arguments)}"
            )
        return tuple(unboxed(arguments, self._inputs, self._name))

    def unboxed_out(self, out: object) -> list[object]:
        """The entries of `out` by buffer. A tape is always new."""
        flat: list[object] = []
        entries = entries_of(out, len(self._sizes), self._name)
        for entry, size, type_ in zip(entries, self._sizes, self._results, strict=True):
            if type_ is not None and entry is not None:
                raise ArgumentTypeError(
                    f"{self._messages.out_place(len(flat))}: expected None for a tape, "
                    f"got {type(entry).__name__}"
                )
            flat += [entry] * size
        return flat

    def boxed(self, call: CallTable, arrays: Sequence[Array]) -> tuple[Any, ...]:
        """The results with one object for the arrays of each tape."""
        rest, results = iter(arrays), list[Any]()
        for k, type_ in enumerate(self._results):
            if type_ is None:
                results.append(next(rest))
            elif k in self._grown:
                word = self._grown[k]
                count = next(rest)
                memory = GrownMemory(call.table[word + POINTER], int(count))
                call.table[word + POINTER] = call.table[word + CAPACITY] = 0
                call.prepare()
                results.append(NativeTape.grown(type_, memory, count))
            else:
                own = tuple(islice(rest, self._sizes[k]))
                results.append(NativeTape(type_, own))
        return tuple(results)
