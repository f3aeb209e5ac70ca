"""The measured memory of a derivative: a plan's functions are made and handed to the measure of
arenas."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from xdsl.dialects.builtin import IndexType, ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute

from gradir.dialects.base.shapes import byte_size, is_tensor
from gradir.dialects.base.slice_type import is_slices
from gradir.dialects.grad.tape import TapeType
from gradir.passes.analysis.live_bytes import held_bytes_of_type
from gradir.passes.differentiate.derived import Derived
from gradir.passes.differentiate.program import ModuleFunctions
from gradir.passes.gradient.gradient import Derivation, functions_of
from gradir.passes.recompute.arena_bound import arena_at_least
from gradir.passes.recompute.candidates import Candidate
from gradir.passes.recompute.policies import recompute


class Note(Protocol):
    """What is remembered of one question, a value of JSON."""

    def read(self) -> Any:
        """What was written, maybe in an earlier process; None for nothing."""
        ...

    def write(self, said: Any) -> None: ...


class Measure(Protocol):
    """The bytes of each function's arena; uses up the module. Equal objects measure alike."""

    def __call__(self, module: ModuleOp) -> Mapping[str, int]: ...

    def note(self, module: ModuleOp, question: str) -> Note:
        """What is remembered of a question about a module, on the machine that is measured."""
        ...


def measured_peak(
    measure: Measure, derived: Derived, candidate: Candidate | None, derivation: Derivation
) -> int:
    """The bytes of the arena and of the residuals between functions; without a candidate, for
    the derivative as it is."""
    found = peak_within(measure, derived, candidate, derivation, None)
    assert found is not None
    return found


def peak_within(
    measure: Measure, derived: Derived, candidate: Candidate | None, derivation: Derivation,
    limit: int | None,
) -> int | None:  # fmt: skip
    """`measured_peak`; None where a lower bound of it exceeds the limit, without a measurement."""
    module, functions = derivative_functions(derived, candidate, derivation)
    between = _between(functions, derived, derivation)
    if limit is not None and (
        between > limit or peak_at_least(functions, derived, derivation) > limit
    ):
        return None
    return between + max(measure(module).values())


def peak_at_least(functions: Sequence[FuncOp], derived: Derived, derivation: Derivation) -> int:
    """A lower bound of the measured peak of a derivative's functions."""
    costs = derivation.costs
    arenas = (arena_at_least(function.body.block, costs) for function in functions)
    return _between(functions, derived, derivation) + max(arenas)


def _between(functions: Sequence[FuncOp], derived: Derived, derivation: Derivation) -> int:
    """The bytes of the residuals between functions."""
    if derivation.mode != "split":
        return 0
    outputs = functions[0].function_type.outputs.data[len(derived.results) :]
    return sum(map(_handed_over, outputs))


def _handed_over(type_: Attribute) -> int:
    """The bytes of a residual between functions; a tape has the number of its records too."""
    if isinstance(type_, TapeType):
        return held_bytes_of_type(type_) + 8
    if is_tensor(type_) or is_slices(type_):
        return held_bytes_of_type(type_)
    return 8 if isinstance(type_, IndexType) else byte_size(type_)


def derivative_functions(
    derived: Derived, candidate: Candidate | None, derivation: Derivation
) -> tuple[ModuleOp, list[FuncOp]]:
    """A module with the functions of a derivative that recomputes as the candidate says."""
    module = ModuleOp([derived.source.clone()])
    program = ModuleFunctions(module)
    [source] = program.functions.values()
    source.location = derived.source.location
    copy, copies = derived.copied(source)
    if candidate is not None:
        kept = {copies[value] for value in candidate.kept}
        recompute(copy, lambda value: value not in kept, derivation.mode)
    functions = functions_of(program, copy, derivation.mode, derivation.costs)
    source.detach()
    return module, functions
