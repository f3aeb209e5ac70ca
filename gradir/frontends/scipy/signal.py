"""gradir.scipy.signal: convolutions of arrays of up to three axes, as SciPy has them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import gradir.frontends.functions.nn as nn
import gradir.frontends.functions.numpy as gnp
from gradir.dialects.base.shapes import is_float
from gradir.frontends.functions.arguments import one_of
from gradir.frontends.functions.missing_names import missing
from gradir.frontends.scipy.names import published
from gradir.frontends.tracing.source_locations import refusal
from gradir.frontends.tracing.tracer import Tracer
from gradir.frontends.tracing.tracing import element, lifted

_CONVOLUTIONS = {1: "conv1d", 2: "conv2d", 3: "conv3d"}


def convolve(in1: Any, in2: Any, mode: str = "full") -> Tracer:
    """y[k] = the sum over i of in1[i] * in2[k - i], for arrays of one to three axes.

    mode: "full"; "same", the middle part, of in1's shape; "valid", where one lies in the other.
    """
    return _summed("convolve", in1, in2, mode, True)


def correlate(in1: Any, in2: Any, mode: str = "full") -> Tracer:
    """`convolve` with in2 from end to beginning."""
    return _summed("correlate", in1, in2, mode, False)


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


FUNCTIONS = (convolve, correlate)
BY_NAME = published(FUNCTIONS, "gradir.scipy.signal")
ABSENT: dict[str, str] = dict.fromkeys(
    "fftconvolve oaconvolve".split(), "there is no Fourier transform; see convolve"
)
"""SciPy's names that are not here, and why."""
globals().update(BY_NAME)

if TYPE_CHECKING:

    def __getattr__(name: str) -> Any: ...

else:
    __getattr__ = missing("gradir.scipy.signal", ABSENT)

__all__ = [*BY_NAME]
