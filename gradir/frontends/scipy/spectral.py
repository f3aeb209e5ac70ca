"""Short Fourier transforms and spectra of scipy.signal: stft, istft, csd, welch, hilbert and so on.

Windows, frequencies and times are constants; segments are read at constant places, so all of it is
native and differentiable.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import gradir.frontends.functions.numpy as gnp
from gradir.frontends.functions.arguments import axis_of, floating
from gradir.frontends.functions.fft import BY_NAME as TRANSFORMS
from gradir.frontends.functions.parts import conjugate, is_complex_array
from gradir.frontends.tracing.source_locations import refusal
from gradir.frontends.tracing.tracing import lifted

_WINDOWS: dict[str, Callable[[int], Any]] = {
    "boxcar": np.ones,
    "hann": np.hanning,
    "hamming": np.hamming,
    "blackman": np.blackman,
    "bartlett": np.bartlett,
}


class _Segments(NamedTuple):
    """How a signal is cut: the window's numbers, how far segments are apart, points of each."""

    window: Any
    step: int
    points: int


def _window(name: str, window: Any, nperseg: Any, count: int | None) -> Any:
    """The numbers of a window; one by name is periodic, and no longer than `count`."""
    if isinstance(window, str):
        if window not in _WINDOWS:
            known = ", ".join(_WINDOWS)
            raise refusal(f"{name}: window must be one of {known}, or numbers, got {window!r}")
        size = 256 if nperseg is None else int(nperseg)
        if size < 1:
            raise refusal(f"{name}: nperseg must be positive, got {size}")
        size = size if count is None else min(size, count)
        return np.ones(1) if size == 1 else _WINDOWS[window](size + 1)[:-1]
    numbers = np.asarray(window, np.float64)
    if numbers.ndim != 1 or nperseg not in (None, numbers.size):
        raise refusal(
            f"{name}: window must be a vector of nperseg numbers, got {numbers.shape} and {nperseg}"
        )
    return numbers


def _segments(name: str, window: Any, noverlap: Any, nfft: Any) -> _Segments:
    size = window.size
    overlap = size // 2 if noverlap is None else int(noverlap)
    points = size if nfft is None else int(nfft)
    if not 0 <= overlap < size:
        raise refusal(f"{name}: noverlap must be in [0, nperseg), got {overlap} of {size}")
    if points < size:
        raise refusal(f"{name}: nfft must be nperseg or more, got {points} and {size}")
    return _Segments(window, size - overlap, points)


def _detrended(name: str, x: Any, detrend: Any) -> Any:
    """Segments without their means, or lines."""
    if callable(detrend):
        return detrend(x)
    if detrend is False or detrend is None:
        return x
    if detrend not in ("constant", "linear"):
        raise refusal(f"{name}: detrend must be 'constant', 'linear' or False, got {detrend!r}")
    x = x - gnp.mean(x, axis=-1, keepdims=True)
    if detrend == "constant" or x.shape[-1] < 2:
        return x
    line = np.arange(x.shape[-1]) - (x.shape[-1] - 1) / 2
    line = (line / np.sqrt((line**2).sum())).astype(gnp.real(x).dtype)
    return x - gnp.sum(x * line, axis=-1, keepdims=True) * line


def _extended(name: str, x: Any, boundary: Any, half: int) -> Any:
    """A signal with `half` numbers more at both ends."""
    if boundary is None or half == 0:
        return x
    if boundary not in ("zeros", "constant", "even", "odd"):
        raise refusal(
            f"{name}: boundary must be 'zeros', 'constant', 'even', 'odd' or None, got {boundary!r}"
        )
    if boundary in ("even", "odd") and half >= x.shape[-1]:
        raise refusal(f"{name}: boundary {boundary!r} needs more than {half} numbers")
    first, last = x[..., :1], x[..., -1:]
    left, right = gnp.flip(x[..., 1 : half + 1], -1), gnp.flip(x[..., -half - 1 : -1], -1)
    if boundary == "odd":
        left, right = 2 * first - left, 2 * last - right
    elif boundary != "even":
        ends = (first, last) if boundary == "constant" else map(gnp.zeros_like, (first, last))
        left, right = (gnp.repeat(end, half, axis=-1) for end in ends)
    return gnp.concatenate([left, x, right], axis=-1)


def _transforms_of_segments(x: Any, cut: _Segments, detrend: Any, name: str, onesided: bool) -> Any:
    """The transform of each segment: (..., segments, frequencies)."""
    size = cut.window.size
    starts = np.arange(0, x.shape[-1] - size + 1, cut.step)
    segments = _detrended(name, x[..., starts[:, None] + np.arange(size)], detrend)
    segments = segments * cut.window.astype(gnp.real(segments).dtype)
    return TRANSFORMS["rfft" if onesided else "fft"](segments, cut.points)


def _scale(name: str, window: Any, scaling: str, fs: float) -> float:
    """The factor of a power."""
    if scaling == "density":
        return 1 / (fs * float((window**2).sum()))
    if scaling == "spectrum":
        return 1 / float(window.sum()) ** 2
    raise refusal(f"{name}: scaling must be 'density' or 'spectrum', got {scaling!r}")


def _frequencies(points: int, onesided: bool, fs: float) -> Any:
    return np.fft.rfftfreq(points, 1 / fs) if onesided else np.fft.fftfreq(points, 1 / fs)


def _last(x: Any, axis: Any) -> tuple[Any, int]:
    value = floating(lifted(x))
    at = axis_of(value, axis)
    return gnp.moveaxis(value, at, -1), at


def stft(
    x: Any,
    fs: float = 1.0,
    window: Any = "hann",
    nperseg: Any = 256,
    noverlap: Any = None,
    nfft: Any = None,
    detrend: Any = False,
    return_onesided: bool = True,
    boundary: Any = "zeros",
    padded: bool = True,
    axis: Any = -1,
    scaling: str = "spectrum",
) -> Any:
    """The frequencies, the times and the transforms of windowed segments of a signal.

    `window`: boxcar, hann, hamming, blackman, bartlett, or a vector. The transforms have the axis
    of frequencies in place of the signal's, and segments along the last one.
    """
    value, at = _last(x, axis)
    numbers = _window("stft", window, nperseg, value.shape[-1])
    cut = _segments("stft", numbers, noverlap, nfft)
    onesided = return_onesided and not is_complex_array(value)
    size, half = numbers.size, numbers.size // 2
    value = _extended("stft", value, boundary, half)
    if padded:
        more = (-(value.shape[-1] - size) % cut.step) % size
        value = gnp.pad(value, [(0, 0)] * (value.ndim - 1) + [(0, more)]) if more else value
    times = np.arange(size / 2, value.shape[-1] - size / 2 + 1, cut.step) / float(fs)
    times = times if boundary is None else times - size / 2 / fs
    made = _transforms_of_segments(value, cut, detrend, "stft", onesided)
    factor = _scale("stft", numbers, scaling, fs) ** 0.5
    made = gnp.moveaxis(made * gnp.astype(gnp.asarray(factor), gnp.real(made).dtype), -1, -2)
    made = gnp.moveaxis(made, -2, at) if at < value.ndim - 1 else made
    return _frequencies(cut.points, onesided, fs), times, made


def istft(
    Zxx: Any,
    fs: float = 1.0,
    window: Any = "hann",
    nperseg: Any = None,
    noverlap: Any = None,
    nfft: Any = None,
    input_onesided: bool = True,
    boundary: Any = True,
    time_axis: Any = -1,
    freq_axis: Any = -2,
    scaling: str = "spectrum",
) -> Any:
    """The times and the signal whose `stft` is Zxx, by adding windowed segments."""
    value = lifted(Zxx)
    if value.ndim < 2:
        raise refusal("istft: Zxx must have axes of frequencies and of times")
    axes = axis_of(value, freq_axis), axis_of(value, time_axis)
    if axes[0] == axes[1]:
        raise refusal("istft: freq_axis and time_axis must differ")
    value = gnp.moveaxis(value, axes, (-1, -2))
    points = 2 * (value.shape[-1] - 1) if input_onesided else value.shape[-1]
    numbers = _window("istft", window, points if nperseg is None else nperseg, None)
    given = nfft if nfft is not None else max(points, numbers.size)
    cut = _segments("istft", numbers, noverlap, given)
    size, count = numbers.size, value.shape[-2]
    if input_onesided:
        segments = TRANSFORMS["irfft"](value, cut.points)
    else:
        segments = TRANSFORMS["ifft"](value, cut.points)
    factor = numbers * _scale("istft", numbers, scaling, fs) ** -0.5
    segments = segments[..., :size] * factor.astype(gnp.real(segments).dtype)
    places = np.arange(count)[:, None] * cut.step + np.arange(size)
    length = size + (count - 1) * cut.step
    weights = np.zeros(length)
    np.add.at(weights, places, np.broadcast_to(numbers**2, places.shape))
    zeros = gnp.zeros((*value.shape[:-2], length), segments.dtype)
    made = zeros.at[..., places].add(segments)
    made = made / np.where(weights > 1e-10, weights, 1.0).astype(gnp.real(made).dtype)
    made = made[..., size // 2 : length - size // 2] if boundary else made
    times = np.arange(made.shape[-1]) / float(fs)
    left = min(axes)
    return times, gnp.moveaxis(made, -1, left) if left < value.ndim - 2 else made


def csd(
    x: Any,
    y: Any,
    fs: float = 1.0,
    window: Any = "hann",
    nperseg: Any = None,
    noverlap: Any = None,
    nfft: Any = None,
    detrend: Any = "constant",
    return_onesided: bool = True,
    scaling: str = "density",
    axis: Any = -1,
    average: str = "mean",
) -> Any:
    """The frequencies, and the cross power of two signals by Welch's means over segments."""
    given = fs, window, nperseg, noverlap, nfft, detrend, return_onesided, scaling, axis
    return _mean_power("csd", average, x, y, *given)


def _mean_power(name: str, average: str, x: Any, y: Any, *given: Any) -> tuple[Any, Any]:
    """The frequencies, and the mean (cross) power of the segments."""
    if average != "mean":
        raise refusal(f"{name}: average must be 'mean', got {average!r}")
    frequencies, _, powers = _powers(name, x, y, *given)
    return frequencies, gnp.mean(powers, axis=-1)


def _powers(
    name: str, x: Any, y: Any, fs: float, window: Any, nperseg: Any, noverlap: Any, nfft: Any,
    detrend: Any, return_onesided: bool, scaling: str, axis: Any,
) -> tuple[Any, Any, Any]:  # fmt: skip
    """The frequencies, the times, and the (cross) power of each segment along the last axis."""
    is_one = y is x
    first, at = _last(x, axis)
    second = first if is_one else _last(y, axis)[0]
    count = first.shape[-1]
    if second.shape[-1] != count:
        raise refusal(f"{name}: x and y must be as long, got {count} and {second.shape[-1]}")
    numbers = _window(name, window, nperseg, count)
    cut = _segments(name, numbers, noverlap, nfft)
    onesided = return_onesided and not (is_complex_array(first) or is_complex_array(second))
    made = _transforms_of_segments(first, cut, detrend, name, onesided)
    if is_one:
        powers = gnp.real(made) ** 2 + gnp.imag(made) ** 2
    else:
        powers = conjugate(made) * _transforms_of_segments(second, cut, detrend, name, onesided)
    factors = np.full(powers.shape[-1], _scale(name, numbers, scaling, fs))
    if onesided:
        factors[1 : None if cut.points % 2 else -1] *= 2
    powers = gnp.moveaxis(powers * factors.astype(gnp.real(powers).dtype), -1, -2)
    powers = gnp.moveaxis(powers, -2, at) if at < first.ndim - 1 else powers
    half = numbers.size / 2
    times = np.arange(half, count - half + 1, cut.step) / float(fs)
    return _frequencies(cut.points, onesided, fs), times, powers


def welch(
    x: Any,
    fs: float = 1.0,
    window: Any = "hann",
    nperseg: Any = None,
    noverlap: Any = None,
    nfft: Any = None,
    detrend: Any = "constant",
    return_onesided: bool = True,
    scaling: str = "density",
    axis: Any = -1,
    average: str = "mean",
) -> Any:
    """The frequencies, and the power of a signal by Welch's means over segments."""
    given = fs, window, nperseg, noverlap, nfft, detrend, return_onesided, scaling, axis
    return _mean_power("welch", average, x, x, *given)


def periodogram(
    x: Any,
    fs: float = 1.0,
    window: Any = "boxcar",
    nfft: Any = None,
    detrend: Any = "constant",
    return_onesided: bool = True,
    scaling: str = "density",
    axis: Any = -1,
) -> Any:
    """The frequencies, and the power of a signal, of one segment."""
    value, at = _last(x, axis)
    size = value.shape[-1]
    size = min(size, nfft or size) if isinstance(window, str) else size
    cut = gnp.moveaxis(value[..., :size], -1, at)
    given = fs, window, size, 0, nfft, detrend, return_onesided, scaling, at
    return _mean_power("periodogram", "mean", cut, cut, *given)


def spectrogram(
    x: Any,
    fs: float = 1.0,
    window: Any = "hann",
    nperseg: Any = None,
    noverlap: Any = None,
    nfft: Any = None,
    detrend: Any = "constant",
    return_onesided: bool = True,
    scaling: str = "density",
    axis: Any = -1,
) -> Any:
    """The frequencies, the times, and the power of each segment, an eighth of which overlap.

    SciPy's window by default is ("tukey", 0.25); here it is "hann".
    """
    value = _last(x, axis)[0]
    size = _window("spectrogram", window, nperseg, value.shape[-1]).size
    overlap = size // 8 if noverlap is None else noverlap
    given = fs, window, nperseg, overlap, nfft, detrend, return_onesided, scaling, axis
    return _powers("spectrogram", x, x, *given)


def hilbert(x: Any, N: Any = None, axis: Any = -1) -> Any:
    """The analytic signal of real numbers: x, and its Hilbert transform as imaginary parts."""
    value, at = _last(x, axis)
    if is_complex_array(value):
        raise refusal("hilbert: expected real numbers, got complex ones")
    points = value.shape[-1] if N is None else int(N)
    if points < 1:
        raise refusal(f"hilbert: N must be positive, got {points}")
    spectrum = TRANSFORMS["fft"](value, points)
    factors = np.zeros(points)
    factors[0] = 1
    factors[1 : (points + 1) // 2] = 2
    if points % 2 == 0:
        factors[points // 2] = 1
    made = TRANSFORMS["ifft"](spectrum * factors.astype(value.dtype))
    return gnp.moveaxis(made, -1, at)


FUNCTIONS = (stft, istft, csd, welch, periodogram, spectrogram, hilbert)
