"""gradir-gradient with the measure, a plan for this machine; measured_step.py has training.

`import gradir` loads this module, so the stages are imported only for a plan to measure.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from xdsl.dialects.builtin import ModuleOp

from gradir.cache.entry import CacheEntry
from gradir.cache.store import find, is_on, keep, key_of
from gradir.checks import VALIDATE_VARIABLE, is_asked_for
from gradir.passes.gradient import gradient_pass
from gradir.text.fingerprint import fingerprint

if TYPE_CHECKING:
    from xdsl.dialects.func import FuncOp

    from gradir.compiler.pipeline import Machine
    from gradir.passes.gradient.gradient import Observer
    from gradir.passes.gradient.measured_peak import Measure
    from gradir.passes.gradient.requests import DerivativeRequest


@dataclass(frozen=True)
class ArenaBytes:
    """The arena of each function, compiled for a machine; uses up the module."""

    machine: Machine

    def __call__(self, module: ModuleOp) -> Mapping[str, int]:
        from gradir.compiler.pipeline import run_stages

        plans = run_stages(module, self.machine)
        return {name: plan.peak_bytes for name, plan in plans.items()}

    def note(self, module: ModuleOp, question: str) -> KeptNote:
        program = fingerprint(module.ops) if is_on() else None
        if program is None:
            return KeptNote(None)
        return KeptNote(key_of("plan", program, question, asdict(self.machine)))


@dataclass(frozen=True)
class KeptNote:
    """A decision that is kept on disk; without a key, nowhere."""

    key: str | None

    def read(self) -> Any:
        found = find(self.key)
        return None if found is None else found.said

    def write(self, said: Any) -> None:
        keep(self.key, CacheEntry(said))


def measure_here() -> ArenaBytes:
    """The measure for this machine."""
    from gradir.compiler.pipeline import Machine

    return ArenaBytes(Machine.here())


def apply_gradient(
    module: ModuleOp,
    request: DerivativeRequest,
    measuring: Callable[[], Measure] = measure_here,
    observe: Observer | None = None,
) -> list[FuncOp]:
    """`gradient` with the options of the pass, and validated if that is asked for."""
    made = gradient_pass.apply_gradient(module, request, measuring, observe)
    if is_asked_for(VALIDATE_VARIABLE):
        from gradir.validation.gradients import validate_gradient

        validate_gradient(module, request, made)
    return made


@dataclass(frozen=True)
class MeasuredGradientPass(gradient_pass.GradientPass):
    """Differentiate a function: into forward and backward functions, or into its jvp."""

    def measure(self) -> ArenaBytes:
        return measure_here()
