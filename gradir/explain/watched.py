"""Compiled functions whose results must be finite: GRADIR_NAN=raise.

Whether a function is watched is decided when it is compiled or loaded; the code is the same, and
code that is not watched has no check. A watched call that gives nan or an infinite number is run
again by the interpreter, which says where that comes from.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp

from gradir.diagnostics import Sources
from gradir.dialects.base.diagnostics import location_text
from gradir.errors import GradirError, NonFiniteError, gradir_errors
from gradir.explain.explanation import Explanation, Labels, explained
from gradir.explain.numbers import is_finite
from gradir.passes.analysis.arguments import in_out_results
from gradir.passes.analysis.call_graph import functions_by_name
from gradir.runtime.recompiled import Recompiled
from gradir.runtime.tapes import NativeTape
from gradir.symbols import function_named

TAPES = (
    "its tapes are those of another call; gradir.debug.explain of the whole derivative, as by "
    "gradir.grad, says where it begins"
)


@dataclass(frozen=True)
class Again:
    """What running a call again takes: the program, made when it is needed, and its sources."""

    program: Callable[[], ModuleOp]
    name: str
    sources: Sources
    checked: int | None = None

    def explain(self, arrays: Sequence[Any], out: object) -> Explanation:
        """Why results of a call are not finite."""
        with gradir_errors(self.sources):
            module = self.program()
            require_no_collectives(module)
            labels = labels_of(function_named(module, self.name))
            return explained(module, self.name, arrays, out, self.sources, labels, self.checked)


class Watched(Recompiled):
    """A compiled function that raises NonFiniteError in place of results that are not finite."""

    def __init__(self, plain: Any, again: Again, read_results: Sequence[int]):
        """`read_results` are the results that begin with what `out` has."""
        self._plain, self._again, self._read = plain, again, read_results
        self.source, self.profiler = plain.source, plain.profiler

    def __getattr__(self, name: str) -> Any:
        return getattr(self._plain, name)

    def __repr__(self) -> str:
        return repr(self._plain)

    def __call__(self, *arrays: object, out: Any = None) -> tuple[Any, ...]:
        before = self._copied(out)
        return self._checked(arrays, before, self._plain(*arrays, out=out))

    def call_native(self, arrays: tuple[object, ...], out: Any) -> tuple[Any, ...] | None:
        """As the function's own `call_native`, with its results checked."""
        before = self._copied(out)
        results = self._plain.call_native(arrays, out)
        return None if results is None else self._checked(arrays, before, results)

    def single_runner(self) -> None:
        """No runner: each call is checked."""

    def _copied(self, out: Any) -> list[Any] | None:
        """The arrays of `out` that are read, as they are before the call."""
        if not self._read or out is None:
            return None
        entries = cast(Sequence[Any], out if isinstance(out, (tuple, list)) else (out,))
        return [np.array(o) if k in self._read else None for k, o in enumerate(entries)]

    def _checked(
        self, arrays: Sequence[Any], before: object, results: tuple[Any, ...]
    ) -> tuple[Any, ...]:
        if all(map(is_finite, results[: self._again.checked])):
            return results
        raise self._failure(arrays, before)

    def _failure(self, arrays: Sequence[Any], before: object) -> NonFiniteError:
        name = self._plain.name
        try:
            found = self._again.explain(arrays, before)
        except (GradirError, MemoryError) as error:
            why = TAPES if any(isinstance(a, NativeTape) for a in arrays) else error
            text = f"{name}: results are not finite, and the call cannot be run again to say why"
            return NonFiniteError(f"{text}: {why}")
        if found.is_finite:
            text = (
                f"{name}: results of native code are not finite, and those of the interpreter "
                f"are; {found.text}"
            )
            return NonFiniteError(text, found.diagnostic)
        return NonFiniteError(found.text, found.diagnostic)


def watched(plain: Any, again: Again) -> Any:
    """A compiled function, watched."""
    function = function_named(again.program(), again.name)
    return Watched(plain, again, sorted(in_out_results(function).values()))


def require_no_collectives(module: ModuleOp) -> None:
    """GradirError for a program that only all ranks together could run again."""
    for op in module.walk():
        if op.name.startswith("comm."):
            raise NonFiniteError(
                f"{location_text(op)}{op.name} needs all ranks; gradir.debug.explain on each of "
                "them says where it begins"
            )


def labels_of(function: FuncOp) -> Labels:
    """The names of a function's arguments and results in messages."""
    name = function.sym_name.data
    arguments = [a.name_hint or str(k) for k, a in enumerate(function.body.block.args)]
    count = len(function.function_type.outputs)
    results = [f"result {k} of {name}" for k in range(count)]
    return Labels(arguments, [f"the result of {name}"] if count == 1 else results)


def results_of_primal(module: ModuleOp, name: str) -> int | None:
    """How many results of a forward half the function itself has; None for all.

    The others are residuals, and may be infinite where all that is made of them is finite.
    """
    whole = functions_by_name(module).get(name.removesuffix("_fwd"))
    if whole is None or not name.endswith("_fwd"):
        return None
    return len(whole.function_type.outputs)
