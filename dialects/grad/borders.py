"""The borders of regions, which the masks of cotangents cross where an op behind them asks.

The derivative of a loop's body is made before the cotangents that enter the loop are known. So the
differentiation of a function runs again with what it learned: which borders a mask would have to
cross for the sake of a product that may be infinite, and where masks are known at all. Most
functions have no such border, and are differentiated once.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from gradir.dialects.base.support import Border

# Each run carries masks on by one more unforeseen step; any number of runs is right.
_MOST_RUNS = 6


@dataclass
class Borders:
    """The borders of one function.

    `carried` are crossed by masks; `refused` never are. Of the current run: `wanted` would gate
    something, `known` have zeros of a selection on one side, `open` are carried for nothing, and
    `needs` are other borders whose masks the mask of a border is made of.
    """

    carried: set[Border] = field(default_factory=set[Border])
    refused: set[Border] = field(default_factory=set[Border])
    wanted: set[Border] = field(default_factory=set[Border])
    known: set[Border] = field(default_factory=set[Border])
    open: set[Border] = field(default_factory=set[Border])
    needs: dict[Border, set[Border]] = field(default_factory=dict[Border, set[Border]])
    runs: int = 0

    def need(self, border: Border, others: Iterable[Border]) -> None:
        """Note that the mask of a border is made of those of others."""
        self.needs.setdefault(border, set()).update(others)

    def learn(self) -> bool:
        """Choose the borders that masks cross in the next run; returns whether there is one."""
        self.runs += 1
        givers: dict[Border, set[Border]] = {}
        for border, others in self.needs.items():
            for other in others:
                givers.setdefault(other, set()).add(border)
        wanted, known = _reached(self.wanted, self.needs), _reached(self.known, givers)
        before = set(self.carried)
        self.refused |= self.open & self.carried
        self.carried = (self.carried | wanted & known) - self.refused
        for each in (self.wanted, self.known, self.open, self.needs):
            each.clear()
        return self.carried != before and self.runs < _MOST_RUNS


def _reached(
    borders: Iterable[Border], following: Mapping[Border, Iterable[Border]]
) -> set[Border]:
    """The borders that can be reached from some of them."""
    found, pending = set(borders), list(borders)
    while pending:
        more = [each for each in following.get(pending.pop(), ()) if each not in found]
        found.update(more)
        pending += more
    return found
