"""PyTorch's new arrays: filled ones, numbers in a row, random ones of a key."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradir.dialects.base.shapes import is_float
from gradir.frontends.functions.array_ops import op
from gradir.frontends.functions.promotion import converted, spread
from gradir.frontends.imported.torch_rules.arguments import AtenRules, number_type
from gradir.frontends.random import choices, continuous
from gradir.frontends.tracing.source_locations import refusal
from gradir.frontends.tracing.tracing import lifted
from gradir.frontends.transforms.markers import no_grad

RULES = AtenRules()


def _filled(call: Any, value: Any) -> Any:
    return spread(value, call.type.shape, call.element)


@RULES.aten("zeros", "zeros_like", "new_zeros", "empty", "empty_like", "empty_strided", "new_empty",
            "new_empty_strided", "empty_permuted", "_efficientzerotensor",
            note="empty arrays are zeros")  # fmt: skip
def _zeros(call: Any, *_: Any, **__: Any) -> Any:
    return _filled(call, 0)


@RULES.aten("ones", "ones_like", "new_ones")
def _ones(call: Any, *_: Any, **__: Any) -> Any:
    return _filled(call, 1)


@RULES.aten("full", "full_like", "new_full")
def _full(call: Any, x: Any, fill_value: Any = None, **_: Any) -> Any:
    return _filled(call, fill_value)


@RULES.aten("scalar_tensor", "tensor", "_tensor")
def _scalar(call: Any, value: Any, **_: Any) -> Any:
    return _filled(call, value)


def _known(call: Any, numbers: Any) -> Any:
    return lifted(np.asarray(numbers).astype(number_type(call.element)))


@RULES.aten("arange", "range", note="of known numbers")
def _row(call: Any, first: Any, end: Any = None, step: Any = 1) -> Any:
    start, _ = (0, first) if end is None else (first, end)
    count = call.type.shape[0]
    if not is_float(call.element):
        return _known(call, int(start) + int(step) * np.arange(count))
    return _known(call, start + step * np.arange(count, dtype=np.float64))


@RULES.aten("linspace", note="of known numbers")
def _spaced(call: Any, start: Any, end: Any, steps: int, **_: Any) -> Any:
    if not isinstance(start, int | float) or not isinstance(end, int | float):
        kind = call.element
        start, end = converted(start, kind), converted(end, kind)
        part = lifted(np.linspace(0, 1, steps).astype(number_type(kind)))
        return start + part * (end - start)
    return _known(call, np.linspace(start, end, steps))


@RULES.aten("logspace", note="of known numbers")
def _log_spaced(call: Any, start: Any, end: Any, steps: int, base: float = 10.0, **_: Any) -> Any:
    if not isinstance(start, int | float) or not isinstance(end, int | float):
        raise refusal("logspace: the ends must be known numbers")
    return _known(call, np.power(float(base), np.linspace(start, end, steps)))


@RULES.aten("eye")
def _identity(call: Any, n: int, m: int | None = None) -> Any:
    return _known(call, np.eye(n, m))


@RULES.aten("tril_indices", "triu_indices")
def _triangle(call: Any, row: int, col: int, offset: int = 0) -> Any:
    return _known(call, getattr(np, call.op)(row, offset, col))


def _windowed(function: Any) -> Any:
    def rule(call: Any, window_length: int, periodic: bool = True, **more: Any) -> Any:
        if window_length <= 1:
            return _filled(call, 1)
        return _known(call, function(window_length + periodic, **more)[:window_length])

    return rule


def _hamming(n: int, alpha: float = 0.54, beta: float = 0.46) -> Any:
    return alpha - beta * np.cos(2 * np.pi * np.arange(n) / (n - 1))


RULES.aten("hann_window")(_windowed(np.hanning))
RULES.aten("hamming_window")(_windowed(_hamming))
RULES.aten("blackman_window")(_windowed(np.blackman))
RULES.aten("bartlett_window")(_windowed(np.bartlett))
RULES.aten("kaiser_window")(_windowed(lambda n, beta=12.0: np.kaiser(n, beta)))


# Random ones.

_DRAWN = "by gradir's random numbers, of a key"


@RULES.aten("rand", "rand_like", note=_DRAWN)
def _uniform_unit(call: Any, *_: Any, key: Any, **__: Any) -> Any:
    return continuous.uniform(key, call.type.shape, call.type.dtype)


@RULES.aten("uniform", note=_DRAWN)
def _uniform(call: Any, x: Any, to: float = 1, key: Any = None, **more: Any) -> Any:
    low = more.get("from", 0)
    return low + (to - low) * continuous.uniform(key, call.type.shape, call.type.dtype)


@RULES.aten("randn", "randn_like", note=_DRAWN)
def _normal_unit(call: Any, *_: Any, key: Any, **__: Any) -> Any:
    return continuous.normal(key, call.type.shape, call.type.dtype)


@RULES.aten("normal", "normal_functional", note=_DRAWN)
def _normal(
    call: Any, x: Any, mean: Any = None, std: Any = 1, key: Any = None, size: Any = None
) -> Any:
    first = x if mean is None and call.op == "normal" else 0 if mean is None else mean
    return first + std * continuous.normal(key, call.type.shape, call.type.dtype)


@RULES.aten("randint", "randint_like", note=_DRAWN)
def _whole(call: Any, *args: Any, key: Any, low: int = 0, high: Any = None, **_: Any) -> Any:
    if high is None:
        [high] = args[:1]
    drawn = choices.randint(key, call.type.shape, low, high)
    return converted(drawn, call.element)


@RULES.aten("randperm", note=_DRAWN)
def _order(call: Any, n: int, key: Any) -> Any:
    return converted(choices.permutation(key, n), call.element)


@RULES.aten("bernoulli", note=_DRAWN)
def _flipped(call: Any, x: Any, p: Any = None, key: Any = None) -> Any:
    chance = no_grad(x) if p is None else p
    kind = call.type.dtype if is_float(call.element) else "float32"
    drawn = continuous.uniform(key, call.type.shape, kind)
    return converted(op.less(drawn, chance), call.element)


@RULES.aten("exponential", note=_DRAWN)
def _exponential(call: Any, x: Any, lambd: float = 1, key: Any = None) -> Any:
    drawn = continuous.exponential(key, call.type.shape, call.type.dtype)
    return drawn / lambd


RULES.refuse(
    "there is no such draw",
    *("multinomial", "random", "log_normal", "cauchy", "geometric", "poisson", "binomial"),
    *("_standard_gamma", "_sample_dirichlet"),
)
