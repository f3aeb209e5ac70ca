"""gradir.numpy: arrays of regular numbers: ranges, grids, windows, triangles."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import numpy as np

from gradir.frontends.functions.arguments import floating, known, number, one_of
from gradir.frontends.functions.array_ops import op
from gradir.frontends.functions.creation import as_shape, eye
from gradir.frontends.functions.promotion import common_shape, converted, result_element
from gradir.frontends.functions.sugar import (
    pow,
)
from gradir.frontends.functions.sugar import (
    where as _where,
)
from gradir.frontends.functions.views import (
    broadcast_to,
    moveaxis,
    reshape,
)
from gradir.frontends.functions.wide import wide
from gradir.frontends.tracing.default_types import default_element
from gradir.frontends.tracing.source_locations import refusal
from gradir.frontends.tracing.spec import element_named
from gradir.frontends.tracing.tracer import Tracer
from gradir.frontends.tracing.tracing import constant, is_number, lifted


def linspace(
    start: Any, stop: Any, num: int = 50, endpoint: bool = True, retstep: bool = False,
    dtype: Any = None, axis: int = 0,
) -> Any:  # fmt: skip
    """`num` numbers at equal distances from start to stop, along a new axis; and the distance.

    vjp: also to start and stop
    """
    count = number(num, "linspace: num")
    if count < 0:
        raise refusal(f"linspace: num must not be negative, got {num}")
    kind = default_element(float) if dtype is None else element_named(dtype)
    parts = count - 1 if endpoint else count
    if not isinstance(start, Tracer) and not isinstance(stop, Tracer):
        made = cast(Any, np).linspace(start, stop, count, endpoint=endpoint, axis=axis)
        is_plain = dtype is not None or (is_number(start) and is_number(stop))
        made = constant(made, kind if is_plain else None)
        distance: Any = (lifted(stop) - lifted(start)) / (parts or np.nan)
        return (made, distance) if retstep else made
    low, high = floating(start), floating(stop)
    shape = common_shape("linspace", [low, high])
    common = result_element([low, high])[0]
    low, high = wide(low), wide(high)
    width: Any = high - low
    steps = reshape(lifted(np.arange(count)), [count, *[1] * len(shape)]).astype(width.dtype)
    made = low + steps * (width / (parts or 1))
    if endpoint and count > 1:
        made = _where(lifted(np.arange(count) == parts).reshape(steps.shape), high, made)
    made = moveaxis(made, 0, axis)
    made = converted(made, common if dtype is None else kind)
    return (made, converted(width / (parts or np.nan), common)) if retstep else made


def logspace(
    start: Any, stop: Any, num: int = 50, endpoint: bool = True, base: Any = 10.0,
    dtype: Any = None, axis: int = 0,
) -> Any:  # fmt: skip
    """base to the powers of `linspace`."""
    made = pow(floating(base), linspace(start, stop, num, endpoint, axis=axis))
    return made if dtype is None else converted(made, element_named(dtype))


def geomspace(
    start: Any, stop: Any, num: int = 50, endpoint: bool = True, dtype: Any = None, axis: int = 0
) -> Any:
    """`num` numbers with equal ratios from start to stop, which have one sign."""
    low, high = floating(start), floating(stop)
    kind = result_element([low, high])[0] if dtype is None else element_named(dtype)
    low, high = wide(low), wide(high)
    steps = linspace(0.0, 1.0, num, endpoint)
    shape = common_shape("geomspace", [low, high])
    steps = reshape(steps, [steps.size, *[1] * len(shape)]).astype((low * high).dtype)
    made = low * op.exp(op.log(high / low) * steps)
    made = _where(op.equal(steps, 1), high, _where(op.equal(steps, 0), low, made))
    return converted(moveaxis(made, 0, axis), kind)


def identity(n: int, dtype: Any = None) -> Tracer:
    """The unit matrix."""
    return eye(number(n, "identity: n"), dtype=dtype)


def tri(N: int, M: int | None = None, k: int = 0, dtype: Any = None) -> Tracer:
    """Ones on and below the diagonal number k, zeros above."""
    kind = default_element(float) if dtype is None else element_named(dtype)
    return constant(np.tri(N, M, k), kind)


def _triangle(name: str) -> Callable[..., Any]:
    def triangle(m: Any, k: int = 0) -> Tracer:
        x: Any = lifted(m)
        if x.ndim == 1:
            x = broadcast_to(x, (x.size, x.size))
        return getattr(op, name)(x, k=number(k, f"{name}: k"))

    triangle.__name__, triangle.__doc__ = name, getattr(op, name).__doc__
    return triangle


tril, triu = _triangle("tril"), _triangle("triu")


def meshgrid(*xi: Any, copy: bool = True, sparse: bool = False, indexing: str = "xy") -> Any:
    """Vectors as the coordinates of a grid, an array for each; "ij" has the axes in order."""
    one_of(indexing, "meshgrid: indexing", ("xy", "ij"))
    vectors = [reshape(x, -1) for x in xi]
    order = list(range(len(vectors)))
    if indexing == "xy" and len(order) > 1:
        order[:2] = [1, 0]
    spread = [
        reshape(v, [-1 if d == order[k] else 1 for d in range(len(vectors))])
        for k, v in enumerate(vectors)
    ]
    shape = common_shape("meshgrid", spread)
    return tuple(spread) if sparse else tuple(broadcast_to(v, shape) for v in spread)


def ix_(*args: Any) -> tuple[Any, ...]:
    """Vectors as indices of a grid: each along its own axis."""
    if not any(isinstance(a, Tracer) for a in args):
        return np.ix_(*args)
    rank = len(args)
    return tuple(reshape(a, [-1 if d == k else 1 for d in range(rank)]) for k, a in enumerate(args))


def from_numpy(name: str) -> Callable[..., Any]:
    """A function of NumPy whose arguments are known while tracing: places, as NumPy's arrays."""
    inner = getattr(np, name)

    def places(*args: Any, **kwargs: Any) -> Any:
        return inner(*[_plain(a, name) for a in args], **kwargs)

    places.__name__ = name
    places.__doc__ = f"NumPy's own {name}, of arguments that are known while tracing."
    return places


def _plain(value: Any, name: str) -> Any:
    """An array without values for one whose shape alone counts."""
    if isinstance(value, Tracer):
        if name.endswith("_from"):
            return np.broadcast_to(np.empty((), value.dtype), value.shape)
        known(value, name)
    return value


def _window(name: str) -> Callable[..., Any]:
    inner = getattr(np, name)

    def window(M: int, *more: Any) -> Tracer:
        return constant(inner(number(M, name), *[known(m, name)[()] for m in more]))

    window.__name__, window.__doc__ = name, f"NumPy's {name} window of M points, float64."
    return window


def fromfunction(
    function: Callable[..., Any], shape: Any, *, dtype: Any = float, **kwargs: Any
) -> Any:
    """The function of the places along each axis of a shape."""
    grid = [lifted(each) for each in np.indices(as_shape(shape), dtype=dtype)]
    return function(*grid, **kwargs)


FUNCTIONS: tuple[Callable[..., Any], ...] = (
    linspace, logspace, geomspace, identity, tri, tril, triu, meshgrid, ix_, fromfunction,
    *map(_window, ("bartlett", "blackman", "hamming", "hanning", "kaiser")),
    *map(from_numpy, ("tril_indices", "triu_indices", "tril_indices_from", "triu_indices_from",
                      "diag_indices", "diag_indices_from", "mask_indices", "indices")),
)  # fmt: skip
