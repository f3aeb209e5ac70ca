"""Stages against the interpreter: what a program gives before and after each of them.

The stage that breaks its promise is named, and the op where its numbers begin to differ.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar

from xdsl.dialects.builtin import LocationAttr, MemRefType, ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue

from gradir.dialects.base.diagnostics import ValidationError, kind_name, location_of, op_name
from gradir.passes.cleanup.dce import dce
from gradir.symbols import function_named
from gradir.validation.compare import BITS, ROUNDING, first_difference, with_defined
from gradir.validation.report import Report, new_report
from gradir.validation.runs import (
    DRAWS,
    Array,
    Bounded,
    Filled,
    Outcome,
    needed,
    outcome_of,
    outcome_or_reason,
    random_arguments,
    unfit,
)

MachineT = TypeVar("MachineT", contravariant=True)


class CheckedStage(Protocol[MachineT]):
    """A stage of the pipeline: its name, and what it promises of results."""

    @property
    def name(self) -> str: ...

    @property
    def keeps(self) -> str: ...

    def run(self, module: ModuleOp, machine: MachineT) -> Any: ...


@dataclass
class Validation:
    """The validation of the compilation of one function: arguments, and what it gave last.

    `reference` is the program before all stages; it is not changed.
    """

    reference: ModuleOp
    name: str
    report: Report
    arguments: list[list[Array]] = field(default_factory=list[list[Array]])
    outcomes: list[Outcome] = field(default_factory=list[Outcome])

    @staticmethod
    def of(program: ModuleOp, name: str) -> Validation:
        """The validation of a program, which is used up; it may have nothing that can be run."""
        made = Validation(program, name, new_report(f"compilation of @{name}"))
        function = function_named(program, name)
        why = unfit(needed(program, name), function)
        if why is not None:
            made.report.left_out("all stages, and native code", why)
            return made
        for draw in range(DRAWS):
            arguments = random_arguments(function, draw)
            outcome = outcome_or_reason(lambda given=arguments: outcome_of(program, name, given))
            if isinstance(outcome, str):
                made.report.left_out("all stages, and native code", outcome)
                return made
            made.arguments.append(arguments)
            made.outcomes.append(outcome)
        return made

    def run(
        self, module: ModuleOp, machine: MachineT, stages: Sequence[CheckedStage[MachineT]]
    ) -> Any:
        """Run stages, and hold each against the program before it; what the last one returns."""
        plans = None
        for number, stage in enumerate(stages, 1):
            before = module.clone() if self.arguments else module
            plans = stage.run(module, machine)
            self._hold(f"{stage.name} (stage {number})", stage.keeps, before, module)
        return plans

    def _hold(self, step: str, promise: str, before: ModuleOp, after: ModuleOp) -> None:
        if not self.arguments:
            return
        if _is_on_buffers(function_named(after, self.name)):
            self.report.left_out(step, "the interpreter does not run buffers; see native code")
            return
        found: list[Outcome] = []
        for arguments, last in zip(self.arguments, self.outcomes, strict=True):
            outcome = outcome_or_reason(lambda given=arguments: outcome_of(after, self.name, given))
            if isinstance(outcome, str):
                self.report.left_out(step, outcome)
                return
            if (last.error is None) != (outcome.error is None):
                # what nobody reads may fail before the stage that drops it
                one, other = (_of_live(m, self.name, arguments) for m in (before, after))
                wrong = _broken(one, other, promise)
            else:
                wrong = _broken(last, outcome, promise)
            if wrong is not None:
                place, words = _where(before, after, self.name, arguments, promise)
                raise ValidationError(
                    f"{step} does not keep {promise}: {wrong}{words}", place or after
                )
            found.append(outcome)
        self.outcomes = found
        self.report.done(step, promise)

    def hold_native(self, call: Callable[[Sequence[Array]], Outcome]) -> None:
        """Hold native code against the program before all stages."""
        if not self.arguments:
            return
        function = function_named(self.reference, self.name)
        for arguments, last in zip(self.arguments, self.outcomes, strict=True):
            expected = outcome_of(self.reference, self.name, arguments)
            if last.error is None:
                expected = last if expected.error is not None else expected
            native = self._defined(expected, call([a.copy() for a in arguments]), arguments)
            wrong = _broken(expected, native, ROUNDING)
            if wrong is not None:
                text = f"native code of @{self.name} is not {ROUNDING} as the interpreter: {wrong}"
                raise ValidationError(text, function)
        self.report.done("native code", ROUNDING)

    def _defined(self, expected: Outcome, native: Outcome, arguments: Sequence[Array]) -> Outcome:
        """What native code gives, with the interpreter's elements where values are undefined, as
        residuals are of a branch that was not taken."""
        filled = outcome_of(self.reference, self.name, arguments, Filled)
        if expected.error or native.error or filled.error:
            return native
        return Outcome(tuple(with_defined(native.results, expected.results, filled.results)))


def _broken(before: Outcome, after: Outcome, promise: str) -> str | None:
    """How a promise is broken; an error must stay one."""
    if (before.error is None) != (after.error is None):
        said = [f"error {o.error!r}" if o.error else "results" for o in (before, after)]
        return f"{said[0]} before, {said[1]} after"
    return first_difference(before.results, after.results, promise)


def _of_live(module: ModuleOp, name: str, arguments: Sequence[Array]) -> Outcome:
    """What a function gives without values that nobody reads."""
    copy = module.clone()
    dce(copy)
    return outcome_of(copy, name, arguments)


def _is_on_buffers(function: FuncOp) -> bool:
    return any(isinstance(v.type, MemRefType) for op in function.walk() for v in op.operands)


# The op where numbers begin to differ: values are told by their places and names.

_Key = tuple[LocationAttr, str]


class _Noting(Bounded):
    """The interpreter, which notes each op's results."""

    def __init__(self, functions: dict[str, FuncOp]):
        super().__init__(functions)
        self.noted: list[tuple[Operation, Sequence[Any]]] = []

    def run(
        self, op: Operation, operands: Sequence[Any], values: dict[SSAValue, Any]
    ) -> Sequence[Any]:
        results = super().run(op, operands, values)
        self.noted.append((op, results))
        return results


def _noted(module: ModuleOp, name: str, arguments: Sequence[Array]) -> list[Any]:
    kept: list[_Noting] = []

    def runner(functions: dict[str, FuncOp]) -> _Noting:
        kept.append(_Noting(functions))
        return kept[0]

    outcome_or_reason(lambda: outcome_of(module, name, arguments, runner))
    return kept[0].noted if kept else []


def _where(
    before: ModuleOp, after: ModuleOp, name: str, arguments: Sequence[Array], promise: str
) -> tuple[Operation | None, str]:
    """The first op of the new program whose result no value of its place had before."""
    known: dict[_Key, list[Any]] = {}
    for op, results in _noted(before, name, arguments):
        for value, result in zip(op.results, results, strict=True):
            known.setdefault(_key(op, value), []).append(result)
    for op, results in _noted(after, name, arguments):
        for value, result in zip(op.results, results, strict=True):
            others = known.get(_key(op, value))
            if others and all(first_difference([o], [result], promise) for o in others):
                return op, f"; {_words(op)} is the first to differ"
    return None, ""


def _key(op: Operation, value: SSAValue) -> _Key:
    return location_of(op), f"{value.name_hint or ''} {value.type}"


def _words(op: Operation) -> str:
    name = op.results[0].name_hint
    return f"{kind_name(op)}, which makes %{name}," if name else op_name(op)


__all__ = ["BITS", "ROUNDING", "CheckedStage", "Validation"]
