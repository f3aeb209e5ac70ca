"""Activity: the values that depend on `wrt` and reach a differentiated result."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from xdsl.dialects.builtin import IndexType, IntegerType
from xdsl.ir import Block, Operation, SSAValue

from gradir.dialects.base.op_rules import is_inactive
from gradir.dialects.base.shapes import element_of, is_tensor
from gradir.dialects.base.slice_type import is_slices
from gradir.dialects.grad.tape import is_floating, is_tape
from gradir.passes.analysis.region_flow import RegionFlow, region_flow
from gradir.passes.analysis.regions import values_read

_INACTIVE_TYPES = (IntegerType, IndexType)

# For an op with its own dependences (a call): whether each result depends on the flagged operands.
Dependence = Callable[[Operation, Sequence[bool]], Sequence[bool]]


@dataclass
class Activity:
    """The active values of a block; `via` gives the operand by which a value depends on `wrt`."""

    varied: set[SSAValue] = field(default_factory=set[SSAValue])
    useful: set[SSAValue] = field(default_factory=set[SSAValue])
    via: dict[SSAValue, SSAValue] = field(default_factory=dict[SSAValue, SSAValue])

    def is_active(self, value: SSAValue) -> bool:
        """Whether a cotangent flows to this value."""
        return value in self.varied and value in self.useful

    def path_to(self, value: SSAValue) -> list[SSAValue]:
        """The values from one of `wrt` to `value`, each computed from the one before."""
        path = [value]
        while (before := self.via.get(path[-1])) is not None:
            path.append(before)
        return path[::-1]


def carries_cotangent(value: SSAValue) -> bool:
    """Whether a value's type has cotangents: floats and tapes do; integers, bools, indices do not.

    Other types (vectors, complex numbers) count as if they had one, so that a dependence on `wrt`
    through them is refused, not ignored.
    """
    type_ = value.type
    if is_tape(type_) or is_slices(type_):
        return is_floating(type_)
    return not isinstance(element_of(type_) if is_tensor(type_) else type_, _INACTIVE_TYPES)


def analyze(
    block: Block,
    wrt: Iterable[SSAValue],
    of: Iterable[SSAValue],
    dependence: Callable[[Operation], Dependence | None],
) -> Activity:
    """One walk forward from `wrt` and one backward from `of`, also through regions.

    The body of a loop is walked to a fixed point of its active arguments.
    """
    activity = Activity()
    activity.varied.update(wrt)
    _vary_block(block, activity, dependence)
    activity.useful.update(of)
    _use_block(block, activity, dependence)
    return activity


def _vary_block(
    block: Block, activity: Activity, dependence: Callable[[Operation], Dependence | None]
) -> None:
    for op in block.ops:
        flow = region_flow(op)
        if flow is None:
            _vary(op, activity, dependence(op))
            continue
        spreads = True
        while spreads:
            _vary_along(flow, activity)
            for inner in flow.blocks:
                _vary_block(inner, activity, dependence)
            spreads = _vary_along(flow, activity)


def _vary_along(flow: RegionFlow, activity: Activity) -> bool:
    """Follow the edges once; returns whether a new value became varied."""
    found = False
    for source, target in flow.edges:
        if source in activity.varied and target not in activity.varied:
            if carries_cotangent(target):
                activity.varied.add(target)
                activity.via[target] = source
                found = True
    return found


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


def _use_block(
    block: Block, activity: Activity, dependence: Callable[[Operation], Dependence | None]
) -> None:
    op = block.last_op
    while op is not None:
        flow = region_flow(op)
        if flow is not None:
            spreads = True
            while spreads:
                _use_along(flow, activity)
                for inner in reversed(flow.blocks):
                    _use_block(inner, activity, dependence)
                spreads = _use_along(flow, activity)
        elif not is_inactive(op):
            activity.useful.update(_used(op, activity, dependence(op)))
        op = op.prev_op


def _used(op: Operation, activity: Activity, own: Dependence | None) -> Sequence[SSAValue]:
    """The operands that a useful result depends on.

    For a tape this has to be exact: no cotangents are pushed for records whose popped values are
    unused, or are integers.
    """
    useful = [r in activity.useful and carries_cotangent(r) for r in op.results]
    if not any(useful):
        return ()
    read = values_read(op)
    if own is None:
        return read
    places = [k for k, value in enumerate(read) if value in activity.varied]
    return [read[k] for k in places if any(_depends(own, op, k, useful))]


def _depends(own: Dependence, op: Operation, place: int, useful: Sequence[bool]) -> Iterator[bool]:
    """For each useful result, whether it depends on the operand at a place."""
    flags = [k == place for k in range(len(values_read(op)))]
    return (one and other for one, other in zip(own(op, flags), useful, strict=True))


def _use_along(flow: RegionFlow, activity: Activity) -> bool:
    """Follow the edges once, backward; returns whether a new value became useful."""
    found = False
    for source, target in flow.edges:
        if target in activity.useful and source not in activity.useful:
            activity.useful.add(source)
            found = True
    return found
