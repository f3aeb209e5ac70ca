"""What JAX calls our ops: one function an op, on arrays and the op's attributes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any

import numpy as np
from signed_factors import SignedFactors

jax: Any = import_module("jax")
jax.config.update("jax_enable_x64", True)
jnp: Any = jax.numpy
nn: Any = jax.nn
special: Any = import_module("jax.scipy.special")
linalg: Any = import_module("jax.scipy.linalg")

Function = Callable[..., Any]

# Functions of the same name, meaning and attributes.
SAME = """
    abs negative exp expm1 exp2 log log1p log2 log10 sqrt square reciprocal sin cos tan asin acos
    atan sinh cosh tanh asinh acosh atanh sign floor ceil round trunc add subtract multiply divide
    pow maximum minimum atan2 hypot logaddexp remainder copysign floor_divide equal not_equal less
    less_equal greater greater_equal logical_and logical_or logical_xor logical_not bitwise_and
    bitwise_or bitwise_xor isnan isinf isfinite where sum mean max min prod any all argmax argmin
    squeeze flip matmul outer tril triu sort argsort bitwise_left_shift bitwise_right_shift
    bitwise_count cbrt
""".split()


def _as_tuple(function: Function) -> Function:
    """JAX takes several axes as a tuple."""

    def wrapper(*xs: Any, **attributes: Any) -> Any:
        given = {k: tuple(v) if isinstance(v, list) else v for k, v in attributes.items()}
        return function(*xs, **given)

    return wrapper


def _arg(function: Function) -> Function:
    def found(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
        return function(x, axis[0] if isinstance(axis, list) else axis, keepdims=keepdims)

    return found


def _norm(x: Any, axis: Any = None, keepdims: bool = False, ord: float = 2) -> Any:
    return jnp.linalg.vector_norm(x, axis=axis, keepdims=keepdims, ord=float(ord))


def _slice(x: Any, start: Any = 0, stop: Any = None, step: Any = 1) -> Any:
    def listed(value: Any) -> list[int]:
        return list(value) if isinstance(value, Sequence) else [value] * x.ndim

    stops = list(x.shape) if stop is None else listed(stop)
    return x[tuple(slice(*b) for b in zip(listed(start), stops, listed(step), strict=True))]


def _pad(x: Any, low: Any, high: Any, value: float = 0, mode: str = "constant") -> Any:
    def listed(width: Any) -> list[int]:
        return list(width) if isinstance(width, Sequence) else [width] * x.ndim

    widths = list(zip(listed(low), listed(high), strict=True))
    if not widths:
        return x
    if mode == "constant":
        return jnp.pad(x, widths, constant_values=value)
    return jnp.pad(x, widths, mode=mode)


def _scatter_add(x: Any, indices: Any, updates: Any, axis: int = 0) -> Any:
    return x.at[(slice(None),) * (axis % x.ndim) + (indices,)].add(updates)


def _index_update(x: Any, indices: Any, updates: Any, axis: int = 0) -> Any:
    return x.at[(slice(None),) * (axis % x.ndim) + (indices,)].set(updates)


def _cumulative(function: Function, start: Function) -> Function:
    def scanned(x: Any, axis: int = 0, exclusive: bool = False, reverse: bool = False) -> Any:
        x = jnp.flip(x, axis) if reverse else x
        if exclusive and x.shape[axis]:
            n = x.shape[axis]
            first = start(jax.lax.slice_in_dim(x, 0, 1, axis=axis))
            x = jnp.concatenate([first, jax.lax.slice_in_dim(x, 0, n - 1, axis=axis)], axis)
        y = function(x, axis)
        return jnp.flip(y, axis) if reverse else y

    return scanned


def _numbers(value: Any, rank: int = 0) -> tuple[int, ...]:
    listed = value if isinstance(value, Sequence) else [value]
    return tuple(n % rank if rank else n for n in listed)


def _split(x: Any, axis: int = 0, sizes: Any = ()) -> Any:
    ends = _numbers(sizes)
    return tuple(jnp.split(x, [sum(ends[:k]) for k in range(1, len(ends))], axis))


def _dot_general(a: Any, b: Any, lhs_batch: Any = (), rhs_batch: Any = (), lhs_contract: Any = (),
                 rhs_contract: Any = ()) -> Any:  # fmt: skip
    pairs = [(lhs_contract, rhs_contract), (lhs_batch, rhs_batch)]
    numbers = tuple((_numbers(of_a, a.ndim), _numbers(of_b, b.ndim)) for of_a, of_b in pairs)
    return jax.lax.dot_general(a, b, numbers)


def _triangular_solve(
    a: Any, b: Any, lower: bool = True, transpose: bool = False, unit_diagonal: bool = False
) -> Any:
    right = b[..., None] if b.ndim < a.ndim else b
    y = jax.lax.linalg.triangular_solve(
        a, right, left_side=True, lower=lower, transpose_a=transpose, unit_diagonal=unit_diagonal
    )
    return y[..., 0] if b.ndim < a.ndim else y


def _solve(a: Any, b: Any, transpose: bool = False) -> Any:
    right = b[..., None] if b.ndim < a.ndim else b
    y = jnp.linalg.solve(a.mT if transpose else a, right)
    return y[..., 0] if b.ndim < a.ndim else y


def _subscripts(map: Any, grid: Sequence[int], shape: Sequence[int]) -> tuple[Any, ...]:
    """An affine map at all places of a grid; negative places are moved behind the end, as JAX
    counts negative subscripts from the end."""
    found = map.data.eval(list(np.indices(grid)), [])
    whole = [np.broadcast_to(np.asarray(places), grid) for places in found]
    return tuple(np.where(p < 0, n, p) for p, n in zip(whole, shape, strict=True))


def _affine_gather(x: Any, shape: Any, map: Any, pad: float | None = None) -> Any:
    places = _subscripts(map, shape, x.shape)
    return jnp.broadcast_to(x.at[places].get(mode="fill", fill_value=pad), shape)


def _affine_scatter_add(x: Any, shape: Any, map: Any, drop: bool = False) -> Any:
    start = jnp.zeros(shape, x.dtype)
    if not shape:
        return start + x.sum()
    return start.at[_subscripts(map, x.shape, shape)].add(x, mode="drop")


def _signs(vectors: Any, like: Any) -> Any:
    return jnp.sign(jax.lax.stop_gradient(jnp.sum(vectors * like, -2, keepdims=True)))


_FACTORS = SignedFactors(jnp.linalg, _signs)


def _unary(function: Function, **names: str) -> Function:
    def wrapper(*xs: Any, **attributes: Any) -> Any:
        return function(*xs, **{names.get(key, key): v for key, v in attributes.items()})

    return wrapper


def _dynamic_slice(x: Any, *starts: Any, sizes: Any) -> Any:
    return jax.lax.dynamic_slice(x, starts, sizes if isinstance(sizes, list) else [sizes] * x.ndim)


def _gelu(x: Any, approximate: str = "none") -> Any:
    return nn.gelu(x, approximate=approximate == "tanh")


def _huber(x: Any, target: Any, delta: float = 1.0, reduction: str = "mean") -> Any:
    far = jnp.abs(x - target)
    each = jnp.where(far <= delta, far**2 / 2, delta * (far - delta / 2))
    return each if reduction == "none" else getattr(jnp, reduction)(each)


def _permute_dims(x: Any, axes: Sequence[int]) -> Any:
    return jnp.permute_dims(x, tuple(a % x.ndim for a in axes))


# These are also told the shape of the result.
SHAPED = frozenset({"array.affine_gather", "array.affine_scatter_add"})

JAX: dict[str, Function] = {
    **{f"array.{name}": _as_tuple(getattr(jnp, name)) for name in SAME},
    "array.permute_dims": _permute_dims,
    "array.rsqrt": jax.lax.rsqrt,
    "array.erf": special.erf,
    "array.erfc": special.erfc,
    "array.lgamma": special.gammaln,
    "array.clip": lambda x, min=None, max=None: jnp.clip(x, min, max),
    "array.logsumexp": _as_tuple(special.logsumexp),
    "array.var": _as_tuple(jnp.var),
    "array.std": _as_tuple(jnp.std),
    "array.norm": _as_tuple(_norm),
    "array.argmax": _arg(jnp.argmax),
    "array.argmin": _arg(jnp.argmin),
    "array.expand_dims": _as_tuple(jnp.expand_dims),
    "array.slice": _slice,
    "array.pad": _pad,
    "array.concat": lambda *xs, axis=0: jnp.concatenate(xs, axis),
    "array.stack": lambda *xs, axis=0: jnp.stack(xs, axis),
    "array.split": _split,
    "array.roll": lambda x, shift, axis=None: _as_tuple(jnp.roll)(x, shift=shift, axis=axis),
    "array.tile": lambda x, repeats: jnp.tile(x, repeats),
    "array.repeat": lambda x, count, axis=None: jnp.repeat(x, count, axis),
    "array.diagonal": lambda x, offset=0: jnp.diagonal(x, offset, -2, -1),
    "array.trace": lambda x, offset=0: jnp.trace(x, offset, -2, -1),
    "array.take": lambda x, indices, axis=0: jnp.take(x, indices, axis),
    "array.take_along_axis": lambda x, indices, axis=0: jnp.take_along_axis(x, indices, axis),
    "array.scatter_add": _scatter_add,
    "array.index_update": _index_update,
    "array.dynamic_slice": _dynamic_slice,
    "array.dynamic_update_slice": lambda x, update, *starts: jax.lax.dynamic_update_slice(
        x, update, starts
    ),
    "array.one_hot": lambda indices, depth, axis=-1: nn.one_hot(
        jnp.where(indices < 0, indices + depth, indices), depth, axis=axis
    ),
    "array.cumulative_sum": _cumulative(jnp.cumsum, jnp.zeros_like),
    "array.cumulative_prod": _cumulative(jnp.cumprod, jnp.ones_like),
    "array.sort": lambda x, axis=-1, descending=False: jnp.sort(x, axis, descending=descending),
    "array.argsort": lambda x, axis=-1, descending=False: jnp.argsort(
        x, axis, descending=descending
    ),
    "array.dot_general": _dot_general,
    "array.einsum": lambda *xs, equation: jnp.einsum(equation, *xs),
    "array.vecdot": lambda a, b, axis=-1: jnp.vecdot(a, b, axis=axis),
    "array.affine_gather": _affine_gather,
    "array.affine_scatter_add": _affine_scatter_add,
    "array.eigh": _FACTORS.eigh,
    "array.svd": _FACTORS.svd,
    "array.qr": _FACTORS.qr,
    "array.pinv": lambda a, rcond=None: jnp.linalg.pinv(a, rcond),
    "array.cholesky": jnp.linalg.cholesky,
    "array.triangular_solve": _triangular_solve,
    "array.solve": _solve,
    "array.inv": jnp.linalg.inv,
    "array.det": jnp.linalg.det,
    "array.slogdet": lambda x: tuple(jnp.linalg.slogdet(x)),
    "nn.relu": nn.relu,
    "nn.sigmoid": nn.sigmoid,
    "nn.silu": nn.silu,
    "nn.gelu": _gelu,
    "nn.mish": nn.mish,
    "nn.logsigmoid": nn.log_sigmoid,
    "nn.softsign": nn.soft_sign,
    "nn.softmax": nn.softmax,
    "nn.log_softmax": nn.log_softmax,
    "nn.leaky_relu": _unary(nn.leaky_relu, slope="negative_slope"),
    "nn.elu": nn.elu,
    "nn.celu": nn.celu,
    "nn.selu": nn.selu,
    "nn.hardtanh": nn.hard_tanh,
    "nn.hardsigmoid": nn.hard_sigmoid,
    "nn.hardswish": nn.hard_swish,
    "nn.glu": nn.glu,
    "nn.huber_loss": _huber,
}  # fmt: skip
