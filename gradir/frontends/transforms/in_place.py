"""Jitted functions of which some results lie in the memory of arguments.

Such a result and its argument are one buffer of the program, which the argument attribute
`grad.in_out` says: so the program reads the old contents before it writes, or copies them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gradir.api import Module
from gradir.frontends.tracing.source_locations import SOURCES
from gradir.frontends.tracing.trace import Traced
from gradir.passes.analysis.arguments import in_out_attribute
from gradir.passes.analysis.signature import argument_attributes, set_argument_attributes
from gradir.symbols import function_named

Taken = tuple[int | None, ...]
"""For each result, the leaf of the arguments whose memory it takes; None for memory of its own."""


def inputs_beside(taken: Taken, count: int) -> tuple[int, ...] | None:
    """The leaves, of `count`, whose memory no result takes; None for all."""
    found = tuple(k for k in range(count) if k not in taken)
    return None if len(found) == count else found


def with_in_out(made: Traced, taken: Taken) -> Module:
    """The module with the attribute on each argument that lies in the buffer of a result."""
    if not any(leaf is not None for leaf in taken):
        return made.module
    module = made.module.op.clone()
    function = function_named(module, made.name)
    given = argument_attributes(function)
    for k, leaf in enumerate(taken):
        if leaf is not None:
            given[leaf] |= in_out_attribute(k)
    set_argument_attributes(function, given)
    return Module(module, SOURCES)


def fitting(made: Traced) -> list[list[int]]:
    """For each result, the leaves of its type."""
    type_ = function_named(made.module.op, made.name).function_type
    inputs = type_.inputs.data[: len(made.names)]
    return [[leaf for leaf, t in enumerate(inputs) if t == wanted] for wanted in type_.outputs.data]


def taken_by(
    leaves: Sequence[Any], out: Sequence[Any], donated: Taken, fits: Sequence[Sequence[int]]
) -> Taken:
    """Where the results go: to donated leaves, and to those that are in `out`.

    A leaf is in `out` if the entry is the whole of its memory and the types are equal, as `fits`
    says. It goes to one result; whatever else shares memory is refused when the code is called.
    """
    taken = list(donated)
    for k, entry in enumerate(out):
        if taken[k] is None and isinstance(entry, np.ndarray):
            others = (f for f in fits[k] if f not in taken)
            taken[k] = next((f for f in others if _is_same_memory(entry, leaves[f])), None)
    return tuple(taken)


def _is_same_memory(one: Any, other: Any) -> bool:
    return one is other or (isinstance(other, np.ndarray) and _memory(one) == _memory(other))


def _memory(array: Any) -> tuple[Any, ...]:
    return array.__array_interface__["data"][0], array.shape, array.strides, array.dtype
