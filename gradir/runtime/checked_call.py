"""Calls that native code leaves to Python: other kinds of arguments, and errors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeGuard

import numpy as np

from gradir.codegen.text.table import TABLE_ERROR
from gradir.runtime.arrays import (
    Array,
    ArraySpec,
    address_of,
    as_input,
    as_output,
    require_unchanged,
)
from gradir.runtime.call_table import CallTable
from gradir.runtime.messages import Messages, entries_of


class CheckedCall:
    """A call of one function by Python; its table has inputs from the word `first` on."""

    def __init__(
        self,
        run: Callable[[int], None],
        inputs: Sequence[ArraySpec],
        results: Sequence[ArraySpec],
        makers: Sequence[Callable[[], Array]],
        first: int,
        messages: Messages,
    ):
        self._run, self._messages = run, messages
        self._inputs, self._results, self._makers = inputs, results, makers
        self._first_input, self._first_result = first, first + len(inputs)

    def replace_function(self, run: Callable[[int], None]) -> None:
        """Run other code of the program from the next call on."""
        self._run = run

    def __call__(self, call: CallTable, arrays: Sequence[object], out: object) -> Any:
        """Run with arguments of any kind; returns the results, or False after an error."""
        if len(arrays) != len(self._inputs):
            raise self._messages.wrong_count(len(arrays))
        table = call.table
        entries = None if out is None else tuple(self._entries(out))
        read = [
            array if _fits(array, spec) else as_input(array, spec, self._messages.input_place(k))
            for k, (array, spec) in enumerate(zip(arrays, self._inputs, strict=True))
        ]
        # methods of foreign arrays ran above; from here on only gradir's code runs
        for k, (array, spec) in enumerate(zip(read, self._inputs, strict=True)):
            if array is arrays[k]:
                require_unchanged(array, spec, self._messages.input_place(k))
            table[self._first_input + k] = address_of(array)
        if entries is None:
            results = self._new_results(table)
        else:
            results = self._given_results(table, entries)
        self._run(call.address)
        return False if table[TABLE_ERROR] else results

    def _new_results(self, table: Any) -> tuple[Array, ...]:
        results: list[Array] = []
        for word, make in enumerate(self._makers, self._first_result):
            array = make()
            table[word] = address_of(array)
            results.append(array)
        return tuple(results)

    def _given_results(self, table: Any, entries: Sequence[object]) -> tuple[Array, ...]:
        """The result arrays: from `out`, or new ones for None."""
        taken = [
            (table[word], table[word] + spec.nbytes)
            for word, spec in enumerate(self._inputs, self._first_input)
        ]
        results: list[Any] = []
        rows = zip(entries, self._results, self._makers, strict=True)
        for k, (entry, spec, make) in enumerate(rows):
            word = self._first_result + k
            if entry is None:
                entry = make()
                address = address_of(entry)
            else:
                address = address_of(self._as_output(entry, spec, k))
                end = address + spec.nbytes
                if any(address < high and low < end for low, high in taken):
                    raise self._messages.overlap(table, word, address, spec)
            taken.append((address, address + spec.nbytes))
            table[word] = address
            results.append(entry)
        return tuple(results)

    def _as_output(self, entry: object, spec: ArraySpec, index: int) -> Array:
        if _fits(entry, spec):
            return entry
        return as_output(entry, spec, self._messages.out_place(index))

    def _entries(self, out: object) -> Sequence[object]:
        return entries_of(out, len(self._results), self._messages.name)


def _fits(array: object, spec: ArraySpec) -> TypeGuard[Array]:
    """A quick test of the common case: an array that native code can read and write in place."""
    return (
        type(array) is np.ndarray
        and array.dtype is spec.dtype
        and array.shape == spec.shape
        and array.flags.carray
    )
