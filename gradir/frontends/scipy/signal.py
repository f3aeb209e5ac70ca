"""gradir.scipy.signal: convolutions, filters and spectra, as SciPy has them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import gradir.frontends.functions.nn as nn
import gradir.frontends.functions.numpy as gnp
from gradir.dialects.base.shapes import is_float
from gradir.frontends.functions.arguments import floating, one_of
from gradir.frontends.functions.missing_names import missing
from gradir.frontends.scipy import spectral
from gradir.frontends.scipy.calls import anywhere
from gradir.frontends.scipy.names import published
from gradir.frontends.tracing.default_precision import in_own_precision
from gradir.frontends.tracing.source_locations import refusal
from gradir.frontends.tracing.tracer import Tracer
from gradir.frontends.tracing.tracing import element, lifted
from gradir.frontends.transforms.scans import scan

_CONVOLUTIONS = {1: "conv1d", 2: "conv2d", 3: "conv3d"}


_METHODS = ("auto", "direct", "fft")


def convolve(in1: Any, in2: Any, mode: str = "full", method: str = "auto") -> Tracer:
    """y[k] = the sum over i of in1[i] * in2[k - i], for arrays of one to three axes.

    mode: "full"; "same", the middle part, of in1's shape; "valid", where one lies in the other.
    method: the sums are computed as they are, whatever SciPy would do.
    """
    one_of(method, "convolve: method", _METHODS)
    return _summed("convolve", in1, in2, mode, True)


def correlate(in1: Any, in2: Any, mode: str = "full", method: str = "auto") -> Tracer:
    """`convolve` with in2 from end to beginning."""
    one_of(method, "correlate: method", _METHODS)
    return _summed("correlate", in1, in2, mode, False)


def fftconvolve(in1: Any, in2: Any, mode: str = "full") -> Tracer:
    """`convolve`: there is no Fourier transform, and the sums are computed as they are."""
    return _summed("fftconvolve", in1, in2, mode, True)


def oaconvolve(in1: Any, in2: Any, mode: str = "full") -> Tracer:
    """`convolve`: there is no Fourier transform, and the sums are computed as they are."""
    return _summed("oaconvolve", in1, in2, mode, True)


_BOUNDARIES = {"fill": "constant", "wrap": "wrap", "symm": "symmetric"}


def convolve2d(
    in1: Any, in2: Any, mode: str = "full", boundary: str = "fill", fillvalue: float = 0
) -> Tracer:
    """`convolve` of matrices; around in1 is `fillvalue`, or by `boundary` "wrap" or "symm" in1."""
    return _summed_2d("convolve2d", in1, in2, mode, boundary, fillvalue, True)


def correlate2d(
    in1: Any, in2: Any, mode: str = "full", boundary: str = "fill", fillvalue: float = 0
) -> Tracer:
    """`convolve2d` with in2 from end to beginning."""
    return _summed_2d("correlate2d", in1, in2, mode, boundary, fillvalue, False)


def _summed_2d(
    name: str, in1: Any, in2: Any, mode: str, boundary: str, fillvalue: float, flipped: bool
) -> Tracer:
    one_of(boundary, f"{name}: boundary", tuple(_BOUNDARIES))
    x, y = lifted(in1), lifted(in2)
    if x.ndim != 2 or y.ndim != 2:
        raise refusal(f"{name}: expected matrices, got {x!r} and {y!r}")
    one_of(mode, f"{name}: mode", ("full", "same", "valid"))
    if mode == "valid":
        return _summed(name, x, y, mode, flipped)
    around = [(n - 1, n - 1) for n in y.shape]
    options = {"constant_values": fillvalue} if boundary == "fill" else {}
    wide = gnp.pad(x, around, _BOUNDARIES[boundary], **options)
    whole = _summed(name, wide, y, "valid", flipped)
    if mode == "full":
        return whole
    starts = [(n - flipped) // 2 for n in y.shape]
    return whole[tuple(slice(s, s + n) for s, n in zip(starts, x.shape, strict=True))]


@in_own_precision
def lfilter(b: Any, a: Any, x: Any, axis: int = -1) -> Tracer:
    """y with a[0] y[n] = the sum of b[k] x[n - k] less that of a[k] y[n - k] for k > 0.

    Along an axis, from a state of zeros. With one a the filter is a convolution, with more a loop.
    """
    ups, downs, value = floating(b), floating(a), floating(x)
    if ups.ndim != 1 or downs.ndim != 1 or not ups.size or not downs.size:
        raise refusal(f"lfilter: b and a must be vectors with elements, got {ups!r} and {downs!r}")
    ups, downs = ups / downs[0], downs[1:] / downs[0]
    rows = gnp.moveaxis(value, axis, 0)
    order = ups.shape[0] - 1
    wide = gnp.pad(rows, [(order, 0)] + [(0, 0)] * (rows.ndim - 1))
    driven: Any = sum(
        ups[k] * wide[order - k : order - k + rows.shape[0]] for k in range(order + 1)
    )
    if downs.shape[0]:

        def step(past: Any, now: Any) -> tuple[Any, Any]:
            made = now - gnp.tensordot(downs, past, 1)
            return gnp.concatenate([made[None], past[:-1]]), made

        start = gnp.zeros((downs.shape[0], *rows.shape[1:]), driven.dtype)
        _, driven = scan(step, start, driven)
    return gnp.moveaxis(driven, 0, axis)


def _summed(name: str, in1: Any, in2: Any, mode: str, flipped: bool) -> Tracer:
    one_of(mode, f"{name}: mode", ("full", "same", "valid"))
    x, y = lifted(in1), lifted(in2)
    kind = gnp.result_type(x, y)
    x, y = x.astype(kind), y.astype(kind)
    if x.ndim != y.ndim or x.ndim > len(_CONVOLUTIONS):
        most = len(_CONVOLUTIONS)
        raise refusal(f"{name}: expected arrays of the same 0 to {most} axes, got {x!r} and {y!r}")
    if not x.ndim:
        return x * y
    if not x.size or not y.size:
        raise refusal(f"{name}: expected arrays with elements, got {x!r} and {y!r}")
    y = gnp.flip(y) if flipped else y
    whole = _everywhere(name, x, y)
    if mode == "full":
        return whole
    wanted = x.shape if mode == "same" else _inside(name, x.shape, y.shape)
    starts = [(f - w) // 2 for f, w in zip(whole.shape, wanted, strict=True)]
    return whole[tuple(slice(s, s + w) for s, w in zip(starts, wanted, strict=True))]


def _everywhere(name: str, x: Any, kernel: Any) -> Any:
    """The products of x with the kernel at each place where they meet."""
    if not is_float(element(x)):
        if x.ndim > 1:
            raise refusal(f"{name}: arrays of several axes must be floating, got {x!r}")
        return gnp.convolve(x, gnp.flip(kernel))
    around = [n - 1 for n in kernel.shape]
    padded = gnp.pad(x, [(n, n) for n in around])
    made = getattr(nn, _CONVOLUTIONS[x.ndim])(padded[None, None], kernel[None, None])
    return made[0, 0]


def _inside(name: str, x: tuple[int, ...], y: tuple[int, ...]) -> tuple[int, ...]:
    pairs = list(zip(x, y, strict=True))
    if not (all(m >= n for m, n in pairs) or all(m <= n for m, n in pairs)):
        raise refusal(f"{name}: for valid one array must be at least as large along every axis")
    return tuple(abs(m - n) + 1 for m, n in pairs)


FUNCTIONS = (convolve, correlate, fftconvolve, oaconvolve, convolve2d, correlate2d)
COMPILED = {"lfilter": anywhere(lfilter, "gradir.scipy.signal", ["axis"])}
BY_NAME = {
    **published(FUNCTIONS, "gradir.scipy.signal"),
    **published(spectral.FUNCTIONS, "gradir.scipy.signal", takes_complex=True),
    **COMPILED,
}
ABSENT: dict[str, str] = {
    **dict.fromkeys(
        "filtfilt sosfilt sosfiltfilt lfilter_zi sosfilt_zi deconvolve".split(),
        "of the filters lfilter is there",
    ),
    **dict.fromkeys(
        "coherence czt resample ShortTimeFFT hilbert2 lombscargle".split(),
        "stft, csd and gradir.numpy.fft are there",
    ),
}
"""SciPy's names that are not here, and why."""
globals().update(BY_NAME)

if TYPE_CHECKING:

    def __getattr__(name: str) -> Any: ...

else:
    __getattr__ = missing("gradir.scipy.signal", ABSENT)

__all__ = [*BY_NAME]
