"""Row slices among the arguments and results of native code: two arrays each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute

from gradir.dialects.base.shapes import shape_of
from gradir.dialects.base.slice_type import is_slices
from gradir.errors import ArgumentError, ArgumentTypeError
from gradir.passes.analysis.arguments import in_out_results
from gradir.runtime.messages import Messages, entries_of
from gradir.runtime.row_slices import RowSlices

Shapes = tuple[tuple[int, ...] | None, ...]
"""Per argument or result: the shape of the whole for slices, else None."""


@dataclass(frozen=True)
class Layout:
    """The arguments and the results of a function that are slices."""

    inputs: Shapes
    results: Shapes


def slices_layout(function: FuncOp) -> Layout | None:
    """The layout of a function; None without slices."""
    type_ = function.function_type
    in_out = in_out_results(function)
    passed = [t for k, t in enumerate(type_.inputs.data) if k not in in_out]
    layout = Layout(_shapes(passed), _shapes(type_.outputs.data))
    return layout if any(s is not None for s in (*layout.inputs, *layout.results)) else None


def _shapes(types: Sequence[Attribute]) -> Shapes:
    return tuple(shape_of(t.dense) if is_slices(t) else None for t in types)


class SliceParts:
    """The arrays of the `RowSlices` among the arguments and results of one function.

    An entry of `out` for slices is None, or the RowSlices whose arrays are to be written.
    """

    def __init__(self, layout: Layout, messages: Messages):
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
