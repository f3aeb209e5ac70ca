"""Written by `make docs`: the names of gradir.scipy.signal, for editors and type checkers."""

from typing import Any

__all__: list[str]
def convolve(in1: Any, in2: Any, mode: Any = 'full', method: Any = 'auto', **kwargs: Any) -> Any:
    """y[k] = the sum over i of in1[i] * in2[k - i], for arrays of one to three axes."""
def convolve2d(in1: Any, in2: Any, mode: Any = 'full', boundary: Any = 'fill', fillvalue: Any = 0, **kwargs: Any) -> Any:
    """`convolve` of matrices; around in1 is `fillvalue`, or by `boundary` "wrap" or "symm" in1."""
def correlate(in1: Any, in2: Any, mode: Any = 'full', method: Any = 'auto', **kwargs: Any) -> Any:
    """`convolve` with in2 from end to beginning."""
def correlate2d(in1: Any, in2: Any, mode: Any = 'full', boundary: Any = 'fill', fillvalue: Any = 0, **kwargs: Any) -> Any:
    """`convolve2d` with in2 from end to beginning."""
def csd(x: Any, y: Any, fs: Any = ..., window: Any = 'hann', nperseg: Any = None, noverlap: Any = None, nfft: Any = None, detrend: Any = 'constant', return_onesided: Any = True, scaling: Any = 'density', axis: Any = -1, average: Any = 'mean', **kwargs: Any) -> Any:
    """The frequencies, and the cross power of two signals by Welch's means over segments."""
def fftconvolve(in1: Any, in2: Any, mode: Any = 'full', **kwargs: Any) -> Any:
    """`convolve`: there is no Fourier transform, and the sums are computed as they are."""
def hilbert(x: Any, N: Any = None, axis: Any = -1, **kwargs: Any) -> Any:
    """The analytic signal of real numbers: x, and its Hilbert transform as imaginary parts."""
def istft(Zxx: Any, fs: Any = ..., window: Any = 'hann', nperseg: Any = None, noverlap: Any = None, nfft: Any = None, input_onesided: Any = True, boundary: Any = True, time_axis: Any = -1, freq_axis: Any = -2, scaling: Any = 'spectrum', **kwargs: Any) -> Any:
    """The times and the signal whose `stft` is Zxx, by adding windowed segments."""
def lfilter(b: Any, a: Any, x: Any, axis: Any = -1, **kwargs: Any) -> Any:
    """y with a[0] y[n] = the sum of b[k] x[n - k] less that of a[k] y[n - k] for k > 0."""
def oaconvolve(in1: Any, in2: Any, mode: Any = 'full', **kwargs: Any) -> Any:
    """`convolve`: there is no Fourier transform, and the sums are computed as they are."""
def periodogram(x: Any, fs: Any = ..., window: Any = 'boxcar', nfft: Any = None, detrend: Any = 'constant', return_onesided: Any = True, scaling: Any = 'density', axis: Any = -1, **kwargs: Any) -> Any:
    """The frequencies, and the power of a signal, of one segment."""
def spectrogram(x: Any, fs: Any = ..., window: Any = 'hann', nperseg: Any = None, noverlap: Any = None, nfft: Any = None, detrend: Any = 'constant', return_onesided: Any = True, scaling: Any = 'density', axis: Any = -1, **kwargs: Any) -> Any:
    """The frequencies, the times, and the power of each segment, an eighth of which overlap."""
def stft(x: Any, fs: Any = ..., window: Any = 'hann', nperseg: Any = 256, noverlap: Any = None, nfft: Any = None, detrend: Any = False, return_onesided: Any = True, boundary: Any = 'zeros', padded: Any = True, axis: Any = -1, scaling: Any = 'spectrum', **kwargs: Any) -> Any:
    """The frequencies, the times and the transforms of windowed segments of a signal."""
def welch(x: Any, fs: Any = ..., window: Any = 'hann', nperseg: Any = None, noverlap: Any = None, nfft: Any = None, detrend: Any = 'constant', return_onesided: Any = True, scaling: Any = 'density', axis: Any = -1, average: Any = 'mean', **kwargs: Any) -> Any:
    """The frequencies, and the power of a signal by Welch's means over segments."""
