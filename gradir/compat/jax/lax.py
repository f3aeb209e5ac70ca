"""jax.lax: loops, branches, slices at traced places, and elementwise functions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import gradir.numpy as gnp
from gradir.compat.jax import absent
from gradir.compat.jax.arrays import giving_arrays
from gradir.frontends.tracing.source_locations import named_options
from gradir.frontends.transforms import branches, flow, implicit, markers, scans

_SAME = {
    name: giving_arrays(getattr(gnp, ours))
    for name, ours in {
        "abs": "abs", "acos": "arccos", "add": "add", "asin": "arcsin", "atan": "arctan",
        "atan2": "arctan2", "bitwise_and": "bitwise_and", "bitwise_or": "bitwise_or",
        "ceil": "ceil", "cos": "cos", "cosh": "cosh", "cumsum": "cumsum",
        "cumprod": "cumprod", "div": "divide",
        "eq": "equal", "erf": "erf", "exp": "exp", "expand_dims": "expand_dims", "expm1": "expm1",
        "floor": "floor", "ge": "greater_equal", "gt": "greater", "le": "less_equal", "log": "log",
        "log1p": "log1p", "lt": "less", "max": "maximum", "min": "minimum", "mul": "multiply",
        "ne": "not_equal", "neg": "negative", "pow": "power", "rem": "fmod",
        "round": "round", "sign": "sign", "sin": "sin", "sinh": "sinh", "sqrt": "sqrt",
        "square": "square", "squeeze": "squeeze", "sub": "subtract", "tan": "tan", "tanh": "tanh",
        "transpose": "transpose",
    }.items()
}  # fmt: skip
globals().update(_SAME)

while_loop = giving_arrays(flow.while_loop)
cond = giving_arrays(branches.cond)
switch = giving_arrays(branches.switch)
associative_scan = giving_arrays(scans.associative_scan)
stop_gradient = giving_arrays(markers.no_grad)
custom_linear_solve = giving_arrays(implicit.custom_linear_solve)
custom_root = giving_arrays(implicit.custom_root)
select = giving_arrays(gnp.where)


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


@giving_arrays
def convert_element_type(operand: Any, new_dtype: Any) -> Any:
    """The array in another dtype."""
    return gnp.astype(gnp.asarray(operand), new_dtype)


@giving_arrays
def reshape(operand: Any, new_sizes: Sequence[int]) -> Any:
    """The elements in another shape."""
    return gnp.reshape(operand, tuple(new_sizes))


@giving_arrays
def concatenate(operands: Sequence[Any], dimension: int) -> Any:
    """Arrays behind each other along an axis."""
    return gnp.concatenate(operands, axis=dimension)


@giving_arrays
def dot(lhs: Any, rhs: Any) -> Any:
    """The product of vectors and matrices."""
    return gnp.dot(lhs, rhs)


@giving_arrays
def dynamic_slice(operand: Any, start_indices: Any, slice_sizes: Sequence[int]) -> Any:
    """A part of fixed sizes at traced places, moved inside as JAX does."""
    return gnp.dynamic_slice(operand, list(start_indices), tuple(slice_sizes))


@giving_arrays
def dynamic_update_slice(operand: Any, update: Any, start_indices: Any) -> Any:
    """The array with a part at traced places replaced."""
    return gnp.dynamic_update_slice(operand, update, list(start_indices))


@giving_arrays
def dynamic_index_in_dim(operand: Any, index: Any, axis: int = 0, keepdims: bool = True) -> Any:
    """The part of one traced index along an axis."""
    made = gnp.take(operand, gnp.asarray(index)[None], axis=axis)
    return made if keepdims else gnp.squeeze(made, axis=axis)


@giving_arrays
def top_k(operand: Any, k: int) -> Any:
    """The k largest elements of each row, and their places."""
    places = gnp.argsort(-operand, axis=-1)[..., :k]
    return gnp.take_along_axis(operand, places, axis=-1), places


__all__ = [
    *_SAME, "associative_scan", "clamp", "concatenate", "cond", "convert_element_type",
    "custom_linear_solve", "custom_root", "dot",
    "dynamic_index_in_dim", "dynamic_slice", "dynamic_update_slice", "fori_loop", "integer_pow",
    "map", "reciprocal", "reshape", "rsqrt", "scan", "select", "stop_gradient", "switch", "top_k",
    "while_loop",
]  # fmt: skip

if not TYPE_CHECKING:
    __getattr__ = absent.missing("gradir.compat.jax.lax", absent.LAX, lambda: __all__)
else:

    def __getattr__(name: str) -> Any: ...
