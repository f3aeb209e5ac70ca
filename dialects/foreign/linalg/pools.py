"""linalg's pooling ops as nn's, whose gradients know where a largest element was."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod

from xdsl.ir import BlockArgument
from xdsl.ir.affine import AffineDimExpr

from gradir.dialects.array.reductions import MaxOp, MinOp, SumOp
from gradir.dialects.base.interfaces import TensorOp
from gradir.dialects.base.shapes import is_float
from gradir.dialects.base.value import Value
from gradir.dialects.foreign.linalg.products import (
    SlidingSubscript,
    cut_to_windows,
    window_of,
)
from gradir.dialects.foreign.linalg.structured import (
    Structured,
    inverse_order,
    permuted,
    reshaped,
)
from gradir.dialects.nn.pools import (
    AvgPool1dOp,
    AvgPool2dOp,
    AvgPool3dOp,
    MaxPool1dOp,
    MaxPool2dOp,
    MaxPool3dOp,
)

_MAX = {1: MaxPool1dOp, 2: MaxPool2dOp, 3: MaxPool3dOp}
_AVG = {1: AvgPool1dOp, 2: AvgPool2dOp, 3: AvgPool3dOp}


def pooled(space: Structured) -> Value | None:
    """The one result of a body that joins the elements of windows; None where it does not."""
    if len(space.yielded) != 1 or not space.reduced or 0 in space.extents:
        return None
    reduction = space.reduction(0)
    number = None if reduction is None else reduction.number
    if reduction is None or not isinstance(number, BlockArgument) or number.block is not space.body:
        return None
    windows, dims = _axes(space, number.index)
    if windows is None or not is_float(space.operands[number.index].element):
        return None
    steps = [w.step for w in windows]
    if sorted(steps) != space.reduced:
        return None
    pool = _POOLS.get(reduction.combiner.reduction)
    if pool is None:
        return None
    plain = [d for d in dims if d not in [w.place for w in windows]]
    places = [w.place for w in windows]
    x = permuted(space.operands[number.index], inverse_order(dims, [*plain, *places]))
    shape = [1, prod(space.extents[d] for d in plain), *x.shape[len(plain) :]]
    cut = cut_to_windows(reshaped(x, shape), windows, space.extents)
    y = pool(cut, windows, [space.extents[d] for d in steps])
    if y is None:
        return None
    y = reshaped(y, [space.extents[d] for d in (*plain, *places)])
    y = permuted(y, inverse_order([*plain, *places], space.kept))
    return space.joined(0, reduction, y)


def _axes(space: Structured, number: int) -> tuple[list[SlidingSubscript] | None, list[int]]:
    """The windows of an input, and each axis's dimension: of a window, its place."""
    windows: list[SlidingSubscript] = []
    dims: list[int] = []
    for expression in space.maps[number].results:
        if isinstance(expression, AffineDimExpr):
            dims.append(expression.position)
            continue
        window = window_of(expression, set(space.reduced))
        if window is None:
            return None, []
        windows.append(window)
        dims.append(window.place)
    is_whole = sorted(dims) == space.kept and 1 <= len(windows) <= 3
    return (windows if is_whole else None), dims


Kernel = Sequence[int]


def _largest(x: Value, windows: Sequence[SlidingSubscript], kernel: Kernel) -> Value | None:
    return _MAX[len(windows)].on(
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
    mean = _AVG[len(windows)].on(x, kernel=list(kernel), stride=strides)
    return mean * prod(kernel)


Pool = Callable[[Value, Sequence[SlidingSubscript], Kernel], Value | None]
_POOLS: dict[type[TensorOp], Pool] = {MaxOp: _largest, MinOp: _smallest, SumOp: _sum}
