"""JAX's primitives on whole axes: reductions, running sums, sorts, products of arrays."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

import gradir.frontends.functions.numpy as gnp
from gradir.dialects.array.creation import numpy_dtype
from gradir.dialects.base.shapes import is_bool, is_float, ui8
from gradir.frontends.functions.array_ops import op
from gradir.frontends.functions.promotion import converted, spread
from gradir.frontends.imported.table import RuleTable
from gradir.frontends.tracing.spec import ELEMENTS
from gradir.frontends.tracing.tracing import element
from gradir.frontends.transforms.scans import associative_scan

RULES = RuleTable("JAX")


def _over(name: str) -> Callable[..., Any]:
    def reduced(call: Any, x: Any) -> Any:
        axes = list(call["axes"])
        return getattr(op, name)(x, axis=axes) if axes else x

    return reduced


for _theirs, _ours in (("reduce_sum", "sum"), ("reduce_prod", "prod")):
    RULES.rule(_theirs)(_over(_ours))


def least(kind: Any) -> Any:
    """What no element of a type is below."""
    if is_bool(kind):
        return False
    return -np.inf if is_float(kind) else int(np.iinfo(numpy_dtype(kind)).min)


def greatest(kind: Any) -> Any:
    """What no element of a type is above."""
    if is_bool(kind):
        return True
    return np.inf if is_float(kind) else int(np.iinfo(numpy_dtype(kind)).max)


@RULES.rule("reduce_max", "reduce_min")
def _extreme(call: Any, x: Any) -> Any:
    axes, is_max = list(call["axes"]), call.op == "reduce_max"
    if not axes:
        return x
    if not x.size:
        return spread((least if is_max else greatest)(element(x)), call.type.shape, element(x))
    if is_bool(element(x)):
        return (op.any if is_max else op.all)(x, axis=axes)
    return (op.max if is_max else op.min)(x, axis=axes)


@RULES.rule("reduce_and", "reduce_or", "reduce_xor")
def _of_bits(call: Any, x: Any) -> Any:
    axes = sorted(call["axes"])
    if not axes:
        return x
    if is_bool(element(x)) and call.op != "reduce_xor":
        return (op.all if call.op == "reduce_and" else op.any)(x, axis=axes)
    join = {
        "reduce_and": op.bitwise_and, "reduce_or": op.bitwise_or, "reduce_xor": op.bitwise_xor,
    }[call.op]  # fmt: skip
    ones = True if is_bool(element(x)) else np.iinfo(x.dtype).max if x.dtype.kind == "u" else -1
    start = ones if call.op == "reduce_and" else 0
    for axis in reversed(axes):
        x = _folded(gnp.moveaxis(x, axis, 0), join, start)
    return x


def _folded(x: Any, join: Callable[..., Any], start: Any) -> Any:
    """The rows of x joined by a function, halves with halves."""
    if not x.shape[0]:
        return spread(start, x.shape[1:], element(x))
    while x.shape[0] > 1:
        half, rest = divmod(x.shape[0], 2)
        made = join(x[:half], x[half : 2 * half])
        x = op.concat([made, x[2 * half :]], axis=0) if rest else made
    return x[0]


@RULES.rule("argmax", "argmin")
def _place(call: Any, x: Any) -> Any:
    [axis] = call["axes"]
    given = converted(x, ui8) if is_bool(element(x)) else x
    return converted(getattr(op, call.op)(given, axis=axis), call.element)


# Running sums.


@RULES.rule("cumsum", "cumprod")
def _running(call: Any, x: Any) -> Any:
    if not x.size:
        return x
    run = op.cumulative_sum if call.op == "cumsum" else op.cumulative_prod
    return run(x, axis=call["axis"], reverse=call["reverse"] or None)


@RULES.rule("cummax", "cummin", "cumlogsumexp")
def _scanned(call: Any, x: Any) -> Any:
    if not x.size:
        return x
    join = {"cummax": op.maximum, "cummin": op.minimum, "cumlogsumexp": op.logaddexp}[call.op]
    return associative_scan(join, x, reverse=call["reverse"], axis=call["axis"])


# Orders.


@RULES.rule("sort")
def _sorted(call: Any, *xs: Any) -> Any:
    axis, keys = call["dimension"], call["num_keys"]
    if not xs[0].size:
        return list(xs)
    if len(xs) == 1 and not is_bool(element(xs[0])):
        return [op.sort(xs[0], axis=axis)]
    order = None
    for key in reversed(xs[:keys]):
        key = converted(key, ui8) if is_bool(element(key)) else key
        if order is None:
            order = op.argsort(key, axis=axis)
        else:
            again = op.argsort(gnp.take_along_axis(key, order, axis), axis=axis)
            order = gnp.take_along_axis(order, again, axis)
    return [gnp.take_along_axis(x, order, axis) for x in xs]


@RULES.rule("top_k")
def _top(call: Any, x: Any) -> Any:
    axis = call.params.get("axis", -1) % x.ndim
    if not call["k"] or not x.size:
        zeros = [spread(0, t.shape, k) for t, k in zip(call.results, _kinds(call), strict=True)]
        return zeros
    values, places = op.top_k(x, k=call["k"], axis=axis)
    return [values, converted(places, _kinds(call)[1])]


def _kinds(call: Any) -> list[Any]:
    return [ELEMENTS[type_.dtype] for type_ in call.results]


# Products.


@RULES.rule("dot_general")
def _product(call: Any, x: Any, y: Any) -> Any:
    (left, right), (left_batch, right_batch) = call["dimension_numbers"]
    kind = call.element
    if is_bool(kind):
        raise_ = partial(converted, kind=ui8)
        made = _dot(raise_(x), raise_(y), left, right, left_batch, right_batch)
        return op.not_equal(made, 0)
    wide = _wider(kind, element(x), element(y))
    made = _dot(converted(x, wide), converted(y, wide), left, right, left_batch, right_batch)
    return converted(made, kind)


def _wider(*kinds: Any) -> Any:
    """The widest of element types."""
    return max(kinds, key=lambda kind: (is_float(kind), numpy_dtype(kind).itemsize))


def _dot(x: Any, y: Any, *axes: Any) -> Any:
    left, right, left_batch, right_batch = map(list, axes)
    return op.dot_general(x, y, lhs_batch=left_batch, rhs_batch=right_batch, lhs_contract=left,
                          rhs_contract=right)  # fmt: skip
