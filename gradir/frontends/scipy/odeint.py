"""gradir.scipy.integrate.odeint: ordinary differential equations by Dormand and Prince's pair.

Runge-Kutta steps of order 5 with an error estimate of order 4 (Dormand & Prince, "A family of
embedded Runge-Kutta formulae", J. Comp. Appl. Math. 6, 1980), in a while_loop whose steps end at
each time of t. The lengths of steps are constants to derivatives, but for those that end at a time:
the gradient differentiates the steps taken.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

import gradir.frontends.functions.numpy as gnp
from gradir.frontends.functions.arguments import floating
from gradir.frontends.tracing.callbacks import call_user
from gradir.frontends.tracing.source_locations import public, refusal
from gradir.frontends.tracing.tracing import tracing
from gradir.frontends.transforms.flow import scan, while_loop
from gradir.frontends.transforms.jit import jit
from gradir.frontends.transforms.markers import no_grad
from gradir.nearest import unknown_argument

_STAGES: tuple[tuple[float, ...], ...] = (
    (1 / 5,),
    (3 / 40, 9 / 40),
    (44 / 45, -56 / 15, 32 / 9),
    (19372 / 6561, -25360 / 2187, 64448 / 6561, -212 / 729),
    (9017 / 3168, -355 / 33, 46732 / 5247, 49 / 176, -5103 / 18656),
    (35 / 384, 0.0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84),
)
_PLACES = (1 / 5, 3 / 10, 4 / 5, 8 / 9, 1.0, 1.0)
_ERROR = (71 / 57600, 0.0, -71 / 16695, 71 / 1920, -17253 / 339200, 22 / 525, -1 / 40)
"""The result of order 5 less the result of order 4."""
_TOLERANCE = 1.49012e-8
_SAFETY, _LEAST, _MOST = 0.9, 0.2, 10.0
"""Of the next step over this one: the share that is taken, and its bounds."""


def _step(f: Callable[..., Any], y: Any, slope: Any, t: Any, h: Any) -> tuple[Any, Any, Any]:
    """y after a step, its slope, and the estimate of the error."""
    slopes = [slope]
    after = y
    for place, weights in zip(_PLACES, _STAGES, strict=True):
        after = y + h * _weighed(weights, slopes)
        slopes.append(f(after, t + place * h))
    return after, slopes[-1], h * _weighed(_ERROR, slopes)


def _weighed(weights: tuple[float, ...], slopes: list[Any]) -> Any:
    total: Any = 0.0
    for weight, slope in zip(weights, slopes, strict=True):
        total = total + weight * slope if weight else total
    return total


def _size(x: Any, y: Any, rtol: Any, atol: Any) -> Any:
    """The root of the mean square of x over the tolerances at y; 1 is just allowed."""
    return gnp.sqrt(gnp.mean(gnp.square(x / (atol + rtol * gnp.abs(y))))) if x.size else x.sum()


def _first_step(f: Callable[..., Any], y: Any, t: Any, way: Any, rtol: Any, atol: Any) -> Any:
    """A length to begin with (Hairer, Norsett & Wanner, "Solving ODEs I", II.4)."""
    slope = f(y, t)
    level, rise = _size(y, y, rtol, atol), _size(slope, y, rtol, atol)
    is_flat = gnp.logical_or(level < 1e-5, rise < 1e-5)
    h = gnp.where(is_flat, 1e-6, 0.01 * level / gnp.where(is_flat, 1.0, rise))
    ahead = f(y + way * h * slope, t + way * h)
    bend = gnp.maximum(rise, _size(ahead - slope, y, rtol, atol) / h)
    is_straight = bend <= 1e-15
    other = (0.01 / gnp.where(is_straight, 1.0, bend)) ** 0.2
    other = gnp.where(is_straight, gnp.maximum(1e-6, h * 1e-3), other)
    return gnp.minimum(100 * h, other)


def _interval(f: Callable[..., Any], options: Any, state: Any, end: Any) -> tuple[Any, Any]:
    """From the time in the state to the end: steps while it is apart."""
    rtol, atol, longest, most = options
    y, slope, begin, length = state
    way = no_grad(gnp.sign(end - begin))

    def goes_on(inner: Any) -> Any:
        _, _, t, length, count = inner
        is_apart = (end - t) * way > 0
        return gnp.logical_and(is_apart, gnp.logical_and(count < most, length == length))

    def step(inner: Any) -> Any:
        y, slope, t, length, count = inner
        left = end - t
        is_last = gnp.abs(left) <= length * (1 + 1e-12)
        h = gnp.where(is_last, left, way * length)
        after, slope_after, error = _step(f, y, slope, t, h)
        larger = gnp.maximum(gnp.abs(y), gnp.abs(after))
        size = no_grad(_size(error, larger, rtol, atol))
        is_taken = size <= 1
        factor = _SAFETY * gnp.where(size == 0, 1e-10, size) ** -0.2
        following = no_grad(gnp.abs(h)) * gnp.clip(factor, _LEAST, _MOST)
        # a step cut short by the end says little about the length of others
        following = gnp.where(
            gnp.logical_and(is_last, is_taken), gnp.maximum(following, length), following
        )
        following = gnp.minimum(following, longest)
        stop = gnp.where(is_last, end, t + h)
        return (
            gnp.where(is_taken, after, y),
            gnp.where(is_taken, slope_after, slope),
            gnp.where(is_taken, stop, t),
            following,
            count + 1,
        )

    y, slope, t, length, _ = while_loop(goes_on, step, (y, slope, begin, length, 0))
    y = gnp.where((end - t) * way > 0, np.nan, y)
    return (y, slope, end, length), y


def _solved(func: Any, options: Any, y0: Any, t: Any, args: Any, tfirst: bool) -> Any:
    rtol, atol, longest, first, most = options
    y, times = floating(y0), floating(t)
    if y.ndim > 1:
        raise refusal(f"odeint: y0 must be a vector, got {y!r}")
    if times.ndim != 1 or not times.size:
        raise refusal(f"odeint: t must be a vector of times, got {times!r}")
    kind = gnp.result_type(y, times, *(a for a in args if hasattr(a, "dtype")))
    y, times = gnp.atleast_1d(y).astype(kind), times.astype(kind)

    def f(y: Any, t: Any) -> Any:
        found = call_user("odeint", func, *((t, y) if tfirst else (y, t)), *args)
        made = gnp.atleast_1d(gnp.asarray(found)).astype(kind)
        if made.shape != y.shape:
            raise refusal(f"odeint: func must return the slope of y, {y!r}, got {made!r}")
        return made

    if times.size == 1:
        return y[None]
    way = no_grad(gnp.sign(times[1] - times[0]))
    length = no_grad(_first_step(f, no_grad(y), no_grad(times[0]), way, rtol, atol))
    length = gnp.minimum(length if first == 0 else first, longest).astype(kind)
    init = y, f(y, times[0]), times[0], length
    limits = rtol, atol, longest, most
    _, rows = scan(partial(_interval, f, limits), init, times[1:])
    return gnp.concatenate([y[None], rows])


@public
def odeint(
    func: Callable[..., Any], y0: Any, t: Any, args: Any = (), *, rtol: Any = None,
    atol: Any = None, h0: float = 0.0, hmax: float = 0.0, mxstep: int = 0, tfirst: bool = False,
    **others: Any,
) -> Any:  # fmt: skip
    """The solution of dy/dt = func(y, t, *args) with y(t[0]) = y0, at the times t, as rows.

    y0: a vector; t: rising or falling times; args: further arguments of func, arrays too. func is
    traced. rtol, atol: the error allowed in a step is rtol * |y| + atol, each 1.49012e-8 by
    default. h0: the length of the first step; hmax: of the longest. mxstep: the most steps between
    two times, 0 for 100000; where they do not suffice, as where the problem is stiff, the rows from
    there on are nan. Derivatives are by y0, t, args and all that func captures while tracing, of
    any order; each keeps the steps: use gradir.checkpoint around parts of long solutions.
    """
    listed = ["rtol", "atol", "h0", "hmax", "mxstep", "tfirst"]
    if wrong := unknown_argument("odeint", others, listed):
        raise refusal(wrong)
    args = args if isinstance(args, tuple) else (args,)
    options = (
        _TOLERANCE if rtol is None else rtol,
        _TOLERANCE if atol is None else atol,
        float(hmax) or np.inf,
        float(h0),
        mxstep or 100_000,
    )
    if tracing() is not None:
        return _solved(func, options, y0, t, args, tfirst)
    return jit(lambda y0, t, args: _solved(func, options, y0, t, args, tfirst))(y0, t, args)
