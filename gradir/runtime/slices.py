"""Calls of native code with row slices, two buffers each."""

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
from gradir.runtime.executable import Executable
from gradir.runtime.messages import entries_of
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


class SlicesExecutable(Executable):
    """A compiled function with `RowSlices` among its arguments or results.

    An entry of `out` for slices is None, or the RowSlices whose arrays are to be written.
    """

    layout: Layout

    def __call__(self, *arrays: object, out: object = None) -> tuple[Any, ...]:
        if len(arrays) != len(self.layout.inputs):
            raise ArgumentTypeError(
                f"{self.name}: expected {len(self.layout.inputs)} arguments, got {len(arrays)}"
            )
        given = _flat(arrays, self.layout.inputs, f"{self.name}: argument")
        flat = super().__call__(*given, out=None if out is None else self._flat_out(out))
        parts = iter(flat)
        return tuple(
            next(parts) if shape is None else RowSlices(next(parts), next(parts), shape)
            for shape in self.layout.results
        )

    def attempt(self, arrays: tuple[object, ...], out: object) -> tuple[Any, ...] | None:
        """None: Python unpacks the arrays of slices."""
        return None

    def lay_out(self, layout: Layout) -> None:
        """Set the layout of slices, before the first call."""
        self.layout = layout
        self._messages.group_results([1 if shape is None else 2 for shape in layout.results])

    def _flat_out(self, out: object) -> list[object]:
        entries = entries_of(out, len(self.layout.results), self.name)
        return list(_flat(entries, self.layout.results, f"{self.name}: out", optional=True))


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
