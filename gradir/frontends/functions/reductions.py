"""gradir.numpy: reductions with NumPy's parameters, their nan versions, and running sums."""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from math import prod as product
from typing import Any

from xdsl.dialects.builtin import i64

from gradir.dialects.array.cumulative import CumulativeProdOp, CumulativeSumOp
from gradir.dialects.array.reductions import SumOp
from gradir.dialects.array.statistics import ProdOp
from gradir.dialects.base.interfaces import TensorOp
from gradir.dialects.base.shapes import (
    is_complex,
    is_float,
    is_inexact,
    is_unsigned,
    real_element,
    ui64,
)
from gradir.dialects.grad.grad import NoGradOp
from gradir.frontends.functions.arguments import axes_of, axis_of, floating, with_dtype
from gradir.frontends.functions.array_ops import op
from gradir.frontends.functions.op_functions import apply
from gradir.frontends.functions.parts import is_complex_array, squared_length
from gradir.frontends.functions.promotion import converted, operand, result_element
from gradir.frontends.functions.sugar import (
    where,
)
from gradir.frontends.functions.views import (
    broadcast_to,
    reshape,
)
from gradir.frontends.functions.wide import wide
from gradir.frontends.tracing.source_locations import refusal
from gradir.frontends.tracing.spec import element_named
from gradir.frontends.tracing.tracer import Tracer
from gradir.frontends.tracing.tracing import element, emit_one, lifted

_where = where  # which reductions have as a parameter


def _chosen(x: Tracer, where: Any, other: Any) -> Tracer:
    """x with another value where a condition does not hold."""
    return x if where is None else _where(where, x, other)


def _widening(kind: type[TensorOp], x: Any, dtype: Any, **attributes: Any) -> Tracer:
    """The op on x in another type: integers and bools are reduced in 64 bits."""
    value = lifted(x)
    target = element(value) if dtype is None else element_named(dtype)
    if dtype is None and not is_inexact(target):
        target = ui64 if is_unsigned(target) else i64
    return apply(kind, {"x": converted(value, target), **attributes})


def sum(
    a: Any, axis: Any = None, dtype: Any = None, out: None = None, keepdims: bool = False,
    initial: Any = None, where: Any = None,
) -> Tracer:  # fmt: skip
    """The sum over `axis`, all where None; of integers and bools in 64 bits.   vjp: ct, repeated

    Elements where `where` is false are left out; `initial` is added.
    """
    x = _chosen(lifted(a), where, 0)
    made: Any = _widening(SumOp, x, dtype, axis=axis, keepdims=keepdims or None)
    return made if initial is None else made + converted(operand(initial), element(made))


def prod(
    a: Any, axis: Any = None, dtype: Any = None, out: None = None, keepdims: bool = False,
    initial: Any = None, where: Any = None,
) -> Tracer:  # fmt: skip
    """The product over `axis`, all where None; of integers and bools in 64 bits.

    vjp: ct times the product of the other elements
    """
    x = _chosen(lifted(a), where, 1)
    made: Any = _widening(ProdOp, x, dtype, axis=axis, keepdims=keepdims or None)
    return made if initial is None else made * converted(operand(initial), element(made))


def _extreme(name: str, greater: str) -> Callable[..., Any]:
    def extreme(
        a: Any, axis: Any = None, out: None = None, keepdims: bool = False, initial: Any = None,
        where: Any = None,
    ) -> Tracer:  # fmt: skip
        x = lifted(a)
        if where is not None and initial is None:
            raise refusal(f"{name}: where needs initial, the value of no elements")
        axes = axes_of(x, axis)
        initial = initial if initial is None else converted(operand(initial), element(x))
        if initial is not None and 0 in [x.shape[d] for d in axes]:
            shape = [1 if d in axes else n for d, n in enumerate(x.shape)
                     if keepdims or d not in axes]  # fmt: skip
            return broadcast_to(initial, shape)
        x = _chosen(x, where, initial)
        made = getattr(op, name)(x, axis=list(axes), keepdims=keepdims or None)
        return made if initial is None else getattr(op, greater)(made, initial)

    extreme.__name__ = name
    extreme.__doc__ = f"{getattr(op, name).__doc__}\n\n`initial` is one more element."
    return extreme


max, min = _extreme("max", "maximum"), _extreme("min", "minimum")


def _truths(a: Any) -> Tracer:
    """a, complex numbers as whether they are not 0."""
    x = lifted(a)
    return op.not_equal(x, 0) if is_complex(element(x)) else x


def any(
    a: Any, axis: Any = None, out: None = None, keepdims: bool = False, where: Any = None
) -> Tracer:
    """One element is not 0 (bool); false of no elements."""
    return op.any(_chosen(_truths(a), where, False), axis=axis, keepdims=keepdims or None)


def all(
    a: Any, axis: Any = None, out: None = None, keepdims: bool = False, where: Any = None
) -> Tracer:
    """No element is 0 (bool); true of no elements."""
    return op.all(_chosen(_truths(a), where, True), axis=axis, keepdims=keepdims or None)


def count_nonzero(a: Any, axis: Any = None, *, keepdims: bool = False) -> Tracer:
    """The number of elements along `axis` that are not 0; int64."""
    return sum(op.not_equal(lifted(a), 0), axis, keepdims=keepdims)


def _count(x: Tracer, where: Any, axis: Any, keepdims: bool) -> Any:
    """The number of elements that `where` chooses, in the type of x."""
    shown = broadcast_to(lifted(where), x.shape)
    return converted(sum(shown, axis, keepdims=keepdims), element(x))


def mean(
    a: Any, axis: Any = None, dtype: Any = None, out: None = None, keepdims: bool = False, *,
    where: Any = None,
) -> Tracer:  # fmt: skip
    """The arithmetic mean over `axis`, all where None; nan of no elements.   vjp: ct / n"""
    x = with_dtype(lifted(a), dtype)
    if where is None:
        made = op.mean(x, axis=axis, keepdims=keepdims or None)
    else:
        x = floating(x)
        made = converted(_chosen_mean(wide(x), where, axis, keepdims), element(x))
    return with_dtype(made, dtype)


def _chosen_mean(x: Tracer, where: Any, axis: Any, keepdims: bool) -> Any:
    total: Any = sum(x, axis, keepdims=keepdims, where=where)
    return total / _count(x, where, axis, keepdims)


def logsumexp(x: Any, axis: Any = None, keepdims: bool = False) -> Tracer:
    """log(sum(exp(x))) without overflow; -inf of all -inf, and of no elements.

    Of complex numbers the imaginary part is in [-pi, pi]. The op, of real ones, is array.logsumexp.
    vjp: ct times softmax
    """
    value = lifted(x)
    if not is_complex_array(value):
        return op.logsumexp(value, axis=axis, keepdims=keepdims or None)
    top = emit_one(NoGradOp, max(op.real(value), axis, keepdims=True, initial=-inf))
    is_empty = op.equal(top, -inf)
    shift: Any = _where(op.isfinite(top), top, 0)
    total = sum(op.exp(value - shift), axis, keepdims=True)
    made = _where(is_empty, -inf, op.log(_where(is_empty, 1, total))) + shift
    return made if keepdims else op.squeeze(made, axis=list(axes_of(value, axis)))


def var(
    a: Any, axis: Any = None, dtype: Any = None, out: None = None, ddof: float = 0,
    keepdims: bool = False, *, where: Any = None, mean: Any = None, correction: Any = None,
) -> Tracer:  # fmt: skip
    """Sum of squared distances to the mean, divided by n - ddof (`correction` is another name).

    vjp: ct * 2 / (n - ddof) * (x - mean)
    """
    x = with_dtype(lifted(a), dtype)
    ddof = ddof if correction is None else correction
    if where is None and mean is None and not is_complex(element(x)):
        return op.var(x, axis=axis, keepdims=keepdims or None, correction=ddof)
    x = floating(x)
    chosen: Any = True if where is None else where
    made = _variance(wide(x), axis, ddof, keepdims, chosen, mean)
    return converted(made, real_element(element(x)))


def _variance(x: Any, axis: Any, ddof: float, keepdims: bool, where: Any, mean: Any) -> Any:
    """The variance of the elements that `where` chooses, around a given mean or theirs."""
    centre: Any = _chosen_mean(x, where, axis, True) if mean is None else mean
    squares = squared_length(x - centre)
    left = _count(squares, where, axis, keepdims) - ddof
    total: Any = sum(squares, axis, keepdims=keepdims, where=where)
    return total / op.maximum(left, 0)


def std(
    a: Any, axis: Any = None, dtype: Any = None, out: None = None, ddof: float = 0,
    keepdims: bool = False, *, where: Any = None, mean: Any = None, correction: Any = None,
) -> Tracer:  # fmt: skip
    """The square root of `var`.   vjp: ct / ((n - ddof) * y) * (x - mean), 0 where y is 0"""
    x = with_dtype(lifted(a), dtype)
    ddof = ddof if correction is None else correction
    if where is None and mean is None and not is_complex(element(x)):
        return op.std(x, axis=axis, keepdims=keepdims or None, correction=ddof)
    x = floating(x)
    chosen: Any = True if where is None else where
    made = _deviation(_variance(wide(x), axis, ddof, keepdims, chosen, mean))
    return converted(made, real_element(element(x)))


def _deviation(variance: Any) -> Tracer:
    """The square root; its slope is 0 where it is 0, as array.std has it."""
    is_zero = op.equal(variance, 0)
    return _where(is_zero, 0.0, op.sqrt(_where(is_zero, 1.0, variance)))


def ptp(a: Any, axis: Any = None, out: None = None, keepdims: bool = False) -> Tracer:
    """The largest element minus the smallest."""
    return max(a, axis, keepdims=keepdims) - min(a, axis, keepdims=keepdims)


def average(
    a: Any, axis: Any = None, weights: Any = None, returned: bool = False, *, keepdims: bool = False
) -> Any:
    """The mean with weights, of the shape of a or a vector along `axis`; and their sum."""
    x = lifted(a)
    if weights is None:
        made: Any = mean(x, axis, keepdims=keepdims)
        count = converted(product([x.shape[d] for d in axes_of(x, axis)]), element(made))
        return (made, broadcast_to(count, made.shape)) if returned else made
    w: Any = lifted(weights)
    if w.shape != x.shape:
        at = axis_of(x, axis)
        if w.shape != (x.shape[at],):
            raise refusal(f"average: weights must have the shape of a or of its axis, got {w!r}")
        w = reshape(w, [x.shape[at] if d == at else 1 for d in range(x.ndim)])
    w = broadcast_to(w, x.shape)
    total: Any = sum(wide(w), axis, keepdims=keepdims)
    x = floating(x)
    kind = result_element([x, w])[0]
    made = converted(sum(wide(x) * wide(w), axis, keepdims=keepdims) / total, kind)
    return (made, converted(total, kind)) if returned else made


def _place(name: str) -> Callable[..., Any]:
    def place(a: Any, axis: Any = None, out: None = None, *, keepdims: bool = False) -> Tracer:
        x = lifted(a)
        at = None if axis is None else axis_of(x, axis)
        return getattr(op, name)(x, axis=at, keepdims=keepdims or None)

    place.__name__, place.__doc__ = name, getattr(op, name).__doc__
    return place


argmax, argmin = _place("argmax"), _place("argmin")

# Without the elements that are nan.


def _without_nan(name: str, reduction: Callable[..., Any], other: float) -> Callable[..., Any]:
    def reduced(
        a: Any, axis: Any = None, dtype: Any = None, out: None = None, keepdims: bool = False,
        initial: Any = None, where: Any = None,
    ) -> Tracer:  # fmt: skip
        x = lifted(a)
        return reduction(_where(op.isnan(x), other, x), axis, dtype, None, keepdims, initial, where)

    reduced.__name__, reduced.__doc__ = name, f"`{name[3:]}` with {other} in place of nan."
    return reduced


nansum, nanprod = _without_nan("nansum", sum, 0), _without_nan("nanprod", prod, 1)


def _extreme_without_nan(name: str, reduction: Callable[..., Any], low: float) -> Any:
    def reduced(
        a: Any, axis: Any = None, out: None = None, keepdims: bool = False, initial: Any = None,
        where: Any = None,
    ) -> Tracer:  # fmt: skip
        x = lifted(a)
        if not is_float(element(x)):
            return reduction(x, axis, None, keepdims, initial, where)
        missing = op.isnan(x)
        chosen = _where(missing, low, x)
        made = reduction(chosen, axis, None, keepdims, initial, where)
        return made if initial is not None else _where(all(missing, axis, None, keepdims),
                                                       float("nan"), made)  # fmt: skip

    reduced.__name__ = name
    reduced.__doc__ = f"`{name[3:]}` of the elements that are not nan; nan where all are."
    return reduced


nanmax = _extreme_without_nan("nanmax", max, -inf)
nanmin = _extreme_without_nan("nanmin", min, inf)


def _place_without_nan(name: str, place: Callable[..., Any], low: float) -> Callable[..., Any]:
    def found(a: Any, axis: Any = None, out: None = None, *, keepdims: bool = False) -> Tracer:
        x = lifted(a)
        if not is_float(element(x)):
            return place(x, axis, keepdims=keepdims)
        missing = op.isnan(x)
        at = place(_where(missing, low, x), axis, keepdims=keepdims)
        return _where(all(missing, axis, keepdims=keepdims), -1, at)

    found.__name__, found.__doc__ = name, f"`{name[3:]}` beside nan; -1 where all are nan."
    return found


nanargmax = _place_without_nan("nanargmax", argmax, -inf)
nanargmin = _place_without_nan("nanargmin", argmin, inf)


def _there(x: Tracer, where: Any) -> Any:
    there = op.logical_not(op.isnan(x))
    return there if where is None else op.logical_and(there, where)


def nanmean(
    a: Any, axis: Any = None, dtype: Any = None, out: None = None, keepdims: bool = False, *,
    where: Any = None,
) -> Tracer:  # fmt: skip
    """The mean of the elements that are not nan; nan where there are none."""
    return mean(a, axis, dtype, None, keepdims, where=_there(lifted(a), where))


def nanvar(
    a: Any, axis: Any = None, dtype: Any = None, out: None = None, ddof: float = 0,
    keepdims: bool = False, *, where: Any = None, mean: Any = None, correction: Any = None,
) -> Tracer:  # fmt: skip
    """The variance of the elements that are not nan; nan where there are at most ddof."""
    x = floating(with_dtype(lifted(a), dtype))
    ddof = ddof if correction is None else correction
    made = _variance_without_nan(x, axis, ddof, keepdims, where, mean)
    return converted(made, real_element(element(x)))


def _variance_without_nan(
    x: Any, axis: Any, ddof: float, keepdims: bool, where: Any, mean: Any
) -> Any:
    there = _there(x, where)
    x = _where(there, wide(x), 0)
    made = _variance(x, axis, ddof, keepdims, there, mean)
    count = _count(squared_length(x), there, axis, keepdims)
    return _where(count > ddof, made, float("nan"))


def nanstd(
    a: Any, axis: Any = None, dtype: Any = None, out: None = None, ddof: float = 0,
    keepdims: bool = False, *, where: Any = None, mean: Any = None, correction: Any = None,
) -> Tracer:  # fmt: skip
    """The square root of `nanvar`.   vjp: as `std` has it, 0 where y is 0"""
    x = floating(with_dtype(lifted(a), dtype))
    ddof = ddof if correction is None else correction
    made = _deviation(_variance_without_nan(x, axis, ddof, keepdims, where, mean))
    return converted(made, real_element(element(x)))


# Running sums and products.


def cumulative_sum(
    x: Any, axis: int | None = None, dtype: Any = None, exclusive: bool | None = None,
    reverse: bool | None = None, include_initial: bool = False,
) -> Tracer:  # fmt: skip
    """y[i] = x[0] + ... + x[i] along `axis`; exclusive without x[i], reverse from the end.

    vjp: the cumulative sum of ct from the other end
    """
    return _cumulative(CumulativeSumOp, x, axis, dtype, exclusive, reverse, include_initial)


def cumulative_prod(
    x: Any, axis: int | None = None, dtype: Any = None, exclusive: bool | None = None,
    reverse: bool | None = None, include_initial: bool = False,
) -> Tracer:  # fmt: skip
    """y[i] = x[0] * ... * x[i] along `axis`; exclusive without x[i], reverse from the end.

    vjp: exact, also where elements are 0
    """
    return _cumulative(CumulativeProdOp, x, axis, dtype, exclusive, reverse, include_initial)


def _cumulative(
    kind: type[TensorOp], x: Any, axis: Any, dtype: Any, exclusive: Any, reverse: Any, initial: bool
) -> Tracer:
    value = lifted(x)
    if axis is None and value.ndim != 1:
        raise refusal(f"{kind.name}: axis must be given for an array of rank {value.ndim}")
    at = axis_of(value, axis or 0)
    if kind is CumulativeProdOp and is_complex(element(with_dtype(value, dtype))):
        made = _complex_products(with_dtype(value, dtype), at, bool(exclusive), bool(reverse))
    else:
        made = _widening(kind, value, dtype, axis=at, exclusive=exclusive, reverse=reverse)
    if not initial:
        return made
    first = [1 if d == at else n for d, n in enumerate(value.shape)]
    start = broadcast_to(converted(int(kind is CumulativeProdOp), element(made)), first)
    return op.concat([start, made], axis=at)


def _complex_products(x: Any, axis: int, exclusive: bool, reverse: bool) -> Any:
    """The products of all elements up to each one, of twice as many elements step by step."""

    def part(x: Any, start: int | None, stop: int | None) -> Any:
        return x[(*[slice(None)] * axis, slice(start, stop))]

    def joined(*parts: Any) -> Any:
        return op.concat([*parts], axis=axis)

    made, count, done = (op.flip(x, axis=[axis]) if reverse else x), x.shape[axis], 1
    while done < count:
        rest = part(made, done, None) * part(made, None, count - done)
        made, done = joined(part(made, None, done), rest), 2 * done
    if exclusive and count:
        first = [1 if d == axis else n for d, n in enumerate(x.shape)]
        made = joined(broadcast_to(converted(1, element(x)), first), part(made, None, count - 1))
    return op.flip(made, axis=[axis]) if reverse else made


def _running(name: str, function: Callable[..., Any], other: float | None = None) -> Any:
    def running(a: Any, axis: int | None = None, dtype: Any = None, out: None = None) -> Tracer:
        x: Any = lifted(a)
        if other is not None:
            x = _where(op.isnan(x), other, x)
        return function(reshape(x, -1) if axis is None else x, axis or 0, dtype)

    running.__name__ = name
    running.__doc__ = f"`{function.__name__}` along `axis`, of the flattened array where None."
    return running


cumsum, cumprod = _running("cumsum", cumulative_sum), _running("cumprod", cumulative_prod)
nancumsum = _running("nancumsum", cumulative_sum, 0)
nancumprod = _running("nancumprod", cumulative_prod, 1)

FUNCTIONS: tuple[Callable[..., Any], ...] = (
    sum, prod, max, min, any, all, count_nonzero, mean, logsumexp, var, std, ptp, average, argmax,
    argmin, nansum, nanprod, nanmax, nanmin, nanargmax, nanargmin, nanmean, nanvar, nanstd,
    cumulative_sum, cumulative_prod, cumsum, cumprod, nancumsum, nancumprod,
)  # fmt: skip
