"""gradir.scipy.fft: the transforms of gradir.numpy.fft, and cosine and sine transforms by them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import pi, sqrt
from typing import TYPE_CHECKING, Any

import numpy as np

from gradir.frontends.functions.arguments import axis_of
from gradir.frontends.functions.array_ops import op
from gradir.frontends.functions.creation import zeros_like
from gradir.frontends.functions.fft import FUNCTIONS as OF_NUMPY
from gradir.frontends.functions.fft import (
    as_complex,
    fitted,
    length,
    norm_of,
    real_numbers,
    sizes,
)
from gradir.frontends.functions.missing_names import missing
from gradir.frontends.functions.shapes import concatenate, flip, moveaxis
from gradir.frontends.scipy.names import published
from gradir.frontends.tracing.source_locations import refusal
from gradir.frontends.tracing.tracer import Tracer

_INVERSE = {1: 1, 2: 3, 3: 2, 4: 4}
"""The type of the inverse transform of each type."""


def _along_one(
    name: str, types: Mapping[int, Callable[[Any], Any]], meaning: str, inverse: bool = False
) -> Callable[..., Tracer]:
    """The public function of transforms along one axis, by their types."""

    def along_axis(
        x: Any,
        type: int = 2,
        n: Any = None,
        axis: Any = -1,
        norm: Any = None,
        overwrite_x: bool = False,
        workers: Any = None,
        orthogonalize: Any = None,
    ) -> Tracer:
        return _transformed(name, types, x, type, n, axis, norm, orthogonalize, inverse)

    along_axis.__name__, along_axis.__doc__ = name, meaning
    return along_axis


def _several(one: Callable[..., Tracer], name: str) -> Callable[..., Tracer]:
    def along_axes(
        x: Any,
        type: int = 2,
        s: Any = None,
        axes: Any = None,
        norm: Any = None,
        overwrite_x: bool = False,
        workers: Any = None,
        *,
        orthogonalize: Any = None,
    ) -> Tracer:
        made = real_numbers(name, x)
        axes = (axes,) if isinstance(axes, int) else axes
        s = (s,) if isinstance(s, int) else s
        for n, axis in sizes(name, made, s, axes, False):
            made = one(made, type, n, axis, norm, orthogonalize=orthogonalize)
        return made

    along_axes.__name__ = name
    along_axes.__doc__ = f"`{one.__name__}` along several axes, by default all."
    return along_axes


def _transformed(
    name: str,
    types: Mapping[int, Callable[[Any], Any]],
    x: Any,
    type_: int,
    n: Any,
    axis: Any,
    norm: Any,
    orthogonalize: Any,
    inverse: bool = False,
) -> Any:
    """A transform along any axis, scaled as its norm says."""
    if type_ not in types:
        raise refusal(f"{name}: type must be 1, 2, 3 or 4, got {type_!r}")
    own = _INVERSE[type_] if inverse else type_
    norm = norm_of(name, norm)
    norm = {"backward": "forward", "forward": "backward"}.get(norm, norm) if inverse else norm
    value = real_numbers(name, x)
    at = axis_of(value, axis)
    count = length(name, n, value.shape[at])
    value = moveaxis(fitted(value, count, at), at, -1)
    if own == 1 and types is _COSINE and count < 2:
        raise refusal(f"{name}: type 1 needs two numbers or more, got {count}")
    ends = orthogonalize if orthogonalize is not None else norm == "ortho"
    before, behind = _ends(types is _COSINE, own, count, value.dtype) if ends else (None, None)
    value = value if before is None else value * before
    made = types[own](value)
    made = made if behind is None else made * behind
    more = (-1 if types is _COSINE else 1) if own == 1 else 0
    points = 2 * (count + more)
    if norm != "backward":
        made = made * (1 / points if norm == "forward" else 1 / sqrt(points))
    return moveaxis(made, -1, at)


def _ends(cosine: bool, type_: int, n: int, dtype: Any) -> tuple[Any, Any]:
    """What makes a transform orthogonal: factors of its arguments, and of its results."""
    if type_ == 4 or (type_ == 1 and not cosine):
        return None, None
    at = [0, n - 1] if type_ == 1 else [0 if cosine else n - 1]
    line = np.ones(n, dtype)
    line[at] = sqrt(2)
    if type_ == 1:
        return line, 1 / line
    return (None, 1 / line) if type_ == 2 else (line, None)


# The transforms of the last axis, as SciPy's norm "backward" has them.


def _turns(x: Any, angles: Any) -> Any:
    """exp(1j * angles) as constants of the dtype that belongs to x."""
    return np.exp(1j * angles).astype(np.result_type(np.dtype(x.dtype), np.complex64))


def _fft(x: Any) -> Any:
    return op.fft(x, axis=x.ndim - 1)


def _cosine_1(x: Any) -> Any:
    n = x.shape[-1]
    even = concatenate([x, flip(x[..., 1 : n - 1], -1)], -1) if n > 2 else x
    return op.real(_fft(as_complex(even)))[..., :n]


def _cosine_2(x: Any) -> Any:
    n = x.shape[-1]
    folded = concatenate([x[..., ::2], flip(x[..., 1::2], -1)], -1)
    turned = _fft(as_complex(folded)) * _turns(x, -pi * np.arange(n) / (2 * n))
    return 2 * op.real(turned)


def _cosine_3(x: Any) -> Any:
    """2 n times the inverse of type 2."""
    n = x.shape[-1]
    mirrored = concatenate([zeros_like(x[..., :1]), flip(x[..., 1:], -1)], -1)
    turned = op.complex(x, -mirrored) * _turns(x, pi * np.arange(n) / (2 * n))
    folded = op.real(op.fft(turned, axis=x.ndim - 1, inverse=True))
    half = (n + 1) // 2
    places = np.empty(n, np.int64)
    places[::2], places[1::2] = np.arange(half), np.arange(n - 1, half - 1, -1)
    return folded[..., places]


def _cosine_4(x: Any) -> Any:
    n = x.shape[-1]
    turned = as_complex(x) * _turns(x, -pi * np.arange(n) / (2 * n))
    whole = _fft(fitted(turned, 2 * n, x.ndim - 1))[..., :n]
    return 2 * op.real(whole * _turns(x, -pi * (2 * np.arange(n) + 1) / (4 * n)))


def _signs(x: Any) -> Any:
    return (1 - 2 * (np.arange(x.shape[-1]) % 2)).astype(x.dtype)


def _sine_1(x: Any) -> Any:
    n = x.shape[-1]
    zero = zeros_like(x[..., :1])
    odd = concatenate([zero, x, zero, -flip(x, -1)], -1)
    return -op.imag(_fft(as_complex(odd)))[..., 1 : n + 1]


def _sine_2(x: Any) -> Any:
    return flip(_cosine_2(x * _signs(x)), -1)


def _sine_3(x: Any) -> Any:
    return _cosine_3(flip(x, -1)) * _signs(x)


def _sine_4(x: Any) -> Any:
    return _cosine_4(flip(x, -1)) * _signs(x)


_COSINE = {1: _cosine_1, 2: _cosine_2, 3: _cosine_3, 4: _cosine_4}
_SINE = {1: _sine_1, 2: _sine_2, 3: _sine_3, 4: _sine_4}

dct = _along_one(
    "dct",
    _COSINE,
    """The cosine transform of real numbers along an axis, of types 1 to 4.

    Type 2 is y[k] = 2 sum(x[j] cos(pi k (2 j + 1) / (2 n))); the others and `norm` as SciPy defines
    them. It is one Fourier transform, of n numbers for types 2 and 3.
    """,
)
dst = _along_one(
    "dst",
    _SINE,
    """The sine transform of real numbers along an axis, of types 1 to 4.

    Type 2 is y[k] = 2 sum(x[j] sin(pi (k + 1) (2 j + 1) / (2 n))); the others as SciPy defines
    them.
    """,
)
idct = _along_one("idct", _COSINE, "The inverse of `dct` of the same type and norm.", inverse=True)
idst = _along_one("idst", _SINE, "The inverse of `dst` of the same type and norm.", inverse=True)
dctn, idctn, dstn, idstn = (_several(f, f"{f.__name__}n") for f in (dct, idct, dst, idst))

FUNCTIONS = (*OF_NUMPY, dct, idct, dst, idst, dctn, idctn, dstn, idstn)
BY_NAME = published(FUNCTIONS, "gradir.scipy.fft", takes_complex=True)
ABSENT: dict[str, str] = {
    "fht": "the fast Hankel transform is not there",
    "ifht": "the fast Hankel transform is not there",
    "fhtoffset": "the fast Hankel transform is not there",
    "hfft2": "hfft along one axis is there",
    "hfftn": "hfft along one axis is there",
    "ihfft2": "ihfft along one axis is there",
    "ihfftn": "ihfft along one axis is there",
    "next_fast_len": "lengths of any primes are fast enough; SciPy has it",
    "prev_fast_len": "lengths of any primes are fast enough; SciPy has it",
    "set_workers": "threads are gradir.jit's",
    "get_workers": "threads are gradir.jit's",
    "set_backend": "there is one",
    "set_global_backend": "there is one",
    "skip_backend": "there is one",
    "register_backend": "there is one",
}
"""SciPy's names that are not here, and why."""
globals().update(BY_NAME)

if TYPE_CHECKING:

    def __getattr__(name: str) -> Any: ...

else:
    __getattr__ = missing("gradir.scipy.fft", ABSENT)

__all__ = [*BY_NAME]
