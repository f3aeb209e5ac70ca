"""Written by `make docs`: the names of gradir.scipy.fft, for editors and type checkers."""

from typing import Any

__all__: list[str]
def dct(x: Any, type: Any = 2, n: Any = None, axis: Any = -1, norm: Any = None, overwrite_x: Any = False, workers: Any = None, orthogonalize: Any = None, **kwargs: Any) -> Any:
    """The cosine transform of real numbers along an axis, of types 1 to 4."""
def dctn(x: Any, type: Any = 2, s: Any = None, axes: Any = None, norm: Any = None, overwrite_x: Any = False, workers: Any = None, *, orthogonalize: Any = None, **kwargs: Any) -> Any:
    """`dct` along several axes, by default all."""
def dst(x: Any, type: Any = 2, n: Any = None, axis: Any = -1, norm: Any = None, overwrite_x: Any = False, workers: Any = None, orthogonalize: Any = None, **kwargs: Any) -> Any:
    """The sine transform of real numbers along an axis, of types 1 to 4."""
def dstn(x: Any, type: Any = 2, s: Any = None, axes: Any = None, norm: Any = None, overwrite_x: Any = False, workers: Any = None, *, orthogonalize: Any = None, **kwargs: Any) -> Any:
    """`dst` along several axes, by default all."""
def fft(a: Any, n: Any = None, axis: Any = -1, norm: Any = None, out: Any = None, **kwargs: Any) -> Any:
    """The transform of n points along an axis, with exp(-2 pi i j k / n)."""
def fft2(a: Any, s: Any = None, axes: Any = ..., norm: Any = None, out: Any = None, **kwargs: Any) -> Any:
    """`fft` along two axes."""
def fftfreq(n: Any, d: Any = ..., device: Any = None, *, dtype: Any = None, **kwargs: Any) -> Any:
    """The frequencies of `fft` of n samples at distances d."""
def fftn(a: Any, s: Any = None, axes: Any = None, norm: Any = None, out: Any = None, **kwargs: Any) -> Any:
    """`fft` along several axes, by default all."""
def fftshift(x: Any, axes: Any = None, **kwargs: Any) -> Any:
    """x with frequency 0 in the middle of the axes, by default all."""
def hfft(a: Any, n: Any = None, axis: Any = -1, norm: Any = None, out: Any = None, **kwargs: Any) -> Any:
    """The n real numbers of the transform of a Hermitian signal, whose first half a is."""
def idct(x: Any, type: Any = 2, n: Any = None, axis: Any = -1, norm: Any = None, overwrite_x: Any = False, workers: Any = None, orthogonalize: Any = None, **kwargs: Any) -> Any:
    """The inverse of `dct` of the same type and norm."""
def idctn(x: Any, type: Any = 2, s: Any = None, axes: Any = None, norm: Any = None, overwrite_x: Any = False, workers: Any = None, *, orthogonalize: Any = None, **kwargs: Any) -> Any:
    """`idct` along several axes, by default all."""
def idst(x: Any, type: Any = 2, n: Any = None, axis: Any = -1, norm: Any = None, overwrite_x: Any = False, workers: Any = None, orthogonalize: Any = None, **kwargs: Any) -> Any:
    """The inverse of `dst` of the same type and norm."""
def idstn(x: Any, type: Any = 2, s: Any = None, axes: Any = None, norm: Any = None, overwrite_x: Any = False, workers: Any = None, *, orthogonalize: Any = None, **kwargs: Any) -> Any:
    """`idst` along several axes, by default all."""
def ifft(a: Any, n: Any = None, axis: Any = -1, norm: Any = None, out: Any = None, **kwargs: Any) -> Any:
    """The inverse of `fft`.   vjp: the same transform of ct"""
def ifft2(a: Any, s: Any = None, axes: Any = ..., norm: Any = None, out: Any = None, **kwargs: Any) -> Any:
    """`ifft` along two axes."""
def ifftn(a: Any, s: Any = None, axes: Any = None, norm: Any = None, out: Any = None, **kwargs: Any) -> Any:
    """`ifft` along several axes, by default all."""
def ifftshift(x: Any, axes: Any = None, **kwargs: Any) -> Any:
    """The inverse of `fftshift`."""
def ihfft(a: Any, n: Any = None, axis: Any = -1, norm: Any = None, out: Any = None, **kwargs: Any) -> Any:
    """The inverse of `hfft`."""
def irfft(a: Any, n: Any = None, axis: Any = -1, norm: Any = None, out: Any = None, **kwargs: Any) -> Any:
    """The n real numbers, by default 2 * (m - 1), whose `rfft` are the m numbers of a."""
def irfft2(a: Any, s: Any = None, axes: Any = ..., norm: Any = None, out: Any = None, **kwargs: Any) -> Any:
    """`irfftn` along two axes."""
def irfftn(a: Any, s: Any = None, axes: Any = None, norm: Any = None, out: Any = None, **kwargs: Any) -> Any:
    """The inverse of `rfftn`."""
def rfft(a: Any, n: Any = None, axis: Any = -1, norm: Any = None, out: Any = None, **kwargs: Any) -> Any:
    """The first n // 2 + 1 numbers of `fft` of real numbers."""
def rfft2(a: Any, s: Any = None, axes: Any = ..., norm: Any = None, out: Any = None, **kwargs: Any) -> Any:
    """`rfftn` along two axes."""
def rfftfreq(n: Any, d: Any = ..., device: Any = None, *, dtype: Any = None, **kwargs: Any) -> Any:
    """The frequencies of `rfft` of n samples at distances d."""
def rfftn(a: Any, s: Any = None, axes: Any = None, norm: Any = None, out: Any = None, **kwargs: Any) -> Any:
    """`rfft` along the last axis, `fft` along the others."""
