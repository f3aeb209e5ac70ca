"""What was held against what: the report of a validation, and the error where one fails."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

from gradir.argument_checks import known_arguments

MOST_REPORTS = 1000


@dataclass(frozen=True)
class Check:
    """One step: its name, and how it compares. `is_done`: it was compared; else `found` says why
    it was not."""

    step: str
    found: str
    is_done: bool = True

    def __str__(self) -> str:
        return f"{self.step}: {'' if self.is_done else 'not checked: '}{self.found}"


@dataclass
class Report:
    """The checks of one compilation, or of one differentiation, in order."""

    what: str
    checks: list[Check] = field(default_factory=list[Check])

    def __str__(self) -> str:
        return "\n".join([f"{self.what}:", *(f"  {check}" for check in self.checks)])

    def done(self, step: str, found: str) -> None:
        self.checks.append(Check(step, found))

    def left_out(self, step: str, why: str) -> None:
        self.checks.append(Check(step, why, is_done=False))


_reports: deque[Report] = deque(maxlen=MOST_REPORTS)


def new_report(what: str) -> Report:
    """A report that is kept for `reports`."""
    made = Report(what)
    _reports.append(made)
    return made


@known_arguments
def reports() -> list[Report]:
    """The reports of this process, the last 1000, oldest first."""
    return list(_reports)
