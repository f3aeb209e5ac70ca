"""gradir.map and associative_scan: functions of rows, and sums of them in parallel, as in JAX."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import gradir.frontends.functions.numpy as gnp
from gradir.dialects.base.extents import is_extent
from gradir.frontends.tracing.callbacks import call_user
from gradir.frontends.tracing.source_locations import public, refusal
from gradir.frontends.tracing.spec import type_text
from gradir.frontends.tracing.trace import yielded
from gradir.frontends.tracing.tracer import Tracer
from gradir.frontends.tracing.tracing import lifted, tracing
from gradir.frontends.tracing.trees import Tree, flatten
from gradir.frontends.transforms.block_values import require_functions
from gradir.frontends.transforms.flow import scan
from gradir.frontends.transforms.jit import jit
from gradir.frontends.transforms.vmap import vmap


@public
def map(function: Callable[[Any], Any], xs: Any, batch_size: int | None = None) -> Any:
    """The results of the function for each row of the arrays `xs`, stacked; one row after another.

    `batch_size`: the rows that vmap takes at a time. Unlike vmap, map needs no memory for more.
    """
    require_functions("map", function)
    if tracing() is None:
        return jit(partial(map, function, batch_size=batch_size))(xs)
    arrays, tree = _arrays("map", xs)
    if any(not a.shape for a in arrays) or len({a.shape[0] for a in arrays}) != 1:
        raise refusal("map: xs must be arrays with one number of rows")
    if batch_size is None:
        return _one_by_one(function, xs)
    if not isinstance(batch_size, int) or batch_size < 1:
        raise refusal(f"map: batch_size must be a positive integer, got {batch_size!r}")
    several, count = vmap(function), arrays[0].shape[0]
    whole = count // batch_size * batch_size
    parts: list[Any] = []
    if whole:
        blocks = [
            gnp.reshape(a[:whole], (count // batch_size, batch_size, *a.shape[1:])) for a in arrays
        ]
        stacked, results = flatten(_one_by_one(several, tree.build(blocks)))
        joined = [gnp.reshape(y, (whole, *y.shape[2:])) for y in stacked]
        parts.append(results.build(joined))
    if whole < count or not parts:
        parts.append(several(tree.build([a[whole:] for a in arrays])))
    return parts[0] if len(parts) == 1 else _concatenated(parts)


def _one_by_one(function: Callable[[Any], Any], xs: Any) -> Any:
    def step(carry: Any, x: Any) -> Any:
        return carry, call_user("map", function, x)

    return scan(step, (), xs)[1]


def _concatenated(parts: Sequence[Any]) -> Any:
    leaves = [flatten(part)[0] for part in parts]
    _, tree = flatten(parts[0])
    return tree.build([gnp.concatenate(each) for each in zip(*leaves, strict=True)])


@public
def associative_scan(
    function: Callable[[Any, Any], Any], elems: Any, reverse: bool = False, axis: int = 0
) -> Any:
    """All sums x0, f(x0, x1), f(f(x0, x1), x2), ... along an axis, for an associative function.

    It is called with slices of many elements, on which it has to work as on each, about 2 log2(n)
    times, and combines about 2 n pairs (Blelloch, "Prefix sums and their applications", 1990).
    `reverse`: from the last element to the first.
    """
    require_functions("associative_scan", function)
    if tracing() is None:
        made = partial(associative_scan, function, reverse=reverse, axis=axis)
        return jit(made)(elems)
    arrays, tree = _arrays("associative_scan", elems)
    if any(not -a.ndim <= axis < a.ndim for a in arrays):
        raise refusal(f"associative_scan: axis {axis} is out of range for an array of elems")
    moved = [gnp.moveaxis(a, axis, 0) for a in arrays]
    if len({a.shape[0] for a in moved}) != 1:
        raise refusal("associative_scan: elems must have one extent along the axis")
    if reverse:
        moved = [gnp.flip(a, 0) for a in moved]
    sums = _Sums(function, tree).of(moved)
    if reverse:
        sums = [gnp.flip(a, 0) for a in sums]
    return tree.build([gnp.moveaxis(a, 0, axis) for a in sums])


class _Sums:
    """The sums of arrays along their first axis by a function of trees of them."""

    def __init__(self, function: Callable[[Any, Any], Any], tree: Tree):
        self.function, self.tree = function, tree

    def of(self, x: Sequence[Any]) -> list[Any]:
        count = x[0].shape[0]
        if is_extent(count):
            raise refusal(
                f"associative_scan: the number of elements must be known, got {count}; use "
                "gradir.scan, or cumsum and the like, or fix the extent"
            )
        if count < 2:
            return list(x)
        even, odd = [a[0::2] for a in x], [a[1::2] for a in x]
        # sums up to each odd place; the sums up to the even places follow from them
        at_odd = self.of(self.combined([a[: count // 2] for a in even], odd))
        before = at_odd if count % 2 else [a[:-1] for a in at_odd]
        later = self.combined(before, [a[1:] for a in even]) if count > 2 else []
        firsts = [a[:1] for a in x]
        at_even = [gnp.concatenate(p) for p in zip(firsts, later, strict=True)] if later else firsts
        return [_woven(a, b) for a, b in zip(at_even, at_odd, strict=True)]

    def combined(self, x: Sequence[Any], y: Sequence[Any]) -> list[Any]:
        """The function of pairs of elements; TraceError for other types than theirs."""
        result = call_user(
            "associative_scan", self.function, self.tree.build(x), self.tree.build(y)
        )
        found, tree = yielded(result, "the function of associative_scan")
        if tree != self.tree:
            raise refusal("associative_scan: the function must return what it is handed")
        for one, other in zip(found, x, strict=True):
            if one.type != other.type:
                raise refusal(
                    "associative_scan: the function must return the types that it is handed, got "
                    f"{type_text(one.type)} for {type_text(other.type)}"
                )
        return list(found)


def _woven(even: Any, odd: Any) -> Any:
    """The elements of two arrays in turns; the first may have one more."""
    pairs = gnp.stack([even[: odd.shape[0]], odd], 1)
    woven = gnp.reshape(pairs, (2 * odd.shape[0], *odd.shape[1:]))
    if even.shape[0] == odd.shape[0]:
        return woven
    return gnp.concatenate([woven, even[-1:]])


def _arrays(what: str, value: Any) -> tuple[list[Tracer], Tree]:
    leaves, tree = flatten(value)
    if not leaves:
        raise refusal(f"{what}: arrays expected, got none")
    return [lifted(leaf, what=f"{what}: ") for leaf in leaves], tree
