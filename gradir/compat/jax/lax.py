"""jax.lax: loops, branches, and elementwise functions.

lax_arrays.py has slices and reductions, lax_windows.py convolutions, lax_collectives.py what is
between rows of jax.vmap.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import gradir.nn as nn
import gradir.numpy as gnp
from gradir.compat.jax import absent, lax_arrays, lax_collectives, lax_windows
from gradir.compat.jax.arrays import giving_arrays
from gradir.compat.jax.lax_arrays import *  # noqa: F403 - all of them are names of lax
from gradir.compat.jax.lax_collectives import *  # noqa: F403
from gradir.compat.jax.lax_windows import *  # noqa: F403
from gradir.frontends.scipy import special
from gradir.frontends.tracing.source_locations import named_options
from gradir.frontends.transforms import branches as _branches
from gradir.frontends.transforms import flow, implicit, markers, scans

_SAME = {
    name: giving_arrays(getattr(gnp, ours))
    for name, ours in {
        "abs": "abs", "acos": "arccos", "acosh": "arccosh", "add": "add", "asin": "arcsin",
        "asinh": "arcsinh", "atan": "arctan", "atan2": "arctan2", "atanh": "arctanh",
        "bitwise_and": "bitwise_and", "bitwise_not": "bitwise_not", "bitwise_or": "bitwise_or",
        "bitwise_xor": "bitwise_xor", "broadcast_shapes": "broadcast_shapes", "cbrt": "cbrt",
        "ceil": "ceil", "complex": "complex", "conj": "conj", "cos": "cos", "cosh": "cosh",
        "eq": "equal", "erf": "erf", "exp": "exp", "exp2": "exp2", "expand_dims": "expand_dims",
        "expm1": "expm1", "floor": "floor", "ge": "greater_equal", "gt": "greater",
        "imag": "imag", "is_finite": "isfinite", "le": "less_equal", "log": "log",
        "log1p": "log1p", "lt": "less", "max": "maximum", "min": "minimum", "mul": "multiply",
        "ne": "not_equal", "neg": "negative", "nextafter": "nextafter", "pow": "power",
        "real": "real", "rem": "fmod", "sign": "sign",
        "sin": "sin", "sinh": "sinh",
        "sqrt": "sqrt", "square": "square", "squeeze": "squeeze", "sub": "subtract", "tan": "tan",
        "shift_left": "left_shift", "shift_right_arithmetic": "right_shift", "stack": "stack",
        "tanh": "tanh", "tile": "tile", "transpose": "transpose", "unstack": "unstack",
    }.items()
} | {
    name: giving_arrays(getattr(special, ours))
    for name, ours in {
        "bessel_i0e": "i0e", "bessel_i1e": "i1e", "betainc": "betainc", "digamma": "digamma",
        "erf_inv": "erfinv", "erfc": "erfc", "igamma": "gammainc", "igammac": "gammaincc",
        "lgamma": "gammaln", "polygamma": "polygamma",
        "zeta": "zeta",
    }.items()
} | {"logistic": giving_arrays(nn.sigmoid)}  # fmt: skip
globals().update(_SAME)

associative_scan = giving_arrays(scans.associative_scan)
stop_gradient = giving_arrays(markers.no_grad)
custom_linear_solve = giving_arrays(implicit.custom_linear_solve)
custom_root = giving_arrays(implicit.custom_root)
select = giving_arrays(gnp.where)


@named_options
def while_loop(cond_fun: Callable[..., Any], body_fun: Callable[..., Any], init_val: Any) -> Any:
    """`val = body_fun(val)` while cond_fun(val), from init_val."""
    return giving_arrays(flow.while_loop)(cond_fun, body_fun, init_val)


@named_options
def cond(
    pred: Any, true_fun: Callable[..., Any], false_fun: Callable[..., Any], *operands: Any
) -> Any:
    """true_fun(*operands) if pred, else false_fun(*operands)."""
    return giving_arrays(_branches.cond)(pred, true_fun, false_fun, *operands)


@named_options
def switch(index: Any, branches: Sequence[Callable[..., Any]], *operands: Any) -> Any:
    """branches[index](*operands), with the index moved inside as JAX does."""
    return giving_arrays(_branches.switch)(index, branches, *operands)


@named_options
def fori_loop(lower: Any, upper: Any, body_fun: Callable[..., Any], init_val: Any) -> Any:
    """`val = body_fun(i, val)` for i from lower to upper - 1."""
    return giving_arrays(flow.fori_loop)(lower, upper, body_fun, init_val)


@named_options
def scan(
    f: Callable[..., Any],
    init: Any,
    xs: Any = None,
    length: int | None = None,
    reverse: bool = False,
    unroll: int | bool = 1,
) -> Any:
    """(carry, ys) of `carry, y = f(carry, x)`; `unroll` does not change what is computed."""
    del unroll
    return giving_arrays(flow.scan)(f, init, xs, length, reverse)


@named_options
def map(f: Callable[..., Any], xs: Any, *, batch_size: int | None = None) -> Any:
    """f of each row, one after the other."""
    del batch_size
    return giving_arrays(scans.map)(f, xs)


@giving_arrays
def div(x: Any, y: Any) -> Any:
    """x / y; of integers towards 0."""
    if gnp.result_type(x, y).kind not in "iu":
        return gnp.divide(x, y)
    return gnp.sign(x) * gnp.sign(y) * (gnp.abs(x) // gnp.abs(y))


@giving_arrays
def round(x: Any, rounding_method: int = 0) -> Any:
    """The nearest whole numbers, of halves those away from 0; by the method 1 the even ones."""
    if rounding_method == 1:
        return gnp.round(x)
    whole = gnp.trunc(x)
    return gnp.where(gnp.abs(x - whole) >= 0.5, whole + gnp.sign(x), whole)


@giving_arrays
def rsqrt(x: Any) -> Any:
    """1 / sqrt(x)."""
    return 1 / gnp.sqrt(x)


@giving_arrays
def reciprocal(x: Any) -> Any:
    """1 / x."""
    return 1 / x


@giving_arrays
def integer_pow(x: Any, y: int) -> Any:
    """x to the power of an integer."""
    return x**y


@giving_arrays
def clamp(min: Any, x: Any, max: Any) -> Any:
    """x between two bounds."""
    return gnp.clip(x, min, max)


__all__ = [
    *_SAME, *lax_arrays.__all__, *lax_collectives.__all__, *lax_windows.__all__,
    "associative_scan", "clamp", "cond", "custom_linear_solve", "custom_root", "div", "fori_loop",
    "integer_pow", "map", "reciprocal", "round", "rsqrt", "scan", "select", "stop_gradient",
    "switch", "while_loop",
]  # fmt: skip

if not TYPE_CHECKING:
    __getattr__ = absent.missing("gradir.compat.jax.lax", absent.LAX, lambda: __all__)
else:

    def __getattr__(name: str) -> Any: ...
