"""The support of a cotangent: where it may differ from a 0 that a selection put there.

The cotangent of a value that a `where`, a gate or an index did not take is 0 whatever comes behind
it: 0 * inf is 0 there. The gradient pass asks the ops of backward code for the support of what they
make (`TensorOp.support`), and gates the products of derivatives by it. A 0 that was computed has no
such meaning: its place belongs to the support.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from xdsl.ir import Block, Operation, SSAValue

from gradir.dialects.base.value import Emitter, Value

# Longer chains of ops than this, deeper masks, and sums of more parts have no known support.
_LONGEST_CHAIN = 200
_DEEPEST_MASK = 100
_MOST_PARTS = 32


Box = tuple[tuple[int, int, int], ...]
"""Neighbouring places: for each axis the first one, the one behind the last, and the extent."""

Border = tuple[Operation, str, int, bool]
"""A cotangent at the border of an op's regions: the op, the group and the place of the cotangent,
and whether its support is strict."""


@dataclass(eq=False)
class Mask:
    """Bools of a support, emitted where they are first asked for; `where` makes them.

    `boxes` are its places, where they are known; `depth` is that of the masks it is made of.
    `borders` are those that a mask must cross to be known (`dialects/grad/borders.py`).
    """

    where: Callable[[Emitter], Value]
    boxes: tuple[Box, ...] = ()
    depth: int = 0
    borders: frozenset[Border] = frozenset()
    emitted: dict[Block, Value] = field(default_factory=dict[Block, Value])

    def on(self, emitter: Emitter) -> Value:
        """The bools, for code of the emitter's block."""
        found = self.emitted.get(emitter.block)
        if found is None or not _stands(found.ssa):
            found = self.emitted[emitter.block] = self.where(emitter)
        return emitter.value(found.ssa)

    @staticmethod
    def of(bools: SSAValue) -> Mask:
        """The mask whose bools are a value."""
        return Mask(lambda emitter: emitter.value(bools))

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


def _stands(value: SSAValue) -> bool:
    """Whether the op of a value was not erased as dead code."""
    owner = value.owner
    return not isinstance(owner, Operation) or owner.parent is not None


NOWHERE = Mask(lambda emitter: _no_bools())
"""The support of zeros."""


def _no_bools() -> Value:
    raise AssertionError("zeros, and masks that are only possible, have no bools")


def possible_mask(borders: frozenset[Border]) -> Mask:
    """The mask that would be known if masks crossed the borders; it has no bools."""
    return Mask(lambda emitter: _no_bools(), borders=borders)


def both(one: Mask | None, other: Mask | None) -> Mask | None:
    """The places of both supports; None is everywhere."""
    if one is None or other is None or one is other:
        return other if one is None else one
    if NOWHERE in (one, other):
        return NOWHERE
    return made_of([one, other], lambda e: one.on(e).apply("logical_and", other.on(e)))


def either(one: Mask | None, other: Mask | None) -> Mask | None:
    """The places of one support or the other; None is everywhere."""
    if one is None or other is None:
        return None
    if one is other or other is NOWHERE:
        return one
    if one is NOWHERE:
        return other
    boxes = one.boxes + other.boxes if one.boxes and other.boxes else ()
    if _are_everywhere(boxes):
        return None
    return made_of([one, other], lambda e: one.on(e).apply("logical_or", other.on(e)), boxes)


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
    return mask.then(lambda bools: bools.apply("logical_not"))


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
