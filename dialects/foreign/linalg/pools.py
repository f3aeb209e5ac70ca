"""linalg's pooling ops as nn's, whose gradients know where a largest element was."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod

from xdsl.ir import BlockArgument

from gradir.dialects.array.movement import reshaped
from gradir.dialects.array.reductions import MaxOp, MinOp, SumOp
from gradir.dialects.base.interfaces import TensorOp
from gradir.dialects.base.shapes import is_float
from gradir.dialects.base.value import Value
from gradir.dialects.foreign.linalg.products import (
    SlidingSubscript,
    axes_of,
    cut_to_windows,
    places_of,
)
from gradir.dialects.foreign.linalg.structured import (
    JoinedOutput,
    Structured,
    inverse_order,
    permuted,
)
from gradir.dialects.nn.pools import AVG_POOL_OPS, MAX_POOL_LAYER_OPS


def pooled(space: Structured, reduction: JoinedOutput) -> Value | None:
    """The one result, over the kept dimensions, of a body that joins the elements of windows.

    None where it does not.
    """
    number, pool = reduction.number, _POOLS.get(reduction.combiner.reduction)
    if pool is None or not isinstance(number, BlockArgument) or number.block is not space.body:
        return None
    axes = axes_of(space, number.index)
    if axes is None or not is_float(space.operands[number.index].element):
        return None
    dims, windows = places_of(axes), [axis for axis in axes if not isinstance(axis, int)]
    steps, places = [w.step for w in windows], [w.place for w in windows]
    if not 1 <= len(windows) <= 3 or sorted(dims) != space.kept or sorted(steps) != space.reduced:
        return None
    order = [*(d for d in dims if d not in places), *places]
    x = permuted(space.operands[number.index], inverse_order(dims, order))
    count = len(dims) - len(places)
    shape = [1, prod(space.extents[d] for d in order[:count]), *x.shape[count:]]
    cut = cut_to_windows(reshaped(x, shape), windows, space.extents)
    y = pool(cut, windows, [space.extents[d] for d in steps])
    if y is None:
        return None
    return permuted(
        reshaped(y, [space.extents[d] for d in order]), inverse_order(order, space.kept)
    )


Kernel = Sequence[int]


def _largest(x: Value, windows: Sequence[SlidingSubscript], kernel: Kernel) -> Value | None:
    return MAX_POOL_LAYER_OPS[len(windows)].on(
        x,
        kernel=list(kernel),
        stride=[w.stride for w in windows],
        dilation=[w.dilation for w in windows],
    )


def _smallest(x: Value, windows: Sequence[SlidingSubscript], kernel: Kernel) -> Value | None:
    found = _largest(-x, windows, kernel)
    return None if found is None else -found


def _sum(x: Value, windows: Sequence[SlidingSubscript], kernel: Kernel) -> Value | None:
    if any(w.dilation != 1 for w in windows):
        return None
    strides = [w.stride for w in windows]
    mean = AVG_POOL_OPS[len(windows)].on(x, kernel=list(kernel), stride=strides)
    return mean * prod(kernel)


Pool = Callable[[Value, Sequence[SlidingSubscript], Kernel], Value | None]
_POOLS: dict[type[TensorOp], Pool] = {MaxOp: _largest, MinOp: _smallest, SumOp: _sum}
