"""Functions of complex numbers, C -> C, C -> R and R -> C, and arguments where they are smooth."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import gradir
import gradir.numpy as gnp
from gradir import nn
from gradir.scipy import special

Array = np.ndarray[Any, Any]
Function = Callable[..., Any]


def numbers(*shape: int, seed: int = 0, scale: float = 1.0) -> Array:
    """Complex numbers around 0, away from the real and the imaginary axis."""
    generator = np.random.default_rng([seed, *shape])
    parts = generator.uniform(0.2, 1.2, (2, *shape)) * generator.choice([-1, 1], (2, *shape))
    return scale * (parts[0] + 1j * parts[1])


def reals(*shape: int, seed: int = 0) -> Array:
    return np.random.default_rng([seed, 7, *shape]).uniform(0.3, 1.5, shape)


UNARY = (
    *("exp", "expm1", "log", "log1p", "sqrt", "square", "reciprocal", "sin", "cos", "tan", "tanh"),
    *("sinh", "cosh", "arcsin", "arccos", "arctan", "arcsinh", "arccosh", "arctanh", "exp2"),
    *("log2", "log10", "negative", "abs", "conj", "real", "imag", "angle", "sign"),
)
"""Elementwise functions that NumPy has under the same name."""


def _of(name: str) -> Function:
    def function(x: Any) -> Any:
        return getattr(gnp, name)(x)

    function.__name__ = name
    return function


def _loop(x: Any, y: Any) -> Any:
    def step(k: Any, state: Any) -> Any:
        return gnp.tanh(state * y + 0.1j) + x

    return gradir.fori_loop(0, 3, step, x)


def _while(x: Any) -> Any:
    def go_on(state: Any) -> Any:
        return state[0] < 4

    def step(state: Any) -> Any:
        k, z, total = state
        return k + 1, z * (0.7 + 0.4j), total + gnp.abs(z)

    _, z, total = gradir.while_loop(go_on, step, (0, x, gnp.zeros(x.shape)))
    return z * total


def _scan(x: Any, y: Any) -> Any:
    def step(carry: Any, row: Any) -> Any:
        made = carry * row + 1j
        return made, gnp.conj(made)

    last, rows = gradir.scan(step, x, y)
    return last, rows


def _cond(x: Any) -> Any:
    chosen = gnp.sum(gnp.real(x)) > 0
    return gradir.cond(chosen, lambda z: gnp.exp(z), lambda z: gnp.conj(z) * z, x)


def _stage(x: Any) -> Any:
    return gradir.checkpoint(lambda z: gnp.sin(z) * gnp.conj(z))(x)


def _indexed(x: Any, y: Any) -> Any:
    made = x.at[np.array([2, 0, 2])].add(y)
    return gnp.concatenate([made[::-1], gnp.take(x, np.array([1, 1]))]) * x[0]


def _running(x: Any) -> Any:
    return gradir.associative_scan(gnp.logaddexp, x)


def _eq(x: Any, y: Any) -> Any:
    return gnp.where(gnp.equal(x, x), x * y, 0)


def _conv(dims: int, **options: Any) -> Function:
    def convolved(x: Any, weight: Any, *bias: Any) -> Any:
        return getattr(nn, f"conv{dims}d")(x, weight, *bias, **options)

    return convolved


def _triplet(x: Any, y: Any, z: Any) -> Any:
    return nn.triplet_margin_loss(x, y, z, margin=5.0, swap=True, reduction="none")


LAYERS: Sequence[tuple[str, Function, Sequence[Array]]] = (
    ("sigmoid", nn.sigmoid, (numbers(5),)),
    ("sigmoid in its tails", nn.sigmoid, (numbers(5, scale=20.0),)),
    ("silu", nn.silu, (numbers(5),)),
    ("softsign", nn.softsign, (numbers(5),)),
    ("tanhshrink", nn.tanhshrink, (numbers(5),)),
    ("linear", nn.linear, (numbers(2, 3), numbers(4, 3, seed=1), numbers(4, seed=2))),
    ("bilinear", nn.bilinear, (numbers(2, 3), numbers(2, 2, seed=1), numbers(2, 3, 2, seed=2))),
    ("conv1d", _conv(1, padding=1), (numbers(2, 2, 5), numbers(3, 2, 3), numbers(3))),
    (
        "conv2d in groups",
        _conv(2, stride=2, padding=[1, 0, 2, 1], groups=2),
        (numbers(1, 4, 4, 5), numbers(2, 2, 2, 3), numbers(2)),
    ),
    ("conv3d", _conv(3, dilation=2), (numbers(1, 1, 3, 4, 3), numbers(2, 1, 2, 2, 1))),
    (
        "conv2d of channels behind",
        _conv(2, layout="NHWC"),
        (numbers(1, 3, 3, 2), numbers(2, 2, 2, 1)),
    ),
    (
        "conv_transpose2d",
        lambda x, w, b: nn.conv_transpose2d(x, w, b, stride=2, padding=1, output_padding=1),
        (numbers(1, 2, 3, 2), numbers(2, 1, 3, 3), numbers(1)),
    ),
    ("pixel_shuffle", lambda x: nn.pixel_shuffle(x, 2) * x[0, 0, 0], (numbers(4, 2, 1),)),
    ("normalize", lambda x: nn.normalize(x, axis=0), (numbers(3, 2),)),
    ("normalize by 3", lambda x: nn.normalize(x, 3.0, axis=0), (numbers(3, 2),)),
    ("pairwise_distance", nn.pairwise_distance, (numbers(2, 3), numbers(2, 3, seed=1))),
    ("pdist", nn.pdist, (numbers(3, 2),)),
    ("triplets", _triplet, (numbers(2, 3), numbers(2, 3, seed=1), numbers(2, 3, seed=2))),
    ("l1_loss", nn.l1_loss, (numbers(3), numbers(3, seed=1))),
    ("l1_loss of a real target", nn.l1_loss, (numbers(3), reals(3))),
    ("dropout", lambda x: nn.dropout(x * x, 3, 4, 0.4), (numbers(6),)),
    ("dropout2d", lambda x: nn.dropout2d(x * x, 3, 4, 0.4), (numbers(3, 1, 2),)),
    ("logaddexp", gnp.logaddexp, (numbers(5, scale=3.0), numbers(5, seed=1, scale=3.0))),
    ("logaddexp2", gnp.logaddexp2, (numbers(5), numbers(5, seed=1))),
    ("logsumexp", lambda x: gnp.logsumexp(x, axis=0), (numbers(3, 2, scale=2.0),)),
    ("logsumexp of all", lambda x: gnp.logsumexp(x * 300), (numbers(2, 2),)),
    ("weighed logsumexp", lambda x, b: special.logsumexp(x, 1, b), (numbers(2, 3), numbers(2, 3))),
    ("running logsumexp", _running, (numbers(5),)),
    ("corrcoef", gnp.corrcoef, (numbers(2, 4),)),
)
"""Layers, losses and sums of exponentials: name, function and arguments."""

PROGRAMS: Sequence[tuple[str, Function, Sequence[Array]]] = (
    *((name, _of(name), (numbers(5),)) for name in UNARY),
    ("add", gnp.add, (numbers(3), numbers(3, seed=1))),
    ("subtract", gnp.subtract, (numbers(3), numbers(3, seed=1))),
    ("multiply", gnp.multiply, (numbers(3), numbers(3, seed=1))),
    ("divide", gnp.divide, (numbers(3), numbers(3, seed=1))),
    ("power", gnp.power, (numbers(3), numbers(3, seed=1))),
    ("cube", lambda x: x**3, (numbers(3),)),
    ("inverse square", lambda x: x**-2, (numbers(3),)),
    ("rank 0", lambda x: x * gnp.exp(x) + 2j, (numbers(),)),
    ("one element", lambda x: gnp.sum(x * x), (numbers(1),)),
    ("mixed", lambda x, y: x * y + gnp.exp(1j * y), (numbers(3), reals(3))),
    ("from parts", lambda x, y: gnp.sqrt(x + 1j * y), (reals(3), reals(3, seed=2))),
    ("real to complex", lambda x: gnp.exp(1j * x), (reals(4),)),
    ("real loss", lambda x: gnp.sum(gnp.abs(x) ** 2 * gnp.angle(x)), (numbers(4),)),
    ("astype", lambda x: x.astype(np.complex128) * 1j, (reals(3),)),
    ("matmul", gnp.matmul, (numbers(2, 3), numbers(3, 2, seed=1))),
    ("matvec", gnp.matmul, (numbers(2, 3), numbers(3, seed=1))),
    ("einsum", lambda x, y: gnp.einsum("bij,bjk->ki", x, y), (numbers(2, 2, 3), numbers(2, 3, 2))),
    (
        "einsum of three",
        lambda x, y: gnp.einsum("ij,jk,kl->il", x, y, x),
        (numbers(2, 2), numbers(2, 2, seed=3)),
    ),
    ("tensordot", lambda x, y: gnp.tensordot(x, y, 1), (numbers(2, 3), numbers(3, 2, seed=1))),
    ("vdot", gnp.vdot, (numbers(4), numbers(4, seed=1))),
    ("outer", gnp.outer, (numbers(2), numbers(3, seed=1))),
    ("solve", gnp.linalg.solve, (numbers(3, 3) + 2 * np.eye(3), numbers(3, 2, seed=1))),
    ("solve vector", gnp.linalg.solve, (numbers(3, 3) + 2 * np.eye(3), numbers(3, seed=1))),
    ("inv", gnp.linalg.inv, (numbers(2, 3, 3) + 2 * np.eye(3),)),
    ("norm", lambda x: gnp.linalg.norm(x, axis=1), (numbers(2, 3),)),
    ("sum", lambda x: gnp.sum(x, axis=0), (numbers(3, 2),)),
    ("mean", lambda x: gnp.mean(x, axis=1), (numbers(3, 2),)),
    ("prod", lambda x: gnp.prod(x, axis=0), (numbers(5, 2),)),
    ("prod of two axes", lambda x: gnp.prod(x, axis=(0, 2)), (numbers(2, 2, 3),)),
    ("var", lambda x: gnp.var(x, axis=0), (numbers(4, 2),)),
    ("std", lambda x: gnp.std(x), (numbers(4),)),
    ("cumsum", lambda x: gnp.cumsum(x, axis=0), (numbers(3, 2),)),
    ("transposed", lambda x: x.T.reshape(6) * 2, (numbers(2, 3),)),
    ("broadcast", lambda x, y: x[:, None] * y, (numbers(2), numbers(3, seed=1))),
    ("pad", lambda x: gnp.pad(x, 1) * 1j, (numbers(2, 2),)),
    ("pad with ones", lambda x: gnp.pad(x, 1, constant_values=1.0) * 1j, (numbers(2, 2),)),
    ("roll", lambda x: gnp.roll(x, 1) * x, (numbers(3),)),
    ("stack", lambda x, y: gnp.stack([x, y], -1) * x[0], (numbers(3), numbers(3, seed=1))),
    ("tile", lambda x: gnp.tile(x, 2) * 1j, (numbers(3),)),
    ("flip", lambda x: gnp.flip(x) * x, (numbers(3),)),
    ("tril", lambda x: gnp.tril(x) @ x, (numbers(2, 2),)),
    ("trace", lambda x: gnp.trace(x @ x), (numbers(2, 2),)),
    ("diag", lambda x: gnp.diag(x) @ gnp.diag(x), (numbers(2),)),
    (
        "where",
        lambda x, y: gnp.where(gnp.real(x) > 0, x * y, gnp.exp(y)),
        (numbers(4), numbers(4, seed=1)),
    ),
    ("equal", _eq, (numbers(3), numbers(3, seed=1))),
    ("indexed", _indexed, (numbers(3), numbers(3, seed=1))),
    ("nan_to_num", lambda x: gnp.nan_to_num(x) * x, (numbers(3),)),
    ("fori_loop", _loop, (numbers(3), numbers(3, seed=1))),
    ("while_loop", _while, (numbers(3),)),
    ("scan", _scan, (numbers(2), numbers(4, 2, seed=1))),
    ("cond", _cond, (numbers(3),)),
    ("other branch", _cond, (-abs(reals(3)) + 1j * reals(3, seed=3),)),
    ("checkpoint", _stage, (numbers(3),)),
    (
        "vmap",
        lambda x, y: gradir.vmap(lambda a, b: gnp.vdot(a, b) * a)(x, y),
        (numbers(3, 2), numbers(3, 2, seed=1)),
    ),
    *LAYERS,
)  # fmt: skip
"""Name, function and arguments."""
