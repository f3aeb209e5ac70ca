"""A row of `make bench`: how it is measured, in which settings, and what is asked of gradir."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

GRADIR = "gradir"
FASTER_IS_MORE = frozenset({"steps", "examples"})
"""What is counted per second: more is better; of all other figures less is."""


@dataclass(frozen=True)
class Setting:
    """Threads that each library may use, processes that are busy beside, and cores to run on."""

    threads: int = 2
    busy: int = 0
    cores: int | None = None

    def __str__(self) -> str:
        said = f"{self.threads} thread{'s' if self.threads > 1 else ''}"
        said += f", {self.busy} busy" if self.busy else ""
        return said + (f", on {self.cores} core" if self.cores else "")


@dataclass(frozen=True)
class Figure:
    """One number of a contender; without a value, the note says why."""

    who: str
    what: str
    value: float | None
    unit: str
    note: str = ""


@dataclass(frozen=True)
class Asked:
    """What is asked of gradir's figure `what`: a bound, or one beside those of others.

    `peers`: so many times as fast as the best peer. `other` is a multiple of one contender's
    figure. `busy`: only in settings with so many busy processes.
    """

    what: str
    bound: float | None = None
    peers: float | None = None
    other: tuple[str, float] | None = None
    busy: int | None = None

    def holds_in(self, setting: Setting) -> bool:
        return self.busy is None or self.busy == setting.busy

    def wanted(self, figures: Sequence[Figure]) -> tuple[float | None, str]:
        """The bound among these figures, None with nobody to compare with; and as text."""
        mine = [f for f in figures if f.what == self.what and f.value is not None]
        is_rate = self.what in FASTER_IS_MORE
        sign = ">=" if is_rate else "<="
        if self.bound is not None:
            unit = next((f.unit for f in mine), "")
            return self.bound, f"{sign} {self.bound:g} {unit}".rstrip()
        if self.other is not None:
            name, factor = self.other
            found = [f.value for f in mine if f.who == name]
            text = f"{sign} {factor:g} of {name}"
        else:
            speed = self.peers or 1.0
            factor = speed if is_rate else 1 / speed
            found = [f.value for f in mine if not f.who.startswith(GRADIR)]
            text = f"{speed:g} x as fast as the best peer"
        values = [v for v in found if v is not None]
        best = max if is_rate else min
        return (factor * best(values) if values else None), text

    def is_met(self, figures: Sequence[Figure]) -> bool | None:
        """None where a figure is missing."""
        wanted, _ = self.wanted(figures)
        mine = next((f.value for f in figures if (f.who, f.what) == (GRADIR, self.what)), None)
        if wanted is None or mine is None:
            return None
        return mine >= wanted if self.what in FASTER_IS_MORE else mine <= wanted


@dataclass
class Measured:
    """The figures of a row, and a function that says what stands in the way."""

    figures: list[Figure]
    explain: Callable[[], str] | None = None


@dataclass(frozen=True)
class Run:
    """A setting, and how long to look: each contender has `rounds` turns of `turn` seconds.

    A `quick` run leaves out torch.compile, which takes longer than all the rest.
    """

    setting: Setting
    rounds: int
    turn: float
    quick: bool = False


@dataclass(frozen=True)
class Row:
    """One row. `measure` runs in a process that has the setting."""

    name: str
    measure: Callable[[Run], Measured]
    asked: Sequence[Asked] = ()
    settings: Sequence[Setting] = (Setting(),)
    quick: Sequence[Setting] | None = None  # those of the quick version, if fewer


@dataclass
class Outcome:
    """What became of a row in a setting."""

    name: str
    setting: Setting
    figures: list[Figure] = field(default_factory=list[Figure])
    why: str = ""
    failed: str = ""
    seconds: float = 0.0
