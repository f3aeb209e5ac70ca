"""Custom ops for tests: a product with derivatives of every kind, and a sum with state."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

import numpy as np

import gradir
from gradir.dialects.grad.host_functions import (
    _FUNCTIONS,
)

Array = np.ndarray[Any, np.dtype[Any]]
Arrays = tuple[Any, ...]


@contextmanager
def own_registry() -> Generator[None]:
    """A context whose host functions are gone after it."""
    before = dict(_FUNCTIONS)
    try:
        yield
    finally:
        _FUNCTIONS.clear()
        _FUNCTIONS.update(before)


def first_like(x: gradir.Spec, *others: gradir.Spec) -> gradir.Spec:
    return x


def forward(inputs: Arrays, outputs: Arrays, req: tuple[str, ...]) -> None:
    """sin(x) * w"""
    x, w = inputs
    np.multiply(np.sin(x), w, out=outputs[0])


def backward(
    cotangents: Arrays, inputs: Arrays, outputs: Arrays, grads: Arrays, req: tuple[str, ...]
) -> None:
    (ct,), (x, w) = cotangents, inputs
    if req[0] == "write":
        grads[0][...] = ct * np.cos(x) * w
    if req[1] == "write":
        grads[1][...] = ct * np.sin(x)


def tangent(
    tangents: Arrays, inputs: Arrays, outputs: Arrays, out_tangents: Arrays, req: tuple[str, ...]
) -> None:
    (dx, dw), (x, w) = tangents, inputs
    out_tangents[0][...] = dx * np.cos(x) * w + np.sin(x) * dw


def slopes(inputs: Arrays, outputs: Arrays, req: tuple[str, ...]) -> None:
    """The cotangents of sin(x) * w, as an op of its own."""
    ct, x, w = inputs
    backward((ct,), (x, w), (), outputs, req)


def slopes_backward(
    cotangents: Arrays, inputs: Arrays, outputs: Arrays, grads: Arrays, req: tuple[str, ...]
) -> None:
    (a, b), (ct, x, w) = cotangents, inputs
    s, c = np.sin(x), np.cos(x)
    for grad, value in zip(
        grads, (a * c * w + b * s, -a * ct * s * w + b * ct * c, a * ct * c), strict=True
    ):
        grad[...] = value


def slopes_tangent(
    tangents: Arrays, inputs: Arrays, outputs: Arrays, out_tangents: Arrays, req: tuple[str, ...]
) -> None:
    (d, dx, dw), (ct, x, w) = tangents, inputs
    s, c = np.sin(x), np.cos(x)
    out_tangents[0][...] = d * c * w - ct * s * w * dx + ct * c * dw
    out_tangents[1][...] = d * s + ct * c * dx


def two(ct: gradir.Spec, x: gradir.Spec, w: gradir.Spec) -> tuple[gradir.Spec, gradir.Spec]:
    return x, w


def wave(**options: Any) -> Any:
    """sin(x) * w as a custom op with the first derivative."""
    given: dict[str, Any] = {"needs": ("cotangents", "inputs"), "jvp": tangent, **options}
    return gradir.custom_op(forward, first_like, backward, **given)


def smooth_wave(name: str | None = None, **options: Any) -> Any:
    """sin(x) * w as a custom op, whose backward is one as well."""
    slope = gradir.custom_op(
        slopes, two, slopes_backward, jvp=slopes_tangent, needs=("cotangents", "inputs"), **options
    )
    given: dict[str, Any] = {"needs": ("cotangents", "inputs"), "jvp": tangent, "name": name}
    return gradir.custom_op(forward, first_like, slope, **given, **options)
