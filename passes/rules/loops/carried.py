"""The carried values of a derivative's loops, in groups instead of by position."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, islice

from xdsl.ir import SSAValue

from gradir.dialects.base.value import Emitter, Value
from gradir.passes.differentiate.crossing import Crossing
from gradir.passes.differentiate.tapes import TapeThread
from gradir.passes.rules.loops.sums import Parts, Sum


@dataclass(frozen=True)
class Running:
    """The carried values of a forward loop: `values` of the source, and `kept` ones for the
    backward loop: a count, tapes, snapshots."""

    values: list[SSAValue]
    kept: list[SSAValue]

    def flat(self) -> list[SSAValue]:
        return [*self.values, *self.kept]

    def like(self, values: Sequence[SSAValue]) -> Running:
        """The groups of other values in the order of `flat`."""
        return Running(*divided(values, len(self.values), len(self.kept)))


@dataclass(frozen=True)
class Carried:
    """The carried values of a backward loop, from one iteration to the one before it.

    cts: the cotangents of active carried values, and behind them the masks of some.
    sums: the cotangents of the captured active values so far.
    followed: an iteration's initial values, which the one before yielded.
    tapes: the values kept by the forward loop: tapes, or tensors of snapshots.
    """

    cts: list[SSAValue]
    sums: dict[Sum, Parts]
    followed: list[SSAValue] = field(default_factory=list[SSAValue])
    tapes: list[SSAValue] = field(default_factory=list[SSAValue])

    def flat(self) -> list[SSAValue]:
        return [*self.cts, *chain(*self.sums.values()), *self.followed, *self.tapes]

    def like(self, values: Sequence[SSAValue]) -> Carried:
        """The groups of other values in the order of `flat`."""
        return in_groups(values, len(self.cts), self.sums, len(self.followed), len(self.tapes))

    def summing(self, sums: Sequence[Sum]) -> Carried:
        """With these sums only: those to which some backward code adds."""
        return replace(self, sums={each: self.sums[each] for each in sums})

    def then(self, end: Carried) -> Carried:
        """The values after backward code that started from these, or from fewer sums: the other
        sums stay."""
        return replace(end, sums=self.sums | end.sums)

    def contributions(
        self, initial: Sequence[SSAValue], crossing: Crossing, emitter: Emitter
    ) -> list[tuple[SSAValue, Value]]:
        """The contributions to captured values and to initial values, in their order.

        The sums come first, since the loop continued the earlier ones. So the order is the same
        with and without the capture of a value to which the loop adds nothing.
        """
        sums = [(each.value, each.cotangent(parts, emitter)) for each, parts in self.sums.items()]
        cts, masks = self.cts[: len(initial)], self.cts[len(initial) :]
        crossing.receive(cts, masks)
        cts = map(emitter.value, cts)
        return [*sums, *zip(initial, cts, strict=True)]


def in_groups(
    values: Sequence[SSAValue], cts: int, sums: Iterable[Sum], followed: int, tapes: int
) -> Carried:
    """Values in the order of `Carried.flat`, from the numbers of values in the groups."""
    sums = list(sums)
    lengths = [len(each.types) for each in sums]
    given, *parts, others, kept = divided(values, cts, *lengths, followed, tapes)
    return Carried(given, dict(zip(sums, parts, strict=True)), others, kept)


def divided(values: Sequence[SSAValue], *lengths: int) -> list[list[SSAValue]]:
    """Values divided into groups of these lengths."""
    assert len(values) == sum(lengths), f"{len(values)} values for groups of {lengths}"
    rest = iter(values)
    return [list(islice(rest, length)) for length in lengths]


def take_over(
    threads: Sequence[TapeThread], tapes: Sequence[SSAValue], backward: bool = False
) -> None:
    """Set the current values of tapes after an op."""
    for thread, tape in zip(threads, tapes, strict=True):
        tape.name_hint = "tape"
        if backward:
            thread.backward = tape
        else:
            thread.forward = tape
