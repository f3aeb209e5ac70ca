"""Arguments and results of native code that are several arrays each: row slices and tapes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute

from gradir.codegen.driver.growing_memory import CAPACITY, POINTER
from gradir.codegen.driver.report import CompiledProgram
from gradir.dialects.base.shapes import is_complex_tensor, shape_of
from gradir.dialects.base.slice_type import is_slices
from gradir.errors import ArgumentError, ArgumentTypeError
from gradir.passes.analysis.arguments import in_out_results
from gradir.runtime.arrays import Array, ArraySpec
from gradir.runtime.call_table import CallTable
from gradir.runtime.messages import Messages, entries_of
from gradir.runtime.row_slices import RowSlices
from gradir.runtime.tapes import GrownMemory, NativeTape, unboxed

Shapes = tuple[tuple[int, ...] | None, ...]
"""Per argument or result: the shape of the whole for slices, else None."""


@dataclass(frozen=True)
class SlicesLayout:
    """The arguments and the results of a function that are slices."""

    inputs: Shapes
    results: Shapes


def slices_layout(function: FuncOp) -> SlicesLayout | None:
    """The layout of a function; None without slices."""
    type_ = function.function_type
    in_out = in_out_results(function)
    passed = [t for k, t in enumerate(type_.inputs.data) if k not in in_out]
    layout = SlicesLayout(_shapes(passed), _shapes(type_.outputs.data))
    return layout if any(s is not None for s in (*layout.inputs, *layout.results)) else None


def _shapes(types: Sequence[Attribute]) -> Shapes:
    return tuple(shape_of(t.dense) if is_slices(t) else None for t in types)


@dataclass(frozen=True)
class ComplexLayout:
    """For each argument and result of a function, slices counted as two, whether it is complex.

    Native code has one more axis of extent 2 in their place.
    """

    inputs: tuple[bool, ...]
    results: tuple[bool, ...]


def complex_layout(function: FuncOp) -> ComplexLayout | None:
    """The layout of a function; None without complex numbers."""
    type_ = function.function_type
    in_out = in_out_results(function)
    passed = [t for k, t in enumerate(type_.inputs.data) if k not in in_out]
    layout = ComplexLayout(_are_complex(passed), _are_complex(type_.outputs.data))
    return layout if any((*layout.inputs, *layout.results)) else None


def _are_complex(types: Sequence[Attribute]) -> tuple[bool, ...]:
    found: list[bool] = []
    for type_ in types:
        parts = [type_.indices, type_.values] if is_slices(type_) else [type_]
        found += map(is_complex_tensor, parts)
    return tuple(found)


def as_complex(
    specs: Sequence[ArraySpec], flags: Sequence[bool], sizes: Sequence[int]
) -> tuple[ArraySpec, ...]:
    """The specifications of arrays, those of complex numbers as the caller has them.

    `sizes` are the arrays of each value; empty where all have one.
    """
    by_array = [f for f, n in zip(flags, sizes or [1] * len(flags), strict=True) for _ in range(n)]
    return tuple(
        ArraySpec(s.name, s.shape[:-1], np.result_type(s.dtype, np.complex64)) if is_complex else s
        for s, is_complex in zip(specs, by_array, strict=True)
    )


class SliceParts:
    """The arrays of the `RowSlices` among the arguments and results of one function.

    An entry of `out` for slices is None, or the RowSlices whose arrays are to be written.
    """

    def __init__(self, layout: SlicesLayout, messages: Messages):
        self._layout, self._name = layout, messages.name
        messages.group_results([1 if shape is None else 2 for shape in layout.results])

    def inputs(self, arguments: Sequence[object]) -> tuple[object, ...]:
        """The arguments with both arrays of slices in their place."""
        count = len(self._layout.inputs)
        if len(arguments) != count:
            raise ArgumentTypeError(
                f"{self._name}: expected {count} arguments, got {len(arguments)}"
            )
        return tuple(_flat(arguments, self._layout.inputs, f"{self._name}: argument"))

    def out(self, out: object) -> list[object] | None:
        """The entries of `out` by array."""
        if out is None:
            return None
        entries = entries_of(out, len(self._layout.results), self._name)
        return list(_flat(entries, self._layout.results, f"{self._name}: out", optional=True))

    def results(self, arrays: Sequence[Any]) -> tuple[Any, ...]:
        """The results with one object for both arrays of slices."""
        parts = iter(arrays)
        return tuple(
            next(parts) if shape is None else RowSlices(next(parts), next(parts), shape)
            for shape in self._layout.results
        )


def _flat(
    values: Sequence[object], shapes: Shapes, place: str, optional: bool = False
) -> Iterator[object]:
    """The values, slices as their two arrays."""
    for k, (value, shape) in enumerate(zip(values, shapes, strict=True)):
        if shape is None:
            yield value
        elif value is None and optional:
            yield from (None, None)
        elif not isinstance(value, RowSlices):
            raise ArgumentTypeError(f"{place} {k}: expected RowSlices, got {type(value).__name__}")
        elif value.shape != shape:
            raise ArgumentError(
                f"{place} {k}: expected slices of {list(shape)}, got {list(value.shape)}"
            )
        else:
            yield from (value.indices, value.values)


def result_sizes(program: CompiledProgram) -> list[int]:
    """The number of arrays of each result; nothing where none is a tape."""
    grown = {kept for _, _, kept in program.growing if kept >= 0}
    return [NativeTape.slots(t, k in grown) for k, t in enumerate(program.result_tapes)]


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
        self._sizes = result_sizes(program)
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
