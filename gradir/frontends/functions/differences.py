"""gradir.numpy: differences, gradients, integrals, interpolation and convolution along an axis."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import pi
from typing import Any

from gradir.dialects.array.elementwise import AddOp
from gradir.dialects.base.shapes import is_bool, is_float
from gradir.frontends.functions.affine import affine_gather
from gradir.frontends.functions.arguments import axes_of, axis_of, floating, number, one_of
from gradir.frontends.functions.array_ops import op
from gradir.frontends.functions.ordering import searchsorted
from gradir.frontends.functions.parts import conjugate
from gradir.frontends.functions.promotion import converted, result_element, unified
from gradir.frontends.functions.reductions import cumsum, sum
from gradir.frontends.functions.shapes import concatenate
from gradir.frontends.functions.sugar import (
    clip,
    where,
)
from gradir.frontends.functions.views import (
    broadcast_to,
    reshape,
)
from gradir.frontends.functions.wide import wide
from gradir.frontends.tracing.source_locations import refusal
from gradir.frontends.tracing.tracer import Tracer
from gradir.frontends.tracing.tracing import element, lifted


def part(x: Any, axis: int, start: int | None, stop: int | None, step: int | None = None) -> Any:
    """A slice along one axis."""
    return x[(*[slice(None)] * axis, slice(start, stop, step))]


def _with_ends(x: Any, axis: int, prepend: Any, append: Any) -> Any:
    parts = [x]
    for given, at in ((prepend, 0), (append, 2)):
        if given is not None:
            end = lifted(given)
            if not end.ndim:
                end = broadcast_to(end, [1 if d == axis else n for d, n in enumerate(x.shape)])
            parts.insert(at, end)
    return concatenate(parts, axis) if len(parts) > 1 else x


def diff(a: Any, n: int = 1, axis: int = -1, prepend: Any = None, append: Any = None) -> Tracer:
    """x[1:] - x[:-1] along an axis, n times; of bools `not_equal`."""
    x: Any = lifted(a)
    if number(n, "diff: n") < 0:
        raise refusal(f"diff: n must not be negative, got {n}")
    at = axis_of(x, axis)
    if not n:
        return x
    x = _with_ends(x, at, prepend, append)
    for _ in range(n):
        ahead, behind = part(x, at, 1, None), part(x, at, None, -1)
        x = op.not_equal(ahead, behind) if is_bool(element(x)) else ahead - behind
    return x


def ediff1d(ary: Any, to_end: Any = None, to_begin: Any = None) -> Tracer:
    """The differences of the elements in row-major order, with what stands around them."""
    parts = [diff(reshape(ary, -1))]
    if to_begin is not None:
        parts.insert(0, converted(reshape(to_begin, -1), element(parts[0])))
    if to_end is not None:
        parts.append(converted(reshape(to_end, -1), element(parts[0])))
    return concatenate(parts, 0)


def gradient(f: Any, *varargs: Any, axis: Any = None, edge_order: int = 1) -> Any:
    """Central differences inside, one-sided ones of `edge_order` 1 or 2 at the ends.

    varargs: no distance (1), one for all axes, or for each axis a distance or coordinates. A list
    for several axes.
    """
    x = floating(f)
    axes = axes_of(x, axis)
    one_of(edge_order, "gradient: edge_order", (1, 2))
    spaces: Sequence[Any] = varargs or (1.0,)
    if len(spaces) == 1:
        spaces = list(spaces) * len(axes)
    if len(spaces) != len(axes):
        raise refusal(
            f"gradient: a distance for each of {len(axes)} axes expected, got {varargs!r}"
        )
    made = [_slope(x, at, h, edge_order) for at, h in zip(axes, spaces, strict=True)]
    return made[0] if len(made) == 1 else tuple(made)


def _slope(x: Any, at: int, space: Any, order: int) -> Any:
    n = x.shape[at]
    if n < order + 1:
        raise refusal(f"gradient: {order + 1} elements along axis {at} expected, got {n}")
    space = converted(lifted(space), element(x))
    if space.ndim:
        if space.shape != (n,):
            raise refusal(f"gradient: {n} coordinates along axis {at} expected, got {space!r}")
        steps = reshape(diff(space), [-1 if d == at else 1 for d in range(x.ndim)])
    else:
        steps = broadcast_to(space, [n - 1 if d == at else 1 for d in range(x.ndim)])
    h0, h1 = part(steps, at, None, -1), part(steps, at, 1, None)
    before, here, after = part(x, at, None, -2), part(x, at, 1, -1), part(x, at, 2, None)
    if space.ndim:
        inner = (-h1 / (h0 * (h0 + h1)) * before + (h1 - h0) / (h0 * h1) * here
                 + h0 / (h1 * (h0 + h1)) * after)  # fmt: skip
    else:
        inner = (after - before) / (h0 * 2)
    return concatenate(
        [_end(x, steps, at, order, False), inner, _end(x, steps, at, order, True)], at
    )


def _end(x: Any, steps: Any, at: int, order: int, last: bool) -> Any:
    """The difference at the first element, or at the last one."""

    def one(values: Any, k: int) -> Any:
        k = values.shape[at] - 1 - k if last else k
        return part(values, at, k, k + 1)

    sign = -1 if last else 1
    if order == 1:
        return (one(x, 1) - one(x, 0)) / one(steps, 0) * sign
    h0, h1 = one(steps, 0), one(steps, 1)
    a, b, c = -(2 * h0 + h1) / (h0 * (h0 + h1)), (h0 + h1) / (h0 * h1), -h0 / (h1 * (h0 + h1))
    return (a * one(x, 0) + b * one(x, 1) + c * one(x, 2)) * sign


def trapezoid(y: Any, x: Any = None, dx: Any = 1.0, axis: int = -1) -> Tracer:
    """The integral by the trapezoidal rule along an axis, at distances dx or coordinates x."""
    values: Any = floating(y)
    at = axis_of(values, axis)
    widths: Any = lifted(dx)
    if x is not None:
        places = lifted(x)
        widths = diff(places) if places.ndim == 1 else diff(places, axis=at)
        if places.ndim == 1:
            widths = reshape(widths, [-1 if d == at else 1 for d in range(values.ndim)])
    kind = result_element([values, widths])[0]
    values = wide(values)
    pairs = part(values, at, 1, None) + part(values, at, None, -1)
    return converted(sum(widths * pairs / 2.0, at), kind)


def unwrap(p: Any, discont: Any = None, axis: int = -1, *, period: Any = 2 * pi) -> Tracer:
    """x plus multiples of the period, so that steps are at most half of it."""
    x: Any = lifted(p)
    at = axis_of(x, axis)
    steps: Any = diff(x, axis=at)
    whole = not is_float(element(steps)) and isinstance(period, int)
    half = period // 2 if whole else period / 2
    if discont is None:
        discont = half
    kept: Any = op.remainder(steps + half, period) - half
    if not whole or period % 2 == 0:
        kept = where(op.logical_and(op.equal(kept, -half), steps > 0), half, kept)
    moves = where(op.abs(steps) < discont, 0, kept - steps)
    first = part(x, at, None, 1)
    return concatenate([first, part(x, at, 1, None) + cumsum(moves, at)], at)


def interp(
    x: Any, xp: Any, fp: Any, left: Any = None, right: Any = None, period: Any = None
) -> Tracer:
    """The line through the points (xp, fp), xp ascending, at x; `left` and `right` beyond them.

    vjp: also to the points
    """
    places, xs, ys = (floating(each) for each in (x, xp, fp))
    (places, xs, ys), _ = unified(AddOp, [places, xs, ys])
    if xs.ndim != 1 or xs.shape != ys.shape or not xs.size:
        raise refusal(f"interp: xp and fp must be vectors of one extent, got {xs!r} and {ys!r}")
    if period is not None:
        places, xs, ys, left, right = _periodic(places, xs, ys, abs(period))
    return _between(places, xs, ys, left, right)


def _periodic(x: Any, xs: Any, ys: Any, period: Any) -> tuple[Any, ...]:
    x, xs = op.remainder(x, period), op.remainder(xs, period)
    order = op.argsort(xs, axis=0)
    xs, ys = xs[order], ys[order]
    xs = concatenate([xs[-1:] - period, xs, xs[:1] + period])
    return x, xs, concatenate([ys[-1:], ys, ys[:1]]), None, None


def _between(x: Any, xs: Any, ys: Any, left: Any, right: Any) -> Any:
    n = xs.shape[0]
    made = broadcast_to(ys[0], x.shape)
    if n > 1:
        after: Any = clip(searchsorted(xs, x, "right"), 1, n - 1)
        x0, y0 = xs[after - 1], ys[after - 1]
        width = xs[after] - x0
        is_step = op.equal(width, 0)
        share = (x - x0) / where(is_step, 1, width)
        made = where(is_step, ys[after], y0 + share * (ys[after] - y0))
    made = where(x < xs[0], ys[0] if left is None else left, made)
    made = where(x > xs[-1], ys[-1] if right is None else right, made)
    return where(op.isnan(x), x, made)


def convolve(a: Any, v: Any, mode: str = "full") -> Tracer:
    """y[k] = sum of a[i] * v[k - i]; "full", or "same" as the longer one, or "valid" overlaps."""
    x, y = _vectors(a, v, "convolve")
    if x.size < y.size:
        x, y = y, x
    return _correlated(x, op.flip(y), mode, "convolve")


def correlate(a: Any, v: Any, mode: str = "valid") -> Tracer:
    """y[k] = sum of a[k + i] * v[i], v conjugated; modes as of `convolve`."""
    x, y = _vectors(a, conjugate(v), "correlate")
    if x.size < y.size:
        return op.flip(_correlated(y, x, mode, "correlate"))
    return _correlated(x, y, mode, "correlate")


def _vectors(a: Any, v: Any, name: str) -> tuple[Any, Any]:
    (x, y), _ = unified(AddOp, [lifted(a), lifted(v)])
    x, y = (reshape(each, 1) if not each.ndim else each for each in (x, y))
    if x.ndim != 1 or y.ndim != 1 or not x.size or not y.size:
        raise refusal(f"{name}: expected two vectors with elements, got {x!r} and {y!r}")
    return x, y


def _correlated(x: Any, y: Any, mode: str, name: str) -> Any:
    """Sums of the shorter y at places over the longer x."""
    one_of(mode, f"{name}: mode", ("full", "same", "valid"))
    n, m = x.size, y.size
    ahead = {"full": m - 1, "same": m // 2, "valid": 0}[mode]
    count = {"full": n + m - 1, "same": n, "valid": n - m + 1}[mode]

    def place(i: Any, j: Any) -> tuple[Any]:
        return (i + j - ahead,)

    windows = affine_gather(x, place, (count, m), pad=0)
    return op.matmul(windows, y)


FUNCTIONS: tuple[Callable[..., Any], ...] = (
    diff, ediff1d, gradient, trapezoid, unwrap, interp, convolve, correlate,
)  # fmt: skip
