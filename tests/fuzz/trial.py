"""A program on trial: it with and without marks, at some arguments, and what several checks use."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from random import Random
from typing import Any

import numpy as np

import gradir
from fuzz.outcome import Broken
from gradir import Module, RowSlices
from gradir.dialects.base.shapes import element_of, is_float, is_scalar, is_tensor
from gradir.symbols import function_named

Array = np.ndarray[Any, np.dtype[Any]]

TOLERANCE = {8: 1e-11, 4: 2e-4, 2: 6e-2}
"""Between native code and the interpreter, relative to the largest number around."""


@dataclass
class Trial:
    """@name of `plain` and of `marked`, which are to give the same bits, at arguments.

    `smooth`: derivatives belong to the values. `choose` makes what decisions a check has left.
    `exact`: marks change no bit of a derivative; there are no derivatives in the program.
    `function` is the Python function, if there is one.
    """

    plain: Module
    marked: Module
    name: str
    arguments: list[Array]
    smooth: bool
    choose: Random
    exact: bool = True
    function: Any = None

    @cached_property
    def values(self) -> tuple[Array, ...]:
        """The results by the interpreter."""
        return interpreted(self.plain, self.name, self.arguments)

    @cached_property
    def floating(self) -> list[int]:
        """The results that have cotangents."""
        return [k for k, v in enumerate(self.values) if is_float_dtype(v)]

    @cached_property
    def cotangents(self) -> list[Array]:
        generator = np.random.default_rng(self.choose.getrandbits(32))
        return [random_like(self.values[k], generator) for k in self.floating]

    @cached_property
    def tangents(self) -> list[Array]:
        generator = np.random.default_rng(self.choose.getrandbits(32))
        return [random_like(self.arguments[k], generator) for k in self.wrt]

    @cached_property
    def wrt(self) -> list[int]:
        """The floating arguments; derivatives are with respect to all of them."""
        types = function_named(self.plain.op, self.name).function_type.inputs.data
        return [
            k for k, t in enumerate(types)
            if is_float(element_of(t) if is_tensor(t) else t) and (is_tensor(t) or is_scalar(t))
        ]  # fmt: skip

    @cached_property
    def vjp(self) -> Module:
        return self.plain.gradient(self.name, mode="vjp")

    @cached_property
    def given(self) -> list[Array]:
        """The arguments of the vjp."""
        return [*self.arguments, *self.cotangents]

    @cached_property
    def interpreted_vjp(self) -> tuple[Array, ...]:
        return interpreted(self.vjp, f"{self.name}_vjp", self.given)

    @cached_property
    def native_vjp(self) -> tuple[Array, ...]:
        """The results and gradients by native code of one thread."""
        return native(self.vjp, f"{self.name}_vjp", self.given)

    @cached_property
    def gradients(self) -> tuple[Array, ...]:
        return self.interpreted_vjp[len(self.values) :]

    @cached_property
    def is_finite(self) -> bool:
        """Whether the numbers are such that differences of them say something."""
        arrays = [*self.values, *self.gradients]
        wide = [np.asarray(a, np.float64) for a in arrays if is_float_dtype(a)]
        return all(np.isfinite(a).all() and np.abs(a).max(initial=0) < 1e4 for a in wide)


def is_float_dtype(array: Any) -> bool:
    """Also of bfloat16, which is no float for NumPy."""
    return array.dtype.kind not in "iubO"


def random_like(array: Any, generator: np.random.Generator) -> Array:
    return np.asarray(generator.uniform(-1, 1, np.shape(array)), np.asarray(array).dtype)


def interpreted(module: Module, name: str, arrays: Sequence[Any]) -> tuple[Any, ...]:
    with np.errstate(all="ignore"):
        return gradir.interpret(module, name, *arrays)


def native(module: Module, name: str, arrays: Sequence[Any], threads: int = 1) -> tuple[Any, ...]:
    return gradir.compile(module, name, threads=threads)(*arrays)


def dense(value: Any) -> list[Array]:
    """A result as arrays: row slices and tapes are several."""
    if isinstance(value, RowSlices):
        return [np.asarray(value.indices), np.asarray(value.values)]
    return [np.asarray(a) for a in getattr(value, "arrays", [value])]


def same_bits(promise: str, one: Sequence[Any], other: Sequence[Any]) -> None:
    """Broken unless all arrays have the same bits; one nan is like another."""
    if len(one) != len(other):
        raise Broken(promise, f"{len(one)} results and {len(other)}")
    for k, (x, y) in enumerate(zip(one, other, strict=True)):
        for a, b in zip(dense(x), dense(y), strict=True):
            if not has_bits_of(a, b):
                # of zeros alone the sign: less of a fault, and not to be taken for another
                sign = ", the sign of zeros" if has_bits_of(a + 0, b + 0) else ""
                raise Broken(promise + sign, f"result {k}: {a!r} and {b!r}")


def same_sums(trial: Trial, promise: str, one: Sequence[Any], other: Sequence[Any]) -> None:
    """The same bits; up to rounding where derivatives in the program may sum in another order."""
    if trial.exact:
        same_bits(promise, one, other)
    else:
        close(promise, one, other, slack=100)


def has_bits_of(a: Array, b: Array) -> bool:
    if a.dtype != b.dtype or a.shape != b.shape:
        return False
    if a.tobytes() == b.tobytes():
        return True
    if a.dtype.kind in "iub":
        return False
    nans = np.isnan(a) & np.isnan(b)
    return np.where(nans, 0, a).tobytes() == np.where(nans, 0, b).tobytes()


def close(promise: str, one: Sequence[Any], other: Sequence[Any], slack: float = 1) -> None:
    """Broken unless all arrays are alike up to rounding."""
    scale = _scale([*one])
    for k, (x, y) in enumerate(zip(one, other, strict=True)):
        for a, b in zip(dense(x), dense(y), strict=True):
            _close(promise, k, a, b, scale, slack)


def _scale(arrays: Sequence[Any]) -> float:
    """The largest finite number, at least 1."""
    largest = 1.0
    for value in arrays:
        for a in dense(value):
            if a.dtype.kind not in "iub":
                wide = np.abs(a.astype(np.float64))
                largest = max(largest, float(np.max(wide, initial=0, where=np.isfinite(wide))))
    return largest


def _close(promise: str, k: int, a: Array, b: Array, scale: float, slack: float) -> None:
    if a.dtype != b.dtype or a.shape != b.shape:
        raise Broken(promise, f"result {k}: {a.dtype}{a.shape} and {b.dtype}{b.shape}")
    if a.dtype.kind in "iub":
        if not np.array_equal(a, b):
            raise Broken(promise, f"result {k}: {a!r} and {b!r}")
        return
    tolerance = TOLERANCE[a.dtype.itemsize] * slack
    wide, other = a.astype(np.float64), b.astype(np.float64)
    if not np.allclose(wide, other, rtol=tolerance, atol=tolerance * scale, equal_nan=True):
        raise Broken(promise, f"result {k}: {a!r} and {b!r}")
