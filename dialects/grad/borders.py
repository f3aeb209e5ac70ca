"""The borders of regions, which the masks of cotangents cross where an op behind them asks.

The derivative of a loop's body is made before the cotangents that enter the loop are known. So the
differentiation of a function runs again, and then knows which borders a mask would have to
cross for the sake of a product that may be infinite, and where masks are known at all. Most
functions have no such border, and are differentiated once.

A tape of cotangents is a border too: a mask that crosses it is one more column. All tapes of one
type have the same masks, so that a cotangent's type follows from its tape's type.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from xdsl.dialects.builtin import i1
from xdsl.ir import Attribute, Operation

from gradir.dialects.base.shapes import is_static, is_tensor, shape_of, tensor
from gradir.dialects.base.slice_type import is_slices
from gradir.dialects.base.support import Border
from gradir.dialects.grad.tape import TapeType, cotangent_type

# Each run carries masks on by one more unforeseen step; any number of runs is right.
_MOST_RUNS = 6

Home = Operation | TapeType
"""The owner of borders that cotangents cross: an op with regions, or the tapes of a type."""

ON_TAPES = "columns"
"""The group of the cotangents on tapes."""


@dataclass
class Borders:
    """The borders of one function.

    `carried` are crossed by masks; `refused` never are. Of the current run: `wanted` would gate
    something, `known` have zeros of a selection on one side, `open` are everywhere on the other,
    and `needs` are other borders whose masks the mask of a border is made of.
    """

    carried: set[Border] = field(default_factory=set[Border])
    refused: set[Border] = field(default_factory=set[Border])
    wanted: set[Border] = field(default_factory=set[Border])
    known: set[Border] = field(default_factory=set[Border])
    open: set[Border] = field(default_factory=set[Border])
    needs: dict[Border, set[Border]] = field(default_factory=dict[Border, set[Border]])
    # of the run before: all that masks of use, or known ones, lead to
    reached_wanted: set[Border] = field(default_factory=set[Border])
    reached_known: set[Border] = field(default_factory=set[Border])
    needs_before: dict[Border, set[Border]] = field(default_factory=dict[Border, set[Border]])
    runs: int = 0

    def need(self, border: Border, others: Iterable[Border]) -> None:
        """Note that the mask of a border is made of the masks of others."""
        self.needs.setdefault(border, set()).update(others)

    def made_of(self, border: Border) -> set[Border]:
        """The borders whose masks the mask of a border was made of in the run before."""
        return _reached([border], self.needs_before)

    def places(self, home: Home, group: str, types: Sequence[Attribute]) -> list[tuple[int, bool]]:
        """The cotangents of these types with a mask that crosses: the place of each, and whether
        the mask is strict."""
        every = [(k, s) for k, type_ in enumerate(types) if has_mask(type_) for s in (False, True)]
        return [(k, s) for k, s in every if (home, group, k, s) in self.carried]

    def cotangent_type(self, type_: Attribute) -> Attribute:
        """The type of the cotangent of a floating value; of a tape, with columns of masks."""
        made = cotangent_type(type_)
        if not isinstance(type_, TapeType):
            return made
        assert isinstance(made, TapeType)
        columns = made.columns.data
        places = self.places(type_, ON_TAPES, columns)
        return made.with_columns([*columns, *(mask_type(columns[k]) for k, _ in places)])

    def refuse_tapes(self, types: Iterable[Attribute]) -> None:
        """Let no mask cross on tapes of these types: code elsewhere reads them too."""
        for type_ in types:
            if isinstance(type_, TapeType):
                places = range(len(type_.columns))
                self.refused |= {(type_, ON_TAPES, k, s) for k in places for s in (False, True)}

    def learn(self) -> bool:
        """Choose the borders that masks cross in the next run; returns whether there is one."""
        self.runs += 1
        givers: dict[Border, set[Border]] = {}
        for border, others in self.needs.items():
            for other in others:
                givers.setdefault(other, set()).add(border)
        wanted, known = _reached(self.wanted, self.needs), _reached(self.known, givers)
        before = set(self.carried)
        self.refused |= self.carried & self.open | self.carried - self.known
        self.carried = (self.carried | wanted & known) - self.refused
        self.reached_wanted, self.reached_known, self.needs_before = wanted, known, self.needs
        self.needs = {}
        for each in (self.wanted, self.known, self.open):
            each.clear()
        return self.carried != before and self.runs < _MOST_RUNS


def has_mask(type_: Attribute) -> bool:
    """Whether cotangents of a type may have a mask."""
    if is_slices(type_) or isinstance(type_, TapeType):
        return False
    return not is_tensor(type_) or is_static(type_)


def mask_type(type_: Attribute) -> Attribute:
    """The type of the mask of a cotangent."""
    return tensor(shape_of(type_), i1) if is_tensor(type_) else i1


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
