"""gradir.scipy.fft and the spectra of scipy.signal: values by their definitions, derivatives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gradir
import gradir.numpy as gnp
from gradir import TraceError
from gradir.scipy import fft, signal
from gradir.testing import check_grads

Array = np.ndarray[Any, Any]
RANDOM = np.random.default_rng(0)


def by_definition(kind: str, type_: int, x: Array) -> Array:
    """The sums of SciPy's definitions, along the last axis."""
    n = x.shape[-1]
    k, j = np.arange(n)[:, None], np.arange(n)
    if kind == "dct":
        angles = {
            1: k * j / max(n - 1, 1),
            2: k * (2 * j + 1) / (2 * n),
            3: (2 * k + 1) * j / (2 * n),
            4: (2 * k + 1) * (2 * j + 1) / (4 * n),
        }[type_]
        weights = 2 * np.cos(np.pi * angles)
        halves = {1: [0, n - 1], 3: [0]}.get(type_, [])
    else:
        angles = {
            1: (k + 1) * (j + 1) / (n + 1),
            2: (k + 1) * (2 * j + 1) / (2 * n),
            3: (2 * k + 1) * (j + 1) / (2 * n),
            4: (2 * k + 1) * (2 * j + 1) / (4 * n),
        }[type_]
        weights = 2 * np.sin(np.pi * angles)
        halves = [n - 1] if type_ == 3 else []
    weights[:, halves] /= 2
    return x @ weights.T


@pytest.mark.parametrize("type_", [1, 2, 3, 4])
@pytest.mark.parametrize("kind", ["dct", "dst"])
def test_cosine_and_sine_transforms(kind: str, type_: int) -> None:
    inverse = "i" + kind
    for n in (2, 3, 4, 5, 8, 9, 17):
        x = RANDOM.normal(size=(3, n))
        found = getattr(fft, kind)(x, type_)
        np.testing.assert_allclose(found, by_definition(kind, type_, x), 1e-12, 1e-12)
        for norm in (None, "ortho", "forward"):
            made = getattr(fft, kind)(x, type_, norm=norm)
            back = getattr(fft, inverse)(made, type_, norm=norm)
            np.testing.assert_allclose(back, x, 1e-12, 1e-12)
        if n > 1:
            unit = getattr(fft, kind)(np.eye(n), type_, norm="ortho")
            np.testing.assert_allclose(unit @ unit.T, np.eye(n), atol=1e-12)
    several = getattr(fft, kind + "n")(x, type_, axes=(0, 1))
    along = getattr(fft, kind)(getattr(fft, kind)(x, type_, axis=0), type_, axis=1)
    np.testing.assert_allclose(several, along, 1e-12, 1e-12)
    v = RANDOM.normal(size=6)
    check_grads(lambda x: gnp.sum(gnp.sin(getattr(fft, kind)(x, type_, norm="ortho"))), [v])
    assert getattr(fft, kind)(x.astype(np.float32), type_).dtype == np.float32


def test_lengths_and_errors_of_cosine_transforms() -> None:
    x = RANDOM.normal(size=(6, 2))
    for n in (4, 9):
        padded = np.zeros((n, 2))
        padded[: min(n, 6)] = x[:n]
        np.testing.assert_allclose(fft.dct(x, n=n, axis=0), fft.dct(padded, axis=0), 1e-14, 1e-14)
    np.testing.assert_array_equal(fft.fft(x), gnp.fft.fft(x))
    # zeros beside a signal are no products with it
    infinite = np.array([np.inf, 1.0, 2.0])
    assert np.asarray(fft.dct(infinite))[0] == np.asarray(fft.dct(infinite, 3))[0] == np.inf
    for call, message in (
        (lambda: fft.dct(x, 5), "dct: type must be 1, 2, 3 or 4, got 5"),
        (lambda: fft.idct(np.ones(1), 1), "type 1 needs two numbers or more"),
        (lambda: fft.dst(x * 1j), "dst: expected real numbers"),
        (lambda: fft.dctn(x, s=(2,), axes=(0, 1)), "s and axes must be as many"),
    ):
        with pytest.raises(TraceError, match=message):
            call()


SIGNAL = RANDOM.normal(size=(2, 57))
WINDOW = RANDOM.uniform(0.5, 1, 12)


def segments(x: Array, size: int, step: int) -> Array:
    starts = range(0, x.shape[-1] - size + 1, step)
    return np.stack([x[..., s : s + size] for s in starts], -2)


@pytest.mark.parametrize("overlap", [None, 9, 0])
@pytest.mark.parametrize("is_complex", [False, True])
def test_short_transforms(is_complex: bool, overlap: int | None) -> None:
    x = SIGNAL + (1j * SIGNAL[::-1] if is_complex else 0)
    step = 12 - (6 if overlap is None else overlap)
    transform = np.fft.fft if is_complex else np.fft.rfft
    made = transform(segments(x, 12, step) * WINDOW, 20) / WINDOW.sum()
    given: dict[str, Any] = {"window": WINDOW, "nperseg": None, "noverlap": overlap, "nfft": 20}
    frequencies, times, found = signal.stft(x, 10.0, boundary=None, padded=False, **given)
    np.testing.assert_allclose(found, made.swapaxes(-1, -2), 1e-12, 1e-13)
    np.testing.assert_allclose(times, (6 + step * np.arange(made.shape[-2])) / 10)
    assert frequencies[1] == pytest.approx(0.5) and len(frequencies) == made.shape[-1]
    powers = np.abs(made * WINDOW.sum()) ** 2 / (10 * (WINDOW**2).sum())
    if not is_complex:
        powers[..., 1:-1] *= 2
    _, density = signal.welch(x, 10.0, detrend=False, **given)
    np.testing.assert_allclose(density, powers.mean(-2), 1e-12)
    _, cross = signal.csd(x, 1 * x, 10.0, detrend=False, **given)
    np.testing.assert_allclose(cross, powers.mean(-2), 1e-12, 1e-14)


@pytest.mark.parametrize("boundary", ["zeros", "even", "odd", "constant"])
@pytest.mark.parametrize("window", ["hann", "hamming", "bartlett", "blackman", "boxcar"])
def test_a_signal_comes_back(window: str, boundary: str) -> None:
    _, _, made = signal.stft(SIGNAL, window=window, nperseg=16, noverlap=12, boundary=boundary)
    times, back = signal.istft(made, window=window, nperseg=16, noverlap=12)
    np.testing.assert_allclose(back[..., :57], SIGNAL, 1e-12, 1e-12)
    assert len(times) == back.shape[-1]
    turned = np.asarray(made).transpose(2, 1, 0)
    _, again = signal.istft(
        turned, window=window, nperseg=16, noverlap=12, time_axis=0, freq_axis=1
    )
    np.testing.assert_allclose(again, np.asarray(back).T, 1e-13, 1e-13)


def test_axes_means_lines_and_one_segment() -> None:
    x = RANDOM.normal(size=(3, 40, 2))
    _, _, middle = signal.stft(x, nperseg=8, axis=1)
    _, _, last = signal.stft(x.swapaxes(1, 2), nperseg=8)
    np.testing.assert_allclose(middle, np.asarray(last).swapaxes(1, 2), 1e-13, 1e-14)
    line = np.arange(40.0) * 0.3 + 2
    _, nothing = signal.welch(line, nperseg=16, detrend="linear")
    np.testing.assert_allclose(nothing, 0, atol=1e-25)
    _, power = signal.periodogram(x, 4.0, axis=1)
    centred = x - x.mean(1, keepdims=True)
    wanted = np.abs(np.fft.rfft(centred, axis=1)) ** 2 / (4 * 40)
    wanted[:, 1:-1] *= 2
    np.testing.assert_allclose(power, wanted, 1e-11, 1e-14)
    _, times, powers = signal.spectrogram(line, window="hann", nperseg=16)
    assert powers.shape == (9, len(times)) == (9, 2)


def test_analytic_signals() -> None:
    t = np.arange(32) * 2 * np.pi / 32
    np.testing.assert_allclose(signal.hilbert(np.cos(3 * t)), np.exp(3j * t), atol=1e-14)
    odd = RANDOM.normal(size=(5, 2))
    found = np.asarray(signal.hilbert(odd, axis=0))
    np.testing.assert_allclose(found.real, odd, 1e-14, 1e-14)
    np.testing.assert_allclose(np.fft.fft(found, axis=0)[3:], 0, atol=1e-14)


def test_derivatives_of_spectra() -> None:
    def changed(x: Any) -> Any:
        _, _, made = signal.stft(x, nperseg=8)
        _, back = signal.istft(made * 1.5, nperseg=8)
        return gnp.sum(gnp.abs(made) ** 2) + gnp.sum(gnp.sin(back[:20]))

    v = RANDOM.normal(size=20)
    check_grads(changed, [v])
    check_grads(lambda x: gnp.sum(gnp.log(signal.welch(x, nperseg=8)[1])), [v])
    check_grads(lambda x: gnp.sum(gnp.abs(signal.hilbert(x))), [v])
    assert gradir.jit(lambda x: signal.stft(x, nperseg=8)[2])(v).shape == (5, 6)


REFUSED = {
    "signal.stft(V, window='kaiser')": "window must be one of boxcar, hann, hamming",
    "signal.stft(V, window=[1.0, 2.0], nperseg=3)": "window must be a vector of nperseg numbers",
    "signal.welch(V, nperseg=8, noverlap=8)": r"noverlap must be in \[0, nperseg\), got 8 of 8",
    "signal.welch(V, nperseg=8, nfft=4)": "nfft must be nperseg or more, got 4 and 8",
    "signal.stft(V, nperseg=8, boundary='odd2')": "boundary must be 'zeros', 'constant'",
    "signal.csd(V, V[:5])": "x and y must be as long, got 20 and 5",
    "signal.welch(V, scaling='x')": "scaling must be 'density' or 'spectrum'",
    "signal.welch(V, average='median')": "average must be 'mean'",
    "signal.hilbert(V * 1j)": "hilbert: expected real numbers",
    "signal.istft(V)": "must have axes of frequencies and of times",
}


@pytest.mark.parametrize("call", REFUSED)
def test_refused(call: str) -> None:
    with pytest.raises(TraceError, match=REFUSED[call]):
        eval(call, {"signal": signal, "V": np.linspace(0, 1, 20)})
