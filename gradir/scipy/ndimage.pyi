"""Written by `make docs`: the names of gradir.scipy.ndimage, for editors and type checkers."""

from typing import Any

__all__: list[str]
def convolve(input: Any, weights: Any, output: Any = None, mode: Any = 'reflect', cval: Any = ..., origin: Any = 0, **kwargs: Any) -> Any:
    """`correlate` with the weights from end to beginning along each axis."""
def convolve1d(input: Any, weights: Any, axis: Any = -1, output: Any = None, mode: Any = 'reflect', cval: Any = ..., origin: Any = 0, **kwargs: Any) -> Any:
    """`correlate1d` with the weights from end to beginning."""
def correlate(input: Any, weights: Any, output: Any = None, mode: Any = 'reflect', cval: Any = ..., origin: Any = 0, **kwargs: Any) -> Any:
    """`correlate1d` with weights of the rank of the array, one to three axes."""
def correlate1d(input: Any, weights: Any, axis: Any = -1, output: Any = None, mode: Any = 'reflect', cval: Any = ..., origin: Any = 0, **kwargs: Any) -> Any:
    """y[i] = the sum over k of weights[k] * x[i + k - size // 2 - origin], along an axis."""
def gaussian_filter(input: Any, sigma: Any, order: Any = 0, output: Any = None, mode: Any = 'reflect', cval: Any = ..., truncate: Any = ..., *, radius: Any = None, axes: Any = None, **kwargs: Any) -> Any:
    """`gaussian_filter1d` along all axes, or `axes`, with a sigma and an order for each."""
def gaussian_filter1d(input: Any, sigma: Any, axis: Any = -1, order: Any = 0, output: Any = None, mode: Any = 'reflect', cval: Any = ..., truncate: Any = ..., *, radius: Any = None, **kwargs: Any) -> Any:
    """The array smoothed by a normal density, or by its derivative of an order, along an axis."""
def gaussian_gradient_magnitude(input: Any, sigma: Any, output: Any = None, mode: Any = 'reflect', cval: Any = ..., **kwargs: Any) -> Any:
    """The norm of the gradient, by derivatives of a normal density.   vjp: 0 where it is 0"""
def gaussian_laplace(input: Any, sigma: Any, output: Any = None, mode: Any = 'reflect', cval: Any = ..., **kwargs: Any) -> Any:
    """The sum of second derivatives along all axes, by derivatives of a normal density."""
def laplace(input: Any, output: Any = None, mode: Any = 'reflect', cval: Any = ..., **kwargs: Any) -> Any:
    """The sum of second differences along all axes."""
def prewitt(input: Any, axis: Any = -1, output: Any = None, mode: Any = 'reflect', cval: Any = ..., **kwargs: Any) -> Any:
    """Differences along an axis, and sums by [1.0, 1.0, 1.0] along all others."""
def sobel(input: Any, axis: Any = -1, output: Any = None, mode: Any = 'reflect', cval: Any = ..., **kwargs: Any) -> Any:
    """Differences along an axis, and sums by [1.0, 2.0, 1.0] along all others."""
def uniform_filter(input: Any, size: Any = 3, output: Any = None, mode: Any = 'reflect', cval: Any = ..., origin: Any = 0, *, axes: Any = None, **kwargs: Any) -> Any:
    """`uniform_filter1d` along all axes, or `axes`."""
def uniform_filter1d(input: Any, size: Any, axis: Any = -1, output: Any = None, mode: Any = 'reflect', cval: Any = ..., origin: Any = 0, **kwargs: Any) -> Any:
    """The mean of `size` neighbours along an axis."""
