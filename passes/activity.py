"""Activity: which values depend on what is differentiated and reach a differentiated result."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from xdsl.dialects.builtin import IndexType, IntegerType
from xdsl.ir import Block, Operation, SSAValue

from gradir.dialects.interfaces import is_inactive
from gradir.dialects.shapes import element_of, is_tensor

_INACTIVE_TYPES = (IntegerType, IndexType)

# Of the results of an op with an own notion of dependence (a call): those that depend on the
# operands for which the flags are set.
Dependence = Callable[[Operation, Sequence[bool]], Sequence[bool]]


@dataclass
class Activity:
    """The active values of a block; `via` gives the operand by which a value depends on `wrt`."""

    varied: set[SSAValue] = field(default_factory=set[SSAValue])
    useful: set[SSAValue] = field(default_factory=set[SSAValue])
    via: dict[SSAValue, SSAValue] = field(default_factory=dict[SSAValue, SSAValue])

    def is_active(self, value: SSAValue) -> bool:
        """A cotangent flows to this value."""
        return value in self.varied and value in self.useful

    def path_to(self, value: SSAValue) -> list[SSAValue]:
        """The values from one of `wrt` to `value`, each computed from the one before."""
        path = [value]
        while (before := self.via.get(path[-1])) is not None:
            path.append(before)
        return path[::-1]


def carries_cotangent(value: SSAValue) -> bool:
    """Floating tensors and scalars do; integers, bools and indices never.

    Other types (vectors, complex numbers) count as if they did, so that what depends on `wrt`
    through them is refused, not left out.
    """
    type_ = value.type
    return not isinstance(element_of(type_) if is_tensor(type_) else type_, _INACTIVE_TYPES)


def analyze(
    block: Block,
    wrt: Iterable[SSAValue],
    of: Iterable[SSAValue],
    dependence: Callable[[Operation], Dependence | None],
) -> Activity:
    """One walk forward from `wrt` and one backward from `of` over the ops of a block."""
    activity = Activity()
    activity.varied.update(wrt)
    for op in block.ops:
        _vary(op, activity, dependence(op))
    activity.useful.update(of)
    op = block.last_op
    while op is not None:
        if any(r in activity.useful for r in op.results) and not is_inactive(op):
            activity.useful.update(values_read(op))
        op = op.prev_op
    return activity


def values_read(op: Operation) -> Sequence[SSAValue]:
    """The operands of an op, and those of the ops in its regions."""
    if not op.regions:
        return op.operands
    return [operand for inner in op.walk() for operand in inner.operands]


def _vary(op: Operation, activity: Activity, own: Dependence | None) -> None:
    read = values_read(op)
    flags = [o in activity.varied for o in read]
    if not any(flags) or is_inactive(op):
        return
    source = read[flags.index(True)]
    depends = own(op, flags) if own is not None else [True] * len(op.results)
    for result, varied in zip(op.results, depends, strict=True):
        if varied and carries_cotangent(result) and result not in activity.varied:
            activity.varied.add(result)
            activity.via[result] = source
