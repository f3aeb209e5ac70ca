"""gradir.scipy.ndimage and the filters of signal: SciPy's values, derivatives by differences."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np
import pytest

import gradir
import gradir.numpy as gnp
from gradir.scipy import ndimage, signal
from gradir.testing import check_grads

if find_spec("scipy") is None:
    pytest.skip("needs SciPy", allow_module_level=True)

RANDOM = np.random.default_rng(0)
V, X, C, K = (RANDOM.normal(size=s) for s in ((8,), (7, 9), (5, 6, 4), (3, 2)))
OUT: Any = np.zeros(8)
MODES = (
    *("reflect", "constant", "nearest", "mirror", "wrap"),
    *("grid-mirror", "grid-wrap", "grid-constant"),
)


def same(name: str, *args: Any, module: Any = ndimage, **kwargs: Any) -> None:
    """The function of a name gives what SciPy's does. It is imported here, which takes seconds."""
    theirs = import_module(f"scipy.{module.__name__.rpartition('.')[2]}")
    ours, its = (getattr(m, name)(*args, **kwargs) for m in (module, theirs))
    np.testing.assert_allclose(ours, its, rtol=1e-11, atol=1e-13)


@pytest.mark.parametrize("mode", MODES)
def test_filters_are_scipys(mode: str) -> None:
    for weights, origin in (([1.0, 2.0, 3.0], 1), ([1.0, -2.0, 3.0, 0.5], 0), ([1.0, 2.0], -1)):
        for name in ("correlate1d", "convolve1d"):
            same(name, X, weights, 0, None, mode, 0.3, origin)
        for name in ("correlate", "convolve"):
            same(name, X, np.outer(weights, [1.0, 2.0, 0.3]), None, mode, 0.3, origin)
    for order in range(4):
        same("gaussian_filter1d", V, 0.8, order=order, mode=mode)
    same("gaussian_filter", X, (0.7, 0.9), mode=mode)
    for size in (2, (3, 2)):
        same("uniform_filter", X, size, mode=mode)
    for name in ("sobel", "prewitt", "laplace"):
        same(name, C, mode=mode)
    for name in ("gaussian_laplace", "gaussian_gradient_magnitude"):
        same(name, X, 0.8, mode=mode)


@pytest.mark.parametrize("mode", ["full", "same", "valid"])
def test_convolutions_are_scipys(mode: str) -> None:
    for name in ("fftconvolve", "oaconvolve"):
        same(name, X, K, mode, module=signal)
    for boundary, value in (("fill", 0.5), ("fill", 0), ("wrap", 0), ("symm", 0)):
        for name in ("convolve2d", "correlate2d"):
            same(name, X, K, mode, boundary, value, module=signal)


@pytest.mark.parametrize(
    ("b", "a"),
    [([1.0, 2.0], [2.0]), ([0.1, 0.2, 0.3], [1.0, -0.5]), ([1.0], [2.0, 0.3, -0.2, 0.1])],
)
def test_recursive_filters_are_scipys(b: Any, a: Any) -> None:
    same("lfilter", b, a, V, module=signal)
    same("lfilter", b, a, X, 0, module=signal)
    check_grads(lambda b, a, x: gnp.sum(signal.lfilter(b, a, x) ** 2), [b, a, V], order=2)


def test_derivatives() -> None:
    check_grads(lambda x: gnp.sum(ndimage.gaussian_filter(x, 0.8) ** 3), [X], order=2)
    check_grads(lambda x, w: gnp.sum(ndimage.convolve(x, w, mode="wrap") ** 2), [X, K], order=2)
    check_grads(lambda x: gnp.sum(signal.convolve2d(x, K, "same", "symm") ** 2), [X], order=1)
    check_grads(lambda x: gnp.sum(ndimage.gaussian_gradient_magnitude(x, 1.0)), [X], order=1)
    assert gradir.jit(lambda x: ndimage.laplace(x))(X.astype(np.float32)).dtype == np.float32


REFUSED = [
    (lambda: ndimage.correlate1d(V, []), "weights must be a vector with elements"),
    (lambda: ndimage.correlate1d(V, [1.0], origin=1), "origin must leave the element within 1"),
    (lambda: ndimage.correlate(V, K), "expected weights of the rank of the array, 1 to 3"),
    (lambda: ndimage.laplace(V, mode="edge"), "mode must be one of 'reflect', 'grid-mirror'"),
    (lambda: ndimage.laplace(V, OUT), "output is for arrays with values; write y = "),
    (lambda: ndimage.gaussian_filter(X, (1, 1, 1)), "sigma: expected one value or 2"),
    (lambda: ndimage.gaussian_filter1d(V, -1.0), "sigma must be positive"),
    (lambda: ndimage.uniform_filter(X, 0), "size must be at least 1"),
    (lambda: ndimage.gaussian_laplace(1.0, 1.0), "expected an array of rank >= 1"),
    # pyrefly: ignore
    (lambda: ndimage.zoom, "it reads between elements: gradir.nn.grid_sample"),
    (lambda: signal.convolve(V, V, method="fast"), "method must be one of 'auto', 'direct'"),
    (lambda: signal.convolve2d(V, V), "expected matrices"),
    (lambda: signal.lfilter([], [1.0], V), "b and a must be vectors with elements"),
]


@pytest.mark.parametrize(("call", "message"), REFUSED, ids=[m for _, m in REFUSED])
def test_refusals(call: Any, message: str) -> None:
    with pytest.raises((gradir.GradirError, AttributeError)) as caught:
        call()
    assert message in str(caught.value)
