"""The carried values of a derivative's loops, in groups instead of by position."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import islice

from xdsl.ir import SSAValue

from gradir.dialects.base.value import Emitter, Value
from gradir.passes.differentiate.tapes import TapeThread


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

    cts: the cotangents of active carried values.
    sums: for each captured active value, the cotangent so far.
    followed: an iteration's initial values, which the one before yielded.
    tapes: the values kept by the forward loop: tapes, or tensors of snapshots.
    """

    cts: list[SSAValue]
    sums: dict[SSAValue, SSAValue]
    followed: list[SSAValue] = field(default_factory=list[SSAValue])
    tapes: list[SSAValue] = field(default_factory=list[SSAValue])

    def flat(self) -> list[SSAValue]:
        return [*self.cts, *self.sums.values(), *self.followed, *self.tapes]

    def like(self, values: Sequence[SSAValue]) -> Carried:
        """The groups of other values in the order of `flat`."""
        lengths = map(len, (self.cts, self.sums, self.followed, self.tapes))
        cts, sums, followed, tapes = divided(values, *lengths)
        return Carried(cts, dict(zip(self.sums, sums, strict=True)), followed, tapes)

    def summing(self, captured: Sequence[SSAValue]) -> Carried:
        """With the sums of these values only: those to which some backward code adds."""
        return replace(self, sums={value: self.sums[value] for value in captured})

    def then(self, end: Carried) -> Carried:
        """The values after backward code that started from these, or from fewer sums: the other
        sums stay."""
        return replace(end, sums=self.sums | end.sums)

    def contributions(
        self, initial: Sequence[SSAValue], emitter: Emitter
    ) -> list[tuple[SSAValue, Value]]:
        """The contributions to captured values and to initial values, in their order.

        The sums come first, since the loop continued the earlier ones. So the order is the same
        with and without the capture of a value to which the loop adds nothing.
        """
        pairs = [*self.sums.items(), *zip(initial, self.cts, strict=True)]
        return [(value, emitter.value(ct)) for value, ct in pairs]


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
