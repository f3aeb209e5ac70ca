"""gradir.default_matmul_precision: the precision of products that are given none."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from functools import wraps
from typing import ParamSpec, TypeVar

from xdsl.dialects.builtin import BFloat16Type, Float16Type, Float32Type
from xdsl.ir import Attribute

from gradir.dialects.base.precision import PRECISIONS as KNOWN
from gradir.dialects.base.shapes import is_complex, is_float
from gradir.errors import ArgumentError
from gradir.frontends.tracing.default_blocks import DefaultBlock
from gradir.frontends.tracing.default_types import PRECISIONS, default_precision
from gradir.frontends.tracing.source_locations import named_options, refusal
from gradir.frontends.tracing.spec import NUMPY_NAMES

P = ParamSpec("P")
R = TypeVar("R")


class default_matmul_precision(DefaultBlock[str | None]):
    """The precision of products of float32 in a block, in its thread: "bf16", or None.

    `with gradir.default_matmul_precision("bf16"):` rounds the factors of matrix products, einsums,
    linear layers, convolutions and attention to bfloat16, and adds products in float32, in calls
    that are given no `precision`; their derivatives do so too. None is the precision of the types.
    Factorizations, solutions and functions of matrices, draws and grids are computed as ever.
    Products of float64 and of complex numbers are refused; others keep that of their types.
    Functions of gradir.jit are compiled for each precision.
    """

    @named_options
    def __init__(self, precision: str | None):
        super().__init__(PRECISIONS, checked_precision(precision, "default_matmul_precision"))


def checked_precision(precision: object, name: str) -> str | None:
    """A precision that is known, or None; ArgumentError for another."""
    if precision is None or (isinstance(precision, str) and precision in KNOWN):
        return precision
    known = ", ".join(repr(k) for k in (*KNOWN, None))
    raise ArgumentError(f"{name}: precision must be one of {known}, got {precision!r}")


@contextmanager
def _within(precision: str | None) -> Generator[None]:
    """As the class, for traces, which are in Python anyway."""
    PRECISIONS.values.append(precision)
    try:
        yield
    finally:
        PRECISIONS.values.pop()


def in_precision(function: Callable[P, R], precision: str | None) -> Callable[P, R]:
    """A function that is called with a default precision."""

    @wraps(function)
    def run(*args: P.args, **kwargs: P.kwargs) -> R:
        with _within(precision):
            return function(*args, **kwargs)

    return run


def in_own_precision(function: Callable[P, R]) -> Callable[P, R]:
    """An algorithm on numbers, whose inner products keep the precision of their types."""
    return in_precision(function, None)


def precision_for(op: str, factor: Attribute) -> str | None:
    """The default precision of an op's products, for factors of this element type."""
    precision = default_precision()
    if precision is None or isinstance(factor, Float32Type):
        return precision
    is_half = isinstance(factor, Float16Type | BFloat16Type)
    if is_complex(factor) or (is_float(factor) and not is_half):
        found = NUMPY_NAMES[factor]
        raise refusal(
            f'{op}: the precision "{precision}" is for products of float32, got {found}; '
            "convert the arrays to float32, or compute this product in "
            "`with gradir.default_matmul_precision(None):`"
        )
    return None
