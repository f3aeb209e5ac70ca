"""Arguments whose memory the results of a jitted function take: `gradir.jit(f, donate_argnums=0)`.

A call returns a new array object on the memory of a donated array; the array that was passed is
made read-only, and gradir refuses it from then on. Results also take the memory of arguments that
are in `out`. Such a result and its argument are one buffer of the program, as the attribute
`grad.in_out` says: so the program reads the old contents before it writes, or copies them.
"""

from __future__ import annotations

import warnings
import weakref
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from gradir.api import Module
from gradir.errors import ArgumentError, ArgumentTypeError
from gradir.forking import short_lock
from gradir.frontends.tracing.source_locations import SOURCES
from gradir.frontends.tracing.trace import Traced
from gradir.frontends.tracing.trees import Tree
from gradir.passes.analysis.arguments import in_out_attribute
from gradir.passes.analysis.signature import argument_attributes, set_argument_attributes
from gradir.symbols import function_named

Taken = tuple[int | None, ...]
"""For each result, the leaf of the arguments whose memory it takes; None for memory of its own."""

LEAST_KEPT = 1024
"""Fewer arrays that were donated are not looked through for those that are gone."""


class _GivenUp:
    """Arrays that were donated, by their ids, as long as the caller has them."""

    def __init__(self) -> None:
        self.found: dict[int, weakref.ref[Any]] = {}
        self._lock = short_lock()
        self._limit = LEAST_KEPT

    def add(self, arrays: Sequence[Any], new: Iterable[Any] = ()) -> None:
        """Make arrays read-only and keep them; `new` ones may have ids of arrays that are gone."""
        for array in arrays:
            array.setflags(write=False)
        with self._lock:
            for array in new:
                self.found.pop(id(array), None)
            self.found.update(zip(map(id, arrays), map(weakref.ref, arrays), strict=True))
            if len(self.found) > self._limit:
                for key in [k for k, r in self.found.items() if r() is None]:
                    del self.found[key]
                self._limit = max(LEAST_KEPT, 2 * len(self.found))

    def has_one_of(self, leaves: Sequence[Any]) -> bool:
        found = self.found
        if not found or found.keys().isdisjoint(map(id, leaves)):
            return False
        return any(leaf in self for leaf in leaves)  # others may lie where one was

    def __contains__(self, leaf: object) -> bool:
        found = self.found.get(id(leaf))
        return found is not None and found() is leaf


# donated to calls that returned, and that failed
_donated, _lost = _GivenUp(), _GivenUp()

GIVEN_UP = _donated.found, _lost.found
"""What calls without Python must not be made beside, as they look for no such array."""


def argument_numbers(given: object, what: str = "donate_argnums") -> tuple[int, ...]:
    """Positions of arguments as a tuple; ArgumentTypeError unless it is an int or several."""
    numbers = (given,) if isinstance(given, int) else given
    if not isinstance(numbers, (tuple, list)) or not all(
        isinstance(n, int) and not isinstance(n, bool) for n in cast(Sequence[object], numbers)
    ):
        raise ArgumentTypeError(f"{what}: expected an int or several, got {given!r}")
    return tuple(cast(Sequence[int], numbers))


@dataclass(frozen=True)
class Donation:
    """The arguments of a traced function that are given up, with the names of all leaves."""

    taken: Taken
    names: tuple[str, ...]

    def outputs(self, leaves: Sequence[Any], out: Sequence[Any] | None) -> list[Any]:
        """The `out` of the executable: donated arrays, else what the caller gives."""
        made = [None if leaf is None else leaves[leaf] for leaf in self.taken]
        if out is None:
            return made
        for k, (leaf, entry) in enumerate(zip(self.taken, out, strict=True)):
            if leaf is None:
                made[k] = entry
            elif entry is not None:
                raise ArgumentError(
                    f"out: result {k} takes the memory of {self.names[leaf]}, which is donated; "
                    "give None for it"
                )
        return made

    def require_writable(self, leaves: Sequence[Any]) -> None:
        """ArgumentError, by names, if a donated leaf is no array that can be written in place."""
        for leaf in self.taken:
            if leaf is not None:
                self._require_writable(leaves[leaf], self.names[leaf])

    def _require_writable(self, array: object, name: str) -> None:
        if not isinstance(array, np.ndarray):
            raise ArgumentTypeError(
                f"{name}: only a NumPy array can be donated, got {type(array).__name__}"
            )
        if not array.flags.carray:
            what = "read-only" if not array.flags.writeable else "not C-contiguous"
            raise ArgumentError(f"{name}: the array is {what} and cannot be donated; pass a copy")

    def require_apart(self, leaves: Sequence[Any]) -> None:
        """ArgumentError, by names, if a donated array shares memory with another argument."""
        for donated in self.taken:
            for k, leaf in enumerate(leaves):
                if donated is None or k == donated or not isinstance(leaf, np.ndarray):
                    continue
                if np.may_share_memory(leaves[donated], cast(Any, leaf)):
                    raise ArgumentError(
                        f"{self.names[donated]} is donated and shares memory with "
                        f"{self.names[k]}; pass a copy of one of them"
                    )

    def results(self, leaves: Sequence[Any], results: Sequence[Any]) -> tuple[Any, ...]:
        """The results as new arrays; the donated ones are refused from now on."""
        made = [
            result if leaf is None else leaves[leaf].view()
            for leaf, result in zip(self.taken, results, strict=True)
        ]
        _donated.add(self._given(leaves), made)
        return tuple(made)

    def lose(self, leaves: Sequence[Any]) -> None:
        """After a call that failed and may have written: the donated arrays are refused."""
        _lost.add(self._given(leaves))

    def _given(self, leaves: Sequence[Any]) -> Sequence[Any]:
        return [leaves[leaf] for leaf in self.taken if leaf is not None]


def donated(made: Traced, arguments: Tree, argnums: Iterable[int]) -> Donation | None:
    """The donation of a traced function; None where no result takes the memory of an argument.

    The leaves of the arguments in `argnums` go to the first result of their type that is left. A
    UserWarning names the leaves that no result has the type of: they are read as others are.
    """
    wanted = _leaves_of(arguments, argnums)
    op = function_named(made.module.op, made.name)
    inputs, outputs = op.function_type.inputs.data, op.function_type.outputs.data
    taken: list[int | None] = [None] * len(outputs)
    left: list[str] = []
    for leaf in wanted:
        rows = zip(taken, outputs, strict=True)
        free = [
            k for k, (owner, type_) in enumerate(rows) if owner is None and type_ == inputs[leaf]
        ]
        if free:
            taken[free[0]] = leaf
        else:
            left.append(f"{made.names[leaf]}: {inputs[leaf]}")
    if left:
        warnings.warn(
            f"jit of {made.name}: no result can take the memory of {', '.join(left)}", stacklevel=2
        )
    if not any(leaf is not None for leaf in taken):
        return None
    return Donation(tuple(taken), made.names)


def _leaves_of(arguments: Tree, argnums: Iterable[int]) -> list[int]:
    """The leaves of the arguments at these positions."""
    by_position = arguments.children[0]
    count = len(by_position.children)
    found: set[int] = set()
    for number in argnums:
        if not -count <= number < count:
            raise ArgumentTypeError(
                f"donate_argnums: expected positions of {count} arguments, got {number}"
            )
        found.update(by_position.places(number))
    return sorted(found)


def has_donated(leaves: Sequence[Any]) -> bool:
    """Whether one of the arrays was donated to an earlier call."""
    return _donated.has_one_of(leaves) or _lost.has_one_of(leaves)


def require_not_donated(leaves: Sequence[Any], names: Sequence[str], what: str) -> None:
    """ArgumentError if one of the arrays was donated to an earlier call."""
    if not has_donated(leaves):
        return
    for leaf, name in zip(leaves, names, strict=True):
        if leaf in _donated:
            raise ArgumentError(
                f"{what}: {name} was donated to an earlier call, and its memory is that of a "
                "result now; pass what that call returned"
            )
        if leaf in _lost:
            raise ArgumentError(
                f"{what}: {name} was donated to a call that failed and may have changed it; "
                "make it anew"
            )


# Code in which a result and an argument are one buffer.


def inputs_beside(taken: Taken, count: int) -> tuple[int, ...] | None:
    """The leaves, of `count`, whose memory no result takes; None for all."""
    found = tuple(sorted({*range(count)} - {*taken}))
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
