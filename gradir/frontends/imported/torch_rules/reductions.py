"""PyTorch's reductions, running sums, and orders of elements."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

import gradir.frontends.functions.numpy as gnp
from gradir.dialects.base.shapes import is_bool, is_float, ui8
from gradir.frontends.functions.array_ops import op
from gradir.frontends.functions.promotion import converted, spread
from gradir.frontends.imported.torch_rules.arguments import (
    AtenRules,
    Function,
    alike,
    axes_of,
    axis_of,
    typed,
)
from gradir.frontends.tracing.source_locations import refusal
from gradir.frontends.tracing.spec import ELEMENTS
from gradir.frontends.tracing.tracing import element
from gradir.frontends.transforms.markers import no_grad
from gradir.frontends.transforms.scans import associative_scan
from gradir.frontends.transforms.vmap import vmap

RULES = AtenRules()
ELEMENT_OF_PLACES = ELEMENTS["int64"]


def over(function: Function, x: Any, dim: Any, keepdim: bool, **more: Any) -> Any:
    """A reduction over axes; an array of rank 0 has none, and is reduced as one element."""
    if not x.ndim:
        return gnp.reshape(function(gnp.reshape(x, (1,)), axis=[0], keepdims=False, **more), ())
    return function(x, axis=list(axes_of(x, dim)), keepdims=keepdim, **more)


@RULES.aten("sum")
def _sum(call: Any, x: Any, dim: Any = None, keepdim: bool = False) -> Any:
    [x] = typed(call, x)
    return over(op.sum, x, dim, keepdim)


@RULES.aten("mean")
def _mean(call: Any, x: Any, dim: Any = None, keepdim: bool = False) -> Any:
    [x] = typed(call, x)
    return over(op.mean, x, dim, keepdim)


@RULES.aten("prod")
def _product(call: Any, x: Any, dim: Any = None, keepdim: bool = False) -> Any:
    [x] = typed(call, x)
    return over(op.prod, x, dim, keepdim)


@RULES.aten("nansum")
def _sum_of_numbers(call: Any, x: Any, dim: Any = None, keepdim: bool = False) -> Any:
    [x] = typed(call, x)
    known = gnp.where(op.isnan(x), converted(0, element(x)), x) if is_float(element(x)) else x
    return over(op.sum, known, dim, keepdim)


@RULES.aten("amax", "amin")
def _extreme(call: Any, x: Any, dim: Any = (), keepdim: bool = False) -> Any:
    if is_bool(element(x)):
        return over(op.any if call.op == "amax" else op.all, x, dim, keepdim)
    return over(op.max if call.op == "amax" else op.min, x, dim, keepdim)


@RULES.aten("any", "all")
def _truth(call: Any, x: Any, dim: Any = None, keepdim: bool = False) -> Any:
    given = x if is_bool(element(x)) else op.not_equal(x, 0)
    if isinstance(dim, (list, tuple)) and not dim:
        return converted(given, call.element)
    return converted(
        over(op.any if call.op == "any" else op.all, given, dim, keepdim), call.element
    )


@RULES.aten("count_nonzero")
def _count(call: Any, x: Any, dim: Any = None) -> Any:
    return over(op.sum, converted(op.not_equal(x, 0), call.element), dim, False)


@RULES.aten("logsumexp", "special_logsumexp")
def _log_sum_exp(call: Any, x: Any, dim: Any, keepdim: bool = False) -> Any:
    [x] = typed(call, x)
    return over(op.logsumexp, x, dim, keepdim)


# max and min with places.


@RULES.aten("max", "min")
def _extreme_of(
    call: Any, x: Any, dim: Any = None, keepdim: bool = False, other: Any = None
) -> Any:
    """Of all elements, along an axis with places, or of two arrays."""
    is_max = call.op == "max"
    if other is not None:
        return (op.maximum if is_max else op.minimum)(*typed(call, x, other))
    if dim is None:
        if is_bool(element(x)):
            return over(op.any if is_max else op.all, x, None, False)
        return over(op.max if is_max else op.min, x, None, False)
    return _chosen(x, dim, keepdim, _places(x, axis_of(x, dim), is_max))


def _places(x: Any, axis: int, is_max: bool) -> Any:
    """The first place of an extreme along an axis, which stays."""
    if not x.ndim:
        return spread(0, (), ELEMENT_OF_PLACES)
    given = converted(x, ui8) if is_bool(element(x)) else no_grad(x)
    return (op.argmax if is_max else op.argmin)(given, axis=axis, keepdims=True)


def _chosen(x: Any, dim: int, keepdim: bool, places: Any) -> Any:
    """The elements at places along an axis, which have the whole derivative, and the places."""
    if not x.ndim:
        return x, gnp.reshape(places, ())
    axis = axis_of(x, dim)
    made = gnp.take_along_axis(x, places, axis)
    if keepdim:
        return made, places
    return gnp.squeeze(made, axis), gnp.squeeze(places, axis)


@RULES.aten("argmax", "argmin")
def _place(call: Any, x: Any, dim: int | None = None, keepdim: bool = False) -> Any:
    if dim is None or not x.ndim:
        flat = _places(gnp.reshape(x, (-1,)), 0, call.op == "argmax")
        return gnp.reshape(flat, call.type.shape)
    made = _places(x, axis_of(x, dim), call.op == "argmax")
    return made if keepdim else gnp.squeeze(made, axis_of(x, dim))


@RULES.aten("aminmax")
def _extremes(call: Any, x: Any, dim: int | None = None, keepdim: bool = False) -> Any:
    return [over(function, x, dim, keepdim) for function in (op.min, op.max)]


@RULES.aten("median", "nanmedian")
def _median(call: Any, x: Any, dim: int | None = None, keepdim: bool = False) -> Any:
    """The lower of two in the middle, and where it is."""
    given = gnp.reshape(x, (-1,)) if dim is None or not x.ndim else x
    axis = 0 if dim is None or not x.ndim else axis_of(x, dim)
    count = given.shape[axis]
    order = op.argsort(no_grad(given), axis=axis)
    if is_float(element(x)):
        known = op.sum(converted(op.logical_not(op.isnan(given)), ELEMENT_OF_PLACES), axis=[axis],
                       keepdims=True)  # fmt: skip
        middle = op.floor_divide(op.maximum(known - 1, 0), 2)
        if call.op == "median":  # of nan, where there is any
            middle = gnp.where(op.less(known, count), known, (count - 1) // 2)
    else:
        shape = [1 if d == axis else n for d, n in enumerate(given.shape)]
        middle = spread((count - 1) // 2, shape, ELEMENT_OF_PLACES)
    places = gnp.take_along_axis(order, middle, axis)
    values, places = _chosen(given, axis, keepdim and bool(x.ndim), places)
    if dim is None:
        return gnp.reshape(values, ())
    return [gnp.reshape(y, call.results[0].shape) for y in (values, places)]


@RULES.aten("kthvalue")
def _kth(call: Any, x: Any, k: int, dim: int = -1, keepdim: bool = False) -> Any:
    if not x.ndim:
        return x, spread(0, (), ELEMENT_OF_PLACES)
    axis = axis_of(x, dim)
    order = op.argsort(no_grad(x), axis=axis)
    return _chosen(x, dim, keepdim, gnp.take(order, np.array([k - 1]), axis))


# Moments.


@RULES.aten("var", "std", "var_mean", "std_mean")
def _moment(
    call: Any, x: Any, dim: Any = None, unbiased: bool = True, keepdim: bool = False,
    correction: Any = None,
) -> Any:  # fmt: skip
    [x] = typed(call, x) if len(call.results) == 1 else [x]
    function = op.var if call.op.startswith("var") else op.std
    count = int(unbiased) if correction is None else correction
    if "unbiased" not in dict(call["arguments"]) and correction is None:
        count = 1
    made = over(function, x, dim, keepdim, correction=count)
    return (made, over(op.mean, x, dim, keepdim)) if call.op.endswith("mean") else made


@RULES.aten("norm", "linalg_vector_norm")
def _norm(
    call: Any, x: Any, p: Any = 2, dim: Any = None, keepdim: bool = False, ord: Any = None
) -> Any:
    [x] = typed(call, x)
    order = p if ord is None else ord
    order = 2 if order is None else order
    axes = axes_of(x, dim)
    if not x.ndim:
        x, axes, keepdim = gnp.reshape(x, (1,)), (0,), False
    made = gnp.linalg.vector_norm(x, ord=order, axis=axes, keepdims=keepdim)
    return gnp.reshape(made, call.type.shape)


# Running sums.


def _running(function: Function) -> Function:
    def rule(call: Any, x: Any, dim: int) -> Any:
        [x] = typed(call, x)
        return function(x, axis_of(x, dim)) if x.ndim and x.size else x

    return rule


RULES.aten("cumsum")(_running(lambda x, axis: op.cumulative_sum(x, axis=axis)))
RULES.aten("cumprod")(_running(lambda x, axis: op.cumulative_prod(x, axis=axis)))
RULES.aten("logcumsumexp")(_running(lambda x, axis: associative_scan(op.logaddexp, x, axis=axis)))


@RULES.aten("cummax", "cummin", "_cummax", note="of equal elements the last has the derivative")
def _running_extreme(call: Any, x: Any, dim: int) -> Any:
    if not x.ndim or not x.size:
        return x, spread(0, x.shape, ELEMENT_OF_PLACES)
    axis = axis_of(x, dim)
    still = no_grad(x)
    best = associative_scan(op.maximum if call.op == "cummax" else op.minimum, still, axis=axis)
    line = [-1 if d == axis else 1 for d in range(x.ndim)]
    numbers = gnp.reshape(gnp.arange(x.shape[axis]), line)
    is_best = op.equal(still, best)
    if is_float(element(x)):
        is_best = op.logical_or(is_best, op.isnan(still))
    found = gnp.where(is_best, numbers, 0)
    places = associative_scan(op.maximum, found, axis=axis)
    return gnp.take_along_axis(x, places, axis), places


# Orders.


@RULES.aten("sort", "argsort", "msort", note="equal elements keep their order")
def _sorted(call: Any, x: Any, dim: int = -1, descending: bool = False, stable: Any = None) -> Any:
    axis = 0 if call.op == "msort" else axis_of(x, dim)
    if not x.ndim:
        made = x, spread(0, (), ELEMENT_OF_PLACES)
    else:
        given = converted(x, ui8) if is_bool(element(x)) else no_grad(x)
        order = gnp.argsort(given, axis=axis, descending=descending, stable=True)
        made = gnp.take_along_axis(x, order, axis), order
    return made[1] if call.op == "argsort" else made[0] if call.op == "msort" else made


@RULES.aten("topk")
def _top(
    call: Any, x: Any, k: int, dim: int = -1, largest: bool = True, sorted: bool = True
) -> Any:
    if not x.ndim:
        return x, spread(0, (), ELEMENT_OF_PLACES)
    if not k or not x.size:
        return [spread(0, [k if d == axis_of(x, dim) else n for d, n in enumerate(x.shape)], kind)
                for kind in (element(x), ELEMENT_OF_PLACES)]  # fmt: skip
    axis = axis_of(x, dim)
    given = converted(x, ui8) if is_bool(element(x)) else x
    values, places = gnp.top_k(given, k=k, axis=axis, largest=largest)
    return converted(values, element(x)), converted(places, ELEMENT_OF_PLACES)


@RULES.aten("searchsorted", "bucketize")
def _found(
    call: Any, x: Any, boundaries: Any = None, self: Any = None, input: Any = None,
    out_int32: bool = False, right: bool = False, side: str | None = None, sorter: Any = None,
) -> Any:  # fmt: skip
    edges, values = (
        (boundaries, x) if call.op == "bucketize" else (x, self if input is None else input)
    )
    which = "right" if right or side == "right" else "left"
    values = spread(values, (), element(edges)) if isinstance(values, int | float) else values
    edges, values = alike(edges, values)
    if sorter is not None:
        edges = gnp.take_along_axis(edges, sorter, -1)
    if edges.ndim == 1:
        return converted(gnp.searchsorted(edges, values, side=which), call.element)
    rows = gnp.reshape(edges, (prod(edges.shape[:-1]), edges.shape[-1]))
    wanted = gnp.reshape(values, (rows.shape[0], values.shape[-1]))
    found = vmap(lambda a, v: gnp.searchsorted(a, v, side=which))(rows, wanted)
    return converted(gnp.reshape(found, values.shape), call.element)


@RULES.aten("histc", note="between known ends")
def _counts(call: Any, x: Any, bins: int = 100, min: float = 0, max: float = 0) -> Any:
    if min == max:
        raise refusal("histc: the ends must be given, for they depend on values")
    return converted(gnp.histogram(x, bins, (min, max))[0], call.element)
