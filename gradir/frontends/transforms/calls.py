"""The calls of one Python function: a program for each kind of arguments."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, cast

import numpy as np

from gradir.cache.memory import Store
from gradir.forking import RenewedLock
from gradir.frontends.tracing.default_types import FIRST_DEFAULTS, Defaults, defaults
from gradir.frontends.tracing.draws import Draws
from gradir.frontends.tracing.paths import Path
from gradir.frontends.tracing.source_locations import at, place_of_user
from gradir.frontends.tracing.spec import Spec, spec_of
from gradir.frontends.tracing.trace import Traced
from gradir.frontends.tracing.tracing import is_number
from gradir.frontends.tracing.trees import Tree
from gradir.frontends.transforms.donation import donated, require_not_donated
from gradir.frontends.transforms.program import Program
from gradir.frontends.transforms.quick_calls import QuickCalls
from gradir.long_compilations import tracing_time

MOST_PATHS = 8
"""The paths that are kept for arguments of one kind."""

_WITH_SHAPES = (np.ndarray, np.generic, Spec)

Arguments = tuple[Sequence[Any], Mapping[str, Any]]
TraceOf = Callable[[Sequence[Any], Mapping[str, Any]], Traced]
"""Gives the program for some arguments."""


_Key = tuple[Tree, Defaults, tuple[Hashable, ...]]
"""The kind of arguments: their nesting, the defaults, and the kinds of leaves."""


class _Last(NamedTuple):
    """What decides the program of a call, as far as it is quick to compare, and the program."""

    tree: Tree
    classes: tuple[type, ...]
    defaults: Defaults
    program: Program


class _Kind:
    """The programs for arguments of one kind: for all values, or for a path of values each."""

    def __init__(self) -> None:
        self.lock = RenewedLock()
        self.programs: list[tuple[Path | None, Program]] = []

    def find(self, leaves: Sequence[Any]) -> tuple[Path | None, Program] | None:
        """The path of these values, and its program; the last ones are looked at first."""
        programs = self.programs
        for pair in programs:
            if pair[0] is None or pair[0].holds(leaves):
                if pair is not programs[0]:
                    self.programs = [pair, *(other for other in programs if other is not pair)]
                return pair
        return None

    def keep(self, path: Path | None, program: Program) -> None:
        if path is None or path.is_kept:
            self.programs = [(path, program), *self.programs][:MOST_PATHS]


@dataclass(frozen=True)
class CallOptions:
    """How a function is called: see `gradir.jit` and `Jitted`.

    The programs of the `most_kinds` kinds of arguments that came last are kept.
    """

    threads: int | None = None
    wait: bool = False
    donated: tuple[int, ...] = ()
    knows_values: bool = False
    most_kinds: int | None = None


class Calls:
    """The calls of one Python function, which is traced once for each kind of arguments."""

    def __init__(self, function: Callable[..., Any], trace: TraceOf, options: CallOptions):
        self._function, self._trace, self._options = function, trace, options
        self._kinds = Store[_Key, _Kind](options.most_kinds)
        self._last: _Last | None = None
        self.quick = QuickCalls()
        self.after_trace: Callable[[], object] | None = None

    @property
    def count(self) -> int:
        """The number of programs."""
        return sum(len(kind.programs) for kind in self._kinds)

    def of_leaves(
        self, leaves: Sequence[Any], tree: Tree, out: Any, arguments: Callable[[], Arguments]
    ) -> tuple[Sequence[Any], Tree]:
        """A call with flattened `(args, kwargs)`: the results as leaves and their nesting.

        The nesting is one object for one kind of arguments. A trace runs on `arguments()`.
        """
        classes, last = tuple(map(type, leaves)), self._last
        if last is not None and out is None and (tree, classes, defaults()) == last[:3]:
            # most calls are like the one before, whose code checks shapes and dtypes itself
            results = last.program.call_native(leaves)
            if results is not None:
                self._learn(last)
                return results, last.program.nesting
        program, is_general = self._found(leaves, tree, arguments)
        require_not_donated(leaves, program.traced.names, program.name)
        if not is_general:
            return program(leaves, out), program.nesting
        self._last = last = _Last(tree, classes, defaults(), program)
        results = program(leaves, out)
        if out is None:
            self._learn(last)
        return results, program.nesting

    def program(
        self, leaves: Sequence[Any], tree: Tree, arguments: Callable[[], Arguments]
    ) -> Program:
        """The program that a call with these leaves runs."""
        return self._found(leaves, tree, arguments)[0]

    def _learn(self, last: _Last) -> None:
        """Make calls of this kind native; those with other defaults are not."""
        if last.defaults == FIRST_DEFAULTS:
            self.quick.learn(last.tree, last.classes, last.program)

    def _found(
        self, leaves: Sequence[Any], tree: Tree, arguments: Callable[[], Arguments]
    ) -> tuple[Program, bool]:
        """The program for some leaves, and whether it holds for all of their kind."""
        key = tree, defaults(), tuple(map(_kind_of, leaves))
        kind = self._kinds.find(key) or self._kinds.find_or_make(key, _Kind)
        found = kind.find(leaves)
        if found is None:
            # one thread traces it, and the others wait
            with kind.lock:
                found = kind.find(leaves)
                if found is None:
                    return self._newly_traced(kind, tree, arguments)
        path, program = found
        return program, path is None

    def _newly_traced(
        self, kind: _Kind, tree: Tree, arguments: Callable[[], Arguments]
    ) -> tuple[Program, bool]:
        options = self._options
        draws = Draws(self._function) if options.knows_values else None
        with at(place_of_user()), tracing_time():
            traced = self._trace(*arguments())
            donation = donated(traced, tree, options.donated) if options.donated else None
        program = Program(traced, options.threads, donation, options.wait)
        is_kept = draws is None or not draws.were_made()
        if is_kept:
            kind.keep(traced.path, program)
        if self.after_trace is not None:
            self.after_trace()
        return program, is_kept and traced.path is None


def _kind_of(leaf: object) -> Hashable:
    """The kind of a leaf, its part of the key of programs."""
    if isinstance(leaf, _WITH_SHAPES):
        array = cast(Any, leaf)
        return array.shape, array.dtype
    return type(leaf) if is_number(leaf) else spec_of(leaf)
