"""array: divided differences of a function at the eigenvalues of matrices, near and equal ones too.

f[x, y] = (f(x) - f(y)) / (x - y), and f[x, ..., y, z] is the difference of two of lower order by
the ends of their nodes. Where nodes are near each other the quotient loses digits: there it is the
mean of a derivative over their simplex (Hermite and Genocchi), by two terms of its series. Which
of both is taken says an estimate of each one's error, so no tolerance is chosen.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from math import factorial
from typing import Any

from gradir.dialects.array.elementwise import AbsOp, MaximumOp, MinimumOp
from gradir.dialects.array.movement import BroadcastToOp, reshaped
from gradir.dialects.base.lazy_numpy import np
from gradir.dialects.base.shapes import f32, tensor
from gradir.dialects.base.value import Value

# Nodes of different functions that differ by no more of their size are equal.
EPSILONS = 4


class OnValues:
    """What divided differences take, on tensors of a program."""

    def __init__(self, w: Value) -> None:
        self.batch, self.count = list(w.shape[:-1]), w.shape[-1]
        self.epsilon = 2.0**-23 if w.element == f32 else 2.0**-52

    def along(self, x: Value, axes: Sequence[int], rank: int) -> Value:
        """A tensor over some of `rank` axes of nodes, repeated along the others."""
        line = [self.count if k in axes else 1 for k in range(rank)]
        type_ = tensor([*self.batch, *[self.count] * rank], x.element)
        return BroadcastToOp.on(reshaped(x, [*self.batch, *line]), type=type_)

    def absolute(self, x: Value) -> Value:
        return AbsOp.on(x)

    def larger(self, x: Value, y: Value) -> Value:
        return MaximumOp.on(x, y)

    def smaller(self, x: Value, y: Value) -> Value:
        return MinimumOp.on(x, y)

    def choose(self, condition: Value, x: Value, y: Value) -> Value:
        return condition.choose(x, y)

    def full(self, near: Value, number: float) -> Value:
        return near.full(number)

    def equal(self, x: Value, y: float) -> Value:
        return x.equal(y)


class OnArrays:
    """The same on NumPy's arrays."""

    def __init__(self, w: Any) -> None:
        self.batch, self.count = list(w.shape[:-1]), w.shape[-1]
        self.epsilon = float(np.finfo(w.dtype).eps)

    def along(self, x: Any, axes: Sequence[int], rank: int) -> Any:
        line = [self.count if k in axes else 1 for k in range(rank)]
        return np.broadcast_to(x.reshape([*self.batch, *line]), [*self.batch, *[self.count] * rank])

    def absolute(self, x: Any) -> Any:
        return np.abs(x)

    def larger(self, x: Any, y: Any) -> Any:
        return np.maximum(x, y)

    def smaller(self, x: Any, y: Any) -> Any:
        return np.minimum(x, y)

    def choose(self, condition: Any, x: Any, y: Any) -> Any:
        return np.where(condition, x, y)

    def full(self, near: Any, number: float) -> Any:
        return np.full(near.shape, number, near.dtype)

    def equal(self, x: Any, y: float) -> Any:
        return x == y


def differences(kit: Any, w: Any, jets: Sequence[Any], inside: Any, order: int) -> Any:
    """f[w_i, ..., w_j] with `order` + 1 nodes, a tensor with an axis for each.

    jets: f and its derivatives at w, as many as there are. inside: 1 at the nodes where f is the
    function of the jets, 0 where it is 0; None for all. Nodes inside have no difference to equal
    ones outside: nan.
    """
    found = jets[0]
    error = kit.absolute(found) * (2 * kit.epsilon)
    for p in range(1, order + 1):
        found, error = _next(kit, w, jets, inside, p, found, error)
    return found


def _next(
    kit: Any, w: Any, jets: Sequence[Any], inside: Any, p: int, lower: Any, lower_error: Any
) -> tuple[Any, Any]:
    """The differences of order p from those of the order before; with their errors."""
    rank = p + 1
    nodes = [kit.along(w, [r], rank) for r in range(rank)]
    far, far_error, gap = _quotient(kit, nodes, lower, lower_error)
    near, near_error = _mean_derivative(kit, nodes, jets, p)
    is_near = kit.choose(
        kit.equal(gap, 0.0), kit.full(gap, 0.0), near_error - far_error
    )  # fmt: skip
    made = kit.choose(is_near <= 0.0, near, far)
    error = kit.choose(is_near <= 0.0, near_error, far_error)
    if inside is not None:
        made = _across(kit, nodes, inside, made, far, gap)
    return made, error + kit.absolute(made) * kit.epsilon


def _quotient(kit: Any, nodes: Sequence[Any], lower: Any, error: Any) -> tuple[Any, Any, Any]:
    """The quotient by the largest gap, its error, and the gap's size."""
    rank = len(nodes)
    best: tuple[Any, Any, Any] | None = None
    for r, s in combinations(range(rank), 2):
        apart = nodes[r] - nodes[s]
        gap = kit.absolute(apart)
        parts = [[k for k in range(rank) if k != out] for out in (s, r)]
        values = [kit.along(lower, axes, rank) for axes in parts]
        errors = [kit.along(error, axes, rank) for axes in parts]
        made = (values[0] - values[1]) / apart
        mistake = (errors[0] + errors[1]) / gap
        if best is None:
            best = made, mistake, gap
        else:
            is_wider = gap > best[2]
            new = (made, mistake, gap)
            best = tuple(kit.choose(is_wider, x, y) for x, y in zip(new, best, strict=True))
    assert best is not None
    return best


def _mean_derivative(
    kit: Any, nodes: Sequence[Any], jets: Sequence[Any], p: int
) -> tuple[Any, Any]:
    """1 / p! of the mean of derivative p over the simplex of the nodes, and its error.

    The mean over the nodes, less half of derivative p + 2 times the sum of squared distances to
    the middle over p + 2.
    """
    rank = len(nodes)
    if p >= len(jets):
        nothing = kit.full(nodes[0], float("nan"))
        return nothing, nothing

    def mean(x: Any) -> Any:
        spread = [kit.along(x, [r], rank) for r in range(rank)]
        return sum(spread[1:], spread[0]) * (1 / rank)

    middle = sum(nodes[1:], nodes[0]) * (1 / rank)
    squares = [(x - middle) * (x - middle) for x in nodes]
    width = sum(squares[1:], squares[0]) * (0.5 / (rank + 1))
    whole, scale = mean(jets[p]), 1 / factorial(p)
    if p + 2 >= len(jets):
        return whole * scale, width * kit.full(whole, float("inf"))
    term = mean(jets[p + 2]) * width
    size, all_of_it = kit.absolute(term), kit.absolute(whole)
    ratio = size / kit.choose(kit.equal(all_of_it, 0.0), kit.full(whole, 1.0), all_of_it)
    ratio = kit.choose(kit.equal(all_of_it, 0.0), kit.full(whole, 1.0), ratio)
    error = size * kit.smaller(ratio, kit.full(ratio, 1.0)) * scale
    return (whole - term) * scale, error


def _across(kit: Any, nodes: Sequence[Any], inside: Any, made: Any, far: Any, gap: Any) -> Any:
    """The quotient where some nodes are inside and some not; nan where these are equal."""
    rank = len(nodes)
    marks = [kit.along(inside, [r], rank) for r in range(rank)]
    count = sum(marks[1:], marks[0])
    sizes = [kit.absolute(x) for x in nodes]
    largest = sizes[0]
    for size in sizes[1:]:
        largest = kit.larger(largest, size)
    is_apart = gap > largest * (EPSILONS * kit.epsilon)
    across = kit.choose(is_apart, far, kit.full(far, float("nan")))
    return kit.choose(count > 0.5, kit.choose(count < rank - 0.5, across, made), made)
