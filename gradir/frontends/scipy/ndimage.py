"""gradir.scipy.ndimage: linear filters of arrays of any rank, as SciPy has them.

Arrays are floating. Filters along one axis are products with a vector of weights; weights may be
traced, sizes and sigmas are known.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

import gradir.frontends.functions.nn as nn
import gradir.frontends.functions.numpy as gnp
from gradir.frontends.functions.arguments import axes_of, floating, known, one_of
from gradir.frontends.functions.missing_names import missing
from gradir.frontends.scipy.names import published
from gradir.frontends.tracing.source_locations import refusal
from gradir.frontends.tracing.tracer import Tracer

_MODES = {
    "reflect": "symmetric", "grid-mirror": "symmetric", "constant": "constant",
    "grid-constant": "constant", "nearest": "edge", "mirror": "reflect", "wrap": "wrap",
    "grid-wrap": "wrap",
}  # fmt: skip
"""SciPy's names of borders, and numpy.pad's."""
_CONVOLUTIONS = {1: "conv1d", 2: "conv2d", 3: "conv3d"}


def correlate1d(
    input: Any, weights: Any, axis: int = -1, output: None = None, mode: str = "reflect",
    cval: float = 0.0, origin: int = 0,
) -> Tracer:  # fmt: skip
    """y[i] = the sum over k of weights[k] * x[i + k - size // 2 - origin], along an axis."""
    _no_output("correlate1d", output)
    x, kernel = floating(input), gnp.asarray(weights)
    if kernel.ndim != 1 or not kernel.shape[0]:
        raise refusal(f"correlate1d: weights must be a vector with elements, got {kernel!r}")
    size = kernel.shape[0]
    before = _before("correlate1d", size, origin)
    [at] = axes_of(x, axis)
    moved = gnp.moveaxis(x, at, -1)
    rows = moved.reshape(prod(moved.shape[:-1]), moved.shape[-1])
    wide = _bordered(rows, [(0, 0), (before, size - 1 - before)], mode, cval)
    made = nn.conv1d(wide[:, None], kernel.astype(x.dtype)[None, None])
    return gnp.moveaxis(made.reshape(moved.shape), -1, at)


def convolve1d(
    input: Any, weights: Any, axis: int = -1, output: None = None, mode: str = "reflect",
    cval: float = 0.0, origin: int = 0,
) -> Tracer:  # fmt: skip
    """`correlate1d` with the weights from end to beginning."""
    kernel = gnp.flip(gnp.asarray(weights))
    origin = -origin - (1 - kernel.shape[0] % 2)
    return correlate1d(input, kernel, axis, output, mode, cval, origin)


def correlate(
    input: Any, weights: Any, output: None = None, mode: str = "reflect", cval: float = 0.0,
    origin: Any = 0,
) -> Tracer:  # fmt: skip
    """`correlate1d` with weights of the rank of the array, one to three axes."""
    _no_output("correlate", output)
    x, kernel = floating(input), gnp.asarray(weights)
    if x.ndim != kernel.ndim or x.ndim not in _CONVOLUTIONS or not kernel.size:
        raise refusal(
            "correlate: expected weights of the rank of the array, 1 to 3, got "
            f"{kernel!r} for {x!r}"
        )
    befores = [
        _before("correlate", n, o)
        for n, o in zip(kernel.shape, _each("origin", origin, x.ndim), strict=True)
    ]
    widths = [(b, n - 1 - b) for b, n in zip(befores, kernel.shape, strict=True)]
    wide = _bordered(x, widths, mode, cval)
    convolution = getattr(nn, _CONVOLUTIONS[x.ndim])
    return convolution(wide[None, None], kernel.astype(x.dtype)[None, None])[0, 0]


def convolve(
    input: Any, weights: Any, output: None = None, mode: str = "reflect", cval: float = 0.0,
    origin: Any = 0,
) -> Tracer:  # fmt: skip
    """`correlate` with the weights from end to beginning along each axis."""
    kernel = gnp.flip(gnp.asarray(weights))
    origins = _each("origin", origin, kernel.ndim)
    turned = [-o - (1 - n % 2) for o, n in zip(origins, kernel.shape, strict=True)]
    return correlate(input, kernel, output, mode, cval, turned)


def gaussian_filter1d(
    input: Any, sigma: float, axis: int = -1, order: int = 0, output: None = None,
    mode: str = "reflect", cval: float = 0.0, truncate: float = 4.0, *, radius: Any = None,
) -> Tracer:  # fmt: skip
    """The array smoothed by a normal density, or by its derivative of an order, along an axis."""
    width = float(known(sigma, "gaussian_filter1d: sigma"))
    reach = int(truncate * width + 0.5) if radius is None else int(radius)
    if width <= 0 or reach < 0 or order < 0:
        raise refusal(
            f"gaussian_filter1d: sigma must be positive, radius and order at least 0, got {sigma}, "
            f"{radius} and {order}"
        )
    return correlate1d(input, _density(width, order, reach)[::-1], axis, output, mode, cval)


def _density(sigma: float, order: int, radius: int) -> Any:
    """The weights: a normal density, times the polynomial of its derivative."""
    x = np.arange(-radius, radius + 1)
    weights = np.exp(-0.5 / sigma**2 * x**2)
    weights = weights / weights.sum()
    factor = np.polynomial.Polynomial([1.0])
    for _ in range(order):
        factor = factor.deriv() - factor * np.polynomial.Polynomial([0.0, 1 / sigma**2])
    return weights * factor(x)


def gaussian_filter(
    input: Any, sigma: Any, order: Any = 0, output: None = None, mode: str = "reflect",
    cval: float = 0.0, truncate: float = 4.0, *, radius: Any = None, axes: Any = None,
) -> Tracer:  # fmt: skip
    """`gaussian_filter1d` along all axes, or `axes`, with a sigma and an order for each."""
    x = floating(input)
    places = axes_of(x, axes)
    sigmas, orders = _each("sigma", sigma, len(places)), _each("order", order, len(places))
    reaches = [None] * len(places) if radius is None else _each("radius", radius, len(places))
    for axis, s, k, r in zip(places, sigmas, orders, reaches, strict=True):
        if s > 1e-15:
            x = gaussian_filter1d(x, s, axis, k, output, mode, cval, truncate, radius=r)
    return x


def uniform_filter1d(
    input: Any, size: int, axis: int = -1, output: None = None, mode: str = "reflect",
    cval: float = 0.0, origin: int = 0,
) -> Tracer:  # fmt: skip
    """The mean of `size` neighbours along an axis."""
    if size < 1:
        raise refusal(f"uniform_filter1d: size must be at least 1, got {size}")
    return correlate1d(input, np.full(size, 1 / size), axis, output, mode, cval, origin)


def uniform_filter(
    input: Any, size: Any = 3, output: None = None, mode: str = "reflect", cval: float = 0.0,
    origin: Any = 0, *, axes: Any = None,
) -> Tracer:  # fmt: skip
    """`uniform_filter1d` along all axes, or `axes`."""
    x = floating(input)
    places = axes_of(x, axes)
    sizes, origins = _each("size", size, len(places)), _each("origin", origin, len(places))
    for axis, n, o in zip(places, sizes, origins, strict=True):
        x = uniform_filter1d(x, n, axis, output, mode, cval, o)
    return x


def _edges(name: str, around: Sequence[float]) -> Callable[..., Tracer]:
    def edges(
        input: Any, axis: int = -1, output: None = None, mode: str = "reflect", cval: float = 0.0
    ) -> Tracer:
        x = floating(input)
        [at] = axes_of(x, axis)
        made = correlate1d(x, [-1.0, 0.0, 1.0], at, output, mode, cval)
        for other in range(x.ndim):
            if other != at:
                made = correlate1d(made, around, other, output, mode, cval)
        return made

    edges.__name__ = name
    edges.__doc__ = f"Differences along an axis, and sums by {list(around)} along all others."
    return edges


def laplace(input: Any, output: None = None, mode: str = "reflect", cval: float = 0.0) -> Tracer:
    """The sum of second differences along all axes."""
    x = floating(input)
    parts = [correlate1d(x, [1.0, -2.0, 1.0], d, output, mode, cval) for d in range(x.ndim)]
    return sum(parts[1:], parts[0])


def gaussian_laplace(
    input: Any, sigma: Any, output: None = None, mode: str = "reflect", cval: float = 0.0
) -> Tracer:
    """The sum of second derivatives along all axes, by derivatives of a normal density."""
    parts = _derivatives(floating(input), sigma, 2, output, mode, cval)
    return sum(parts[1:], parts[0])


def gaussian_gradient_magnitude(
    input: Any, sigma: Any, output: None = None, mode: str = "reflect", cval: float = 0.0
) -> Tracer:
    """The norm of the gradient, by derivatives of a normal density.   vjp: 0 where it is 0"""
    parts = _derivatives(floating(input), sigma, 1, output, mode, cval)
    return gnp.linalg.norm(gnp.stack(parts), axis=0)


def _derivatives(
    x: Tracer, sigma: Any, order: int, output: None, mode: str, cval: float
) -> list[Any]:
    """The derivative of an order along each axis."""
    if not x.ndim:
        raise refusal("gaussian derivative: expected an array of rank >= 1, got one of rank 0")
    return [
        gaussian_filter(x, sigma, [order * (k == d) for k in range(x.ndim)], output, mode, cval)
        for d in range(x.ndim)
    ]


def _bordered(x: Tracer, widths: Sequence[tuple[int, int]], mode: str, cval: float) -> Any:
    one_of(mode, "mode", tuple(_MODES))
    theirs = _MODES[mode]
    if theirs == "constant":
        return gnp.pad(x, widths, "constant", constant_values=cval)
    return gnp.pad(x, widths, theirs)


def _before(name: str, size: int, origin: int) -> int:
    """How many elements of the border lie before the array."""
    before = size // 2 + origin
    if not 0 <= before < size:
        raise refusal(f"{name}: origin must leave the element within {size} weights, got {origin}")
    return before


def _each(name: str, given: Any, count: int) -> list[Any]:
    """A value for each axis."""
    values = known(given, name).tolist() if not isinstance(given, (list, tuple)) else list(given)
    values = values if isinstance(values, list) else [values] * count
    if len(values) != count:
        raise refusal(f"{name}: expected one value or {count}, one for each axis, got {given!r}")
    return values


def _no_output(name: str, output: object) -> None:
    if output is not None:
        raise refusal(f"{name}: output is for arrays with values; write y = {name}(...)")


_ORDER = "it chooses by order: numpy.lib.stride_tricks.sliding_window_view with max, min or median"
_PLACES = "it reads between elements: gradir.nn.grid_sample and gradir.numpy.interp are there"
_LABELS = "its result is made of integers or truths, which have no derivatives: scipy.ndimage"
ABSENT: dict[str, str] = {
    **dict.fromkeys(
        "maximum_filter maximum_filter1d minimum_filter minimum_filter1d median_filter rank_filter "
        "percentile_filter vectorized_filter grey_dilation grey_erosion grey_opening grey_closing "
        "morphological_gradient morphological_laplace white_tophat black_tophat".split(),
        _ORDER,
    ),
    **dict.fromkeys(
        "map_coordinates affine_transform geometric_transform rotate shift zoom spline_filter "
        "spline_filter1d".split(),
        _PLACES,
    ),
    **dict.fromkeys(
        "label find_objects binary_closing binary_dilation binary_erosion binary_fill_holes "
        "binary_hit_or_miss binary_opening binary_propagation distance_transform_edt "
        "distance_transform_bf distance_transform_cdt watershed_ift value_indices "
        "generate_binary_structure iterate_structure".split(),
        _LABELS,
    ),
    **dict.fromkeys(
        "sum_labels sum mean variance standard_deviation minimum maximum median extrema "
        "minimum_position maximum_position center_of_mass histogram labeled_comprehension".split(),
        "sums by labels are gradir.numpy.bincount and segment_sum",
    ),
    **dict.fromkeys(
        "fourier_ellipsoid fourier_gaussian fourier_shift fourier_uniform".split(),
        "there is no Fourier transform",
    ),
    **dict.fromkeys(
        "generic_filter generic_filter1d generic_gradient_magnitude generic_laplace".split(),
        "it calls a function of Python for each element",
    ),
}
"""SciPy's names that are not here, and why."""

FUNCTIONS = (
    correlate1d, convolve1d, correlate, convolve, gaussian_filter1d, gaussian_filter,
    uniform_filter1d, uniform_filter, _edges("sobel", (1.0, 2.0, 1.0)),
    _edges("prewitt", (1.0, 1.0, 1.0)), laplace, gaussian_laplace, gaussian_gradient_magnitude,
)  # fmt: skip
BY_NAME = published(FUNCTIONS, "gradir.scipy.ndimage")
globals().update(BY_NAME)

if TYPE_CHECKING:

    def __getattr__(name: str) -> Any: ...

else:
    __getattr__ = missing("gradir.scipy.ndimage", ABSENT)

__all__ = [*BY_NAME]
