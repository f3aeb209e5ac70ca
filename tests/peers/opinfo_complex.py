"""Torch's Fourier transforms, and functions that make complex numbers, as functions of ours."""

from __future__ import annotations

from typing import Any

import numpy as np
from opinfo_bind import Function, torch

import gradir.numpy as gnp


def _transform(name: str) -> Function:
    """torch.fft's `n` and `s`, `dim` and `norm`."""
    function: Any = getattr(gnp.fft, name)
    several = name.endswith(("2", "n"))

    def wrapper(x: Any, n: Any = None, dim: Any = None, norm: Any = None, s: Any = None) -> Any:
        if dim is None:
            dim = -1
            if several:
                dim = (-2, -1) if name.endswith("2") else None
        if not several:
            return function(x, n, dim, norm)
        sizes, axes = s if n is None else n, None if dim is None else np.atleast_1d(dim).tolist()
        if sizes is not None and axes is None:
            axes = list(range(-len(sizes), 0))
        if sizes is not None:
            sizes = [x.shape[d] if k == -1 else k for k, d in zip(sizes, axes or (), strict=True)]
        return function(x, sizes, axes, norm)

    return wrapper


def _eig(x: Any) -> Any:
    """Eigenvalues, and what phases do not change in the vectors."""
    w, v = gnp.linalg.eig(x)
    return w, gnp.abs(v)


def _torch_eig(x: Any) -> Any:
    w, v = torch.linalg.eig(x)
    return w, v.abs()


def _polar(size: Any, angle: Any) -> Any:
    size, angle = gnp.broadcast_arrays(size, angle)
    return gnp.complex(size * gnp.cos(angle), size * gnp.sin(angle))


def _complex(real: Any, imag: Any) -> Any:
    return gnp.complex(*gnp.broadcast_arrays(real, imag))


TRANSFORMS = (
    "fft fft2 fftn hfft rfft rfft2 rfftn ifft ifft2 ifftn ihfft irfft irfft2 irfftn".split()
)
COMPLEX: dict[str, Any] = {
    **{f"fft.{name}": _transform(name) for name in TRANSFORMS},
    "complex": _complex,
    "polar": _polar,
    "view_as_complex": lambda x: gnp.complex(x[..., 0], x[..., 1]),
    "view_as_real": lambda x: gnp.stack([x.real, x.imag], -1),
    "imag": lambda x: gnp.imag(x) * 1,
    "cdouble": lambda x, **_: x.astype("complex128"),
    "cfloat": lambda x, **_: x.astype("complex64"),
    "linalg.eig": (_eig, _torch_eig),
    "linalg.eigvals": gnp.linalg.eigvals,
}
