"""gradir.numpy.pad: NumPy's modes. Borders that repeat elements of x are reads at known places."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import numpy as np

from gradir.frontends.functions.arguments import floating, known, one_of
from gradir.frontends.functions.array_ops import op
from gradir.frontends.functions.promotion import converted, operand
from gradir.frontends.functions.quantiles import median
from gradir.frontends.functions.reductions import max, mean, min
from gradir.frontends.functions.sugar import (
    take,
    tensordot,
)
from gradir.frontends.functions.views import (
    broadcast_to,
    moveaxis,
)
from gradir.frontends.tracing.default_precision import in_own_precision
from gradir.frontends.tracing.source_locations import refusal
from gradir.frontends.tracing.tracer import Tracer
from gradir.frontends.tracing.tracing import element, lifted

_REDUCED = {"maximum": max, "minimum": min, "mean": mean, "median": median}
_PLACES = ("edge", "reflect", "symmetric", "wrap")
_OPTIONS = {
    "constant": ("constant_values",), "linear_ramp": ("end_values",), "reflect": ("reflect_type",),
    "symmetric": ("reflect_type",), **dict.fromkeys(_REDUCED, ("stat_length",)),
}  # fmt: skip


def pad(array: Any, pad_width: Any, mode: Any = "constant", **kwargs: Any) -> Tracer:
    """x with pad_width[d] = (before, after) elements around it along each axis d.

    mode: "constant" (`constant_values`), "edge", "reflect", "symmetric", "wrap", "linear_ramp" to
        `end_values`, "maximum", "minimum", "mean" or "median" (of `stat_length` elements), "empty".
    pad_width, as the options, is one number, a pair for all axes, or a pair for each. vjp: the
    slice of ct over x; an element that is repeated gets the sum of its copies
    """
    x = lifted(array)
    one_of(mode, "pad: mode", ("constant", "empty", *_PLACES, "linear_ramp", *_REDUCED))
    for name in kwargs:
        if name not in _OPTIONS.get(mode, ()):
            options = ", ".join(_OPTIONS.get(mode, ())) or "none"
            raise refusal(f"pad: unknown argument {name} of mode {mode!r}; known: {options}")
    widths = _widths(x, pad_width)
    if mode in _PLACES:
        return _of_places(x, widths, mode, kwargs.get("reflect_type", "even"))
    for axis, width in enumerate(widths):
        x = _extended(x, axis, width, mode, kwargs)
    return x


def _widths(x: Tracer, given: Any) -> list[tuple[int, int]]:
    if isinstance(given, dict):
        rows: Any = [(0, 0)] * x.ndim
        for axis, width in cast(dict[int, Any], given).items():
            rows[axis] = width if isinstance(width, tuple) else (width, width)
        given = rows
    widths = _per_axis(x, known(given, "pad: pad_width"), "pad_width")
    if widths.dtype.kind not in "iu" or (widths < 0).any():
        raise refusal(f"pad: pad_width must be integers >= 0, got {given!r}")
    return [(int(before), int(after)) for before, after in widths.tolist()]


def _per_axis(x: Tracer, given: Any, what: str) -> Any:
    """Numbers before and after each axis."""
    try:
        return np.broadcast_to(given, (x.ndim, 2))
    except ValueError:
        raise refusal(
            f"pad: {what} must be one number, a pair, or a pair for each of {x.ndim} axes, "
            f"got {given!r}"
        ) from None


def _of_places(x: Tracer, widths: Any, mode: str, kind: str) -> Tracer:
    one_of(kind, "pad: reflect_type", ("even", "odd"))
    for axis, (before, after) in enumerate(widths):
        if not before and not after:
            continue
        n = x.shape[axis]
        if not n:
            raise refusal(f"pad: an axis of extent 0 has no elements for mode {mode!r}")
        if kind == "odd" and mode in ("reflect", "symmetric"):
            x = _reflected_oddly(x, axis, (before, after), mode)
        else:
            x = take(x, np.pad(np.arange(n), (before, after), cast(Any, mode)), axis)
    return x


@in_own_precision
def _reflected_oddly(x: Tracer, axis: int, widths: tuple[int, int], mode: str) -> Tracer:
    """2 * edge - the mirrored element: a linear function, whose matrix NumPy has."""
    rows = np.eye(x.shape[axis])
    matrix: list[Any] = [np.pad(row, widths, cast(Any, mode), reflect_type="odd") for row in rows]
    product = tensordot(x, lifted(np.array(matrix)).astype(x.dtype), ([axis], [0]))
    return moveaxis(product, -1, axis)


def _extended(x: Any, axis: int, width: tuple[int, int], mode: str, options: Any) -> Tracer:
    """x with the elements of a mode before and after one axis."""
    if not any(width):
        return x
    parts: list[Any] = [x]
    for side, count in enumerate(width):
        shape = [count if d == axis else n for d, n in enumerate(x.shape)]
        if mode in _REDUCED:
            lengths = options.get("stat_length")
            length = (
                None if lengths is None else int(_per_axis(x, lengths, "stat_length")[axis][side])
            )
            made: Any = broadcast_to(_reduced(x, axis, side, mode, length), shape)
        else:
            name = _OPTIONS.get(mode, ("none",))[0]
            end = converted(_value(x, options.get(name, 0), axis, side), element(x))
            made = broadcast_to(end, shape)
            if mode == "linear_ramp":
                made = _ramp(x, axis, side, count, made)
        parts.insert(0 if side == 0 else len(parts), made)
    return op.concat(parts, axis=axis)


def _value(x: Tracer, given: Any, axis: int, side: int) -> Any:
    """The number of one border."""
    if isinstance(given, Tracer):
        return given if given.ndim == 0 else broadcast_to(given, (x.ndim, 2))[axis, side]
    return operand(_per_axis(x, given, "values")[axis][side].item())


def _edge(x: Any, axis: int, side: int, length: int | None) -> Any:
    n = x.shape[axis]
    count = n if length is None else length if length < n else n
    part = slice(0, count) if side == 0 else slice(n - count, n)
    return x[(*[slice(None)] * axis, part)]


def _reduced(x: Any, axis: int, side: int, mode: str, length: int | None) -> Any:
    made = _REDUCED[mode](_edge(x, axis, side, length), axis, keepdims=True)
    is_rounded = element(made) != element(x)
    return converted(op.round(made) if is_rounded else made, element(x))


def _ramp(x: Any, axis: int, side: int, count: int, end: Any) -> Any:
    """From the edge, which is left out, to the end."""
    shares = np.arange(count) / count if side == 0 else np.arange(1, count + 1) / count
    shape = [count if d == axis else 1 for d in range(x.ndim)]
    edge: Any = floating(_edge(x, axis, side, 1))
    steps = lifted(shares.reshape(shape)).astype(edge.dtype)
    share = steps if side else 1 - steps
    return converted(edge + (end - edge) * share, element(x))


FUNCTIONS: tuple[Callable[..., Any], ...] = (pad,)
