"""`out` of the interpreter: arrays for results, some to be read before they are written."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import numpy as np
from xdsl.dialects.func import FuncOp

from gradir.dialects.base.shapes import element_of, is_tensor, shape_of
from gradir.errors import ArgumentError, ArgumentTypeError
from gradir.passes.analysis.arguments import in_out_results
from gradir.runtime.arrays import ArraySpec, as_output, dtype_of
from gradir.runtime.row_slices import RowSlices


def all_arguments(function: FuncOp, arguments: Sequence[Any], out: object) -> list[Any]:
    """All arguments: the passed ones, and those in arrays of `out`."""
    in_out = in_out_results(function)
    if not in_out:
        return list(arguments)
    entries = _entries(function, out)
    count = len(function.function_type.inputs) - len(in_out)
    name = function.sym_name.data
    if len(arguments) != count:
        raise ArgumentTypeError(f"{name}: expected {count} arguments, got {len(arguments)}")
    passed = iter(arguments)
    found: list[Any] = []
    for k in range(count + len(in_out)):
        if k not in in_out:
            found.append(next(passed))
        elif entries[in_out[k]] is None:
            raise ArgumentError(
                f"{name}: out[{in_out[k]}]: expected the array that the result is added to, "
                f"{_spec(function, in_out[k])}"
            )
        else:
            found.append(_output(function, entries, in_out[k]))
    return found


def stored(function: FuncOp, results: Sequence[Any], out: object) -> tuple[Any, ...]:
    """The results, in the arrays of `out` where given."""
    if out is None:
        return tuple(results)
    entries = _entries(function, out)
    found: list[Any] = []
    for k, (entry, result) in enumerate(zip(entries, results, strict=True)):
        if entry is None:
            found.append(result)
        elif isinstance(entry, RowSlices) and isinstance(result, RowSlices):
            np.copyto(entry.indices, result.indices)
            np.copyto(entry.values, result.values)
            found.append(entry)
        else:
            np.copyto(_output(function, entries, k), result)
            found.append(entry)
    return tuple(found)


def _entries(function: FuncOp, out: object) -> Sequence[object]:
    count = len(function.function_type.outputs)
    if out is None:
        return [None] * count
    entries = cast(Sequence[object], out) if isinstance(out, (tuple, list)) else (out,)
    if len(entries) != count:
        raise ArgumentError(
            f"{function.sym_name.data}: out: expected {count} entries, one for each result, "
            f"got {len(entries)}"
        )
    return entries


def _output(function: FuncOp, entries: Sequence[object], k: int) -> Any:
    return as_output(entries[k], _spec(function, k), f"{function.sym_name.data}: out[{k}]")


def _spec(function: FuncOp, k: int) -> ArraySpec:
    type_ = function.function_type.outputs.data[k]
    shape, element = (shape_of(type_), element_of(type_)) if is_tensor(type_) else ((), type_)
    return ArraySpec(f"result{k}", shape, dtype_of(element))
