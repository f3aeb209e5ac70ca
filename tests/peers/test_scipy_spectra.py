"""gradir.scipy.fft and the spectra of scipy.signal have SciPy's numbers."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
import scipy.fft
import scipy.signal

from gradir.scipy import fft, signal

RANDOM = np.random.default_rng(1)
SIGNAL = RANDOM.normal(size=(2, 57))


def same(found: Any, wanted: Any) -> None:
    for one, other in zip(found, wanted, strict=True):
        assert np.shape(one) == other.shape and np.asarray(one).dtype == other.dtype
        np.testing.assert_allclose(one, other, 1e-12, 1e-12 * float(np.abs(other).max()))


@pytest.mark.parametrize("name", "dct idct dst idst dctn idctn dstn idstn".split())
def test_cosine_and_sine_transforms(name: str) -> None:
    norms, ends = (None, "ortho", "forward"), (None, True, False)
    for type_, n, norm, end in itertools.product((1, 2, 3, 4), (2, 5, 8), norms, ends):
        x = RANDOM.normal(size=(3, n))
        given: dict[str, Any] = {"norm": norm, "orthogonalize": end}
        same([getattr(fft, name)(x, type_, **given)], [getattr(scipy.fft, name)(x, type_, **given)])


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("window", ["hann", "hamming", "bartlett", "blackman", "boxcar"])
def test_spectra(window: str) -> None:
    for size, overlap, nfft in itertools.product((15, 16), (None, 3), (None, 20)):
        given: dict[str, Any] = {
            "fs": 10.0, "window": window, "nperseg": size, "noverlap": overlap, "nfft": nfft,
        }  # fmt: skip
        for x in (SIGNAL, SIGNAL + 1j * SIGNAL[::-1]):
            for boundary in ("zeros", None, "even", "odd", "constant"):
                found = signal.stft(x, boundary=boundary, **given)
                same(found, scipy.signal.stft(x, boundary=boundary, **given))
            for detrend in (False, "constant", "linear"):
                found = signal.welch(x, detrend=detrend, **given)
                same(found, scipy.signal.welch(x, detrend=detrend, **given))
        pair = SIGNAL, SIGNAL[::-1]
        same(signal.csd(*pair, **given), scipy.signal.csd(*pair, **given))
        same(signal.spectrogram(SIGNAL, **given), scipy.signal.spectrogram(SIGNAL, **given))


def test_inverse_and_analytic() -> None:
    _, _, made = scipy.signal.stft(SIGNAL[0], nperseg=16, noverlap=12)
    same(
        signal.istft(made, nperseg=16, noverlap=12),
        scipy.signal.istft(made, nperseg=16, noverlap=12),
    )
    for n in (None, 50):
        same([signal.hilbert(SIGNAL, n)], [scipy.signal.hilbert(SIGNAL, n)])
        same(signal.periodogram(SIGNAL, nfft=n), scipy.signal.periodogram(SIGNAL, nfft=n))
