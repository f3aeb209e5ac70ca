"""The support of a cotangent: where it may differ from a 0 that a selection put there.

The cotangent of a value that a `where`, a gate or an index did not take is 0 whatever comes behind
it: 0 * inf is 0 there. The gradient pass asks the ops of backward code for the supports of results
(`TensorOp.support`), and gates the products of derivatives by it. A 0 that was computed has no
such meaning: its place belongs to the support.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import reduce
from typing import TypeAlias

from xdsl.ir import Attribute, Block, Operation, SSAValue

from gradir.dialects.base.value import Emitter, Value

# Longer chains of ops than this, deeper masks, and sums of more parts have no known support.
_LONGEST_CHAIN = 200
_DEEPEST_MASK = 100
_MOST_PARTS = 32
# Conjunctions of more bools, unions of more conjunctions, and deeper bools are read as one.
_MOST_FACTORS, _MOST_ALTERNATIVES, _DEEPEST_READ = 12, 8, 5

Factor: TypeAlias = "tuple[SSAValue | Mask, bool]"
"""Bools, and whether they must be true or false."""


Box = tuple[tuple[int, int, int], ...]
"""Neighbouring places: for each axis the first one, the one behind the last, and the extent."""

Border = tuple[Operation | Attribute, str, int, bool]
"""A cotangent at the border of an op's regions, or on the tapes of a type: the op or the type, the
group and the place of the cotangent, and whether its support is strict."""


@dataclass(eq=False)
class Mask:
    """Bools of a support, emitted where they are first asked for; `where` makes them.

    `boxes` are its places, where they are known; `depth` is the depth of its tree of masks. It
    holds where all `factors` do, and is the conjunction of two `parts`, if there are any; a union
    has `alternatives`. `borders` are those that a mask must cross to be known
    (`dialects/grad/borders.py`).
    """

    where: Callable[[Emitter], Value]
    boxes: tuple[Box, ...] = ()
    depth: int = 0
    borders: frozenset[Border] = frozenset()
    parts: tuple[Mask, ...] = ()
    factors: tuple[Factor, ...] = ()
    alternatives: tuple[Mask, ...] = ()
    emitted: dict[Block, Value] = field(default_factory=dict[Block, Value])

    def __post_init__(self) -> None:
        self.factors = self.factors or ((self, True),)
        self.alternatives = self.alternatives or (self,)

    def on(self, emitter: Emitter) -> Value:
        """The bools, for code of the emitter's block."""
        found = self.emitted.get(emitter.block)
        if found is None or not _stands(found.ssa):
            found = self.emitted[emitter.block] = self.where(emitter)
        return emitter.value(found.ssa)

    @staticmethod
    def of(bools: SSAValue, deep: int = _DEEPEST_READ) -> Mask:
        """The mask whose bools are a value, read through the ops that make it, `deep` at most."""
        made, owner = Mask(lambda emitter: emitter.value(bools)), bools.owner
        made.factors = ((bools, True),)
        if not isinstance(owner, Operation) or not deep:
            return made
        if owner.name == "array.logical_not":
            made.factors = ((owner.operands[0], False),)
        elif owner.name == "array.logical_and":
            made.meet(*(Mask.of(each, deep - 1) for each in owner.operands))
        elif owner.name == "array.logical_or":
            one, other = (Mask.of(each, deep - 1) for each in owner.operands)
            made.unite(_merged([*one.alternatives, *other.alternatives]))
        return made

    def meet(self, one: Mask, other: Mask) -> None:
        """Note that it is the conjunction of two."""
        factors = _joined(one, other)
        if len(factors) <= _MOST_FACTORS:
            self.parts, self.factors = (one, other), factors

    def unite(self, alternatives: Sequence[Mask]) -> None:
        """Note that it is the union of some."""
        if 1 < len(alternatives) <= _MOST_ALTERNATIVES:
            self.alternatives = tuple(alternatives)

    def then(self, change: Callable[[Value], Value]) -> Mask | None:
        """The mask of the changed bools; None where it would be too deep."""
        return made_of([self], lambda emitter: change(self.on(emitter)))


def made_of(
    parts: Sequence[Mask], where: Callable[[Emitter], Value], boxes: tuple[Box, ...] = ()
) -> Mask | None:
    """The mask made of others; None where it would be too deep."""
    depth = 1 + max((part.depth for part in parts), default=0)
    borders = frozenset[Border]().union(*(part.borders for part in parts))
    return None if depth > _DEEPEST_MASK else Mask(where, boxes, depth, borders)


def _joined(one: Mask, other: Mask) -> tuple[Factor, ...]:
    """The factors of one mask or the other."""
    return tuple(dict.fromkeys((*one.factors, *other.factors)))


def _part_with(mask: Mask, factors: Sequence[Factor]) -> Mask | None:
    """The part of a mask that has these factors."""
    if set(mask.factors) == set(factors):
        return mask
    found = (_part_with(part, factors) for part in mask.parts if set(factors) <= set(part.factors))
    return next((part for part in found if part is not None), None)


def _stands(value: SSAValue) -> bool:
    """Whether the op of a value was not erased as dead code."""
    owner = value.owner
    return not isinstance(owner, Operation) or owner.parent is not None


NOWHERE = Mask(lambda emitter: _no_bools())
"""The support of zeros."""


_EVERYWHERE = Mask(lambda emitter: _no_bools())
_EVERYWHERE.factors = ()


def _no_bools() -> Value:
    raise AssertionError("zeros, all places, and masks that are only possible, have no bools")


def possible_mask(borders: frozenset[Border]) -> Mask:
    """The mask that would be known if masks crossed the borders; it has no bools."""
    return Mask(lambda emitter: _no_bools(), borders=borders)


def both(one: Mask | None, other: Mask | None) -> Mask | None:
    """The places of both supports; None is everywhere."""
    if one is None or other is None or one is other:
        return other if one is None else one
    if NOWHERE in (one, other):
        return NOWHERE
    factors = _joined(one, other)
    if len(factors) == len(one.factors):
        return one
    if len(factors) == len(other.factors):
        return other
    made = made_of([one, other], lambda e: one.on(e).apply("logical_and", other.on(e)))
    if made is not None:
        made.meet(one, other)
    return made


def either(one: Mask | None, other: Mask | None) -> Mask | None:
    """The places of one support or the other; None is everywhere."""
    if one is None or other is None:
        return None
    if one is other or other is NOWHERE:
        return one
    if one is NOWHERE:
        return other
    given = [*one.alternatives, *other.alternatives]
    parts = _merged(given)
    if len(parts) < len(given):
        return _union(parts, (one, other))
    boxes = one.boxes + other.boxes if one.boxes and other.boxes else ()
    if _are_everywhere(boxes):
        return None
    made = made_of([one, other], lambda e: one.on(e).apply("logical_or", other.on(e)), boxes)
    if made is not None:
        made.unite(parts)
    return made


def _union(parts: Sequence[Mask], given: Sequence[Mask]) -> Mask | None:
    """The mask of some alternatives, which may be one of two masks; None for all places."""
    if any(not part.factors for part in parts):
        return None
    if len(parts) == 1:
        return parts[0]
    for mask in given:
        if set(mask.alternatives) == set(parts):
            return mask

    def bools(emitter: Emitter) -> Value:
        first, *others = (part.on(emitter) for part in parts)
        return reduce(lambda x, y: x.apply("logical_or", y), others, first)

    made = made_of(parts, bools)
    if made is not None:
        made.unite(parts)
    return made


def _merged(alternatives: Sequence[Mask]) -> list[Mask]:
    """Alternatives with the same union: each is in no other, and no two are one without a bool."""
    found: list[Mask] = []
    for new in alternatives:
        old = _first_fitting(found, new)
        while old is not None:
            found.remove(old)
            one = _as_one(old, new)
            assert one is not None
            new = one
            old = _first_fitting(found, new)
        found.append(new)
    return found


def _first_fitting(found: Sequence[Mask], new: Mask) -> Mask | None:
    return next((each for each in found if _as_one(each, new) is not None), None)


def _as_one(one: Mask, other: Mask) -> Mask | None:
    """The union of two conjunctions, if it is a known one; without factors for all places."""
    common = [factor for factor in one.factors if factor in other.factors]
    if len(common) == len(one.factors):
        return one
    if len(common) == len(other.factors):
        return other
    if not _are_opposite(one, other, common):
        return None
    if not common:
        return _EVERYWHERE
    return _part_with(one, common) or _part_with(other, common)


def _are_opposite(one: Mask, other: Mask, common: Sequence[Factor]) -> bool:
    """Whether the factors of two masks are common ones, and one and its opposite."""
    if not len(one.factors) == len(other.factors) == len(common) + 1:
        return False
    [(bools, is_true)] = [factor for factor in one.factors if factor not in common]
    return (bools, not is_true) in other.factors


def _are_everywhere(boxes: Sequence[Box]) -> bool:
    """Whether boxes that are cut along one axis at most leave no place out."""
    cut = {d for box in boxes for d, (first, end, n) in enumerate(box) if (first, end) != (0, n)}
    if len(cut) > 1 or not boxes:
        return False
    covered = 0
    for first, end, n in sorted(box[d] for box in boxes for d in cut):
        if first > covered:
            return False
        covered = max(covered, end)
        if covered == n:
            return True
    return not cut


def negated(mask: Mask) -> Mask | None:
    made = mask.then(lambda bools: bools.apply("logical_not"))
    if made is not None and len(mask.factors) == 1:
        [(bools, is_true)] = mask.factors
        made.factors = ((bools, not is_true),)
    return made


class Supports(dict[SSAValue, Mask | None]):
    """The supports of values, found from the ops that make them.

    `strict`: gates that the values themselves decide, as a maximum does, count as everywhere: what
    they do not take is no part of the program's result only as long as it is finite.
    """

    def __init__(self, rule: Callable[[SSAValue, Supports], Mask | None], strict: bool = False):
        super().__init__()
        self.rule = rule
        self.strict = strict
        self._depth = 0

    def of(self, value: SSAValue) -> Mask | None:
        """The support of a value; None where it may be anything anywhere."""
        if value in self:
            return self[value]
        owner = value.owner
        if not isinstance(owner, Operation) or self._depth == _LONGEST_CHAIN:
            return None
        self._depth += 1
        found = self[value] = self.rule(value, self)
        self._depth -= 1
        return found

    def of_any(self, values: Sequence[SSAValue]) -> Mask | None:
        """The places of at least one of the supports."""
        if len(values) > _MOST_PARTS:
            return None
        total: Mask | None = NOWHERE
        for value in values:
            total = either(total, self.of(value))
        return total
