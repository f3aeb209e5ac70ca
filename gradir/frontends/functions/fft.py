"""gradir.numpy.fft: discrete Fourier transforms with NumPy's parameters and meanings."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import pi, sqrt
from typing import TYPE_CHECKING, Any

import numpy as np

from gradir.dialects.base.shapes import complex_element, real_element
from gradir.frontends.functions.arguments import (
    axes_of,
    axis_of,
    checked,
    floating,
    number,
    with_dtype,
)
from gradir.frontends.functions.array_ops import op
from gradir.frontends.functions.missing_names import missing
from gradir.frontends.functions.parts import conjugate, is_complex_array
from gradir.frontends.functions.promotion import converted
from gradir.frontends.functions.shapes import concatenate, flip, roll
from gradir.frontends.functions.standard import require_device
from gradir.frontends.tracing.eager import eager
from gradir.frontends.tracing.source_locations import refusal
from gradir.frontends.tracing.tracer import Tracer
from gradir.frontends.tracing.tracing import element, lifted

_NORMS = ("backward", "ortho", "forward")


def as_complex(a: Any) -> Any:
    """a as complex numbers: of float32 parts for narrower floats."""
    x = floating(a)
    return x if is_complex_array(x) else converted(x, complex_element(element(x)))


def real_numbers(name: str, a: Any) -> Any:
    """a as floats that complex numbers are made of; TraceError for complex ones."""
    x = floating(a)
    if is_complex_array(x):
        raise refusal(f"{name}: expected real numbers, got {x!r}; take x.real")
    return converted(x, real_element(complex_element(element(x))))


def norm_of(name: str, norm: Any) -> str:
    """The name of a norm, "backward" for None."""
    norm = "backward" if norm is None else norm
    if norm not in _NORMS:
        raise refusal(f'{name}: norm must be "backward", "ortho" or "forward", got {norm!r}')
    return norm


def _scale(name: str, norm: Any, n: int, inverse: bool) -> float:
    """The factor of a transform of n numbers."""
    norm = norm_of(name, norm)
    if norm == "ortho":
        return 1 / sqrt(n)
    return 1 / n if (norm == "backward") == inverse else 1.0


def length(name: str, n: Any, default: int) -> int:
    """The number of points of a transform."""
    found = default if n is None else number(n, f"{name}: n")
    if found < 1:
        raise refusal(f"{name}: there must be data points, got {found}")
    return found


def fitted(x: Any, n: int, axis: int) -> Any:
    """x cut to n elements along an axis, or with zeros behind."""
    extent = x.shape[axis]
    if n == extent:
        return x
    if n < extent:
        return x[tuple(slice(n) if d == axis else slice(None) for d in range(x.ndim))]
    high = [n - extent if d == axis else 0 for d in range(x.ndim)]
    return op.pad(x, low=[0] * x.ndim, high=high)


def _transform(name: str, a: Any, n: Any, axis: Any, norm: Any, inverse: bool) -> Any:
    x = as_complex(a)
    at = axis_of(x, axis)
    count = length(name, n, x.shape[at])
    scale = _scale(name, norm, count, inverse)
    made = op.fft(fitted(x, count, at), axis=at, inverse=inverse or None)
    return made if scale == 1.0 else _scaled(made, scale)


def _scaled(x: Any, scale: float) -> Any:
    """Complex numbers times a real one."""
    return op.complex(op.real(x) * scale, op.imag(x) * scale)


def fft(a: Any, n: Any = None, axis: Any = -1, norm: Any = None, out: None = None) -> Tracer:
    """The transform of n points along an axis, with exp(-2 pi i j k / n).

    a is cut, or zeros are put behind it, where n is given. vjp: the same transform of ct
    """
    return _transform("fft", a, n, axis, norm, False)


def ifft(a: Any, n: Any = None, axis: Any = -1, norm: Any = None, out: None = None) -> Tracer:
    """The inverse of `fft`.   vjp: the same transform of ct"""
    return _transform("ifft", a, n, axis, norm, True)


def rfft(a: Any, n: Any = None, axis: Any = -1, norm: Any = None, out: None = None) -> Tracer:
    """The first n // 2 + 1 numbers of `fft` of real numbers."""
    x = real_numbers("rfft", a)
    at = axis_of(x, axis)
    count = length("rfft", n, x.shape[at])
    x = fitted(x, count, at)
    scale = _scale("rfft", norm, count, False)
    made = _half_spectrum(x, at)
    return made if scale == 1.0 else _scaled(made, scale)


def _half_spectrum(x: Any, axis: int) -> Any:
    """The first n // 2 + 1 numbers of the transform of n real ones.

    Of an even n by one transform of n / 2 pairs.
    """
    n = x.shape[axis]
    if n % 2 or n < 4:
        made = op.fft(as_complex(x), axis=axis)
        return fitted(made, n // 2 + 1, axis)
    half = n // 2
    even, odd = (_every_second(x, axis, k) for k in range(2))
    pairs = op.fft(op.complex(even, odd), axis=axis)
    first = _part(pairs, axis, 0, 1)
    whole = concatenate([pairs, first], axis)
    mirror = conjugate(flip(whole, axis))
    line = [half + 1 if d == axis else 1 for d in range(x.ndim)]
    turns = np.exp(-1j * pi / half * np.arange(half + 1)).reshape(line).astype(whole.dtype)
    return _scaled(whole + mirror, 0.5) + (whole - mirror) * (-0.5j * turns).astype(whole.dtype)


def _every_second(x: Any, axis: int, start: int) -> Any:
    return x[tuple(slice(start, None, 2) if d == axis else slice(None) for d in range(x.ndim))]


def _part(x: Any, axis: int, start: int, stop: int) -> Any:
    return x[tuple(slice(start, stop) if d == axis else slice(None) for d in range(x.ndim))]


def irfft(a: Any, n: Any = None, axis: Any = -1, norm: Any = None, out: None = None) -> Tracer:
    """The n real numbers, by default 2 * (m - 1), whose `rfft` are the m numbers of a."""
    x = as_complex(a)
    at = axis_of(x, axis)
    count = length("irfft", n, 2 * (x.shape[at] - 1))
    half = fitted(x, count // 2 + 1, at)
    scale = _scale("irfft", norm, count, True)
    rest = conjugate(flip(_part(half, at, 1, (count + 1) // 2), at))
    whole = op.fft(concatenate([half, rest], at), axis=at, inverse=True)
    # which does not see the imaginary parts of both ends
    made: Any = op.real(whole)
    return made if scale == 1.0 else made * scale


def hfft(a: Any, n: Any = None, axis: Any = -1, norm: Any = None, out: None = None) -> Tracer:
    """The n real numbers of the transform of a Hermitian signal, whose first half a is."""
    return irfft(conjugate(lifted(a)), n, axis, _swapped("hfft", norm))


def ihfft(a: Any, n: Any = None, axis: Any = -1, norm: Any = None, out: None = None) -> Tracer:
    """The inverse of `hfft`."""
    return conjugate(rfft(a, n, axis, _swapped("ihfft", norm)))


def _swapped(name: str, norm: Any) -> str:
    norm = norm_of(name, norm)
    return {"backward": "forward", "forward": "backward"}.get(norm, norm)


# Several axes.


def sizes(name: str, x: Any, s: Any, axes: Any, halved: bool) -> list[tuple[Any, int]]:
    """The lengths and the axes of a transform of several axes."""
    if axes is None:
        count = x.ndim if s is None else len(s)
        axes = range(-count, 0)
    places = [axis_of(x, axis) for axis in axes]
    lengths = [None] * len(places) if s is None else [None if n == -1 else n for n in s]
    if len(lengths) != len(places):
        raise refusal(f"{name}: s and axes must be as many, got {s!r} and {axes!r}")
    if not places and halved:
        raise refusal(f"{name}: at least one axis must be given")
    return list(zip(lengths, places, strict=True))


def _along(
    function: Callable[..., Any], x: Any, pairs: Sequence[tuple[Any, int]], norm: Any
) -> Any:
    for n, axis in reversed(pairs):
        x = function(x, n, axis, norm)
    return x


def fftn(a: Any, s: Any = None, axes: Any = None, norm: Any = None, out: None = None) -> Tracer:
    """`fft` along several axes, by default all."""
    x = as_complex(a)
    return _along(fft, x, sizes("fftn", x, s, axes, False), norm)


def ifftn(a: Any, s: Any = None, axes: Any = None, norm: Any = None, out: None = None) -> Tracer:
    """`ifft` along several axes, by default all."""
    x = as_complex(a)
    return _along(ifft, x, sizes("ifftn", x, s, axes, False), norm)


def rfftn(a: Any, s: Any = None, axes: Any = None, norm: Any = None, out: None = None) -> Tracer:
    """`rfft` along the last axis, `fft` along the others."""
    x = real_numbers("rfftn", a)
    *others, last = sizes("rfftn", x, s, axes, True)
    return _along(fft, rfft(x, last[0], last[1], norm), others, norm)


def irfftn(a: Any, s: Any = None, axes: Any = None, norm: Any = None, out: None = None) -> Tracer:
    """The inverse of `rfftn`."""
    x = as_complex(a)
    *others, last = sizes("irfftn", x, s, axes, True)
    return irfft(_along(ifft, x, others, norm), last[0], last[1], norm)


_LAST = (-2, -1)


def fft2(a: Any, s: Any = None, axes: Any = _LAST, norm: Any = None, out: None = None) -> Tracer:
    """`fft` along two axes."""
    return fftn(a, s, axes, norm)


def ifft2(a: Any, s: Any = None, axes: Any = _LAST, norm: Any = None, out: None = None) -> Tracer:
    """`ifft` along two axes."""
    return ifftn(a, s, axes, norm)


def rfft2(a: Any, s: Any = None, axes: Any = _LAST, norm: Any = None, out: None = None) -> Tracer:
    """`rfftn` along two axes."""
    return rfftn(a, s, axes, norm)


def irfft2(a: Any, s: Any = None, axes: Any = _LAST, norm: Any = None, out: None = None) -> Tracer:
    """`irfftn` along two axes."""
    return irfftn(a, s, axes, norm)


# Frequencies.


def fftfreq(n: int, d: Any = 1.0, device: Any = None, *, dtype: Any = None) -> Any:
    """The frequencies of `fft` of n samples at distances d."""
    require_device("fftfreq", device)
    return with_dtype(lifted(np.fft.fftfreq(number(n, "fftfreq: n"))) / d, dtype)


def rfftfreq(n: int, d: Any = 1.0, device: Any = None, *, dtype: Any = None) -> Any:
    """The frequencies of `rfft` of n samples at distances d."""
    require_device("rfftfreq", device)
    return with_dtype(lifted(np.fft.rfftfreq(number(n, "rfftfreq: n"))) / d, dtype)


def fftshift(x: Any, axes: Any = None) -> Tracer:
    """x with frequency 0 in the middle of the axes, by default all."""
    value = lifted(x)
    places = axes_of(value, axes)
    return roll(value, [value.shape[d] // 2 for d in places], list(places))


def ifftshift(x: Any, axes: Any = None) -> Tracer:
    """The inverse of `fftshift`."""
    value = lifted(x)
    places = axes_of(value, axes)
    return roll(value, [-(value.shape[d] // 2) for d in places], list(places))


FUNCTIONS: tuple[Callable[..., Any], ...] = (
    fft, ifft, rfft, irfft, hfft, ihfft, fftn, ifftn, rfftn, irfftn, fft2, ifft2, rfft2, irfft2,
    fftfreq, rfftfreq, fftshift, ifftshift,
)  # fmt: skip
BY_NAME = {f.__name__: eager(checked(f, f"fft.{f.__name__}")) for f in FUNCTIONS}
ABSENT: dict[str, str] = {"test": "it is a part of NumPy of its own"}
"""NumPy's names that are not here, and why."""
DIFFERS: dict[str, str] = {}
"""What differs from NumPy in functions that are here."""
globals().update(BY_NAME)

if TYPE_CHECKING:

    def __getattr__(name: str) -> Any: ...

else:
    __getattr__ = missing("gradir.numpy.fft", ABSENT)


__all__ = [*BY_NAME]
