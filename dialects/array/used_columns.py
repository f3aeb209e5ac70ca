"""array: which columns of a result a program reads, by the ops that made its cotangent."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import SSAValue

from gradir.dialects.array.elementwise import AddOp
from gradir.dialects.array.movement import PermuteDimsOp
from gradir.dialects.array.slicing import ConcatOp, PadOp, SliceOp
from gradir.dialects.base.attributes import number
from gradir.dialects.base.shapes import is_static, shape_of
from gradir.dialects.base.value import Value

Runs = list[tuple[int, int]]
"""Runs of places, from each first one to before each last one, in ascending order."""

# More runs are taken as one, from the first place to the last.
_MOST = 4


def used(cotangents: Sequence[Value | None], axes: Sequence[int]) -> Runs | None:
    """The places along axes where results were read; all cotangents are 0 elsewhere.

    None for all places. A cotangent that is 0 by its numbers counts as read: nothing says that it
    is 0 nearby.
    """
    found: Runs = []
    for ct, axis in zip(cotangents, axes, strict=True):
        if ct is not None:
            axis %= len(ct.shape)
            runs = _runs(ct.ssa, axis) if is_static(ct.type) else None
            if runs is None or runs == [(0, ct.shape[axis])]:
                return None
            found += runs
    runs = _joined(found)
    return [(runs[0][0], runs[-1][1])] if len(runs) > _MOST else runs or None


def parts_of(ct: Value) -> list[Value]:
    """The contributions to a cotangent; itself of more than a few."""
    from gradir.dialects.grad.grad import AccumulateOp

    owner = ct.ssa.owner
    if isinstance(owner, AccumulateOp) and len(owner.operands) <= _MOST:
        return [ct.emitter.value(x) for x in owner.operands]
    return [ct]


def _runs(x: SSAValue, axis: int) -> Runs | None:
    from gradir.dialects.grad.grad import AccumulateOp, ZeroOp

    match x.owner:
        case PadOp() as pad if pad.mode == "constant" and not number(pad.attributes, "value", 0.0):
            inner, low = _runs(pad.operands[0], axis), pad.low[axis]
            runs = [(0, shape_of(pad.operands[0].type)[axis])] if inner is None else inner
            return [(start + low, stop + low) for start, stop in runs]
        case PermuteDimsOp() as turned:
            return _runs(turned.operands[0], turned.axes[axis])
        case AccumulateOp() | AddOp() as total:
            parts = [_runs(part, axis) for part in total.operands]
            return None if None in parts else [run for part in parts for run in part or ()]
        case ZeroOp():
            return []
        case _:
            return None


def _joined(runs: Runs) -> Runs:
    """The union of runs."""
    made: Runs = []
    for start, stop in sorted(runs):
        if made and start <= made[-1][1]:
            made[-1] = made[-1][0], max(stop, made[-1][1])
        else:
            made.append((start, stop))
    return made


def from_bounds(bounds: Sequence[int] | None) -> Runs | None:
    """Runs of an attribute that lists where each starts and stops."""
    return None if bounds is None else list(zip(bounds[::2], bounds[1::2], strict=True))


def bounds_of(runs: Runs | None) -> list[int] | None:
    """The attribute of runs."""
    return None if runs is None else [bound for run in runs for bound in run]


def picked(x: Value, runs: Runs | None, axis: int = -1) -> Value:
    """The places of runs along an axis, one after the other."""
    if runs is None:
        return x
    axis %= len(x.shape)
    inside = _inside(x, runs, axis)
    if inside is not None:
        return inside
    parts: list[Value] = []
    for first, last in runs:
        start, stop = [0] * len(x.shape), [*x.shape]
        start[axis], stop[axis] = first, last
        parts.append(SliceOp.on(x, start=start, stop=stop))
    return parts[0] if len(parts) == 1 else ConcatOp.on(*parts, axis=axis)


def _inside(x: Value, runs: Runs, axis: int) -> Value | None:
    """What zeros were put around, where it is all that is asked for."""
    pad = x.ssa.owner
    if len(runs) != 1 or not isinstance(pad, PadOp) or pad.mode != "constant":
        return None
    inner = x.emitter.value(pad.operands[0])
    [(first, last)] = runs
    low = [first if d == axis else 0 for d in range(len(x.shape))]
    is_all = pad.low == low and inner.shape[axis] == last - first
    return inner if is_all and inner.shape[:axis] == x.shape[:axis] else None


def put_back(x: Value, runs: Runs | None, extent: int, axis: int = -1) -> Value:
    """Zeros along an axis with x at the places of runs."""
    if runs is None:
        return x
    axis %= len(x.shape)
    parts: list[Value] = []
    at = 0
    for first, last in runs:
        piece = picked(x, [(at, at + last - first)], axis) if len(runs) > 1 else x
        low, high = [0] * len(x.shape), [0] * len(x.shape)
        low[axis], high[axis] = first, extent - last
        parts.append(PadOp.on(piece, low=low, high=high, value=0.0))
        at += last - first
    return sum(parts[1:], parts[0])
